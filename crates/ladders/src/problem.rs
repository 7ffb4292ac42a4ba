//! A problem: inputs of one size, the expected result, and the amount of work.

use std::fmt;

use bytemuck::allocation::pod_collect_to_vec;
use bytemuck::{cast_slice, cast_slice_mut};
use half::f16;
use thiserror::Error;

use tripipe_kernels::ceilings::Ceilings;

use crate::Photo;

/// The size of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// An image, in pixels.
    Image {
        /// Pixels in a row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// A matrix product: A is m x k, B is k x n, C is m x n.
    Matrix {
        /// Rows of A and C.
        m: usize,
        /// Columns of B and C.
        n: usize,
        /// Columns of A, rows of B.
        k: usize,
    },
    /// A vector, in elements.
    Vector(usize),
}

/// The kinds of [`Size`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SizeKind {
    /// `WIDTHxHEIGHT`, or `N` for a square image.
    Image,
    /// `MxNxK`, or `N` for three equal extents.
    Matrix,
    /// `N`.
    Vector,
}

/// Largest extent in one dimension: products of two stay far below overflow, and a kernel's `int` can count it.
const EXTENT_MAX: usize = 1 << 20;
/// Maximum number of elements of one operand: at most 2^31 bytes of `float`.
const ELEMENTS_MAX: usize = 1 << 29;

impl SizeKind {
    /// Parses a size of this kind, e.g. `768x432`, `512`, `64x48x32`.
    ///
    /// # Errors
    /// Malformed numbers, the wrong count of numbers, an extent of 0, or too many elements.
    pub fn parse(self, text: &str) -> Result<Size, ProblemError> {
        let refused = |reason: String| ProblemError::Size { text: text.to_owned(), reason };
        let extents = text
            .split(['x', 'X'])
            .map(|part| part.trim().parse::<usize>())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| refused(format!("want {self}")))?;
        let size = match (self, extents.as_slice()) {
            (Self::Image, [side]) => Size::Image { width: *side, height: *side },
            (Self::Image, [width, height]) => Size::Image { width: *width, height: *height },
            (Self::Matrix, [side]) => Size::Matrix { m: *side, n: *side, k: *side },
            (Self::Matrix, [m, n, k]) => Size::Matrix { m: *m, n: *n, k: *k },
            (Self::Vector, [length]) => Size::Vector(*length),
            _ => return Err(refused(format!("want {self}"))),
        };
        size.check().map_err(refused)?;
        Ok(size)
    }
}

impl fmt::Display for SizeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Image => "WIDTHxHEIGHT, e.g. 768x432",
            Self::Matrix => "MxNxK or N, e.g. 512x512x256",
            Self::Vector => "a number of elements, e.g. 1000000",
        })
    }
}

impl Size {
    /// Its kind.
    pub fn kind(self) -> SizeKind {
        match self {
            Self::Image { .. } => SizeKind::Image,
            Self::Matrix { .. } => SizeKind::Matrix,
            Self::Vector(_) => SizeKind::Vector,
        }
    }

    fn check(self) -> Result<(), String> {
        let (extents, operands): (Vec<usize>, Vec<[usize; 2]>) = match self {
            Self::Image { width, height } => (vec![width, height], vec![[width, height]]),
            Self::Matrix { m, n, k } => (vec![m, n, k], vec![[m, k], [k, n], [m, n]]),
            Self::Vector(length) => (vec![], vec![[length, 1]]),
        };
        if extents.contains(&0) || operands.contains(&[0, 1]) {
            return Err("nothing to compute: an extent is 0".to_owned());
        }
        if let Some(extent) = extents.iter().find(|extent| **extent > EXTENT_MAX) {
            return Err(format!("{extent} is more than {EXTENT_MAX} in one dimension"));
        }
        match operands.iter().find(|[a, b]| a.checked_mul(*b).is_none_or(|all| all > ELEMENTS_MAX)) {
            Some(_) => Err(format!("more than {ELEMENTS_MAX} elements in one operand")),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image { width, height } => write!(f, "{width}x{height}"),
            Self::Matrix { m, n, k } => write!(f, "{m}x{n}x{k}"),
            Self::Vector(length) => write!(f, "{length}"),
        }
    }
}

/// An array of one element type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Data {
    /// `uchar`
    U8(Vec<u8>),
    /// `int`
    I32(Vec<i32>),
    /// `half`
    F16(Vec<f16>),
    /// `float`
    F32(Vec<f32>),
}

impl Data {
    /// The bytes in host order.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::U8(values) => values,
            Self::I32(values) => cast_slice(values),
            Self::F16(values) => cast_slice(values),
            Self::F32(values) => cast_slice(values),
        }
    }

    /// The bytes in host order, mutable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::U8(values) => values,
            Self::I32(values) => cast_slice_mut(values),
            Self::F16(values) => cast_slice_mut(values),
            Self::F32(values) => cast_slice_mut(values),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::F16(values) => values.len(),
            Self::F32(values) => values.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements; `None` if they are not `uchar`.
    pub fn as_u8(&self) -> Option<&[u8]> {
        if let Self::U8(values) = self { Some(values) } else { None }
    }

    /// The elements; `None` if they are not `half`.
    pub fn as_f16(&self) -> Option<&[f16]> {
        if let Self::F16(values) = self { Some(values) } else { None }
    }

    /// The elements; `None` if they are not `float`.
    pub fn as_f32(&self) -> Option<&[f32]> {
        if let Self::F32(values) = self { Some(values) } else { None }
    }
}

/// The element type of floating-point output that is compared within a tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Float {
    /// `half`
    F16,
    /// `float`
    F32,
}

/// The expected result.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// Equal to the last bit.
    Exact(Data),
    /// Each element within a separate bound.
    Within {
        /// The type of the output's elements.
        float: Float,
        /// The exact result, in double precision.
        reference: Vec<f64>,
        /// Largest absolute error of each element.
        bound: Vec<f64>,
    },
}

/// The first difference between an output and the expected result.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Mismatch {
    /// The output has a wrong number of bytes.
    #[error("{found} bytes came back, {want} were expected")]
    Length {
        /// Bytes expected.
        want: usize,
        /// Bytes found.
        found: usize,
    },
    /// A wrong element.
    #[error("{count} of {total} elements differ, the first at {index}: {found}, expected {want}")]
    Element {
        /// Index of the first wrong element.
        index: usize,
        /// The expected value.
        want: f64,
        /// The value found.
        found: f64,
        /// Number of wrong elements.
        count: usize,
        /// Total number of elements.
        total: usize,
    },
}

impl Expected {
    /// An output buffer of this type and length, filled with values that count as wrong until they are written.
    pub fn blank_output(&self) -> Data {
        match self {
            Self::Exact(Data::U8(values)) => Data::U8(vec![0xCD; values.len()]),
            Self::Exact(Data::I32(values)) => Data::I32(vec![i32::MIN; values.len()]),
            Self::Exact(Data::F16(values)) => Data::F16(vec![f16::NAN; values.len()]),
            Self::Exact(Data::F32(values)) => Data::F32(vec![f32::NAN; values.len()]),
            Self::Within { float: Float::F16, reference, .. } => Data::F16(vec![f16::NAN; reference.len()]),
            Self::Within { float: Float::F32, reference, .. } => Data::F32(vec![f32::NAN; reference.len()]),
        }
    }

    /// Compares an output, given as bytes, with the expected result.
    ///
    /// # Errors
    /// The first difference, and the number of differences. A NaN equals nothing.
    pub fn verify(&self, output: &[u8]) -> Result<(), Mismatch> {
        match self {
            Self::Exact(data) => {
                let want = data.bytes();
                check_length(want.len(), output)?;
                if want == output {
                    return Ok(());
                }
                let width = if data.is_empty() { 1 } else { want.len() / data.len() };
                let value = |bytes: &[u8], index: usize| element(data, &bytes[index * width..][..width]);
                let wrong: Vec<usize> = want
                    .chunks(width)
                    .zip(output.chunks(width))
                    .enumerate()
                    .filter_map(|(index, (want, found))| (want != found).then_some(index))
                    .collect();
                let index = wrong.first().copied().unwrap_or(0);
                Err(Mismatch::Element {
                    index,
                    want: value(want, index),
                    found: value(output, index),
                    count: wrong.len(),
                    total: data.len(),
                })
            }
            Self::Within { float, reference, bound } => {
                let found: Vec<f64> = match float {
                    Float::F16 => {
                        check_length(reference.len() * 2, output)?;
                        pod_collect_to_vec::<u8, f16>(output).iter().map(|value| value.to_f64()).collect()
                    }
                    Float::F32 => {
                        check_length(reference.len() * 4, output)?;
                        pod_collect_to_vec::<u8, f32>(output).iter().map(|value| f64::from(*value)).collect()
                    }
                };
                let good = |index: &usize| {
                    let (want, found) = (reference[*index], found[*index]);
                    // Equality covers infinities; NaN fails both comparisons.
                    want == found || (want - found).abs() <= bound[*index]
                };
                let wrong: Vec<usize> = (0..reference.len()).filter(|index| !good(index)).collect();
                match wrong.first() {
                    None => Ok(()),
                    Some(&index) => Err(Mismatch::Element {
                        index,
                        want: reference[index],
                        found: found[index],
                        count: wrong.len(),
                        total: reference.len(),
                    }),
                }
            }
        }
    }
}

fn check_length(want: usize, output: &[u8]) -> Result<(), Mismatch> {
    if want == output.len() { Ok(()) } else { Err(Mismatch::Length { want, found: output.len() }) }
}

fn element(data: &Data, bytes: &[u8]) -> f64 {
    match data {
        Data::U8(_) => f64::from(bytes[0]),
        Data::I32(_) => f64::from(bytemuck::pod_read_unaligned::<i32>(bytes)),
        Data::F16(_) => bytemuck::pod_read_unaligned::<f16>(bytes).to_f64(),
        Data::F32(_) => f64::from(bytemuck::pod_read_unaligned::<f32>(bytes)),
    }
}

/// The amount of work of a problem, independent of the kernel that solves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Arithmetic operations; a multiply-add counts as 2.
    pub operations: f64,
    /// Minimum number of bytes moved: each input read once, each output written once.
    pub bytes: f64,
    /// The rate commonly quoted for this problem.
    pub quoted: Quoted,
}

/// The rate that publications quote for a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoted {
    /// 10^9 bytes per second.
    Bandwidth,
    /// 10^9 operations per second.
    Arithmetic,
}

impl Work {
    /// The quoted rate in 10^9 units per second.
    pub fn rate(&self, seconds: f64) -> f64 {
        let amount = match self.quoted {
            Quoted::Bandwidth => self.bytes,
            Quoted::Arithmetic => self.operations,
        };
        amount / seconds * 1e-9
    }

    /// The minimum time at these ceilings, in seconds: the longer of moving its bytes and doing its arithmetic.
    pub fn floor_seconds(&self, ceilings: &Ceilings) -> f64 {
        (self.bytes / ceilings.bytes_per_second).max(self.operations / ceilings.operations_per_second)
    }

    /// The fraction of the ceiling that a run of `seconds` reaches. Not clamped: a value above 1 means that the data
    /// stayed in a cache in which the ceiling was not measured, or that the ceiling is too low.
    pub fn share(&self, ceilings: &Ceilings, seconds: f64) -> f64 {
        self.floor_seconds(ceilings) / seconds
    }
}

/// The source of a problem's inputs.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The picture that image problems are made from; noise if it is `None`.
    pub photo: Option<&'a Photo>,
    /// Seed of all random values.
    pub seed: u64,
}

/// Inputs of one size, the expected result, and the amount of work.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Its size.
    pub size: Size,
    /// The operands, in the family's order.
    pub inputs: Vec<Data>,
    /// The expected result.
    pub expected: Expected,
    /// The amount of work.
    pub work: Work,
}

impl Problem {
    /// A problem of zeros whose result is not known: for times that are predicted without results. `elements` are the
    /// operands'.
    pub fn unsolved(size: Size, elements: &[usize], zeros: impl Fn(usize) -> Data, work: Work) -> Self {
        let inputs = elements.iter().map(|elements| zeros(*elements)).collect();
        Self { size, inputs, expected: Expected::Exact(zeros(0)), work }
    }
}

/// Why a problem cannot be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemError {
    /// An invalid size.
    #[error("size `{text}`: {reason}")]
    Size {
        /// The given text.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// The kind of the size differs from the ladder's.
    #[error("size {size} does not fit the ladder {ladder}: want {want}")]
    Kind {
        /// The size given.
        size: Size,
        /// The ladder.
        ladder: String,
        /// The kind that the ladder expects.
        want: SizeKind,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_ceiling_counts() {
        let ceilings = Ceilings { bytes_per_second: 10.0, operations_per_second: 100.0 };
        let work = Work { operations: 50.0, bytes: 20.0, quoted: Quoted::Bandwidth };
        assert_eq!(work.floor_seconds(&ceilings), 2.0);
        assert_eq!(work.share(&ceilings, 4.0), 0.5);
        assert_eq!(Work { operations: 1000.0, ..work }.share(&ceilings, 5.0), 2.0);
    }
}
