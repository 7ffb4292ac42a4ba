//! Translates SPIR-V for OpenCL into kernels.
//!
//! `rspirv` checks the grammar of the whole module (`code`); the accepted words are then read by position. `declare`
//! collects types, constants, variables and functions; `body` translates each entry point with all its calls inlined.
//! It visits blocks in reverse postorder, so that every definition precedes its uses, whatever their order in the
//! module. The result is verified, then cleaned by [`crate::transform`].
//!
//! The input is not trusted: recursion is bounded, sizes are limited by [`Limits`], and anything that is not supported
//! results in a [`LoadError`] that names instruction, byte, and source line.

mod atomics;
mod bits;
mod body;
mod calls;
mod chains;
mod code;
mod constants;
mod declare;
mod entry;
mod extended;
mod finish;
mod flow;
mod functions;
mod groups;
mod ids;
mod images;
mod initial;
mod intel;
mod memory;
mod numbers;
mod options;
mod rep;
mod strings;
mod translator;
mod types;
mod variables;

pub use options::{Limits, Loaded, Math, Options, Refused};

use crate::Module;
use crate::diagnostic::LoadError;

/// Loads every kernel of a SPIR-V module (OpenCL, 64-bit addresses), in either byte order.
///
/// # Errors
/// Bytes that are not SPIR-V, a module that breaks its rules, an unsupported feature, a module that exceeds the
/// limits; each with its location. One kernel that cannot be loaded is enough for an error; [`load_each`] returns the
/// others.
pub fn load(bytes: &[u8], options: &Options) -> Result<Module, LoadError> {
    let Loaded { module, refused } = load_each(bytes, options)?;
    match refused.into_iter().next() {
        Some(refused) => Err(refused.error),
        None => Ok(module),
    }
}

/// Loads all kernels of a SPIR-V module that can be loaded, and reports for each of the others why it cannot.
///
/// # Errors
/// Errors that concern all kernels: bytes that are not SPIR-V, and errors outside of functions.
pub fn load_each(bytes: &[u8], options: &Options) -> Result<Loaded, LoadError> {
    let code = code::Code::read(bytes, &options.limits)?;
    let in_words = |error| ids::in_words(error, &code);
    let declarations = declare::Declarations::read(&code, options).map_err(in_words)?;
    let mut loaded = translator::translate(&code, &declarations, options);
    loaded.module.kernels.iter_mut().for_each(|kernel| options.math.mark(kernel));
    for refused in &mut loaded.refused {
        refused.error = in_words(refused.error.clone());
    }
    Ok(loaded)
}
