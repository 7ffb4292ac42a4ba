//! Searches with benches that drift and fail.

use std::ops::ControlFlow;

use tripipe_device::Probe;
use tripipe_tune::log::TrialSubject;
use tripipe_tune::search::SearchOptions;
use tripipe_tune::{
    Bench, BenchError, Candidates, Effort, LogContents, Outcome, Problem, StrategyKind, Times, Trial,
    TuningLog, search,
};

/// The device becomes 10 % slower with every measurement. Parameters are their true times.
struct Hot {
    probe: Probe,
    slowdown: f64,
    fails: Option<&'static str>,
}

impl Bench for Hot {
    fn probe(&self) -> &Probe {
        &self.probe
    }

    fn measure(&mut self, _: &Problem, parameters: &str, _: &Effort) -> Result<Trial, BenchError> {
        if self.fails == Some(parameters) {
            return Err(BenchError::Device("unplugged".to_owned()));
        }
        self.slowdown *= 1.1;
        let truth: f64 = parameters.parse().unwrap();
        let seconds = truth * self.slowdown;
        let outcome = Outcome::Measured(Times {
            seconds: vec![seconds],
            median: seconds,
            interval: [seconds; 2],
            best: seconds,
            reference: Some(2.0 * self.slowdown),
            relative: Some(truth / 2.0),
            relative_interval: Some([truth / 2.0; 2]),
            cpu_cores: None,
            predicted: false,
        });
        Ok(Trial { parameters: parameters.to_owned(), outcome })
    }
}

fn hot() -> Hot {
    Hot { probe: Probe::default(), slowdown: 1.0, fails: None }
}

fn problem() -> Problem {
    "gemm f32 4x4x4".parse().unwrap()
}

/// By the clock, the first candidate is the fastest.
#[test]
fn times_are_compared_relative_to_the_reference_kernel() {
    let texts = ["1.04", "1.03", "1.02", "1.01", "1", "1.05"].map(str::to_owned);
    let candidates = Candidates::listed(&texts, None);
    let mut strategy = StrategyKind::Exhaustive.make(&candidates, 1);
    let options = SearchOptions { finalists: 2, ..SearchOptions::default() };
    let found = search(&mut hot(), &problem(), &candidates, &mut *strategy, None, &options, &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    let order: Vec<&str> = found.trials.iter().map(|trial| trial.parameters.as_str()).collect();
    assert_eq!(order, ["1", "1.01", "1.02", "1.03", "1.04", "1.05"]);
}

/// A candidate is not blamed for a device that is gone.
#[test]
fn a_trial_that_was_given_up_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let candidates = Candidates::listed(&["3", "2", "1"].map(str::to_owned), None);
    let mut bench = hot();
    let subject = TrialSubject::here(&problem(), &bench.probe);
    let tune = |bench: &mut Hot| {
        let mut log = TuningLog::open(&path).unwrap();
        let mut strategy = StrategyKind::Exhaustive.make(&candidates, 1);
        let options = SearchOptions::default();
        search(bench, &problem(), &candidates, &mut *strategy, Some(&mut log), &options, &mut |_| {
            ControlFlow::Continue(())
        })
    };
    bench.fails = Some("2");
    assert!(tune(&mut bench).is_err());
    let contents = LogContents::read(&path).unwrap();
    assert!(contents.dangerous(&subject).is_empty(), "{:?}", contents.dangerous(&subject));
    assert_eq!(contents.outcomes(&subject).len(), 1);
    bench.fails = None;
    let found = tune(&mut bench).unwrap();
    assert_eq!((found.trials.len(), found.reused, found.dangerous), (3, 1, 0));
}
