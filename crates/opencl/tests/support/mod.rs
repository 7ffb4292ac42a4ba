//! The device that tests use.

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
#[allow(dead_code, reason = "not every test file needs one")]
pub(crate) fn executor() -> Option<OpenClExecutor> {
    Some(OpenClExecutor::new(&device()?, &ExecutorOptions::default().cache(CacheChoice::Off)).unwrap())
}
