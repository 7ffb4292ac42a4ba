//! The search for a faster kernel.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::{
    Allowed, Condition, CounterExample, HostChange, OpenFiles, Price, PriceError, Pricing, Proposal, Rewrite,
    Subject, Target, Verified, Verifier, VerifyError, View,
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

/// Steps of warps that the prices of a search play; those of a result play the usual number.
const STEPS: u64 = 200_000;

/// A step of a ladder.
#[derive(Clone, Debug)]
pub struct Step {
    /// The rewrite's code.
    pub code: &'static str,
    /// What it changes.
    pub title: String,
    /// Why that is faster.
    pub why: String,
    /// The kernel after it.
    pub subject: Subject,
    /// The price on each target.
    pub prices: Vec<Price>,
    /// The proof that the kernel computes what the original does.
    pub verified: Verified,
    /// The most that a floating-point result may deviate from the original, relative; 0 where results are the same.
    pub relative_error: f64,
}

/// A rewrite that was not applied.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The rewrite's code.
    pub code: &'static str,
    /// What it would change.
    pub title: String,
    /// Rewrites that were applied before it.
    pub depth: usize,
    /// Why not.
    pub reason: Refusal,
}

/// Why a rewrite is not applied.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The changed kernel has no price.
    #[error("on {gpu}: {error}")]
    Price {
        /// The GPU.
        gpu: String,
        /// Why.
        #[source]
        error: PriceError,
    },
    /// The changed kernel computes something else, or does something wrong.
    #[error("{0}")]
    Proof(Box<CounterExample>),
    /// The model predicts that it is slower, or not faster.
    #[error("{}", gain(*ratio))]
    Slower {
        /// The time after it as a multiple of the time before, on the target where that is the largest.
        ratio: f64,
    },
}

/// `1.20 times slower`, `0.4% faster`.
fn gain(ratio: f64) -> String {
    if ratio >= 1.0 {
        format!("{ratio:.2} times the time")
    } else {
        format!("only {:.1}% less time", 100.0 * (1.0 - ratio))
    }
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Improvement {
    /// The original.
    pub original: Subject,
    /// Its price on each target.
    pub prices: Vec<Price>,
    /// The steps to the fastest kernel; empty if nothing gains.
    pub steps: Vec<Step>,
    /// What must hold for the results to be the same.
    pub conditions: Vec<Condition>,
    /// What the host's code must change.
    pub host: Vec<HostChange>,
    /// What was not applied, and why.
    pub refused: Vec<Refused>,
    /// Kernels that were priced.
    pub tried: usize,
    /// Whether the search ended because of the time limit.
    pub out_of_time: bool,
}

impl Improvement {
    /// The fastest kernel.
    pub fn subject(&self) -> &Subject {
        self.steps.last().map_or(&self.original, |step| &step.subject)
    }

    /// The time of the fastest kernel as a multiple of the original's, on the target where that is the largest.
    pub fn ratio(&self) -> f64 {
        self.steps.last().map_or(1.0, |step| worst(&step.prices, &self.prices))
    }
}

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
    steps: Vec<(Proposal, Subject, Verified, f64)>,
    conditions: Vec<Condition>,
    host: Vec<HostChange>,
    relative_error: f64,
    /// The time as a multiple of the original's, on the target where that is the largest.
    score: f64,
}

/// The largest of the times as multiples of `before`.
fn worst(prices: &[Price], before: &[Price]) -> f64 {
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
    let end = Instant::now() + options.limit;
    let quick = Pricing::new(targets, files, Some(STEPS), options.limit_steps);
    let first = all_prices(quick.price(original), targets)
        .map_err(|(gpu, error)| SearchError::Price { gpu, error })?;
    progress(Progress::Reference);
    let verifier = Verifier::new(original, targets, files)?;
    let search = Search { targets, rewrites, options, end, quick, verifier, first };
    search.run(original, files, progress)
}

struct Search<'s> {
    targets: &'s [Target],
    rewrites: &'s [&'s dyn Rewrite],
    options: &'s Options,
    end: Instant,
    quick: Pricing<'s>,
    verifier: Verifier<'s>,
    first: Vec<Price>,
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
            let mut candidates = Vec::new();
            for state in &beam {
                self.expand(state, best.score, &mut seen, &mut candidates, &mut refused, progress);
            }
            candidates.sort_by(|(_, a, _), (_, b, _)| a.score.total_cmp(&b.score));
            let before = best.score;
            let mut next: Vec<State> = Vec::new();
            for (parent, state, proposal) in candidates {
                let is_slow = state.score > parent * self.options.slack;
                let (code, title) = (proposal.code, proposal.title.clone());
                if next.len() == self.options.width || is_slow || Instant::now() >= self.end {
                    let ratio = state.score / parent;
                    if ratio * self.options.gain > 1.0 {
                        refused.push(Refused { code, title, depth, reason: Refusal::Slower { ratio } });
                    }
                    continue;
                }
                progress(Progress::Proving { title: &title });
                match self.prove(state, proposal) {
                    Ok(state) => {
                        if state.score < best.score {
                            best = state.clone();
                        }
                        next.push(state);
                    }
                    Err(example) => {
                        refused.push(Refused { code, title, depth, reason: Refusal::Proof(example) });
                    }
                }
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

    /// Prices all that the rewrites make of a kernel. A candidate has the score of what it was made of, and the
    /// proposal.
    fn expand(
        &self,
        state: &State,
        best: f64,
        seen: &mut HashSet<(String, tripipe_launch::NdRange)>,
        candidates: &mut Vec<(f64, State, Proposal)>,
        refused: &mut Vec<Refused>,
        progress: &mut dyn FnMut(Progress<'_>),
    ) {
        let gpus: Vec<_> = self.targets.iter().map(|target| target.gpu).collect();
        let offered = self.targets.first().map(|target| target.offered.clone());
        let tree = state.subject.tree(offered).ok();
        let view =
            View { subject: &state.subject, tree: tree.as_ref(), gpus: &gpus, allowed: self.options.allowed };
        for rewrite in self.rewrites {
            for proposal in rewrite.proposals(&view) {
                if Instant::now() >= self.end {
                    return;
                }
                let changed = proposal.subject(&state.subject);
                let last = state.steps.last();
                // A launch that was just changed is not changed again the same way.
                let is_launch_only = proposal.source == state.subject.source;
                let again = last.is_some_and(|(last, ..)| last.code == proposal.code && is_launch_only);
                if again || !seen.insert((changed.source.clone(), changed.launch.range)) {
                    continue;
                }
                let (depth, tried) = (state.steps.len(), seen.len() - 1);
                progress(Progress::Pricing { depth, title: &proposal.title, tried, best });
                match all_prices(self.quick.price(&changed), self.targets) {
                    Ok(prices) => {
                        let score = worst(&prices, &self.first);
                        let changed = State { subject: changed, score, ..state.clone() };
                        candidates.push((state.score, changed, proposal));
                    }
                    Err((gpu, error)) => refused.push(Refused {
                        code: proposal.code,
                        title: proposal.title,
                        depth,
                        reason: Refusal::Price { gpu, error },
                    }),
                }
            }
        }
    }

    /// Adds a proposal to the steps of the kernel that it makes, if it is proved.
    fn prove(&self, mut state: State, proposal: Proposal) -> Result<State, Box<CounterExample>> {
        for condition in &proposal.conditions {
            if !state.conditions.contains(condition) {
                state.conditions.push(condition.clone());
            }
        }
        state.host.extend(proposal.host.iter().cloned());
        state.relative_error += proposal.relative_error;
        let State { subject, host, conditions, relative_error, .. } = &state;
        let verified = self.verifier.verify(subject, host, conditions, *relative_error)?;
        state.steps.push((proposal, state.subject.clone(), verified, state.relative_error));
        Ok(state)
    }

    /// The result, with the prices that `simulate` has.
    fn finish(
        &self,
        original: &Subject,
        best: State,
        refused: Vec<Refused>,
        files: &dyn OpenFiles,
    ) -> Result<Improvement, SearchError> {
        let out_of_time = Instant::now() >= self.end;
        let pricing = Pricing::new(self.targets, files, None, self.options.limit_steps);
        let price = |subject: &Subject| {
            all_prices(pricing.price(subject), self.targets)
                .map_err(|(gpu, error)| SearchError::Price { gpu, error })
        };
        let prices = price(original)?;
        let mut steps = Vec::new();
        for (proposal, subject, verified, relative_error) in best.steps {
            let Proposal { code, title, why, .. } = proposal;
            let prices = price(&subject)?;
            steps.push(Step { code, title, why, subject, prices, verified, relative_error });
        }
        let mut improvement = Improvement {
            original: original.clone(),
            prices,
            steps,
            conditions: best.conditions,
            host: best.host,
            refused,
            tried: self.quick.count(),
            out_of_time,
        };
        if improvement.ratio() * self.options.gain > 1.0 {
            improvement.steps.clear();
            improvement.conditions.clear();
            improvement.host.clear();
        }
        Ok(improvement)
    }
}
