//! Interaction of work-items: atomics, barriers, collective functions, asynchronous copies, locks, `printf`; and
//! divergent control flow.
//!
//! OpenCL C kernels are compared with models that process the work-items one by one.

#![allow(
    clippy::cast_lossless,
    clippy::items_after_statements,
    clippy::precedence,
    clippy::type_complexity,
    clippy::useless_vec,
    reason = "models in macros for all types, and tables beside the kernel they are about"
)]

mod atomics;
mod bench;
mod collectives;
mod copies;
mod divergence;
mod limits;
mod pointers;
mod printf;
mod qualcomm;
mod spins;
