//! Raw measurements: times of products of several shapes with several parameters on one device.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::ElementKind;
use crate::gemm::description::{Batch, Elements, Extents, Gemm, Layout, ProductExtents};
use crate::gemm::parameters::Parameters;
use crate::table::{TimeOf, TimeSeries, TimedSubject};

/// Times of products on one device. In a file: by parameters, a line for each product, e.g. `f32 196x512x4608 nt 40.8 us`;
/// operands that the parameters pack are packed each time.
pub type ProductSeries = TimeSeries<TimedProduct>;

/// The time of a product with certain parameters.
pub type ProductTime = TimeOf<TimedProduct>;

/// A product of elements of a kind. The text form is the kind, then the shape: `f16-f32 196x512x4608 nt`.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedProduct {
    /// The element types.
    pub elements: ElementKind,
    /// The shape.
    pub shape: TimedShape,
}

impl TimedProduct {
    /// The product that a description is timed as.
    pub fn of(gemm: &Gemm) -> Self {
        Self { elements: ElementKind::of(gemm.elements), shape: TimedShape::of(gemm) }
    }
}

impl TimedSubject for TimedProduct {
    type Parameters = Parameters;

    const IS_PREDICTED: bool = true;
}

/// Extents and layouts of a product. The text form is `MxNxK`, then `xCOUNT` for a batch, then `tn`, `nt` or `tt`
/// when A, B or both are stored as their transposes, in the notation of BLAS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedShape {
    /// m, n, k and the number of products.
    pub extents: [usize; 4],
    /// Whether A and B are stored as their transposes, compared with the rows of C.
    pub transposed: [bool; 2],
}

/// Text that is not a product.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{word}`: want {want}")]
pub struct TimedProductError {
    /// The word that cannot be parsed; empty when it is missing.
    pub word: String,
    /// What is expected.
    pub want: &'static str,
}

impl TimedShape {
    /// The shape of a product. One with columns of C contiguous is described by its transpose, as kernels compute it.
    pub fn of(gemm: &Gemm) -> Self {
        let contiguous = |layout: &Layout| layout.strides()[1] == 1;
        let Gemm { m, n, k, ref a, ref b, ref batch, .. } = *gemm;
        let [a, b] = [contiguous(a), contiguous(b)];
        let (extents, transposed) =
            if gemm.is_transposed() { ([n, m, k], [b, a]) } else { ([m, n, k], [!a, !b]) };
        let [m, n, k] = extents;
        Self { extents: [m, n, k, batch.count()], transposed }
    }

    /// A product of this shape, with matrices without gaps.
    pub fn gemm(&self, elements: Elements) -> Gemm {
        let [m, n, k, count] = self.extents;
        let extents = ProductExtents { m, n, k };
        let layout = |transposed: bool, Extents { rows, columns }| {
            if transposed { Layout::column_major(rows) } else { Layout::row_major(columns) }
        };
        let batch =
            if count == 1 { Batch::One } else { Batch::Strided { count, strides: [m * k, k * n, m * n] } };
        let [a, b] = self.transposed;
        Gemm { a: layout(a, extents.a()), b: layout(b, extents.b()), batch, ..Gemm::new(elements, extents) }
    }

    /// The distance to another shape: of the logarithms of the extents, and of the layouts. 1 is a factor of 2 in one
    /// extent.
    pub(crate) fn distance_squared(&self, other: &Self) -> f64 {
        let extents = self.extents.iter().zip(other.extents);
        let extents = extents.map(|(a, b)| (((*a).max(1) as f64) / (b.max(1) as f64)).log2().powi(2));
        let layouts = self.transposed.iter().zip(other.transposed).filter(|(a, b)| **a != *b).count();
        extents.sum::<f64>() + LAYOUT_DISTANCE * layouts as f64
    }

    /// Operations; a multiply-add counts as 2.
    pub fn operations(&self) -> f64 {
        2.0 * self.extents.iter().map(|extent| *extent as f64).product::<f64>()
    }
}

/// The squared distance of a product with another layout of an operand: as far as one with eight times the rows.
const LAYOUT_DISTANCE: f64 = 9.0;

impl fmt::Display for TimedShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [m, n, k, count] = self.extents;
        write!(f, "{m}x{n}x{k}")?;
        if count != 1 {
            write!(f, "x{count}")?;
        }
        match self.transposed {
            [false, false] => Ok(()),
            [true, false] => f.write_str(" tn"),
            [false, true] => f.write_str(" nt"),
            [true, true] => f.write_str(" tt"),
        }
    }
}

impl fmt::Display for TimedProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.elements, self.shape)
    }
}

impl FromStr for TimedProduct {
    type Err = TimedProductError;

    /// # Errors
    /// A word that is missing, unknown or malformed.
    fn from_str(text: &str) -> Result<Self, TimedProductError> {
        let mut words = text.split(' ');
        let mut next = || words.next().unwrap_or_default();
        let wrong = |word: &str, want| TimedProductError { word: word.to_owned(), want };
        let (elements, extents, stored) = (next(), next(), next());
        let kind = ElementKind::named(elements);
        let elements = kind.ok_or_else(|| wrong(elements, "elements such as f32 or f16-f32"))?;
        let numbers = extents.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>();
        let extents = match numbers.as_deref() {
            Ok(&[m, n, k]) => [m, n, k, 1],
            Ok(&[m, n, k, count]) => [m, n, k, count],
            _ => return Err(wrong(extents, "a shape such as 196x512x4608")),
        };
        let transposed = match stored {
            "" => [false, false],
            "tn" => [true, false],
            "nt" => [false, true],
            "tt" => [true, true],
            _ => return Err(wrong(stored, "tn, nt or tt")),
        };
        match next() {
            "" => Ok(Self { elements, shape: TimedShape { extents, transposed } }),
            more => Err(wrong(more, "nothing else")),
        }
    }
}
