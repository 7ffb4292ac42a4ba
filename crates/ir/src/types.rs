//! Types of values.

use std::fmt;
use std::str::FromStr;

/// Scalar types. Integers are signless; operations have the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scalar {
    /// Boolean; in memory one byte, 0 or 1.
    Bool,
    /// 8-bit integer.
    I8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// IEEE-754 binary16.
    F16,
    /// IEEE-754 binary32.
    F32,
    /// IEEE-754 binary64.
    F64,
}

impl Scalar {
    /// Size in bytes: 1, 2, 4 or 8.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Bool | Self::I8 => 1,
            Self::I16 | Self::F16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Width in bits; 1 for `bool`.
    pub const fn bits(self) -> u32 {
        if matches!(self, Self::Bool) { 1 } else { self.bytes() * 8 }
    }

    /// The mask of the bits that a value of this type may use.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The bits of an integer of this type as a signed number. Bits above its width do not count.
    pub const fn to_i64(self, bits: u64) -> i64 {
        let unused = 64 - self.bits();
        (bits << unused).cast_signed() >> unused
    }

    /// The bits of a float of this type as `f64`, which has every number of all three types.
    pub fn to_f64(self, bits: u64) -> f64 {
        match self {
            Self::F16 => half::f16::from_bits(bits as u16).to_f64(),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }

    /// Whether it is an integer (`bool` is not).
    pub const fn is_int(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Whether it is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// The integer type with this many bits, if there is one.
    pub const fn int(bits: u32) -> Option<Self> {
        Some(match bits {
            8 => Self::I8,
            16 => Self::I16,
            32 => Self::I32,
            64 => Self::I64,
            _ => return None,
        })
    }

    /// The floating-point type with this many bits, if there is one.
    pub const fn float(bits: u32) -> Option<Self> {
        Some(match bits {
            16 => Self::F16,
            32 => Self::F32,
            64 => Self::F64,
            _ => return None,
        })
    }

    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    const ALL: [Self; 8] =
        [Self::Bool, Self::I8, Self::I16, Self::I32, Self::I64, Self::F16, Self::F32, Self::F64];
}

/// Address spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Memory of one work-item.
    Private,
    /// Memory of one work-group.
    Local,
    /// Buffers, and program-scope variables.
    Global,
    /// Read-only during a launch.
    Constant,
    /// Private, local or global, determined at run time. Loading resolves it where it follows from the code.
    Generic,
}

impl Space {
    /// The name in the text form.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Local => "local",
            Self::Global => "global",
            Self::Constant => "constant",
            Self::Generic => "generic",
        }
    }

    const ALL: [Self; 5] = [Self::Private, Self::Local, Self::Global, Self::Constant, Self::Generic];
}

impl FromStr for Space {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|space| space.name() == text).ok_or(())
    }
}

/// Dimensions of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageDim {
    /// `image1d_t`, `image1d_array_t`
    D1,
    /// `image1d_buffer_t`
    Buffer,
    /// `image2d_t`, `image2d_array_t`
    D2,
    /// `image3d_t`
    D3,
}

/// The access qualifier of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageAccess {
    /// `read_only`
    Read,
    /// `write_only`
    Write,
    /// `read_write`
    ReadWrite,
}

/// The type of an image argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageType {
    /// Dimensions of one layer.
    pub dim: ImageDim,
    /// Whether it has layers.
    pub array: bool,
    /// Whether texels are depth values (read as one float).
    pub depth: bool,
    /// The access qualifier.
    pub access: ImageAccess,
}

impl ImageType {
    /// The number of coordinates of a texel, including the layer: 1 to 3.
    pub const fn coordinates(self) -> u8 {
        let dimensions = match self.dim {
            ImageDim::D1 | ImageDim::Buffer => 1,
            ImageDim::D2 => 2,
            ImageDim::D3 => 3,
        };
        dimensions + self.array as u8
    }
}

impl fmt::Display for ImageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.dim {
            ImageDim::D1 => "image.1d",
            ImageDim::Buffer => "image.1db",
            ImageDim::D2 => "image.2d",
            ImageDim::D3 => "image.3d",
        })?;
        if self.array {
            f.write_str(".array")?;
        }
        if self.depth {
            f.write_str(".depth")?;
        }
        f.write_str(match self.access {
            ImageAccess::Read => ".ro",
            ImageAccess::Write => ".wo",
            ImageAccess::ReadWrite => ".rw",
        })
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A scalar.
    Scalar(Scalar),
    /// A vector of 2, 3, 4, 8 or 16 lanes, or of 32 (`cl_qcom_extra_vector_types`).
    Vector(Scalar, u8),
    /// A byte address, 64 bits wide.
    Pointer(Space),
    /// An image.
    Image(ImageType),
    /// A sampler; constants of it are [`crate::op::SamplerBits`].
    Sampler,
    /// An event of an asynchronous copy; eight bytes in memory.
    Event,
}

impl Type {
    /// `bool`
    pub const BOOL: Self = Self::Scalar(Scalar::Bool);
    /// `i32`
    pub const I32: Self = Self::Scalar(Scalar::I32);
    /// `i64`
    pub const I64: Self = Self::Scalar(Scalar::I64);

    /// Lane counts of vectors.
    pub const LANES: [u8; 6] = [2, 3, 4, 8, 16, 32];

    /// The largest lane count.
    pub const MAX_LANES: usize = 32;

    /// A vector of `lanes`, or the scalar when `lanes` is 1.
    pub const fn of(scalar: Scalar, lanes: u8) -> Self {
        if lanes == 1 { Self::Scalar(scalar) } else { Self::Vector(scalar, lanes) }
    }

    /// The scalar of a scalar or vector.
    pub const fn scalar(self) -> Option<Scalar> {
        match self {
            Self::Scalar(scalar) | Self::Vector(scalar, _) => Some(scalar),
            _ => None,
        }
    }

    /// Lanes: 1 unless it is a vector.
    pub const fn lanes(self) -> u8 {
        match self {
            Self::Vector(_, lanes) => lanes,
            _ => 1,
        }
    }

    /// The same type with another scalar; `None` for types without lanes.
    pub const fn with_scalar(self, scalar: Scalar) -> Option<Self> {
        match self {
            Self::Scalar(_) => Some(Self::Scalar(scalar)),
            Self::Vector(_, lanes) => Some(Self::Vector(scalar, lanes)),
            _ => None,
        }
    }

    /// Bytes that a load or store accesses: three lanes access three elements. Images, samplers and events are handles
    /// of 8 bytes in private variables.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Scalar(scalar) => scalar.bytes(),
            Self::Vector(scalar, lanes) => scalar.bytes() * lanes as u32,
            Self::Pointer(_) | Self::Event | Self::Image(_) | Self::Sampler => 8,
        }
    }

    /// Bytes it occupies in an array or a struct, and its natural alignment: three lanes count as four.
    pub const fn stored_bytes(self) -> u32 {
        match self {
            Self::Vector(scalar, 3) => scalar.bytes() * 4,
            _ => self.bytes(),
        }
    }

    /// Whether it is an integer or a vector of integers.
    pub const fn is_int(self) -> bool {
        matches!(self.scalar(), Some(scalar) if scalar.is_int())
    }

    /// Whether it is floating-point or a vector of floats.
    pub const fn is_float(self) -> bool {
        matches!(self.scalar(), Some(scalar) if scalar.is_float())
    }

    /// Whether it is `bool` or a vector of `bool`.
    pub const fn is_bool(self) -> bool {
        matches!(self.scalar(), Some(Scalar::Bool))
    }

    /// Whether it is a pointer.
    pub const fn is_pointer(self) -> bool {
        matches!(self, Self::Pointer(_))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(scalar) => f.write_str(scalar.name()),
            Self::Vector(scalar, lanes) => write!(f, "{}x{lanes}", scalar.name()),
            Self::Pointer(space) => write!(f, "ptr.{}", space.name()),
            Self::Image(image) => write!(f, "{image}"),
            Self::Sampler => f.write_str("sampler"),
            Self::Event => f.write_str("event"),
        }
    }
}

impl FromStr for Type {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "sampler" => return Ok(Self::Sampler),
            "event" => return Ok(Self::Event),
            _ => {}
        }
        if let Some(space) = text.strip_prefix("ptr.") {
            return space.parse().map(Self::Pointer);
        }
        if let Some(image) = text.strip_prefix("image.") {
            return image_type(image).map(Self::Image).ok_or(());
        }
        let (name, lanes) = match text.split_once('x') {
            None => (text, 1),
            Some((name, lanes)) => {
                let lanes = lanes.parse().map_err(|_| ())?;
                if !Self::LANES.contains(&lanes) {
                    return Err(());
                }
                (name, lanes)
            }
        };
        let scalar = Scalar::ALL.into_iter().find(|scalar| scalar.name() == name).ok_or(())?;
        Ok(Self::of(scalar, lanes))
    }
}

fn image_type(text: &str) -> Option<ImageType> {
    let mut parts = text.split('.').peekable();
    let dim = match parts.next()? {
        "1d" => ImageDim::D1,
        "1db" => ImageDim::Buffer,
        "2d" => ImageDim::D2,
        "3d" => ImageDim::D3,
        _ => return None,
    };
    let array = parts.next_if_eq(&"array").is_some();
    let depth = parts.next_if_eq(&"depth").is_some();
    let access = match parts.next()? {
        "ro" => ImageAccess::Read,
        "wo" => ImageAccess::Write,
        "rw" => ImageAccess::ReadWrite,
        _ => return None,
    };
    parts.next().is_none().then_some(ImageType { dim, array, depth, access })
}
