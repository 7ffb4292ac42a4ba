//! What real drivers do wrong: `tripipe check --driver`, `tripipe devices --drivers`, and verdicts on virtual drivers that do
//! it, too (`TRIPIPE_INJECT`).

use serde_json::Value;

use crate::layer::built;
use crate::run_kernel::compiles;
use crate::{Bench, complaint, refused, sarif_shape};

/// Sums through the function before whose repair in E031.38.11 compilers crash.
const SUM: &str = "kernel void sum(global const int *in, global int *out)
{
    int total = sub_group_reduce_add(in[get_global_id(0)]);
    out[get_global_id(0)] = total;
}
";

fn launch(source: &str) -> String {
    format!(
        "source = '{source}'\nglobal = 16\nlocal = 16\n[[argument]]\nbuffer = 'int'\ncount = 16\nfill = 3\n[[argument]]\n\
         buffer = 'int'\ncount = 16\n"
    )
}

/// `sum.toml`, and `copy.toml`, which no driver does anything wrong with.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("sum.cl", SUM);
    bench.write("sum.toml", launch("sum.cl"));
    let copy = "kernel void copy(global const int *in, global int *out)\n{\n    out[get_global_id(0)] = in[get_global_id(0)];\n}\n";
    bench.write("copy.cl", copy);
    bench.write("copy.toml", launch("copy.cl"));
    bench
}

/// Code, line and name of each finding.
fn found(bench: &Bench, arguments: &[&str]) -> Vec<(String, u64, String)> {
    let output = bench.run(&[&["check", "--format", "json"], arguments].concat());
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|finding| {
            let message = finding["message"].as_str().unwrap();
            let name = message.rsplit("(`").next().unwrap().split('`').next().unwrap();
            let line = finding["location"]["line"].as_u64().unwrap_or(0);
            (finding["code"].as_str().unwrap().to_owned(), line, name.to_owned())
        })
        .collect()
}

#[test]
fn a_known_defect_is_a_warning_at_its_line() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let output = bench.run(&["check", "sum.toml", "--driver", "E031.37.12"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), &*complaint(&output.stderr)), (Some(1), ""), "{said}");
    for words in [
        "warning[driver-defect]: E031.37.12 and a reduction or a scan",
        " --> sum.cl:3:",
        "3 |     int total = sub_group_reduce_add",
        "`adreno-sub-group-arithmetic-crash`, before E031.38.11",
        "help: Reduce through local memory",
        "https://github.com/ggml-org/llama.cpp/pull/22006",
        "explain: tripipe explain driver-defect",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    let crash = ("driver-defect".to_owned(), 3, "adreno-sub-group-arithmetic-crash".to_owned());
    // Versions are compared by their numbers, in all forms that drivers report.
    let reported = "OpenCL 3.0 Adreno(TM) 642L QUALCOMM build: commit #abc changeid # Date: 01/01/22 Sat Compiler E031.37.12.01";
    for old in ["E031.37", "E031.38.2", reported] {
        assert_eq!(found(&bench, &["sum.toml", "--driver", old]), std::slice::from_ref(&crash), "{old}");
    }
    for other in ["E031.38.11.30", "E031.47", "r38p1", "r9p0", "PoCL 7.1"] {
        assert_eq!(found(&bench, &["sum.toml", "--driver", other]), [], "{other}");
    }
    for driver in ["E031.37", "E031.41", "r38p1", "PoCL 7.1", "Mesa 25.0", "24.2@6603887"] {
        assert_eq!(found(&bench, &["copy.toml", "--driver", driver]), [], "{driver}");
    }
    assert_eq!(found(&bench, &["sum.toml"]), []);
    assert_eq!(found(&bench, &["sum.toml", "--driver", "E031.37", "--allow", "driver-defect"]), []);
    bench.write("sum.cl", SUM.replace("\n    int", "\n    // tripipe: allow driver-defect\n    int"));
    assert_eq!(found(&bench, &["sum.toml", "--driver", "E031.37"]), []);
}

#[test]
fn sarif_has_the_rule_and_the_line() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let output = bench.run(&["check", "sum.toml", "--driver", "E031.37.12", "--format", "sarif"]);
    let sarif: Value = serde_json::from_slice(&output.stdout).unwrap();
    sarif_shape::check(&sarif);
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"driver-defect".into(), &"warning".into()));
    assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], 3);
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["id"] == "driver-defect"));
}

#[test]
fn a_driver_is_known_or_refused() {
    if !compiles() {
        return;
    }
    let bench = bench();
    for text in ["E99x", "5", "newest"] {
        let output = bench.run(&["check", "sum.toml", "--driver", text]);
        refused(
            &output,
            &["--driver", &format!("`{text}` is not a version of an OpenCL driver"), "E031.47", "r38p1"],
        );
    }
    // Another vendor's driver.
    bench.refuse_said(
        &["check", "sum.toml", "-g", "mali-g77", "--driver", "E031.37"],
        &["want one such as r38"],
    );
    // One that is counted in another way than those of which it is known what they offer.
    let output = bench.run(&["check", "copy.toml", "-g", "mali-g77", "--driver", "g13p0"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("what Mali-G77 offers with driver g13p0"), "{said}");
}

/// What clspv does not allow (its own page says so), by the name of the compiler or of a driver with it.
#[test]
fn a_target_is_a_compiler_with_its_driver() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let cast = "kernel void cast(global const int *in, global ulong *out)\n{\n    out[0] = (ulong)in;\n}\n";
    bench.write("cast.cl", cast);
    let pointer = ("driver-habit".to_owned(), 3, "clspv-pointer-as-integer".to_owned());
    for target in ["clspv", "angle", "clvk"] {
        assert_eq!(
            found(&bench, &["cast.cl", "--target", target]),
            std::slice::from_ref(&pointer),
            "{target}"
        );
        assert_eq!(found(&bench, &["copy.toml", "--target", target]), [], "{target}");
    }
    // It replaces the driver of a launch file.
    bench.write("old.toml", format!("driver = 'E031.37.12'\n{}", launch("sum.cl")));
    assert_eq!(found(&bench, &["old.toml", "--target", "clspv"]), []);
    bench.refuse_said(&["check", "copy.toml", "--target", "spirv"], &["--target", "clspv"]);
    bench.refuse_said(&["check", "copy.toml", "--target", "clspv", "--driver", "r38p1"], &["--driver"]);
}

/// A finding about the whole program is at the kernel's declaration; the GPU decides, too.
#[test]
fn findings_without_an_instruction_are_at_the_declaration() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let long = (0..128).fold(String::new(), |text, i| text + &format!("    out[{i} * out[{i}]] += {i};\n"));
    let two = format!("{SUM}kernel void other(global int *out)\n{{\n{long}}}\n")
        .replace("sub_group_reduce_add", "");
    bench.write("sum.cl", two);
    let several = ("driver-defect".to_owned(), 1, "adreno-several-kernels".to_owned());
    let on = |gpu: &str| {
        found(
            &bench,
            &["sum.toml", "--kernel", "sum", "--driver", &format!("Adreno(TM) {gpu} Compiler E031.38")],
        )
    };
    assert_eq!(on("642L"), [several]);
    assert_eq!(on("740"), []);
}

#[test]
fn entries_are_listed() {
    let bench = Bench::new();
    let said = bench.succeed(&["devices", "--drivers"]);
    let all = tripipe_device::drivers::quirks();
    for quirk in all {
        assert!(said.contains(&format!("{}: ", quirk.id)) && said.contains(&quirk.thread), "{}", quirk.id);
    }
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&bench.succeed(&[&["devices", "--format", "json"], arguments].concat())).unwrap()
    };
    assert_eq!(json(&["--drivers"])["drivers"].as_array().unwrap().len(), all.len());
    let of_mali = json(&["--drivers", "r32p1"]);
    let of_mali = of_mali["drivers"].as_array().unwrap();
    assert!(!of_mali.is_empty() && of_mali.iter().all(|quirk| quirk["driver"] == "mali"));
    bench.refuse(&["devices", "--drivers", "E99x"], &["--drivers", "E99x"]);
}

/// A kernel, and the quirk that makes its results wrong.
const WRONG: [(&str, &str); 3] = [
    (
        "adreno-nibble-packing",
        "kernel void k(global const int *in, global int *out, global int *other)\n{\n    int i = get_global_id(0);\n    uint word \
         = in[i];\n    other[i] = in[i] ^ 5;\n    uchar low = (word & 0xF) | ((word >> 8 & 0xF) << 4);\n    uchar high = (word >> \
         16 & 0xF) | ((word >> 24 & 0xF) << 4);\n    other[i] += 2;\n    out[i] = low | (uint)high << 8;\n}\n",
    ),
    (
        "adreno-one-layer-array",
        "kernel void k(global const int *in, global int *out, global int *other)\n{\n    int i = get_global_id(0);\n    out[i] = \
         in[i] + 1;\n}\n",
    ),
    (
        "clvk-native-fma",
        "kernel void k(global const int *in, global int *out, global int *other)\n{\n    int i = get_global_id(0);\n    float x = \
         1.0f + in[i] / 4096.0f;\n    other[i] = in[i] ^ 5;\n    float exact = fma(x, x, -1.0f / 3.0f);\n    other[i] += 2;\n    out[i] \
         = as_int(exact);\n}\n",
    ),
];

/// The verdict blames the driver, and cuts the kernel down to what the driver does wrong; without an injection, or where the
/// kernel has not the pattern, it finds nothing.
#[cfg(target_os = "linux")]
#[test]
fn injected_defects_are_blamed_on_the_driver() {
    if !compiles() {
        return;
    }
    for (id, source) in WRONG {
        for inject in [Some(id), None] {
            let bench = Bench::new();
            bench.write("k.cl", source);
            let buffer = "[[argument]]\nbuffer = 'int'\ncount = 64\n";
            bench.write(
                "k.toml",
                format!(
                    "source = 'k.cl'\nglobal = 64\nlocal = 16\n{buffer}range = {{ start = 1, step = 19088743 }}\n{buffer}fill = \
                     0\n{buffer}fill = 0\n"
                )
                .replace("19088743", if id == "clvk-native-fma" { "1" } else { "19088743" }),
            );
            let arguments =
                ["verdict", "k.toml", "--device", "opencl:0", "--reduce", "small", "--format", "json"];
            let mut command = bench.command(&arguments);
            command.env_remove("TRIPIPE_OPENCL").env("OCL_ICD_VENDORS", built("libtripipe_icd.so"));
            command.env_remove("TRIPIPE_INJECT").envs(inject.map(|id| ("TRIPIPE_INJECT", id)));
            let judged = command.output().unwrap();
            let err = String::from_utf8_lossy(&judged.stderr);
            if err.contains("no OpenCL library found") && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none()
            {
                eprintln!("skipped: {err}");
                return;
            }
            let verdict: Value =
                serde_json::from_slice(&judged.stdout).unwrap_or_else(|error| panic!("{error}: {err}"));
            if inject.is_none() || id == "adreno-one-layer-array" {
                assert_eq!(verdict["verdict"], "same", "{id}: {verdict}");
                continue;
            }
            assert_eq!(
                (&verdict["verdict"], judged.status.code()),
                (&"miscompiled".into(), Some(1)),
                "{id}: {err}"
            );
            let small = &verdict["reproducer"];
            let text = String::from_utf8(bench.read("small/kernel.cl")).unwrap();
            assert_eq!((&small["work_items"], &small["confirmed"]), (&1.into(), &true.into()), "{small}");
            assert!(!text.contains("other[i]"), "{text}");
            let kept = if id == "clvk-native-fma" { "fma(" } else { "uchar" };
            assert!(text.contains(kept), "{text}");
        }
    }
}

/// The driver of a device at hand: its version is read from it.
#[cfg(target_os = "linux")]
#[test]
fn the_driver_of_a_device_is_asked() {
    if !compiles() {
        return;
    }
    let bench = bench();
    let check = |gpu: &str, file: &str| {
        let mut command = bench.command(&["check", file, "--driver", "opencl:0", "--format", "json"]);
        command.env_remove("TRIPIPE_OPENCL").env("OCL_ICD_VENDORS", built("libtripipe_icd.so"));
        command.env("TRIPIPE_DEVICES", gpu);
        command.output().unwrap()
    };
    let output = check("adreno-650", "sum.toml");
    let (said, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if err.contains("no OpenCL library found") && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
        eprintln!("skipped: {err}");
        return;
    }
    assert!(
        said.contains("adreno-sub-group-arithmetic-crash") && output.status.code() == Some(1),
        "{said}{err}"
    );
    let output = check("mali-g78", "sum.toml");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!said.contains("adreno-") && output.status.code() == Some(0), "{said}");
    // A device that is not there.
    let mut command = bench.command(&["check", "sum.toml", "--driver", "opencl:7"]);
    command.env_remove("TRIPIPE_OPENCL").env("OCL_ICD_VENDORS", built("libtripipe_icd.so"));
    refused(&command.output().unwrap(), &["--driver"]);
}
