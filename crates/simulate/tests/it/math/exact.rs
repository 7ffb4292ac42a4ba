//! Functions with an exact or correctly rounded result: bit for bit.

use half::f16;
use rayon::prelude::*;
use rug::{Float as Exact, Integer};
use tripipe_ir::op::Builtin;
use tripipe_simulate::math::{self, Float};

use crate::math::kind::{Kind, exactly, rounded};
use crate::math::samples;

/// Holds every sum of two numbers, and of a number and a product, exactly.
const PRECISION: u32 = 3400;

/// Whether both are the same number with the same sign, or both NaN.
fn same<T: Kind>(x: T, y: T) -> bool {
    x.bits() == y.bits() || (x.to_f64().is_nan() && y.to_f64().is_nan())
}

fn zero(x: &Exact) -> Exact {
    Exact::with_val(x.prec(), 0.0).copysign(x)
}

fn float1<T: Kind>(builtin: Builtin) -> Option<fn(Exact) -> Exact> {
    Some(match builtin {
        Builtin::Ceil => Exact::ceil,
        Builtin::Fabs => Exact::abs,
        Builtin::Floor => Exact::floor,
        Builtin::Fract => |x| {
            if x.is_infinite() || x.is_zero() {
                return zero(&x);
            }
            let part = x.clone() - x.clone().floor();
            let below_one = Exact::with_val(PRECISION, 1) - (Exact::with_val(PRECISION, 1) >> T::PRECISION);
            if part > below_one { below_one } else { part }
        },
        Builtin::Frexp => |x| match x.get_exp() {
            Some(exponent) => x >> exponent,
            None => x,
        },
        Builtin::Logb => |x| match x.get_exp() {
            Some(exponent) => Exact::with_val(PRECISION, exponent - 1),
            None if x.is_zero() => Exact::with_val(PRECISION, f64::NEG_INFINITY),
            None => x.abs(),
        },
        Builtin::Modf => |x| {
            if x.is_infinite() { zero(&x) } else { (x.clone() - x.clone().trunc()).copysign(&x) }
        },
        Builtin::Rint => Exact::round_even,
        Builtin::Round => Exact::round,
        Builtin::Sign => |x| {
            if x.is_nan() {
                Exact::with_val(PRECISION, 0)
            } else if x.is_zero() {
                x
            } else {
                x.signum()
            }
        },
        Builtin::Sqrt | Builtin::HalfSqrt | Builtin::NativeSqrt => Exact::sqrt,
        Builtin::Trunc => Exact::trunc,
        Builtin::HalfRecip | Builtin::NativeRecip => Exact::recip,
        _ => return None,
    })
}

/// The greater and the lesser, as worded in the specification.
fn greater(x: Exact, y: &Exact) -> Exact {
    if x.is_nan() || x < *y { y.clone() } else { x }
}

fn lesser(x: Exact, y: &Exact) -> Exact {
    if x.is_nan() || *y < x { y.clone() } else { x }
}

fn float2(builtin: Builtin) -> Option<fn(Exact, &Exact) -> Exact> {
    Some(match builtin {
        Builtin::Fdim => |x, y| if x <= *y { Exact::with_val(PRECISION, 0) } else { x - y },
        Builtin::Fmax => greater,
        Builtin::Fmin => lesser,
        Builtin::Fmod => |x, y| {
            if x.is_finite() && y.is_infinite() { x } else { (x.clone() % y).copysign(&x) }
        },
        Builtin::Maxmag => |x, y| match x.cmp_abs(y) {
            Some(core::cmp::Ordering::Greater) => x,
            Some(core::cmp::Ordering::Less) => y.clone(),
            _ => greater(x, y),
        },
        Builtin::Minmag => |x, y| match x.cmp_abs(y) {
            Some(core::cmp::Ordering::Less) => x,
            Some(core::cmp::Ordering::Greater) => y.clone(),
            _ => lesser(x, y),
        },
        Builtin::Remainder | Builtin::Remquo => |x, y| {
            let remainder = x.clone().remainder(y);
            if remainder.is_zero() { zero(&x) } else { remainder }
        },
        Builtin::HalfDivide | Builtin::NativeDivide => |x, y| x / y,
        Builtin::FmaxCommon => |x, y| if x < *y { y.clone() } else { x },
        Builtin::FminCommon => |x, y| if *y < x { y.clone() } else { x },
        Builtin::Step => |edge, x| {
            Exact::with_val(
                PRECISION,
                u32::from(!matches!(x.partial_cmp(&edge), Some(core::cmp::Ordering::Less))),
            )
        },
        _ => return None,
    })
}

fn float3<T: Kind>(builtin: Builtin) -> Option<fn(Exact, &Exact, &Exact) -> Exact> {
    Some(match builtin {
        Builtin::Fma => Exact::mul_add,
        Builtin::Mad => |a, b, c| exactly(rounded::<T>(&(a * b)), PRECISION) + c,
        Builtin::Fclamp => |x, low, high| lesser(greater(x, low), high),
        _ => return None,
    })
}

fn check<T: Kind, X: Copy + core::fmt::Debug + Send + Sync>(
    builtin: Builtin,
    operands: &[X],
    got: impl Fn(X) -> T + Sync,
    exact: impl Fn(X) -> Exact + Sync,
) {
    operands.par_iter().for_each(|&x| {
        let exact = exact(x);
        let (got, want) = (got(x), rounded::<T>(&exact));
        assert!(same(got, want), "{builtin:?} of {} {x:?}: {got:?}, not {want:?}", T::NAME);
    });
}

fn all<T: Kind>() {
    let mut functions = 0;
    let exactly = |x| exactly::<T>(x, PRECISION);
    let (numbers, pairs, triples) = (samples::numbers::<T>(), samples::pairs::<T>(), samples::triples::<T>());
    for &builtin in Builtin::ALL {
        if let Some(exact) = float1::<T>(builtin) {
            let got = math::float1::<T>(builtin).unwrap();
            check(builtin, &numbers, got, |x| exact(exactly(x)));
            functions += 1;
        }
        if let Some(exact) = float2(builtin) {
            let got = math::float2::<T>(builtin).unwrap();
            check(builtin, &pairs, |(x, y)| got(x, y), |(x, y)| exact(exactly(x), &exactly(y)));
            functions += 1;
        }
        if let Some(exact) = float3::<T>(builtin) {
            let got = math::float3::<T>(builtin).unwrap();
            let exact = |(a, b, c)| exact(exactly(a), &exactly(b), &exactly(c));
            check(builtin, &triples, |(a, b, c)| got(a, b, c), exact);
            functions += 1;
        }
    }
    assert!(functions > 30, "{functions}");

    let ldexp = math::float_int::<T>(Builtin::Ldexp).unwrap();
    check(Builtin::Ldexp, &samples::with_integers::<T>(), |(x, n)| ldexp(x, n), |(x, n)| exactly(x) << n);

    let ilogb = math::float_to_int::<T>(Builtin::Ilogb).unwrap();
    let frexp_exponent = math::float_to_int::<T>(Builtin::FrexpExponent).unwrap();
    let sign = math::float_to_int::<T>(Builtin::LgammaSign).unwrap();
    for &x in &numbers {
        let exact = exactly(x);
        let exponent = exact.get_exp();
        // The values of FP_ILOGB0 and FP_ILOGBNAN that clang's header gives kernels.
        let special = if exact.is_zero() { i32::MIN } else { i32::MAX };
        assert_eq!(ilogb(x), exponent.map_or(special, |exponent| exponent - 1), "{x:?}");
        assert_eq!(frexp_exponent(x), exponent.unwrap_or(0), "{x:?}");
        // The gamma function is negative between -1 and 0, -3 and -2 ...
        let odd = !(exact.clone().floor() / 2u32).is_integer();
        let pole = exact.is_zero() || (exact.is_integer() && exact < 0);
        let negative = exact.is_finite() && exact < 0 && odd;
        assert_eq!(
            sign(x),
            if pole {
                0
            } else if negative {
                -1
            } else {
                1
            },
            "{x:?}"
        );
    }

    let quotient = math::floats_to_int::<T>(Builtin::RemquoQuotient).unwrap();
    for &(x, y) in &pairs {
        let (exact_x, exact_y) = (exactly(x), exactly(y));
        let remainder = exact_x.clone().remainder(&exact_y);
        let want = if remainder.is_nan() || exact_y.is_infinite() {
            0
        } else {
            let n = ((exact_x - remainder) / exact_y).to_integer().unwrap();
            let low = Integer::from(n.abs_ref()) & 0x7fu32;
            n.signum().to_i32().unwrap() * low.to_i32().unwrap()
        };
        assert_eq!(quotient(x, y), want, "{x:?} {y:?}");
    }
}

#[test]
fn half() {
    all::<f16>();
}

#[test]
fn single() {
    all::<f32>();
}

#[test]
fn double() {
    all::<f64>();
}

/// Signs, including those of NaNs.
#[test]
fn signs() {
    fn signs<T: Kind>() {
        let copysign = math::float2::<T>(Builtin::Copysign).unwrap();
        for (x, y) in samples::pairs::<T>() {
            assert!(same(copysign(x, y), T::nearest(x.to_f64().copysign(y.to_f64()))), "{x:?} {y:?}");
        }
    }
    signs::<f16>();
    signs::<f32>();
    signs::<f64>();
}

/// The next number, among all numbers.
#[test]
fn half_nextafter() {
    let nextafter = math::float2::<f16>(Builtin::Nextafter).unwrap();
    let mut numbers: Vec<f16> = samples::numbers();
    numbers.retain(|x| !x.is_nan());
    numbers.sort_by(f16::total_cmp);
    numbers.retain(|&x| x != f16::ZERO || x.is_sign_positive());
    for pair in numbers.windows(2) {
        for to in [pair[1], f16::INFINITY] {
            assert_eq!(nextafter(pair[0], to), pair[1]);
        }
        for to in [pair[0], f16::NEG_INFINITY] {
            assert_eq!(nextafter(pair[1], to), pair[0]);
        }
        assert_eq!(nextafter(pair[0], pair[0]), pair[0]);
    }
}

macro_rules! nextafter {
    ($name:ident, $float:ident) => {
        /// The next number, compared with the standard library.
        #[test]
        fn $name() {
            let nextafter = math::float2::<$float>(Builtin::Nextafter).unwrap();
            for (x, y) in samples::pairs::<$float>() {
                let want = if x.is_nan() || y.is_nan() {
                    $float::NAN
                } else if x < y {
                    x.next_up()
                } else if x > y {
                    x.next_down()
                } else {
                    y
                };
                assert!(same(nextafter(x, y), want), "{x:?} {y:?}");
            }
        }
    };
}

nextafter!(single_nextafter, f32);
nextafter!(double_nextafter, f64);

/// `mix` to 1e-3 and `smoothstep` to 1e-5, the specification's bounds for single precision; `half` has only 11
/// digits.
#[test]
fn blends() {
    fn blends<T: Kind>(mix_bound: f64, step_bound: f64) {
        let mix = math::float3::<T>(Builtin::Mix).unwrap();
        let smoothstep = math::float3::<T>(Builtin::Smoothstep).unwrap();
        let mut rng = fastrand::Rng::with_seed(6);
        for _ in 0..20_000 {
            let [x, y, a] = [(); 3].map(|()| T::nearest(rng.f64()));
            let (u, v, w) = (x.to_f64(), y.to_f64(), a.to_f64());
            assert!((mix(x, y, a).to_f64() - (u + (v - u) * w)).abs() <= mix_bound);
            let t = ((w - u) / (v - u)).clamp(0.0, 1.0);
            if u < v {
                assert!((smoothstep(x, y, a).to_f64() - t * t * (3.0 - 2.0 * t)).abs() <= step_bound);
            }
        }
    }
    blends::<f16>(1e-3, 1e-3);
    blends::<f32>(1e-3, 1e-5);
    blends::<f64>(1e-3, 1e-5);
}

/// Each bit is that of b where c has a 1, else that of a.
#[test]
fn bits() {
    fn bits<T: Kind>() {
        let bitselect = math::float3::<T>(Builtin::Bitselect).unwrap();
        for (a, b, c) in samples::triples::<T>() {
            let want: u64 = (0..T::BITS)
                .map(|bit| (if c.bits() >> bit & 1 == 1 { b } else { a }).bits() & 1 << bit)
                .sum();
            assert_eq!(bitselect(a, b, c).bits(), want);
        }
        let nan = math::int_to_float::<T>(Builtin::Nan).unwrap();
        for number in samples::numbers::<T>() {
            let code = number.to_bits();
            let got = nan(code);
            let payload = (1 << (T::PRECISION - 2)) - 1;
            assert!(got.to_f64().is_nan() && got.bits() & payload == number.bits() & payload);
            assert!(got.bits() >> (T::PRECISION - 2) & 1 == 1, "a signalling NaN");
        }
    }
    bits::<f16>();
    bits::<f32>();
    bits::<f64>();
}

/// `half` as IEEE 754 defines it.
fn half_value(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

#[test]
fn half_widens() {
    for bits in 0..=0xffff {
        let (half, want) = (f16::from_bits(bits), half_value(bits));
        assert!(same(half.to_f64(), want) && same(half.widen(), want as f32), "{bits:x}");
    }
}

/// Every number, every midpoint between two numbers, and the neighbours of these.
#[test]
fn half_narrows() {
    for bits in 0..0x7c00u16 {
        // The next number; above the greatest one it would be 65536.
        let (low, high) = (half_value(bits), if bits == 0x7bff { 65_536.0 } else { half_value(bits + 1) });
        let middle = f64::midpoint(low, high);
        let even = bits + (bits & 1);
        for (number, want) in [
            (low, bits),
            (low.next_up(), bits),
            (middle.next_down(), bits),
            (middle, even),
            (middle.next_up(), bits + 1),
            (high.next_down(), bits + 1),
        ] {
            assert_eq!(<f16 as Float>::nearest(number).to_bits(), want, "{number}");
            assert_eq!(<f16 as Float>::nearest(-number).to_bits(), want | 0x8000, "{number}");
        }
        let middle = middle as f32;
        for (number, want) in
            [(low as f32, bits), (middle.next_down(), bits), (middle, even), (middle.next_up(), bits + 1)]
        {
            assert_eq!(f16::narrow(number).to_bits(), want, "{number}");
            assert_eq!(f16::narrow(-number).to_bits(), want | 0x8000, "{number}");
        }
    }
    for number in [f32::INFINITY, 65_536.0, f32::MAX] {
        assert_eq!(f16::narrow(number), f16::INFINITY);
        assert_eq!(<f16 as Float>::nearest(f64::from(number) * 2.0), f16::INFINITY);
    }
    assert!(f16::narrow(f32::NAN).is_nan() && <f16 as Float>::nearest(f64::NAN).is_nan());
    assert!(f16::narrow(f32::from_bits(0x7f80_0001)).is_nan(), "a NaN's low digits alone");
}
