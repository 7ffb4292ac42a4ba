//! Predicted times on the GPUs that have a model: `data/predicted`, made by `scripts/predicted-tables`.

use std::sync::OnceLock;

use tripipe_device::Probe;

use super::{Device, Relation, TableFile, Target};

/// The times of a GPU; parsed when they are first needed.
struct PredictedFile {
    /// The GPU, named as its model's file.
    gpu: &'static str,
    text: &'static str,
    table: OnceLock<TableFile>,
}

macro_rules! files {
    ($($gpu:literal)*) => {
        [$(PredictedFile {
            gpu: $gpu,
            text: include_str!(concat!("../../data/predicted/", $gpu, ".toml")),
            table: OnceLock::new(),
        }),*]
    };
}

static FILES: [PredictedFile; 44] = files![
    "adreno-530"
    "adreno-540"
    "adreno-620"
    "adreno-630"
    "adreno-640"
    "adreno-642l"
    "adreno-650"
    "adreno-660"
    "adreno-710"
    "adreno-720"
    "adreno-730"
    "adreno-740"
    "adreno-750"
    "adreno-830"
    "adreno-840"
    "adreno-x1-85"
    "mali-g1"
    "mali-g31"
    "mali-g310"
    "mali-g51"
    "mali-g510"
    "mali-g52"
    "mali-g57"
    "mali-g610"
    "mali-g615"
    "mali-g620"
    "mali-g625"
    "mali-g68"
    "mali-g71"
    "mali-g710"
    "mali-g715"
    "mali-g72"
    "mali-g720"
    "mali-g725"
    "mali-g76"
    "mali-g77"
    "mali-g78"
    "mali-g925"
    "mali-t604"
    "mali-t628"
    "mali-t760"
    "mali-t830"
    "mali-t860"
    "mali-t880"
];

impl PredictedFile {
    #[allow(clippy::panic, reason = "embedded data: a test reads it and fails if it is malformed")]
    fn table(&self) -> &TableFile {
        self.table.get_or_init(|| {
            let read = TableFile::parse(self.gpu, self.text);
            read.unwrap_or_else(|error| panic!("data/predicted/{}.toml: {error}", self.gpu))
        })
    }
}

/// The table of the GPU nearest to a device, of those with such times: itself, one of the same generation, or one of the same
/// family; of several, the first. `None` for other devices.
pub(crate) fn predicted_near(
    device: &Device,
    probe: &Probe,
    has_times: impl Fn(&TableFile) -> bool,
) -> Option<&'static TableFile> {
    let relation = |file: &PredictedFile| {
        let gpu = tripipe_device::find(file.gpu).ok()?;
        device.relation(&Target::Gpu(gpu.name().to_owned()), probe)
    };
    let mut near: Vec<_> = FILES.iter().filter_map(|file| Some((relation(file)?, file))).collect();
    near.retain(|(relation, _)| *relation <= Relation::Family);
    near.sort_by_key(|(relation, _)| *relation);
    near.into_iter().map(|(_, file)| file.table()).find(|table| has_times(table))
}

/// All tables.
#[cfg(test)]
pub(crate) fn predicted_tables() -> impl Iterator<Item = &'static TableFile> {
    FILES.iter().map(PredictedFile::table)
}

#[cfg(test)]
mod tests {
    use super::super::{Basis, named};
    use super::*;
    use crate::gemm::{ElementKind, Elements, Gemm, Table};

    #[test]
    fn files_are_predicted_times_of_the_gpu_that_names_them() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/predicted");
        let mut bytes = 0;
        let mut names: Vec<String> = Vec::new();
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            bytes += std::fs::metadata(&path).unwrap().len();
            names.push(path.file_stem().unwrap().to_string_lossy().into_owned());
        }
        names.sort();
        assert_eq!(names, FILES.iter().map(|file| file.gpu.to_owned()).collect::<Vec<_>>());
        assert!(bytes < 1 << 20, "{bytes} bytes");
        for file in &FILES {
            let gpu = tripipe_device::find(file.gpu).unwrap();
            let TableFile { series, filter, .. } = file.table();
            for series in series {
                assert_eq!(series.on, Target::Gpu(gpu.name().to_owned()));
                assert_eq!(series.basis, Basis::Predicted, "{}", file.gpu);
                assert!(!series.times.is_empty() && !series.version.is_empty());
            }
            assert!(series.iter().any(|series| series.elements == ElementKind::F32), "{}", file.gpu);
            for series in filter {
                assert_eq!(series.on, Target::Gpu(gpu.name().to_owned()));
                assert_eq!(series.basis, Basis::Predicted, "{}", file.gpu);
                assert!(!series.times.is_empty() && !series.version.is_empty());
            }
        }
    }

    /// Published entries of the GPU itself for the class of the shape are preferred; otherwise predicted times.
    #[test]
    fn predicted_times_decide_where_nothing_is_published() {
        let choose = |gpu: &str, size| {
            let images =
                tripipe_device::ImageLimits { max_2d: [8192; 2], from_buffer: true, ..Default::default() };
            let probe = Probe { max_work_group_size: 256, images: Some(images), ..named(gpu) };
            Table::shipped().choose(&Gemm::new(Elements::F32, size), &probe)
        };
        let skinny = choose("Mali-G77", [196, 512, 512]);
        assert_eq!(skinny.basis, Basis::Predicted, "{}", skinny.why);
        assert!(skinny.why.contains("predicted of Mali-G77 itself"), "{}", skinny.why);
        assert!(skinny.measured.is_none() && skinny.estimated_seconds.is_some());
        assert_eq!(choose("Mali-G76", [512; 3]).basis, Basis::Published);
        assert_ne!(choose("NVIDIA L4", [196, 512, 512]).basis, Basis::Predicted);
    }
}
