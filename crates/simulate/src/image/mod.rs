//! Images as the OpenCL specification has them: formats, addressing, filtering, conversion.
//!
//! An [`Image`] says where the texels of an image lie and how they are coded; it holds no bytes. [`Image::read`] reads
//! a texel without a sampler, a [`Reader`] reads through one, and [`Image::offset`] with [`Image::encode`] is a write.
//! Bytes come from a [`TexelSource`], so that whoever keeps them may watch what is touched; a slice is one.
//!
//! Coordinates are three numbers in the kernel's order: x, then y or the layer of a 1D array, then z or the layer of a
//! 2D array. What the image has not is not looked at. Images have level 0 only; whatever level of detail a kernel asks
//! for is that.
//!
//! Positions, filter weights and sums are computed in single precision by the specification's formulas. GPUs are
//! allowed less, and take it: most know 256 positions between two texels. That is not modelled.
//!
//! Source: OpenCL C 3.0, 6.15.15 "Image Read and Write Functions" and 8 "Image Addressing and Filtering"; OpenCL 3.0
//! API, 5.3.1.1 "Image Format Descriptor".

mod address;
mod format;
mod reader;
mod srgb;
mod texel;

use thiserror::Error;
use tripipe_ir::op::{self, ImageFact, SamplerBits};
use tripipe_ir::{ImageDim, ImageType};
use tripipe_launch::{
    Addressing, ChannelOrder, ChannelType, Filter, ImageExtent, ImageShape, ImageShapeError, Sampler,
};

pub use reader::{Reader, Sample, Taps};
pub use texel::{EncodedTexel, Texel, TexelKind};

use format::Format;

/// Why there is no such image, or it cannot be used so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// OpenCL knows no such image.
    #[error(transparent)]
    Shape(#[from] ImageShapeError),
    /// More texels along a dimension than a coordinate can count, or more bytes than an address.
    #[error("an image of {extent} is too large for a coordinate or an address")]
    TooLarge {
        /// The extent.
        extent: ImageExtent,
    },
    /// Rows or slices would overlap.
    #[error("a {what} pitch of {pitch} bytes is less than the {least} bytes of a {what}")]
    Pitch {
        /// `row` or `slice`.
        what: &'static str,
        /// The pitch in bytes.
        pitch: usize,
        /// The bytes it must have at least.
        least: usize,
    },
    /// A sampler for an image over a buffer.
    #[error("a sampler for an image1d_buffer_t, which is read without one")]
    SamplerForBuffer,
    /// The image repeats, but coordinates are not normalised.
    #[error("a repeating sampler without normalised coordinates: use CLK_NORMALIZED_COORDS_TRUE")]
    RepeatUnnormalized,
    /// A linear filter over integers.
    #[error("a linear filter over {} channels: integers are read with CLK_FILTER_NEAREST", channel.opencl_name())]
    LinearIntegers {
        /// The type of the channels.
        channel: ChannelType,
    },
    /// The texel is none that the format takes.
    #[error("the image takes {want} texels, not {found} ones")]
    Kind {
        /// What the format takes.
        want: TexelKind,
        /// What was given.
        found: TexelKind,
    },
}

/// Where the bytes of an image are read from.
pub trait TexelSource {
    /// The `bytes` bytes at `offset` from the image's start; fewer when they are not there, which count as 0.
    fn texel(&mut self, offset: usize, bytes: usize) -> &[u8];
}

impl TexelSource for &[u8] {
    #[inline]
    fn texel(&mut self, offset: usize, bytes: usize) -> &[u8] {
        self.get(offset..).and_then(|rest| rest.get(..bytes)).unwrap_or_default()
    }
}

/// Where the texels of an image lie, and how they are coded.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    shape: ImageShape,
    format: Format,
    /// Texels along each coordinate, at most `i32::MAX`; 1 past the last.
    size: [u32; 3],
    /// Bytes from one texel to the next along each coordinate.
    stride: [usize; 3],
    /// Coordinates that are addressed and filtered, 1 to 3.
    dimensions: usize,
    /// Whether one more coordinate selects a layer.
    array: bool,
    span_bytes: usize,
}

impl Image {
    /// An image whose rows are `row_pitch` bytes apart, and its slices or layers `slice_pitch`. A pitch that the image
    /// has no use for is not looked at: there is one row, or one slice.
    ///
    /// # Errors
    /// [`ImageError`]: no such format, an empty extent, one that cannot be counted, a pitch that is too small.
    pub fn new(shape: &ImageShape, row_pitch: usize, slice_pitch: usize) -> Result<Self, ImageError> {
        shape.check()?;
        let extent = shape.extent;
        let too_large = || ImageError::TooLarge { extent };
        let (rows, slices) = (extent.height(), extent.slices());
        // Bytes from the start to the end of `count` things.
        let span = |what, count: usize, pitch: usize, least: usize| {
            if count > 1 && pitch < least {
                return Err(ImageError::Pitch { what, pitch, least });
            }
            (count - 1).checked_mul(pitch).and_then(|start| start.checked_add(least)).ok_or_else(too_large)
        };
        let slice = span("row", rows, row_pitch, shape.row_bytes())?;
        let span_bytes = span("slice", slices, slice_pitch, slice)?;
        if isize::try_from(span_bytes).is_err() {
            return Err(too_large());
        }
        let width = extent.width();
        let (size, pitch, dimensions, array) = match extent {
            ImageExtent::D1 { .. } | ImageExtent::Buffer { .. } => ([width, 1, 1], [0, 0], 1, false),
            ImageExtent::D1Array { layers, .. } => ([width, layers, 1], [slice_pitch, 0], 1, true),
            ImageExtent::D2 { height, .. } => ([width, height, 1], [row_pitch, 0], 2, false),
            ImageExtent::D2Array { height, layers, .. } => {
                ([width, height, layers], [row_pitch, slice_pitch], 2, true)
            }
            ImageExtent::D3 { height, depth, .. } => {
                ([width, height, depth], [row_pitch, slice_pitch], 3, false)
            }
        };
        if size.into_iter().any(|size| i32::try_from(size).is_err()) {
            return Err(too_large());
        }
        Ok(Self {
            shape: *shape,
            format: Format::of(shape),
            size: size.map(|size| size as u32),
            stride: [shape.texel_bytes(), pitch[0], pitch[1]],
            dimensions,
            array,
            span_bytes,
        })
    }

    /// An image whose rows and slices are tightly packed.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn packed(shape: &ImageShape) -> Result<Self, ImageError> {
        let row = shape.row_bytes();
        Self::new(shape, row, row.saturating_mul(shape.extent.height()))
    }

    /// Extent and format.
    pub fn shape(&self) -> &ImageShape {
        &self.shape
    }

    /// Bytes from the first texel's first to the last texel's last.
    pub fn span_bytes(&self) -> usize {
        self.span_bytes
    }

    /// Size of a texel in bytes: 1 to 16.
    pub fn texel_bytes(&self) -> usize {
        self.stride[0]
    }

    /// What kernels see a texel as.
    pub fn kind(&self) -> TexelKind {
        self.format.kind()
    }

    /// What lies outside, for a sampler that clamps to the border.
    pub fn border(&self) -> Texel {
        self.format.border()
    }

    /// The texel in bytes as they lie in memory. Missing bytes count as 0, further ones are not looked at.
    ///
    /// 8 and 16 bits become floats of 0.0 to 1.0 or -1.0 to 1.0 by one division, rounded to nearest; sRGB becomes linear
    /// (alpha excepted); channels that are not there are 0, alpha 1. A depth is red.
    #[inline]
    pub fn decode(&self, bytes: &[u8]) -> Texel {
        self.format.decode(bytes)
    }

    /// The bytes of a texel that a kernel writes. Floats are rounded to nearest even; all is saturated, and NaN is 0
    /// where the channel has none. Components that the image has no channel for are dropped.
    ///
    /// # Errors
    /// [`ImageError::Kind`]: the texel is of another kind than [`Self::kind`], which OpenCL leaves undefined.
    #[inline]
    pub fn encode(&self, texel: &Texel) -> Result<EncodedTexel, ImageError> {
        self.format.encode(texel)
    }

    /// The offset of a texel in bytes; `None` outside of the image.
    #[inline]
    pub fn offset(&self, coordinates: [i32; 3]) -> Option<usize> {
        let mut offset = 0;
        let axes = coordinates.into_iter().zip(self.size).zip(self.stride);
        for ((coordinate, size), stride) in axes.take(self.coordinates()) {
            let texel = u32::try_from(coordinate).ok().filter(|texel| *texel < size)?;
            offset += texel as usize * stride;
        }
        Some(offset)
    }

    /// A read without a sampler. Outside, which OpenCL leaves undefined, it gives the border and says so.
    #[inline]
    pub fn read(&self, coordinates: [i32; 3], source: &mut impl TexelSource) -> Sample {
        match self.offset(coordinates) {
            Some(offset) => {
                Sample { texel: self.decode(source.texel(offset, self.texel_bytes())), outside: false }
            }
            None => Sample { texel: self.border(), outside: true },
        }
    }

    /// What the kernel's queries return: the size is one number for each coordinate, everything else one number. The
    /// rest are 0.
    pub fn fact(&self, fact: ImageFact) -> [i32; 3] {
        let numbered = |number: u32, first: u32| [number.wrapping_sub(first).cast_signed(), 0, 0];
        match fact {
            ImageFact::Size => {
                let mut size = self.size.map(u32::cast_signed);
                size[self.coordinates()..].fill(0);
                size
            }
            // SPIR-V counts from the first of OpenCL's.
            ImageFact::ChannelType => numbered(self.shape.channel.opencl_number(), 0x10D0),
            ImageFact::ChannelOrder => numbered(self.shape.order.opencl_number(), 0x10B0),
            ImageFact::Levels => [1, 0, 0],
        }
    }

    /// Whether a kernel's argument of that type takes this image. Access is not looked at.
    pub fn fits(&self, ty: ImageType) -> bool {
        let (dim, array) = match self.shape.extent {
            ImageExtent::D1 { .. } => (ImageDim::D1, false),
            ImageExtent::Buffer { .. } => (ImageDim::Buffer, false),
            ImageExtent::D1Array { .. } => (ImageDim::D1, true),
            ImageExtent::D2 { .. } => (ImageDim::D2, false),
            ImageExtent::D2Array { .. } => (ImageDim::D2, true),
            ImageExtent::D3 { .. } => (ImageDim::D3, false),
        };
        (ty.dim, ty.array, ty.depth) == (dim, array, self.shape.order == ChannelOrder::Depth)
    }

    /// How many coordinates a texel has, the layer included: 1 to 3.
    pub fn coordinates(&self) -> usize {
        self.dimensions + usize::from(self.array)
    }
}

/// The sampler that a kernel has as a constant, as a launch would pass it.
pub fn sampler(constant: SamplerBits) -> Sampler {
    Sampler {
        normalized: constant.normalized,
        addressing: match constant.addressing {
            op::Addressing::None => Addressing::None,
            op::Addressing::ClampToEdge => Addressing::ClampToEdge,
            op::Addressing::Clamp => Addressing::Clamp,
            op::Addressing::Repeat => Addressing::Repeat,
            op::Addressing::Mirror => Addressing::MirroredRepeat,
        },
        filter: if constant.linear { Filter::Linear } else { Filter::Nearest },
    }
}
