//! Matrix products: C = alpha op(A) op(B) + beta C, then an epilogue.
//!
//! [`Gemm`] says what is to be computed, [`Parameters`] how; [`plan`] makes launches of both for a device, over memory
//! the caller has. [`Reference`] is the right answer with the error that a correct kernel may show. The kernels are in
//! `gemm.cl`, `packing.cl` and `unpacking.cl`.
//!
//! # Zeros, infinities and NaN
//!
//! One rule, for every kernel, the CPU path and the [`Reference`]:
//!
//! 1. `alpha` and `beta` are rounded to the type of the sums ([`Gemm::factors`]). What is 0 or infinite then is so below.
//! 2. With `alpha` 0 no element of A or B is read. Without that, and with k = 0, the sum is 0. With `beta` 0 no element of C is
//!    read: what was there, NaN too, has no effect.
//! 3. Everything else is IEEE 754's: S is the sum of the products of a row of A and a column of B, and C becomes `alpha S +
//!    beta C`. `alpha` is applied once, to the whole sum: an infinite `alpha` times an empty sum is NaN, and times a finite sum other
//!    than 0 infinite, whatever the single products are.
//! 4. Stages that limit (`relu`, `relu6`, `clamp`) leave a NaN a NaN, and limit an infinity as any number.
//!
//! Not covered: a sum of finite products that passes the largest number of its type on the way may end as that number, an infinity
//! or a NaN, as the order of the sum is not specified; numbers less than the smallest normal one may be taken as 0.
//!
//! The [ladders](LADDER) are the way there in single steps, with kernels of their own ([`steps`]).

mod candidates;
mod check;
mod description;
mod ladder;
mod packed;
mod packing;
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
pub use packing::{plan_packing, plan_unpacking};
pub use parameters::{Dot, Local, Parameters, ParametersError, Source, Tile, Vector};
pub use plan::{Given, Side, packed_layouts, plan, reads_as_packed};
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
