//! Entity references of a kernel. Each prints as in the text form.

use cranelift_entity::entity_impl;

/// A value: a block parameter, an instruction's result, or a constant. Prints as `%12`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);
entity_impl!(Value, "%");

/// An instruction. Prints as `i7`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inst(u32);
entity_impl!(Inst, "i");

/// A basic block. `b0` is the entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(u32);
entity_impl!(Block, "b");

/// A memory object of one kernel, private or local. Prints as `$0`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object(u32);
entity_impl!(Object, "$");

/// A memory object of the program, constant or global. Prints as `@0`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProgramObject(u32);
entity_impl!(ProgramObject, "@");

/// Block 0.
pub(crate) const fn entry() -> Block {
    Block(0)
}
