//! From LLVM's bitcode to SPIR-V.

use std::path::Path;

use super::build::BuildError;
use super::run::{BITCODE, SPIRV, run};
use super::{freeze, tools};

/// The extension with vectors of any number of components.
const VECTORS: &str = ",+SPV_INTEL_vector_compute";
/// What the translator's messages quote of an instruction that it does not know.
const FREEZE: &str = " = freeze ";

/// Runs LLVM's translator, which writes SPIR-V, on the bitcode in `work`.
pub(super) fn translate(clang: &Path, translator: &Path, work: &Path, name: &str) -> Result<(), BuildError> {
    match translate_as_it_is(translator, work, name) {
        Err(BuildError::Translate { messages, .. }) if messages.contains(FREEZE) => {
            freeze::remove(clang, work, name)?;
            translate_as_it_is(translator, work, name)?;
        }
        other => other?,
    }
    if work.join(SPIRV).exists() {
        return Ok(());
    }
    // Not an error of the file: it is in a temporary folder that nobody knows.
    let messages = "it ended without an error and without a module; is it what its name says?".to_owned();
    Err(BuildError::Translate { name: name.to_owned(), program: translator.display().to_string(), messages })
}

/// The same, for bitcode that the translator knows.
fn translate_as_it_is(program: &Path, work: &Path, name: &str) -> Result<(), BuildError> {
    let with = |version: &str, extensions: &str| {
        let arguments = [
            work.join(BITCODE).into(),
            "-o".into(),
            work.join(SPIRV).into(),
            format!("--spirv-max-version={version}").into(),
            "--preserve-ocl-kernel-arg-type-metadata-through-string".into(),
            // The extensions that `spirv` supports.
            format!("{}{extensions}", tools::EXTENSIONS).into(),
        ];
        run(program, &arguments, work, name)
    };
    // The translator follows the rules of versions up to 1.3; annotations of functions require 1.4, and vectors of 32
    // an extension.
    let ways = [("1.3", ""), ("1.4", ""), ("1.3", VECTORS), ("1.4", VECTORS)];
    let mut failed = Vec::new();
    for (version, extensions) in ways {
        match with(version, extensions) {
            Ok(_) => return Ok(()),
            Err(error) => failed.push(error),
        }
    }
    // The first error, unless a later way has only `freeze` against the module.
    let frozen = failed.iter().position(|error| error.to_string().contains(FREEZE)).unwrap_or(0);
    let error = failed.swap_remove(frozen);
    Err(match error {
        BuildError::Compile { name, messages } => {
            // The error message is followed by a stack trace of the translator.
            let messages = match messages.split("PLEASE submit").next() {
                None | Some("") => "it failed without a message".to_owned(),
                Some(said) => said.trim_end().to_owned(),
            };
            BuildError::Translate { name, program: program.display().to_string(), messages }
        }
        other => other,
    })
}
