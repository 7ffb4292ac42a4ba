//! `z = a x + y` over `float`: how much should one work-item load?
//!
//! Contract: three vectors of `length` elements, `length >= 1`; `z` must not alias `x` or `y`, so that another run
//! gives the same result. The error of an element is at most `2^-23 (2 |a x| + |y|)` plus twice the smallest normal
//! number: two roundings unfused, one fused; each may truncate or flush a denormal.

mod ratio;

use std::sync::Arc;

use tripipe_launch::{NdRange, Program, ScalarType};

use crate::ladder::{Ladder, Step, Variant, Variants};
use crate::problem::{Data, Expected, Float, Inputs, Problem, Quoted, Size, SizeKind, Work};
use tripipe_kernels::plan::Plan;

pub use ratio::LADDER_RATIO;

/// One, two, four, eight and sixteen elements per work-item.
pub const LADDER: Ladder = Ladder {
    name: "saxpy",
    about: "z = a x + y over float",
    element: ScalarType::F32,
    size_kind: SizeKind::Vector,
    default_sizes: &[Size::Vector(1 << 20), Size::Vector(1 << 24)],
    steps: &[
        Step { name: "width-1", about: "one float per work-item, 4-byte loads", plan: |p, _| plan(p, 1) },
        Step { name: "width-2", about: "two floats per work-item, 8-byte loads", plan: |p, _| plan(p, 2) },
        Step {
            name: "width-4",
            about: "four floats per work-item, one 16-byte load each",
            plan: |p, _| plan(p, 4),
        },
        Step {
            name: "width-8",
            about: "eight floats per work-item, two 16-byte loads each",
            plan: |p, _| plan(p, 8),
        },
        Step {
            name: "width-16",
            about: "sixteen floats per work-item, four 16-byte loads each",
            plan: |p, _| plan(p, 16),
        },
    ],
    problem,
    serial,
    published: None,
};

fn problem(size: Size, inputs: &Inputs<'_>) -> Problem {
    let length = length(size);
    let mut random = fastrand::Rng::with_seed(inputs.seed);
    let mut operand = |length: usize| (0..length).map(|_| 2.0 * random.f32() - 1.0).collect::<Vec<_>>();
    let (a, x, y) = (operand(1), operand(length), operand(length));
    let scale = f64::from(a[0]);
    let pairs = || x.iter().zip(&y).map(|(x, y)| (scale * f64::from(*x), f64::from(*y)));
    let reference = pairs().map(|(ax, y)| ax + y).collect();
    let (epsilon, tiny) = (f64::from(f32::EPSILON), f64::from(f32::MIN_POSITIVE));
    let bound = pairs().map(|(ax, y)| epsilon * (2.0 * ax.abs() + y.abs()) + 2.0 * tiny).collect();
    Problem {
        size,
        inputs: vec![Data::F32(a), Data::F32(x), Data::F32(y)],
        expected: Expected::Within { float: Float::F32, reference, bound },
        work: Work {
            operations: 2.0 * length as f64,
            bytes: 12.0 * length as f64,
            quoted: Quoted::Bandwidth,
        },
    }
}

fn length(size: Size) -> usize {
    if let Size::Vector(length) = size { length } else { 0 }
}

fn serial(problem: &Problem, output: &mut Data) {
    let ([Data::F32(a), Data::F32(x), Data::F32(y)], Data::F32(z)) = (problem.inputs.as_slice(), output)
    else {
        return;
    };
    let [a] = a.as_slice() else { return };
    for ((z, x), y) in z.iter_mut().zip(x).zip(y) {
        *z = a * x + y;
    }
}

fn plan(problem: &Problem, width: usize) -> Variants<'_> {
    let length = length(problem.size);
    let mut plan = Plan::new();
    let a = problem.inputs[0].as_f32().and_then(|a| a.first()).copied().unwrap_or_default();
    let [x, y] = [1, 2].map(|operand| plan.input(problem.inputs[operand].bytes()));
    let z = plan.result(4 * length);
    let program = Program::from_source("saxpy.cl", include_str!("saxpy.cl")).define("WIDTH", width);
    let arguments = [a.into(), x.into(), y.into(), z.into(), (length as u32).into()];
    plan.launch(&Arc::new(program), "saxpy", arguments, NdRange::d1(length.div_ceil(width)));
    Ok(Variant::only(plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_roundings_are_within_the_bound_and_a_missing_term_is_not() {
        let problem = LADDER.make_problem(Size::Vector(1001), &Inputs { photo: None, seed: 3 }).unwrap();
        let mut z = problem.expected.blank_output();
        serial(&problem, &mut z);
        problem.expected.verify(z.bytes()).unwrap();
        let [a, x, y] = [0, 1, 2].map(|operand| problem.inputs[operand].as_f32().unwrap());
        let fused = x.iter().zip(y).map(|(x, y)| a[0].mul_add(*x, *y)).collect();
        problem.expected.verify(Data::F32(fused).bytes()).unwrap();
        problem.expected.verify(problem.inputs[2].bytes()).unwrap_err();
    }
}
