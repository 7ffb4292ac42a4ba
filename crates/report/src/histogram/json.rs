//! Histograms as JSON.

use serde_json::{Value, json};

use super::{Channel, Report};

/// One JSON object on one line. `counts` has a number for each bin of `bin_width` values; `min`, `max`, `median` and
/// `mean` are bins.
pub fn json(report: &Report<'_>) -> String {
    let [width, height] = report.size;
    json!({
        "command": "histogram",
        "picture": report.picture,
        "width": width,
        "height": height,
        "bits": report.bits,
        "bin_width": 1u32 << report.bits.saturating_sub(8),
        "channels": report.channels.iter().map(channel).collect::<Vec<_>>(),
    })
    .to_string()
}

fn channel(channel: &Channel) -> Value {
    json!({
        "name": channel.name,
        "min": channel.least,
        "max": channel.most,
        "median": channel.median,
        "mean": channel.mean,
        "counts": channel.counts.as_slice(),
    })
}
