//! Image filters: what each one computes, to the last bit where pixels are integers.
//!
//! A [`Chain`] is a list of [`Stage`]s with one [`Border`]; a [`Raster`] says where the pixels of an image lie. Neither
//! knows a device. The [reference](mod@reference) computes a chain slowly and plainly; every other implementation
//! (the kernels here, the CPU path of the library) equals it: exactly for integer pixels, within the stated error for
//! floating-point ones.
//!
//! [`plan`] makes launches of a chain, over buffers the caller has: one pass over memory for each stage with a window, or for two of them, with the
//! stages of one pixel beside it. How they run is in [`Parameters`], which change times and never a result. [`resize`] and the NV12 conversions are plans of
//! their own.
//!
//! *NaN and infinity*, on every path alike. What a pixel counts decides: one whose weight is 0 is not looked at, so nothing of it reaches the
//! result (windows, gradients, resizing). All others are summed as IEEE 754 has it: NaN gives NaN, infinity gives infinity, infinities of both signs
//! NaN. A bilateral filter passes over pixels that are not finite. An integer result of NaN is 0, of infinity the largest or
//! smallest of its type. Medians, erosions and dilations order infinities as numbers; where their window holds a NaN the result is
//! unspecified. Subnormal numbers may be taken as 0, weights among them.
//!
//! Coordinates are (x, y) from the upper left; a window of a x b pixels has a columns and b rows, both odd, and its
//! centre on the pixel it computes. Windows are applied as written (correlation, as OpenCV's `filter2D` does), not
//! mirrored.

mod border;
mod chain;
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
mod stage;
mod sweep;
mod texels;
mod text;
mod window;

pub use border::Border;
pub use chain::{Chain, FilterError};
pub use linear::{Fixed, Linear, Taps};
pub use parameters::{Fuse, Loads, Parameters, Sums, candidates, default_parameters, runners_up};
pub use plan::plan;
pub use raster::{Element, Layout, Raster};
pub use resize::{Interpolation, Taps as ResizeTaps, resize, resize_reference};
pub use semiplanar::{Semiplanar, rgb_to_frame, rgb_to_semiplanar, semiplanar_to_rgb};
pub use stage::{Bilateral, Chroma, Color, Gradient, Morphology, Neighbourhood, Stage};
pub use sweep::{Case, Sweep, sweep};
pub use text::ParametersError;
