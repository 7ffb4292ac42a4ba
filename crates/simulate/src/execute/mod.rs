//! The executor: kernels run for 64 work-items at a time.
//!
//! [`decode`] makes a kernel ready: blocks in an [`order`] in which lanes that went apart meet again, values in registers
//! ([`rows`]), each instruction with the function over a warp's lanes that does it ([`ops`]). [`state`] runs a warp,
//! [`group`] a work-group, [`spin`] one whose work-items wait for one another in loops, [`launch`] a range of them, on several threads where no work-group can tell.

pub(crate) mod code;
pub(crate) mod decode;
pub(crate) mod group;
pub(crate) mod launch;
pub(crate) mod layout;
pub(crate) mod memory;
pub(crate) mod ops;
pub(crate) mod order;
pub(crate) mod rows;
pub(crate) mod spin;
pub(crate) mod state;
