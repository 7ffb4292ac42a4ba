//! A kernel, read once: OpenCL C and SPIR-V in, typed SSA out.
//!
//! [`front::clang`] builds OpenCL C into SPIR-V with line information; [`front::spirv`] reads SPIR-V into a
//! [`Module`]. Every [`Kernel`] of a module is complete in itself: calls are inlined, aggregates taken apart,
//! private variables that are only read and written whole are values. What is not supported is refused by
//! name and place; untrusted input ends in an error, never in a panic.
//!
//! The form: typed values ([`Type`]: scalars, vectors, pointers with an address space, images), instructions
//! ([`Instruction`]: an [`Op`] with its immediates, operands, at most one result, a source place), basic blocks
//! with parameters in the place of phis, and memory objects whose layout is kept. Block 0 is the entry and
//! its parameters are the kernel's. Entities print as the text form has them: `%12`, `b3`, `$0`, `@1`.
//!
//! [`verify`] states the invariants; [`text`] prints and parses; [`flow`] has what follows from a kernel without
//! running it. Analyses are side tables; the kernel itself does not change after it is loaded.

pub mod diagnostic;
mod entity;
pub mod flow;
pub mod front;
mod kernel;
mod layout;
pub mod op;
mod place;
pub mod text;
pub mod transform;
mod types;
pub mod verify;

pub use entity::{Block, Inst, Object, ProgramObject, Value};
pub use kernel::{
    BlockCall, BlockData, Initial, Instruction, Kernel, Module, ObjectData, Parameter, ParameterKind,
    Relocation, Terminator, TerminatorKind, ValueData, ValueDef,
};
pub use layout::{Field, Layout};
pub use op::{Flags, Op};
pub use place::{File, Place, PlaceData};
pub use types::{ImageAccess, ImageDim, ImageType, Scalar, Space, Type};
