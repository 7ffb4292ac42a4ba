//! `tripipe analyze`: a kernel on one GPU, on all of them, with and without a launch; inputs that cannot be analysed.

use serde_json::Value;

use crate::analyze_advice::DOWN;
use crate::run_kernel::compiles;
use crate::{Bench, complaint, done, refused, sarif_shape};

/// The sum of a row of `n` floats, four at a time.
const SUM: &str = "kernel void sum(global const float4* in, global float* out, int n) {\n    \
                   float4 sum = 0;\n    \
                   for (int i = 0; i < n; ++i)\n        \
                       sum += in[i * get_global_size(0) + get_global_id(0)];\n    \
                   out[get_global_id(0)] = sum.x + sum.y + sum.z + sum.w;\n}\n";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("sum.cl", SUM);
    bench
}

fn objects(bench: &Bench, arguments: &[&str]) -> Vec<Value> {
    let text = bench.succeed(&[&["analyze", "sum.cl", "--format", "json"], arguments].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The cost of the longest path in a column, as text.
fn longest(object: &Value, column: &str) -> String {
    match &object["longest_path"]["columns"][column] {
        Value::String(text) => text.clone(),
        number => number.to_string(),
    }
}

#[test]
fn a_loop_of_unknown_length_is_symbolic_until_it_is_known() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let open = &objects(&bench, &["-g", "g77"])[0];
    // An iteration loads 16 bytes for each of 16 adjacent work-items: 4 lines of 64 bytes, a quarter cycle each.
    assert!(longest(open, "LS").ends_with("0.25 n"), "{}", longest(open, "LS"));
    assert_eq!(open["loops"][0]["trips"], "n - 1");
    assert_eq!(open["launch"], Value::Null);
    let known = &objects(&bench, &["-g", "g77", "--arg", "n=64", "--global", "4096", "--local", "64"])[0];
    // 64 loads of 1/4 cycle, and a store of 4 bytes for each of 16 work-items: one line, 1/16 cycle.
    assert_eq!(longest(known, "LS"), "16.0625");
    assert_eq!(known["launch"]["work_items"], 4096);
    // FMA: four additions per iteration and three at the end, 16 lanes on each of 2 engines.
    assert_eq!(longest(known, "FMA"), (f64::from(4 * 64 + 3) / 32.0).to_string());
}

#[test]
fn a_module_and_its_source_cost_the_same() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let build = tripipe_ir::front::clang::Build::default();
    let built = tripipe_ir::front::clang::build_text("sum.cl", SUM, None, &build).unwrap();
    std::fs::write(bench.path().join("sum.spv"), built.spirv).unwrap();
    let cost = |program: &str| {
        let text = bench.succeed(&["analyze", program, "-g", "g77", "--format", "json"]);
        let object: Value = serde_json::from_str(&text).unwrap();
        (object["loops"].clone(), object["left_out"].clone())
    };
    // SPIR-V leaves one more comparison before the loop.
    assert_eq!(cost("sum.spv"), cost("sum.cl"));
}

#[test]
fn neighbours_are_looked_at() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let object = &objects(&bench, &["-g", "g77"])[0];
    let read = object["accesses"].as_array().unwrap().iter().find(|access| access["memory"] == "in").unwrap();
    assert_eq!(
        (&read["stride_bytes"], &read["lines"], &read["coalesced"]),
        (&16.into(), &4.into(), &true.into())
    );
    assert_eq!(read["line"], 4);
}

#[test]
fn every_gpu_has_its_row() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let table = bench.succeed(&["analyze", "sum.cl", "-g", "all"]);
    for gpu in tripipe_device::catalog() {
        assert!(table.lines().any(|line| line.starts_with(gpu.name())), "{}:\n{table}", gpu.name());
    }
    let text = bench.succeed(&["analyze", "sum.cl", "-g", "Adreno 640"]);
    for head in ["Bound by", "ALU", "EFU", "Loops", "times"] {
        assert!(text.contains(head), "{head}:\n{text}");
    }
}

#[test]
fn inputs_that_cannot_be_analysed_are_rejected() {
    let bench = bench();
    bench.write("broken.toml", "source = \n");
    refused(&bench.run(&["analyze", "sum.cl", "-g", "Mali-G6100"]), &["Mali-G610"]);
    refused(&bench.run(&["analyze", "nothing.cl"]), &["nothing.cl"]);
    refused(&bench.run(&["analyze", "broken.toml"]), &["broken.toml:1:10"]);
    if compiles() {
        // Clang's messages, once, and then the line that reports the failure.
        bench.write("broken.cl", "kernel void k(global int* a) { *a = b; }");
        let output = bench.run(&["analyze", "broken.cl"]);
        let said = complaint(&output.stderr);
        assert_eq!((output.status.code(), said.matches("1 error generated").count()), (Some(2), 1), "{said}");
        assert!(said.contains("error: broken.cl does not compile: broken.cl:1:"), "{said}");
        refused(&bench.run(&["analyze", "sum.cl", "-k", "product"]), &["it has `sum`"]);
        refused(&bench.run(&["analyze", "sum.cl", "--arg", "m=3"]), &["it has in, out, n"]);
        refused(&bench.run(&["analyze", "sum.cl", "--arg", "in=3"]), &["not a number"]);
        refused(&bench.run(&["analyze", "sum.cl", "--global", "0"]), &["at least 1"]);
    }
}

#[test]
fn budgets_pass_or_fail() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let run = |budget: &str| {
        let output = bench.run(&["analyze", "sum.cl", "-g", "g77", "--arg", "n=64", "--budget", budget]);
        (output.status.code(), complaint(&output.stderr))
    };
    assert_eq!(run("ls<=16.07,registers<=64,spill<=0,threads>=1024"), (Some(0), String::new()));
    let (code, said) = run("ls<=16,registers<=64");
    assert_eq!((code, &*said), (Some(1), "over budget: sum on Mali-G77: 16.06 cycles, want ls<=16\n"));
    refused(&bench.run(&["analyze", "sum.cl", "--budget", "speed<=1"]), &["speed<=1", "registers"]);
    // A limit that cannot be evaluated is not met: a time without a launch, a symbolic cost, a column of other GPUs.
    let unknown = |arguments: &[&str], says: &[&str]| {
        let output = bench.run(&[&["analyze", "sum.cl"], arguments].concat());
        assert!(output.stdout.is_empty(), "{arguments:?}");
        refused(&output, says);
    };
    unknown(&["-g", "g77", "--arg", "n=64", "--budget", "ms<=1"], &["ms<=1", "--global"]);
    unknown(&["-g", "g77", "--global", "64", "--budget", "ms<=1"], &["ms<=1", "n", "--arg"]);
    unknown(&["-g", "g77", "--budget", "ls<=1"], &["ls<=1", "0.25 n", "--arg"]);
    unknown(&["-g", "t860", "--arg", "n=64", "--budget", "fma<=1"], &["Mali-T860", "A, LS, T"]);
    unknown(&["-g", "740", "--format", "malioc-json"], &["Adreno 740", "Mali"]);
}

/// The fields that readers of version 2 of malioc's `performance` schema expect.
#[test]
fn the_offline_compilers_form() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let read = |arguments: &[&str]| -> Value {
        let text = bench.succeed(&[&["analyze", "sum.cl", "--format", "malioc-json"], arguments].concat());
        serde_json::from_str(&text).unwrap()
    };
    let open = read(&["-g", "g78,t880,Adreno 640"]);
    assert_eq!((&open["schema"]["name"], &open["schema"]["version"]), (&"performance".into(), &2.into()));
    let shaders = open["shaders"].as_array().unwrap();
    assert_eq!(shaders.len(), 2, "no Adreno");
    let pipelines = [
        &["arith_total", "arith_fma", "arith_cvt", "arith_sfu", "load_store", "texture"][..],
        &["arithmetic", "load_store", "texture"],
    ];
    for (shader, pipelines) in shaders.iter().zip(pipelines) {
        let performance = &shader["variants"][0]["performance"];
        assert_eq!(performance["pipelines"], Value::from(pipelines));
        let named: Vec<&Value> =
            shader["hardware"]["pipelines"].as_array().unwrap().iter().map(|each| &each["name"]).collect();
        assert_eq!(named, pipelines);
        // The loop's trip count is unknown.
        let longest = &performance["longest_path_cycles"];
        assert_eq!(longest["cycle_count"], Value::from(vec![Value::Null; pipelines.len()]));
        assert_eq!(longest["bound_pipelines"], Value::from(vec![Value::Null]));
        assert_eq!(performance["total_cycles"]["cycle_count"].as_array().unwrap().len(), pipelines.len());
        let properties = shader["variants"][0]["properties"].as_array().unwrap();
        for name in [
            "work_registers_used",
            "uniform_registers_used",
            "thread_occupancy",
            "has_stack_spilling",
            "fp16_arithmetic",
        ] {
            assert!(properties.iter().any(|property| property["name"] == name), "{name}");
        }
    }
    // On a G78, an FMA instruction costs 1/64 and a message 1: 64 iterations of four additions, and three more.
    let known = read(&["-g", "g78", "--arg", "n=64"]);
    let counts = &known["shaders"][0]["variants"][0]["performance"]["longest_path_cycles"]["cycle_count"];
    assert_eq!(counts[1], f64::from(4 * 64 + 3) / 64.0);
    assert_eq!(counts[4], 65.0);
}

/// The rows of a sparse matrix: how often the loop runs is in memory, which is guessed without a launch file.
#[test]
fn counts_from_guessed_memory_are_said() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let rows =
        "kernel void rows(global const int *start, global const float *in, global float *out, int count) {
        int r = get_global_id(0);
        if (r >= count) return;
        float sum = 0;
        for (int k = start[r]; k < start[r + 1]; k++) sum += in[k];
        out[r] = sum;
    }";
    bench.write("rows.cl", rows);
    let guessed = ["analyze", "rows.cl", "-g", "g77", "--global", "64", "--arg", "count=64"];
    let output = bench.run(&guessed);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("time of `rows` depends on the contents of memory, which are guessed"), "{said}");
}

#[test]
fn differences_are_shown() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("down.cl", DOWN);
    bench.write("old.json", bench.succeed(&["analyze", "down.cl", "-g", "640,g77", "--format", "json"]));
    let again = bench.succeed(&["analyze", "down.cl", "-g", "640,g77", "--diff", "old.json"]);
    assert_eq!(again, "down on Adreno 640: unchanged\ndown on Mali-G77: unchanged\n");
    // Dimension 0 along the row: each access of a warp of 16 touches one line instead of 16, so 2/16 of 2.
    let along = DOWN
        .replace("y = get_global_id(0), x = get_global_id(1)", "y = get_global_id(1), x = get_global_id(0)");
    bench.write("down.cl", along);
    let worse = bench.succeed(&["analyze", "down.cl", "-g", "g77", "--format", "json"]);
    bench.write("along.json", worse);
    let now = bench.succeed(&["analyze", "down.cl", "-g", "g77", "--diff", "old.json"]);
    assert!(now.starts_with("down on Mali-G77: ") && now.contains("LS 2 -> 0.12 (-94%)"), "{now}");
    assert!(now.ends_with("down on Adreno 640: removed\n"), "{now}");
    // In the other direction it is worse, which the exit code reports in every format.
    bench.write("down.cl", DOWN);
    let form = |form: &str| {
        let output =
            bench.run(&["analyze", "down.cl", "-g", "g77", "--diff", "along.json", "--format", form]);
        assert_eq!(output.status.code(), Some(1), "{form}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(form("text").contains("LS 0.12 -> 2 (+1500%)"));
    let object: Value = serde_json::from_str(&form("json")).unwrap();
    assert_eq!((&object["status"], &object["gpu"]), (&"worse".into(), &"Mali-G77".into()));
    let slower = object["changes"].as_array().unwrap().iter().find(|change| change["what"] == "LS").unwrap();
    assert_eq!((&slower["after"], &slower["worse"]), (&2.0.into(), &true.into()));
    let log: Value = serde_json::from_str(&form("sarif")).unwrap();
    sarif_shape::check(&log);
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "worse-than-before");
    assert!(form("markdown").contains("| `down` | Mali-G77 | LS | 0.12 | 2 | worse |"));
    let offline = ["analyze", "down.cl", "--diff", "along.json", "--format", "malioc-json"];
    refused(&bench.run(&offline), &["malioc-json"]);
    bench.write("old.json", "{}\n");
    refused(&bench.run(&["analyze", "down.cl", "--diff", "old.json"]), &["old.json:1", "--format json"]);
}

/// Each work-item reads 256 bytes from the next one's location, in a function that clang does not inline.
const CALLED: &str = "__attribute__((noinline)) float twice(global const float* in, int at) {\n    \
                      float sum = 0;\n    \
                      for (int i = 0; i < at; ++i)\n        \
                          sum += in[at * 64 + i * 64];\n    \
                      return sum * 2;\n}\n\
                      kernel void k(global const float* in, global float* out) {\n    \
                      int i = get_global_id(0);\n    \
                      out[i] = twice(in, i);\n}\n";

#[test]
fn inlined_code_has_the_lines_of_its_function() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("called.cl", CALLED);
    let text = bench.succeed(&["analyze", "called.cl", "-g", "g77", "--format", "json"]);
    let object: Value = serde_json::from_str(&text).unwrap();
    let read = object["accesses"].as_array().unwrap().iter().find(|access| access["memory"] == "in").unwrap();
    assert_eq!((&read["line"], &read["called_from"]), (&4.into(), &9.into()));
    assert!([3, 4].map(Value::from).contains(&object["loops"][0]["line"]), "{}", object["loops"]);
    assert!(object["lines"].as_array().unwrap().iter().any(|line| line["line"] == 4));
    let scattered = |object: &Value| {
        let advice = object["advice"].as_array().unwrap().iter();
        advice
            .filter(|advice| advice["code"] == "scattered-access")
            .map(|advice| advice["line"].clone())
            .next()
    };
    assert_eq!(scattered(&object), Some(4.into()));
    let text = bench.succeed(&["analyze", "called.cl", "-g", "g77"]);
    assert!(text.contains("warning[scattered-access] line 4 (called from line 9):"), "{text}");
    let sarif: Value =
        serde_json::from_str(&bench.succeed(&["analyze", "called.cl", "-g", "g77", "--format", "sarif"]))
            .unwrap();
    sarif_shape::check(&sarif);
    let result = sarif["runs"][0]["results"].as_array().unwrap();
    let result = result.iter().find(|result| result["ruleId"] == "scattered-access").unwrap();
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 4);
    assert_eq!(result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 9);
    // A comment in the function suppresses it, and so does one at the call.
    for (line, comment) in [
        ("        sum +=", "        // tripipe: allow scattered-access\n        sum +="),
        ("    out[i]", "    // tripipe: allow scattered-access\n    out[i]"),
    ] {
        bench.write("called.cl", CALLED.replace(line, comment));
        let text = bench.succeed(&["analyze", "called.cl", "-g", "g77", "--format", "json"]);
        assert_eq!(scattered(&serde_json::from_str(&text).unwrap()), None, "{line}");
    }
}

/// A vector as in BLAS: every `x_inc`-th element.
const STRIDED: &str = "kernel void total(global const float* x, global float* out, int n, int x_inc) {\n    \
                       float sum = 0;\n    \
                       for (int i = get_global_id(0); i < n; i += get_global_size(0))\n        \
                           sum += x[i * x_inc];\n    \
                       out[get_global_id(0)] = sum;\n}\n";

#[test]
fn a_stride_that_is_an_argument_is_named() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("total.cl", STRIDED);
    let read = |arguments: &[&str]| -> Value {
        let arguments = [&["analyze", "total.cl", "-g", "g77", "--format", "json"], arguments].concat();
        let object: Value = serde_json::from_str(&bench.succeed(&arguments)).unwrap();
        let accesses = object["accesses"].as_array().unwrap();
        accesses.iter().find(|access| access["memory"] == "x").unwrap().clone()
    };
    // A warp of 16 reads 4 bytes each: one line of 64 if they are adjacent, 16 lines if each has its own.
    let open = read(&[]);
    assert_eq!(
        (&open["stride_argument"], &open["lines_if_one"], &open["lines"], &open["lines_known"]),
        (&"x_inc".into(), &1.into(), &16.into(), &false.into())
    );
    let text = bench.succeed(&["analyze", "total.cl", "-g", "g77"]);
    for part in ["scattered unless x_inc is 1", "`--arg x_inc=1`", "1-16"] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    for (value, lines) in [("x_inc=1", 1), ("x_inc=2", 2), ("x_inc=16", 16)] {
        let known = read(&["--arg", value]);
        assert_eq!((&known["lines"], &known["stride_argument"]), (&lines.into(), &Value::Null), "{value}");
    }
    assert!(!bench.succeed(&["analyze", "total.cl", "-g", "g77", "--arg", "x_inc=1"]).contains("scattered"));
}

#[test]
fn a_work_group_that_the_gpu_does_not_run_is_an_error() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let most = tripipe_device::find("g77").unwrap().core.max_work_group_size.value;
    bench.write("sum.cl", SUM);
    let run = |arguments: &[&str]| bench.run(&[&["analyze", "sum.cl", "-g", "g77"], arguments].concat());
    assert_eq!(run(&["--local", &most.to_string()]).status.code(), Some(0));
    let output = run(&["--local", &(most + 1).to_string()]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("error[oversized-work-group]") && said.contains("Change first (oversized"),
        "{said}"
    );
    assert_eq!(run(&["--local", "4096", "--allow", "oversized-work-group"]).status.code(), Some(0));
    bench.write("sum.cl", format!("__attribute__((reqd_work_group_size(64, 64, 1))) {SUM}"));
    assert_eq!(run(&[]).status.code(), Some(1));
    refused(&run(&["--local", "64"]), &["64,64,1", "reqd_work_group_size"]);
}

#[test]
fn programs_are_read_from_standard_input() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let by_name = bench.succeed(&["analyze", "sum.cl", "-g", "g77,640"]);
    bench.write("broken.cl", "kernel void k(global int* a) { *a = b; }");
    let piped = |name: &str, gpus: &str| {
        let file = std::fs::File::open(bench.path().join(name)).unwrap();
        bench.command(&["analyze", "-", "-g", gpus]).stdin(file).output().unwrap()
    };
    assert_eq!(done(&piped("sum.cl", "g77,640")), by_name);
    let broken = piped("broken.cl", "g77");
    let said = complaint(&broken.stderr);
    assert!(broken.status.code() == Some(2) && said.contains("<stdin>:1:"), "{said}");
}

/// The output contains no internal names of the IR, and no negative zero.
#[test]
fn unnamed_values_are_described() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "k.cl",
        "kernel void k(global const int* starts, global float* x) {\n    int i = get_global_id(0);\n    \
         for (int at = starts[i]; at < starts[i + 1]; ++at) x[at] *= 2;\n}\n",
    );
    for gpu in ["g77", "t860", "640"] {
        let text = bench.succeed(&["analyze", "k.cl", "-g", gpu]);
        let is_internal = |word: &str| {
            let digits = word.trim_start_matches(['%', 'b']);
            digits.len() < word.len()
                && !digits.is_empty()
                && digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        let words =
            text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '%')).filter(|word| !word.is_empty());
        assert_eq!(words.filter(|word| is_internal(word)).collect::<Vec<_>>(), [""; 0], "{text}");
        assert!(!text.contains("-0.0"), "{text}");
    }
}

/// The predicted time is never below the lower bound, and what is missing for one is said.
#[test]
fn a_known_launch_has_a_predicted_time() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let launch = ["-g", "t604,g77,640", "--global", "65536", "--local", "64", "--arg", "n=64"];
    for object in objects(&bench, &launch) {
        let seconds = object["prediction"]["seconds"].as_f64().unwrap();
        assert!(seconds >= object["launch"]["milliseconds"].as_f64().unwrap() * 1e-3, "{object}");
        assert_eq!(object["prediction"]["local"], serde_json::json!([64, 1, 1]));
        assert_eq!(object["prediction"]["local_chosen_by"], "launch");
        assert!(object["prediction"]["error_band"][1].as_f64().unwrap() >= seconds);
        assert!(object["prediction_missing"].is_null());
    }
    let text = bench.succeed(&[&["analyze", "sum.cl"], &launch[..]].concat());
    assert!(text.lines().any(|line| line.ends_with("predicted")), "{text}");
    for (format, arguments, words) in [
        ("text", &["-g", "g77"][..], "No predicted time: the launch is not known; give --global"),
        ("text", &["-g", "g77", "--global", "64"], "argument `n` is not known; give --arg n=..."),
        ("text", &["-g", "g77", "--global", "64", "--arg", "n=4"], "Predicted time: "),
        ("markdown", &["-g", "g77", "--global", "64", "--arg", "n=4"], "Predicted time: "),
        ("markdown", &["-g", "g77"], "No predicted time: "),
        (
            "text",
            &["-g", "all", "--global", "64", "--arg", "n=4"],
            "No predicted time: with more than 8 GPUs",
        ),
        ("json", &["-g", "g77"], "\"prediction_missing\":\"the launch is not known"),
    ] {
        let said = bench.succeed(&[&["analyze", "sum.cl", "--format", format], arguments].concat());
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(words), "{words}:\n{said}");
    }
    let template = bench.succeed(&["template", "sum.cl", "--global", "64"]);
    bench.write("sum.toml", template);
    // With one step more the buffer is too small for what the kernel reads. A GPU goes on, and so does the prediction.
    let output = bench.run(&["analyze", "sum.toml", "-g", "g77", "--arg", "n=65"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("Predicted time: "), "{said}");
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("of `in`, which has 65536 bytes; zeros are loaded there"), "{notes}");
    assert_eq!(notes.lines().count(), 1, "{notes}");
}
