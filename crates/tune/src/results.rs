//! What logs say: the best parameters of each problem, differences between logs, and how well predictions rank.

use std::collections::BTreeMap;

use crate::log::{Event, LogContents, LogDevice, LogEntry};
use crate::{Outcome, Times};

/// What a log knows about one problem on one device.
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemResults {
    /// The device.
    pub device: LogDevice,
    /// The problem.
    pub problem: String,
    /// Parameters with a time, the fastest first.
    pub timed: Vec<TimedParameters>,
    /// How many sets of parameters have no time.
    pub failed: usize,
    /// How many of those are not tried again.
    pub dangerous: usize,
}

/// Parameters and their times.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedParameters {
    /// The parameters.
    pub parameters: String,
    /// The times: those of the last trial, as a search that continues the log uses them.
    pub times: Times,
    /// The time that was predicted.
    pub predicted: Option<f64>,
    /// The day, e.g. `2026-11-23`.
    pub day: String,
    /// The version of Tripipe.
    pub tool: String,
}

/// The results of a log by device and problem, in the order of their names.
pub fn results(log: &LogContents) -> Vec<ProblemResults> {
    type Own<'l> = BTreeMap<&'l str, Vec<&'l LogEntry>>;
    let mut grouped: BTreeMap<(&LogDevice, &str), Own<'_>> = BTreeMap::new();
    for entry in &log.entries {
        let own = grouped.entry((&entry.device, &entry.problem)).or_default();
        own.entry(&entry.parameters).or_default().push(entry);
    }
    let of = |((device, problem), own): ((&LogDevice, &str), Own<'_>)| {
        let mut timed: Vec<TimedParameters> = Vec::new();
        let (mut failed, mut dangerous) = (0, 0);
        for (parameters, entries) in own {
            let measured = entries.iter().rev().find_map(|entry| match &entry.outcome {
                Some(Outcome::Measured(times)) => Some((entry, times)),
                _ => None,
            });
            let risky = entries.iter().any(|entry| entry.outcome.as_ref().is_some_and(Outcome::is_dangerous));
            // A trial that failed after it was measured has no time that can be trusted.
            let last_is_good =
                entries.iter().rev().find_map(|entry| entry.outcome.as_ref()).is_some_and(|outcome| {
                    outcome.seconds().is_some() || matches!(outcome, Outcome::Dropped { .. })
                });
            match measured {
                Some((entry, times)) if !risky && last_is_good => timed.push(TimedParameters {
                    parameters: parameters.to_owned(),
                    times: times.clone(),
                    predicted: entry.predicted,
                    day: entry.date.chars().take("2026-11-23".len()).collect(),
                    tool: entry.tool.clone(),
                }),
                _ => {
                    let ended = entries.iter().filter(|entry| entry.event == Event::Ended).count();
                    let took_the_machine_down = 2 * ended < entries.len();
                    let has_outcome = entries.iter().any(|entry| entry.outcome.is_some());
                    failed += usize::from(has_outcome || took_the_machine_down);
                    dangerous += usize::from(risky || (!has_outcome && took_the_machine_down));
                }
            }
        }
        let reference = timed.iter().find_map(|timed| timed.times.reference);
        timed.sort_by(|a, b| a.times.at(reference).total_cmp(&b.times.at(reference)));
        ProblemResults { device: device.clone(), problem: problem.to_owned(), timed, failed, dangerous }
    };
    grouped.into_iter().map(of).collect()
}

/// Predicted times held against measured ones.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionQuality {
    /// The device.
    pub device: LogDevice,
    /// The problem.
    pub problem: String,
    /// Pairs of times.
    pub count: usize,
    /// Spearman's rank correlation between predicted and measured times; `None` if all are equal.
    pub rank_correlation: Option<f64>,
    /// The time of the candidate with the best prediction, over the best time.
    pub first: f64,
}

/// How well predictions rank the parameters of each problem; problems with fewer than 3 pairs are left out.
pub fn prediction_quality(results: &[ProblemResults]) -> Vec<PredictionQuality> {
    let of = |one: &ProblemResults| {
        let pairs: Vec<(f64, f64)> = one
            .timed
            .iter()
            .filter(|timed| !timed.times.predicted)
            .filter_map(|timed| Some((timed.predicted?, timed.times.median)))
            .collect();
        let first = pairs.iter().min_by(|(a, _), (b, _)| a.total_cmp(b))?.1;
        let best = pairs.iter().map(|(_, seconds)| *seconds).reduce(f64::min)?;
        (pairs.len() >= 3).then(|| PredictionQuality {
            device: one.device.clone(),
            problem: one.problem.clone(),
            count: pairs.len(),
            rank_correlation: spearman(&pairs),
            first: first / best,
        })
    };
    results.iter().filter_map(of).collect()
}

/// Predicted times of a family held against measured ones, over all of its problems and devices.
#[derive(Clone, Debug, PartialEq)]
pub struct FamilyQuality {
    /// `gemm`, `filter`.
    pub family: String,
    /// Problems with a quality of their own.
    pub problems: usize,
    /// Pairs of times of all of them.
    pub count: usize,
    /// The mean of the rank correlations; `None` if no problem has one.
    pub rank_correlation: Option<f64>,
    /// The geometric mean of [`PredictionQuality::first`].
    pub first: f64,
}

/// How well predictions rank, by family, in the order of their names.
pub fn family_quality(all: &[PredictionQuality]) -> Vec<FamilyQuality> {
    let mut families: BTreeMap<&str, Vec<&PredictionQuality>> = BTreeMap::new();
    for one in all {
        families.entry(one.problem.split(' ').next().unwrap_or_default()).or_default().push(one);
    }
    let of = |(family, own): (&str, Vec<&PredictionQuality>)| {
        let ranks: Vec<f64> = own.iter().filter_map(|one| one.rank_correlation).collect();
        let logarithms: f64 = own.iter().map(|one| one.first.ln()).sum();
        FamilyQuality {
            family: family.to_owned(),
            problems: own.len(),
            count: own.iter().map(|one| one.count).sum(),
            rank_correlation: (!ranks.is_empty()).then(|| ranks.iter().sum::<f64>() / ranks.len() as f64),
            first: (logarithms / own.len().max(1) as f64).exp(),
        }
    };
    families.into_iter().map(of).collect()
}

/// Spearman's rank correlation: that of the ranks, where equal values share the mean of their ranks. `None` when all
/// values of one side are equal.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    let [a, b] = [pairs.iter().map(|(a, _)| *a).collect(), pairs.iter().map(|(_, b)| *b).collect()]
        .map(|values: Vec<f64>| ranks(&values));
    let mean = f64::midpoint(pairs.len() as f64, 1.0);
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let spread = (product(&a, &a) * product(&b, &b)).sqrt();
    (spread > 0.0).then(|| product(&a, &b) / spread)
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let before = order.iter().take_while(|index| values[**index] < values[equal[0]]).count();
        for index in equal {
            ranks[*index] = before as f64 + f64::midpoint(equal.len() as f64, 1.0);
        }
    }
    ranks
}

/// A problem in two logs.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultDifference {
    /// The device.
    pub device: LogDevice,
    /// The problem.
    pub problem: String,
    /// The fastest parameters and their time in each log.
    pub fastest: [Option<(String, f64)>; 2],
}

/// The fastest parameters in two logs, for each problem in either of them. Drivers are not compared: a problem before
/// and after an update of the driver is one problem.
pub fn differences(logs: [&LogContents; 2]) -> Vec<ResultDifference> {
    type Key = (String, String);
    let mut all: BTreeMap<Key, ResultDifference> = BTreeMap::new();
    for (side, log) in logs.into_iter().enumerate() {
        for ProblemResults { device, problem, timed, .. } in results(log) {
            let found = timed.first().map(|best| (best.parameters.clone(), best.times.median));
            let difference = all.entry((device.name.clone(), problem.clone())).or_insert_with(|| {
                ResultDifference { device: device.clone(), problem: problem.clone(), fastest: [None, None] }
            });
            let known = &mut difference.fastest[side];
            if let Some(found) = found
                && known.as_ref().is_none_or(|known| found.1 < known.1)
            {
                *known = Some(found);
            }
        }
    }
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trial;
    use crate::log::TrialSubject;

    fn subject(problem: &str) -> TrialSubject {
        let device = LogDevice { name: "GPU".to_owned(), ..LogDevice::default() };
        TrialSubject { device, host: "h".to_owned(), problem: problem.to_owned() }
    }

    fn timed(parameters: &str, seconds: f64, runs: usize, predicted: f64) -> LogEntry {
        let times = Times { seconds: vec![seconds; runs], predicted: false, ..Times::predicted(seconds) };
        let trial = Trial { parameters: parameters.to_owned(), outcome: Outcome::Measured(times) };
        subject("gemm f32 8x8x8").ended(&trial, Some(predicted))
    }

    fn log(entries: Vec<LogEntry>) -> LogContents {
        LogContents { entries, torn: 0 }
    }

    /// Values of scipy.stats.spearmanr.
    #[test]
    fn rank_correlations_are_those_of_scipy() {
        let pairs = [(1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (4.0, 3.0), (5.0, 5.0)];
        assert!((spearman(&pairs).unwrap() - 0.8).abs() < 1e-12);
        let ties = [(1.0, 10.0), (2.0, 10.0), (2.0, 30.0), (3.0, 20.0)];
        assert!((spearman(&ties).unwrap() - 0.5).abs() < 1e-12, "{:?}", spearman(&ties));
        assert_eq!(spearman(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(spearman(&[(1.0, 3.0), (2.0, 1.0)]), Some(-1.0));
    }

    #[test]
    fn the_last_trial_counts_and_failures_do_not() {
        let crashed =
            Trial { parameters: "b".to_owned(), outcome: Outcome::Crashed { reason: "signal 6".to_owned() } };
        let all = log(vec![
            timed("a", 1.0, 9, 1.0),
            timed("a", 2.0, 3, 1.0),
            timed("b", 0.1, 9, 2.0),
            subject("gemm f32 8x8x8").ended(&crashed, None),
            timed("c", 1.5, 3, 3.0),
            subject("gemm f32 8x8x8").started("d"),
        ]);
        let found = results(&all);
        assert_eq!(found.len(), 1);
        let order: Vec<_> =
            found[0].timed.iter().map(|one| (one.parameters.as_str(), one.times.median)).collect();
        assert_eq!(order, [("c", 1.5), ("a", 2.0)]);
        assert_eq!((found[0].failed, found[0].dangerous), (2, 2));
        assert_eq!(found[0].timed[0].day.len(), 10);
    }

    #[test]
    fn predictions_are_judged_by_their_ranks_and_their_first() {
        let all = log(vec![timed("a", 1.0, 1, 30.0), timed("b", 2.0, 1, 10.0), timed("c", 3.0, 1, 20.0)]);
        let quality = &prediction_quality(&results(&all))[0];
        assert_eq!((quality.count, quality.first), (3, 2.0));
        assert!((quality.rank_correlation.unwrap() + 0.5).abs() < 1e-12);
        assert!(prediction_quality(&results(&log(vec![timed("a", 1.0, 1, 1.0)]))).is_empty());
    }

    #[test]
    fn families_have_the_means_of_their_problems() {
        let quality = |problem: &str, count, rank_correlation, first| PredictionQuality {
            device: LogDevice::default(),
            problem: problem.to_owned(),
            count,
            rank_correlation,
            first,
        };
        let found = family_quality(&[
            quality("gemm f32 8x8x8", 10, Some(0.9), 1.0),
            quality("filter laplace 8x8x1 u8", 4, None, 3.0),
            quality("gemm f32 9x9x9", 20, Some(0.5), 4.0),
            quality("gemm f16 9x9x9", 30, None, 2.0),
        ]);
        let [filter, gemm] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((filter.family.as_str(), filter.problems, filter.rank_correlation), ("filter", 1, None));
        assert_eq!((gemm.family.as_str(), gemm.problems, gemm.count), ("gemm", 3, 60));
        assert!((gemm.rank_correlation.unwrap() - 0.7).abs() < 1e-12 && (gemm.first - 2.0).abs() < 1e-12);
        assert!(family_quality(&[]).is_empty());
    }

    #[test]
    fn differences_name_the_fastest_of_both() {
        let a = log(vec![timed("a", 1.0, 1, 1.0), timed("b", 2.0, 1, 1.0)]);
        let b = log(vec![timed("b", 0.5, 1, 1.0)]);
        let found = differences([&a, &b]);
        assert_eq!(found[0].fastest, [Some(("a".to_owned(), 1.0)), Some(("b".to_owned(), 0.5))]);
        assert_eq!(differences([&a, &LogContents::default()])[0].fastest[1], None);
    }
}
