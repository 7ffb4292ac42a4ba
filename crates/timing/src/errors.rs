//! Errors of predicted times against published ones, by family: `data/errors.toml`, which the tests in
//! `tests/it/published` check, and rewrite with `BLESS=1`.

use std::collections::BTreeMap;
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
    /// `None` if too few sources are left to judge.
    fn new(family: &'static str, comparisons: Vec<Comparison>) -> Option<Self> {
        let expected = expected(&comparisons, None)?;
        let errors = || comparisons.iter().flat_map(|comparison| &comparison.errors).copied();
        let count = errors().count();
        let mean = |sum: f64| sum / count.max(1) as f64;
        Some(Self {
            family,
            count,
            // From 0: the range of errors always contains the prediction itself.
            lowest: errors().fold(0.0, f64::min),
            highest: errors().fold(0.0, f64::max),
            mean: mean(errors().sum()),
            mean_absolute: mean(errors().map(f64::abs).sum()),
            expected,
            comparisons,
        })
    }

    /// The lowest and the highest time at which a measurement is expected, given a prediction in the same unit: the shortest
    /// range of measured / predicted that holds [`COVERAGE`] of the table's errors. Each source weighs the same, however many
    /// figures it has, and what figures of the model were fitted to weighs nothing. The range reaches to both sides of the
    /// prediction by at least the usual error.
    pub fn band(&self, predicted: f64) -> [f64; 2] {
        self.expected.map(|logarithm| predicted * logarithm.exp())
    }

    /// [`band`](Self::band) as it would be if a source had published nothing, to judge that source's own figures. `source` is
    /// its name in the data files. `None` if too few sources are left.
    pub fn band_without(&self, source: &str, predicted: f64) -> Option<[f64; 2]> {
        let expected = expected(&self.comparisons, Some(source))?;
        Some(expected.map(|logarithm| predicted * logarithm.exp()))
    }
}

/// A band, wider by the relative uncertainty of the prediction from sampling.
pub(crate) fn widened([least, most]: [f64; 2], sampling: f64) -> [f64; 2] {
    [least * (1.0 - sampling).max(0.0), most * (1.0 + sampling)]
}

/// The share of measurements that a band is to contain.
pub const COVERAGE: f64 = 0.8;

/// The fewest sources of a band: what one has found says nothing of how much sources differ.
const SOURCES: usize = 2;

/// An error, as the logarithm of measured / predicted, so that half and twice are equally far from 1; and its weight.
#[derive(Clone, Copy, Debug)]
struct Weighted {
    ratio: f64,
    weight: f64,
}

/// The band of a family, as logarithms; `None` if it has too few sources that nothing was fitted to.
fn expected(comparisons: &[Comparison], without: Option<&str>) -> Option<[f64; 2]> {
    let mut by_source: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    // What figures were fitted to says little of the errors of others.
    for Comparison { source, errors, .. } in comparisons.iter().filter(|comparison| !comparison.fitted) {
        if Some(source.id.as_str()) != without {
            let ratios = errors.iter().map(|error| -(1.0 + error).ln());
            by_source.entry(&source.id).or_default().extend(ratios);
        }
    }
    if by_source.len() < SOURCES {
        return None;
    }
    let mut all = Vec::new();
    for ratios in by_source.values() {
        let weight = 1.0 / (ratios.len() * by_source.len()) as f64;
        all.extend(ratios.iter().map(|ratio| Weighted { ratio: *ratio, weight }));
    }
    let [low, high] = shortest(&mut all)?;
    // To both sides by the usual error, whatever the sign of the errors so far.
    all.sort_by(|one, other| one.ratio.abs().total_cmp(&other.ratio.abs()));
    let mut below = 0.0;
    let usual = all.iter().find(|error| {
        below += error.weight;
        below >= 0.5 - ROUNDING
    });
    let usual = usual.map_or(0.0, |error| error.ratio.abs());
    Some([low.min(-usual), high.max(usual)])
}

/// What sums of weights may be off by.
const ROUNDING: f64 = 1e-9;

/// The shortest range with [`COVERAGE`] of all weight, of which there is 1 in all.
fn shortest(errors: &mut [Weighted]) -> Option<[f64; 2]> {
    errors.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
    let ranges = (0..errors.len()).filter_map(|first| {
        let mut held = 0.0;
        let last = errors[first..].iter().find(|error| {
            held += error.weight;
            held >= COVERAGE - ROUNDING
        })?;
        Some([errors[first].ratio, last.ratio])
    });
    ranges.min_by(|one, other| (one[1] - one[0]).total_cmp(&(other[1] - other[0])))
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

/// The errors of the family of a GPU, for 5th Gen those of Valhall; `None` if fewer than two sources have published figures
/// that predictions for the family could be compared with.
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

/// The tables of all sheets; `None` where too little was compared.
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
        ErrorTable::new(family, comparisons)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_file_can_be_read() {
        assert_eq!(tables(include_str!("../data/errors.toml")).err(), None);
    }

    fn entry(gpu: &str, source: &str, errors: &str) -> String {
        format!(
            "[[comparison]]\nname = \"n\"\ngpu = \"{gpu}\"\nwhat = \"w\"\nsource = \"{source}\"\nfitted = false\nerrors = {errors}\n"
        )
    }

    /// By hand: 20 % too long is a measurement of 5/6, 50 % too short one of twice the prediction.
    #[test]
    fn a_band_reaches_from_the_highest_to_the_lowest_error() {
        let text = entry("mali-t604", "estimate", "[0.2]")
            + &entry("mali-t604", "leadcore-slides", "[-0.5]")
            + &entry("mali-g77", "estimate", "[0.25]")
            + &entry("mali-g77", "leadcore-slides", "[0.25]")
            + &entry("adreno-640", "estimate", "[0.25, 0.1, -0.3]");
        let [midgard, bifrost, valhall, adreno] = tables(&text).unwrap();
        // Nothing was compared for one, and one source says nothing of how much sources differ.
        assert_eq!((bifrost, adreno), (None, None));
        let (midgard, valhall) = (midgard.unwrap(), valhall.unwrap());
        assert_eq!((midgard.count, midgard.family), (2, "midgard"));
        assert!((midgard.mean + 0.15).abs() < 1e-12 && (midgard.mean_absolute - 0.35).abs() < 1e-12);
        let [lowest, highest] = midgard.band(6.0);
        assert!((lowest - 5.0).abs() < 1e-9 && (highest - 12.0).abs() < 1e-9);
        // To both sides of the prediction, whatever the errors.
        let [lowest, highest] = valhall.band(1.0);
        assert!((lowest - 0.8).abs() < 1e-9 && (highest - 1.25).abs() < 1e-9);
        // Without one of two sources there is no band.
        assert_eq!(midgard.band_without("estimate", 1.0), None);
        assert_eq!(midgard.band_without("another", 6.0), Some(midgard.band(6.0)));
    }

    /// By hand: five sources, of which one has eight figures and the others one each. That source weighs a fifth, so that the
    /// shortest range with four fifths leaves it out: from 1/1.1 to 1/0.8.
    #[test]
    fn each_source_weighs_the_same() {
        let sources = ["estimate", "leadcore-slides", "clpeak-t628", "clpeak-t860"];
        let many = entry("mali-t604", "tophub-t860", &format!("{:?}", [-0.9; 8]));
        let one_each = sources.iter().zip(["[0.1]", "[0.0]", "[-0.1]", "[-0.2]"]);
        let text = one_each.fold(many, |text, (source, errors)| text + &entry("mali-t604", source, errors));
        let [midgard, ..] = tables(&text).unwrap();
        let midgard = midgard.unwrap();
        let [lowest, highest] = midgard.band(1.0);
        // The usual error, the third of five, is that of 0.9: 1/1.1 is within it.
        assert!((lowest - 0.9).abs() < 1e-9, "{lowest}");
        assert!((highest - 1.25).abs() < 1e-9, "{highest}");
        // To judge the first, four sources are left, all of which it takes for four fifths.
        let [_, highest] = midgard.band_without("estimate", 1.0).unwrap();
        assert!((highest - 10.0).abs() < 1e-9, "{highest}");
    }

    #[test]
    fn malformed_files_are_refused() {
        assert!(tables(&entry("mali-t604", "estimate", "[]")).is_err());
        assert!(tables(&entry("mali-t604", "estimate", "[-1.0]")).is_err());
        assert!(tables(&entry("mali-nothing", "estimate", "[0.1]")).is_err());
        assert!(tables(&entry("mali-t604", "hearsay", "[0.1]")).is_err());
    }
}
