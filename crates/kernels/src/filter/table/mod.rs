//! The choice of a filter's parameters by the times of chains like it: `data/filter/*.toml`, and the user's own files.

mod likeness;
mod series;

use std::path::Path;
use std::sync::LazyLock;

use tripipe_device::Probe;

use super::choice::{preset, within_registers};
use super::pairs::Pairs;
use super::raster::is_aligned;
use super::{Chain, Fuse, Loads, Parameters, Raster, Stage, Sums};
use crate::table::{Basis, Device, Relation, TableError, TableFile, described, microseconds, predicted_near};
use likeness::Likeness;
pub use series::{ChainSeries, ChainTime, TimedChain, TimedChainError};

/// The shipped tables, by file.
const SHIPPED: [(&str, &str); 2] = [
    ("data/filter/pocl.toml", include_str!("../../../data/filter/pocl.toml")),
    ("data/filter/nvidia-h100.toml", include_str!("../../../data/filter/nvidia-h100.toml")),
];

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
/// The squared distance that is added to predicted times.
const PREDICTED_DISTANCE: f64 = 2.0;

#[allow(clippy::panic, reason = "embedded data: a test reads it and fails if it is malformed")]
static TABLE: LazyLock<ChainTable> =
    LazyLock::new(|| ChainTable::load(None).unwrap_or_else(|error| panic!("the shipped table: {error}")));

/// Raw times of filters, the user's before the shipped ones.
#[derive(Clone, Debug, Default)]
pub struct ChainTable {
    series: Vec<ChainSeries>,
    /// Whether the shipped predicted times are used.
    has_predictions: bool,
}

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
struct Known<'t> {
    series: &'t ChainSeries,
    relation: Relation,
    of: &'t TimedChain,
    /// Seconds, by parameters.
    times: Vec<(Parameters, f64)>,
    /// The shortest of them.
    best: f64,
    same_stages: bool,
    distance: f64,
}

impl ChainTable {
    /// The times in all `.toml` files of the user's `folder`, then the shipped ones.
    ///
    /// # Errors
    /// There is no such folder; a file that cannot be read, or is not a valid table.
    pub fn load(folder: Option<&Path>) -> Result<Self, TableError> {
        let mut table = Self { has_predictions: true, ..Self::default() };
        for file in folder.map(TableFile::read_all).transpose()?.unwrap_or_default() {
            table.series.extend(file.filter);
        }
        for (name, text) in SHIPPED {
            table.series.extend(TableFile::parse(name, text)?.filter);
        }
        Ok(table)
    }

    /// A table of these times only.
    pub fn of(series: Vec<ChainSeries>) -> Self {
        Self { series, has_predictions: false }
    }

    /// The shipped table.
    pub fn shipped() -> &'static Self {
        &TABLE
    }

    /// The times, the user's first, without the shipped predicted ones.
    pub fn series(&self) -> &[ChainSeries] {
        &self.series
    }

    /// Parameters for a chain on a device.
    ///
    /// Where there are times of the device, or of one related to it, for chains like this one, those parameters are
    /// chosen whose times were nearest to the shortest: each chain counts the more, the more it is like this one (stages,
    /// windows, elements, size). Otherwise, and where the times say that nothing is faster, the rules of
    /// `data/filter.toml` decide.
    pub fn choose(&self, chain: &Chain, from: &Raster, probe: &Probe) -> ChainChoice {
        let preset = preset(chain, from, probe);
        let by_times = self.by_times(chain, from, probe, preset.parameters);
        by_times.unwrap_or_else(|| ChainChoice {
            parameters: preset.parameters,
            why: preset.why.to_owned(),
            source: preset.source.to_owned(),
            estimated_seconds: None,
            runners_up: Vec::new(),
        })
    }

    fn by_times(
        &self,
        chain: &Chain,
        from: &Raster,
        probe: &Probe,
        preset: Parameters,
    ) -> Option<ChainChoice> {
        let to = chain.apply_to(from).ok()?;
        let fits =
            |parameters: Parameters| adapted(parameters, chain, from).check(chain, from, &to, probe).is_ok();
        let mut known = self.known(&Likeness::new(chain, from), probe);
        // What cannot run here is no standard for the others.
        known.retain_mut(|one| {
            one.times.retain(|(parameters, _)| fits(*parameters));
            one.best = one.times.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
            !one.times.is_empty()
        });
        let nearest = known.iter().min_by(|a, b| a.distance.total_cmp(&b.distance))?;
        let is_near = |one: &Known<'_>| match one.series.basis {
            Basis::Predicted => one.distance <= NEAR_PREDICTED,
            _ => one.distance <= NEAR,
        };
        if !known.iter().any(is_near) {
            return None;
        }
        let mut ranked: Vec<(f64, Parameters)> = Vec::new();
        let all = known.iter().flat_map(|one| one.times.iter().map(|(parameters, _)| *parameters));
        let suited = |timed| within_registers(adapted(timed, chain, from), chain, from, probe);
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
        let Known { series, relation, of, best, times, same_stages, .. } = nearest;
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
            source: format!(
                "{}; {}, driver {}, {}",
                series.source, series.device, series.driver, series.date
            ),
            estimated_seconds: same_stages.then_some(seconds),
            runners_up: others.collect(),
        })
    }

    /// The chains with times on related devices, with their distance to `wanted`.
    fn known(&self, wanted: &Likeness, probe: &Probe) -> Vec<Known<'_>> {
        let device = Device::of(probe);
        let mut known: Vec<Known<'_>> = Vec::new();
        let has_times = |file: &TableFile| !file.filter.is_empty();
        let shipped = if self.has_predictions { predicted_near(&device, probe, has_times) } else { None };
        for series in self.series.iter().chain(shipped.map_or(&[][..], |file| &file.filter)) {
            let Some(relation) = device.relation_of_times(&series.on, probe) else { continue };
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
                known.push(Known {
                    series,
                    relation,
                    of: &time.of,
                    times: vec![(parameters, time.seconds)],
                    best: f64::INFINITY,
                    same_stages: there.has_stages_of(wanted),
                    distance: wanted.distance_squared(&there) + apart + predicted,
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
fn expected_loss(parameters: [&Parameters; 2], known: &[Known<'_>], nearest: f64) -> f64 {
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
    let windows = chain.stages.iter().filter(|stage| stage.window() != [1, 1]).count();
    let point = |stage: &Stage| stage.window() == [1, 1];
    let fuse = match parameters.fuse {
        Fuse::Windows if windows < 2 => Fuse::Pixels,
        Fuse::Nothing if !chain.stages.iter().any(point) => Fuse::Pixels,
        fuse => fuse,
    };
    Parameters { fuse, ..parameters }
}

/// The shipped table's parameters for a chain on a device: [`ChainTable::choose`].
pub fn default_parameters(chain: &Chain, from: &Raster, probe: &Probe) -> ChainChoice {
    ChainTable::shipped().choose(chain, from, probe)
}

#[cfg(test)]
mod tests;
