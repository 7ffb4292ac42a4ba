//! Repository chores: `cargo xtask circles`, `gallery`, `layers`, `names`, `results`, `spirv`, `words`.

mod circles;
mod gallery;
mod layers;
mod names;
mod results;
mod source;
mod words;

use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["circles"] => circles::check(),
        ["circles", folder] => circles::describe(folder),
        ["gallery"] => gallery::rebuild(),
        ["layers"] => layers::check(),
        ["names"] => names::check(),
        ["results"] => results::write(),
        ["spirv"] => spirv(),
        ["words"] => words::check(),
        _ => Err(anyhow::anyhow!(
            "usage: cargo xtask circles  looks for circles of files that use each other; with a crate, lists them\n       \
             cargo xtask gallery  makes the pages of docs/gallery\n       \
             cargo xtask layers   compares ARCHITECTURE.md's table with the manifests\n       \
             cargo xtask names    looks for names that several types have\n       \
             cargo xtask results  writes the classes of Python for results\n       \
             cargo xtask spirv    rebuilds the SPIR-V of the ladders' programs\n       \
             cargo xtask words    looks for phrases with better words, dead links and long lines"
        )),
    };
    match result {
        Ok(message) => {
            say(&message);
            ExitCode::SUCCESS
        }
        Err(error) => {
            complain(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

/// The command is an example of `conformance`, so that the checks here need no crate of the project.
fn spirv() -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let example = ["run", "--quiet", "--package", "tripipe-conformance", "--example", "spirv"];
    let ran = Command::new(cargo).args(example).status().context("cargo")?;
    ensure!(ran.success(), "the example `spirv` of tripipe-conformance failed");
    Ok("spirv: crates/ladders/spirv is up to date".to_owned())
}

#[allow(clippy::print_stdout, reason = "a command prints to standard output")]
fn say(message: &str) {
    println!("{message}");
}

#[allow(clippy::print_stderr, reason = "a command reports errors on standard error")]
fn complain(message: &str) {
    eprintln!("{message}");
}
