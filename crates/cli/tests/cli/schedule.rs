//! Launch files with several launches: their schedule on GPUs, and the times of a run beside its trace.

use serde_json::Value;

use crate::run_kernel::compiles;
use crate::{Bench, done, refused};

const CHAIN: &str = "kernel void scale(global const float* in, global float* out, int rounds) {
    size_t i = get_global_id(0);
    float x = in[i];
    for (int k = 0; k < rounds; ++k) x = x * 0.999f + 0.001f;
    out[i] = x;
}
kernel void add(global const float* a, global const float* b, global float* sum) {
    size_t i = get_global_id(0);
    sum[i] = a[i] + b[i];
}
";

/// `scale` so many times, and `add` of its input and its output.
fn chain(items: usize, rounds: usize, repeat: usize, more: &str) -> String {
    format!(
        "source = 'chain.cl'\n\
         [[launch]]\nkernel = 'scale'\nglobal = {items}\nrepeat = {repeat}\n\
         [[launch.argument]]\nname = 'in'\nbuffer = 'float'\ncount = {items}\nfill = 1\naccess = 'read'\n\
         [[launch.argument]]\nname = 'out'\nbuffer = 'float'\ncount = {items}\n\
         [[launch.argument]]\nname = 'rounds'\nvalue = {rounds}\n\
         [[launch]]\nkernel = 'add'\nglobal = {items}\n\
         [[launch.argument]]\nuse = 'scale.in'\n[[launch.argument]]\nuse = 'scale.out'\n\
         [[launch.argument]]\nname = 'sum'\nbuffer = 'float'\ncount = {items}\n{more}\n"
    )
}

fn bench(text: &str) -> Bench {
    let bench = Bench::new();
    bench.write("chain.cl", CHAIN);
    bench.write("chain.toml", text);
    bench
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"))
}

fn schedule(bench: &Bench, arguments: &[&str]) -> Value {
    let all = [&["simulate", "chain.toml", "--format", "json"], arguments].concat();
    serde_json::from_str(&bench.succeed(&all)).unwrap()
}

/// The four parts of the time.
fn parts(schedule: &Value) -> f64 {
    ["kernel_seconds", "copy_seconds", "launch_seconds", "wait_seconds"]
        .iter()
        .map(|key| number(schedule, key))
        .sum()
}

/// By the costs that the schedule names, and the times of the kernels alone.
#[test]
fn the_schedule_is_that_of_its_costs_and_kernels() {
    if !compiles() {
        return;
    }
    let bench = bench(&chain(1 << 18, 100, 3, ""));
    let alone = |kernel: &str, more: &[&str]| -> f64 {
        let arguments = ["simulate", "chain.cl", "-g", "adreno 620", "--format", "json", "-k", kernel];
        let text = bench.succeed(&[&arguments[..], &["--global", "262144"], more].concat());
        number(&serde_json::from_str(&text).unwrap(), "seconds")
    };
    let scale = alone("scale", &["--arg", "rounds=100"]);
    let add = alone("add", &[]);
    let copied = schedule(&bench, &["-g", "adreno 620"]);
    let steps = copied["steps"].as_array().unwrap();
    let of = |kind: &str| -> Vec<&Value> { steps.iter().filter(|step| step["kind"] == kind).collect() };
    let counts = ["enqueue", "upload", "launch", "kernel", "read", "flush"].map(|kind| of(kind).len());
    assert_eq!(counts, [2, 1, 4, 4, 1, 0], "{copied}");
    assert_eq!((&of("upload")[0]["name"], &of("read")[0]["name"]), (&"scale.in".into(), &"add.sum".into()));
    let kernels: Vec<f64> = of("kernel").iter().map(|step| number(step, "seconds")).collect();
    for (kernel, want) in kernels.iter().zip([scale, scale, scale, add]) {
        assert!((kernel / want - 1.0).abs() < 0.02, "{kernels:?}: {want}");
    }
    // The published cost, and the one of a recorded list.
    let cost =
        |name: &str| copied["costs"].as_array().unwrap().iter().find(|cost| cost["name"] == name).unwrap();
    assert!((number(cost("launch"), "seconds") - 18.7e-6).abs() < 1e-12);
    assert_eq!(cost("launch")["basis"], "measured");
    assert!((number(cost("recorded launch"), "seconds") - 8.6e-6).abs() < 1e-12);
    let copy = f64::from(1 << 20) / number(cost("copy"), "bytes_per_second");
    // A kernel is longer than a launch, so only what the first one waits for counts.
    assert!(kernels.iter().all(|seconds| *seconds > 18.7e-6), "{kernels:?}");
    let sum: f64 = kernels.iter().sum();
    let want = 18.7e-6 + copy.max(18.7e-6) + sum + copy;
    assert!((number(&copied, "seconds") - want).abs() < 1e-9, "{copied}");
    let blocking = schedule(&bench, &["-g", "adreno 620", "--blocking"]);
    assert!((number(&blocking, "seconds") - (sum + 2.0 * copy + 6.0 * 18.7e-6)).abs() < 1e-9);
    let shared = schedule(&bench, &["-g", "adreno 620", "--buffers", "zero-copy"]);
    assert!((number(&shared, "seconds") - (sum + 18.7e-6)).abs() < 1e-9);
    // Maps are calls, and on Mali also flushes.
    let mapped = schedule(&bench, &["-g", "mali-g610", "--buffers", "map"]);
    let count =
        |kind: &str| mapped["steps"].as_array().unwrap().iter().filter(|step| step["kind"] == kind).count();
    assert_eq!((count("map"), count("flush"), count("upload")), (4, 2, 0));
    for each in [&copied, &blocking, &shared, &mapped] {
        assert!((parts(each) - number(each, "seconds")).abs() < 1e-9);
    }
    // What else the schedule names is what the options give.
    let otherwise = |buffers: &str, blocking: bool| {
        let all = copied["otherwise"].as_array().unwrap().iter();
        let own = |other: &&Value| {
            other["buffers"] == buffers && other["blocking"] == blocking && other["recorded"] == false
        };
        number(all.clone().find(own).unwrap(), "seconds")
    };
    assert!((otherwise("copy", true) - number(&blocking, "seconds")).abs() < 1e-12);
    assert!((otherwise("zero-copy", false) - number(&shared, "seconds")).abs() < 1e-12);
    // Amdahl's law by hand: nothing hides these kernels.
    let rows = copied["kernels"].as_array().unwrap();
    let all = number(&copied, "seconds");
    let row = |kernel: &str| rows.iter().find(|row| row["kernel"] == kernel).unwrap();
    let free = all / (all - number(row("add"), "seconds"));
    assert!(number(row("add"), "application_gain_if_free") <= free + 1e-9);
    assert!(
        number(row("scale"), "application_gain_at_ceiling")
            < number(row("scale"), "application_gain_if_free")
    );
    assert_eq!((&row("scale")["launches"], &row("add")["launches"]), (&3.into(), &1.into()));
}

#[test]
fn text_and_trace_explain_the_schedule() {
    if !compiles() {
        return;
    }
    let bench = bench(&chain(1 << 18, 100, 20, ""));
    let said = bench.succeed(&["simulate", "chain.toml", "-g", "mali-g610,adreno 620", "--trace", "t.json"]);
    for part in [
        "chain.toml on Mali-G610: 21 launches",
        "chain.toml on Adreno 620: 21 launches",
        "A launch costs the host 60.0 µs (guessed",
        "A launch costs the host 18.7 µs (measured",
        "Recorded, it costs 8.60 µs (measured",
        "upload scale.in: 1 MiB at",
        "launch scale: the host's call",
        "kernel scale: limited by",
        "19 more: kernel scale",
        "read add.sum: 1 MiB",
        "if free",
        "buffers by zero-copy",
        "recorded launches",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let trace: Value = serde_json::from_slice(&bench.read("t.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let kernels = events.iter().filter(|event| event["cat"] == "kernel").count();
    assert_eq!(kernels, 2 * 21);
}

#[test]
fn other_commands_and_options_say_which_way_out() {
    let bench = bench(&chain(64, 1, 2, ""));
    for command in ["analyze", "verdict", "why"] {
        let words = ["chain.toml:2:", "a list of 2 launches", "a file of its own for each launch"];
        bench.refuse(&[command, "chain.toml"], &words);
    }
    let words = ["--energy", "list of launches", "a file of its own"];
    bench.refuse(&["simulate", "chain.toml", "-g", "g610", "--energy"], &words);
    bench.refuse(
        &["simulate", "chain.toml", "-g", "g610", "--global", "64"],
        &["--global", "change it there"],
    );
    bench.refuse(&["simulate", "chain.toml", "-g", "g610", "--buffers", "fast"], &["copy, map, zero-copy"]);
    bench.refuse(&["simulate", "chain.cl", "-g", "g610", "--blocking"], &["--blocking", "list of launches"]);
    let on_virtual = ["run-kernel", "chain.toml", "--device", "virtual:mali-g610"];
    bench.refuse(&on_virtual, &["list of launches", "tripipe simulate chain.toml"]);
}

/// 1 * 0.999 + 0.001 stays 1, so the sum is 2; the launches share their memory.
#[test]
fn run_kernel_runs_the_launches_in_order() {
    if !compiles() {
        return;
    }
    let bench = bench(&chain(64, 5, 2, "expect = { fill = 2, absolute = 1e-6 }"));
    let said = bench.succeed(&["run-kernel", "chain.toml"]);
    assert!(said.contains("chain.toml on Tripipe simulator: 3 launches"), "{said}");
    assert!(said.ends_with("add.sum: 64 numbers as expected, exactly\n"), "{said}");
    let wrong = self::bench(&chain(64, 5, 1, "expect = { fill = 3 }"));
    let output = wrong.run(&["run-kernel", "chain.toml", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [schedule, sum] = &lines[..] else { panic!("{said}") };
    assert_eq!((&schedule["command"], &schedule["predicted"]), (&"schedule".into(), &false.into()));
    assert_eq!((&sum["name"], &sum["comparison"]["differing"]), (&"add.sum".into(), &64.into()));
    let missing = self::bench(&chain(64, 5, 1, "expect = { file = 'none.bin' }"));
    refused(&missing.run(&["run-kernel", "chain.toml"]), &["none.bin"]);
}

/// The trace is recorded from events, the schedule from the executor's times: two ways to the same run. No time itself
/// matters, only that both agree, and that the parts add up.
#[test]
fn a_run_of_20_launches_agrees_with_its_own_trace() {
    if tripipe_opencl::devices().is_err() {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none());
        return;
    }
    let bench = bench(&chain(1 << 16, 400, 19, "expect = { fill = 2, absolute = 1e-3 }"));
    let arguments =
        ["run-kernel", "chain.toml", "--device", "opencl:0", "--format", "json", "--trace", "t.json"];
    let said = done(&bench.command(&arguments).env_remove("TRIPIPE_OPENCL").output().unwrap());
    let run: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    let seconds = number(&run, "seconds");
    assert!((parts(&run) - seconds).abs() < 1e-6, "{run}");
    let steps = run["steps"].as_array().unwrap();
    let of_steps: Vec<f64> =
        steps.iter().filter(|step| step["kind"] == "kernel").map(|step| number(step, "seconds")).collect();
    let trace: Value = serde_json::from_slice(&bench.read("t.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let mut kernels: Vec<&Value> = events.iter().filter(|event| event["cat"] == "kernel").collect();
    // Microseconds.
    let start = |event: &Value| number(event, "ts");
    kernels.sort_by(|a, b| start(a).total_cmp(&start(b)));
    // Before, both launches ran once.
    assert_eq!((of_steps.len(), kernels.len()), (20, 22));
    kernels.drain(..2);
    let end = |event: &Value| start(event) + number(event, "dur");
    let first = kernels.iter().map(|event| start(event)).fold(f64::INFINITY, f64::min);
    let last = kernels.iter().map(|event| end(event)).fold(0.0, f64::max);
    let step_start = |step: &Value| number(step, "start");
    let steps: Vec<&Value> = steps.iter().filter(|step| step["kind"] == "kernel").collect();
    let span = step_start(steps[19]) + number(steps[19], "seconds") - step_start(steps[0]);
    assert!((span * 1e6 / (last - first) - 1.0).abs() < 0.05, "{span}: {} us", last - first);
    let busy: f64 = kernels.iter().map(|event| number(event, "dur")).sum();
    assert!((of_steps.iter().sum::<f64>() * 1e6 / busy - 1.0).abs() < 0.05, "{of_steps:?}: {busy} us");
    // The model adds nothing but the first launch to kernels that are longer than a call.
    assert!(number(&run, "modelled_seconds") <= seconds * 1.05, "{run}");
}

/// A launch that reads past what an earlier one wrote, one that writes past its own memory, and one that is right.
#[test]
fn launches_of_a_list_are_checked_in_order() {
    let bench = Bench::new();
    bench.write(
        "chain.cl",
        "kernel void fill(global float* out, int n) { size_t i = get_global_id(0); if (i < n) out[i] = i; }\n\
         kernel void shift(global const float* in, global float* out) {\n\
             size_t i = get_global_id(0);\n\
             out[i] = in[i + OFFSET];\n\
         }\n",
    );
    let list = |filled: usize, repeat: usize| {
        format!(
            "source = 'chain.cl'\n\
             [[launch]]\nkernel = 'fill'\nglobal = 64\n\
             [[launch.argument]]\nname = 'out'\nbuffer = 'float'\ncount = 64\n\
             [[launch.argument]]\nname = 'n'\nvalue = {filled}\n\
             [[launch]]\nkernel = 'shift'\nglobal = 60\nrepeat = {repeat}\n\
             [[launch.argument]]\nuse = 'fill.out'\n\
             [[launch.argument]]\nname = 'out'\nbuffer = 'float'\ncount = 60\ndump = 'out.npy'\n"
        )
    };
    if !compiles() {
        return;
    }
    let check = |text: &str, offset: usize| {
        bench.write("chain.toml", text);
        let define = format!("-DOFFSET={offset}");
        let output = bench.run(&["check", "chain.toml", "-g", "mali-g78", &define, "--format", "json"]);
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), serde_json::from_str::<Value>(&text).unwrap())
    };
    let (code, clean) = check(&list(64, 1), 4);
    assert_eq!((code, clean["findings"].as_array().unwrap().len()), (Some(0), 0), "{clean}");
    let kernels: Vec<&Value> =
        clean["launches"].as_array().unwrap().iter().map(|launch| &launch["kernel"]).collect();
    assert_eq!(kernels, ["fill", "shift"]);
    let rules = |result: &Value| -> Vec<String> {
        let all = result["findings"].as_array().unwrap().iter();
        all.map(|finding| {
            format!("{} {}", finding["kernel"].as_str().unwrap(), finding["code"].as_str().unwrap())
        })
        .collect()
    };
    let (code, unwritten) = check(&list(32, 9), 4);
    assert_eq!(code, Some(1));
    assert!(rules(&unwritten).iter().any(|rule| rule == "shift uninitialised-value"), "{unwritten}");
    assert!(unwritten["left_out"].to_string().contains("after the second"), "{unwritten}");
    let (_, beyond) = check(&list(64, 1), 5);
    assert!(rules(&beyond).iter().any(|rule| rule == "shift out-of-bounds-read"), "{beyond}");
    assert!(!bench.path().join("out.npy").exists());
}

/// Two chains that share nothing: a host that waits for each launch of one of them lets the other one's run.
#[test]
fn a_second_queue_gains_what_the_first_host_waits_for() {
    if !compiles() {
        return;
    }
    let launch = |queue: &str| {
        format!(
            "[[launch]]\nname = '{queue}'\nqueue = '{queue}'\nkernel = 'scale'\nglobal = 4096\nrepeat = 5\n\
             [[launch.argument]]\nname = 'in'\nbuffer = 'float'\ncount = 4096\naccess = 'read'\n\
             [[launch.argument]]\nname = 'out'\nbuffer = 'float'\ncount = 4096\n\
             [[launch.argument]]\nname = 'rounds'\nvalue = 100\n"
        )
    };
    let bench = bench(&format!("source = 'chain.cl'\n{}{}", launch("left"), launch("right")));
    let options = ["-g", "adreno 620", "--buffers", "zero-copy"];
    let waiting = schedule(&bench, &[&options[..], &["--blocking"]].concat());
    let steps = waiting["steps"].as_array().unwrap();
    let kernels = || steps.iter().filter(|step| step["kind"] == "kernel");
    let seconds = number(kernels().next().unwrap(), "seconds");
    assert!(seconds < 18.7e-6, "shorter than its call: {seconds}");
    let of = |queue: &str| kernels().filter(|step| step["queue"] == queue).count();
    assert_eq!((of("left"), of("right")), (5, 5));
    // Both hosts call at once and the GPU serves one after the other, then each is late by a kernel.
    let two = number(&waiting, "seconds");
    assert!((two - (5.0 * (18.7e-6 + seconds) + seconds)).abs() < 1e-9, "{two}");
    let otherwise = waiting["otherwise"].as_array().unwrap();
    let one = otherwise.iter().find(|other| other["one_queue"] == true).unwrap();
    assert!((number(one, "seconds") - 10.0 * (18.7e-6 + seconds)).abs() < 1e-9, "{one}");
    let text = bench.succeed(&[&["simulate", "chain.toml", "--blocking"], &options[..]].concat());
    for said in ["2 queues", "host left", "gpu right", "all in one queue"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let said = done(&bench.run(&["run-kernel", "chain.toml"]));
    assert!(said.contains("ran in one queue"), "{said}");
}
