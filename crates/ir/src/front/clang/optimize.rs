//! Optimises a SPIR-V module as a driver does: to LLVM IR, optimised, and back.

use std::ffi::OsString;
use std::fs;

use super::build::{BuildError, Built, Optimization, level};
use super::run::{BITCODE, SPIRV, run};
use super::translate::translate;
use super::{Clang, Translator};
use crate::front::spirv::{self, Loaded, load_each};

/// The module after the optimisations of a driver, and its kernels, all of which load.
///
/// # Errors
/// Why it is to be used as it is, after "the optimisations of a driver: ".
pub fn optimized_as_driver(
    name: &str,
    module: &[u8],
    options: &spirv::Options,
) -> Result<(Built, Loaded), &'static str> {
    let built = optimize(name, module, Optimization::Driver).map_err(|error| match error {
        BuildError::ToolMissing { .. } => "clang with llvm-spirv is not installed",
        _ => "the optimiser does not accept the module",
    })?;
    match load_each(&built.spirv, options) {
        Ok(loaded) if loaded.refused.is_empty() => Ok((built, loaded)),
        _ => Err("the optimised module uses unsupported features"),
    }
}

/// Optimises a SPIR-V module, which messages call `name`. Line numbers remain as far as the optimiser preserves them.
///
/// # Errors
/// There is no clang with a matching `llvm-spirv` (clang's own back end cannot read SPIR-V), or one of them rejects
/// the module, which does not mean that the module is invalid.
pub fn optimize(name: &str, spirv: &[u8], optimization: Optimization) -> Result<Built, BuildError> {
    let tools = Clang::find()?;
    let Translator::Tool { program: translator, .. } = &tools.translator else {
        return Err(BuildError::ToolMissing {
            tool: "llvm-spirv",
            looked_for: format!("of the version of {}", tools.program.display()),
            variable: "TRIPIPE_LLVM_SPIRV",
        });
    };
    let work = tempfile::tempdir().map_err(|error| BuildError::File { path: std::env::temp_dir(), error })?;
    let (module, plain) = (work.path().join("module.spv"), work.path().join("plain.bc"));
    fs::write(&module, spirv).map_err(|error| BuildError::File { path: module.clone(), error })?;
    let back: [OsString; 4] = ["-r".into(), module.into(), "-o".into(), plain.clone().into()];
    run(translator, &back, work.path(), name)?;
    let mut arguments: Vec<OsString> =
        ["-x", "ir", "--target=spir64-unknown-unknown", "-Wno-override-module"].map(OsString::from).to_vec();
    arguments.extend(level(optimization).iter().map(OsString::from));
    arguments.extend(["-emit-llvm", "-c", "-o"].map(OsString::from));
    arguments.extend([work.path().join(BITCODE).into(), plain.into()]);
    let warnings = run(&tools.program, &arguments, work.path(), name)?.messages;
    translate(&tools.program, translator, work.path(), name)?;
    let path = work.path().join(SPIRV);
    let spirv = fs::read(&path).map_err(|error| BuildError::File { path, error })?;
    Ok(Built { spirv, warnings, cached: false })
}
