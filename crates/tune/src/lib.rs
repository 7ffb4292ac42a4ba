//! Finds the fastest parameters of a kernel on a device.
//!
//! A [`Problem`] is what is computed. A [`Bench`] measures one set of parameters for it and reports a [`Trial`].

pub mod bench;
pub mod candidates;
pub mod problem;
pub mod strategy;
pub mod trial;

pub use bench::{Bench, BenchError, Effort};
pub use candidates::{Candidate, Candidates, Predict};
pub use problem::{FilterProblem, GemmProblem, Problem, ProblemError};
pub use strategy::{Strategy, StrategyKind};
pub use trial::{Outcome, Times, Trial};
