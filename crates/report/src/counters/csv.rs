//! CSV in the form of captures: for Adreno Snapdragon Profiler's, a row for each counter; for Mali Streamline's, a column
//! for each counter and one row.

use tripipe_device::{Gpu, Vendor};
use tripipe_timing::counters::Counters;

/// Counters of a launch of `seconds`.
pub fn csv(counters: &Counters, gpu: &Gpu, seconds: f64) -> String {
    let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
    // Writing rows to memory cannot fail.
    if gpu.vendor() == Vendor::Qualcomm {
        let _ = writer.write_record(["Process", "Metric", "Timestamp (s)", "Value"]);
        for counter in &counters.counters {
            let (time, value) = (seconds.to_string(), counter.value.to_string());
            let _ = writer.write_record(["Global", counter.name, &time, &value]);
        }
    } else {
        let names = counters.counters.iter().map(|counter| format!("{}: {}", counter.group, counter.title));
        let _ = writer.write_record(["Time (s)".to_owned()].into_iter().chain(names));
        let values = counters.counters.iter().map(|counter| counter.value.to_string());
        let _ = writer.write_record([seconds.to_string()].into_iter().chain(values));
    }
    writer.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}
