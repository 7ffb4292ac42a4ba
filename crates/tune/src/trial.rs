//! The outcome of one set of parameters.

use serde::{Deserialize, Serialize};

/// One set of parameters, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The parameters, in the text form of their family.
    pub parameters: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a set of parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// The result is correct; the times.
    Measured(Times),
    /// The first run was so slow that the candidate was dropped. Its result was not compared.
    Dropped {
        /// Seconds of that run.
        seconds: f64,
    },
    /// The result is wrong.
    Wrong {
        /// The first difference.
        reason: String,
    },
    /// The device or the problem rules the parameters out.
    Unsupported {
        /// Why.
        reason: String,
    },
    /// The driver's compiler refused the kernel.
    BuildFailed {
        /// Its message.
        reason: String,
    },
    /// The process that ran the kernel ended.
    Crashed {
        /// The signal, or the exit code, and the last words of the process.
        reason: String,
    },
    /// The kernel did not end in time.
    Hung {
        /// Seconds after which it was stopped.
        after_s: f64,
        /// What it was doing, e.g. `building the kernel`.
        #[serde(default)]
        during: String,
    },
    /// The device or the process ran out of memory.
    OutOfMemory {
        /// The message of the driver, or the limit that was exceeded.
        reason: String,
    },
    /// The device was lost.
    DeviceLost {
        /// The message of the driver.
        reason: String,
    },
    /// The driver reported another error.
    Failed {
        /// Its message.
        reason: String,
    },
    /// The device reports no time.
    NoTime,
}

/// Times of verified parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Seconds of each timed run, from the start of the first launch to the end of the last one, in order.
    pub seconds: Vec<f64>,
    /// The median.
    pub median: f64,
    /// The confidence interval of the median (95 %, by order statistics); of fewer than 6 runs, their range.
    pub interval: [f64; 2],
    /// The shortest run.
    pub best: f64,
    /// Median of the reference kernel, interleaved with the runs; `None` without a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<f64>,
    /// The median relative to the reference kernel's, run by run: free of drift. `None` without a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<f64>,
    /// The confidence interval of `relative` (95 %, by order statistics); `None` for too few runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_interval: Option<[f64; 2]>,
    /// How busy the host's CPU was in the timed runs: all threads of the process, and the calling thread, in cores. `None`
    /// if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_cores: Option<[f64; 2]>,
    /// Whether the time is predicted, not measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub predicted: bool,
}

impl Times {
    /// The time in seconds, free of drift: that relative to the reference kernel, for a reference kernel that takes
    /// `reference` seconds. The median, if either is not known.
    pub fn at(&self, reference: Option<f64>) -> f64 {
        self.relative.zip(reference).map_or(self.median, |(relative, reference)| relative * reference)
    }

    /// A predicted time: one run without spread.
    pub fn predicted(seconds: f64) -> Self {
        Self {
            seconds: vec![seconds],
            median: seconds,
            interval: [seconds; 2],
            best: seconds,
            predicted: true,
            ..Self::default()
        }
    }
}

impl Outcome {
    /// The times; `None` unless the parameters were measured.
    pub fn times(&self) -> Option<&Times> {
        match self {
            Self::Measured(times) => Some(times),
            _ => None,
        }
    }

    /// The median time in seconds; `None` unless the parameters were measured.
    pub fn seconds(&self) -> Option<f64> {
        self.times().map(|times| times.median)
    }

    /// Whether the parameters endanger the device or the process that runs them, so that they are not tried again
    /// with this driver.
    pub fn is_dangerous(&self) -> bool {
        matches!(
            self,
            Self::Crashed { .. } | Self::Hung { .. } | Self::OutOfMemory { .. } | Self::DeviceLost { .. }
        )
    }

    /// Why there is no time, in words; `None` when there is one.
    pub fn reason(&self) -> Option<String> {
        Some(match self {
            Self::Measured(_) => return None,
            Self::Dropped { seconds } => format!("dropped: its first run took {seconds:.3e} s"),
            Self::Wrong { reason } => format!("a wrong result: {reason}"),
            Self::Unsupported { reason } => format!("not supported: {reason}"),
            Self::BuildFailed { reason } => format!("does not build: {reason}"),
            Self::Crashed { reason } => format!("crashed: {reason}"),
            Self::Hung { after_s, during } if during.is_empty() => format!("stopped after {after_s} s"),
            Self::Hung { after_s, during } => format!("stopped after {after_s} s of {during}"),
            Self::OutOfMemory { reason } => format!("out of memory: {reason}"),
            Self::DeviceLost { reason } => format!("lost the device: {reason}"),
            Self::Failed { reason } => reason.clone(),
            Self::NoTime => "the device reports no time for it".to_owned(),
        })
    }
}
