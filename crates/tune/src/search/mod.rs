//! A search: a strategy proposes, a bench measures, a log remembers.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::log::{LogError, TrialSubject, TuningLog};
use crate::{Bench, BenchError, Candidates, Effort, Outcome, Problem, Strategy, Times, Trial};

/// The share of a time limit after which the fastest are compared in turns.
const SEARCHING: f64 = 0.8;
/// The search ends after this many dangerous outcomes in a row: the device is to blame, not the candidates.
const DANGERS: usize = 8;

/// When a search ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    /// Time for all of it; `None` for no limit. A candidate that has started is completed.
    pub time: Option<Duration>,
    /// Number of candidates to try; `None` for no limit.
    pub candidates: Option<usize>,
}

/// How a search proceeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchOptions {
    /// When it ends.
    pub budget: Budget,
    /// How each candidate is measured.
    pub effort: Effort,
    /// Number of candidates that are compared in turns at the end.
    pub finalists: usize,
    /// Whether times that the log already has are used again.
    pub reuse: bool,
    /// Whether a candidate is dropped if its first run takes much longer than the fastest so far ([`Outcome::Dropped`]).
    pub drop_slow: bool,
}

impl Default for SearchOptions {
    /// No limit, 6 finalists; times of the log are used; slow candidates are dropped.
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            effort: Effort::default(),
            finalists: 6,
            reuse: true,
            drop_slow: true,
        }
    }
}

/// What a search does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchProgress<'s> {
    /// Candidates tried so far.
    pub done: usize,
    /// Candidates to try, at most.
    pub of: usize,
    /// What is tried; `None` when the fastest are compared.
    pub parameters: Option<&'s str>,
    /// The fastest time so far.
    pub fastest: Option<f64>,
    /// The time left until the search ends, at most, by its limits and the time that candidates took so far.
    pub left: Option<Duration>,
    /// The improvement that the strategy expects, as a fraction.
    pub expected_improvement: Option<f64>,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Every candidate was tried.
    Complete,
    /// The strategy expects little improvement.
    Converged,
    /// The time is over.
    Time,
    /// The number of candidates was tried.
    Count,
    /// It was interrupted.
    Interrupted,
    /// Many candidates in a row crashed, hung or lost the device.
    Dangerous,
}

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// What was tried, or known from the log: the fastest first, those without a time last.
    pub trials: Vec<Trial>,
    /// How many of them are known from the log.
    pub reused: usize,
    /// Candidates that were left out: dangerous on this driver.
    pub dangerous: usize,
    /// Candidates that were not tried.
    pub left: usize,
    /// Why it ended.
    pub stopped: Stopped,
}

impl SearchResult {
    /// The fastest, and its time.
    pub fn fastest(&self) -> Option<(&Trial, f64)> {
        let first = self.trials.first()?;
        Some((first, first.outcome.seconds()?))
    }
}

/// Why a search could not go on. The log has everything up to then.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SearchError {
    /// There is no candidate.
    #[error("{problem}: the device supports none of {combinations} combinations of parameters: {reason}")]
    Empty {
        /// The problem.
        problem: String,
        /// Why the simplest ones are not supported.
        reason: String,
        /// The size of the space before the check.
        combinations: u64,
    },
    /// Nothing can be measured.
    #[error(transparent)]
    Bench(#[from] BenchError),
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Called before each step; a break ends the search with what it has.
pub type SearchWatch<'w> = dyn FnMut(&SearchProgress<'_>) -> ControlFlow<()> + 'w;

/// Searches for the fastest candidate of a problem. Candidates that are dangerous on this driver, by the log, are left
/// out. The fastest are compared in turns at the end, unless times are predicted.
///
/// # Errors
/// No candidates; nothing can be measured; the log cannot be written.
pub fn search(
    bench: &mut dyn Bench,
    problem: &Problem,
    candidates: &Candidates,
    strategy: &mut dyn Strategy,
    log: Option<&mut TuningLog>,
    options: &SearchOptions,
    watch: &mut SearchWatch<'_>,
) -> Result<SearchResult, SearchError> {
    if candidates.all.is_empty() {
        let combinations = candidates.size.combinations;
        let reason = candidates.why_none.clone().unwrap_or_else(|| "nothing to try".to_owned());
        return Err(SearchError::Empty { problem: problem.to_string(), reason, combinations });
    }
    let subject = TrialSubject::here(problem, bench.probe());
    let mut search = Search {
        bench,
        problem,
        candidates,
        log,
        subject,
        options,
        began: Instant::now(),
        trials: HashMap::new(),
        order: Vec::new(),
        measured: 0,
        reference: None,
    };
    let (reused, dangerous) = search.remember(strategy);
    let mut stopped = search.run(strategy, watch)?;
    if stopped == Stopped::Converged && search.trials.len() + dangerous == candidates.all.len() {
        stopped = Stopped::Complete;
    }
    if !matches!(stopped, Stopped::Interrupted | Stopped::Dangerous) && search.finals(watch)?.is_break() {
        stopped = Stopped::Interrupted;
    }
    let mut trials: Vec<Trial> =
        search.order.iter().filter_map(|index| search.trials.get(index)).cloned().collect();
    trials.sort_by(|a, b| {
        let at = |times: &Times| times.at(search.reference);
        let seconds = |trial: &Trial| trial.outcome.times().map_or(f64::INFINITY, at);
        seconds(a).total_cmp(&seconds(b))
    });
    let left = candidates.all.len() - trials.len() - dangerous;
    Ok(SearchResult { trials, reused, dangerous, left, stopped })
}

struct Search<'s> {
    bench: &'s mut dyn Bench,
    problem: &'s Problem,
    candidates: &'s Candidates,
    log: Option<&'s mut TuningLog>,
    subject: TrialSubject,
    options: &'s SearchOptions,
    began: Instant,
    /// By the candidate's index.
    trials: HashMap<usize, Trial>,
    /// Indices in the order of their trials.
    order: Vec<usize>,
    /// Trials of this search.
    measured: usize,
    /// Seconds of the reference kernel, for which times are compared ([`Times::at`]).
    reference: Option<f64>,
}

impl Search<'_> {
    /// Tells the strategy what the log knows. Returns how many times are used again, and how many candidates are left
    /// out as dangerous.
    fn remember(&mut self, strategy: &mut dyn Strategy) -> (usize, usize) {
        let Some(log) = &self.log else { return (0, 0) };
        let contents = log.contents();
        let known = contents.outcomes(&self.subject);
        let avoided = contents.dangerous(&self.subject);
        self.reference = known.values().find_map(|outcome| outcome.times()?.reference);
        let mut dangerous = 0;
        for (index, candidate) in self.candidates.all.iter().enumerate() {
            let parameters = candidate.parameters.as_str();
            if avoided.contains(parameters) {
                dangerous += 1;
                strategy.observe(index, None);
            } else if let Some(outcome) = known.get(parameters).filter(|_| self.options.reuse) {
                strategy.observe(index, outcome.times().map(|times| times.at(self.reference)));
                let trial = Trial { parameters: parameters.to_owned(), outcome: (*outcome).clone() };
                self.trials.insert(index, trial);
                self.order.push(index);
            }
        }
        (self.order.len(), dangerous)
    }

    fn fastest(&self) -> Option<f64> {
        let times = self.trials.values().filter_map(|trial| trial.outcome.times());
        times.map(|times| times.at(self.reference)).reduce(f64::min)
    }

    /// The interval of the fastest relative to the reference kernel.
    fn rival(&self) -> Option<[f64; 2]> {
        let times = self.trials.values().filter_map(|trial| trial.outcome.times());
        let at = |times: &Times| times.at(self.reference);
        times.min_by(|a, b| at(a).total_cmp(&at(b)))?.relative_interval
    }

    /// The time left, by the limits.
    fn left(&self, share: f64) -> Option<Duration> {
        self.options.budget.time.map(|time| time.mul_f64(share).saturating_sub(self.began.elapsed()))
    }

    /// As [`SearchProgress::left`].
    fn expected_left(&self) -> Option<Duration> {
        let count = self.options.budget.candidates.map(|most| most.saturating_sub(self.measured));
        let rest = self.candidates.all.len().saturating_sub(self.order.len());
        let count = count.map_or(rest, |count| count.min(rest));
        let by_count =
            (self.measured > 0).then(|| self.began.elapsed().mul_f64(count as f64 / self.measured as f64));
        match (self.left(1.0), by_count) {
            (Some(left), Some(other)) => Some(left.min(other)),
            (left, other) => left.or(other),
        }
    }

    fn progress<'p>(&self, parameters: Option<&'p str>, expected: Option<f64>) -> SearchProgress<'p> {
        let of = self.candidates.all.len().min(self.options.budget.candidates.unwrap_or(usize::MAX));
        SearchProgress {
            done: self.measured,
            of,
            parameters,
            fastest: self.fastest(),
            left: self.expected_left(),
            expected_improvement: expected,
        }
    }

    fn run(
        &mut self,
        strategy: &mut dyn Strategy,
        watch: &mut SearchWatch<'_>,
    ) -> Result<Stopped, SearchError> {
        let candidates = self.candidates;
        let mut dangers = 0;
        loop {
            if self.options.budget.candidates.is_some_and(|most| self.measured >= most) {
                return Ok(Stopped::Count);
            }
            // The first candidate is always tried.
            if self.measured > 0 && self.left(SEARCHING) == Some(Duration::ZERO) {
                return Ok(Stopped::Time);
            }
            let Some(index) = strategy.propose() else { return Ok(Stopped::Converged) };
            let candidate = &candidates.all[index];
            let progress = self.progress(Some(&candidate.parameters), strategy.expected_improvement());
            if watch(&progress).is_break() {
                return Ok(Stopped::Interrupted);
            }
            let fastest = self.fastest().filter(|_| self.options.drop_slow);
            let effort = Effort { fastest, rival: self.rival(), ..self.options.effort };
            if let Some(log) = &mut self.log {
                log.start(&self.subject, &candidate.parameters)?;
            }
            let measured = self.bench.measure(self.problem, &candidate.parameters, &effort);
            if let (Err(_), Some(log)) = (&measured, &mut self.log) {
                log.abandon(&self.subject, &candidate.parameters)?;
            }
            let trial = measured?;
            if let Some(log) = &mut self.log {
                log.end(&self.subject, &trial, candidate.predicted)?;
            }
            let times = trial.outcome.times();
            self.reference = self.reference.or_else(|| times?.reference);
            strategy.observe(index, times.map(|times| times.at(self.reference)));
            dangers = if trial.outcome.is_dangerous() { dangers + 1 } else { 0 };
            self.trials.insert(index, trial);
            self.order.push(index);
            self.measured += 1;
            if dangers >= DANGERS {
                return Ok(Stopped::Dangerous);
            }
        }
    }

    /// Compares the fastest in turns.
    fn finals(&mut self, watch: &mut SearchWatch<'_>) -> Result<ControlFlow<()>, SearchError> {
        let mut timed: Vec<(usize, f64)> = self
            .order
            .iter()
            .filter_map(|index| match &self.trials.get(index)?.outcome {
                Outcome::Measured(times) if !times.predicted => Some((*index, times.at(self.reference))),
                _ => None,
            })
            .collect();
        timed.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        timed.truncate(self.options.finalists);
        if timed.len() < 2 || self.measured == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        if watch(&self.progress(None, None)).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let finalists: Vec<String> =
            timed.iter().map(|(index, _)| self.candidates.all[*index].parameters.clone()).collect();
        let mut effort = Effort { fastest: None, rival: None, ..self.options.effort };
        if let Some(left) = self.left(1.0) {
            effort.seconds = effort.seconds.min(left.as_secs_f64() / finalists.len() as f64);
        }
        // No line reports that they start: each has run before. If the machine stops now, none of them is to blame.
        let trials = self.bench.compare(self.problem, &finalists, &effort)?;
        for ((index, _), trial) in timed.into_iter().zip(trials) {
            if let Some(log) = &mut self.log {
                log.end(&self.subject, &trial, self.candidates.all[index].predicted)?;
            }
            self.trials.insert(index, trial);
        }
        // The others were measured alone, at other moments: one that was lucky does not beat the finalists.
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests;
