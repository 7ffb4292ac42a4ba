//! `tripipe tune` on an OpenCL device, if there is one, and on virtual GPUs.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::faults::device_of_this_machine;
use crate::{Bench, done};

const TWO_CANDIDATES: [&str; 5] = ["--only", "--also", "tile 4x4 group=1x1", "--also", "tile 2x4 group=1x1"];
const ON_MALI: [&str; 2] = ["--device", "virtual:mali-g77"];

fn opencl(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = bench.command(arguments);
    command.env_remove("TRIPIPE_OPENCL").args(["--device", "opencl"]);
    command
}

/// Whether clang is there, which virtual GPUs need.
fn compiles(bench: &Bench) -> bool {
    let mut tune = vec!["tune", "gemm", "--sizes", "16"];
    tune.extend(ON_MALI);
    tune.extend(TWO_CANDIDATES);
    let output = bench.run(&tune);
    if output.status.code() == Some(2) && std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return false;
    }
    done(&output);
    true
}

#[test]
fn a_search_fills_a_table_and_a_log() {
    let bench = Bench::new();
    if !device_of_this_machine(&bench) {
        return;
    }
    let arguments = [
        "tune",
        "gemm",
        "--sizes",
        "16",
        "--runs",
        "6",
        "--keep-slow",
        "--table",
        "t.toml",
        "--log",
        "log.jsonl",
    ];
    let all = [&arguments[..], &TWO_CANDIDATES].concat();
    let said = done(&opencl(&bench, &all).output().unwrap());
    assert!(said.contains("1 search on ") && said.contains("120 s at most (--limit)"), "{said}");
    assert!(said.contains(": 2 candidates by strategy learned; all were tried"), "{said}");
    let table = String::from_utf8(bench.read("t.toml")).unwrap();
    assert!(table.contains("tile ") && table.contains("basis = \"measured\""), "{table}");
    // The log knows both, so nothing is measured again, and the table is the same.
    let said = done(&opencl(&bench, &all).output().unwrap());
    assert!(said.contains(": 0 candidates by strategy learned, 2 known from the log"), "{said}");
    assert_eq!(String::from_utf8(bench.read("t.toml")).unwrap(), table);
    let exported = bench.succeed(&["tune", "export", "log.jsonl", "-o", "-"]);
    assert_eq!(exported, table);
    let shown = bench.succeed(&["tune", "show", "log.jsonl"]);
    assert!(
        shown.starts_with("gemm f32 16x16x16 on ") && shown.contains("2 with a time, 0 without"),
        "{shown}"
    );
    let filter = ["tune", "filter", "laplace", "--size", "40x30", "--runs", "3", "--log", "none"];
    let only = ["--only", "--also", "8x2 loads=direct sums=narrow fuse=pixels group=8x8", "--limit", "none"];
    let said = done(&opencl(&bench, &[&filter[..], &only].concat()).output().unwrap());
    assert!(said.contains("1 candidates") && said.contains("as long as it takes"), "{said}");
}

#[test]
fn quantised_products_are_tuned_and_the_library_reads_their_times() {
    let bench = Bench::new();
    if !device_of_this_machine(&bench) {
        return;
    }
    // Which candidates are slow differs from one processor to the next, and from one run to the next.
    let two = ["--keep-slow", "--only", "--also", "2x1 group=4x2", "--also", "4x1 group=4x1 masks"];
    let sizes = ["tune", "quantised", "--sizes", "1x48x80", "--formats", "q4_0", "--runs", "3"];
    let files = ["--log", "log.jsonl", "--table", "q.toml"];
    let said = done(&opencl(&bench, &[&sizes[..], &two, &files].concat()).output().unwrap());
    assert!(said.contains("q4_0 f32 1x48x80") && said.contains(": 2 candidates"), "{said}");
    let table = String::from_utf8(bench.read("q.toml")).unwrap();
    assert!(table.contains("[[quantised]]") && table.contains("q4_0 f32 1x48x80 "), "{table}");
    let shown = bench.succeed(&["tune", "show", "log.jsonl"]);
    assert!(
        shown.starts_with("quantised q4_0 f32 1x48x80 on ") && shown.contains("2 with a time"),
        "{shown}"
    );
    // In half precision, all of them right.
    let halves = [
        "--keep-slow",
        "--vectors",
        "f16",
        "--formats",
        "i8,q4_0",
        "--candidates",
        "3",
        "--strategy",
        "random",
    ];
    let some =
        ["tune", "quantised", "--sizes", "3x33x65", "--runs", "1", "--log", "none", "--format", "json"];
    let said = done(&opencl(&bench, &[&some[..], &halves].concat()).output().unwrap());
    let reasons = [said.matches("\"reason\":null").count(), said.matches("\"reason\"").count()];
    assert_eq!(reasons, [6, 6], "{said}");
}

#[test]
fn at_a_limit_partial_results_are_printed() {
    let bench = Bench::new();
    if !device_of_this_machine(&bench) {
        return;
    }
    // The time is over after the first candidate, which is always tried.
    let products =
        ["tune", "gemm", "--sizes", "16", "--table", "t.toml", "--log", "none", "--strategy", "exhaustive"];
    let limit = ["--limit", "0.000001"];
    let said = done(&opencl(&bench, &[&products[..], &TWO_CANDIDATES, &limit].concat()).output().unwrap());
    assert!(said.contains("1 candidates"), "{said}");
    assert!(said.contains("PARTIAL: the time limit was reached (--limit), 1 not tried"), "{said}");
    assert!(said.contains("tile 4x4"), "{said}");
    let count = ["--candidates", "1", "--limit", "none"];
    let said = done(&opencl(&bench, &[&products[..], &TWO_CANDIDATES, &count].concat()).output().unwrap());
    assert!(
        said.contains("PARTIAL: the number of candidates was reached (--candidates), 1 not tried"),
        "{said}"
    );
    let filters = ["tune", "filter", "gaussian:3", "--size", "40x30", "--log", "none"];
    let said = done(&opencl(&bench, &[&filters[..], &limit].concat()).output().unwrap());
    assert!(said.contains("1 candidates") && said.contains("the time limit was reached"), "{said}");
}

#[test]
#[cfg(unix)]
fn after_an_interrupt_partial_results_are_printed_and_logged() {
    let bench = Bench::new();
    if !device_of_this_machine(&bench) {
        return;
    }
    let arguments = [
        "tune",
        "gemm",
        "--sizes",
        "16,24,32",
        "--limit",
        "none",
        "--strategy",
        "exhaustive",
        "--table",
        "t.toml",
        "--log",
        "log.jsonl",
    ];
    let mut child = opencl(&bench, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    out.read_line(&mut said).unwrap();
    out.read_line(&mut said).unwrap();
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    out.read_to_string(&mut said).unwrap();
    let mut noted = String::new();
    child.stderr.take().unwrap().read_to_string(&mut noted).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}\n{noted}");
    assert!(said.contains("PARTIAL: interrupted") && said.contains("not tuned: "), "{said}");
    assert!(noted.contains("Ctrl-C again"), "{noted}");
    // A table if there was time for a candidate, and never an incomplete one; a log that can be read.
    let files = bench.files();
    assert!(files.iter().all(|name| ["t.toml", "log.jsonl"].contains(&name.as_str())), "{files:?}");
    let shown = bench.succeed(&["tune", "show", "log.jsonl"]);
    assert!(!shown.contains("not tried again"), "{shown}");
}

/// JSON has the candidates in the order of their times, and the page is made of it.
#[test]
fn a_search_is_reported_as_json_and_as_a_page() {
    let bench = Bench::new();
    if !compiles(&bench) {
        return;
    }
    let also =
        ["--also", "tile 4x4 unroll=4 group=8x8", "--also", "tile 2x2 vector=2 unroll=4 group=8x8", "--only"];
    let mut tune = vec!["tune", "gemm", "--sizes", "64", "--format", "json"];
    tune.extend(ON_MALI);
    tune.extend(also);
    let text = bench.succeed(&tune);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((json["command"].as_str(), json["subject"].as_str()), (Some("tune"), Some("f32 64x64x64")));
    assert_eq!((json["predicted"].as_bool(), json["complete"].as_bool()), (Some(true), Some(true)));
    let candidates = json["candidates"].as_array().unwrap();
    let seconds: Vec<f64> = candidates.iter().map(|each| each["seconds"].as_f64().unwrap()).collect();
    assert!(seconds.len() == 2 && seconds.is_sorted(), "{text}");
    let rate = candidates[0]["operations_per_second"].as_f64().unwrap();
    assert!((rate * seconds[0] / (2.0 * 64.0_f64.powi(3)) - 1.0).abs() < 1e-9, "{rate}");
    bench.write("tune.json", &text);
    // The format is that of the output, wherever it goes.
    tune[5] = "html";
    tune.extend(["-o", "search.html", "--table", "times.toml"]);
    assert_eq!(bench.succeed(&tune), "");
    let page = String::from_utf8(bench.read("search.html")).unwrap();
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("tile 4x4 unroll=4 group=8x8"),
        "{page:.200}"
    );
    let table = String::from_utf8(bench.read("times.toml")).unwrap();
    assert!(table.parse::<toml::Table>().is_ok(), "{table}");
    bench.refuse(&["tune", "show", "log.jsonl", "--format", "html"], &["--format"]);
    bench.succeed(&["view", "tune.json", "-o", "page.html"]);
    let page = String::from_utf8(bench.read("page.html")).unwrap();
    let best = candidates[0]["parameters"].as_str().unwrap();
    assert!(page.contains(&format!("{best} is the fastest of 2 candidates")), "{best}");
}

/// Several devices fill one table, whose entries are marked as predicted.
#[test]
fn virtual_gpus_fill_tables_of_predicted_entries() {
    let bench = Bench::new();
    if !compiles(&bench) {
        return;
    }
    let tune = [
        "tune",
        "gemm",
        "--sizes",
        "32",
        "--device",
        "virtual:mali-g77,virtual:adreno-650",
        "--table",
        "t.toml",
    ];
    let said = bench.succeed(&[&tune[..], &TWO_CANDIDATES, &["--log", "log.jsonl", "--report"]].concat());
    assert!(said.contains("2 searches on 2 devices"), "{said}");
    let table = String::from_utf8(bench.read("t.toml")).unwrap();
    for part in ["Mali-G77", "Adreno 650", "basis = \"predicted\""] {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(!table.contains("measured"), "{table}");
    // What was predicted is known to the log as well.
    let said = bench.succeed(&[&tune[..], &TWO_CANDIDATES, &["--log", "log.jsonl"]].concat());
    assert_eq!(said.matches("2 known from the log").count(), 2, "{said}");
}

/// One search for each type and size; what is fastest for one size is tried for the next one of the same type.
#[test]
fn several_types_are_tuned_in_one_run() {
    let bench = Bench::new();
    if !compiles(&bench) {
        return;
    }
    let arguments = ["tune", "gemm", "--sizes", "16,32", "--elements", "f32,f16", "--strategy", "predicted"];
    let more = ["--candidates", "3", "--log", "t.jsonl", "--table", "t.toml"];
    let said = bench.succeed(&[&arguments[..], &more, &ON_MALI].concat());
    assert!(said.starts_with("log: t.jsonl\n4 searches on Mali-G77"), "{said}");
    let table = String::from_utf8(bench.read("t.toml")).unwrap();
    assert_eq!(table.matches("[[gemm]]").count(), 1, "{table}");
    assert!(["\"f32 ", "\"f16 "].iter().all(|elements| table.contains(elements)), "{table}");
    let log = String::from_utf8(bench.read("t.jsonl")).unwrap();
    for elements in ["f32", "f16"] {
        let ended = |size: &str| {
            let problem = format!("gemm {elements} {size}");
            let of = |line: &str| line.contains("\"ended\"") && line.contains(&problem);
            let parameters = |line: &str| {
                let (_, rest) = line.split_once("\"parameters\":\"").unwrap();
                let (_, after) = line.split_once("\"median\":").unwrap();
                let seconds: f64 = after.split([',', '}']).next().unwrap().parse().unwrap();
                (rest.split('"').next().unwrap().to_owned(), seconds)
            };
            log.lines().filter(|line| of(line)).map(parameters).collect::<Vec<_>>()
        };
        let before = ended("16x16x16");
        let (fastest, _) = before.iter().min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap();
        assert!(ended("32x32x32").iter().any(|(parameters, _)| parameters == fastest), "{fastest}: {log}");
    }
}

#[test]
fn logs_are_merged_compared_and_judged() {
    let bench = Bench::new();
    let line = |problem: &str, parameters: &str, seconds: f64, predicted: f64| {
        format!(
            "{{\"format\":1,\"event\":\"ended\",\"date\":\"2026-11-23T02:00:00.000Z\",\"tool\":\"0.1.0\",\
             \"host\":\"00\",\"device\":{{\"name\":\"Board\",\"driver\":\"7\"}},\"problem\":\"{problem}\",\
             \"parameters\":\"{parameters}\",\"predicted\":{predicted},\"outcome\":{{\"kind\":\"measured\",\
             \"seconds\":[{seconds}],\"median\":{seconds},\"interval\":[{seconds},{seconds}],\"best\":{seconds}}}}}\n"
        )
    };
    let gemm = "gemm f32 196x512x4608";
    let a = line(gemm, "tile 4x4", 0.004, 1.0) + &line(gemm, "tile 4x8", 0.003, 3.0);
    let b = line(gemm, "tile 4x4", 0.004, 1.0) + &line(gemm, "tile 8x8", 0.002, 2.0);
    bench.write("a.jsonl", &a);
    bench.write("b.jsonl", &b);
    bench.succeed(&["tune", "merge", "a.jsonl", "b.jsonl", "-o", "c.jsonl"]);
    assert_eq!(String::from_utf8(bench.read("c.jsonl")).unwrap().lines().count(), 3);
    let said = bench.succeed(&["tune", "diff", "a.jsonl", "b.jsonl"]);
    assert!(said.contains("with tile 4x8") && said.contains("with tile 8x8: 1.50x"), "{said}");
    let said = bench.succeed(&["tune", "report", "c.jsonl"]);
    assert!(said.contains("rank correlation -0.50 over 3 candidates"), "{said}");
    let table = bench.succeed(&["tune", "export", "c.jsonl", "-o", "-"]);
    assert!(table.contains("tile 8x8") && table.contains("name = \"Board\""), "{table}");
    // A torn last line loses nothing else; a line of another kind is refused.
    bench.write("torn.jsonl", &a[..a.len() - 30]);
    let said = bench.succeed(&["tune", "show", "torn.jsonl"]);
    assert!(said.contains("1 with a time, 0 without"), "{said}");
    bench.write("newer.jsonl", a.replace("\"format\":1", "\"format\":9"));
    bench.refuse(&["tune", "show", "newer.jsonl"], &["newer.jsonl, line 1", "format 9", "update Tripipe"]);
    bench.write("other.jsonl", "hello\n");
    bench.refuse(&["tune", "merge", "a.jsonl", "other.jsonl", "-o", "d.jsonl"], &["other.jsonl, line 1"]);
    bench.write(
        "filter.jsonl",
        line("filter laplace 8x8x1 u8", "4x1 loads=direct sums=wide fuse=pixels", 1.0, 1.0),
    );
    let table = bench.succeed(&["tune", "export", "filter.jsonl", "-o", "-"]);
    assert!(table.contains("[[filter]]") && table.contains("laplace 8x8x1 u8"), "{table}");
    bench.write("empty.jsonl", "");
    bench.refuse(&["tune", "export", "empty.jsonl", "-o", "d.toml"], &["the logs have no times"]);
}

#[test]
fn logs_that_cannot_be_used_are_refused_before_anything_runs() {
    let bench = Bench::new();
    let mut tune = vec!["tune", "gemm", "--sizes", "16", "--log", "log.jsonl", "--table", "t.toml"];
    tune.extend(ON_MALI);
    bench.write("log.jsonl", "{\"format\":2}\n");
    bench.refuse(&tune, &["log.jsonl, line 1", "format 2"]);
    bench.write("log.jsonl", "");
    let path = bench.path().join("log.jsonl");
    let writable = std::fs::metadata(&path).unwrap().permissions();
    let mut permissions = writable.clone();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    bench.refuse(&tune, &["log.jsonl", "read-only"]);
    std::fs::set_permissions(&path, writable).unwrap();
    let other = std::fs::File::open(&path).unwrap();
    other.lock().unwrap();
    bench.refuse(&tune, &["log.jsonl", "another process"]);
    other.unlock().unwrap();
}
