//! Conversions between numbers.

#![allow(
    clippy::redundant_closure_for_method_calls,
    clippy::cast_lossless,
    clippy::unnecessary_cast,
    reason = "one closure for all widths, each of which is a separate type"
)]

use half::f16;
use tripipe_ir::Scalar;
use tripipe_ir::op::{Convert, Number, Rounding};

use super::map::unary;
use crate::execute::code::{Detail, Inst, Run};
use crate::execute::state::State;
use crate::math::Float as _;

/// Frequent conversions run in vectors; the rest run number by number.
pub(super) fn select(convert: Convert, from: Scalar, to: Scalar) -> Option<(Run, Detail)> {
    let detail = Detail::Convert { convert, from, to };
    Some((quick(convert, from, to).unwrap_or(each as Run), detail))
}

/// A conversion that Rust's `as` performs: between integers without saturation; to floats, to nearest; to integers,
/// toward zero (`as` clamps, which is the result of a saturating conversion and permitted for others); between
/// floats, to nearest.
fn quick(convert: Convert, from: Scalar, to: Scalar) -> Option<Run> {
    use Number::{Float, Signed, Unsigned};
    use Scalar::{F16, F32, F64, I8, I16, I32, I64};
    macro_rules! to_each {
        ($a:ty, $($to:pat => $d:ty),*) => {
            match to { $($to => Some(|s, i| unary::<$a, $d>(s, i, |a| a as $d)),)* _ => None }
        };
    }
    macro_rules! from_half {
        ($($to:pat => $d:ty),*) => {
            match to { $($to => Some(|s, i| unary::<f16, $d>(s, i, |a| a.widen() as $d)),)* _ => None }
        };
    }
    let nearest = convert.rounding == Rounding::Nearest;
    match (convert.from, convert.to) {
        (Signed | Unsigned, Signed | Unsigned) if !convert.saturate => match (convert.from, from) {
            // Between equal sizes the bits stay as they are, whatever the signs.
            (_, _) if to.bytes() == from.bytes() => Some(super::vector::copy),
            (Signed, I8) => to_each!(i8, I16 => i16, I32 => i32, I64 => i64),
            (Signed, I16) => to_each!(i16, I8 => i8, I32 => i32, I64 => i64),
            (Signed, I32) => to_each!(i32, I8 => i8, I16 => i16, I64 => i64),
            (Signed, I64) => to_each!(i64, I8 => i8, I16 => i16, I32 => i32),
            (_, I8) => to_each!(u8, I16 => u16, I32 => u32, I64 => u64),
            (_, I16) => to_each!(u16, I8 => u8, I32 => u32, I64 => u64),
            (_, I32) => to_each!(u32, I8 => u8, I16 => u16, I64 => u64),
            (_, I64) => to_each!(u64, I8 => u8, I16 => u16, I32 => u32),
            _ => None,
        },
        // Not to half, which would be rounded twice, first to single.
        (Signed, Float) if nearest => match from {
            I8 => to_each!(i8, F32 => f32, F64 => f64),
            I16 => to_each!(i16, F32 => f32, F64 => f64),
            I32 => to_each!(i32, F32 => f32, F64 => f64),
            I64 => to_each!(i64, F32 => f32, F64 => f64),
            _ => None,
        },
        (Unsigned, Float) if nearest => match from {
            I8 => to_each!(u8, F32 => f32, F64 => f64),
            I16 => to_each!(u16, F32 => f32, F64 => f64),
            I32 => to_each!(u32, F32 => f32, F64 => f64),
            I64 => to_each!(u64, F32 => f32, F64 => f64),
            _ => None,
        },
        (Float, Signed) if convert.rounding == Rounding::Zero => match from {
            F16 => from_half!(I8 => i8, I16 => i16, I32 => i32, I64 => i64),
            F32 => to_each!(f32, I8 => i8, I16 => i16, I32 => i32, I64 => i64),
            F64 => to_each!(f64, I8 => i8, I16 => i16, I32 => i32, I64 => i64),
            _ => None,
        },
        (Float, Unsigned) if convert.rounding == Rounding::Zero => match from {
            F16 => from_half!(I8 => u8, I16 => u16, I32 => u32, I64 => u64),
            F32 => to_each!(f32, I8 => u8, I16 => u16, I32 => u32, I64 => u64),
            F64 => to_each!(f64, I8 => u8, I16 => u16, I32 => u32, I64 => u64),
            _ => None,
        },
        (Float, Float) => match (from, to) {
            _ if from == to => Some(super::vector::copy),
            (F16, F32) => Some(|s, i| unary::<f16, f32>(s, i, |a| a.widen())),
            (F16, F64) => Some(|s, i| unary::<f16, f64>(s, i, |a| f64::from(a.widen()))),
            (F32, F64) => Some(|s, i| unary::<f32, f64>(s, i, f64::from)),
            (F32, F16) if nearest => Some(|s, i| unary::<f32, f16>(s, i, f16::narrow)),
            (F64, F32) if nearest => Some(|s, i| unary::<f64, f32>(s, i, |a| a as f32)),
            // A double is rounded to half once in `each`, and would be rounded twice here.
            _ => None,
        },
        _ => None,
    }
}

/// Converts number by number.
fn each(s: &mut State<'_>, i: &Inst) -> bool {
    let Detail::Convert { convert, from, to } = i.detail else { return true };
    for index in 0..usize::from(i.components) * usize::from(i.width) {
        let bits = s.warp.rows.bits(i.args[0], index, from.bytes());
        s.warp.rows.set_bits(i.out, index, to.bytes(), one(convert, from, to, bits));
    }
    true
}

/// Converts one number; input and result are bits.
pub(crate) fn one(convert: Convert, from: Scalar, to: Scalar, bits: u64) -> u64 {
    match (convert.from, convert.to) {
        (Number::Float, Number::Float) => round_float(from.to_f64(bits), to, convert.rounding),
        (Number::Float, number) => {
            let value = from.to_f64(bits);
            let rounded = match convert.rounding {
                Rounding::Nearest => value.round_ties_even(),
                Rounding::Zero => value.trunc(),
                Rounding::Up => value.ceil(),
                Rounding::Down => value.floor(),
            };
            // `as` clamps and converts NaN to 0.
            saturated(rounded as i128, to, number).cast_unsigned() as u64 & to.mask()
        }
        (number, Number::Float) => round_integer(integer(number, from, bits), to, convert.rounding),
        (number, as_number) => {
            let value = integer(number, from, bits);
            let value = if convert.saturate { saturated(value, to, as_number) } else { value };
            value.cast_unsigned() as u64 & to.mask()
        }
    }
}

fn integer(number: Number, from: Scalar, bits: u64) -> i128 {
    if number == Number::Signed { i128::from(from.to_i64(bits)) } else { i128::from(bits) }
}

fn saturated(value: i128, to: Scalar, number: Number) -> i128 {
    let bits = to.bits();
    if number == Number::Signed {
        value.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        value.clamp(0, (1 << bits) - 1)
    }
}

/// The bits of a narrower float for a double.
fn round_float(value: f64, to: Scalar, rounding: Rounding) -> u64 {
    if to == Scalar::F64 {
        return value.to_bits();
    }
    let nearest = nearest_float(value, to);
    adjust(to, nearest, rounding, to.to_f64(nearest).partial_cmp(&value), value < 0.0)
}

/// The nearest narrower float for a double, rounded once.
fn nearest_float(value: f64, to: Scalar) -> u64 {
    match to {
        Scalar::F16 => u64::from(f16::nearest(value).to_bits()),
        _ => u64::from((value as f32).to_bits()),
    }
}

fn round_integer(value: i128, to: Scalar, rounding: Rounding) -> u64 {
    let nearest = match to {
        // Above 65519 every value is infinite in half; below, single represents integers exactly.
        Scalar::F16 => u64::from(f16::narrow(value.clamp(-70_000, 70_000) as f32).to_bits()),
        Scalar::F32 => u64::from((value as f32).to_bits()),
        _ => (value as f64).to_bits(),
    };
    let found = to.to_f64(nearest);
    let order = if found.is_infinite() {
        found.partial_cmp(&0.0)
    } else {
        // Every finite float of this magnitude is an integer.
        Some((found as i128).cmp(&value))
    };
    adjust(to, nearest, rounding, order, value < 0)
}

/// Steps from the nearest float to the one that the rounding mode requires. `order` compares the nearest float with
/// the true value.
fn adjust(
    to: Scalar,
    nearest: u64,
    rounding: Rounding,
    order: Option<std::cmp::Ordering>,
    negative: bool,
) -> u64 {
    use std::cmp::Ordering::{Greater, Less};
    let Some(order) = order else { return nearest };
    let up = match (rounding, order) {
        (Rounding::Up, Less) => true,
        (Rounding::Zero, Less) if negative => true,
        (Rounding::Down, Greater) => false,
        (Rounding::Zero, Greater) if !negative => false,
        _ => return nearest,
    };
    match to {
        Scalar::F16 => {
            let half = f16::from_bits(nearest as u16);
            u64::from(step_half(half.to_bits(), up))
        }
        Scalar::F32 => {
            let single = f32::from_bits(nearest as u32);
            u64::from(if up { single.next_up() } else { single.next_down() }.to_bits())
        }
        _ => {
            let double = f64::from_bits(nearest);
            if up { double.next_up() } else { double.next_down() }.to_bits()
        }
    }
}

/// The next half above or below.
fn step_half(bits: u16, up: bool) -> u16 {
    match (bits & 0x7fff, bits >> 15 == 1) {
        (0, _) => {
            if up {
                1
            } else {
                0x8001
            }
        }
        (_, negative) if negative == up => bits - 1,
        _ => bits + 1,
    }
}
