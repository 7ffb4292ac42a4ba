//! The ranking as JSON.

use serde_json::{Value, json};

use super::{RankedLaunch, Why};

/// The version of the format. It increases when a key is removed or changes its meaning, not for a new key.
const VERSION: u32 = 1;

/// One JSON object on one line; `docs/capture.md` lists every key. Unknown values are `null`.
pub fn json(why: &Why) -> String {
    json!({
        "command": "why",
        "version": VERSION,
        "gpu": why.gpu.name(),
        "seconds": why.seconds(),
        "launches": why.rows.iter().map(row).collect::<Vec<_>>(),
        "notes": why.notes,
    })
    .to_string()
}

fn row(row: &RankedLaunch) -> Value {
    let predicted = row.predicted.as_ref();
    json!({
        "kernel": row.kernel,
        "file": row.file,
        "global": row.global,
        "launches": row.launches,
        "seconds": row.seconds(),
        "seconds_at_ceiling": row.at_ceiling(),
        "measured_launches": row.measured.map(|measured| measured.launches),
        "measured_seconds": row.measured.map(|measured| measured.seconds),
        "predicted_seconds": predicted.map(|predicted| predicted.seconds),
        "predicted_band": predicted.map(|predicted| predicted.band),
        "launch_seconds": predicted.map(|predicted| predicted.launch_seconds),
        "limiter": predicted.map(|predicted| &predicted.limiter),
        "ceiling": predicted.map(|predicted| &predicted.ceiling.0),
        "of_ceiling": predicted.map(|predicted| predicted.ceiling.1),
        "advice": row.advice.as_ref().map(|(advice, _)| advice),
        "advice_saves": row.advice.as_ref().and_then(|(_, saves)| *saves),
    })
}
