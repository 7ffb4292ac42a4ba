//! Functions with rounding: every error must be within its bound.

use core::fmt::Debug;

use half::f16;
use rayon::prelude::*;
use rug::Float as Exact;
use rug::ops::Pow;
use tripipe_ir::op::{Builtin, Ulp};
use tripipe_simulate::math;

use crate::math::kind::{Kind, error, exactly, within};
use crate::math::samples;

/// The largest error of a function, and its operand.
fn worst<T: Kind, X: Copy + Debug + Send + Sync>(
    builtin: Builtin,
    operands: &[X],
    got: impl Fn(X) -> T + Sync,
    exact: impl Fn(X) -> Exact + Sync,
) {
    let worst = operands.par_iter().map(|&x| (error(got(x), &exact(x)), x));
    let (error, at) = worst.reduce_with(|a, b| if b.0 > a.0 { b } else { a }).unwrap();
    let bound = bound::<T>(builtin);
    println!("{} {:<12} {error:8.4} of {bound:?} at {at:?}", T::NAME, builtin.name());
    assert!(within(error, bound), "{builtin:?}{at:?} is {:?}, {error} from {}", got(at), exact(at));
}

/// The bound of the specification; where it has none, this implementation's bound.
fn bound<T: Kind>(builtin: Builtin) -> Ulp {
    match builtin.ulp(T::SCALAR) {
        Ulp::Free => Ulp::Within(2.0),
        bound => bound,
    }
}

/// The gamma function; outside the range of all precisions, only the overflow or underflow.
fn gamma(x: Exact) -> Exact {
    let precision = x.prec();
    if x > 200 {
        return Exact::with_val(precision, f64::INFINITY);
    }
    if x < -300 && x.is_finite() && !x.is_integer() {
        let odd = !(x.floor() / 2u32).is_integer();
        let tiny: Exact = Exact::with_val(precision, 1) >> 5000;
        return if odd { -tiny } else { tiny };
    }
    x.gamma()
}

fn float1(builtin: Builtin) -> Option<fn(Exact) -> Exact> {
    Some(match builtin {
        Builtin::Acos => Exact::acos,
        Builtin::Acosh => Exact::acosh,
        Builtin::Acospi => Exact::acos_pi,
        Builtin::Asin => Exact::asin,
        Builtin::Asinh => Exact::asinh,
        Builtin::Asinpi => Exact::asin_pi,
        Builtin::Atan => Exact::atan,
        Builtin::Atanh => Exact::atanh,
        Builtin::Atanpi => Exact::atan_pi,
        Builtin::Cbrt => Exact::cbrt,
        Builtin::Cos => Exact::cos,
        Builtin::Cosh => Exact::cosh,
        Builtin::Cospi => Exact::cos_pi,
        Builtin::Erf => Exact::erf,
        Builtin::Erfc => Exact::erfc,
        Builtin::Exp => Exact::exp,
        Builtin::Exp2 => Exact::exp2,
        Builtin::Exp10 => Exact::exp10,
        Builtin::Expm1 => Exact::exp_m1,
        Builtin::Lgamma => |x| x.ln_abs_gamma().0,
        Builtin::Log => Exact::ln,
        Builtin::Log2 => Exact::log2,
        Builtin::Log10 => Exact::log10,
        Builtin::Log1p => Exact::ln_1p,
        // C has no such function: 1 / sqrt(-0) is 1 / -0.
        Builtin::Rsqrt => |x| {
            if x.is_zero() { x.recip() } else { x.recip_sqrt() }
        },
        Builtin::Sin => Exact::sin,
        Builtin::Sinh => Exact::sinh,
        Builtin::Sinpi => Exact::sin_pi,
        Builtin::Sqrt => Exact::sqrt,
        Builtin::Tan => Exact::tan,
        Builtin::Tanh => Exact::tanh,
        Builtin::Tanpi => Exact::tan_pi,
        Builtin::Tgamma => gamma,
        Builtin::Degrees => |x| x * 180u32 / Exact::with_val(200, rug::float::Constant::Pi),
        Builtin::Radians => |x| x * Exact::with_val(200, rug::float::Constant::Pi) / 180u32,
        _ => return None,
    })
}

fn float2(builtin: Builtin) -> Option<fn(Exact, &Exact) -> Exact> {
    Some(match builtin {
        Builtin::Atan2 => Exact::atan2,
        Builtin::Atan2pi => Exact::atan2_pi,
        Builtin::Hypot => Exact::hypot,
        Builtin::Pow => |x, y| x.pow(y),
        Builtin::Powr => |x, y| {
            // exp(y log(x)): MPFR has no such power, and zero times an infinity is NaN.
            let undefined = x.is_nan()
                || (x.is_sign_negative() && !x.is_zero())
                || y.is_nan()
                || (y.is_zero() && (x.is_zero() || x.is_infinite()))
                || (y.is_infinite() && x == 1);
            if undefined { Exact::with_val(x.prec(), f64::NAN) } else { x.abs().pow(y) }
        },
        _ => return None,
    })
}

fn float_int(builtin: Builtin) -> Option<fn(Exact, i32) -> Exact> {
    Some(match builtin {
        Builtin::Pown => |x, n| x.pow(n),
        Builtin::Rootn => |x, n| {
            // The specification's signs of zero, which MPFR does not implement.
            if x.is_zero() && n != 0 {
                let root = Exact::with_val(x.prec(), if n > 0 { 0.0 } else { f64::INFINITY });
                if n % 2 == 0 { root } else { root.copysign(&x) }
            } else {
                x.root_i(n)
            }
        },
        _ => return None,
    })
}

fn unary<T: Kind>() {
    let numbers = samples::numbers::<T>();
    let mut functions = 0;
    for &builtin in Builtin::ALL {
        let Some(exact) = float1(builtin) else { continue };
        if builtin == Builtin::Lgamma && T::BITS == 64 {
            continue;
        }
        let got = math::float1::<T>(builtin).unwrap();
        worst(builtin, &numbers, got, |x| exact(exactly(x, T::REFERENCE)));
        functions += 1;
    }
    assert!(functions > 30, "{functions}");
}

fn binary<T: Kind>() {
    let pairs = samples::pairs::<T>();
    let mut functions = 0;
    for &builtin in Builtin::ALL {
        let Some(exact) = float2(builtin) else { continue };
        let got = math::float2::<T>(builtin).unwrap();
        let exact = |(x, y)| exact(exactly(x, T::REFERENCE), &exactly(y, T::REFERENCE));
        worst(builtin, &pairs, |(x, y)| got(x, y), exact);
        functions += 1;
    }
    let pairs = samples::with_integers::<T>();
    for &builtin in Builtin::ALL {
        let Some(exact) = float_int(builtin) else { continue };
        let got = math::float_int::<T>(builtin).unwrap();
        worst(builtin, &pairs, |(x, n)| got(x, n), |(x, n)| exact(exactly(x, T::REFERENCE), n));
        functions += 1;
    }
    assert!(functions > 5, "{functions}");
}

/// `double` has no extra precision near the zeros of this function: the error there is small relative to the terms of
/// its sum, not to the result.
#[test]
fn double_logarithm_of_gamma() {
    let lgamma = math::float1::<f64>(Builtin::Lgamma).unwrap();
    samples::numbers::<f64>().into_par_iter().for_each(|x| {
        let exact = exactly(x, f64::REFERENCE).ln_abs_gamma().0;
        let got = lgamma(x);
        // For negative numbers it is the difference of two terms, one of about this size.
        let terms = exact.to_f64().abs() + (1.0 + x.abs()) * (1.0 + x.abs().ln().abs());
        let near = (got - exact.to_f64()).abs() <= 1e-15 * terms;
        assert!(near || got == exact.to_f64() || (got.is_nan() && exact.is_nan()), "{x}: {got}, not {exact}");
    });
}

/// `half_sin` and `native_sin` equal `sin`, and so on, bit for bit.
#[test]
fn variants() {
    let mut variants = 0;
    for &variant in Builtin::ALL {
        let name = variant.name();
        let precise = name.strip_prefix("half_").or_else(|| name.strip_prefix("native_"));
        let Some(precise) = precise.and_then(Builtin::named) else { continue };
        variants += 1;
        if let Some(got) = math::float1::<f32>(variant) {
            let want = math::float1::<f32>(precise).unwrap();
            let numbers = samples::numbers::<f32>();
            assert!(numbers.iter().all(|&x| got(x).to_bits() == want(x).to_bits()), "{name}");
        } else {
            let (got, want) = (math::float2::<f32>(variant).unwrap(), math::float2::<f32>(precise).unwrap());
            let pairs = samples::pairs::<f32>();
            assert!(pairs.iter().all(|&(x, y)| got(x, y).to_bits() == want(x, y).to_bits()), "{name}");
        }
    }
    // All 28 except `recip` and `divide`, which have no other name.
    assert_eq!(variants, 24);
}

#[test]
fn half_of_one_operand() {
    unary::<f16>();
}

#[test]
fn single_of_one_operand() {
    unary::<f32>();
}

#[test]
fn double_of_one_operand() {
    unary::<f64>();
}

#[test]
fn half_of_two_operands() {
    binary::<f16>();
}

#[test]
fn single_of_two_operands() {
    binary::<f32>();
}

#[test]
fn double_of_two_operands() {
    binary::<f64>();
}
