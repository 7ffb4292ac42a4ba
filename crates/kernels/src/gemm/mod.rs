//! Matrix products: C = alpha op(A) op(B) + beta C, then an epilogue.
//!
//! [`Gemm`] says what is to be computed, [`Parameters`] how; [`plan`] makes launches of both for a device, over memory
//! the caller has. [`Reference`] is the right answer with the error that a correct kernel may show. The kernels are in
//! `gemm.cl` and `packing.cl`.
//!
//! The [ladders](LADDER) are the way there in single steps, with kernels of their own ([`steps`]).

mod candidates;
mod check;
mod description;
mod ladder;
mod packed;
mod parameters;
mod plan;
mod product;
mod reference;
mod sample;
mod shape;
pub mod steps;
mod sums;
mod sweep;
mod table;

pub use candidates::{best_guess_first, candidates};
pub use check::Unfit;
pub use description::{
    Accumulate, Batch, DescriptionError, Elements, Gemm, Layout, Operand, Order, Requantise, Scale, Stage,
};
pub use ladder::{LADDER, LADDER_F16};
pub use packed::Packed;
pub use parameters::{Dot, Local, Parameters, ParametersError, Source, Tile, Vector};
pub use plan::{Given, Side, packed_layouts, plan, plan_packing};
pub use reference::{Difference, Reference, ReferenceError};
pub use sample::sample;
pub use shape::Shape;
pub use sweep::{Sweep, SweepError, SweepOptions, sweep};
pub use table::{
    Basis, Choice, ElementKind, Entry, Measurement, Table, TableError, Target, default_parameters,
    entries_to_toml,
};

#[cfg(test)]
mod tests;
