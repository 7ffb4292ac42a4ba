//! What a kernel run left behind, as text and JSON.

mod json;
mod text;

use tripipe_launch::NdRange;
use tripipe_launch::file::{ArrayShape, Comparison};

/// A run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// Where it came from.
    pub program: &'a str,
    /// How many work-items, in which groups.
    pub range: &'a NdRange,
    /// What it ran on.
    pub device: &'a str,
    /// How long it took there.
    pub seconds: f64,
}

/// A memory object after a run.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a> {
    /// The argument it was passed for first, from 0.
    pub argument: usize,
    /// That argument's name.
    pub name: &'a str,
    /// What its bytes are.
    pub array: &'a ArrayShape,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Whether its numbers are to be shown, and if so, whether in base 16.
    pub shown: Option<Base>,
    /// The file it was written to.
    pub file: Option<&'a str>,
    /// How it compares with what it should be.
    pub comparison: Option<&'a Comparison>,
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// Integers in base 10, floats with as few digits as give them back.
    Ten,
    /// The bits in base 16.
    Sixteen,
}

pub use json::{json, json_memory};
pub use text::{lines, text};
