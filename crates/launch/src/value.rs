//! Values passed to a kernel by value, with their type.

use std::fmt;

use half::f16;

/// The scalar types of kernel arguments, as in OpenCL C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarType {
    /// `char`
    I8,
    /// `uchar`
    U8,
    /// `short`
    I16,
    /// `ushort`
    U16,
    /// `int`
    I32,
    /// `uint`
    U32,
    /// `long`
    I64,
    /// `ulong`
    U64,
    /// `half`
    F16,
    /// `float`
    F32,
    /// `double`
    F64,
}

impl ScalarType {
    /// Size in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Name in OpenCL C.
    pub fn opencl_name(self) -> &'static str {
        match self {
            Self::I8 => "char",
            Self::U8 => "uchar",
            Self::I16 => "short",
            Self::U16 => "ushort",
            Self::I32 => "int",
            Self::U32 => "uint",
            Self::I64 => "long",
            Self::U64 => "ulong",
            Self::F16 => "half",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }
}

/// A scalar or vector argument: element type, lanes (1, 2, 3, 4, 8 or 16), and the bytes in host order.
///
/// A vector of 3 occupies the space of 4, as in OpenCL.
#[derive(Clone, PartialEq)]
pub struct Value {
    element: ScalarType,
    lanes: u8,
    bytes: Vec<u8>,
}

impl Value {
    /// A value from the bytes of its lanes, in host order. `None` unless there are 1, 2, 3, 4, 8 or 16 lanes and the
    /// matching number of bytes; 3 lanes have the bytes of 4.
    pub fn from_bytes(element: ScalarType, lanes: usize, bytes: Vec<u8>) -> Option<Self> {
        let room = match lanes {
            3 => 4,
            1 | 2 | 4 | 8 | 16 => lanes,
            _ => return None,
        };
        (bytes.len() == room * element.bytes()).then_some(Self { element, lanes: lanes as u8, bytes })
    }

    /// The element type.
    pub fn element(&self) -> ScalarType {
        self.element
    }

    /// The number of lanes: 1 for a scalar.
    pub fn lanes(&self) -> usize {
        usize::from(self.lanes)
    }

    /// The bytes as the kernel receives them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Name in OpenCL C, e.g. `float4`.
    pub fn opencl_name(&self) -> String {
        match self.lanes {
            1 => self.element.opencl_name().to_owned(),
            lanes => format!("{}{lanes}", self.element.opencl_name()),
        }
    }

    fn vector<const N: usize, const B: usize>(element: ScalarType, parts: [[u8; B]; N]) -> Self {
        let mut bytes = parts.concat();
        if N == 3 {
            bytes.resize(4 * B, 0);
        }
        Self { element, lanes: N as u8, bytes }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:02x?}", self.opencl_name(), self.bytes)
    }
}

macro_rules! value_from {
    ($($rust:ty => $element:ident),* $(,)?) => {$(
        impl From<$rust> for Value {
            fn from(value: $rust) -> Self {
                Self::vector(ScalarType::$element, [value.to_ne_bytes()])
            }
        }
        value_from!(@lanes $rust, $element, 2, 3, 4, 8, 16);
    )*};
    (@lanes $rust:ty, $element:ident, $($lanes:literal),*) => {$(
        impl From<[$rust; $lanes]> for Value {
            fn from(value: [$rust; $lanes]) -> Self {
                Self::vector(ScalarType::$element, value.map(<$rust>::to_ne_bytes))
            }
        }
    )*};
}

value_from! {
    i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64,
    f16 => F16, f32 => F32, f64 => F64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_make_the_value_they_are() {
        let bytes =
            |numbers: &[i32]| numbers.iter().flat_map(|number| number.to_ne_bytes()).collect::<Vec<u8>>();
        assert_eq!(Value::from_bytes(ScalarType::I32, 1, bytes(&[-5])), Some(Value::from(-5)));
        assert_eq!(Value::from_bytes(ScalarType::I32, 3, bytes(&[1, 2, 3, 0])), Some(Value::from([1, 2, 3])));
        assert_eq!(Value::from_bytes(ScalarType::I32, 3, bytes(&[1, 2, 3])), None);
        assert_eq!(Value::from_bytes(ScalarType::I32, 5, bytes(&[1, 2, 3, 4, 5])), None);
    }
}
