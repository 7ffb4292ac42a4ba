//! Parameters for a shape by estimate: the cost of the shape, corrected by the measured times of shapes near it.

use std::collections::BTreeMap;

use tripipe_device::Probe;

use super::series::{ProductTime, TimedShape};
use crate::gemm::cost::{CostEstimate, DeviceFigures, parts, unchecked};
use crate::gemm::description::Gemm;
use crate::gemm::parameters::Parameters;

/// Parameters and their estimated time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Estimated<'t> {
    pub(super) parameters: Parameters,
    /// Seconds, corrected.
    pub(super) seconds: f64,
    /// The estimate before the correction.
    pub(super) cost: CostEstimate,
    /// The measured time that weighs most in the correction: of the same kernel at the nearest shape.
    pub(super) nearest: &'t ProductTime,
    /// The squared distance to it.
    pub(super) distance: f64,
    /// Seconds with the doubt about them, by which estimates are ranked.
    doubted: f64,
}

/// How far a measured time weighs: the squared distance at which its weight falls to e^-1/2.
const REACH: f64 = 1.0;
/// The weight of a far measurement, which decides where nothing is near.
const FAR_WEIGHT: f64 = 1e-3;
/// The weight of the mean over all kernels.
const MEAN_WEIGHT: f64 = 0.02;

/// The share that is added to an estimate for each squared distance to the nearest time of its kernel. Of many
/// estimates the lowest is often one that is wrong, and those far from any time are wrong most often.
const DOUBT: f64 = 0.1;
/// The squared distance beyond which no more is added.
const DOUBT_UP_TO: f64 = 20.0;

/// What the times of one kernel were, over their estimates.
struct Residual<'t> {
    timed: &'t ProductTime,
    logarithm: f64,
}

/// All parameters of `times` that the device supports, each with several numbers of parts of K, by their estimated
/// time for `gemm` and the doubt about it, the shortest first.
pub(super) fn ranked<'t>(
    gemm: &Gemm,
    times: impl Iterator<Item = &'t ProductTime>,
    probe: &Probe,
    figures: &DeviceFigures,
) -> Vec<Estimated<'t>> {
    let shape = TimedShape::of(gemm);
    let mut kernels: BTreeMap<String, (Parameters, Vec<Residual<'_>>)> = BTreeMap::new();
    let (mut sum, mut number) = (0.0, 0.0);
    for timed in times {
        // The time at the shape where it was measured, with the elements of this product.
        let there = timed.of.shape.gemm(gemm.elements);
        let expected = unchecked(&there, &timed.parameters, figures).seconds;
        let logarithm = (timed.seconds / expected).ln();
        sum += logarithm;
        number += 1.0;
        let kernel = timed.parameters.with_parts(1);
        kernels
            .entry(kernel.to_string())
            .or_insert_with(|| (kernel, Vec::new()))
            .1
            .push(Residual { timed, logarithm });
    }
    let mean: f64 = if number > 0.0 { sum / number } else { 0.0 };
    let mut found = Vec::new();
    for (kernel, residuals) in kernels.values() {
        let was_divided = residuals.iter().any(|residual| residual.timed.parameters.parts() > 1);
        let mut numbers = parts(gemm, kernel, figures);
        // Those measured at this shape too.
        let here = |residual: &&Residual<'_>| shape.distance_squared(&residual.timed.of.shape) < 1e-3;
        numbers.extend(residuals.iter().filter(here).map(|residual| residual.timed.parameters.parts()));
        numbers.sort_unstable();
        numbers.dedup();
        for parts in numbers {
            let parameters = kernel.with_parts(parts);
            if (parts > 1 && !was_divided) || parameters.check(gemm, probe).is_err() {
                continue;
            }
            let (mut weights, mut sum) = (MEAN_WEIGHT, MEAN_WEIGHT * mean);
            let mut nearest: Option<(f64, &ProductTime)> = None;
            for Residual { timed, logarithm } in residuals {
                let apart = (parts as f64 / timed.parameters.parts() as f64).log2();
                let distance = shape.distance_squared(&timed.of.shape) + apart * apart;
                let weight = (-distance / (2.0 * REACH)).exp() + FAR_WEIGHT / (1.0 + distance).powi(2);
                weights += weight;
                sum += weight * logarithm;
                if nearest.is_none_or(|(best, _)| distance < best) {
                    nearest = Some((distance, timed));
                }
            }
            let Some((distance, nearest)) = nearest else { continue };
            let cost = unchecked(gemm, &parameters, figures);
            let doubt = 1.0 + DOUBT * distance.min(DOUBT_UP_TO);
            let seconds = cost.seconds * (sum / weights).exp();
            found.push(Estimated { parameters, seconds, cost, nearest, distance, doubted: seconds * doubt });
        }
    }
    found.sort_by(|a, b| a.doubted.total_cmp(&b.doubted));
    found
}
