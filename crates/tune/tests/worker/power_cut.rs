//! A tuner that is killed at any moment loses at most the candidate that it was measuring.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

use libtest_mimic::Trial as Test;
use tripipe_tune::log::TrialSubject;
use tripipe_tune::search::SearchOptions;
use tripipe_tune::worker::Supervised;
use tripipe_tune::{Candidates, Effort, LogContents, Outcome, StrategyKind, TuningLog, search};

use super::protocol::{patient, problem};
use super::toy::{probe, worker};

pub(crate) fn trials() -> Vec<Test> {
    vec![Test::test("a power cut loses at most one candidate", || {
        a_power_cut_loses_at_most_one_candidate();
        Ok(())
    })]
}

/// Toys that take 2 to 31 ms, and one that crashes.
fn candidates() -> Candidates {
    let mut texts: Vec<String> = (2..32).map(|milliseconds| format!("takes {milliseconds}")).collect();
    texts.insert(11, "verify crash".to_owned());
    Candidates::listed(&texts, None)
}

/// What a tuner prints before it compares the fastest.
const FINALS: &str = "finals";

/// A tuner, which prints the number of candidates that are done.
pub(crate) fn tune(log: &Path) -> ExitCode {
    let mut bench = Supervised::start(|| worker(&["toy"]), patient()).unwrap();
    let mut log = TuningLog::open(log).unwrap();
    let candidates = candidates();
    let mut strategy = StrategyKind::Exhaustive.make(&candidates, 1);
    let effort = Effort { reference: false, ..Effort::default() };
    let options = SearchOptions { effort, ..SearchOptions::default() };
    let result =
        search(&mut bench, &problem(), &candidates, &mut *strategy, Some(&mut log), &options, &mut |step| {
            // After a kill, nobody reads this.
            let _ = match step.parameters {
                Some(_) => writeln!(std::io::stdout(), "{}", step.done),
                None => writeln!(std::io::stdout(), "{FINALS}"),
            };
            ControlFlow::Continue(())
        });
    result.unwrap();
    ExitCode::SUCCESS
}

fn a_power_cut_loses_at_most_one_candidate() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tune.jsonl");
    let subject = TrialSubject::here(&problem(), &probe());
    let mut random = fastrand::Rng::with_seed(5);
    let mut known: HashSet<String> = HashSet::new();
    let mut lost = 0;
    let (mut kills, mut in_finals) = (0, false);
    loop {
        let mut command = worker(&["tuner"]);
        command.arg(&path).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut tuner = command.spawn().unwrap();
        let mut lines = BufReader::new(tuner.stdout.take().unwrap()).lines();
        // Some steps, then a moment within the next one. Once a moment within the finals; the next tuner has nothing left
        // to measure.
        let steps = random.usize(1..9);
        let mut done = 0;
        for (step, line) in lines.by_ref().enumerate() {
            let line = line.unwrap();
            if line == FINALS && !in_finals {
                in_finals = true;
                std::thread::sleep(Duration::from_millis(random.u64(0..30)));
                break;
            }
            done = line.parse().unwrap_or(done);
            if step == steps && !in_finals {
                std::thread::sleep(Duration::from_micros(random.u64(0..8000)));
                break;
            }
        }
        let _ = tuner.kill();
        let ended = tuner.wait().unwrap();
        drop(lines);
        let contents = LogContents::read(&path).unwrap();
        let outcomes: HashSet<String> =
            contents.outcomes(&subject).keys().map(|one| (*one).to_owned()).collect();
        assert!(outcomes.is_superset(&known), "an outcome was lost");
        assert!(outcomes.len() >= known.len() + done, "{} of {done} new outcomes", outcomes.len());
        let crashed = usize::from(outcomes.contains("verify crash"));
        let dangerous = contents.dangerous(&subject).len() - crashed;
        assert!(dangerous <= lost + 1, "one kill cost {} candidates", dangerous - lost);
        (known, lost) = (outcomes, dangerous);
        if ended.success() {
            break;
        }
        kills += 1;
    }
    let all = candidates().all.len();
    assert!(
        kills >= 5 && known.len() + lost >= all,
        "{kills} kills, {} of {all} known, {lost} lost",
        known.len()
    );
    let contents = LogContents::read(&path).unwrap();
    let outcomes = contents.outcomes(&subject);
    let crash = outcomes.get("verify crash");
    assert!(
        crash.is_some_and(|outcome| matches!(outcome, Outcome::Crashed { .. }))
            || contents.dangerous(&subject).contains("verify crash")
    );
}
