//! `z = a x + y` with growing numbers of arithmetic: how much is free beside the loads and stores?
//!
//! The contract is that of the ladder `saxpy`, with an error for each term.

use std::sync::Arc;

use tripipe_kernels::plan::Plan;
use tripipe_launch::{NdRange, Program};

use super::{LADDER as SAXPY, length, problem as saxpy, serial};
use crate::ladder::{Ladder, Step, Variant, Variants};
use crate::problem::{Expected, Inputs, Problem, Size};

/// The most terms of a step.
const MOST: f64 = 256.0;

/// The same sum in 1 to 256 terms, each a multiply-add.
pub const LADDER_RATIO: Ladder = Ladder {
    name: "saxpy-ratio",
    about: "z = a x + y in n terms: how much arithmetic is free beside loads and stores (A:LS)",
    default_sizes: &[Size::Vector(1 << 16), Size::Vector(1 << 22)],
    steps: &[
        Step {
            name: "terms-1",
            about: "one multiply-add an element: saxpy",
            plan: |p, _| plan(p, "terms_1"),
        },
        Step { name: "terms-2", about: "two multiply-adds", plan: |p, _| plan(p, "terms_2") },
        Step { name: "terms-4", about: "four multiply-adds", plan: |p, _| plan(p, "terms_4") },
        Step { name: "terms-8", about: "eight multiply-adds", plan: |p, _| plan(p, "terms_8") },
        Step { name: "terms-16", about: "sixteen multiply-adds", plan: |p, _| plan(p, "terms_16") },
        Step { name: "terms-32", about: "32 multiply-adds", plan: |p, _| plan(p, "terms_32") },
        Step { name: "terms-64", about: "64 multiply-adds", plan: |p, _| plan(p, "terms_64") },
        Step { name: "terms-128", about: "128 multiply-adds", plan: |p, _| plan(p, "terms_128") },
        Step { name: "terms-256", about: "256 multiply-adds", plan: |p, _| plan(p, "terms_256") },
    ],
    problem,
    serial,
    ..SAXPY
};

fn problem(size: Size, inputs: &Inputs<'_>) -> Problem {
    let mut problem = saxpy(size, inputs);
    // Each term rounds its product and its sum, and no partial sum exceeds |a x| + |y|.
    if let Expected::Within { bound, .. } = &mut problem.expected {
        for bound in bound.iter_mut() {
            *bound *= MOST;
        }
    }
    problem
}

fn plan<'p>(problem: &'p Problem, entry: &str) -> Variants<'p> {
    let length = length(problem.size);
    let mut plan = Plan::new();
    let a = problem.inputs[0].as_f32().and_then(|a| a.first()).copied().unwrap_or_default();
    let [x, y] = [1, 2].map(|operand| plan.input(problem.inputs[operand].bytes()));
    let z = plan.result(4 * length);
    let program = Arc::new(Program::from_source("ratio.cl", include_str!("ratio.cl")));
    let arguments = [a.into(), x.into(), y.into(), z.into(), (length as u32).into()];
    plan.launch(&program, entry, arguments, NdRange::d1(length.div_ceil(4)));
    Ok(Variant::only(plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each step's sum, with the rounding of `mul_add` and with two: within the bound. Without a term: not.
    #[test]
    fn all_terms_are_within_the_bound_and_a_missing_one_is_not() {
        let problem =
            LADDER_RATIO.make_problem(Size::Vector(1001), &Inputs { photo: None, seed: 3 }).unwrap();
        let [a, x, y] = [0, 1, 2].map(|operand| problem.inputs[operand].as_f32().unwrap());
        let sums = |n: u32, terms: u32, fused: bool| {
            let part = a[0] / n as f32;
            let term = |sum: f32, x: f32| if fused { part.mul_add(x, sum) } else { part * x + sum };
            let sum = |(x, y): (&f32, &f32)| (0..terms).fold(*y, |sum, _| term(sum, *x));
            x.iter().zip(y).map(sum).collect::<Vec<f32>>()
        };
        for n in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
            for fused in [false, true] {
                problem.expected.verify(bytemuck::cast_slice(&sums(n, n, fused))).unwrap();
            }
            problem.expected.verify(bytemuck::cast_slice(&sums(n, n - 1, true))).unwrap_err();
        }
    }
}
