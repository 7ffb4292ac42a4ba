//! Measurements in other processes, on this machine or on others.
//!
//! A *worker* is a process that measures for a tuner ([`serve`]). It reads [`Request`]s from its standard input and
//! writes [`Reply`]s to its standard output, one a line ([`protocol`]). [`Supervised`] is the tuner's side: a
//! [`crate::Bench`] that starts the worker, stops it when a kernel takes too long or too much memory, and starts a new
//! one after a kernel has crashed it.
//!
//! The worker may run on another machine: any command that starts it there and connects its input and output will do,
//! such as `ssh board tripipe tune worker --guard`. A *guard* is a worker that supervises a worker of its own. It stops
//! a kernel that hangs even if the connection is lost.

mod isolate;
mod limits;
mod process;
pub mod protocol;
mod serve;
mod supervised;

pub use isolate::{available_memory_bytes, isolate};
pub use limits::WorkerLimits;
pub use protocol::{Hello, Reply, Request};
pub use serve::{Replies, Requests, serve};
pub use supervised::{Supervised, WorkerError};
