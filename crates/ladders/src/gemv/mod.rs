//! y = x W over half: the product of one vector, or a few, with a matrix of weights.
//!
//! Contract: x is m x k, W is k x n, y is m x n, all row-major without gaps, m, n, k >= 1 and otherwise arbitrary; y must
//! not alias x or W. Elements are `half`, which is only loaded and stored, so no device needs half-precision arithmetic;
//! sums are in `float`. The error of an element is at most `2 k u S + k t`, with S = sum |x||w|, u = 2^-24 and t the
//! smallest normal `float`, then rounded to half: `2^-11 |y| + 2^-24`, which allows for rounding toward 0 too.
//!
//! Weights do not change between products: a step that reads them in another layout packs them on the host, which is not
//! timed, and fills them up with zeros.

use std::borrow::Cow;
use std::sync::Arc;

use half::f16;
use tripipe_device::Probe;
use tripipe_launch::{ChannelOrder, ChannelType, ImageShape, NdRange, Program, ScalarType};

use crate::gemm::dimensions;
use crate::ladder::{Ladder, Step, Variant, Variants};
use crate::problem::{Data, Expected, Float, Inputs, Problem, Quoted, Size, SizeKind, Work};
use tripipe_kernels::gemm::sums::products;
use tripipe_kernels::plan::{Plan, PlanError, Slot};

/// From one output per work-item to K divided among the work-items of a group, from buffers and from images.
pub const LADDER: Ladder = Ladder {
    name: "gemv",
    about: "y = x W over half, for a vector or a few, summed in float",
    element: ScalarType::F32,
    size_kind: SizeKind::Matrix,
    default_sizes: &[Size::Matrix { m: 1, n: 1024, k: 1024 }, Size::Matrix { m: 1, n: 4608, k: 1024 }],
    steps: &[
        Step { name: "naive", about: "one element of y per work-item, loads of 2 bytes", plan: naive },
        Step {
            name: "vector",
            about: "four elements of y per work-item, loads of 8 bytes",
            plan: |problem, probe| vector(problem, probe, false),
        },
        Step {
            name: "image",
            about: "the same with the weights in an image: texels of four through the texture unit",
            plan: |problem, probe| vector(problem, probe, true),
        },
        Step {
            name: "group-buffer",
            about: "a work-group of 64 for one element, weights output by output (as published for Adreno)",
            plan: |problem, probe| group(problem, probe, 1, false),
        },
        Step {
            name: "group-image",
            about: "a work-group of 64 for four elements, weights in an image (as published for Adreno)",
            plan: |problem, probe| group(problem, probe, 4, true),
        },
        Step {
            name: "parts",
            about: "four elements per work-item, K shared by several of a group: a small sweep of how many",
            plan: parts,
        },
    ],
    problem,
    serial,
    published: None,
};

/// Work-items of a group of `parts` along the outputs.
const COLUMNS: usize = 16;

fn problem(size: Size, inputs: &Inputs<'_>) -> Problem {
    let [m, n, k] = dimensions(size);
    let mut random = fastrand::Rng::with_seed(inputs.seed);
    let mut operand =
        |count: usize| -> Vec<f16> { (0..count).map(|_| f16::from_f32(2.0 * random.f32() - 1.0)).collect() };
    let (x, w) = (operand(m * k), operand(k * n));
    let doubles = |values: &[f16]| values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
    let (reference, mut bound) = products(&doubles(&x), &doubles(&transposed(&w, [k, n], [n, k])), [m, n, k]);
    let (unit, tiny) = (f64::from(f32::EPSILON) / 2.0, f64::from(f32::MIN_POSITIVE));
    for (bound, y) in bound.iter_mut().zip(&reference) {
        let error = 2.0 * k as f64 * unit * *bound + k as f64 * tiny;
        *bound = error + (y.abs() + error) * 2f64.powi(-11) + 2f64.powi(-24);
    }
    let bytes = 2.0 * (x.len() + w.len() + m * n) as f64;
    Problem {
        size,
        inputs: vec![Data::F16(x), Data::F16(w)],
        expected: Expected::Within { float: Float::F16, reference, bound },
        work: Work { operations: 2.0 * (m * n * k) as f64, bytes, quoted: Quoted::Bandwidth },
    }
}

fn serial(problem: &Problem, output: &mut Data) {
    let [_, n, k] = dimensions(problem.size);
    let ([Data::F16(x), Data::F16(w)], Data::F16(y)) = (problem.inputs.as_slice(), output) else { return };
    let mut sums = vec![0.0f32; n];
    for (x, y) in x.chunks(k).zip(y.chunks_mut(n)) {
        sums.fill(0.0);
        for (x, row) in x.iter().zip(w.chunks(n)) {
            for (sum, w) in sums.iter_mut().zip(row) {
                *sum += x.to_f32() * w.to_f32();
            }
        }
        for (y, sum) in y.iter_mut().zip(&sums) {
            *y = f16::from_f32(*sum);
        }
    }
}

/// The transpose of a matrix with these rows and columns, in a matrix of zeros with at least as many of each.
fn transposed(from: &[f16], [rows, columns]: [usize; 2], [to_rows, to_columns]: [usize; 2]) -> Vec<f16> {
    let mut to = vec![f16::ZERO; to_rows * to_columns];
    for (row, from) in from.chunks(columns).take(rows).enumerate() {
        for (column, value) in from.iter().enumerate() {
            to[column * to_columns + row] = *value;
        }
    }
    to
}

/// The matrix in one of zeros with more rows and columns; itself if it has as many.
fn filled(data: &Data, [rows, columns]: [usize; 2], [to_rows, to_columns]: [usize; 2]) -> Cow<'_, [u8]> {
    let from = data.as_f16().unwrap_or_default();
    if [rows, columns] == [to_rows, to_columns] {
        return Cow::Borrowed(data.bytes());
    }
    let mut to = vec![f16::ZERO; to_rows * to_columns];
    for (to, from) in to.chunks_mut(to_columns).zip(from.chunks(columns)) {
        to[..columns].copy_from_slice(from);
    }
    Cow::Owned(bytemuck::cast_slice(&to).to_vec())
}

/// Work-groups of 64 along the outputs, if the device supports them. Without an explicit size, a driver may choose, and compile
/// for, a different one for every size.
pub(crate) fn in_groups(columns: usize, m: usize, probe: &Probe) -> NdRange {
    let group = if (1..64).contains(&probe.max_work_group_size) { 1 } else { 64 };
    NdRange::d2(columns.next_multiple_of(group), m).local(group, 1, 1)
}

fn naive<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    let [m, n, k] = dimensions(problem.size);
    let mut plan = Plan::new();
    let [x, w] = [0, 1].map(|operand| plan.input(problem.inputs[operand].bytes()));
    let y = plan.result(2 * m * n);
    let program = Arc::new(Program::from_source("gemv/naive.cl", include_str!("naive.cl")));
    let arguments = [x.into(), w.into(), y.into(), (n as u32).into(), (k as u32).into()];
    plan.launch(&program, "gemv_naive", arguments, in_groups(n, m, probe));
    Ok(Variant::only(plan))
}

/// Weights in a buffer, or in an image of texels of these numbers.
pub(crate) fn weights<'p>(
    plan: &mut Plan<'p>,
    contents: impl Into<Cow<'p, [u8]>>,
    texels: [usize; 2],
    image: Option<(ChannelType, &Probe)>,
) -> Result<Slot, PlanError> {
    let Some((channel, probe)) = image else { return Ok(plan.input(contents)) };
    let limits = probe.images.ok_or_else(|| PlanError::NotOffered { what: "images".to_owned() })?;
    for (extent, limit) in texels.into_iter().zip(limits.max_2d) {
        if extent > limit {
            let what = format!("W as an image of {} x {} texels", texels[0], texels[1]);
            return Err(PlanError::OverLimit { what, limit: limit as u64 });
        }
    }
    let shape = ImageShape::d2(texels[0], texels[1], ChannelOrder::Rgba, channel);
    Ok(plan.input_image(shape, contents))
}

/// x, W with rows of whole vectors, y, and the arguments that `vector` and `parts` share.
fn by_columns<'p>(
    problem: &'p Problem,
    probe: &Probe,
    image: bool,
) -> Result<(Plan<'p>, Vec<tripipe_launch::Argument<Slot>>), PlanError> {
    let [m, n, k] = dimensions(problem.size);
    let [columns, steps] = [n, k].map(|extent| extent.next_multiple_of(4));
    let mut plan = Plan::new();
    let x = plan.input(filled(&problem.inputs[0], [m, k], [m, steps]));
    let contents = filled(&problem.inputs[1], [k, n], [steps, columns]);
    let w = weights(&mut plan, contents, [columns / 4, steps], image.then_some((ChannelType::F16, probe)))?;
    let y = plan.result(2 * m * n);
    let numbers = [n, columns / 4, steps].map(|number| (number as u32).into());
    let arguments = [x.into(), w.into(), y.into()].into_iter().chain(numbers).collect();
    Ok((plan, arguments))
}

fn vector<'p>(problem: &'p Problem, probe: &Probe, image: bool) -> Variants<'p> {
    let [m, n, _] = dimensions(problem.size);
    let (mut plan, arguments) = by_columns(problem, probe, image)?;
    let program = Program::from_source("gemv/vector.cl", include_str!("vector.cl"));
    let program = Arc::new(program.define("IMAGE", u8::from(image)));
    plan.launch(&program, "gemv_vector", arguments, in_groups(n.div_ceil(4), m, probe));
    Ok(Variant::only(plan))
}

fn group<'p>(problem: &'p Problem, probe: &Probe, rows: usize, image: bool) -> Variants<'p> {
    if (1..64).contains(&probe.max_work_group_size) {
        return Err(PlanError::NotOffered { what: "work-groups of 64 work-items".to_owned() });
    }
    let [m, n, k] = dimensions(problem.size);
    let (outputs, steps) = (n.next_multiple_of(rows), k.next_multiple_of(4));
    let mut plan = Plan::new();
    let x = plan.input(filled(&problem.inputs[0], [m, k], [m, steps]));
    let by_output = transposed(problem.inputs[1].as_f16().unwrap_or_default(), [k, n], [outputs, steps]);
    let contents = Cow::Owned(bytemuck::cast_slice(&by_output).to_vec());
    let w = weights(&mut plan, contents, [steps / 4, outputs], image.then_some((ChannelType::F16, probe)))?;
    let y = plan.result(2 * m * n);
    let program = Program::from_source("gemv/group.cl", include_str!("group.cl"));
    let program = Arc::new(program.define("ROWS", rows).define("IMAGE", u8::from(image)));
    let arguments = [x.into(), w.into(), y.into(), (n as u32).into(), (steps as u32 / 4).into()];
    let range = NdRange::d2(64 * (outputs / rows), m).local(64, 1, 1);
    plan.launch(&program, "gemv_group", arguments, range);
    Ok(Variant::only(plan))
}

fn parts<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    let [m, n, _] = dimensions(problem.size);
    let mut variants = Vec::new();
    for image in [false, true] {
        for parts in [4, 8, 16] {
            let limit = probe.max_work_group_size;
            if limit != 0 && COLUMNS * parts > limit {
                continue;
            }
            let (mut plan, arguments) = match by_columns(problem, probe, image) {
                Ok(planned) => planned,
                // The buffer is left.
                Err(PlanError::NotOffered { .. } | PlanError::OverLimit { .. }) if image => continue,
                Err(error) => return Err(error),
            };
            let program = Program::from_source("gemv/parts.cl", include_str!("parts.cl"));
            let program = Arc::new(program.define("PARTS", parts).define("IMAGE", u8::from(image)));
            let range = NdRange::d3(n.div_ceil(4).next_multiple_of(COLUMNS), parts, m);
            plan.launch(&program, "gemv_parts", arguments, range.local(COLUMNS, parts, 1));
            let memory = if image { "image" } else { "buffer" };
            variants.push(Variant { label: format!("{memory} {parts} parts"), plan });
        }
    }
    if variants.is_empty() {
        return Err(PlanError::NotOffered { what: format!("work-groups of {} work-items", 4 * COLUMNS) });
    }
    Ok(variants)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_times_a_matrix_by_hand() {
        let size = Size::Matrix { m: 2, n: 3, k: 2 };
        let problem = LADDER.make_problem(size, &Inputs { photo: None, seed: 3 }).unwrap();
        let [x, w] = [0, 1].map(|operand| problem.inputs[operand].as_f16().unwrap());
        let [x, w] = [x, w].map(|values| values.iter().map(|value| value.to_f32()).collect::<Vec<_>>());
        let by_hand =
            [0, 1].map(|i| [0, 1, 2].map(|j| f16::from_f32(x[2 * i] * w[j] + x[2 * i + 1] * w[3 + j])));
        problem.expected.verify(Data::F16(by_hand.concat()).bytes()).unwrap();
        let mut y = problem.expected.blank_output();
        serial(&problem, &mut y);
        problem.expected.verify(y.bytes()).unwrap();
        let missing = [0, 1].map(|i| [0, 1, 2].map(|j| f16::from_f32(x[2 * i] * w[j])));
        problem.expected.verify(Data::F16(missing.concat()).bytes()).unwrap_err();
    }
}
