//! Functions of the OpenCL library.
//!
//! Functions of floats, and frequent short functions of integers, become vector code; the others are called lane by
//! lane.

#![allow(
    clippy::redundant_closure_for_method_calls,
    clippy::cast_lossless,
    clippy::unnecessary_cast,
    reason = "one closure for all widths, each of which is a separate type"
)]

use bytemuck::Pod;
use half::f16;
use tripipe_ir::op::{Builtin, BuiltinSignature};
use tripipe_ir::{Scalar, Type};

use super::map::{binary, ints, signed, ternary, unary, unsigned};
use super::vector;
use crate::execute::code::{Detail, Inst, NONE, Run};
use crate::execute::rows::{numbers, numbers_mut};
use crate::execute::state::State;
use crate::math::{self, Float, basic, geometric};

macro_rules! by_float {
    ($scalar:expr, $run:ident) => {
        match $scalar {
            Scalar::F16 => $run::<f16> as Run,
            Scalar::F32 => $run::<f32>,
            Scalar::F64 => $run::<f64>,
            _ => return None,
        }
    };
}
macro_rules! by_int {
    ($scalar:expr, $run:ident) => {
        match $scalar {
            Scalar::I8 => $run::<u8> as Run,
            Scalar::I16 => $run::<u16>,
            Scalar::I32 => $run::<u32>,
            Scalar::I64 => $run::<u64>,
            _ => return None,
        }
    };
}
pub(super) fn select(builtin: Builtin, first: Type, result: Type) -> Option<(Run, Detail)> {
    let scalar = first.scalar()?;
    if let Some(run) = quick(builtin, scalar) {
        return Some((run, Detail::Builtin(builtin)));
    }
    let detail = Detail::Builtin(builtin);
    let run: Run = match builtin.signature() {
        BuiltinSignature::FloatsToScalar(_) => {
            let run: Run = by_float!(scalar, to_scalar);
            return Some((run, Detail::Geometric { builtin, components: first.lanes() }));
        }
        // These need all components of a lane, unlike the other functions of one operand.
        BuiltinSignature::Float(1) if matches!(builtin, Builtin::Normalize | Builtin::FastNormalize) => {
            by_float!(scalar, normalize)
        }
        BuiltinSignature::Float(1) => by_float!(scalar, float1),
        BuiltinSignature::Float(2) => by_float!(scalar, float2),
        BuiltinSignature::Float(_) => by_float!(scalar, float3),
        BuiltinSignature::FloatInt => by_float!(scalar, float_int),
        BuiltinSignature::FloatToInt => by_float!(scalar, float_to_int),
        BuiltinSignature::FloatsToInt => by_float!(scalar, floats_to_int),
        BuiltinSignature::IntToFloat => match scalar {
            Scalar::I16 => int_to_float::<f16>,
            Scalar::I32 => int_to_float::<f32>,
            Scalar::I64 => int_to_float::<f64>,
            _ => return None,
        },
        BuiltinSignature::Int(1) => by_int!(scalar, int1),
        BuiltinSignature::Int(2) => by_int!(scalar, int2),
        BuiltinSignature::Int(_) => by_int!(scalar, int3),
        BuiltinSignature::Any(_) => vector::bitselect(scalar),
        BuiltinSignature::Upsample => vector::upsample(scalar)?,
        BuiltinSignature::Cross => return Some((vector::cross, Detail::Number(u64::from(scalar.bytes())))),
        BuiltinSignature::Shuffle(_) => {
            return Some((vector::shuffle_dynamic(scalar), Detail::Number(u64::from(first.lanes()))));
        }
    };
    let _ = result;
    Some((run, detail))
}

/// The functions that become vector code.
fn quick(builtin: Builtin, scalar: Scalar) -> Option<Run> {
    macro_rules! exact {
        (1, $f:path) => {
            match scalar {
                Scalar::F16 => Some((|s, i| unary::<f16, f16>(s, i, $f)) as Run),
                Scalar::F32 => Some(|s, i| unary::<f32, f32>(s, i, $f)),
                Scalar::F64 => Some(|s, i| unary::<f64, f64>(s, i, $f)),
                _ => None,
            }
        };
        (2, $f:path) => {
            match scalar {
                Scalar::F16 => Some((|s, i| binary::<f16, f16, f16>(s, i, $f)) as Run),
                Scalar::F32 => Some(|s, i| binary::<f32, f32, f32>(s, i, $f)),
                Scalar::F64 => Some(|s, i| binary::<f64, f64, f64>(s, i, $f)),
                _ => None,
            }
        };
        (3, $f:path) => {
            match scalar {
                Scalar::F16 => Some((|s, i| ternary::<f16, f16, f16, f16>(s, i, $f)) as Run),
                Scalar::F32 => Some(|s, i| ternary::<f32, f32, f32, f32>(s, i, $f)),
                Scalar::F64 => Some(|s, i| ternary::<f64, f64, f64, f64>(s, i, $f)),
                _ => None,
            }
        };
    }
    match builtin {
        Builtin::Mad => exact!(3, basic::mad),
        Builtin::Fma => exact!(3, basic::fma),
        Builtin::Fabs => exact!(1, basic::fabs),
        Builtin::Floor => exact!(1, basic::floor),
        Builtin::Ceil => exact!(1, basic::ceil),
        Builtin::Trunc => exact!(1, basic::trunc),
        Builtin::Rint => exact!(1, basic::rint),
        // The native and half variants may be less accurate, but do not have to be.
        Builtin::Sqrt | Builtin::HalfSqrt | Builtin::NativeSqrt => exact!(1, basic::sqrt),
        Builtin::Rsqrt | Builtin::HalfRsqrt | Builtin::NativeRsqrt => exact!(1, basic::rsqrt),
        Builtin::HalfRecip | Builtin::NativeRecip => exact!(1, basic::recip),
        Builtin::HalfDivide | Builtin::NativeDivide => exact!(2, basic::divide),
        Builtin::Fmax => exact!(2, basic::fmax),
        Builtin::Fmin => exact!(2, basic::fmin),
        Builtin::FmaxCommon => exact!(2, basic::fmax_common),
        Builtin::FminCommon => exact!(2, basic::fmin_common),
        Builtin::Fclamp => exact!(3, basic::clamp),
        Builtin::Mix => exact!(3, basic::mix),
        Builtin::Step => exact!(2, basic::step),
        Builtin::SMin => signed!(binary, scalar, Ord::min),
        Builtin::SMax => signed!(binary, scalar, Ord::max),
        Builtin::UMin => unsigned!(binary, scalar, Ord::min),
        Builtin::UMax => unsigned!(binary, scalar, Ord::max),
        // `Ord::clamp` panics if the bounds are in the wrong order, which OpenCL leaves undefined.
        Builtin::SClamp => signed!(ternary, scalar, |x, low, high| x.max(low).min(high)),
        Builtin::UClamp => unsigned!(ternary, scalar, |x, low, high| x.max(low).min(high)),
        Builtin::SAbs => signed!(unary, scalar, |x| x.wrapping_abs()),
        Builtin::SAddSat => signed!(binary, scalar, |a, b| a.saturating_add(b)),
        Builtin::UAddSat => unsigned!(binary, scalar, |a, b| a.saturating_add(b)),
        Builtin::SSubSat => signed!(binary, scalar, |a, b| a.saturating_sub(b)),
        Builtin::USubSat => unsigned!(binary, scalar, |a, b| a.saturating_sub(b)),
        Builtin::Rotate => unsigned!(binary, scalar, |a, n| a.rotate_left(n as u32)),
        Builtin::UAbsDiff => unsigned!(binary, scalar, |a, b| a.abs_diff(b)),
        Builtin::UMulHi if scalar == Scalar::I32 => {
            Some(|s, i| binary::<u32, u32, u32>(s, i, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32))
        }
        Builtin::SMad24 if scalar == Scalar::I32 => Some(|s, i| {
            ternary::<i32, i32, i32, i32>(s, i, |a, b, c| {
                // Only the lowest 24 bits count, with their sign.
                (a << 8 >> 8).wrapping_mul(b << 8 >> 8).wrapping_add(c)
            })
        }),
        Builtin::SMul24 if scalar == Scalar::I32 => {
            Some(|s, i| binary::<i32, i32, i32>(s, i, |a, b| (a << 8 >> 8).wrapping_mul(b << 8 >> 8)))
        }
        _ => None,
    }
}

fn builtin(i: &Inst) -> Builtin {
    match i.detail {
        Detail::Builtin(builtin) | Detail::Geometric { builtin, .. } => builtin,
        // Not reached: `select` sets the detail of every function here.
        _ => Builtin::UAbs,
    }
}

/// Lane by lane: the function pointer of a table keeps the compiler from vector code in any case.
fn each1<A: Pod, D: Pod>(s: &mut State<'_>, i: &Inst, f: fn(A) -> D) -> bool {
    let mut out = s.warp.rows.take(i.out);
    let a = s.warp.rows.numbers::<A>(i.args[0]);
    for (out, a) in numbers_mut::<D>(&mut out).iter_mut().zip(a) {
        *out = f(*a);
    }
    s.warp.rows.put(i.out, out);
    true
}

fn each2<A: Pod, B: Pod, D: Pod>(s: &mut State<'_>, i: &Inst, f: fn(A, B) -> D) -> bool {
    let mut out = s.warp.rows.take(i.out);
    let a = s.warp.rows.numbers::<A>(i.args[0]);
    let b = s.warp.rows.numbers::<B>(i.args[1]);
    for ((out, a), b) in numbers_mut::<D>(&mut out).iter_mut().zip(a).zip(b) {
        *out = f(*a, *b);
    }
    s.warp.rows.put(i.out, out);
    true
}

fn each3<A: Pod>(s: &mut State<'_>, i: &Inst, f: fn(A, A, A) -> A) -> bool {
    let mut out = s.warp.rows.take(i.out);
    let a = s.warp.rows.numbers::<A>(i.args[0]);
    let b = s.warp.rows.numbers::<A>(i.args[1]);
    let c = s.warp.rows.numbers::<A>(i.args[2]);
    for (((out, a), b), c) in numbers_mut::<A>(&mut out).iter_mut().zip(a).zip(b).zip(c) {
        *out = f(*a, *b, *c);
    }
    s.warp.rows.put(i.out, out);
    true
}

fn float1<T: Float + Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    // Always found: `select` has checked the builtin's signature.
    let Some(f) = math::array1::<T>(builtin(i)) else { return true };
    let mut out = s.warp.rows.take(i.out);
    f(s.warp.rows.numbers(i.args[0]), numbers_mut(&mut out));
    s.warp.rows.put(i.out, out);
    true
}

fn float2<T: Float + Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    let Some(f) = math::array2::<T>(builtin(i)) else { return true };
    let mut out = s.warp.rows.take(i.out);
    let rows = &s.warp.rows;
    f(rows.numbers(i.args[0]), rows.numbers(i.args[1]), numbers_mut(&mut out));
    s.warp.rows.put(i.out, out);
    true
}

fn float3<T: Float + Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    let Some(f) = math::array3::<T>(builtin(i)) else { return true };
    let mut out = s.warp.rows.take(i.out);
    let rows = &s.warp.rows;
    f(rows.numbers(i.args[0]), rows.numbers(i.args[1]), rows.numbers(i.args[2]), numbers_mut(&mut out));
    s.warp.rows.put(i.out, out);
    true
}

/// The integer may be a scalar that applies to all components.
fn float_int<T: Float + Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    let Some(f) = math::float_int::<T>(builtin(i)) else { return true };
    let width = usize::from(i.width);
    let mut out = s.warp.rows.take(i.out);
    let a = s.warp.rows.numbers::<T>(i.args[0]);
    let n = s.warp.rows.numbers::<i32>(i.args[1]);
    let count = usize::from(i.components) * width;
    let one = n.len() < count;
    for (index, (out, a)) in numbers_mut::<T>(&mut out).iter_mut().zip(a).take(count).enumerate() {
        *out = f(*a, n[if one { index % width } else { index }]);
    }
    s.warp.rows.put(i.out, out);
    true
}

fn float_to_int<T: Float + Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    math::float_to_int::<T>(builtin(i)).is_none_or(|f| each1(s, i, f))
}

fn floats_to_int<T: Float + Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    math::floats_to_int::<T>(builtin(i)).is_none_or(|f| each2(s, i, f))
}

fn int_to_float<T: Float + Pod>(s: &mut State<'_>, i: &Inst) -> bool
where
    T::Bits: Pod,
{
    math::int_to_float::<T>(builtin(i)).is_none_or(|f| each1(s, i, f))
}

fn int1<T: math::Int + Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    math::int1::<T>(builtin(i)).is_none_or(|f| each1(s, i, f))
}

fn int2<T: math::Int + Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    math::int2::<T>(builtin(i)).is_none_or(|f| each2(s, i, f))
}

fn int3<T: math::Int + Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    math::int3::<T>(builtin(i)).is_none_or(|f| each3(s, i, f))
}

/// The components of a lane.
fn gather<T: Pod>(row: &[u64], components: usize, width: usize, lane: usize) -> [T; Type::MAX_LANES] {
    let row = numbers::<T>(row);
    // Beyond the vector any number will do, because only its components are used.
    std::array::from_fn(|component| row[if component < components { component * width + lane } else { 0 }])
}

fn to_scalar<T: Float + Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    let Detail::Geometric { builtin, components } = i.detail else { return true };
    let (width, components) = (usize::from(i.width), usize::from(components));
    for lane in 0..width {
        let a = gather::<T>(s.warp.rows.words(i.args[0]), components, width, lane);
        let a = &a[..components];
        // `length` has one operand and ignores the second.
        let second = if i.args[1] == NONE { i.args[0] } else { i.args[1] };
        let b = gather::<T>(s.warp.rows.words(second), components, width, lane);
        let b = &b[..components];
        let number = match builtin {
            Builtin::Dot => geometric::dot(a, b),
            Builtin::Distance | Builtin::FastDistance => geometric::distance(a, b),
            _ => geometric::length(a),
        };
        s.warp.rows.numbers_mut::<T>(i.out)[lane] = number;
    }
    true
}

fn normalize<T: Float + Pod>(s: &mut State<'_>, i: &Inst) -> bool {
    let (width, components) = (usize::from(i.width), usize::from(i.components));
    for lane in 0..width {
        let a = gather::<T>(s.warp.rows.words(i.args[0]), components, width, lane);
        let mut unit = a;
        geometric::normalize(&a[..components], &mut unit[..components]);
        let out = s.warp.rows.numbers_mut::<T>(i.out);
        for (component, number) in unit[..components].iter().enumerate() {
            out[component * width + lane] = *number;
        }
    }
    true
}
