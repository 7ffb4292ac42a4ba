//! Products on the CPU path.

use std::sync::Arc;

use half::f16;
use tripipe_kernels::gemm::{Batch, Elements, Gemm, Layout, Requantise, Scale, Stage};

use crate::cpu::{self, CpuError, Threads};
use crate::operation::HostWork;

/// What explanations call it.
pub(super) const KERNEL: &str = "blocked product in SIMD";
/// Why there is no other.
pub(super) const WHY: &str =
    "packed blocks that stay in cache, on all threads; halves are summed in f32, bytes in i32";

/// The product as the CPU path does it.
pub(super) fn work(gemm: &Gemm) -> HostWork {
    let gemm = gemm.clone();
    Arc::new(move |inputs, output| {
        // A, B, then what comes after C.
        let [a, b, rest @ ..] = inputs else { return Ok(()) };
        match gemm.elements {
            Elements::F32 => {
                floats(&gemm, [cast(a), cast(b)], rest, bytemuck::cast_slice_mut(trim(output, 4)))
            }
            Elements::F16(_) => {
                let output: &mut [f16] = bytemuck::cast_slice_mut(trim(output, 2));
                halves(&gemm, [cast(a), cast(b)], rest, output)
            }
            Elements::I8ToI32 => {
                to_integers(&gemm, [cast(a), cast(b)], rest, bytemuck::cast_slice_mut(trim(output, 4)));
                Ok(())
            }
            Elements::I8ToI8(requantise) => {
                requantised(&gemm, requantise, [cast(a), cast(b)], rest, bytemuck::cast_slice_mut(output));
                Ok(())
            }
        }
    })
}

/// Memory as elements; it may end with a part of one.
fn cast<T: bytemuck::Pod>(memory: &[u8]) -> &[T] {
    bytemuck::cast_slice(&memory[..memory.len() / size_of::<T>() * size_of::<T>()])
}

fn trim(memory: &mut [u8], bytes: usize) -> &mut [u8] {
    let whole = memory.len() / bytes * bytes;
    &mut memory[..whole]
}

/// Elements that the operands of product `index` lie beyond their layouts' offsets.
fn starts(gemm: &Gemm, rest: &[&[u8]], index: usize) -> [usize; 3] {
    match gemm.batch {
        Batch::One => [0; 3],
        Batch::Strided { strides, .. } => strides.map(|stride| stride * index),
        Batch::Offsets { .. } => {
            let offsets = rest.first().map_or(&[][..], |offsets| cast::<u32>(offsets));
            [0, 1, 2].map(|operand| offsets.get(3 * index + operand).map_or(0, |at| *at as usize))
        }
    }
}

/// An operand, dense and row-major.
fn gathered<T: Copy, U>(
    from: &[T],
    layout: &Layout,
    start: usize,
    [rows, columns]: [usize; 2],
    of: impl Fn(T) -> U,
) -> Vec<U> {
    let [row, column] = layout.strides();
    let first = layout.offset + start;
    (0..rows)
        .flat_map(|i| (0..columns).map(move |j| first + i * row + j * column))
        .map(|index| of(from[index]))
        .collect()
}

/// Where an element of C lies.
fn place(gemm: &Gemm, start: usize, [i, j]: [usize; 2]) -> usize {
    let [row, column] = gemm.c.strides();
    gemm.c.offset + start + i * row + j * column
}

/// The memory of the epilogue's stages; nothing for a stage without.
fn sides<'m>(gemm: &Gemm, rest: &[&'m [u8]]) -> Vec<Option<&'m [u8]>> {
    let before = usize::from(matches!(gemm.batch, Batch::Offsets { .. }))
        + usize::from(matches!(gemm.elements, Elements::I8ToI8(_)));
    let mut sides = rest.iter().skip(before);
    let stages = gemm.epilogue.iter().map(|stage| match stage {
        Stage::BiasColumns | Stage::BiasRows | Stage::Residual { .. } => sides.next().copied(),
        Stage::Relu | Stage::Relu6 | Stage::Clamp { .. } => None,
    });
    stages.collect()
}

/// Index of the element of a stage's memory that belongs to an element of C.
fn side_index(stage: &Stage, product: usize, [i, j]: [usize; 2]) -> usize {
    match stage {
        Stage::BiasRows => i,
        Stage::Residual { layout, stride } => {
            let [row, column] = layout.strides();
            layout.offset + product * stride + i * row + j * column
        }
        _ => j,
    }
}

/// A float after the epilogue. `max` and `min` would turn a NaN into a number.
fn finish(mut value: f32, gemm: &Gemm, side: impl Fn(usize, &Stage) -> f32) -> f32 {
    let clamp = |value: f32, least: f32, most: f32| {
        if value < least {
            least
        } else if value > most {
            most
        } else {
            value
        }
    };
    for (index, stage) in gemm.epilogue.iter().enumerate() {
        value = match stage {
            Stage::Relu => clamp(value, 0.0, f32::INFINITY),
            Stage::Relu6 => clamp(value, 0.0, 6.0),
            Stage::Clamp { least, most } => clamp(value, *least, *most),
            Stage::BiasColumns | Stage::BiasRows | Stage::Residual { .. } => value + side(index, stage),
        };
    }
    value
}

fn floats(gemm: &Gemm, [a, b]: [&[f32]; 2], rest: &[&[u8]], c: &mut [f32]) -> Result<(), CpuError> {
    let sides: Vec<&[f32]> = sides(gemm, rest).into_iter().map(|side| side.map_or(&[][..], cast)).collect();
    each(
        gemm,
        rest,
        [a, b],
        |value| value,
        |product, [i, j], at, sum| {
            let old = if gemm.beta == 0.0 { 0.0 } else { gemm.beta as f32 * c[at] };
            let value = gemm.alpha as f32 * sum + old;
            c[at] = finish(value, gemm, |index, stage| sides[index][side_index(stage, product, [i, j])]);
        },
    )
}

fn halves(gemm: &Gemm, [a, b]: [&[f16]; 2], rest: &[&[u8]], c: &mut [f16]) -> Result<(), CpuError> {
    let sides: Vec<&[f16]> = sides(gemm, rest).into_iter().map(|side| side.map_or(&[][..], cast)).collect();
    each(gemm, rest, [a, b], f16::to_f32, |product, [i, j], at, sum| {
        let old = if gemm.beta == 0.0 { 0.0 } else { gemm.beta as f32 * c[at].to_f32() };
        let value = gemm.alpha as f32 * sum + old;
        let side = |index: usize, stage: &Stage| sides[index][side_index(stage, product, [i, j])].to_f32();
        c[at] = f16::from_f32(finish(value, gemm, side));
    })
}

/// Calls `store` with every product's number, row and column, place in C, and sum.
fn each<T: Copy>(
    gemm: &Gemm,
    rest: &[&[u8]],
    [a, b]: [&[T]; 2],
    widen: impl Fn(T) -> f32 + Copy,
    mut store: impl FnMut(usize, [usize; 2], usize, f32),
) -> Result<(), CpuError> {
    let Gemm { m, n, .. } = *gemm;
    let k = if gemm.alpha == 0.0 { 0 } else { gemm.k };
    for product in 0..gemm.batch.count() {
        let [start_a, start_b, start_c] = starts(gemm, rest, product);
        let a = gathered(a, &gemm.a, start_a, [m, k], widen);
        let b = gathered(b, &gemm.b, start_b, [k, n], widen);
        let mut sums = vec![0.0; m * n];
        cpu::gemm_f32(&a, &b, &mut sums, m, n, k, Threads::All)?;
        for (i, row) in sums.chunks(n).enumerate() {
            for (j, sum) in row.iter().enumerate() {
                store(product, [i, j], place(gemm, start_c, [i, j]), *sum);
            }
        }
    }
    Ok(())
}

/// Sums of bytes, with `alpha` and the epilogue, handed to `store` with what `beta` takes: column, place in C, total without C.
fn bytes(
    gemm: &Gemm,
    [a, b]: [&[i8]; 2],
    rest: &[&[u8]],
    zeros: [i8; 2],
    mut store: impl FnMut(usize, usize, &dyn Fn(i32) -> i32),
) {
    let Gemm { m, n, .. } = *gemm;
    let k = if gemm.alpha == 0.0 { 0 } else { gemm.k };
    let sides: Vec<&[i32]> = sides(gemm, rest).into_iter().map(|side| side.map_or(&[][..], cast)).collect();
    for product in 0..gemm.batch.count() {
        let [start_a, start_b, start_c] = starts(gemm, rest, product);
        let a = gathered(a, &gemm.a, start_a, [m, k], |value| i32::from(value) - i32::from(zeros[0]));
        let b = gathered(b, &gemm.b, start_b, [k, n], |value| i32::from(value) - i32::from(zeros[1]));
        let mut sums = vec![0i32; n];
        for i in 0..m {
            sums.fill(0);
            for (a, b) in a[i * k..][..k].iter().zip(b.chunks(n.max(1))) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = sum.wrapping_add(a.wrapping_mul(*b));
                }
            }
            for (j, sum) in sums.iter().enumerate() {
                let total = |old: i32| {
                    let mut value = (gemm.alpha as i32).wrapping_mul(*sum).wrapping_add(old);
                    for (index, stage) in gemm.epilogue.iter().enumerate() {
                        value = match stage {
                            Stage::Relu => value.max(0),
                            Stage::Relu6 => value.clamp(0, 6),
                            Stage::Clamp { least, most } => value.max(*least as i32).min(*most as i32),
                            Stage::BiasColumns | Stage::BiasRows | Stage::Residual { .. } => {
                                value.wrapping_add(sides[index][side_index(stage, product, [i, j])])
                            }
                        };
                    }
                    value
                };
                store(j, place(gemm, start_c, [i, j]), &total);
            }
        }
    }
}

fn to_integers(gemm: &Gemm, operands: [&[i8]; 2], rest: &[&[u8]], c: &mut [i32]) {
    bytes(gemm, operands, rest, [0, 0], |_, at, total| {
        c[at] = total(if gemm.beta == 0.0 { 0 } else { (gemm.beta as i32).wrapping_mul(c[at]) });
    });
}

fn requantised(gemm: &Gemm, requantise: Requantise, operands: [&[i8]; 2], rest: &[&[u8]], c: &mut [i8]) {
    let before = usize::from(matches!(gemm.batch, Batch::Offsets { .. }));
    let scales: &[i32] = rest.get(before).map_or(&[][..], |scales| cast(scales));
    bytes(gemm, operands, rest, [requantise.zero_a, requantise.zero_b], |j, at, total| {
        let old = if gemm.beta == 0.0 { 0 } else { (gemm.beta as i32).wrapping_mul(i32::from(c[at])) };
        let pair = if requantise.scale == Scale::Columns { 2 * j } else { 0 };
        let (multiplier, shift) = (i64::from(scales[pair]), scales[pair + 1].clamp(1, 62));
        let scaled = (i128::from(total(old)) * i128::from(multiplier) + (1 << (shift - 1))) >> shift;
        let value = scaled + i128::from(requantise.zero_c);
        c[at] = value.clamp(requantise.least.into(), requantise.most.into()) as i8;
    });
}
