//! Arguments: what kernels declare, what they are given, and whether the two match.

use std::borrow::Cow;

use tripipe_launch::{ScalarType, Value};

use crate::context::Context;
use crate::memory::{Object, Sampler, Shape, SvmBuffer};

/// The address space of a kernel argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// `global`: a buffer or an image.
    Global,
    /// `constant`: a buffer.
    Constant,
    /// `local`: a size.
    Local,
    /// By value, or a sampler.
    Private,
}

/// The kernel's declaration of one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentInfo {
    /// Its name.
    pub name: String,
    /// Its type as the driver spells it, e.g. `float4*`.
    pub type_name: String,
    /// Its address space.
    pub space: Space,
    /// Whether the declaration forbids writing: `const` or `constant` memory, a `read_only` image, a value.
    pub read_only: bool,
}

/// What the driver reports about a kernel's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelArguments {
    /// Every argument.
    Known(Vec<ArgumentInfo>),
    /// Only the number of arguments.
    Counted(usize),
}

impl KernelArguments {
    /// Number of arguments.
    pub fn len(&self) -> usize {
        match self {
            Self::Known(all) => all.len(),
            Self::Counted(count) => *count,
        }
    }

    /// The argument at a 0-based index, if it is known.
    pub(super) fn get(&self, index: usize) -> Option<&ArgumentInfo> {
        match self {
            Self::Known(all) => all.get(index),
            Self::Counted(_) => None,
        }
    }

    /// Whether the kernel may write the memory of the argument at a 0-based index, as far as is known.
    pub(crate) fn may_write(&self, index: usize) -> bool {
        self.get(index).is_none_or(|info| !info.read_only)
    }

    /// Whether the kernel takes no arguments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One argument of a launch.
#[derive(Clone)]
pub struct Arg<'a>(pub(super) Kind<'a>);

#[derive(Clone)]
pub(super) enum Kind<'a> {
    Memory(&'a Object),
    Svm(&'a SvmBuffer),
    Sampler(&'a Sampler),
    Value(Cow<'a, Value>),
    Bytes(&'a [u8]),
    Local(usize),
    Null,
}

impl<'a> Arg<'a> {
    /// A scalar or vector by value.
    pub fn value(value: impl Into<Value>) -> Self {
        Self(Kind::Value(Cow::Owned(value.into())))
    }

    /// A struct by value: its bytes in the device's layout.
    pub fn bytes(bytes: &'a [u8]) -> Self {
        Self(Kind::Bytes(bytes))
    }

    /// `NULL` instead of a buffer.
    pub fn null() -> Self {
        Self(Kind::Null)
    }

    /// Local memory of `bytes` bytes.
    pub fn local(bytes: usize) -> Self {
        Self(Kind::Local(bytes))
    }

    pub(crate) fn borrowed(value: &'a Value) -> Self {
        Self(Kind::Value(Cow::Borrowed(value)))
    }

    pub(crate) fn memory(object: &'a Object) -> Self {
        Self(Kind::Memory(object))
    }

    pub(crate) fn svm(buffer: &'a SvmBuffer) -> Self {
        Self(Kind::Svm(buffer))
    }

    pub(super) fn context(&self) -> Option<&Context> {
        match &self.0 {
            Kind::Svm(buffer) => Some(buffer.context()),
            Kind::Memory(object) => Some(object.context()),
            Kind::Sampler(sampler) => Some(sampler.context()),
            Kind::Value(_) | Kind::Bytes(_) | Kind::Local(_) | Kind::Null => None,
        }
    }

    pub(super) fn shown(&self) -> String {
        match &self.0 {
            Kind::Memory(object) => match object.shape() {
                Shape::Buffer { bytes } => format!("a buffer of {bytes} bytes"),
                Shape::Image { shape } => format!("an {} of {}", shape.opencl_type(), shape.extent),
            },
            Kind::Svm(buffer) => format!("a shared buffer of {} bytes", buffer.bytes()),
            Kind::Sampler(_) => "a sampler".to_owned(),
            Kind::Value(value) => format!("a value of type {}", value.opencl_name()),
            Kind::Bytes(bytes) => format!("a struct of {} bytes", bytes.len()),
            Kind::Local(bytes) => format!("{bytes} bytes of local memory"),
            Kind::Null => "NULL".to_owned(),
        }
    }
}

impl<'a> From<&'a Sampler> for Arg<'a> {
    fn from(sampler: &'a Sampler) -> Self {
        Self(Kind::Sampler(sampler))
    }
}

/// A kernel's declaration of one argument, parsed once from the driver's spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Declared {
    Sampler,
    /// An image of this type, e.g. `image2d_t`; `None` for a type that no object here has.
    Image(Option<&'static str>),
    /// A buffer, in global or constant memory.
    Buffer,
    Local,
    Value(ScalarType, usize),
    /// A typedef or a struct. Only the driver can check its size, and not all do.
    Opaque,
}

impl Declared {
    pub(super) fn of(info: &ArgumentInfo) -> Self {
        let name = info.type_name.as_str();
        if name.ends_with("sampler_t") {
            return Self::Sampler;
        }
        // Some drivers put the access qualifier before the type: `__read_only image2d_t`.
        if let Some(image) =
            name.split_whitespace().find(|word| word.starts_with("image") && word.ends_with("_t"))
        {
            return Self::Image(IMAGE_TYPES.into_iter().find(|one| *one == image));
        }
        match info.space {
            Space::Global | Space::Constant => Self::Buffer,
            Space::Local => Self::Local,
            Space::Private => {
                value_type(name).map_or(Self::Opaque, |(element, lanes)| Self::Value(element, lanes))
            }
        }
    }

    pub(super) fn takes(self, argument: &Arg<'_>) -> bool {
        match (&argument.0, self) {
            (Kind::Memory(object), Self::Image(image)) => match object.shape() {
                Shape::Buffer { .. } => false,
                Shape::Image { shape } => image == Some(shape.opencl_type()),
            },
            (Kind::Memory(object), Self::Buffer) => matches!(object.shape(), Shape::Buffer { .. }),
            (Kind::Local(bytes), Self::Local) => *bytes > 0,
            (Kind::Value(value), Self::Value(element, lanes)) => {
                element == value.element() && lanes == value.lanes()
            }
            (Kind::Sampler(_), Self::Sampler)
            | (Kind::Svm(_) | Kind::Null, Self::Buffer)
            | (Kind::Bytes(_) | Kind::Value(_), Self::Opaque) => true,
            _ => false,
        }
    }
}

/// All results of [`tripipe_launch::ImageShape::opencl_type`].
const IMAGE_TYPES: [&str; 8] = [
    "image1d_t",
    "image1d_buffer_t",
    "image1d_array_t",
    "image2d_t",
    "image2d_array_t",
    "image2d_depth_t",
    "image2d_array_depth_t",
    "image3d_t",
];

/// The expected argument, for a message.
pub(super) fn wanted(info: &ArgumentInfo) -> String {
    let name = &info.type_name;
    match (Declared::of(info), info.space) {
        (Declared::Image(_), _) => format!("an image of type {name}"),
        (_, Space::Global) => format!("a buffer (global {name})"),
        (_, Space::Constant) => format!("a buffer (constant {name})"),
        (_, Space::Local) => format!("local memory of more than 0 bytes (local {name})"),
        (Declared::Sampler, Space::Private) => "a sampler".to_owned(),
        (_, Space::Private) => format!("a value of type {name}"),
    }
}

/// `float4` is (F32, 4); `None` for a name that is not a built-in value type.
fn value_type(name: &str) -> Option<(ScalarType, usize)> {
    let words = name.trim();
    let digits = words.len() - words.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (element, lanes) = words.split_at(words.len() - digits);
    let lanes = match lanes {
        "" => 1,
        "2" => 2,
        "3" => 3,
        "4" => 4,
        "8" => 8,
        "16" => 16,
        _ => return None,
    };
    let element = match element.trim() {
        "char" | "signed char" => ScalarType::I8,
        "uchar" | "unsigned char" => ScalarType::U8,
        "short" | "signed short" => ScalarType::I16,
        "ushort" | "unsigned short" => ScalarType::U16,
        "int" | "signed int" | "signed" => ScalarType::I32,
        "uint" | "unsigned int" | "unsigned" => ScalarType::U32,
        "long" | "signed long" => ScalarType::I64,
        "ulong" | "unsigned long" => ScalarType::U64,
        "half" => ScalarType::F16,
        "float" => ScalarType::F32,
        "double" => ScalarType::F64,
        _ => return None,
    };
    Some((element, lanes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_as_drivers_write_them() {
        assert_eq!(value_type("float4"), Some((ScalarType::F32, 4)));
        assert_eq!(value_type("uint"), Some((ScalarType::U32, 1)));
        assert_eq!(value_type("unsigned int"), Some((ScalarType::U32, 1)));
        assert_eq!(value_type("uchar16"), Some((ScalarType::U8, 16)));
        assert_eq!(value_type("my_struct"), None);
        assert_eq!(value_type("float5"), None);
    }

    fn declared(space: Space, type_name: &str) -> ArgumentInfo {
        ArgumentInfo { name: "x".to_owned(), type_name: type_name.to_owned(), space, read_only: false }
    }

    /// What is expected instead, if the argument does not fit.
    fn mismatch(info: &ArgumentInfo, argument: &Arg<'_>) -> Option<String> {
        (!Declared::of(info).takes(argument)).then(|| wanted(info))
    }

    #[test]
    fn values_are_compared_by_type_not_by_size() {
        let int = declared(Space::Private, "int");
        assert_eq!(mismatch(&int, &Arg::value(1i32)), None);
        for wrong in [Arg::value(1u32), Arg::value(1.0f32), Arg::value(1i64), Arg::value([1i32; 4])] {
            assert_eq!(mismatch(&int, &wrong).as_deref(), Some("a value of type int"));
        }
        let unknown = declared(Space::Private, "real");
        assert_eq!(mismatch(&unknown, &Arg::value(1.0f32)), None);
    }

    #[test]
    fn structs_and_null_go_where_they_may() {
        let fits = |space, type_name, argument| mismatch(&declared(space, type_name), &argument).is_none();
        assert!(fits(Space::Private, "struct s", Arg::bytes(&[0; 12])));
        assert!(!fits(Space::Private, "int", Arg::bytes(&[0; 4])));
        assert!(!fits(Space::Private, "sampler_t", Arg::bytes(&[0; 8])));
        assert!(!fits(Space::Global, "struct s*", Arg::bytes(&[0; 12])));
        assert!(fits(Space::Global, "float*", Arg::null()) && fits(Space::Constant, "float*", Arg::null()));
        for (space, type_name) in
            [(Space::Local, "float*"), (Space::Private, "int"), (Space::Global, "image2d_t")]
        {
            assert!(!fits(space, type_name, Arg::null()), "{type_name}");
        }
    }

    #[test]
    fn local_memory_goes_to_local_pointers_only() {
        assert_eq!(mismatch(&declared(Space::Local, "float*"), &Arg::local(4)), None);
        assert!(mismatch(&declared(Space::Local, "float*"), &Arg::local(0)).is_some());
        assert!(mismatch(&declared(Space::Global, "float*"), &Arg::local(4)).is_some());
        assert!(mismatch(&declared(Space::Private, "sampler_t"), &Arg::value(1i32)).is_some());
    }
}
