//! Locates the stand-in driver. Tests of other crates include this file by its path.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The stand-in driver (`crates/opencl/examples/stand_in`) as a shared library, built if needed.
pub(crate) fn stand_in() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| example("opencl", "stand_in"))
}

/// An example of a crate as a shared library, built if needed.
///
/// `cargo test` and `cargo nextest` build it with the examples of that crate. Tests of another crate, or a run of a
/// single test, may find none or an outdated one, and compile it here (one second, no dependencies).
#[allow(clippy::panic, reason = "a helper of tests")]
pub(crate) fn example(package: &str, name: &str) -> PathBuf {
    let file = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package).join("examples").join(name);
    let built = |path: &Path| path.metadata().and_then(|facts| facts.modified()).ok();
    let files = std::fs::read_dir(&source).into_iter().flatten().flatten();
    let changed = files.filter_map(|file| built(&file.path())).max();
    // target/<profile>/deps/<test> and target/<profile>/examples/libstand_in.so
    let by_cargo = std::env::current_exe()
        .ok()
        .and_then(|test| Some(test.parent()?.parent()?.join("examples").join(&file)));
    if let Some(path) = by_cargo
        && built(&path).is_some_and(|at| Some(at) >= changed)
    {
        return path;
    }
    // Tests run in parallel, under nextest in separate processes: each builds into a file of its own, and the
    // first to finish shares it with the others. The name changes with the source.
    let age = changed.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("{}-{file}", age.unwrap_or_default().as_millis()));
    if path.exists() {
        return path;
    }
    let own = folder.join(format!("{}-{file}", std::process::id()));
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status = Command::new(rustc)
        .args(["--edition", "2024", "--crate-type", "cdylib", "-o"])
        .args([&own, &source.join("main.rs")])
        .status();
    match status {
        Ok(status) if status.success() && std::fs::rename(&own, &path).is_ok() => path,
        other => panic!("{name} cannot be built: {other:?}"),
    }
}
