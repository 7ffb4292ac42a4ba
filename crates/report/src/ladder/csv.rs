//! A climbed ladder as comma-separated values: one row for each step and size.

use serde::Serialize;

use super::{Figures, Report, rate_unit, verdict};

#[derive(Serialize)]
struct CsvRow<'a> {
    ladder: &'a str,
    device: &'a str,
    size: String,
    step: &'a str,
    outcome: &'a str,
    median_seconds: Option<f64>,
    mean_seconds: Option<f64>,
    speedup: Option<f64>,
    serial_seconds: Option<f64>,
    serial_speedup: Option<f64>,
    /// 10^9 per second.
    rate: Option<f64>,
    rate_unit: Option<&'static str>,
    ceiling_share: Option<f64>,
    preparation_seconds: Option<f64>,
    choice: Option<&'a str>,
    cpu_cores: Option<f64>,
    reason: Option<&'a str>,
    joules: Option<f64>,
}

/// One row for each step and size; with `header`, the line of column names comes first. A cell is empty where nothing
/// was measured. Times are in seconds, rates in 10^9 per second.
pub fn csv(report: &Report<'_>, header: bool) -> String {
    let climb = report.climb;
    let mut writer = csv::WriterBuilder::new().has_headers(header).from_writer(Vec::new());
    for step in &climb.steps {
        for (index, (size, outcome)) in climb.sizes.iter().zip(&step.outcomes).enumerate() {
            let figures = Figures::of(report, step, index);
            let figures = figures.as_ref();
            let (outcome, reason) = verdict(outcome);
            // Writing a row of scalars to memory cannot fail.
            let _ = writer.serialize(CsvRow {
                ladder: &climb.ladder,
                device: &climb.device,
                size: size.to_string(),
                step: &step.name,
                outcome,
                median_seconds: figures.map(|figures| figures.median),
                mean_seconds: figures.map(|figures| figures.mean),
                speedup: figures.and_then(|figures| figures.speedup),
                serial_seconds: climb.serial.get(index).map(tripipe_ladders::ladder::Seconds::median),
                serial_speedup: figures.and_then(|figures| figures.serial_speedup),
                rate: figures.and_then(|figures| figures.rate),
                rate_unit: climb.work.get(index).map(|work| rate_unit(work.quoted)),
                ceiling_share: figures.and_then(|figures| figures.ceiling_share),
                preparation_seconds: figures.and_then(|figures| figures.measured.preparation_seconds),
                choice: figures.and_then(|figures| figures.measured.choice.as_deref()),
                cpu_cores: figures.and_then(|figures| Some(figures.measured.seconds.cpu_load()?.cores)),
                reason,
                joules: figures.and_then(|figures| figures.measured.joules),
            });
        }
    }
    writer.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
