//! `tripipe sweep` on an OpenCL device, if there is one.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::faults::device_of_this_machine;
use crate::{Bench, done};

const TWO_CANDIDATES: [&str; 5] = ["--only", "--also", "tile 4x4 group=1x1", "--also", "tile 2x4 group=1x1"];

fn opencl(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = bench.command(arguments);
    command.env_remove("TRIPIPE_OPENCL");
    command
}

#[test]
fn a_sweep_to_its_end_fills_a_table() {
    let bench = Bench::new();
    if !device_of_this_machine(&bench) {
        return;
    }
    let arguments = ["sweep", "gemm", "--sizes", "16", "--rounds", "2", "--device", "opencl", "-o", "t.toml"];
    let said = done(&opencl(&bench, &[&arguments[..], &TWO_CANDIDATES].concat()).output().unwrap());
    assert!(said.starts_with("1 size on "), "{said}");
    assert!(said.lines().next().unwrap().contains("120 s at most (--limit)"), "{said}");
    assert!(said.contains("2 candidates") && !said.contains("PARTIAL"), "{said}");
    let table = String::from_utf8(bench.read("t.toml")).unwrap();
    assert!(table.contains("tile ") && !table.to_lowercase().contains("partial"), "{table}");
    let said = done(
        &opencl(
            &bench,
            &["sweep", "filter", "laplace", "--size", "40x30", "--rounds", "1", "--device", "opencl"],
        )
        .args(["--only", "--also", "8x2 loads=direct sums=narrow fuse=pixels group=8x8", "--limit", "none"])
        .output()
        .unwrap(),
    );
    assert!(said.contains("1 candidates") && said.contains("a copy on the device"), "{said}");
    assert!(said.contains("as long as it takes"), "{said}");
}

#[test]
fn at_the_time_limit_partial_results_are_printed() {
    let bench = Bench::new();
    if !device_of_this_machine(&bench) {
        return;
    }
    // The time is over after the first candidate, which is always tried.
    let limit = ["--device", "opencl", "--limit", "0.000001"];
    let products = ["sweep", "gemm", "--sizes", "16", "-o", "t.toml"];
    let said = done(&opencl(&bench, &[&products[..], &TWO_CANDIDATES, &limit].concat()).output().unwrap());
    assert!(
        said.contains("1 candidates; PARTIAL: the time limit was reached (--limit), 1 more not tried"),
        "{said}"
    );
    assert!(said.contains("tile 4x4"), "{said}");
    let table = String::from_utf8(bench.read("t.toml")).unwrap();
    assert!(table.starts_with("# Partial") && table.contains("partial: 1 of 2 candidates tried"), "{table}");
    let filters = ["sweep", "filter", "gaussian:3", "--size", "40x30"];
    let said = done(&opencl(&bench, &[&filters[..], &limit].concat()).output().unwrap());
    assert!(said.contains("1 candidates; PARTIAL: the time limit was reached"), "{said}");
}

#[test]
#[cfg(unix)]
fn after_an_interrupt_partial_results_are_printed() {
    let bench = Bench::new();
    if !device_of_this_machine(&bench) {
        return;
    }
    let arguments =
        ["sweep", "gemm", "--sizes", "16,24,32", "--limit", "none", "--device", "opencl", "-o", "t.toml"];
    let mut child = opencl(&bench, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    out.read_line(&mut said).unwrap();
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    out.read_to_string(&mut said).unwrap();
    let mut noted = String::new();
    child.stderr.take().unwrap().read_to_string(&mut noted).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}\n{noted}");
    assert!(said.contains("PARTIAL: interrupted") && said.contains("not swept: "), "{said}");
    assert!(noted.contains("Ctrl-C again"), "{noted}");
    // A table if there was time for a candidate, and never an incomplete one.
    assert!(bench.files().iter().all(|name| name == "t.toml"), "{:?}", bench.files());
}

/// JSON has the candidates in the order of their times, and the page is made of it.
#[test]
fn a_sweep_is_told_as_json_and_as_a_page() {
    let bench = Bench::new();
    let also =
        ["--also", "tile 4x4 unroll=4 group=8x8", "--also", "tile 2x2 vector=2 unroll=4 group=8x8", "--only"];
    let mut sweep =
        vec!["sweep", "gemm", "--sizes", "64", "--device", "virtual:mali-g77", "--format", "json"];
    sweep.extend(also);
    let output = bench.command(&sweep).output().unwrap();
    if output.status.code() == Some(2) && std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none() {
        eprintln!("left out: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((json["command"].as_str(), json["subject"].as_str()), (Some("sweep"), Some("64x64x64")));
    assert_eq!((json["predicted"].as_bool(), json["complete"].as_bool()), (Some(true), Some(true)));
    let candidates = json["candidates"].as_array().unwrap();
    let seconds: Vec<f64> = candidates.iter().map(|each| each["seconds"].as_f64().unwrap()).collect();
    assert!(seconds.len() == 2 && seconds.is_sorted(), "{text}");
    let rate = candidates[0]["operations_per_second"].as_f64().unwrap();
    assert!((rate * seconds[0] / (2.0 * 64.0_f64.powi(3)) - 1.0).abs() < 1e-9, "{rate}");
    bench.write("sweep.json", &text);
    bench.succeed(&["view", "sweep.json", "-o", "page.html"]);
    let page = String::from_utf8(bench.read("page.html")).unwrap();
    let best = candidates[0]["parameters"].as_str().unwrap();
    assert!(page.contains(&format!("{best} is the fastest of 2 candidates")), "{best}");
}
