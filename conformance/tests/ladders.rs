//! Every ladder, every step, every variant, on every device, at every size.
//!
//! Trials are named `<device> <ladder> <step>`. The trials `oclgrind <ladder>` run this program again under Oclgrind,
//! whose log must stay empty: no access outside a buffer, no invalid call.
//!
//! Without an OpenCL device its trials are skipped with a message; with `TRIPIPE_REQUIRE_OPENCL=1` that is a failure.

#![allow(
    clippy::print_stderr,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests report what they leave out, and panic"
)]

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use tripipe_conformance::sizes::{Extent, sizes};
use tripipe_kernels::{Plan, PlanError};
use tripipe_ladders::catalog::ladders;
use tripipe_ladders::ladder::{AttemptError, Climber, CpuClimber, Ladder};
use tripipe_ladders::{Inputs, Problem};
use tripipe_launch::{ExecuteError, Executor, NdRange, Program};
use tripipe_opencl::{Device, ExecutorOptions, OpenClExecutor};
use tripipe_simulate::Simulator;

/// Set for the runs under Oclgrind: small sizes, no further child processes.
const SMALL: &str = "TRIPIPE_CONFORMANCE_SMALL";
/// Oclgrind's OpenCL library, as installed by Debian. The `oclgrind` command preloads it for programs that link OpenCL;
/// this program loads OpenCL at run time and gets the path instead.
const OCLGRIND: &str = "/usr/lib/oclgrind/liboclgrind-rt.so";

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let small = std::env::var_os(SMALL).is_some();
    let extent = if small { Extent::Small } else { Extent::Full };
    let mut trials = Vec::new();
    match tripipe_opencl::devices() {
        Ok(devices) if !devices.is_empty() => {
            for device in devices {
                trials.extend(device_trials(&device, extent));
            }
        }
        found => {
            let reason = found.err().map_or_else(|| "no device".to_owned(), |error| error.to_string());
            eprintln!("no OpenCL device: {reason}");
            if std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_some() {
                trials.push(Trial::test("an OpenCL device", move || Err(reason.into())));
            }
        }
    }
    if small {
        trials.push(Trial::test("a read outside a buffer", read_outside));
    } else {
        trials.extend(cpu_trials(extent));
        trials.extend(simulator_trials(if cfg!(debug_assertions) { Extent::Medium } else { extent }));
        trials.extend(oclgrind_trials());
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn device_trials(device: &Device, extent: Extent) -> Vec<Trial> {
    steps()
        .map(|(ladder, step)| {
            let (device, name) = (device.clone(), device.probe().name.clone());
            let trial =
                Trial::test(format!("opencl {} {}", ladder.name, ladder.steps[step].name), move || {
                    let mut executor = OpenClExecutor::new(&device, &ExecutorOptions::default())?;
                    verify(&mut executor as &mut dyn Executor, ladder, step, extent)
                });
            trial.with_kind(name)
        })
        .collect()
}

fn simulator_trials(extent: Extent) -> Vec<Trial> {
    steps()
        .map(|(ladder, step)| {
            Trial::test(format!("simulator {} {}", ladder.name, ladder.steps[step].name), move || {
                let prebuilt = Some(tripipe_ladders::spirv::find as tripipe_simulate::Prebuilt);
                let mut executor =
                    Simulator::new(tripipe_simulate::Options { prebuilt, ..Default::default() });
                verify(&mut executor as &mut dyn Executor, ladder, step, extent)
            })
        })
        .collect()
}

fn cpu_trials(extent: Extent) -> Vec<Trial> {
    let climber = CpuClimber::new();
    ladders()
        .iter()
        .flat_map(|ladder| {
            climber.steps(ladder).into_iter().enumerate().map(move |(step, name)| {
                Trial::test(format!("cpu {} {}", ladder.name, name.name), move || {
                    verify(&mut CpuClimber::new(), ladder, step, extent)
                })
            })
        })
        .collect()
}

fn steps() -> impl Iterator<Item = (&'static Ladder, usize)> {
    ladders().iter().flat_map(|ladder| (0..ladder.steps.len()).map(move |step| (ladder, step)))
}

/// Runs one step at all sizes, in each variant, and compares with the reference.
fn verify<C: Climber + ?Sized>(
    climber: &mut C,
    ladder: &Ladder,
    step: usize,
    extent: Extent,
) -> Result<(), Failed> {
    let (mut ran, mut not_offered) = (0, None);
    for size in sizes(ladder.size_kind, extent) {
        let problem = ladder.make_problem(size, &Inputs { photo: None, seed: 20 })?;
        let mut failure = None;
        let visited = climber.attempt(ladder, step, &problem, &mut |label, attempt| {
            let result = attempt.and_then(|attempt| {
                attempt.prepare()?;
                // Twice: a step must be repeatable over its own output.
                for _ in 0..2 {
                    attempt.run()?;
                    problem.expected.verify(&attempt.output()?)?;
                }
                Ok(())
            });
            match result {
                Ok(()) => ran += 1,
                Err(AttemptError::Execute(error @ ExecuteError::NotOffered { .. })) => {
                    not_offered = Some(error.to_string());
                }
                Err(error) => {
                    failure.get_or_insert_with(|| format!("at {size} {label}: {error}"));
                }
            }
        });
        match visited {
            Ok(()) => {}
            // A missing device feature is missing at every size; a smaller size may fit a limit.
            Err(AttemptError::Plan(error @ PlanError::NotOffered { .. })) => {
                not_offered = Some(error.to_string());
                break;
            }
            Err(AttemptError::Plan(error)) => not_offered = Some(error.to_string()),
            Err(error) => return Err(format!("at {size}: {error}").into()),
        }
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        check_oracle(&problem)?;
    }
    match (ran, not_offered) {
        (0, Some(reason)) => {
            eprintln!("{} {}: left out, {reason}", ladder.name, step);
            Ok(())
        }
        (0, None) => Err("nothing ran".into()),
        _ => Ok(()),
    }
}

/// The comparison itself must be able to fail: a changed output is wrong.
fn check_oracle(problem: &Problem) -> Result<(), Failed> {
    let mut output = problem.expected.blank_output();
    match problem.expected.verify(output.bytes_mut()) {
        Ok(()) => {
            Err(format!("at {}: an output that was never written passes as correct", problem.size).into())
        }
        Err(_) => Ok(()),
    }
}

fn oclgrind_trials() -> Vec<Trial> {
    if !Path::new(OCLGRIND).exists() {
        eprintln!("no oclgrind: accesses outside the buffers are not checked");
        return if std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_some() {
            vec![Trial::test("oclgrind", || Err("oclgrind is not installed; scripts/setup does".into()))]
        } else {
            Vec::new()
        };
    }
    let watched = ladders().iter().map(|ladder| {
        Trial::test(format!("oclgrind {}", ladder.name), || {
            match under_oclgrind(&format!("opencl {} ", ladder.name))?.trim() {
                "" => Ok(()),
                complaints => Err(complaints.chars().take(4000).collect::<String>().into()),
            }
        })
    });
    let watcher = Trial::test("oclgrind watches", || {
        let complaints = under_oclgrind("a read outside a buffer")?;
        if complaints.contains("Invalid read") {
            Ok(())
        } else {
            Err("it does not see a read outside".into())
        }
    });
    watched.chain([watcher]).collect()
}

/// A kernel that reads one element past its buffer. The result is correct: only a memory checker detects it.
fn read_outside() -> Result<(), Failed> {
    const TEXT: &str =
        "kernel void past(global const int *a, global int *b) { b[0] = a[0] + 0 * a[1]; b[0] += a[1] & 0; }";
    let device = tripipe_opencl::devices()?.swap_remove(0);
    eprintln!("[{}]", device.probe().name);
    let mut executor = OpenClExecutor::new(&device, &ExecutorOptions::default())?;
    let mut plan = Plan::new();
    let (a, b) = (plan.input(7_i32.to_ne_bytes().to_vec()), plan.result(4));
    let program = Arc::new(Program::from_source("past.cl", TEXT).option("-cl-opt-disable"));
    plan.launch(&program, "past", [a.into(), b.into()], NdRange::d1(1));
    let mut staged = plan.stage(&mut executor)?;
    staged.run()?;
    if staged.output()? == 7_i32.to_ne_bytes() { Ok(()) } else { Err("the result is wrong".into()) }
}

/// Runs the trials with this name in a child process under Oclgrind and returns Oclgrind's log.
fn under_oclgrind(trials: &str) -> Result<String, Failed> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("oclgrind.log");
    let output = Command::new("oclgrind")
        .arg("--log")
        .arg(&log)
        .arg(std::env::current_exe()?)
        .args(["--test-threads", "1", trials])
        .env(SMALL, "1")
        .env("TRIPIPE_REQUIRE_OPENCL", "1")
        .env("TRIPIPE_CACHE", "off")
        .env("TRIPIPE_OPENCL", OCLGRIND)
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(said.into_owned().into());
    }
    if !said.contains("[Oclgrind Simulator]") || said.contains(" 0 passed") {
        return Err(format!("nothing ran under Oclgrind: {said}").into());
    }
    match std::fs::read_to_string(log) {
        Ok(text) => Ok(text),
        // Oclgrind creates the file with its first error.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}
