//! Operations: a small orthogonal set with their immediates.
//!
//! Operands are values, in [`crate::Instruction::operands`]; the doc comment of each operation lists them. Each
//! operation prints as one word (`add`, `load.4`, `convert.f.u.rtz.sat`) and parses back.

mod builtin;
mod floats;
mod groups;
mod images;
mod names;
mod scalars;
mod sync;
mod word;

use std::fmt;

pub use builtin::{Builtin, BuiltinSignature, Family, Ulp};
pub use groups::{Dot, Group, GroupOp, GroupScope, Query, QueryKind, Reduction, SubGroupShare};
pub use images::{Addressing, ImageFact, Level, SamplerBits};
pub use scalars::{Binary, Compare, Convert, Number, Rounding, ShuffleMask, Unary};
pub use sync::{Atomic, AtomicOp, MemoryOrder, Scope, Semantics};
pub use word::WordError;

use crate::{Object, ProgramObject};

/// A memory access: its alignment, and whether it may be removed or moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccessAttributes {
    /// The guaranteed alignment of the address, in bytes; a power of two, at least 1.
    pub align: u32,
    /// Must not be removed, duplicated or moved.
    pub volatile: bool,
    /// Whether the source uses `vloadN` or `vstoreN`, whose address need only be aligned to the element.
    pub vector_builtin: bool,
}

/// Address arithmetic: `base + index * stride + offset`, all in bytes, modulo 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Bytes from one index to the next; 0 when there is no index operand.
    pub stride: u64,
    /// Bytes added.
    pub offset: i64,
    /// The length of the inner array that the index runs over, if there is one. An index outside `0..=count`, or an
    /// access through index `count`, leaves the array even where it stays inside the object.
    pub count: Option<u64>,
    /// Whether the source guarantees that the result stays inside one object.
    pub in_bounds: bool,
}

/// The operation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// One operand, lane by lane.
    Unary(Unary),
    /// Two operands of the result's type, lane by lane.
    Binary(Binary),
    /// Two operands of one type; the result has `bool` lanes.
    Compare(Compare),
    /// `condition ? a : b`; the condition is `bool`, or `bool` lanes for vectors.
    Select,
    /// A conversion between numbers, lane by lane.
    Convert(Convert),
    /// The same bits as another type of the same size (3 lanes count three).
    Bitcast,
    /// A pointer's 64 bits.
    PointerToInt,
    /// A pointer from 64 bits.
    IntToPointer,
    /// A pointer in another address space; to or from `generic`. From generic to a named space that does not contain
    /// the address, the result is null when `checked`, undefined otherwise.
    SpaceCast {
        /// Whether the result is null instead of undefined.
        checked: bool,
    },
    /// A vector from scalars, one operand per lane.
    Construct,
    /// A lane of a vector.
    Extract(u8),
    /// A vector with one lane replaced: vector, scalar.
    Insert(u8),
    /// A lane with a run-time index: vector, index. Undefined outside.
    ExtractDynamic,
    /// Replaces a lane with a run-time index: vector, scalar, index.
    InsertDynamic,
    /// Lanes selected from two vectors of the same scalar; the second's lanes are numbered after the first's.
    Shuffle(ShuffleMask),
    /// An undefined value. No operand.
    Undefined,
    /// The address of a private or local object.
    ObjectAddress(Object),
    /// The address of a program-scope object.
    ProgramAddress(ProgramObject),
    /// Address arithmetic: base, and index (`i32` or `i64`, signed) unless the stride is 0.
    Address(Address),
    /// Reads a value: pointer. `bool` is one byte.
    Load(AccessAttributes),
    /// Writes a value: pointer, value.
    Store(AccessAttributes),
    /// Copies bytes: destination, source, count (`i64`). They do not overlap, or are the same.
    Copy(AccessAttributes),
    /// A private object's bytes become undefined.
    LifetimeStart(Object),
    /// A private object is no longer used.
    LifetimeEnd(Object),
    /// An atomic operation: pointer, then the operands of [`AtomicOp`].
    Atomic(Atomic),
    /// A barrier for all work-items of the scope; memory is ordered according to the semantics.
    Barrier {
        /// The work-items that wait for each other.
        execution: Scope,
        /// The work-items that observe the memory order.
        memory: Scope,
        /// The affected memory, and its order.
        semantics: Semantics,
    },
    /// Orders memory without a barrier.
    Fence {
        /// The work-items that observe it.
        scope: Scope,
        /// The affected memory, and its order.
        semantics: Semantics,
    },
    /// Starts an asynchronous copy by the whole group: destination, source, elements, stride in elements of the global
    /// side, event to join. The result is an event.
    AsyncCopy {
        /// The group that copies: work-group or sub-group.
        scope: Scope,
        /// Bytes per element.
        bytes: u32,
        /// Bytes of the element's value: three lanes are followed by padding.
        used: u32,
    },
    /// Waits for asynchronous copies: their number (`i32`), pointer to the events.
    WaitEvents {
        /// The group that waits.
        scope: Scope,
    },
    /// Waits for all asynchronous copies that the group has started, whatever their events. No operand.
    WaitCopies {
        /// The group that waits.
        scope: Scope,
    },
    /// An operation of a whole work-group or sub-group.
    Group(Group),
    /// Integer dot product: a, b (lanes of 8 or 16 bits), and accumulator if it saturates.
    Dot(Dot),
    /// A query about the work-item, its group or the range.
    Query(Query),
    /// Reads an image through a sampler: image, sampler, coordinates, then the operands of [`Level`].
    ImageSample(Level),
    /// Reads a texel without a sampler: image, integer coordinates, and optionally a level.
    ImageRead {
        /// Whether a level operand (`i32`) follows.
        level: bool,
    },
    /// Writes a texel: image, integer coordinates, texel, and optionally a level.
    ImageWrite {
        /// Whether a level operand (`i32`) follows.
        level: bool,
    },
    /// An image query: image, and the level for sizes of a mip-mapped one.
    ImageQuery(ImageFact),
    /// Prints: the format is `formats[n]` of the kernel; operands are its arguments, with `%s` as pointers.
    Printf(u32),
    /// A function of the OpenCL library.
    Builtin(Builtin),
}

impl Op {
    /// Whether it can be removed when its result is unused, computed twice, or merged with an equal operation. Loads
    /// are not pure: they may fault, and memory may be written in between.
    pub fn is_pure(self) -> bool {
        match self {
            Self::Unary(_)
            | Self::Binary(_)
            | Self::Compare(_)
            | Self::Select
            | Self::Convert(_)
            | Self::Bitcast
            | Self::PointerToInt
            | Self::IntToPointer
            | Self::SpaceCast { .. }
            | Self::Construct
            | Self::Extract(_)
            | Self::Insert(_)
            | Self::ExtractDynamic
            | Self::InsertDynamic
            | Self::Shuffle(_)
            | Self::Undefined
            | Self::ObjectAddress(_)
            | Self::ProgramAddress(_)
            | Self::Address(_)
            | Self::Dot(_)
            | Self::Query(_)
            | Self::ImageQuery(_)
            | Self::Builtin(_) => true,
            Self::Load(_)
            | Self::Store(_)
            | Self::Copy(_)
            | Self::LifetimeStart(_)
            | Self::LifetimeEnd(_)
            | Self::Atomic(_)
            | Self::Barrier { .. }
            | Self::Fence { .. }
            | Self::AsyncCopy { .. }
            | Self::WaitEvents { .. }
            | Self::WaitCopies { .. }
            | Self::Group(_)
            | Self::ImageSample(_)
            | Self::ImageRead { .. }
            | Self::ImageWrite { .. }
            | Self::Printf(_) => false,
        }
    }

    /// Whether it may write memory, an image or the console, or order writes.
    pub fn has_effect(self) -> bool {
        !self.is_pure() && !matches!(self, Self::Load(_) | Self::ImageSample(_) | Self::ImageRead { .. })
    }
}

/// Guarantees and permissions of the source for an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// Signed overflow does not happen; if it does, the program is wrong.
    pub const NO_SIGNED_WRAP: Self = Self(1);
    /// Unsigned overflow does not happen.
    pub const NO_UNSIGNED_WRAP: Self = Self(2);
    /// No operand or result is a NaN.
    pub const NOT_NAN: Self = Self(4);
    /// No operand or result is infinite.
    pub const NOT_INF: Self = Self(8);
    /// The sign of a zero does not matter.
    pub const NO_SIGNED_ZERO: Self = Self(16);
    /// A division may be replaced by a multiplication with the reciprocal.
    pub const RECIPROCAL: Self = Self(32);
    /// Any algebraic rewriting is allowed.
    pub const FAST: Self = Self(64);
    /// A product and a sum of it may be rounded once.
    pub const CONTRACT: Self = Self(128);

    const NAMES: [(Self, &'static str); 8] = [
        (Self::NO_SIGNED_WRAP, "nsw"),
        (Self::NO_UNSIGNED_WRAP, "nuw"),
        (Self::NOT_NAN, "nnan"),
        (Self::NOT_INF, "ninf"),
        (Self::NO_SIGNED_ZERO, "nsz"),
        (Self::RECIPROCAL, "arcp"),
        (Self::FAST, "fast"),
        (Self::CONTRACT, "contract"),
    ];

    /// Whether a product and a sum of it may be rounded once.
    pub const fn allow_contraction(self) -> bool {
        self.contains(Self::FAST) || self.contains(Self::CONTRACT)
    }

    /// Whether there are no flags.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it contains all of `other`.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The intersection.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The flag with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|entry| entry.1 == name).map(|entry| entry.0)
    }
}

impl fmt::Display for Flags {
    /// Names separated by commas; empty without flags.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> =
            Self::NAMES.into_iter().filter(|entry| self.contains(entry.0)).map(|entry| entry.1).collect();
        f.write_str(&names.join(","))
    }
}
