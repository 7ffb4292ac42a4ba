//! Image reads and image queries.

use super::names::named;

named! {
    /// How a sampled read selects its mip level; operands after the coordinates:
    pub enum Level {
        /// None: level 0.
        Base = "base",
        /// A level of detail, one float.
        Lod = "lod",
        /// Gradients in x and in y, with as many floats as dimensions.
        Gradient = "grad",
    }
}

named! {
    /// Image queries.
    pub enum ImageFact {
        /// Width, height, depth, layers: `i32`, or a vector with as many lanes as the image has coordinates.
        Size = "size",
        /// Channel data type, numbered as in SPIR-V: `CL_SNORM_INT8` is 0, OpenCL's number minus 0x10D0.
        ChannelType = "type",
        /// Channel order, numbered as in SPIR-V: `CL_R` is 0, OpenCL's number minus 0x10B0.
        ChannelOrder = "order",
        /// Number of mip levels.
        Levels = "levels",
    }
}

named! {
    /// The result of a read outside the image.
    pub enum Addressing {
        /// Undefined.
        None = "none",
        /// The nearest edge texel.
        ClampToEdge = "edge",
        /// The border colour.
        Clamp = "border",
        /// The image repeated.
        Repeat = "repeat",
        /// The image repeated, every second copy mirrored.
        Mirror = "mirror",
    }
}

/// A constant sampler: a constant of type [`crate::Type::Sampler`] contains one of these as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SamplerBits {
    /// How coordinates outside the image are handled.
    pub addressing: Addressing,
    /// Whether coordinates run from 0 to 1.
    pub normalized: bool,
    /// Whether texels are interpolated.
    pub linear: bool,
}

impl SamplerBits {
    /// Encodes it as a constant: addressing, then normalised at bit 8, linear at bit 9.
    pub fn bits(self) -> u64 {
        self.addressing as u64 | u64::from(self.normalized) << 8 | u64::from(self.linear) << 9
    }

    /// Decodes a constant; `None` if it is not a sampler.
    pub fn from_bits(bits: u64) -> Option<Self> {
        let addressing = *Addressing::ALL.get(usize::try_from(bits & 255).ok()?)?;
        (bits >> 10 == 0).then_some(Self {
            addressing,
            normalized: bits >> 8 & 1 == 1,
            linear: bits >> 9 & 1 == 1,
        })
    }
}
