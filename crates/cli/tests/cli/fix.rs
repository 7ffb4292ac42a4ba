//! Advice that rewrites follow: priced by applying them, and applied with `--fix`.

use serde_json::Value;

use crate::run_kernel::compiles;
use crate::{Bench, sarif_shape};

/// A work-item for each pixel of a byte.
const INVERT: &str = "kernel void invert(global const uchar *in, global uchar *out, int width, int spare) {
    int x = get_global_id(0), y = get_global_id(1);
    out[y * width + x] = 255 - in[y * width + x];
}
";

/// A picture of edges: what a Mali-G71 takes 3.3 times as long for as 16 pixels a work-item, a Mali-G52 2.5 times and an
/// Adreno 830 2.2 times, measured with another kernel of one byte a work-item.
const EDGE: &str = "kernel void edge(global const uchar *in, global uchar *out, int w) {
    const int i = get_global_id(0) + w * get_global_id(1);
    const int s = 4 * in[i + w + 1] - in[i + 1] - in[i + w] - in[i + w + 2] - in[i + 2 * w + 1];
    out[i + w + 1] = (uchar)clamp(s, 0, 255);
}
";

const SIZES: [&str; 4] = ["--global", "1024,512", "--arg", "width=1024"];

pub(crate) const LAUNCH: &str = "source = 'invert.cl'
global = [256, 64]
[[argument]]
name = 'in'
buffer = 'uchar'
count = [64, 256]
random = { seed = 1 }
[[argument]]
name = 'out'
buffer = 'uchar'
count = [64, 256]
[[argument]]
name = 'width'
value = 256
[[argument]]
name = 'spare'
value = 1
";

fn result(bench: &Bench, arguments: &[&str]) -> Value {
    serde_json::from_str(&bench.succeed(&[&["analyze", "--format", "json"], arguments].concat())).unwrap()
}

fn advice<'r>(result: &'r Value, code: &str) -> Option<&'r Value> {
    result["advice"].as_array().unwrap().iter().find(|advice| advice["code"] == code)
}

#[test]
fn one_byte_a_work_item_is_advised_on_all_families() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("edge.cl", EDGE);
    for (gpu, least) in [("g71", 2.5), ("g52", 2.0), ("830", 2.0), ("t604", 4.0), ("g610", 1.2)] {
        let found = result(&bench, &["edge.cl", "-g", gpu, "--global", "1024,1024", "--arg", "w=1024"]);
        let before = found["prediction"]["seconds"].as_f64().unwrap();
        let single = advice(&found, "single-output").unwrap_or_else(|| panic!("{gpu}: {found}"));
        assert_eq!(single["rewrite"]["name"], "widen", "{gpu}");
        let factor = before / single["seconds"].as_f64().unwrap();
        assert!(factor > least, "{gpu}: {factor}");
        // The largest gain comes first, and what gains less than 1 % is not shown.
        let seconds: Vec<f64> = found["advice"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|advice| advice["seconds"].as_f64())
            .collect();
        assert!(seconds.is_sorted(), "{gpu}: {seconds:?}");
        assert!(seconds.iter().all(|after| *after <= 0.99 * before), "{gpu}: {seconds:?} of {before}");
    }
}

/// The price of advice is the time of the kernel that follows it: the fix of the SARIF, launched as it says.
#[test]
fn advice_costs_what_the_changed_kernel_costs() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("invert.cl", INVERT);
    let arguments = [&["invert.cl", "-g", "g71"], &SIZES[..]].concat();
    let found = result(&bench, &arguments);
    let single = advice(&found, "single-output").unwrap();
    let log = bench.succeed(&[&["analyze", "--format", "sarif"], &arguments[..]].concat());
    let log: Value = serde_json::from_str(&log).unwrap();
    sarif_shape::check(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let fixed = results.iter().find(|result| result["ruleId"] == "single-output").unwrap();
    let source = &fixed["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"]["text"];
    bench.write("wide.cl", source.as_str().unwrap());
    // `launch (n + 15) / 16 work-items instead of n in dimension 0`
    let host = single["rewrite"]["host"][0].as_str().unwrap();
    let by = [2, 4, 8, 16].into_iter().find(|lanes| host.contains(&format!("/ {lanes} "))).unwrap();
    let global = format!("{},512", 1024 / by);
    let wide = result(&bench, &["wide.cl", "-g", "g71", "--global", &global, "--arg", "width=1024"]);
    let (promised, taken) =
        (single["seconds"].as_f64().unwrap(), wide["prediction"]["seconds"].as_f64().unwrap());
    assert!((promised / taken - 1.0).abs() < 0.05, "{promised} and {taken}");
    let text = bench.succeed(&[&["analyze"], &arguments[..]].concat());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("By `widen`") && text.contains("not verified; `tripipe improve` verifies"),
        "{text}"
    );
    // Without a launch there are only cycles.
    let text = bench.succeed(&["analyze", "invert.cl", "-g", "t604"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("of the static cycles would be saved"), "{text}");
}

#[test]
fn a_fix_is_verified_and_written_whole() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("invert.cl", INVERT);
    let fix = |code: &'static str| ["analyze", "invert.toml", "-g", "g71", "--fix", code];
    bench.write("invert.toml", LAUNCH);
    let printed = bench.succeed(&fix("single-output"));
    for words in ["Verified: ", "+++ b/invert.cl", "vload", "work-items instead of n in dimension 0"] {
        assert!(printed.contains(words), "{words}:\n{printed}");
    }
    let written = bench.succeed(&[&fix("single-output")[..], &["-o", "wide.cl"]].concat());
    assert!(!written.contains("+++"), "{written}");
    let wide = String::from_utf8(bench.read("wide.cl")).unwrap();
    assert!(wide.contains("vload") && wide.contains("kernel void invert("), "{wide}");
    assert_eq!(bench.read("invert.cl"), INVERT.as_bytes());
    let log = bench.succeed(&[&fix("single-output")[..], &["--format", "sarif"]].concat());
    let log: Value = serde_json::from_str(&log).unwrap();
    sarif_shape::check(&log);
    assert!(log["runs"][0]["results"][0]["fixes"][0].is_object(), "{log}");
    // Nothing is written where there is nothing to fix, or nobody to fix it.
    bench.refuse(&[&fix("single-output")[..], &["-o", "invert.toml"]].concat(), &["is read by this command"]);
    bench.refuse(&[&fix("single-output")[..], &["-o", "invert.cl"]].concat(), &["is read by this command"]);
    bench.refuse(&fix("boundary-test"), &["no rewrite follows `boundary-test`"]);
    bench.refuse(&fix("single-outputs"), &["did you mean single-output?"]);
    let output = bench.run(&[&fix("wide-integer")[..], &["-o", "none.cl"]].concat());
    assert_eq!(output.status.code(), Some(0));
    assert!(!bench.path().join("none.cl").exists());
    bench.refuse(&["analyze", "invert.cl", "-g", "g71", "--fix", "single-output"], &["launch is not known"]);
}

/// A number that the kernel never reads needs no value.
#[test]
fn an_argument_that_is_not_read_is_not_asked_for() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("invert.cl", INVERT);
    let found = result(&bench, &[&["invert.cl", "-g", "g77"], &SIZES[..]].concat());
    assert!(found["prediction"]["seconds"].as_f64().is_some(), "{}", found["prediction_missing"]);
}
