//! By the expected improvement of a model that is learned from the times so far.

use smartcore::ensemble::extra_trees_regressor::{ExtraTreesRegressor, ExtraTreesRegressorParameters};
use smartcore::linalg::basic::matrix::DenseMatrix;

use super::Strategy;
use crate::candidates::{Candidate, Candidates};

/// Candidates of the first design, at random.
const RANDOM: usize = 6;
/// Candidates of the first design that are the fastest by prediction.
const FASTEST: usize = 6;
/// Trees of the model.
const TREES: usize = 24;
/// Candidates that the model compares for a proposal: of all, at random, and the neighbours of the best.
const POOL: usize = 1500;
/// The best candidates whose neighbours are in the pool.
const CENTRES: usize = 4;
/// Neighbours differ in at most this many features.
const NEIGHBOUR: usize = 6;
/// The search ends when the expected improvement was below this fraction ...
const ENOUGH: f64 = 0.005;
/// ... for this many proposals in a row.
const PATIENCE: usize = 6;

type Tree = ExtraTreesRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>;

/// Proposes the candidate with the largest expected improvement, by randomised regression trees over the parameters and
/// the prediction: their mean is the expected logarithm of the time, their spread its uncertainty. The first candidates
/// are the library's choice, the fastest by prediction, and some at random. A candidate without a time counts as slow
/// as the slowest.
///
/// Trees need no scaling and no distance between words such as `b=image`, and they work from ten observations on.
pub struct Learned<'c> {
    candidates: &'c [Candidate],
    /// What is proposed first, the next one last.
    first: Vec<usize>,
    known: Vec<bool>,
    /// Candidates and the logarithms of their times; `None` without a time.
    observed: Vec<(usize, Option<f64>)>,
    random: fastrand::Rng,
    expected: Option<f64>,
    small: usize,
}

impl<'c> Learned<'c> {
    /// For these candidates.
    pub fn new(candidates: &'c Candidates, seed: u64) -> Self {
        let all = &candidates.all;
        let mut random = fastrand::Rng::with_seed(seed);
        let mut ranked: Vec<usize> = (0..all.len()).filter(|index| all[*index].predicted.is_some()).collect();
        random.shuffle(&mut ranked);
        ranked.sort_by(|a, b| {
            let predicted = |index: usize| all[index].predicted.unwrap_or(f64::INFINITY);
            predicted(*a).total_cmp(&predicted(*b))
        });
        let mut first: Vec<usize> = (0..candidates.guesses).collect();
        first.extend(&ranked[..ranked.len().min(FASTEST)]);
        // Without predictions, chance has to find the good regions.
        let count = if ranked.is_empty() { RANDOM + FASTEST } else { RANDOM };
        first.extend(random.choose_multiple(0..all.len(), count));
        first.reverse();
        Self {
            candidates: all,
            first,
            known: vec![false; all.len()],
            observed: Vec::new(),
            random,
            expected: None,
            small: 0,
        }
    }

    fn best(&self) -> Option<f64> {
        self.observed.iter().filter_map(|(_, time)| *time).reduce(f64::min)
    }

    /// Some of the candidates that are not known: at random, by prediction, and the neighbours of the best.
    fn pool(&mut self) -> Vec<usize> {
        let rest: Vec<usize> = (0..self.candidates.len()).filter(|index| !self.known[*index]).collect();
        if rest.len() <= 2 * POOL {
            return rest;
        }
        let mut best: Vec<(usize, f64)> =
            self.observed.iter().filter_map(|(index, time)| Some((*index, (*time)?))).collect();
        best.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        let centres: Vec<&[f64]> =
            best.iter().take(CENTRES).map(|(index, _)| &self.candidates[*index].features[..]).collect();
        let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).filter(|(a, b)| a != b).count();
        let near = |index: &usize| {
            centres.iter().any(|centre| apart(&self.candidates[*index].features, centre) <= NEIGHBOUR)
        };
        let mut near: Vec<usize> = rest.iter().copied().filter(|index| near(index)).collect();
        if near.len() > POOL {
            self.random.shuffle(&mut near);
            near.truncate(POOL);
        }
        let mut pool = self.random.choose_multiple(rest, POOL);
        pool.extend(near);
        pool.sort_unstable();
        pool.dedup();
        pool
    }

    fn row(&self, index: usize) -> Vec<f64> {
        let Candidate { features, predicted, .. } = &self.candidates[index];
        let mut row = features.clone();
        row.push(predicted.map_or(0.0, f64::ln));
        row
    }

    /// The candidate of the pool with the largest expected improvement, and the improvement. `None` if nothing can be
    /// learned.
    fn most_promising(&mut self) -> Option<(usize, f64)> {
        let best = self.best()?;
        let slowest = self.observed.iter().filter_map(|(_, time)| *time).fold(best, f64::max);
        let rows: Vec<Vec<f64>> = self.observed.iter().map(|(index, _)| self.row(*index)).collect();
        let times: Vec<f64> = self.observed.iter().map(|(_, time)| time.unwrap_or(slowest)).collect();
        let pool = self.pool();
        if pool.is_empty() {
            return None;
        }
        let matrix = DenseMatrix::from_2d_vec(&rows).ok()?;
        let asked = DenseMatrix::from_2d_vec(&pool.iter().map(|index| self.row(*index)).collect()).ok()?;
        let features = rows.first().map_or(1, Vec::len);
        let mut sums = vec![[0.0; 2]; pool.len()];
        for _ in 0..TREES {
            let parameters = ExtraTreesRegressorParameters::default()
                .with_n_trees(1)
                .with_m((features / 2).max(1))
                .with_min_samples_leaf(1)
                .with_seed(self.random.u64(..));
            let tree = Tree::fit(&matrix, &times, parameters).ok()?;
            for ([sum, squares], time) in sums.iter_mut().zip(tree.predict(&asked).ok()?) {
                *sum += time;
                *squares += time * time;
            }
        }
        let count = TREES as f64;
        let improvement = |[sum, squares]: [f64; 2]| {
            let mean = sum / count;
            // Trees that agree are no proof: a twentieth of the spread of all times remains.
            let floor = (0.02 * (slowest - best)).max(1e-3);
            let deviation = (squares / count - mean * mean).max(0.0).sqrt().max(floor);
            expected_improvement(best - mean, deviation)
        };
        let improved = pool.iter().zip(sums).map(|(index, sums)| (*index, improvement(sums)));
        improved.max_by(|(_, a), (_, b)| a.total_cmp(b))
    }
}

/// E[max(0, x)] for a normal x.
fn expected_improvement(mean: f64, deviation: f64) -> f64 {
    let z = mean / deviation;
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    deviation * (z * normal(z) + density)
}

/// The distribution function of the normal distribution: Abramowitz and Stegun 26.2.17, within 7.5e-8.
fn normal(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let factors = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_530];
    let tail = density * t * factors.into_iter().fold(0.0, |sum, factor| sum * t + factor);
    if z < 0.0 { tail } else { 1.0 - tail }
}

impl Strategy for Learned<'_> {
    fn propose(&mut self) -> Option<usize> {
        while let Some(index) = self.first.pop() {
            if !self.known[index] {
                self.known[index] = true;
                return Some(index);
            }
        }
        let proposed = self.most_promising();
        self.expected = proposed.map(|(_, improvement)| improvement);
        let index = match proposed {
            Some((_, improvement)) if improvement < ENOUGH && self.small + 1 >= PATIENCE => return None,
            Some((index, improvement)) => {
                self.small = if improvement < ENOUGH { self.small + 1 } else { 0 };
                index
            }
            // No time so far: chance has to find one.
            None => {
                let rest = (0..self.known.len()).filter(|index| !self.known[*index]);
                self.random.choice(rest.collect::<Vec<_>>())?
            }
        };
        self.known[index] = true;
        Some(index)
    }

    fn observe(&mut self, index: usize, seconds: Option<f64>) {
        self.known[index] = true;
        let time = seconds.filter(|seconds| *seconds > 0.0).map(f64::ln);
        self.observed.push((index, time));
    }

    fn expected_improvement(&self) -> Option<f64> {
        self.expected
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{bowl, play};
    use super::*;
    use crate::strategy::Random;

    /// Values of scipy.stats.norm.cdf.
    #[test]
    fn the_normal_distribution_is_that_of_the_tables() {
        for (z, want) in [(0.0, 0.5), (1.0, 0.841_344_746), (-1.96, 0.024_997_895), (3.0, 0.998_650_102)] {
            assert!((normal(z) - want).abs() < 1e-7, "{z}: {}", normal(z));
        }
        // E[max(0, x)] of the standard normal is 1 / sqrt(2 pi).
        assert!((expected_improvement(0.0, 1.0) - 0.398_942_280).abs() < 1e-7);
        assert!((expected_improvement(5.0, 1e-3) - 5.0).abs() < 1e-7);
    }

    #[test]
    fn it_finds_the_optimum_in_fewer_tries_than_chance() {
        let (candidates, seconds) = bowl();
        let tries = |bests: Vec<f64>| bests.iter().position(|best| *best < 1.05).unwrap_or(400) as f64 + 1.0;
        let mean = |each: &dyn Fn(u64) -> f64| (1..=8).map(|seed| each(seed).ln()).sum::<f64>() / 8.0;
        let learned = mean(&|seed| tries(play(&mut Learned::new(&candidates, seed), &seconds, 400))).exp();
        let chance = mean(&|seed| tries(play(&mut Random::new(400, seed), &seconds, 400))).exp();
        assert!(learned < 60.0 && learned < 0.5 * chance, "{learned} against {chance}");
    }

    #[test]
    fn a_space_of_failures_ends() {
        let (candidates, _) = bowl();
        let mut strategy = Learned::new(&candidates, 1);
        let mut count = 0;
        while let Some(index) = strategy.propose() {
            strategy.observe(index, None);
            count += 1;
        }
        assert_eq!(count, 400);
        assert_eq!(Learned::new(&Candidates::default(), 1).propose(), None);
    }
}
