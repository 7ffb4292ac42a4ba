//! The driver's boundary with the layer in between, fuzzed: random calls on four threads, with everything that the layer records.
//!
//! It runs for a moment; `TRIPIPE_FUZZ_SECONDS=3600` runs longer, and `TRIPIPE_FUZZ_UNDER="valgrind --max-threads=20000"` runs
//! the calls under another program.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, unused_unsafe, reason = "calls of a C API")]
#![allow(clippy::unwrap_used, clippy::macro_metavars_in_unsafe, reason = "tests of a C API")]
#![allow(clippy::print_stderr, reason = "statistics of a run")]

#[path = "../../icd/tests/it/support/fuzzer.rs"]
mod fuzzer;
#[path = "../../icd/tests/it/support/mod.rs"]
mod support;

use std::path::Path;
use std::process::Command;
use std::ptr::null;

use fuzzer::{FuzzOptions, fuzz};
use libloading::{Library, Symbol};
use opencl_sys::cl_icd::cl_icd_dispatch;
use serde_json::Value;

/// The variable that makes this program the application.
const ROLE: &str = "TRIPIPE_LAYER_FUZZ_ROLE";

type InitLayer =
    unsafe extern "C" fn(u32, *const cl_icd_dispatch, *mut u32, *mut *const cl_icd_dispatch) -> i32;

/// The layer over the driver, as a loader puts it there. A loader itself would read forged handles.
fn under_the_layer() -> &'static cl_icd_dispatch {
    // SAFETY: the library of this crate; the driver's table lives as long as the process.
    unsafe {
        let library = Box::leak(Box::new(Library::new(support::built("tripipe_layer")).unwrap()));
        let init: Symbol<'_, InitLayer> = library.get(b"clInitLayer\0").unwrap();
        let entries = size_of::<cl_icd_dispatch>() / size_of::<usize>();
        let (mut own, mut table) = (0, null());
        assert_eq!(init(entries as u32, support::driver(), &raw mut own, &raw mut table), 0);
        assert_eq!(own as usize, entries);
        &*table
    }
}

/// The application; nothing in a run of the tests.
#[test]
fn application() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let _ = support::LAYER.set(under_the_layer());
    let mut options = FuzzOptions::new(5000);
    // While an event of the application is open, nothing is captured.
    options.user_events = role != "captures";
    let done = fuzz(options);
    eprintln!("{done:?}");
    assert!(done.calls >= 20_000 || done.processor_seconds.is_some_and(|seconds| seconds > 1.0), "{done:?}");
    assert!(done.succeeded > 1000, "{done:?}");
    // Without clang there are none.
    assert!(done.launches > 10 || std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{done:?}");
}

fn run(role: &str, settings: &[(&str, &Path)]) {
    let test = std::env::current_exe().unwrap();
    let under = std::env::var("TRIPIPE_FUZZ_UNDER").unwrap_or_default();
    let mut words = under.split_whitespace();
    let mut command = match words.next() {
        Some(program) => {
            let mut command = Command::new(program);
            command.args(words).arg(test);
            command
        }
        None => Command::new(test),
    };
    command.args(["--exact", "application", "--nocapture"]).env(ROLE, role);
    for (name, value) in settings {
        command.env(name, value);
    }
    let ran = command.output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{role}: {}\n{said}", ran.status);
    eprintln!("{role}: {said}");
}

#[test]
fn random_calls_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let [trace, log, report] = ["t.pftrace", "log.txt", "r.json"].map(|name| folder.path().join(name));
    // The log of a long run would fill the disk.
    let is_long = std::env::var_os("TRIPIPE_FUZZ_SECONDS").is_some();
    let log = if is_long { "/dev/null".into() } else { log };
    run(
        "records",
        &[
            ("TRIPIPE_LAYER_TRACE", &trace),
            ("TRIPIPE_LAYER_LOG", &log),
            ("TRIPIPE_LAYER_REPORT", &report),
            ("TRIPIPE_LAYER_BACKTRACE", Path::new("1")),
        ],
    );
    assert!(std::fs::metadata(&trace).unwrap().len() > 100_000);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    let calls = report["calls"].as_u64().unwrap();
    assert!(calls >= 20_000, "{calls}");
    let findings = report["findings"].as_array().unwrap();
    // Calls with forged handles fail, and what nobody released is there at the end.
    for code in ["failed-call", "not-released"] {
        assert!(findings.iter().any(|finding| finding["code"] == code), "{code}: {findings:?}");
    }
    if !is_long {
        let log = std::fs::read_to_string(&log).unwrap();
        assert_eq!(log.lines().count() as u64, calls);
    }
}

#[test]
fn random_calls_with_captures_on_end_as_without() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("r.json");
    run(
        "captures",
        &[
            ("TRIPIPE_LAYER_CAPTURE", folder.path()),
            ("TRIPIPE_LAYER_CAPTURE_COUNT", Path::new("50")),
            ("TRIPIPE_LAYER_REPORT", &report),
        ],
    );
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&report).unwrap()).unwrap();
    assert!(report["calls"].as_u64().unwrap() >= 20_000);
    if std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_some() {
        let launches = std::fs::read_dir(folder.path().join("Replay")).unwrap().count();
        assert!(launches > 0);
    }
}
