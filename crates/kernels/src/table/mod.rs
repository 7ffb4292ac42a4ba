//! Tables of times and parameters, for all families: their files, the devices that they apply to, and raw measurements.

mod file;
mod relation;
mod series;
mod shipped;
mod target;

use std::path::Path;

use tripipe_device::Probe;

use crate::gemm::Entry;
pub use file::{TableError, TableFile};
#[cfg(test)]
pub(crate) use relation::named;
pub(crate) use relation::{Device, Relation, described};
pub(crate) use series::microseconds;
pub use series::{TimeOf, TimeSeries, TimedSubject};
#[cfg(test)]
pub(crate) use shipped::{measured_files, predicted_files};
pub use target::{Basis, Target};

/// Times of all families, and parameters of products by class of shapes: the user's before the shipped ones.
///
/// A choice for a device reads only those shipped files whose devices are related to it, each once.
#[derive(Clone, Debug, Default)]
pub struct Table {
    users: Vec<TableFile>,
    /// Whether the shipped files are used.
    has_shipped: bool,
}

static SHIPPED: Table = Table { users: Vec::new(), has_shipped: true };

impl Table {
    /// All `.toml` files of the user's `folder`, in the order of their names, then the shipped ones.
    ///
    /// # Errors
    /// There is no such folder; a file that cannot be read, or is not a valid table.
    pub fn load(folder: Option<&Path>) -> Result<Self, TableError> {
        let users = folder.map(TableFile::read_all).transpose()?.unwrap_or_default();
        Ok(Self { users, has_shipped: true })
    }

    /// A table of this file only.
    pub fn of(file: TableFile) -> Self {
        Self { users: vec![file], has_shipped: false }
    }

    /// The shipped table.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// The files that apply to a device, without predicted times: the user's, then those that are shipped.
    fn files<'t>(&'t self, device: &Device, probe: &Probe) -> impl Iterator<Item = &'t TableFile> {
        let shipped = self.has_shipped.then(|| shipped::of_device(device, probe));
        let shipped = shipped.into_iter().flatten().map(|file| -> &'t TableFile { file });
        self.users.iter().chain(shipped)
    }

    /// The series of a family whose devices are related to this one: the user's, the shipped ones, and the shipped
    /// predicted times of the nearest GPU that has any. `times` are those of the family in a file.
    pub(crate) fn related<S: TimedSubject>(
        &self,
        device: &Device,
        probe: &Probe,
        times: fn(&TableFile) -> &[TimeSeries<S>],
    ) -> Vec<(Relation, &TimeSeries<S>)> {
        let has_times = |file: &TableFile| !times(file).is_empty();
        let predicted = (self.has_shipped && S::IS_PREDICTED)
            .then(|| shipped::predicted_near(device, probe, has_times))
            .flatten();
        let all = self.files(device, probe).chain(predicted).flat_map(times);
        all.filter_map(|series| Some((device.relation_of_times(&series.on, probe)?, series))).collect()
    }

    /// The entries whose devices are related to this one.
    pub(crate) fn entries(&self, device: &Device, probe: &Probe) -> impl Iterator<Item = (Relation, &Entry)> {
        let all = self.files(device, probe).flat_map(|file| &file.entry);
        all.filter_map(|entry| Some((device.relation(&entry.on, probe)?, entry)))
    }
}
