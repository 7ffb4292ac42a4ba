//! Raw measurements: times of products of several shapes with several parameters on one device.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::ElementKind;
use crate::gemm::description::{Batch, Elements, Gemm, Layout};
use crate::gemm::parameters::Parameters;
use crate::table::{Basis, Target, microseconds, parse_microseconds};

/// Times on one device, as measured or predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The devices that the times are used for.
    pub on: Target,
    /// The element types.
    pub elements: ElementKind,
    /// Measured or predicted.
    pub basis: Basis,
    /// How the times were taken.
    pub source: String,
    /// The device's name.
    pub device: String,
    /// Its driver's version.
    pub driver: String,
    /// Version of this library.
    pub version: String,
    /// Day, as `2026-11-21`.
    pub date: String,
    /// The times. In a file: by kernel, a line for each shape, e.g. `196x512x4608 /16 40.8 us` with K in 16 parts.
    #[serde(with = "by_kernel")]
    pub times: Vec<Timed>,
}

/// The times of a file, by kernel.
mod by_kernel {
    use std::collections::BTreeMap;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Parameters, Timed, TimedShape};

    pub(super) fn serialize<S: Serializer>(times: &[Timed], serializer: S) -> Result<S::Ok, S::Error> {
        let mut kernels: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for Timed { shape, seconds, parameters } in times {
            let parts = match parameters.parts() {
                1 => String::new(),
                parts => format!(" /{parts}"),
            };
            let line = format!("{shape}{parts} {}", super::microseconds(*seconds));
            kernels.entry(parameters.with_parts(1).to_string()).or_default().push(line);
        }
        kernels.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Timed>, D::Error> {
        let kernels = BTreeMap::<String, Vec<String>>::deserialize(deserializer)?;
        let mut times = Vec::new();
        for (kernel, lines) in kernels {
            let kernel: Parameters = kernel.parse().map_err(D::Error::custom)?;
            for line in lines {
                times.push(timed(kernel, &line).map_err(D::Error::custom)?);
            }
        }
        Ok(times)
    }

    fn timed(kernel: Parameters, line: &str) -> Result<Timed, super::TimedError> {
        let (shape, rest) = TimedShape::parse(line)?;
        let (parts, seconds) = match rest.split_once(' ') {
            Some((parts, seconds)) if parts.starts_with('/') => (parts[1..].parse().ok(), seconds),
            _ => (Some(1), rest),
        };
        let wrong =
            || super::TimedError { text: line.to_owned(), reason: "want parts such as /16".to_owned() };
        let parameters = kernel.with_parts(parts.ok_or_else(wrong)?);
        Ok(Timed { shape, seconds: super::seconds(line, seconds)?, parameters })
    }
}

/// The time of a product with certain parameters. The text form is one line: the shape, microseconds, the parameters,
/// e.g. `196x512x4608 41.3 us local 8x8 depth=8 group=16x16 parts=16`.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// The shape.
    pub shape: TimedShape,
    /// Seconds, the median; operands that the parameters pack are packed each time.
    pub seconds: f64,
    /// The parameters.
    pub parameters: Parameters,
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

/// Text that is not the time of a product.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{text}`: {reason}")]
pub struct TimedError {
    /// The text.
    pub text: String,
    /// The reason.
    pub reason: String,
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
        let layout = |transposed: bool, [rows, columns]: [usize; 2]| {
            if transposed { Layout::column_major(rows) } else { Layout::row_major(columns) }
        };
        let batch =
            if count == 1 { Batch::One } else { Batch::Strided { count, strides: [m * k, k * n, m * n] } };
        let [a, b] = self.transposed;
        Gemm { a: layout(a, [m, k]), b: layout(b, [k, n]), batch, ..Gemm::new(elements, [m, n, k]) }
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

/// Seconds of a text such as `41.30 us` in `line`.
fn seconds(line: &str, text: &str) -> Result<f64, TimedError> {
    parse_microseconds(text).ok_or_else(|| TimedError {
        text: line.to_owned(),
        reason: format!("`{text}` is not a time in microseconds such as `41.3 us`"),
    })
}

impl TimedShape {
    /// The shape at the start of a line, and the rest of it.
    fn parse(line: &str) -> Result<(Self, &str), TimedError> {
        let wrong = |reason: String| TimedError { text: line.to_owned(), reason };
        let (extents, mut rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers = extents.split('x').map(str::parse).collect::<Result<Vec<usize>, _>>();
        let extents = match numbers.as_deref() {
            Ok(&[m, n, k]) => [m, n, k, 1],
            Ok(&[m, n, k, count]) => [m, n, k, count],
            _ => return Err(wrong(format!("`{extents}` is not a shape such as 196x512x4608"))),
        };
        let mut transposed = [false; 2];
        for (word, stored) in [("tn ", [true, false]), ("nt ", [false, true]), ("tt ", [true, true])] {
            if let Some(after) = rest.strip_prefix(word) {
                (transposed, rest) = (stored, after);
            }
        }
        Ok((Self { extents, transposed }, rest))
    }
}

impl fmt::Display for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.shape, microseconds(self.seconds), self.parameters)
    }
}

impl FromStr for Timed {
    type Err = TimedError;

    fn from_str(text: &str) -> Result<Self, TimedError> {
        let wrong = |reason: String| TimedError { text: text.to_owned(), reason };
        let (shape, rest) = TimedShape::parse(text)?;
        let end = rest.find(" us ").map(|at| at + " us".len());
        let end = end.ok_or_else(|| wrong("want a shape, microseconds, `us`, parameters".to_owned()))?;
        let parameters = rest[end + 1..].parse().map_err(|error| wrong(format!("{error}")))?;
        Ok(Self { shape, seconds: seconds(text, &rest[..end])?, parameters })
    }
}
