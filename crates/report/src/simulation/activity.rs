//! The activity of a launch in its result.

use tripipe_device::Gpu;
use tripipe_results::{self as results, ByName};
use tripipe_timing::Resource;
use tripipe_timing::activity::{Activity, Counts, LineActivity, Sample, Window};

use super::head;
use super::limits::exists;

/// Counts, windows, samples and lines. Spans of work-groups are in traces only.
pub(super) fn result(activity: &Activity, gpu: &Gpu, program: &str, source: &str) -> results::Activity {
    let text = |file: Option<&str>, line: u32| {
        // Only the program's own text is at hand.
        let line = (line as usize).checked_sub(1).filter(|_| file == Some(program))?;
        Some(source.lines().nth(line)?.trim().to_owned())
    };
    let by_resource = |values: &[f64]| -> ByName<f64> {
        let own = Resource::ALL.iter().zip(values).filter(|(resource, _)| exists(**resource, gpu));
        own.map(|(resource, value)| (head(*resource, gpu).to_owned(), *value)).collect()
    };
    let counts = |counts: &Counts| -> ByName<f64> {
        Counts::NAMES.iter().filter_map(|name| Some(((*name).to_owned(), counts.get(name)?))).collect()
    };
    let window = |window: &Window| results::Window {
        start_seconds: window.start,
        end_seconds: window.end,
        first_group: window.first_group,
        first_sample: window.samples.start,
        samples: window.samples.len(),
    };
    let sample = |sample: &Sample| results::Sample {
        start_seconds: sample.start,
        seconds: sample.seconds,
        shares: by_resource(&sample.shares),
        threads: sample.threads,
        l2_bytes: sample.l2_bytes,
        dram_read_bytes: sample.dram_read_bytes,
        dram_written_bytes: sample.dram_written_bytes,
    };
    let line = |line: &LineActivity| results::ActivityLine {
        file: line.file.clone(),
        line: line.line,
        text: text(line.file.as_deref(), line.line),
        clocks: by_resource(&line.clocks),
        waited_clocks: line.waited_clocks,
        bytes: line.bytes,
        l2_bytes: line.l2_bytes,
        dram_bytes: line.dram_bytes,
    };
    results::Activity {
        counts: counts(&activity.counts),
        played_counts: counts(&activity.played),
        windows: activity.windows.iter().map(window).collect(),
        samples: activity.samples.iter().map(sample).collect(),
        lines: activity.lines.iter().map(line).collect(),
    }
}
