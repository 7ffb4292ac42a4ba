//! Tables of times and parameters, for all families: their files, the devices that they apply to, and raw measurements.

mod file;
mod relation;
mod series;
mod target;

pub use file::{TableError, TableFile};
#[cfg(test)]
pub(crate) use relation::named;
pub(crate) use relation::{Device, Relation, described};
pub use series::{TimeOf, TimeSeries, TimedSubject};
pub(crate) use series::{microseconds, parse_microseconds};
pub use target::{Basis, Target};
