//! The device that tests use.

use std::process::Command;

use tripipe_opencl::{CacheChoice, Device, ExecutorOptions, OpenClExecutor, devices};

/// The first OpenCL device, or `None` with a note that the test is skipped.
///
/// With `TRIPIPE_REQUIRE_OPENCL=1`, as `scripts/test` sets it, a missing device fails the test instead.
pub(crate) fn device() -> Option<Device> {
    match devices() {
        Ok(devices) => devices.into_iter().next(),
        Err(error) => {
            let required = std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_some_and(|value| value == "1");
            assert!(!required, "TRIPIPE_REQUIRE_OPENCL=1, but {error}");
            eprintln!("skipped: no OpenCL device: {error}");
            None
        }
    }
}

/// An executor on [`device`], without a program cache.
pub(crate) fn executor() -> Option<OpenClExecutor> {
    Some(OpenClExecutor::new(&device()?, &ExecutorOptions::default().cache(CacheChoice::Off)).unwrap())
}

/// Whether this is a process that runs only this test, as is needed for what is counted or recorded in the whole
/// process. If it is not, the test runs in such a process, and succeeds there.
pub(crate) fn is_alone(test: &str) -> bool {
    const ALONE: &str = "TRIPIPE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && said.contains("1 passed"), "{said}");
    false
}
