//! How weights are stored.

use std::fmt;
use std::str::FromStr;

/// The number of weights of a block: those of one output that share a scale, and the unit in which all formats are packed.
pub const BLOCK: usize = 32;

/// A format of weights.
///
/// `Q8_0` and `Q4_0` are the formats of that name in GGUF files. Multi-byte numbers are in the order of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WeightFormat {
    /// `f16`: half precision, 16 bits a weight.
    F16,
    /// `i8`: a signed byte times a scale in `float`, one for each output. 8 bits a weight.
    I8,
    /// `q8_0`: blocks of 34 bytes: a scale in half precision, then 32 signed bytes. A weight is scale times byte. 8.5 bits a
    /// weight.
    Q8_0,
    /// `q4_0`: blocks of 18 bytes: a scale in half precision, then 16 bytes. The lower four bits of byte i are weight i of the
    /// block, the upper four bits weight 16 + i. A weight is scale times (number - 8). 4.5 bits a weight.
    Q4_0,
}

impl WeightFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::F16, Self::I8, Self::Q8_0, Self::Q4_0];

    /// The bytes of the stored weights of one output with `inputs` inputs; those of the scales of `i8` are not included.
    /// An incomplete last block is stored whole.
    pub fn row_bytes(self, inputs: usize) -> usize {
        let blocks = inputs.div_ceil(BLOCK);
        match self {
            Self::F16 => inputs.saturating_mul(2),
            Self::I8 => inputs,
            Self::Q8_0 => blocks.saturating_mul(2 + BLOCK),
            Self::Q4_0 => blocks.saturating_mul(2 + BLOCK / 2),
        }
    }

    /// The lines of a packed block: a line has the same steps along K of all outputs, one element each.
    pub(super) fn lines(self) -> usize {
        BLOCK / self.steps()
    }

    /// The steps along K that an element of a line has.
    pub(super) fn steps(self) -> usize {
        match self {
            Self::F16 => 1,
            Self::I8 | Self::Q8_0 => 4,
            Self::Q4_0 => 8,
        }
    }

    /// The bytes of an element of a line.
    pub(super) fn element_bytes(self) -> usize {
        if self == Self::F16 { 2 } else { 4 }
    }

    /// The bytes of a scale, and whether each block has scales; `None` for a format without scales.
    pub(super) fn scales(self) -> Option<(usize, bool)> {
        match self {
            Self::F16 => None,
            Self::I8 => Some((4, false)),
            Self::Q8_0 | Self::Q4_0 => Some((2, true)),
        }
    }
}

impl fmt::Display for WeightFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F16 => "f16",
            Self::I8 => "i8",
            Self::Q8_0 => "q8_0",
            Self::Q4_0 => "q4_0",
        })
    }
}

impl FromStr for WeightFormat {
    type Err = String;

    /// Parses `f16`, `i8`, `q8_0` or `q4_0`.
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|format| format.to_string().eq_ignore_ascii_case(text));
        known.ok_or_else(|| format!("`{text}` is not a format of weights: want f16, i8, q8_0 or q4_0"))
    }
}
