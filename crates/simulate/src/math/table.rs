//! Functions by their [`Builtin`].

use tripipe_ir::op::Builtin;

use super::arrays::{all, map1, map2, map3};
use super::float::Float;
use super::int::{Int, Narrow};
use super::{basic, elementary, int};

/// A function on arrays: operand, results.
pub type Array1<T> = fn(&[T], &mut [T]);
/// A function on arrays: two operands, results.
pub type Array2<T> = fn(&[T], &[T], &mut [T]);
/// A function on arrays: three operands, results.
pub type Array3<T> = fn(&[T], &[T], &[T], &mut [T]);

/// A function of integers, independent of the sign of the type: `s_...` interpret the bits as signed, `u_...` as
/// unsigned.
macro_rules! signed {
    ($function:ident, $($x:ident),+) => { |$($x: T),+| T::from_signed(int::$function($($x.signed()),+)) };
}
macro_rules! unsigned {
    ($function:ident, $($x:ident),+) => { |$($x: T),+| T::from_unsigned(int::$function($($x.unsigned()),+)) };
}
/// A function of 32-bit integers; other widths do not have it.
macro_rules! words {
    ($function:ident, $word:ty, $($x:ident),+) => {
        if T::BITS == 32 {
            |$($x: T),+| T::from_u32(int::$function($($x.low() as $word),+) as u32)
        } else {
            return None;
        }
    };
}

/// The functions of one float that return a float: `$row` makes the table entry from each. Functions of angles also
/// have a form for [near](elementary::is_near) angles.
macro_rules! of_one {
    ($row:ident, $builtin:expr) => {
        Some(match $builtin {
            Builtin::Acos => $row!(elementary::acos),
            Builtin::Acosh => $row!(elementary::acosh),
            Builtin::Acospi => $row!(elementary::acospi),
            Builtin::Asin => $row!(elementary::asin),
            Builtin::Asinh => $row!(elementary::asinh),
            Builtin::Asinpi => $row!(elementary::asinpi),
            Builtin::Atan => $row!(elementary::atan),
            Builtin::Atanh => $row!(elementary::atanh),
            Builtin::Atanpi => $row!(elementary::atanpi),
            Builtin::Cbrt => $row!(elementary::cbrt),
            Builtin::Ceil => $row!(basic::ceil),
            Builtin::Cos | Builtin::HalfCos | Builtin::NativeCos => {
                $row!(elementary::cos, elementary::cos_near)
            }
            Builtin::Cosh => $row!(elementary::cosh),
            Builtin::Cospi => $row!(elementary::cospi),
            Builtin::Erf => $row!(elementary::erf),
            Builtin::Erfc => $row!(elementary::erfc),
            Builtin::Exp | Builtin::HalfExp | Builtin::NativeExp => $row!(elementary::exp),
            Builtin::Exp2 | Builtin::HalfExp2 | Builtin::NativeExp2 => $row!(elementary::exp2),
            Builtin::Exp10 | Builtin::HalfExp10 | Builtin::NativeExp10 => $row!(elementary::exp10),
            Builtin::Expm1 => $row!(elementary::expm1),
            Builtin::Fabs => $row!(basic::fabs),
            Builtin::Floor => $row!(basic::floor),
            Builtin::Fract => $row!(basic::fract),
            Builtin::Frexp => $row!(basic::frexp),
            Builtin::Lgamma => $row!(elementary::lgamma),
            Builtin::Log | Builtin::HalfLog | Builtin::NativeLog => $row!(elementary::log),
            Builtin::Log2 | Builtin::HalfLog2 | Builtin::NativeLog2 => $row!(elementary::log2),
            Builtin::Log10 | Builtin::HalfLog10 | Builtin::NativeLog10 => $row!(elementary::log10),
            Builtin::Log1p => $row!(elementary::log1p),
            Builtin::Logb => $row!(basic::logb),
            Builtin::Modf => $row!(basic::modf),
            Builtin::Rint => $row!(basic::rint),
            Builtin::Round => $row!(basic::round),
            Builtin::Rsqrt | Builtin::HalfRsqrt | Builtin::NativeRsqrt => $row!(basic::rsqrt),
            Builtin::Sin | Builtin::HalfSin | Builtin::NativeSin => {
                $row!(elementary::sin, elementary::sin_near)
            }
            Builtin::Sinh => $row!(elementary::sinh),
            Builtin::Sinpi => $row!(elementary::sinpi),
            Builtin::Sqrt | Builtin::HalfSqrt | Builtin::NativeSqrt => $row!(basic::sqrt),
            Builtin::Tan | Builtin::HalfTan | Builtin::NativeTan => {
                $row!(elementary::tan, elementary::tan_near)
            }
            Builtin::Tanh => $row!(elementary::tanh),
            Builtin::Tanpi => $row!(elementary::tanpi),
            Builtin::Tgamma => $row!(elementary::tgamma),
            Builtin::Trunc => $row!(basic::trunc),
            Builtin::HalfRecip | Builtin::NativeRecip => $row!(basic::recip),
            Builtin::Degrees => $row!(basic::degrees),
            Builtin::Radians => $row!(basic::radians),
            Builtin::Sign => $row!(basic::sign),
            _ => return None,
        })
    };
}

/// The functions of two floats that return a float.
macro_rules! of_two {
    ($row:ident, $builtin:expr) => {
        Some(match $builtin {
            Builtin::Atan2 => $row!(elementary::atan2),
            Builtin::Atan2pi => $row!(elementary::atan2pi),
            Builtin::Copysign => $row!(basic::copysign),
            Builtin::Fdim => $row!(basic::fdim),
            Builtin::Fmax => $row!(basic::fmax),
            Builtin::Fmin => $row!(basic::fmin),
            Builtin::Fmod => $row!(basic::fmod),
            Builtin::Hypot => $row!(elementary::hypot),
            Builtin::Maxmag => $row!(basic::maxmag),
            Builtin::Minmag => $row!(basic::minmag),
            Builtin::Nextafter => $row!(basic::nextafter),
            Builtin::Pow => $row!(elementary::pow),
            Builtin::Powr | Builtin::HalfPowr | Builtin::NativePowr => $row!(elementary::powr),
            Builtin::Remainder | Builtin::Remquo => $row!(basic::remainder),
            Builtin::HalfDivide | Builtin::NativeDivide => $row!(basic::divide),
            Builtin::FmaxCommon => $row!(basic::fmax_common),
            Builtin::FminCommon => $row!(basic::fmin_common),
            Builtin::Step => $row!(basic::step),
            _ => return None,
        })
    };
}

/// The functions of three floats that return a float.
macro_rules! of_three {
    ($row:ident, $builtin:expr) => {
        Some(match $builtin {
            Builtin::Fma => $row!(basic::fma),
            Builtin::Mad => $row!(basic::mad),
            Builtin::Fclamp => $row!(basic::clamp),
            Builtin::Mix => $row!(basic::mix),
            Builtin::Smoothstep => $row!(basic::smoothstep),
            Builtin::Bitselect => $row!(basic::bitselect),
            _ => return None,
        })
    };
}

/// The function itself.
macro_rules! number {
    ($function:path $(, $near:path)?) => {
        $function
    };
}

/// The function on arrays, called from a closure: called directly, it would not be inlined into the vector code.
macro_rules! array {
    ($function:path) => {
        |x, out| {
            map1(
                x,
                out,
                #[inline(always)]
                |x| $function(x),
            )
        }
    };
    ($function:path, $near:path) => {
        |x, out| {
            if all(
                x,
                #[inline(always)]
                |x| elementary::is_near(x),
            ) {
                map1(
                    x,
                    out,
                    #[inline(always)]
                    |x| $near(x),
                );
            } else {
                map1(
                    x,
                    out,
                    #[inline(always)]
                    |x| $function(x),
                );
            }
        }
    };
}
macro_rules! array2 {
    ($function:path) => {
        |x, y, out| {
            map2(
                x,
                y,
                out,
                #[inline(always)]
                |x, y| $function(x, y),
            )
        }
    };
}
macro_rules! array3 {
    ($function:path) => {
        |x, y, z, out| {
            map3(
                x,
                y,
                z,
                out,
                #[inline(always)]
                |x, y, z| $function(x, y, z),
            )
        }
    };
}

/// The function of one float that returns a float; `None` if `builtin` is no such function.
pub fn float1<T: Float>(builtin: Builtin) -> Option<fn(T) -> T> {
    of_one!(number, builtin)
}

/// The function of two floats that returns a float; `None` if `builtin` is no such function.
pub fn float2<T: Float>(builtin: Builtin) -> Option<fn(T, T) -> T> {
    of_two!(number, builtin)
}

/// The function of three floats that returns a float; `None` if `builtin` is no such function.
pub fn float3<T: Float>(builtin: Builtin) -> Option<fn(T, T, T) -> T> {
    of_three!(number, builtin)
}

/// [`float1`] on arrays (operand, results), in the widest vectors of the processor, over the length of the shorter
/// one. The results are bit-identical except for NaNs.
pub fn array1<T: Float>(builtin: Builtin) -> Option<Array1<T>> {
    of_one!(array, builtin)
}

/// [`float2`] on arrays (operands, results), in the widest vectors of the processor, over the length of the shortest
/// one. The results are bit-identical except for NaNs.
pub fn array2<T: Float>(builtin: Builtin) -> Option<Array2<T>> {
    of_two!(array2, builtin)
}

/// [`float3`] on arrays (operands, results), in the widest vectors of the processor, over the length of the shortest
/// one. The results are bit-identical except for NaNs.
pub fn array3<T: Float>(builtin: Builtin) -> Option<Array3<T>> {
    of_three!(array3, builtin)
}

/// The function of a float and an integer that returns a float; `None` if `builtin` is no such function.
pub fn float_int<T: Float>(builtin: Builtin) -> Option<fn(T, i32) -> T> {
    Some(match builtin {
        Builtin::Ldexp => basic::ldexp,
        Builtin::Pown => elementary::pown,
        Builtin::Rootn => elementary::rootn,
        _ => return None,
    })
}

/// The function of a float that returns an integer; `None` if `builtin` is no such function.
pub fn float_to_int<T: Float>(builtin: Builtin) -> Option<fn(T) -> i32> {
    Some(match builtin {
        Builtin::Ilogb => basic::ilogb,
        Builtin::LgammaSign => elementary::lgamma_sign,
        Builtin::FrexpExponent => basic::frexp_exponent,
        _ => return None,
    })
}

/// The function of two floats that returns an integer; `None` if `builtin` is no such function.
pub fn floats_to_int<T: Float>(builtin: Builtin) -> Option<fn(T, T) -> i32> {
    Some(match builtin {
        Builtin::RemquoQuotient => basic::remquo_quotient,
        _ => return None,
    })
}

/// The function of an integer that returns a float of its width; `None` if `builtin` is no such function.
pub fn int_to_float<T: Float>(builtin: Builtin) -> Option<fn(T::Bits) -> T> {
    Some(match builtin {
        Builtin::Nan => basic::nan,
        _ => return None,
    })
}

/// The function of one integer; `None` if `builtin` is no such function. `T` determines the width; the function's
/// name determines the signedness.
pub fn int1<T: Int>(builtin: Builtin) -> Option<fn(T) -> T> {
    Some(match builtin {
        Builtin::SAbs => signed!(abs, x),
        Builtin::UAbs => unsigned!(abs, x),
        Builtin::Clz => int::clz,
        Builtin::Ctz => int::ctz,
        _ => return None,
    })
}

/// The function of two integers; `None` if `builtin` is no such function or does not exist for this width. `T`
/// determines the width; the function's name determines the signedness.
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

/// The function of three integers; `None` if `builtin` is no such function or does not exist for this width. `T`
/// determines the width; the function's name determines the signedness.
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

/// A function of an upper and a lower half that returns a number of twice their width.
pub type Join<T> = fn(T, <T as Int>::Unsigned) -> <T as Narrow>::Wide;

/// The function that joins an upper and a lower half; `None` if `builtin` is no such function.
pub fn upsample<T: Narrow>(builtin: Builtin) -> Option<Join<T>> {
    Some(match builtin {
        Builtin::SUpsample | Builtin::UUpsample => int::upsample,
        _ => return None,
    })
}
