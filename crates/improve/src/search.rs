//! The search for a faster kernel.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use tripipe_launch::NdRange;

use crate::one_source::check_source;
use crate::price::score;
use crate::{
    Allowed, Condition, CounterExample, HostChange, Improvement, OpenFiles, Price, PriceError, Pricing,
    Proposal, Refusal, Refused, Required, Rewrite, SearchError, Subject, Target, Verified, Verifier,
    VerifyError,
};

/// Options of a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// What rewrites may change beyond what every result keeps.
    pub allowed: Allowed,
    /// The search ends at this time, with what is proved by then.
    pub limit: Duration,
    /// The most rewrites one after the other.
    pub depth: usize,
    /// The most kernels of a round of prices that are rewritten further.
    pub width: usize,
    /// The least gain that continues the search, and that a result has: 1.03 is 3 %.
    pub gain: f64,
    /// How much slower than the kernel it is made of a kernel may be that is rewritten further: a rewrite that gains
    /// nothing may allow another one that does.
    pub slack: f64,
    /// The most instructions that a work-group may run while it is timed.
    pub limit_steps: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            allowed: Allowed::default(),
            limit: Duration::from_secs(60),
            depth: 8,
            width: 2,
            gain: 1.03,
            slack: 1.05,
            limit_steps: 10_000_000,
        }
    }
}

/// Kernels that are priced before some of them are chosen to be rewritten further.
const ROUND: usize = 12;

/// How much later the next variant of a rewrite is priced than the one before it, as a share of the kernel's time: a
/// kernel that is half as fast again is rewritten further before the fifth variant of its parent has a price.
const LATER: f64 = 0.1;

/// Variants of one rewrite of one kernel that are rewritten further, unless another is faster than all of them.
const VARIANTS: usize = 2;

/// How much slower than the fastest a kernel may be that is rewritten further.
const NEAR: f64 = 1.5;

/// Rounds without a gain after which the search ends; one more while the fastest kernel has proposals left.
const PATIENCE: usize = 2;

/// The share of the time limit in which the original runs on launches to compare with.
const REFERENCE: f64 = 0.25;

/// The share of the time of the search after which all launches of the original and of the best are priced next.
const SWEEP: f64 = 0.6;

/// Kernels that are priced again beside the best in the end.
pub(crate) const RIVALS: usize = 4;

/// The most of the time limit in which the result is compared with other kernels, as a share.
const COMPARING: f64 = 0.1;

/// The share of the time limit after which no proof begins.
const PROVING: f64 = 0.9;

/// Steps of warps that the prices of a search play.
const STEPS: u64 = 200_000;

/// How many times as long as a price of the search one of the result takes at most, which plays the usual number of
/// steps.
const WHOLE_PRICE: u32 = 5;

/// What a search does.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Progress<'p> {
    /// It runs the original to have something to compare with.
    Reference,
    /// It prices rewrites.
    Pricing {
        /// Rewrites that were applied before.
        depth: usize,
        /// The rewrite.
        title: &'p str,
        /// Kernels that were priced.
        tried: usize,
        /// The least time so far as a multiple of the original's.
        best: f64,
    },
    /// It verifies a rewrite.
    Proving {
        /// The rewrite.
        title: &'p str,
    },
}

/// A kernel of the search.
#[derive(Clone)]
pub(crate) struct State {
    /// The kernel that it was made of; `None` for the original.
    pub(crate) parent: Option<usize>,
    pub(crate) subject: Subject,
    pub(crate) steps: Vec<Applied>,
    pub(crate) conditions: Vec<Required>,
    pub(crate) host: Vec<HostChange>,
    pub(crate) relative_error: f64,
    /// The time as a multiple of the original's, on the target where that is the largest.
    pub(crate) score: f64,
}

/// A rewrite that was applied, and the kernel after it.
#[derive(Clone)]
pub(crate) struct Applied {
    pub(crate) proposal: Proposal,
    pub(crate) subject: Subject,
    pub(crate) verified: Verified,
    /// How many host changes and conditions there are after it.
    pub(crate) host: usize,
    pub(crate) conditions: usize,
    pub(crate) relative_error: f64,
    pub(crate) score: f64,
}

/// A proposal that has no price yet.
struct Untried {
    /// The index of the kernel that it is for.
    parent: usize,
    proposal: Proposal,
    subject: Subject,
    /// The least is priced first.
    rank: f64,
}

/// A rewrite that was priced.
#[derive(Clone)]
pub(crate) struct Candidate {
    /// The index of the kernel that it was made of.
    pub(crate) parent: usize,
    pub(crate) proposal: Proposal,
    pub(crate) subject: Subject,
    pub(crate) score: f64,
}

/// Rewrites a kernel for the targets together: the fastest is the one whose largest time, as a multiple of the
/// original's, is the smallest; of those that are about alike, the one that gains more on the other targets. A step is part
/// of the result only if it is proved.
///
/// # Errors
/// The kernel cannot be priced or run.
pub fn search(
    original: &Subject,
    targets: &[Target],
    rewrites: &[Rewrite],
    files: &dyn OpenFiles,
    options: &Options,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Improvement, SearchError> {
    let start = Instant::now();
    check_source(original, targets)?;
    let quick = Pricing::new(targets, files, Some(STEPS), options.limit_steps);
    let pricing = Instant::now();
    let first = all_prices(quick.price(original), targets);
    let mut price_time = WHOLE_PRICE * pricing.elapsed();
    let whole = Pricing::new(targets, files, None, options.limit_steps);
    if price_time < options.limit.mul_f64(REFERENCE) {
        // The result needs it, and it tells what its other prices take.
        let pricing = Instant::now();
        whole.price(original);
        price_time = pricing.elapsed();
    }
    // A kernel without a time that took that long to find out does not end.
    let first = match first {
        Err((gpu, error)) if pricing.elapsed() >= options.limit.mul_f64(REFERENCE) => {
            return Err(SearchError::Price { gpu, error });
        }
        first => first,
    };
    progress(Progress::Reference);
    let verifier = Verifier::within(original, targets, files, options.limit.mul_f64(REFERENCE));
    let (first, verifier) = match (first, verifier) {
        // A kernel that is wrong may have no time for that reason.
        (_, Err(error @ VerifyError::Original { .. })) => return Err(error.into()),
        (Err((gpu, error)), _) => return Err(SearchError::Price { gpu, error }),
        (Ok(first), verifier) => (first, verifier?),
    };
    let proving = start + options.limit.mul_f64(PROVING);
    let last = start + options.limit;
    let search =
        Search { targets, rewrites, options, proving, last, price_time, quick, whole, verifier, first };
    search.run(original, progress)
}

pub(crate) struct Search<'s> {
    pub(crate) targets: &'s [Target],
    pub(crate) rewrites: &'s [Rewrite],
    pub(crate) options: &'s Options,
    /// When the last proof of a rewrite begins.
    proving: Instant,
    /// When everything should have ended.
    pub(crate) last: Instant,
    /// The time that the original's price with the usual number of steps takes, on all targets.
    price_time: Duration,
    pub(crate) quick: Pricing<'s>,
    /// With the usual number of steps.
    pub(crate) whole: Pricing<'s>,
    pub(crate) verifier: Verifier<'s>,
    pub(crate) first: Vec<Price>,
}

/// The conditions of a proposal for a kernel.
fn requirements<'p>(parent: &State, proposal: &'p Proposal) -> impl Iterator<Item = Required> + use<'p> {
    let after = parent.host.len();
    proposal.conditions.iter().map(move |condition| Required { condition: condition.clone(), after })
}

/// The prices on all targets, or the first GPU without one, and why.
pub(crate) fn all_prices(
    prices: Vec<Result<Price, PriceError>>,
    targets: &[Target],
) -> Result<Vec<Price>, (String, PriceError)> {
    let named = prices.into_iter().zip(targets);
    named.map(|(price, target)| price.map_err(|error| (target.gpu.name().to_owned(), error))).collect()
}

/// The time for some tasks of the same length on all threads.
fn together(tasks: usize, each: Duration) -> Duration {
    each * tasks.div_ceil(rayon::current_num_threads().max(1)) as u32
}

impl Search<'_> {
    /// The time that the prices of a result with `steps` steps take.
    pub(crate) fn time_of_prices(&self, steps: usize) -> Duration {
        // That of the original is of all targets at once.
        together(steps + 1, self.price_time)
    }

    /// The time that the proofs of `steps` steps on the given launch take.
    pub(crate) fn time_of_proofs(&self, steps: usize) -> Duration {
        together(steps, self.verifier.time_of_given())
    }

    /// Whether the time that is left is needed for the result.
    fn is_over(&self, best: &State) -> bool {
        let steps = best.steps.len() + 1;
        let rivals = self.time_of_prices(RIVALS).min(self.options.limit.mul_f64(COMPARING));
        Instant::now() + rivals + self.time_of_prices(steps) + self.time_of_proofs(steps) >= self.last
    }

    /// The best first: kernels that are made of the fastest ones are priced before those of slower ones.
    fn run(
        &self,
        original: &Subject,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Improvement, SearchError> {
        let start = State {
            parent: None,
            subject: original.clone(),
            steps: Vec::new(),
            conditions: Vec::new(),
            host: Vec::new(),
            relative_error: 0.0,
            score: 1.0,
        };
        let mut refused = Vec::new();
        let mut seen = HashSet::from([(original.source.clone(), original.launch.range)]);
        let mut states = vec![start];
        self.prepare(&mut states, &mut refused, progress);
        let prepared = states.len() - 1;
        let mut untried = self.propose(&states[prepared], prepared, &mut seen, &mut refused);
        if states[prepared].score > 1.0 {
            untried.extend(self.propose(&states[0], 0, &mut seen, &mut refused));
        }
        let mut candidates: Vec<Candidate> = Vec::new();
        let (mut best, mut idle) = (prepared, 0);
        let (mut is_over, mut swept, mut is_last) = (false, false, false);
        let begin = Instant::now();
        let sweep = begin + self.last.saturating_duration_since(begin).mul_f64(SWEEP);
        while !untried.is_empty() && !is_over {
            if !swept && Instant::now() >= sweep {
                swept = true;
                let is_launch = |it: &&mut Untried| is_launch(it, &states, &[best, prepared]);
                untried.iter_mut().filter(is_launch).for_each(|it| it.rank = 0.0);
            }
            untried.sort_by(|a, b| a.rank.total_cmp(&b.rank));
            let round: Vec<Untried> = untried.drain(..ROUND.min(untried.len())).collect();
            candidates.extend(self.price(&states, best, round, &mut refused, progress));
            let before = states[best].score;
            let first = states.len();
            self.adopt(&mut states, before, &mut candidates, &mut refused, progress);
            is_over = self.is_over(&states[best]);
            for index in first..states.len() {
                if states[index].score < states[best].score {
                    best = index;
                }
                if states[index].steps.len() < self.options.depth && !is_over {
                    untried.extend(self.propose(&states[index], index, &mut seen, &mut refused));
                }
            }
            idle = if states[best].score * self.options.gain <= before { 0 } else { idle + 1 };
            let is_exhausted = untried.iter().all(|it| it.parent != best);
            if idle >= PATIENCE && is_exhausted || idle > PATIENCE {
                // Before the end, all launches of the original and of the best: they are cheap, and often gain most.
                untried.retain(|it| is_launch(it, &states, &[best, prepared]));
                if is_last || untried.is_empty() {
                    break;
                }
                (is_last, swept, idle) = (true, true, 0);
            }
        }
        best = self.fastest(&mut states, best, &candidates, &mut refused, progress);
        for Candidate { parent, proposal: Proposal { code, title, .. }, score, .. } in candidates {
            let (ratio, depth) = (score / states[parent].score, states[parent].steps.len());
            if ratio * self.options.gain > 1.0 {
                refused.push(Refused { code, title, depth, reason: Refusal::Slower { ratio } });
            } else if is_over && score < states[best].score {
                refused.push(Refused { code, title, depth, reason: Refusal::Late });
            }
        }
        self.finish(original, states.swap_remove(best), refused, is_over)
    }

    /// All that the rewrites make of a kernel, without what was made before.
    fn propose(
        &self,
        state: &State,
        parent: usize,
        seen: &mut HashSet<(String, NdRange)>,
        refused: &mut Vec<Refused>,
    ) -> Vec<Untried> {
        let allowed = self.options.allowed;
        let depth = state.steps.len();
        let mut untried = Vec::new();
        let all = self.viewed(&state.subject, |view| {
            let searched = self.rewrites.iter().filter(|rewrite| !rewrite.prepares);
            searched.map(|rewrite| (rewrite.proposals)(view)).collect::<Vec<_>>()
        });
        for proposals in all {
            for (variant, proposal) in proposals.into_iter().enumerate() {
                let mut refuse = |reason| refused.push(proposal.refused(depth, reason));
                if proposal.rounds() && !allowed.rounding {
                    refuse(Refusal::Rounding { bound: proposal.relative_error });
                    continue;
                }
                let subject = proposal.subject(&state.subject);
                // A launch that was just changed is not changed again the same way.
                let is_launch_only = proposal.source == state.subject.source;
                let last = state.steps.last().map(|last| last.proposal.code);
                if last == Some(proposal.code) && is_launch_only
                    || !seen.insert((subject.source.clone(), subject.launch.range))
                {
                    continue;
                }
                let unmet = |condition: &&Condition| condition.holds(&state.subject.launch) == Some(false);
                if let Some(condition) = proposal.conditions.iter().find(unmet) {
                    refuse(Refusal::Condition(condition.clone()));
                    continue;
                }
                // Launches cost little to price, and often gain much.
                let later = if is_launch_only { LATER / 3.0 } else { LATER };
                let rank = state.score * (1.0 + later * variant as f64);
                untried.push(Untried { parent, proposal, subject, rank });
            }
        }
        untried
    }

    /// Prices proposals until the time is over.
    fn price(
        &self,
        states: &[State],
        best: usize,
        round: Vec<Untried>,
        refused: &mut Vec<Refused>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        let mut round = round.into_iter().peekable();
        while round.peek().is_some() && !self.is_over(&states[best]) {
            let together: Vec<_> = round.by_ref().take(rayon::current_num_threads().max(1)).collect();
            for Untried { parent, proposal, .. } in together.iter().take(1) {
                let (depth, tried) = (states[*parent].steps.len(), self.quick.count());
                let best = states[best].score;
                progress(Progress::Pricing { depth, title: &proposal.title, tried, best });
            }
            let prices: Vec<_> = together.par_iter().map(|it| self.quick.price(&it.subject)).collect();
            for (Untried { parent, proposal, subject, .. }, prices) in together.into_iter().zip(prices) {
                match all_prices(prices, self.targets) {
                    Ok(prices) => {
                        let score = score(&prices, &self.first);
                        candidates.push(Candidate { parent, proposal, subject, score });
                    }
                    Err((gpu, error)) => {
                        let depth = states[parent].steps.len();
                        refused.push(proposal.refused(depth, Refusal::Price { gpu, error }));
                    }
                }
            }
        }
        candidates
    }

    /// Takes the fastest candidates that are proved; `best` is the least time so far.
    fn adopt(
        &self,
        states: &mut Vec<State>,
        best: f64,
        candidates: &mut Vec<Candidate>,
        refused: &mut Vec<Refused>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) {
        candidates.sort_by(|a, b| a.score.total_cmp(&b.score));
        let best = candidates.first().map_or(best, |candidate| candidate.score.min(best));
        let (mut index, mut adopted) = (0, 0);
        while adopted < self.options.width && index < candidates.len() && Instant::now() < self.proving {
            let Candidate { parent, proposal, subject, score } = &candidates[index];
            let parent = (*parent, &states[*parent]);
            // Variants of one rewrite, and launches of one source, leave room for others.
            let siblings = states.iter().filter(|it| it.parent == Some(parent.0) && it.score <= *score);
            let is_variant =
                |it: &&State| it.steps.last().is_some_and(|it| it.proposal.code == proposal.code);
            let is_same = siblings.clone().any(|it| it.subject.source == subject.source);
            if *score > parent.1.score * self.options.slack
                || *score > best * NEAR
                || is_same
                || siblings.filter(is_variant).count() >= VARIANTS
            {
                index += 1;
                continue;
            }
            let (code, title, depth) = (proposal.code, proposal.title.clone(), parent.1.steps.len());
            progress(Progress::Proving { title: &title });
            let candidate = candidates.remove(index);
            match self.prove(&states[candidate.parent], candidate) {
                Ok(state) => {
                    states.push(state);
                    adopted += 1;
                }
                Err(example) => refused.push(Refused { code, title, depth, reason: example.into() }),
            }
        }
    }

    /// The kernel with a proposal applied, if that is proved on launches derived from the given one.
    pub(crate) fn prove(&self, parent: &State, candidate: Candidate) -> Result<State, Box<CounterExample>> {
        let Candidate { parent: index, proposal, subject, score } = candidate;
        let mut state = State { parent: Some(index), subject, score, ..parent.clone() };
        for required in requirements(parent, &proposal) {
            if !state.conditions.contains(&required) {
                state.conditions.push(required);
            }
        }
        state.host.extend(proposal.host.iter().cloned());
        state.relative_error += proposal.relative_error;
        let State { subject, host, conditions, relative_error, .. } = &state;
        let verifier = &self.verifier;
        let verified =
            verifier.verify_derived_until(Some(self.last), subject, host, conditions, *relative_error)?;
        let (host, conditions) = (host.len(), conditions.len());
        let (subject, relative_error) = (subject.clone(), *relative_error);
        state.steps.push(Applied { proposal, subject, verified, host, conditions, relative_error, score });
        Ok(state)
    }
}

/// Whether a proposal is another launch of one of some kernels.
fn is_launch(it: &Untried, states: &[State], of: &[usize]) -> bool {
    of.contains(&it.parent) && it.proposal.source == states[it.parent].subject.source
}
