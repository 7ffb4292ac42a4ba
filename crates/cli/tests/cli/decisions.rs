//! What `tripipe analyze` and `tripipe simulate` decide by: one predicted time, which no bound exceeds.

use serde_json::Value;

use crate::run_kernel::compiles;
use crate::{Bench, complaint, refused};

/// Kernels whose longest path says little about their time: a table, barriers, a division, three taps.
const KERNELS: &str = "
kernel void table(global const uchar *in, global uchar *out, global const uchar *values)
{
    const uint i = get_global_id(0);
    out[i] = values[in[i]];
}
kernel void barriers(global float *data, local float *tile)
{
    const uint i = get_local_id(0), g = get_global_id(0);
    tile[i] = data[g];
    for (uint step = 1; step < 64; step <<= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        float v = i >= step ? tile[i - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[i] += v;
    }
    data[g] = tile[i];
}
kernel void divides(global const uchar *a, global uchar *o, int n)
{
    const int i = get_global_id(0);
    o[i] = a[i / n];
}
kernel void taps(global const uchar *in, global uchar *out, int n)
{
    const int i = get_global_id(0);
    out[i] = (in[i] + in[i + 1] + in[i + n]) / 3;
}
";

fn bench(source: &str) -> Bench {
    let bench = Bench::new();
    bench.write("k.cl", source);
    bench
}

fn objects(bench: &Bench, arguments: &[&str]) -> Vec<Value> {
    let text = bench.succeed(&[arguments, &["--format", "json"]].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A bound is at most the time, advice gains something, and both commands predict the same.
#[test]
fn bounds_advice_and_both_commands_agree() {
    if !compiles() {
        return;
    }
    let bench = bench(KERNELS);
    let mut advised = 0;
    for (kernel, argument) in [("table", ""), ("barriers", ""), ("divides", "n=1000"), ("taps", "n=1000")] {
        let mut launch = vec!["k.cl", "-k", kernel, "-g", "g77,g52,t860,640,740", "--global", "262144"];
        if !argument.is_empty() {
            launch.extend(["--arg", argument]);
        }
        let simulated = objects(&bench, &[&["simulate"], &launch[..]].concat());
        for (object, simulated) in
            objects(&bench, &[&["analyze"], &launch[..]].concat()).iter().zip(simulated)
        {
            let time = object["prediction"]["seconds"].as_f64().unwrap();
            assert_eq!(time, simulated["seconds"], "{object}");
            assert_eq!(object["launch"]["busy"], simulated["shares"], "{object}");
            assert!(object["launch"]["milliseconds"].as_f64().unwrap() * 1e-3 <= time, "{object}");
            for advice in object["advice"].as_array().unwrap() {
                let gains = advice["seconds"].as_f64().is_none_or(|after| after <= 0.99 * time);
                assert!(gains, "{}: {advice} for {time}", object["gpu"]);
                advised += usize::from(advice["seconds"].is_number());
            }
        }
    }
    assert!(advised > 0, "nothing was priced");
}

/// A loop that a driver unrolls: one launch has one time, run or simulated.
#[test]
fn a_launch_takes_as_long_run_as_simulated() {
    if !compiles() {
        return;
    }
    let source = "kernel void mean(global const float *from, global float *to) {
    int x = get_global_id(0);
    float sum = 0.0f;
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++)
            sum += from[x + dy * 64 + dx];
    to[x] = sum / 25.0f;
}";
    let bench = bench(source);
    let buffer = |count| format!("[[argument]]\nbuffer = \"float\"\ncount = {count}\n");
    let launch = format!("source = \"k.cl\"\nglobal = 4096\n{}{}", buffer(8192), buffer(4096));
    bench.write("mean.toml", &launch);
    let run = objects(&bench, &["run-kernel", "mean.toml", "--device", "virtual:mali-g77"]);
    let simulated = objects(&bench, &["simulate", "mean.toml", "-g", "mali-g77"]);
    let [run, simulated] = [&run, &simulated].map(|results| results[0]["seconds"].as_f64().unwrap());
    // Events count whole nanoseconds.
    assert!((run - simulated).abs() < 1e-9, "{run} {simulated}");
}

/// Trip counts that differ between work-items are numbers, without arguments that could be given.
const TILE: &str = "
kernel __attribute__((reqd_work_group_size(16, 1, 1))) void tile(global const float *in, global float *out)
{
    local float t[22];
    for (int i = get_local_id(0); i < 22; i += 16)
        t[i] = in[get_group_id(0) * 16 + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    float s = 0;
    for (int k = 0; k < 7; k++)
        s += t[get_local_id(0) + k];
    out[get_global_id(0)] = s;
}
kernel void grid(global const float *in, global float *out)
{
    for (int i = get_global_id(0); i < 1000; i += get_global_size(0))
        out[i] = in[i];
}
";

#[test]
fn tile_loops_have_numbers() {
    if !compiles() {
        return;
    }
    let bench = bench(TILE);
    let tile = &objects(&bench, &["analyze", "k.cl", "-k", "tile", "-g", "g77"])[0];
    // The compiler tests behind the body: work-items below 6 go back once.
    let trips =
        |object: &Value| (object["loops"][0]["least_trips"].clone(), object["loops"][0]["trips"].clone());
    assert_eq!(trips(tile), (0.into(), 1.into()), "{tile}");
    // Two lines for each of two iterations, seven reads in two, a write and a barrier, each of 16 work-items.
    assert_eq!(tile["longest_path"]["columns"]["LS"], 8.0 / 16.0, "{tile}");
    let text = bench.succeed(&["analyze", "k.cl", "-k", "tile", "-g", "g77"]);
    assert!(text.contains("repeats 0 to 1 times") && !text.contains("divergent-branch"), "{text}");
    bench.succeed(&["analyze", "k.cl", "-k", "tile", "-g", "g77", "--budget", "ls<=1"]);
    let grid = &objects(&bench, &["analyze", "k.cl", "-k", "grid", "-g", "g77", "--global", "300"])[0];
    // 1000 elements, 300 at a time: 4 for the first 100 work-items, 3 for the others.
    assert_eq!(trips(grid), (2.into(), 3.into()), "{grid}");
}

/// A limit of time is compared with the prediction, in both commands.
#[test]
fn budgets_of_time_are_predictions() {
    if !compiles() {
        return;
    }
    let bench = bench(KERNELS);
    let launch = ["k.cl", "-k", "table", "-g", "g77", "--global", "1048576"];
    let time = objects(&bench, &[&["simulate"], &launch[..]].concat())[0]["seconds"].as_f64().unwrap();
    for command in ["analyze", "simulate"] {
        let run = |budget: &str| {
            let output = bench.run(&[&[command], &launch[..], &["--budget", budget]].concat());
            (output.status.code(), complaint(&output.stderr))
        };
        let above = format!("time<={}us,ms<={}", time * 1.01e6, time * 1.01e3);
        assert_eq!(run(&above), (Some(0), String::new()), "{command}");
        let (code, said) = run(&format!("time<={}us", time * 0.99e6));
        assert_eq!(code, Some(1), "{command}");
        assert!(
            said.starts_with("over budget: table on Mali-G77: ") && said.contains("s predicted, want"),
            "{said}"
        );
        let (code, said) = run("registers<=1,time<=2s");
        assert_eq!(code, Some(1), "{command}");
        assert!(said.contains(" registers, want registers<=1"), "{said}");
        let bad = bench.run(&[&[command], &launch[..], &["--budget", "time<=2 miles"]].concat());
        refused(&bad, &["time<=2ms"]);
    }
    refused(
        &bench.run(&[&["simulate"], &launch[..], &["--budget", "ls<=1"]].concat()),
        &["ls<=1", "tripipe analyze"],
    );
    // Without an argument that decides the time there is none.
    let unknown =
        ["analyze", "k.cl", "-k", "divides", "-g", "g77", "--global", "64", "--budget", "time<=2ms"];
    refused(&bench.run(&unknown), &["--arg n="]);
}

/// Of two kernels, that with the longer path is the faster one: the loads of the other are scattered.
#[test]
fn differences_are_decided_by_the_prediction() {
    if !compiles() {
        return;
    }
    let bench = bench(
        "kernel void k(global const float *a, global float *o) {\n    \
        const int i = get_global_id(0);\n    o[i] = a[i & 1023];\n}\n",
    );
    let launch = ["k.cl", "-g", "g77", "--global", "1048576"];
    for command in ["analyze", "simulate"] {
        let all = [&[command], &launch[..]].concat();
        bench.write("old.json", bench.succeed(&[&all[..], &["--format", "json"]].concat()));
        let same = bench.succeed(&[&all[..], &["--diff", "old.json"]].concat());
        assert_eq!(same, "k on Mali-G77: unchanged\n", "{command}");
    }
    let slow = "kernel void k(global const float *a, global float *o) {\n    \
        const int i = get_global_id(0);\n    float s = 0;\n    \
        for (int k = 0; k < 64; ++k) s += a[(i & 1023) + 1024 * k];\n    o[i] = s;\n}\n";
    for command in ["analyze", "simulate"] {
        let all = [&[command], &launch[..]].concat();
        bench.write("k.cl", slow);
        bench.write("slow.json", bench.succeed(&[&all[..], &["--format", "json"]].concat()));
        let old = bench.succeed(&[&all[..], &["--diff", "slow.json"]].concat());
        assert_eq!(old, "k on Mali-G77: unchanged\n", "{command}");
        bench.write("k.cl", slow.replace("k < 64", "k < 128"));
        let worse = bench.run(&[&all[..], &["--diff", "slow.json"]].concat());
        let said = String::from_utf8(worse.stdout).unwrap();
        assert_eq!(worse.status.code(), Some(1), "{said}");
        assert!(said.starts_with("k on Mali-G77: predicted time ") && said.contains("s (+"), "{said}");
        bench.write("k.cl", slow.replace("k < 64", "k < 32"));
        let better = bench.run(&[&all[..], &["--diff", "slow.json", "--format", "json"]].concat());
        let object: Value = serde_json::from_slice(&better.stdout).unwrap();
        assert_eq!((better.status.code(), &object["status"]), (Some(0), &"changed".into()), "{object}");
        assert_eq!(object["changes"][0]["what"], "seconds");
        refused(&bench.run(&[&all[..], &["--diff", "slow.json", "--format", "html"]].concat()), &["html"]);
    }
}

/// Arguments that decide neither branches nor addresses need no value.
#[test]
fn arguments_that_decide_nothing_need_no_value() {
    if !compiles() {
        return;
    }
    let bench = bench(
        "
kernel void unused(global const uchar *in, global uchar *out, int width)
{
    const int i = get_global_id(0);
    out[i] = in[i];
}
kernel void added(global const int *in, global int *out, int offset)
{
    const int i = get_global_id(0);
    out[i] = in[i] + offset;
}
kernel void moved(global const int *in, global int *out, int by)
{
    const int i = get_global_id(0);
    out[i] = in[i + by];
}
kernel void stored(global const int *in, global int *out, int by)
{
    int at[8];
    const int i = get_global_id(0);
    for (int k = 0; k < 8; ++k)
        at[k] = by * k;
    out[i] = in[i + at[i & 7]];
}
",
    );
    for (kernel, known) in [("unused", true), ("added", true), ("moved", false), ("stored", false)] {
        let object = &objects(&bench, &["analyze", "k.cl", "-k", kernel, "-g", "g77", "--global", "4096"])[0];
        assert_eq!(object["prediction"].is_object(), known, "{object}");
    }
}

/// Options that allow less precise floats change the code that is priced, and silence only the advice that they follow.
#[test]
fn relaxed_builds_are_priced_as_such() {
    if !compiles() {
        return;
    }
    let bench = bench(
        "
kernel void precise(global const float *in, global float *out, float y)
{
    const int i = get_global_id(0);
    float x = in[i];
    for (int k = 0; k < 16; ++k)
        x = exp(x) / (y + x);
    out[i] = x;
}
kernel void native(global const float *in, global float *out, float y)
{
    const int i = get_global_id(0);
    float x = in[i];
    for (int k = 0; k < 16; ++k)
        x = native_divide(native_exp(x), y + x);
    out[i] = x;
}
kernel void apart(global const float *in, global float *out, float y, float z)
{
    const int i = get_global_id(0);
    float x = in[i];
    for (int k = 0; k < 16; ++k) {
        const float p = x * y;
        x = p + z;
    }
    out[i] = x;
}
kernel void fused(global const float *in, global float *out, float y, float z)
{
    const int i = get_global_id(0);
    float x = in[i];
    for (int k = 0; k < 16; ++k)
        x = mad(x, y, z);
    out[i] = x;
}
",
    );
    let run = |kernel: &str, options: &str| {
        let options = format!("--options={options}");
        objects(&bench, &["analyze", "k.cl", "-k", kernel, "-g", "g77", &options])[0].clone()
    };
    let cost = |kernel: &str, options: &str| run(kernel, options)["longest_path"]["columns"].clone();
    let advised = |kernel: &str, options: &str, code: &str| {
        run(kernel, options)["advice"].as_array().unwrap().iter().any(|advice| advice["code"] == code)
    };
    for relaxed in ["-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations"] {
        assert_eq!(cost("precise", relaxed), cost("native", ""), "{relaxed}");
        assert!(!advised("precise", relaxed, "precise-function"), "{relaxed}");
        assert_eq!(cost("apart", relaxed), cost("fused", ""), "{relaxed}");
    }
    assert_eq!(cost("apart", "-cl-mad-enable"), cost("fused", ""));
    assert!(advised("apart", "", "free-fma") && !advised("apart", "-cl-mad-enable", "free-fma"));
    for other in ["-cl-mad-enable", "-cl-finite-math-only", "-cl-no-signed-zeros"] {
        assert_eq!(cost("precise", other), cost("precise", ""), "{other}");
        assert!(advised("precise", other, "precise-function"), "{other}");
    }
    assert!(advised("apart", "-cl-finite-math-only", "free-fma"));
    // Simulation prices the same code.
    let simulated = |kernel: &str, options: &str| {
        let options = format!("--options={options}");
        let all = ["simulate", "k.cl", "-k", kernel, "-g", "g77", "--global", "65536", &options];
        objects(&bench, &all)[0]["seconds"].clone()
    };
    assert_eq!(simulated("precise", "-cl-fast-relaxed-math"), simulated("native", ""));
}

/// A table of several GPUs is bounded in width, whatever is unknown, and shows the advice.
#[test]
fn tables_are_bounded_and_advise() {
    if !compiles() {
        return;
    }
    let bench = bench(
        "
kernel void k(global const float *in, global float *out, int a, int b, int c)
{
    const int i = get_global_id(0);
    float s = 0;
    for (int x = 0; x < a; ++x)
        for (int y = 0; y < b; ++y) {
            s += sin(in[i + x + y]);
            for (int z = 0; z < c; ++z)
                s = s * exp(in[i + z]) + s;
        }
    out[16 * i] = s;
}
",
    );
    let text = bench.succeed(&["analyze", "k.cl", "-g", "g77,g52,640"]);
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 160, "{widest}:\n{text}");
    assert!(text.contains("~: with 16 for each unknown count"), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("note[precise-function] line ") && text.contains(" of 3 GPUs)"), "{text}");
}

/// A launch that drivers would stop is called too long.
#[test]
fn launches_that_a_driver_stops_are_too_long() {
    if !compiles() {
        return;
    }
    let bench = bench(
        "kernel void k(global int *o, int n) {\n    const int i = get_global_id(0);\n    uint x = i;\n    \
        for (int k = 0; k < n; k++) x = x * 1664525u + 1013904223u + (x >> 7);\n    o[i] = x;\n}\n",
    );
    let run = |command: &str, gpus: &str, n: &str| {
        let text = bench.succeed(&[command, "k.cl", "-g", gpus, "--global", "16777216", "--arg", n]);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for command in ["analyze", "simulate"] {
        let said = run(command, "t604", "n=20000");
        assert!(said.contains("too long: the driver's watchdog stops a launch after about 5"), "{said}");
        let said = run(command, "t604", "n=20");
        assert!(!said.contains("too long"), "{said}");
    }
    let said = run("simulate", "t604,830", "n=2000");
    assert!(said.contains("Too long, so that drivers stop the launch: Mali-T604."), "{said}");
}
