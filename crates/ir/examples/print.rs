//! Loads a kernel file and prints it in the text form: `cargo run -p tripipe-ir --example print -- FILE.cl [-D N=4 ...]`.

use std::path::Path;
use std::time::Instant;

use tripipe_ir::front::{clang, spirv};

#[allow(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which file?")?;
    let started = Instant::now();
    let bytes = if Path::new(&path).extension().is_some_and(|extension| extension == "spv") {
        std::fs::read(&path)?
    } else {
        let build = clang::Build { options: arguments.collect(), ..clang::Build::default() };
        clang::build_file(Path::new(&path), &build)?.spirv
    };
    let built = Instant::now();
    let module = spirv::load(&bytes, &spirv::Options::default())?;
    eprintln!("built in {:?}, loaded in {:?}", built - started, built.elapsed());
    print!("{module}");
    Ok(())
}
