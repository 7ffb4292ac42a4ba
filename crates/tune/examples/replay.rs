//! Plays the strategies on recorded spaces: how soon does each come near the optimum?
//!
//! A recording is a text file: a line with the problem, a line with the device as JSON (`tripipe_device::Probe`), then
//! for each candidate its seconds (`-` for none), a tab, and its parameters. For each recording, strategy and seed this
//! prints one JSON object: the best time so far over the optimum, after each trial.
//!
//! ```text
//! cargo run --release -p tripipe-tune --example replay -- --seeds 20 data/tune/*.tsv
//! ```

#![allow(clippy::print_stdout, reason = "its output is for a script")]

use std::error::Error;

use tripipe_device::Probe;
use tripipe_tune::{Candidates, Problem, StrategyKind};

struct Recording {
    problem: Problem,
    probe: Probe,
    texts: Vec<String>,
    seconds: Vec<Option<f64>>,
}

fn read(path: &str) -> Result<Recording, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let mut lines = text.lines();
    let problem = lines.next().ok_or("no problem")?.parse()?;
    let probe = serde_json::from_str(lines.next().ok_or("no device")?)?;
    let (mut texts, mut seconds) = (Vec::new(), Vec::new());
    for line in lines {
        let (time, parameters) = line.split_once('\t').ok_or("a line without a tab")?;
        texts.push(parameters.to_owned());
        seconds.push(time.parse().ok());
    }
    Ok(Recording { problem, probe, texts, seconds })
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut seeds, mut most) = (10_u64, 200_usize);
    let mut files = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse::<u32>().ok()).ok_or("want a number");
        match argument.as_str() {
            "--seeds" => seeds = number()?.into(),
            "--most" => most = number()? as usize,
            _ => files.push(argument),
        }
    }
    for file in files {
        let Recording { problem, probe, texts, seconds } = read(&file)?;
        let candidates = Candidates::among(&texts, &problem, &probe, None);
        let time = |index: usize| {
            let own = &candidates.all[index].parameters;
            texts.iter().position(|text| text == own).and_then(|at| seconds[at])
        };
        let optimum = seconds.iter().flatten().copied().reduce(f64::min).ok_or("no times")?;
        for kind in StrategyKind::ALL.into_iter().filter(|kind| *kind != StrategyKind::Exhaustive) {
            for seed in 1..=seeds {
                let mut strategy = kind.make(&candidates, seed);
                let (mut best, mut bests) = (f64::INFINITY, Vec::new());
                while bests.len() < most
                    && let Some(index) = strategy.propose()
                {
                    let seconds = time(index);
                    strategy.observe(index, seconds);
                    best = best.min(seconds.unwrap_or(f64::INFINITY));
                    bests.push((best.is_finite()).then(|| best / optimum));
                }
                let found = serde_json::json!({
                    "recording": file, "problem": problem.to_string(), "device": probe.name,
                    "points": texts.len(), "strategy": kind.to_string(), "seed": seed, "best": bests,
                });
                println!("{found}");
            }
        }
    }
    Ok(())
}
