//! Raw measurements: times of computations of a family with several parameters on one device.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::target::{Basis, Target};

/// A computation that is timed. Its text form parses back.
pub trait TimedSubject: Clone + Debug + PartialEq + Display + FromStr<Err: Display> {
    /// The parameters of its family. Their text form parses back.
    type Parameters: Copy + Debug + PartialEq + Display + FromStr<Err: Display>;

    /// Whether the shipped files of predicted times have any of its family.
    const IS_PREDICTED: bool;
}

/// Times on one device, as measured or predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
pub struct TimeSeries<S: TimedSubject> {
    /// The devices that the times are used for.
    pub on: Target,
    /// Measured or predicted.
    pub basis: Basis,
    /// How the times were taken.
    pub source: String,
    /// The device's name.
    pub device: String,
    /// Its driver's version.
    pub driver: String,
    /// Version of this library.
    pub version: String,
    /// Day, as `2026-11-21`.
    pub date: String,
    /// The times. In a file: by parameters, a line for each computation, which ends with the microseconds.
    #[serde(with = "by_parameters")]
    pub times: Vec<TimeOf<S>>,
}

impl<S: TimedSubject> TimeSeries<S> {
    /// How, on which device and when the times were taken.
    pub(crate) fn provenance(&self) -> String {
        format!("{}; {}, driver {}, {}", self.source, self.device, self.driver, self.date)
    }
}

/// The time of a computation with certain parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeOf<S: TimedSubject> {
    /// The computation.
    pub of: S,
    /// Seconds, the median.
    pub seconds: f64,
    /// The parameters.
    pub parameters: S::Parameters,
}

/// Microseconds in four digits: times repeat to a percent at best.
pub(crate) fn microseconds(seconds: f64) -> String {
    let microseconds = seconds * 1e6;
    let digits = (3 - microseconds.max(1e-3).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{microseconds:.digits$} us")
}

/// Seconds of a text such as `41.30 us`.
fn parse_microseconds(text: &str) -> Option<f64> {
    let microseconds = text.strip_suffix(" us")?.parse::<f64>().ok()?;
    (microseconds > 0.0 && microseconds.is_finite()).then_some(microseconds * 1e-6)
}

/// The times of a file, by parameters.
mod by_parameters {
    use std::collections::BTreeMap;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{TimeOf, TimedSubject, microseconds, parse_microseconds};

    pub(super) fn serialize<S: TimedSubject, Z: Serializer>(
        times: &[TimeOf<S>],
        serializer: Z,
    ) -> Result<Z::Ok, Z::Error> {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for TimeOf { of, seconds, parameters } in times {
            let line = format!("{of} {}", microseconds(*seconds));
            all.entry(parameters.to_string()).or_default().push(line);
        }
        all.serialize(serializer)
    }

    pub(super) fn deserialize<'de, S: TimedSubject, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<TimeOf<S>>, D::Error> {
        let all = BTreeMap::<String, Vec<String>>::deserialize(deserializer)?;
        let mut times = Vec::new();
        for (parameters, lines) in all {
            let parameters: S::Parameters = parameters.parse().map_err(D::Error::custom)?;
            for line in lines {
                // The time is the last two words.
                let at = line.strip_suffix(" us").and_then(|rest| rest.rfind(' '));
                let time = at.and_then(|at| Some((&line[..at], parse_microseconds(&line[at + 1..])?)));
                let Some((of, seconds)) = time else {
                    let want = "want a time in microseconds at the end, such as `41.3 us`";
                    return Err(D::Error::custom(format_args!("`{line}`: {want}")));
                };
                let of = of.parse().map_err(|error| D::Error::custom(format_args!("`{line}`: {error}")))?;
                times.push(TimeOf { of, seconds, parameters });
            }
        }
        Ok(times)
    }
}
