//! The element types of products.

use half::f16;
use tripipe_kernels::gemm::{Accumulate, Elements};

use crate::Element;
use sealed::ProductElements;

/// An element type of A and B.
pub trait Factor: Element + ProductElements {
    /// The element type of C, of biases and of residuals.
    type Sum: Element;
}

pub(super) mod sealed {
    use super::{Accumulate, Elements};

    /// The types that a product of such elements has.
    pub trait ProductElements {
        /// The types of operands, sums and result.
        fn elements(accumulate: Accumulate) -> Elements;
    }
}

impl Factor for f32 {
    type Sum = f32;
}

impl ProductElements for f32 {
    fn elements(_: Accumulate) -> Elements {
        Elements::F32
    }
}

/// Computed by the CPU path on every device: OpenCL devices leave it to the CPU path.
impl Factor for f64 {
    type Sum = f64;
}

impl ProductElements for f64 {
    fn elements(_: Accumulate) -> Elements {
        Elements::F64
    }
}

impl Factor for f16 {
    type Sum = f16;
}

impl ProductElements for f16 {
    fn elements(accumulate: Accumulate) -> Elements {
        Elements::F16(accumulate)
    }
}

impl Factor for i8 {
    type Sum = i32;
}

impl ProductElements for i8 {
    fn elements(_: Accumulate) -> Elements {
        Elements::I8ToI32
    }
}
