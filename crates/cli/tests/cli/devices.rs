//! `tripipe devices`, help, and a reader that closes the pipe.

use std::io::Read;
use std::process::Stdio;

use serde_json::Value;

use crate::Bench;

#[test]
fn without_opencl_the_cpu_path_is_left() {
    let said = Bench::new().succeed(&["devices"]);
    assert!(said.starts_with("cpu "), "{said}");
    let reasons: Vec<&str> = said.lines().filter(|line| line.starts_with("no OpenCL device: ")).collect();
    assert_eq!(reasons.len(), 1, "{said}");
}

#[test]
fn json_form() {
    let said = Bench::new().succeed(&["devices", "--format", "json"]);
    let value: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(value["devices"][0]["device"], "cpu");
    assert_eq!(value["devices"].as_array().unwrap().len(), 1);
    assert!(value["no_opencl"].is_string());
}

#[test]
fn models_of_gpus_that_are_not_here() {
    let bench = Bench::new();
    let said = bench.succeed(&["devices", "--models"]);
    let line = said.lines().find(|line| line.trim_start().starts_with("Mali-G610 ")).unwrap();
    for word in ["Valhall gen3", "RK3588", "1000"] {
        assert!(line.contains(word), "`{word}` is not in: {line}");
    }
    let said = bench.succeed(&["devices", "--models", "--format", "json"]);
    let value: Value = serde_json::from_str(&said).unwrap();
    let models = value["models"].as_array().unwrap();
    assert_eq!(models.len(), tripipe_device::catalog().len());
    let model = models.iter().find(|model| model["id"] == "mali-g610").unwrap();
    // Arm's data sheet: 64 FP32 FMA per core and clock; four cores at 1 GHz.
    assert_eq!(model["f32_operations_per_second"]["value"], 512e9);
    assert_eq!(model["f16_operations_per_second"]["value"], 1024e9);
    assert_eq!(model["soc"]["value"], "RK3588");
    for model in models {
        for (name, figure) in model.as_object().unwrap().iter().filter(|(_, figure)| figure.is_object()) {
            let known = figure["basis"].as_str().is_some_and(|basis| !basis.is_empty())
                && figure["source"].as_str().is_some_and(|source| !source.is_empty());
            assert!(known, "{name} of {}: {figure}", model["name"]);
        }
    }
}

#[test]
fn every_command_explains_itself() {
    let bench = Bench::new();
    for arguments in [
        &["--help"][..],
        &["devices", "--help"],
        &["explain", "--help"],
        &["filter", "--help"],
        &["filter", "laplace", "--help"],
        &["gemm", "--help"],
        &["histogram", "--help"],
        &["tune", "gemm", "--help"],
        &["ladder", "--help"],
        &["peaks", "--help"],
    ] {
        let said = bench.succeed(arguments);
        assert!(said.contains("Usage: tripipe"), "{said}");
    }
    assert!(bench.succeed(&["--version"]).starts_with("tripipe "));
}

#[test]
fn a_closed_pipe_ends_the_command_silently() {
    let bench = Bench::new();
    let arguments = ["ladder", "vector-add", "--sizes", "64", "--runs", "1", "--warmup", "0"];
    let mut child = bench.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(complaint, "");
}

#[test]
fn peaks_of_the_cpu_path() {
    let bench = Bench::new();
    let said = bench.succeed(&["peaks", "--format", "json"]);
    let value: Value = serde_json::from_str(&said).unwrap();
    assert!(value["device"].as_str().unwrap().contains("CPU path"));
    let rows = value["peaks"].as_array().unwrap();
    assert!(
        rows.iter().any(|row| row["unit"] == "bytes/s")
            && rows.iter().any(|row| row["unit"] == "operations/s")
    );
    for row in rows {
        assert!(row["value"].as_f64().unwrap() > 1e6, "{row}");
    }
}

#[test]
fn a_selection_of_peaks() {
    let bench = Bench::new();
    let names = |only: &str| -> Vec<String> {
        let said = bench.succeed(&["peaks", "--device", "cpu", "--only", only, "--format", "json"]);
        let value: Value = serde_json::from_str(&said).unwrap();
        let rows = value["peaks"].as_array().unwrap();
        rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("copy"), ["memory copy, one thread", "memory copy, all threads"]);
    assert_eq!(names("mad int,mad short").len(), 4);
    assert!(names("fma").iter().all(|name| name.starts_with("mad ")));
    bench.refuse(
        &["peaks", "--only", "copie"],
        &["copie", "memory copy", "mad24 int", "dot int8", "transfers"],
    );
}

#[test]
fn models_are_sorted_and_powers_have_sources() {
    let bench = Bench::new();
    let sorted = |key: &str| -> Vec<Value> {
        let said = bench.succeed(&["devices", "--models", "--sort", key, "--format", "json"]);
        let value: Value = serde_json::from_str(&said).unwrap();
        value["models"].as_array().unwrap().clone()
    };
    for (key, figure) in [("gflops", "f32_operations_per_second"), ("bandwidth", "bytes_per_second")] {
        let figures: Vec<f64> =
            sorted(key).iter().map(|model| model[figure]["value"].as_f64().unwrap()).collect();
        assert!(figures.is_sorted_by(|a, b| a >= b), "{figures:?}");
    }
    let names: Vec<String> = sorted("name").iter().map(|model| model["name"].to_string()).collect();
    assert!(names.is_sorted(), "{names:?}");
    let models = sorted("gflops-per-watt");
    let known: Vec<&Value> = models.iter().take_while(|model| !model["watts"].is_null()).collect();
    assert_eq!(known.len(), 10, "six estimates, four measured");
    assert!(models[known.len()..].iter().all(|model| model["gflops_per_watt"].is_null()));
    for model in &known {
        let peak = model["f32_operations_per_second"]["value"].as_f64().unwrap();
        let watts = model["watts"]["value"].as_f64().unwrap();
        let rate = model["gflops_per_watt"].as_f64().unwrap();
        assert!((rate - peak / watts * 1e-9).abs() < 1e-6 * rate, "{model}");
        assert!(!model["watts"]["source"].as_str().unwrap().is_empty(), "{model}");
    }
    // Powers of different bases are not ranked together: the measured ones come first.
    let bases: Vec<&str> = known.iter().map(|model| model["watts"]["basis"].as_str().unwrap()).collect();
    let measured = bases.iter().take_while(|basis| **basis == "measured").count();
    assert_eq!(measured, bases.iter().filter(|basis| **basis == "measured").count(), "{bases:?}");
    let said = bench.succeed(&["devices", "--models", "--sort", "gflops-per-watt"]);
    for words in ["performance per watt", "AnandTech 11088", "GFXBench"] {
        assert!(said.contains(words), "`{words}` is not in\n{said}");
    }
    bench.refuse(
        &["simulate", "x.cl", "-g", "ge8320"],
        &["PowerVR", "nobody has published", "--device opencl:N"],
    );
    let output = bench.run(&["devices", "--sort", "name"]);
    assert_eq!(output.status.code(), Some(2));
}
