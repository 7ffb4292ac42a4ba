//! Memory objects that kernels read and write: buffers, images, samplers.

use std::fmt;

use thiserror::Error;

/// A memory object of one executor. An executor never reuses a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryId(pub u64);

/// The access of kernels to a memory object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Kernels only read it.
    Read,
    /// Kernels only write it.
    Write,
    /// Kernels read and write it.
    ReadWrite,
}

/// A memory object to be created: a buffer or an image.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryKind {
    /// A buffer of at least 1 byte.
    Buffer {
        /// Size in bytes.
        bytes: usize,
    },
    /// An image with its own memory; rows are tightly packed on the host side.
    Image(ImageShape),
}

/// Extent of an image in texels, each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageExtent {
    /// `image1d_t`.
    D1 {
        /// Texels.
        width: usize,
    },
    /// `image1d_buffer_t`: one row over the memory of a buffer. It has no memory of its own, and samplers cannot read
    /// it.
    Buffer {
        /// Texels.
        width: usize,
    },
    /// `image1d_array_t`.
    D1Array {
        /// Texels of a layer.
        width: usize,
        /// Layers.
        layers: usize,
    },
    /// `image2d_t`, or `image2d_depth_t`.
    D2 {
        /// Texels of a row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// `image2d_array_t`, or `image2d_array_depth_t`.
    D2Array {
        /// Texels of a row.
        width: usize,
        /// Rows of a layer.
        height: usize,
        /// Layers.
        layers: usize,
    },
    /// `image3d_t`.
    D3 {
        /// Texels of a row.
        width: usize,
        /// Rows of a slice.
        height: usize,
        /// Slices.
        depth: usize,
    },
}

impl ImageExtent {
    /// Texels of a row.
    pub fn width(self) -> usize {
        match self {
            Self::D1 { width }
            | Self::Buffer { width }
            | Self::D1Array { width, .. }
            | Self::D2 { width, .. }
            | Self::D2Array { width, .. }
            | Self::D3 { width, .. } => width,
        }
    }

    /// Rows of a slice or layer; 1 for 1D images.
    pub fn height(self) -> usize {
        match self {
            Self::D1 { .. } | Self::Buffer { .. } | Self::D1Array { .. } => 1,
            Self::D2 { height, .. } | Self::D2Array { height, .. } | Self::D3 { height, .. } => height,
        }
    }

    /// Slices of a 3D image, layers of an array; otherwise 1.
    pub fn slices(self) -> usize {
        match self {
            Self::D1 { .. } | Self::Buffer { .. } | Self::D2 { .. } => 1,
            Self::D1Array { layers, .. } | Self::D2Array { layers, .. } => layers,
            Self::D3 { depth, .. } => depth,
        }
    }
}

impl fmt::Display for ImageExtent {
    /// `640x480 texels`, `64x64x64 texels`, `640x480 texels in 3 layers`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::D1 { width } | Self::Buffer { width } => write!(f, "{width} texels"),
            Self::D1Array { width, layers } => write!(f, "{width} texels in {layers} layers"),
            Self::D2 { width, height } => write!(f, "{width}x{height} texels"),
            Self::D2Array { width, height, layers } => {
                write!(f, "{width}x{height} texels in {layers} layers")
            }
            Self::D3 { width, height, depth } => write!(f, "{width}x{height}x{depth} texels"),
        }
    }
}

/// Extent and texel format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageShape {
    /// Its size and dimensions.
    pub extent: ImageExtent,
    /// Channels of a texel.
    pub order: ChannelOrder,
    /// Type of a channel.
    pub channel: ChannelType,
}

impl ImageShape {
    /// A 2D image.
    pub fn d2(width: usize, height: usize, order: ChannelOrder, channel: ChannelType) -> Self {
        Self { extent: ImageExtent::D2 { width, height }, order, channel }
    }

    /// A 2D image of four `float` channels.
    pub fn rgba_f32(width: usize, height: usize) -> Self {
        Self::d2(width, height, ChannelOrder::Rgba, ChannelType::F32)
    }

    /// Size of a texel in bytes: 1 to 16.
    pub fn texel_bytes(&self) -> usize {
        let channels = if self.channel.is_packed() { 1 } else { self.order.channels() };
        channels * self.channel.bytes()
    }

    /// Size of a row in bytes, texels tightly packed; `usize::MAX` on overflow.
    pub fn row_bytes(&self) -> usize {
        self.extent.width().saturating_mul(self.texel_bytes())
    }

    /// Size of the whole image in bytes, rows and slices tightly packed; `usize::MAX` on overflow.
    pub fn bytes(&self) -> usize {
        self.row_bytes().saturating_mul(self.extent.height()).saturating_mul(self.extent.slices())
    }

    /// The type of a kernel parameter for this image, e.g. `image2d_t`.
    pub fn opencl_type(&self) -> &'static str {
        match (self.extent, self.order) {
            (ImageExtent::D2 { .. }, ChannelOrder::Depth) => "image2d_depth_t",
            (ImageExtent::D2Array { .. }, ChannelOrder::Depth) => "image2d_array_depth_t",
            (ImageExtent::D1 { .. }, _) => "image1d_t",
            (ImageExtent::Buffer { .. }, _) => "image1d_buffer_t",
            (ImageExtent::D1Array { .. }, _) => "image1d_array_t",
            (ImageExtent::D2 { .. }, _) => "image2d_t",
            (ImageExtent::D2Array { .. }, _) => "image2d_array_t",
            (ImageExtent::D3 { .. }, _) => "image3d_t",
        }
    }

    /// Checks that OpenCL supports such images: no extent is 0, and order, channel type and dimensions are compatible.
    /// A device may support fewer; that is not checked here.
    ///
    /// Source: OpenCL 3.0 API, "Image Format Descriptor" and "Image Format Mapping to OpenCL Kernel Language Image
    /// Access Qualifiers".
    ///
    /// # Errors
    /// [`ImageShapeError`] describes the incompatibility.
    pub fn check(&self) -> Result<(), ImageShapeError> {
        let extent = self.extent;
        if extent.width() == 0 || extent.height() == 0 || extent.slices() == 0 {
            return Err(ImageShapeError::Empty { extent });
        }
        let (order, channel) = (self.order, self.channel);
        if !order.takes(channel) {
            return Err(ImageShapeError::Format { order, channel });
        }
        let flat = matches!(extent, ImageExtent::D2 { .. } | ImageExtent::D2Array { .. });
        if order == ChannelOrder::Depth && !flat {
            return Err(ImageShapeError::Depth { extent });
        }
        Ok(())
    }
}

/// Why an image shape is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ImageShapeError {
    /// An extent is 0.
    #[error("an image of {extent} is empty")]
    Empty {
        /// The extent.
        extent: ImageExtent,
    },
    /// The channel order is incompatible with the channel type.
    #[error(
        "{} texels cannot have {} channels; they can have {}",
        order.opencl_name(),
        channel.opencl_name(),
        ChannelType::ALL
            .into_iter()
            .filter(|channel| order.takes(*channel))
            .map(ChannelType::opencl_name)
            .collect::<Vec<_>>()
            .join(", ")
    )]
    Format {
        /// The order.
        order: ChannelOrder,
        /// The type.
        channel: ChannelType,
    },
    /// A depth image of other dimensions.
    #[error("a depth image of {extent}: depth images are 2D, or arrays of 2D")]
    Depth {
        /// The extent.
        extent: ImageExtent,
    },
}

/// Channels of a texel, in the order of memory.
///
/// Not included: orders with an ignored channel (`CL_Rx`, `CL_RGx`, `CL_RGBx`, `CL_sRGBx`), `CL_sRGB`, whose 24 bits
/// are not a power of two, and `CL_DEPTH_STENCIL`, which only comes from OpenGL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelOrder {
    /// Red (`CL_R`).
    R,
    /// Alpha (`CL_A`).
    A,
    /// Red, green (`CL_RG`).
    Rg,
    /// Red, alpha (`CL_RA`).
    Ra,
    /// Red, green, blue, packed into one number (`CL_RGB`).
    Rgb,
    /// Red, green, blue, alpha (`CL_RGBA`).
    Rgba,
    /// Blue, green, red, alpha (`CL_BGRA`).
    Bgra,
    /// Alpha, red, green, blue (`CL_ARGB`).
    Argb,
    /// Alpha, blue, green, red (`CL_ABGR`).
    Abgr,
    /// One channel that is read as all four (`CL_INTENSITY`).
    Intensity,
    /// One channel that is read as red, green and blue (`CL_LUMINANCE`).
    Luminance,
    /// One channel of an image that is read as a single float (`CL_DEPTH`).
    Depth,
    /// Like [`Self::Rgba`], with red, green and blue in the sRGB encoding (`CL_sRGBA`).
    Srgba,
    /// Like [`Self::Bgra`], with blue, green and red in the sRGB encoding (`CL_sBGRA`).
    Sbgra,
}

impl ChannelOrder {
    /// All orders.
    pub const ALL: [Self; 14] = [
        Self::R,
        Self::A,
        Self::Rg,
        Self::Ra,
        Self::Rgb,
        Self::Rgba,
        Self::Bgra,
        Self::Argb,
        Self::Abgr,
        Self::Intensity,
        Self::Luminance,
        Self::Depth,
        Self::Srgba,
        Self::Sbgra,
    ];

    /// The number of channels in memory.
    pub fn channels(self) -> usize {
        match self {
            Self::R | Self::A | Self::Intensity | Self::Luminance | Self::Depth => 1,
            Self::Rg | Self::Ra => 2,
            Self::Rgb => 3,
            Self::Rgba | Self::Bgra | Self::Argb | Self::Abgr | Self::Srgba | Self::Sbgra => 4,
        }
    }

    /// Whether red, green and blue are in the sRGB encoding.
    pub fn is_srgb(self) -> bool {
        matches!(self, Self::Srgba | Self::Sbgra)
    }

    /// Whether texels of this order can have channels of that type.
    pub fn takes(self, channel: ChannelType) -> bool {
        use ChannelType as C;
        match self {
            Self::R | Self::A | Self::Rg | Self::Ra => !channel.is_packed(),
            Self::Rgb => matches!(channel, C::Unorm565 | C::Unorm555 | C::Unorm101010),
            Self::Rgba => !channel.is_packed() || channel == C::Unorm1010102,
            Self::Bgra | Self::Argb | Self::Abgr => channel.bytes() == 1,
            Self::Intensity | Self::Luminance => !channel.is_packed() && !channel.is_integer(),
            Self::Depth => matches!(channel, C::UnormU16 | C::F32),
            Self::Srgba | Self::Sbgra => channel == C::UnormU8,
        }
    }

    /// Its name in OpenCL, e.g. `CL_RGBA`.
    pub fn opencl_name(self) -> &'static str {
        match self {
            Self::R => "CL_R",
            Self::A => "CL_A",
            Self::Rg => "CL_RG",
            Self::Ra => "CL_RA",
            Self::Rgb => "CL_RGB",
            Self::Rgba => "CL_RGBA",
            Self::Bgra => "CL_BGRA",
            Self::Argb => "CL_ARGB",
            Self::Abgr => "CL_ABGR",
            Self::Intensity => "CL_INTENSITY",
            Self::Luminance => "CL_LUMINANCE",
            Self::Depth => "CL_DEPTH",
            Self::Srgba => "CL_sRGBA",
            Self::Sbgra => "CL_sBGRA",
        }
    }

    /// Its number in OpenCL (`cl_channel_order`).
    pub fn opencl_number(self) -> u32 {
        match self {
            Self::R => 0x10B0,
            Self::A => 0x10B1,
            Self::Rg => 0x10B2,
            Self::Ra => 0x10B3,
            Self::Rgb => 0x10B4,
            Self::Rgba => 0x10B5,
            Self::Bgra => 0x10B6,
            Self::Argb => 0x10B7,
            Self::Intensity => 0x10B8,
            Self::Luminance => 0x10B9,
            Self::Depth => 0x10BD,
            Self::Srgba => 0x10C1,
            Self::Sbgra => 0x10C2,
            Self::Abgr => 0x10C3,
        }
    }
}

/// Type of an image channel, and how kernels read it.
///
/// `CL_UNORM_INT24` is not included: it only comes with the depth-stencil images of OpenGL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChannelType {
    /// 8 bits read as -1.0 to 1.0 (`CL_SNORM_INT8`).
    SnormI8,
    /// 16 bits read as -1.0 to 1.0 (`CL_SNORM_INT16`).
    SnormI16,
    /// 8 bits read as 0.0 to 1.0 (`CL_UNORM_INT8`).
    UnormU8,
    /// 16 bits read as 0.0 to 1.0 (`CL_UNORM_INT16`).
    UnormU16,
    /// 5, 6 and 5 bits of 16, read as 0.0 to 1.0, red in the highest bits (`CL_UNORM_SHORT_565`).
    Unorm565,
    /// The lower 15 of 16 bits in groups of 5, read as 0.0 to 1.0, red in the highest bits (`CL_UNORM_SHORT_555`).
    Unorm555,
    /// The lower 30 of 32 bits in groups of 10, read as 0.0 to 1.0, red in the highest bits (`CL_UNORM_INT_101010`).
    Unorm101010,
    /// 10, 10, 10 and 2 bits of 32, read as 0.0 to 1.0, red in the highest bits, alpha in the lowest
    /// (`CL_UNORM_INT_101010_2`).
    Unorm1010102,
    /// 8-bit signed integer (`CL_SIGNED_INT8`).
    I8,
    /// 16-bit signed integer (`CL_SIGNED_INT16`).
    I16,
    /// 32-bit signed integer (`CL_SIGNED_INT32`).
    I32,
    /// 8-bit unsigned integer (`CL_UNSIGNED_INT8`).
    U8,
    /// 16-bit unsigned integer (`CL_UNSIGNED_INT16`).
    U16,
    /// 32-bit unsigned integer (`CL_UNSIGNED_INT32`).
    U32,
    /// Half precision (`CL_HALF_FLOAT`).
    F16,
    /// Single precision (`CL_FLOAT`).
    F32,
}

impl ChannelType {
    /// All types.
    pub const ALL: [Self; 16] = [
        Self::SnormI8,
        Self::SnormI16,
        Self::UnormU8,
        Self::UnormU16,
        Self::Unorm565,
        Self::Unorm555,
        Self::Unorm101010,
        Self::Unorm1010102,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::F16,
        Self::F32,
    ];

    /// Size of one channel in bytes; for packed types, of all channels together.
    pub fn bytes(self) -> usize {
        match self {
            Self::SnormI8 | Self::UnormU8 | Self::I8 | Self::U8 => 1,
            Self::SnormI16
            | Self::UnormU16
            | Self::Unorm565
            | Self::Unorm555
            | Self::I16
            | Self::U16
            | Self::F16 => 2,
            Self::Unorm101010 | Self::Unorm1010102 | Self::I32 | Self::U32 | Self::F32 => 4,
        }
    }

    /// Whether all channels of a texel share one number.
    pub fn is_packed(self) -> bool {
        matches!(self, Self::Unorm565 | Self::Unorm555 | Self::Unorm101010 | Self::Unorm1010102)
    }

    /// Whether kernels read integers instead of floats.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::U8 | Self::U16 | Self::U32)
    }

    /// Its name in OpenCL, e.g. `CL_UNORM_INT8`.
    pub fn opencl_name(self) -> &'static str {
        match self {
            Self::SnormI8 => "CL_SNORM_INT8",
            Self::SnormI16 => "CL_SNORM_INT16",
            Self::UnormU8 => "CL_UNORM_INT8",
            Self::UnormU16 => "CL_UNORM_INT16",
            Self::Unorm565 => "CL_UNORM_SHORT_565",
            Self::Unorm555 => "CL_UNORM_SHORT_555",
            Self::Unorm101010 => "CL_UNORM_INT_101010",
            Self::Unorm1010102 => "CL_UNORM_INT_101010_2",
            Self::I8 => "CL_SIGNED_INT8",
            Self::I16 => "CL_SIGNED_INT16",
            Self::I32 => "CL_SIGNED_INT32",
            Self::U8 => "CL_UNSIGNED_INT8",
            Self::U16 => "CL_UNSIGNED_INT16",
            Self::U32 => "CL_UNSIGNED_INT32",
            Self::F16 => "CL_HALF_FLOAT",
            Self::F32 => "CL_FLOAT",
        }
    }

    /// Its number in OpenCL (`cl_channel_type`).
    pub fn opencl_number(self) -> u32 {
        match self {
            Self::SnormI8 => 0x10D0,
            Self::SnormI16 => 0x10D1,
            Self::UnormU8 => 0x10D2,
            Self::UnormU16 => 0x10D3,
            Self::Unorm565 => 0x10D4,
            Self::Unorm555 => 0x10D5,
            Self::Unorm101010 => 0x10D6,
            Self::I8 => 0x10D7,
            Self::I16 => 0x10D8,
            Self::I32 => 0x10D9,
            Self::U8 => 0x10DA,
            Self::U16 => 0x10DB,
            Self::U32 => 0x10DC,
            Self::F16 => 0x10DD,
            Self::F32 => 0x10DE,
            Self::Unorm1010102 => 0x10E0,
        }
    }
}

/// How an image is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// Coordinates run from 0 to 1 instead of 0 to width.
    pub normalized: bool,
    /// Reads outside the image.
    pub addressing: Addressing,
    /// Interpolation between texels.
    pub filter: Filter,
}

/// What an image read outside its extent returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addressing {
    /// Undefined; the kernel guarantees that there are no such reads.
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

/// Interpolation between texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The nearest texel.
    Nearest,
    /// Linear interpolation along every dimension.
    Linear,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(extent: ImageExtent, order: ChannelOrder, channel: ChannelType) -> ImageShape {
        ImageShape { extent, order, channel }
    }

    #[test]
    fn sizes_are_those_of_the_formats() {
        use ChannelOrder as O;
        use ChannelType as C;
        let cube = ImageExtent::D3 { width: 5, height: 3, depth: 2 };
        // Bytes of a texel: CL_IMAGE_ELEMENT_SIZE.
        for (order, channel, bytes) in [
            (O::R, C::UnormU8, 1),
            (O::Depth, C::UnormU16, 2),
            (O::Rg, C::F16, 4),
            (O::Rgb, C::Unorm565, 2),
            (O::Rgb, C::Unorm101010, 4),
            (O::Rgba, C::Unorm1010102, 4),
            (O::Sbgra, C::UnormU8, 4),
            (O::Rgba, C::I32, 16),
        ] {
            let shape = shape(cube, order, channel);
            assert_eq!((shape.texel_bytes(), shape.row_bytes()), (bytes, 5 * bytes));
            assert_eq!(shape.bytes(), 30 * bytes);
        }
        let layers = shape(ImageExtent::D1Array { width: 5, layers: 4 }, O::R, C::F32);
        assert_eq!(layers.bytes(), 80);
        let huge = ImageExtent::D3 { width: usize::MAX, height: 2, depth: 2 };
        assert_eq!(shape(huge, O::Rgba, C::F32).bytes(), usize::MAX);
    }

    #[test]
    fn what_goes_together_is_what_the_specification_lists() {
        use ChannelOrder as O;
        use ChannelType as C;
        let flat = ImageExtent::D2 { width: 1, height: 1 };
        // OpenCL 3.0 API, tables of channel orders and channel data types: plain orders allow 12 types each, RGBA one
        // more, RGB 3, the three other four-channel orders 4 each, intensity and luminance 6 each, depth 2, sRGB 1
        // each.
        let valid = O::ALL
            .into_iter()
            .flat_map(|order| C::ALL.map(|channel| (order, channel)))
            .filter(|(order, channel)| shape(flat, *order, *channel).check().is_ok())
            .count();
        assert_eq!(valid, 4 * 12 + 13 + 3 + 3 * 4 + 2 * 6 + 2 + 2);
        let error = shape(flat, O::Rgb, C::UnormU8).check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "CL_RGB texels cannot have CL_UNORM_INT8 channels; they can have CL_UNORM_SHORT_565, \
             CL_UNORM_SHORT_555, CL_UNORM_INT_101010"
        );
        let line = ImageExtent::D1 { width: 3 };
        assert!(matches!(shape(line, O::Depth, C::F32).check(), Err(ImageShapeError::Depth { .. })));
        let none = ImageExtent::D2Array { width: 3, height: 2, layers: 0 };
        let error = shape(none, O::R, C::F32).check().unwrap_err();
        assert_eq!(error.to_string(), "an image of 3x2 texels in 0 layers is empty");
    }
}
