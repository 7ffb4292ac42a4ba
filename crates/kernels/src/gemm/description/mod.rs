//! The description of a product: extents, elements, layouts, batches, epilogue.

mod error;
mod layout;

use std::fmt;

use half::f16;
use tripipe_launch::ScalarType;

use crate::Role;
pub use error::DescriptionError;
pub use layout::{Batch, Extents, Layout, Order, ProductExtents, StridedLayout};

/// C = alpha op(A) op(B) + beta C, then an epilogue: m x n from m x k and k x n. Extents may be 0.
///
/// When `k` or `alpha` is 0, no element of A or B is read; when `beta` is 0, none of C. The [module](super) specifies
/// the handling of infinities and NaN.
///
/// ```
/// use tripipe_kernels::gemm::{Elements, EpilogueStage, Gemm, Layout, ProductExtents};
///
/// // A layer: the rows of X times the transpose of its weights, a bias, ReLU.
/// let layer = Gemm {
///     b: Layout::row_major(512).transposed(),
///     epilogue: vec![EpilogueStage::BiasColumns, EpilogueStage::Relu],
///     ..Gemm::new(Elements::F32, ProductExtents { m: 64, n: 256, k: 512 })
/// };
/// assert!(layer.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gemm {
    /// Rows of op(A) and C.
    pub m: usize,
    /// Columns of op(B) and C.
    pub n: usize,
    /// Columns of op(A), rows of op(B).
    pub k: usize,
    /// Types of operands, sums and result.
    pub elements: Elements,
    /// Layout of A in its buffer.
    pub a: Layout,
    /// Layout of B in its buffer.
    pub b: Layout,
    /// Layout of C in its buffer.
    pub c: Layout,
    /// The number of products and the location of their operands.
    pub batch: Batch,
    /// Factor of the product, rounded to the type of the sums; must be an integer for integer elements. It is an
    /// argument of the kernels: a different value needs no new program.
    pub alpha: f64,
    /// Factor of C, like `alpha`.
    pub beta: f64,
    /// Operations applied to each element, in this order and in the type of the sums, before it is rounded and
    /// stored.
    pub epilogue: Vec<EpilogueStage>,
}

/// Types of operands, sums and result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elements {
    /// `float` throughout.
    F32,
    /// `double` throughout. Computed by the CPU path; there are no kernels for it.
    F64,
    /// `half` in and out.
    F16(Accumulate),
    /// `char` to `int`. Sums that exceed 32 bits wrap around; only `alpha`, `beta` and the epilogue can cause that.
    I8ToI32,
    /// `char` to `char`, through `int` sums.
    I8ToI8(Requantise),
}

/// The type in which products of halves are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accumulate {
    /// `half`, products too. The fastest, on devices with `cl_khr_fp16`. The error grows with k, and a sum above
    /// 65504 is infinite.
    F16,
    /// `float`. Needs no extension.
    F32,
    /// `half` within blocks of `block` steps along K, `float` across blocks.
    Chunked {
        /// Steps along K per block, at least 1.
        block: usize,
    },
}

/// Converts sums of bytes to bytes: `clamp(round(sum * multiplier / 2^shift) + zero_c, least, most)`, where the sum
/// is that of (a - `zero_a`)(b - `zero_b`) after `alpha`, `beta` and the epilogue. All arithmetic is in integers;
/// `round` is to the nearest, halves upwards. Every device gives the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requantise {
    /// The number of multipliers.
    pub scale: Scale,
    /// Zero point of A.
    pub zero_a: i8,
    /// Zero point of B.
    pub zero_b: i8,
    /// Zero point of C.
    pub zero_c: i8,
    /// The smallest value of C.
    pub least: i8,
    /// The largest value of C.
    pub most: i8,
}

/// Multipliers and shifts are in an operand: pairs of `int`, the multiplier at least 0, the shift 1 to 62.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scale {
    /// One pair for all of C.
    Tensor,
    /// One pair for each column of C.
    Columns,
}

/// A stage of the epilogue. Biases and residuals are operands of the type of C, or `int` when sums are `int`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EpilogueStage {
    /// Adds a vector of n elements, one to each column of C.
    BiasColumns,
    /// Adds a vector of m elements, one to each row of C.
    BiasRows,
    /// Values below 0 become 0. NaN stays NaN, here and below.
    Relu,
    /// Values below 0 become 0, values above 6 become 6.
    Relu6,
    /// Values below `least` become `least`, values above `most` become `most`.
    Clamp {
        /// The smallest value; an integer for integer elements.
        least: f32,
        /// The largest value, at least `least`.
        most: f32,
    },
    /// Adds an m x n matrix.
    Residual {
        /// Its layout in its buffer.
        layout: Layout,
        /// Elements from product to product of a batch, regardless of how the batch's other operands are given.
        stride: usize,
    },
}

impl EpilogueStage {
    /// The operand that it reads, if it is the stage with this index; `None` for a stage without an operand.
    pub fn role(&self, index: usize) -> Option<Role> {
        match self {
            Self::BiasColumns => Some(Role::BiasColumns(index)),
            Self::BiasRows => Some(Role::BiasRows(index)),
            Self::Residual { .. } => Some(Role::Residual(index)),
            Self::Relu | Self::Relu6 | Self::Clamp { .. } => None,
        }
    }
}

/// An operand that a plan must be bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredOperand {
    /// What it is for.
    pub role: Role,
    /// The type of its elements.
    pub element: ScalarType,
    /// Minimum number of elements. An empty operand still needs a buffer, which is not read.
    pub elements: usize,
}

impl Gemm {
    /// Maximum number of stages of an epilogue.
    pub const STAGES_MAX: usize = 6;
    /// Maximum length of a sum of products of bytes that fits 32 bits: each product is at most 2^14, or, with zero
    /// points, 255^2.
    pub const BYTES_K_MAX: usize = (1 << 17) - 1;

    /// C = A B of three row-major matrices without gaps: no batch, no epilogue, `alpha` 1, `beta` 0.
    pub fn new(elements: Elements, extents: ProductExtents) -> Self {
        let ProductExtents { m, n, k } = extents;
        Self {
            m,
            n,
            k,
            elements,
            a: Layout::row_major(k.max(1)),
            b: Layout::row_major(n.max(1)),
            c: Layout::row_major(n.max(1)),
            batch: Batch::One,
            alpha: 1.0,
            beta: 0.0,
            epilogue: Vec::new(),
        }
    }

    /// Its extents.
    pub fn extents(&self) -> ProductExtents {
        let Self { m, n, k, .. } = *self;
        ProductExtents { m, n, k }
    }

    /// `alpha` and `beta` rounded to the type of the sums, as they are applied.
    pub fn factors(&self) -> [f64; 2] {
        [self.alpha, self.beta].map(|factor| match self.elements.total() {
            ScalarType::F16 => f16::from_f64(factor).to_f64(),
            ScalarType::F32 => f64::from(factor as f32),
            // [`Self::check`] ensures that these are integers.
            _ => factor,
        })
    }

    /// Number of arithmetic operations; a multiply-add counts as 2, the epilogue is not counted.
    pub fn operations(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64 * self.batch.count() as f64
    }

    /// The operands of a plan, in order: A, B, C; the offsets of a batch, if it has them; multipliers and shifts, if
    /// C is requantised; then a buffer for each bias and each residual, in the order of the epilogue.
    pub fn operands(&self) -> Vec<RequiredOperand> {
        let extents = self.extents();
        let (input, output, side) = self.elements.types();
        let count = self.batch.count();
        let spanned = |layout: &Layout, extents, stride: usize| {
            let span = layout.span(extents).unwrap_or(usize::MAX);
            if span == 0 || count == 0 { 0 } else { span.saturating_add((count - 1).saturating_mul(stride)) }
        };
        let [a, b, c] = self.batch.strides();
        let operand = |role, element, elements| RequiredOperand { role, element, elements };
        let mut operands = vec![
            operand(Role::A, input, spanned(&self.a, extents.a(), a)),
            operand(Role::B, input, spanned(&self.b, extents.b(), b)),
            operand(Role::C, output, spanned(&self.c, extents.c(), c)),
        ];
        if let Batch::Offsets { count } = self.batch {
            operands.push(operand(Role::Offsets, ScalarType::U32, count.saturating_mul(3)));
        }
        if let Elements::I8ToI8(requantise) = &self.elements {
            let pairs = if requantise.scale == Scale::Columns { self.n } else { 1 };
            operands.push(operand(Role::Scales, ScalarType::I32, pairs.saturating_mul(2)));
        }
        for (index, stage) in self.epilogue.iter().enumerate() {
            let elements = match stage {
                EpilogueStage::BiasColumns => self.n,
                EpilogueStage::BiasRows => self.m,
                EpilogueStage::Residual { layout, stride } => spanned(layout, extents.c(), *stride),
                EpilogueStage::Relu | EpilogueStage::Relu6 | EpilogueStage::Clamp { .. } => 0,
            };
            operands.extend(stage.role(index).map(|role| operand(role, side, elements)));
        }
        operands
    }

    /// Checks that the description is valid, independent of the device.
    ///
    /// # Errors
    /// The first violation found.
    pub fn check(&self) -> Result<(), DescriptionError> {
        let all = self.extents();
        let layouts = [("A", &self.a, all.a()), ("B", &self.b, all.b()), ("C", &self.c, all.c())];
        let residuals = self.epilogue.iter().filter_map(|stage| match stage {
            EpilogueStage::Residual { layout, .. } => Some(("the residual", layout, all.c())),
            _ => None,
        });
        for (operand, layout, Extents { rows, columns }) in layouts.into_iter().chain(residuals) {
            let extent = if layout.order == Order::RowMajor { columns } else { rows }.max(1);
            if layout.leading < extent {
                return Err(DescriptionError::Leading { operand, leading: layout.leading, extent });
            }
        }
        self.check_sizes()?;
        self.check_overlap()?;
        if self.epilogue.len() > Self::STAGES_MAX {
            return Err(DescriptionError::Stages { found: self.epilogue.len(), most: Self::STAGES_MAX });
        }
        self.check_numbers()
    }

    fn check_sizes(&self) -> Result<(), DescriptionError> {
        let reached = |elements: usize| u32::try_from(elements).is_ok();
        let extents = [("m", self.m), ("n", self.n), ("k", self.k), ("the batch", self.batch.count())];
        if let Some((operand, _)) = extents.into_iter().find(|(_, extent)| *extent > i32::MAX as usize) {
            return Err(DescriptionError::TooLarge { operand });
        }
        let names = ["A", "B", "C"].into_iter().chain(std::iter::repeat("an operand"));
        for (operand, name) in self.operands().into_iter().zip(names) {
            if !reached(operand.elements) {
                return Err(DescriptionError::TooLarge { operand: name });
            }
        }
        let bytes = matches!(self.elements, Elements::I8ToI32 | Elements::I8ToI8(_));
        let most = match &self.elements {
            // 255^2 each instead of 2^14.
            Elements::I8ToI8(requantise) if requantise.zero_a != 0 || requantise.zero_b != 0 => {
                Self::BYTES_K_MAX / 4
            }
            _ => Self::BYTES_K_MAX,
        };
        if bytes && self.k > most {
            return Err(DescriptionError::Sums { k: self.k, most });
        }
        Ok(())
    }

    fn check_overlap(&self) -> Result<(), DescriptionError> {
        let Batch::Strided { count, strides: [_, _, stride] } = self.batch else { return Ok(()) };
        let (lines, line) = if self.c.order == Order::RowMajor { (self.m, self.n) } else { (self.n, self.m) };
        if count < 2 || lines == 0 || line == 0 {
            return Ok(());
        }
        // The first product and a later one share an element when the distance between the products equals the
        // distance between two elements of one matrix.
        let span = (lines - 1) * self.c.leading + line;
        for second in 1..count {
            let distance = second * stride;
            if distance >= span {
                break;
            }
            let (skipped, rest) = (distance / self.c.leading, distance % self.c.leading);
            let ahead = rest < line && skipped < lines;
            let behind = self.c.leading - rest < line && skipped + 1 < lines;
            if ahead || behind {
                return Err(DescriptionError::Overlap { first: 0, second, stride });
            }
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), DescriptionError> {
        let number = |what, value, want| Err(DescriptionError::Number { what, value, want });
        let integers = matches!(self.elements, Elements::I8ToI32 | Elements::I8ToI8(_));
        let limits = self.epilogue.iter().flat_map(|stage| match stage {
            EpilogueStage::Clamp { least, most } => {
                vec![("a limit", f64::from(*least)), ("a limit", f64::from(*most))]
            }
            _ => Vec::new(),
        });
        for (what, value) in [("alpha", self.alpha), ("beta", self.beta)].into_iter().chain(limits) {
            if integers && (value.fract() != 0.0 || value.abs() >= 2f64.powi(31)) {
                return number(what, value, "sums of bytes need a 32-bit integer");
            }
        }
        for stage in &self.epilogue {
            if let EpilogueStage::Clamp { least, most } = stage
                && (least > most || least.is_nan() || most.is_nan())
            {
                return number(
                    "the lower bound of a clamp",
                    f64::from(*least),
                    "want at most its upper bound",
                );
            }
        }
        match self.elements {
            Elements::F16(Accumulate::Chunked { block: 0 }) => {
                number("a block of K", 0.0, "want at least 1 step")
            }
            Elements::I8ToI8(Requantise { least, most, .. }) if least > most => {
                number("the least value of C", f64::from(least), "want at most its upper bound")
            }
            _ => Ok(()),
        }
    }
}

/// The kind, as in files: `f32`, `f64`, `f16`, `f16-f32`, `f16-chunked:BLOCK`, or `i8` whatever the result is.
impl fmt::Display for Elements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32 => f.write_str("f32"),
            Self::F64 => f.write_str("f64"),
            Self::F16(Accumulate::F16) => f.write_str("f16"),
            Self::F16(Accumulate::F32) => f.write_str("f16-f32"),
            Self::F16(Accumulate::Chunked { block }) => write!(f, "f16-chunked:{block}"),
            Self::I8ToI32 | Self::I8ToI8(_) => f.write_str("i8"),
        }
    }
}

impl Elements {
    /// Types of A and B, of C, and of biases and residuals.
    pub fn types(&self) -> (ScalarType, ScalarType, ScalarType) {
        match self {
            Self::F32 => (ScalarType::F32, ScalarType::F32, ScalarType::F32),
            Self::F64 => (ScalarType::F64, ScalarType::F64, ScalarType::F64),
            Self::F16(_) => (ScalarType::F16, ScalarType::F16, ScalarType::F16),
            Self::I8ToI32 => (ScalarType::I8, ScalarType::I32, ScalarType::I32),
            Self::I8ToI8(_) => (ScalarType::I8, ScalarType::I8, ScalarType::I32),
        }
    }

    /// The type in which sums across K are held.
    pub fn total(&self) -> ScalarType {
        match self {
            Self::F16(Accumulate::F16) => ScalarType::F16,
            Self::F32 | Self::F16(_) => ScalarType::F32,
            Self::F64 => ScalarType::F64,
            Self::I8ToI32 | Self::I8ToI8(_) => ScalarType::I32,
        }
    }
}
