//! Workers whose behaviour the test chooses.

use std::hint::black_box;
use std::io::{self, Write};
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use tripipe_device::Probe;
use tripipe_tune::bench::Phase;
use tripipe_tune::worker::{Replies, Requests, Supervised, WorkerLimits, serve};
use tripipe_tune::{Bench, BenchError, Effort, Outcome, Problem, Times, Trial};

/// Parameters are what happens: `MILLISECONDS`, `PHASE crash`, `PHASE exit`, `PHASE hang`, `PHASE stop`, `PHASE eat`,
/// `lost`, `unusable`, `prints MILLISECONDS`, `takes MILLISECONDS` (really). The reference kernel of a problem with 13 rows crashes.
pub(crate) struct Toy {
    probe: Probe,
    replies: Replies,
}

pub(crate) fn probe() -> Probe {
    Probe { name: "Toy".to_owned(), driver: "1".to_owned(), ..Probe::default() }
}

impl Bench for Toy {
    fn probe(&self) -> &Probe {
        &self.probe
    }

    fn measure(&mut self, problem: &Problem, parameters: &str, effort: &Effort) -> Result<Trial, BenchError> {
        let words: Vec<&str> = parameters.split(' ').collect();
        let phases = [
            ("set-up", Phase::SetUp),
            ("reference", Phase::Reference),
            ("build", Phase::Build),
            ("verify", Phase::Verify),
            ("time", Phase::Time),
        ];
        for (name, phase) in phases {
            if phase == Phase::Reference && !effort.reference {
                continue;
            }
            self.replies.phase(phase);
            if phase == Phase::Reference && problem.to_string().contains("13x") {
                std::process::abort();
            }
            if words[0] == name {
                happen(words[1]);
            }
        }
        let times = |seconds: f64| Times {
            reference: effort.reference.then_some(1.0),
            predicted: false,
            ..Times::predicted(seconds)
        };
        let outcome = match words.as_slice() {
            ["lost"] => Outcome::DeviceLost { reason: "gone".to_owned() },
            ["unusable"] => return Err(BenchError::Device("gone".to_owned())),
            ["prints", number] => {
                print!("a driver prints\nand again tripipe-worker:{{\"trials\":[");
                io::stdout().flush().unwrap();
                Outcome::Measured(times(number.parse::<f64>().unwrap() * 1e-3))
            }
            ["takes", number] => {
                let milliseconds = number.parse().unwrap();
                sleep(Duration::from_millis(milliseconds));
                Outcome::Measured(times(milliseconds as f64 * 1e-3))
            }
            [number] => Outcome::Measured(times(number.parse::<f64>().unwrap() * 1e-3)),
            other => panic!("{other:?}"),
        };
        Ok(Trial { parameters: parameters.to_owned(), outcome })
    }
}

fn happen(what: &str) {
    match what {
        "crash" => {
            eprintln!("driver: assertion failed");
            std::process::abort()
        }
        "exit" => std::process::exit(7),
        "hang" => sleep(Duration::from_secs(3600)),
        // A stopped process does not handle signals; only one that cannot be handled ends it.
        "stop" => {
            let own = std::process::id().to_string();
            Command::new("kill").args(["-STOP", &own]).status().unwrap();
        }
        "eat" => {
            let mut eaten = Vec::new();
            loop {
                eaten.push(black_box(vec![1u8; 16 << 20]));
                sleep(Duration::from_millis(1));
            }
        }
        other => panic!("{other}"),
    }
}

/// Ends this process when its tuner is gone, even if it hangs.
pub(crate) fn end_soon() {
    sleep(Duration::from_millis(200));
    let own = std::process::id().to_string();
    let _ = Command::new("kill").args(["-KILL", &own]).status();
}

/// A worker of this executable.
pub(crate) fn worker(words: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("worker").args(words);
    command
}

/// The worker's side.
pub(crate) fn work(words: &[String]) -> ExitCode {
    let replies = Replies::new(io::stdout());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Some(("pid", file)) = words.get(1).and_then(|word| word.split_once('=')) {
        std::fs::write(file, std::process::id().to_string()).unwrap();
    }
    match words[0] {
        "toy" => {
            let requests = Requests::read(io::stdin(), end_soon).unwrap();
            serve(&mut Toy { probe: probe(), replies: replies.clone() }, &requests, &replies).unwrap();
        }
        "opencl" => super::faulty::work(&replies),
        "guard-toy" | "guard-opencl" => {
            let inner: Vec<String> =
                words.iter().map(|word| word.trim_start_matches("guard-").replace("inner-", "")).collect();
            let limits = WorkerLimits { run: Duration::from_millis(800), ..WorkerLimits::default() };
            let command = move || worker(&inner.iter().map(String::as_str).collect::<Vec<_>>());
            let phases = replies.clone();
            let mut inner =
                Supervised::start(command, limits).unwrap().on_phase(move |phase| phases.phase(phase));
            let cancel = inner.cancellation();
            let requests = Requests::read(io::stdin(), move || cancel.store(true, Ordering::SeqCst)).unwrap();
            serve(&mut inner, &requests, &replies).unwrap();
        }
        "tuner" => return super::power_cut::tune(words[1].as_ref()),
        "silent" => sleep(Duration::from_secs(3600)),
        "newer" => println!("tripipe-worker:{{\"hello\":{{\"protocol\":3,\"version\":\"9.9\"}}}}"),
        "fails" => {
            eprintln!("no such board");
            return ExitCode::from(3);
        }
        // A sound hello, then half of an answer.
        "half" => {
            let requests = Requests::read(io::stdin(), || {}).unwrap();
            let mut half = Half { probe: probe(), replies: replies.clone() };
            serve(&mut half, &requests, &replies).unwrap();
        }
        other => panic!("{other}"),
    }
    ExitCode::SUCCESS
}

/// Answers with half of a line, and ends.
struct Half {
    probe: Probe,
    replies: Replies,
}

impl Bench for Half {
    fn probe(&self) -> &Probe {
        &self.probe
    }

    fn measure(&mut self, _: &Problem, parameters: &str, _: &Effort) -> Result<Trial, BenchError> {
        self.replies.phase(Phase::Time);
        let outcome = serde_json::to_string(&Outcome::Measured(Times::predicted(1e-3))).unwrap();
        let line = format!(
            "tripipe-worker:{{\"trials\":[{{\"parameters\":\"{parameters}\",\"outcome\":{outcome}}}]}}"
        );
        print!("{}", &line[..line.len() - 3]);
        io::stdout().flush().unwrap();
        std::process::exit(0)
    }
}
