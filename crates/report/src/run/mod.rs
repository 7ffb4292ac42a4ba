//! The results of a kernel run, as text and JSON.

mod result;
mod text;

use tripipe_launch::{CountedEnergy, CpuLoad, NdRange};
use tripipe_launch_file::{ArrayShape, Comparison};

/// A run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// The name of its program.
    pub program: &'a str,
    /// The number of work-items, and their groups.
    pub range: &'a NdRange,
    /// The device or simulator that ran it.
    pub device: &'a str,
    /// The duration of the run.
    pub seconds: f64,
    /// How busy the host's CPU was meanwhile, if that is known.
    pub cpu_load: Option<CpuLoad>,
    /// Its energy, if it was wanted and counted.
    pub energy: Option<CountedEnergy>,
}

/// A memory object after a run.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a> {
    /// The position of the first argument that it was passed for, from 0.
    pub argument: usize,
    /// That argument's name.
    pub name: &'a str,
    /// The element type and extents of its bytes.
    pub array: &'a ArrayShape,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Whether the kernel may write it; `None` if that is not known.
    pub written: Option<bool>,
    /// The base in which its numbers are shown, if they are shown.
    pub shown: Option<Base>,
    /// The file it was written to.
    pub file: Option<&'a str>,
    /// The comparison with the expected contents.
    pub comparison: Option<&'a Comparison>,
}

/// The representation of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Integers in base 10, floats with the fewest digits that identify them.
    Ten,
    /// The bits in base 16.
    Sixteen,
}

pub use result::{memory_result, result};
pub use text::{lines, text};
