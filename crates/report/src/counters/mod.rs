//! Counters of a predicted launch under the vendor's names ([`tripipe_timing::counters`]).

mod csv;
mod result;
mod text;

pub use csv::csv;
pub(crate) use result::{counter, counters_of, missing};
pub use text::text;
pub(crate) use text::{value, whose};
