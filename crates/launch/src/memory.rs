//! Memory objects a kernel reads and writes: buffers, images, samplers.

/// A memory object of one executor. Numbers are never used twice by the same executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryId(pub u64);

/// What kernels do with a memory object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Kernels only read it.
    Read,
    /// Kernels only write it.
    Write,
    /// Kernels read and write it.
    ReadWrite,
}

/// A memory object to be made: a buffer or an image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryKind {
    /// A buffer of so many bytes, at least 1.
    Buffer {
        /// Size in bytes.
        bytes: usize,
    },
    /// An image of its own; rows are tightly packed on the host side.
    Image(ImageShape),
}

/// Extent and texel format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// Width in texels, at least 1.
    pub width: usize,
    /// Height in texels; `None` makes a 1D image.
    pub height: Option<usize>,
    /// Channels of a texel.
    pub order: ChannelOrder,
    /// Type of a channel.
    pub channel: ChannelType,
}

impl ImageShape {
    /// A 2D image of four `float` channels.
    pub fn rgba_f32(width: usize, height: usize) -> Self {
        Self { width, height: Some(height), order: ChannelOrder::Rgba, channel: ChannelType::F32 }
    }

    /// Size of a texel in bytes.
    pub fn texel_bytes(&self) -> usize {
        self.order.channels() * self.channel.bytes()
    }

    /// Size of the whole image in bytes, rows tightly packed.
    pub fn bytes(&self) -> usize {
        self.width * self.height.unwrap_or(1) * self.texel_bytes()
    }
}

/// Channels of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChannelOrder {
    /// One channel (`CL_R`).
    R,
    /// Two channels (`CL_RG`).
    Rg,
    /// Four channels (`CL_RGBA`).
    Rgba,
}

impl ChannelOrder {
    /// The number of channels.
    pub fn channels(self) -> usize {
        match self {
            Self::R => 1,
            Self::Rg => 2,
            Self::Rgba => 4,
        }
    }
}

/// Type of an image channel, and how the kernel sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChannelType {
    /// 8 bits read as 0.0 to 1.0 (`CL_UNORM_INT8`).
    UnormU8,
    /// 8-bit unsigned integer (`CL_UNSIGNED_INT8`).
    U8,
    /// 16-bit unsigned integer (`CL_UNSIGNED_INT16`).
    U16,
    /// 32-bit unsigned integer (`CL_UNSIGNED_INT32`).
    U32,
    /// 32-bit signed integer (`CL_SIGNED_INT32`).
    I32,
    /// Half precision (`CL_HALF_FLOAT`).
    F16,
    /// Single precision (`CL_FLOAT`).
    F32,
}

impl ChannelType {
    /// Size of one channel in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::UnormU8 | Self::U8 => 1,
            Self::U16 | Self::F16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
        }
    }
}

/// How an image is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// Coordinates run from 0 to 1 instead of 0 to width.
    pub normalized: bool,
    /// What lies outside the image.
    pub addressing: Addressing,
    /// Between texels.
    pub filter: Filter,
}

/// What an image read outside its extent returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addressing {
    /// Undefined; the kernel promises not to.
    None,
    /// The nearest edge texel.
    ClampToEdge,
    /// The border colour.
    Clamp,
    /// The image repeats; needs normalised coordinates.
    Repeat,
    /// The image repeats mirrored; needs normalised coordinates.
    MirroredRepeat,
}

/// Between texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The nearest texel.
    Nearest,
    /// Bilinear interpolation.
    Linear,
}
