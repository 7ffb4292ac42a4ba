//! Times of kernels in traces in Chrome JSON: those of the OpenCL intercept layer and of `tripipe`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use thiserror::Error;

/// A trace that cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Not JSON.
    #[error(
        "{file} is not a trace in Chrome JSON: {reason}; write one with CLI_ChromeCallLogging=1 and \
         CLI_ChromePerformanceTiming=1, or with --trace FILE.json (docs/capture.md)"
    )]
    Syntax {
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// There is no kernel in it.
    #[error("{file} has no kernels with times; set CLI_ChromePerformanceTiming=1 for times of the device")]
    NoKernels {
        /// The file.
        file: String,
    },
}

/// The times of a kernel on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelTimes {
    /// Number of launches.
    pub launches: usize,
    /// Seconds of all of them.
    pub seconds: f64,
}

/// A launch in a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredLaunch {
    /// The kernel.
    pub kernel: String,
    /// Seconds from the start of the trace's clock.
    pub start: f64,
    /// Seconds on the device.
    pub seconds: f64,
    /// Whether the time is that of a model, on a virtual GPU.
    pub predicted: bool,
}

/// What follows the name of a kernel whose time is predicted.
const PREDICTED: &str = " (predicted)";

/// The launches of a trace in the order of their starts. `file` is its name in messages.
///
/// # Errors
/// It is not Chrome JSON, or has no kernel with times.
pub fn launches(file: &str, text: &str) -> Result<Vec<MeasuredLaunch>, TraceError> {
    let syntax = |reason: String| TraceError::Syntax { file: file.to_owned(), reason };
    let document: Value = serde_json::from_str(&closed(text)).map_err(|error| syntax(error.to_string()))?;
    let events = document.get("traceEvents").unwrap_or(&document);
    let events = events.as_array().ok_or_else(|| syntax("it is not a list of events".to_owned()))?;
    // The layer names a kernel in the host's call that enqueues it; its command has the same id.
    let mut enqueued: BTreeSet<(String, u64)> = BTreeSet::new();
    let id = |event: &Value| event["args"]["id"].as_u64();
    for event in events {
        let name = event["name"].as_str().unwrap_or_default();
        let kernel = name.strip_prefix("clEnqueueNDRangeKernel( ").and_then(|rest| rest.strip_suffix(" )"));
        if let (Some(kernel), Some(id)) = (kernel, id(event)) {
            enqueued.insert((kernel.to_owned(), id));
        }
    }
    let mut launches = Vec::new();
    for event in events {
        let (Some(name), Some(microseconds)) = (event["name"].as_str(), event["dur"].as_f64()) else {
            continue;
        };
        let own = event["cat"].as_str() == Some("kernel");
        let of_layer = id(event).is_some_and(|id| enqueued.contains(&(name.to_owned(), id)));
        if own || of_layer {
            let start = event["ts"].as_f64().unwrap_or(0.0) * 1e-6;
            let plain = name.strip_suffix(PREDICTED);
            let (kernel, predicted) = (plain.unwrap_or(name).to_owned(), plain.is_some());
            launches.push(MeasuredLaunch { kernel, start, seconds: microseconds * 1e-6, predicted });
        }
    }
    if launches.is_empty() {
        return Err(TraceError::NoKernels { file: file.to_owned() });
    }
    launches.sort_by(|a, b| a.start.total_cmp(&b.start));
    Ok(launches)
}

/// The times of each kernel, by name.
pub fn kernels(launches: &[MeasuredLaunch]) -> BTreeMap<String, KernelTimes> {
    let mut kernels: BTreeMap<String, KernelTimes> = BTreeMap::new();
    for launch in launches {
        let times = kernels.entry(launch.kernel.clone()).or_default();
        times.launches += 1;
        times.seconds += launch.seconds;
    }
    kernels
}

/// The text with its list closed: an application that ends early leaves it open.
fn closed(text: &str) -> String {
    let text = text.trim();
    if text.starts_with('[') && !text.ends_with(']') {
        // The last event may be cut off.
        let end = text.rfind('}').map_or(1, |end| end + 1);
        return format!("{}]", text[..end].trim_end_matches(','));
    }
    text.to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]
mod tests {
    use super::*;

    /// A trace that the layer wrote over PoCL.
    const OF_LAYER: &str = include_str!("../tests/captures/clintercept_trace.json");

    #[test]
    fn predicted_kernels_have_their_own_names() {
        let trace = r#"[{"name": "scale (predicted)", "cat": "kernel", "ph": "X", "ts": 1, "dur": 2}]"#;
        let found = launches("trace.json", trace).unwrap();
        assert_eq!((found[0].kernel.as_str(), found[0].predicted), ("scale", true));
    }

    #[test]
    fn kernels_of_the_layer_have_the_times_of_the_device() {
        let all = launches("trace.json", OF_LAYER).unwrap();
        // The application enqueued them in this order.
        let order: Vec<&str> = all.iter().map(|launch| launch.kernel.as_str()).collect();
        assert_eq!(order, ["scale", "sums", "advance", "soften", "gather", "shared"]);
        let found = kernels(&all);
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, ["advance", "gather", "scale", "shared", "soften", "sums"]);
        for (name, times) in &found {
            assert_eq!(times.launches, 1, "{name}");
            assert!(times.seconds > 0.0 && times.seconds < 1.0, "{name}: {times:?}");
            // The event of the device, and not the host's call.
            let line = OF_LAYER.lines().find(|line| line.contains(&format!("\"name\":\"{name}\""))).unwrap();
            let duration = line.split("\"dur\":").nth(1).unwrap().split(',').next().unwrap();
            assert!((times.seconds - duration.parse::<f64>().unwrap() * 1e-6).abs() < 1e-12, "{line}");
        }
    }

    #[test]
    fn a_trace_that_was_cut_off_is_read_as_far_as_it_goes() {
        let half = &OF_LAYER[..OF_LAYER.find("\"name\":\"sums\"").unwrap() + 20];
        let found = kernels(&launches("trace.json", half).unwrap());
        assert_eq!(found.keys().collect::<Vec<_>>(), ["scale"]);
    }

    #[test]
    fn other_files_are_refused() {
        for (text, words) in
            [("", "not a trace"), ("{}", "list of events"), ("[]", "no kernels"), ("\u{1f}PK", "JSON")]
        {
            let error = launches("x.json", text).unwrap_err().to_string();
            assert!(error.contains(words) && error.starts_with("x.json"), "{error}");
        }
    }
}
