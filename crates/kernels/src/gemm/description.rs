//! What is to be computed: extents, elements, layouts, batches, epilogue.

use half::f16;
use thiserror::Error;
use tripipe_launch::ScalarType;

/// C = alpha op(A) op(B) + beta C, then an epilogue: m x n from m x k and k x n, every extent from 0 on.
///
/// With `k` or `alpha` 0 no element of A or B is read, with `beta` 0 none of C. The [module](super) says what becomes of
/// infinities and NaN.
///
/// ```
/// use tripipe_kernels::gemm::{Elements, Gemm, Layout, Stage};
///
/// // A layer: the rows of X times the transpose of its weights, a bias, ReLU.
/// let layer = Gemm {
///     b: Layout::row_major(512).transposed(),
///     epilogue: vec![Stage::BiasColumns, Stage::Relu],
///     ..Gemm::new(Elements::F32, [64, 256, 512])
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
    /// How A lies in its buffer.
    pub a: Layout,
    /// How B lies in its buffer.
    pub b: Layout,
    /// How C lies in its buffer.
    pub c: Layout,
    /// How many such products.
    pub batch: Batch,
    /// Factor of the product, rounded to the type of the sums; an integer for integers. An argument of the kernels: another
    /// value needs no other program.
    pub alpha: f64,
    /// Factor of C, like `alpha`.
    pub beta: f64,
    /// What is done with each element, in this order and in the type of the sums, before it is rounded and stored.
    pub epilogue: Vec<Stage>,
}

/// Types of operands, sums and result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elements {
    /// `float` throughout.
    F32,
    /// `double` throughout. The CPU path computes it; there are no kernels for it.
    F64,
    /// `half` in and out.
    F16(Accumulate),
    /// `char` to `int`. Sums past 32 bits wrap around, which only `alpha`, `beta` and the epilogue can bring about.
    I8ToI32,
    /// `char` to `char`, by way of `int` sums.
    I8ToI8(Requantise),
}

/// What products of halves are summed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Accumulate {
    /// `half`, products too. The fastest, where the device has `cl_khr_fp16`; the error grows with k, and a sum past 65504
    /// is infinite.
    F16,
    /// `float`. Needs no extension.
    F32,
    /// `half` within blocks of so many steps along K, `float` across them.
    Chunked {
        /// Steps along K of a block, at least 1.
        block: usize,
    },
}

/// From sums of bytes to bytes: `clamp(round(sum * multiplier / 2^shift) + zero_c, least, most)`, where the sum is that of
/// (a - `zero_a`)(b - `zero_b`) after `alpha`, `beta` and the epilogue. All in integers, `round` to the nearest and
/// upwards from halfway, so that every device gives the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Requantise {
    /// How many multipliers there are.
    pub scale: Scale,
    /// What stands for 0 in A.
    pub zero_a: i8,
    /// What stands for 0 in B.
    pub zero_b: i8,
    /// What stands for 0 in C.
    pub zero_c: i8,
    /// The least value of C.
    pub least: i8,
    /// The largest value of C.
    pub most: i8,
}

/// Multipliers and shifts come in an operand: pairs of `int`, the multiplier from 0 on, the shift from 1 to 62.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scale {
    /// One pair for all of C.
    Tensor,
    /// One pair for each column of C.
    Columns,
}

/// Which way a matrix lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Rows are contiguous.
    RowMajor,
    /// Columns are contiguous.
    ColumnMajor,
}

/// How a matrix lies in a buffer. All in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Which way the stored matrix lies.
    pub order: Order,
    /// Whether what is stored is the transpose of the operand.
    pub transposed: bool,
    /// From one row (column) of the stored matrix to the next: the leading dimension.
    pub leading: usize,
    /// Where the first element is.
    pub offset: usize,
}

impl Layout {
    /// Rows `leading` elements apart, from the start of the buffer on.
    pub fn row_major(leading: usize) -> Self {
        Self { order: Order::RowMajor, transposed: false, leading, offset: 0 }
    }

    /// Columns `leading` elements apart, from the start of the buffer on.
    pub fn column_major(leading: usize) -> Self {
        Self { order: Order::ColumnMajor, ..Self::row_major(leading) }
    }

    /// The same memory as the transpose.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// The same from `offset` on.
    #[must_use]
    pub fn at(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    /// Whether the operand's rows (not those of what is stored) are contiguous.
    pub fn rows_are_contiguous(&self) -> bool {
        (self.order == Order::RowMajor) != self.transposed
    }

    /// Elements from row to row and from column to column of the operand.
    pub fn strides(&self) -> [usize; 2] {
        if self.rows_are_contiguous() { [self.leading, 1] } else { [1, self.leading] }
    }

    /// Elements up to and with the last of a `rows` x `columns` operand, `offset` included; 0 for an empty one, `None`
    /// past `usize`.
    pub fn span(&self, [rows, columns]: [usize; 2]) -> Option<usize> {
        if rows == 0 || columns == 0 {
            return Some(0);
        }
        let [row, column] = self.strides();
        let last = (rows - 1).checked_mul(row)?.checked_add((columns - 1).checked_mul(column)?)?;
        last.checked_add(self.offset)?.checked_add(1)
    }
}

/// How many products of one description there are, and where their operands begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Batch {
    /// One.
    One,
    /// Operands of a product lie so many elements after those of the one before. 0 is one operand for all; not for C.
    Strided {
        /// How many products.
        count: usize,
        /// From product to product, for A, B and C.
        strides: [usize; 3],
    },
    /// Operands begin where a buffer says: three `uint` a product, elements of A, of B and of C beyond the layouts'
    /// own offsets. Whoever fills it sees to it that operands lie in their buffers and that no two C share an element: what an
    /// element of two C holds afterwards is not specified. The products may come in any order.
    Offsets {
        /// How many products.
        count: usize,
    },
}

impl Batch {
    /// How many products.
    pub fn count(&self) -> usize {
        match self {
            Self::One => 1,
            Self::Strided { count, .. } | Self::Offsets { count } => *count,
        }
    }

    /// From product to product for A, B and C, as far as that is known ahead.
    pub(super) fn strides(&self) -> [usize; 3] {
        if let Self::Strided { strides, .. } = self { *strides } else { [0; 3] }
    }
}

/// A stage of the epilogue. Biases and residuals are operands of the type of C, but `int` wherever sums are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stage {
    /// Adds a vector of n elements, one to each column of C.
    BiasColumns,
    /// Adds a vector of m elements, one to each row of C.
    BiasRows,
    /// What is less than 0 becomes 0. A NaN stays one, here and below.
    Relu,
    /// What is less than 0 becomes 0, what is more than 6 becomes 6.
    Relu6,
    /// What is less than `least` becomes `least`, what is more than `most` becomes `most`.
    Clamp {
        /// The least value; an integer for integers.
        least: f32,
        /// The largest value, no less than `least`.
        most: f32,
    },
    /// Adds an m x n matrix.
    Residual {
        /// How it lies in its buffer.
        layout: Layout,
        /// Elements from product to product of a batch, however the batch's other operands are given.
        stride: usize,
    },
}

/// What a plan wants from whoever binds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// `A`, `B`, `C`, `offsets`, `scales`, or the stage that reads it.
    pub name: String,
    /// The type of its elements.
    pub element: ScalarType,
    /// Elements it must hold at the least; what is empty needs a buffer nevertheless, which is not read.
    pub elements: usize,
}

/// What is wrong with a description.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum DescriptionError {
    /// A leading dimension within which rows (columns) overlap.
    #[error(
        "{operand}: a leading dimension of {leading} is less than the {extent} elements of what it leads to"
    )]
    Leading {
        /// The operand.
        operand: &'static str,
        /// The leading dimension.
        leading: usize,
        /// The least it can be.
        extent: usize,
    },
    /// Two products of a batch would write to the same element.
    #[error(
        "products {first} and {second} of the batch overlap in C: a stride of {stride} elements is too small"
    )]
    Overlap {
        /// The one.
        first: usize,
        /// The other.
        second: usize,
        /// The stride of C.
        stride: usize,
    },
    /// Elements that the kernels' 32-bit indices do not reach.
    #[error("{operand} reaches past element 2^32, where the kernels' indices end: split the product")]
    TooLarge {
        /// The operand, or the extent.
        operand: &'static str,
    },
    /// Sums of bytes that 32 bits do not hold.
    #[error("k is {k}: sums of more than {most} products of bytes do not fit 32 bits; split the product")]
    Sums {
        /// The length of the sums.
        k: usize,
        /// The longest.
        most: usize,
    },
    /// A factor or limit that the type of the sums does not have.
    #[error("{what} is {value}: {want}")]
    Number {
        /// Which.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        want: &'static str,
    },
    /// More stages than the kernels take.
    #[error("an epilogue of {found} stages: the kernels take {most}")]
    Stages {
        /// How many there are.
        found: usize,
        /// How many there can be.
        most: usize,
    },
}

impl Gemm {
    /// The most stages of an epilogue.
    pub const STAGES_MAX: usize = 6;
    /// The longest sum of products of bytes that 32 bits hold: 2^14 each at the most, or, with zero points, 255^2.
    pub const BYTES_K_MAX: usize = (1 << 17) - 1;

    /// C = A B of three row-major matrices without gaps: no batch, no epilogue, `alpha` 1, `beta` 0.
    pub fn new(elements: Elements, [m, n, k]: [usize; 3]) -> Self {
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

    /// `alpha` and `beta` as they are applied: rounded to the type of the sums.
    pub fn factors(&self) -> [f64; 2] {
        [self.alpha, self.beta].map(|factor| match self.elements.total() {
            ScalarType::F16 => f16::from_f64(factor).to_f64(),
            ScalarType::F32 => f64::from(factor as f32),
            // Integers are checked to be some.
            _ => factor,
        })
    }

    /// Arithmetic operations, a multiply-add counted as 2; the epilogue is not counted.
    pub fn operations(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64 * self.batch.count() as f64
    }

    /// What a plan wants, in its order: A, B, C; the offsets of a batch, if it has them; multipliers and shifts, if C is
    /// requantised; then a buffer for each bias and each residual, in the order of the epilogue.
    pub fn operands(&self) -> Vec<Operand> {
        let Self { m, n, k, .. } = *self;
        let (input, output, side) = self.elements.types();
        let count = self.batch.count();
        let spanned = |layout: &Layout, extents, stride: usize| {
            let span = layout.span(extents).unwrap_or(usize::MAX);
            if span == 0 || count == 0 { 0 } else { span.saturating_add((count - 1).saturating_mul(stride)) }
        };
        let [a, b, c] = self.batch.strides();
        let operand = |name: &str, element, elements| Operand { name: name.to_owned(), element, elements };
        let mut operands = vec![
            operand("A", input, spanned(&self.a, [m, k], a)),
            operand("B", input, spanned(&self.b, [k, n], b)),
            operand("C", output, spanned(&self.c, [m, n], c)),
        ];
        if let Batch::Offsets { count } = self.batch {
            operands.push(operand("offsets", ScalarType::U32, count.saturating_mul(3)));
        }
        if let Elements::I8ToI8(requantise) = &self.elements {
            let pairs = if requantise.scale == Scale::Columns { n } else { 1 };
            operands.push(operand("scales", ScalarType::I32, pairs.saturating_mul(2)));
        }
        for stage in &self.epilogue {
            match stage {
                Stage::BiasColumns => operands.push(operand("bias of columns", side, n)),
                Stage::BiasRows => operands.push(operand("bias of rows", side, m)),
                Stage::Residual { layout, stride } => {
                    operands.push(operand("residual", side, spanned(layout, [m, n], *stride)));
                }
                Stage::Relu | Stage::Relu6 | Stage::Clamp { .. } => {}
            }
        }
        operands
    }

    /// Whether it makes sense, whatever the device.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), DescriptionError> {
        let Self { m, n, k, .. } = *self;
        let layouts = [("A", &self.a, [m, k]), ("B", &self.b, [k, n]), ("C", &self.c, [m, n])];
        let residuals = self.epilogue.iter().filter_map(|stage| match stage {
            Stage::Residual { layout, .. } => Some(("the residual", layout, [m, n])),
            _ => None,
        });
        for (operand, layout, [rows, columns]) in layouts.into_iter().chain(residuals) {
            let extent = if layout.rows_are_contiguous() { columns } else { rows }.max(1);
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
        let (lines, line) = if self.c.rows_are_contiguous() { (self.m, self.n) } else { (self.n, self.m) };
        if count < 2 || lines == 0 || line == 0 {
            return Ok(());
        }
        // The first product and one `apart` after it share an element when the distance between them is that between
        // two elements of one matrix.
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
            Stage::Clamp { least, most } => {
                vec![("a limit", f64::from(*least)), ("a limit", f64::from(*most))]
            }
            _ => Vec::new(),
        });
        for (what, value) in [("alpha", self.alpha), ("beta", self.beta)].into_iter().chain(limits) {
            if integers && (value.fract() != 0.0 || value.abs() >= 2f64.powi(31)) {
                return number(what, value, "sums of bytes want an integer of 32 bits");
            }
        }
        for stage in &self.epilogue {
            if let Stage::Clamp { least, most } = stage
                && (least > most || least.is_nan() || most.is_nan())
            {
                return number(
                    "the least value of a clamp",
                    f64::from(*least),
                    "want no more than its largest",
                );
            }
        }
        match self.elements {
            Elements::F16(Accumulate::Chunked { block: 0 }) => {
                number("a block of K", 0.0, "want at least 1 step")
            }
            Elements::I8ToI8(Requantise { least, most, .. }) if least > most => {
                number("the least value of C", f64::from(least), "want no more than its largest")
            }
            _ => Ok(()),
        }
    }
}

impl Elements {
    /// Types of A and B, of C, and of biases and residuals.
    pub(super) fn types(&self) -> (ScalarType, ScalarType, ScalarType) {
        match self {
            Self::F32 => (ScalarType::F32, ScalarType::F32, ScalarType::F32),
            Self::F64 => (ScalarType::F64, ScalarType::F64, ScalarType::F64),
            Self::F16(_) => (ScalarType::F16, ScalarType::F16, ScalarType::F16),
            Self::I8ToI32 => (ScalarType::I8, ScalarType::I32, ScalarType::I32),
            Self::I8ToI8(_) => (ScalarType::I8, ScalarType::I8, ScalarType::I32),
        }
    }

    /// The type sums are held in across K.
    pub fn total(&self) -> ScalarType {
        match self {
            Self::F16(Accumulate::F16) => ScalarType::F16,
            Self::F32 | Self::F16(_) => ScalarType::F32,
            Self::F64 => ScalarType::F64,
            Self::I8ToI32 | Self::I8ToI8(_) => ScalarType::I32,
        }
    }
}
