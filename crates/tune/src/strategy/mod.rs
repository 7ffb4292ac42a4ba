//! In which order candidates are tried, and when a search ends.

mod exhaustive;
mod learned;
mod predicted;
mod random;

use std::fmt;
use std::str::FromStr;

use crate::candidates::Candidates;

pub use exhaustive::Exhaustive;
pub use learned::{Learned, LearnedOptions};
pub use predicted::Predicted;
pub use random::Random;

/// Proposes candidates, by their index, and learns from their times.
pub trait Strategy {
    /// The next candidate, never one that was proposed or observed before. `None` when no other one is worth a try.
    fn propose(&mut self) -> Option<usize>;

    /// The time of a candidate in seconds, or that it has none. A candidate may be observed without a proposal: its time
    /// is known from before.
    fn observe(&mut self, index: usize, seconds: Option<f64>);

    /// The improvement that the candidate proposed last is expected to bring, as a fraction of the best time; `None` if
    /// the strategy does not estimate it.
    fn expected_improvement(&self) -> Option<f64> {
        None
    }
}

/// The strategies, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StrategyKind {
    /// `exhaustive`: all candidates, the library's choice first.
    Exhaustive,
    /// `random`: in random order.
    Random,
    /// `predicted`: the fastest by prediction first.
    Predicted,
    /// `learned`: by the expected improvement of a model that is learned from the times so far; it ends when little
    /// improvement is expected.
    #[default]
    Learned,
}

impl StrategyKind {
    /// All strategies.
    pub const ALL: [Self; 4] = [Self::Exhaustive, Self::Random, Self::Predicted, Self::Learned];

    /// A strategy for these candidates. Equal seeds give equal proposals.
    pub fn make<'c>(self, candidates: &'c Candidates, seed: u64) -> Box<dyn Strategy + 'c> {
        match self {
            Self::Exhaustive => Box::new(Exhaustive::new(candidates.all.len())),
            Self::Random => Box::new(Random::new(candidates.all.len(), seed)),
            Self::Predicted => Box::new(Predicted::new(candidates, seed)),
            Self::Learned => Box::new(Learned::new(candidates, seed)),
        }
    }
}

impl fmt::Display for StrategyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exhaustive => "exhaustive",
            Self::Random => "random",
            Self::Predicted => "predicted",
            Self::Learned => "learned",
        })
    }
}

impl FromStr for StrategyKind {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let named = Self::ALL.into_iter().find(|kind| kind.to_string() == text);
        named.ok_or("want exhaustive, random, predicted or learned")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// 400 candidates; the time is a bowl over two parameters, with a penalty for a third.
    pub(super) fn bowl() -> (Candidates, Vec<f64>) {
        let mut texts = Vec::new();
        let mut seconds = Vec::new();
        for x in 0..10 {
            for y in 0..10 {
                for unroll in [1, 2, 4, 8] {
                    texts.push(format!("tile {}x{} unroll={unroll}", 1 << x, 1 << y));
                    let (dx, dy) = (f64::from(x) - 6.0, f64::from(y) - 3.0);
                    seconds.push(1.0 + 0.1 * (dx * dx + dy * dy) + 0.3 * (f64::from(unroll) - 4.0).abs());
                }
            }
        }
        (Candidates::listed(&texts, None), seconds)
    }

    /// The best time after each proposal.
    pub(super) fn play(strategy: &mut dyn Strategy, seconds: &[f64], most: usize) -> Vec<f64> {
        let mut best = f64::INFINITY;
        let mut seen = HashSet::new();
        let mut bests = Vec::new();
        while bests.len() < most
            && let Some(index) = strategy.propose()
        {
            assert!(seen.insert(index), "{index} was proposed twice");
            strategy.observe(index, Some(seconds[index]));
            best = best.min(seconds[index]);
            bests.push(best);
        }
        bests
    }

    #[test]
    fn every_strategy_but_the_learned_one_tries_all_candidates_once() {
        let (candidates, seconds) = bowl();
        for kind in StrategyKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            let mut strategy = kind.make(&candidates, 1);
            let tried = play(&mut *strategy, &seconds, usize::MAX).len();
            if kind == StrategyKind::Learned {
                assert!((30..350).contains(&tried), "{tried}");
            } else {
                assert_eq!(tried, seconds.len());
            }
        }
        assert!("blind".parse::<StrategyKind>().is_err());
    }

    #[test]
    fn equal_seeds_give_equal_proposals_and_other_seeds_give_others() {
        let (candidates, seconds) = bowl();
        let played = |seed| play(&mut *StrategyKind::Random.make(&candidates, seed), &seconds, 30);
        assert_eq!(played(1), played(1));
        assert_ne!(played(1), played(2));
    }

    #[test]
    fn candidates_that_are_known_are_not_proposed() {
        let (candidates, seconds) = bowl();
        for kind in StrategyKind::ALL {
            let mut strategy = kind.make(&candidates, 3);
            for (index, seconds) in seconds.iter().enumerate().take(390) {
                strategy.observe(index, Some(*seconds));
            }
            while let Some(index) = strategy.propose() {
                assert!(index >= 390, "{kind}: {index}");
                strategy.observe(index, None);
            }
        }
    }
}
