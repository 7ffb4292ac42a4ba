//! Lanes of vectors, selections, bit casts, dot products of small integers.

use bytemuck::Pod;
use half::f16;
use tripipe_ir::op::Dot;
use tripipe_ir::{Scalar, Type};

use super::map::{binary, by_width, ternary};
use crate::execute::code::{Detail, Inst, Run};
use crate::execute::rows::{numbers, numbers_mut};
use crate::execute::state::State;
use crate::math::Float as _;

/// Copies the bits unchanged, e.g. from a pointer to an integer.
pub(super) fn copy(s: &mut State<'_>, i: &Inst) -> bool {
    let mut out = s.warp.rows.take(i.out);
    out.copy_from_slice(s.warp.rows.words(i.args[0]));
    s.warp.rows.put(i.out, out);
    true
}

/// `condition ? a : b`, with one condition for all components (`one`), or one per component.
pub(super) fn select(scalar: Scalar, one: bool) -> Option<Run> {
    fn each<T: Pod>(s: &mut State<'_>, i: &Inst) -> bool {
        ternary::<u8, T, T, T>(s, i, |c, a, b| if c != 0 { a } else { b })
    }
    fn all<T: Pod>(s: &mut State<'_>, i: &Inst) -> bool {
        if i.components == 1 {
            return each::<T>(s, i);
        }
        let mut out = s.warp.rows.take(i.out);
        let width = usize::from(i.width);
        let rows = &s.warp.rows;
        let condition = &rows.numbers::<u8>(i.args[0])[..width];
        let (a, b) = (rows.numbers::<T>(i.args[1]), rows.numbers::<T>(i.args[2]));
        let pairs = a.chunks(width).zip(b.chunks(width));
        for (out, (a, b)) in numbers_mut::<T>(&mut out).chunks_mut(width).zip(pairs) {
            for (((out, a), b), c) in out.iter_mut().zip(a).zip(b).zip(condition) {
                *out = if *c != 0 { *a } else { *b };
            }
        }
        s.warp.rows.put(i.out, out);
        true
    }
    Some(if one { by_width!(scalar.bytes(), all) } else { by_width!(scalar.bytes(), each) })
}

/// Bytes of a component of the operand and of the result, from the detail.
fn sizes(i: &Inst) -> (usize, usize) {
    match i.detail {
        Detail::Number(sizes) => ((sizes >> 8) as usize, (sizes & 255) as usize),
        _ => (1, 1),
    }
}

/// The same bits as a vector of another component type: byte `b` of a work-item's value stays byte `b`.
pub(super) fn bitcast(s: &mut State<'_>, i: &Inst) -> bool {
    let (from_bytes, to_bytes) = sizes(i);
    if from_bytes == to_bytes {
        return copy(s, i);
    }
    let mut out = s.warp.rows.take(i.out);
    let width = usize::from(i.width);
    let from = numbers::<u8>(s.warp.rows.words(i.args[0]));
    let to = numbers_mut::<u8>(&mut out);
    let bytes = usize::from(i.components) * to_bytes;
    // Components are stored one after another for all lanes, so that the bytes of a lane's value lie apart.
    for lane in 0..width {
        for byte in 0..bytes {
            let source = (byte / from_bytes * width + lane) * from_bytes + byte % from_bytes;
            let target = (byte / to_bytes * width + lane) * to_bytes + byte % to_bytes;
            to[target] = from[source];
        }
    }
    s.warp.rows.put(i.out, out);
    true
}

/// Bytes of one component in all lanes.
fn span(i: &Inst, bytes: usize) -> usize {
    usize::from(i.width) * bytes
}

/// Bytes per component, from the detail.
fn bytes_of(i: &Inst) -> usize {
    match i.detail {
        Detail::Number(bytes) => bytes as usize & 255,
        _ => 8,
    }
}

pub(super) fn construct(s: &mut State<'_>, i: &Inst) -> bool {
    let mut out = s.warp.rows.take(i.out);
    let span = span(i, bytes_of(i));
    let to = numbers_mut::<u8>(&mut out);
    for (component, to) in to.chunks_exact_mut(span).take(usize::from(i.components)).enumerate() {
        to.copy_from_slice(&s.warp.rows.numbers::<u8>(i.arg(component))[..span]);
    }
    s.warp.rows.put(i.out, out);
    true
}

/// Component and bytes of a component, from the detail.
fn component(i: &Inst) -> (usize, usize) {
    match i.detail {
        Detail::Number(number) => ((number >> 8) as usize, (number & 255) as usize),
        _ => (0, 8),
    }
}

pub(super) fn extract(s: &mut State<'_>, i: &Inst) -> bool {
    let (component, bytes) = component(i);
    let span = span(i, bytes);
    let mut out = s.warp.rows.take(i.out);
    let from = s.warp.rows.numbers::<u8>(i.args[0]);
    numbers_mut::<u8>(&mut out)[..span].copy_from_slice(&from[component * span..(component + 1) * span]);
    s.warp.rows.put(i.out, out);
    true
}

pub(super) fn insert(s: &mut State<'_>, i: &Inst) -> bool {
    let (component, bytes) = component(i);
    let span = span(i, bytes);
    let mut out = s.warp.rows.take(i.out);
    out.copy_from_slice(s.warp.rows.words(i.args[0]));
    let value = s.warp.rows.numbers::<u8>(i.args[1]);
    numbers_mut::<u8>(&mut out)[component * span..(component + 1) * span].copy_from_slice(&value[..span]);
    s.warp.rows.put(i.out, out);
    true
}

/// A run-time component index is taken modulo the number of components.
pub(super) fn extract_dynamic(scalar: Scalar) -> Option<Run> {
    fn run<T: Pod>(s: &mut State<'_>, i: &Inst) -> bool {
        let width = usize::from(i.width);
        let mut out = s.warp.rows.take(i.out);
        let from = s.warp.rows.numbers::<T>(i.args[0]);
        let index = s.warp.rows.numbers::<u32>(i.args[1]);
        let Detail::Number(components) = i.detail else { return true };
        let to = numbers_mut::<T>(&mut out);
        for lane in 0..width {
            to[lane] = from[index[lane] as usize % components as usize * width + lane];
        }
        s.warp.rows.put(i.out, out);
        true
    }
    Some(by_width!(scalar.bytes(), run))
}

pub(super) fn insert_dynamic(scalar: Scalar) -> Option<Run> {
    fn run<T: Pod>(s: &mut State<'_>, i: &Inst) -> bool {
        let width = usize::from(i.width);
        let mut out = s.warp.rows.take(i.out);
        out.copy_from_slice(s.warp.rows.words(i.args[0]));
        let value = s.warp.rows.numbers::<T>(i.args[1]);
        let index = s.warp.rows.numbers::<u32>(i.args[2]);
        let to = numbers_mut::<T>(&mut out);
        for lane in 0..width {
            to[index[lane] as usize % usize::from(i.components) * width + lane] = value[lane];
        }
        s.warp.rows.put(i.out, out);
        true
    }
    Some(by_width!(scalar.bytes(), run))
}

/// Selects components from two vectors.
pub(super) fn shuffle(s: &mut State<'_>, i: &Inst) -> bool {
    let Detail::Shuffle { mask, bytes, first } = i.detail else { return true };
    let span = span(i, usize::from(bytes));
    let mut out = s.warp.rows.take(i.out);
    let a = s.warp.rows.numbers::<u8>(i.args[0]);
    let b = s.warp.rows.numbers::<u8>(i.args[1]);
    for (to, lane) in numbers_mut::<u8>(&mut out).chunks_exact_mut(span).zip(mask.lanes()) {
        // An undefined component keeps what the register holds.
        let Some(lane) = lane else { continue };
        let (from, component) = if lane < first { (a, lane) } else { (b, lane - first) };
        let start = usize::from(component) * span;
        to.copy_from_slice(&from[start..start + span]);
    }
    s.warp.rows.put(i.out, out);
    true
}

/// The sum of products of the components of two vectors, in the result's width; a third operand is added with
/// saturation.
pub(super) fn dot(dot: Dot, operands: Type, result: Scalar) -> Option<(Run, Detail)> {
    let run: Run = match operands.scalar()? {
        Scalar::I8 => |s, i| {
            sum::<u8>(
                s,
                i,
                |bits, signed| if signed { i64::from(bits.cast_signed()) } else { i64::from(bits) },
            )
        },
        Scalar::I16 => |s, i| {
            sum::<u16>(
                s,
                i,
                |bits, signed| if signed { i64::from(bits.cast_signed()) } else { i64::from(bits) },
            )
        },
        _ => return None,
    };
    Some((run, Detail::Dot { dot, components: operands.lanes(), result }))
}

fn sum<T: Pod>(s: &mut State<'_>, i: &Inst, value: impl Fn(T, bool) -> i64) -> bool {
    let Detail::Dot { dot, components, result } = i.detail else { return true };
    let width = usize::from(i.width);
    let mut sums = [0i64; 64];
    {
        let a = s.warp.rows.numbers::<T>(i.args[0]);
        let b = s.warp.rows.numbers::<T>(i.args[1]);
        let pairs = a.chunks(width).zip(b.chunks(width)).take(usize::from(components));
        for (a, b) in pairs {
            for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
                *sum += value(*a, dot.a_signed) * value(*b, dot.b_signed);
            }
        }
    }
    let bits = result.bits();
    for (lane, sum) in sums.iter().take(width).enumerate() {
        let mut total = *sum;
        if dot.accumulate {
            let unsigned = !dot.a_signed && !dot.b_signed;
            let old = s.warp.rows.bits(i.args[2], lane, result.bytes());
            let unused = 64 - bits;
            total = if unsigned {
                let limit = i128::from(u64::MAX >> unused);
                (i128::from(old) + i128::from(total)).min(limit) as u64 as i64
            } else {
                let old = result.to_i64(old);
                let (low, high) = (i64::MIN >> unused, i64::MAX >> unused);
                old.saturating_add(total).clamp(low, high)
            };
        }
        s.warp.rows.set_bits(i.out, lane, result.bytes(), total.cast_unsigned());
    }
    true
}

/// Bits of b where c has a 1, else of a.
pub(super) fn bitselect(scalar: Scalar) -> Run {
    match scalar.bytes() {
        1 => |s, i| ternary::<u8, u8, u8, u8>(s, i, |a, b, c| a & !c | b & c),
        2 => |s, i| ternary::<u16, u16, u16, u16>(s, i, |a, b, c| a & !c | b & c),
        4 => |s, i| ternary::<u32, u32, u32, u32>(s, i, |a, b, c| a & !c | b & c),
        _ => |s, i| ternary::<u64, u64, u64, u64>(s, i, |a, b, c| a & !c | b & c),
    }
}

/// (high << width) | low.
pub(super) fn upsample(scalar: Scalar) -> Option<Run> {
    Some(match scalar {
        Scalar::I8 => |s, i| binary::<u8, u8, u16>(s, i, |a, b| u16::from(a) << 8 | u16::from(b)),
        Scalar::I16 => |s, i| binary::<u16, u16, u32>(s, i, |a, b| u32::from(a) << 16 | u32::from(b)),
        Scalar::I32 => |s, i| binary::<u32, u32, u64>(s, i, |a, b| u64::from(a) << 32 | u64::from(b)),
        _ => return None,
    })
}

/// Selects components by a run-time mask, modulo their number.
pub(super) fn shuffle_dynamic(scalar: Scalar) -> Run {
    fn run<T: Pod>(s: &mut State<'_>, i: &Inst, index: impl Fn(T) -> usize) -> bool {
        let Detail::Number(components) = i.detail else { return true };
        let components = components as usize;
        let width = usize::from(i.width);
        let mut out = s.warp.rows.take(i.out);
        // OpenCL's `shuffle` has one vector before the mask, `shuffle2` has two.
        let two = i.args[2] != crate::execute::code::NONE;
        let a = s.warp.rows.numbers::<T>(i.args[0]);
        let b = s.warp.rows.numbers::<T>(i.args[1]);
        let mask = if two { s.warp.rows.numbers::<T>(i.args[2]) } else { b };
        let count = if two { 2 * components } else { components };
        let to = numbers_mut::<T>(&mut out);
        for component in 0..usize::from(i.components) {
            for lane in 0..width {
                let pick = index(mask[component * width + lane]) % count;
                to[component * width + lane] = if pick < components {
                    a[pick * width + lane]
                } else {
                    b[(pick - components) * width + lane]
                };
            }
        }
        s.warp.rows.put(i.out, out);
        true
    }
    match scalar.bytes() {
        1 => |s, i| run::<u8>(s, i, usize::from),
        2 => |s, i| run::<u16>(s, i, usize::from),
        4 => |s, i| run::<u32>(s, i, |mask| mask as usize),
        _ => |s, i| run::<u64>(s, i, |mask| mask as usize),
    }
}

/// Cross product of the first three components; a fourth is 0.
pub(super) fn cross(s: &mut State<'_>, i: &Inst) -> bool {
    fn run<T: Pod>(s: &mut State<'_>, i: &Inst, difference: impl Fn(T, T, T, T) -> T, zero: T) -> bool {
        let width = usize::from(i.width);
        let mut out = s.warp.rows.take(i.out);
        let a = s.warp.rows.numbers::<T>(i.args[0]);
        let b = s.warp.rows.numbers::<T>(i.args[1]);
        let to = numbers_mut::<T>(&mut out);
        for lane in 0..width {
            for component in 0..3 {
                let x = (component + 1) % 3 * width + lane;
                let y = (component + 2) % 3 * width + lane;
                to[component * width + lane] = difference(a[x], b[y], a[y], b[x]);
            }
            if i.components == 4 {
                to[3 * width + lane] = zero;
            }
        }
        s.warp.rows.put(i.out, out);
        true
    }
    match i.detail {
        // In a wider type the products are exact, so their difference does not cancel.
        Detail::Number(2) => run::<f16>(
            s,
            i,
            |a, b, c, d| f16::nearest(a.to_f64() * b.to_f64() - c.to_f64() * d.to_f64()),
            f16::ZERO,
        ),
        Detail::Number(4) => run::<f32>(
            s,
            i,
            |a, b, c, d| (f64::from(a) * f64::from(b) - f64::from(c) * f64::from(d)) as f32,
            0.0,
        ),
        _ => run::<f64>(s, i, |a, b, c, d| a * b - c * d, 0.0),
    }
}

/// Copies one lane to all lanes.
pub(crate) fn splat(s: &mut State<'_>, i: &Inst) -> bool {
    fn fill<T: Pod>(to: &mut [u64], from: &[u64]) {
        for (to, from) in numbers_mut::<T>(to).as_chunks_mut::<64>().0.iter_mut().zip(numbers::<T>(from)) {
            to.fill(*from);
        }
    }
    let mut out = s.warp.rows.take(i.out);
    let from = s.warp.rows.words(i.args[0]);
    match i.detail {
        Detail::Number(1) => fill::<u8>(&mut out, from),
        Detail::Number(2) => fill::<u16>(&mut out, from),
        Detail::Number(4) => fill::<u32>(&mut out, from),
        _ => fill::<u64>(&mut out, from),
    }
    s.warp.rows.put(i.out, out);
    true
}
