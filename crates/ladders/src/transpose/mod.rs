//! The transpose of a matrix of `float`: which side of the copy should be strided, and how to avoid both.
//!
//! Contract: the source has `height` rows of `width` elements, the destination `width` rows of `height`, both
//! row-major without gaps, both extents at least 1. The buffers must not alias. Results are exact, NaN included.

use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_launch::{NdRange, Program, ScalarType};

use crate::ladder::{Ladder, Step, Variant, Variants};
use crate::problem::{Data, Expected, Inputs, Problem, Quoted, Size, SizeKind, Work};
use tripipe_kernels::plan::{Plan, PlanError};

/// One element per work-item, reading or writing along rows; blocks in registers; tiles in local memory.
pub const LADDER: Ladder = Ladder {
    name: "transpose",
    about: "the transpose of a matrix of float",
    element: ScalarType::F32,
    size_kind: SizeKind::Image,
    default_sizes: &[Size::Image { width: 1024, height: 1024 }, Size::Image { width: 4096, height: 4096 }],
    steps: &[
        Step { name: "naive", about: "one element per work-item, reads along rows", plan: naive },
        Step {
            name: "naive-write",
            about: "one element per work-item, writes along rows",
            plan: naive_write,
        },
        Step {
            name: "blocks-4x4",
            about: "4x4 elements per work-item, transposed in registers",
            plan: blocks,
        },
        Step {
            name: "local-tile",
            about: "16x16 tiles through local memory (emulated on Mali)",
            plan: local_tile,
        },
    ],
    problem,
    serial,
    published: None,
};

/// Work-items along each side of a work-group of `local-tile`.
const TILE: usize = 16;

fn extents(size: Size) -> [usize; 2] {
    if let Size::Image { width, height } = size { [width, height] } else { [0; 2] }
}

fn problem(size: Size, inputs: &Inputs<'_>) -> Problem {
    let [width, height] = extents(size);
    let mut random = fastrand::Rng::with_seed(inputs.seed);
    let source: Vec<f32> = (0..width * height).map(|_| random.f32()).collect();
    let mut expected = Vec::with_capacity(source.len());
    for x in 0..width {
        expected.extend((0..height).map(|y| source[y * width + x]));
    }
    let bytes = 8.0 * source.len() as f64;
    Problem {
        size,
        inputs: vec![Data::F32(source)],
        expected: Expected::Exact(Data::F32(expected)),
        work: Work { operations: 0.0, bytes, quoted: Quoted::Bandwidth },
    }
}

fn serial(problem: &Problem, output: &mut Data) {
    let [width, height] = extents(problem.size);
    let ([Data::F32(source)], Data::F32(destination)) = (problem.inputs.as_slice(), output) else { return };
    for y in 0..height {
        for x in 0..width {
            destination[x * height + y] = source[y * width + x];
        }
    }
}

fn plan<'p>(problem: &'p Problem, program: Program, entry: &str, range: NdRange) -> Plan<'p> {
    let [width, height] = extents(problem.size);
    let mut plan = Plan::new();
    let source = plan.input(problem.inputs[0].bytes());
    let destination = plan.result(4 * width * height);
    let arguments = [source.into(), destination.into(), (width as u32).into(), (height as u32).into()];
    plan.launch(&Arc::new(program), entry, arguments, range);
    plan
}

fn naive_program() -> Program {
    Program::from_source("transpose/naive.cl", include_str!("naive.cl"))
}

fn naive<'p>(problem: &'p Problem, _: &Probe) -> Variants<'p> {
    let [width, height] = extents(problem.size);
    Ok(Variant::only(plan(problem, naive_program(), "transpose_read_rows", NdRange::d2(width, height))))
}

fn naive_write<'p>(problem: &'p Problem, _: &Probe) -> Variants<'p> {
    let [width, height] = extents(problem.size);
    Ok(Variant::only(plan(problem, naive_program(), "transpose_write_rows", NdRange::d2(height, width))))
}

fn blocks<'p>(problem: &'p Problem, _: &Probe) -> Variants<'p> {
    let [width, height] = extents(problem.size).map(|extent| extent.div_ceil(4));
    let program = Program::from_source("transpose/blocks.cl", include_str!("blocks.cl"));
    Ok(Variant::only(plan(problem, program, "transpose_blocks", NdRange::d2(width, height))))
}

fn local_tile<'p>(problem: &'p Problem, probe: &Probe) -> Variants<'p> {
    if probe.max_work_group_size != 0 && probe.max_work_group_size < TILE * TILE {
        return Err(PlanError::NotOffered { what: format!("work-groups of {} work-items", TILE * TILE) });
    }
    let [width, height] = extents(problem.size).map(|extent| extent.next_multiple_of(TILE));
    let program =
        Program::from_source("transpose/local_tile.cl", include_str!("local_tile.cl")).define("TILE", TILE);
    let range = NdRange::d2(width, height).local(TILE, TILE, 1);
    Ok(Variant::only(plan(problem, program, "transpose_local_tile", range)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let size = Size::Image { width: 3, height: 2 };
        let problem = LADDER.make_problem(size, &Inputs { photo: None, seed: 3 }).unwrap();
        let source = problem.inputs[0].as_f32().unwrap();
        let by_hand = [0, 3, 1, 4, 2, 5].map(|index| source[index]).to_vec();
        problem.expected.verify(Data::F32(by_hand).bytes()).unwrap();
        let mut destination = problem.expected.blank_output();
        serial(&problem, &mut destination);
        problem.expected.verify(destination.bytes()).unwrap();
        problem.expected.verify(problem.inputs[0].bytes()).unwrap_err();
    }
}
