//! How a product is computed. Parameters have a one-line text form.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::gemm::ParametersError;

/// The build and launch parameters of the kernel `quantised_product`.
///
/// The text form is one line: `OUTPUTSxVECTORS`, `group=GROUPxPARTS`, then `image` and `masks` if set.
///
/// ```
/// use tripipe_kernels::quantised::Parameters;
///
/// let text = "4x1 group=16x4 image masks";
/// let parameters: Parameters = text.parse().unwrap();
/// assert_eq!(parameters.to_string(), text);
/// assert!("4x1 group=16".parse::<Parameters>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Parameters {
    /// Neighbouring outputs of a work-item: 1, 2, 4, 8 or 16.
    pub outputs: usize,
    /// Vectors of x that a work-item multiplies with each weight it loads: 1 to 8.
    pub vectors: usize,
    /// Work-items of a work-group side by side along the outputs.
    pub group: usize,
    /// Work-items of a work-group that share the steps along K of the same outputs: a power of two.
    pub parts: usize,
    /// The memory from which weights are read.
    pub memory: WeightMemory,
    /// How numbers of four bits are unpacked.
    pub unpack: Unpack,
}

/// The memory from which kernels read weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeightMemory {
    /// A buffer.
    Buffer,
    /// An image, through the texture unit and its cache.
    Image,
}

/// How numbers of four bits are unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unpack {
    /// Each is shifted to the lowest bits, and 8 is subtracted from it. The only choice for other formats.
    Shifts,
    /// Each is masked where it is: the power of two by which it is too large is in x. The 8 is subtracted once a block,
    /// times the sum of x.
    Masks,
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{} group={}x{}", self.outputs, self.vectors, self.group, self.parts)?;
        if self.memory == WeightMemory::Image {
            f.write_str(" image")?;
        }
        if self.unpack == Unpack::Masks {
            f.write_str(" masks")?;
        }
        Ok(())
    }
}

fn pair(text: &str) -> Result<[usize; 2], &'static str> {
    let both = text.split_once('x').and_then(|(a, b)| Some([a.parse().ok()?, b.parse().ok()?]));
    both.ok_or("not a pair of numbers such as 4x1")
}

impl FromStr for Parameters {
    type Err = ParametersError;

    fn from_str(text: &str) -> Result<Self, ParametersError> {
        let wrong =
            |word: &str, reason| ParametersError { text: text.to_owned(), word: word.to_owned(), reason };
        let mut words = text.split_whitespace();
        let shape = words.next().unwrap_or_default();
        let [outputs, vectors] = pair(shape).map_err(|reason| wrong(shape, reason))?;
        let (memory, unpack) = (WeightMemory::Buffer, Unpack::Shifts);
        let mut parameters = Self { outputs, vectors, group: 1, parts: 1, memory, unpack };
        let mut seen = Vec::new();
        for word in words {
            let name = word.split_once('=').map_or(word, |(name, _)| name);
            if seen.contains(&name) {
                return Err(wrong(word, "given twice"));
            }
            seen.push(name);
            match (word, word.strip_prefix("group=")) {
                (_, Some(value)) => {
                    let [group, parts] = pair(value).map_err(|reason| wrong(word, reason))?;
                    (parameters.group, parameters.parts) = (group, parts);
                }
                ("image", _) => parameters.memory = WeightMemory::Image,
                ("masks", _) => parameters.unpack = Unpack::Masks,
                _ => return Err(wrong(word, "not a parameter: want group=GROUPxPARTS, image or masks")),
            }
        }
        Ok(parameters)
    }
}

impl From<Parameters> for String {
    fn from(parameters: Parameters) -> Self {
        parameters.to_string()
    }
}

impl TryFrom<String> for Parameters {
    type Error = ParametersError;

    fn try_from(text: String) -> Result<Self, ParametersError> {
        text.parse()
    }
}
