//! Matrix products: C = alpha op(A) op(B) + beta C, then an epilogue.
//!
//! [`Gemm`] describes what is computed, [`Parameters`] how. [`plan`] turns both into launches for a device, over the
//! caller's memory. [`Reference`] is the correct result with the error allowed for a correct kernel. The kernels are
//! in `cl/gemm`.
//!
//! # Zeros, infinities and NaN
//!
//! One rule for every kernel, the CPU path and the [`Reference`]:
//!
//! 1. `alpha` and `beta` are rounded to the type of the sums ([`Gemm::factors`]). The rules below apply to the rounded
//!    values.
//! 2. When `alpha` is 0, no element of A or B is read. Then, and when k = 0, the sum is 0. When `beta` is 0, no element
//!    of C is read: its previous contents, NaN included, have no effect.
//! 3. Everything else follows IEEE 754: S is the sum of the products of a row of A and a column of B, and C becomes
//!    `alpha S + beta C`. `alpha` is applied once, to the whole sum: an infinite `alpha` times an empty sum is NaN, and
//!    times a finite sum other than 0 infinite, whatever the individual products are.
//! 4. Limiting stages (`relu`, `relu6`, `clamp`) leave NaN as NaN and treat infinity like any number.
//!
//! Not covered: a partial sum of finite products that exceeds the largest number of its type may end as that number,
//! as infinity or as NaN, because the order of the sum is not specified. Subnormal numbers may be treated as 0.
//!
//! The workbench has ladders that lead to these kernels in single steps, with separate kernels.

mod check;
pub mod cost;
mod description;
mod likely;
mod packed;
mod packing;
mod parameters;
mod plan;
mod product;
mod reference;
mod shape;
mod space;
pub mod sums;
mod table;

pub use check::Unfit;
pub use description::{
    Accumulate, Batch, DescriptionError, Elements, EpilogueStage, Extents, Gemm, Layout, Order,
    ProductExtents, Requantise, RequiredOperand, Scale, StridedLayout,
};
pub use likely::likely;
pub use packed::Packed;
pub use packing::{plan_packing, plan_unpacking};
pub use parameters::{Dot, Local, Parameters, ParametersError, Source, Tile, Vector};
pub use plan::{OperandState, Side, packed_layouts, plan, reads_as_packed};
pub use reference::{Difference, Reference, ReferenceError};
pub use shape::Shape;
pub use space::space;
pub use table::{
    Choice, ElementKind, Entry, Measurement, ProductSeries, ProductTime, TimedProduct, TimedProductError,
    TimedShape, default_parameters,
};

#[cfg(test)]
mod tests;
