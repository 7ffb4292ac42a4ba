//! By the expected improvement of a model that is learned from the times so far.

use smartcore::ensemble::extra_trees_regressor::{ExtraTreesRegressor, ExtraTreesRegressorParameters};
use smartcore::linalg::basic::matrix::DenseMatrix;

use super::{Predicted, Strategy};
use crate::candidates::{Candidate, Candidates};

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

/// What [`Learned`] tries, and what it learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearnedOptions {
    /// Candidates of the first design that are the fastest by prediction.
    pub fastest: usize,
    /// Candidates of the first design, at random.
    pub random: usize,
    /// Whether the prediction is the model's prior: it learns how far times are from the prediction, as far as the prediction
    /// has shown to count. Without, it learns the times, with the prediction as one number among the parameters.
    pub prior: bool,
}

impl Default for LearnedOptions {
    fn default() -> Self {
        Self { fastest: 6, random: 9, prior: true }
    }
}

/// Proposes the candidate with the largest expected improvement, by randomised regression trees over the parameters and
/// the prediction: their mean is the expected logarithm of the time over the predicted one, their spread its uncertainty. How
/// much a difference in the prediction counts is fitted to the times so far. The first candidates are the library's
/// choice, the fastest by prediction, and some at random. A candidate without a time counts as slow as the slowest.
///
/// Trees need no scaling and no distance between words such as `b=image`, and they work from ten observations on.
pub struct Learned<'c> {
    candidates: &'c [Candidate],
    options: LearnedOptions,
    /// The mean of the logarithms of all predictions.
    typical: f64,
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
        Self::with(candidates, seed, LearnedOptions::default())
    }

    /// For these candidates, with other options than the default.
    pub fn with(candidates: &'c Candidates, seed: u64, options: LearnedOptions) -> Self {
        let all = &candidates.all;
        let mut random = fastrand::Rng::with_seed(seed);
        let logarithms: Vec<f64> = all.iter().filter_map(|one| Some(one.predicted?.ln())).collect();
        let has_predictions = !logarithms.is_empty();
        let typical = logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64;
        // The order by prediction begins with the guesses.
        let mut first: Vec<usize> = if has_predictions {
            let mut predicted = Predicted::new(candidates, seed);
            std::iter::from_fn(|| predicted.propose()).take(candidates.guesses + options.fastest).collect()
        } else {
            (0..candidates.guesses).collect()
        };
        // Without predictions, chance has to find the good regions.
        let count = if has_predictions { options.random } else { options.random + options.fastest };
        first.extend(random.choose_multiple(0..all.len(), count));
        first.reverse();
        Self {
            candidates: all,
            options,
            typical,
            first,
            known: vec![false; all.len()],
            observed: Vec::new(),
            random,
            expected: None,
            small: 0,
        }
    }

    /// The logarithm of a prediction; where there is none, the mean of the others.
    fn prior(&self, index: usize) -> f64 {
        self.candidates[index].predicted.map_or(self.typical, f64::ln)
    }

    /// How much of a difference in the logarithm of the prediction the times have: 0 to 1; 0 if it does not count.
    fn slope(&self, times: &[f64]) -> f64 {
        if !self.options.prior {
            return 0.0;
        }
        let count = times.len() as f64;
        let priors: Vec<f64> = self.observed.iter().map(|(index, _)| self.prior(*index)).collect();
        let mean = |all: &[f64]| all.iter().sum::<f64>() / count;
        let (x, y) = (mean(&priors), mean(times));
        let both: f64 = priors.iter().zip(times).map(|(prior, time)| (prior - x) * (time - y)).sum();
        let own: f64 = priors.iter().map(|prior| (prior - x) * (prior - x)).sum();
        if own > 0.0 { (both / own).clamp(0.0, 1.0) } else { 0.0 }
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
        let mut row = self.candidates[index].features.clone();
        row.push(self.prior(index));
        row
    }

    /// The candidate of the pool with the largest expected improvement, and the improvement. `None` if nothing can be
    /// learned.
    fn most_promising(&mut self) -> Option<(usize, f64)> {
        let best = self.best()?;
        let slowest = self.observed.iter().filter_map(|(_, time)| *time).fold(best, f64::max);
        let rows: Vec<Vec<f64>> = self.observed.iter().map(|(index, _)| self.row(*index)).collect();
        let mut times: Vec<f64> = self.observed.iter().map(|(_, time)| time.unwrap_or(slowest)).collect();
        let slope = self.slope(&times);
        for ((index, _), time) in self.observed.iter().zip(&mut times) {
            *time -= slope * self.prior(*index);
        }
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
        let improvement = |index: usize, [sum, squares]: [f64; 2]| {
            let mean = sum / count;
            // Trees that agree are no proof: a twentieth of the spread of all times remains.
            let floor = (0.02 * (slowest - best)).max(1e-3);
            let deviation = (squares / count - mean * mean).max(0.0).sqrt().max(floor);
            expected_improvement(best - mean - slope * self.prior(index), deviation)
        };
        let improved = pool.iter().zip(sums).map(|(index, sums)| (*index, improvement(*index, sums)));
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

    /// By hand: the slope of the regression of times on predictions, both as logarithms, within 0 and 1.
    #[test]
    fn a_prediction_counts_as_far_as_the_times_follow_it() {
        let texts: Vec<String> = (0..6).map(|index| format!("tile {index}x1")).collect();
        let predict = |text: &str| match text.as_bytes()[5] - b'0' {
            // One candidate without a prediction has the mean of the others, 2.
            5 => None,
            number => Some(f64::from(number).exp()),
        };
        let candidates = Candidates::listed(&texts, Some(&predict));
        let slope = |prior, time: fn(f64) -> f64| {
            let mut learned = Learned::with(&candidates, 1, LearnedOptions { prior, ..Default::default() });
            for (index, at) in [0.0, 1.0, 2.0, 3.0, 4.0, 2.0].into_iter().enumerate() {
                learned.observe(index, Some(time(at).exp()));
            }
            let times: Vec<f64> = learned.observed.iter().filter_map(|(_, time)| *time).collect();
            learned.slope(&times)
        };
        let near = |found: f64, want: f64| (found - want).abs() < 1e-9;
        assert!(near(slope(true, |at| 0.5 * at + 3.0), 0.5));
        assert!(near(slope(true, |at| 3.0 * at), 1.0));
        assert!(near(slope(true, |at| 7.0 - at), 0.0));
        assert!(near(slope(true, |_| 1.0), 0.0));
        assert!(near(slope(false, |at| at), 0.0));
    }

    /// A prediction that says nothing does not keep the search from the optimum.
    #[test]
    fn a_useless_prediction_does_little_harm() {
        let (mut candidates, seconds) = bowl();
        let mut random = fastrand::Rng::with_seed(3);
        for one in &mut candidates.all {
            one.predicted = Some(1.0 + 9.0 * random.f64());
        }
        let one = |seed| {
            let bests = play(&mut Learned::new(&candidates, seed), &seconds, 400);
            bests.iter().position(|best| *best < 1.05).map_or(400.0, |at| at as f64 + 1.0)
        };
        let tries = ((1..=8).map(|seed| f64::ln(one(seed))).sum::<f64>() / 8.0).exp();
        // One of 400 is as good: chance takes 200 on average.
        assert!(tries < 80.0, "{tries}");
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
