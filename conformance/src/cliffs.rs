//! Cliffs: a filter that takes several times as long as one that does a little less, with the parameters that the
//! library chooses for both.

use std::fmt;

use tripipe_kernels::filter::{PixelType, Size};
use tripipe_launch::{ExecuteError, Executor};

use crate::defaults::{DefaultPlan, filter};

/// The ratio of the times of neighbours above which there is a cliff. The work of neighbouring sizes differs by 2.8 at
/// most (9 and 25 pixels).
pub const CLIFF: f64 = 3.0;

/// A filter and its time.
#[derive(Clone, Debug)]
pub struct FilterTime {
    /// The chain and the image.
    pub name: String,
    /// The parameters that were chosen.
    pub parameters: String,
    /// Seconds.
    pub seconds: f64,
}

impl fmt::Display for FilterTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:9.1} us  {}  {}", self.seconds * 1e6, self.name, self.parameters)
    }
}

/// The times of a group of chains over an image, in order. Chains that the device cannot run are left out.
///
/// # Errors
/// Those of the executor.
pub fn times(
    executor: &mut dyn Executor,
    group: &[String],
    size: Size,
    channels: usize,
    element: PixelType,
) -> Result<Vec<FilterTime>, ExecuteError> {
    let probe = executor.probe().clone();
    let plans = group.iter().filter_map(|text| filter(text, size, channels, element, &probe).ok());
    let timed = |plan: DefaultPlan| {
        let seconds = plan.seconds(executor)?;
        Ok(FilterTime { name: plan.name, parameters: plan.parameters, seconds })
    };
    plans.map(timed).collect()
}

/// The neighbours with a cliff between them.
pub fn cliffs(times: &[FilterTime]) -> impl Iterator<Item = [&FilterTime; 2]> {
    times.windows(2).filter_map(|pair| match pair {
        [one, next] if next.seconds > CLIFF * one.seconds || one.seconds > CLIFF * next.seconds => {
            Some([one, next])
        }
        _ => None,
    })
}
