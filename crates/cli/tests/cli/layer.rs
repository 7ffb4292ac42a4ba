//! The circle: an application runs under the layer (crate `layer`), `tripipe import` reads its capture, and `tripipe verdict` judges
//! it. The application is `tripipe run-kernel` on an OpenCL device.

use std::path::PathBuf;

use crate::Bench;
use crate::import::captures;
use crate::run_kernel::compiles;

/// A library that cargo builds for tests: beside them, or one folder up.
pub(crate) fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let found = [deps.join(name), deps.parent().unwrap().join(name)];
    let newest = found.into_iter().filter(|path| path.exists());
    newest.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok()).unwrap()
}

fn layer() -> PathBuf {
    built("libtripipe_layer.so")
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_layer_captures_is_imported_and_judged() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.succeed(&["import", captures().to_str().unwrap(), "-o", "launches"]);
    // Integers, local memory, images: results that every device must have.
    for name in ["1_sums", "4_gather"] {
        let launch = format!("launches/Enqueue_{name}/launch.toml");
        let mut command = bench.command(&["run-kernel", &launch, "--device", "opencl:0"]);
        command.env_remove("TRIPIPE_OPENCL").env("OPENCL_LAYERS", layer());
        command.env("TRIPIPE_LAYER_CAPTURE", bench.path().join(name)).env("TRIPIPE_LAYER_CAPTURE_COUNT", "1");
        command.env("TRIPIPE_LAYER_TRACE", bench.path().join("trace.json"));
        let ran = command.output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr);
        if err.contains("no OpenCL library found") && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
            eprintln!("skipped: {err}");
            return;
        }
        assert_eq!(ran.status.code(), Some(0), "{err}");
        let imported = format!("imported-{name}");
        bench.succeed(&["import", name, "-o", &imported]);
        let said = bench.succeed(&["verdict", &imported]);
        assert!(said.contains("the device computed what the simulator computes"), "{said}");
        // The launch that was captured is the one that was run.
        let kernel = &name[2..];
        let folder = std::fs::read_dir(bench.path().join(&imported)).unwrap().next().unwrap().unwrap().path();
        let text = std::fs::read_to_string(folder.join("launch.toml")).unwrap();
        assert!(text.contains(&format!("kernel = \"{kernel}\"")), "{text}");
        let sizes = |text: &str| -> Vec<String> {
            let lines =
                text.lines().filter(|line| line.starts_with("global = ") || line.starts_with("local = "));
            lines.map(str::to_owned).collect()
        };
        let original = std::fs::read_to_string(bench.path().join(&launch)).unwrap();
        assert_eq!(sizes(&text), sizes(&original));
        // The trace of the same run has the kernel with the device's times.
        let ranked = bench.succeed(&["why", "trace.json", "-g", "mali-g77"]);
        assert!(ranked.contains(kernel), "{ranked}");
    }
}

/// A driver with a wrong compiler, over virtual GPUs: what it computes is captured by the layer.
#[cfg(target_os = "linux")]
fn wrong_driver<'c>(command: &'c mut std::process::Command, mistake: &str) -> &'c mut std::process::Command {
    let wrong = crate::stand_in::example("layer", "wrong_compiler");
    command.env_remove("TRIPIPE_OPENCL").env("OCL_ICD_VENDORS", built("libtripipe_icd.so"));
    command.env("OPENCL_LAYERS", format!("{}:{}", wrong.display(), layer().display()));
    command.env("TRIPIPE_WRONG_COMPILER", mistake).env("TRIPIPE_CACHE", "off")
}

/// End to end: an application runs on a driver whose compiler makes a mistake, the layer captures its launch, and the verdict
/// blames the driver, with the numbers that differ. The numbers are calculated by hand.
#[cfg(target_os = "linux")]
#[test]
fn a_driver_with_a_wrong_compiler_is_blamed() {
    if !compiles() {
        return;
    }
    let head = "kernel void k(global const int *in, global int *out)\n{\n    int i = get_global_id(0);\n";
    // Element i of `in` is 16 * i - 512; work-groups have 128 work-items.
    let barriers = "    local int part[128];\n    int l = get_local_id(0);\n    part[l] = in[i];\n    \
                    barrier(CLK_LOCAL_MEM_FENCE);\n    out[i] = part[127 - l] + 1;\n}\n";
    let cases = [
        ("", "    out[i] = in[i] >> 3;\n}\n", "same", None),
        // -512 >> 3; with zeros from above, (2^32 - 512) / 8.
        ("shifts", "    out[i] = in[i] >> 3;\n}\n", "miscompiled", Some((0, "536870848", "-64", 4))),
        // 2^32 - 512 + 600 wraps to 88.
        ("sums", "    out[i] = (int)((uint)in[i] + 600u);\n}\n", "miscompiled", Some((0, "-1", "88", 4))),
        // -512 / 32 + 0.75 is -15.25; element 1 is -15.5 + 0.75 = -14.75, whose nearest is -15, and -14 without the fraction.
        (
            "roundings",
            "    out[i] = convert_int_rte(in[i] / 32.0f + 0.75f);\n}\n",
            "miscompiled",
            Some((1, "-14", "-15", 4)),
        ),
        ("products", "    out[i] = as_int((in[i] + 0.1f) * 1.1f - 0.3f);\n}\n", "", None),
        ("barriers", barriers, "miscompiled", Some((0, "", "1521", 8))),
    ];
    for (mistake, body, want, first) in cases {
        let bench = Bench::new();
        bench.write("k.cl", format!("{head}{body}"));
        bench.write(
            "k.toml",
            "source = \"k.cl\"\nglobal = 256\nlocal = 128\n[[argument]]\nbuffer = \"int\"\ncount = 256\nrange = { start = \
             -512, step = 16 }\n[[argument]]\nbuffer = \"int\"\ncount = 256\nfill = 0\ndump = \"out.bin\"\n",
        );
        let mut command = bench.command(&["run-kernel", "k.toml", "--device", "opencl:0"]);
        wrong_driver(&mut command, mistake).env("TRIPIPE_LAYER_CAPTURE", bench.path().join("capture"));
        let ran = command.output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr);
        if err.contains("no OpenCL library found") && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
            eprintln!("skipped: {err}");
            return;
        }
        assert_eq!(ran.status.code(), Some(0), "{mistake}: {err}");
        bench.succeed(&["import", "capture", "--kernel", "k", "-o", "launches"]);
        let judged = bench.run(&["verdict", "launches", "--format", "json"]);
        let said = String::from_utf8(judged.stdout).unwrap();
        let verdict: serde_json::Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
        if want.is_empty() {
            // Allowed, if it differs at all.
            assert_ne!(verdict["verdict"], "miscompiled", "{mistake}: {verdict}");
            continue;
        }
        assert_eq!(verdict["verdict"], want, "{mistake}: {verdict}");
        let Some((index, device, defined, line)) = first else { continue };
        assert_eq!(judged.status.code(), Some(1), "{mistake}");
        // A capture has the input's contents afterwards as well.
        let memory = verdict["memory"].as_array().unwrap();
        let out = memory.iter().find(|memory| memory["name"] == "out").unwrap();
        let number = &out["first"][0];
        assert_eq!((&number["index"][0], &number["defined"]), (&index.into(), &defined.into()), "{mistake}");
        if !device.is_empty() {
            assert_eq!(number["device"], device, "{mistake}");
        }
        let finding = &verdict["findings"][0];
        assert_eq!(
            (&finding["code"], &finding["location"]["line"]),
            (&"miscompiled".into(), &line.into()),
            "{mistake}: {finding}"
        );
    }
}

/// The same driver as the device at hand: each step of the reproducer runs on it.
#[cfg(target_os = "linux")]
#[test]
fn a_reproducer_is_cut_down_on_the_wrong_driver() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "k.cl",
        "int weight(int x) { return x * 3; }\nkernel void k(global const int *in, global int *out, global int *other)\n{\n    \
         int i = get_global_id(0); int sum = 0;\n    for (int j = 0; j < 8; j++) {\n        sum += weight(in[j]);\n        \
         other[i] = sum;\n    }\n    int unused = in[i] * 5;\n    if (unused > 100000) other[i] = unused;\n    int x = in[i] - \
         3;\n    int shifted = x >> 2;\n    other[i] += 2;\n    out[i] = shifted;\n}\n",
    );
    let buffer = "[[argument]]\nbuffer = \"int\"\ncount = 64\n";
    bench.write(
        "launch.toml",
        format!(
            "source = \"k.cl\"\nglobal = 64\nlocal = 16\n{buffer}range = {{ start = -32, step = 1 }}\n{buffer}fill = 0\n\
             {buffer}fill = 0\n"
        ),
    );
    let arguments =
        ["verdict", "launch.toml", "--device", "opencl:0", "--reduce", "small", "--format", "json"];
    let mut command = bench.command(&arguments);
    let judged = wrong_driver(&mut command, "shifts").output().unwrap();
    let err = String::from_utf8_lossy(&judged.stderr);
    if err.contains("no OpenCL library found") && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
        eprintln!("skipped: {err}");
        return;
    }
    assert_eq!(judged.status.code(), Some(1), "{err}");
    let verdict: serde_json::Value = serde_json::from_slice(&judged.stdout).unwrap();
    let small = &verdict["reproducer"];
    let text = String::from_utf8(bench.read("small/kernel.cl")).unwrap();
    assert_eq!((&small["work_items"], &small["confirmed"]), (&1.into(), &true.into()), "{small}");
    // The kernel's first and last line, i, x, shifted, and the store.
    assert_eq!(small["lines"], 6, "{text}");
    assert!(text.contains(">> 2") && !text.contains("weight") && !text.contains("unused"), "{text}");
    // It still errs on this driver, and on no sound one.
    let mut command = bench.command(&["run-kernel", "small/defined.toml", "--device", "opencl:0"]);
    assert_eq!(wrong_driver(&mut command, "shifts").output().unwrap().status.code(), Some(1));
    let mut command = bench.command(&["run-kernel", "small/defined.toml", "--device", "opencl:0"]);
    assert_eq!(wrong_driver(&mut command, "").output().unwrap().status.code(), Some(0));
}
