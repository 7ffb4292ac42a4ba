//! The median of repeated runs, and how well it is known.

/// Probability that an [`Interval`] misses the true median.
const MISSES: f64 = 0.05;

/// A confidence interval of a median: it contains the true median with a probability of at least 95 %.
///
/// Its ends are order statistics of the sample. Each value of a sample is below the median with a probability of one
/// half, whatever the distribution of the values, so the number of values below it is binomial. The interval from the
/// k-th smallest to the k-th largest of n values misses the median with a probability of 2 P(X < k), X ~ B(n, 1/2); k
/// is the largest number for which that is at most 5 %. Outliers do not move the ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The interval of the median of `values`. `None` for fewer than 6 values: no interval of their range is as
    /// certain.
    pub fn of_median(values: &[f64]) -> Option<Self> {
        let k = rank(values.len())?;
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self { low: sorted[k - 1], high: sorted[sorted.len() - k] })
    }

    /// Whether the two intervals have no value in common.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        self.high < other.low || other.high < self.low
    }
}

/// The largest k with 2 P(X < k) at most 5 % for X ~ B(n, 1/2); `None` if that is 0.
fn rank(n: usize) -> Option<usize> {
    // P(X = i), computed from logarithms so that it does not underflow for many values.
    let mut log_probability = -(n as f64) * std::f64::consts::LN_2;
    let (mut below, mut k) = (0.0, 0);
    while k < n / 2 {
        below += log_probability.exp();
        if 2.0 * below > MISSES {
            break;
        }
        log_probability += ((n - k) as f64 / (k + 1) as f64).ln();
        k += 1;
    }
    (k > 0).then_some(k)
}

/// The median: of an even number of values, the mean of the middle two. NaN if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(middle)) {
        (_, None) => f64::NAN,
        (0, Some(upper)) => f64::midpoint(sorted[middle - 1], *upper),
        (_, Some(value)) => *value,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic")]

    use super::*;

    /// Table of ranks for 95 %, as statistics books print it (Conover, Practical Nonparametric Statistics).
    #[test]
    fn the_ranks_are_those_of_the_published_table() {
        let published = [
            (5, None),
            (6, Some(1)),
            (8, Some(1)),
            (9, Some(2)),
            (10, Some(2)),
            (11, Some(2)),
            (12, Some(3)),
        ];
        let larger =
            [(15, Some(4)), (20, Some(6)), (25, Some(8)), (30, Some(10)), (50, Some(18)), (100, Some(40))];
        for (n, k) in published.into_iter().chain(larger) {
            assert_eq!(rank(n), k, "{n} values");
        }
        assert_eq!((rank(0), rank(1)), (None, None));
        // For many values, k is n/2 - 0.98 sqrt(n).
        let k = rank(10_000).unwrap();
        assert!((4900..=4903).contains(&k), "{k}");
    }

    #[test]
    fn the_interval_contains_the_median_in_95_percent_of_samples_of_a_skewed_distribution() {
        let mut random = fastrand::Rng::with_seed(7);
        for n in [6, 13, 40] {
            // Exponential: the median is ln 2.
            let contains = (0..4000).filter(|_| {
                let values: Vec<f64> = (0..n).map(|_| -(1.0 - random.f64()).ln()).collect();
                let interval = Interval::of_median(&values).unwrap();
                (interval.low..=interval.high).contains(&std::f64::consts::LN_2)
            });
            let share = contains.count() as f64 / 4000.0;
            assert!(share > 0.94, "{share} with {n} values");
        }
    }

    #[test]
    fn outliers_move_neither_the_median_nor_its_interval() {
        let mut values: Vec<f64> = (0..20).map(|step| 100.0 + f64::from(step)).collect();
        let (middle, interval) = (median(&values), Interval::of_median(&values).unwrap());
        assert_eq!((middle, interval), (109.5, Interval { low: 105.0, high: 114.0 }));
        values[19] = 1e9;
        values[18] = f64::INFINITY;
        assert_eq!((median(&values), Interval::of_median(&values).unwrap()), (middle, interval));
        assert!(median(&[]).is_nan());
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
    }
}
