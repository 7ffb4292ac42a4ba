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
    let suppressions = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("valgrind.supp");
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
fn the_example_of_the_cpp_header_is_right() {
    let Some(prefix) = installed() else { return };
    for standard in ["-std=c++17", "-std=c++20"] {
        let program = compiled("g++", &[standard], example("layer.cpp"), prefix.path());
        let output = run(with_library(&program, prefix.path()).arg("cpu"));
        let said = String::from_utf8(output.stdout).unwrap();
        for line in [
            "sum 38400, from 200 to 200",
            "off by 0 at most",
            "dot 1289",
            "refused: filters: unknown filter `blurr`",
        ] {
            assert!(said.contains(line), "{line}: {said}");
        }
    }
    assert!(prefix.path().join("share/tripipe/valgrind.supp").is_file());
}

#[test]
fn the_header_is_c99_and_cpp11() {
    let Some(prefix) = installed() else { return };
    let source = prefix.path().join("plain.c");
    std::fs::write(&source, "#include <tripipe.h>\nint main(void) { return tripipe_last_error() == 0; }\n")
        .unwrap();
    compiled("gcc", &["-std=c99"], source.clone(), prefix.path());
    compiled("g++", &["-x", "c++", "-std=c++11"], source, prefix.path());
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

    // The very version, and one that is not.
    for (version, is_found) in
        [("0.1.0 EXACT", true), ("0.1.1 EXACT", false), ("0.0.9 EXACT", false), ("1.0", false)]
    {
        let text = format!(
            "cmake_minimum_required(VERSION 3.16)\nproject(x C)\nfind_package(tripipe {version} REQUIRED)\n"
        );
        std::fs::write(project.join("CMakeLists.txt"), text).unwrap();
        let build = prefix.path().join(version);
        let prefixes = format!("-DCMAKE_PREFIX_PATH={}", prefix.path().display());
        let output = Command::new("cmake")
            .arg("-S")
            .arg(&project)
            .arg("-B")
            .arg(&build)
            .arg(prefixes)
            .output()
            .unwrap();
        assert_eq!(output.status.success(), is_found, "{version}");
    }
}
