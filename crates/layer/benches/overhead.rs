//! What the layer costs for each call: cheap calls with and without it, in one run, on the first OpenCL device.
//!
//! Expected, before the first measurement: below 100 ns when nothing is asked for, some 300 ns with a report, 500 ns
//! with a trace, 1500 ns with a log, whose lines are
//! written a few hundred at a time. The bound is 2000 ns.
//!
//! `cargo bench -p tripipe-layer` prints nanoseconds per call: the median of five runs, each in a process of its own.
#![allow(clippy::print_stdout, reason = "it prints its results")]
#![allow(clippy::unwrap_used, clippy::macro_metavars_in_unsafe, reason = "a benchmark")]
#![allow(unsafe_code, unused_unsafe, reason = "calls of a C API")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::process::Command;
use std::ptr::{null, null_mut};
use std::time::Instant;

use support::{Gpu, ROLE, SCALE, library, role, set};

/// Calls of each function in a run. All calls of a run fit into a trace.
const CALLS: usize = 50_000;

/// Calls between two looks at the clock.
const BATCH: usize = 100;

/// Runs of each mode.
const RUNS: usize = 5;

const FUNCTIONS: [&str; 4] = ["clSetKernelArg", "clRetainKernel", "clReleaseKernel", "enqueue"];

fn main() {
    if role().is_some() {
        measure();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).into_os_string();
    let modes = [
        ("without the layer", None),
        ("nothing asked for", Some(vec![])),
        ("report", Some(vec![("TRIPIPE_LAYER_REPORT", at("r.json"))])),
        ("trace", Some(vec![("TRIPIPE_LAYER_TRACE", at("t.pftrace"))])),
        ("log", Some(vec![("TRIPIPE_LAYER_LOG", at("l.txt"))])),
        // No enqueue has so high a number: only arguments are stored.
        (
            "capture, no launch",
            Some(vec![
                ("TRIPIPE_LAYER_CAPTURE", at("c")),
                ("TRIPIPE_LAYER_CAPTURE_FIRST", "999999999".into()),
            ]),
        ),
    ];
    println!("ns per call; in brackets, what the layer adds");
    println!(
        "{:<20} {:>22} {:>22} {:>22} {:>22}",
        "", FUNCTIONS[0], FUNCTIONS[1], FUNCTIONS[2], FUNCTIONS[3]
    );
    // The modes take turns, so that a slow moment of the machine meets all of them.
    let mut times = vec![[const { Vec::new() }; FUNCTIONS.len()]; modes.len()];
    for _ in 0..RUNS {
        for (mode, variables) in modes.iter().enumerate() {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.env(ROLE, "measure");
            if let Some(variables) = &variables.1 {
                command.env("OPENCL_LAYERS", library("tripipe_layer"));
                command.envs(variables.iter().map(|(name, value)| (name, value)));
            }
            let ran = command.output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            let text = String::from_utf8(ran.stdout).unwrap();
            for (index, word) in text.split_whitespace().enumerate() {
                times[mode][index].push(word.parse::<f64>().unwrap());
            }
        }
    }
    for (mode, (name, _)) in modes.iter().enumerate() {
        let row = (0..FUNCTIONS.len()).map(|index| {
            let (time, plain) = (median(&times[mode][index]), median(&times[0][index]));
            format!(" {:>22}", format!("{time:.0} ({:+.0})", time - plain))
        });
        println!("{name:<20}{}", row.collect::<String>());
    }
}

fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The application: prints nanoseconds per call.
fn measure() {
    let gpu = Gpu::first();
    let kernel = gpu.kernel(gpu.program(SCALE, "-D ADD=0.0f"), "scale");
    let (from, to) = (gpu.buffer(&[1.0; 64]), gpu.buffer(&[0.0; 64]));
    set(kernel, 0, &from);
    set(kernel, 1, &to);
    // The median of many short batches, which other programs on the machine interrupt seldom.
    let time = |count: usize, call: &dyn Fn()| {
        let batches = (0..count / BATCH).map(|_| {
            let start = Instant::now();
            for _ in 0..BATCH {
                call();
            }
            start.elapsed().as_nanos() as f64 / BATCH as f64
        });
        median(&batches.collect::<Vec<f64>>())
    };
    let sets = time(CALLS, &|| set(kernel, 2, &1f32));
    let retains = time(CALLS, &|| ok!(clRetainKernel(kernel)));
    let releases = time(CALLS, &|| ok!(clReleaseKernel(kernel)));
    // Not cheap: markers, which have events.
    let marks = time(1000, &|| ok!(clEnqueueMarkerWithWaitList(gpu.queue, 0, null(), null_mut())));
    ok!(clFinish(gpu.queue));
    println!("{sets} {retains} {releases} {marks}");
}
