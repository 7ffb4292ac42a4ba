//! The library's matrix product kernels against the reference: every kernel, every layout, every way to sum.
//!
//! In the simulator, which supports the half precision and the dot products that PoCL lacks, and on an OpenCL device,
//! if there is one (with `TRIPIPE_REQUIRE_OPENCL=1` there must be one). PoCL takes a second or two to compile a kernel,
//! so it runs a part of the cases.

mod elements;
mod factors;
mod layouts;
mod packed;
mod space;

use tripipe_kernels::Role;
use tripipe_kernels::gemm::{Gemm, OperandState, Parameters, Reference, plan};
use tripipe_launch::{Access, Executor, MemoryId, MemoryKind};
use tripipe_simulate::{Options, Simulator};
use tripipe_tune::bench::sample;

use crate::opencl;

fn simulator() -> Simulator {
    Simulator::new(Options::default())
}

/// Runs `cases` in the simulator with all kernels, and on an OpenCL device with a few.
fn everywhere(cases: impl Fn(&mut dyn Executor, &[&str])) {
    cases(&mut simulator(), KERNELS);
    if let Some(mut executor) = opencl().into_iter().next() {
        cases(&mut executor, FEW);
    }
}

fn parameters(text: &str) -> Parameters {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn buffer(executor: &mut dyn Executor, bytes: &[u8]) -> MemoryId {
    let kind = MemoryKind::Buffer { bytes: bytes.len() };
    executor.allocate(&kind, Access::ReadWrite, Some(bytes)).unwrap()
}

/// The contents of C's buffer after the product.
fn run(
    executor: &mut dyn Executor,
    gemm: &Gemm,
    parameters: &Parameters,
    operands: &[Vec<u8>],
    given: &[OperandState; 2],
) -> Vec<u8> {
    let plan = plan(gemm, parameters, executor.probe(), *given)
        .unwrap_or_else(|error| panic!("{parameters}, {gemm:?}: {error}"));
    let roles = gemm.operands().into_iter().map(|operand| operand.role);
    let memory: Vec<(Role, MemoryId)> =
        roles.zip(operands).map(|(role, bytes)| (role, buffer(executor, bytes))).collect();
    let (_, c_memory) = memory[2];
    let bound =
        plan.bind(executor, &memory).unwrap_or_else(|error| panic!("{parameters}, {gemm:?}: {error}"));
    for launches in [&bound.preparation, &bound.launches] {
        executor.run(launches).unwrap_or_else(|error| panic!("{parameters}, {gemm:?}: {error}"));
    }
    let mut c = vec![0; operands[2].len()];
    executor.read(c_memory, 0, &mut c).unwrap();
    bound.release(executor);
    for (_, id) in memory {
        executor.release(id).unwrap();
    }
    c
}

/// Runs and compares with generated operands.
fn check(executor: &mut dyn Executor, gemm: &Gemm, text: &str) {
    let mut operands = sample(gemm, 7);
    if gemm.beta == 0.0 {
        // NaN in every floating-point type, and -1 in the integer types.
        operands[2].fill(0xFF);
    }
    check_operands(executor, gemm, text, &operands);
}

fn check_operands(executor: &mut dyn Executor, gemm: &Gemm, text: &str, operands: &[Vec<u8>]) {
    let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let reference = Reference::new(gemm, &slices).unwrap();
    let given = [OperandState::Changing, OperandState::Constant];
    let c = run(executor, gemm, &parameters(text), operands, &given);
    reference.verify(&operands[2], &c).unwrap_or_else(|difference| panic!("{text}, {gemm:?}: {difference}"));
}

/// The kernels, each with tiles from another kind of memory.
const KERNELS: &[&str] = &[
    "tile 4x4 unroll=4",
    "tile 3x8 unroll=2 vector=8 b=packed/2 group=4x2 fma",
    "tile 4x8 unroll=2 a=packed b=packed a-vector group=8x8",
    "tile 8x32 vector=16 unroll=4 a=packed/1 b=packed/1 rows-first rolled group=1x1",
    "tile 8x8 vector=8 a=image b=image unroll=2 group=16x2",
    "tile 2x4 vector=2 parts=3",
    "tile 2x8 unroll=2 group=2x2 slices=4",
    "local 4x4 depth=16 group=4x4",
    "local 8x4 depth=4 group=8x4 buffers=2 b=packed",
    "local 4x8 depth=8 group=4x4 a=packed b=packed parts=2",
];

/// For PoCL: the work-group size is fixed, since it compiles a kernel for each, and the epilogue occurs once.
const FEW: &[&str] = &[
    "tile 3x8 unroll=2 vector=8 b=packed/2 rolled group=1x1",
    "tile 4x4 unroll=4 parts=2 rolled group=1x1",
    "tile 2x4 unroll=2 group=2x1 slices=4 rolled",
    "local 4x4 depth=8 group=4x4 buffers=2",
];
