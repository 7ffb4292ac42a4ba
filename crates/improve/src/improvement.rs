//! The result of a search.

use crate::price::worst;
use crate::{Condition, CounterExample, HostChange, Price, PriceError, Required, Subject, Verified};

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
    /// The launch does not fulfil one of its conditions.
    #[error("it needs that {0}")]
    Condition(Condition),
    /// It rounds floating-point results differently, which is not allowed.
    #[error("it rounds results differently, by a relative {bound:e} at most")]
    Rounding {
        /// The most that a result may deviate, relative.
        bound: f64,
    },
    /// There was no time to verify it.
    #[error("the time limit was reached before it was verified")]
    Late,
    /// The model predicts that it is slower, or not faster.
    #[error("{}", gain(*ratio))]
    Slower {
        /// The time after it as a multiple of the time before, on the target where that is the largest.
        ratio: f64,
    },
}

impl From<Box<CounterExample>> for Refusal {
    fn from(example: Box<CounterExample>) -> Self {
        match *example {
            CounterExample::Late => Self::Late,
            _ => Self::Proof(example),
        }
    }
}

/// `1.20 times the time`, `only 0.4% less time`.
fn gain(ratio: f64) -> String {
    if ratio >= 1.005 {
        format!("{ratio:.2} times the time")
    } else if ratio > 0.9995 {
        "the same time".to_owned()
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
    pub conditions: Vec<Required>,
    /// What the host's code must change.
    pub host: Vec<HostChange>,
    /// What was not applied, and why.
    pub refused: Vec<Refused>,
    /// Kernels that were priced.
    pub tried: usize,
    /// Whether the search ended because of the time limit.
    pub out_of_time: bool,
    /// Whether prices are predictions of fewer steps than usual, as there was no time for more.
    pub is_rough: bool,
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
