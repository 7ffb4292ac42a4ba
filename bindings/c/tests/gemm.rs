//! `tripipe_sgemm`, `tripipe_hgemm` and `tripipe_igemm`, called from C on the machine's OpenCL device.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "helpers of tests")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{compiled, installed, with_library};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gemm.c")
}

/// What the program wrote; `None` without an OpenCL device.
fn output(command: &mut Command) -> Option<String> {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("clGetPlatformIDs") && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
        eprintln!("skipped: {errors}");
        return None;
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains("refusals: 0 are missing"), "{said}");
    assert!(said.contains("sgemm: 73 products, 0 wrong elements, 0 refused"), "{said}");
    assert!(said.contains("igemm: 73 products, 0 wrong elements, 0 refused"), "{said}");
    Some(said)
}

#[test]
fn products_of_all_layouts_are_right_on_an_opencl_device() {
    let Some(prefix) = installed() else { return };
    let program = compiled("gcc", &["-std=c11"], source(), prefix.path());
    let Some(said) = output(&mut with_library(&program, prefix.path())) else { return };
    println!("{said}");
}
