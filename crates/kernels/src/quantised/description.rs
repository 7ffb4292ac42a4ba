//! What is computed.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use tripipe_launch::ScalarType;

use super::format::WeightFormat;
use crate::PlanError;
use crate::gemm::{Extents, ProductExtents};

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
    pub fn new(format: WeightFormat, activation: Activation, extents: ProductExtents) -> Self {
        let ProductExtents { m, n, k } = extents;
        Self { format, activation, m, n, k, x_offset: 0, x_stride: k, y_offset: 0, y_stride: n }
    }

    /// The extents of the weights as they are stored: a row for each output, a column for each input.
    pub fn weights(&self) -> Extents {
        Extents::new(self.n, self.k)
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

/// `f16` or `f32`.
impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F16 => "f16",
            Self::F32 => "f32",
        })
    }
}

impl FromStr for Activation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "f16" => Ok(Self::F16),
            "f32" => Ok(Self::F32),
            _ => Err(format!("`{text}` is not a type of x and y: want f16 or f32")),
        }
    }
}

/// The format of the weights, the type of x and y, and the extents m, n, k: `q4_0 f32 1x4096x11008`. A product of x and y
/// without gaps parses back.
impl fmt::Display for QuantisedProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { format, activation, m, n, k, .. } = self;
        write!(f, "{format} {activation} {m}x{n}x{k}")
    }
}

/// Text that is not a product with quantised weights.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum QuantisedProductError {
    /// A word that cannot be parsed.
    #[error("{0}")]
    Word(String),
    /// Extents that the kernels cannot count.
    #[error(transparent)]
    Extents(#[from] PlanError),
}

impl FromStr for QuantisedProduct {
    type Err = QuantisedProductError;

    /// # Errors
    /// A word that is missing, unknown or malformed; more than 2^32 elements.
    fn from_str(text: &str) -> Result<Self, QuantisedProductError> {
        let mut words = text.split_whitespace();
        let mut next = || words.next().unwrap_or_default();
        let format = next().parse().map_err(QuantisedProductError::Word)?;
        let activation = next().parse().map_err(QuantisedProductError::Word)?;
        let word = next();
        let extents = word.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>();
        let Ok(&[m, n, k]) = extents.as_deref() else {
            let wrong = format!("`{word}`: want a size as in 1x4096x11008 (m, n, k)");
            return Err(QuantisedProductError::Word(wrong));
        };
        if let Some(word) = words.next() {
            return Err(QuantisedProductError::Word(format!("`{word}`: nothing follows the size")));
        }
        let product = Self::new(format, activation, ProductExtents { m, n, k });
        product.check()?;
        Ok(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_read_back_and_errors_name_the_word() {
        for format in WeightFormat::ALL {
            for activation in [Activation::F16, Activation::F32] {
                let product =
                    QuantisedProduct::new(format, activation, ProductExtents { m: 3, n: 70, k: 33 });
                assert_eq!(product.to_string().parse::<QuantisedProduct>(), Ok(product));
            }
        }
        for (text, part) in [
            ("", "`` is not a format"),
            ("q5_0 f32 1x1x1", "q5_0"),
            ("q4_0 f64 1x1x1", "`f64` is not a type"),
            ("q4_0 f32 1x1", "`1x1`: want a size"),
            ("q4_0 f32 1x1x1 more", "`more`"),
            ("q4_0 f32 1x5000000000x1", "elements"),
        ] {
            let error = text.parse::<QuantisedProduct>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
