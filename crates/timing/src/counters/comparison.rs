//! A capture beside the prediction.

use tripipe_device::Gpu;

use super::capture::{Capture, Series, key};
use super::table::{Entry, Table};
use super::{Counter, Counters, counters};
use crate::predict::Prediction;

/// A row of a capture, with the predicted counter of its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its name in the capture.
    pub name: String,
    /// The measured value of a launch: the sum of the samples divided by the number of launches, or their mean for
    /// shares and rates.
    pub measured: f64,
    /// Number of samples that it is from.
    pub samples: usize,
    /// The predicted counter, or why there is none.
    pub predicted: Result<Counter, String>,
}

impl Compared {
    /// Measured value / predicted value; `None` without a predicted value, or if one of both is 0.
    pub fn ratio(&self) -> Option<f64> {
        let predicted = self.predicted.as_ref().ok()?.value;
        match (self.measured, predicted) {
            // Both may be 0, and 0 / 0 is NaN.
            (measured, predicted) if measured == predicted => Some(1.0),
            (measured, predicted) => {
                Some(measured / predicted).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
            }
        }
    }
}

/// A capture beside the prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct CaptureComparison {
    /// All rows of the capture, in its order.
    pub rows: Vec<Compared>,
    /// The predicted counters; those that the capture lacks included.
    pub counters: Counters,
}

impl CaptureComparison {
    /// Rows with a ratio, the one furthest from 1 first.
    pub fn worst(&self) -> Vec<&Compared> {
        let mut rows: Vec<(f64, &Compared)> =
            // As logarithms, half and twice are equally far from 1.
            self.rows.iter().filter_map(|row| Some((row.ratio()?.ln().abs(), row))).collect();
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

/// Lays a capture beside the prediction of a launch. `from` and `to`: seconds of the capture since its first sample,
/// infinite for samples at any time and those without one;
/// `launches`: how often the launch ran in that time. `None` if the prediction has no
/// [`activity`](Prediction::activity).
pub fn compare(
    capture: &Capture,
    gpu: &Gpu,
    prediction: &Prediction,
    [from, to]: [f64; 2],
    launches: f64,
) -> Option<CaptureComparison> {
    let counters = counters(gpu, prediction)?;
    let table = Table::of(gpu);
    let rows = capture.series.iter().map(|series| row(series, &table, &counters, [from, to], launches));
    Some(CaptureComparison { rows: rows.collect(), counters })
}

fn row(series: &Series, table: &Table, counters: &Counters, [from, to]: [f64; 2], launches: f64) -> Compared {
    let all = from == f64::NEG_INFINITY && to == f64::INFINITY;
    let within = |time: &Option<f64>| time.map_or(all, |time| time >= from && time <= to);
    let values: Vec<f64> =
        series.samples.iter().filter(|(time, _)| within(time)).map(|(_, value)| *value).collect();
    let entry = find(&series.name, table);
    let sum: f64 = values.iter().sum();
    let measured = match entry {
        Some(entry) if is_rate(entry) => sum / values.len().max(1) as f64,
        _ => sum / launches,
    };
    let predicted = match entry {
        _ if values.is_empty() => Err("no sample in this time".to_owned()),
        None => Err(format!("no counter of {} has this name", table.product)),
        Some(entry) if entry.graphics => Err("only graphics moves it".to_owned()),
        Some(entry) => {
            let same = |title: &str, name: &str| name == entry.name && title == entry.title();
            let counter = counters.counters.iter().find(|counter| same(counter.title, counter.name));
            counter.cloned().ok_or_else(|| {
                let missing = counters.missing.iter().find(|missing| same(missing.title, missing.name));
                missing.map_or_else(|| "not modelled".to_owned(), |missing| missing.reason.clone())
            })
        }
    };
    Compared { name: series.name.clone(), measured, samples: values.len(), predicted }
}

/// Whether samples are averaged, not added.
fn is_rate(entry: &Entry) -> bool {
    let group = entry.group.as_str();
    matches!(entry.unit.as_str(), "percent" | "ratio" | "hertz" | "instances" | "bits")
        || entry.unit.ends_with("/second")
        || ["Bytes/Cycle", "CPI", "Average", "Rate", "Configuration"].iter().any(|part| group.contains(part))
}

/// The counter that a name of a capture means: the program's name, the hardware's, the one for people, with or without
/// the group before it and the unit behind it.
fn find(name: &str, table: &Table) -> Option<&'static Entry> {
    let mut names = vec![name.to_owned()];
    // `Group: Title`
    names.extend(name.rsplit_once(':').map(|(_, title)| title.to_owned()));
    // `ARM_Mali-G77_GPU_ACTIVE`
    if key(name).starts_with("armmali") {
        names.extend(name.splitn(3, '_').nth(2).map(str::to_owned));
    }
    // `Title (unit)`
    let bare: Vec<String> =
        names.iter().filter_map(|name| Some(name.rsplit_once('(')?.0.to_owned())).collect();
    names.extend(bare);
    let keys: Vec<String> = names.iter().map(|name| key(name)).filter(|key| !key.is_empty()).collect();
    // All names of a capture's name in turn, so that the longest counts.
    keys.iter().find_map(|wanted| {
        table.entries.iter().copied().find(|entry| {
            let group = format!("{}{}", entry.group, entry.title());
            let own = [entry.name.as_str(), &entry.source, entry.title(), &group];
            own.into_iter().chain(entry.also.split(',')).any(|name| key(name) == *wanted)
        })
    })
}

#[cfg(test)]
mod tests {
    use tripipe_device::find as gpu;

    use super::{Table, find};

    #[test]
    fn counters_are_found_by_all_their_names() {
        let table = Table::of(gpu("mali-g77-mp9").unwrap());
        for name in [
            "MaliGPUActiveCy",
            "GPU_ACTIVE",
            "gpu active cycles",
            "GPU Cycles: GPU active cycles",
            "GPU active cycles (cycles)",
            "GPU Cycles:GPU active cycles (cycles)",
            "ARM_Mali-TTRx_GPU_ACTIVE",
        ] {
            let found = find(name, &table).map(|entry| entry.name.as_str());
            assert_eq!(found, Some("MaliGPUActiveCy"), "{name}");
        }
        let found = find("POS_SHADER_WARPS", &table).map(|entry| entry.name.as_str());
        assert_eq!(found, Some("MaliGeomPosShadTask"), "an alias");
        for name in ["", "(", ":", "CPU load", "Mali"] {
            assert!(find(name, &table).is_none(), "{name}");
        }
        let table = Table::of(gpu("adreno-650").unwrap());
        for name in ["SP Memory Read (Bytes/Second)", "% Time ALUs Working", "% time alus working"] {
            assert!(find(name, &table).is_some(), "{name}");
        }
    }
}
