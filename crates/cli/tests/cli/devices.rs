//! `tripipe devices`, help, and a reader that goes away.

use std::io::Read;
use std::process::Stdio;

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
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(value["devices"][0]["device"], "cpu");
    assert_eq!(value["devices"].as_array().unwrap().len(), 1);
    assert!(value["no_opencl"].is_string());
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
        &["ladder", "--help"],
        &["peaks", "--help"],
    ] {
        let said = bench.succeed(arguments);
        assert!(said.contains("Usage: tripipe"), "{said}");
    }
    assert!(bench.succeed(&["--version"]).starts_with("tripipe "));
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
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
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
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
