//! `tripipe tune kernel`: kernels of users, on virtual GPUs and on an OpenCL device, if there is one.

use crate::faults::device_of_this_machine;
use crate::{Bench, complaint, done};

/// WASTE makes it slow, least if it is 4; BREAK makes it wrong.
const SOURCE: &str = "#ifndef WASTE
#define WASTE 4
#endif
#ifndef BREAK
#define BREAK 0
#endif
kernel void sums(global const float *in, global float *out) {
    const int i = get_global_id(0);
    float x = in[i];
    const int steps = 64 + 32 * (WASTE > 4 ? WASTE - 4 : 4 - WASTE);
    for (int step = 0; step < steps; ++step) x = fma(x, 0.5f, 1.0f);
    out[i] = BREAK ? -x : x;
}
";

const LAUNCH: &str = "source = 'sums.cl'\nglobal = 65536\nlocal = 64
[[argument]]\nname = 'in'\nbuffer = 'float'\ncount = 65536\nrandom = {}\naccess = 'read'
[[argument]]\nname = 'out'\nbuffer = 'float'\ncount = 65536
[tune]\n";

/// The kernel without the defaults of its macros.
fn without_defaults() -> &'static str {
    &SOURCE[SOURCE.find("kernel void").unwrap()..]
}

fn bench(table: &str) -> Bench {
    let bench = Bench::new();
    bench.write("sums.cl", SOURCE);
    bench.write("sums.toml", format!("{LAUNCH}{table}"));
    bench
}

/// Whether clang is there, which knows the kernel's parameters.
fn compiles(bench: &Bench) -> bool {
    let output = bench.run(&["simulate", "sums.toml", "-g", "mali-g78"]);
    if output.status.code() == Some(2) && std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none() {
        eprintln!("skipped: {}", complaint(&output.stderr));
        return false;
    }
    done(&output);
    true
}

const TWO: [&str; 5] = ["tune", "kernel", "sums.toml", "--device", "virtual:mali-g78,virtual:adreno-740"];

/// The times are unimodal by construction: the further WASTE is from 4, the more steps.
#[test]
fn the_known_best_of_virtual_gpus_is_a_table_and_a_header() {
    let bench = bench("parameters = { WASTE = [1, 2, 3, 4, 5, 6, 7] }\ntolerance = { relative = 1e-6 }");
    if !compiles(&bench) {
        return;
    }
    let tune =
        [&TWO[..], &["--table", "best.toml", "--header", "best.h", "--log", "log.jsonl", "--format", "json"]]
            .concat();
    let text = bench.succeed(&tune);
    for line in text.lines() {
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!((json["command"].as_str(), json["family"].as_str()), (Some("tune"), Some("kernel")));
        assert_eq!(json["candidates"][0]["parameters"].as_str(), Some("WASTE=4"), "{line}");
        assert!(
            json["subject"].as_str().is_some_and(|subject| subject.starts_with("sums.toml:sums ")),
            "{line}"
        );
    }
    assert_eq!(text.lines().count(), 2, "{text}");
    let table: toml::Table = String::from_utf8(bench.read("best.toml")).unwrap().parse().unwrap();
    let best = table["best"].as_array().unwrap();
    let devices: Vec<&str> = best.iter().map(|one| one["device"].as_str().unwrap()).collect();
    assert_eq!(devices, ["Adreno 740", "Mali-G78"]);
    assert!(best.iter().all(|one| one["values"]["WASTE"].as_str() == Some("4")), "{table}");
    assert_eq!(table["everywhere"]["values"]["WASTE"].as_str(), Some("4"));
    // The header compiles with the kernel, and -D still decides.
    let header = String::from_utf8(bench.read("best.h")).unwrap();
    assert!(header.contains("#elif defined(GPU_MALI_G78)\n") && header.contains("#else\n"), "{header}");
    bench.write("sums.cl", format!("#define BREAK 0\n#include \"best.h\"\n{}", without_defaults()));
    bench.succeed(&["run-kernel", "sums.toml", "-D", "GPU_MALI_G78"]);
    // Nothing that the log has counts for the other code.
    let text = bench.succeed(&[&TWO[..], &["--log", "log.jsonl", "--candidates", "1"]].concat());
    assert!(!text.contains("known from the log"), "{text}");
    // The logs are like all others.
    let shown = bench.succeed(&["tune", "show", "log.jsonl", "--top", "1"]);
    assert_eq!(shown.matches("kernel sums.toml:sums ").count(), 4, "{shown}");
    bench.succeed(&["tune", "merge", "log.jsonl", "log.jsonl", "-o", "all.jsonl"]);
    assert_eq!(bench.succeed(&["tune", "show", "all.jsonl", "--top", "1"]), shown);
    let same = bench.succeed(&["tune", "diff", "log.jsonl", "all.jsonl"]);
    assert!(same.contains("WASTE=4: 1.00x"), "{same}");
    bench.refuse(&["tune", "export", "log.jsonl", "-o", "-"], &["times of kernels only"]);
}

#[test]
fn a_device_verifies_every_candidate() {
    let bench = bench(
        "parameters = { WASTE = [4, 64], BREAK = [0, 1] }\nlocal = [64, 'driver']\nwhere = 'WASTE == 4 || !BREAK'",
    );
    if !compiles(&bench) || !device_of_this_machine(&bench) {
        return;
    }
    let mut tune = bench.command(&[
        "tune",
        "kernel",
        "sums.toml",
        "--device",
        "opencl",
        "--log",
        "log.jsonl",
        "--runs",
        "6",
    ]);
    tune.env_remove("TRIPIPE_OPENCL").args([
        "--strategy",
        "exhaustive",
        "--keep-slow",
        "--table",
        "best.toml",
    ]);
    let said = done(&tune.output().unwrap());
    assert!(
        said.starts_with("results are compared with those of WASTE=4 BREAK=0 local=64 in the simulator\n"),
        "{said}"
    );
    assert!(said.contains("6 of 8 combinations are valid"), "{said}");
    assert_eq!(said.matches("BREAK=1 local=").count(), 2, "{said}");
    assert_eq!(said.matches(": a wrong result: out[0] is -").count(), 2, "{said}");
    let table = String::from_utf8(bench.read("best.toml")).unwrap();
    assert!(table.contains("BREAK = \"0\"") && table.contains("basis = \"measured\""), "{table}");
    // The second search measures nothing.
    let said = done(&tune.output().unwrap());
    assert!(said.contains(": 0 candidates by strategy exhaustive, 6 known from the log"), "{said}");
    // `env` stands for `ssh board`.
    let mut there =
        bench.command(&["tune", "kernel", "sums.toml", "--device", "opencl", "--log", "none", "--runs", "3"]);
    there.env_remove("TRIPIPE_OPENCL").args([
        "--remote",
        "env",
        "--remote-program",
        env!("CARGO_BIN_EXE_tripipe"),
    ]);
    let said = done(&there.args(["--only", "--also", "WASTE=4 BREAK=0 local=64"]).output().unwrap());
    assert!(said.contains("1 candidates by strategy") && said.contains("WASTE=4 BREAK=0 local=64"), "{said}");
}

#[test]
fn what_cannot_be_tuned_says_why() {
    let bench = bench("parameters = { WASTE = [4], WAST = [1] }");
    if !compiles(&bench) {
        return;
    }
    bench.refuse(&TWO, &["parameter `WAST` changes nothing", "sums.cl"]);
    bench.refuse(&["tune", "kernel", "sums.cl"], &["want a launch file with a table `[tune]`"]);
    bench.refuse(&[&TWO[..], &["--local", "8"]].concat(), &["--local", "sums.toml"]);
    bench.write("sums.toml", LAUNCH.split("[tune]").next().unwrap());
    bench.refuse(&TWO, &["sums.toml:1:1", "the table `[tune]` is missing"]);
    bench.write("sums.toml", format!("{LAUNCH}parameters = {{ WASTE = [1, 4] }}\nwhere = 'WASTE > 5'"));
    bench.refuse(&TWO, &["no combination of the values"]);
    bench.write("sums.toml", format!("{LAUNCH}parameters = {{ WASTE = [1, 4] }}\nwhere = 'WASTES > 5'"));
    bench.refuse(&TWO, &["sums.toml:16:9", "`WASTES` is neither a parameter", "did you mean `WASTE`?"]);
    // Include files are on this machine.
    bench.write("sums.toml", format!("{LAUNCH}parameters = {{ WASTE = [1, 4] }}"));
    bench.write("more.h", "#define BREAK 0\n");
    bench.write("sums.cl", format!("#include \"more.h\"\n{}", without_defaults()));
    bench.refuse(&[&TWO[..], &["--remote", "env"]].concat(), &["include files are on this machine only"]);
    let said = bench.succeed(&TWO);
    assert!(said.contains("sums.toml:sums "), "{said}");
}
