//! Matrix products: C = alpha op(A) op(B) + beta C, then an epilogue.
//!
//! ```
//! use tripipe::gemm::Product;
//! use tripipe::{Context, Device, Extents, Matrix, Vector};
//!
//! # fn main() -> Result<(), tripipe::Error> {
//! let context = Context::new(&Device::Cpu)?;
//! let x = Matrix::from_slice(&context, Extents::new(2, 3), &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let weights = Matrix::from_slice(&context, Extents::new(2, 3), &[1.0f32, 0.0, -1.0, 0.5, 0.5, 0.5])?;
//! let bias = Vector::from_slice(&context, &[1.0f32, -10.0])?;
//!
//! // A layer: X times the transpose of its weights, a bias for each column, ReLU.
//! let layer = Product::new(&x, weights.transposed())?.bias_columns(&bias).relu();
//! let y = layer.into_matrix()?;
//! assert_eq!(y.to_vec()?, [0.0, 0.0, 0.0, 0.0]);
//! # Ok(())
//! # }
//! ```

mod factor;
mod first_use;
#[cfg(feature = "cpu")]
mod host;
mod operation;
mod packed;
mod product;

pub use factor::Factor;
pub(crate) use operation::GemmOperation;
pub use packed::Packed;
pub use product::{Multipliers, Operand, Product, Requantisation, Strides};
pub use tripipe_kernels::gemm::{Accumulate, ProductExtents};
