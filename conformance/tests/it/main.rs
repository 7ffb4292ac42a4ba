//! Kernels against their references, on every executor.

#![allow(
    clippy::print_stderr,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests report what they leave out, and panic"
)]

mod analysis;
mod cliffs;
mod compile;
mod drivers;
mod filter_candidates;
mod filters;
mod gemm;
mod image_kernels;
mod math_kernels;
mod quantised;
mod random;
mod spirv;
mod tester;

use tripipe_opencl::{ExecutorOptions, OpenClExecutor, devices};

/// Every OpenCL device. Without one, tests are left out with a message; with `TRIPIPE_REQUIRE_OPENCL=1` that is a failure.
fn opencl() -> Vec<OpenClExecutor> {
    let found = devices().unwrap_or_default();
    if found.is_empty() {
        let is_required = std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_some();
        assert!(!is_required, "no OpenCL device: scripts/setup installs one");
        eprintln!("left out: no OpenCL device");
    }
    let open =
        |device| OpenClExecutor::new(device, &ExecutorOptions::default()).expect("a listed device opens");
    found.iter().map(open).collect()
}
