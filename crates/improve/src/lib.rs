//! Rewrites the source of a kernel step by step to a faster one.
//!
//! A [`Subject`] is a kernel's source with a launch. A [`Rewrite`] proposes changes of it: another source text, and
//! another launch where the host must change, too. The search applies what the timing model prices best, and keeps a
//! step only after the simulator has shown that it computes the same.

pub mod advice;
mod condition;
mod error;
mod finish;
mod host;
mod improvement;
mod one_source;
mod prepare;
mod price;
mod replicate;
mod rewrite;
mod rewrites;
mod rivals;
mod search;
mod subject;
pub mod syntax;
mod verify;

pub use condition::{Bound, Condition, Required};
pub use error::SearchError;
pub use host::{Extent, HostChange};
pub use improvement::{Improvement, Refusal, Refused, Step};
pub use price::{OpenFiles, Price, PriceError, Pricing, Target};
pub use rewrite::{Allowed, Proposal, Rewrite, View};
pub use rewrites::{ALL, Fused, Pair, fuse};
pub use search::{Options, Progress, search};
pub use subject::Subject;
pub use verify::{CounterExample, Verified, Verifier, VerifyError};
