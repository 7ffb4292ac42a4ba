//! `tripipe simulate`: times on one GPU and several, with changes; inputs that cannot be simulated.

use std::process::Output;

use serde_json::Value;
use tripipe_device::{Gpu, find};

use crate::run_kernel::compiles;
use crate::{Bench, complaint};

/// A row of multiply-adds for each work-item, with hardly any memory traffic.
const MADS: &str = "kernel void mads(global float* out, float y, int n) {\n    \
                    float4 a = y, b = y + 1, c = y + 2, d = y + 3;\n    \
                    for (int i = 0; i < n; ++i) {\n        \
                    a = mad(a, a, y); b = mad(b, b, y); c = mad(c, c, y); d = mad(d, d, y);\n    }\n    \
                    a += b + c + d;\n    out[get_global_id(0)] = a.x + a.y + a.z + a.w;\n}\n";

const COPY: &str = "kernel void copy(global const float4* in, global float4* out) {\n    \
                    out[get_global_id(0)] = in[get_global_id(0)];\n}\n";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("mads.cl", MADS);
    bench.write("copy.cl", COPY);
    bench.write("both.cl", format!("{MADS}{COPY}"));
    bench
}

fn objects(bench: &Bench, arguments: &[&str]) -> Vec<Value> {
    let text = bench.succeed(&[&["simulate", "--format", "json"], arguments].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn seconds(object: &Value) -> f64 {
    object["seconds"].as_f64().unwrap()
}

/// The least time for a number of multiply-adds, from the rates of the GPU's data.
fn least_seconds(gpu: &Gpu, mads: f64) -> f64 {
    2.0 * mads / gpu.operations_per_second(gpu.operations_per_clock_per_core.fp32_fma.value)
}

#[test]
fn arithmetic_takes_as_long_as_its_rate_says() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let gpus = "t604,g76,g77,Adreno 640";
    let found =
        objects(&bench, &["mads.cl", "-g", gpus, "--global", "16384", "--arg", "n=100", "--arg", "y=0.5"]);
    let names: Vec<&str> = found.iter().map(|object| object["gpu"].as_str().unwrap()).collect();
    assert_eq!(names, ["Mali-T604", "Mali-G76", "Mali-G77", "Adreno 640"]);
    for object in &found {
        let gpu = find(object["gpu"].as_str().unwrap()).unwrap();
        let least = least_seconds(gpu, 16384.0 * 1600.0);
        let found = seconds(object);
        assert!(found > least && found < 3.0 * least, "{}: {found}, at least {least}", gpu.name());
        assert_eq!(object["kernel"], "mads");
        assert_eq!(object["global"], serde_json::json!([16384, 1, 1]));
        assert_eq!((&object["local_chosen_by"], &object["guessed"]), (&"driver".into(), &true.into()));
        assert!(matches!(object["limiter"].as_str(), Some("A" | "FMA" | "ALU")), "{object}");
        let clock = f64::from(gpu.configuration.clock_mhz.value) * 1e6;
        assert!((object["cycles"].as_f64().unwrap() / clock / found - 1.0).abs() < 1e-9);
        // No measurements of Bifrost GPUs are published.
        let Some(ends) = object["error_band"].as_array() else {
            assert_eq!(object["family"], "bifrost");
            continue;
        };
        let band: Vec<f64> = ends.iter().map(|end| end.as_f64().unwrap()).collect();
        assert!(band[0] <= found && found <= band[1], "{band:?}");
    }
}

/// 64 MiB are copied no faster than the memory's nominal bandwidth allows.
#[test]
fn a_copy_is_limited_by_memory() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let items = 1u64 << 21;
    let global = items.to_string();
    for object in objects(&bench, &["copy.cl", "-g", "t604,g77", "--global", &global, "--local", "64"]) {
        let gpu = find(object["gpu"].as_str().unwrap()).unwrap();
        let least = items as f64 * 32.0 / (gpu.configuration.dram_gb_s_peak.value * 1e9);
        assert!(seconds(&object) > least, "{object}");
        assert_eq!(object["local"], serde_json::json!([64, 1, 1]));
        assert_eq!(object["local_chosen_by"], "launch");
    }
}

#[test]
fn changes_are_priced_and_ranked() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let clock = find("g77").unwrap().configuration.clock_mhz.value;
    let cores = find("g77").unwrap().configuration.cores.value;
    let what_if = format!("clock={},cores={},bandwidth=100,local=32", 2 * clock, 2 * cores);
    let arguments = ["mads.cl", "-g", "g77", "--global", "65536", "--arg", "n=100", "--what-if", &what_if];
    let object = &objects(&bench, &arguments)[0];
    let all = object["what_if"].as_array().unwrap();
    let gain = |change: &str| {
        let found = all.iter().find(|each| each["change"].as_str().unwrap().starts_with(change));
        found.unwrap_or_else(|| panic!("{change}: {object}"))["gain"].as_f64().unwrap()
    };
    // Arithmetic limits: twice the clock and twice the cores are each twice as fast, bandwidth gains nothing.
    assert!((gain("clock") - 2.0).abs() < 0.1, "{}", gain("clock"));
    assert!((gain("cores") - 2.0).abs() < 0.2, "{}", gain("cores"));
    assert!((gain("bandwidth") - 1.0).abs() < 0.05, "{}", gain("bandwidth"));
    assert!(gain("all together") > 3.4);
    let gains: Vec<f64> = all.iter().map(|each| each["gain"].as_f64().unwrap()).collect();
    assert!(gains.is_sorted_by(|a, b| a >= b), "{gains:?}");
    let text = bench.succeed(&[&["simulate"], &arguments[..]].concat());
    for words in ["What if, on Mali-G77", "all together", "no change", "x faster"] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
}

#[test]
fn a_definition_changes_the_kernel() {
    if !compiles() {
        return;
    }
    let bench = bench();
    bench.write("defined.cl", MADS.replace("i < n", "i < ROUNDS"));
    let arguments =
        ["defined.cl", "-g", "g77", "-D", "ROUNDS=2000", "--global", "4096", "--what-if", "-D ROUNDS=1000"];
    let object = &objects(&bench, &arguments)[0];
    let gain = object["what_if"][0]["gain"].as_f64().unwrap();
    assert_eq!(object["what_if"][0]["change"], "-D ROUNDS=1000");
    assert!((1.6..2.1).contains(&gain), "{gain}");
    let mut arguments = arguments;
    arguments[8] = "-D ROUNDS=x";
    bench.refuse_said(&[&["simulate"], &arguments[..]].concat(), &["-D ROUNDS=x", "undeclared"]);
}

/// Each work-group computes 1024 numbers: groups four times as large are a quarter as many.
#[test]
fn a_change_that_computes_less_says_so() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "row.cl",
        "kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void row(global float* o) {\n    \
         for (int i = get_local_id(0); i < 1024; i += WG) o[get_group_id(0) * 1024 + i] = i;\n}\n",
    );
    let launch = |global: &str| {
        format!(
            "source = 'row.cl'\noptions = '-D WG=64'\nglobal = {global}\n\
             [[argument]]\nname = 'o'\nbuffer = 'float'\ncount = 1048576\n"
        )
    };
    bench.write("fixed.toml", launch("65536"));
    bench.write("follows.toml", launch("'1024 * WG'"));
    let arguments = |file: &'static str| [file, "-g", "g78", "--what-if", "-D WG=256,clock=700"];
    let changes = |file: &'static str| {
        let object = &objects(&bench, &arguments(file))[0];
        let results = |change: &str| {
            let all = object["what_if"].as_array().unwrap();
            let found = all.iter().find(|each| each["change"] == change).unwrap();
            found["results"].as_f64().unwrap()
        };
        [results("-D WG=256"), results("clock=700"), results("all together")]
    };
    assert_eq!(changes("fixed.toml"), [0.25, 1.0, 0.25]);
    assert_eq!(changes("follows.toml"), [1.0; 3]);
    let said = |file: &'static str| bench.succeed(&[&["simulate"], &arguments(file)[..]].concat());
    assert!(said("fixed.toml").contains("25% of the results"), "{}", said("fixed.toml"));
    assert!(!said("follows.toml").contains("of the results"), "{}", said("follows.toml"));
    // Definitions of the command line count too.
    let object = &objects(&bench, &["follows.toml", "-g", "g78", "-D", "WG=128"])[0];
    assert_eq!(object["global"], serde_json::json!([131_072, 1, 1]));
}

/// What is expected or shown after a run does not matter to a prediction, nor to the checks.
#[test]
fn expected_results_are_not_read() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let template = bench.succeed(&["template", "copy.cl", "--global", "256"]);
    bench.write("copy.toml", template.replace("# dump = true", "expect = { npy = 'missing.npy' }  #"));
    for command in ["simulate", "analyze"] {
        bench.succeed(&[command, "copy.toml", "-g", "g77"]);
    }
    bench.succeed(&["check", "copy.toml"]);
    bench.succeed(&["run-kernel", "copy.toml", "--device", "virtual:mali-g77", "--time-only"]);
    bench.refuse(&["run-kernel", "copy.toml"], &["missing.npy"]);
}

#[test]
fn a_launch_file_gives_the_launch() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let template = bench.succeed(&["template", "mads.cl", "--global", "4096"]);
    bench.write("mads.toml", &template);
    let object = &objects(&bench, &["mads.toml", "-g", "t604"])[0];
    assert_eq!(object["global"], serde_json::json!([4096, 1, 1]));
    assert_eq!(object["guessed"], false);
    // The command line takes precedence.
    let object = &objects(&bench, &["mads.toml", "-g", "t604", "--global", "2048", "--local", "16"])[0];
    assert_eq!((&object["global"][0], &object["local"][0]), (&2048.into(), &16.into()));
}

#[test]
fn every_kernel_is_simulated_and_gpus_are_ranked() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let found = objects(&bench, &["both.cl", "-g", "t604,g77", "--global", "1024"]);
    let names: Vec<&str> = found.iter().map(|object| object["kernel"].as_str().unwrap()).collect();
    assert_eq!(names, ["mads", "mads", "copy", "copy"]);
    let text = bench.succeed(&["simulate", "mads.cl", "-g", "t604,g77", "--global", "16384"]);
    let at = |name: &str| text.lines().position(|line| line.starts_with(name)).unwrap();
    assert!(at("Mali-G77 ") < at("Mali-T604 "), "{text}");
    for words in ["first x", "limits", "the driver's choice", "Memory is guessed"] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
}

/// A kernel that reads eight indices a work-item needs a larger buffer than a template has.
#[test]
fn guessed_memory_grows_until_the_kernel_fits() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let text = "kernel void eight(global const int* in, global float* out) {\n    \
                for (int i = 0; i < 8; ++i) out[in[8 * (int)get_global_id(0) + i]] = i;\n}\n";
    bench.write("eight.cl", text);
    assert!(seconds(&objects(&bench, &["eight.cl", "-g", "g77", "--global", "512"])[0]) > 0.0);
    bench.write("far.cl", text.replace("8 * (int)get_global_id(0)", "(int)get_global_id(0) - 1000"));
    bench.refuse(
        &["simulate", "far.cl", "-g", "g77", "--global", "512"],
        &["far.cl:2", "`in`", "write a launch file"],
    );
}

#[test]
fn a_gpu_that_cannot_run_the_kernel_is_reported_beside_the_others() {
    if !compiles() {
        return;
    }
    let bench = bench();
    bench.write("double.cl", "kernel void d(global double* a) { a[get_global_id(0)] *= 3; }");
    let arguments = ["simulate", "double.cl", "-g", "t604,g77", "--global", "1024"];
    let output = bench.run(&arguments);
    let (text, said) = (String::from_utf8(output.stdout).unwrap(), complaint(&output.stderr));
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("Mali-T604 ") && text.contains("Mali-G77 cannot run it: "), "{text}");
    assert!(said.lines().count() == 1 && said.contains("cl_khr_fp64"), "{said}");
    let output = bench.run(&[&arguments[..], &["--format", "json"]].concat());
    let objects: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(output.status.code(), Some(2));
    assert!(objects[0]["error"].is_null() && objects[0]["seconds"].is_f64(), "{}", objects[0]);
    assert!(objects[1]["seconds"].is_null(), "{}", objects[1]);
    assert!(objects[1]["error"].as_str().unwrap().contains("cl_khr_fp64"), "{}", objects[1]);
}

/// A kernel that never ends would be recorded forever.
#[test]
fn an_endless_kernel_is_refused() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("endless.cl", "kernel void e(global volatile int* a) { while (1) a[get_global_id(0)]++; }");
    let arguments = ["endless.cl", "-g", "g77", "--global", "64"];
    let limited = [&["simulate"], &arguments[..], &["--limit-steps", "100000"]].concat();
    bench.refuse(&limited, &["100000 instructions", "endless loop"]);
    let said = bench.succeed(&[&["analyze"], &arguments[..]].concat());
    assert!(
        said.split_whitespace().collect::<Vec<_>>().join(" ").contains("look for an endless loop"),
        "{said}"
    );
}

#[test]
fn impossible_requests_are_refused() {
    let bench = bench();
    let simulate = |rest: &[&'static str]| [&["simulate", "mads.cl"], rest].concat();
    bench.refuse(&simulate(&["-g", "Mali-G6100", "--global", "64"]), &["Mali-G610"]);
    bench.refuse(&["simulate", "nothing.cl", "--global", "64"], &["nothing.cl"]);
    bench.refuse(&simulate(&["--what-if", "clok=800"]), &["clok", "clock"]);
    bench.refuse(&simulate(&["--arg", "n"]), &["NAME=VALUE"]);
    if !compiles() {
        return;
    }
    bench.refuse(&simulate(&["-g", "g77"]), &["`mads`", "--global", "launch file"]);
    bench.refuse(&simulate(&["--global", "0"]), &["at least 1"]);
    bench.refuse(&simulate(&["--global", "1,1,1,1"]), &["1 to 3 dimensions"]);
    bench.refuse(&simulate(&["--global", "64", "--arg", "m=3"]), &["it has out, y, n"]);
    bench.refuse(&simulate(&["--global", "64", "--arg", "out=3"]), &["not a number"]);
    bench.refuse(&simulate(&["-k", "other", "--global", "64"]), &["it has `mads`"]);
    let t604 = |rest: &[&'static str]| [&["simulate", "mads.cl", "-g", "t604"], rest].concat();
    bench.refuse(&t604(&["--global", "1024", "--local", "512"]), &["at most 256", "Mali-T604"]);
    // How many registers a compiler uses is a guess: a warning.
    let warned = bench.succeed(&t604(&["--global", "1024", "--local", "256"]));
    assert!(warned.contains("Warning: with the registers of this model"), "{warned}");
    bench.refuse(&t604(&["--global", "1000", "--local", "64"]), &["multiple", "Mali-T604"]);
    bench.refuse(&t604(&["--global", "4000000000"]), &["14.9 GiB", "Mali-T604 offers 2 GiB"]);
    bench.write("tile.cl", "kernel void t(global float* a, local float* b) { b[get_local_id(0)] = a[0];\n\
                            barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = b[0]; }\n\
                            kernel void u(global float* a) { local float b[9000]; b[get_local_id(0)] = a[0];\n\
                            barrier(CLK_LOCAL_MEM_FENCE); a[get_global_id(0)] = b[get_local_id(0) ^ 1]; }");
    bench.refuse(
        &["simulate", "tile.cl", "-k", "u", "-g", "t604", "--global", "64"],
        &["36000 bytes", "32768 bytes of local memory"],
    );
    assert!(seconds(&objects(&bench, &["tile.cl", "-k", "t", "-g", "t604", "--global", "64"])[0]) > 0.0);
    bench.write(
        "half.cl",
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n\
                            kernel void h(global half* a) { a[get_global_id(0)] *= 3; }",
    );
    let without = tripipe_device::catalog().iter().find(|gpu| !gpu.supports.fp16.value);
    if let Some(gpu) = without {
        bench.refuse(&["simulate", "half.cl", "-g", gpu.name(), "--global", "64"], &["cl_khr_fp16"]);
    }
    // One change is not possible: the others are priced.
    let text = bench.succeed(&t604(&["--global", "1024", "--what-if", "registers=40,local=512,clock=800"]));
    assert!(text.contains("at most 16 registers") && text.contains("at most 256"), "{text}");
}

#[test]
fn midgard_can_be_compiled_as_in_2013() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let launch = ["simulate", "mads.cl", "--global", "16384", "--arg", "n=100", "--arg", "y=0.5"];
    // The T604 was measured with the compiler of 2013, the T628 with a later one.
    let gpus = ["-g", "t604,t628,g77", "--format", "json"];
    let run = |more: &[&str]| bench.run(&[&launch[..], &gpus, more].concat());
    let [usual, named] = [&[][..], &["--compiler", "2013"]].map(run);
    let objects = |output: &Output| -> Vec<Value> {
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let (before, after) = (objects(&usual), objects(&named));
    assert_eq!((&before[0], &before[2]), (&after[0], &after[2]));
    assert!(seconds(&after[1]) > seconds(&before[1]), "{} {}", after[1], before[1]);
    let note = complaint(&named.stderr);
    assert!(note.contains("Mali-T604, Mali-T628: compiled as in 2013; Mali-G77 as usual"), "{note}");
    for (gpu, year) in [("g77", "2013"), ("t628", "2014")] {
        let more = ["-g", gpu, "--compiler", year];
        bench.refuse(&[&launch[..], &more].concat(), &["--compiler", "2013 and 2017", "-g t628"]);
    }
}
