//! `--trace`: what is in the files, by Perfetto's own descriptors, and what is refused.

use std::fs;

use serde_json::Value;

use crate::decoder::decode;
use crate::run_kernel::compiles;
use crate::{Bench, complaint};

const BLUR: &str = "kernel void blur(global const float *in, global float *out, int n) {
    int i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += in[i + k];
    out[i] = sum / n;
}\n";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn list<'v>(found: &'v Value, key: &str) -> &'v [Value] {
    found[key].as_array().unwrap()
}

/// The end of a slice or a command.
fn end(slice: &Value) -> u64 {
    slice["start"].as_u64().unwrap() + slice["duration"].as_u64().unwrap()
}

/// All that the command prints about a launch is also in its trace, computed from other parts of the prediction.
#[test]
fn a_simulated_launch_agrees_with_what_is_printed() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("blur.cl", BLUR);
    let arguments = ["simulate", "blur.cl", "-g", "t604,g77,Adreno 650", "--global", "8192", "--arg", "n=9"];
    let options = ["--exact", "--format", "json", "--trace", "t.pftrace"];
    let text = bench.succeed(&[&arguments[..], &options].concat());
    let printed: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let Some(found) = decode(&bench.path().join("t.pftrace")) else { return };
    assert_eq!(list(&found, "processes").len(), 3);
    for printed in &printed {
        let name = format!("{} (predicted)", printed["gpu"].as_str().unwrap());
        let on_gpu = |key: &str, of: &str| -> Vec<Value> {
            list(&found, key).iter().filter(|each| each[of] == name.as_str()).cloned().collect()
        };
        let commands = on_gpu("commands", "gpu");
        let [launch] = &commands[..] else { panic!("{commands:?}") };
        assert_eq!((&launch["name"], &launch["category"]), (&"blur (predicted)".into(), &"COMPUTE".into()));
        let seconds = number(&printed["seconds"]);
        assert!((number(&launch["duration"]) - seconds * 1e9).abs() <= 1.0);
        assert!((number(&launch["start"]) - number(&printed["launch_seconds"]) * 1e9).abs() <= 1.0);
        assert_eq!(launch["local"], printed["local"]);
        assert_eq!(launch["launch"]["registers_per_thread"], printed["registers"]);
        assert!(launch["extra"]["error band"].as_str().unwrap().contains(" us to "));
        // Each work-group is on a core, once, within the launch.
        let slices = on_gpu("slices", "process");
        let groups: Vec<&Value> = slices.iter().filter(|slice| slice["category"] == "work-group").collect();
        assert_eq!(groups.len() as u64, printed["groups"].as_u64().unwrap());
        for group in groups {
            assert!(group["track"].as_str().unwrap().starts_with("core "));
            assert!(group["start"].as_u64() >= launch["start"].as_u64() && end(group) <= end(launch) + 1);
        }
        let parts: Vec<&Value> = slices.iter().filter(|slice| slice["category"] == "played").collect();
        assert_eq!((parts[0]["name"].as_str(), end(parts[0])), (Some("played"), end(launch)));
        // The bytes of the counters, each value times its interval, are those that are printed.
        let counters = on_gpu("counters", "gpu");
        let integral = |name: &str| {
            let counter = counters.iter().find(|counter| counter["name"] == name).unwrap();
            let steps: Vec<(f64, f64)> =
                list(counter, "values").iter().map(|step| (number(&step[0]), number(&step[1]))).collect();
            steps.windows(2).map(|pair| (pair[1].0 - pair[0].0) * 1e-9 * pair[1].1).sum::<f64>()
        };
        let read = integral("DRAM read bandwidth (predicted)");
        let want = number(&printed["played_traffic"]["dram_read_bytes"]);
        assert!((read - want).abs() <= 0.02 * want + 64.0, "{name}: {read}, printed {want}");
        // The time that a resource was busy, in percent of the launch.
        for counter in counters.iter().filter(|counter| counter["numerator"][0] == "PERCENT") {
            let resource = counter["name"].as_str().unwrap().split(' ').next().unwrap();
            let share = integral(counter["name"].as_str().unwrap()) / 100.0 / seconds;
            let want = number(&printed["shares"][resource]);
            assert!((share - want).abs() <= 0.02, "{name} {resource}: {share}, printed {want}");
        }
    }
}

#[test]
fn parts_that_were_not_played_are_marked() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("blur.cl", BLUR);
    let arguments = ["simulate", "blur.cl", "-g", "t604", "--global", "4194304", "--arg", "n=9"];
    bench.succeed(&[&arguments[..], &["--trace", "t.json"]].concat());
    let found: Value = serde_json::from_slice(&bench.read("t.json")).unwrap();
    let events = list(&found, "traceEvents");
    let of = |name: &str| -> f64 {
        let parts = events.iter().filter(|event| event["cat"] == "played" && event["name"] == name);
        parts.map(|event| number(&event["dur"])).sum()
    };
    let launch = events.iter().find(|event| event["cat"] == "kernel").unwrap();
    assert!(of("not played") > 0.0);
    assert!((of("played") + of("not played") - number(&launch["dur"])).abs() < 0.01);
}

/// Commands on devices that are there, and on one that is not.
#[test]
fn commands_record_what_they_run() {
    let bench = Bench::new();
    if tripipe_opencl::devices().is_err() {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none());
        return;
    }
    let ladder =
        ["ladder", "vector-add", "--sizes", "4096", "--runs", "2", "--warmup", "1", "--device", "cpu,opencl"];
    let runs: [(&[&str], &[&str]); 4] = [
        (&ladder, &["vector-add, serial", "vector-add, step "]),
        (&["peaks", "--only", "copy", "--device", "virtual:mali-g77"], &[]),
        (&["filter", "gaussian:5", "in.pgm", "out.pgm", "--device", "opencl"], &["a filter", "build "]),
        (
            &[
                "tune", "filter", "box:3", "--size", "64x48", "--runs", "1", "--limit", "1", "--log", "none",
                "--device", "opencl",
            ],
            &[],
        ),
    ];
    bench.write("in.pgm", [&b"P5 64 48 255\n"[..], &[7; 64 * 48]].concat());
    for (arguments, slices) in runs {
        let path = bench.path().join("t.pftrace");
        let _ = fs::remove_file(&path);
        let mut command = bench.command(&[arguments, &["--trace", "t.pftrace"]].concat());
        command.env_remove("TRIPIPE_OPENCL");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", complaint(&output.stderr));
        let Some(found) = decode(&path) else { return };
        let kernels = list(&found, "commands").iter().filter(|command| command["category"] == "COMPUTE");
        assert!(kernels.count() > 0, "{arguments:?}: {found}");
        for wanted in slices {
            let has = |slice: &Value| slice["name"].as_str().unwrap().starts_with(wanted);
            assert!(list(&found, "slices").iter().any(has), "{arguments:?}: no {wanted}");
        }
        // A predicted time says so.
        for command in
            list(&found, "commands").iter().filter(|command| command["gpu"] == "Mali-G77 (predicted)")
        {
            assert!(command["name"].as_str().unwrap().ends_with(" (predicted)"));
        }
    }
}

#[test]
fn files_that_cannot_be_written_and_commands_that_fail() {
    let bench = Bench::new();
    bench.write("in.pgm", [&b"P5 2 1 255\n"[..], &[7, 8]].concat());
    let filter = |trace| ["filter", "box:3", "in.pgm", "out.pgm", "--device", "cpu", "--trace", trace];
    for trace in ["t.txt", "t"] {
        bench.refuse(&filter(trace), &["the name of a trace ends in .pftrace or .perfetto-trace", ".json"]);
    }
    bench.refuse(&filter("missing/t.json"), &["missing/t.json", "No such file or directory"]);
    bench.refuse(&["simulate", "x.cl", "-g", "g77", "--trace", "t.trace"], &["t.trace", ".pftrace"]);
    // A command that fails leaves the trace before it.
    bench.write("t.json", "the one before");
    bench.refuse(
        &["filter", "box:3", "no.pgm", "out.pgm", "--device", "cpu", "--trace", "t.json"],
        &["no.pgm"],
    );
    assert_eq!(bench.read("t.json"), b"the one before");
}

#[test]
fn the_environment_names_the_file_too() {
    let bench = Bench::new();
    bench.write("in.pgm", [&b"P5 2 1 255\n"[..], &[7, 8]].concat());
    let mut command = bench.command(&["filter", "box:3", "in.pgm", "out.pgm", "--device", "cpu"]);
    let output = command.env("TRIPIPE_TRACE", "t.json").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output.stderr));
    assert!(serde_json::from_slice::<Value>(&bench.read("t.json")).unwrap()["traceEvents"].is_array());
}
