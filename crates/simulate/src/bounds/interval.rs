//! Numbers that a conforming implementation may have in a register: an interval, beside the number that float64
//! arithmetic gives.

use half::f16;
use tripipe_ir::Scalar;
use tripipe_ir::op::{Compare, Rounding};

/// No cause: the interval is bounded.
pub(super) const BOUNDED: u32 = u32::MAX;

/// The allowed numbers of one register and lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    /// The number in float64 arithmetic.
    pub(super) exact: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether NaN is allowed.
    pub(super) nan: bool,
    /// The cause by which any number is allowed; [`BOUNDED`] if there is none.
    pub(super) open: u32,
}

impl Interval {
    pub(super) fn point(number: f64) -> Self {
        if number.is_nan() {
            // Only NaN.
            return Self {
                exact: number,
                low: f64::INFINITY,
                high: f64::NEG_INFINITY,
                nan: true,
                open: BOUNDED,
            };
        }
        Self { exact: number, low: number, high: number, nan: false, open: BOUNDED }
    }

    pub(super) fn between(exact: f64, a: f64, b: f64) -> Self {
        Self { exact, low: a.min(b), high: a.max(b), nan: false, open: BOUNDED }
    }

    /// Any number, because of `cause`.
    pub(super) fn open(exact: f64, cause: u32) -> Self {
        Self { exact, low: f64::NEG_INFINITY, high: f64::INFINITY, nan: true, open: cause }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open != BOUNDED
    }

    /// Whether the register has only one allowed number. The number in float64 arithmetic may be another one.
    pub(super) fn is_certain(&self) -> bool {
        !self.is_open() && ((self.low == self.high && !self.nan) || (self.nan && self.low > self.high))
    }

    /// Whether NaN is among the numbers that arithmetic on the ends would miss.
    pub(super) fn may_be_nan(&self) -> bool {
        self.nan
    }

    pub(super) fn hull(self, other: Self) -> Self {
        if self.is_open() {
            return self;
        }
        if other.is_open() {
            return Self { exact: self.exact, ..other };
        }
        Self {
            exact: self.exact,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            nan: self.nan || other.nan,
            open: BOUNDED,
        }
    }

    /// The same with the number that the simulator computed, which is allowed by construction.
    pub(super) fn with(self, computed: f64) -> Self {
        if self.is_open() {
            return self;
        }
        if computed.is_nan() {
            return Self { nan: true, ..self };
        }
        Self { low: self.low.min(computed), high: self.high.max(computed), ..self }
    }

    pub(super) fn contains_zero(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    /// The largest magnitude.
    pub(super) fn magnitude(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    pub(super) fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self { open: self.open, nan: self.nan, ..Self::between(f(self.exact), f(self.low), f(self.high)) }
    }

    /// Wider by `distance` on both sides.
    pub(super) fn wider(self, distance: f64) -> Self {
        Self { low: self.low - distance, high: self.high + distance, ..self }
    }
}

/// `a + b` in real arithmetic.
pub(super) fn add(a: Interval, b: Interval) -> Interval {
    Interval {
        low: sum(a.low, b.low, f64::next_down),
        high: sum(a.high, b.high, f64::next_up),
        ..Interval::point(a.exact + b.exact)
    }
}

/// A sum, moved outward if float64 rounds it.
fn sum(a: f64, b: f64, outward: fn(f64) -> f64) -> f64 {
    let sum = a + b;
    // The rounding error of a sum, exact in float64 (Knuth's TwoSum).
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    if error == 0.0 || !sum.is_finite() { sum } else { outward(sum) }
}

/// `a b` in real arithmetic.
pub(super) fn multiply(a: Interval, b: Interval) -> Interval {
    let corners = [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)];
    let mut found = Interval::point(a.exact * b.exact);
    (found.low, found.high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (a, b) in corners {
        let product = a * b;
        let rounded = product.is_finite() && a.mul_add(b, -product) != 0.0;
        let (low, high) = if rounded { (product.next_down(), product.next_up()) } else { (product, product) };
        found.low = found.low.min(low);
        found.high = found.high.max(high);
    }
    found
}

/// `a / b` in real arithmetic, where `b` does not contain 0.
pub(super) fn divide(a: Interval, b: Interval) -> Interval {
    let corners = [a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high];
    let low = corners.into_iter().fold(f64::INFINITY, f64::min);
    let high = corners.into_iter().fold(f64::NEG_INFINITY, f64::max);
    Interval { low: low.next_down(), high: high.next_up(), ..Interval::point(a.exact / b.exact) }
}

/// Digits of the significand, the implicit one included, and the exponent of the smallest normal number.
fn format(scalar: Scalar) -> (i32, i32) {
    match scalar {
        Scalar::F16 => (11, -14),
        Scalar::F32 => (24, -126),
        _ => (53, -1022),
    }
}

/// The distance between the numbers of a type around `number`.
pub(super) fn ulp(scalar: Scalar, number: f64) -> f64 {
    let (digits, least) = format(scalar);
    let magnitude = number.abs();
    if !magnitude.is_finite() {
        return 0.0;
    }
    let exponent = if magnitude == 0.0 { least } else { (magnitude.to_bits() >> 52) as i32 - 1023 };
    2f64.powi(exponent.max(least) - digits + 1)
}

/// The smallest normal number of a type.
fn least_normal(scalar: Scalar) -> f64 {
    2f64.powi(format(scalar).1)
}

/// The number of a type that is nearest to `number`, ties to even.
pub(super) fn nearest(scalar: Scalar, number: f64) -> f64 {
    match scalar {
        Scalar::F16 => f16::from_f64(number).to_f64(),
        Scalar::F32 => f64::from(number as f32),
        _ => number,
    }
}

/// The number of a type in a direction.
pub(super) fn rounded(scalar: Scalar, number: f64, rounding: Rounding) -> f64 {
    let near = nearest(scalar, number);
    let below = if near > number { before(scalar, near) } else { near };
    let above = if near < number { -before(scalar, -near) } else { near };
    match rounding {
        Rounding::Nearest => near,
        Rounding::Zero if number >= 0.0 => below,
        Rounding::Up | Rounding::Zero => above,
        Rounding::Down => below,
    }
}

/// The next smaller number of a type.
fn before(scalar: Scalar, number: f64) -> f64 {
    match scalar {
        Scalar::F16 => {
            let bits = f16::from_f64(number).to_bits();
            let next = match bits {
                0 | 0x8000 => 0x8001,
                bits if bits & 0x8000 == 0 => bits - 1,
                bits => bits + 1,
            };
            f16::from_bits(next).to_f64()
        }
        Scalar::F32 => f64::from((number as f32).next_down()),
        _ => number.next_down(),
    }
}

/// The numbers of a type that an operation may return whose result in real arithmetic is in `real`, with an error of
/// `ulps` units in the last place; 0 for a correctly rounded operation. Subnormal numbers may become 0.
pub(super) fn round(scalar: Scalar, real: Interval, ulps: f64, computed: f64) -> Interval {
    if real.is_open() {
        return real;
    }
    if !scalar.is_float() || (real.low.is_nan() || real.high.is_nan()) {
        return Interval { exact: real.exact, ..Interval::point(computed) };
    }
    let mut low = real.low;
    let mut high = real.high;
    if ulps > 0.0 {
        low -= ulps * ulp(scalar, low);
        high += ulps * ulp(scalar, high);
    }
    let mut found = Interval { low: nearest(scalar, low), high: nearest(scalar, high), ..real };
    let least = least_normal(scalar);
    // Subnormals of `half` and `double` are required.
    if scalar == Scalar::F32 && found.low < least && found.high > -least {
        found.low = found.low.min(0.0);
        found.high = found.high.max(0.0);
    }
    found.with(computed)
}

/// Whether a comparison may be true, and whether it may be false.
pub(super) fn compare(op: Compare, a: Interval, b: Interval) -> (bool, bool) {
    if a.is_open() || b.is_open() || a.may_be_nan() || b.may_be_nan() {
        return (true, true);
    }
    let less = |a: Interval, b: Interval| (a.low < b.high, a.high >= b.low);
    let swap = |(may, may_not): (bool, bool)| (may_not, may);
    let equal = (a.low <= b.high && b.low <= a.high, !(a.low == a.high && b.low == b.high && a.low == b.low));
    match op {
        Compare::Eq | Compare::FEq | Compare::FUEq => equal,
        Compare::Ne | Compare::FNe | Compare::FUNe => swap(equal),
        Compare::SLt | Compare::ULt | Compare::FLt | Compare::FULt => less(a, b),
        Compare::SGt | Compare::UGt | Compare::FGt | Compare::FUGt => less(b, a),
        Compare::SLe | Compare::ULe | Compare::FLe | Compare::FULe => swap(less(b, a)),
        Compare::SGe | Compare::UGe | Compare::FGe | Compare::FUGe => swap(less(a, b)),
        Compare::FOrd => (true, false),
        Compare::FUno => (false, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_distance_to_the_next_number() {
        for number in [1.0f32, 1.5, 1e-30, 3.7e20, f32::MIN_POSITIVE, 1e-40, -2.0] {
            let magnitude = number.abs();
            assert_eq!(
                ulp(Scalar::F32, number.into()),
                f64::from(magnitude.next_up()) - f64::from(magnitude)
            );
        }
        assert_eq!(ulp(Scalar::F16, 1.0), 2f64.powi(-10));
        assert_eq!(ulp(Scalar::F64, 1.0), f64::EPSILON);
        assert_eq!(ulp(Scalar::F32, 0.0), 2f64.powi(-149));
    }

    #[test]
    fn directions_of_rounding_enclose_the_number() {
        let third = 1.0 / 3.0;
        for (scalar, number) in [(Scalar::F32, third), (Scalar::F16, third), (Scalar::F32, -third)] {
            let down = rounded(scalar, number, Rounding::Down);
            let up = rounded(scalar, number, Rounding::Up);
            assert!(down < number && number < up && up - down == ulp(scalar, number), "{scalar:?} {number}");
            assert_eq!(rounded(scalar, number, Rounding::Zero), if number > 0.0 { down } else { up });
        }
        assert_eq!(rounded(Scalar::F32, 1.0, Rounding::Up), 1.0);
    }

    /// The operations of the machine are correctly rounded: each of their results must be the only one allowed.
    #[test]
    fn a_correctly_rounded_operation_has_one_result() {
        let mut random = 1u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from_bits(random >> 1 & 0x3fff_ffff | random & 0x8000_0000 | 0x2000_0000)
        };
        for _ in 0..20_000 {
            let (a, b) = (next(), next());
            let (x, y) = (Interval::point(a.into()), Interval::point(b.into()));
            for (real, machine) in [(add(x, y), a + b), (multiply(x, y), a * b)] {
                let found = round(Scalar::F32, real, 0.0, machine.into());
                let flushed = machine.abs() < f32::MIN_POSITIVE;
                assert!(found.low == found.high || flushed, "{a:?} {b:?} {found:?}");
            }
            // A product and a sum, fused or not.
            let c = next();
            let z = Interval::point(c.into());
            let product = multiply(x, y);
            let product = product.hull(round(Scalar::F32, product, 0.0, (a * b).into()));
            let found = round(Scalar::F32, add(product, z), 0.0, (a * b + c).into());
            for allowed in [a.mul_add(b, c), a * b + c] {
                let allowed = f64::from(allowed);
                assert!(found.low <= allowed && allowed <= found.high, "{a:?} {b:?} {c:?}");
            }
        }
    }

    #[test]
    fn comparisons_of_intervals_that_overlap_are_open() {
        let (a, b) = (Interval::between(1.0, 1.0, 2.0), Interval::between(2.0, 2.0, 3.0));
        assert_eq!(compare(Compare::FLt, a, b), (true, true));
        assert_eq!(compare(Compare::FLe, a, b), (true, false));
        assert_eq!(compare(Compare::FGt, a, b), (false, true));
        assert_eq!(compare(Compare::FEq, a, b), (true, true));
        let c = Interval::point(5.0);
        assert_eq!(compare(Compare::FEq, a, c), (false, true));
        assert_eq!(compare(Compare::FUNe, a, c), (true, false));
        assert_eq!(compare(Compare::FEq, c, c), (true, false));
    }
}
