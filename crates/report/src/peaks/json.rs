//! Measured ceilings as JSON.

use serde_json::{Value, json};
use tripipe_device::Gpu;
use tripipe_ladders::peaks::{Peak, Unit};

use super::{Report, Transfer};

/// One JSON object on one line. Rates are in units per second, times in seconds; `value` is `null` where nothing was
/// measured, and `reason` says why.
pub fn json(report: &Report<'_>) -> String {
    json!({
        "command": "peaks",
        "device": report.device,
        "what": report.what,
        "peaks": report.peaks.rows.iter().map(|each| peak(report, each)).collect::<Vec<_>>(),
        "transfers": report.transfers.map(|transfers| transfers.iter().map(transfer).collect::<Vec<_>>()),
    })
    .to_string()
}

fn peak(report: &Report<'_>, peak: &Peak) -> Value {
    json!({
        "name": peak.name,
        "width": peak.width,
        "value": peak.value.as_ref().ok(),
        "unit": unit(peak.unit),
        "theoretical": report.model.and_then(|model| theoretical(peak.name, model)),
        "reason": peak.value.as_ref().err().map(ToString::to_string),
    })
}

/// The ceiling of the same kind in the model of the GPU, in units per second; `None` if it has none.
fn theoretical(name: &str, model: &Gpu) -> Option<f64> {
    let rates = &model.operations_per_clock_per_core;
    let rate = match name {
        "mad float" => rates.fp32_mad_vector_lanes.as_ref().unwrap_or(&rates.fp32_fma),
        "mad half" => &rates.fp16_fma,
        "mad int" => rates.int32_mad.as_ref()?,
        "mad24 int" => rates.int24_mad.as_ref()?,
        "mad char" => rates.int8_mad.as_ref()?,
        "dot int8" => &rates.int8_dot_mac,
        _ if name.starts_with("buffer") => return Some(model.configuration.dram_gb_s_peak.value * 1e9),
        _ => return None,
    };
    Some(model.operations_per_second(rate.value)).filter(|rate| *rate > 0.0)
}

fn transfer(transfer: &Transfer) -> Value {
    let rates = transfer.rates.as_ref();
    json!({
        "name": transfer.name,
        "bytes": transfer.bytes,
        "to_device_bytes_per_second": rates.ok().map(|rates| rates.to_device),
        "to_host_bytes_per_second": rates.ok().map(|rates| rates.to_host),
        "reason": rates.err(),
    })
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::OperationsPerSecond => "operations/s",
        Unit::BytesPerSecond => "bytes/s",
        Unit::Seconds => "s",
    }
}
