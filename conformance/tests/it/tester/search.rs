//! Runs many cases on several threads, watches for cases that never end, and shrinks cases that fail.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use tripipe_launch::locks::lock;

use super::backends::{Backend, BackendOptions, Backends};
use super::verdict::{Mismatch, judge};
use super::{Case, Topic};

/// The cases to run, and how to run them.
#[derive(Clone)]
pub struct Search {
    pub seed: u64,
    /// Numbers of the cases: the first, and the last plus one.
    pub cases: [u64; 2],
    /// When to stop, even if cases are left.
    pub until: Option<Instant>,
    /// The topics; empty for all.
    pub only: Vec<Topic>,
    pub jobs: usize,
    /// Time limit for a case on one backend.
    pub limit: Duration,
    /// The number of failing cases after which the search ends.
    pub failures: usize,
    pub backends: BackendOptions,
}

impl Search {
    /// The cases of a seed, starting with number 0.
    pub fn new(seed: u64, cases: u64) -> Self {
        Self {
            seed,
            cases: [0, cases],
            until: None,
            only: Vec::new(),
            jobs: 1,
            limit: Duration::from_secs(900),
            failures: 1,
            backends: BackendOptions::default(),
        }
    }
}

/// A case that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub number: u64,
    pub topic: Topic,
    pub case: Case,
    pub mismatch: Mismatch,
    /// The same failure in a smaller case.
    pub shrunk: Option<(Case, Mismatch)>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { seed, number, topic, case, mismatch, shrunk } = self;
        writeln!(f, "seed {seed}, case {number} ({}): {mismatch}", topic.name())?;
        writeln!(f, "  case:   {case}")?;
        if let Some((case, mismatch)) = shrunk {
            writeln!(f, "  shrunk: {case}")?;
            writeln!(f, "          {mismatch}")?;
        }
        write!(
            f,
            "  again:  cargo run --release -p tripipe-conformance --example differ -- --case {seed}:{number}"
        )
    }
}

/// The results of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    /// Cases by topic and backend, and how many of them were refused.
    pub counts: BTreeMap<(&'static str, &'static str), [u64; 2]>,
    /// The number of cases that ran.
    pub cases: u64,
    pub failures: Vec<Failure>,
    /// What was skipped, one sentence each.
    pub notes: Vec<String>,
}

impl std::fmt::Display for SearchResults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        for ((topic, backend), [run, refused]) in &self.counts {
            writeln!(f, "{topic:12} {backend:17} {run:9} run, {refused} of them refused")?;
        }
        write!(f, "{} cases, {} wrong", self.cases, self.failures.len())
    }
}

/// The current work of a worker: the case, the backend, and its start time.
type Now = Arc<Mutex<Option<(u64, Backend, Instant)>>>;

/// The state that all workers share.
struct Shared {
    search: Search,
    found: Mutex<SearchResults>,
    next: AtomicU64,
    stop: AtomicBool,
    failures: AtomicU64,
}

/// Runs the cases; reports each failure as it occurs.
///
/// # Errors
/// No backend is available.
pub fn search(search: &Search, say: &mut dyn FnMut(&Failure)) -> Result<SearchResults, String> {
    let shared = Arc::new(Shared {
        search: search.clone(),
        found: Mutex::default(),
        next: AtomicU64::new(search.cases[0]),
        stop: AtomicBool::new(false),
        failures: AtomicU64::new(0),
    });
    let (send, receive) = mpsc::channel();
    let mut nows = Vec::new();
    for _ in 0..search.jobs.max(1) {
        let (shared, send, now) = (Arc::clone(&shared), send.clone(), Now::default());
        nows.push(Arc::clone(&now));
        // Not joined: a worker whose case never ends is abandoned.
        thread::spawn(move || {
            let ended = catch_unwind(AssertUnwindSafe(|| work(&shared, &now, &send)));
            let ended = ended.unwrap_or_else(|_| {
                let doing = *lock(&now);
                Err(format!("the tester itself panicked, last at {doing:?}"))
            });
            let _ = send.send(Message::Ended(ended));
        });
    }
    drop(send);
    let mut failures = Vec::new();
    let mut left = nows.len();
    while left > 0 {
        match receive.recv_timeout(Duration::from_millis(200)) {
            Ok(Message::Failed(failure)) => {
                say(&failure);
                failures.push(*failure);
            }
            Ok(Message::Ended(ended)) => {
                left -= 1;
                ended?;
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
        for now in &nows {
            let mut doing = lock(now);
            let Some((number, backend, since)) = *doing else { continue };
            if since.elapsed() < search.limit {
                continue;
            }
            // The case is reported once, and its worker is abandoned.
            *doing = None;
            left = left.saturating_sub(1);
            shared.stop.store(true, Ordering::Relaxed);
            let (topic, case) = Case::draw(search.seed, number);
            let what = format!("did not end within {} s", search.limit.as_secs_f64());
            let mismatch = Mismatch { backends: vec![backend], what };
            let failure = Failure { seed: search.seed, number, topic, case, mismatch, shrunk: None };
            say(&failure);
            failures.push(failure);
        }
    }
    let found = lock(&shared.found).clone();
    Ok(SearchResults { failures, ..found })
}

enum Message {
    Failed(Box<Failure>),
    Ended(Result<(), String>),
}

fn work(shared: &Shared, now: &Now, send: &mpsc::Sender<Message>) -> Result<(), String> {
    let search = &shared.search;
    let (backends, notes) = Backends::open(&search.backends)?;
    let found = || lock(&shared.found);
    found().notes = notes;
    loop {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        let over = search.until.is_some_and(|until| Instant::now() >= until);
        if number >= search.cases[1] || over || shared.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (topic, case) = Case::draw(search.seed, number);
        if !search.only.is_empty() && !search.only.contains(&topic) {
            continue;
        }
        let watched = |backend: Backend, begin: bool| {
            *lock(now) = begin.then(|| (number, backend, Instant::now()));
        };
        let mut count = |backend: Backend, refused: bool| {
            let mut found = found();
            let counts = found.counts.entry((topic.name(), backend.name())).or_default();
            *counts = [counts[0] + 1, counts[1] + u64::from(refused)];
        };
        let all: Vec<Backend> =
            backends.all().filter(|backend| backends.takes(*backend, &case, number)).collect();
        let mismatch = wrong(&backends, &case, &all, &watched, &mut count);
        found().cases += 1;
        if let Some(mismatch) = mismatch {
            let shrunk = shrink(&backends, &case, &mismatch, &watched);
            let failure = Failure { seed: search.seed, number, topic, case, mismatch, shrunk };
            let _ = send.send(Message::Failed(Box::new(failure)));
            let failures = shared.failures.fetch_add(1, Ordering::Relaxed) + 1;
            if failures >= search.failures as u64 {
                shared.stop.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Runs a case on those backends and judges it.
fn wrong(
    backends: &Backends,
    case: &Case,
    selected: &[Backend],
    watched: &dyn Fn(Backend, bool),
    count: &mut dyn FnMut(Backend, bool),
) -> Option<Mismatch> {
    let Ok(expected) = catch_unwind(AssertUnwindSafe(|| case.expected())) else {
        return Some(Mismatch { backends: selected.to_vec(), what: "the reference panicked".to_owned() });
    };
    let mut outcomes = Vec::new();
    for backend in selected {
        watched(*backend, true);
        let outcome = backends.run(*backend, case);
        watched(*backend, false);
        if let Some(outcome) = outcome {
            count(*backend, matches!(outcome, super::backends::Outcome::Refused(_)));
            outcomes.push((*backend, outcome));
        }
    }
    judge(case, &expected, &outcomes)
}

/// The maximum number of smaller cases to try, and the maximum time.
const TRIES: usize = 400;
const SHRINK_TIME: Duration = Duration::from_secs(60);

/// The smallest case found that fails on the same backends; each iteration takes the first of the simpler cases that
/// fails.
fn shrink(
    backends: &Backends,
    case: &Case,
    mismatch: &Mismatch,
    watched: &dyn Fn(Backend, bool),
) -> Option<(Case, Mismatch)> {
    let begun = Instant::now();
    let alone = wrong(backends, case, &mismatch.backends, watched, &mut |_, _| ());
    // If several backends deviate from the reference in the same way, one of them is enough; if they differ from one
    // another, all are needed.
    let selected: Vec<Backend> = match alone {
        Some(_) if mismatch.backends.len() > 1 && !mismatch.what.contains("the first") => {
            vec![mismatch.backends[0]]
        }
        Some(_) => mismatch.backends.clone(),
        None => return None,
    };
    let refusal = |mismatch: &Mismatch| mismatch.what.contains("refuse");
    let mut best: Option<(Case, Mismatch)> = None;
    let mut tries = 0;
    loop {
        let current = best.as_ref().map_or(case, |(case, _)| case);
        let mut next = None;
        for smaller in current.smaller() {
            tries += 1;
            if tries > TRIES || begun.elapsed() > SHRINK_TIME {
                return best;
            }
            // A failure of another kind is not the same failure.
            let found = wrong(backends, &smaller, &selected, watched, &mut |_, _| ());
            if let Some(found) = found.filter(|found| refusal(found) == refusal(mismatch)) {
                next = Some((smaller, found));
                break;
            }
        }
        match next {
            Some(next) => best = Some(next),
            None => return best,
        }
    }
}
