//! y = x W with weights in 4 bits (`Q4_0`): unpacking against memory.
//!
//! Contract: x is m x k, y is m x n, both `float`, W has n outputs of k weights, m, n, k >= 1 and otherwise arbitrary. The
//! format is in `naive.cl`; k that is not a multiple of 32 is filled up with zeros, in x too. y must not alias the operands.
//! The error of an element is at most that of [`tripipe_kernels::quantised::QuantisedReference`].
//!
//! Weights do not change between products: a problem has them as a file stores them, and packed by columns.

use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_kernels::gemm::{Extents, ProductExtents};
use tripipe_kernels::plan::{Plan, PlanError, Slot};
use tripipe_kernels::quantised::{
    Activation, BLOCK, PackedLayout, QuantisedProduct, QuantisedReference, StoredWeights, WeightFormat,
};
use tripipe_launch::{Argument, ChannelType, NdRange, Program, ScalarType};

use crate::gemm::dimensions;
use crate::gemv::{in_groups, weights};
use crate::ladder::{Ladder, Step, Variant, Variants};
use crate::problem::{Data, Expected, Float, Inputs, Problem, Quoted, Size, SizeKind, Work};

/// Blocks as stored, packed by columns, masks instead of shifts, images, K divided among the work-items of a group.
pub const LADDER: Ladder = Ladder {
    name: "gemv-q4",
    about: "y = x W with weights in 4 bits (Q4_0), for a vector or a few, over float",
    element: ScalarType::F32,
    size_kind: SizeKind::Matrix,
    default_sizes: &[Size::Matrix { m: 1, n: 1024, k: 1024 }, Size::Matrix { m: 1, n: 4096, k: 4096 }],
    steps: &[
        Step {
            name: "naive",
            about: "one element of y per work-item, the blocks as a file stores them, loads of bytes",
            plan: naive,
        },
        Step {
            name: "columns",
            about: "packed by columns: one element per work-item, words of eight weights",
            plan: |problem, probe| columns(problem, probe, 1),
        },
        Step {
            name: "vector",
            about: "four elements per work-item, loads of 16 bytes",
            plan: |problem, probe| columns(problem, probe, 4),
        },
        Step {
            name: "masks",
            about: "numbers are masked where they are, not shifted, and made signed once a block",
            plan: |problem, probe| Ok(Variant::only(masks(problem, probe, ALONE, false)?)),
        },
        Step {
            name: "image",
            about: "the same with the words in an image: texels of four through the texture unit",
            plan: |problem, probe| Ok(Variant::only(masks(problem, probe, ALONE, true)?)),
        },
        Step {
            name: "parts",
            about: "K shared by several work-items of a group: a small sweep of how many",
            plan: parts,
        },
    ],
    problem,
    serial,
    published: None,
};

/// Work-groups of `masks`: work-items along the outputs, and those that share K. Groups of fewer work-items than a wave has leave
/// the rest of it idle (64 or 128 on Adreno), so a group without parts has 64.
const ALONE: [usize; 2] = [64, 1];
const SHARED: [[usize; 2]; 3] = [[32, 4], [32, 8], [16, 16]];

/// The operands of a problem, in order.
const X: usize = 0;
const STORED: usize = 1;
const WORDS: usize = 2;
const SCALES: usize = 3;

/// The packed layout of a size, whose extents the parser of sizes has limited.
pub(crate) fn layout(size: Size) -> Option<PackedLayout> {
    let [_, n, k] = dimensions(size);
    PackedLayout::in_buffer(WeightFormat::Q4_0, Extents::new(n, k.next_multiple_of(BLOCK))).ok()
}

fn problem(size: Size, inputs: &Inputs<'_>) -> Problem {
    let [m, n, k] = dimensions(size);
    let steps = k.next_multiple_of(BLOCK);
    let mut random = fastrand::Rng::with_seed(inputs.seed);
    let mut number = || 2.0 * random.f32() - 1.0;
    // Zeros from step k on.
    let mut rows = |count: usize| -> Vec<f32> {
        (0..count * steps).map(|at| if at % steps < k { number() } else { 0.0 }).collect()
    };
    let (x, weights) = (rows(m), rows(n));
    let product =
        QuantisedProduct::new(WeightFormat::Q4_0, Activation::F32, ProductExtents { m, n, k: steps });
    let exact: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let made = (|| {
        let stored = StoredWeights::quantise(WeightFormat::Q4_0, &weights, Extents::new(n, steps)).ok()?;
        let reference = QuantisedReference::new(&product, &stored, &exact).ok()?;
        let words = layout(size)?.pack(&stored).ok()?;
        Some((stored, reference, words))
    })();
    let signed = |words: Vec<u32>| Data::I32(words.into_iter().map(u32::cast_signed).collect());
    let (inputs, reference, bound) = match made {
        Some((stored, reference, words)) => {
            let inputs = vec![
                Data::F32(x),
                Data::U8(stored.bytes().to_vec()),
                signed(words.weights),
                signed(words.scales),
            ];
            (inputs, reference.expected().to_vec(), reference.bound().to_vec())
        }
        // Finite weights and extents that were checked leave nothing to refuse.
        None => (Vec::new(), Vec::new(), Vec::new()),
    };
    let stored = inputs.get(STORED).map_or(0, Data::len);
    let bytes = (stored + 4 * m * (steps + n)) as f64;
    Problem {
        size,
        inputs,
        expected: Expected::Within { float: Float::F32, reference, bound },
        work: Work { operations: 2.0 * (m * n * k) as f64, bytes, quoted: Quoted::Bandwidth },
    }
}

fn serial(problem: &Problem, output: &mut Data) {
    let [_, n, k] = dimensions(problem.size);
    let blocks = k.div_ceil(BLOCK);
    let (Some(x), Some(stored), Data::F32(y)) =
        (problem.inputs[X].as_f32(), problem.inputs[STORED].as_u8(), output)
    else {
        return;
    };
    for (x, y) in x.chunks(blocks * BLOCK).zip(y.chunks_mut(n)) {
        for (row, y) in stored.chunks(18 * blocks).zip(y) {
            *y = 0.0;
            for (x, block) in x.as_chunks::<BLOCK>().0.iter().zip(row.as_chunks::<18>().0) {
                let mut sum = 0.0;
                for (l, both) in block[2..].iter().enumerate() {
                    sum += (f32::from(both & 15) - 8.0) * x[l] + (f32::from(both >> 4) - 8.0) * x[16 + l];
                }
                *y += half::f16::from_ne_bytes([block[0], block[1]]).to_f32() * sum;
            }
        }
    }
}

/// The operand at an index; a problem without operands has no plan.
fn operand(problem: &Problem, index: usize) -> Result<&[u8], PlanError> {
    let missing = || PlanError::Operand { what: "of four".to_owned(), found: problem.inputs.len() };
    Ok(problem.inputs.get(index).ok_or_else(missing)?.bytes())
}

fn naive<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    let [m, n, k] = dimensions(problem.size);
    let mut plan = Plan::new();
    let x = plan.input(operand(problem, X)?);
    let stored = plan.input(operand(problem, STORED)?);
    let y = plan.result(4 * m * n);
    let program = Arc::new(Program::from_source("gemv_q4/naive.cl", include_str!("naive.cl")));
    let blocks = k.div_ceil(BLOCK) as u32;
    let arguments = [x.into(), stored.into(), y.into(), (n as u32).into(), blocks.into()];
    plan.launch(&program, "gemv_q4_naive", arguments, in_groups(n, m, probe));
    Ok(Variant::only(plan))
}

/// The arguments of kernels over packed weights with `width` outputs of a work-item.
fn packed<'p>(
    problem: &'p Problem,
    width: usize,
    image: Option<&Probe>,
) -> Result<(Plan<'p>, Vec<Argument<Slot>>), PlanError> {
    let [m, n, k] = dimensions(problem.size);
    let blocks = k.div_ceil(BLOCK);
    let pitch = problem.inputs.get(WORDS).map_or(0, Data::len) / (4 * blocks);
    let mut plan = Plan::new();
    let x = plan.input(operand(problem, X)?);
    let image = image.map(|probe| (ChannelType::U32, probe));
    let words = weights(&mut plan, operand(problem, WORDS)?, [pitch / 4, 4 * blocks], image)?;
    let scales = plan.input(operand(problem, SCALES)?);
    let y = plan.result(4 * m * n);
    let numbers = [n, pitch / width, blocks].map(|number| (number as u32).into());
    let arguments = [x.into(), words.into(), scales.into(), y.into()].into_iter().chain(numbers).collect();
    Ok((plan, arguments))
}

fn columns<'p>(problem: &'p Problem, probe: &Probe, width: usize) -> Variants<'p> {
    let [m, n, _] = dimensions(problem.size);
    let (mut plan, arguments) = packed(problem, width, None)?;
    let program = Program::from_source("gemv_q4/columns.cl", include_str!("columns.cl"));
    let program = Arc::new(program.define("WIDTH", width));
    plan.launch(&program, "gemv_q4_columns", arguments, in_groups(n.div_ceil(width), m, probe));
    Ok(Variant::only(plan))
}

fn masks<'p>(
    problem: &'p Problem,
    probe: &Probe,
    [columns, parts]: [usize; 2],
    image: bool,
) -> Result<Plan<'p>, PlanError> {
    if (1..columns * parts).contains(&probe.max_work_group_size) {
        return Err(PlanError::NotOffered { what: format!("work-groups of {} work-items", columns * parts) });
    }
    let [m, n, _] = dimensions(problem.size);
    let (mut plan, arguments) = packed(problem, 4, image.then_some(probe))?;
    let program = Program::from_source("gemv_q4/masks.cl", include_str!("masks.cl"));
    let program =
        Arc::new(program.define("IMAGE", u8::from(image)).define("COLUMNS", columns).define("PARTS", parts));
    let quads = n.div_ceil(4).next_multiple_of(columns);
    let range = NdRange::d3(quads, parts, m).local(columns, parts, 1);
    plan.launch(&program, "gemv_q4_masks", arguments, range);
    Ok(plan)
}

fn parts<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    let mut variants = Vec::new();
    for image in [false, true] {
        for group in SHARED {
            let plan = match masks(problem, probe, group, image) {
                Ok(plan) => plan,
                // What fits is left.
                Err(PlanError::NotOffered { .. } | PlanError::OverLimit { .. }) => continue,
                Err(error) => return Err(error),
            };
            let memory = if image { "image" } else { "buffer" };
            variants.push(Variant { label: format!("{memory} {} parts", group[1]), plan });
        }
    }
    if variants.is_empty() {
        let least = SHARED.map(|[columns, parts]| columns * parts).into_iter().min().unwrap_or(0);
        return Err(PlanError::NotOffered { what: format!("work-groups of {least} work-items") });
    }
    Ok(variants)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serial_version_is_within_the_bound_and_a_wrong_scale_is_not() {
        for k in [1, 32, 70] {
            let size = Size::Matrix { m: 2, n: 5, k };
            let problem = LADDER.make_problem(size, &Inputs { photo: None, seed: 3 }).unwrap();
            assert_eq!(problem.inputs.len(), 4);
            let mut y = problem.expected.blank_output();
            serial(&problem, &mut y);
            problem.expected.verify(y.bytes()).unwrap();
            let mut wrong = problem.clone();
            if let Data::U8(stored) = &mut wrong.inputs[STORED] {
                // The upper byte of the first scale: exponent and sign.
                stored[1] ^= 4;
            }
            serial(&wrong, &mut y);
            problem.expected.verify(y.bytes()).unwrap_err();
        }
    }
}
