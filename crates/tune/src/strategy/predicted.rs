//! The fastest by prediction first.

use super::Strategy;
use crate::candidates::Candidates;

/// The library's choice, then the others, the fastest by prediction first. Those without a prediction follow in random
/// order.
#[derive(Debug)]
pub struct Predicted {
    known: Vec<bool>,
    order: std::vec::IntoIter<usize>,
}

impl Predicted {
    /// For candidates with predictions.
    pub fn new(candidates: &Candidates, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..candidates.all.len()).collect();
        // Equal predictions are frequent, so their order is random too.
        fastrand::Rng::with_seed(seed).shuffle(&mut order);
        let predicted = |index: usize| candidates.all[index].predicted.unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| predicted(*a).total_cmp(&predicted(*b)));
        order.sort_by_key(|index| (*index).min(candidates.guesses));
        Self { known: vec![false; order.len()], order: order.into_iter() }
    }
}

impl Strategy for Predicted {
    fn propose(&mut self) -> Option<usize> {
        let known = &self.known;
        self.order.find(|index| !known[*index])
    }

    fn observe(&mut self, index: usize, _: Option<f64>) {
        self.known[index] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_come_first_and_then_the_fastest_by_prediction() {
        let texts: Vec<String> = (0..6).map(|index| format!("tile {index}x1")).collect();
        let predict = |text: &str| match text {
            "tile 2x1" => Some(1.0),
            "tile 3x1" | "tile 1x1" => Some(3.0),
            "tile 4x1" => Some(2.0),
            _ => None,
        };
        let candidates = Candidates { guesses: 2, ..Candidates::listed(&texts, Some(&predict)) };
        let mut strategy = Predicted::new(&candidates, 1);
        let order: Vec<usize> = std::iter::from_fn(|| strategy.propose()).collect();
        assert_eq!(order, [0, 1, 2, 4, 3, 5]);
    }
}
