//! The intermediate representation of kernels: OpenCL C and SPIR-V in, typed SSA out.
//!
//! [`front::clang`] compiles OpenCL C to SPIR-V with line information; [`front::spirv`] reads SPIR-V into a [`Module`].
//! Every [`Kernel`] of a module is self-contained: calls are inlined, aggregates are split, and private variables that
//! are only read and written as a whole become values. Unsupported features are rejected by name and location;
//! untrusted input leads to an error, never to a panic.
//!
//! The form: typed values ([`Type`]: scalars, vectors, pointers with an address space, images), instructions
//! ([`Instruction`]: an [`Op`] with its immediates, operands, at most one result, a source location), basic blocks with
//! parameters instead of phis, and memory objects with their layout. Block 0 is the entry and its parameters are the
//! kernel's. Entities print as in the text form: `%12`, `b3`, `$0`, `@1`.
//!
//! [`verify`] checks the invariants; [`text`] prints and parses; [`flow`] contains the static analyses. Analyses are
//! side tables; the kernel itself does not change after it is loaded.

pub mod diagnostic;
mod entity;
pub mod flow;
pub mod front;
mod kernel;
mod layout;
mod location;
pub mod op;
pub mod text;
pub mod transform;
mod types;
pub mod verify;

pub use entity::{Block, Inst, Object, ProgramObject, Value};
pub use kernel::{
    BlockCall, BlockData, Initial, Instruction, Kernel, Module, ObjectData, Parameter, ParameterKind,
    Relocation, Terminator, TerminatorKind, ValueData, ValueDef,
};
pub use layout::{Field, TypeLayout};
pub use location::{File, Location, LocationData};
pub use op::{Flags, Op};
pub use types::{ImageAccess, ImageDim, ImageType, Scalar, Space, Type};
