//! What is computed.

use std::fmt;

use tripipe_launch::ScalarType;

use super::format::WeightFormat;
use crate::PlanError;

/// The type of x and y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// `half`; the kernels load and store it without half-precision arithmetic, so every device supports it.
    F16,
    /// `float`
    F32,
}

impl Activation {
    /// The type of an element.
    pub fn scalar(self) -> ScalarType {
        match self {
            Self::F16 => ScalarType::F16,
            Self::F32 => ScalarType::F32,
        }
    }
}

/// y = x W: x is m x k, W has n outputs of k inputs, y is m x n. Element (i, j) of x is at `x_offset + i * x_stride + j`,
/// and likewise for y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QuantisedProduct {
    /// The format of the weights.
    pub format: WeightFormat,
    /// The type of x and y.
    pub activation: Activation,
    /// The number of vectors.
    pub m: usize,
    /// The number of outputs.
    pub n: usize,
    /// The number of inputs.
    pub k: usize,
    /// The first element of x.
    pub x_offset: usize,
    /// Elements from vector to vector of x.
    pub x_stride: usize,
    /// The first element of y.
    pub y_offset: usize,
    /// Elements from vector to vector of y.
    pub y_stride: usize,
}

impl QuantisedProduct {
    /// The product of x and y without gaps.
    pub fn new(format: WeightFormat, activation: Activation, [m, n, k]: [usize; 3]) -> Self {
        Self { format, activation, m, n, k, x_offset: 0, x_stride: k, y_offset: 0, y_stride: n }
    }

    /// Arithmetic operations: a multiply-add counts as 2.
    pub fn operations(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64
    }

    /// The elements from the start of the memory to the end of x, and to the end of y.
    pub fn spans(&self) -> [usize; 2] {
        let span = |offset: usize, stride: usize, columns: usize| match (self.m, columns) {
            (0, _) | (_, 0) => 0,
            (m, _) => (m - 1).saturating_mul(stride).saturating_add(columns).saturating_add(offset),
        };
        [span(self.x_offset, self.x_stride, self.k), span(self.y_offset, self.y_stride, self.n)]
    }

    /// Checks that the vectors do not overlap, and that the kernels can count the elements.
    ///
    /// # Errors
    /// A stride that is too small; more than 2^32 elements.
    pub fn check(&self) -> Result<(), PlanError> {
        let strides = [("stride of x", self.x_stride, self.k), ("stride of y", self.y_stride, self.n)];
        for (parameter, stride, columns) in strides {
            if self.m > 1 && stride < columns {
                return Err(PlanError::Parameter {
                    parameter,
                    found: stride.to_string(),
                    want: format!("at least the {columns} elements of a vector"),
                });
            }
        }
        let counted = [self.m, self.n, self.k.saturating_add(super::BLOCK)];
        let largest = self.spans().into_iter().chain(counted).max().unwrap_or(0);
        match u32::try_from(largest) {
            Ok(_) => Ok(()),
            Err(_) => Err(PlanError::OverLimit {
                what: format!("{self}, with {largest} elements in an operand or extent,"),
                limit: u64::from(u32::MAX),
            }),
        }
    }
}

/// `f32 product 1x4096x11008, weights q4_0`.
impl fmt::Display for QuantisedProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, activation, m, n, k, .. } = self;
        let activation = match activation {
            Activation::F16 => "f16",
            Activation::F32 => "f32",
        };
        write!(f, "{activation} product {m}x{n}x{k}, weights {format}")
    }
}
