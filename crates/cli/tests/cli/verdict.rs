//! `tripipe verdict` on captures of PoCL, on planted bugs of kernels, and on results that wrong compilers would give:
//! those of the same kernel with the mistake in its source.

use std::path::Path;

use serde_json::Value;

use crate::Bench;
use crate::import::captures;
use crate::run_kernel::compiles;

/// The launch of a kernel `k` of 64 work-items in groups of 16 over two arrays of 64 elements; `out` is `extra`.
fn launch(source: &str, types: [&str; 2], input: &str, extra: &str) -> String {
    let [from, to] = types;
    format!(
        "source = \"{source}\"\nkernel = \"k\"\nglobal = 64\nlocal = 16\n[[argument]]\nbuffer = \"{from}\"\ncount = \
         64\n{input}\n[[argument]]\nbuffer = \"{to}\"\ncount = 64\nfill = 0\n{extra}\n"
    )
}

/// A bench with `launch.toml`: the kernel `right`, with the results of the kernel `wrong`.
fn as_if(right: &str, wrong: &str, types: [&str; 2], input: &str) -> Bench {
    let bench = Bench::new();
    bench.write("right.cl", right);
    bench.write("wrong.cl", wrong);
    bench.write("wrong.toml", launch("wrong.cl", types, input, "dump = \"device.bin\""));
    bench.succeed(&["run-kernel", "wrong.toml"]);
    bench.write("launch.toml", launch("right.cl", types, input, "expect = { file = \"device.bin\" }"));
    bench
}

/// The verdict as JSON, and the exit code.
fn judged(bench: &Bench, more: &[&str]) -> (Value, Option<i32>) {
    let output = bench.run(&[&["verdict", "launch.toml", "--format", "json"], more].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    let failed = || panic!("{said}{}", String::from_utf8_lossy(&output.stderr));
    (serde_json::from_str(&said).unwrap_or_else(|_| failed()), output.status.code())
}

fn codes(verdict: &Value) -> Vec<(String, u64)> {
    let findings = verdict["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            let line = finding["location"]["line"].as_u64().unwrap_or(0);
            (finding["code"].as_str().unwrap().to_owned(), line)
        })
        .collect()
}

/// PoCL fuses `in * factor + 0.5f`, and reads 8-bit channels by a product: both are allowed, to the bounds.
#[test]
fn real_captures_differ_by_rounding_or_not_at_all() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.succeed(&["import", captures().to_str().unwrap()]);
    let said = bench.succeed(&["verdict", "launches", "--format", "json"]);
    let verdicts: Vec<(String, String)> = said
        .lines()
        .map(|line| {
            let verdict: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| verdict[key].as_str().unwrap().to_owned();
            (text("kernel"), text("verdict"))
        })
        .collect();
    let want =
        ["scale rounding", "sums same", "advance same", "soften rounding", "gather same", "shared same"];
    let found: Vec<String> = verdicts.iter().map(|(kernel, verdict)| format!("{kernel} {verdict}")).collect();
    assert_eq!(found, want);
    let said = bench.succeed(&["verdict", "launches/Enqueue_0_scale/launch.toml"]);
    assert!(said.contains("out: 5 of 72 numbers differ: 5 within bounds"), "{said}");
    bench.refuse(&["verdict", captures().to_str().unwrap()], &["is a capture", "tripipe import"]);
}

#[test]
fn bugs_of_kernels_are_named_at_their_lines() {
    if !compiles() {
        return;
    }
    let cases = [
        ("out-of-bounds-write", 2, "float", "    out[get_global_id(0) + 1] = in[get_global_id(0)];"),
        ("data-race-between-groups", 2, "float", "    out[get_local_id(0)] = in[get_global_id(0)];"),
        (
            "uninitialised-value",
            4,
            "float",
            "    float sum;\n    if (in[get_global_id(0)] > 100) sum = 1;\n    out[get_global_id(0)] = sum;",
        ),
        (
            "float-to-int-range",
            2,
            "int",
            "    out[get_global_id(0)] = convert_int(sqrt(in[get_global_id(0)] - 10));",
        ),
    ];
    for (code, line, to, body) in cases {
        let bench = Bench::new();
        bench.write(
            "k.cl",
            format!("kernel void k(global const float *in, global {to} *out) {{\n{body}\n}}\n"),
        );
        let input = "range = { start = 0, step = 1 }";
        bench.write("launch.toml", launch("k.cl", ["float", to], input, "expect = { fill = 7 }"));
        let (verdict, exit) = judged(&bench, &[]);
        assert_eq!((verdict["verdict"].as_str(), exit), (Some("bug"), Some(1)), "{code}");
        assert!(codes(&verdict).contains(&(code.to_owned(), line)), "{code}: {:?}", codes(&verdict));
        assert!(codes(&verdict).iter().all(|(code, _)| code != "miscompiled"));
    }
}

/// The text counts the checks that ran: those of `tripipe check`, and the four rules of verdicts.
#[test]
fn the_text_counts_the_checks() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("k.cl", "kernel void k(global const float *in, global float *out) {\n    out[get_global_id(0) + 1] = in[0];\n}\n");
    bench.write("launch.toml", launch("k.cl", ["float", "float"], "fill = 1", "expect = { fill = 1 }"));
    let checks = |command: &str| -> u64 {
        let said = String::from_utf8(bench.run(&[command, "launch.toml"]).stdout).unwrap();
        let (before, _) = said.rsplit_once(" checks)").unwrap_or_else(|| panic!("{said}"));
        before.rsplit_once('(').unwrap().1.parse().unwrap()
    };
    assert_eq!(checks("verdict"), checks("check") + 4);
}

/// The mistakes of compilers, each with the kernel's line that the wrong numbers are stored at.
#[test]
fn results_of_wrong_compilers_are_not_allowed() {
    if !compiles() {
        return;
    }
    let head = |to: &str| {
        format!("kernel void k(global const float *in, global {to} *out) {{\n    int i = get_global_id(0);\n")
    };
    let float = "range = { start = -20.25, step = 0.75 }";
    let cases = [
        (
            "rounding of a conversion",
            "int",
            "    out[i] = convert_int_rte(in[i]);",
            "    out[i] = convert_int_rtz(in[i]);",
        ),
        (
            "a signed shift",
            "int",
            "    out[i] = (int)in[i] >> 2;",
            "    out[i] = (int)((uint)(int)in[i] >> 2);",
        ),
        (
            "a sum in the wrong direction",
            "float",
            "    out[i] = in[i] + 0.1f;",
            "    out[i] = nextafter(in[i] + 0.1f, 1000.0f);",
        ),
        (
            "a function beyond its error",
            "float",
            "    out[i] = exp(in[i]);",
            "    out[i] = exp(in[i]) * 1.00001f;",
        ),
        (
            "a store that is missing",
            "float",
            "    out[i] = in[i] * 2;",
            "    if (i != 33) out[i] = in[i] * 2;",
        ),
        (
            "lanes in the wrong order",
            "float",
            "    float2 v = vload2(i / 2, in); out[i] = v.x * 4 - v.y;",
            "    float2 v = vload2(i / 2, in); out[i] = v.y * 4 - v.x;",
        ),
    ];
    for (what, to, right, wrong) in cases {
        let close = "\n}\n";
        let (right, wrong) = (head(to) + right + close, head(to) + wrong + close);
        let bench = as_if(&right, &wrong, ["float", to], float);
        let (verdict, exit) = judged(&bench, &[]);
        assert_eq!((verdict["verdict"].as_str(), exit), (Some("miscompiled"), Some(1)), "{what}: {verdict}");
        let first = &verdict["memory"][0]["first"][0];
        assert_eq!(first["kind"], "wrong", "{what}");
        assert!(codes(&verdict).contains(&("miscompiled".to_owned(), 3)), "{what}: {verdict}");
        // The other way round, the same launch has no difference.
        let same = as_if(&right, &right, ["float", to], float);
        assert_eq!(judged(&same, &[]).0["verdict"], "same", "{what}");
    }
}

#[test]
fn a_missing_barrier_of_the_device_is_not_allowed() {
    if !compiles() {
        return;
    }
    let kernel = |read: &str| {
        format!(
            "kernel void k(global const float *in, global float *out) {{\n    local float part[16];\n    int l = \
             get_local_id(0), i = get_global_id(0);\n    part[l] = 0;\n    barrier(CLK_LOCAL_MEM_FENCE);\n    \
             part[l] = in[i];\n    barrier(CLK_LOCAL_MEM_FENCE);\n    out[i] = {read};\n}}\n"
        )
    };
    // Without the second barrier, a work-item sees what its neighbour had stored before.
    let (right, wrong) = (kernel("part[l ^ 8]"), kernel("l < 8 ? 0 : part[l ^ 8]"));
    let bench = as_if(&right, &wrong, ["float", "float"], "range = { start = 1, step = 1 }");
    let (verdict, exit) = judged(&bench, &[]);
    assert_eq!((verdict["verdict"].as_str(), exit), (Some("miscompiled"), Some(1)), "{verdict}");
    assert_eq!(verdict["memory"][0]["wrong"], 32);
    assert_eq!(verdict["memory"][0]["first"][0]["work_item"], serde_json::json!([0, 0, 0]));
}

/// Fused or not, reciprocals, half precision: what devices do, within the bounds.
#[test]
fn what_devices_do_differently_is_allowed() {
    if !compiles() {
        return;
    }
    let head = "kernel void k(global const float *in, global float *out) {\n    int i = get_global_id(0);\n";
    let cases = [
        ("    out[i] = in[i] * in[i] - 0.3f;", "    out[i] = fma(in[i], in[i], -0.3f);", "rounding"),
        ("    out[i] = in[i] / 7.0f;", "    out[i] = in[i] * (1.0f / 7.0f);", "rounding"),
        (
            "    float s = 0; for (int j = 0; j < 8; j++) s += in[j] * in[i]; out[i] = s;",
            "    float s = 0; for (int j = 0; j < 8; j++) s = fma(in[j], in[i], s); out[i] = s;",
            "rounding",
        ),
        ("    out[i] = native_exp(in[i] * 0.1f);", "    out[i] = exp(in[i] * 0.1f) * 1.0001f;", "open"),
        (
            "    float x = in[i] / 3.0f * 3.0f; if (x < in[i]) x = 100; out[i] = x;",
            "    float x = in[i]; if (i % 2 == 0) x = 100; out[i] = x;",
            "open",
        ),
    ];
    for (right, other, want) in cases {
        let close = "\n}\n";
        let (right, other) = (head.to_owned() + right + close, head.to_owned() + other + close);
        let bench = as_if(&right, &other, ["float", "float"], "range = { start = 0.7, step = 0.77 }");
        let (verdict, _) = judged(&bench, &[]);
        assert_eq!(verdict["verdict"], want, "{right}\n{verdict}");
    }
}

/// A device that fuses a product with a sum: allowed, unless the source forbids it; then each number that differs is wrong.
/// The oracle is the arithmetic of Rust, fused and not.
#[test]
fn a_fused_product_is_allowed_unless_the_source_forbids_it() {
    if !compiles() {
        return;
    }
    let numbers: Vec<f32> = (0..64u8).map(|index| 1.0 + f32::from(index) / 7.0).collect();
    let input: Vec<String> = numbers.iter().map(|number| format!("{:?}", f64::from(*number))).collect();
    let input = format!("values = [{}]", input.join(", "));
    let fused: Vec<f32> = numbers.iter().map(|x| x.mul_add(*x, -0.3)).collect();
    let apart: Vec<f32> = numbers.iter().map(|x| x * x - 0.3).collect();
    let differing: Vec<usize> = (0..64).filter(|index| fused[*index] != apart[*index]).collect();
    assert!((8..56).contains(&differing.len()), "{differing:?}");
    let kernel = |head: &str, value: &str| {
        format!(
            "{head}kernel void k(global const float *in, global float *out) {{\n    int i = get_global_id(0);\n    out[i] = {value};\n}}\n"
        )
    };
    let off = "#pragma OPENCL FP_CONTRACT OFF\n";
    let (product, fma) = ("in[i] * in[i] - 0.3f", "fma(in[i], in[i], -0.3f)");
    for (head, options, want) in [
        ("", "", "rounding"),
        ("#pragma OPENCL FP_CONTRACT ON\n", "", "rounding"),
        (off, "", "miscompiled"),
        // The application allows it after all.
        (off, "-cl-mad-enable", "rounding"),
    ] {
        let bench = as_if(&kernel(head, product), &kernel("", fma), ["float", "float"], &input);
        let text = String::from_utf8(bench.read("launch.toml")).unwrap();
        bench.write("launch.toml", format!("options = \"{options}\"\n{text}"));
        let (verdict, exit) = judged(&bench, &[]);
        let case = format!("{head}{options}: {verdict}");
        assert_eq!(
            (verdict["verdict"].as_str(), exit),
            (Some(want), Some(i32::from(want != "rounding"))),
            "{case}"
        );
        let memory = &verdict["memory"][0];
        let (right, other) = if want == "rounding" { ("allowed", "wrong") } else { ("wrong", "allowed") };
        assert_eq!(memory["differing"], differing.len(), "{case}");
        assert_eq!((&memory[right], &memory[other]), (&differing.len().into(), &0.into()), "{case}");
        for number in memory["first"].as_array().unwrap() {
            let index = number["index"][0].as_u64().unwrap() as usize;
            let text = |key: &str| number[key].as_str().unwrap().parse::<f32>().unwrap();
            assert_eq!((text("device"), text("defined")), (fused[index], apart[index]), "{case}");
            let bounds = [0, 1].map(|end| number["bounds"][end].as_str().unwrap().parse::<f64>().unwrap());
            let [fused, apart] = [fused[index], apart[index]].map(f64::from);
            let both = [fused.min(apart), fused.max(apart)];
            assert_eq!(bounds, if want == "rounding" { both } else { [apart; 2] }, "{case}");
        }
        if want == "miscompiled" {
            assert!(codes(&verdict).contains(&("miscompiled".to_owned(), 4)), "{case}");
        }
    }
}

/// The mistake is in one line of many, and concerns one work-item: the reproducer keeps little else.
#[test]
fn a_reproducer_keeps_what_the_difference_needs() {
    if !compiles() {
        return;
    }
    let kernel = |convert: &str| {
        format!(
            "float weight(float x) {{\n    return x * 2;\n}}\nkernel void k(global const float *in, global int *out) \
             {{\n    int i = get_global_id(0);\n    float sum = 0;\n    for (int j = 0; j < 4; j++) {{\n        sum += \
             weight(in[j]);\n    }}\n    if (sum < -1e30f) out[i] = -1;\n    float x = in[i];\n    int whole = \
             {convert}(x);\n    out[i] = whole;\n}}\n"
        )
    };
    // The two roundings differ only in the second half.
    let input = "values = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, \
                 25, 26, 27, 28, 29, 30, 31, 0, 1, 2, 3, 4, 5, 6.75, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, \
                 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]";
    let (right, wrong) = (kernel("convert_int_rte"), kernel("convert_int_rtz"));
    let bench = as_if(&right, &wrong, ["float", "int"], input);
    let (verdict, exit) = judged(&bench, &["--reduce", "small"]);
    assert_eq!((verdict["verdict"].as_str(), exit), (Some("miscompiled"), Some(1)));
    let small = &verdict["reproducer"];
    assert_eq!(small["work_items"], 1, "{small}");
    assert_eq!(small["confirmed"], false);
    assert!(
        small["lines"].as_u64().unwrap() <= 6,
        "{}",
        String::from_utf8_lossy(&bench.read("small/kernel.cl"))
    );
    assert!(small["bytes"].as_u64().unwrap() <= 2 * 4 * 39, "{small}");
    let text = String::from_utf8(bench.read("small/kernel.cl")).unwrap();
    assert!(text.contains("convert_int_rte") && !text.contains("weight"), "{text}");
    // It has the same verdict, and its second launch file what a right device computes.
    let output = bench.run(&["verdict", "small", "--format", "json"]);
    let again: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(again["verdict"], "miscompiled");
    bench.succeed(&["run-kernel", "small/defined.toml"]);
    assert_eq!(bench.run(&["run-kernel", "small/launch.toml"]).status.code(), Some(1));
    bench.refuse(&["verdict", "launch.toml", "--reduce", "small"], &["small exists and is not empty"]);
}

/// PoCL is right: what it computes now has no wrong number, and nothing is left to reduce.
#[test]
fn a_device_at_hand_is_judged() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "k.cl",
        "kernel void k(global const float *in, global float *out) {\n    int i = get_global_id(0);\n    out[i] = \
         exp(in[i]) * in[i] + sin(in[i]) / 3.0f;\n}\n",
    );
    let input = "random = { seed = 3, low = -8, high = 8 }";
    bench.write("launch.toml", launch("k.cl", ["float", "float"], input, ""));
    bench.refuse(&["verdict", "launch.toml"], &["expects nothing", "--device"]);
    let mut command = bench.command(&["verdict", "launch.toml", "--device", "opencl:0", "--reduce", "small"]);
    let output = command.env_remove("TRIPIPE_OPENCL").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(2) && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
        eprintln!("skipped: {err}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{out}{err}");
    assert!(out.contains("allowed rounding") || out.contains("no difference"), "{out}");
    assert!(!bench.path().join("small").exists());
}

#[test]
fn text_and_sarif_name_the_line_and_the_numbers() {
    if !compiles() {
        return;
    }
    let kernel = |shift: &str| {
        format!(
            "kernel void k(global const int *in, global int *out) {{\n    out[get_global_id(0)] = {shift};\n}}\n"
        )
    };
    let right = kernel("in[get_global_id(0)] >> 3");
    let wrong = kernel("(int)((uint)in[get_global_id(0)] >> 3)");
    let bench = as_if(&right, &wrong, ["int", "int"], "range = { start = -8, step = 8 }");
    let output = bench.run(&["verdict", "launch.toml"]);
    let said = String::from_utf8(output.stdout).unwrap();
    for words in [
        "launch.toml, `k`",
        "miscompiled: the device computed what the language does not allow",
        "1 of 64 numbers differ: 1 not allowed",
        "[0]` is 536870911 on the device, and -1 by the language",
        "right.cl:2",
    ] {
        assert!(said.contains(words), "`{words}` is not in {said}");
    }
    let output = bench.run(&["verdict", "launch.toml", "--format", "sarif"]);
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    crate::sarif_shape::check(&log);
    let result = &log["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "miscompiled");
    // No checks were timed.
    let launches = &log["runs"][0]["properties"]["launches"];
    assert_eq!((&launches[0]["kernel"], &launches[0]["seconds"]), (&"k".into(), &Value::Null), "{log}");
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 2);
    assert!(bench.succeed(&["explain", "miscompiled"]).contains("Report the reproducer"));
    bench.refuse(&["verdict", "missing.toml"], &["missing.toml"]);
    bench.refuse(&["verdict", "launch.toml", "--device", "cpu"], &["--device cpu", "want an OpenCL device"]);
    std::fs::create_dir(bench.path().join("empty")).unwrap();
    bench.refuse(&["verdict", "empty"], &["empty has no launch.toml"]);
    assert!(Path::new(&bench.path().join("launch.toml")).is_file());
}
