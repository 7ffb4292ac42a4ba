//! Static analyses of a kernel. Each analysis is a side table.

pub mod cfg;
pub mod divergence;
pub mod dominators;
pub mod linear;
pub mod liveness;
pub mod loops;
pub mod ranges;
pub mod trip_count;

pub use cfg::Cfg;
pub use divergence::{Divergence, Variation};
pub use dominators::Dominators;
pub use linear::{Atom, Linear, LinearForms, MemoryFact};
pub use liveness::Liveness;
pub use loops::{Loop, Loops};
pub use ranges::{Range, Ranges};
pub use trip_count::TripCount;
