//! Limits for a kernel: `ls<=32,registers<=32,threads>=512`.

use std::fmt;
use std::str::FromStr;

use crate::{Analysis, Column, Polynomial};

/// One limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    figure: Figure,
    most: bool,
    value: f64,
    text: String,
}

/// What a limit is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// Cycles of a work-item.
    Column(Column),
    /// Loads and stores.
    Messages,
    /// Work registers.
    Registers,
    /// Uniform registers.
    Uniform,
    /// Bytes of spilled registers.
    SpillBytes,
    /// Bytes of private memory.
    StackBytes,
    /// Bytes of local memory.
    LocalBytes,
    /// Threads of a core.
    Threads,
    /// The predicted time of the launch in milliseconds.
    Milliseconds,
}

const FIGURES: [(&str, Figure); 17] = [
    ("a", Figure::Column(Column::Arithmetic)),
    ("alu", Figure::Column(Column::Arithmetic)),
    ("fma", Figure::Column(Column::Fma)),
    ("cvt", Figure::Column(Column::Convert)),
    ("sfu", Figure::Column(Column::Special)),
    ("efu", Figure::Column(Column::Special)),
    ("ls", Figure::Column(Column::LoadStore)),
    ("t", Figure::Column(Column::Texture)),
    ("messages", Figure::Messages),
    ("registers", Figure::Registers),
    ("uniform", Figure::Uniform),
    ("spill", Figure::SpillBytes),
    ("stack", Figure::StackBytes),
    ("local", Figure::LocalBytes),
    ("threads", Figure::Threads),
    ("ms", Figure::Milliseconds),
    ("time", Figure::Milliseconds),
];

/// Units of time, in milliseconds.
const UNITS: [(&str, f64); 5] = [("ms", 1.0), ("us", 1e-3), ("µs", 1e-3), ("ns", 1e-6), ("s", 1e3)];

impl Figure {
    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Column(_) => "cycles",
            Self::Messages => "messages",
            Self::Registers | Self::Uniform => "registers",
            Self::SpillBytes | Self::StackBytes | Self::LocalBytes => "bytes",
            Self::Threads => "threads",
            Self::Milliseconds => "ms",
        }
    }
}

/// A limit that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a limit; want FIGURE<=NUMBER or FIGURE>=NUMBER, with one of {known}; a time may have a unit, such \
    as time<=2ms or time<=300us"
)]
pub struct LimitError {
    /// The text.
    pub text: String,
    /// The figures that exist.
    pub known: String,
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let known = || FIGURES.map(|(name, _)| name).join(", ");
        let refused = || LimitError { text: text.trim().to_owned(), known: known() };
        let (name, value, most) = match (text.split_once("<="), text.split_once(">=")) {
            (Some((name, value)), None) => (name, value, true),
            (None, Some((name, value))) => (name, value, false),
            _ => return Err(refused()),
        };
        let name = name.trim().to_lowercase();
        let figure =
            FIGURES.iter().find(|(known, _)| *known == name).map(|(_, what)| *what).ok_or_else(refused)?;
        let value = value.trim();
        let mut units = UNITS.iter().filter(|_| figure == Figure::Milliseconds);
        let unit = units.find_map(|(unit, scale)| Some((value.strip_suffix(unit)?, scale)));
        let (number, scale) = unit.unwrap_or((value, &1.0));
        let value: f64 = number.trim().parse().map_err(|_| refused())?;
        // No figure is negative.
        if !value.is_finite() || value < 0.0 {
            return Err(refused());
        }
        Ok(Self { figure, most, value: value * scale, text: text.trim().to_owned() })
    }
}

impl fmt::Display for Limit {
    /// The limit as it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why a limit cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// The GPU has no such column.
    #[error("--budget {limit}: {gpu} has no such column; it has {columns}")]
    NoColumn {
        /// The limit.
        limit: String,
        /// The GPU.
        gpu: String,
        /// The columns that it has.
        columns: String,
    },
    /// There is no predicted time.
    #[error("--budget {limit}: {kernel} on {gpu} has no predicted time: {missing}")]
    NoTime {
        /// The limit.
        limit: String,
        /// The kernel.
        kernel: String,
        /// The GPU.
        gpu: String,
        /// What is missing.
        missing: String,
    },
    /// A trip count is not known.
    #[error(
        "--budget {limit}: {kernel} on {gpu} takes {figure}, which is not a number; --arg NAME=VALUE, --global and \
        --local set what loop counts depend on"
    )]
    Open {
        /// The limit.
        limit: String,
        /// The kernel.
        kernel: String,
        /// The GPU.
        gpu: String,
        /// The figure as far as it is known.
        figure: String,
    },
}

impl Limit {
    /// What it is for.
    pub fn figure(&self) -> Figure {
        self.figure
    }

    /// Whether a figure violates it.
    pub fn is_broken_by(&self, value: f64) -> bool {
        if self.most { value > self.value } else { value < self.value }
    }

    /// The kernel's figure; `seconds` is the predicted time of the launch, or what is missing for one.
    ///
    /// # Errors
    /// There is none: the GPU has no such column, there is no predicted time, or a trip count is unknown.
    pub fn of(&self, analysis: &Analysis, seconds: Result<f64, &str>) -> Result<f64, BudgetError> {
        let longest = &analysis.longest;
        let (limit, kernel, gpu) =
            (self.to_string(), analysis.kernel.clone(), analysis.gpu.name().to_owned());
        let figure: Polynomial = match self.figure {
            Figure::Column(column) => {
                let Some(at) = analysis.columns.iter().position(|other| *other == column) else {
                    let family = analysis.gpu.family();
                    let heads: Vec<&str> =
                        analysis.columns.iter().map(|column| column.head(family)).collect();
                    return Err(BudgetError::NoColumn { limit, gpu, columns: heads.join(", ") });
                };
                longest.columns[at].clone()
            }
            Figure::Messages => longest.messages.clone(),
            Figure::Registers => f64::from(analysis.registers.work.used).into(),
            Figure::Uniform => f64::from(analysis.registers.uniform).into(),
            Figure::SpillBytes => f64::from(analysis.registers.work.spill_bytes).into(),
            Figure::StackBytes => (analysis.stack_bytes as f64).into(),
            Figure::LocalBytes => (analysis.local_bytes as f64).into(),
            Figure::Threads => f64::from(analysis.registers.occupancy.threads).into(),
            Figure::Milliseconds => match seconds {
                Ok(seconds) => (seconds * 1e3).into(),
                Err(missing) => {
                    return Err(BudgetError::NoTime { limit, kernel, gpu, missing: missing.to_owned() });
                }
            },
        };
        figure.as_constant().ok_or_else(|| BudgetError::Open {
            limit,
            kernel,
            gpu,
            figure: figure.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let limit: Limit = " LS <= 32 ".parse().unwrap();
        assert_eq!((limit.figure, limit.most, limit.value), (Figure::Column(Column::LoadStore), true, 32.0));
        assert_eq!(limit.to_string(), "LS <= 32");
        let milliseconds = |text: &str| text.parse::<Limit>().map(|limit| limit.value);
        for (text, value) in
            [("time<=2ms", 2.0), ("ms<=2", 2.0), ("time<=300 us", 0.3), ("time<=1.5s", 1500.0)]
        {
            assert!((milliseconds(text).unwrap() - value).abs() < 1e-12, "{text}");
        }
        for wrong in ["time<=2m", "ls<=2ms", "ls", "ls<32", "speed<=3", "ls<=fast", "ls<=1>=2", "ls<=inf"] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }
}
