//! In which order candidates are tried, and when a search ends.

mod exhaustive;
mod kind;
mod learned;
mod predicted;
mod random;

pub use exhaustive::Exhaustive;
pub use kind::StrategyKind;
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::candidates::Candidates;

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
