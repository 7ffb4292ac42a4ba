use tripipe_device::Probe;

use super::*;
use crate::{StrategyKind, Times};

/// Times by the number after `tile `: `tile 7x1` takes 7 ms. Multiples of 10 crash, multiples of 7 are wrong.
struct Toy {
    probe: Probe,
    measured: Vec<String>,
    fastest: Vec<Option<f64>>,
    predicted: bool,
}

impl Toy {
    fn new() -> Self {
        let probe = Probe { name: "Toy".to_owned(), driver: "1".to_owned(), ..Probe::default() };
        Self { probe, measured: Vec::new(), fastest: Vec::new(), predicted: false }
    }
}

impl Bench for Toy {
    fn probe(&self) -> &Probe {
        &self.probe
    }

    fn measure(&mut self, _: &Problem, parameters: &str, effort: &Effort) -> Result<Trial, BenchError> {
        self.measured.push(parameters.to_owned());
        self.fastest.push(effort.fastest);
        let number: u32 = parameters[5..].split('x').next().unwrap().parse().unwrap();
        let outcome = match number {
            99 => return Err(BenchError::Device("unplugged".to_owned())),
            _ if number.is_multiple_of(10) => Outcome::Crashed { reason: "signal 11".to_owned() },
            _ if number.is_multiple_of(7) => Outcome::Wrong { reason: "C[0]".to_owned() },
            _ => {
                let times = Times::predicted(f64::from(number) * 1e-3);
                Outcome::Measured(Times { predicted: self.predicted, ..times })
            }
        };
        Ok(Trial { parameters: parameters.to_owned(), outcome })
    }
}

fn candidates(numbers: &[u32]) -> Candidates {
    Candidates::listed(&numbers.iter().map(|number| format!("tile {number}x1")).collect::<Vec<_>>(), None)
}

fn problem() -> Problem {
    "gemm f32 8x8x8".parse().unwrap()
}

fn run(
    toy: &mut Toy,
    numbers: &[u32],
    log: Option<&mut TuningLog>,
    budget: Budget,
    watch: &mut SearchWatch<'_>,
) -> Result<SearchResult, SearchError> {
    let candidates = candidates(numbers);
    let mut strategy = StrategyKind::Exhaustive.make(&candidates, 1);
    let options = SearchOptions { budget, finalists: 2, ..SearchOptions::default() };
    search(toy, &problem(), &candidates, &mut *strategy, log, &options, watch)
}

fn on(_: &SearchProgress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn the_fastest_comes_first_and_finalists_are_compared_again() {
    let mut toy = Toy::new();
    let found = run(&mut toy, &[5, 10, 3, 7, 4], None, Budget::default(), &mut on).unwrap();
    let order: Vec<&str> = found.trials.iter().map(|trial| trial.parameters.as_str()).collect();
    assert_eq!(order[..3], ["tile 3x1", "tile 4x1", "tile 5x1"]);
    assert_eq!((found.stopped, found.left), (Stopped::Complete, 0));
    assert_eq!(found.fastest().map(|(_, seconds)| seconds), Some(3e-3));
    assert_eq!(toy.measured[5..], ["tile 3x1", "tile 4x1"]);
    // Predictions have no spread, so there is nothing to compare.
    let mut toy = Toy { predicted: true, ..Toy::new() };
    run(&mut toy, &[5, 3], None, Budget::default(), &mut on).unwrap();
    assert_eq!(toy.measured.len(), 2);
}

#[test]
fn slow_candidates_are_dropped_unless_they_are_wanted() {
    for (drop_slow, fastest) in [(true, [None, Some(5e-3), Some(4e-3)]), (false, [None; 3])] {
        let mut toy = Toy { predicted: true, ..Toy::new() };
        let candidates = candidates(&[5, 4, 3]);
        let mut strategy = StrategyKind::Exhaustive.make(&candidates, 1);
        let options = SearchOptions { drop_slow, ..SearchOptions::default() };
        search(&mut toy, &problem(), &candidates, &mut *strategy, None, &options, &mut on).unwrap();
        assert_eq!(toy.fastest, fastest);
    }
}

#[test]
fn budgets_and_interruptions_end_it_with_what_it_has() {
    let count = Budget { candidates: Some(2), ..Budget::default() };
    let found = run(&mut Toy::new(), &[5, 4, 3], None, count, &mut on).unwrap();
    assert_eq!((found.stopped, found.trials.len(), found.left), (Stopped::Count, 2, 1));
    let none = Budget { time: Some(Duration::ZERO), ..Budget::default() };
    let found = run(&mut Toy::new(), &[5, 4, 3], None, none, &mut on).unwrap();
    assert_eq!((found.stopped, found.trials.len()), (Stopped::Time, 1));
    let mut watch = |progress: &SearchProgress<'_>| {
        assert_eq!(progress.of, 3);
        if progress.done == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let found = run(&mut Toy::new(), &[5, 4, 3], None, Budget::default(), &mut watch).unwrap();
    assert_eq!((found.stopped, found.trials.len()), (Stopped::Interrupted, 1));
}

#[test]
fn a_search_continues_where_the_log_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let mut log = TuningLog::open(&path).unwrap();
    let two = Budget { candidates: Some(3), ..Budget::default() };
    run(&mut Toy::new(), &[5, 10, 3, 7, 4], Some(&mut log), two, &mut on).unwrap();
    let mut toy = Toy::new();
    let found = run(&mut toy, &[5, 10, 3, 7, 4], Some(&mut log), Budget::default(), &mut on).unwrap();
    assert_eq!(toy.measured, ["tile 7x1", "tile 4x1", "tile 3x1", "tile 4x1"]);
    assert_eq!((found.reused, found.dangerous, found.stopped), (2, 1, Stopped::Complete));
    assert_eq!(found.fastest().map(|(_, seconds)| seconds), Some(3e-3));
    // With another driver, nothing is known: neither times nor dangers.
    let mut toy = Toy::new();
    toy.probe.driver = "2".to_owned();
    let found = run(&mut toy, &[5, 10], Some(&mut log), Budget::default(), &mut on).unwrap();
    assert_eq!((found.reused, found.dangerous, toy.measured.len()), (0, 0, 2));
}

#[test]
fn errors_keep_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let mut log = TuningLog::open(&path).unwrap();
    let error = run(&mut Toy::new(), &[5, 99, 3], Some(&mut log), Budget::default(), &mut on);
    assert!(matches!(error, Err(SearchError::Bench(BenchError::Device(_)))), "{error:?}");
    // Two lines of the first candidate, two of the one that was given up.
    assert_eq!(log.contents().entries.len(), 4);
    let error = run(&mut Toy::new(), &[], None, Budget::default(), &mut on);
    assert!(matches!(error, Err(SearchError::Empty { .. })), "{error:?}");
}

#[test]
fn a_device_that_fails_all_candidates_ends_the_search() {
    let all: Vec<u32> = (1..50).map(|number| 10 * number).collect();
    let found = run(&mut Toy::new(), &all, None, Budget::default(), &mut on).unwrap();
    assert_eq!((found.stopped, found.trials.len()), (Stopped::Dangerous, DANGERS));
}
