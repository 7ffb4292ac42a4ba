//! The search for a faster kernel.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use tripipe_launch::NdRange;

use crate::{
    Allowed, CounterExample, HostChange, Improvement, OpenFiles, Price, PriceError, Pricing, Proposal,
    Refusal, Refused, Required, Rewrite, Step, Subject, Target, Verified, Verifier, VerifyError, View,
};

/// Options of a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// What rewrites may change beyond what every result keeps.
    pub allowed: Allowed,
    /// No rewrite is tried after this time.
    pub limit: Duration,
    /// The most rewrites one after the other.
    pub depth: usize,
    /// Kernels that are rewritten further at each depth.
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
            width: 3,
            gain: 1.03,
            slack: 1.05,
            limit_steps: 10_000_000,
        }
    }
}

/// Variants of one rewrite of one kernel that are rewritten further.
const VARIANTS: usize = 2;

/// The share of the time limit that the search takes; the rest is for the last proofs and prices.
const SEARCHING: f64 = 0.75;

/// Steps of warps that the prices of a search play; those of a result play the usual number.
const STEPS: u64 = 200_000;

/// Why a kernel cannot be improved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// A GPU cannot run the kernel.
    #[error("{gpu}: {error}")]
    Price {
        /// The GPU.
        gpu: String,
        /// Why.
        #[source]
        error: PriceError,
    },
    /// Rewrites cannot be verified.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

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
struct State {
    subject: Subject,
    steps: Vec<Applied>,
    conditions: Vec<Required>,
    host: Vec<HostChange>,
    relative_error: f64,
    /// The time as a multiple of the original's, on the target where that is the largest.
    score: f64,
}

/// A rewrite that was applied, and the kernel after it.
#[derive(Clone)]
struct Applied {
    proposal: Proposal,
    subject: Subject,
    verified: Verified,
    /// How many host changes and conditions there are after it.
    host: usize,
    conditions: usize,
    relative_error: f64,
}

/// A rewrite that was priced.
struct Candidate {
    /// The index of the kernel that it was made of.
    parent: usize,
    proposal: Proposal,
    subject: Subject,
    score: f64,
}

/// The largest of the times as multiples of `before`.
pub(crate) fn worst(prices: &[Price], before: &[Price]) -> f64 {
    let ratios = prices.iter().zip(before).map(|(price, before)| price.seconds / before.seconds);
    ratios.fold(0.0, f64::max)
}

/// Rewrites a kernel for the targets together: the fastest is the one whose largest time, as a multiple of the
/// original's, is the smallest. A step is part of the result only if it is proved.
///
/// # Errors
/// The kernel cannot be priced or run.
pub fn search(
    original: &Subject,
    targets: &[Target],
    rewrites: &[&dyn Rewrite],
    files: &dyn OpenFiles,
    options: &Options,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Improvement, SearchError> {
    let start = Instant::now();
    let (end, last) = (start + options.limit.mul_f64(SEARCHING), start + options.limit);
    let quick = Pricing::new(targets, files, Some(STEPS), options.limit_steps);
    let first = all_prices(quick.price(original), targets);
    progress(Progress::Reference);
    let verifier = Verifier::new(original, targets, files);
    let (first, verifier) = match (first, verifier) {
        // A kernel that is wrong may have no time for that reason.
        (_, Err(error @ VerifyError::Original { .. })) => return Err(error.into()),
        (Err((gpu, error)), _) => return Err(SearchError::Price { gpu, error }),
        (Ok(first), verifier) => (first, verifier?),
    };
    let search = Search { targets, rewrites, options, end, last, quick, verifier, first };
    search.run(original, files, progress)
}

struct Search<'s> {
    targets: &'s [Target],
    rewrites: &'s [&'s dyn Rewrite],
    options: &'s Options,
    /// When the search ends.
    end: Instant,
    /// When everything should have ended.
    last: Instant,
    quick: Pricing<'s>,
    verifier: Verifier<'s>,
    first: Vec<Price>,
}

/// The conditions of a proposal for a kernel.
fn requirements<'p>(parent: &State, proposal: &'p Proposal) -> impl Iterator<Item = Required> + use<'p> {
    let after = parent.host.len();
    proposal.conditions.iter().map(move |condition| Required { condition: condition.clone(), after })
}

/// The prices on all targets, or the first GPU without one, and why.
fn all_prices(
    prices: Vec<Result<Price, PriceError>>,
    targets: &[Target],
) -> Result<Vec<Price>, (String, PriceError)> {
    let named = prices.into_iter().zip(targets);
    named.map(|(price, target)| price.map_err(|error| (target.gpu.name().to_owned(), error))).collect()
}

impl Search<'_> {
    fn run(
        &self,
        original: &Subject,
        files: &dyn OpenFiles,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Improvement, SearchError> {
        let start = State {
            subject: original.clone(),
            steps: Vec::new(),
            conditions: Vec::new(),
            host: Vec::new(),
            relative_error: 0.0,
            score: 1.0,
        };
        let mut best = start.clone();
        let mut beam = vec![start];
        let mut refused = Vec::new();
        let mut seen = HashSet::from([(original.source.clone(), original.launch.range)]);
        for depth in 0..self.options.depth {
            let candidates = self.expand(&beam, best.score, &mut seen, &mut refused, progress);
            let before = best.score;
            let next = self.select(&beam, candidates, &mut refused, progress);
            if let Some(state) = next.iter().min_by(|a, b| a.score.total_cmp(&b.score))
                && state.score < best.score
            {
                best = state.clone();
            }
            // One level without a gain is allowed: it may enable the next one.
            let is_stuck = best.score * self.options.gain > before && best.steps.len() < depth;
            if next.is_empty() || is_stuck || Instant::now() >= self.end {
                break;
            }
            beam = next;
        }
        self.finish(original, best, refused, files)
    }

    /// Prices all that the rewrites make of some kernels.
    fn expand(
        &self,
        beam: &[State],
        best: f64,
        seen: &mut HashSet<(String, NdRange)>,
        refused: &mut Vec<Refused>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Vec<Candidate> {
        let gpus: Vec<_> = self.targets.iter().map(|target| target.gpu).collect();
        let offered = self.targets.first().map(|target| target.offered.clone());
        let mut untried = Vec::new();
        for (parent, state) in beam.iter().enumerate() {
            let tree = state.subject.tree(offered.clone()).ok();
            let allowed = self.options.allowed;
            let view = View { subject: &state.subject, tree: tree.as_ref(), gpus: &gpus, allowed };
            for proposal in self.rewrites.iter().flat_map(|rewrite| rewrite.proposals(&view)) {
                if proposal.relative_error > 0.0 && !allowed.rounding {
                    let Proposal { code, title, relative_error: bound, .. } = proposal;
                    let reason = Refusal::Rounding { bound };
                    refused.push(Refused { code, title, depth: state.steps.len(), reason });
                    continue;
                }
                let subject = proposal.subject(&state.subject);
                // A launch that was just changed is not changed again the same way.
                let is_launch_only = proposal.source == state.subject.source;
                let again = state
                    .steps
                    .last()
                    .is_some_and(|last| last.proposal.code == proposal.code && is_launch_only);
                if again || !seen.insert((subject.source.clone(), subject.launch.range)) {
                    continue;
                }
                let unmet = proposal
                    .conditions
                    .iter()
                    .find(|condition| condition.holds(&state.subject.launch) == Some(false));
                match unmet.cloned() {
                    Some(condition) => refused.push(Refused {
                        code: proposal.code,
                        title: proposal.title,
                        depth: state.steps.len(),
                        reason: Refusal::Condition(condition),
                    }),
                    None => untried.push((parent, proposal, subject)),
                }
            }
        }
        // Where time is short, each rewrite has its turn before the second variant of one.
        let mut variants = HashMap::<_, usize>::new();
        let mut turns: Vec<_> = untried
            .into_iter()
            .map(|(parent, proposal, subject)| {
                let turn = variants.entry((parent, proposal.code)).or_default();
                *turn += 1;
                (*turn, (parent, proposal, subject))
            })
            .collect();
        turns.sort_by_key(|(turn, _)| *turn);
        let mut candidates = Vec::new();
        let mut untried = turns.into_iter().map(|(_, untried)| untried).peekable();
        while untried.peek().is_some() && Instant::now() < self.end {
            let together: Vec<_> = untried.by_ref().take(rayon::current_num_threads().max(1)).collect();
            for (parent, proposal, _) in together.iter().take(1) {
                let (depth, tried) = (beam[*parent].steps.len(), self.quick.count());
                progress(Progress::Pricing { depth, title: &proposal.title, tried, best });
            }
            let prices: Vec<_> =
                together.par_iter().map(|(_, _, subject)| self.quick.price(subject)).collect();
            for ((parent, proposal, subject), prices) in together.into_iter().zip(prices) {
                match all_prices(prices, self.targets) {
                    Ok(prices) => {
                        let score = worst(&prices, &self.first);
                        candidates.push(Candidate { parent, proposal, subject, score });
                    }
                    Err((gpu, error)) => refused.push(Refused {
                        code: proposal.code,
                        title: proposal.title,
                        depth: beam[parent].steps.len(),
                        reason: Refusal::Price { gpu, error },
                    }),
                }
            }
        }
        candidates
    }

    /// The fastest candidates that are proved.
    fn select(
        &self,
        beam: &[State],
        mut candidates: Vec<Candidate>,
        refused: &mut Vec<Refused>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Vec<State> {
        candidates.sort_by(|a, b| a.score.total_cmp(&b.score));
        let mut next: Vec<State> = Vec::new();
        let mut taken: Vec<(usize, &str)> = Vec::new();
        for candidate in candidates {
            let parent = &beam[candidate.parent];
            let key = (candidate.parent, candidate.proposal.code);
            let (code, title, depth) = (key.1, candidate.proposal.title.clone(), parent.steps.len());
            let ratio = candidate.score / parent.score;
            // One proof is worth some of the time that was kept.
            let is_late = Instant::now() >= if next.is_empty() { self.last } else { self.end };
            if next.len() == self.options.width || ratio > self.options.slack || is_late {
                if ratio * self.options.gain > 1.0 {
                    refused.push(Refused { code, title, depth, reason: Refusal::Slower { ratio } });
                } else if is_late {
                    refused.push(Refused { code, title, depth, reason: Refusal::Late });
                }
                continue;
            }
            // Variants of one rewrite, and launches of one source, leave room for others.
            let variants = taken.iter().filter(|other| **other == key).count();
            let same = |state: &State| state.subject.source == candidate.subject.source;
            if variants == VARIANTS || next.iter().any(same) {
                continue;
            }
            progress(Progress::Proving { title: &title });
            match self.prove(parent, candidate) {
                Ok(state) => {
                    taken.push(key);
                    next.push(state);
                }
                Err(example) => {
                    refused.push(Refused { code, title, depth, reason: Refusal::Proof(example) });
                }
            }
        }
        next
    }

    /// The kernel with a proposal applied, if that is proved on launches derived from the given one.
    fn prove(&self, parent: &State, candidate: Candidate) -> Result<State, Box<CounterExample>> {
        let Candidate { proposal, subject, score, .. } = candidate;
        let mut state = State { subject, score, ..parent.clone() };
        for required in requirements(parent, &proposal) {
            if !state.conditions.contains(&required) {
                state.conditions.push(required);
            }
        }
        state.host.extend(proposal.host.iter().cloned());
        state.relative_error += proposal.relative_error;
        let State { subject, host, conditions, relative_error, .. } = &state;
        let verified = self.verifier.verify_derived(subject, host, conditions, *relative_error)?;
        let (host, conditions) = (host.len(), conditions.len());
        let (subject, relative_error) = (subject.clone(), *relative_error);
        state.steps.push(Applied { proposal, subject, verified, host, conditions, relative_error });
        Ok(state)
    }

    /// The result, with proofs on the given launch and with the prices that `simulate` has.
    fn finish(
        &self,
        original: &Subject,
        mut best: State,
        mut refused: Vec<Refused>,
        files: &dyn OpenFiles,
    ) -> Result<Improvement, SearchError> {
        let out_of_time = Instant::now() >= self.end;
        let given: Vec<_> = best
            .steps
            .par_iter()
            .map(|step| {
                let (host, conditions) = (&best.host[..step.host], &best.conditions[..step.conditions]);
                self.verifier.verify_given(&step.subject, host, conditions, step.relative_error)
            })
            .collect();
        for (depth, verified) in given.into_iter().enumerate() {
            match verified {
                Ok(verified) => best.steps[depth].verified.add(&verified),
                Err(example) => {
                    // What was made of it is not proved either.
                    for Applied { proposal, .. } in best.steps.drain(depth..).take(1) {
                        let Proposal { code, title, .. } = proposal;
                        refused.push(Refused { code, title, depth, reason: Refusal::Proof(example.clone()) });
                    }
                    break;
                }
            }
        }
        let pricing = Pricing::new(self.targets, files, None, self.options.limit_steps);
        let price = |subject: &Subject| {
            all_prices(pricing.price(subject), self.targets)
                .map_err(|(gpu, error)| SearchError::Price { gpu, error })
        };
        let prices = price(original)?;
        let priced: Result<Vec<_>, _> = best.steps.par_iter().map(|step| price(&step.subject)).collect();
        let mut priced = priced?;
        // The last steps may gain nothing: the fewest steps that are about as fast as the fastest.
        let ratios: Vec<f64> = priced.iter().map(|own| worst(own, &prices)).collect();
        let least = ratios.iter().copied().fold(1.0, f64::min);
        let is_near = |ratio: &f64| *ratio < least * self.options.gain;
        let gains = least * self.options.gain <= 1.0;
        let count = ratios.iter().position(is_near).filter(|_| gains).map_or(0, |last| last + 1);
        best.steps.truncate(count);
        priced.truncate(count);
        let last = best.steps.last();
        let (host, conditions) = last.map_or((0, 0), |step| (step.host, step.conditions));
        best.host.truncate(host);
        best.conditions.truncate(conditions);
        let steps = best.steps.into_iter().zip(priced).map(|(step, prices)| {
            let Applied {
                proposal: Proposal { code, title, why, .. },
                subject,
                verified,
                relative_error,
                ..
            } = step;
            Step { code, title, why, subject, prices, verified, relative_error }
        });
        Ok(Improvement {
            original: original.clone(),
            prices,
            steps: steps.collect(),
            conditions: best.conditions,
            host: best.host,
            refused,
            tried: self.quick.count(),
            out_of_time,
        })
    }
}
