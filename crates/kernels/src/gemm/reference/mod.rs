//! The correct result, with the error allowed for a correct kernel.
//!
//! It shares no code with what it judges: it finds elements by the definitions of [`Layout`] and [`Batch`], not by
//! the strides that plans and the CPU path derive from them.

mod half_sums;
mod sides;

use half::f16;
use thiserror::Error;
use tripipe_launch::ScalarType;

use super::description::{
    Accumulate, Batch, DescriptionError, Elements, EpilogueStage, Gemm, Layout, Order, Requantise, Scale,
};
use super::sums::products;
use half_sums::{gamma, half_sums};
use sides::Sides;

/// The contents of C after a product: in double precision with an error bound for each element, or exact.
///
/// # The bound
/// With u the unit roundoff of the type of the sums (2^-24, or 2^-11 for half), p the products of an element and k
/// their number, the error of its sum is at most
/// - `k u / (1 - k u) sum |p|` for sums in float, in any order, fused or not (N. J. Higham, "Accuracy and Stability of
///   Numerical Algorithms", 2nd ed., 2002, section 3.1);
/// - for sums in half, in runs along K: `u (k S + sum |p|) / (1 - k u)`, where S is the largest sum of consecutive
///   products, which bounds every partial sum (the running error bound, section 3.3); or, if smaller,
///   `6 u (sqrt(k) S + sqrt(sum p^2)) / (1 - 6 u sqrt(k))`. The second bound assumes independent rounding errors of
///   mean 0; it then holds for an element with probability 1 - 2 exp(-18) (N. J. Higham and T. Mary, "A New Approach
///   to Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41, 2019, theorem 2.4 with lambda = 6). The
///   first bound alone says nothing from k = 2048 on;
/// - for chunked sums: the bounds of the chunks, added up for the first bound and in squares for the second, plus the
///   float bound of the sum of the chunks;
/// - for sums in double, the bound of sums in float with twice the roundoff: the reference is computed in double too.
///
/// Products below the smallest normal number may become 0. `alpha`, `beta`, every stage that adds, and the conversion
/// to the type of C each round once more: `u |value|`. When the value or a partial sum may exceed the largest number
/// of its type, any result is accepted. When the inputs make the value infinite or NaN, C must be exactly that.
#[derive(Clone, Debug)]
pub struct Reference {
    layout: Layout,
    /// First element of the C of each product, in addition to the layout's offset.
    starts: Vec<usize>,
    extents: [usize; 2],
    element: ScalarType,
    values: Vec<f64>,
    bounds: Vec<f64>,
}

/// Why a reference cannot be computed.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ReferenceError {
    /// The description is invalid.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// Too many or too few operands.
    #[error("{found} operands were given, the product has {want}")]
    Count {
        /// Number of operands that the product has.
        want: usize,
        /// Number of operands given.
        found: usize,
    },
    /// An operand that is too short for its elements.
    #[error("operand {name} has {found} bytes, {want} are read")]
    Length {
        /// Its name.
        name: String,
        /// Bytes required.
        want: usize,
        /// Bytes found.
        found: usize,
    },
}

/// The first difference between C and the reference.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Difference {
    /// An element whose error exceeds its bound.
    #[error(
        "element ({row}, {column}) of product {product} is {found}, expected {want} within {bound:e}; {count} of {total} are wrong"
    )]
    Element {
        /// Index of the product in the batch.
        product: usize,
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// The expected value.
        want: f64,
        /// The error bound.
        bound: f64,
        /// The value found.
        found: f64,
        /// Number of wrong elements.
        count: usize,
        /// Total number of elements.
        total: usize,
    },
    /// A byte outside C was written.
    #[error("byte {byte} of C's buffer was changed, although it belongs to no element of C")]
    Beside {
        /// Its position in the buffer.
        byte: usize,
    },
    /// The size of the buffer changed.
    #[error("C's buffer has {found} bytes, {want} before")]
    Length {
        /// Bytes before.
        want: usize,
        /// Bytes after.
        found: usize,
    },
}

/// Element `index` of an operand in double precision, which represents all of its types exactly. 0 past its end;
/// lengths were checked before.
fn element(element: ScalarType, bytes: &[u8], index: usize) -> f64 {
    let width = element.bytes();
    let Some(bytes) = bytes.get(index * width..(index + 1) * width) else { return 0.0 };
    match element {
        ScalarType::F32 => f64::from(bytemuck::pod_read_unaligned::<f32>(bytes)),
        ScalarType::F64 => bytemuck::pod_read_unaligned::<f64>(bytes),
        ScalarType::F16 => bytemuck::pod_read_unaligned::<f16>(bytes).to_f64(),
        ScalarType::I32 => f64::from(bytemuck::pod_read_unaligned::<i32>(bytes)),
        ScalarType::U32 => f64::from(bytemuck::pod_read_unaligned::<u32>(bytes)),
        _ => f64::from(bytes[0] as i8),
    }
}

/// Index of an element of an operand, relative to the start of its product.
fn position(layout: &Layout, [row, column]: [usize; 2]) -> usize {
    let [line, within] = if layout.order == Order::RowMajor { [row, column] } else { [column, row] };
    layout.offset + line * layout.leading + within
}

/// Types of A and B, of C, of biases and residuals, and of sums.
fn types(elements: Elements) -> [ScalarType; 4] {
    use ScalarType::{F16, F32, F64, I8, I32};
    match elements {
        Elements::F32 => [F32, F32, F32, F32],
        Elements::F64 => [F64, F64, F64, F64],
        Elements::F16(Accumulate::F16) => [F16, F16, F16, F16],
        Elements::F16(Accumulate::F32 | Accumulate::Chunked { .. }) => [F16, F16, F16, F32],
        Elements::I8ToI32 => [I8, I32, I32, I32],
        Elements::I8ToI8(_) => [I8, I8, I32, I32],
    }
}

/// Operands in the order of the description: name, type, and number of elements.
fn wanted(gemm: &Gemm) -> Vec<(&'static str, ScalarType, usize)> {
    let Gemm { m, n, k, .. } = *gemm;
    let [input, output, side, _] = types(gemm.elements);
    let (count, strides) = match gemm.batch {
        Batch::One => (1, [0; 3]),
        Batch::Strided { count, strides } => (count, strides),
        Batch::Offsets { count } => (count, [0; 3]),
    };
    let reached = |layout: &Layout, [rows, columns]: [usize; 2], stride: usize| {
        if rows == 0 || columns == 0 || count == 0 {
            return 0;
        }
        position(layout, [rows - 1, columns - 1]) + (count - 1) * stride + 1
    };
    let mut wanted = vec![
        ("A", input, reached(&gemm.a, [m, k], strides[0])),
        ("B", input, reached(&gemm.b, [k, n], strides[1])),
        ("C", output, reached(&gemm.c, [m, n], strides[2])),
    ];
    if matches!(gemm.batch, Batch::Offsets { .. }) {
        wanted.push(("offsets", ScalarType::U32, 3 * count));
    }
    match gemm.elements {
        Elements::I8ToI8(Requantise { scale: Scale::Columns, .. }) => {
            wanted.push(("scales", ScalarType::I32, 2 * n));
        }
        Elements::I8ToI8(_) => wanted.push(("scales", ScalarType::I32, 2)),
        _ => {}
    }
    for stage in &gemm.epilogue {
        match stage {
            EpilogueStage::BiasColumns => wanted.push(("bias of columns", side, n)),
            EpilogueStage::BiasRows => wanted.push(("bias of rows", side, m)),
            EpilogueStage::Residual { layout, stride } => {
                wanted.push(("residual", side, reached(layout, [m, n], *stride)));
            }
            EpilogueStage::Relu | EpilogueStage::Relu6 | EpilogueStage::Clamp { .. } => {}
        }
    }
    wanted
}

/// Unit roundoff, smallest normal number and largest number of a floating-point type. For double, twice the roundoff,
/// because the reference itself rounds as often.
fn precision(float: ScalarType) -> [f64; 3] {
    match float {
        ScalarType::F16 => [2f64.powi(-11), f16::MIN_POSITIVE.to_f64(), f16::MAX.to_f64()],
        ScalarType::F64 => [2f64.powi(-52), f64::MIN_POSITIVE, f64::MAX],
        _ => [2f64.powi(-24), f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)],
    }
}

/// `value` rounded to the type of the sums.
fn rounded(total: ScalarType, value: f64) -> f64 {
    match total {
        ScalarType::F16 => f16::from_f64(value).to_f64(),
        ScalarType::F32 => f64::from(value as f32),
        _ => value,
    }
}

impl Reference {
    /// The reference for operands in the order of [`Gemm::operands`], as bytes; C as it was before.
    ///
    /// # Errors
    /// An invalid description; operands that do not fit it.
    pub fn new(gemm: &Gemm, operands: &[&[u8]]) -> Result<Self, ReferenceError> {
        gemm.check()?;
        let wanted = wanted(gemm);
        if wanted.len() != operands.len() {
            return Err(ReferenceError::Count { want: wanted.len(), found: operands.len() });
        }
        for ((name, element, elements), bytes) in wanted.into_iter().zip(operands) {
            let want = elements * element.bytes();
            if bytes.len() < want {
                let name = name.to_owned();
                return Err(ReferenceError::Length { name, want, found: bytes.len() });
            }
        }
        let [_, element, ..] = types(gemm.elements);
        let mut reference = Self {
            layout: gemm.c,
            starts: Vec::new(),
            extents: [gemm.m, gemm.n],
            element,
            values: Vec::new(),
            bounds: Vec::new(),
        };
        for product in 0..gemm.batch.count() {
            reference.add(gemm, operands, product);
        }
        Ok(reference)
    }

    fn add(&mut self, gemm: &Gemm, operands: &[&[u8]], product: usize) {
        let Gemm { m, n, .. } = *gemm;
        let [input, _, _, total] = types(gemm.elements);
        let k = if rounded(total, gemm.alpha) == 0.0 { 0 } else { gemm.k };
        let start = |operand: usize| match gemm.batch {
            Batch::One => 0,
            Batch::Strided { strides, .. } => product * strides[operand],
            Batch::Offsets { .. } => element(ScalarType::U32, operands[3], 3 * product + operand) as usize,
        };
        // Rows of A and columns of B, each along K.
        let gathered = |operand: usize, lines: usize, at: &dyn Fn(usize, usize) -> usize| {
            let mut values = Vec::with_capacity(lines * k);
            for line in 0..lines {
                let elements = (0..k).map(|step| start(operand) + at(line, step));
                values.extend(elements.map(|index| element(input, operands[operand], index)));
            }
            values
        };
        let a = gathered(0, m, &|row, step| position(&gemm.a, [row, step]));
        let b = gathered(1, n, &|column, step| position(&gemm.b, [step, column]));
        let sides = Sides { gemm, operands, product, c: start(2) };
        let (mut values, mut bounds) = match gemm.elements {
            Elements::F16(Accumulate::F16) => half_sums(&a, &b, [m, n, k], k.max(1)),
            Elements::F16(Accumulate::Chunked { block }) => half_sums(&a, &b, [m, n, k], block),
            Elements::F32 | Elements::F64 | Elements::F16(Accumulate::F32) => {
                let (sums, mut magnitudes) = products(&a, &b, [m, n, k]);
                let [unit, tiny, _] = precision(total);
                let gamma = gamma(k, unit);
                for magnitude in &mut magnitudes {
                    *magnitude = gamma * *magnitude + k as f64 * tiny;
                }
                (sums, magnitudes)
            }
            Elements::I8ToI32 => (products(&a, &b, [m, n, k]).0, Vec::new()),
            Elements::I8ToI8(Requantise { zero_a, zero_b, .. }) => {
                let [a, b] = [(a, zero_a), (b, zero_b)].map(|(values, zero)| {
                    values.iter().map(|value| value - f64::from(zero)).collect::<Vec<_>>()
                });
                (products(&a, &b, [m, n, k]).0, Vec::new())
            }
        };
        for row in 0..m {
            for column in 0..n {
                let index = row * n + column;
                if bounds.is_empty() {
                    values[index] = f64::from(sides.integer(values[index], row, column));
                } else {
                    (values[index], bounds[index]) = sides.float(values[index], bounds[index], row, column);
                }
            }
        }
        if bounds.is_empty() {
            bounds = vec![0.0; m * n];
        }
        self.values.extend(values);
        self.bounds.extend(bounds);
        self.starts.push(start(2));
    }

    /// The values of C: one product after the other, each row-major without gaps.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The error bound of each of [`Self::values`]: 0 for integers, infinite where any value is accepted.
    pub fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    /// Compares C's buffer after a product with the reference, and checks that bytes outside C are unchanged.
    ///
    /// # Errors
    /// The first difference, and the number of elements that differ.
    pub fn verify(&self, before: &[u8], after: &[u8]) -> Result<(), Difference> {
        if before.len() != after.len() {
            return Err(Difference::Length { want: before.len(), found: after.len() });
        }
        let width = self.element.bytes();
        let [m, n] = self.extents;
        let mut expected = before.to_vec();
        let (mut first, mut count) = (None, 0);
        for (product, start) in self.starts.iter().enumerate() {
            for row in 0..m {
                for column in 0..n {
                    let index = (product * m + row) * n + column;
                    let at = start + position(&self.layout, [row, column]);
                    let bytes = at * width..(at + 1) * width;
                    if let (Some(expected), Some(after)) = (expected.get_mut(bytes.clone()), after.get(bytes))
                    {
                        expected.copy_from_slice(after);
                    }
                    let (want, bound) = (self.values[index], self.bounds[index]);
                    let found = element(self.element, after, at);
                    if !is_right(found, want, bound) {
                        count += 1;
                        first.get_or_insert((product, row, column, want, bound, found));
                    }
                }
            }
        }
        if let Some((product, row, column, want, bound, found)) = first {
            let total = self.values.len();
            return Err(Difference::Element { product, row, column, want, bound, found, count, total });
        }
        match expected.iter().zip(after).position(|(want, found)| want != found) {
            Some(byte) => Err(Difference::Beside { byte }),
            None => Ok(()),
        }
    }
}

fn is_right(found: f64, want: f64, bound: f64) -> bool {
    bound == f64::INFINITY
        || found == want
        || (found.is_nan() && want.is_nan())
        || (found - want).abs() <= bound
}
