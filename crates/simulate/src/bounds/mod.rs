//! What the language allows for each number that a launch writes.
//!
//! OpenCL C leaves a float result open within bounds: functions have errors, a product and a sum may be fused,
//! subnormal numbers may become zero. This observer carries two things beside each value: the number that float64
//! arithmetic gives, and the interval of all numbers that a conforming implementation may have there. Comparisons of
//! overlapping intervals, and branches on them, leave open what follows from them for that work-item. Integers are
//! carried too, as far as they follow from floats.
//!
//! Bounds are those of the full profile of OpenCL 3.0 with rounding to nearest. For functions of intervals they are of
//! first order: the values at the ends, widened by how far the function bends between them.

mod arithmetic;
mod images;
mod interval;
mod memory;
mod observer;
mod registers;
mod step;

use std::collections::{HashMap, HashSet};

use tripipe_ir::Inst;
use tripipe_ir::diagnostic::SourceLocation;
use tripipe_launch::MemoryId;

pub use arithmetic::Freedom;
pub(crate) use observer::Evaluation;

use crate::execute::state::State;
use crate::source::location_of;

/// A number that a launch wrote to memory.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenNumber {
    /// The work-item that wrote it last.
    pub work_item: [u64; 3],
    /// Where.
    pub location: Option<SourceLocation>,
    /// Bytes from the place that was asked for back to the first byte of the number.
    pub skew: usize,
    /// Its size.
    pub bytes: usize,
    /// Whether it is a float.
    pub float: bool,
    /// The number in float64 arithmetic.
    pub exact: f64,
    /// What is allowed.
    pub allowed: Allowed,
}

/// What the language allows for a number in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Allowed {
    /// Only what the simulator wrote.
    One,
    /// The numbers from the first to the second, and NaN if the flag is set.
    Between(f64, f64, bool),
    /// Any number.
    Any(Cause),
}

/// Why any number is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What leaves it open.
    pub reason: Reason,
    /// Where.
    pub location: Option<SourceLocation>,
}

/// What leaves a result open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// A branch depends on a number whose bounds include both ways.
    Branch,
    /// An address depends on a rounded number.
    Address,
    /// A function whose error the language does not bound.
    Function,
    /// An operation that is not bounded for operands that are not certain.
    Operation,
    /// The order in which work-items run.
    Order,
    /// Interpolation between texels, whose precision the language does not bound.
    Filter,
}

/// What the language allows for the numbers that were asked for.
#[derive(Clone, Debug, Default)]
pub struct Bounded {
    /// By place: the memory object and byte offset. Places that the launch does not
    /// write are absent.
    pub written: HashMap<(MemoryId, usize), WrittenNumber>,
    /// The first branch on a number whose bounds include both ways.
    pub branch: Option<Cause>,
    /// The first store to an address that depends on a rounded number.
    pub stray: Option<Cause>,
}

/// The places whose numbers are wanted: memory object and byte offset.
pub type Places = HashSet<(MemoryId, usize)>;

fn cause(s: &State<'_>, reason: Reason, inst: Inst) -> Cause {
    Cause { reason, location: location_of(s.module, s.kernel, inst) }
}
