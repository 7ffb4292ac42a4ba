//! What must hold for the launches of a rewritten kernel.

use std::fmt;

use tripipe_launch_file::{Entry, Given, LaunchFile, Number};

use crate::host::{integer, number};
use crate::{Extent, HostChange};

/// A number of work-items in terms of integer arguments: the sum of products, divided by `times` and rounded up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Products of arguments, each with its position from 0 and its name, and what each product is multiplied by.
    pub products: Vec<(Vec<(usize, String)>, i128)>,
    /// What is added.
    pub constant: i128,
    /// The divisor, at least 1.
    pub times: i128,
}

impl Bound {
    /// Whether `extent` work-items are at least as many; `None` if the launch does not show it.
    fn is_reached(&self, extent: usize, integer: &dyn Fn(usize) -> Option<i128>) -> Option<bool> {
        let mut sum = self.constant;
        for (factors, times) in &self.products {
            let product = factors.iter().map(|(argument, _)| integer(*argument));
            sum = sum.saturating_add(times * product.product::<Option<i128>>()?);
        }
        Some(self.times.saturating_mul(extent as i128) >= sum)
    }
}

impl fmt::Display for Bound {
    /// `width - 2`, `(n + 3) / 4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for (factors, times) in &self.products {
            let names: Vec<&str> = factors.iter().map(|(_, name)| name.as_str()).collect();
            let product = names.join(" * ");
            match (text.is_empty(), *times) {
                (true, 1) => text = product,
                (true, times) => text = format!("{times} * {product}"),
                (false, 1) => text = format!("{text} + {product}"),
                (false, times) => text = format!("{text} + {times} * {product}"),
            }
        }
        let constant = self.constant + self.times - 1;
        match constant {
            0 => {}
            1.. => text = format!("{text} + {constant}"),
            _ => text = format!("{text} - {}", -constant),
        }
        match self.times {
            1 => write!(f, "`{text}`"),
            times if text.contains(' ') => write!(f, "`({text}) / {times}`"),
            times => write!(f, "`{text} / {times}`"),
        }
    }
}

/// What must hold for the results to be the same.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Condition {
    /// The number of work-items of the original launch is a multiple in a dimension.
    GlobalMultiple {
        /// The dimension: 0, 1 or 2.
        dimension: usize,
        /// What it is a multiple of, at least 1.
        of: usize,
    },
    /// The work-items of the original launch in a dimension are a multiple, or all that the kernel's test lets through.
    GlobalCovers {
        /// The dimension: 0, 1 or 2.
        dimension: usize,
        /// What they are a multiple of otherwise, at least 1; `None` where only the second will do.
        of: Option<usize>,
        /// The work-items that pass the test.
        bound: Bound,
    },
    /// The number of work-items of the original launch in dimension 0 is a multiple of a number that each launch shows.
    GlobalRows {
        /// The number.
        of: Extent,
    },
    /// An integer argument is a multiple.
    ArgumentMultiple {
        /// The argument's position, from 0.
        argument: usize,
        /// Its name.
        name: String,
        /// What it is a multiple of, at least 1.
        of: u64,
    },
    /// A number argument has a value.
    ArgumentIs {
        /// The argument's position, from 0.
        argument: usize,
        /// Its name.
        name: String,
        /// The value.
        value: Number,
    },
    /// An integer argument is at most a value.
    ArgumentAtMost {
        /// The argument's position, from 0.
        argument: usize,
        /// Its name.
        name: String,
        /// The value.
        most: i128,
    },
    /// No two arguments are the same memory, or overlap.
    BuffersApart,
    /// Something that a launch does not show, as a sentence without a full stop.
    Stated(String),
}

impl Condition {
    /// Whether it holds for a launch of the original kernel; `None` if the launch does not show it.
    pub fn holds(&self, launch: &LaunchFile) -> Option<bool> {
        match self {
            Self::GlobalMultiple { dimension, of } => {
                Some(launch.range.global_size().get(*dimension)?.is_multiple_of((*of).max(1)))
            }
            Self::GlobalCovers { dimension, of, bound } => {
                let extent = *launch.range.global_size().get(*dimension)?;
                if of.is_some_and(|of| extent.is_multiple_of(of.max(1))) {
                    return Some(true);
                }
                bound.is_reached(extent, &|argument| integer(launch, argument))
            }
            Self::GlobalRows { of } => Some(launch.range.global_size()[0].is_multiple_of(of.of(launch)?)),
            Self::ArgumentMultiple { argument, of, .. } => {
                Some(integer(launch, *argument)?.rem_euclid(i128::from((*of).max(1))) == 0)
            }
            Self::ArgumentIs { argument, value, .. } => Some(number(launch, *argument)? == *value),
            Self::ArgumentAtMost { argument, most, .. } => Some(integer(launch, *argument)? <= *most),
            Self::BuffersApart => {
                let is_same = |entry: &Entry| matches!(entry.given, Given::SameAs { .. });
                // Sub-buffers that overlap are not in launch files, but the host may have some.
                launch.arguments.iter().any(is_same).then_some(false)
            }
            Self::Stated(_) => None,
        }
    }
}

impl fmt::Display for Condition {
    /// A sentence without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GlobalMultiple { dimension, of } => {
                write!(f, "the work-items in dimension {dimension} are a multiple of {of}")
            }
            Self::GlobalCovers { dimension, of, bound } => {
                write!(f, "the work-items in dimension {dimension} are at least {bound}")?;
                of.map_or(Ok(()), |of| write!(f, ", or a multiple of {of}"))
            }
            Self::GlobalRows { of } => write!(f, "the work-items are a multiple of {of}"),
            Self::ArgumentMultiple { name, of, .. } => write!(f, "`{name}` is a multiple of {of}"),
            Self::ArgumentIs { name, value, .. } => write!(f, "`{name}` is {value}"),
            Self::ArgumentAtMost { name, most, .. } => write!(f, "`{name}` is at most {most}"),
            Self::BuffersApart => f.write_str("the buffers do not overlap"),
            Self::Stated(sentence) => f.write_str(sentence),
        }
    }
}

/// A condition of a rewrite that was applied after others.
#[derive(Clone, Debug, PartialEq)]
pub struct Required {
    /// The condition.
    pub condition: Condition,
    /// The number of host changes that come before the launch that it is about.
    pub after: usize,
}

impl From<Condition> for Required {
    /// It is about the original launch.
    fn from(condition: Condition) -> Self {
        Self { condition, after: 0 }
    }
}

impl Required {
    /// Whether it holds, where `host` are all changes of `launch`; `None` if the launch does not show it.
    pub fn holds(&self, host: &[HostChange], launch: &LaunchFile) -> Option<bool> {
        let before = &host[..self.after.min(host.len())];
        self.condition.holds(&HostChange::apply_all(before, launch))
    }
}

impl fmt::Display for Required {
    /// A sentence without a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.condition)?;
        match (&self.condition, self.after) {
            (
                Condition::GlobalMultiple { .. }
                | Condition::GlobalCovers { .. }
                | Condition::GlobalRows { .. },
                after @ 1..,
            ) => {
                let changes = if after == 1 { "change".to_owned() } else { format!("{after} changes") };
                write!(f, ", counted after the first {changes} of the host's code")
            }
            _ => Ok(()),
        }
    }
}
