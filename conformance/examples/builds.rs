//! How long a device's driver takes to build the library's kernels: for every family, with the parameters that the
//! library chooses for the device. The slowest come first.
//!
//! ```text
//! cargo run --release -p tripipe-conformance --example builds -- --device opencl:0 --limit 10
//! CUDA_CACHE_DISABLE=1 POCL_KERNEL_CACHE=0 target/release/examples/builds        no cache of a driver
//! target/release/examples/builds --as "NVIDIA H100 80GB HBM3" --write FOLDER     the programs for a GPU that is not there
//! ```
//!
//! Some drivers compile in the first launch, so that counts too, without the time of a second one. Exit codes: 0, 1 if
//! a kernel took longer than the limit (10 s), 2 if one did not build or run.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it is for")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use tripipe_conformance::defaults::{self, DefaultPlan};
use tripipe_device::{DeviceKind, Probe};
use tripipe_launch::{Executor, Program, Source};
use tripipe_opencl::{CacheChoice, ExecutorOptions, OpenClExecutor};

/// The build of one plan.
struct Built {
    name: String,
    parameters: String,
    /// To build, and to run the first time beyond the second.
    seconds: [f64; 2],
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("builds: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut device, mut limit, mut only) = ("opencl".to_owned(), 10.0, String::new());
    let (mut stands_for, mut folder) = (None, None);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--device" => device = value()?,
            "--limit" => limit = value()?.parse()?,
            "--only" => only = value()?,
            "--as" => stands_for = Some(value()?),
            "--write" => folder = Some(value()?),
            other => return Err(format!("{other}: want --device, --limit, --only, --as or --write").into()),
        }
    }
    let wanted = |plans: Vec<DefaultPlan>| -> Vec<DefaultPlan> {
        plans.into_iter().filter(|plan| plan.name.contains(&only)).collect()
    };
    if let Some(name) = stands_for {
        let probe = Probe {
            name,
            kind: DeviceKind::Gpu,
            max_work_group_size: 1024,
            max_work_item_sizes: [1024; 3],
            ..Probe::default()
        };
        return write(&wanted(defaults::all(&probe)), folder.as_deref().map(Path::new));
    }
    let device = tripipe::Device::named(&device)?;
    let device = device.opencl().ok_or("want an OpenCL device, opencl or opencl:N")?;
    let mut executor = OpenClExecutor::new(device, &ExecutorOptions::default().cache(CacheChoice::Off))?;
    let plans: Vec<DefaultPlan> = wanted(defaults::all(executor.probe()));
    println!("{}, {}: {} plans", executor.probe().name, executor.probe().driver, plans.len());
    let (mut all, mut failed) = (Vec::new(), false);
    for plan in &plans {
        let begun = Instant::now();
        match build(&mut executor, plan) {
            Ok(built) => all.push(built),
            Err(error) => {
                failed = true;
                println!("{} ({}): {error}", plan.name, plan.parameters);
            }
        }
        if begun.elapsed().as_secs_f64() > 2.0 {
            eprintln!("{} ({}) took {:.1} s", plan.name, plan.parameters, begun.elapsed().as_secs_f64());
        }
    }
    all.sort_by(|a, b| b.total().total_cmp(&a.total()));
    println!("   build  first run  operation");
    for Built { name, parameters, seconds: [build, first] } in &all {
        println!("{build:6.3} s  {first:7.3} s  {name}  {parameters}");
    }
    let sum: f64 = all.iter().map(Built::total).sum();
    println!("{sum:.1} s in all; the slowest {:.2} s", all.first().map_or(0.0, Built::total));
    let slow = all.iter().any(|built| built.total() > limit);
    Ok(if failed { ExitCode::from(2) } else { ExitCode::from(u8::from(slow)) })
}

impl Built {
    fn total(&self) -> f64 {
        self.seconds.iter().sum()
    }
}

fn build(executor: &mut OpenClExecutor, plan: &DefaultPlan) -> Result<Built, Box<dyn Error>> {
    let start = Instant::now();
    for launch in plan.plan.preparation().iter().chain(plan.plan.launches()) {
        executor.prepare(&launch.program, &launch.entry)?;
    }
    let build = start.elapsed().as_secs_f64();
    let first = plan.bound(executor, |executor, launches| {
        let mut timed = || {
            let start = Instant::now();
            executor.run(launches).map(|_| start.elapsed().as_secs_f64())
        };
        Ok((timed()? - timed()?).max(0.0))
    })?;
    Ok(Built { name: plan.name.clone(), parameters: plan.parameters.clone(), seconds: [build, first] })
}

/// Lists the plans, and writes their programs as files that a compiler takes without options.
fn write(plans: &[DefaultPlan], folder: Option<&Path>) -> Result<ExitCode, Box<dyn Error>> {
    let mut seen: Vec<Arc<Program>> = Vec::new();
    for plan in plans {
        for launch in plan.plan.preparation().iter().chain(plan.plan.launches()) {
            if seen.contains(&launch.program) {
                continue;
            }
            println!("{:4} {} {}  {}", seen.len(), launch.entry, plan.name, plan.parameters);
            if let (Some(folder), Source::OpenClC(text)) = (folder, &launch.program.source) {
                let mut file = String::new();
                for (name, value) in &launch.program.defines {
                    writeln!(file, "#define {name} {value}")?;
                }
                file.push_str(text);
                std::fs::write(folder.join(format!("{}.cl", seen.len())), file)?;
            }
            seen.push(Arc::clone(&launch.program));
        }
    }
    Ok(ExitCode::SUCCESS)
}
