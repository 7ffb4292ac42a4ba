//! The examples, built with the system's compilers as an application would: installed, found by pkg-config and by `CMake`, and
//! run under valgrind.

use std::process::Command;

use crate::support::{compiled, example, has, installed, run, with_library};

#[test]
fn the_c_example_is_right_under_valgrind() {
    let Some(prefix) = installed() else { return };
    let program = compiled("gcc", &["-std=c11"], example("edges.c"), prefix.path());
    let mut command = with_library("valgrind", prefix.path());
    command.args(["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite", "-q"]);
    let suppressions = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/valgrind.supp");
    command.arg(format!("--suppressions={}", suppressions.display()));
    // Valgrind 3.19 has no AVX-512.
    let output = run(command.arg(&program).arg("cpu").env("TRIPIPE_CPU_VECTORS", "avx2"));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("pixels are on an edge") && said.contains("the product is right"), "{said}");
    assert!(said.contains("  why  ") && said.contains(" on CPU path "), "{said}");

    // A picture of the user, and errors.
    let picture = prefix.path().join("in.ppm");
    let mut bytes = b"P6 4 3 255\n".to_vec();
    bytes.extend([9; 36]);
    std::fs::write(&picture, bytes).unwrap();
    let result = prefix.path().join("out.pgm");
    run(with_library(&program, prefix.path()).arg("cpu").arg(&picture).arg(&result));
    assert_eq!(std::fs::read(&result).unwrap(), [&b"P5\n4 3\n255\n"[..], &[0; 12]].concat());
    let refused = with_library(&program, prefix.path()).arg("gpu0").output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(
        message.starts_with("the device: unknown device `gpu0`: expected auto, cpu, opencl"),
        "{message}"
    );
}

#[test]
fn the_cpp_example_is_right_on_an_opencl_device() {
    let Some(prefix) = installed() else { return };
    let program = compiled("g++", &["-std=c++17"], example("beside.cpp"), prefix.path());
    let mut command = with_library(&program, prefix.path());
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("clGetPlatformIDs") && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
        eprintln!("skipped: {errors}");
        return;
    }
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains("sgemm: 0 of ") && said.contains("median: 0 of "), "{said}");
    assert!(said.contains("refused: a_ld is 44, less than 45"), "{said}");
}

#[test]
fn cmake_finds_the_library() {
    let Some(prefix) = installed() else { return };
    if !has("cmake") {
        return;
    }
    let project = prefix.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let text = format!(
        "cmake_minimum_required(VERSION 3.16)\nproject(edges C)\nfind_package(tripipe 0.1 REQUIRED)\nadd_executable(edges {:?})\n\
         target_link_libraries(edges PRIVATE tripipe::tripipe)\n",
        example("edges.c")
    );
    std::fs::write(project.join("CMakeLists.txt"), text).unwrap();
    let build = project.join("build");
    let prefixes = format!("-DCMAKE_PREFIX_PATH={}", prefix.path().display());
    run(Command::new("cmake").arg("-S").arg(&project).arg("-B").arg(&build).arg(prefixes));
    run(Command::new("cmake").arg("--build").arg(&build));
    run(Command::new(build.join("edges")).arg("cpu"));
}
