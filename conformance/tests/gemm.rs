//! The matrix products of the library's kernels, against the reference: every kernel, every layout, every way to sum.
//!
//! On OpenCL devices where there are any (with `TRIPIPE_REQUIRE_OPENCL=1` there must be one), and in the simulator, which
//! has the half precision and the dot products that PoCL lacks.

#![allow(
    clippy::print_stderr,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests say what they leave out, and panic"
)]

use tripipe_device::{ImageLimits, Probe};
use tripipe_kernels::gemm::{
    Accumulate, Batch, Elements, Gemm, Given, Layout, Parameters, Reference, Requantise, Scale, Side, Stage,
    Unfit, plan, plan_packing, sample,
};
use tripipe_launch::{Access, Executor, MemoryId, MemoryKind};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor, devices};
use tripipe_simulate::{Options, Simulator};

fn opencl() -> Option<OpenClExecutor> {
    let found = devices().unwrap_or_default();
    let Some(device) = found.first() else {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none(), "no OpenCL device");
        eprintln!("left out: no OpenCL device");
        return None;
    };
    Some(OpenClExecutor::new(device, &ExecutorOptions::default()).expect("a listed device opens"))
}

fn simulator() -> Simulator {
    Simulator::new(Options::default())
}

fn parameters(text: &str) -> Parameters {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn buffer(executor: &mut dyn Executor, bytes: &[u8]) -> MemoryId {
    let kind = MemoryKind::Buffer { bytes: bytes.len() };
    executor.allocate(&kind, Access::ReadWrite, Some(bytes)).unwrap()
}

/// C's buffer after the product.
fn run(
    executor: &mut dyn Executor,
    gemm: &Gemm,
    parameters: &Parameters,
    operands: &[Vec<u8>],
    given: [Given; 2],
) -> Vec<u8> {
    let plan = plan(gemm, parameters, executor.probe(), given)
        .unwrap_or_else(|error| panic!("{parameters}, {gemm:?}: {error}"));
    let memory: Vec<MemoryId> = operands.iter().map(|bytes| buffer(executor, bytes)).collect();
    let bound =
        plan.bind(executor, &memory).unwrap_or_else(|error| panic!("{parameters}, {gemm:?}: {error}"));
    for launches in [&bound.preparation, &bound.launches] {
        executor.run(launches).unwrap_or_else(|error| panic!("{parameters}, {gemm:?}: {error}"));
    }
    let mut c = vec![0; operands[2].len()];
    executor.read(memory[2], 0, &mut c).unwrap();
    bound.release(executor);
    for id in memory {
        executor.release(id).unwrap();
    }
    c
}

/// Runs and compares; operands are made up.
fn check(executor: &mut dyn Executor, gemm: &Gemm, text: &str) {
    let mut operands = sample(gemm, 7);
    if gemm.beta == 0.0 {
        // NaN in every floating-point type, and -1 in the others.
        operands[2].fill(0xFF);
    }
    check_operands(executor, gemm, text, &operands);
}

fn check_operands(executor: &mut dyn Executor, gemm: &Gemm, text: &str, operands: &[Vec<u8>]) {
    let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let reference = Reference::new(gemm, &slices).unwrap();
    let given = [Given::Changing, Given::Constant];
    let c = run(executor, gemm, &parameters(text), operands, given);
    reference.verify(&operands[2], &c).unwrap_or_else(|difference| panic!("{text}, {gemm:?}: {difference}"));
}

/// A tile from every kind of memory, and the other kernels.
const TILES: &[&str] = &[
    "tile 4x4",
    "tile 3x8 unroll=4",
    "tile 4x8 unroll=2 a=packed b=packed a-vector",
    "tile 8x32 vector=16 unroll=4 a=packed/1 b=packed/1 rows-first group=1x1",
    "tile 4x4 b=packed/2 group=8x2 fma",
    "tile 8x8 vector=8 a=image b=image unroll=2",
    "tile 2x4 vector=2 b=packed parts=3",
];

#[test]
fn small_extents() {
    let Some(mut executor) = opencl() else { return };
    for text in TILES {
        for extents in SMALL {
            check(&mut executor, &Gemm::new(Elements::F32, *extents), text);
        }
    }
}

/// Of 0 to 12 cubed, each extent with each of the others' edges.
const SMALL: &[[usize; 3]] = &[
    [0, 3, 4],
    [3, 0, 4],
    [3, 4, 0],
    [1, 1, 1],
    [1, 2, 3],
    [2, 1, 5],
    [3, 3, 1],
    [4, 4, 4],
    [5, 7, 9],
    [7, 5, 2],
    [8, 8, 8],
    [9, 12, 11],
    [12, 9, 6],
    [11, 1, 12],
    [1, 11, 10],
    [6, 10, 3],
    [10, 6, 12],
    [12, 12, 12],
];
