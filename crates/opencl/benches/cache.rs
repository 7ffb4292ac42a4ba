//! The start-up time that the program cache saves: `cargo bench -p tripipe-opencl --bench cache`.
//!
//! Each figure is the median over separate processes, from the first OpenCL call to the end of the first launch. PoCL
//! and NVIDIA have their own caches of compiled kernels (`POCL_CACHE_DIR`, `CUDA_CACHE_PATH`), which would hide the
//! effect of ours, so each process gets an empty folder for them; the last rows keep the driver's own cache warm, for
//! comparison. The system's page cache is warm in all of them.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark that prints its figures"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use tripipe_launch::{Access, Argument, Executor, Launch, MemoryKind, NdRange, Program};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor, devices};

const CHILD: &str = "TRIPIPE_CACHE_BENCH_CHILD";
const PROCESSES: usize = 9;

/// Six kernels of the size of a filter: a 3x3 neighbourhood in 16-byte vectors, each with different weights.
fn source() -> String {
    let mut text = String::new();
    for kernel in 0..6 {
        let _ = writeln!(
            text,
            "kernel void filter{kernel}(global const uchar *from, global uchar *to, int pitch) {{
    int at = get_global_id(1) * pitch + get_global_id(0) * 16;
    short16 sum = (short16)(0);
    #pragma unroll
    for (int y = 0; y < 3; ++y) {{
        short16 left = convert_short16(vload16(0, from + at + y * pitch));
        short16 middle = convert_short16(vload16(0, from + at + y * pitch + 3));
        short16 right = convert_short16(vload16(0, from + at + y * pitch + 6));
        sum += y == 1 ? middle * (short)(9 + {kernel}) - left - right : -left - middle - right;
    }}
    vstore16(convert_uchar16_sat(sum), 0, to + at + pitch + 3);
}}"
        );
    }
    text
}

/// Seconds from the first call to the end of the first launch of each of two kernels.
fn start_up() -> f64 {
    let start = Instant::now();
    let device = devices().unwrap().remove(0);
    let mut executor = OpenClExecutor::new(&device, &ExecutorOptions::default()).unwrap();
    let program = Arc::new(Program::from_source("bench.cl", source()));
    let (width, height) = (64, 8);
    let bytes = (width + 48) * (height + 2);
    let kind = MemoryKind::Buffer { bytes };
    let from = executor.allocate(&kind, Access::Read, Some(&vec![1; bytes])).unwrap();
    let to = executor.allocate(&kind, Access::ReadWrite, None).unwrap();
    for entry in ["filter0", "filter5"] {
        let launch = Launch {
            program: Arc::clone(&program),
            entry: entry.to_owned(),
            arguments: vec![Argument::Memory(from), Argument::Memory(to), (width as i32).into()],
            range: NdRange::d2(width / 16, height),
        };
        executor.run(&[launch]).unwrap();
    }
    start.elapsed().as_secs_f64()
}

fn child(cache: &str, folder: &Path, theirs: &Path) -> f64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .env(CHILD, "1")
        .env("TRIPIPE_CACHE", cache)
        .env("TRIPIPE_CACHE_DIR", folder)
        .env("POCL_CACHE_DIR", theirs)
        .env("CUDA_CACHE_PATH", theirs)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.trim().parse().unwrap_or_else(|_| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn main() {
    if std::env::var_os(CHILD).is_some() {
        println!("{}", start_up());
        return;
    }
    match devices() {
        Ok(devices) => {
            let probe = devices[0].probe();
            println!(
                "{} ({}), driver {}, {PROCESSES} processes each",
                probe.name, probe.platform, probe.driver
            );
        }
        Err(error) => {
            println!("skipped: no OpenCL device: {error}");
            return;
        }
    }
    let ours = tempfile::tempdir().unwrap();
    let fresh = || tempfile::tempdir().unwrap();
    let cold = median((0..PROCESSES).map(|_| child("off", ours.path(), fresh().path())).collect());
    let filling = median((0..PROCESSES).map(|_| child("on", fresh().path(), fresh().path())).collect());
    child("on", ours.path(), fresh().path());
    let warm = median((0..PROCESSES).map(|_| child("on", ours.path(), fresh().path())).collect());
    let pocl = fresh();
    child("off", ours.path(), pocl.path());
    let theirs = median((0..PROCESSES).map(|_| child("off", ours.path(), pocl.path())).collect());
    let both_pocl = fresh();
    child("on", ours.path(), both_pocl.path());
    let both = median((0..PROCESSES).map(|_| child("on", ours.path(), both_pocl.path())).collect());
    let row = |name: &str, seconds: f64| {
        println!("{name:<44} {:8.1} ms {:7.2}x", seconds * 1e3, cold / seconds);
    };
    row("cold: no cache", cold);
    row("cold, filling the cache", filling);
    row("warm", warm);
    row("no cache of ours, the driver's own warm", theirs);
    row("both warm", both);
}
