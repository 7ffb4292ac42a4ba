//! What is tuned, with a text form of one line that parses back.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use thiserror::Error;
use tripipe_kernels::filter::{Chain, FilterError, Raster, TimedChain, TimedChainError};
use tripipe_kernels::gemm::{
    Accumulate, Batch, DescriptionError, Elements, Extents, Gemm, Layout, OperandState, Order, ProductExtents,
};
use tripipe_kernels::quantised::{QuantisedProduct, QuantisedProductError};

use crate::kernel::{self, KernelProblem};

/// What is tuned.
///
/// ```
/// use tripipe_tune::Problem;
///
/// for text in ["gemm f32 196x512x4608 b=column constant=b", "filter gray,gaussian:5 1920x1080x3 u8"] {
///     let problem: Problem = text.parse().unwrap();
///     assert_eq!(problem.to_string(), text);
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// A matrix product: `gemm ELEMENTS MxNxK`, then the words that differ from their defaults.
    Gemm(GemmProblem),
    /// A chain of filters: `filter CHAIN WIDTHxHEIGHTxCHANNELS TYPE`, likewise.
    Filter(FilterProblem),
    /// A product with quantised weights, of x and y without gaps: `quantised FORMAT TYPE MxNxK`.
    Quantised(QuantisedProduct),
    /// A kernel of the user: `kernel FILE:KERNEL HASH`. This text alone does not parse back.
    Kernel(Arc<KernelProblem>),
}

/// A product without epilogue of operands without gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GemmProblem {
    /// Types of operands, sums and result: `f32`, `f16`, `f16-f32`, `f16-chunked:BLOCK` or `i8`.
    pub elements: Elements,
    /// Its extents.
    pub size: ProductExtents,
    /// `a=column`, `b=column`, `c=column`: the storage orders.
    pub orders: [Order; 3],
    /// `batch=COUNT`: number of products, one after the other.
    pub batch: usize,
    /// `constant=a`, `constant=b`, `constant=ab`: operands that do not change. Packing them is not timed.
    pub constant: [bool; 2],
}

/// A chain of filters over an image. The chain has a text form that parses back.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterProblem {
    chain: Chain,
    from: Raster,
    to: Raster,
}

/// A problem that is not valid.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ProblemError {
    /// An unknown family.
    #[error("`{family}` is not a family that can be tuned: want gemm, quantised or filter")]
    Family {
        /// What was given.
        family: String,
    },
    /// A kernel of the user, whose text is not all of it.
    #[error("`{text}` is known by its launch file only: `tripipe tune kernel FILE` tunes it")]
    Kernel {
        /// The text.
        text: String,
    },
    /// A word that cannot be parsed.
    #[error("`{word}`: want {want}")]
    Word {
        /// The word; empty when it is missing.
        word: String,
        /// What is expected.
        want: &'static str,
    },
    /// A filter that cannot be parsed.
    #[error(transparent)]
    Chain(#[from] TimedChainError),
    /// A product that is not valid.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// A product with quantised weights that cannot be parsed or is not valid.
    #[error(transparent)]
    Quantised(#[from] QuantisedProductError),
    /// A filter that is not valid.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A filter that has no text form.
    #[error("`{text}` cannot be written as text: give its stages by name")]
    NoText {
        /// Its description.
        text: String,
    },
}

impl Problem {
    /// `gemm`, `filter`, `quantised` or `kernel`.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Gemm(_) => "gemm",
            Self::Filter(_) => "filter",
            Self::Quantised(_) => "quantised",
            Self::Kernel(_) => kernel::FAMILY,
        }
    }
}

impl GemmProblem {
    /// Row-major operands that change, one product.
    pub fn new(elements: Elements, size: ProductExtents) -> Self {
        Self { elements, size, orders: [Order::RowMajor; 3], batch: 1, constant: [false; 2] }
    }

    /// The description of the product.
    pub fn gemm(&self) -> Gemm {
        let ProductExtents { m, n, k } = self.size;
        let layout = |order, Extents { rows, columns }| match order {
            Order::RowMajor => Layout::row_major(columns.max(1)),
            Order::ColumnMajor => Layout::column_major(rows.max(1)),
        };
        let [a, b, c] = self.orders;
        let strides = [m.saturating_mul(k), k.saturating_mul(n), m.saturating_mul(n)];
        let batch = if self.batch == 1 { Batch::One } else { Batch::Strided { count: self.batch, strides } };
        Gemm {
            a: layout(a, self.size.a()),
            b: layout(b, self.size.b()),
            c: layout(c, self.size.c()),
            batch,
            ..Gemm::new(self.elements, self.size)
        }
    }

    /// What is known about A and B.
    pub fn given(&self) -> [OperandState; 2] {
        self.constant.map(|constant| if constant { OperandState::Constant } else { OperandState::Changing })
    }
}

impl FilterProblem {
    /// A chain over an image, into an image without gaps.
    ///
    /// # Errors
    /// The chain does not accept the image, or the two have no text form: a filter with coefficients of its own, an
    /// image with gaps.
    pub fn new(chain: Chain, from: Raster) -> Result<Self, ProblemError> {
        let to = chain.apply_to(&from)?;
        from.elements()?;
        to.elements()?;
        let problem = Self { chain, from, to };
        let timed = problem.timed();
        match timed.to_string().parse::<TimedChain>() {
            Ok(parsed) if parsed == timed => Ok(problem),
            _ => Err(ProblemError::NoText { text: problem.to_string() }),
        }
    }

    /// The chain and the image, as tables of times name them.
    pub fn timed(&self) -> TimedChain {
        TimedChain { chain: self.chain.clone(), from: self.from }
    }

    /// The chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The image.
    pub fn from(&self) -> &Raster {
        &self.from
    }

    /// The result.
    pub fn to(&self) -> &Raster {
        &self.to
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gemm(problem) => problem.fmt(f),
            Self::Filter(problem) => problem.fmt(f),
            Self::Quantised(product) => write!(f, "quantised {product}"),
            Self::Kernel(problem) => problem.fmt(f),
        }
    }
}

impl fmt::Display for GemmProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gemm {} {}", self.elements, self.size)?;
        for (name, order) in ["a", "b", "c"].into_iter().zip(self.orders) {
            if order == Order::ColumnMajor {
                write!(f, " {name}=column")?;
            }
        }
        if self.batch != 1 {
            write!(f, " batch={}", self.batch)?;
        }
        match self.constant {
            [false, false] => Ok(()),
            [true, false] => f.write_str(" constant=a"),
            [false, true] => f.write_str(" constant=b"),
            [true, true] => f.write_str(" constant=ab"),
        }
    }
}

impl fmt::Display for FilterProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "filter {}", self.timed())
    }
}

impl FromStr for Problem {
    type Err = ProblemError;

    fn from_str(text: &str) -> Result<Self, ProblemError> {
        let mut words = text.split_whitespace();
        match words.next().unwrap_or_default() {
            "gemm" => parse_gemm(&mut words).map(Self::Gemm),
            "filter" => {
                let rest: Vec<&str> = words.collect();
                let TimedChain { chain, from } = rest.join(" ").parse()?;
                FilterProblem::new(chain, from).map(Self::Filter)
            }
            "quantised" => {
                let rest: Vec<&str> = words.collect();
                Ok(Self::Quantised(rest.join(" ").parse()?))
            }
            kernel::FAMILY => Err(ProblemError::Kernel { text: text.to_owned() }),
            family => Err(ProblemError::Family { family: family.to_owned() }),
        }
    }
}

fn wrong(word: &str, want: &'static str) -> ProblemError {
    ProblemError::Word { word: word.to_owned(), want }
}

fn extents(word: &str) -> Option<ProductExtents> {
    let mut numbers = word.split('x').map(|number| number.parse().ok());
    let extents = ProductExtents { m: numbers.next()??, n: numbers.next()??, k: numbers.next()?? };
    numbers.next().is_none().then_some(extents)
}

fn elements(word: &str) -> Option<Elements> {
    Some(match word {
        "f32" => Elements::F32,
        "f16" => Elements::F16(Accumulate::F16),
        "f16-f32" => Elements::F16(Accumulate::F32),
        "i8" => Elements::I8ToI32,
        _ => {
            let block = word.strip_prefix("f16-chunked:")?.parse().ok()?;
            Elements::F16(Accumulate::Chunked { block })
        }
    })
}

fn parse_gemm(words: &mut dyn Iterator<Item = &str>) -> Result<GemmProblem, ProblemError> {
    let word = words.next().unwrap_or_default();
    let elements = elements(word).ok_or_else(|| wrong(word, "f32, f16, f16-f32, f16-chunked:BLOCK or i8"))?;
    let word = words.next().unwrap_or_default();
    let size = extents(word).ok_or_else(|| wrong(word, "a size as in 196x512x4608 (m, n, k)"))?;
    let mut problem = GemmProblem::new(elements, size);
    for word in words {
        let order = |value: &str| match value {
            "row" => Ok(Order::RowMajor),
            "column" => Ok(Order::ColumnMajor),
            _ => Err(wrong(word, "row or column")),
        };
        match word.split_once('=') {
            Some(("a", value)) => problem.orders[0] = order(value)?,
            Some(("b", value)) => problem.orders[1] = order(value)?,
            Some(("c", value)) => problem.orders[2] = order(value)?,
            Some(("batch", value)) => {
                let count = value.parse().ok().filter(|count| *count > 0);
                problem.batch = count.ok_or_else(|| wrong(word, "batch=COUNT, at least 1"))?;
            }
            Some(("constant", value)) => {
                problem.constant = match value {
                    "a" => [true, false],
                    "b" => [false, true],
                    "ab" => [true, true],
                    _ => return Err(wrong(word, "constant=a, constant=b or constant=ab")),
                };
            }
            _ => return Err(wrong(word, "a=, b=, c= (row or column), batch= or constant=")),
        }
    }
    problem.gemm().check()?;
    Ok(problem)
}

#[cfg(test)]
mod tests {
    use tripipe_kernels::filter::{Border, Linear, PixelType, Size, Stage};

    use super::*;

    #[test]
    fn problems_read_back_as_they_print() {
        for text in [
            "gemm f32 196x512x4608",
            "gemm f16-chunked:32 1x1x1 a=column b=column c=column batch=12 constant=ab",
            "gemm i8 64x64x100000 constant=a",
            "filter laplace 1x1x4 u8 border=constant:7 keep-alpha planar",
            "filter gray,gaussian:5 1920x1080x3 f16",
            "quantised q4_0 f32 1x4096x11008",
        ] {
            let problem = text.parse::<Problem>().map(|problem| problem.to_string());
            assert_eq!(problem.as_deref(), Ok(text));
        }
    }

    #[test]
    fn layouts_follow_the_orders() {
        let problem: Problem = "gemm f32 2x3x4 a=column batch=5".parse().unwrap();
        let Problem::Gemm(problem) = problem else { panic!("{problem}") };
        let gemm = problem.gemm();
        assert_eq!((gemm.a.strides(), gemm.b.strides()), ([1, 2], [3, 1]));
        assert_eq!(gemm.batch, Batch::Strided { count: 5, strides: [8, 12, 6] });
    }

    #[test]
    fn errors_name_the_word() {
        for (text, part) in [
            ("", "`` is not a family"),
            ("conv f32 1x1x1", "`conv` is not a family"),
            ("gemm f31 1x1x1", "`f31`: want f32"),
            ("gemm f32 1x1", "`1x1`: want a size"),
            ("gemm f32 1x1x1x1", "`1x1x1x1`: want a size"),
            ("gemm f32 1x1x1 batch=0", "batch=0"),
            ("gemm f32 1x1x1 red", "`red`: want"),
            ("gemm f32 5000000000x1x1", "m"),
            ("quantised q4_1 f32 1x1x1", "`q4_1` is not a format"),
            ("quantised q4_0 f32", "``: want a size"),
            ("filter", "stage"),
            ("filter laplace 1x1 u8", "`1x1`: want an image"),
            ("filter laplace 1x1x3 u9", "`u9`: want u8"),
            ("filter laplace 1x1x9 u8", "channels"),
            ("filter gray 1x1x1 u8", "channels"),
        ] {
            let error = text.parse::<Problem>().err().map(|error| error.to_string());
            assert!(error.as_ref().is_some_and(|error| error.contains(part)), "{text}: {error:?}");
        }
    }

    #[test]
    fn filters_without_names_are_refused() -> Result<(), FilterError> {
        let chain = Chain::one(Stage::Linear(Linear::gaussian(5, Some(0.3))?), Border::Wrap);
        let from = Raster::packed(Size::square(8), 1, PixelType::U8);
        assert!(matches!(FilterProblem::new(chain, from), Err(ProblemError::NoText { .. })));
        let chain = Chain::one(Stage::Median { size: 3 }, Border::Wrap);
        assert!(FilterProblem::new(chain.clone(), from).is_ok());
        assert!(matches!(FilterProblem::new(chain, from.with_pitch(16)), Err(ProblemError::NoText { .. })));
        Ok(())
    }
}
