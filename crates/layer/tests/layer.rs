//! Applications under the layer: what it writes is what they do, and they see nothing of it.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, unused_unsafe, reason = "calls of a C API")]
#![allow(clippy::unwrap_used, clippy::macro_metavars_in_unsafe, reason = "tests of a C API")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "applications, and tests that are skipped")]

mod roles;
mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use support::{application, library, role};

/// The application of the other tests; nothing in a run of the tests.
#[test]
fn roles() {
    if let Some(role) = role() {
        roles::play(&role);
    }
}

/// The drivers that the application runs on.
fn drivers() -> [(&'static str, Option<std::path::PathBuf>); 2] {
    [("the system's", None), ("virtual GPUs", Some(library("tripipe_icd")))]
}

fn on(driver: Option<&Path>, mut command: Command) -> Command {
    if let Some(driver) = driver {
        command.env("OCL_ICD_VENDORS", driver);
    }
    command
}

/// Runs an application. `None` if there is no OpenCL.
fn run(command: impl std::borrow::BorrowMut<Command>) -> Option<Output> {
    let mut command = command;
    let ran = command.borrow_mut().output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if said.contains("no OpenCL here") {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none(), "{said}");
        eprintln!("skipped: there is no OpenCL");
        return None;
    }
    assert!(ran.status.success(), "{said}");
    Some(ran)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The number of calls of each function in a log.
fn counts(log: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in log.lines() {
        let (before, _) = line.split_once('(').unwrap();
        *counts.entry(before.rsplit(' ').next().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// What the application says about the references of an event.
fn references(ran: &Output) -> String {
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    said.lines().find(|line| line.contains("references: Ok(")).unwrap().to_owned()
}

#[test]
fn the_trace_has_every_call_and_every_command() {
    for (driver, path) in drivers() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut command = on(path.as_deref(), application("tidy"));
        command.env("TRIPIPE_LAYER_TRACE", at("t.json")).env("TRIPIPE_LAYER_LOG", at("log.txt"));
        command.env("TRIPIPE_LAYER_REPORT", at("r.json"));
        let Some(ran) = run(command) else { return };
        let mut plain = on(path.as_deref(), application("tidy"));
        let plain = run(plain.env_remove("OPENCL_LAYERS")).unwrap();
        assert_eq!(references(&ran), references(&plain), "{driver}");
        let log = std::fs::read_to_string(at("log.txt")).unwrap();
        let counts = counts(&log);
        for (name, count) in roles::TIDY_CALLS {
            assert_eq!(counts.get(*name), Some(count), "{driver}: {name}\n{log}");
        }
        let all: usize = counts.values().sum();
        let trace = json(&at("t.json"));
        let events = trace["traceEvents"].as_array().unwrap();
        let of = |category: &str| -> Vec<&Value> {
            events.iter().filter(|event| event["cat"] == category).collect()
        };
        assert_eq!(of("call").len(), all, "{driver}");
        let threads: std::collections::BTreeSet<_> =
            of("call").iter().map(|event| event["tid"].as_u64().unwrap()).collect();
        assert!(threads.len() >= 5, "{driver}: {threads:?}");

        let failed: Vec<_> = of("call")
            .into_iter()
            .filter(|event| event["args"]["returned"] == "CL_INVALID_ARG_INDEX")
            .collect();
        assert_eq!(failed.len(), 1, "{driver}");
        assert_eq!(
            (&failed[0]["name"], &failed[0]["args"]["arg_index"]),
            (&"clSetKernelArg".into(), &"99".into())
        );

        let kernels = of("kernel");
        let sizes: Vec<&str> =
            kernels.iter().map(|event| event["args"]["global"].as_str().unwrap()).collect();
        assert_eq!(sizes, ["16x1x1", "32x1x1", "64x1x1"], "{driver}");
        for kernel in &kernels {
            assert_eq!(kernel["name"], "scale");
            assert!(kernel["dur"].as_f64().unwrap() > 0.0, "{driver}: {kernel}");
            // The timeline of virtual GPUs begins at 0, which recorders take for a time that is missing.
            assert!(path.is_some() || kernel["args"].get("no times").is_none(), "{driver}: {kernel}");
        }
        let launch = log.lines().find(|line| line.contains("clEnqueueNDRangeKernel")).unwrap();
        assert!(launch.contains("global_work_size = [16], local_work_size = NULL"), "{launch}");
        assert!(launch.contains("= CL_SUCCESS") && launch.contains("kernel scale]"), "{launch}");

        let report = json(&at("r.json"));
        assert_eq!((&report["calls"], &report["launches"]), (&all.into(), &3.into()), "{driver}");
        assert_eq!(report["leaks"], Value::Array(Vec::new()), "{driver}");
        let codes: Vec<&str> =
            report["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
        assert!(codes.iter().all(|code| *code == "failed-call"), "{driver}: {codes:?}");
    }
}

#[test]
fn leaks_and_misuse_are_reported_as_often_as_they_happen() {
    for (driver, path) in drivers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("r.json");
        let mut command = on(path.as_deref(), application("wasteful"));
        command.env("TRIPIPE_LAYER_REPORT", &file);
        let Some(_) = run(command) else { return };
        let report = json(&file);
        let findings = report["findings"].as_array().unwrap();
        let count = |code: &str| -> Option<u64> {
            let mut found = findings.iter().filter(|one| one["code"] == code);
            found.next()?["count"].as_u64()
        };
        // 20 iterations of: make, write, launch, finish, read, release.
        assert_eq!(count("finish-after-each-launch"), Some(20), "{driver}: {report:#}");
        assert_eq!(count("memory-per-frame"), Some(19), "{driver}: {report:#}");
        assert_eq!(count("copy-instead-of-map"), Some(40), "{driver}: {report:#}");
        assert_eq!(count("use-host-ptr"), None);
        assert_eq!(count("failed-call"), None, "{driver}: {report:#}");
        let leaks = report["leaks"].as_array().unwrap();
        let of = |kind: &str| -> Vec<&Value> { leaks.iter().filter(|leak| leak["kind"] == kind).collect() };
        // Three buffers of 64, 128 and 192 bytes; the kernel is held three times.
        let bytes: Vec<u64> = of("buffer").iter().map(|leak| leak["bytes"].as_u64().unwrap()).collect();
        assert_eq!(bytes, [64, 128, 192], "{driver}");
        assert_eq!(of("kernel").len(), 1);
        assert_eq!((&of("kernel")[0]["references"], &of("kernel")[0]["name"]), (&3.into(), &"scale".into()));
        assert_eq!((of("context").len(), of("program").len(), of("event").len()), (1, 1, 0));
    }
}

#[test]
fn what_is_released_while_the_process_ends_is_no_leak() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut command = application("late");
    command.env("TRIPIPE_LAYER_REPORT", at("r.json")).env("TRIPIPE_LAYER_TRACE", at("t.json"));
    let Some(_) = run(command) else { return };
    let report = json(&at("r.json"));
    let kinds: Vec<&str> =
        report["leaks"].as_array().unwrap().iter().map(|leak| leak["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["context"], "{report:#}");
}

#[test]
fn blocking_reads_in_a_loop_are_found_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.txt");
    let mut command = application("reads");
    command.env("TRIPIPE_LAYER_REPORT", &file);
    let Some(_) = run(command) else { return };
    let report = std::fs::read_to_string(&file).unwrap();
    // 10 iterations; after the last read there is no launch.
    assert!(
        report.contains(
            "blocking-read-in-loop: a blocking read waits for a launch, and the next launch comes after \
                             it, 9 times"
        ),
        "{report}"
    );
    assert!(report.contains("clEnqueueReadBuffer after kernel scale"), "{report}");
    assert!(!report.contains("finish-after-each-launch"), "{report}");
}

#[test]
fn an_application_that_leaks_everything_forks_and_leaves_work_ends_as_without_the_layer() {
    for (driver, path) in drivers() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut command = on(path.as_deref(), application("leaves"));
        command.env("TRIPIPE_LAYER_TRACE", at("t.pftrace")).env("TRIPIPE_LAYER_REPORT", at("r.json"));
        command.env("TRIPIPE_LAYER_LOG", at("log.txt")).env("TRIPIPE_LAYER_CAPTURE", at("c"));
        let Some(_) = run(command) else { return };
        // The parent's report: the child ends first, and writes none.
        let report = json(&at("r.json"));
        let leaks = report["leaks"].as_array().unwrap();
        assert!(leaks.iter().any(|leak| leak["kind"] == "context"), "{driver}: {report:#}");
        assert!(std::fs::metadata(at("t.pftrace")).unwrap().len() > 100, "{driver}");
        // A launch that waits for an open event of the application is not captured, and that is told.
        let left_out = std::fs::read_to_string(at("c/left_out.txt")).unwrap();
        assert!(left_out.contains("clCreateUserEvent"), "{driver}: {left_out}");
    }
}

#[test]
fn captures_have_the_memory_before_and_after() {
    for (driver, path) in drivers() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = on(path.as_deref(), application("tidy"));
        command.env("TRIPIPE_LAYER_CAPTURE", folder.path());
        command.env("TRIPIPE_LAYER_CAPTURE_KERNEL", "scale").env("TRIPIPE_LAYER_CAPTURE_COUNT", "2");
        let Some(_) = run(command) else { return };
        let found = tripipe_capture::intercept::find(folder.path()).unwrap();
        assert_eq!(found.len(), 2, "{driver}: {found:?}");
        for (folder, size) in found.iter().zip([16, 32]) {
            let enqueue = tripipe_capture::intercept::Enqueue::read(folder).unwrap();
            assert_eq!((enqueue.kernel.as_str(), enqueue.options.as_str()), ("scale", "-D ADD=0.25f"));
            assert_eq!(enqueue.range, tripipe_launch::NdRange::d1(size));
            assert!(
                matches!(&enqueue.source, tripipe_launch::Source::OpenClC(text) if **text == *support::SCALE)
            );
            let memory = |when: &str, index: usize| -> Vec<f32> {
                let mut files =
                    std::fs::read_dir(folder.join(when)).unwrap().map(|file| file.unwrap().path());
                let of = format!("_Arg_{index}_");
                let file = files.find(|path| path.to_string_lossy().contains(&of)).unwrap();
                let bytes = std::fs::read(file).unwrap();
                bytes.chunks_exact(4).map(|four| f32::from_ne_bytes(four.try_into().unwrap())).collect()
            };
            let numbers: Vec<f32> = (0..64).map(|i| i as f32).collect();
            assert_eq!((memory("Pre", 0), memory("Post", 0)), (numbers.clone(), numbers.clone()), "{driver}");
            let mut results = memory("Pre", 1);
            for (result, number) in results.iter_mut().zip(&numbers).take(size) {
                *result = number * 2.0 + 0.25;
            }
            assert_eq!(memory("Post", 1), results, "{driver}");
            assert_eq!(std::fs::read(folder.join("Argument2.bin")).unwrap(), 2f32.to_ne_bytes());
        }
    }
}

#[test]
fn as_libopencl_it_needs_no_loader_interface() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::os::unix::fs::symlink(library("tripipe_layer"), at("libOpenCL.so.1")).unwrap();
    let wrapped = |role: &str| {
        let mut command = application(role);
        command.env_remove("OPENCL_LAYERS").env("LD_LIBRARY_PATH", folder.path());
        command
    };
    let mut command = wrapped("tidy");
    command.env("TRIPIPE_LAYER_LOG", at("log.txt"));
    let Some(_) = run(command) else { return };
    let counts = counts(&std::fs::read_to_string(at("log.txt")).unwrap());
    for (name, count) in roles::TIDY_CALLS {
        assert_eq!(counts.get(*name), Some(count), "{name}");
    }
    // Without a driver, there is no platform.
    let mut command = wrapped("nothing");
    command.env("TRIPIPE_LAYER_DRIVER", at("missing.so"));
    let ran = run(command).unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(said.contains("no OpenCL driver found; name one with TRIPIPE_LAYER_DRIVER"), "{said}");
}

/// clinfo of Debian, which is linked with `libOpenCL.so.1` and not with this layer: what it prints is the same under the layer, which
/// takes the place of that library and loads the library that a variable names.
#[test]
fn a_program_that_is_linked_with_libopencl_runs_under_the_layer() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let Ok(plain) = Command::new("clinfo").output() else { return };
    let maps = |name: &str| {
        let listed = Command::new("ldconfig").arg("-p").output().ok()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let line = listed.lines().find(|line| line.trim_start().starts_with(name))?;
        Some(std::path::PathBuf::from(line.rsplit_once("=> ")?.1))
    };
    let Some(real) = maps("libOpenCL.so.1 ") else { return };
    // Copies, as on a phone: the layer under the name of the loader, and the loader under another one.
    std::fs::copy(library("tripipe_layer"), at("libOpenCL.so.1")).unwrap();
    std::fs::copy(real, at("real_libOpenCL.so")).unwrap();
    let mut command = Command::new("clinfo");
    command.env("LD_LIBRARY_PATH", folder.path()).env("TRIPIPE_LAYER_LOG", at("log.txt"));
    let wrapped = command.env("TRIPIPE_LAYER_DRIVER", at("real_libOpenCL.so")).output().unwrap();
    assert_eq!(wrapped.status.code(), plain.status.code(), "{}", String::from_utf8_lossy(&wrapped.stderr));
    // The loader's own version, and memory that is free, are read in other ways.
    let facts = |output: &Output| -> Vec<String> {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let devices = text.split("NULL platform behavior").next().unwrap_or_default();
        devices.lines().map(str::to_owned).collect()
    };
    assert!(facts(&plain).len() > 5, "{:?}", facts(&plain));
    assert_eq!(facts(&wrapped), facts(&plain));
    let counts = counts(&std::fs::read_to_string(at("log.txt")).unwrap());
    assert!(counts["clGetPlatformIDs"] > 0, "{counts:?}");
    assert!(plain.status.code() != Some(0) || counts["clGetPlatformInfo"] > 10, "{counts:?}");
}

#[test]
fn nothing_is_printed_or_written_by_default() {
    let mut command = application("tidy");
    command.env_remove("TRIPIPE_LOG");
    let Some(ran) = run(command) else { return };
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
}
