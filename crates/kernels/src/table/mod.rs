//! Tables of times and parameters, for all families: their files, the devices that they apply to, and raw measurements.

mod file;
mod predicted;
mod relation;
mod series;
mod target;

pub use file::{TableError, TableFile};
pub(crate) use predicted::predicted_near;
#[cfg(test)]
pub(crate) use predicted::predicted_tables;
#[cfg(test)]
pub(crate) use relation::named;
pub(crate) use relation::{Device, Relation, described};
pub use series::{TimeOf, TimeSeries, TimedSubject};
pub(crate) use series::{microseconds, parse_microseconds};
pub use target::{Basis, Target};
