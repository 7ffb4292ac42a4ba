//! Optimises every SPIR-V module of a folder as a driver does, into another folder:
//! `cargo run -p tripipe-ir --example optimize -- FOLDER OUT`. `scripts/web` runs it.
//!
//! One line a module: its name, and behind a tab what is left out, if it is written as it is.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use tripipe_ir::front::{clang, spirv};

#[allow(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Box<dyn Error>> {
    let [folder, out] = [1, 2].map(|at| std::env::args().nth(at).map(PathBuf::from));
    let (folder, out) = folder.zip(out).ok_or("want FOLDER OUT")?;
    fs::create_dir_all(&out)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let (Some(name), true) = (path.file_stem(), path.extension().is_some_and(|end| end == "spv")) else {
            continue;
        };
        let module = fs::read(&path)?;
        let name = name.to_string_lossy();
        let (written, left_out) = match clang::optimized_as_driver(&name, &module, &spirv::Options::default())
        {
            Ok((built, _)) => (built.spirv, String::new()),
            Err(why) => (module, format!("the optimisations of a driver: {why}")),
        };
        fs::write(out.join(&*name).with_extension("spv"), written)?;
        println!("{name}\t{left_out}");
    }
    Ok(())
}
