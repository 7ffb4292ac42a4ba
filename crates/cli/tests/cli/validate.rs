//! `tripipe validate` on tables that it can and cannot read.

use serde_json::Value;

use crate::Bench;
use crate::run_kernel::compiles;

const HEADER: &str = "device,model_gpu,what_if,kernel,source,unit,measured\n";

fn rows(bench: &Bench) -> Vec<Value> {
    let text = bench.succeed(&["validate", "m.csv", "--format", "json"]);
    let result: Value = serde_json::from_str(&text).unwrap();
    result["rows"].as_array().unwrap().clone()
}

#[test]
fn a_measurement_is_laid_beside_its_prediction() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    // The rate that clpeak printed on an RK3588, and a tenth of it.
    let row = |measured: &str| format!("mine,mali-g610,,clpeak-mad-float4,me,Gop/s,{measured}\n");
    bench.write("m.csv", format!("{HEADER}{}{}", row("482.01"), row("48.2")));
    let text = bench.succeed(&["validate", "m.csv"]);
    assert!(text.contains("clpeak-mad-float4") && text.contains("482"), "{text}");
    let rows = rows(&bench);
    let in_band = |row: &Value| row["in_band"].as_bool().unwrap();
    assert!(in_band(&rows[0]) && !in_band(&rows[1]), "{rows:?}");
}

#[test]
fn a_launch_file_with_arguments_is_a_kernel_too() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("k.cl", "kernel void k(global float *a) { a[get_global_id(0)] *= 3; }\n");
    bench.write(
        "k.toml",
        "source = \"k.cl\"\nkernel = \"k\"\nglobal = 65536\n[[argument]]\nbuffer = \"float\"\ncount = 65536\n",
    );
    bench.write("m.csv", format!("{HEADER}mine,mali-g710,\"cores=7,clock=848\",k.toml,me,us,1000\n"));
    let rows = rows(&bench);
    assert!(rows[0]["predicted"].as_f64().unwrap() > 0.0, "{rows:?}");
}

#[test]
fn bad_tables_are_refused_with_their_line() {
    let bench = Bench::new();
    let good = "mine,mali-g610,,clpeak-mad-float4,me,Gop/s,482\n";
    for (row, said) in [
        ("mine,mali-g61,,clpeak-mad-float4,me,Gop/s,482\n", "Mali-G610"),
        ("mine,mali-g610,,clpeak-mad-float4,me,Gflop,482\n", "Gflop"),
        ("mine,mali-g610,,clpeak-mad-float4,me,Gop/s,fast\n", "fast"),
        ("mine,mali-g610,,clpeak-mad-float4,me,Gop/s,-1\n", "-1"),
        ("mine,mali-g610,clok=3,clpeak-mad-float4,me,Gop/s,482\n", "clok"),
    ] {
        bench.write("m.csv", format!("{HEADER}{good}{row}"));
        bench.refuse(&["validate", "m.csv"], &["m.csv", "3", said]);
    }
    // A row without a prediction is named, and the others are printed.
    bench.write("m.csv", format!("{HEADER}{}", good.replace("float4", "floot4")));
    let output = bench.run(&["validate", "m.csv"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("m.csv:2: clpeak-mad-floot4: no kernel"), "{said}");
    assert!(said.contains("did you mean `clpeak-mad-float4`?"), "{said}");
    // The median error of nothing is not 0 %.
    let printed = String::from_utf8_lossy(&output.stdout);
    let all = printed.lines().find(|line| line.starts_with("all ")).unwrap();
    assert_eq!(all.split_whitespace().collect::<Vec<_>>(), ["all", "0", "1", "-", "0%", "-"], "{printed}");
    for (row, reason) in [
        ("mine,mali-g610,,clpeak-mad-float4 -D N=3,me,Gop/s,482", "no macro `N`; it has no macros"),
        ("mine,mali-g610,,mixbench-float -D M=3,me,Gop/s,482", "no macro `M`; want -D N"),
        (
            "mine,mali-g610,,mixbench-float,me,Gop/s,482",
            "how many multiply-adds? want -D N=80, from 1 to 4096",
        ),
        ("mine,mali-g610,,clpeak-mad-float4,me,GB/s,482", "it measures arithmetic: want Gop/s, ms or us"),
        ("mine,mali-g610,,stream-copy,me,Gop/s,482", "it computes nothing: want GB/s, ms or us"),
    ] {
        bench.write("m.csv", format!("{HEADER}{row}\n"));
        let kernel = row.split(',').nth(3).unwrap();
        let output = bench.run(&["validate", "m.csv"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("m.csv:2: {kernel}: {reason}")), "{said}");
    }
    bench.write("m.csv", "device,kernel\nmine,blur\n");
    bench.refuse(&["validate", "m.csv"], &["m.csv", "model_gpu"]);
    bench.refuse(&["validate", "none.csv"], &["none.csv"]);
}
