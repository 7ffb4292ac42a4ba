//! Tests of the library on every device of the machine.

mod asynchronous;
mod background;
mod elementwise;
mod errors;
mod extremes;
mod faulty;
mod filters;
mod first_use;
mod host_memory;
mod import;
mod maps;
mod memory;
mod moved;
mod operation_cache;
mod pending;
mod product_edges;
mod products;
mod quantised;
mod shapes;
mod simple;
mod team;
mod trial;

use std::time::Duration;

use tripipe::{Context, ContextBuilder, Device};
use tripipe_opencl::{CacheChoice, ExecutorOptions, OpenClExecutor};

/// A context on every device, where the device does every requested operation, however small it is.
fn contexts() -> Vec<Context> {
    let builder = Context::builder().cpu_when_faster(false);
    Device::list().into_iter().map(|device| builder.build(&device).unwrap()).collect()
}

/// Contexts on OpenCL devices with an empty cache that leave operations to the CPU path until their kernels are built.
fn in_the_background(builder: ContextBuilder) -> Vec<Context> {
    without_cache(&builder.longest_build(Duration::ZERO))
}

/// Contexts on OpenCL devices with an empty cache.
fn without_cache(builder: &ContextBuilder) -> Vec<Context> {
    let devices = tripipe_opencl::devices().unwrap_or_default();
    let options = ExecutorOptions::default().cache(CacheChoice::Off);
    devices
        .iter()
        .map(|device| builder.build_over(OpenClExecutor::new(device, &options).unwrap()).unwrap())
        .collect()
}

/// Reproducible bytes that look like noise.
fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect()
}
