//! Weights, and what they are in each element type.

use super::super::rasters::fraction;

/// The random weights of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    pub size: [usize; 2],
    /// Whether they are an outer product.
    pub separable: bool,
    /// The range is `-most` to `most`, or 0 to `most`.
    pub most: i32,
    pub negative: bool,
    /// One weight in this many is 0.
    pub zeros: u32,
    pub seed: u32,
}

impl Weights {
    /// The weights of one axis, or all of them.
    pub(super) fn numbers(&self, count: usize, axis: u32) -> Vec<i32> {
        let number = |index: usize| {
            let zero = self.zeros > 0 && fraction(self.seed ^ 0x5A, index) * f64::from(self.zeros) < 1.0;
            let part = fraction(self.seed.wrapping_add(axis), index);
            let low = if self.negative { -f64::from(self.most) } else { 0.0 };
            if zero { 0 } else { (low + part * (f64::from(self.most) - low)).round() as i32 }
        };
        (0..count).map(number).collect()
    }

    /// Factors across and down; `None` if the weights are not an outer product.
    pub fn factors(&self) -> Option<[Vec<i32>; 2]> {
        self.separable.then(|| [self.numbers(self.size[0], 1), self.numbers(self.size[1], 2)])
    }

    /// All weights, row by row.
    pub fn all(&self) -> Vec<i64> {
        match self.factors() {
            Some([across, down]) => {
                let product = |y: i32| across.iter().map(move |x| i64::from(*x) * i64::from(y));
                down.iter().flat_map(|y| product(*y)).collect()
            }
            None => self.full().into_iter().map(i64::from).collect(),
        }
    }

    pub(super) fn full(&self) -> Vec<i32> {
        self.numbers(self.size[0] * self.size[1], 0)
    }

    /// The weights times `scale`, in single precision: factors, or all.
    pub fn real(&self, scale: f32) -> (Option<[Vec<f32>; 2]>, Vec<f32>) {
        let scaled = |weights: &[i32]| weights.iter().map(|weight| *weight as f32 * scale).collect();
        match self.factors() {
            Some([across, down]) => {
                (Some([scaled(&across), down.iter().map(|w| *w as f32 / 8.0).collect()]), Vec::new())
            }
            None => (None, scaled(&self.full())),
        }
    }

    pub(super) fn smaller(&self) -> Vec<Self> {
        let mut found = vec![
            Self { size: [1, 1], ..*self },
            Self { size: [3, 1], ..*self },
            Self { size: [1, 3], ..*self },
            Self { size: [3, 3], ..*self },
            Self { size: [self.size[0], 1], ..*self },
            Self { size: [1, self.size[1]], ..*self },
            Self { zeros: 0, ..*self },
            Self { negative: false, ..*self },
            Self { most: 1, ..*self },
            Self { most: self.most / 2, ..*self },
            Self { separable: false, ..*self },
        ];
        found.retain(|smaller| {
            smaller != self && smaller.size[0] <= self.size[0] && smaller.size[1] <= self.size[1]
        });
        found
    }
}
