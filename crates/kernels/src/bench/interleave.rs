//! Times candidates in turns with a reference kernel, so that a device that becomes slower or faster affects both.
//!
//! One round runs each candidate, between two blocks of the reference kernel. A candidate's time in that round is
//! divided by the reference's, interpolated between the two blocks at the moment of the candidate's run. A clock that
//! changes linearly within a round cancels; what remains is noise, which the median over the rounds suppresses. The
//! rounds end when the candidates are told apart with confidence, or when the effort is spent.

use super::{Interval, median};

/// Runs that take at least this many seconds need no run before them to fill the caches: refilling a last-level cache
/// of some megabytes takes less than a tenth of that on any GPU.
const WARM_BELOW: f64 = 5e-3;
/// Timed runs of a candidate between two blocks of the reference kernel, at most.
const CANDIDATE_BLOCK: usize = 5;
/// Timed runs of the reference kernel in one block, at most.
const REFERENCE_BLOCK: usize = 3;

/// A kernel that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// The reference kernel.
    Reference,
    /// A candidate, by number.
    Candidate(usize),
}

/// When the rounds end.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Whether a reference kernel runs in turns with the candidates.
    pub has_reference: bool,
    /// Timed runs of a candidate, at most.
    pub runs: usize,
    /// Seconds that all runs may take together, the reference kernel's included. One round is always completed.
    pub seconds: f64,
    /// Medians are known well enough if their intervals are at most this fraction of them.
    pub precision: f64,
    /// The interval of a candidate that is not here: the rounds end once the interval of the only candidate is apart
    /// from it.
    pub rival: Option<Interval>,
}

/// The times of one candidate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CandidateTimes {
    /// Seconds of each timed run.
    pub seconds: Vec<f64>,
    /// For each round, the median of its runs relative to the reference kernel; without one, in seconds.
    pub rounds: Vec<f64>,
    /// Seconds of the reference kernel in each block; empty without one.
    pub reference: Vec<f64>,
}

impl CandidateTimes {
    fn interval(&self) -> Option<Interval> {
        Interval::of_median(&self.rounds)
    }

    fn is_precise(&self, precision: f64) -> bool {
        self.interval().is_some_and(|it| it.high - it.low <= precision * median(&self.rounds))
    }
}

/// Times the candidates `0..expected.len()`; `expected` are their approximate seconds, and `run` returns the seconds of a
/// run. Returns the times of each, or why it has none. If the reference kernel fails, all candidates of that round fail:
/// one of them has broken the device.
pub fn interleave<F: Clone>(
    run: &mut dyn FnMut(Turn) -> Result<f64, F>,
    expected: &[f64],
    limits: &Limits,
) -> Vec<Result<CandidateTimes, F>> {
    let mut series = vec![Ok(CandidateTimes::default()); expected.len()];
    let mut active: Vec<usize> = (0..expected.len()).collect();
    let mut rounds = Rounds { run, expected, limits, elapsed: 0.0, reference: None };
    let mut check_at = 6;
    for round in 1_usize.. {
        if active.is_empty() {
            break;
        }
        // Each candidate is first, second, and so on, equally often.
        active.rotate_left(1);
        match rounds.next(&active) {
            Ok(results) => {
                for (index, result) in active.iter().zip(results) {
                    match (&mut series[*index], result) {
                        (Ok(series), Ok(one)) => one.add_to(series),
                        (failed, Err(failure)) => *failed = Err(failure),
                        (Err(_), Ok(_)) => {}
                    }
                }
            }
            Err(failure) => active.iter().for_each(|index| series[*index] = Err(failure.clone())),
        }
        active.retain(|index| series[*index].as_ref().is_ok_and(|series| series.seconds.len() < limits.runs));
        if rounds.elapsed >= limits.seconds {
            break;
        }
        // The more often a test is repeated, the more often it errs, so the distances between the tests grow.
        if round >= check_at {
            check_at = round + round.div_ceil(2);
            retain_undecided(&mut active, &series, limits);
        }
    }
    series
}

/// Keeps the candidates that may still be the fastest; none if that is decided, or no longer matters.
fn retain_undecided<F>(active: &mut Vec<usize>, series: &[Result<CandidateTimes, F>], limits: &Limits) {
    let interval = |index: &usize| series[*index].as_ref().ok().and_then(CandidateTimes::interval);
    let middle = |index: &usize| series[*index].as_ref().map_or(f64::INFINITY, |one| median(&one.rounds));
    if series.len() == 1 {
        let decided = |interval: Interval| limits.rival.is_some_and(|rival| interval.is_apart_from(&rival));
        active.retain(|index| !interval(index).is_some_and(decided));
    } else if let Some(leader) = (0..series.len()).min_by(|a, b| middle(a).total_cmp(&middle(b)))
        && let Some(first) = interval(&leader)
    {
        active.retain(|index| {
            *index == leader || !interval(index).is_some_and(|other| other.is_apart_from(&first))
        });
        if *active == [leader] {
            active.clear();
        }
    }
    let is_precise =
        |index: &usize| series[*index].as_ref().is_ok_and(|one| one.is_precise(limits.precision));
    if active.iter().all(is_precise) {
        active.clear();
    }
}

/// A block of the reference kernel.
#[derive(Clone, Copy)]
struct Block {
    seconds: f64,
    /// When it ran: the seconds of all runs before its middle.
    at: f64,
}

/// One candidate in one round.
struct InRound {
    seconds: Vec<f64>,
    relative: f64,
    reference: Option<f64>,
}

impl InRound {
    fn add_to(self, series: &mut CandidateTimes) {
        series.seconds.extend(self.seconds);
        series.rounds.push(self.relative);
        series.reference.extend(self.reference);
    }
}

struct Rounds<'r, F> {
    run: &'r mut dyn FnMut(Turn) -> Result<f64, F>,
    expected: &'r [f64],
    limits: &'r Limits,
    /// Seconds of all runs so far.
    elapsed: f64,
    /// The last block of the reference kernel.
    reference: Option<Block>,
}

impl<F> Rounds<'_, F> {
    fn run(&mut self, turn: Turn) -> Result<f64, F> {
        let seconds = (self.run)(turn)?;
        self.elapsed += seconds;
        Ok(seconds)
    }

    /// One round of the candidates in this order. An error is one of the reference kernel.
    fn next(&mut self, order: &[usize]) -> Result<Vec<Result<InRound, F>>, F> {
        let before = match self.reference {
            Some(block) => Some(block),
            None => self.reference_block(order)?,
        };
        let runs: Vec<_> = order.iter().map(|index| self.candidate_block(*index, before)).collect();
        let after = self.reference_block(order)?;
        self.reference = after;
        let relative = |(seconds, at): (Vec<f64>, f64)| {
            let middle = median(&seconds);
            let reference = before.zip(after).map(|(before, after)| {
                let span = after.at - before.at;
                let share = if span > 0.0 { (at - before.at) / span } else { 0.5 };
                before.seconds + share * (after.seconds - before.seconds)
            });
            InRound { seconds, relative: reference.map_or(middle, |seconds| middle / seconds), reference }
        };
        Ok(runs.into_iter().map(|runs| runs.map(relative)).collect())
    }

    /// `None` without a reference kernel.
    fn reference_block(&mut self, order: &[usize]) -> Result<Option<Block>, F> {
        if !self.limits.has_reference {
            return Ok(None);
        }
        let first = self.run(Turn::Reference)?;
        let start = self.elapsed;
        let fastest = order.iter().map(|index| self.expected[*index]).fold(f64::INFINITY, f64::min);
        let mut seconds = Vec::new();
        if first >= WARM_BELOW {
            seconds.push(first);
        }
        // A reference kernel that is shorter than the candidates is repeated: it costs little.
        let runs = block(fastest / first, REFERENCE_BLOCK);
        while seconds.len() < runs {
            seconds.push(self.run(Turn::Reference)?);
        }
        let begin = if first >= WARM_BELOW { start - first } else { start };
        Ok(Some(Block { seconds: median(&seconds), at: f64::midpoint(begin, self.elapsed) }))
    }

    /// The seconds of each timed run, and when they ran.
    fn candidate_block(&mut self, index: usize, reference: Option<Block>) -> Result<(Vec<f64>, f64), F> {
        let expected = self.expected[index];
        if expected < WARM_BELOW {
            self.run(Turn::Candidate(index))?;
        }
        let start = self.elapsed;
        let runs = match reference {
            Some(reference) => block(reference.seconds / expected, CANDIDATE_BLOCK),
            None => 1,
        };
        let mut seconds = Vec::with_capacity(runs);
        for _ in 0..runs {
            seconds.push(self.run(Turn::Candidate(index))?);
        }
        Ok((seconds, f64::midpoint(start, self.elapsed)))
    }
}

/// The runs of a kernel that another one's run takes as long as, rounded up to an odd number: the median of two runs
/// is their mean, which an outlier moves.
fn block(runs: f64, limit: usize) -> usize {
    (runs.round() as usize | 1).min(limit)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic")]

    use super::*;

    /// A device whose speed depends on the time since it started, with noise and outliers.
    struct Script {
        /// True seconds of the candidates, at speed 1; a reference kernel takes a millisecond.
        candidates: Vec<f64>,
        /// The factor of all times, by the seconds since the start.
        slowdown: fn(f64) -> f64,
        /// Largest relative deviation of a run.
        noise: f64,
        /// Share of the runs that take three times as long.
        outliers: f64,
        random: fastrand::Rng,
        now: f64,
        runs: Vec<usize>,
        /// The number of the candidate's run that fails.
        fails: Option<(usize, usize)>,
    }

    impl Script {
        fn new(candidates: &[f64]) -> Self {
            Self {
                candidates: candidates.to_vec(),
                slowdown: |_| 1.0,
                noise: 0.0,
                outliers: 0.0,
                random: fastrand::Rng::with_seed(3),
                now: 0.0,
                runs: vec![0; candidates.len()],
                fails: None,
            }
        }

        fn take(&mut self, seconds: f64) -> f64 {
            let noise = 1.0 + self.noise * (2.0 * self.random.f64() - 1.0);
            let outlier = if self.random.f64() < self.outliers { 3.0 } else { 1.0 };
            let took = seconds * noise * outlier * (self.slowdown)(self.now);
            self.now += took;
            took
        }

        fn run(&mut self, turn: Turn) -> Result<f64, &'static str> {
            let seconds = match turn {
                Turn::Reference => 1e-3,
                Turn::Candidate(index) => {
                    self.runs[index] += 1;
                    if self.fails == Some((index, self.runs[index])) {
                        return Err("lost");
                    }
                    self.candidates[index]
                }
            };
            Ok(self.take(seconds))
        }

        fn interleaved(&mut self, limits: &Limits) -> Vec<Result<CandidateTimes, &'static str>> {
            let expected = self.candidates.clone();
            interleave(&mut |turn| self.run(turn), &expected, limits)
        }
    }

    const LIMITS: Limits =
        Limits { has_reference: true, runs: 200, seconds: 10.0, precision: 0.002, rival: None };
    /// Six rounds are not enough to see the device become slower.
    const LONG: Limits = Limits { runs: 60, precision: 0.0, ..LIMITS };

    fn relative(series: &Result<CandidateTimes, &str>) -> f64 {
        median(&series.as_ref().unwrap().rounds)
    }

    /// Heat: after half a second the device is 30 % slower. Two candidates that differ by 3 % are measured one after
    /// the other, the faster one on the slower device.
    #[test]
    fn drift_of_30_percent_does_not_hide_a_difference_of_3_percent() {
        const TIMES: u64 = 100;
        for (noise, outliers) in [(0.0, 0.0), (0.02, 0.0), (0.02, 0.05), (0.02, 0.1)] {
            let (mut sum, mut ordered, mut apart) = (0.0, 0, 0);
            for seed in 0..TIMES {
                let mut script = Script::new(&[2.06e-3, 2e-3]);
                script.slowdown = |now| 1.0 + 0.3 * (now / 0.5).min(1.0);
                (script.noise, script.outliers) = (noise, outliers);
                script.random = fastrand::Rng::with_seed(seed);
                let mut measured = |index: usize| {
                    let one = [script.candidates[index]];
                    let mut run = |turn| match turn {
                        Turn::Reference => script.run(turn),
                        Turn::Candidate(_) => script.run(Turn::Candidate(index)),
                    };
                    interleave(&mut run, &one, &LONG).remove(0).unwrap()
                };
                let (slower, faster) = (measured(0), measured(1));
                assert!(median(&slower.seconds) < median(&faster.seconds), "the clock does not mislead");
                let ratio = median(&slower.rounds) / median(&faster.rounds);
                sum += ratio;
                ordered += u64::from(ratio > 1.0);
                let (slower, faster) = (slower.interval().unwrap(), faster.interval().unwrap());
                apart += u64::from(slower.low > faster.high);
            }
            let mean = sum / TIMES as f64;
            assert!((mean - 1.03).abs() < 0.001, "{mean} with noise {noise}, outliers {outliers}");
            assert_eq!(ordered, TIMES);
            assert!(apart >= TIMES * 9 / 10, "{apart} with noise {noise}, outliers {outliers}");
        }
    }

    /// A linear drift cancels to second order: ratios are right to 0.1 % when each round slows the device by 2 %.
    #[test]
    fn a_linear_drift_cancels_within_a_round() {
        let mut script = Script::new(&[1.5e-3]);
        script.slowdown = |now| 1.0 + now * 4.0;
        let found = script.interleaved(&Limits { runs: 12, ..LIMITS });
        let rounds = &found[0].as_ref().unwrap().rounds;
        assert!(rounds.iter().all(|ratio| (ratio / 1.5 - 1.0).abs() < 1e-3), "{rounds:?}");
    }

    #[test]
    fn the_leaders_are_told_apart_and_the_others_are_left_early() {
        let mut script = Script::new(&[4e-3, 2.06e-3, 2e-3, 3e-3]);
        (script.noise, script.outliers) = (0.03, 0.05);
        script.slowdown = |now| 1.0 + 0.3 * (now / 0.5).min(1.0);
        let found = script.interleaved(&LIMITS);
        let order = |index: &usize| relative(&found[*index]);
        let mut sorted = [0, 1, 2, 3];
        sorted.sort_by(|a, b| order(a).total_cmp(&order(b)));
        assert_eq!(sorted, [2, 1, 3, 0]);
        let intervals: Vec<_> = found.iter().map(|one| one.as_ref().unwrap().interval().unwrap()).collect();
        assert!(intervals[1].is_apart_from(&intervals[2]), "{intervals:?}");
        // Those that are at least 50 % slower are left soon.
        assert!(script.runs[0].max(script.runs[3]) * 2 < script.runs[2], "{:?}", script.runs);
    }

    #[test]
    fn a_candidate_that_is_clearly_slower_than_its_rival_ends_early() {
        let limits = Limits { rival: Some(Interval { low: 0.99, high: 1.01 }), ..LIMITS };
        let runs = |seconds: f64, limits: &Limits| {
            let mut script = Script::new(&[seconds]);
            script.noise = 0.02;
            let found = script.interleaved(limits);
            found[0].as_ref().unwrap().seconds.len()
        };
        let (slow, close, fast) = (runs(1.5e-3, &limits), runs(1.0e-3, &limits), runs(0.7e-3, &limits));
        assert!(slow == 6 && fast == 6 && close > 20, "{slow}, {close}, {fast}");
    }

    #[test]
    fn the_effort_is_a_limit_but_one_round_is_completed() {
        let mut script = Script::new(&[2e-3]);
        script.noise = 0.05;
        let limits = Limits { runs: 9, seconds: 1.0, precision: 0.0, ..LIMITS };
        let found = script.interleaved(&limits);
        assert_eq!(found[0].as_ref().unwrap().seconds.len(), 9);
        let mut script = Script::new(&[2.0]);
        let found = script.interleaved(&limits);
        let series = found[0].as_ref().unwrap();
        assert_eq!((series.seconds.len(), script.runs[0], series.interval()), (1, 1, None));
        let mut script = Script::new(&[2e-3]);
        let found = script.interleaved(&Limits { has_reference: false, ..limits });
        let series = found[0].as_ref().unwrap();
        assert!(series.reference.is_empty() && series.rounds == series.seconds);
    }

    #[test]
    fn a_candidate_that_fails_does_not_end_the_others() {
        let mut script = Script::new(&[2e-3, 2e-3]);
        script.fails = Some((0, 5));
        let found = script.interleaved(&Limits { runs: 8, ..LIMITS });
        assert_eq!(found[0], Err("lost"));
        assert!(found[1].as_ref().unwrap().seconds.len() >= 6, "{found:?}");
    }
}
