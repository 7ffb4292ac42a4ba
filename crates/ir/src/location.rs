//! Source locations of instructions.

use cranelift_entity::entity_impl;

/// A source file of the module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct File(u32);
entity_impl!(File, "file");

/// A source location in a kernel; its data is in [`crate::Kernel::locations`]. Prints as `!3`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(u32);
entity_impl!(Location, "!");

/// File, line and column, and the call that the code was inlined at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocationData {
    /// The file.
    pub file: File,
    /// Line, 1-based; 0 when the front end gave none.
    pub line: u32,
    /// Column, 1-based; 0 when unknown.
    pub column: u32,
    /// The call that this location was inlined at, if there is one. Always an earlier entry than this one.
    pub inlined_at: Option<Location>,
}
