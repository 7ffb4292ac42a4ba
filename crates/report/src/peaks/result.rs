//! Measured ceilings as the result of the command.

use tripipe_device::Gpu;
use tripipe_ladders::peaks::{Peak, Unit};
use tripipe_results::{self as results, Peaks};

use super::Report;

/// The ceilings and the transfers.
pub fn result(report: &Report<'_>) -> Peaks {
    Peaks {
        device: report.device.to_owned(),
        what: report.what.to_owned(),
        peaks: report.peaks.rows.iter().map(|each| peak(report, each)).collect(),
        transfers: report.transfers.map(<[_]>::to_vec),
    }
}

fn peak(report: &Report<'_>, peak: &Peak) -> results::Peak {
    results::Peak {
        name: peak.name.to_owned(),
        width: peak.width,
        value: peak.value.as_ref().ok().copied(),
        unit: unit(peak.unit).to_owned(),
        theoretical: report.model.and_then(|model| theoretical(peak.name, model)),
        reason: peak.value.as_ref().err().map(ToString::to_string),
    }
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

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::OperationsPerSecond => "operations/s",
        Unit::BytesPerSecond => "bytes/s",
        Unit::Seconds => "s",
    }
}
