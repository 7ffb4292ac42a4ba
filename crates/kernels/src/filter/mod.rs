//! Image filters: what each one computes, bit-exact for integer pixels (but for real weights of 16-bit ones,
//! [`Linear`]).
//!
//! A [`Chain`] is a list of [`Stage`]s with one [`Border`]. A [`Raster`] is the memory layout of an image. Neither
//! depends on a device. The [reference](mod@reference) computes a chain slowly and plainly. Every other
//! implementation (the kernels here, the CPU path of the library) matches it: exactly for integer pixels, within the
//! stated error for floating-point ones.
//!
//! [`plan`] turns a chain into launches over the caller's buffers: one pass over memory for each stage with a window,
//! or for two of them, with adjacent single-pixel stages fused in. [`Parameters`] control how the passes run; they
//! change times and never a result. [`resize`], [`affine()`] and the NV12 conversions are separate plans.
//!
//! *NaN and infinity*, on every path alike. A result is NaN if its window holds a NaN: in weighted sums, gradients,
//! medians, erosions, dilations, resizing, conversions and colour. A pixel that a window does not use, or whose weight
//! is 0, is not read, so its value cannot affect the result. A NaN is like no colour: a bilateral filter gives it the
//! weight 0, and so all pixels of a window with a NaN in its centre, whose result is NaN. Infinities are summed as IEEE
//! 754 specifies (those of both signs give NaN), ordered as numbers, and skipped by a bilateral filter. An integer
//! result of NaN is 0; of infinity, the largest or smallest value of its type. Subnormal numbers, weights included, may
//! be treated as 0.
//!
//! Coordinates are (x, y) from the upper left. A window of a x b pixels has a columns and b rows, both odd; its
//! centre is the pixel that it computes. Windows are applied as written (correlation, like OpenCV's `filter2D`), not
//! mirrored.

mod affine;
mod border;
mod chain;
mod check;
mod choice;
mod color;
mod error;
mod family;
mod likely;
mod linear;
mod pairs;
mod parameters;
mod passes;
mod pixel;
mod plan;
mod raster;
pub mod reference;
mod resize;
mod semiplanar;
mod space;
mod stage;
mod table;
mod texels;
mod text;
mod window;

pub use affine::{AffineMap, affine, affine_reference};
pub use border::Border;
pub use chain::Chain;
pub use choice::{candidates, runners_up};
pub use color::{Chroma, Color};
pub use error::FilterError;
pub use likely::likely;
pub use linear::{Axis, Fixed, Linear, Taps};
pub use parameters::{Fuse, Loads, Parameters, Sums};
pub use plan::plan;
pub use raster::{ChannelLayout, PixelType, Raster, Size};
pub use resize::{Interpolation, ResizeTaps, resize, resize_reference};
pub use semiplanar::{Semiplanar, rgb_to_frame, rgb_to_semiplanar, semiplanar_to_rgb};
pub use space::{space, work};
pub use stage::{Bilateral, Gradient, Morphology, Neighbourhood, Rank, Stage};
pub use table::{ChainChoice, ChainSeries, ChainTime, TimedChain, TimedChainError, default_parameters};
pub use text::ParametersError;
