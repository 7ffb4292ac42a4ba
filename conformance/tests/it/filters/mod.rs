//! Filters on every executor, against their reference.
//!
//! Cases are drawn with a fixed seed from the whole space: stages, element types, channels, layouts, borders, sizes,
//! regions, parameters. Source and result are parts of larger buffers whose other bytes must not change. Half-precision
//! images run in the simulator only. Without an OpenCL device the OpenCL tests are skipped with a message; with
//! `TRIPIPE_REQUIRE_OPENCL=1` that is a failure.

mod choice;
mod drawn;
mod elementwise;
mod passes;
mod resized;
mod values;

use fastrand::Rng;
use half::f16;
use tripipe_device::DeviceKind;
use tripipe_kernels::filter::{Fuse, Loads, Parameters, PixelType, Raster, Sums};
use tripipe_kernels::{Plan, Role};
use tripipe_launch::{Access, Executor, MemoryId, MemoryKind};
use tripipe_simulate::{Options, Simulator};

use crate::opencl;

/// Values over the whole range of integers; floating-point values between -300 and 300.
fn noise(random: &mut Rng, element: PixelType, count: usize) -> Vec<u8> {
    (0..count)
        .flat_map(|_| match element {
            PixelType::F16 => f16::from_f32(random.f32() * 600.0 - 300.0).to_ne_bytes().to_vec(),
            PixelType::F32 => (random.f32() * 600.0 - 300.0).to_ne_bytes().to_vec(),
            _ => (0..element.bytes()).map(|_| random.u8(..)).collect(),
        })
        .collect()
}

/// Elements of a raster's buffer, plus a few after its last.
fn room(raster: &Raster) -> usize {
    raster.elements().unwrap() + 3
}

/// The element types for devices without half precision.
const WITHOUT_HALF: [PixelType; 4] = [PixelType::U8, PixelType::I16, PixelType::U16, PixelType::F32];

const PLAIN: Parameters = Parameters {
    lanes: 4,
    rows: 2,
    loads: Loads::Shared,
    sums: Sums::Narrow,
    work_group: None,
    fuse: Fuse::Pixels,
};

fn has_half(executor: &dyn Executor) -> bool {
    executor.probe().kind != DeviceKind::Cpu
}

/// Memory with these contents.
fn buffer(executor: &mut dyn Executor, bytes: &[u8]) -> MemoryId {
    executor.allocate(&MemoryKind::Buffer { bytes: bytes.len() }, Access::ReadWrite, Some(bytes)).unwrap()
}

/// The roles of a computation with one input.
const ONE_INPUT: [Role; 2] = [Role::Source, Role::Result];

/// Runs a plan over operands with these roles and contents; returns the operands' contents afterwards.
fn run_over(
    executor: &mut dyn Executor,
    planned: &Plan<'_>,
    roles: &[Role],
    operands: &[&[u8]],
) -> Vec<Vec<u8>> {
    let ids = operands.iter().map(|bytes| buffer(executor, bytes));
    let ids: Vec<(Role, MemoryId)> = roles.iter().copied().zip(ids).collect();
    let bound = planned.bind(executor, &ids).unwrap();
    executor.run(&bound.launches).unwrap();
    bound.release(executor);
    let mut found = Vec::new();
    for ((_, id), operand) in ids.into_iter().zip(operands) {
        let mut bytes = vec![0; operand.len()];
        executor.read(id, 0, &mut bytes).unwrap();
        executor.release(id).unwrap();
        found.push(bytes);
    }
    found
}

fn executors() -> Vec<Box<dyn Executor>> {
    let mut all: Vec<Box<dyn Executor>> = vec![Box::new(Simulator::new(Options::default()))];
    all.extend(opencl().into_iter().map(|executor| Box::new(executor) as Box<dyn Executor>));
    all
}

/// `(x * 37 + y * 91 + x * y * 13 + channel * 20) % 256`.
fn picture([width, height]: [usize; 2], channels: usize) -> Vec<u8> {
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| x * 37 + y * 91 + x * y * 13));
    pixels.flat_map(|value| (0..channels).map(move |channel| ((value + channel * 20) % 256) as u8)).collect()
}
