//! Known good parameters, by GPU and shape: `data/gemm/*.toml`, and the user's own files.

mod entry;
mod estimate;
mod series;

use std::cmp::Reverse;
use std::path::Path;
use std::sync::LazyLock;

use tripipe_device::Probe;

use super::cost::DeviceFigures;
use super::description::Gemm;
use super::parameters::{Parameters, Tile};
use super::shape::Shape;
use crate::table::{Basis, Device, Relation, TableError, TableFile, described, predicted_near};
pub use entry::{ElementKind, Entry, Measurement};
pub use series::{Series, Timed, TimedError, TimedShape};

/// The squared distance of shapes up to which times are preferred to entries.
const NEAR: f64 = 18.0;

/// Likewise for predicted times, of which there are few for a GPU: at 15 products on five virtual GPUs, choices from times
/// that are farther away, and for products with a vector, were up to 1.28 times as slow as those of entries.
const NEAR_PREDICTED: f64 = 6.0;
const NEAR_PREDICTED_VECTOR: f64 = 1.0;

/// The shipped tables, by file.
const SHIPPED: [(&str, &str); 6] = [
    ("data/gemm/nvidia-h200.toml", include_str!("../../../data/gemm/nvidia-h200.toml")),
    ("data/gemm/pocl.toml", include_str!("../../../data/gemm/pocl.toml")),
    ("data/gemm/mali.toml", include_str!("../../../data/gemm/mali.toml")),
    ("data/gemm/adreno.toml", include_str!("../../../data/gemm/adreno.toml")),
    ("data/gemm/desktop.toml", include_str!("../../../data/gemm/desktop.toml")),
    ("data/gemm/cpu.toml", include_str!("../../../data/gemm/cpu.toml")),
];

#[allow(clippy::panic, reason = "embedded data: a test reads it and fails if it is malformed")]
static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::load(None).unwrap_or_else(|error| panic!("the shipped table: {error}")));

/// Raw times and entries, the user's before the shipped ones.
#[derive(Clone, Debug, Default)]
pub struct Table {
    series: Vec<Series>,
    entries: Vec<Entry>,
    /// Whether the shipped predicted times are used.
    has_predictions: bool,
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

impl Table {
    /// All `.toml` files of the user's `folder`, in the order of their names, then the shipped tables.
    ///
    /// # Errors
    /// There is no such folder; a file that cannot be read, or is not a valid table.
    pub fn load(folder: Option<&Path>) -> Result<Self, TableError> {
        let mut table = Self { has_predictions: true, ..Self::default() };
        for file in folder.map(TableFile::read_all).transpose()?.unwrap_or_default() {
            table.add(file);
        }
        for (name, text) in SHIPPED {
            table.add(TableFile::parse(name, text)?);
        }
        Ok(table)
    }

    /// The shipped table.
    pub fn shipped() -> &'static Self {
        &TABLE
    }

    fn add(&mut self, file: TableFile) {
        self.series.extend(file.series);
        self.entries.extend(file.entry);
    }

    /// The entries, the user's first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The raw times, the user's first, without the shipped predicted ones.
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
    /// Measured times are preferred to predicted ones of a device as near, and so are entries of the device itself for the
    /// shape's class, unless they are guessed.
    ///
    /// Otherwise an entry is chosen, by class of shapes.
    pub fn choose_with(&self, gemm: &Gemm, probe: &Probe, figures: &DeviceFigures) -> Choice {
        let device = Device::of(probe);
        let is_predicted = |series: &&Series| series.basis == Basis::Predicted;
        let has_times = |file: &TableFile| !file.series.is_empty();
        let shipped = if self.has_predictions { predicted_near(&device, probe, has_times) } else { None };
        let shipped = shipped.map_or(&[][..], |file| &file.series);
        let predicted: Vec<&Series> = self.series.iter().filter(is_predicted).chain(shipped).collect();
        let measured: Vec<&Series> = self.series.iter().filter(|series| !is_predicted(series)).collect();
        let by_entry = self.by_entry(gemm, probe);
        let near = by_entry.as_ref().map(|(near, choice)| {
            // An entry of another device or class, and a guess, say less than the model of the device itself.
            let is_own = near.distance == (0, Relation::Itself) && near.is_of_class;
            (near.distance, is_own && choice.basis > Basis::Predicted)
        });
        let by_measured = by_times(&measured, gemm, probe, figures).filter(|times| match near {
            Some((entry, _)) => times.near <= entry && times.distance <= NEAR,
            None => true,
        });
        let is_vector = Shape::of(gemm) == Shape::Vector;
        let limit = if is_vector { NEAR_PREDICTED_VECTOR } else { NEAR_PREDICTED };
        let by_predicted = by_times(&predicted, gemm, probe, figures).filter(|times| match near {
            Some((entry, is_preferred)) => times.near <= entry && times.distance <= limit && !is_preferred,
            None => true,
        });
        let by_times = match (by_measured, by_predicted) {
            (Some(measured), Some(predicted)) if predicted.near < measured.near => Some(predicted),
            (Some(measured), _) => Some(measured),
            (None, predicted) => predicted,
        };
        if let Some(times) = by_times {
            return times.choice;
        }
        by_entry.map_or_else(
            || Choice {
                parameters: Parameters::Tile(Tile::new(4, 4)),
                why: "no data for such a device: a tile that every device supports".to_owned(),
                source: "none".to_owned(),
                basis: Basis::Guessed,
                measured: None,
                estimated_seconds: None,
                runners_up: Vec::new(),
            },
            |(_, choice)| choice,
        )
    }

    /// The choice of an entry, and how near its device and elements are. Only entries whose parameters pass the check are considered. They are
    /// ranked by the nearest elements, then by the nearest GPU (itself, its generation, its family, its vendor, its
    /// kind), then by the nearest class of shapes, then by the strongest basis, then by order.
    fn by_entry(&self, gemm: &Gemm, probe: &Probe) -> Option<(NearEntry, Choice)> {
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
            let of = described(&entry.on, relation);
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
        Some((NearEntry { distance: (elements, relation), is_of_class: shapes == 0 }, choice))
    }
}

/// A choice by estimate.
struct ChoiceByTimes {
    /// How near the elements and the device are to those of the times.
    near: (u8, Relation),
    choice: Choice,
    /// How far the shape is: squared.
    distance: f64,
}

/// The choice by estimate from the nearest of these times.
fn by_times(all: &[&Series], gemm: &Gemm, probe: &Probe, figures: &DeviceFigures) -> Option<ChoiceByTimes> {
    let device = Device::of(probe);
    let kind = ElementKind::of(gemm.elements);
    let near = |series: &Series| {
        let relation = device.relation_of_times(&series.on, probe)?;
        Some((kind.distance(series.elements), relation))
    };
    let nearest = all.iter().copied().filter_map(near).min()?;
    let series: Vec<&Series> = all.iter().copied().filter(|series| near(series) == Some(nearest)).collect();
    let mut ranked = estimate::ranked(gemm, &series, probe, figures);
    if ranked.is_empty() {
        return None;
    }
    let best = ranked.remove(0);
    let from = series.iter().find(|series| series.times.contains(&best.nearest))?;
    let (distance, relation) = nearest;
    let of = described(&from.on, relation);
    let other = if distance == 0 { "" } else { ", of other elements" };
    let time = |seconds: f64| format!("{:.1} us", seconds * 1e6);
    let shape = TimedShape::of(gemm);
    let at = if best.nearest.shape == shape && best.nearest.parameters == best.parameters {
        format!("{} at this shape", time(best.nearest.seconds))
    } else {
        format!("{} at {} with `{}`", time(best.nearest.seconds), best.nearest.shape, best.nearest.parameters)
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
    Some(ChoiceByTimes { near: nearest, choice, distance: best.distance })
}

/// How near an entry is.
struct NearEntry {
    /// Of the elements and the device.
    distance: (u8, Relation),
    /// Whether it is for the shape's class.
    is_of_class: bool,
}

/// The shipped table's parameters for a product on a device: [`Table::choose`].
pub fn default_parameters(gemm: &Gemm, probe: &Probe) -> Choice {
    Table::shipped().choose(gemm, probe)
}

#[cfg(test)]
mod tests;
