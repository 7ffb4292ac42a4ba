//! Figures about time that the GPU's own data does not have, by family: `data/FAMILY.toml`, each with its basis and
//! source.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use tripipe_device::document::built_in;
use tripipe_device::{Basis, Family, Gpu, Source};

/// Declares the figures with their documentation.
macro_rules! figures {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Figures about time of one GPU. Latencies are in clocks of the GPU unless a name says otherwise.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Figures {
            $($(#[$doc])* pub $name: f64,)*
        }

        impl Figures {
            /// The names of all figures.
            pub const NAMES: &[&str] = &[$(stringify!($name),)*];

            /// The figure of that name.
            pub fn get(&self, name: &str) -> Option<f64> {
                match name {
                    $(stringify!($name) => Some(self.$name),)*
                    _ => None,
                }
            }

            /// Sets the figure of that name; `false` if there is none.
            pub fn set(&mut self, name: &str, value: f64) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value,)*
                    _ => return false,
                }
                true
            }
        }
    };
}

figures! {
    /// From an arithmetic operation to one that uses its result. Midgard: to the next word of the same thread.
    arithmetic_latency,
    /// From a special function to an operation that uses its result.
    special_latency,
    /// Of a load that hits the L1. Without an L1: the part of the path that is not the L2's.
    load_latency,
    /// Of a store, if a thread waits for its end.
    store_latency,
    /// Of an image read that hits the texture cache.
    texture_latency,
    /// Of a load from dedicated local memory.
    local_latency,
    /// More for a line that comes from the L2.
    l2_latency,
    /// More for a line that comes from DRAM, in nanoseconds.
    dram_latency_ns,
    /// Lines per set of the load/store L1.
    l1_ways,
    /// Lines per set of the texture cache.
    texture_ways,
    /// Lines per set of the L2.
    l2_ways,
    /// Bytes that a slice of the L2 delivers per clock.
    l2_slice_bytes_per_clock,
    /// Banks of a slice of the L2.
    l2_banks,
    /// Consecutive bytes in one bank.
    l2_bank_bytes,
    /// Bytes that a bank delivers per clock.
    l2_bank_bytes_per_clock,
    /// Smallest transfer from the L2 to a core without an L1: a line, or half of one.
    l2_transfer_bytes,
    /// Work-items of a core whose loads or stores are processed per clock. 0: as many as their requests allow.
    load_store_items_per_clock,
    /// Bytes of neighbouring work-items that one request for a line returns. 0: those of the whole warp.
    request_bytes,
    /// Bytes that a core receives from the L2 per clock.
    port_bytes_per_clock,
    /// Bytes of a texel that the texture pipe reads at full rate.
    texel_bytes,
    /// Bytes of a core's dedicated local memory per clock.
    local_bytes_per_clock,
    /// Bytes that a core's dedicated local memory returns to work-items per clock, if they share what it reads.
    local_returned_bytes_per_clock,
    /// More for a line that comes from the system cache, in nanoseconds.
    system_cache_latency_ns,
    /// Bandwidth of the system cache, as a multiple of the DRAM's peak.
    system_cache_speed,
    /// Share of the DRAM's peak bandwidth that a GPU reaches.
    dram_efficiency,
    /// Lines that the loads of a core can request before the first one arrives.
    lines_in_flight,
    /// The same for the image reads of a core.
    texture_lines_in_flight,
    /// Lines that the loads of a core can request from DRAM before the first one arrives.
    dram_lines_in_flight,
    /// Clocks that the stores of a core may be behind: modified lines wait in a queue.
    store_queue_clocks,
    /// Bytes of a page.
    page_bytes,
    /// Pages whose translation a core remembers.
    tlb_pages,
    /// Clocks of a translation that it does not.
    tlb_miss_clocks,
    /// Clocks between two such translations, of all cores.
    tlb_walk_clocks,
    /// From the start of a warp to its first operation.
    warp_start_latency,
    /// Clocks between the starts of two warps of a core.
    warp_start_clocks,
    /// Clocks between the starts of two work-groups of a core.
    group_start_clocks,
    /// Host time from the call to the start of the kernel, in microseconds.
    launch_us,
    /// The same for a launch of a list that was recorded before, in microseconds. 0: nobody has measured it.
    recorded_launch_us,
    /// Seconds after which the kernel driver stops a launch and resets the GPU.
    watchdog_s,
    /// Messages of a warp in flight. 0: a thread waits for each word.
    messages_in_flight,
    /// Clocks of a barrier after the last work-item has arrived.
    barrier_clocks,
    /// Clocks of an atomic operation on one address.
    atomic_clocks,
    /// Most work-groups resident on a core.
    groups_per_core,
    /// Most work-items of a work-group that the driver chooses itself.
    chosen_group_items,
    /// Memory that the driver offers to programs, in GiB.
    memory_gib,
}

/// A figure with its provenance.
#[derive(Clone, Debug, PartialEq)]
pub struct Provenance {
    /// Its value.
    pub value: f64,
    /// How it is known.
    pub basis: Basis,
    /// Where it is from.
    pub source: std::sync::Arc<Source>,
    /// What it was derived from, and how.
    pub note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    figures: BTreeMap<String, FigureEntry>,
    #[serde(default)]
    variant: Vec<Variant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureEntry {
    value: f64,
    basis: String,
    source: String,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    gpus: Vec<String>,
    figures: BTreeMap<String, FigureEntry>,
}

/// An error in a data file. A test reads the built-in files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FiguresError {
    /// Not TOML of the expected form.
    #[error("{message}")]
    Syntax {
        /// The parser's message, with line and column.
        message: String,
    },
    /// An unknown name, basis or source.
    #[error("{name}: {what}")]
    Word {
        /// The figure.
        name: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A figure that the file lacks.
    #[error("{name} is missing")]
    Missing {
        /// The figure.
        name: &'static str,
    },
}

impl FigureEntry {
    fn read(self, name: &str) -> Result<Provenance, FiguresError> {
        let wrong = |what| FiguresError::Word { name: name.to_owned(), what };
        // A misspelt name would silently leave the family's figure in place.
        if !Figures::NAMES.contains(&name) {
            return Err(wrong("there is no such figure"));
        }
        Ok(Provenance {
            value: self.value,
            basis: self.basis.parse().map_err(|()| wrong("unknown basis"))?,
            source: Source::named(&self.source).ok_or_else(|| wrong("unknown source"))?,
            note: self.note,
        })
    }
}

/// The GPUs that one file describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sheet {
    Midgard,
    Bifrost,
    Valhall,
    Adreno,
}

impl Sheet {
    pub(crate) const ALL: [Self; 4] = [Self::Midgard, Self::Bifrost, Self::Valhall, Self::Adreno];

    pub(crate) fn of(gpu: &Gpu) -> Self {
        match gpu.family() {
            Family::Midgard => Self::Midgard,
            Family::Bifrost => Self::Bifrost,
            Family::Valhall | Family::Arm5thGen => Self::Valhall,
            Family::Adreno5xx | Family::Adreno6xx | Family::Adreno7xx | Family::Adreno8xx => Self::Adreno,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Midgard => "midgard",
            Self::Bifrost => "bifrost",
            Self::Valhall => "valhall",
            Self::Adreno => "adreno",
        }
    }

    pub(crate) fn usual_name(self) -> &'static str {
        match self {
            Self::Midgard => "Midgard",
            Self::Bifrost => "Bifrost",
            Self::Valhall => "Valhall",
            Self::Adreno => "Adreno",
        }
    }
}

/// The figures of a family: those of all its GPUs, and those of single ones.
struct SheetFigures {
    all: BTreeMap<String, Provenance>,
    single: Vec<(Vec<String>, BTreeMap<String, Provenance>)>,
}

impl SheetFigures {
    fn from_toml(text: &str) -> Result<Self, FiguresError> {
        let file: File =
            toml::from_str(text).map_err(|error| FiguresError::Syntax { message: error.to_string() })?;
        let read = |entries: BTreeMap<String, FigureEntry>| {
            let entries = entries.into_iter();
            entries
                .map(|(name, entry)| Ok((name.clone(), entry.read(&name)?)))
                .collect::<Result<BTreeMap<_, _>, FiguresError>>()
        };
        let all = read(file.figures)?;
        // The family must have every figure. A variant replaces only some.
        if let Some(name) = Figures::NAMES.iter().find(|name| !all.contains_key(**name)) {
            return Err(FiguresError::Missing { name });
        }
        let single = file.variant.into_iter().map(|variant| Ok((variant.gpus, read(variant.figures)?)));
        Ok(Self { all, single: single.collect::<Result<_, FiguresError>>()? })
    }
}

static SHEETS: LazyLock<[Result<SheetFigures, FiguresError>; Sheet::ALL.len()]> = LazyLock::new(|| {
    [
        include_str!("../data/midgard.toml"),
        include_str!("../data/bifrost.toml"),
        include_str!("../data/valhall.toml"),
        include_str!("../data/adreno.toml"),
    ]
    .map(SheetFigures::from_toml)
});

/// The figures of a GPU with their provenance, by name.
pub fn provenance(gpu: &Gpu) -> BTreeMap<String, Provenance> {
    let sheet = built_in("built-in figures", SHEETS[Sheet::of(gpu) as usize].as_ref());
    let mut figures = sheet.all.clone();
    for (gpus, single) in &sheet.single {
        if gpus.iter().any(|name| name == gpu.name()) {
            // After the family's figures, so that the GPU's own replace them.
            figures.extend(single.iter().map(|(name, figure)| (name.clone(), figure.clone())));
        }
    }
    figures
}

impl Figures {
    /// The figures of a GPU.
    pub fn of(gpu: &Gpu) -> Self {
        let mut figures = Self::default();
        for (name, figure) in provenance(gpu) {
            // The names were checked when the sheet was read.
            figures.set(&name, figure.value);
        }
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_file_can_be_read() {
        for sheet in SHEETS.iter() {
            assert_eq!(sheet.as_ref().err(), None);
        }
    }

    /// A variant that names a GPU that does not exist would never apply.
    #[test]
    fn variants_name_known_gpus() {
        let sheets = SHEETS.iter().filter_map(|sheet| sheet.as_ref().ok());
        for name in sheets.flat_map(|sheet| &sheet.single).flat_map(|(gpus, _)| gpus) {
            assert!(tripipe_device::catalog().iter().any(|gpu| gpu.name() == name), "{name}");
        }
    }

    #[test]
    fn every_gpu_has_all_figures() {
        for gpu in tripipe_device::catalog() {
            let figures = provenance(gpu);
            assert_eq!(figures.len(), Figures::NAMES.len(), "{}", gpu.name());
            assert!(figures.values().all(|figure| figure.value.is_finite() && figure.value >= 0.0));
        }
    }

    #[test]
    fn malformed_files_are_refused() {
        let wrong = |text: &str| SheetFigures::from_toml(text).err().map(|error| error.to_string());
        let missing = wrong("[figures]\n").unwrap_or_default();
        assert!(missing.ends_with("is missing"), "{missing}");
        let unknown = wrong("[figures]\nspeed = { value = 1, basis = \"guessed\", source = \"estimate\" }\n");
        assert_eq!(unknown.as_deref(), Some("speed: there is no such figure"));
        let basis = wrong("[figures]\nl2_ways = { value = 1, basis = \"felt\", source = \"estimate\" }\n");
        assert_eq!(basis.as_deref(), Some("l2_ways: unknown basis"));
        assert!(wrong("figures = 3").is_some());
    }
}
