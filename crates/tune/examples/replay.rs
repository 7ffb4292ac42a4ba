//! Plays the strategies on recorded spaces: how soon does each come near the optimum?
//!
//! A recording is a text file: a line with the problem, a line with the device as JSON (`tripipe_device::Probe`), then
//! for each candidate its seconds (`-` for none), a tab, and its parameters. For each recording, strategy and seed this
//! prints one JSON object: the best time so far over the optimum, after each trial.
//!
//! ```text
//! cargo run --release -p tripipe-tune --example replay -- --seeds 20 data/tune/*.tsv*
//! ```
//!
//! `--learned FASTEST,RANDOM,PRIOR` plays the strategy `learned` with these options (`LearnedOptions`) too; it can be given
//! several times. `--strategies NAME,...` plays these alone.

#![allow(clippy::print_stdout, reason = "its output is for a script")]

use std::collections::HashMap;
use std::error::Error;
use std::process::Command;

use tripipe_device::Probe;
use tripipe_tune::{Candidates, Learned, LearnedOptions, Problem, Strategy, StrategyKind};

struct Recording {
    problem: Problem,
    probe: Probe,
    texts: Vec<String>,
    seconds: Vec<Option<f64>>,
}

fn read(path: &str) -> Result<Recording, Box<dyn Error>> {
    let text = if std::path::Path::new(path).extension().is_some_and(|ending| ending == "gz") {
        String::from_utf8(Command::new("gzip").args(["-dc", path]).output()?.stdout)?
    } else {
        std::fs::read_to_string(path)?
    };
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
    let (mut options, mut kinds): (Vec<LearnedOptions>, Vec<StrategyKind>) = (Vec::new(), Vec::new());
    kinds.extend(StrategyKind::ALL.into_iter().filter(|kind| *kind != StrategyKind::Exhaustive));
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse::<u32>().ok()).ok_or("want a number");
        match argument.as_str() {
            "--seeds" => seeds = number()?.into(),
            "--most" => most = number()? as usize,
            "--learned" => options.push(parse(&arguments.next().unwrap_or_default())?),
            "--strategies" => {
                let names = arguments.next().unwrap_or_default();
                kinds = names
                    .split(',')
                    .filter(|name| !name.is_empty())
                    .map(str::parse)
                    .collect::<Result<_, _>>()?;
            }
            _ => files.push(argument),
        }
    }
    for file in files {
        let Recording { problem, probe, texts, seconds } = read(&file)?;
        let candidates = Candidates::among(&texts, &problem, &probe, None);
        let times: HashMap<&str, Option<f64>> =
            texts.iter().map(String::as_str).zip(seconds.iter().copied()).collect();
        let time = |index: usize| times.get(candidates.all[index].parameters.as_str()).copied().flatten();
        let optimum = seconds.iter().flatten().copied().reduce(f64::min).ok_or("no times")?;
        let plain = kinds.iter().map(|kind| (kind.to_string(), Played::Kind(*kind)));
        let named = options.iter().map(|options| (name(*options), Played::Learned(*options)));
        for (strategy_name, played) in plain.chain(named) {
            for seed in 1..=seeds {
                let mut strategy: Box<dyn Strategy> = match played {
                    Played::Kind(kind) => kind.make(&candidates, seed),
                    Played::Learned(options) => Box::new(Learned::with(&candidates, seed, options)),
                };
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
                    "points": texts.len(), "strategy": strategy_name, "seed": seed, "best": bests,
                });
                println!("{found}");
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Played {
    Kind(StrategyKind),
    Learned(LearnedOptions),
}

fn parse(text: &str) -> Result<LearnedOptions, Box<dyn Error>> {
    let numbers = text.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    let &[fastest, random, prior] = numbers.as_slice() else {
        return Err("--learned: want three numbers, as in 6,6,1".into());
    };
    Ok(LearnedOptions { fastest, random, prior: prior > 0 })
}

fn name(options: LearnedOptions) -> String {
    let LearnedOptions { fastest, random, prior } = options;
    format!("learned {fastest},{random},{}", u8::from(prior))
}
