//! C = A B in steps, from the simplest kernel to the fastest one.
//!
//! Contract of every kernel. A is m x k, B is k x n, C is m x n, all row-major without gaps, m, n, k >= 1 and
//! otherwise arbitrary; C must not alias A or B. C is written, never read, and nothing outside C is written. Operands
//! and sums are `float` ([`LADDER`]) or `half` ([`LADDER_F16`]). The kernel chooses the order of a sum, and the
//! compiler chooses whether a multiply-add is fused. Infinities and NaN follow the arithmetic: padding never turns an
//! infinity into a NaN. The error of an element is at most `2 min(k, K) u sum |a||b| + k t`, with u = 2^-24 and K
//! unlimited for float, u = 2^-11 and K = 4 for half, and t the smallest normal number.
//!
//! Padding: for a kernel that reads vectors, a preceding packing launch lays out the operand in whole vectors with
//! zeros at the edge; stores check for the edge.

mod reference;
pub mod steps;

use half::f16;
use tripipe_device::Probe;
use tripipe_launch::ScalarType;

use self::steps::{DenseProduct, GemmKernel, Side, Tile, candidates, plan};
use crate::ladder::{Ladder, Step, Variant, Variants};
use crate::problem::{Data, Float, Inputs, Problem, Quoted, Size, SizeKind, Work};
use tripipe_kernels::plan::PlanError;

/// The product in `float`.
pub const LADDER: Ladder = Ladder {
    name: "gemm",
    about: "C = A B over float",
    element: ScalarType::F32,
    size_kind: SizeKind::Matrix,
    default_sizes: &[Size::Matrix { m: 512, n: 512, k: 512 }, Size::Matrix { m: 1024, n: 1024, k: 1024 }],
    steps: STEPS,
    problem: |size, inputs| problem(size, inputs, |value| value, Data::F32),
    serial: reference::serial,
    published: None,
};

/// The product in `half`, sums included, as published for the Mali-G77 and the Adreno 650.
pub const LADDER_F16: Ladder = Ladder {
    name: "gemm-f16",
    about: "C = A B over half, summed in half",
    element: ScalarType::F16,
    problem: |size, inputs| problem(size, inputs, f16::from_f32, Data::F16),
    ..LADDER
};

const STEPS: &[Step] = &[
    Step { name: "naive", about: "one element of C per work-item, scalar loads", plan: naive },
    Step {
        name: "transposed-a-4x4",
        about: "A transposed in advance; 4x4 elements of C per work-item, two vector loads for 16 \
            multiply-adds",
        plan: transposed_a,
    },
    Step {
        name: "image-a-image-b",
        about: "both operands in images: loads go through the texture unit and its cache",
        plan: image_a_image_b,
    },
    Step {
        name: "image-a-buffer-b",
        about: "A in an image, B in a buffer: two load units in parallel",
        plan: image_a_buffer_b,
    },
    Step {
        name: "image-a-buffer-b-fma",
        about: "the same with fma() and two steps along K per iteration",
        plan: image_a_buffer_b_fma,
    },
    Step {
        name: "float4-dot",
        about: "one element of C per work-item as dot products of four, rows padded (Mali-T604)",
        plan: float4_dot,
    },
    Step { name: "tuned", about: "tile, memory and work-group chosen by a small sweep", plan: tuned },
];

pub(crate) fn dimensions(size: Size) -> [usize; 3] {
    if let Size::Matrix { m, n, k } = size { [m, n, k] } else { [0; 3] }
}

fn problem<T: Copy>(
    size: Size,
    inputs: &Inputs<'_>,
    element: fn(f32) -> T,
    data: fn(Vec<T>) -> Data,
) -> Problem {
    let [m, n, k] = dimensions(size);
    let mut random = fastrand::Rng::with_seed(inputs.seed);
    let mut operand = |rows: usize, columns: usize| {
        data((0..rows * columns).map(|_| element(2.0 * random.f32() - 1.0)).collect())
    };
    let (a, b) = (operand(m, k), operand(k, n));
    let expected = reference::expected(&a, &b, [m, n, k]);
    Problem { size, inputs: vec![a, b], expected, work: work(size, size_of::<T>()) }
}

/// A product in `float` whose result is not known: [`Problem::unsolved`].
pub fn unsolved(size: Size) -> Problem {
    let [m, n, k] = dimensions(size);
    Problem::unsolved(
        size,
        &[m * k, k * n],
        |elements| Data::F32(vec![0.0; elements]),
        work(size, size_of::<f32>()),
    )
}

fn work(size: Size, element_bytes: usize) -> Work {
    let [m, n, k] = dimensions(size);
    let bytes = (m * k + k * n + m * n) * element_bytes;
    Work { operations: 2.0 * m as f64 * n as f64 * k as f64, bytes: bytes as f64, quoted: Quoted::Arithmetic }
}

fn product(problem: &Problem) -> Result<DenseProduct<'_>, PlanError> {
    let (a, b) = match problem.inputs.as_slice() {
        [a, b] => (a, b),
        inputs => return Err(PlanError::Operand { what: "A and B".to_owned(), found: inputs.len() }),
    };
    let element = if a.as_f16().is_some() { Float::F16 } else { Float::F32 };
    DenseProduct::new([a.bytes(), b.bytes()], dimensions(problem.size), element)
}

fn one<'p>(kernel: GemmKernel, problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    Ok(Variant::only(plan(kernel, &product(problem)?, probe)?))
}

fn naive<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    one(GemmKernel::Naive, problem, probe)
}

/// The published tile: 4x4, with the work-group chosen by the driver.
const TILE_4X4: Tile =
    Tile { rows: Side::Buffer4, columns: Side::Buffer4, fma: false, unroll_k: false, work_group: None };

fn transposed_a<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    one(GemmKernel::Tile(TILE_4X4), problem, probe)
}

fn image_a_image_b<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    one(GemmKernel::Tile(Tile { rows: Side::Image4, columns: Side::Image4, ..TILE_4X4 }), problem, probe)
}

fn image_a_buffer_b<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    one(GemmKernel::Tile(Tile { rows: Side::Image4, ..TILE_4X4 }), problem, probe)
}

fn image_a_buffer_b_fma<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    one(GemmKernel::Tile(Tile { rows: Side::Image4, fma: true, unroll_k: true, ..TILE_4X4 }), problem, probe)
}

fn float4_dot<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    one(GemmKernel::Float4Dot, problem, probe)
}

fn tuned<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    let product = product(problem)?;
    let mut variants = Vec::new();
    let mut refused = None;
    for (label, kernel) in candidates(probe) {
        match plan(kernel, &product, probe) {
            Ok(plan) => variants.push(Variant { label, plan }),
            // An operand that fits a buffer may exceed the size limit of an image.
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) if variants.is_empty() => Err(error),
        _ => Ok(variants),
    }
}

#[cfg(test)]
mod tests;
