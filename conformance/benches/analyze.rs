//! The time to analyse a kernel for all GPUs together, on one thread, without the front end.
//!
//! `cargo bench -p tripipe-conformance --bench analyze` prints a JSON object for each kernel of the ladders (the
//! minimum and the median of the runs, in milliseconds), and finally the worst of all.

#![allow(clippy::print_stdout, reason = "standard output is what a benchmark is for")]

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use serde_json::json;
use tripipe_analyze::{Setup, analyze_all};
use tripipe_conformance::programs::ladder_programs;
use tripipe_device::{Gpu, catalog};
use tripipe_ir::front::spirv;

const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let gpus: Vec<&'static Gpu> = catalog().iter().collect();
    let (mut worst, mut worst_kernel, mut kernels) = (0.0_f64, String::new(), 0);
    for program in ladder_programs()? {
        let Some(bytes) = tripipe_ladders::spirv::find(&program) else { continue };
        let module = spirv::load(bytes, &spirv::Options::default())?;
        for kernel in &module.kernels {
            let mut times: Vec<f64> = (0..RUNS)
                .map(|_| {
                    let start = Instant::now();
                    black_box(analyze_all(kernel, &gpus, &Setup::default()));
                    start.elapsed().as_secs_f64() * 1e3
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let median = times[RUNS / 2];
            println!(
                "{}",
                json!({ "program": program.name, "kernel": kernel.name, "gpus": gpus.len(), "least_ms": times[0], "median_ms": median })
            );
            kernels += 1;
            if median > worst {
                (worst, worst_kernel) = (median, kernel.name.clone());
            }
        }
    }
    println!("{}", json!({ "kernels": kernels, "worst": worst_kernel, "worst_median_ms": worst }));
    Ok(())
}
