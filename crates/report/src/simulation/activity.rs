//! JSON of the activity of a launch.

use serde_json::{Map, Value, json};
use tripipe_device::Gpu;
use tripipe_timing::Resource;
use tripipe_timing::activity::{Activity, Counts};

use super::head;
use super::limits::exists;

/// Counts, windows, samples and lines. Spans of work-groups are in traces only.
pub(super) fn json(activity: &Activity, gpu: &Gpu, program: &str, source: &str) -> Value {
    let text = |file: Option<&str>, line: u32| {
        let line = (line as usize).checked_sub(1).filter(|_| file == Some(program))?;
        Some(source.lines().nth(line)?.trim())
    };
    let by_resource = |values: &[f64]| -> Map<String, Value> {
        let resources = Resource::ALL.iter().zip(values);
        let resources = resources.filter(|(resource, _)| exists(**resource, gpu));
        resources.map(|(resource, value)| (head(*resource, gpu).to_owned(), (*value).into())).collect()
    };
    let counts = |counts: &Counts| -> Map<String, Value> {
        let named = Counts::NAMES.iter().filter_map(|name| Some((name, counts.get(name)?)));
        named.map(|(name, count)| ((*name).to_owned(), count.into())).collect()
    };
    json!({
        "counts": counts(&activity.counts),
        "played_counts": counts(&activity.played),
        "windows": activity.windows.iter().map(|window| json!({
            "start_seconds": window.start,
            "end_seconds": window.end,
            "first_group": window.first_group,
            "first_sample": window.samples.start,
            "samples": window.samples.len(),
        })).collect::<Vec<_>>(),
        "samples": activity.samples.iter().map(|sample| json!({
            "start_seconds": sample.start,
            "seconds": sample.seconds,
            "shares": by_resource(&sample.shares),
            "threads": sample.threads,
            "l2_bytes": sample.l2_bytes,
            "dram_read_bytes": sample.dram_read_bytes,
            "dram_written_bytes": sample.dram_written_bytes,
        })).collect::<Vec<_>>(),
        "lines": activity.lines.iter().map(|line| json!({
            "file": line.file,
            "line": line.line,
            "text": text(line.file.as_deref(), line.line),
            "clocks": by_resource(&line.clocks),
            "waited_clocks": line.waited_clocks,
            "bytes": line.bytes,
            "l2_bytes": line.l2_bytes,
            "dram_bytes": line.dram_bytes,
        })).collect::<Vec<_>>(),
    })
}
