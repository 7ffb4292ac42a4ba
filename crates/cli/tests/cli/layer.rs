//! The circle: an application runs under the layer (crate `layer`), `tripipe import` reads its capture, and `tripipe verdict` judges
//! it. The application is `tripipe run-kernel` on an OpenCL device.

use std::path::PathBuf;

use crate::Bench;
use crate::import::captures;
use crate::run_kernel::compiles;

/// The layer, which cargo builds for tests: beside them, or one folder up.
fn layer() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let found = [deps.join("libtripipe_layer.so"), deps.parent().unwrap().join("libtripipe_layer.so")];
    let newest = found.into_iter().filter(|path| path.exists());
    newest.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok()).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_layer_captures_is_imported_and_judged() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.succeed(&["import", captures().to_str().unwrap(), "-o", "launches"]);
    // Integers, local memory, images: results that every device must have.
    for name in ["1_sums", "4_gather"] {
        let launch = format!("launches/Enqueue_{name}/launch.toml");
        let mut command = bench.command(&["run-kernel", &launch, "--device", "opencl:0"]);
        command.env_remove("TRIPIPE_OPENCL").env("OPENCL_LAYERS", layer());
        command.env("TRIPIPE_LAYER_CAPTURE", bench.path().join(name)).env("TRIPIPE_LAYER_CAPTURE_COUNT", "1");
        command.env("TRIPIPE_LAYER_TRACE", bench.path().join("trace.json"));
        let ran = command.output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr);
        if err.contains("no OpenCL library found") && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
            eprintln!("skipped: {err}");
            return;
        }
        assert_eq!(ran.status.code(), Some(0), "{err}");
        let imported = format!("imported-{name}");
        bench.succeed(&["import", name, "-o", &imported]);
        let said = bench.succeed(&["verdict", &imported]);
        assert!(said.contains("the device computed what the simulator computes"), "{said}");
        // The launch that was captured is the one that was run.
        let kernel = &name[2..];
        let folder = std::fs::read_dir(bench.path().join(&imported)).unwrap().next().unwrap().unwrap().path();
        let text = std::fs::read_to_string(folder.join("launch.toml")).unwrap();
        assert!(text.contains(&format!("kernel = \"{kernel}\"")), "{text}");
        let sizes = |text: &str| -> Vec<String> {
            let lines =
                text.lines().filter(|line| line.starts_with("global = ") || line.starts_with("local = "));
            lines.map(str::to_owned).collect()
        };
        let original = std::fs::read_to_string(bench.path().join(&launch)).unwrap();
        assert_eq!(sizes(&text), sizes(&original));
        // The trace of the same run has the kernel with the device's times.
        let ranked = bench.succeed(&["why", "trace.json", "-g", "mali-g77"]);
        assert!(ranked.contains(kernel), "{ranked}");
    }
}
