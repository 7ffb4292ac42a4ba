//! Formats of texels: the channels and their type.

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
