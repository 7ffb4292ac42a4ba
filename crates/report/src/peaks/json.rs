//! Measured ceilings as JSON.

use serde_json::{Value, json};
use tripipe_ladders::peaks::{Peak, Unit};

use super::{Report, Transfer};

/// One JSON object on one line. Rates are in units per second, times in seconds; `value` is `null` where nothing was
/// measured, and `reason` says why.
pub fn json(report: &Report<'_>) -> String {
    json!({
        "device": report.device,
        "what": report.what,
        "peaks": report.peaks.rows.iter().map(peak).collect::<Vec<_>>(),
        "transfers": report.transfers.map(|transfers| transfers.iter().map(transfer).collect::<Vec<_>>()),
    })
    .to_string()
}

fn peak(peak: &Peak) -> Value {
    json!({
        "name": peak.name,
        "width": peak.width,
        "value": peak.value.as_ref().ok(),
        "unit": unit(peak.unit),
        "reason": peak.value.as_ref().err().map(ToString::to_string),
    })
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
