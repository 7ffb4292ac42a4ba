//! The differential tester for runs of any length: random operations on the CPU path, an OpenCL device and the
//! simulator, compared with references that share no code with the library. The same seed gives the same cases.
//!
//! `cargo run --release -p tripipe-conformance --example differ -- --seed 1 --minutes 60`
//!
//! Exit codes: 0 all agree, 1 some do not, 2 it could not run. The binary needs no file of the checkout; the simulator
//! needs clang, and is skipped without it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it is for")]

#[path = "../tests/it/tester/mod.rs"]
mod tester;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tester::backends::{Backend, BackendOptions};
use tester::search::{Search, search};
use tester::{Case, Topic};

const HELP: &str = "\
Runs random operations on every available backend and compares the results.

  --seed N          seed of the cases (1)
  --cases N         how many (10000 without --minutes)
  --minutes M       stop after M minutes
  --from N          the first case (0)
  --case SEED:N     one case, and nothing else
  --only TOPICS     products, filters, resize, colour, elementwise; several with commas
  --backends NAMES  cpu, opencl, and in the simulator simulator, mali, midgard, adreno; several with commas
                    (all that are available)
  --jobs N          threads, each with devices of its own (1)
  --simulated N     the simulator runs one case in N (4)
  --failures N      stop after N wrong cases (10)
  --limit SECONDS   time limit of a case on one backend (900)
  --list            print the cases and run none";

fn main() -> ExitCode {
    // Panics are caught, and reported with their case.
    std::panic::set_hook(Box::new(|_| ()));
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, String> {
    let Some((options, list)) = options()? else {
        println!("{HELP}");
        return Ok(true);
    };
    if list {
        for number in options.cases[0]..options.cases[1] {
            let (topic, case) = Case::draw(options.seed, number);
            if options.only.is_empty() || options.only.contains(&topic) {
                println!("{number}: {case}");
            }
        }
        return Ok(true);
    }
    let begun = Instant::now();
    let found = search(&options, &mut |failure| println!("{failure}\n"))?;
    println!("{found}, seed {}, {:.1} minutes", options.seed, begun.elapsed().as_secs_f64() / 60.0);
    Ok(found.failures.is_empty())
}

/// The options of the command line; `None` if it requests help.
fn options() -> Result<Option<(Search, bool)>, String> {
    let mut search = Search { failures: 10, ..Search::new(1, 0) };
    let (mut cases, mut minutes, mut list) = (None, None, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        match name.as_str() {
            "--help" | "-h" => return Ok(None),
            "--list" => {
                list = true;
                continue;
            }
            _ => {}
        }
        let value = arguments.next().ok_or_else(|| format!("{name} wants a value; --help lists them"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} {value}: want a number"));
        match name.as_str() {
            "--seed" => search.seed = number()?,
            "--cases" => cases = Some(number()?),
            "--minutes" => {
                let number = value.parse::<f64>().ok().filter(|minutes| (0.0..1e6).contains(minutes));
                minutes = Some(number.ok_or_else(|| format!("{name} {value}: want minutes"))?);
            }
            "--from" => search.cases[0] = number()?,
            "--case" => {
                let parts = value
                    .split_once(':')
                    .and_then(|(seed, number)| Some((seed.parse().ok()?, number.parse().ok()?)));
                let (seed, number): (u64, u64) =
                    parts.ok_or_else(|| format!("{name} {value}: want SEED:NUMBER"))?;
                (search.seed, search.cases[0], cases) = (seed, number, Some(1));
                search.backends.simulated = 1;
            }
            "--only" => search.only = chosen(&value, &Topic::ALL, Topic::name)?,
            "--backends" => {
                let name = |backend: Backend| match backend {
                    Backend::Cpu => "cpu",
                    Backend::OpenCl => "opencl",
                    Backend::Simulator => "simulator",
                    Backend::Mali => "mali",
                    Backend::Midgard => "midgard",
                    Backend::Adreno => "adreno",
                };
                let selected = chosen(&value, &Backend::ALL, name)?;
                search.backends = BackendOptions { selected, ..search.backends };
            }
            "--jobs" => search.jobs = number()?.clamp(1, 1024) as usize,
            "--simulated" => search.backends.simulated = number()?.max(1),
            "--failures" => search.failures = number()?.max(1) as usize,
            "--limit" => search.limit = Duration::from_secs(number()?.max(1)),
            _ => return Err(format!("there is no option {name}; --help lists them")),
        }
    }
    search.cases[1] = match (cases, minutes) {
        (Some(cases), _) => search.cases[0].saturating_add(cases),
        (None, Some(_)) => u64::MAX,
        (None, None) => search.cases[0].saturating_add(10_000),
    };
    search.until = minutes.map(|minutes| Instant::now() + Duration::from_secs_f64(60.0 * minutes));
    if search.jobs > 1 {
        search.backends.threads = 1;
    }
    Ok(Some((search, list)))
}

fn chosen<T: Copy>(text: &str, from: &[T], name: impl Fn(T) -> &'static str) -> Result<Vec<T>, String> {
    let names: Vec<&str> = from.iter().map(|one| name(*one)).collect();
    text.split(',')
        .map(|word| {
            let found = from.iter().find(|one| name(**one) == word);
            found.copied().ok_or_else(|| format!("there is no `{word}`; there are {}", names.join(", ")))
        })
        .collect()
}
