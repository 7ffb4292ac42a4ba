//! The example for Android, built with its own `CMakeLists.txt` and run by Java on this machine: over a stand-in for
//! `libandroid.so`, on the CPU, on an OpenCL device that imports no `AHardwareBuffer`, and on one that does.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::{example, has, library, run};

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/android").join(name)
}

/// The folder of the Java that runs.
fn java_home() -> PathBuf {
    let output = run(Command::new("java").args(["-XshowSettings:properties", "-version"]));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let home = text.lines().find_map(|line| line.trim().strip_prefix("java.home = ")).unwrap();
    PathBuf::from(home)
}

/// The example with all that it needs, in one folder; `None` without the programs for it.
fn built() -> Option<TempDir> {
    if !["gcc", "g++", "cmake", "java", "javac"].into_iter().all(has) {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // As scripts/build-android lays it out.
    for made in ["jniLibs/host", "include", "classes"] {
        std::fs::create_dir_all(at(made)).unwrap();
    }
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/tripipe.h");
    std::fs::copy(header, at("include/tripipe.h")).unwrap();
    std::os::unix::fs::symlink(library("tripipe_c"), at("jniLibs/host/libtripipe.so")).unwrap();
    std::os::unix::fs::symlink(library("tripipe_c"), at("libtripipe.so.0")).unwrap();

    let java = java_home().join("include");
    let includes = [source("include"), java.clone(), java.join("linux")];
    let includes: Vec<String> = includes.iter().map(|path| format!("-I{}", path.display())).collect();
    let strict = ["-Wall", "-Wextra", "-Werror", "-g", "-shared", "-fPIC"];
    let mut android = Command::new("g++");
    android.args(strict).args(&includes).arg(source("libandroid.cpp"));
    run(android.arg("-Wl,-soname,libandroid.so").arg("-o").arg(at("libandroid.so")));
    std::os::unix::fs::symlink(at("libandroid.so"), at("libnativewindow.so")).unwrap();
    let mut opencl = Command::new("gcc");
    opencl.args(strict).args(&includes).arg(source("opencl.c"));
    opencl.arg("-L").arg(folder.path()).args(["-landroid", "-l:libOpenCL.so.1"]);
    run(opencl.arg("-o").arg(at("libOpenCL-imports.so")));

    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(example("android")).arg("-B").arg(at("build"));
    configure.arg(format!("-DTRIPIPE_ANDROID={}", folder.path().display())).arg("-DANDROID_ABI=host");
    configure.arg(format!("-DCMAKE_CXX_FLAGS={}", includes.join(" ")));
    run(configure.arg(format!("-DCMAKE_SHARED_LINKER_FLAGS=-L{}", folder.path().display())));
    run(Command::new("cmake").arg("--build").arg(at("build")));

    let mut compiler = Command::new("javac");
    compiler.args(["-Xlint:all", "-Werror", "--release", "11", "-d"]).arg(at("classes"));
    compiler.arg(source("java/android/hardware/HardwareBuffer.java")).arg(source("java/FiltersTest.java"));
    run(compiler.arg(example("android").join("java/org/tripipe/example/Filters.java")));
    Some(folder)
}

/// Runs the test in Java; `None` without an OpenCL device. The virtual machine checks the calls of JNI.
fn passed(folder: &Path, device: &str, is_in_place: bool, driver: Option<PathBuf>) -> Option<()> {
    let cache = tempfile::tempdir().unwrap();
    let mut command = Command::new("java");
    let libraries = format!("{}:{}", folder.display(), folder.join("build").display());
    command.args(["-Xcheck:jni", "-Xmx64m", "-cp"]).arg(folder.join("classes"));
    command.arg(format!("-Djava.library.path={libraries}")).env("LD_LIBRARY_PATH", libraries);
    command.env_remove("TRIPIPE_CACHE_DIR");
    // PoCL's compiler sets signal handlers, which the virtual machine needs for itself: this library chains them.
    command.env("LD_PRELOAD", java_home().join("lib/libjsig.so"));
    if let Some(driver) = driver {
        command.env("TRIPIPE_OPENCL", driver);
    }
    command.args(["FiltersTest", device, if is_in_place { "true" } else { "false" }]).arg(cache.path());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    if device == "opencl"
        && errors.contains("no OpenCL")
        && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none()
    {
        eprintln!("skipped: {errors}");
        return None;
    }
    assert!(output.status.success(), "{text}{errors}");
    assert!(!format!("{text}{errors}").contains("in native method"), "JNI is used wrongly: {text}{errors}");
    assert!(text.lines().any(|line| line.starts_with("filtered on ")), "{text}");
    Some(())
}

#[test]
fn the_android_example_filters_buffers() {
    let Some(folder) = built() else { return };
    passed(folder.path(), "cpu", false, None).unwrap();
    // A driver that imports no such buffer: the example locks them.
    if passed(folder.path(), "opencl", false, None).is_none() {
        return;
    }
    // One that does: its device works on the buffers themselves.
    let driver = folder.path().join("libOpenCL-imports.so");
    passed(folder.path(), "opencl", true, Some(driver)).unwrap();
}

#[test]
fn the_manifest_names_every_library_that_an_app_may_load() {
    use tripipe_opencl::library::{System, candidates};

    let manifest = std::fs::read_to_string(example("android").join("AndroidManifest.xml")).unwrap();
    let lines = manifest.lines().filter(|line| line.contains("<uses-native-library"));
    let named: Vec<&str> = lines
        .map(|line| {
            assert!(line.contains("android:required=\"false\""), "{line}: phones without it install the app");
            line.split('"').nth(1).unwrap()
        })
        .collect();
    // An app loads vendors' libraries by their names, never by a path.
    let all = candidates(System::Android, 64);
    let bare: Vec<&str> =
        all.iter().filter_map(|path| path.to_str()).filter(|path| !path.contains('/')).collect();
    assert_eq!(named, bare);
}
