//! Tracks unwritten values, bit by bit, to the locations where they matter.
//!
//! A bit of a register is unwritten if it comes from memory or a variable that was never written; the
//! [`super::shadow`] of the warp records it. [`flow`] computes the shadows of results from those of operands;
//! [`memory`] records which bytes are unwritten, and sets the shadows of loaded values. A finding is made when the
//! outcome depends on such a bit ([`uses`]): a branch, an address, a store to a buffer, an image or an atomic; not
//! when padding is copied, a lane is masked, or a bit is discarded.

pub(super) mod flow;
pub(super) mod memory;
pub(super) mod uses;
