//! Repository chores: `cargo xtask layers`, `cargo xtask spirv`.

mod layers;
mod spirv;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["layers"] => layers::check(),
        ["spirv"] => spirv::rebuild(),
        _ => Err(anyhow::anyhow!(
            "usage: cargo xtask layers   compares ARCHITECTURE.md's table with the manifests\n       \
             cargo xtask spirv    builds the SPIR-V of the ladders' programs anew"
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

#[allow(clippy::print_stdout, reason = "a command speaks on standard output")]
fn say(message: &str) {
    println!("{message}");
}

#[allow(clippy::print_stderr, reason = "a command complains on standard error")]
fn complain(message: &str) {
    eprintln!("{message}");
}
