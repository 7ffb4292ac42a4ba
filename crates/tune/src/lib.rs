//! Finds the fastest parameters of a kernel on a device.
//!
//! A [`Problem`] is what is computed. [`Candidates`] are the parameters that can be tried for it on a device. A
//! [`Strategy`] proposes the next one, a [`Bench`] measures it and reports a [`Trial`], a [`TuningLog`] remembers it;
//! [`search()`] does all of that. [`results`] are what logs say.

pub mod bench;
pub mod candidates;
pub mod export;
pub mod kernel;
pub mod log;
pub mod problem;
pub mod results;
pub mod search;
pub mod strategy;
pub mod trial;
pub mod worker;

pub use bench::{Bench, BenchError, Effort};
pub use candidates::{Candidate, Candidates, Predict};
pub use kernel::{KernelDescription, KernelError, KernelProblem, KernelReference};
pub use log::{LogContents, LogError, TuningLog};
pub use problem::{FilterProblem, GemmProblem, Problem, ProblemError};
pub use search::{Budget, SearchError, SearchOptions, SearchProgress, SearchResult, Stopped, search};
pub use strategy::{Learned, LearnedOptions, Strategy, StrategyKind};
pub use trial::{Outcome, Times, Trial};
