//! How long ceilings are measured.

use std::time::Duration;

use tripipe_launch::{ExecuteError, Launch, Timing};

use super::PeakError;
use crate::bench::{Bench, Repeat};

/// The time budget of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// About a second: short runs over buffers slightly larger than the cache.
    Quick,
    /// Several seconds.
    Full,
}

impl Bench<'_> {
    /// Target duration of a round: long compared with the clock's resolution and a launch's start, short on a slow
    /// device. A predicted time needs no more than its start-up to become negligible.
    pub fn round_seconds(&self, effort: Effort) -> f64 {
        match effort {
            _ if self.time_source().is_predicted() => 0.001,
            Effort::Quick => 0.004,
            Effort::Full => 0.012,
        }
    }

    /// Seconds of one launch, alone, by the device's clock.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn seconds(&mut self, launch: &Launch) -> Result<f64, ExecuteError> {
        let timings = self.run(std::slice::from_ref(launch))?;
        Ok(timings.iter().map(Timing::seconds).sum())
    }

    /// Seconds of a launch. Each round repeats the launch until the round is full and takes the mean; the best round
    /// counts. Gaps between launches are not counted.
    ///
    /// # Errors
    /// Any error of the executor; its clock shows no time passing.
    pub fn best_seconds(&mut self, launch: &Launch, effort: Effort) -> Result<f64, PeakError> {
        let once = self.seconds(launch)?;
        if self.time_source().is_predicted() {
            return Ok(once);
        }
        let repeats = (self.round_seconds(effort) / once.max(1e-9)).ceil().clamp(1.0, 500.0) as usize;
        let round = vec![launch.clone(); repeats];
        let rounds = match effort {
            Effort::Quick => 2,
            Effort::Full => 4,
        };
        let times = Repeat { most: rounds, least: rounds, limit: Duration::ZERO }
            .times(|| Ok::<_, ExecuteError>(self.run(&round)?.iter().map(Timing::seconds).sum()))?;
        let best = times.into_iter().fold(f64::INFINITY, f64::min) / repeats as f64;
        if best > 0.0 { Ok(best) } else { Err(PeakError::Clock) }
    }
}
