//! The engine: samples against whole launches, and figures read back from micro-benchmarks.

mod activity;
mod consistency;
mod counters;
mod neighbours;
mod read_back;
mod sampling;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tripipe_device::Gpu;
use tripipe_launch::{Access, Argument, Executor, Launch, MemoryKind, NdRange, Program};
use tripipe_timing::{Options, Prediction, VirtualGpu, VirtualOptions};

/// What a test passes to a kernel.
#[derive(Clone, Debug)]
enum Passed {
    /// Memory of zeros.
    Memory(MemoryKind),
    /// A buffer with contents.
    Bytes(Vec<u8>),
    /// An `int`.
    Int(usize),
}

fn zeros(bytes: usize) -> Passed {
    Passed::Memory(MemoryKind::Buffer { bytes })
}

/// The kernels of these tests, and the published ladder.
fn program(name: &'static str) -> Arc<Program> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(match name {
        "kernels.cl" => "tests/engine",
        "published.cl" => "../ladders/src/laplace",
        _ => "../analyze/tests/held",
    });
    Arc::new(Program::from_source(name, fs::read_to_string(folder.join(name)).unwrap()))
}

/// A virtual GPU that only tells times; `None`, with a message, if there is no clang, unless `TRIPIPE_REQUIRE_CLANG` is
/// set.
fn device(gpu: &'static Gpu, options: Options, program: &Arc<Program>, entry: &str) -> Option<VirtualGpu> {
    let options = VirtualOptions { time_only: true, prediction: options, ..VirtualOptions::default() };
    let mut device = VirtualGpu::new(gpu, options);
    if let Err(error) = device.prepare(program, entry) {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
        eprintln!("left out: {error}");
        return None;
    }
    Some(device)
}

/// The predicted time of a launch.
fn time(
    device: &mut VirtualGpu,
    program: &Arc<Program>,
    entry: &str,
    passed: &[Passed],
    range: NdRange,
) -> Prediction {
    let arguments = passed.iter().map(|passed| match passed {
        Passed::Memory(kind) => Argument::Memory(device.allocate(kind, Access::ReadWrite, None).unwrap()),
        Passed::Bytes(bytes) => {
            let kind = MemoryKind::Buffer { bytes: bytes.len() };
            Argument::Memory(device.allocate(&kind, Access::ReadWrite, Some(bytes)).unwrap())
        }
        Passed::Int(value) => Argument::from(*value as i32),
    });
    let arguments = arguments.collect();
    let launch = Launch { program: Arc::clone(program), entry: entry.to_owned(), arguments, range };
    device.run(&[launch]).unwrap();
    device.predictions().first().cloned().unwrap()
}
