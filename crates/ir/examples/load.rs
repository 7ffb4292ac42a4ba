//! Says of every kernel of a file whether it loads: `cargo run -p tripipe-ir --example load -- FILE.cl [-D N=4 ...]`.
//!
//! One line a kernel: `loaded`, its name and how many instructions it has; or `refused`, its name and why. A file that does
//! not build has one line `failed`. Exit codes: 0 all loaded, 1 some refused, 2 not built.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use tripipe_ir::front::{clang, spirv};

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("which file?");
        return ExitCode::from(2);
    };
    match load(Path::new(&path), arguments.collect()) {
        Ok(all) => ExitCode::from(u8::from(!all)),
        Err(error) => {
            println!("failed\t{error}");
            ExitCode::from(2)
        }
    }
}

/// Whether every kernel of the file loads.
#[allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]
fn load(path: &Path, options: Vec<String>) -> Result<bool, Box<dyn std::error::Error>> {
    let started = Instant::now();
    let bytes = if path.extension().is_some_and(|extension| extension == "spv") {
        std::fs::read(path)?
    } else {
        let built = clang::build_file(path, &clang::Build { options, ..clang::Build::default() })?;
        eprintln!("{}", built.warnings);
        built.spirv
    };
    let build = started.elapsed();
    let started = Instant::now();
    let loaded = spirv::load_each(&bytes, &spirv::Options::default())?;
    eprintln!("built in {build:.1?}, loaded in {:.1?}", started.elapsed());
    for kernel in &loaded.module.kernels {
        let count: usize = kernel.blocks.values().map(|block| block.insts.len()).sum();
        println!("loaded\t{}\t{count} instructions", kernel.name);
    }
    for refused in &loaded.refused {
        println!("refused\t{}\t{}", refused.kernel, refused.error);
    }
    Ok(loaded.refused.is_empty())
}
