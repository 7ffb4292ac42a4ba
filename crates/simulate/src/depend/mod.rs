//! What a number in memory depends on: the instructions and branches that its value goes through, in one launch.
//!
//! This is a dynamic slice (Agrawal and Horgan 1990). The observer carries a set beside each register and each word of memory: the instructions that
//! the contents depend on, by their operands, by the memory that they read, and by the branches that decided whether they
//! run (control dependence, from the post-dominators). A value that depends on the path to it, such as that of a variable
//! after an `if`, depends on the branches of the path that was taken. Sets are of whole registers and of words of 4 bytes;
//! images, and memory that asynchronous copies write, have one set. Barriers belong to every slice. Equal expressions are
//! one instruction, which has the location of the first.

mod observer;
mod sets;

use std::collections::BTreeSet;

use tripipe_ir::{Kernel, Location, Module};

pub(crate) use observer::Dependence;

/// A line of a source file, counted from 1.
pub type SourceLine = (String, u32);

/// The lines that a number in memory depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeededLines {
    /// Lines with an instruction that the number depends on; empty if the launch does not write it.
    pub needed: BTreeSet<SourceLine>,
    /// All lines with instructions.
    pub known: BTreeSet<SourceLine>,
}

/// Adds the lines of a location: its own, and those that call the function which contains it.
fn add_lines(lines: &mut BTreeSet<SourceLine>, module: &Module, kernel: &Kernel, location: Option<Location>) {
    let mut at = location;
    while let Some(data) = at.and_then(|at| kernel.locations.get(at)) {
        if let Some(file) = module.files.get(data.file).filter(|_| data.line > 0) {
            lines.insert((file.to_string(), data.line));
        }
        at = data.inlined_at;
    }
}
