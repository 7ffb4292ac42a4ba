//! From what a front end says to a kernel that is pleasant to analyse and run.
//!
//! Every step keeps what the source does, mistakes included: an out-of-range shift stays one, an unwritten variable stays
//! [`crate::Op::Undefined`] at the place of its declaration, and loads are never removed unless asked for.
//!
//! 1. [`promote`]: private variables that are read and written whole become values.
//! 2. [`simplify`]: constants fold, vectors are seen through, casts and copies vanish.
//! 3. [`spaces`]: generic pointers get the address space that they are known to have.
//! 4. [`number`]: equal pure operations become one where one dominates the other.
//! 5. [`clean`]: what nobody uses goes, blocks that follow one another join, and everything is numbered anew in
//!    reverse postorder.

pub mod clean;
pub mod copies;
pub mod fold;
pub mod number;
pub mod promote;
pub mod simplify;
pub mod spaces;
mod thread;

use crate::Kernel;

/// Which steps are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Private variables become values.
    pub promote: bool,
    /// Folding, and merging of equal operations.
    pub simplify: bool,
    /// Loads that nobody uses go, as a GPU's compiler would have it. Off by default: a fault in one is found only
    /// while it is there.
    pub remove_dead_loads: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { promote: true, simplify: true, remove_dead_loads: false }
    }
}

/// Does the chosen steps on a well-formed kernel; it stays well-formed.
pub fn run(kernel: &mut Kernel, options: &Options) {
    clean::run(kernel, options.remove_dead_loads);
    if options.promote {
        // A variable whose address was kept in another variable, as arguments of functions are, follows it in the next
        // round; as many rounds as such addresses are handed on, and not more than a few.
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
        // Each round exposes work for the next; two suffice for all that front ends write, the rest is bounded.
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
