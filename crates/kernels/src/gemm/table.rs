//! Known good parameters, by GPU and shape: `data/gemm/*.toml`, and the user's own files.

mod entry;
mod relation;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tripipe_device::Probe;

use super::description::Gemm;
use super::parameters::{Parameters, Tile};
use super::shape::Shape;
pub use entry::{Basis, ElementKind, Entry, Measurement, Target};
use relation::{Device, Relation};

/// The shipped tables, by file.
const SHIPPED: [(&str, &str); 4] = [
    ("data/gemm/mali.toml", include_str!("../../data/gemm/mali.toml")),
    ("data/gemm/adreno.toml", include_str!("../../data/gemm/adreno.toml")),
    ("data/gemm/desktop.toml", include_str!("../../data/gemm/desktop.toml")),
    ("data/gemm/cpu.toml", include_str!("../../data/gemm/cpu.toml")),
];

#[allow(clippy::panic, reason = "embedded data: a test reads it and fails if it is malformed")]
static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::load(None).unwrap_or_else(|error| panic!("the shipped table: {error}")));

/// Entries, the user's before the shipped ones.
#[derive(Clone, Debug, Default)]
pub struct Table {
    entries: Vec<Entry>,
}

/// The table's choice for a product.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The parameters to use.
    pub parameters: Parameters,
    /// Which entry was chosen, and why: one sentence.
    pub why: String,
    /// The source of the entry.
    pub source: String,
    /// The basis of the entry; `Guessed` when no entry was found.
    pub basis: Basis,
    /// The measurement of these parameters, if there is one: possibly of another size or on a related GPU.
    pub measured: Option<Measurement>,
    /// Other parameters that the device supports, best first, each with the reason for its rank: at most three.
    pub runners_up: Vec<(Parameters, String)>,
}

/// Why a table could not be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TableError {
    /// A file or folder that cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file that is not a valid table.
    #[error("{file}: {source}")]
    Parse {
        /// The file.
        file: String,
        /// The location and cause.
        source: Box<toml::de::Error>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    entry: Vec<Entry>,
}

impl Table {
    /// All `.toml` files of the user's `folder`, in the order of their names, then the shipped tables. A missing
    /// folder counts as empty.
    ///
    /// # Errors
    /// A file that cannot be read or is not a valid table.
    pub fn load(folder: Option<&Path>) -> Result<Self, TableError> {
        let mut table = Self::default();
        for path in folder.map(files).transpose()?.unwrap_or_default() {
            let text = std::fs::read_to_string(&path)
                .map_err(|source| TableError::Read { path: path.clone(), source })?;
            table.add(&path.display().to_string(), &text)?;
        }
        for (file, text) in SHIPPED {
            table.add(file, text)?;
        }
        Ok(table)
    }

    /// The shipped table.
    pub fn shipped() -> &'static Self {
        &TABLE
    }

    fn add(&mut self, file: &str, text: &str) -> Result<(), TableError> {
        let parsed: File = toml::from_str(text)
            .map_err(|source| TableError::Parse { file: file.to_owned(), source: Box::new(source) })?;
        self.entries.extend(parsed.entry);
        Ok(())
    }

    /// The entries, the user's first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Parameters for a product on a device. Only entries whose parameters pass the check are considered. They are
    /// ranked by the nearest elements, then by the nearest GPU (itself, its generation, its family, its vendor, its
    /// kind), then by the nearest class of shapes, then by the strongest basis, then by order. Without an entry, the
    /// choice is a tile that every device supports.
    pub fn choose(&self, gemm: &Gemm, probe: &Probe) -> Choice {
        let device = Device::of(probe);
        let (kind, shape) = (ElementKind::of(gemm.elements), Shape::of(gemm));
        let mut near: Vec<_> = self
            .entries
            .iter()
            .filter_map(|entry| {
                let relation = device.relation(&entry.on, probe)?;
                // Vector shapes need vector kernels, and no other shape does.
                let apart = u8::from((entry.shape == Shape::Vector) != (shape == Shape::Vector));
                let near = (kind.distance(entry.elements), apart, relation);
                Some(((near, shape.distance(entry.shape), Reverse(entry.basis)), entry))
            })
            .collect();
        near.sort_by_key(|(key, _)| *key);
        let mut fit = near.into_iter().filter(|(_, entry)| entry.parameters.check(gemm, probe).is_ok());
        let Some((((elements, _, relation), shapes, _), entry)) = fit.next() else {
            return Choice {
                parameters: Parameters::Tile(Tile::new(4, 4)),
                why: "no data for such a device: a tile that every device supports".to_owned(),
                source: "none".to_owned(),
                basis: Basis::Guessed,
                measured: None,
                runners_up: Vec::new(),
            };
        };
        let why = |entry: &Entry, elements: u8, relation: Relation, shapes: usize| {
            let of = match relation {
                Relation::Itself => format!("of {} itself", entry.on),
                Relation::Generation => format!("of {}, of the same generation", entry.on),
                Relation::Family => format!("of {}, of the same family", entry.on),
                Relation::Vendor => format!("of {}, by the same vendor", entry.on),
                Relation::Kind => format!("of {}", entry.on),
            };
            let none =
                if shapes == 0 { String::new() } else { format!(", as there is none for {shape} ones") };
            let other = if elements == 0 { "" } else { ", of other elements" };
            format!("{} {of}, for {} products{none}{other}", entry.basis, entry.shape)
        };
        let mut runners_up: Vec<(Parameters, String)> = Vec::new();
        for (((elements, _, relation), shapes, _), other) in fit {
            let known = other.parameters == entry.parameters
                || runners_up.iter().any(|(parameters, _)| *parameters == other.parameters);
            if !known && runners_up.len() < 3 {
                let rate =
                    other.measured.as_ref().map(|measured| format!(", {:.0} GFLOP/s", measured.gflops));
                let why = why(other, elements, relation, shapes) + &rate.unwrap_or_default();
                runners_up.push((other.parameters, why));
            }
        }
        Choice {
            parameters: entry.parameters,
            why: why(entry, elements, relation, shapes),
            source: entry.source.clone(),
            basis: entry.basis,
            measured: entry.measured.clone(),
            runners_up,
        }
    }
}

/// The text of a file of entries, in the format that [`Table::load`] reads.
///
/// # Errors
/// None in practice: TOML can represent every entry.
pub fn entries_to_toml(entries: &[Entry]) -> Result<String, toml::ser::Error> {
    toml::to_string_pretty(&File { entry: entries.to_vec() })
}

/// The shipped table's parameters for a product on a device: [`Table::choose`].
pub fn default_parameters(gemm: &Gemm, probe: &Probe) -> Choice {
    Table::shipped().choose(gemm, probe)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, TableError> {
    let failed = |source| TableError::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::relation::named;
    use super::*;
    use crate::gemm::description::{Accumulate, Elements};

    fn gemm(side: usize) -> Gemm {
        Gemm::new(Elements::F32, [side; 3])
    }

    #[test]
    fn shipped_files_are_tables() {
        let table = Table::load(None).unwrap();
        assert!(table.entries().len() > 40);
        for entry in table.entries() {
            if let Target::Gpu(name) = &entry.on {
                assert!(Device::of(&named(name)).identity.vendor.is_some(), "{name} is not a product");
                assert_eq!(Device::of(&named(name)).product.as_deref(), Some(name.as_str()));
            }
            if let Target::Kind(kind) = &entry.on {
                assert!(["cpu", "gpu"].contains(&kind.as_str()), "{kind}");
            }
            assert_eq!(entry.measured.is_some(), entry.basis == Basis::Measured, "{entry:?}");
            assert!(!entry.source.is_empty());
            let ample = Probe {
                extensions: [
                    "cl_khr_fp16",
                    "cl_khr_integer_dot_product",
                    "cl_arm_integer_dot_product_accumulate_int8",
                ]
                .map(str::to_owned)
                .to_vec(),
                opencl_c: (3, 0),
                images: Some(tripipe_device::ImageLimits {
                    max_2d: [65536; 2],
                    from_buffer: true,
                    ..Default::default()
                }),
                ..Probe::default()
            };
            let elements = match entry.elements {
                ElementKind::F32 => Elements::F32,
                ElementKind::F64 => Elements::F64,
                ElementKind::F16 => Elements::F16(Accumulate::F16),
                ElementKind::F16InF32 => Elements::F16(Accumulate::F32),
                ElementKind::F16Chunked => Elements::F16(Accumulate::Chunked { block: 32 }),
                ElementKind::I8 => Elements::I8ToI32,
            };
            let extents = if entry.shape == Shape::Vector { [1, 256, 256] } else { [256; 3] };
            let mut gemm = Gemm::new(elements, extents);
            if matches!(entry.parameters, Parameters::Vector(_)) {
                gemm.b = super::super::Layout::column_major(256);
            }
            entry.parameters.check(&gemm, &ample).unwrap_or_else(|unfit| panic!("{entry:?}: {unfit}"));
        }
    }

    #[test]
    fn the_nearest_entry_is_taken() {
        let entry = |on, shape, text: &str| Entry {
            on,
            elements: ElementKind::F32,
            shape,
            parameters: text.parse().unwrap(),
            basis: Basis::Published,
            source: "a test".to_owned(),
            measured: None,
        };
        let gpu = |name: &str| Target::Gpu(name.to_owned());
        let table = Table {
            entries: vec![
                entry(Target::Kind("gpu".to_owned()), Shape::Large, "tile 1x4"),
                entry(gpu("Mali-G76"), Shape::Large, "tile 2x4"),
                entry(gpu("Mali-G78"), Shape::Small, "tile 3x4"),
                entry(gpu("Mali-G78"), Shape::Large, "tile 4x4"),
                entry(gpu("Mali-G610"), Shape::Large, "tile 5x4 b=image"),
                entry(gpu("Mali-G610"), Shape::Large, "tile 6x4"),
                entry(Target::Name("H200".to_owned()), Shape::Large, "tile 7x4"),
            ],
        };
        let choose = |name: &str, side| {
            let choice = table.choose(&gemm(side), &named(name));
            (choice.parameters.to_string(), choice.why)
        };
        // No images: the first of the two entries is skipped.
        assert_eq!(choose("Mali-G610 MC4 r0p0", 1024).0, "tile 6x4");
        assert_eq!(choose("Mali-G78 r1p1", 1024).0, "tile 4x4");
        assert_eq!(choose("Mali-G78 r1p1", 64).0, "tile 3x4");
        // Valhall without entries for this GPU; Midgard; a vendor without entries.
        assert!(choose("Mali-G57", 1024).1.contains("Mali-G78"), "{}", choose("Mali-G57", 1024).1);
        assert!(choose("Mali-T860", 1024).1.contains("by the same vendor"));
        assert_eq!(choose("NVIDIA H200", 1024).0, "tile 7x4");
        let other = choose("NVIDIA L4", 1024);
        assert_eq!(other.0, "tile 1x4");
        assert!(other.1.contains("any GPU"), "{}", other.1);
    }

    #[test]
    fn the_users_entries_come_first() {
        let folder = std::env::temp_dir().join(format!("tripipe-gemm-table-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let entry = Entry {
            on: Target::Gpu("Mali-G610".to_owned()),
            elements: ElementKind::F32,
            shape: Shape::Large,
            parameters: "tile 3x4".parse().unwrap(),
            basis: Basis::Measured,
            source: "a sweep".to_owned(),
            measured: Some(Measurement {
                gflops: 100.0,
                size: [1024, 1024, 1024, 1],
                device: "Mali-G610".to_owned(),
                driver: "1".to_owned(),
                version: "0".to_owned(),
                date: "2026-01-01".to_owned(),
            }),
        };
        let text = entries_to_toml(std::slice::from_ref(&entry)).unwrap();
        std::fs::write(folder.join("mine.toml"), &text).unwrap();
        let table = Table::load(Some(&folder)).unwrap();
        assert_eq!(table.entries()[0], entry);
        let choice = table.choose(&gemm(1024), &named("Mali-G610 r0p0"));
        assert_eq!(choice.parameters, entry.parameters);
        std::fs::write(folder.join("mine.toml"), text.replace("gflops", "colour")).unwrap();
        assert!(matches!(Table::load(Some(&folder)), Err(TableError::Parse { .. })));
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(Table::load(Some(&folder)).is_ok());
    }
}
