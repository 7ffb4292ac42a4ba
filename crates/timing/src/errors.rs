//! Errors of predicted times against published ones, by family: `data/errors.toml`, which the tests in
//! `tests/it/published` check, and rewrite with `BLESS=1`.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;
use tripipe_device::{Gpu, Source};

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
    /// The family whose GPUs were compared: `midgard`, `bifrost`, `valhall` (with 5th Gen) or `adreno`.
    pub family: &'static str,
    /// Whether this is the table of another family, the widest of all: nothing is published for the own one.
    pub borrowed: bool,
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
}

impl ErrorTable {
    fn new(family: &'static str, comparisons: Vec<Comparison>) -> Self {
        let errors = || comparisons.iter().flat_map(|comparison| &comparison.errors).copied();
        let count = errors().count();
        let mean = |sum: f64| sum / count.max(1) as f64;
        Self {
            family,
            borrowed: false,
            count,
            lowest: errors().fold(0.0, f64::min),
            highest: errors().fold(0.0, f64::max),
            mean: mean(errors().sum()),
            mean_absolute: mean(errors().map(f64::abs).sum()),
            comparisons,
        }
    }

    /// The lowest and the highest time at which a measurement is expected, given a prediction in the same unit: those
    /// at which the prediction has the highest and the lowest error of the table. The prediction is always within.
    pub fn band(&self, predicted: f64) -> [f64; 2] {
        [predicted / (1.0 + self.highest), predicted / (1.0 + self.lowest)]
    }
}

/// The errors of the family of a GPU, or the widest table of all if nothing is published for its family.
#[allow(clippy::missing_panics_doc, reason = "embedded data: a test reads it and fails if it is malformed")]
#[allow(clippy::panic, reason = "embedded data: a test reads it and fails if it is malformed")]
pub fn of(gpu: &Gpu) -> &'static ErrorTable {
    static TABLES: LazyLock<Result<[ErrorTable; Sheet::ALL.len()], String>> =
        LazyLock::new(|| tables(include_str!("../data/errors.toml")));
    match &*TABLES {
        Ok(tables) => &tables[Sheet::of(gpu) as usize],
        Err(error) => panic!("built-in errors: {error}"),
    }
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

/// The tables of all sheets.
fn tables(text: &str) -> Result<[ErrorTable; Sheet::ALL.len()], String> {
    let file: ErrorsFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut by_sheet = Sheet::ALL.map(|_| Vec::new());
    for entry in file.comparison {
        let ComparisonEntry { name, gpu, what, source, fitted, errors } = entry;
        let gpu = tripipe_device::find(&gpu).map_err(|error| format!("{name}: {error}"))?;
        let source = Source::named(&source).ok_or_else(|| format!("{name}: unknown source {source}"))?;
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
    let own = by_sheet.map(|comparisons| {
        let family = sheets.next().map_or("", |sheet| sheet.name());
        ErrorTable::new(family, comparisons)
    });
    let width = |table: &&ErrorTable| (1.0 + table.highest) / (1.0 + table.lowest);
    let widest = own.iter().filter(|table| table.count > 0).max_by(|a, b| width(a).total_cmp(&width(b)));
    let widest = widest.ok_or("no comparison")?.clone();
    Ok(own.map(|table| match table.count {
        0 => ErrorTable { borrowed: true, ..widest.clone() },
        _ => table,
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
        assert_eq!((midgard.count, midgard.borrowed, midgard.family), (3, false, "midgard"));
        assert!(
            (midgard.mean + 0.2 / 3.0).abs() < 1e-12 && (midgard.mean_absolute - 0.8 / 3.0).abs() < 1e-12
        );
        let [lowest, highest] = midgard.band(6.0);
        assert!((lowest - 5.0).abs() < 1e-9 && (highest - 12.0).abs() < 1e-9);
        // A prediction is within its own band, whatever the errors.
        assert_eq!(valhall.band(1.0), [0.8, 1.0]);
        for borrower in [bifrost, adreno] {
            assert!(borrower.borrowed && borrower.family == "midgard" && borrower.count == 3);
        }
    }

    #[test]
    fn malformed_files_are_refused() {
        assert!(tables("comparison = []").is_err());
        assert!(tables(&entry("mali-t604", "[]")).is_err());
        assert!(tables(&entry("mali-t604", "[-1.0]")).is_err());
        assert!(tables(&entry("mali-nothing", "[0.1]")).is_err());
        assert!(tables(&entry("mali-t604", "[0.1]").replace("estimate", "hearsay")).is_err());
    }
}
