//! The advice of `tripipe analyze`, in its forms.

use serde_json::Value;

use crate::run_kernel::compiles;
use crate::{Bench, refused, sarif_shape};

/// Dimension 0 runs down the rows; `fma` is called.
pub(crate) const DOWN: &str = "kernel void down(global const float* in, global float* out, int width) {\n    \
                    int y = get_global_id(0), x = get_global_id(1);\n    \
                    float a = in[y * width + x];\n    \
                    out[y * width + x] = fma(a, a, 1.5f);\n}\n";

/// Calls `fma` often enough for arithmetic to bound.
const CHAIN: &str = "kernel void chain(global const float* in, global float* out, int width) {\n    \
                     int x = get_global_id(0);\n    \
                     float a = in[x], b = in[x + width];\n    \
                     out[x] = fma(fma(fma(fma(a, b, 1.5f), b, a), a, b), b, 2.5f);\n}\n";

fn advice(bench: &Bench, arguments: &[&str]) -> Vec<(String, Value)> {
    let text = bench.succeed(&[&["analyze", "down.cl", "--format", "json"], arguments].concat());
    let object: Value = serde_json::from_str(&text).unwrap();
    let all = object["advice"].as_array().unwrap().iter();
    all.map(|advice| (advice["code"].as_str().unwrap().to_owned(), advice.clone())).collect()
}

#[test]
fn advice_is_for_this_kernel_on_this_gpu() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("down.cl", DOWN);
    let codes = |arguments: &[&str]| -> Vec<String> {
        let mut codes: Vec<String> = advice(&bench, arguments).into_iter().map(|(code, _)| code).collect();
        codes.dedup();
        codes
    };
    // A Mali-T860 has no warps, and computes fma() lane by lane; a G77 has both; an Adreno emulates fma() in software.
    assert_eq!(codes(&["-g", "t860"]), ["single-output"]);
    bench.write("lanes.cl", DOWN.replace("float*", "float4*").replace("float a", "float4 a"));
    let text = bench.succeed(&["analyze", "lanes.cl", "-g", "t860"]);
    assert!(text.contains("emulated-fma") && text.contains("costs 4 times"), "{text}");
    assert_eq!(codes(&["-g", "g77"]), ["scattered-access"]);
    // Where loads and stores bound, another fma() gains nothing.
    assert_eq!(codes(&["-g", "640"]), ["scattered-access"]);
    // 4099 is prime, and larger than a work-group may be: the driver can only choose groups of 1.
    assert!(codes(&["-g", "g77", "--global", "4099,1"]).contains(&"uneven-work-group".to_owned()));
    assert!(!codes(&["-g", "g77", "--global", "4096,1"]).contains(&"uneven-work-group".to_owned()));
    // The load/store pipe runs only these two accesses; exchanged dimensions coalesce both, from 16 lines to 1, and then
    // another pipe may bound.
    let found = advice(&bench, &["-g", "g77"]);
    assert_eq!(found[0].1["rewrite"]["name"], "swap-dimensions");
    let gain = found[0].1["gain"].as_f64().unwrap();
    assert!((0.9..=15.0 / 16.0).contains(&gain), "{gain}");
    bench.write("down.cl", CHAIN);
    assert_eq!(codes(&["-g", "640"]), ["emulated-fma"]);
    assert!(codes(&["-g", "g77"]).is_empty());
}

#[test]
fn advice_is_denied_and_allowed() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("chain.cl", CHAIN);
    let code = |arguments: &[&str]| {
        bench.run(&[&["analyze", "chain.cl", "-g", "640"], arguments].concat()).status.code()
    };
    assert_eq!(code(&[]), Some(0));
    assert_eq!(code(&["--deny", "emulated-fma"]), Some(1));
    assert_eq!(code(&["--deny", "emulated-fma", "--allow", "emulated-fma"]), Some(0));
    refused(&bench.run(&["analyze", "chain.cl", "--deny", "emulated-fmas"]), &["did you mean emulated-fma?"]);
    let comment = "    // tripipe: allow emulated-fma\n    out[";
    bench.write("chain.cl", CHAIN.replace("    out[", comment));
    assert_eq!(code(&["--deny", "emulated-fma"]), Some(0));
}

#[test]
fn advice_as_sarif_and_as_a_comment() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("down.cl", format!("{DOWN}{CHAIN}"));
    let log: Value =
        serde_json::from_str(&bench.succeed(&["analyze", "down.cl", "-g", "640,g77", "--format", "sarif"]))
            .unwrap();
    sarif_shape::check(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let found: Vec<(&str, u64)> = results
        .iter()
        .map(|result| {
            let region = &result["locations"][0]["physicalLocation"]["region"];
            (result["ruleId"].as_str().unwrap(), region["startLine"].as_u64().unwrap())
        })
        .collect();
    // Line 3 reads, line 4 writes; line 9 calls fma().
    for wanted in [("scattered-access", 3), ("scattered-access", 4), ("emulated-fma", 9)] {
        assert!(found.contains(&wanted), "{found:?}");
    }
    let page = bench.succeed(&["analyze", "down.cl", "-g", "640,g77", "--format", "markdown"]);
    for part in [
        "### `down`",
        "| Valhall | registers |",
        "| Mali-G77 |",
        "**Adreno 640**: Bound by",
        "- `emulated-fma` (line 9)",
    ] {
        assert!(page.contains(part), "{part}:\n{page}");
    }
}
