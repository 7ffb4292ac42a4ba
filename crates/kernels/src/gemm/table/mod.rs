//! Known good parameters, by GPU and shape: `data/gemm/*.toml`, and the user's own files.

mod entry;
mod estimate;
mod series;

use std::cmp::Reverse;

use tripipe_device::Probe;

use super::cost::DeviceFigures;
use super::description::Gemm;
use super::parameters::{Parameters, Tile};
use super::shape::Shape;
use crate::table::{Basis, Device, Relation, Table, described};
pub use entry::{ElementKind, Entry, Measurement};
pub use series::{ProductSeries, ProductTime, TimedProduct, TimedProductError, TimedShape};

/// The squared distance of shapes up to which times are preferred to entries.
const NEAR: f64 = 18.0;

/// Likewise for predicted times, of which there are few for a GPU: at 15 products on five virtual GPUs, choices from times
/// that are farther away, and for products with a vector, were up to 1.28 times as slow as those of entries.
const NEAR_PREDICTED: f64 = 6.0;
const NEAR_PREDICTED_VECTOR: f64 = 1.0;

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
    /// Parameters for a product on a device, with the [`DeviceFigures`] of its model or kind: [`Self::choose_product_with`].
    pub fn choose_product(&self, gemm: &Gemm, probe: &Probe) -> Choice {
        self.choose_product_with(gemm, probe, &DeviceFigures::of(probe))
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
    pub fn choose_product_with(&self, gemm: &Gemm, probe: &Probe, figures: &DeviceFigures) -> Choice {
        let device = Device::of(probe);
        let related = self.related(&device, probe, |file| &file.gemm);
        let (predicted, measured): (Vec<_>, Vec<_>) =
            related.into_iter().partition(|(_, series)| series.basis == Basis::Predicted);
        let by_entry = self.by_entry(gemm, &device, probe);
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
    fn by_entry(&self, gemm: &Gemm, device: &Device, probe: &Probe) -> Option<(NearEntry, Choice)> {
        let (kind, shape) = (ElementKind::of(gemm.elements), Shape::of(gemm));
        let mut near: Vec<_> = self
            .entries(device, probe)
            .map(|(relation, entry)| {
                // Vector shapes need vector kernels, and no other shape does.
                let apart = u8::from((entry.shape == Shape::Vector) != (shape == Shape::Vector));
                let near = (kind.distance(entry.elements), apart, relation);
                ((near, shape.distance(entry.shape), Reverse(entry.basis)), entry)
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
fn by_times(
    related: &[(Relation, &ProductSeries)],
    gemm: &Gemm,
    probe: &Probe,
    figures: &DeviceFigures,
) -> Option<ChoiceByTimes> {
    let TimedProduct { elements: kind, shape } = TimedProduct::of(gemm);
    let all = || {
        related.iter().flat_map(|&(relation, series)| {
            series.times.iter().map(move |time| ((kind.distance(time.of.elements), relation), series, time))
        })
    };
    let nearest = all().map(|(near, ..)| near).min()?;
    let times = || all().filter(|(near, ..)| *near == nearest);
    let mut ranked = estimate::ranked(gemm, times().map(|(.., time)| time), probe, figures);
    if ranked.is_empty() {
        return None;
    }
    let best = ranked.remove(0);
    let (_, from, _) = times().find(|(.., time)| std::ptr::eq(*time, best.nearest))?;
    let (distance, relation) = nearest;
    let of = described(&from.on, relation);
    let other = if distance == 0 { "" } else { ", of other elements" };
    let time = |seconds: f64| format!("{:.1} us", seconds * 1e6);
    let at = if best.nearest.of.shape == shape && best.nearest.parameters == best.parameters {
        format!("{} at this shape", time(best.nearest.seconds))
    } else {
        format!(
            "{} at {} with `{}`",
            time(best.nearest.seconds),
            best.nearest.of.shape,
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
        gflops: best.nearest.of.shape.operations() / best.nearest.seconds * 1e-9,
        size: best.nearest.of.shape.extents,
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

/// The shipped table's parameters for a product on a device: [`Table::choose_product`].
pub fn default_parameters(gemm: &Gemm, probe: &Probe) -> Choice {
    Table::shipped().choose_product(gemm, probe)
}

#[cfg(test)]
mod tests;
