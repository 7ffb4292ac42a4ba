//! Transforms the front end's output into a kernel that is easy to analyse and execute.
//!
//! Every step preserves the behaviour of the source, including its errors: an out-of-range shift remains, an unwritten
//! variable stays [`crate::Op::Undefined`] at its declaration, and loads are never removed unless requested.
//!
//! 1. [`promote`]: private variables that are only read and written as a whole become values.
//! 2. [`simplify`]: constants fold, vector operations are looked through, redundant casts and copies are removed.
//! 3. [`spaces`]: generic pointers get their address space where it is known.
//! 4. [`number`]: equal pure operations are merged where one dominates the other.
//! 5. [`clean`]: unused code is removed, consecutive blocks are merged, and everything is renumbered in reverse
//!    postorder.
//!
//! [`corrupt`] is no such step: it makes a kernel wrong on purpose.

pub mod clean;
pub mod copies;
pub mod corrupt;
pub mod fold;
pub mod number;
pub mod promote;
pub mod simplify;
pub mod spaces;
mod thread;

use crate::Kernel;

/// The enabled steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Private variables become values.
    pub promote: bool,
    /// Folding, and merging of equal operations.
    pub simplify: bool,
    /// Unused loads are removed, as in a GPU's compiler. Off by default: a fault in a load is only found while the load
    /// exists.
    pub remove_dead_loads: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { promote: true, simplify: true, remove_dead_loads: false }
    }
}

/// Runs the enabled steps on a well-formed kernel; it stays well-formed.
pub fn run(kernel: &mut Kernel, options: &Options) {
    clean::run(kernel, options.remove_dead_loads);
    if options.promote {
        // A variable whose address is stored in another variable, as with function arguments, is promoted in the next
        // iteration; such chains are short, so the number of iterations is limited.
        for _ in 0..8 {
            let before = kernel.objects.len();
            simplify::run(kernel);
            copies::run(kernel);
            promote::run(kernel);
            clean::run(kernel, options.remove_dead_loads);
            if kernel.objects.len() == before {
                break;
            }
        }
    }
    if options.simplify {
        // Each iteration exposes work for the next; two suffice for the output of front ends, and the number is
        // limited.
        for _ in 0..4 {
            let before = (kernel.insts.len(), kernel.blocks.len());
            simplify::run(kernel);
            spaces::run(kernel);
            number::run(kernel);
            clean::run(kernel, options.remove_dead_loads);
            if before == (kernel.insts.len(), kernel.blocks.len()) {
                break;
            }
        }
    }
}
