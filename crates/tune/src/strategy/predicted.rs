//! The fastest by prediction first.

use tripipe_kernels::spread;

use super::Strategy;
use crate::candidates::Candidates;

/// The library's choice, then the others, the fastest by prediction first. Candidates of one kind, whose tile and memory
/// are the same, are [`spread`]. Those without a prediction follow in random order.
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
        let kinds =
            order.into_iter().map(|index| (index, kind(&candidates.all[index].parameters), predicted(index)));
        let mut order = spread(kinds);
        order.sort_by_key(|index| (*index).min(candidates.guesses));
        Self { known: vec![false; order.len()], order: order.into_iter() }
    }
}

/// The tile of a text of parameters and the memory of its operands: the first word, the second if the first is not a
/// tile, and where operands come from.
fn kind(text: &str) -> String {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let mut kind = first.to_owned();
    let is_name = !first.starts_with(|first: char| first.is_ascii_digit());
    let memory = |word: &&str| ["a=", "b=", "loads=", "image"].iter().any(|start| word.starts_with(start));
    let tile = words.clone().take(usize::from(is_name));
    for word in tile.chain(words.filter(memory)) {
        kind.push(' ');
        kind.push_str(word.split('/').next().unwrap_or_default());
    }
    kind
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
    fn kinds_are_tiles_and_memory() {
        for (text, want) in [
            ("tile 4x8 unroll=2 b=packed/4 group=8x8", "tile 4x8 b=packed"),
            ("local 8x8 depth=16 a=packed b=image", "local 8x8 a=packed b=image"),
            ("16x8 loads=aligned sums=paired", "16x8 loads=aligned"),
            ("4x1 group=16x4 image masks", "4x1 image"),
            ("", ""),
        ] {
            assert_eq!(kind(text), want);
        }
    }

    #[test]
    fn another_kind_comes_before_the_third_of_the_same() {
        let texts = ["tile 4x4", "tile 4x4 unroll=2", "tile 4x4 unroll=4", "tile 8x4", "tile 1x1"];
        let predict = |text: &str| match text {
            "tile 8x4" => Some(1.5),
            "tile 1x1" => Some(9.0),
            _ => Some(1.0),
        };
        let candidates = Candidates::listed(&texts.map(str::to_owned), Some(&predict));
        let mut strategy = Predicted::new(&candidates, 1);
        let order: Vec<&str> = std::iter::from_fn(|| strategy.propose()).map(|index| texts[index]).collect();
        assert_eq!((order[2], order[4]), ("tile 8x4", "tile 1x1"));
    }

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
