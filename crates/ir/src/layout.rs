//! The layout of memory objects.

use std::fmt;
use std::sync::Arc;

use crate::Type;

/// The layout of a memory object, down to scalars and vectors.
///
/// It is stored so that an index past the end of an inner array is detected even if it stays inside the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeLayout {
    /// One value.
    Value(Type),
    /// `count` elements, one every `stride` bytes.
    Array {
        /// The element.
        element: Arc<TypeLayout>,
        /// Number of elements.
        count: u64,
        /// Distance in bytes, at least the element's size.
        stride: u64,
    },
    /// Fields at their offsets; also unions, for which the front end has chosen one member.
    Struct {
        /// In order of their offsets.
        fields: Arc<[Field]>,
        /// Size in bytes with padding.
        bytes: u64,
    },
    /// This many bytes of unknown layout.
    Bytes(u64),
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Offset in bytes.
    pub offset: u64,
    /// Its layout.
    pub layout: TypeLayout,
}

impl TypeLayout {
    /// Size in bytes, including padding; a vector of three lanes counts four.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Value(ty) => u64::from(ty.stored_bytes()),
            Self::Array { count, stride, .. } => count.saturating_mul(*stride),
            Self::Struct { bytes, .. } | Self::Bytes(bytes) => *bytes,
        }
    }

    /// Calls `visit` with offset and type of every value in it, in order, until it returns `false`. Bytes of unknown
    /// layout are visited as single `i8`.
    pub fn leaves(&self, base: u64, visit: &mut impl FnMut(u64, Type) -> bool) -> bool {
        match self {
            Self::Value(ty) => visit(base, *ty),
            Self::Array { element, count, stride } => {
                (0..*count).all(|index| element.leaves(base + index * stride, visit))
            }
            Self::Struct { fields, .. } => {
                fields.iter().all(|field| field.layout.leaves(base + field.offset, visit))
            }
            Self::Bytes(bytes) => {
                (0..*bytes).all(|index| visit(base + index, Type::Scalar(crate::Scalar::I8)))
            }
        }
    }
}

impl fmt::Display for TypeLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(ty) => write!(f, "{ty}"),
            Self::Array { element, count, stride } => write!(f, "[{count} * {stride} of {element}]"),
            Self::Struct { fields, bytes } => {
                f.write_str("{")?;
                for field in &**fields {
                    write!(f, "{}: {}, ", field.offset, field.layout)?;
                }
                write!(f, "{bytes}}}")
            }
            Self::Bytes(bytes) => write!(f, "bytes {bytes}"),
        }
    }
}
