//! Products with weights in 16, 8 or 4 bits: y = x W for one or a few vectors x, as in language models.
//!
//! Weights are quantised, or taken as a file stores them, and packed once; they stay in the context's memory for any number
//! of products. `Q4_0` and `Q8_0` are the formats of GGUF files.
//!
//! ```
//! use tripipe::quantised::{PackedWeights, WeightFormat};
//! use tripipe::{Context, Device, Extents, Vector};
//!
//! # fn main() -> Result<(), tripipe::Error> {
//! let context = Context::new(&Device::Cpu)?;
//! // A layer with two outputs and 64 inputs: all 1, and all -0.5.
//! let weights: Vec<f32> = (0..128).map(|at| if at < 64 { 1.0 } else { -0.5 }).collect();
//! let layer = PackedWeights::quantise(&context, WeightFormat::Q4_0, &weights, Extents::new(2, 64))?;
//! let x = Vector::from_slice(&context, &[0.25f32; 64])?;
//! assert_eq!(layer.times_vector(&x)?.to_vec()?, [16.0, -8.0]);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "cpu")]
mod host;
mod operation;
mod packed;

pub use operation::ActivationElement;
pub use packed::PackedWeights;
pub use tripipe_kernels::quantised::{StoredWeights, WeightFormat, WeightsError};
