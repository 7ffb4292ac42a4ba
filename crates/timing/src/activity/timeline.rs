//! Sums over equal intervals of time. Intervals grow as time goes on, so that their number stays small.

/// Intervals, at most.
const MOST: usize = 200;

/// Sums of several quantities over equal intervals of time, in ticks.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    /// Ticks of an interval.
    pub(crate) width: u64,
    /// The sums of each quantity.
    series: Vec<Vec<f64>>,
}

impl Timeline {
    /// `count` quantities.
    pub(crate) fn new(count: usize) -> Self {
        // 16 clocks at first, which is fine enough for the shortest launch.
        Self { width: 1024, series: vec![Vec::new(); count] }
    }

    /// Adds `amount`, evenly distributed over an interval.
    pub(crate) fn spread(&mut self, series: usize, start: u64, ticks: u64, amount: f64) {
        if ticks == 0 {
            return self.add(series, start, amount);
        }
        // Before anything is added, so that the loop below adds to at most `MOST` intervals.
        while (start + ticks - 1) / self.width >= MOST as u64 {
            self.coarsen();
        }
        let (end, rate) = (start + ticks, amount / ticks as f64);
        let mut at = start;
        while at < end {
            let next = (at / self.width + 1) * self.width;
            self.add(series, at, (next.min(end) - at) as f64 * rate);
            at = next;
        }
    }

    /// Adds `amount` at a time.
    pub(crate) fn add(&mut self, series: usize, at: u64, amount: f64) {
        while at / self.width >= MOST as u64 {
            self.coarsen();
        }
        let bin = (at / self.width) as usize;
        let sums = &mut self.series[series];
        if sums.len() <= bin {
            sums.resize(bin + 1, 0.0);
        }
        sums[bin] += amount;
    }

    fn coarsen(&mut self) {
        // Twice the width and half the number: the sums stay exact, and the cost of a long launch is bounded.
        self.width *= 2;
        for sums in &mut self.series {
            *sums = sums.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
    }

    /// Doubles intervals until they are at least that long.
    pub(crate) fn widen(&mut self, width: u64) {
        while self.width < width {
            self.coarsen();
        }
    }

    /// Intervals that any quantity has.
    pub(crate) fn len(&self) -> usize {
        self.series.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The sum of a quantity over an interval.
    pub(crate) fn at(&self, series: usize, bin: usize) -> f64 {
        self.series.get(series).and_then(|sums| sums.get(bin)).copied().unwrap_or(0.0)
    }

    /// The sum of a quantity.
    pub(crate) fn total(&self, series: usize) -> f64 {
        self.series.get(series).map_or(0.0, |sums| sums.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Timeline};

    /// By hand: what is added stays, whatever the intervals.
    #[test]
    fn sums_are_kept_as_intervals_grow() {
        let mut timeline = Timeline::new(2);
        timeline.spread(0, 1000, 2000, 2000.0);
        timeline.add(1, 1030, 64.0);
        assert_eq!([0, 1, 2].map(|bin| timeline.at(0, bin)), [24.0, 1024.0, 952.0]);
        assert_eq!([0, 1].map(|bin| timeline.at(1, bin)), [0.0, 64.0]);
        timeline.spread(0, 1 << 30, 100, 50.0);
        assert!(timeline.width.is_power_of_two() && timeline.len() <= MOST);
        assert_eq!((timeline.total(0), timeline.total(1)), (2050.0, 64.0));
        assert_eq!(timeline.at(1, 0), 64.0);
    }
}
