//! `tripipe why` on the launches of a captured application, and on the trace that the intercept layer wrote of it.

use serde_json::Value;

use crate::decoder::decode;
use crate::import::captures;
use crate::run_kernel::compiles;
use crate::{Bench, done};

/// The imported captures, and the trace.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.succeed(&["import", captures().to_str().unwrap()]);
    bench.write("trace.json", std::fs::read(captures().join("clintercept_trace.json")).unwrap());
    bench
}

fn ranked(bench: &Bench, paths: &[&str]) -> Value {
    let all = [&["why"][..], paths, &["-g", "mali-g77", "--format", "json"]].concat();
    serde_json::from_str(&bench.succeed(&all)).unwrap()
}

#[test]
fn launches_are_ranked_by_the_times_that_simulate_predicts() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let why = ranked(&bench, &["launches"]);
    let rows = why["launches"].as_array().unwrap();
    assert_eq!((rows.len(), &why["gpu"]), (6, &Value::from("Mali-G77")));
    let seconds: Vec<f64> = rows.iter().map(|row| row["seconds"].as_f64().unwrap()).collect();
    assert!(seconds.is_sorted_by(|a, b| a >= b), "{seconds:?}");
    let sum: f64 = seconds.iter().sum();
    assert!((why["seconds"].as_f64().unwrap() - sum).abs() < 1e-12);
    for row in rows {
        let file = row["file"].as_str().unwrap();
        let said = bench.succeed(&["simulate", file, "-g", "mali-g77", "--format", "json"]);
        let alone: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
        assert_eq!(row["predicted_seconds"], alone["seconds"], "{file}");
        let share = row["of_ceiling"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&share), "{file}: {share}");
        assert!(row["seconds_at_ceiling"].as_f64().unwrap() <= row["predicted_seconds"].as_f64().unwrap());
    }
}

#[test]
fn launches_of_the_same_sizes_share_a_row_and_a_trace_gives_their_times() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let twice = ["launches", "launches/Enqueue_0_scale/launch.toml", "trace.json"];
    let why = ranked(&bench, &twice);
    let rows = why["launches"].as_array().unwrap();
    let of = |kernel: &str| rows.iter().find(|row| row["kernel"] == kernel).unwrap();
    assert_eq!((rows.len(), &of("scale")["launches"]), (6, &Value::from(2)));
    // The device's own event in the trace, in microseconds.
    let trace = String::from_utf8(bench.read("trace.json")).unwrap();
    for kernel in ["scale", "sums", "advance", "soften", "gather", "shared"] {
        let line = trace.lines().find(|line| line.contains(&format!("\"name\":\"{kernel}\""))).unwrap();
        let want: f64 = line.split("\"dur\":").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
        let row = of(kernel);
        assert_eq!(row["seconds"], row["measured_seconds"]);
        assert!((row["seconds"].as_f64().unwrap() - want * 1e-6).abs() < 1e-12, "{row}");
        assert_eq!(row["measured_launches"], 1);
    }
    // A trace alone has times, and no predictions.
    let why = ranked(&bench, &["trace.json"]);
    assert_eq!(why["launches"].as_array().unwrap().len(), 6);
    assert!(why["launches"][0]["limiter"].is_null());
}

/// The joules of a launch are those of `simulate --energy`; a GPU without coefficients says so.
#[test]
fn energies_are_those_of_simulate() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let energy = |gpu: &str| -> Value {
        let all = ["why", "launches", "-g", gpu, "--energy", "--format", "json"];
        serde_json::from_str(&bench.succeed(&all)).unwrap()
    };
    let why = energy("mali-g610");
    assert!(why["energy"].as_str().unwrap().contains("mali_kbase_ipa_counter_csf.c"), "{why}");
    for row in why["launches"].as_array().unwrap() {
        let file = row["file"].as_str().unwrap();
        let all = ["simulate", file, "-g", "mali-g610", "--energy", "--format", "json"];
        let alone: Value = serde_json::from_str(&bench.succeed(&all)).unwrap();
        assert!(row["joules"].as_f64().is_some_and(|joules| joules > 0.0), "{row}");
        assert_eq!((&row["joules"], &row["watts"]), (&alone["energy"]["joules"], &alone["energy"]["watts"]));
    }
    let said = bench.succeed(&["why", "launches", "-g", "mali-g610", "--energy"]);
    assert!(said.contains("    Energy: ") && said.contains("Energy is an estimate, at 0.750 V."), "{said}");
    let none = energy("mali-g77");
    assert!(none["energy"].as_str().unwrap().starts_with("Energy on Mali-G77: no estimate"), "{none}");
    assert!(none["launches"][0]["joules"].is_null());
    assert!(ranked(&bench, &["launches"])["energy"].is_null());
}

#[test]
fn text_and_page_name_the_ceilings() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let said = bench.succeed(&["why", "launches", "-g", "mali-g77"]);
    for words in
        ["6 launches", "predictions for Mali-G77", "of ceiling", "scale 64", "soften 7x5", "gather 4x2x3"]
    {
        assert!(said.contains(words), "`{words}` is not in {said}");
    }
    bench.succeed(&["why", "launches", "-g", "mali-g77", "--format", "html", "-o", "why.html"]);
    let page = String::from_utf8(bench.read("why.html")).unwrap();
    assert!(page.contains("Where the time goes") && page.contains("soften"));
    // A bar for each kernel, in the wide and in the narrow form.
    assert_eq!(page.matches("fill=\"#01000A\" stroke").count(), 12, "{page}");
    // A trace of this command is read too.
    bench.write(
        "k.cl",
        "kernel void k(global float *out) {\n    out[get_global_id(0)] = get_global_id(0);\n}\n",
    );
    bench.write(
        "k.toml",
        "source = \"k.cl\"\nglobal = 64\n[[argument]]\nbuffer = \"float\"\ncount = 64\ndump = \"out.bin\"\n",
    );
    done(&bench.run(&["run-kernel", "k.toml", "--device", "virtual:mali-g77", "--trace", "own.json"]));
    let why = ranked(&bench, &["own.json"]);
    assert!(why["launches"][0]["kernel"].as_str().unwrap().contains('k'), "{why}");
}

/// The trace, by Perfetto's own descriptors, against the JSON and the trace of the layer.
#[test]
fn the_trace_has_the_launches_one_after_the_other() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let arguments =
        ["why", "launches", "trace.json", "-g", "mali-g77", "--format", "json", "--trace", "why.pftrace"];
    let why: Value = serde_json::from_str(&bench.succeed(&arguments)).unwrap();
    let Some(found) = decode(&bench.path().join("why.pftrace")) else { return };
    let rows = why["launches"].as_array().unwrap();
    let row = |kernel: &str| rows.iter().find(|row| row["kernel"] == kernel).unwrap();
    let order = ["scale", "sums", "advance", "soften", "gather", "shared"];
    let number = |value: &Value| value.as_f64().unwrap();
    let commands = found["commands"].as_array().unwrap();
    let slices = found["slices"].as_array().unwrap();
    assert_eq!((commands.len(), slices.len()), (6, 6));
    let (mut predicted_end, mut measured_end) = (0.0, 0.0);
    for (kernel, (command, slice)) in order.iter().zip(commands.iter().zip(slices)) {
        let row = row(kernel);
        assert_eq!(command["name"], format!("{kernel} (predicted)"));
        assert_eq!(command["gpu"], "Mali-G77 (predicted)");
        assert_eq!(command["extra"]["limited by"], row["limiter"]);
        assert_eq!(command["extra"]["launch file"], row["file"]);
        let [seconds, host] = ["predicted_seconds", "launch_seconds"].map(|key| number(&row[key]) * 1e9);
        assert!((number(&command["start"]) - predicted_end).abs() <= 1.0, "{kernel}");
        assert!((number(&command["duration"]) - seconds).abs() <= 1.0, "{kernel}");
        predicted_end += seconds.max(host);
        assert_eq!(
            (slice["name"].as_str(), &slice["process"]),
            (Some(*kernel), &"the application (measured)".into())
        );
        assert_eq!(slice["arguments"]["limited by"], row["limiter"]);
        assert!((number(&slice["start"]) - measured_end).abs() <= 1.0, "{kernel}");
        assert!(
            (number(&slice["duration"]) - number(&row["measured_seconds"]) * 1e9).abs() <= 1.0,
            "{kernel}"
        );
        measured_end += number(&row["measured_seconds"]) * 1e9;
    }
    assert!((measured_end - number(&why["seconds"]) * 1e9).abs() <= 1.0);
    // Chrome JSON has the same launches.
    bench.succeed(&["why", "launches", "-g", "mali-g77", "--trace", "why.json"]);
    let chrome: Value = serde_json::from_slice(&bench.read("why.json")).unwrap();
    let events = chrome["traceEvents"].as_array().unwrap();
    assert_eq!(events.iter().filter(|event| event["cat"] == "kernel").count(), 6);
}

#[test]
fn what_cannot_be_ranked_is_refused() {
    let bench = Bench::new();
    bench.refuse(&["why", "missing.json", "--trace", "why.txt"], &["why.txt", ".pftrace"]);
    bench.write("empty.json", "[]");
    bench.write("text.json", "no JSON");
    bench.refuse(&["why", "empty.json"], &["empty.json has no kernels", "ChromePerformanceTiming"]);
    bench.refuse(&["why", "text.json"], &["text.json is not a trace"]);
    bench.refuse(&["why", "missing.json"], &["missing.json cannot be read"]);
    bench.refuse(&["why", "missing.toml"], &["missing.toml"]);
    bench.refuse(&["why"], &["required"]);
}
