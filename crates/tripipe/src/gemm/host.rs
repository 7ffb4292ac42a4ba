//! Products on the CPU path.

use std::ops::Add;
use std::sync::Arc;

use half::f16;
use tripipe_kernels::Role;
use tripipe_kernels::gemm::{
    Accumulate, Batch, Elements, EpilogueStage, Gemm, Requantise, Scale, StridedLayout,
};
use tripipe_launch::{elements_of, elements_of_mut};

use crate::cpu::{self, CpuError, Position, Threads};
use crate::operation::{HostWork, Inputs};

/// The product on the CPU path.
pub(super) fn work(gemm: &Gemm) -> HostWork {
    let gemm = gemm.clone();
    Arc::new(move |inputs: &Inputs<'_>, output: &mut [u8], threads| {
        let [alpha, beta] = gemm.factors();
        match gemm.elements {
            Elements::F64 => floats::<f64>(&gemm, [alpha, beta], inputs, output, threads),
            Elements::F32 => floats::<f32>(&gemm, [alpha as f32, beta as f32], inputs, output, threads),
            Elements::F16(_) => floats::<f16>(&gemm, [alpha as f32, beta as f32], inputs, output, threads),
            Elements::I8ToI32 => integers(&gemm, inputs, output, threads),
            Elements::I8ToI8(requantise) => bytes(&gemm, requantise, inputs, output, threads),
        }
    })
}

/// The products of a batch in the form of the CPU path, each with the index of its first: all at once, or one by one
/// when a buffer contains their offsets.
fn products<S: Copy>(
    gemm: &Gemm,
    inputs: &Inputs<'_>,
    [alpha, beta]: [S; 2],
) -> Result<Vec<(usize, cpu::Gemm<S>)>, CpuError> {
    let Gemm { m, n, .. } = *gemm;
    let strides = if let Batch::Strided { strides, .. } = gemm.batch { strides } else { [0; 3] };
    let k = if gemm.factors()[0] == 0.0 { 0 } else { gemm.k };
    // Operands that are not read get a valid layout, whatever their strides are.
    let [a, b] = if k == 0 {
        [StridedLayout { column_stride: 0, ..StridedLayout::row_major(0) }; 2]
    } else {
        [gemm.a.strided(strides[0]), gemm.b.strided(strides[1])]
    };
    let c = gemm.c.strided(strides[2]);
    let all = cpu::Gemm { m, n, k, alpha, beta, a, b, c, batch: gemm.batch.count() };
    let Batch::Offsets { count } = gemm.batch else { return Ok(vec![(0, all)]) };
    let offsets = elements_of::<u32>(inputs.get(Role::Offsets)?);
    let moved = |operand: StridedLayout, by: u32| StridedLayout {
        offset: operand.offset.saturating_add(by as usize),
        ..operand
    };
    let products = offsets
        .chunks_exact(3)
        .take(count)
        .map(|at| cpu::Gemm { a: moved(a, at[0]), b: moved(b, at[1]), c: moved(c, at[2]), batch: 1, ..all })
        .enumerate();
    Ok(products.collect())
}

/// A and B.
fn factors_of<'m, T: bytemuck::Pod>(inputs: &Inputs<'m>) -> Result<[&'m [T]; 2], CpuError> {
    Ok([elements_of(inputs.get(Role::A)?), elements_of(inputs.get(Role::B)?)])
}

/// The memory of the epilogue's stages; empty for a stage without memory.
fn sides<'m, T: bytemuck::Pod>(gemm: &Gemm, inputs: &Inputs<'m>) -> Result<Vec<&'m [T]>, CpuError> {
    let stages = gemm.epilogue.iter().enumerate();
    let sides = stages.map(|(index, stage)| match stage.role(index) {
        Some(role) => Ok(elements_of(inputs.get(role)?)),
        None => Ok(&[][..]),
    });
    sides.collect()
}

/// The index, in a stage's memory, of the value for the element at distance `further` from `place`.
fn side_index(stage: &EpilogueStage, first: usize, place: Position, further: usize) -> usize {
    let (i, j) =
        if place.down { (place.row + further, place.column) } else { (place.row, place.column + further) };
    match stage {
        EpilogueStage::BiasRows => i,
        EpilogueStage::Residual { layout, stride } => {
            let [row, column] = layout.strides();
            layout.offset + (first + place.product) * stride + i * row + j * column
        }
        _ => j,
    }
}

/// Unlike `max` and `min`, this keeps NaN.
fn clamp<S: Copy + PartialOrd>(value: S, least: S, most: S) -> S {
    if value < least {
        least
    } else if value > most {
        most
    } else {
        value
    }
}

fn floats<T>(
    gemm: &Gemm,
    factors: [T::Sum; 2],
    inputs: &Inputs<'_>,
    c: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError>
where
    T: cpu::GemmElement<Result = T> + bytemuck::Pod + Into<T::Sum>,
    T::Sum: PartialOrd + From<f32> + Add<Output = T::Sum>,
{
    let [a, b] = factors_of::<T>(inputs)?;
    let c = elements_of_mut::<T>(c);
    let sides = sides::<T>(gemm, inputs)?;
    // In the type of the sums, although halves are summed in float here.
    let limit = |value: f32| {
        let in_half = gemm.elements == Elements::F16(Accumulate::F16);
        T::Sum::from(if in_half { f16::from_f32(value).to_f32() } else { value })
    };
    let has_epilogue = !gemm.epilogue.is_empty();
    for (first, product) in products(gemm, inputs, factors)? {
        let finish = |place: Position, values: &mut [T::Sum]| {
            for (stage, side) in gemm.epilogue.iter().zip(&sides) {
                let limits = match stage {
                    EpilogueStage::Relu => [0.0, f32::INFINITY],
                    EpilogueStage::Clamp { least, most } => [*least, *most],
                    _ => [0.0, 6.0],
                };
                let [least, most] = limits.map(limit);
                for (further, value) in values.iter_mut().enumerate() {
                    *value = match stage {
                        EpilogueStage::Relu | EpilogueStage::Relu6 | EpilogueStage::Clamp { .. } => {
                            clamp(*value, least, most)
                        }
                        EpilogueStage::BiasColumns
                        | EpilogueStage::BiasRows
                        | EpilogueStage::Residual { .. } => {
                            *value + side[side_index(stage, first, place, further)].into()
                        }
                    };
                }
            }
        };
        cpu::gemm_with(&product, a, b, c, has_epilogue.then_some(&finish), threads)?;
    }
    Ok(())
}

/// Applies the epilogue to sums of bytes.
fn finish_integers(gemm: &Gemm, sides: &[&[i32]], first: usize, place: Position, values: &mut [i32]) {
    for (stage, side) in gemm.epilogue.iter().zip(sides) {
        for (further, value) in values.iter_mut().enumerate() {
            *value = match stage {
                EpilogueStage::Relu => (*value).max(0),
                EpilogueStage::Relu6 => (*value).clamp(0, 6),
                EpilogueStage::Clamp { least, most } => (*value).max(*least as i32).min(*most as i32),
                EpilogueStage::BiasColumns | EpilogueStage::BiasRows | EpilogueStage::Residual { .. } => {
                    value.wrapping_add(side[side_index(stage, first, place, further)])
                }
            };
        }
    }
}

fn integers(gemm: &Gemm, inputs: &Inputs<'_>, c: &mut [u8], threads: Threads) -> Result<(), CpuError> {
    let [a, b] = factors_of::<i8>(inputs)?;
    let c = elements_of_mut::<i32>(c);
    let sides = sides::<i32>(gemm, inputs)?;
    let has_epilogue = !gemm.epilogue.is_empty();
    for (first, product) in products(gemm, inputs, [gemm.alpha as i32, gemm.beta as i32])? {
        let finish =
            |place: Position, values: &mut [i32]| finish_integers(gemm, &sides, first, place, values);
        cpu::gemm_with(&product, a, b, c, has_epilogue.then_some(&finish), threads)?;
    }
    Ok(())
}

/// Through 32 bits: sums of (a - `zero_a`)(b - `zero_b`) are sums of a b minus what the zero points add to each row and
/// column.
fn bytes(
    gemm: &Gemm,
    requantise: Requantise,
    inputs: &Inputs<'_>,
    c: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    let [a, b] = factors_of::<i8>(inputs)?;
    let c = elements_of_mut::<i8>(c);
    let Gemm { m, n, .. } = *gemm;
    let scales: &[i32] = elements_of(inputs.get(Role::Scales)?);
    let sides = sides::<i32>(gemm, inputs)?;
    let [zero_a, zero_b] = [requantise.zero_a, requantise.zero_b].map(i32::from);
    let mut sums = vec![0; m * n];
    for (first, all) in products(gemm, inputs, [1, 0])? {
        let k = all.k;
        for index in 0..all.batch {
            let place = |operand: StridedLayout| operand.offset + index * operand.batch_stride;
            let one = |operand: StridedLayout| StridedLayout { offset: place(operand), ..operand };
            let dense = StridedLayout::row_major(n);
            let product = cpu::Gemm { a: one(all.a), b: one(all.b), c: dense, batch: 1, ..all };
            cpu::gemm_with(&product, a, b, &mut sums, None::<&fn(Position, &mut [i32])>, threads)?;
            let sum_of = |from: &[i8], start: usize, stride: usize| -> i32 {
                (0..k).map(|l| i32::from(from[start + l * stride])).sum()
            };
            let columns: Vec<i32> =
                (0..n).map(|j| sum_of(b, place(all.b) + j * all.b.column_stride, all.b.row_stride)).collect();
            for (i, sums) in sums.chunks_mut(n.max(1)).enumerate() {
                let row = sum_of(a, place(all.a) + i * all.a.row_stride, all.a.column_stride);
                let at = |j: usize| place(all.c) + i * all.c.row_stride + j * all.c.column_stride;
                for (j, sum) in sums.iter_mut().enumerate() {
                    let shifted = *sum - zero_a * columns[j] - zero_b * row + zero_a * zero_b * k as i32;
                    let old = if gemm.beta == 0.0 { 0 } else { i32::from(c[at(j)]) };
                    let old = (gemm.beta as i32).wrapping_mul(old);
                    *sum = (gemm.alpha as i32).wrapping_mul(shifted).wrapping_add(old);
                }
                let place = Position { product: index, row: i, column: 0, down: false };
                finish_integers(gemm, &sides, first, place, sums);
                for (j, sum) in sums.iter().enumerate() {
                    c[at(j)] = requantised(requantise, scales, j, *sum);
                }
            }
        }
    }
    Ok(())
}

fn requantised(requantise: Requantise, scales: &[i32], column: usize, sum: i32) -> i8 {
    let pair = if requantise.scale == Scale::Columns { 2 * column } else { 0 };
    let [multiplier, shift] = [scales[pair], scales[pair + 1]];
    let scaled = (i128::from(sum) * i128::from(multiplier) + (1 << (shift - 1))) >> shift;
    let value = scaled + i128::from(requantise.zero_c);
    value.clamp(requantise.least.into(), requantise.most.into()) as i8
}
