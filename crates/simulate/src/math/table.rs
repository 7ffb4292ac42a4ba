//! Functions by their [`Builtin`].

use tripipe_ir::op::Builtin;

use super::float::Float;
use super::int::{Int, Narrow};
use super::{basic, elementary, int};

/// A function of integers of that type, whatever its sign: `s_...` take their bits as signed, `u_...` as unsigned.
macro_rules! signed {
    ($function:ident, $($x:ident),+) => { |$($x: T),+| T::from_signed(int::$function($($x.signed()),+)) };
}
macro_rules! unsigned {
    ($function:ident, $($x:ident),+) => { |$($x: T),+| T::from_unsigned(int::$function($($x.unsigned()),+)) };
}
/// A function of 32-bit integers; there is none of other widths.
macro_rules! words {
    ($function:ident, $word:ty, $($x:ident),+) => {
        if T::BITS == 32 {
            |$($x: T),+| T::from_u32(int::$function($($x.low() as $word),+) as u32)
        } else {
            return None;
        }
    };
}

/// The function of one float that gives one; `None` if `builtin` is no such function.
pub fn float1<T: Float>(builtin: Builtin) -> Option<fn(T) -> T> {
    Some(match builtin {
        Builtin::Acos => elementary::acos,
        Builtin::Acosh => elementary::acosh,
        Builtin::Acospi => elementary::acospi,
        Builtin::Asin => elementary::asin,
        Builtin::Asinh => elementary::asinh,
        Builtin::Asinpi => elementary::asinpi,
        Builtin::Atan => elementary::atan,
        Builtin::Atanh => elementary::atanh,
        Builtin::Atanpi => elementary::atanpi,
        Builtin::Cbrt => elementary::cbrt,
        Builtin::Ceil => basic::ceil,
        Builtin::Cos | Builtin::HalfCos | Builtin::NativeCos => elementary::cos,
        Builtin::Cosh => elementary::cosh,
        Builtin::Cospi => elementary::cospi,
        Builtin::Erf => elementary::erf,
        Builtin::Erfc => elementary::erfc,
        Builtin::Exp | Builtin::HalfExp | Builtin::NativeExp => elementary::exp,
        Builtin::Exp2 | Builtin::HalfExp2 | Builtin::NativeExp2 => elementary::exp2,
        Builtin::Exp10 | Builtin::HalfExp10 | Builtin::NativeExp10 => elementary::exp10,
        Builtin::Expm1 => elementary::expm1,
        Builtin::Fabs => basic::fabs,
        Builtin::Floor => basic::floor,
        Builtin::Fract => basic::fract,
        Builtin::Frexp => basic::frexp,
        Builtin::Lgamma => elementary::lgamma,
        Builtin::Log | Builtin::HalfLog | Builtin::NativeLog => elementary::log,
        Builtin::Log2 | Builtin::HalfLog2 | Builtin::NativeLog2 => elementary::log2,
        Builtin::Log10 | Builtin::HalfLog10 | Builtin::NativeLog10 => elementary::log10,
        Builtin::Log1p => elementary::log1p,
        Builtin::Logb => basic::logb,
        Builtin::Modf => basic::modf,
        Builtin::Rint => basic::rint,
        Builtin::Round => basic::round,
        Builtin::Rsqrt | Builtin::HalfRsqrt | Builtin::NativeRsqrt => basic::rsqrt,
        Builtin::Sin | Builtin::HalfSin | Builtin::NativeSin => elementary::sin,
        Builtin::Sinh => elementary::sinh,
        Builtin::Sinpi => elementary::sinpi,
        Builtin::Sqrt | Builtin::HalfSqrt | Builtin::NativeSqrt => basic::sqrt,
        Builtin::Tan | Builtin::HalfTan | Builtin::NativeTan => elementary::tan,
        Builtin::Tanh => elementary::tanh,
        Builtin::Tanpi => elementary::tanpi,
        Builtin::Tgamma => elementary::tgamma,
        Builtin::Trunc => basic::trunc,
        Builtin::HalfRecip | Builtin::NativeRecip => basic::recip,
        Builtin::Degrees => basic::degrees,
        Builtin::Radians => basic::radians,
        Builtin::Sign => basic::sign,
        _ => return None,
    })
}

/// The function of two floats that gives one; `None` if `builtin` is no such function.
pub fn float2<T: Float>(builtin: Builtin) -> Option<fn(T, T) -> T> {
    Some(match builtin {
        Builtin::Atan2 => elementary::atan2,
        Builtin::Atan2pi => elementary::atan2pi,
        Builtin::Copysign => basic::copysign,
        Builtin::Fdim => basic::fdim,
        Builtin::Fmax => basic::fmax,
        Builtin::Fmin => basic::fmin,
        Builtin::Fmod => basic::fmod,
        Builtin::Hypot => elementary::hypot,
        Builtin::Maxmag => basic::maxmag,
        Builtin::Minmag => basic::minmag,
        Builtin::Nextafter => basic::nextafter,
        Builtin::Pow => elementary::pow,
        Builtin::Powr | Builtin::HalfPowr | Builtin::NativePowr => elementary::powr,
        Builtin::Remainder | Builtin::Remquo => basic::remainder,
        Builtin::HalfDivide | Builtin::NativeDivide => basic::divide,
        Builtin::FmaxCommon => basic::fmax_common,
        Builtin::FminCommon => basic::fmin_common,
        Builtin::Step => basic::step,
        _ => return None,
    })
}

/// The function of three floats that gives one; `None` if `builtin` is no such function.
pub fn float3<T: Float>(builtin: Builtin) -> Option<fn(T, T, T) -> T> {
    Some(match builtin {
        Builtin::Fma => basic::fma,
        Builtin::Mad => basic::mad,
        Builtin::Fclamp => basic::clamp,
        Builtin::Mix => basic::mix,
        Builtin::Smoothstep => basic::smoothstep,
        Builtin::Bitselect => basic::bitselect,
        _ => return None,
    })
}

/// The function of a float and an integer that gives a float; `None` if `builtin` is no such function.
pub fn float_int<T: Float>(builtin: Builtin) -> Option<fn(T, i32) -> T> {
    Some(match builtin {
        Builtin::Ldexp => basic::ldexp,
        Builtin::Pown => elementary::pown,
        Builtin::Rootn => elementary::rootn,
        _ => return None,
    })
}

/// The function of a float that gives an integer; `None` if `builtin` is no such function.
pub fn float_to_int<T: Float>(builtin: Builtin) -> Option<fn(T) -> i32> {
    Some(match builtin {
        Builtin::Ilogb => basic::ilogb,
        Builtin::LgammaSign => elementary::lgamma_sign,
        Builtin::FrexpExponent => basic::frexp_exponent,
        _ => return None,
    })
}

/// The function of two floats that gives an integer; `None` if `builtin` is no such function.
pub fn floats_to_int<T: Float>(builtin: Builtin) -> Option<fn(T, T) -> i32> {
    Some(match builtin {
        Builtin::RemquoQuotient => basic::remquo_quotient,
        _ => return None,
    })
}

/// The function of an integer that gives a float of its width; `None` if `builtin` is no such function.
pub fn int_to_float<T: Float>(builtin: Builtin) -> Option<fn(T::Bits) -> T> {
    Some(match builtin {
        Builtin::Nan => basic::nan,
        _ => return None,
    })
}

/// The function of one integer; `None` if `builtin` is no such function. T tells the width, not the sign: that is
/// in the function's name.
pub fn int1<T: Int>(builtin: Builtin) -> Option<fn(T) -> T> {
    Some(match builtin {
        Builtin::SAbs => signed!(abs, x),
        Builtin::UAbs => unsigned!(abs, x),
        Builtin::Clz => int::clz,
        Builtin::Ctz => int::ctz,
        _ => return None,
    })
}

/// The function of two integers; `None` if `builtin` is no such function, or has no such width. T tells the width,
/// not the sign: that is in the function's name.
pub fn int2<T: Int>(builtin: Builtin) -> Option<fn(T, T) -> T> {
    Some(match builtin {
        Builtin::SAbsDiff => signed!(abs_diff, x, y),
        Builtin::UAbsDiff => unsigned!(abs_diff, x, y),
        Builtin::SAddSat => signed!(add_sat, x, y),
        Builtin::UAddSat => unsigned!(add_sat, x, y),
        Builtin::SSubSat => signed!(sub_sat, x, y),
        Builtin::USubSat => unsigned!(sub_sat, x, y),
        Builtin::SHadd => signed!(hadd, x, y),
        Builtin::UHadd => unsigned!(hadd, x, y),
        Builtin::SRhadd => signed!(rhadd, x, y),
        Builtin::URhadd => unsigned!(rhadd, x, y),
        Builtin::SMax => signed!(max, x, y),
        Builtin::UMax => unsigned!(max, x, y),
        Builtin::SMin => signed!(min, x, y),
        Builtin::UMin => unsigned!(min, x, y),
        Builtin::SMulHi => signed!(mul_hi, x, y),
        Builtin::UMulHi => unsigned!(mul_hi, x, y),
        Builtin::Rotate => int::rotate,
        Builtin::SMul24 => words!(s_mul24, i32, x, y),
        Builtin::UMul24 => words!(u_mul24, u32, x, y),
        _ => return None,
    })
}

/// The function of three integers; `None` if `builtin` is no such function, or has no such width. T tells the width,
/// not the sign: that is in the function's name.
pub fn int3<T: Int>(builtin: Builtin) -> Option<fn(T, T, T) -> T> {
    Some(match builtin {
        Builtin::SClamp => signed!(clamp, x, low, high),
        Builtin::UClamp => unsigned!(clamp, x, low, high),
        Builtin::SMadHi => signed!(mad_hi, a, b, c),
        Builtin::UMadHi => unsigned!(mad_hi, a, b, c),
        Builtin::SMadSat => signed!(mad_sat, a, b, c),
        Builtin::UMadSat => unsigned!(mad_sat, a, b, c),
        Builtin::SMad24 => words!(s_mad24, i32, a, b, c),
        Builtin::UMad24 => words!(u_mad24, u32, a, b, c),
        Builtin::Bitselect => int::bitselect,
        _ => return None,
    })
}

/// A function of a high and a low half that gives twice their width.
pub type Join<T> = fn(T, <T as Int>::Unsigned) -> <T as Narrow>::Wide;

/// The function that puts a high and a low half side by side; `None` if `builtin` is no such function.
pub fn upsample<T: Narrow>(builtin: Builtin) -> Option<Join<T>> {
    Some(match builtin {
        Builtin::SUpsample | Builtin::UUpsample => int::upsample,
        _ => return None,
    })
}
