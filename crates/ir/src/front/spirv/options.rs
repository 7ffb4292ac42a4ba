//! Options for loading a module, and the result.

use crate::diagnostic::LoadError;
use crate::op::{Binary, Unary};
use crate::{Flags, Kernel, Module, Op, transform};

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
    /// What the build allows that a module does not say.
    pub math: Math,
    /// Values for specialization constants, by their `SpecId`: the bits of the constant.
    pub specialization: Vec<(u32, u64)>,
}

/// Permissions of a build for floats. A module has those for sums and products, but none for functions, and no
/// contraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Math {
    /// `-cl-fast-relaxed-math` or `-cl-unsafe-math-optimizations`: functions need only their relaxed precision (OpenCL C
    /// 3.0, 7.4), and sums may be reordered.
    pub relaxed: bool,
    /// `-cl-mad-enable`: a product and a sum of it may be rounded once.
    pub contracted: bool,
}

impl Math {
    /// The permissions in build options.
    pub fn of(options: &[String]) -> Self {
        let has = |option: &str| options.iter().any(|word| word == option);
        Self {
            relaxed: has("-cl-fast-relaxed-math") || has("-cl-unsafe-math-optimizations"),
            contracted: has("-cl-mad-enable"),
        }
    }

    /// Marks the operations on floats.
    pub(super) fn mark(self, kernel: &mut Kernel) {
        let flags = [(self.relaxed, Flags::FAST), (self.contracted, Flags::CONTRACT)];
        let flags = flags.into_iter().filter(|flag| flag.0);
        let flags = flags.fold(Flags::default(), |all, flag| all.union(flag.1));
        if flags.is_empty() {
            return;
        }
        let Kernel { insts, values, .. } = kernel;
        for data in insts.values_mut() {
            let computes = match data.op {
                Op::Binary(binary) => {
                    matches!(binary, Binary::FAdd | Binary::FSub | Binary::FMul | Binary::FDiv | Binary::FRem)
                }
                Op::Unary(unary) => unary == Unary::FNeg,
                Op::Builtin(_) => data.result.is_some_and(|result| values[result].ty.is_float()),
                _ => false,
            };
            if computes {
                data.flags = data.flags.union(flags);
            }
        }
    }
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
