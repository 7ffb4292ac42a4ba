//! The shipped files: measured times and published parameters in `data/gemm` and `data/filter`, and predicted times of the GPUs
//! that have a model in `data/predicted`, made by `scripts/predicted-tables`.

use std::sync::OnceLock;

use tripipe_device::Probe;
use tripipe_device::document::built_in;

use super::{Device, Relation, TableFile, Target};

/// A shipped file. It is parsed when a device first needs it: a phone's GPU never reads the times of a desktop's.
struct ShippedFile {
    /// Its path in `data`, without the extension.
    path: &'static str,
    /// The devices that it can apply to: those that are in any way related to these.
    on: RelatedTo,
    text: &'static str,
    table: OnceLock<TableFile>,
}

/// What a [`Target`] says, in a constant.
enum RelatedTo {
    Gpu(&'static str),
    Name(&'static str),
    Kind(&'static str),
}

macro_rules! files {
    ($($devices:ident($name:literal): $path:expr,)*) => {
        [$(ShippedFile {
            path: $path,
            on: RelatedTo::$devices($name),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/data/", $path, ".toml")),
            table: OnceLock::new(),
        }),*]
    };
}

/// All but predicted times. Of the GPUs of one vendor, one stands for all.
static MEASURED: [ShippedFile; 8] = files![
    Name("NVIDIA H200"): "gemm/nvidia-h200",
    Name("pthread-skylake-avx512-AMD EPYC"): "gemm/pocl",
    Gpu("mali-g76"): "gemm/mali",
    Gpu("adreno-640"): "gemm/adreno",
    Kind("gpu"): "gemm/any-gpu",
    Kind("cpu"): "gemm/cpu",
    Name("pthread-skylake-avx512-AMD EPYC"): "filter/pocl",
    Name("NVIDIA H100 80GB HBM3"): "filter/nvidia-h100",
];

include!(concat!(env!("OUT_DIR"), "/predicted.rs"));

impl ShippedFile {
    fn relation(&self, device: &Device, probe: &Probe) -> Option<Relation> {
        let on = match self.on {
            RelatedTo::Gpu(gpu) => Target::Gpu(tripipe_device::find(gpu).ok()?.name().to_owned()),
            RelatedTo::Name(part) => Target::Name(part.to_owned()),
            RelatedTo::Kind(kind) => Target::Kind(kind.to_owned()),
        };
        device.relation_of_times(&on, probe)
    }

    fn table(&self) -> &TableFile {
        let file = || built_in(&format!("data/{}.toml", self.path), TableFile::parse(self.path, self.text));
        self.table.get_or_init(file)
    }
}

/// The files that can apply to a device, without predicted times.
pub(super) fn of_device(device: &Device, probe: &Probe) -> impl Iterator<Item = &'static TableFile> {
    MEASURED.iter().filter(|file| file.relation(device, probe).is_some()).map(ShippedFile::table)
}

/// The predicted times of the GPU nearest to a device, of those with such times: itself, one of the same generation, or one of the
/// same family; of several, the first. `None` for other devices.
pub(super) fn predicted_near(
    device: &Device,
    probe: &Probe,
    has_times: impl Fn(&TableFile) -> bool,
) -> Option<&'static TableFile> {
    let relation = |file: &'static ShippedFile| Some((file.relation(device, probe)?, file));
    let mut near: Vec<_> = PREDICTED.iter().filter_map(relation).collect();
    near.retain(|(relation, _)| *relation <= Relation::Family);
    near.sort_by_key(|(relation, _)| *relation);
    near.into_iter().map(|(_, file)| file.table()).find(|table| has_times(table))
}

/// All files but predicted times.
#[cfg(test)]
pub(crate) fn measured_files() -> impl Iterator<Item = &'static TableFile> {
    MEASURED.iter().map(ShippedFile::table)
}

/// All files of predicted times.
#[cfg(test)]
pub(crate) fn predicted_files() -> impl Iterator<Item = &'static TableFile> {
    PREDICTED.iter().map(ShippedFile::table)
}

#[cfg(test)]
mod tests {
    use tripipe_device::DeviceKind;

    use super::super::{Basis, Table, TimedSubject as _, named};
    use super::*;
    use crate::gemm::{ElementKind, Elements, Entry, Gemm, ProductExtents};
    use crate::quantised::QuantisedProduct;

    #[test]
    fn files_are_predicted_times_of_the_gpu_that_names_them() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/predicted");
        let mut bytes = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            bytes += file.unwrap().metadata().unwrap().len();
        }
        assert!(bytes < 1 << 20, "{bytes} bytes");
        for file in &PREDICTED {
            let gpu = tripipe_device::find(file.path.split_once('/').unwrap().1).unwrap();
            let on = Target::Gpu(gpu.name().to_owned());
            let TableFile { gemm, filter, quantised, entry } = file.table();
            assert!(
                entry.is_empty() && (QuantisedProduct::IS_PREDICTED || quantised.is_empty()),
                "{}",
                file.path
            );
            for series in gemm {
                assert!(series.on == on && series.basis == Basis::Predicted, "{}", file.path);
                assert!(!series.times.is_empty() && !series.version.is_empty());
            }
            let mut times = gemm.iter().flat_map(|series| &series.times);
            assert!(times.any(|time| time.of.elements == ElementKind::F32), "{}", file.path);
            for series in filter {
                assert!(series.on == on && series.basis == Basis::Predicted, "{}", file.path);
                assert!(!series.times.is_empty() && !series.version.is_empty());
            }
        }
    }

    /// A file that is left out for a device has nothing for it: the choice is that of all files.
    #[test]
    fn devices_read_only_the_files_of_their_like() {
        let cpu = |name: &str| Probe { kind: DeviceKind::Cpu, ..named(name) };
        let pocl = "pthread-skylake-avx512-AMD EPYC 9B14";
        let mut probes = vec![
            (cpu(pocl), vec!["gemm/pocl", "gemm/cpu", "filter/pocl"]),
            (cpu("pthread-other"), vec!["gemm/cpu"]),
        ];
        for gpu in tripipe_device::catalog() {
            let own = if gpu.name().starts_with("Mali") { "gemm/mali" } else { "gemm/adreno" };
            probes.push((named(gpu.name()), vec![own, "gemm/any-gpu"]));
        }
        let times = ["gemm/nvidia-h200", "gemm/pocl", "gemm/any-gpu", "filter/pocl", "filter/nvidia-h100"];
        probes.push((named("NVIDIA L4"), times.to_vec()));
        for (probe, want) in &probes {
            let device = Device::of(probe);
            let (read, left): (Vec<_>, Vec<_>) =
                MEASURED.iter().partition(|file| file.relation(&device, probe).is_some());
            assert_eq!(read.iter().map(|file| file.path).collect::<Vec<_>>(), *want, "{}", probe.name);
            for file in left {
                let TableFile { gemm, entry, filter, quantised } = file.table();
                let times =
                    gemm.iter().map(|series| &series.on).chain(filter.iter().map(|series| &series.on));
                let times = times.chain(quantised.iter().map(|series| &series.on));
                for on in times {
                    assert_eq!(device.relation_of_times(on, probe), None, "{} {on}", probe.name);
                }
                for Entry { on, .. } in entry {
                    assert_eq!(device.relation(on, probe), None, "{} {on}", probe.name);
                }
            }
        }
    }

    /// Published entries of the GPU itself for the class of the shape are preferred; otherwise predicted times.
    #[test]
    fn predicted_times_decide_where_nothing_is_published() {
        let choose = |gpu: &str, [m, n, k]: [usize; 3]| {
            let images =
                tripipe_device::ImageLimits { max_2d: [8192; 2], from_buffer: true, ..Default::default() };
            let probe = Probe { max_work_group_size: 256, images: Some(images), ..named(gpu) };
            Table::shipped().choose_product(&Gemm::new(Elements::F32, ProductExtents { m, n, k }), &probe)
        };
        let skinny = choose("Mali-G77", [196, 512, 512]);
        assert_eq!(skinny.basis, Basis::Predicted, "{}", skinny.why);
        assert!(skinny.why.contains("predicted of Mali-G77 itself"), "{}", skinny.why);
        assert!(skinny.measured.is_none() && skinny.estimated_seconds.is_some());
        assert_eq!(choose("Mali-G76", [512; 3]).basis, Basis::Published);
        assert_ne!(choose("NVIDIA L4", [196, 512, 512]).basis, Basis::Predicted);
    }
}
