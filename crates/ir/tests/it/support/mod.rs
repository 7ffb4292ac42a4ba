//! Shared by the tests: the list of files, how to build them, what to do without clang.

#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::{Path, PathBuf};

use tripipe_ir::front::clang::{Build, BuildError, Built, Clang, Translator, build_file};

/// Builds a file with the options in its `// options:` line; `None`, with a message, if there is no clang.
pub(crate) fn build(path: &Path) -> Option<Built> {
    build_with(path, &[])
}

/// The same with additional options.
pub(crate) fn build_with(path: &Path, more: &[&str]) -> Option<Built> {
    let text = fs::read_to_string(path).expect("the source can be read");
    let options = text.lines().find_map(|line| line.strip_prefix("// options:")).unwrap_or("");
    let mut all: Vec<String> =
        options.split_whitespace().chain(more.iter().copied()).map(str::to_owned).collect();
    for part in parts_before(path) {
        all.extend(["-include".to_owned(), part.display().to_string()]);
    }
    let build = Build { options: all, ..Build::default() };
    built(build_file(path, &build))
}

/// The result of a build; `None` if there is no clang, or only one that writes no lines, unless
/// `TRIPIPE_REQUIRE_CLANG` is set.
pub(crate) fn built(result: Result<Built, BuildError>) -> Option<Built> {
    if Clang::find().is_ok_and(|clang| clang.translator == Translator::BackEnd) {
        // The expected results are those of LLVM's translator: with lines, and with the complete library.
        assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "no llvm-spirv");
        println!("skipped: no llvm-spirv");
        return None;
    }
    match result {
        Ok(built) => Some(built),
        Err(error @ BuildError::ToolMissing { .. }) => {
            assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// All `.cl` files under a folder of this crate, sorted.
pub(crate) fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cl") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder} has sources");
    found
}

/// The files that the ladders' programs have before one of their files.
fn parts_before(path: &Path) -> Vec<PathBuf> {
    let ladders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ladders/src");
    let parts: &[&str] = match path.file_name().and_then(|name| name.to_str()) {
        Some("laplace.cl") => &["laplace/store_last.cl"],
        Some("test.cl" | "border_kernel.cl") => &["laplace_gray/vectors.cl", "laplace/store_last.cl"],
        Some("padded.cl") => &["laplace_gray/vectors.cl"],
        _ => &[],
    };
    let parts = if path.starts_with(&ladders) { parts } else { &[] };
    parts.iter().map(|part| ladders.join(part)).collect()
}

/// The OpenCL C files of the library's kernels and of the ladders that have kernels; parts of programs may have none.
pub(crate) fn project_sources() -> Vec<PathBuf> {
    let files = ["../kernels/src", "../ladders/src"].into_iter().flat_map(sources);
    files.filter(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("kernel void"))).collect()
}
