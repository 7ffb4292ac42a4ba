//! `c = a + b` over `int`, wrapping: the simplest lesson, about elements per work-item.
//!
//! Contract: three vectors of `length` elements, `length >= 1`; `c` must not alias `a` or `b`; results are exact.

use std::sync::{Arc, LazyLock};

use tripipe_device::Probe;
use tripipe_launch::{NdRange, Program, ScalarType};

use crate::ladder::{Ladder, Step, Variant, Variants};
use crate::problem::{Data, Expected, Inputs, Problem, Quoted, Size, SizeKind, Work};
use tripipe_kernels::plan::Plan;

/// Vector addition: one element per work-item, then four.
pub const LADDER: Ladder = Ladder {
    name: "vector-add",
    about: "c = a + b over int",
    element: ScalarType::I32,
    size_kind: SizeKind::Vector,
    default_sizes: &[Size::Vector(1 << 20), Size::Vector(1 << 24)],
    steps: &[
        Step { name: "scalar", about: "one int per work-item", plan: scalar },
        Step { name: "int4", about: "four ints per work-item: 16-byte loads and stores", plan: int4 },
    ],
    problem,
    serial,
    published: None,
};

static PROGRAM: LazyLock<Arc<Program>> =
    LazyLock::new(|| Arc::new(Program::from_source("vector_add.cl", include_str!("vector_add.cl"))));

fn problem(size: Size, inputs: &Inputs<'_>) -> Problem {
    let length = length(size);
    let mut random = fastrand::Rng::with_seed(inputs.seed);
    let mut operand = || (0..length).map(|_| random.i32(..)).collect::<Vec<_>>();
    let (a, b) = (operand(), operand());
    let expected = a.iter().zip(&b).map(|(a, b)| a.wrapping_add(*b)).collect();
    Problem {
        size,
        inputs: vec![Data::I32(a), Data::I32(b)],
        expected: Expected::Exact(Data::I32(expected)),
        work: Work { operations: length as f64, bytes: 12.0 * length as f64, quoted: Quoted::Bandwidth },
    }
}

fn length(size: Size) -> usize {
    if let Size::Vector(length) = size { length } else { 0 }
}

fn serial(problem: &Problem, output: &mut Data) {
    let ([Data::I32(a), Data::I32(b)], Data::I32(c)) = (problem.inputs.as_slice(), output) else { return };
    for ((c, a), b) in c.iter_mut().zip(a).zip(b) {
        *c = a.wrapping_add(*b);
    }
}

fn scalar<'p>(problem: &'p Problem, _: &Probe) -> Variants<'p> {
    let length = length(problem.size);
    let mut plan = Plan::new();
    let [a, b] = [0, 1].map(|operand| plan.input(problem.inputs[operand].bytes()));
    let c = plan.result(4 * length);
    plan.launch(&PROGRAM, "vector_add_scalar", [a.into(), b.into(), c.into()], NdRange::d1(length));
    Ok(Variant::only(plan))
}

fn int4<'p>(problem: &'p Problem, _: &Probe) -> Variants<'p> {
    let length = length(problem.size);
    let mut plan = Plan::new();
    let [a, b] = [0, 1].map(|operand| plan.input(problem.inputs[operand].bytes()));
    let c = plan.result(4 * length);
    let arguments = [a.into(), b.into(), c.into(), (length as u32).into()];
    plan.launch(&PROGRAM, "vector_add_int4", arguments, NdRange::d1(length.div_ceil(4)));
    Ok(Variant::only(plan))
}
