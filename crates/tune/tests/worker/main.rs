//! Workers as real processes: this test is its own worker.
//!
//! With `worker MODE` as arguments it serves: a toy whose parameters are its behaviour (`toy`), an OpenCL device with
//! faulty kernels (`opencl`), a guard of either (`guard-toy`, `guard-opencl`), or something that is not a sound worker.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic")]
#![allow(clippy::print_stderr, clippy::print_stdout, reason = "drivers print, too")]
#![allow(clippy::exit, reason = "the worker's side of a test")]

#[cfg(unix)]
mod faulty;
#[cfg(unix)]
mod power_cut;
#[cfg(unix)]
mod protocol;
#[cfg(unix)]
mod remote;
#[cfg(unix)]
mod toy;

use std::process::ExitCode;

#[cfg(unix)]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|word| word == "worker") {
        return toy::work(&arguments[2..]);
    }
    let mut trials = protocol::trials();
    trials.extend(remote::trials());
    trials.extend(faulty::trials());
    trials.extend(power_cut::trials());
    libtest_mimic::run(&libtest_mimic::Arguments::from_args(), trials).exit_code()
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    ExitCode::SUCCESS
}
