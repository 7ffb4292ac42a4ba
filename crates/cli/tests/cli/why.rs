//! `tripipe why` on the launches of a captured application, and on the trace that the intercept layer wrote of it.

use serde_json::Value;

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
    assert!(page.contains("Result of why") && page.contains("soften"));
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

#[test]
fn what_cannot_be_ranked_is_refused() {
    let bench = Bench::new();
    bench.write("empty.json", "[]");
    bench.write("text.json", "no JSON");
    bench.refuse(&["why", "empty.json"], &["empty.json has no kernels", "ChromePerformanceTiming"]);
    bench.refuse(&["why", "text.json"], &["text.json is not a trace"]);
    bench.refuse(&["why", "missing.json"], &["missing.json cannot be read"]);
    bench.refuse(&["why", "missing.toml"], &["missing.toml"]);
    bench.refuse(&["why"], &["required"]);
}
