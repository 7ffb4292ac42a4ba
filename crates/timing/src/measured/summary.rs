//! How far predictions are from measurements.

use super::{PredictedRow, Row};
use crate::errors;

/// A prediction beside a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The predicted figure, in the row's unit.
    pub predicted: f64,
    /// The lowest and the highest figure at which a measurement is expected, by what sources other than the row's have
    /// measured; `None` if these are too few.
    pub band: Option<[f64; 2]>,
    /// Predicted time / measured time - 1: above 0 where the prediction is too slow.
    pub error: f64,
    /// Whether the measurement is in the band, if there is one.
    pub in_band: Option<bool>,
}

impl Outcome {
    /// A row and its prediction.
    pub fn new(row: &Row, predicted: &PredictedRow) -> Self {
        let figure = |seconds| row.unit.figure(seconds, predicted.work);
        let seconds = predicted.prediction.seconds;
        let found = figure(seconds);
        // A row must not judge a band that was made with it.
        let band = errors::of(row.gpu).and_then(|table| table.band_without(&row.source, seconds));
        let band = band.map(|band| {
            let mut band = errors::widened(band, predicted.prediction.sampling_error).map(figure);
            // The longest time is the lowest rate.
            if row.unit.is_rate() {
                band.reverse();
            }
            band
        });
        // Errors are those of times, so a rate is turned over.
        let error = if row.unit.is_rate() { row.measured / found } else { found / row.measured } - 1.0;
        let in_band = band.map(|[low, high]| (low..=high).contains(&row.measured));
        Self { predicted: found, band, error, in_band }
    }
}

/// Errors of several predictions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Predictions.
    pub count: usize,
    /// Rows without a prediction.
    pub refused: usize,
    /// Median of the absolute errors.
    pub median: f64,
    /// Measurements within their bands.
    pub in_band: usize,
    /// Predictions without a band.
    pub without_band: usize,
    /// Median width of the bands: highest / lowest; 0 of none.
    pub width: f64,
}

impl Summary {
    /// The summary of some rows; `None` stands for a row without a prediction.
    pub fn of<'o>(outcomes: impl IntoIterator<Item = Option<&'o Outcome>>) -> Self {
        let (mut errors, mut widths) = (Vec::new(), Vec::new());
        let mut summary = Self::default();
        for outcome in outcomes {
            let Some(outcome) = outcome else {
                summary.refused += 1;
                continue;
            };
            summary.count += 1;
            summary.in_band += usize::from(outcome.in_band == Some(true));
            summary.without_band += usize::from(outcome.band.is_none());
            errors.push(outcome.error.abs());
            widths.extend(outcome.band.map(|[low, high]| high / low));
        }
        summary.median = median(errors);
        summary.width = median(widths);
        summary
    }

    /// The share of rows that are in their bands, of those that have a band or no prediction; `None` if there are none.
    pub fn share_in_band(&self) -> Option<f64> {
        let judged = self.count + self.refused - self.without_band;
        (judged > 0).then(|| self.in_band as f64 / judged as f64)
    }
}

/// The middle value; of an even number, the mean of the two in the middle. 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand.
    #[test]
    fn a_summary_has_medians() {
        let outcome = |error, in_band| Outcome {
            predicted: 1.0,
            band: Some([1.0, 2.0]),
            error,
            in_band: Some(in_band),
        };
        let all = [outcome(0.5, true), outcome(-0.1, true), outcome(0.2, false), outcome(-0.4, true)];
        let summary = Summary::of(all.iter().map(Some).chain([None]));
        assert_eq!((summary.count, summary.refused, summary.in_band), (4, 1, 3));
        assert!((summary.median - 0.3).abs() < 1e-12 && (summary.width - 2.0).abs() < 1e-12);
        // Three of four predictions, and one row without any.
        assert_eq!(summary.share_in_band(), Some(0.6));
        assert_eq!(Summary::of([]), Summary::default());
        let unknown = Outcome { band: None, in_band: None, ..all[0].clone() };
        let summary = Summary::of([Some(&unknown)]);
        assert_eq!((summary.count, summary.without_band, summary.share_in_band()), (1, 1, None));
    }
}
