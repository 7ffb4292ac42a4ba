//! Axes.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// An axis of numbers.
pub(in crate::page) struct Axis {
    /// What it shows, with its unit.
    pub(in crate::page) label: String,
    /// Whether it is logarithmic.
    pub(in crate::page) log: bool,
    /// How a number is written.
    pub(in crate::page) format: fn(f64) -> String,
}

/// The largest ratio of two numbers on a logarithmic axis, and the largest and smallest number on any axis.
const MOST: f64 = 1e15;

impl Axis {
    /// Whether a number can be shown.
    pub(super) fn shows(&self, value: f64) -> bool {
        let size = value.abs();
        value.is_finite() && size <= MOST && (!self.log || (value > 0.0 && size >= 1.0 / MOST))
    }

    /// The range of an axis that shows the numbers; `None` without any. A linear axis starts at 0.
    pub(super) fn range(&self, values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
        let values: Vec<f64> = values.filter(|value| self.shows(*value)).collect();
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        if self.log {
            // A little room, and at least a factor of 4 in all.
            let room = (4.0 * low / high).max(1.25 * 1.25).sqrt();
            return Some([low / room, high * room]);
        }
        let low = low.min(0.0);
        // A single value leaves no range that could be divided.
        let high = if high > low { high } else { low + 1.0 };
        Some([low, high])
    }

    /// Round numbers within a range, at most about `most`.
    pub(super) fn ticks(&self, [low, high]: [f64; 2], most: usize) -> Vec<f64> {
        let most = most.max(2);
        if !self.log {
            let wanted = (high - low) / most as f64;
            let power = 10f64.powf(wanted.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
            // Rounding must not skip a step that fits exactly.
            let step = step.into_iter().find(|step| *step >= wanted * 0.999).unwrap_or(10.0 * power);
            if !step.is_finite() || step <= 0.0 {
                return vec![low, high];
            }
            let first = (low / step).ceil();
            // A bound for ranges that are finer than floats.
            let count = ((high / step).floor() - first).clamp(0.0, 100.0) as usize;
            return (0..=count).map(|at| (first + at as f64) * step).collect();
        }
        let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let of = |factors: &[f64], each: i32| -> Vec<f64> {
            let powers = powers.clone().filter(|power| power.rem_euclid(each) == 0);
            let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
            all.filter(|tick| (low..=high).contains(tick)).collect()
        };
        let choices =
            [of(&[1.0, 2.0, 5.0], 1), of(&[1.0, 3.0], 1), of(&[1.0], 1), of(&[1.0], 2), of(&[1.0], 3)];
        let fits = choices.into_iter().find(|ticks| ticks.len() <= most);
        fits.filter(|ticks| !ticks.is_empty()).unwrap_or_else(|| vec![low, high])
    }
}

/// An axis as `plotters` draws it: a range, linear or logarithmic, with the numbers that are written at it.
pub(super) struct Scale {
    range: Range<f64>,
    log: bool,
    ticks: Vec<f64>,
}

impl Axis {
    /// The scale of a range, with at most about `most` numbers. The first number is at the start of the axis.
    pub(super) fn scale(&self, [low, high]: [f64; 2], most: usize) -> Scale {
        Scale { range: low..high, log: self.log, ticks: self.ticks([low, high], most) }
    }
}

impl Scale {
    /// Rows from the top down, with a name at the middle of each.
    pub(super) fn rows(count: usize) -> Self {
        let ticks = (0..count).map(|row| row as f64 + 0.5).collect();
        Self { range: count as f64..0.0, log: false, ticks }
    }

    pub(super) fn ticks(&self) -> &[f64] {
        &self.ticks
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let on = |value: f64| if self.log { value.ln() } else { value };
        let [start, end] = [self.range.start, self.range.end].map(on);
        let share = (on(*value) - start) / (end - start);
        limit.0 + (f64::from(limit.1 - limit.0) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Light points are those between the labels. There are none.
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(log: bool) -> Axis {
        Axis { label: String::new(), log, format: crate::number::significant }
    }

    #[test]
    fn linear_axes_have_round_numbers_from_0() {
        let linear = axis(false);
        assert_eq!(linear.range([3.0, 9.1].into_iter()), Some([0.0, 9.1]));
        assert_eq!(linear.ticks([0.0, 9.1], 5), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(linear.range([0.0].into_iter()), Some([0.0, 1.0]));
        assert_eq!(linear.range([f64::NAN, f64::INFINITY, 1e300].into_iter()), None);
    }

    #[test]
    fn logarithmic_axes_leave_out_what_they_cannot_show() {
        let log = axis(true);
        assert_eq!(log.range([0.0, -1.0].into_iter()), None);
        let [low, high] = log.range([0.0, 2.0].into_iter()).unwrap();
        assert!(low < 2.0 && high > 2.0 && (high / low - 4.0).abs() < 1e-9);
        assert_eq!(log.ticks([0.9, 11.0], 6), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(log.ticks([0.9, 1100.0], 4), [1.0, 10.0, 100.0, 1000.0]);
        assert!(log.ticks([1e-15, 1e15], 5).len() <= 31);
    }
}
