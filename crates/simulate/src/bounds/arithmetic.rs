//! The allowed results of an operation, from the allowed numbers of its operands.

use tripipe_ir::op::{Binary, Builtin, Convert, Number, Rounding, Ulp, Unary};
use tripipe_ir::{Flags, Scalar};

use super::interval::{BOUNDED, Interval, add, divide, multiply, nearest, round, rounded, ulp};
use crate::math;

/// How the program was built, as far as it changes what is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Freedom {
    /// `-cl-unsafe-math-optimizations` or `-cl-fast-relaxed-math`: sums may be reordered, and functions are less
    /// precise.
    pub relaxed: bool,
    /// `-cl-fp32-correctly-rounded-divide-sqrt`: quotients and roots have one result.
    pub exact_division: bool,
    /// `#pragma OPENCL FP_CONTRACT OFF`: products and sums are not fused.
    pub unfused: bool,
}

/// Units in the last place that stand in for the bound that relaxed mathematics does not have: those of `half_`
/// functions.
const RELAXED_ULPS: f64 = 8192.0;

/// Why an operation has no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unbounded;

type Bounds = Result<Interval, Unbounded>;

/// An operation with two operands of a type.
pub(super) fn binary(
    op: Binary,
    scalar: Scalar,
    flags: Flags,
    freedom: Freedom,
    [a, b]: [Interval; 2],
    computed: f64,
) -> Bounds {
    if !scalar.is_float() {
        return integer(op, scalar, [a, b], computed);
    }
    let relaxed = freedom.relaxed || flags.contains(Flags::FAST);
    let widened = |real: Interval, of: f64| {
        // Another order of a sum rounds other partial sums, of about the magnitude of the operands.
        if relaxed { real.wider(4.0 * ulp(scalar, of)) } else { real }
    };
    let largest = a.magnitude().max(b.magnitude());
    match op {
        Binary::FAdd | Binary::FSub => {
            let b = if op == Binary::FSub { b.map(|b| -b) } else { b };
            let real = widened(add(a, b), largest);
            Ok(round(scalar, real, 0.0, computed))
        }
        Binary::FMul => {
            let real = multiply(a, b);
            let real = widened(real, real.magnitude());
            let single = round(scalar, real, 0.0, computed);
            // The product may go unrounded into a sum.
            Ok(if freedom.unfused { single } else { single.hull(real) })
        }
        Binary::FDiv if b.contains_zero() => {
            if a.is_certain() && b.is_certain() {
                return Ok(Interval { exact: a.exact / b.exact, ..Interval::point(computed) });
            }
            Err(Unbounded)
        }
        Binary::FDiv => {
            let ulps = match scalar {
                _ if relaxed || flags.contains(Flags::RECIPROCAL) => RELAXED_ULPS,
                Scalar::F32 if !freedom.exact_division => 2.5,
                _ => 0.0,
            };
            Ok(round(scalar, divide(a, b), ulps, computed))
        }
        Binary::FRem | Binary::FMod if a.is_certain() && b.is_certain() => {
            Ok(Interval { exact: a.exact % b.exact, ..Interval::point(computed) })
        }
        _ => Err(Unbounded),
    }
}

/// The range of an integer type, as signed; `None` if float64 does not have all of its numbers.
fn range(scalar: Scalar) -> Option<(f64, f64)> {
    match scalar {
        Scalar::I8 => Some((-128.0, 255.0)),
        Scalar::I16 => Some((-32768.0, 65535.0)),
        Scalar::I32 => Some((-2_147_483_648.0, 2_147_483_647.0)),
        Scalar::I64 => Some((-9e15, 9e15)),
        _ => None,
    }
}

fn integer(op: Binary, scalar: Scalar, [a, b]: [Interval; 2], computed: f64) -> Bounds {
    let (least, most) = range(scalar).ok_or(Unbounded)?;
    let found = match op {
        Binary::Add => add(a, b),
        Binary::Sub => add(a, b.map(|b| -b)),
        Binary::Mul => multiply(a, b),
        Binary::Shl if b.is_certain() => a.map(|a| a * 2f64.powf(b.low)),
        Binary::AShr if b.is_certain() => a.map(|a| (a / 2f64.powf(b.low)).floor()),
        Binary::LShr if b.is_certain() && a.low >= 0.0 => a.map(|a| (a / 2f64.powf(b.low)).floor()),
        Binary::SDiv if b.is_certain() && b.low != 0.0 => a.map(|a| (a / b.low).trunc()),
        Binary::UDiv if b.is_certain() && b.low > 0.0 && a.low >= 0.0 => a.map(|a| (a / b.low).trunc()),
        _ => return Err(Unbounded),
    };
    if found.low < least || found.high > most {
        return Err(Unbounded);
    }
    Ok(found.with(computed))
}

/// An operation with one operand.
pub(super) fn unary(op: Unary, a: Interval, computed: f64) -> Bounds {
    match op {
        Unary::FNeg | Unary::Neg => Ok(a.map(|a| -a).with(computed)),
        Unary::SignBit if a.low > 0.0 || a.high < 0.0 => Ok(Interval::point(computed)),
        Unary::IsNan if !a.nan => Ok(Interval::point(computed)),
        Unary::IsInf | Unary::IsFinite | Unary::IsNormal
            if !a.nan && a.low.is_finite() && a.high.is_finite() && !a.contains_zero() =>
        {
            Ok(Interval::point(computed))
        }
        Unary::Not if a.low == 0.0 && a.high == 1.0 => Ok(Interval { exact: 1.0 - a.exact, ..a }),
        _ => Err(Unbounded),
    }
}

/// A conversion.
pub(super) fn convert(convert: Convert, to: Scalar, a: Interval, computed: f64) -> Bounds {
    match (convert.from, convert.to) {
        (_, Number::Float) => Ok(Interval {
            low: rounded(to, a.low, convert.rounding),
            high: rounded(to, a.high, convert.rounding),
            ..a
        }
        .with(computed)),
        (Number::Float, _) => {
            let whole = |number: f64| match convert.rounding {
                Rounding::Nearest => number.round_ties_even(),
                Rounding::Zero => number.trunc(),
                Rounding::Up => number.ceil(),
                Rounding::Down => number.floor(),
            };
            let bits = i32::try_from(to.bits()).unwrap_or(64);
            let (least, most) = if convert.to == Number::Signed {
                (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1) - 1.0)
            } else {
                (0.0, 2f64.powi(bits) - 1.0)
            };
            let found = a.map(whole);
            if (found.low < least || found.high > most || a.nan) && !convert.saturate {
                return Err(Unbounded);
            }
            let found = found.map(|number| number.clamp(least, most));
            let in_register = found.low >= -(2f64.powi(bits - 1)) && found.high < 2f64.powi(bits - 1);
            // Registers hold integers as signed.
            if in_register && !a.nan { Ok(found.with(computed)) } else { Err(Unbounded) }
        }
        _ => {
            let (least, most) = range(to).ok_or(Unbounded)?;
            let fits = a.low >= if convert.from == Number::Unsigned { 0.0 } else { least } && a.high <= most;
            if fits { Ok(a.with(computed)) } else { Err(Unbounded) }
        }
    }
}

/// A function of numbers, lane by lane.
pub(super) fn builtin(
    builtin: Builtin,
    scalar: Scalar,
    freedom: Freedom,
    operands: &[Interval],
    computed: f64,
) -> Bounds {
    use Builtin as B;
    let single = |real: Interval| Ok(round(scalar, real, 0.0, computed));
    match (builtin, operands) {
        (B::Fmin | B::FminCommon | B::SMin, [a, b]) => Ok(both(*a, *b, f64::min).with(computed)),
        (B::Fmax | B::FmaxCommon | B::SMax, [a, b]) => Ok(both(*a, *b, f64::max).with(computed)),
        (B::UMin, [a, b]) if a.low >= 0.0 && b.low >= 0.0 => Ok(both(*a, *b, f64::min).with(computed)),
        (B::UMax, [a, b]) if a.low >= 0.0 && b.low >= 0.0 => Ok(both(*a, *b, f64::max).with(computed)),
        (B::Fclamp | B::SClamp, [a, b, c]) => Ok(both(both(*a, *b, f64::max), *c, f64::min).with(computed)),
        (B::UClamp, [a, b, c]) if a.low >= 0.0 && b.low >= 0.0 => {
            Ok(both(both(*a, *b, f64::max), *c, f64::min).with(computed))
        }
        (B::Fabs, [a]) => {
            let found = a.map(f64::abs);
            Ok(if a.contains_zero() { Interval { low: 0.0, ..found } } else { found }.with(computed))
        }
        (B::Floor, [a]) => Ok(a.map(f64::floor).with(computed)),
        (B::Ceil, [a]) => Ok(a.map(f64::ceil).with(computed)),
        (B::Trunc, [a]) => Ok(a.map(f64::trunc).with(computed)),
        (B::Rint, [a]) => Ok(a.map(f64::round_ties_even).with(computed)),
        (B::Round, [a]) => Ok(a.map(f64::round).with(computed)),
        (B::Fma, [a, b, c]) => single(add(multiply(*a, *b), *c)),
        (B::Mad, [a, b, c]) => {
            let product = multiply(*a, *b);
            let either = product.hull(round(scalar, product, 0.0, nearest(scalar, a.low * b.low)));
            single(add(either, *c))
        }
        (B::Mix, [a, b, t]) => {
            // a + (b - a) t, with an absolute error of 1e-3.
            let span = add(*b, a.map(|a| -a));
            let real = add(*a, multiply(span, *t));
            single(real.wider(
                1e-3 * if scalar == Scalar::F32 { 1.0 } else { 0.0 }
                    + 4.0 * ulp(scalar, span.magnitude().max(a.magnitude())),
            ))
        }
        (B::Bitselect | B::Nan | B::Lgamma, _) => Err(Unbounded),
        _ => {
            let ulps = match builtin.ulp(scalar) {
                _ if freedom.relaxed => RELAXED_ULPS,
                Ulp::Exact => 0.0,
                Ulp::Within(_) if freedom.exact_division && builtin == B::Sqrt => 0.0,
                Ulp::Within(ulps) => f64::from(ulps),
                Ulp::Length(a, b) => f64::from(a + b),
                Ulp::Free => return Err(Unbounded),
            };
            if builtin.ulp(scalar) == Ulp::Free {
                return Err(Unbounded);
            }
            let real = sampled(builtin, operands)?;
            // float64 has errors of its own.
            let real = real.wider(4.0 * ulp(Scalar::F64, real.magnitude()));
            Ok(round(scalar, real, ulps, computed))
        }
    }
}

fn both(a: Interval, b: Interval, f: fn(f64, f64) -> f64) -> Interval {
    Interval {
        exact: f(a.exact, b.exact),
        low: f(a.low, b.low),
        high: f(a.high, b.high),
        nan: a.nan || b.nan,
        open: BOUNDED,
    }
}

/// Functions that jump, or that turn between the ends of a short interval more than [`sampled`] sees.
fn jumps(builtin: Builtin) -> bool {
    use Builtin as B;
    matches!(
        builtin,
        B::Fract
            | B::Fmod
            | B::Remainder
            | B::Remquo
            | B::Frexp
            | B::Modf
            | B::Sign
            | B::Step
            | B::Logb
            | B::Nextafter
            | B::Copysign
            | B::Maxmag
            | B::Minmag
            | B::Tgamma
    )
}

/// The range of a function over its operands: its values at the ends and at the float64 operands, widened by how far
/// it bends between them.
fn sampled(builtin: Builtin, operands: &[Interval]) -> Bounds {
    let certain = operands.iter().all(Interval::is_certain);
    if !certain && jumps(builtin) {
        return Err(Unbounded);
    }
    let at = |numbers: &[f64]| -> Option<f64> {
        Some(match numbers {
            [a] => math::float1::<f64>(builtin)?(*a),
            [a, b] => match math::float2::<f64>(builtin) {
                Some(function) => function(*a, *b),
                // A whole number, such as the exponent of `pown`.
                None => math::float_int::<f64>(builtin)?(*a, *b as i32),
            },
            [a, b, c] => math::float3::<f64>(builtin)?(*a, *b, *c),
            _ => return None,
        })
    };
    let exact: Vec<f64> = operands.iter().map(|operand| operand.exact).collect();
    let exact = at(&exact).ok_or(Unbounded)?;
    let mut values = Vec::new();
    for corner in 0..1 << operands.len() {
        let point: Vec<f64> = operands
            .iter()
            .enumerate()
            .map(|(index, operand)| if corner >> index & 1 == 0 { operand.low } else { operand.high })
            .collect();
        values.push(at(&point).ok_or(Unbounded)?);
    }
    let middle: Vec<f64> = operands.iter().map(|operand| operand.low.midpoint(operand.high)).collect();
    let middle = at(&middle).ok_or(Unbounded)?;
    if values.iter().any(|value| value.is_nan()) || middle.is_nan() {
        if certain {
            return Ok(Interval { exact, ..Interval::point(f64::NAN) });
        }
        return Err(Unbounded);
    }
    let low = values.iter().copied().fold(middle, f64::min);
    let high = values.iter().copied().fold(middle, f64::max);
    let bend = (middle - values[0].midpoint(values[values.len() - 1])).abs();
    let bend = if certain || !bend.is_finite() { 0.0 } else { bend };
    Ok(Interval { low: low - bend, high: high + bend, ..Interval::point(exact) })
}

/// `dot`, `length`, `distance` and their fast forms: one number of vectors.
pub(super) fn of_vectors(
    builtin: Builtin,
    scalar: Scalar,
    a: &[Interval],
    b: &[Interval],
    computed: f64,
) -> Bounds {
    use Builtin as B;
    let count = a.len() as f64;
    let square = |x: &Interval| {
        let magnitude = Interval {
            low: if x.contains_zero() { 0.0 } else { x.low.abs().min(x.high.abs()) },
            high: x.magnitude(),
            ..Interval::point(x.exact.abs())
        };
        multiply(magnitude, magnitude)
    };
    let sum = |all: &mut dyn Iterator<Item = Interval>| all.fold(Interval::point(0.0), add);
    match builtin {
        B::Dot => {
            let real = sum(&mut a.iter().zip(b).map(|(a, b)| multiply(*a, *b)));
            let largest = |all: &[Interval]| all.iter().map(Interval::magnitude).fold(0.0, f64::max);
            // An absolute error of max |a| max |b| (2 n - 1) units of 1.
            let error = largest(a) * largest(b) * (2.0 * count - 1.0) * ulp(scalar, 1.0);
            Ok(round(scalar, real.wider(error), 0.0, computed))
        }
        B::Length | B::FastLength | B::Distance | B::FastDistance => {
            let squares = if matches!(builtin, B::Length | B::FastLength) {
                sum(&mut a.iter().map(square))
            } else {
                let differences: Vec<Interval> =
                    a.iter().zip(b).map(|(a, b)| add(*a, b.map(|b| -b))).collect();
                sum(&mut differences.iter().map(square))
            };
            let Ulp::Length(base, each) = builtin.ulp(scalar) else { return Err(Unbounded) };
            let ulps = f64::from(base) + f64::from(each) * count;
            Ok(round(scalar, squares.map(|number| number.max(0.0).sqrt()), ulps, computed))
        }
        _ => Err(Unbounded),
    }
}
