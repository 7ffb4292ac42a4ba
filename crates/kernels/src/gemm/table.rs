//! Known good parameters, by GPU and shape: `data/gemm/*.toml`, and the user's own files.

mod entry;
mod estimate;
mod relation;
mod series;

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tripipe_device::Probe;

use super::cost::DeviceFigures;
use super::description::Gemm;
use super::parameters::{Parameters, Tile};
use super::shape::Shape;
pub use entry::{Basis, ElementKind, Entry, Measurement, Target};
pub(super) use relation::Device;
use relation::Relation;
pub use series::{Series, Timed, TimedError, TimedShape};

/// The squared distance of shapes up to which times are preferred to entries.
const NEAR: f64 = 18.0;

/// The shipped tables, by file.
const SHIPPED: [(&str, &str); 5] = [
    ("data/gemm/nvidia-h200.toml", include_str!("../../data/gemm/nvidia-h200.toml")),
    ("data/gemm/mali.toml", include_str!("../../data/gemm/mali.toml")),
    ("data/gemm/adreno.toml", include_str!("../../data/gemm/adreno.toml")),
    ("data/gemm/desktop.toml", include_str!("../../data/gemm/desktop.toml")),
    ("data/gemm/cpu.toml", include_str!("../../data/gemm/cpu.toml")),
];

#[allow(clippy::panic, reason = "embedded data: a test reads it and fails if it is malformed")]
static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::load(None).unwrap_or_else(|error| panic!("the shipped table: {error}")));

/// Raw times and entries, the user's before the shipped ones.
#[derive(Clone, Debug, Default)]
pub struct Table {
    series: Vec<Series>,
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
    /// Seconds by estimate, from the cost of the shape and the times of shapes near it; `None` without such times.
    pub estimated_seconds: Option<f64>,
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
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    series: Vec<Series>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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
        self.series.extend(parsed.series);
        self.entries.extend(parsed.entry);
        Ok(())
    }

    /// The entries, the user's first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The raw times, the user's first.
    pub fn series(&self) -> &[Series] {
        &self.series
    }

    /// Parameters for a product on a device, with the [`DeviceFigures`] of its model or kind: [`Self::choose_with`].
    pub fn choose(&self, gemm: &Gemm, probe: &Probe) -> Choice {
        self.choose_with(gemm, probe, &DeviceFigures::of(probe))
    }

    /// Parameters for a product on a device with these figures.
    ///
    /// Where the table has times of the device, or of one related to it, the choice is by estimate: the cost of this
    /// shape with each kernel of those times ([`super::cost`]), corrected by how far the times of that kernel at shapes near
    /// this one are from their estimates. K is divided into as many parts as the estimate wants. Times of a nearer
    /// relation than the nearest entry are needed, or of the same, and a shape within a factor of eight in two of its
    /// extents.
    ///
    /// Otherwise an entry is chosen, by class of shapes.
    pub fn choose_with(&self, gemm: &Gemm, probe: &Probe, figures: &DeviceFigures) -> Choice {
        let by_entry = self.by_entry(gemm, probe);
        let by_times = self.by_times(gemm, probe, figures);
        match (by_times, by_entry) {
            (Some((times, choice, distance)), Some((entry, _))) if times <= entry && distance <= NEAR => {
                choice
            }
            (Some((_, choice, _)), None) | (_, Some((_, choice))) => choice,
            (None, None) => Choice {
                parameters: Parameters::Tile(Tile::new(4, 4)),
                why: "no data for such a device: a tile that every device supports".to_owned(),
                source: "none".to_owned(),
                basis: Basis::Guessed,
                measured: None,
                estimated_seconds: None,
                runners_up: Vec::new(),
            },
        }
    }

    /// The choice by estimate, how near the device and elements are to those of the times, and how far the shape is.
    fn by_times(
        &self,
        gemm: &Gemm,
        probe: &Probe,
        figures: &DeviceFigures,
    ) -> Option<((u8, Relation), Choice, f64)> {
        let device = Device::of(probe);
        let kind = ElementKind::of(gemm.elements);
        let near = |series: &Series| {
            let relation = device.relation_of_times(&series.on, probe)?;
            Some((kind.distance(series.elements), relation))
        };
        let nearest = self.series.iter().filter_map(near).min()?;
        let series: Vec<&Series> =
            self.series.iter().filter(|series| near(series) == Some(nearest)).collect();
        let mut ranked = estimate::ranked(gemm, &series, probe, figures);
        if ranked.is_empty() {
            return None;
        }
        let best = ranked.remove(0);
        let from = series.iter().find(|series| series.times.contains(&best.nearest))?;
        let (distance, relation) = nearest;
        let of = of(&from.on, relation);
        let other = if distance == 0 { "" } else { ", of other elements" };
        let time = |seconds: f64| format!("{:.1} us", seconds * 1e6);
        let shape = TimedShape::of(gemm);
        let at = if best.nearest.shape == shape && best.nearest.parameters == best.parameters {
            format!("{} at this shape", time(best.nearest.seconds))
        } else {
            format!(
                "{} at {} with `{}`",
                time(best.nearest.seconds),
                best.nearest.shape,
                best.nearest.parameters
            )
        };
        let why = format!(
            "the shortest estimate, {}: {} work-groups, the busiest core with {:.2} times the mean; {} {of}{other}: {at}",
            time(best.seconds),
            best.cost.groups,
            best.cost.imbalance,
            from.basis,
        );
        let mut runners_up: Vec<(Parameters, String)> = Vec::new();
        for other in &ranked {
            let known = |parameters: &Parameters| parameters.with_parts(1) == other.parameters.with_parts(1);
            if runners_up.len() < 3
                && !known(&best.parameters)
                && !runners_up.iter().any(|(listed, _)| known(listed))
            {
                runners_up.push((other.parameters, format!("an estimated {}", time(other.seconds))));
            }
        }
        let measured = (from.basis == Basis::Measured).then(|| Measurement {
            gflops: best.nearest.shape.operations() / best.nearest.seconds * 1e-9,
            size: best.nearest.shape.extents,
            device: from.device.clone(),
            driver: from.driver.clone(),
            version: from.version.clone(),
            date: from.date.clone(),
        });
        let choice = Choice {
            parameters: best.parameters,
            why,
            source: from.source.clone(),
            basis: from.basis,
            measured,
            estimated_seconds: Some(best.seconds),
            runners_up,
        };
        Some((nearest, choice, best.distance))
    }

    /// The choice of an entry, and how near its device and elements are. Only entries whose parameters pass the check are considered. They are
    /// ranked by the nearest elements, then by the nearest GPU (itself, its generation, its family, its vendor, its
    /// kind), then by the nearest class of shapes, then by the strongest basis, then by order.
    fn by_entry(&self, gemm: &Gemm, probe: &Probe) -> Option<((u8, Relation), Choice)> {
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
        let (((elements, _, relation), shapes, _), entry) = fit.next()?;
        let why = |entry: &Entry, elements: u8, relation: Relation, shapes: usize| {
            let of = of(&entry.on, relation);
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
        let choice = Choice {
            parameters: entry.parameters,
            why: why(entry, elements, relation, shapes),
            source: entry.source.clone(),
            basis: entry.basis,
            measured: entry.measured.clone(),
            estimated_seconds: None,
            runners_up,
        };
        Some(((elements, relation), choice))
    }
}

/// The relation of a device to the one that data are of.
fn of(on: &Target, relation: Relation) -> String {
    match relation {
        Relation::Itself => format!("of {on} itself"),
        Relation::Generation => format!("of {on}, of the same generation"),
        Relation::Family => format!("of {on}, of the same family"),
        Relation::Vendor => format!("of {on}, by the same vendor"),
        Relation::Kind => format!("of {on}"),
    }
}

/// The text of a file of raw times and entries, in the format that [`Table::load`] reads.
///
/// # Errors
/// None in practice: TOML can represent every series and entry.
pub fn table_to_toml(series: &[Series], entries: &[Entry]) -> Result<String, toml::ser::Error> {
    toml::to_string_pretty(&File { series: series.to_vec(), entry: entries.to_vec() })
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
mod tests;
