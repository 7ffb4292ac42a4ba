//! Counters of a predicted launch under the vendor's names ([`tripipe_timing::counters`]).

mod csv;
mod json;
mod text;

pub use csv::csv;
pub(crate) use json::{counter_keys, keys};
pub use text::text;
pub(crate) use text::{value, whose};
