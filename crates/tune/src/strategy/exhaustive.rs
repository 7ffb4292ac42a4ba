//! All candidates in their order.

use super::Strategy;

/// All candidates in their order.
#[derive(Debug)]
pub struct Exhaustive {
    known: Vec<bool>,
    next: usize,
}

impl Exhaustive {
    /// For `count` candidates.
    pub fn new(count: usize) -> Self {
        Self { known: vec![false; count], next: 0 }
    }
}

impl Strategy for Exhaustive {
    fn propose(&mut self) -> Option<usize> {
        while *self.known.get(self.next)? {
            self.next += 1;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    fn observe(&mut self, index: usize, _: Option<f64>) {
        self.known[index] = true;
    }
}
