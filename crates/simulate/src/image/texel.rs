//! Texels as kernels see them, and as stored in memory.

use std::fmt;
use std::ops::Deref;

use half::f16;

/// Red, green, blue and alpha of a texel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Texel {
    /// As `read_imagef` returns it.
    Float([f32; 4]),
    /// As `read_imagei` returns it.
    Signed([i32; 4]),
    /// As `read_imageui` returns it.
    Unsigned([u32; 4]),
}

impl Texel {
    /// A texel from the bits of its components.
    #[inline]
    pub fn from_bits(kind: TexelKind, bits: [u32; 4]) -> Self {
        match kind {
            TexelKind::Float => Self::Float(bits.map(f32::from_bits)),
            TexelKind::Signed => Self::Signed(bits.map(u32::cast_signed)),
            TexelKind::Unsigned => Self::Unsigned(bits),
        }
    }

    /// The bits of its components.
    #[inline]
    pub fn bits(&self) -> [u32; 4] {
        match self {
            Self::Float(rgba) => rgba.map(f32::to_bits),
            Self::Signed(rgba) => rgba.map(i32::cast_unsigned),
            Self::Unsigned(rgba) => *rgba,
        }
    }

    /// As `read_imageh` returns it, rounded to nearest even; `None` for integer texels. OpenCL leaves this undefined
    /// for `CL_FLOAT` channels.
    pub fn halves(&self) -> Option<[f16; 4]> {
        match self {
            Self::Float(rgba) => Some(rgba.map(f16::from_f32)),
            Self::Signed(_) | Self::Unsigned(_) => None,
        }
    }

    /// The kind of its components.
    pub fn kind(&self) -> TexelKind {
        match self {
            Self::Float(_) => TexelKind::Float,
            Self::Signed(_) => TexelKind::Signed,
            Self::Unsigned(_) => TexelKind::Unsigned,
        }
    }
}

impl From<[f16; 4]> for Texel {
    /// As `write_imageh` takes it; the conversion is exact.
    fn from(rgba: [f16; 4]) -> Self {
        Self::Float(rgba.map(f16::to_f32))
    }
}

/// The type of a texel's components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TexelKind {
    /// Floats, or channels that are read as floats.
    Float,
    /// Signed integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
}

impl fmt::Display for TexelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Float => "float",
            Self::Signed => "signed integer",
            Self::Unsigned => "unsigned integer",
        })
    }
}

/// The 1 to 16 bytes of a texel in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedTexel {
    bytes: [u8; 16],
    len: usize,
}

impl EncodedTexel {
    /// The bytes of the channels in sequence, at most 16.
    #[inline]
    pub(super) fn new<const B: usize>(channels: impl IntoIterator<Item = [u8; B]>) -> Self {
        let mut texel = Self { bytes: [0; 16], len: 0 };
        for (to, channel) in texel.bytes.as_chunks_mut::<B>().0.iter_mut().zip(channels) {
            *to = channel;
            texel.len += B;
        }
        texel
    }
}

impl Deref for EncodedTexel {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}
