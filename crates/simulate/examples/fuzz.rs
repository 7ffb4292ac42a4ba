//! Runs damaged modules and launch files for a given time, and stops at the first one that panics, hangs or exhausts
//! memory. The same seed gives the same cases.
//!
//! `cargo run --release -p tripipe-simulate --example fuzz -- --minutes 60 --seed 1 [--from CASE]`

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::exit, reason = "what it is for")]

#[path = "../tests/it/fuzz/cases.rs"]
mod cases;

use std::env;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Cases between two log lines.
const LINES: u64 = 20_000;

fn main() -> ExitCode {
    let [mut minutes, mut seed, mut from] = [1, 0, 0];
    let arguments: Vec<String> = env::args().skip(1).collect();
    for pair in arguments.chunks(2) {
        let number = pair.get(1).and_then(|number| number.parse().ok());
        match (pair[0].as_str(), number) {
            ("--minutes", Some(number)) => minutes = number,
            ("--seed", Some(number)) => seed = number,
            ("--from", Some(number)) => from = number,
            _ => {
                eprintln!("error: want --minutes N, --seed N, --from CASE, not {}", pair.join(" "));
                return ExitCode::from(2);
            }
        }
    }
    let samples = match cases::samples(|_| true) {
        Ok(samples) => samples,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    println!("{} samples, seed {seed}, from case {from}, {minutes} minutes", samples.len());

    // Another thread reports the case that hangs.
    let current = Arc::new(AtomicU64::new(from));
    let watched = Arc::clone(&current);
    thread::spawn(move || {
        let mut last = (u64::MAX, Instant::now());
        loop {
            thread::sleep(Duration::from_secs(1));
            let case = watched.load(Ordering::Relaxed);
            if last.0 != case {
                last = (case, Instant::now());
            } else if last.1.elapsed() > 2 * cases::LIMIT {
                println!("case {case} of seed {seed} hangs");
                std::process::exit(1);
            }
        }
    });

    let end = Instant::now() + Duration::from_secs(60 * minutes);
    let (mut done, mut refused) = (0, 0);
    for case in from.. {
        current.store(case, Ordering::Relaxed);
        let ran = match cases::run(&samples, seed, case) {
            Ok(ran) => ran,
            Err(bug) => {
                println!("{bug}");
                return ExitCode::from(1);
            }
        };
        done += u64::from(ran.done);
        refused += u64::from(ran.refused);
        let over = Instant::now() > end;
        if over || (case + 1) % LINES == 0 {
            println!("case {case}: {done} launches done, {refused} refused");
        }
        if over {
            break;
        }
    }
    ExitCode::SUCCESS
}
