//! Limits for a kernel: `ls<=32,registers<=32,threads>=512`.

use std::fmt;
use std::str::FromStr;

use crate::{Analysis, Column, Polynomial};

/// One limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    what: Figure,
    most: bool,
    value: f64,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    Column(Column),
    Messages,
    Registers,
    Uniform,
    SpillBytes,
    StackBytes,
    LocalBytes,
    Threads,
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

/// A limit that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a limit; want FIGURE<=NUMBER or FIGURE>=NUMBER, with one of {known}")]
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
        let what =
            FIGURES.iter().find(|(known, _)| *known == name).map(|(_, what)| *what).ok_or_else(refused)?;
        let value: f64 = value.trim().parse().map_err(|_| refused())?;
        if !value.is_finite() {
            return Err(refused());
        }
        Ok(Self { what, most, value, text: text.trim().to_owned() })
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
    /// A time requires a launch.
    #[error("--budget {limit}: a time requires the global size; give --global, or a launch file")]
    NoGlobalSize {
        /// The limit.
        limit: String,
    },
    /// A trip count is not known.
    #[error(
        "--budget {limit}: {kernel} on {gpu} takes {figure}, which is not a number; --arg NAME=VALUE sets \
        arguments that loop counts depend on"
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
    /// The kernel's figure if it violates the limit; `None` if it is within the limit.
    ///
    /// # Errors
    /// The limit cannot be checked: the GPU has no such column, the launch is not known, or a trip count is unknown.
    pub fn broken_by(&self, analysis: &Analysis) -> Result<Option<String>, BudgetError> {
        let longest = &analysis.longest;
        let limit = || self.to_string();
        let open = |figure: &Polynomial| BudgetError::Open {
            limit: limit(),
            kernel: analysis.kernel.clone(),
            gpu: analysis.gpu.name().to_owned(),
            figure: figure.to_string(),
        };
        let figure = match self.what {
            Figure::Column(column) => {
                let at = analysis.columns.iter().position(|other| *other == column).ok_or_else(|| {
                    let family = analysis.gpu.family();
                    let heads: Vec<&str> =
                        analysis.columns.iter().map(|column| column.head(family)).collect();
                    BudgetError::NoColumn {
                        limit: limit(),
                        gpu: analysis.gpu.name().to_owned(),
                        columns: heads.join(", "),
                    }
                })?;
                longest.columns[at].clone()
            }
            Figure::Messages => longest.messages.clone(),
            Figure::Registers => f64::from(analysis.registers.work.used).into(),
            Figure::Uniform => f64::from(analysis.registers.uniform).into(),
            Figure::SpillBytes => f64::from(analysis.registers.work.spill_bytes).into(),
            Figure::StackBytes => (analysis.stack_bytes as f64).into(),
            Figure::LocalBytes => (analysis.local_bytes as f64).into(),
            Figure::Threads => f64::from(analysis.registers.threads).into(),
            Figure::Milliseconds => match &analysis.launch {
                Some(launch) => launch.milliseconds.into(),
                None if !analysis.has_global => return Err(BudgetError::NoGlobalSize { limit: limit() }),
                None => {
                    let symbolic = longest.columns.iter().find(|cost| cost.as_constant().is_none());
                    return Err(open(symbolic.unwrap_or(&Polynomial::default())));
                }
            },
        };
        let number = figure.as_constant().ok_or_else(|| open(&figure))?;
        let keeps = if self.most { number <= self.value } else { number >= self.value };
        Ok((!keeps).then(|| figure.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read() {
        let limit: Limit = " LS <= 32 ".parse().unwrap();
        assert_eq!((limit.what, limit.most, limit.value), (Figure::Column(Column::LoadStore), true, 32.0));
        assert_eq!(limit.to_string(), "LS <= 32");
        for wrong in ["ls", "ls<32", "speed<=3", "ls<=fast", "ls<=1>=2", "ls<=inf"] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }
}
