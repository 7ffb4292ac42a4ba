//! The executor: runs kernels for 64 work-items at a time.
//!
//! [`decode`] prepares a kernel: blocks in an [`order`] in which diverged lanes reconverge, values in registers
//! ([`rows`]), each instruction with a function over the lanes of a warp ([`ops`]). [`warp`] runs a warp, [`group`] a
//! work-group, [`turns`] a work-group whose work-items wait for each other in loops, and [`launch`] a range of
//! work-groups, on several threads if the work-groups cannot observe it. An [`observer`] can watch a launch.

pub(crate) mod code;
pub(crate) mod decode;
pub(crate) mod edge;
pub(crate) mod effects;
pub(crate) mod group;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod memory_map;
pub(crate) mod observer;
pub(crate) mod ops;
pub(crate) mod order;
pub(crate) mod range;
pub(crate) mod rows;
pub(crate) mod schedule;
pub(crate) mod slice;
pub(crate) mod spin;
pub(crate) mod state;
pub(crate) mod sub_groups;
pub(crate) mod turns;
pub(crate) mod warp;
