//! Images as the OpenCL specification defines them: formats, addressing, filtering, conversion.
//!
//! An [`Image`] describes the layout and encoding of the texels of an image; it holds no bytes. [`Image::read`] reads
//! a texel without a sampler, a [`Reader`] reads through one, and [`Image::offset`] with [`Image::encode`] is a
//! write. Bytes come from a [`TexelSource`], so that the owner can observe accesses; a slice is one.
//!
//! Coordinates are three numbers in the kernel's order: x, then y or the layer of a 1D array, then z or the layer of
//! a 2D array. Unused coordinates are ignored. Images have only level 0, which is used for every requested level of
//! detail.
//!
//! Positions, filter weights and sums are computed in single precision with the specification's formulas. GPUs may
//! use less precision, and do: most distinguish 256 positions between two texels. That is not modelled.
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

/// Why an image is invalid, or cannot be used in this way.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// OpenCL has no such image.
    #[error(transparent)]
    Shape(#[from] ImageShapeError),
    /// More texels along a dimension than a coordinate can count, or more bytes than can be addressed.
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
        /// The minimum pitch in bytes.
        least: usize,
    },
    /// A sampler for an image over a buffer.
    #[error("a sampler for an image1d_buffer_t, which is read without one")]
    SamplerForBuffer,
    /// The sampler repeats, but coordinates are not normalised.
    #[error("a repeating sampler without normalised coordinates: use CLK_NORMALIZED_COORDS_TRUE")]
    RepeatUnnormalized,
    /// A linear filter over integers.
    #[error("a linear filter over {} channels: integers are read with CLK_FILTER_NEAREST", channel.opencl_name())]
    LinearIntegers {
        /// The type of the channels.
        channel: ChannelType,
    },
    /// The texel kind does not match the format.
    #[error("the image takes {want} texels, not {found} ones")]
    Kind {
        /// The kind of the format.
        want: TexelKind,
        /// The kind that was given.
        found: TexelKind,
    },
}

/// The source of the bytes of an image.
pub trait TexelSource {
    /// The `bytes` bytes at `offset` from the image's start; fewer if they do not exist. Missing bytes count as 0.
    fn texel(&mut self, offset: usize, bytes: usize) -> &[u8];
}

impl TexelSource for &[u8] {
    #[inline]
    fn texel(&mut self, offset: usize, bytes: usize) -> &[u8] {
        self.get(offset..).and_then(|rest| rest.get(..bytes)).unwrap_or_default()
    }
}

/// The layout and encoding of the texels of an image.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    shape: ImageShape,
    format: Format,
    /// Texels along each coordinate, at most `i32::MAX`; 1 for unused coordinates.
    size: [u32; 3],
    /// Bytes from one texel to the next along each coordinate.
    stride: [usize; 3],
    /// Number of coordinates that are addressed and filtered, 1 to 3.
    dimensions: usize,
    /// Whether an additional coordinate selects a layer.
    array: bool,
    span_bytes: usize,
    over_buffer: bool,
}

impl Image {
    /// An image with a row pitch of `row_pitch` bytes and a slice or layer pitch of `slice_pitch`. A pitch is ignored
    /// if there is only one row or slice.
    ///
    /// # Errors
    /// [`ImageError`]: an unknown format, an empty extent, an extent that is too large, a pitch that is too small.
    pub fn new(shape: &ImageShape, row_pitch: usize, slice_pitch: usize) -> Result<Self, ImageError> {
        shape.check()?;
        let extent = shape.extent;
        let too_large = || ImageError::TooLarge { extent };
        let (rows, slices) = (extent.height(), extent.slices());
        // Bytes from the start to the end of `count` rows or slices.
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
            over_buffer: false,
        })
    }

    /// The same image over the bytes of a buffer.
    #[must_use]
    pub fn over_buffer(self) -> Self {
        Self { over_buffer: true, ..self }
    }

    /// Whether it lies over the bytes of a buffer, so that no driver can store it in another order.
    pub fn is_over_buffer(&self) -> bool {
        self.over_buffer
    }

    /// An image without gaps between rows and slices.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn packed(shape: &ImageShape) -> Result<Self, ImageError> {
        let row = shape.row_bytes();
        Self::new(shape, row, row.saturating_mul(shape.extent.height()))
    }

    /// The extent and format.
    pub fn shape(&self) -> &ImageShape {
        &self.shape
    }

    /// Bytes from the start of the first texel to the end of the last.
    pub fn span_bytes(&self) -> usize {
        self.span_bytes
    }

    /// Size of a texel in bytes: 1 to 16.
    pub fn texel_bytes(&self) -> usize {
        self.stride[0]
    }

    /// Bytes from a row to the next, and from a slice or layer to the next; 0 if there is only one.
    pub fn pitch(&self) -> [u64; 2] {
        [self.stride[1] as u64, self.stride[2] as u64]
    }

    /// The kind of texel that kernels see.
    pub fn kind(&self) -> TexelKind {
        self.format.kind()
    }

    /// The texel outside the image, for a sampler that clamps to the border.
    pub fn border(&self) -> Texel {
        self.format.border()
    }

    /// Decodes a texel from its bytes in memory. Missing bytes count as 0, additional ones are ignored.
    ///
    /// 8-bit and 16-bit values become floats of 0.0 to 1.0 or -1.0 to 1.0 by one division, rounded to nearest. sRGB
    /// becomes linear (except alpha). Missing channels are 0, missing alpha is 1. A depth is read as red.
    #[inline]
    pub fn decode(&self, bytes: &[u8]) -> Texel {
        self.format.decode(bytes)
    }

    /// Encodes a texel that a kernel writes. Floats are rounded to nearest even; all values are saturated, and NaN
    /// becomes 0 if the channel cannot represent it. Components without a channel are dropped.
    ///
    /// # Errors
    /// [`ImageError::Kind`]: the texel is of another kind than [`Self::kind`], which OpenCL leaves undefined.
    #[inline]
    pub fn encode(&self, texel: &Texel) -> Result<EncodedTexel, ImageError> {
        self.format.encode(texel)
    }

    /// The component written to each channel; one entry if all channels share a number.
    pub(crate) fn stored_channels(&self) -> &[u8] {
        self.format.written()
    }

    /// The offset of a texel in bytes; `None` outside the image.
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

    /// A read without a sampler. Outside the image, which OpenCL leaves undefined, it returns the border and sets
    /// [`Sample::outside`].
    #[inline]
    pub fn read(&self, coordinates: [i32; 3], source: &mut impl TexelSource) -> Sample {
        match self.offset(coordinates) {
            Some(offset) => {
                Sample { texel: self.decode(source.texel(offset, self.texel_bytes())), outside: false }
            }
            None => Sample { texel: self.border(), outside: true },
        }
    }

    /// The results of a kernel's image queries: the size has one number per coordinate, every other query one number.
    /// Unused entries are 0.
    pub fn fact(&self, fact: ImageFact) -> [i32; 3] {
        let numbered = |number: u32, first: u32| [number.wrapping_sub(first).cast_signed(), 0, 0];
        match fact {
            ImageFact::Size => {
                let mut size = self.size.map(u32::cast_signed);
                size[self.coordinates()..].fill(0);
                size
            }
            // SPIR-V counts from the first OpenCL value.
            ImageFact::ChannelType => numbered(self.shape.channel.opencl_number(), 0x10D0),
            ImageFact::ChannelOrder => numbered(self.shape.order.opencl_number(), 0x10B0),
            ImageFact::Levels => [1, 0, 0],
        }
    }

    /// Whether a kernel parameter of this type accepts this image. The access qualifier is not checked.
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

    /// Number of coordinates of a texel, the layer included: 1 to 3.
    pub fn coordinates(&self) -> usize {
        self.dimensions + usize::from(self.array)
    }
}

/// The sampler for a constant sampler of a kernel, in the form that a launch would pass it.
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
