//! Options for loading a module, and the result.

use crate::diagnostic::LoadError;
use crate::{Module, transform};

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
