//! The operations of instructions, for all lanes of a warp at once.
//!
//! Each operation is a function over the registers of the current warp. It may write results for inactive lanes too;
//! memory, images and the console are accessed only for active lanes.

mod arithmetic;
mod atomic;
mod call;
mod collective;
pub(crate) mod convert;
pub(crate) mod copy;
pub(crate) mod image;
mod map;
pub(crate) mod meet;
pub(crate) mod memory;
mod pattern;
pub(crate) mod printf;
mod query;
pub(crate) mod select;
pub(crate) mod vector;
