//! The choice of a filter's parameters by the times of chains like it: `data/filter/*.toml`, and the user's own files.

mod likeness;
mod series;

use tripipe_device::Probe;

use super::choice::{preset, within_registers};
use super::pairs::Pairs;
use super::raster::is_aligned;
use super::{Chain, Fuse, Loads, Parameters, Raster, Size, Stage, Sums};
use crate::table::{Basis, Device, Relation, Table, described, microseconds};
use likeness::Likeness;
pub use series::{ChainSeries, ChainTime, TimedChain, TimedChainError};

/// The squared distance up to which times decide.
const NEAR: f64 = 5.0;
/// Likewise for predicted times, with [`PREDICTED_DISTANCE`]: they are of the device itself or one like it, whose rule is mostly
/// guessed. Chosen at 8 chains on 16 virtual GPUs, each chain by the others: choices take 1.20 times the shortest time,
/// against 1.80 by the rule, and 1.47 with the limit of measured times.
const NEAR_PREDICTED: f64 = 14.0;
/// How far times weigh: the squared distance at which the weight falls to e^-1/2.
const REACH: f64 = 1.0;
/// The weight of a far time, compared with one at the same chain and size.
const FAR_WEIGHT: f64 = 1e-3;
/// The loss that is expected of parameters without times, as a logarithm.
const UNKNOWN_LOSS: f64 = 0.5;
/// The weight of that expectation, compared with the nearest time.
const UNKNOWN_WEIGHT: f64 = 0.1;
/// The loss, as a logarithm, below which other parameters than those of the rules are not worth it: times repeat to
/// a percent at best.
const MARGIN: f64 = 0.02;
/// The squared distance, without what is added to predicted times, up to which the work is the same: up to 15 % more or
/// fewer pixels.
const SAME_WORK: f64 = 1e-2;
/// The squared distance that is added to predicted times.
const PREDICTED_DISTANCE: f64 = 2.0;

/// Parameters for a chain on a device, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainChoice {
    /// The parameters to use. They pass [`Parameters::check`] whenever any parameters do.
    pub parameters: Parameters,
    /// Which times or which rule decided, and why: one sentence.
    pub why: String,
    /// The source of the times or of the rule.
    pub source: String,
    /// Seconds by measured times of the same stages over an image of another size; `None` without such times.
    pub estimated_seconds: Option<f64>,
    /// Other parameters that the device supports, best first, each with the loss that is expected of it; none if a rule
    /// decided.
    pub runners_up: Vec<(Parameters, String)>,
}

/// All times of one chain over one image on one device.
struct MeasuredChain<'t> {
    series: &'t ChainSeries,
    relation: Relation,
    of: &'t TimedChain,
    /// Seconds, by parameters.
    times: Vec<(Parameters, f64)>,
    /// The shortest of them.
    best: f64,
    same_stages: bool,
    /// Whether the device itself does the same work.
    same_work: bool,
    distance: f64,
}

impl Table {
    /// Parameters for a chain on a device.
    ///
    /// Where there are times of the device, or of one related to it, for chains like this one, those parameters are
    /// chosen whose times were nearest to the shortest: each chain counts the more, the more it is like this one (stages,
    /// windows, elements, size). Otherwise, and where the times say that nothing is faster, the rules of
    /// `data/filter.toml` decide.
    pub fn choose_chain(&self, chain: &Chain, from: &Raster, probe: &Probe) -> ChainChoice {
        let preset = preset(chain, from, probe);
        let by_times = self.by_times_of_chains(chain, from, probe, preset.parameters);
        by_times.unwrap_or_else(|| ChainChoice {
            parameters: preset.parameters,
            why: preset.why.to_owned(),
            source: preset.source.to_owned(),
            estimated_seconds: None,
            runners_up: Vec::new(),
        })
    }

    fn by_times_of_chains(
        &self,
        chain: &Chain,
        from: &Raster,
        probe: &Probe,
        preset: Parameters,
    ) -> Option<ChainChoice> {
        let to = chain.apply_to(from).ok()?;
        let fits =
            |parameters: Parameters| adapted(parameters, chain, from).check(chain, from, &to, probe).is_ok();
        let mut known = self.known_chains(&Likeness::new(chain, from), probe);
        // What cannot run here is no standard for the others.
        known.retain_mut(|one| {
            one.times.retain(|(parameters, _)| fits(*parameters));
            one.best = one.times.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
            !one.times.is_empty()
        });
        // Times of the very work need no others beside them, and no estimate of registers.
        let is_timed = known.iter().any(|one| one.same_work);
        if is_timed {
            known.retain(|one| one.same_work);
        }
        let nearest = known.iter().min_by(|a, b| a.distance.total_cmp(&b.distance))?;
        let is_near = |one: &MeasuredChain<'_>| match one.series.basis {
            Basis::Predicted => one.distance <= NEAR_PREDICTED,
            _ => one.distance <= NEAR,
        };
        if !known.iter().any(is_near) {
            return None;
        }
        let mut ranked: Vec<(f64, Parameters)> = Vec::new();
        let all = known.iter().flat_map(|one| one.times.iter().map(|(parameters, _)| *parameters));
        let suited = |timed| {
            let own = adapted(timed, chain, from);
            if is_timed { own } else { within_registers(own, chain, from, probe) }
        };
        for timed in std::iter::once(preset).chain(all) {
            let parameters = suited(timed);
            if !ranked.iter().any(|(_, listed)| *listed == parameters) && fits(timed) {
                ranked.push((expected_loss([&parameters, &timed], &known, nearest.distance), parameters));
            }
        }
        // The sort is stable: of equal ones, the preset is first.
        ranked.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let own = ranked.iter().position(|(_, parameters)| *parameters == suited(preset));
        let least = ranked.first()?.0;
        let chosen = own.filter(|own| ranked[*own].0 <= least + MARGIN).unwrap_or(0);
        let (loss, parameters) = ranked.remove(chosen);
        let MeasuredChain { series, relation, of, best, times, same_stages, .. } = nearest;
        let there = adapted_to(&parameters, of);
        let at = match times.iter().find(|(timed, _)| *timed == there) {
            Some((_, seconds)) => {
                format!("{}, {:.2} times the shortest", microseconds(*seconds), seconds / best)
            }
            None => format!("not timed there; the shortest time is {}", microseconds(*best)),
        };
        let time = format!("{} {}", series.basis, described(&series.on, *relation));
        let reason = if own == Some(chosen) {
            "the rule for this kind of device, confirmed by times".to_owned()
        } else {
            format!("the least expected loss of {} sets of parameters, by times", ranked.len() + 1)
        };
        let why = format!("{reason} {time}; the nearest: {of}: {at}");
        let pixels = |raster: &Raster| raster.width as f64 * raster.height as f64;
        let seconds = best * loss.exp() * pixels(from) / pixels(&of.from).max(1.0);
        let others = ranked.into_iter().take(3).map(|(other, parameters)| {
            (parameters, format!("an expected {:.2} times the time", (other - loss).exp()))
        });
        Some(ChainChoice {
            parameters,
            why,
            source: series.provenance(),
            estimated_seconds: same_stages.then_some(seconds),
            runners_up: others.collect(),
        })
    }

    /// The chains with times on related devices, with their distance to `wanted`.
    fn known_chains(&self, wanted: &Likeness, probe: &Probe) -> Vec<MeasuredChain<'_>> {
        let device = Device::of(probe);
        let mut known: Vec<MeasuredChain<'_>> = Vec::new();
        for (relation, series) in self.related(&device, probe, |file| &file.filter) {
            let Some(apart) = relation_distance(relation) else { continue };
            let first = known.len();
            let predicted = if series.basis == Basis::Predicted { PREDICTED_DISTANCE } else { 0.0 };
            for time in &series.times {
                let parameters = adapted_to(&time.parameters, &time.of);
                let same = known[first..].iter_mut().find(|one| *one.of == time.of);
                if let Some(one) = same {
                    one.times.push((parameters, time.seconds));
                    continue;
                }
                let there = Likeness::of(&time.of);
                let work_apart = wanted.distance_squared(&there);
                known.push(MeasuredChain {
                    series,
                    relation,
                    of: &time.of,
                    times: vec![(parameters, time.seconds)],
                    best: f64::INFINITY,
                    same_stages: there.has_stages_of(wanted),
                    same_work: relation == Relation::Itself && work_apart < SAME_WORK,
                    distance: work_apart + apart + predicted,
                });
            }
        }
        known
    }
}

/// The squared distance of times on a related device. Vendors make GPUs that are too different.
fn relation_distance(relation: Relation) -> Option<f64> {
    match relation {
        Relation::Itself => Some(0.0),
        Relation::Generation => Some(2.0),
        Relation::Family => Some(4.0),
        Relation::Kind => Some(5.0),
        Relation::Vendor => None,
    }
}

/// The logarithm of the time over the shortest one that is expected of parameters: the mean of those at known chains,
/// and of what is expected without times. Where these have no time, those that they were adapted from count, the second.
fn expected_loss(parameters: [&Parameters; 2], known: &[MeasuredChain<'_>], nearest: f64) -> f64 {
    let weight = |distance: f64| (-distance / (2.0 * REACH)).exp() + FAR_WEIGHT / (1.0 + distance).powi(2);
    let mut weights = UNKNOWN_WEIGHT * weight(nearest);
    let mut sum = UNKNOWN_LOSS * weights;
    for one in known {
        let time = |parameters: &Parameters| {
            let there = adapted_to(parameters, one.of);
            one.times.iter().find(|(timed, _)| *timed == there)
        };
        if let Some((_, seconds)) = parameters.into_iter().find_map(time) {
            sum += weight(one.distance) * (seconds / one.best).ln();
            weights += weight(one.distance);
        }
    }
    sum / weights
}

/// The same parameters without what makes no difference to a chain, and without what it cannot use: sums two to a
/// register, aligned vectors, windows that share a pass.
fn adapted(parameters: Parameters, chain: &Chain, from: &Raster) -> Parameters {
    let mut parameters = without_idle(parameters, chain);
    if parameters.sums == Sums::Paired && !Pairs::any_of(chain, from) {
        parameters.sums = Sums::Narrow;
    }
    if parameters.loads == Loads::Aligned && !is_aligned(from, parameters.lanes) {
        parameters.loads = Loads::Shared;
    }
    parameters
}

fn adapted_to(parameters: &Parameters, timed: &TimedChain) -> Parameters {
    adapted(*parameters, &timed.chain, &timed.from)
}

fn without_idle(parameters: Parameters, chain: &Chain) -> Parameters {
    let windows = chain.stages.iter().filter(|stage| stage.window() != Size::square(1)).count();
    let point = |stage: &Stage| stage.window() == Size::square(1);
    let fuse = match parameters.fuse {
        Fuse::Windows if windows < 2 => Fuse::Pixels,
        Fuse::Nothing if !chain.stages.iter().any(point) => Fuse::Pixels,
        fuse => fuse,
    };
    Parameters { fuse, ..parameters }
}

/// The shipped table's parameters for a chain on a device: [`Table::choose_chain`].
pub fn default_parameters(chain: &Chain, from: &Raster, probe: &Probe) -> ChainChoice {
    Table::shipped().choose_chain(chain, from, probe)
}

#[cfg(test)]
mod tests;
