//! Failing devices, simulated by the stand-in driver, and a working device if there is one.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::npy::{f32s, file, parts};
use crate::stand_in::stand_in;
use crate::{Bench, complaint, done, refused};

fn with_fault(bench: &Bench, fault: &str, arguments: &[&str]) -> Output {
    bench
        .command(arguments)
        .env("TRIPIPE_OPENCL", stand_in())
        .env("TRIPIPE_STAND_IN", fault)
        .output()
        .unwrap()
}

/// A product and a filter on the stand-in: both fail with these words, and leave existing files unchanged.
fn is_refused(fault: &str, words: &[&str]) {
    let bench = Bench::new();
    image::RgbImage::new(20, 20).save(bench.path().join("a.png")).unwrap();
    let before = bench.files();
    let picture = with_fault(&bench, fault, &["filter", "laplace", "a.png", "b.png", "--device", "opencl:0"]);
    refused(&picture, &[&["a.png"], words].concat());
    assert_eq!(bench.files(), before);
}

#[test]
fn a_device_that_vanishes() {
    is_refused("device-lost", &["Stand-In GPU", "--device cpu"]);
    is_refused("device-lost-enqueue", &["Stand-In GPU", "--device cpu"]);
}

#[test]
fn no_device_memory() {
    is_refused("out-of-memory", &["memory", "--device cpu"]);
    is_refused("out-of-memory-late", &["memory", "--device cpu"]);
}

#[test]
fn a_kernel_that_does_not_build() {
    is_refused("build-failure", &["does not build", "--device cpu"]);
    let bench = Bench::new();
    let peaks = with_fault(&bench, "build-failure", &["peaks", "--device", "opencl"]);
    assert_eq!(peaks.status.code(), Some(2), "what could not be measured is no clean end");
}

#[test]
fn opencl_is_the_strongest_device_and_is_named() {
    let bench = Bench::new();
    image::RgbImage::new(20, 20).save(bench.path().join("a.png")).unwrap();
    let filtered = |fault: &str, device: &str| {
        let output = with_fault(
            &bench,
            fault,
            &["filter", "laplace", "a.png", "b.png", "--device", device, "--explain"],
        );
        let [said, notes] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert_eq!(output.status.code(), Some(0), "{notes}");
        (said, notes)
    };
    for device in ["opencl", "auto"] {
        let (said, notes) = filtered("cpu-first", device);
        assert!(said.contains("Stand-In GPU") && !said.contains("Stand-In CPU"), "{said}");
        assert!(notes.contains(&format!("note: --device {device} is opencl:1, Stand-In GPU\n")), "{notes}");
    }
    // Nothing was chosen.
    for (fault, device) in [("cpu-first", "opencl:0"), ("sound", "opencl")] {
        let (said, notes) = filtered(fault, device);
        assert!(said.contains(if device == "opencl" { "Stand-In GPU" } else { "Stand-In CPU" }), "{said}");
        assert!(!notes.contains("--device"), "{notes}");
    }
}

#[test]
fn devices_that_are_not_there() {
    let bench = Bench::new();
    for fault in ["no-platform", "empty", "broken", "no-device", "only-broken"] {
        let said = done(&with_fault(&bench, fault, &["devices"]));
        assert!(said.starts_with("cpu ") && said.contains("no OpenCL device: "), "{fault}: {said}");
        refused(&with_fault(&bench, fault, &["peaks", "--device", "opencl"]), &[]);
    }
    refused(&with_fault(&bench, "sound", &["peaks", "--device", "opencl:99"]), &["99", "this machine has 1"]);
    let said = done(&with_fault(&bench, "sound", &["devices"]));
    assert!(said.contains("opencl:0") && said.contains("Stand-In GPU"), "{said}");
}

#[test]
fn wrong_results_are_reported_with_exit_code_2() {
    // The stand-in runs nothing, so every result is wrong.
    let bench = Bench::new();
    let sizes = ["--sizes", "33", "--runs", "1", "--warmup", "0", "--device", "opencl"];
    let text = with_fault(&bench, "sound", &[&["ladder", "vector-add"], &sizes[..]].concat());
    let said = String::from_utf8(text.stdout).unwrap();
    assert_eq!(text.status.code(), Some(2), "{said}");
    assert!(said.contains("FAILED at every size: ") && said.contains("elements differ"), "{said}");
    let json =
        with_fault(&bench, "sound", &[&["ladder", "vector-add", "--format", "json"], &sizes[..]].concat());
    assert_eq!(json.status.code(), Some(2));
    let value: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    for step in value["steps"].as_array().unwrap() {
        assert_eq!(step["verified"], false);
        assert!(step["seconds"][0].is_null() && step["speedup"][0].is_null());
    }
}

#[test]
fn a_lost_device_fails_the_ladder() {
    let bench = Bench::new();
    let arguments = ["ladder", "vector-add", "--sizes", "33", "--runs", "1", "--device", "opencl"];
    let output = with_fault(&bench, "device-lost", &arguments);
    assert_eq!(output.status.code(), Some(2), "{}", complaint(&output.stderr));
}

/// A working OpenCL device of this machine.
pub(super) fn device_of_this_machine(bench: &Bench) -> bool {
    let said =
        done(&bench.command(&["devices", "--format", "json"]).env_remove("TRIPIPE_OPENCL").output().unwrap());
    let value: serde_json::Value = serde_json::from_str(&said).unwrap();
    let found = value["devices"].as_array().unwrap().len() > 1;
    if !found {
        let required = std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_some_and(|value| value == "1");
        assert!(!required, "TRIPIPE_REQUIRE_OPENCL=1, but {said}");
        eprintln!("skipped: no OpenCL device here");
    }
    found
}

#[test]
fn opencl_and_the_cpu_path_agree() {
    let bench = Bench::new();
    if !device_of_this_machine(&bench) {
        return;
    }
    let run =
        |arguments: &[&str]| done(&bench.command(arguments).env_remove("TRIPIPE_OPENCL").output().unwrap());
    let picture =
        image::RgbImage::from_fn(131, 67, |x, y| image::Rgb([(x * 9) as u8, (y * 7) as u8, (x * y) as u8]));
    picture.save(bench.path().join("a.png")).unwrap();
    run(&["filter", "laplace", "a.png", "cpu.ppm", "--device", "cpu"]);
    let said = run(&["filter", "laplace", "a.png", "opencl.ppm", "--device", "opencl"]);
    assert!(!said.contains("CPU path"), "{said}");
    assert_eq!(bench.read("cpu.ppm"), bench.read("opencl.ppm"));

    bench.write("a.npy", file("<f4", false, "(2, 3)", &f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
    bench.write("b.npy", file("<f4", true, "(3, 2)", &f32s(&[1.0, 0.0, 2.0, 0.0, 1.0, -1.0])));
    run(&["gemm", "a.npy", "b.npy", "-o", "c.npy", "--device", "opencl"]);
    assert_eq!(parts(&bench.read("c.npy")).1, f32s(&[7.0, -1.0, 16.0, -1.0]));
}

/// Machine code that PoCL has stored below a folder: a file for each kernel and work-group size.
fn kernels_built(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let entries = entries.map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            if path.is_dir() {
                kernels_built(&path)
            } else {
                usize::from(path.extension() == Some("so".as_ref()))
            }
        })
        .sum()
}

#[test]
fn the_first_image_compiles_only_its_own_kernel() {
    let bench = Bench::new();
    if !device_of_this_machine(&bench) {
        return;
    }
    let kept = bench.path().join("cache-of-its-own").join("pocl");
    image::RgbImage::new(40, 30).save(bench.path().join("a.png")).unwrap();
    let mut command = bench.command(&["filter", "laplace", "a.png", "b.png", "--device", "opencl"]);
    command.env_remove("TRIPIPE_OPENCL").env_remove("TRIPIPE_CACHE_DIR").env("POCL_CACHE_DIR", &kept);
    done(&command.output().unwrap());
    // A driver other than PoCL stores nothing there.
    assert!(kernels_built(&kept) <= 1, "{} kernels were compiled", kernels_built(&kept));
}

#[test]
fn without_a_choice_every_device_climbs() {
    let bench = Bench::new();
    if !device_of_this_machine(&bench) {
        return;
    }
    let arguments =
        ["ladder", "vector-add", "--sizes", "1000", "--runs", "2", "--warmup", "0", "--format", "json"];
    let said = done(&bench.command(&arguments).env_remove("TRIPIPE_OPENCL").output().unwrap());
    let devices: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(devices.len() > 1);
    assert!(devices[0]["device"].as_str().unwrap().contains("CPU path"));
    for device in devices {
        for step in device["steps"].as_array().unwrap() {
            assert_eq!(step["verified"], true, "{device}");
        }
    }
}
