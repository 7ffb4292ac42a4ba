//! Products of a few vectors and a matrix of weights in 16, 8 or 4 bits: y = x W, the products of language models.
//!
//! [`WeightFormat`] says how weights are stored, [`StoredWeights`] has them, as files contain them or quantised here, and
//! [`PackedLayout`] is the layout in which the kernels and the CPU path read them. [`QuantisedProduct`] describes what is
//! computed, [`Parameters`] how; [`plan`] turns both into launches for a device. [`QuantisedReference`] is the correct
//! result with the error allowed for a correct kernel. The kernels are in `cl/quantised`.
//!
//! A layer has `outputs` (n) and `inputs` (k). Its weights are stored output by output, each with its `inputs` weights one
//! after the other, as files of models have them; y = x W then has a W of k x n. x is m x k and y is m x n, rows of `float`
//! or `half`; sums are in `float`. Any m works; the kernels are made for up to 8.
//!
//! # Infinities and NaN
//!
//! A result that an infinite or NaN weight, scale or x contributes to is infinite or NaN; which of the two depends on the
//! kernel. Not covered: sums of magnitudes beyond the range of `float`.

mod check;
mod choice;
mod description;
mod format;
mod layout;
mod parameters;
mod plan;
mod reference;
mod space;
mod table;
mod weights;

pub use choice::{ParameterChoice, choose};
pub use description::{Activation, QuantisedProduct, QuantisedProductError};
pub use format::{BLOCK, WeightFormat};
pub use layout::{PackedLayout, PackedWords};
pub use parameters::{Parameters, Unpack, WeightMemory};
pub use plan::plan;
pub use reference::{QuantisedReference, WrongResult};
pub use space::{space, work};
pub use table::{QuantisedSeries, QuantisedTime};
pub use weights::{StoredWeights, WeightsError};

#[cfg(test)]
mod tests;
