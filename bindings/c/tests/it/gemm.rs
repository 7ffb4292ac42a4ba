//! `tripipe_sgemm`, `tripipe_hgemm` and `tripipe_igemm`, called from C on the machine's OpenCL device, and on a virtual GPU.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{compiled, installed, library, with_library};

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gemm.c")
}

/// What the program wrote about `products` products of each type, all of which are right; `None` without an OpenCL device.
fn output(command: &mut Command, products: usize) -> Option<String> {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("clGetPlatformIDs") && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
        eprintln!("skipped: {errors}");
        return None;
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains("refusals: 0 are missing"), "{said}");
    for call in ["sgemm", "hgemm", "igemm"] {
        let line = format!("{call}: {products} products, 0 wrong elements, 0 refused");
        assert!(said.contains(&line), "{line}: {said}");
    }
    Some(said)
}

#[test]
fn products_of_all_layouts_are_right_on_an_opencl_device() {
    let Some(prefix) = installed() else { return };
    let program = compiled("gcc", &["-std=c11"], source(), prefix.path());
    let Some(said) = output(with_library(&program, prefix.path()).arg("4"), 73) else { return };
    println!("{said}");
}

/// A Mali-G77 has halves, which PoCL does not have.
#[test]
fn products_are_right_on_a_virtual_gpu() {
    let Some(prefix) = installed() else { return };
    if !["clang-15", "llvm-spirv-15"].into_iter().all(has_compiler) {
        return;
    }
    let program = compiled("gcc", &["-std=c11"], source(), prefix.path());
    let mut command = with_library(&program, prefix.path());
    command.env("OCL_ICD_VENDORS", library("tripipe_icd")).env("TRIPIPE_DEVICES", "mali-g77");
    let Some(said) = output(command.arg("1"), 19) else { return };
    assert!(said.contains("halves: yes"), "{said}");
}

/// Whether a program that the driver of virtual GPUs calls is there; with `TRIPIPE_REQUIRE_CLANG` it must be.
fn has_compiler(program: &str) -> bool {
    let is_there =
        Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(is_there || std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{program} is missing");
    is_there
}
