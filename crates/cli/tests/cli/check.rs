//! `tripipe check`: launch files with and without bugs, in every format; inputs that cannot be checked.

use std::process::Output;

use serde_json::{Value, json};
use tripipe_simulate::watch::rules::ALL;

use crate::run_kernel::compiles;
use crate::{Bench, complaint, refused, sarif_shape};

pub(crate) const SCALE: &str = "kernel void scale(global const float* in, global float* out, float factor) {\n    \
                     size_t i = get_global_id(0);\n    out[i] = in[i] * factor;\n}\n";

/// `scale` run by `global` work-items over four numbers.
pub(crate) fn scale(global: usize) -> String {
    format!(
        "source = 'scale.cl'\nglobal = {global}\nlocal = 2\n\
         [[argument]]\nname = 'in'\nbuffer = 'float'\nvalues = [1, 2, 3, -0.5]\naccess = 'read'\n\
         [[argument]]\nname = 'out'\nbuffer = 'float'\ncount = 4\n\
         [[argument]]\nname = 'factor'\nvalue = 0.5\n"
    )
}

/// A folder with `scale`: `clean.toml` has no bug, `bug.toml` has two work-items too many.
pub(crate) fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("scale.cl", SCALE);
    bench.write("clean.toml", scale(4));
    bench.write("bug.toml", scale(6));
    bench
}

/// The standard output of a run that ends with that exit code and writes nothing else.
pub(crate) fn said(output: Output, code: i32) -> String {
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), complaint(&output.stderr));
    assert_eq!((output.status.code(), &*err), (Some(code), ""), "{out}");
    // There are more with each rule.
    out.replace(&format!("({} checks)", ALL.len()), "(all checks)")
}

/// The codes of the findings, in order.
pub(crate) fn codes(bench: &Bench, arguments: &[&str]) -> Vec<String> {
    let output = bench.run(&[&["check", "--format", "json"], arguments].concat());
    let code = output.status.code();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(code, Some(i32::from(!findings.is_empty())), "{report}");
    findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_bug_is_shown_in_its_line() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let clean =
        "checked: `scale`, 4 x 1 x 1 work-items in work-groups of 2 x 1 x 1\nno findings (all checks)\n";
    assert_eq!(said(bench.run(&["check", "clean.toml"]), 0), clean);

    // Elements 4 and 5 of four: bytes 16 to 23 of 16.
    let found = "error[out-of-bounds-write]: writes 4 bytes at offset 16 of `out`, which has 16 bytes
 --> scale.cl:3:12
  |
3 |     out[i] = in[i] * factor;
  |            ^
  |
  = kernel: scale
  = work-item: global (4, 0, 0), local (0, 0, 0), group (2, 0, 0)
  = memory: bytes 16 to 19 of `out` (global, 16 bytes), directly after its end
  = count: and 1 more time
help: Compare the index with the size before the access, or make the object larger.
explain: tripipe explain out-of-bounds-write

error[out-of-bounds-read]: reads 4 bytes at offset 16 of `in`, which has 16 bytes
 --> scale.cl:3:14
  |
3 |     out[i] = in[i] * factor;
  |              ^
  |
  = kernel: scale
  = work-item: global (4, 0, 0), local (0, 0, 0), group (2, 0, 0)
  = memory: bytes 16 to 19 of `in` (global, 16 bytes), directly after its end
  = count: and 1 more time
help: Compare the index with the size before the access, or make the object larger.
explain: tripipe explain out-of-bounds-read

checked: `scale`, 6 x 1 x 1 work-items in work-groups of 2 x 1 x 1
2 errors (all checks)
";
    assert_eq!(said(bench.run(&["check", "bug.toml"]), 1), found);
    // The same launch in Oclgrind's format.
    bench.write(
        "bug.sim",
        "scale.cl scale\n6 1 1\n2 1 1\n<size=16 float> 1 2 3 -0.5\n<size=16 noinit>\n<size=4> 0.5\n",
    );
    assert_eq!(said(bench.run(&["check", "bug.sim"]), 1), found);
}

#[test]
fn findings_as_json() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let mut report: Value =
        serde_json::from_str(&said(bench.run(&["check", "bug.toml", "--format", "json"]), 1)).unwrap();
    // Every key that docs/findings.md lists, and no others.
    assert!(report["launches"][0]["seconds"].take().as_f64().unwrap() > 0.0);
    assert_eq!(
        report["launches"],
        json!([{ "kernel": "scale", "global": [6, 1, 1], "local": [2, 1, 1], "seconds": null }])
    );
    assert_eq!(report["checks"].as_array().unwrap().len(), ALL.len());
    assert_eq!(report["findings"].as_array().unwrap().len(), 2);
    let source = String::from_utf8(bench.read("scale.cl")).unwrap();
    let line = source.lines().nth(2).unwrap();
    assert_eq!(
        report["findings"][1],
        json!({
            "code": "out-of-bounds-read",
            "severity": "error",
            "message": "reads 4 bytes at offset 16 of `in`, which has 16 bytes",
            "fix": "Compare the index with the size before the access, or make the object larger.",
            "kernel": "scale",
            "location": { "file": "scale.cl", "line": 3, "column": 14, "text": line, "first_line": 1,
                "lines": source.lines().take(5).collect::<Vec<_>>() },
            "instruction": report["findings"][1]["instruction"],
            "count": 2,
            "work_item": { "global": [4, 0, 0], "local": [0, 0, 0], "group": [2, 0, 0] },
            "memory": { "object": "in", "space": "global", "object_bytes": 16, "offset": 16, "bytes": 4 },
            "related": [],
        })
    );
    assert!(report["findings"][1]["instruction"].as_str().unwrap().contains("load"));
    let rest = report.as_object_mut().unwrap();
    for known in ["launches", "checks", "findings"] {
        rest.remove(known);
    }
    assert_eq!(
        report,
        json!({ "command": "check", "version": 2, "left_out": [], "errors": 2, "warnings": 0, "notes": 0 })
    );
}

#[test]
fn findings_as_sarif() {
    if !compiles() {
        return;
    }
    let bench = bench();
    for (file, code, results) in [("bug.toml", 1, 2), ("clean.toml", 0, 0)] {
        let log: Value =
            serde_json::from_str(&said(bench.run(&["check", file, "--format", "sarif"]), code)).unwrap();
        sarif_shape::check(&log);
        let run = &log["runs"][0];
        assert_eq!(run["results"].as_array().unwrap().len(), results);
        if results > 0 {
            let result = &run["results"][0];
            assert_eq!(
                (&result["ruleId"], &result["level"]),
                (&"out-of-bounds-write".into(), &"error".into())
            );
            let place = &result["locations"][0]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], "scale.cl");
            assert_eq!(place["region"]["startLine"], 3);
            assert_eq!(place["region"]["startColumn"], 12);
        }
    }
}

#[test]
fn checks_are_chosen() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let (read, write) = ("out-of-bounds-read", "out-of-bounds-write");
    let only = ["bug.toml", "--allow", "all", "--deny", read];
    assert_eq!(codes(&bench, &only), [read]);
    assert_eq!(codes(&bench, &[&only[..], &["--deny", write]].concat()), [write, read]);
    assert_eq!(codes(&bench, &["bug.toml", "--allow", read]), [write]);
    assert!(codes(&bench, &["bug.toml", "--allow", read, "--allow", write]).is_empty());
    assert!(codes(&bench, &["bug.toml", "--allow", "all"]).is_empty());
    // What is allowed by its own name is not denied.
    assert_eq!(codes(&bench, &["bug.toml", "--deny", read, "--allow", read]), [write]);
    let said = said(bench.run(&["check", "bug.toml", "--allow", "all", "--deny", "data-race"]), 0);
    assert!(said.ends_with("no findings (1 check)\n"), "{said}");
    let refuse = |arguments: &[&str], words: &[&str]| {
        bench.refuse(&[&["check", "bug.toml"], arguments].concat(), words);
    };
    refuse(&["--deny", "out-of-bound-read"], &["`out-of-bound-read`", "did you mean out-of-bounds-read?"]);
    refuse(&["--allow", "zzz"], &["`zzz`", "`tripipe explain` lists them"]);
}

/// A note does not set the exit code by itself.
#[test]
fn a_denied_note_is_a_failure() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("spare.cl", SPARE);
    bench.write("note.toml", SPARE_LAUNCH);
    let code = "unused-argument";
    said(bench.run(&["check", "note.toml"]), 0);
    said(bench.run(&["check", "note.toml", "--deny", code]), 1);
}

#[test]
fn limits_are_those_of_the_gpu() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let large = scale(2048).replace("local = 2", "local = 2048").replace("count = 4", "count = 2048");
    bench.write("large.toml", large.replace("values = [1, 2, 3, -0.5]", "count = 2048\nfill = 1"));
    said(bench.run(&["check", "large.toml"]), 0);
    // Arm's guide to OpenCL on Valhall: at most 1024 work-items.
    bench.refuse(
        &["check", "large.toml", "--gpu", "Mali-G610"],
        &["`scale`", "2048", "a work-group has at most 1024 work-items"],
    );
    said(bench.run(&["check", "clean.toml", "--gpu", "Mali-G610"]), 0);
    bench.refuse(
        &["check", "clean.toml", "--gpu", "Mali-G6100"],
        &["\"Mali-G6100\"", "did you mean Mali-G610"],
    );
    bench.refuse(&["check", "clean.toml", "--gpu", "zzz"], &["\"zzz\"", "tripipe devices --models"]);
}

#[test]
fn endless_kernels_are_stopped() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "endless.cl",
        "kernel void endless(global int* a) {\n    size_t i = get_global_id(0);\n    while (a[i] == 0)\n        \
         a[i + 2]++;\n}\nkernel void waits(global int* a) {\n    while (a[get_global_id(0)] == 0)\n        ;\n}\n",
    );
    let launch = |kernel: &str| {
        format!(
            "source = 'endless.cl'\nkernel = '{kernel}'\nglobal = 2\n[[argument]]\nbuffer = 'int'\ncount = 4\nfill = 0\n"
        )
    };
    bench.write("endless.toml", launch("endless"));
    let ended = said(bench.run(&["check", "endless.toml", "--limit-steps", "10000"]), 1);
    let first = "warning[infinite-loop]: ran 10000 instructions without reaching its end\n --> endless.cl:";
    assert!(ended.starts_with(first) && ended.contains("work-item: global (0, 0, 0)"), "{ended}");
    // A loop that waits for memory that never changes is detected before the step limit.
    bench.write("waits.toml", launch("waits"));
    let ended = said(bench.run(&["check", "waits.toml", "--allow", "all", "--deny", "infinite-loop"]), 1);
    let first = "warning[infinite-loop]: waits for a change of memory that never comes";
    assert!(ended.starts_with(first) && ended.contains(" --> endless.cl:7:"), "{ended}");

    // No loop, only a lot of work: the message says how far it got.
    bench.write(
        "many.cl",
        "kernel void many(global int* a) {\n    if (get_global_id(0) == 0)\n        a[0] = 1;\n}\n",
    );
    bench.write(
        "many.toml",
        "source = 'many.cl'\nglobal = 1000000\nlocal = 64\n[[argument]]\nbuffer = 'int'\ncount = 1\n",
    );
    let ended = said(bench.run(&["check", "many.toml", "--limit-steps", "10000"]), 1);
    assert!(
        ended.contains(" of 15625 work-groups were\n") && ended.contains("use a smaller launch"),
        "{ended}"
    );
}

/// Race detection counts work-items in 32 bits.
#[test]
fn skipped_race_checks_are_reported() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "huge.cl",
        "kernel void huge(global int *a) {\n    a[get_global_id(0) / 8589934592] = 1;\n}\n",
    );
    let launch = |global: &str| {
        format!(
            "source = 'huge.cl'\nglobal = {global}\nlocal = 64\n[[argument]]\nbuffer = 'int'\ncount = 1\n"
        )
    };
    bench.write("huge.toml", launch("8589934592"));
    bench.write("small.toml", launch("128"));
    // Another order starts with another group, one after the first 2^32 work-items.
    let only = ["--allow", "all", "--deny", "same-value-race"];
    let check = [&["--limit-steps", "10000", "--schedules", "4"], &only[..]].concat();
    let huge = said(bench.run(&[&["check", "huge.toml"], &check[..]].concat()), 1);
    assert!(huge.contains("\nnot checked: races after the first 4294967295 work-items"), "{huge}");
    assert!(!said(bench.run(&[&["check", "small.toml"], &check[..]].concat()), 1).contains("not checked"));
}

#[test]
fn printf_output_comes_before_findings() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("say.cl", "kernel void say(global int *a) {\n    printf(\"%d %f\\n\", a[0], 0.5f);\n}\n");
    bench.write("say.toml", "source = 'say.cl'\nglobal = 1\n[[argument]]\nbuffer = 'int'\nvalues = [42]\n");
    let text = said(bench.run(&["check", "say.toml", "--schedules", "3"]), 0);
    assert!(text.starts_with("42 0.500000\nchecked: `say`"), "{text}");
    let json = said(bench.run(&["check", "say.toml", "--format", "json"]), 0);
    assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
}

#[test]
fn inputs_that_cannot_be_checked_are_rejected() {
    let bench = bench();
    let refuse = |file: &str, words: &[&str]| bench.refuse(&["check", file], words);
    refuse("missing.toml", &["missing.toml cannot be read", "check the path"]);
    refuse(".", &[". is a folder"]);
    bench.write("broken.toml", scale(4).replace("local = 2", "local == 2"));
    refuse("broken.toml", &["broken.toml:3:8: not TOML"]);
    bench.write("key.toml", scale(4).replace("count = 4", "coutn = 4"));
    refuse("key.toml", &["key.toml:12:1: unknown key `coutn`", "did you mean `count`?"]);
    bench.write("gone.toml", scale(4).replace("scale.cl", "gone.cl"));
    refuse("gone.toml", &["gone.cl cannot be read"]);
    bench.write("broken.sim", "scale.cl scale\n4 1\n");
    refuse("broken.sim", &["broken.sim:2"]);
    bench.write("module.toml", scale(4).replace("source = 'scale.cl'", "spirv = 'scale.cl'"));
    refuse("module.toml", &["scale.cl"]);

    // This machine has no compiler.
    let mut command = bench.command(&["check", "clean.toml"]);
    command.env("PATH", bench.path()).env_remove("TRIPIPE_CLANG").env_remove("TRIPIPE_LLVM_SPIRV");
    refused(&command.output().unwrap(), &["no clang found", "clang-15", "TRIPIPE_CLANG"]);

    if !compiles() {
        return;
    }
    bench.write("scale.cl", SCALE.replace("* factor", "* facto"));
    let output = bench.run(&["check", "clean.toml"]);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]));
    let complaint = complaint(&output.stderr);
    assert!(complaint.contains("    out[i] = in[i] * facto;\n") && complaint.contains('^'), "{complaint}");
    let last = complaint.lines().last().unwrap();
    assert!(last.starts_with("error: scale.cl does not compile: scale.cl:3:22: error: "), "{complaint}");
    bench.write("scale.cl", SCALE);
    bench.write("none.toml", scale(4).replace("global", "kernel = 'none'\nglobal"));
    refuse("none.toml", &["`none`", "scale"]);
}

/// A kernel with an unused argument and no other finding.
const SPARE: &str = "kernel void k(global int *out, int spare) {\n    out[get_global_id(0)] = 1;\n}\n";

const SPARE_LAUNCH: &str = "source = 'spare.cl'\nglobal = 4\n[[argument]]\nbuffer = 'int'\ncount = 4\n\
                            [[argument]]\nvalue = 1\n";

#[test]
fn the_exit_code_depends_on_findings_and_threshold() {
    if !compiles() {
        return;
    }
    let bench = bench();
    bench.write("spare.cl", SPARE);
    bench.write("spare.toml", SPARE_LAUNCH);
    // A note only: it is shown, and is a failure only on request.
    let text = said(bench.run(&["check", "spare.toml"]), 0);
    assert!(text.starts_with("note[unused-argument]") && text.ends_with("1 note (all checks)\n"), "{text}");
    assert_eq!(said(bench.run(&["check", "spare.toml", "--fail-on", "note"]), 1), text);
    // Signed overflow is a warning.
    bench.write(
        "sum.cl",
        "kernel void k(global int *out, int a) { out[get_global_id(0)] = a + 2147483647; }\n",
    );
    bench.write("sum.toml", SPARE_LAUNCH.replace("spare", "sum"));
    said(bench.run(&["check", "sum.toml"]), 1);
    said(bench.run(&["check", "sum.toml", "--fail-on", "error"]), 0);
    // Errors are always failures.
    said(bench.run(&["check", "bug.toml", "--fail-on", "error"]), 1);
    bench.refuse(&["check", "bug.toml", "--fail-on", "never"], &["--fail-on"]);
}

#[test]
fn comments_in_the_source_suppress_findings() {
    if !compiles() {
        return;
    }
    let bench = bench();
    bench.write(
        "scale.cl",
        SCALE.replace("    out[i]", "    // tripipe: allow out-of-bounds-write\n    out[i]"),
    );
    assert_eq!(codes(&bench, &["bug.toml"]), ["out-of-bounds-read"]);
    let both = "    out[i] = in[i] * factor; // tripipe: allow out-of-bounds-write, out-of-bounds-read\n";
    bench.write("scale.cl", SCALE.replace("    out[i] = in[i] * factor;\n", both));
    assert!(said(bench.run(&["check", "bug.toml"]), 0).ends_with("no findings (all checks)\n"));
    // A finding about the kernel as a whole is suppressed at the declaration.
    bench.write("spare.cl", format!("// tripipe: allow unused-argument\n{SPARE}"));
    bench.write("spare.toml", SPARE_LAUNCH);
    said(bench.run(&["check", "spare.toml", "--fail-on", "note"]), 0);
    // A longer code that starts with this one does not match.
    bench.write("spare.cl", format!("// tripipe: allow unused-argument-of-mine\n{SPARE}"));
    said(bench.run(&["check", "spare.toml", "--fail-on", "note"]), 1);
}

#[test]
fn includes_are_found_beside_the_source_and_where_options_say() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path().join("more/launch")).unwrap();
    let source = "#include \"own.h\"\n#include \"more.h\"\n\
                  kernel void k(global int *out) { out[get_global_id(0)] = OWN + MORE; }\n";
    bench.write("own.cl", source);
    bench.write("own.h", "#define OWN 1\n");
    bench.write("more/more.h", "#ifdef WITH\n#define MORE WITH\n#endif\n");
    let options = ["-I", "more", "-D", "WITH=20"];
    // By its bare name or by another path.
    for name in ["own.cl", "./own.cl"] {
        let launch = bench.succeed(&[&["template", name][..], &options].concat());
        assert!(launch.contains("options = \"-D WITH=20 -I more\""), "{launch}");
        bench.succeed(&[&["analyze", name, "-g", "g77"][..], &options].concat());
    }
    bench.refuse_said(&["template", "own.cl"], &["own.cl does not compile", "more.h"]);
    // Folders on the command line are relative to the working folder, wherever the launch file is.
    let launch = "source = '../../own.cl'\nglobal = 2\n[[argument]]\nbuffer = 'int'\ncount = 2\ndump = true\n\
                  expect = { values = [21, 21] }\n";
    bench.write("more/launch/own.toml", launch);
    for command in ["check", "run-kernel"] {
        bench.succeed(&[&[command, "more/launch/own.toml"][..], &options].concat());
    }
    // Definitions on the command line override those of the file.
    bench.write("more/launch/own.toml", format!("options = '-D WITH=5 -I ..'\n{launch}"));
    bench.succeed(&["run-kernel", "more/launch/own.toml", "-DWITH=20"]);
    assert_eq!(bench.run(&["run-kernel", "more/launch/own.toml"]).status.code(), Some(1));
    // A SPIR-V module is not compiled.
    bench.write("module.toml", "spirv = 'k.spv'\nglobal = 1\n");
    bench.refuse(&["check", "module.toml", "-D", "N=1"], &["k.spv is SPIR-V", "-D"]);
}

#[test]
fn a_launch_file_may_come_from_a_pipe() {
    if !compiles() {
        return;
    }
    let bench = bench();
    for (launch, code) in [("clean.toml", 0), ("bug.toml", 1)] {
        let mut command = bench.command(&["check", "-"]);
        command.stdin(std::fs::File::open(bench.path().join(launch)).unwrap());
        assert_eq!(
            said(command.output().unwrap(), code),
            said(bench.run(&["check", launch]), code),
            "{launch}"
        );
    }
    let mut command = bench.command(&["run-kernel", "-"]);
    bench.write("broken.toml", "source = 3\n");
    command.stdin(std::fs::File::open(bench.path().join("broken.toml")).unwrap());
    refused(&command.output().unwrap(), &["standard input:1:10"]);
}

#[test]
fn buffers_without_bytes_in_the_sim_form() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let launch = |items: u32, size: &str| {
        format!("scale.cl scale\n{items} 1 1\n1 1 1\n<size=16 fill=1>\n{size}\n<size=4> 0.5\n")
    };
    bench.write("empty.sim", launch(1, "<size=0>"));
    assert_eq!(codes(&bench, &["empty.sim"]), ["null-pointer"]);
    bench.write("whole.sim", launch(4, "<size=16>"));
    bench.refuse(&["check", "whole.sim"], &["whole.sim:5:1", "16 bytes"]);
}

#[test]
fn a_name_with_a_line_end_is_a_name() {
    if !compiles() {
        return;
    }
    let bench = bench();
    bench.write("two\nlines.cl", SCALE);
    bench.write("odd.toml", scale(6).replace("'scale.cl'", "\"two\\nlines.cl\""));
    assert_eq!(codes(&bench, &["odd.toml"]), ["out-of-bounds-write", "out-of-bounds-read"]);
}

/// Both sides of a race are named: the other one is never the work-item itself, even if its own read came last.
#[test]
fn a_race_is_between_two_work_items() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let first_reads_all = "\
kernel void sum(global float *p, global float *total, int n) {
    size_t i = get_global_id(0);
    float all = 0;
    if (i == 0)
        for (int j = 0; j < n; j++)
            all += p[j];
    p[i] = p[i] + 1;
    if (i == 0)
        total[0] = all;
}
";
    let all_read_all = "\
kernel void sum(global float *p, global float *total, int n) {
    size_t i = get_global_id(0);
    float all = 0;
    for (int j = 0; j < n; j++)
        all += p[j];
    p[i] = p[i] + all;
    if (i == 0)
        total[0] = all;
}
";
    for (source, line) in [(first_reads_all, 6), (all_read_all, 5)] {
        bench.write("sum.cl", source);
        let sizes = ["--global", "64", "--local", "64", "--arg", "n=64"];
        let output = bench.run(&[&["check", "sum.cl", "--format", "json"], &sizes[..]].concat());
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let races = found["findings"].as_array().unwrap();
        let race = races.iter().find(|finding| finding["code"] == "data-race").unwrap();
        let [other] = &race["related"].as_array().unwrap()[..] else { panic!("{race}") };
        assert_ne!(other["work_item"], race["work_item"], "{race}");
        assert_eq!(other["location"]["line"], line, "{race}");
    }
}
