//! Errors of predicted times against published ones, by family: `data/errors.toml`, which the tests in
//! `tests/it/published` check, and rewrite with `BLESS=1`.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use tripipe_device::document::built_in;
use tripipe_device::{Family, Gpu, Source};

use crate::figures::Sheet;

/// A set of published figures, and how far predictions are from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// A short name.
    pub name: String,
    /// The GPU.
    pub gpu: String,
    /// What was compared.
    pub what: String,
    /// Who published it.
    pub source: Arc<Source>,
    /// Whether figures of the model were fitted to it.
    pub fitted: bool,
    /// Predicted time / published time - 1, of each figure. For the ratio of two kernels: that of the faster kernel, if
    /// the time of the other one is right.
    pub errors: Vec<f64>,
}

/// How far predictions for a family are from published figures.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorTable {
    /// The family whose GPUs were compared: `midgard`, `bifrost`, `valhall` or `adreno`.
    pub family: &'static str,
    /// What was compared.
    pub comparisons: Vec<Comparison>,
    /// Number of errors.
    pub count: usize,
    /// The lowest error; below 0 where a prediction is too short.
    pub lowest: f64,
    /// The highest error.
    pub highest: f64,
    /// Mean of the errors.
    pub mean: f64,
    /// Mean of their absolute values.
    pub mean_absolute: f64,
    /// The logarithms of measured time / predicted time between which a measurement is expected: [`expected`].
    expected: [f64; 2],
}

impl ErrorTable {
    fn new(family: &'static str, comparisons: Vec<Comparison>) -> Self {
        let errors = || comparisons.iter().flat_map(|comparison| &comparison.errors).copied();
        let count = errors().count();
        let mean = |sum: f64| sum / count.max(1) as f64;
        Self {
            family,
            count,
            // From 0: the range of errors always contains the prediction itself.
            lowest: errors().fold(0.0, f64::min),
            highest: errors().fold(0.0, f64::max),
            mean: mean(errors().sum()),
            mean_absolute: mean(errors().map(f64::abs).sum()),
            expected: expected(&comparisons),
            comparisons,
        }
    }

    /// The lowest and the highest time at which a measurement is expected, given a prediction in the same unit: quantiles of the
    /// table's errors without those of fitted comparisons, as wide as it takes for [`COVERAGE`] of each source's figures to be within those of the other
    /// sources. It reaches to both sides of the prediction.
    pub fn band(&self, predicted: f64) -> [f64; 2] {
        self.expected.map(|logarithm| predicted * logarithm.exp())
    }
}

/// The share of measurements that a band is to contain.
pub const COVERAGE: f64 = 0.8;

/// Steps of the levels that are tried for quantiles.
const LEVELS: usize = 100;

/// The narrowest quantiles of measured / predicted that hold across sources, as logarithms; the range of all where none do.
fn expected(comparisons: &[Comparison]) -> [f64; 2] {
    let mut by_source: Vec<(&str, Vec<f64>)> = Vec::new();
    // What figures were fitted to says little of the errors of others.
    let judges = |comparison: &&Comparison| !comparison.fitted;
    let fitted_only = !comparisons.iter().any(|comparison| judges(&comparison));
    for comparison in comparisons.iter().filter(|comparison| fitted_only || judges(comparison)) {
        // As logarithms, half and twice are equally far from 1.
        let ratios = comparison.errors.iter().map(|error| -(1.0 + error).ln());
        let citation = comparison.source.citation.as_str();
        match by_source.iter_mut().find(|(source, _)| *source == citation) {
            Some((_, known)) => known.extend(ratios),
            None => by_source.push((citation, ratios.collect())),
        }
    }
    // Figures of one source share its errors. A whole source is left out at a time (cross-validation by groups).
    let pooled = |without: Option<usize>| {
        let kept = by_source.iter().enumerate().filter(|(at, _)| Some(*at) != without);
        let mut ratios: Vec<f64> = kept.flat_map(|(_, (_, ratios))| ratios).copied().collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    };
    let all = pooled(None);
    let holds = |level: f64| {
        let within = |at: usize| {
            let [low, high] = quantiles(&pooled(Some(at)), level);
            by_source[at].1.iter().filter(|ratio| (low..=high).contains(*ratio)).count()
        };
        let found: usize = (0..by_source.len()).map(within).sum();
        found as f64 >= COVERAGE * all.len() as f64
    };
    // The narrowest level comes first. Below a half, a band would exclude most of its own figures.
    let levels = (LEVELS / 2..=LEVELS).map(|step| step as f64 / LEVELS as f64);
    // One source cannot judge itself, so all its errors are the band.
    let level = levels.filter(|_| by_source.len() > 1).find(|level| holds(*level)).unwrap_or(1.0);
    let [low, high] = quantiles(&all, level);
    // To both sides by the usual error, whatever the sign of the errors so far.
    let mut sizes: Vec<f64> = all.iter().map(|ratio| ratio.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let usual = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    [low.min(-usual), high.max(usual)]
}

/// The quantiles between which a share `level` of sorted values lies; between neighbours, by interpolation.
fn quantiles(sorted: &[f64], level: f64) -> [f64; 2] {
    [(1.0 - level) / 2.0, f64::midpoint(1.0, level)].map(|share| {
        let at = share * sorted.len().saturating_sub(1) as f64;
        let value = |at: f64| sorted.get(at as usize).copied().unwrap_or(0.0);
        value(at.floor()) + (value(at.ceil()) - value(at.floor())) * at.fract()
    })
}

/// The family whose errors count for a GPU: `midgard`, `bifrost`, `valhall` (also for 5th Gen) or `adreno`.
pub fn family(gpu: &Gpu) -> &'static str {
    Sheet::of(gpu).name()
}

/// The usual name of [`family`]: `Midgard`, `Bifrost`, `Valhall` or `Adreno`.
pub fn family_name(gpu: &Gpu) -> &'static str {
    Sheet::of(gpu).usual_name()
}

/// Whether [`family`] is the GPU's own; a GPU of the 5th Gen goes by Valhall, from which it descends.
pub fn is_own_family(gpu: &Gpu) -> bool {
    gpu.family() != Family::Arm5thGen
}

/// The errors of the family of a GPU, for 5th Gen those of Valhall; `None` if no figures are published that predictions
/// for the family could be compared with.
pub fn of(gpu: &Gpu) -> Option<&'static ErrorTable> {
    static TABLES: LazyLock<[Option<ErrorTable>; Sheet::ALL.len()]> =
        LazyLock::new(|| built_in("built-in errors", tables(include_str!("../data/errors.toml"))));
    TABLES[Sheet::of(gpu) as usize].as_ref()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorsFile {
    comparison: Vec<ComparisonEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComparisonEntry {
    name: String,
    gpu: String,
    what: String,
    source: String,
    fitted: bool,
    errors: Vec<f64>,
}

/// The tables of all sheets; `None` where nothing was compared.
fn tables(text: &str) -> Result<[Option<ErrorTable>; Sheet::ALL.len()], String> {
    let file: ErrorsFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut by_sheet = Sheet::ALL.map(|_| Vec::new());
    for entry in file.comparison {
        let ComparisonEntry { name, gpu, what, source, fitted, errors } = entry;
        let gpu = tripipe_device::find(&gpu).map_err(|error| format!("{name}: {error}"))?;
        let source = Source::named(&source).ok_or_else(|| format!("{name}: unknown source {source}"))?;
        // An error of -1 is a predicted time of 0, of which there is no logarithm.
        if errors.is_empty() || !errors.iter().all(|error| error.is_finite() && *error > -1.0) {
            return Err(format!("{name}: an error is not above -1, or there is none"));
        }
        let gpu_name = gpu.name().to_owned();
        by_sheet[Sheet::of(gpu) as usize].push(Comparison {
            name,
            gpu: gpu_name,
            what,
            source,
            fitted,
            errors,
        });
    }
    let mut sheets = Sheet::ALL.iter();
    Ok(by_sheet.map(|comparisons| {
        let family = sheets.next().map_or("", |sheet| sheet.name());
        (!comparisons.is_empty()).then(|| ErrorTable::new(family, comparisons))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_file_can_be_read() {
        assert_eq!(tables(include_str!("../data/errors.toml")).err(), None);
    }

    fn entry(gpu: &str, errors: &str) -> String {
        format!(
            "[[comparison]]\nname = \"n\"\ngpu = \"{gpu}\"\nwhat = \"w\"\nsource = \"estimate\"\nfitted = false\nerrors = {errors}\n"
        )
    }

    /// By hand: 20 % too long is a measurement of 5/6, 50 % too short one of twice the prediction.
    #[test]
    fn a_band_reaches_from_the_highest_to_the_lowest_error() {
        let text =
            entry("mali-t604", "[0.2, -0.5]") + &entry("mali-t604", "[0.1]") + &entry("mali-g77", "[0.25]");
        let [midgard, bifrost, valhall, adreno] = tables(&text).unwrap();
        // Nothing was compared for these, so nothing is known.
        assert_eq!((bifrost, adreno), (None, None));
        let (midgard, valhall) = (midgard.unwrap(), valhall.unwrap());
        assert_eq!((midgard.count, midgard.family), (3, "midgard"));
        assert!(
            (midgard.mean + 0.2 / 3.0).abs() < 1e-12 && (midgard.mean_absolute - 0.8 / 3.0).abs() < 1e-12
        );
        let [lowest, highest] = midgard.band(6.0);
        assert!((lowest - 5.0).abs() < 1e-9 && (highest - 12.0).abs() < 1e-9);
        // To both sides of the prediction, whatever the errors.
        let [lowest, highest] = valhall.band(1.0);
        assert!((lowest - 0.8).abs() < 1e-9 && (highest - 1.25).abs() < 1e-9);
    }

    /// By hand: two sources of ten errors each. The middle 90 % of one cover the other's.
    #[test]
    fn a_band_holds_for_sources_that_it_was_not_made_from() {
        let errors: Vec<String> = (0..10).map(|at| format!("{:.2}", f64::from(at) * 0.1)).collect();
        let list = format!("[{}]", errors.join(", "));
        let other = entry("mali-t604", &list).replace("\"estimate\"", "\"leadcore-slides\"");
        let [midgard, ..] = tables(&(entry("mali-t604", &list) + &other)).unwrap();
        let [lowest, highest] = midgard.unwrap().band(1.0);
        assert!((0.5..0.58).contains(&lowest) && highest > 1.0, "{lowest} {highest}");
        let within = (0..10).map(|at| 1.0 / (1.0 + f64::from(at) * 0.1)).filter(|ratio| *ratio >= lowest);
        assert!(within.count() >= 8);
    }

    #[test]
    fn malformed_files_are_refused() {
        assert!(tables(&entry("mali-t604", "[]")).is_err());
        assert!(tables(&entry("mali-t604", "[-1.0]")).is_err());
        assert!(tables(&entry("mali-nothing", "[0.1]")).is_err());
        assert!(tables(&entry("mali-t604", "[0.1]").replace("estimate", "hearsay")).is_err());
    }
}
