//! `tripipe simulate --counters` and `tripipe compare`: counters under the vendors' names, captures beside them.

use serde_json::Value;

use crate::Bench;
use crate::run_kernel::compiles;

const COPY: &str = "kernel void copy(global const float* in, global float* out) {\n    \
                    out[get_global_id(0)] = in[get_global_id(0)];\n}\n\
                    kernel void other(global float* out) { out[get_global_id(0)] = 1; }\n";

const LAUNCH: [&str; 8] = ["copy.cl", "-k", "copy", "-g", "g77-mp9", "--global", "16384", "--local"];

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("copy.cl", COPY);
    for (name, text) in [
        ("streamline.csv", include_str!("../captures/streamline.csv")),
        ("snapdragon.csv", include_str!("../captures/snapdragon.csv")),
        ("list.csv", include_str!("../captures/list.csv")),
    ] {
        bench.write(name, text);
    }
    bench
}

fn object(bench: &Bench, arguments: &[&str]) -> Value {
    serde_json::from_str(&bench.succeed(arguments)).unwrap()
}

fn launch(arguments: &[&'static str]) -> Vec<&'static str> {
    [&LAUNCH[..], &["64"], arguments].concat()
}

#[test]
fn counters_have_the_vendors_names() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let text = bench.succeed(&[&["simulate"], &launch(&["--counters"])[..]].concat());
    for words in
        ["GPU active cycles", "Load/Store Unit Cycles", "Not derived", "those of G77", "approximated:"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let found = object(&bench, &[&["simulate"], &launch(&["--counters", "--format", "json"])[..]].concat());
    let counters = found["counters"].as_array().unwrap();
    let value =
        |name: &str| counters.iter().find(|counter| counter["name"] == name).unwrap()["value"].as_f64();
    assert_eq!(value("MaliNonFragWarp"), Some(1024.0));
    assert_eq!(value("MaliGPUActiveCy"), found["cycles"].as_f64());
    assert_eq!(found["counters_of"]["product"], "G77");
    assert!(found["missing_counters"].as_array().unwrap().len() > 10);
    assert_eq!(found["activity"]["counts"]["warps"], 1024.0);
    assert!(!found["activity"]["samples"].as_array().unwrap().is_empty());
    assert!(!found["activity"]["lines"].as_array().unwrap().is_empty());
    // Without the option there is none of it.
    let found = object(&bench, &[&["simulate"], &launch(&["--format", "json"])[..]].concat());
    assert!(found.get("counters").is_none() && found.get("activity").is_none());
}

/// What `--counters-csv` writes is a capture like any other, and equal to the prediction.
#[test]
fn written_counters_are_a_capture() {
    if !compiles() {
        return;
    }
    let bench = bench();
    for gpu in ["t860", "g77", "g715", "adreno-650"] {
        let launch = ["copy.cl", "-k", "copy", "-g", gpu, "--global", "4096"];
        bench.succeed(&[&["simulate"], &launch[..], &["--counters-csv", "own.csv"]].concat());
        let found = object(&bench, &[&["compare", "own.csv"], &launch[..], &["--format", "json"]].concat());
        let rows = found["rows"].as_array().unwrap();
        assert!(rows.len() > 10, "{gpu}: {} rows", rows.len());
        for row in rows {
            let ratio = row["ratio"].as_f64();
            assert!(ratio.is_some_and(|ratio| (ratio - 1.0).abs() < 1e-9), "{gpu}: {row}");
        }
    }
    let both =
        ["simulate", "copy.cl", "-k", "copy", "-g", "g77,g78", "--global", "64", "--counters-csv", "x.csv"];
    bench.refuse(&both, &["one kernel on one GPU"]);
    let nowhere =
        ["simulate", "copy.cl", "-k", "copy", "-g", "g77", "--global", "64", "--counters-csv", "no/x.csv"];
    bench.refuse(&nowhere, &["no/x.csv"]);
    assert!(!bench.files().contains(&"x.csv".to_owned()));
}

#[test]
fn captures_are_laid_beside_the_prediction() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let row = |found: &Value, name: &str| -> Value {
        let rows = found["rows"].as_array().unwrap();
        rows.iter().find(|row| row["row"].as_str().unwrap().contains(name)).unwrap().clone()
    };
    let found = object(
        &bench,
        &[
            &["compare", "streamline.csv"],
            &launch(&["--format", "json", "--from", "0.001", "--to", "0.002"])[..],
        ]
        .concat(),
    );
    let warps = row(&found, "Non-fragment warps");
    assert_eq!(
        (&warps["measured"], &warps["predicted"], &warps["ratio"]),
        (&1024.0.into(), &1024.0.into(), &1.0.into())
    );
    assert_eq!(warps["counter"]["name"], "MaliNonFragWarp");
    assert_eq!(row(&found, "external read bytes")["ratio"], 2.0);
    assert_eq!(row(&found, "queue utilization")["measured"], 95.0);
    assert_eq!(row(&found, "Rasterized")["reason"], "only graphics moves it");
    assert_eq!(row(&found, "snoop")["reason"], "coherent traffic of other devices is not modelled");
    assert_eq!(row(&found, "User")["reason"], "no counter of G77 has this name");
    // Two launches: half of each sum, and the same shares.
    let half = object(
        &bench,
        &[
            &["compare", "streamline.csv"],
            &launch(&["--format", "json", "--launches", "2", "--from", "0.001"])[..],
        ]
        .concat(),
    );
    assert_eq!(row(&half, "external read bytes")["ratio"], 1.0);
    let text = bench.succeed(&[&["compare", "streamline.csv"], &launch(&[])[..]].concat());
    for words in
        ["Furthest off", "Rows without a prediction", "only graphics moves it: Rasterized primitives"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let found = object(&bench, &[&["compare", "list.csv"], &launch(&["--format", "json"])[..]].concat());
    assert_eq!(row(&found, "COMPUTE_WARPS")["ratio"], 1.0);
    assert_eq!(row(&found, "BEATS_RD_LSC_EXT")["ratio"], 1.0);
    let found = object(
        &bench,
        &[
            "compare",
            "snapdragon.csv",
            "copy.cl",
            "-k",
            "copy",
            "-g",
            "adreno-650",
            "--global",
            "16384",
            "--format",
            "json",
        ],
    );
    assert_eq!(row(&found, "GPU % Utilization")["measured"], 96.5);
    assert_eq!(row(&found, "SP Memory Read")["samples"], 1);
    assert_eq!(row(&found, "CPU Utilization")["predicted"], Value::Null);
}

#[test]
fn captures_that_cannot_be_compared_are_refused() {
    let bench = bench();
    bench.write("empty.csv", "");
    bench.write("words.csv", "a,b\nc,d\n");
    bench.write("foreign.csv", "a,b\n1,2\n");
    bench.write("binary.csv", [0xff, 0xfe, 0x00]);
    let with = |capture: &'static str, more: &[&'static str]| -> Vec<&'static str> {
        [&["compare", capture], &launch(more)[..]].concat()
    };
    bench.refuse(&with("empty.csv", &[]), &["empty.csv", "no counter found"]);
    bench.refuse(&with("words.csv", &[]), &["words.csv", "no counter found"]);
    bench.refuse(&with("binary.csv", &[]), &["binary.csv", "not text"]);
    bench.refuse(&with("missing.csv", &[]), &["missing.csv"]);
    bench.refuse(&with("list.csv", &["--from", "1"]), &["list.csv has no times"]);
    bench.refuse(&with("streamline.csv", &["--from", "2", "--to", "1"]), &["before the end"]);
    bench.refuse(&["compare", "list.csv", "copy.cl", "--global", "64"], &["--gpu <GPU>"]);
    if compiles() {
        bench.refuse(&with("streamline.csv", &["--from", "9"]), &["no sample in this time"]);
        bench.refuse(&with("foreign.csv", &[]), &["no counter that is predicted", "--counters"]);
        let several = ["compare", "list.csv", "copy.cl", "-g", "g77", "--global", "64"];
        bench.refuse(&several, &["2 kernels", "--kernel"]);
    }
}

/// 16384 work-items of a GPU with coefficients, and one without.
#[test]
fn energy_has_a_source_or_no_estimate() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let launch = ["simulate", "copy.cl", "-k", "copy", "-g", "g710,g77", "--global", "16384", "--energy"];
    let said = bench.succeed(&launch);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in
        ["Energy on Mali-G710", " mJ, ", "mali_kbase_ipa_counter_csf.c", "Energy on Mali-G77", "no estimate"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!said.contains("Counters of"), "{said}");
    assert!(said.contains("no floating-point operations"), "{said}");
    // 65536 elements, each of a product and a sum.
    let axpy = "kernel void axpy(global const float* x, global float* y) {\n    \
                y[get_global_id(0)] = 2.0f * x[get_global_id(0)] + y[get_global_id(0)];\n}\n";
    bench.write("axpy.cl", axpy);
    let launch = ["simulate", "axpy.cl", "-g", "g710", "--global", "65536", "--energy", "--format"];
    let energy = &object(&bench, &[&launch[..], &["json"]].concat())["energy"];
    let [joules, rate] = ["joules", "gflops_per_watt"].map(|key| energy[key].as_f64().unwrap());
    assert!((joules * rate * 1e9 - 131_072.0).abs() < 1.0, "{energy}");
    assert!(bench.succeed(&[&launch[..], &["html"]].concat()).contains("GFLOP/s per W"));
}
