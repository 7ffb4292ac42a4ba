//! Repository chores: `cargo xtask gallery`, `cargo xtask layers`, `cargo xtask names`, `cargo xtask spirv`, `cargo xtask words`.

mod gallery;
mod layers;
mod names;
mod spirv;
mod words;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["gallery"] => gallery::rebuild(),
        ["layers"] => layers::check(),
        ["names"] => names::check(),
        ["spirv"] => spirv::rebuild(),
        ["words"] => words::check(),
        _ => Err(anyhow::anyhow!(
            "usage: cargo xtask gallery  makes the pages of docs/gallery\n       \
             cargo xtask layers   compares ARCHITECTURE.md's table with the manifests\n       \
             cargo xtask names    looks for names that several types have\n       \
             cargo xtask spirv    rebuilds the SPIR-V of the ladders' programs\n       \
             cargo xtask words    looks for phrases that CONTRIBUTING.md replaces"
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

#[allow(clippy::print_stdout, reason = "a command prints to standard output")]
fn say(message: &str) {
    println!("{message}");
}

#[allow(clippy::print_stderr, reason = "a command reports errors on standard error")]
fn complain(message: &str) {
    eprintln!("{message}");
}
