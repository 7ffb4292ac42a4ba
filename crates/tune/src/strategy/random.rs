//! All candidates in random order.

use super::Strategy;

/// All candidates in random order: every order is equally likely.
#[derive(Debug)]
pub struct Random {
    known: Vec<bool>,
    /// The rest, the next one last.
    rest: Vec<usize>,
}

impl Random {
    /// For `count` candidates.
    pub fn new(count: usize, seed: u64) -> Self {
        let mut rest: Vec<usize> = (0..count).collect();
        fastrand::Rng::with_seed(seed).shuffle(&mut rest);
        Self { known: vec![false; count], rest }
    }
}

impl Strategy for Random {
    fn propose(&mut self) -> Option<usize> {
        loop {
            let index = self.rest.pop()?;
            if !self.known[index] {
                return Some(index);
            }
        }
    }

    fn observe(&mut self, index: usize, _: Option<f64>) {
        self.known[index] = true;
    }
}
