//! Searches and measurements, without processes.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic")]

mod in_process;
mod kernel;
mod search;
