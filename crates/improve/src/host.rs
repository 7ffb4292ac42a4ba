//! What the host's code must change for a rewritten kernel, and what must hold for its launches.

use std::fmt;

use tripipe_launch::NdRange;
use tripipe_launch_file::{Given, LaunchFile, Memory, MemoryShape, Number};

/// A change of the launch.
///
/// It is a rule and not a size, so that it applies to launches of every size: the given one, and those that verify the
/// rewrite.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostChange {
    /// Fewer work-items in a dimension, each of which computes several outputs: `(n + by - 1) / by` instead of `n`. A
    /// work-group size that divided `n` and does not divide the new number becomes its largest divisor that is not
    /// larger.
    Divide {
        /// The dimension: 0, 1 or 2.
        dimension: usize,
        /// Outputs of a work-item, at least 1.
        by: usize,
    },
    /// More work-items in a dimension, several of which compute what one did.
    Multiply {
        /// The dimension: 0, 1 or 2.
        dimension: usize,
        /// Work-items in place of one, at least 1.
        by: usize,
    },
    /// A number of work-items rounded up to a multiple; the kernel has to ignore the surplus.
    RoundUp {
        /// The dimension: 0, 1 or 2.
        dimension: usize,
        /// What it is a multiple of, at least 1.
        multiple: usize,
    },
    /// Two dimensions of the launch change places: global size, offset and work-group size.
    SwapDimensions(usize, usize),
    /// Rows of work-items in place of one row: a launch of one dimension gets two.
    Unflatten {
        /// The work-items of a row.
        width: Extent,
    },
    /// Another work-group size.
    Local([usize; 3]),
    /// A dimension of the work-group that takes part in it no more: the global size and the work-group size are divided
    /// by the work-group size.
    Groups {
        /// The dimension: 0, 1 or 2.
        dimension: usize,
    },
    /// A buffer with more elements at its end, whose contents do not matter.
    Pad {
        /// The argument's position, from 0.
        argument: usize,
        /// Its name.
        name: String,
        /// More elements of the type that the kernel's parameter points to.
        elements: usize,
    },
}

/// A number that every launch shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Always the same.
    Constant(usize),
    /// An integer argument.
    Argument {
        /// Its position, from 0.
        argument: usize,
        /// Its name.
        name: String,
    },
}

impl Extent {
    /// Its value in a launch; `None` if that does not show it, or if it is 0.
    pub fn of(&self, launch: &LaunchFile) -> Option<usize> {
        match self {
            Self::Constant(number) => Some(*number),
            Self::Argument { argument, .. } => usize::try_from(integer(launch, *argument)?).ok(),
        }
        .filter(|number| *number > 0)
    }
}

impl fmt::Display for Extent {
    /// The number, or the argument's name in backticks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(number) => write!(f, "{number}"),
            Self::Argument { name, .. } => write!(f, "`{name}`"),
        }
    }
}

/// The value of an integer argument.
fn integer(launch: &LaunchFile, argument: usize) -> Option<i128> {
    match &launch.arguments.get(argument)?.given {
        Given::Value { numbers, .. } => match numbers[..] {
            [Number::Integer(number)] => Some(number),
            _ => None,
        },
        _ => None,
    }
}

/// The largest divisor of a number that is not larger than `most`; at least 1.
fn divisor(number: usize, most: usize) -> usize {
    (1..=most).rev().find(|side| number.is_multiple_of(*side)).unwrap_or(1)
}

impl HostChange {
    /// Applies it to a launch. A dimension that the launch does not have is left as it is.
    pub fn apply(&self, launch: &mut LaunchFile) {
        match self {
            Self::Divide { dimension, by } => {
                resize(launch, *dimension, |extent| extent.div_ceil((*by).max(1)));
            }
            Self::Multiply { dimension, by } => {
                resize(launch, *dimension, |extent| extent.saturating_mul(*by));
            }
            Self::RoundUp { dimension, multiple } => {
                resize(launch, *dimension, |extent| extent.next_multiple_of((*multiple).max(1)));
            }
            Self::SwapDimensions(a, b) => {
                let range = launch.range;
                if (*a).max(*b) < range.dimensions() {
                    let swapped = |mut sizes: [usize; 3]| {
                        sizes.swap(*a, *b);
                        sizes
                    };
                    let [global, offset] = [range.global_size(), range.global_offset()].map(swapped);
                    launch.range =
                        ranging(range.dimensions(), global, offset, range.local_size().map(swapped));
                }
            }
            Self::Unflatten { width } => {
                let (range, width) = (launch.range, width.of(launch));
                if let (1, Some(width)) = (range.dimensions(), width) {
                    let global = [width, range.global_size()[0].div_ceil(width), 1];
                    let local = range.local_size().map(|local| [divisor(width, local[0]), 1, 1]);
                    launch.range = ranging(2, global, [0; 3], local);
                }
            }
            Self::Local([x, y, z]) => launch.range = launch.range.local(*x, *y, *z),
            Self::Groups { dimension } => {
                let range = launch.range;
                if let Some(mut local) = range.local_size().filter(|_| *dimension < range.dimensions()) {
                    let mut global = range.global_size();
                    global[*dimension] = global[*dimension].div_ceil(local[*dimension].max(1));
                    local[*dimension] = 1;
                    launch.range = ranging(range.dimensions(), global, range.global_offset(), Some(local));
                }
            }
            Self::Pad { argument, elements, .. } => {
                let given = launch.arguments.get_mut(*argument).map(|entry| &mut entry.given);
                if let Some(Given::Memory(Memory {
                    shape: MemoryShape::Buffer { extents: Some(extents), .. },
                    ..
                })) = given
                {
                    let all = extents.iter().product::<usize>();
                    *extents = vec![all + elements];
                }
            }
        }
    }

    /// Applies several, one after the other.
    #[must_use]
    pub fn apply_all(changes: &[Self], launch: &LaunchFile) -> LaunchFile {
        let mut launch = launch.clone();
        for change in changes {
            change.apply(&mut launch);
        }
        launch
    }
}

/// Changes the number of work-items in a dimension, and makes the work-group size divide it if it did before.
fn resize(launch: &mut LaunchFile, dimension: usize, size: impl Fn(usize) -> usize) {
    let range = launch.range;
    if dimension >= range.dimensions() {
        return;
    }
    let (mut global, mut local) = (range.global_size(), range.local_size());
    let before = global[dimension];
    global[dimension] = size(before);
    if let Some(local) = &mut local {
        let side = local[dimension].max(1);
        if before % side == 0 {
            local[dimension] = divisor(global[dimension], side);
        }
    }
    launch.range = ranging(range.dimensions(), global, range.global_offset(), local);
}

/// A range of `dimensions` dimensions.
pub(crate) fn ranging(
    dimensions: usize,
    global: [usize; 3],
    offset: [usize; 3],
    local: Option<[usize; 3]>,
) -> NdRange {
    let [x, y, z] = global;
    let range = match dimensions {
        1 => NdRange::d1(x),
        2 => NdRange::d2(x, y),
        _ => NdRange::d3(x, y, z),
    };
    let [x, y, z] = offset;
    let range = range.offset(x, y, z);
    local.map_or(range, |[x, y, z]| range.local(x, y, z))
}

impl fmt::Display for HostChange {
    /// A sentence without a full stop that tells the author of the host's code what to change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Divide { dimension, by } => {
                write!(
                    f,
                    "launch (n + {}) / {by} work-items instead of n in dimension {dimension}",
                    by.saturating_sub(1)
                )
            }
            Self::Multiply { dimension, by } => {
                write!(f, "launch {by} * n work-items instead of n in dimension {dimension}")
            }
            Self::RoundUp { dimension, multiple } => {
                write!(f, "round the work-items in dimension {dimension} up to a multiple of {multiple}")
            }
            Self::Unflatten { width } => {
                write!(f, "launch {width} x (n / {width}) work-items instead of n, in two dimensions")
            }
            Self::SwapDimensions(a, b) => write!(f, "exchange dimensions {a} and {b} of the launch's sizes"),
            Self::Local(sides) => {
                let last = sides.iter().rposition(|side| *side > 1).unwrap_or(0);
                let shown: Vec<String> = sides[..=last].iter().map(usize::to_string).collect();
                write!(f, "launch work-groups of {}", shown.join(" x "))
            }
            Self::Groups { dimension } => {
                write!(f, "launch a work-item where a work-group was in dimension {dimension}")
            }
            Self::Pad { name, elements, .. } => {
                write!(f, "allocate {elements} more elements at the end of `{name}`")
            }
        }
    }
}

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
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// An integer argument has a value.
    ArgumentIs {
        /// The argument's position, from 0.
        argument: usize,
        /// Its name.
        name: String,
        /// The value.
        value: i128,
    },
    /// Something that a launch does not show, as a sentence without a full stop: `the buffers do not overlap`.
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
            Self::ArgumentIs { argument, value, .. } => Some(integer(launch, *argument)? == *value),
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
            Self::Stated(sentence) => f.write_str(sentence),
        }
    }
}

/// A condition of a rewrite that was applied after others.
#[derive(Clone, Debug, PartialEq, Eq)]
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
                write!(f, " after the first {after} of the changes in the host's code")
            }
            _ => Ok(()),
        }
    }
}
