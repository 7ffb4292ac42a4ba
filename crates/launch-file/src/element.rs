//! Elements of buffers and images, and the numbers given for them.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use half::f16;
use tripipe_device::document::Number;

use tripipe_launch::{ChannelType, ImageExtent, ImageShape, ScalarType};

/// The element type of an array: scalars, or vectors of 2, 3, 4, 8 or 16 of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ElementType {
    scalar: ScalarType,
    lanes: u8,
}

const SCALARS: [ScalarType; 11] = [
    ScalarType::I8,
    ScalarType::U8,
    ScalarType::I16,
    ScalarType::U16,
    ScalarType::I32,
    ScalarType::U32,
    ScalarType::I64,
    ScalarType::U64,
    ScalarType::F16,
    ScalarType::F32,
    ScalarType::F64,
];

impl ElementType {
    /// A scalar.
    pub fn scalar_of(scalar: ScalarType) -> Self {
        Self { scalar, lanes: 1 }
    }

    /// All element types, scalars first within each type.
    pub(crate) fn all() -> impl Iterator<Item = Self> + Clone {
        SCALARS.into_iter().flat_map(|scalar| [1, 2, 3, 4, 8, 16].map(|lanes| Self { scalar, lanes }))
    }

    /// The type with that name in OpenCL C, e.g. `float4` or `unsigned int`; `None` if the name is not a built-in
    /// value type.
    pub fn from_opencl_name(name: &str) -> Option<Self> {
        let name = name.trim();
        let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let lanes = match &name[word.len()..] {
            "" => 1,
            "2" => 2,
            "3" => 3,
            "4" => 4,
            "8" => 8,
            "16" => 16,
            _ => return None,
        };
        let scalar = match word.trim_end() {
            "signed char" => ScalarType::I8,
            "unsigned char" => ScalarType::U8,
            "signed short" => ScalarType::I16,
            "unsigned short" => ScalarType::U16,
            "signed" | "signed int" => ScalarType::I32,
            "unsigned" | "unsigned int" => ScalarType::U32,
            "signed long" => ScalarType::I64,
            "unsigned long" => ScalarType::U64,
            short => *SCALARS.iter().find(|scalar| scalar.opencl_name() == short)?,
        };
        Some(Self { scalar, lanes })
    }

    /// The element type of an image's texels: one number per channel, or one for all channels of a packed format.
    pub fn of_image(shape: &ImageShape) -> Self {
        let scalar = match shape.channel {
            ChannelType::SnormI8 | ChannelType::I8 => ScalarType::I8,
            ChannelType::UnormU8 | ChannelType::U8 => ScalarType::U8,
            ChannelType::SnormI16 | ChannelType::I16 => ScalarType::I16,
            ChannelType::UnormU16 | ChannelType::Unorm565 | ChannelType::Unorm555 | ChannelType::U16 => {
                ScalarType::U16
            }
            ChannelType::I32 => ScalarType::I32,
            ChannelType::Unorm101010 | ChannelType::Unorm1010102 | ChannelType::U32 => ScalarType::U32,
            ChannelType::F16 => ScalarType::F16,
            ChannelType::F32 => ScalarType::F32,
        };
        let channels = if shape.channel.is_packed() { 1 } else { shape.order.channels() };
        Self { scalar, lanes: channels as u8 }
    }

    /// The type of one lane.
    pub fn scalar(self) -> ScalarType {
        self.scalar
    }

    /// Numbers in an element: 1 for a scalar.
    pub fn lanes(self) -> usize {
        usize::from(self.lanes)
    }

    /// Size in bytes; a vector of 3 occupies the space of 4.
    pub fn bytes(self) -> usize {
        self.scalar.bytes() * if self.lanes == 3 { 4 } else { self.lanes() }
    }
}

impl fmt::Display for ElementType {
    /// The name in OpenCL C, e.g. `float4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lanes {
            1 => f.write_str(self.scalar.opencl_name()),
            lanes => write!(f, "{}{lanes}", self.scalar.opencl_name()),
        }
    }
}

/// An array in memory: elements without gaps, the last extent varying fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayShape {
    /// Its element type.
    pub element: ElementType,
    /// Elements in each dimension, in numpy's order: `[rows, columns]`. Each at least 1.
    pub extents: Vec<usize>,
}

impl ArrayShape {
    /// The array of an image's texels: `[height, width]`, `[layers, height, width]`, `[depth, height, width]`.
    pub fn of_image(shape: &ImageShape) -> Self {
        let extents = match shape.extent {
            ImageExtent::D1 { width } | ImageExtent::Buffer { width } => vec![width],
            ImageExtent::D1Array { width, layers } => vec![layers, width],
            ImageExtent::D2 { width, height } => vec![height, width],
            ImageExtent::D2Array { width, height, layers } => vec![layers, height, width],
            ImageExtent::D3 { width, height, depth } => vec![depth, height, width],
        };
        Self { element: ElementType::of_image(shape), extents }
    }

    /// Number of elements; `None` if it overflows.
    pub fn elements(&self) -> Option<usize> {
        self.extents.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent))
    }

    /// Size in bytes; `None` if it overflows.
    pub fn bytes(&self) -> Option<usize> {
        self.elements()?.checked_mul(self.element.bytes())
    }

    /// The extents of its numbers: its own, followed by the lanes of a vector.
    pub fn number_extents(&self) -> Vec<usize> {
        let lanes = Some(self.element.lanes()).filter(|lanes| *lanes > 1);
        self.extents.iter().copied().chain(lanes).collect()
    }

    /// The numbers in `bytes`, without the fourth lane of a vector of 3.
    pub fn numbers<'b>(&self, bytes: &'b [u8]) -> impl Iterator<Item = &'b [u8]> + use<'b> {
        let (scalar, lanes) = (self.element.scalar.bytes(), self.element.lanes());
        bytes
            .chunks_exact(self.element.bytes())
            .flat_map(move |element| element.chunks_exact(scalar).take(lanes))
    }

    /// The numbers in `bytes` without padding, as in a `.npy` file.
    pub fn dense<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if self.element.lanes == 3 {
            Cow::Owned(self.numbers(bytes).flatten().copied().collect())
        } else {
            Cow::Borrowed(bytes)
        }
    }
}

impl fmt::Display for ArrayShape {
    /// `512x512 float4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents: Vec<String> = self.extents.iter().map(ToString::to_string).collect();
        write!(f, "{} {}", extents.join("x"), self.element)
    }
}

/// Appends the number to `bytes` as a `scalar`, in host order. A float is rounded to the nearest. Returns `false`
/// if the type cannot represent it: a fraction or an out-of-range number for an integer, or a number that would
/// become infinite for a float.
#[must_use]
pub(crate) fn append(number: Number, scalar: ScalarType, bytes: &mut Vec<u8>) -> bool {
    match (number, integer_range(scalar)) {
        (_, None) => {
            let wide = number.to_f64();
            append_float(wide, scalar, bytes) || !wide.is_finite()
        }
        (Number::Integer(number), Some(range)) => {
            append_integer(number, scalar, bytes);
            range.contains(&number)
        }
        (Number::Float(_), Some(_)) => false,
    }
}

/// Whether it is `half`, `float` or `double`.
pub(crate) fn is_float(scalar: ScalarType) -> bool {
    integer_range(scalar).is_none()
}

/// The range of an integer type; `None` for floats.
pub(crate) fn integer_range(scalar: ScalarType) -> Option<RangeInclusive<i128>> {
    let bits = scalar.bytes() * 8;
    match scalar {
        ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => {
            Some(-(1 << (bits - 1))..=(1 << (bits - 1)) - 1)
        }
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => Some(0..=(1 << bits) - 1),
        ScalarType::F16 | ScalarType::F32 | ScalarType::F64 => None,
    }
}

/// Appends the lowest bits of `number`.
pub(crate) fn append_integer(number: i128, scalar: ScalarType, bytes: &mut Vec<u8>) {
    match scalar.bytes() {
        1 => bytes.extend((number as u8).to_ne_bytes()),
        2 => bytes.extend((number as u16).to_ne_bytes()),
        4 => bytes.extend((number as u32).to_ne_bytes()),
        _ => bytes.extend((number as u64).to_ne_bytes()),
    }
}

/// Appends the nearest number of the type; returns whether it is finite.
pub(crate) fn append_float(number: f64, scalar: ScalarType, bytes: &mut Vec<u8>) -> bool {
    match scalar {
        ScalarType::F16 => {
            let rounded = f16::from_f64(number);
            bytes.extend(rounded.to_ne_bytes());
            rounded.is_finite()
        }
        ScalarType::F32 => {
            let rounded = number as f32;
            bytes.extend(rounded.to_ne_bytes());
            rounded.is_finite()
        }
        _ => {
            bytes.extend(number.to_ne_bytes());
            number.is_finite()
        }
    }
}

/// A number of an array, decoded from its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// Of an integer type.
    Integer(i128),
    /// `half`
    F16(f16),
    /// `float`
    F32(f32),
    /// `double`
    F64(f64),
}

impl Scalar {
    /// Decodes a number from `bytes`, which are as many as `scalar` has, in host order; missing ones count as 0.
    pub fn from_bytes(scalar: ScalarType, bytes: &[u8]) -> Self {
        let mut padded = [0; 8];
        let length = bytes.len().min(scalar.bytes());
        padded[..length].copy_from_slice(&bytes[..length]);
        let [a, b, c, d, ..] = padded;
        match scalar {
            ScalarType::I8 => Self::Integer(i8::from_ne_bytes([a]).into()),
            ScalarType::U8 => Self::Integer(a.into()),
            ScalarType::I16 => Self::Integer(i16::from_ne_bytes([a, b]).into()),
            ScalarType::U16 => Self::Integer(u16::from_ne_bytes([a, b]).into()),
            ScalarType::I32 => Self::Integer(i32::from_ne_bytes([a, b, c, d]).into()),
            ScalarType::U32 => Self::Integer(u32::from_ne_bytes([a, b, c, d]).into()),
            ScalarType::I64 => Self::Integer(i64::from_ne_bytes(padded).into()),
            ScalarType::U64 => Self::Integer(u64::from_ne_bytes(padded).into()),
            ScalarType::F16 => Self::F16(f16::from_ne_bytes([a, b])),
            ScalarType::F32 => Self::F32(f32::from_ne_bytes([a, b, c, d])),
            ScalarType::F64 => Self::F64(f64::from_ne_bytes(padded)),
        }
    }

    /// The nearest `double`.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::F16(number) => number.to_f64(),
            Self::F32(number) => number.into(),
            Self::F64(number) => number,
        }
    }
}

impl fmt::Display for Scalar {
    /// The fewest digits that reproduce the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            // The shortest digits of the float also identify the half, so no precision is lost.
            Self::F16(number) => write!(f, "{:?}", number.to_f32()),
            Self::F32(number) => write!(f, "{number:?}"),
            Self::F64(number) => write!(f, "{number:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_are_those_of_opencl_c() {
        for (name, want, bytes) in [
            ("float4", "float4", 16),
            ("unsigned int", "uint", 4),
            ("unsigned char", "uchar", 1),
            ("half3", "half3", 8),
            ("ulong16", "ulong16", 128),
            (" signed ", "int", 4),
        ] {
            let element = ElementType::from_opencl_name(name).unwrap();
            assert_eq!((element.to_string().as_str(), element.bytes()), (want, bytes));
        }
        for name in ["", "4", "float5", "my_struct", "bool", "size_t", "float4 4"] {
            assert_eq!(ElementType::from_opencl_name(name), None, "{name}");
        }
    }

    fn bytes(number: Number, scalar: ScalarType) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        append(number, scalar, &mut bytes).then_some(bytes)
    }

    #[test]
    fn numbers_fit_their_types_or_do_not() {
        use Number::{Float, Integer};
        assert_eq!(bytes(Integer(-128), ScalarType::I8), Some(vec![0x80]));
        assert_eq!(bytes(Integer(128), ScalarType::I8), None);
        assert_eq!(bytes(Integer(-1), ScalarType::U32), None);
        assert_eq!(bytes(Integer(u64::MAX.into()), ScalarType::U64), Some(vec![0xff; 8]));
        assert_eq!(bytes(Integer(1 << 64), ScalarType::U64), None);
        assert_eq!(bytes(Float(1.0), ScalarType::I32), None);
        // IEEE 754: 65504 is the largest half, 1 is 0x3C00; 65520 is halfway to 65536, which would be the next.
        assert_eq!(bytes(Integer(1), ScalarType::F16), Some(0x3C00u16.to_ne_bytes().to_vec()));
        assert!(bytes(Float(65519.0), ScalarType::F16).is_some());
        assert_eq!(bytes(Float(65520.0), ScalarType::F16), None);
        assert_eq!(bytes(Float(1e39), ScalarType::F32), None);
        assert_eq!(bytes(Float(f64::INFINITY), ScalarType::F32), Some(f32::INFINITY.to_ne_bytes().to_vec()));
        assert!(bytes(Float(f64::NAN), ScalarType::F16).is_some());
    }

    #[test]
    fn numbers_read_back() {
        assert_eq!(Scalar::from_bytes(ScalarType::I16, &(-2i16).to_ne_bytes()), Scalar::Integer(-2));
        assert_eq!(Scalar::from_bytes(ScalarType::F32, &0.1f32.to_ne_bytes()).to_string(), "0.1");
        let half = f16::from_f32(0.1);
        let shown = Scalar::from_bytes(ScalarType::F16, &half.to_ne_bytes()).to_string();
        assert_eq!(f16::from_f64(shown.parse().unwrap()), half);
    }

    #[test]
    fn three_lanes_take_the_room_of_four() {
        let element = ElementType::from_opencl_name("uchar3").unwrap();
        let array = ArrayShape { element, extents: vec![2] };
        assert_eq!(array.bytes(), Some(8));
        let numbers: Vec<u8> = array.numbers(&[1, 2, 3, 9, 4, 5, 6, 9]).flatten().copied().collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    }
}
