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
mod flow;
mod functions;
mod groups;
mod ids;
mod images;
mod initial;
mod intel;
mod memory;
mod numbers;
mod rep;
mod strings;
mod translator;
mod types;
mod variables;

use crate::diagnostic::{LoadError, SourceLocation, SpirvLocation};
use crate::{Kernel, Module, Op, Type, transform, verify};

/// Limits on the size of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the module.
    pub module_bytes: usize,
    /// Instructions of all kernels after inlining.
    pub instructions: usize,
    /// Bytes of one memory object with initial contents.
    pub initial_bytes: usize,
    /// Nesting of calls, and of types.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { module_bytes: 64 << 20, instructions: 8_000_000, initial_bytes: 16 << 20, depth: 48 }
    }
}

/// Options for loading a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Size limits.
    pub limits: Limits,
    /// Transformations of the kernels after translation.
    pub transform: transform::Options,
    /// Values for specialization constants, by their `SpecId`: the bits of the constant.
    pub specialization: Vec<(u32, u64)>,
}

/// A module as far as it could be loaded.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The kernels that could be loaded, and the objects that they share.
    pub module: Module,
    /// The kernels that could not, in the module's order.
    pub refused: Vec<Refused>,
}

/// A kernel that could not be loaded.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The kernel's name.
    pub kernel: String,
    /// The reason.
    pub error: LoadError,
}

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
    for refused in &mut loaded.refused {
        refused.error = in_words(refused.error.clone());
    }
    Ok(loaded)
}

/// Verifies and cleans a kernel as soon as it is translated, so that only one kernel at a time has its full size.
fn finish(kernel: &mut Kernel, module: &Module, options: &Options) -> Result<(), LoadError> {
    let check = |kernel: &Kernel| {
        verify::verify_kernel(kernel, &module.objects)
            .map_err(|error| LoadError::Inconsistent { kernel: kernel.name.clone(), error })
    };
    check(kernel)?;
    transform::run(kernel, &options.transform);
    check(kernel)?;
    if options.transform.promote { refuse_handles_in_memory(kernel, module) } else { Ok(()) }
}

/// Images and samplers have no bytes: a variable that holds one must have become a value.
fn refuse_handles_in_memory(kernel: &Kernel, module: &Module) -> Result<(), LoadError> {
    for inst in kernel.blocks.values().flat_map(|block| &block.insts) {
        let inst = &kernel.insts[*inst];
        let value = match inst.op {
            Op::Load(_) => inst.result,
            Op::Store(_) => inst.operands.get(1).copied(),
            _ => None,
        };
        if !value.is_some_and(|value| matches!(kernel.ty(value), Type::Image(_) | Type::Sampler)) {
            continue;
        }
        let source =
            inst.location.map(|location| kernel.locations[location]).map(|location| SourceLocation {
                file: module.files[location.file].to_string(),
                line: location.line,
                column: location.column,
            });
        let opcode = if inst.result.is_some() { "OpLoad" } else { "OpStore" };
        let location = SpirvLocation {
            opcode: opcode.into(),
            kernel: kernel.name.clone(),
            source,
            ..SpirvLocation::default()
        };
        let feature = "an image or sampler in an array or behind a pointer".into();
        return Err(LoadError::Unsupported { location: Box::new(location), feature });
    }
    Ok(())
}
