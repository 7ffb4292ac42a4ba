//! What the host's code must change for a rewritten kernel.

use std::fmt;

use tripipe_launch::{ChannelOrder, ChannelType, ImageExtent, NdRange};
use tripipe_launch_file::{Contents, Given, LaunchFile, Memory, MemoryShape, Number};

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
    /// A version of OpenCL C that the program is compiled as.
    Standard(&'static str),
    /// A dimension of the work-group that takes part in it no more: the global size and the work-group size are divided
    /// by the work-group size.
    Groups {
        /// The dimension: 0, 1 or 2.
        dimension: usize,
    },
    /// An image of two dimensions in place of a buffer of rows, with the same bytes.
    Image {
        /// The argument's position, from 0.
        argument: usize,
        /// Its name.
        name: String,
        /// The elements of a row.
        pitch: Extent,
        /// The elements of a texel: 1 or 4. Elements that are vectors of 4 are a texel each.
        per_texel: usize,
        /// The type of a channel.
        channel: ChannelType,
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

/// The value of a number argument.
pub(crate) fn number(launch: &LaunchFile, argument: usize) -> Option<Number> {
    match &launch.arguments.get(argument)?.given {
        Given::Value { numbers, .. } => match numbers[..] {
            [number] => Some(number),
            _ => None,
        },
        _ => None,
    }
}

/// The value of an integer argument.
pub(crate) fn integer(launch: &LaunchFile, argument: usize) -> Option<i128> {
    match number(launch, argument)? {
        Number::Integer(number) => Some(number),
        Number::Float(_) => None,
    }
}

/// The elements of a buffer; `None` if the launch does not show them.
pub(crate) fn elements(launch: &LaunchFile, argument: usize) -> Option<usize> {
    match &launch.arguments.get(argument)?.given {
        Given::Memory(Memory { shape: MemoryShape::Buffer { extents: Some(extents), .. }, .. }) => {
            Some(extents.iter().product())
        }
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
            Self::Standard(version) => {
                let flags = &mut launch.options.flags;
                flags.retain(|flag| !flag.starts_with("-cl-std="));
                flags.push(format!("-cl-std={version}"));
            }
            Self::Groups { dimension } => {
                let range = launch.range;
                if let Some(mut local) = range.local_size().filter(|_| *dimension < range.dimensions()) {
                    let mut global = range.global_size();
                    global[*dimension] = global[*dimension].div_ceil(local[*dimension].max(1));
                    local[*dimension] = 1;
                    launch.range = ranging(range.dimensions(), global, range.global_offset(), Some(local));
                }
            }
            Self::Image { argument, pitch, per_texel, channel, .. } => {
                let Some(row) = pitch.of(launch) else { return };
                let given = launch.arguments.get_mut(*argument).map(|entry| &mut entry.given);
                if let Some(Given::Memory(Memory { shape, contents, .. })) = given
                    && let MemoryShape::Buffer { element, extents: Some(extents) } = shape
                {
                    let lanes = element.lanes();
                    let elements: usize = extents.iter().product();
                    let (width, height) = ((row / (*per_texel).max(1)).max(1), (elements / row).max(1));
                    let order = if lanes * per_texel == 1 { ChannelOrder::R } else { ChannelOrder::Rgba };
                    *shape = MemoryShape::Image {
                        extent: Some(ImageExtent::D2 { width, height }),
                        order,
                        channel: *channel,
                    };
                    if let Contents::Values(numbers) = contents {
                        numbers.truncate(width * height * lanes * per_texel);
                    }
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
            Self::Standard(version) => {
                write!(
                    f,
                    "build the program with -cl-std={version}, which allows work-groups that do not divide"
                )
            }
            Self::Groups { dimension } => {
                write!(f, "launch a work-item where a work-group was in dimension {dimension}")
            }
            Self::Image { name, pitch, per_texel, channel, .. } => {
                let width = match per_texel {
                    1 => pitch.to_string(),
                    _ => format!("{pitch} / {per_texel}"),
                };
                write!(
                    f,
                    "pass `{name}` as an image2d_t, {width} texels wide and as many high as there are rows, each of \
                     {per_texel} element{} of type {}, filled with the same bytes (clEnqueueCopyBufferToImage, or an image \
                     over the buffer where its rows have the pitch that the device asks for)",
                    if *per_texel == 1 { "" } else { "s" },
                    channel.opencl_name()
                )
            }
            Self::Pad { name, elements, .. } => {
                write!(f, "allocate {elements} more elements at the end of `{name}`")
            }
        }
    }
}
