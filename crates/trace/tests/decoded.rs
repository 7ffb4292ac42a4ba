//! Traces, read back by others: Perfetto's by its own descriptors, Chrome's as JSON.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod decoder;

use serde_json::{Value, json};
use tripipe_trace::{
    Arguments, Command, CommandKind, Counter, CounterGroup, CounterSample, CounterUnit, GpuQueue,
    GpuTimeline, KernelLaunch, Process, Slice, Timeline, TraceFile, Track, chrome_json,
};

fn slice(name: &str, start_ns: u64, duration_ns: u64) -> Slice {
    Slice { name: name.to_owned(), category: "test".into(), start_ns, duration_ns, ..Slice::default() }
}

fn kernel(name: &str, start_ns: u64) -> Command {
    let launch = KernelLaunch {
        global: [100, 30, 1],
        local: Some([16, 8, 1]),
        registers: Some(24),
        spill_bytes: Some(0),
    };
    Command {
        name: name.to_owned(),
        kind: CommandKind::Kernel(launch),
        start_ns,
        duration_ns: 1_000,
        arguments: Arguments::default().with("error band", "0.8 to 1.3 us").with("share", 0.5),
    }
}

/// Two GPUs and a host, with everything that a timeline can have.
fn timeline() -> Timeline {
    let sample = |start_ns, end_ns, value| CounterSample { start_ns, end_ns, value };
    let counter = |name: &str, unit, group, samples| Counter {
        name: name.to_owned(),
        description: format!("{name}, as tested"),
        unit,
        group,
        samples,
    };
    let gpu = |name: &str, kernels: &[&str]| Process {
        name: name.to_owned(),
        labels: vec!["made up".to_owned()],
        tracks: vec![Track {
            name: "core 0".to_owned(),
            slices: vec![slice("one", 5, 10), slice("two", 10, 10)],
        }],
        gpu: Some(GpuTimeline {
            queues: vec![GpuQueue {
                name: "compute queue".to_owned(),
                commands: kernels
                    .iter()
                    .enumerate()
                    .map(|(index, name)| kernel(name, 10_000 * index as u64))
                    .chain([Command { name: "read".to_owned(), start_ns: 90_000, ..Command::default() }])
                    .collect(),
            }],
            counters: vec![
                counter(
                    "ALU",
                    CounterUnit::Percent,
                    CounterGroup::Compute,
                    vec![sample(0, 100, 50.0), sample(100, 200, 75.0), sample(300, 400, 25.0)],
                ),
                counter("DRAM", CounterUnit::BytesPerSecond, CounterGroup::Memory, vec![sample(0, 200, 1e9)]),
            ],
        }),
        ..Process::default()
    };
    let mut outer = slice("outer ü", 1_000, 5_000);
    outer.arguments = Arguments::default().with("bytes", 4096u64).with("share", 0.25).with("why", "because");
    let host = Process {
        name: "app".to_owned(),
        pid: Some(77),
        tracks: vec![Track {
            name: "main".to_owned(),
            slices: vec![
                slice("inner", 2_000, 1_000),
                outer,
                slice("point", 6_000, 0),
                slice("crossing", 4_000, 9_000),
            ],
        }],
        ..Process::default()
    };
    let gpus = [gpu("Mali-G77 (predicted)", &["a", "b"]), gpu("Adreno 650 (predicted)", &["a"])];
    let facts = Arguments::default().with("program", "app");
    Timeline { facts, processes: [host].into_iter().chain(gpus).collect() }
}

#[test]
fn perfettos_descriptors_find_what_was_put_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pftrace");
    TraceFile::new(&path).unwrap().save(&timeline()).unwrap();
    let Some(found) = decoder::decode(&path) else { return };
    assert_eq!(
        found["processes"],
        json!([
            {"pid": 77, "name": "app", "labels": []},
            {"pid": 1, "name": "Mali-G77 (predicted)", "labels": ["made up"]},
            {"pid": 2, "name": "Adreno 650 (predicted)", "labels": ["made up"]},
        ])
    );
    assert_eq!(found["instants"], json!([{"name": "about this trace", "arguments": {"program": "app"}}]));
    // Slices that cross are in two rows of one name.
    assert_eq!(found["tracks"], json!(["main", "main", "core 0", "core 0", "core 0", "core 0"]));
    let main: Vec<Value> = of(&found["slices"], "process", "app");
    let fields = |slice: &Value| json!([slice["name"], slice["depth"], slice["start"], slice["duration"]]);
    let shown: Value = main.iter().map(fields).collect();
    let want = json!([
        ["outer ü", 0, 1_000, 5_000],
        ["inner", 1, 2_000, 1_000],
        ["crossing", 0, 4_000, 9_000],
        ["point", 0, 6_000, 0]
    ]);
    assert_eq!(shown, want);
    assert_eq!(main[0]["arguments"], json!({"bytes": 4096, "share": 0.25, "why": "because"}));
    let commands = found["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 5);
    let b = commands.iter().find(|command| command["name"] == "b").unwrap();
    assert_eq!(
        *b,
        json!({
            "gpu": "Mali-G77 (predicted)", "pid": 1, "queue": "compute queue", "stage": "OpenCL kernel",
            "category": "COMPUTE", "name": "b", "start": 10_000, "duration": 1_000, "groups": [7, 4, 1],
            "local": [16, 8, 1], "launch": {
                "global_size_x": 100, "global_size_y": 30, "global_size_z": 1, "registers_per_thread": 24,
                "spill_bytes": 0,
            }, "extra": {"error band": "0.8 to 1.3 us", "share": "0.5"},
        })
    );
    let read = of(&found["commands"], "name", "read");
    assert_eq!((&read[1]["gpu"], &read[1]["stage"]), (&json!("Adreno 650 (predicted)"), &json!("Transfer")));
    assert_eq!((&read[1]["category"], &read[1]["groups"]), (&json!("OTHER"), &Value::Null));
    let counters = found["counters"].as_array().unwrap();
    assert_eq!(counters.len(), 4);
    // Each value is that of the time before it.
    assert_eq!(
        counters[0],
        json!({
            "gpu": "Mali-G77 (predicted)", "name": "ALU", "description": "ALU, as tested", "numerator": ["PERCENT"],
            "denominator": [], "groups": ["COMPUTE"], "direction": "VALUE_DIRECTION_BACKWARDS_LOOKING",
            "values": [[0, 0.0], [100, 50.0], [200, 75.0], [300, 0.0], [400, 25.0]],
        })
    );
    assert_eq!(
        (&counters[3]["gpu"], &counters[3]["numerator"], &counters[3]["denominator"], &counters[3]["groups"]),
        (&json!("Adreno 650 (predicted)"), &json!(["BYTE"]), &json!(["SECOND"]), &json!(["MEMORY"]))
    );
}

#[test]
fn an_empty_timeline_is_a_valid_trace() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.perfetto-trace");
    TraceFile::new(&path).unwrap().save(&Timeline::default()).unwrap();
    let Some(found) = decoder::decode(&path) else { return };
    assert_eq!(found["processes"], json!([]));
}

/// The format of Chrome's traces: every event has a phase, a process and a name; metadata names processes and threads;
/// complete events have a start and a length, and those of a thread nest.
#[test]
fn chrome_json_has_the_same_slices() {
    let found: Value = serde_json::from_str(&chrome_json(&timeline())).unwrap();
    assert_eq!((&found["displayTimeUnit"], &found["otherData"]), (&json!("ns"), &json!({"program": "app"})));
    let events = found["traceEvents"].as_array().unwrap();
    let mut complete = Vec::new();
    for event in events {
        assert!(event["pid"].is_u64() && event["tid"].is_u64() && event["name"].is_string(), "{event}");
        match event["ph"].as_str().unwrap() {
            "M" => assert!(event["args"].is_object()),
            "C" => {
                assert!(
                    event["ts"].as_f64().unwrap() >= 0.0 && event["args"].as_object().unwrap().len() == 1
                );
            }
            "X" => {
                assert!(event["ts"].as_f64().unwrap() >= 0.0 && event["dur"].as_f64().unwrap() >= 0.0);
                complete.push(event);
            }
            other => panic!("{other}"),
        }
    }
    let metadata = |name: &str, pid: u64| -> Vec<&str> {
        let of =
            events.iter().filter(|event| event["ph"] == "M" && event["name"] == name && event["pid"] == pid);
        of.map(|event| event["args"]["name"].as_str().unwrap()).collect()
    };
    assert_eq!(metadata("process_name", 1), ["Mali-G77 (predicted)"]);
    assert_eq!(metadata("thread_name", 1), ["compute queue", "core 0", "core 0 (2)"]);
    assert_eq!(metadata("thread_name", 77), ["main", "main (2)"]);
    let thread = |event: &Value| (event["pid"].as_u64(), event["tid"].as_u64());
    let span = |event: &Value| {
        let start = event["ts"].as_f64().unwrap();
        (start, start + event["dur"].as_f64().unwrap())
    };
    for (index, one) in complete.iter().enumerate() {
        for other in complete[index + 1..].iter().filter(|other| thread(other) == thread(one)) {
            let ((start, end), (from, to)) = (span(one), span(other));
            assert!(
                end <= from || to <= start || (start <= from && to <= end) || (from <= start && end <= to)
            );
        }
    }
    let b = complete.iter().find(|event| event["name"] == "b").unwrap();
    assert_eq!((&b["ts"], &b["dur"], &b["cat"]), (&json!(10), &json!(1), &json!("kernel")));
    assert_eq!(b["args"]["work-groups"], "7x4x1");
    let alu: Vec<_> = events
        .iter()
        .filter(|event| event["name"] == "ALU" && event["pid"] == 1)
        .map(|event| (event["ts"].as_f64().unwrap(), event["args"]["percent"].as_f64().unwrap()))
        .collect();
    assert_eq!(alu, [(0.0, 50.0), (0.1, 75.0), (0.2, 0.0), (0.3, 25.0), (0.4, 0.0)]);
}

fn of(list: &Value, key: &str, value: &str) -> Vec<Value> {
    list.as_array().unwrap().iter().filter(|each| each[key] == value).cloned().collect()
}

#[test]
fn json_says_numbers_that_it_has_none_for_as_text() {
    let mut slice = slice("\u{7}\"quoted\"\n", 1, 1);
    slice.arguments = Arguments::default().with("large", u64::MAX).with("nan", f64::NAN);
    let tracks = vec![Track { name: "t".to_owned(), slices: vec![slice] }];
    let timeline =
        Timeline { processes: vec![Process { tracks, ..Process::default() }], ..Timeline::default() };
    let found: Value = serde_json::from_str(&chrome_json(&timeline)).unwrap();
    let event = of(&found["traceEvents"], "ph", "X");
    assert_eq!(event[0]["name"], "\u{7}\"quoted\"\n");
    assert_eq!(event[0]["args"], json!({"large": "18446744073709551615", "nan": "NaN"}));
}
