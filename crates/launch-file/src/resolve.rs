//! Matches the arguments of a launch file with the kernel's parameters.

use std::borrow::Cow;
use std::fmt;

use crate::element::{ArrayShape, ElementType};
use crate::error::{FileError, FileReason};
use crate::{BytesFrom, Contents, Entry, Given, LaunchFile, Memory, MemoryShape};
use tripipe_device::document::Number;
use tripipe_device::nearest::nearest;
use tripipe_launch::{Sampler, Value};

/// Maximum bytes of a value: several times what `CL_DEVICE_MAX_PARAMETER_SIZE` allows for all arguments together.
pub(crate) const PARAMETER_MAX: usize = 1 << 16;

/// A kernel and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The kernel's name.
    pub kernel: String,
    /// Its parameters in order.
    pub parameters: Vec<Parameter>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name; empty if unknown.
    pub name: String,
    /// The kind of argument it takes.
    pub kind: ParameterKind,
}

/// The kind of argument that a parameter takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// A pointer to global or constant memory.
    Buffer {
        /// The type it points to, if that is a built-in type.
        element: Option<ElementType>,
    },
    /// A pointer to local memory.
    Local,
    /// An image of any dimensions.
    Image,
    /// A sampler.
    Sampler,
    /// A value of a built-in type.
    Value(ElementType),
    /// A value of any other type: a struct, or a typedef of a built-in type.
    Opaque {
        /// The type as spelled in the source; empty if unknown.
        type_name: String,
        /// Its size, if known.
        bytes: Option<usize>,
    },
    /// The kind is not known.
    Unknown,
}

impl ParameterKind {
    /// Whether an argument of a launch file can be passed for it. Arguments of `.sim` files are checked elsewhere.
    fn takes(&self, given: &Given) -> bool {
        let same = |bytes: Option<usize>, found: usize| bytes.is_none_or(|bytes| bytes == found);
        match (self, given) {
            (Self::Buffer { .. }, Given::Memory(memory)) => {
                matches!(memory.shape, MemoryShape::Buffer { .. })
            }
            (Self::Image, Given::Memory(memory)) => matches!(memory.shape, MemoryShape::Image { .. }),
            (Self::Value(want), Given::Value { element, .. }) => element.is_none_or(|found| found == *want),
            (Self::Opaque { bytes, .. }, Given::Value { element, .. }) => {
                element.is_none_or(|element| same(*bytes, element.bytes()))
            }
            (Self::Opaque { bytes, .. }, Given::Bytes(BytesFrom::Written(found))) => {
                same(*bytes, found.len())
            }
            (Self::Unknown, _)
            | (_, Given::Sized(_))
            | (Self::Buffer { .. }, Given::Null)
            | (Self::Local, Given::Local { .. })
            | (Self::Sampler, Given::Sampler(_))
            | (Self::Opaque { .. }, Given::Bytes(BytesFrom::File { .. })) => true,
            _ => false,
        }
    }
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer { element: Some(element) } => write!(f, "a buffer of `{element}`"),
            Self::Buffer { element: None } => f.write_str("a buffer"),
            Self::Local => f.write_str("local memory"),
            Self::Image => f.write_str("an image"),
            Self::Sampler => f.write_str("a sampler"),
            Self::Value(element) => write!(f, "a value of type `{element}`"),
            Self::Opaque { type_name, bytes: Some(bytes) } => {
                write!(f, "a value of {bytes} bytes (`{type_name}`)")
            }
            Self::Opaque { type_name, bytes: None } => write!(f, "a value of type `{type_name}`"),
            Self::Unknown => f.write_str("of unknown kind"),
        }
    }
}

/// An argument in the form in which it is passed; its contents are not loaded yet.
pub(crate) enum Passed<'f> {
    Memory(Box<Cow<'f, Memory>>),
    Value(Value),
    Bytes(Cow<'f, BytesFrom>),
    Local(usize),
    Sampler(Sampler),
    Null,
    SameAs(usize),
}

impl LaunchFile {
    /// The kernel to run, among all kernels of the program.
    ///
    /// # Errors
    /// There is no such kernel, or none is named and there are several.
    pub fn signature<'s>(&self, kernels: &'s [Signature]) -> Result<&'s Signature, FileError> {
        let program = self.source.path().to_owned();
        let names = || kernels.iter().map(|signature| signature.kernel.clone()).collect::<Vec<_>>();
        let error = |reason| self.error(self.kernel_location, reason);
        match (&self.kernel, kernels) {
            (None, [only]) => Ok(only),
            (None, _) => Err(error(FileReason::WhichKernel { program, kernels: names() })),
            (Some(kernel), _) => {
                kernels.iter().find(|signature| signature.kernel == *kernel).ok_or_else(|| {
                    let names_alike = kernels.iter().map(|signature| signature.kernel.as_str());
                    let nearest = nearest(kernel, names_alike).map(str::to_owned);
                    let kernel = kernel.clone();
                    error(FileReason::NoSuchKernel { program, kernel, nearest, kernels: names() })
                })
            }
        }
    }

    /// All arguments, each with the kind and type that the kernel takes.
    pub(crate) fn resolve(&self, signature: &Signature) -> Result<Vec<Passed<'_>>, FileError> {
        let (want, found) = (signature.parameters.len(), self.arguments.len());
        if want != found {
            let names = signature.parameters.iter().map(|parameter| parameter.name.clone()).collect();
            let kernel = signature.kernel.clone();
            // At the first surplus argument, or at the last one.
            let location = self.arguments.get(want).or(self.arguments.last());
            let location = location.map_or(self.kernel_location, |entry| entry.location);
            return Err(self.error(location, FileReason::ArgumentCount { kernel, want, names, found }));
        }
        let pairs = self.arguments.iter().zip(&signature.parameters).enumerate();
        pairs
            .map(|(index, (entry, parameter))| {
                self.pass(entry, index, parameter, signature)
                    .map_err(|reason| self.error(entry.location, reason))
            })
            .collect()
    }

    fn pass<'f>(
        &'f self,
        entry: &'f Entry,
        index: usize,
        parameter: &Parameter,
        signature: &Signature,
    ) -> Result<Passed<'f>, FileReason> {
        let kernel = || signature.kernel.clone();
        let name = self.name_of(index, parameter);
        if let Some(found) = &entry.name
            && !parameter.name.is_empty()
            && *found != parameter.name
        {
            let (want, found) = (parameter.name.clone(), found.clone());
            return Err(FileReason::ArgumentName { kernel: kernel(), index, want, found });
        }
        let target = match entry.given {
            Given::SameAs { index } => self.arguments.get(index).map_or(&entry.given, |entry| &entry.given),
            _ => &entry.given,
        };
        let kind = &parameter.kind;
        if !kind.takes(target) {
            let (want, found) = (kind.to_string(), target.to_string());
            return Err(FileReason::ArgumentKind { kernel: kernel(), index, name, want, found });
        }
        match &entry.given {
            Given::Memory(memory) => Ok(Passed::Memory(Box::new(Cow::Borrowed(memory)))),
            Given::Value { element, numbers } => {
                let element = match (element, kind) {
                    (Some(element), _) | (None, ParameterKind::Value(element)) => *element,
                    _ => return Err(FileReason::Untyped { name }),
                };
                value(element, numbers).map(Passed::Value)
            }
            Given::Bytes(bytes) => Ok(Passed::Bytes(Cow::Borrowed(bytes))),
            Given::Local { bytes } => Ok(Passed::Local(*bytes)),
            Given::Sampler(sampler) => Ok(Passed::Sampler(*sampler)),
            Given::Null => Ok(Passed::Null),
            Given::SameAs { index } => Ok(Passed::SameAs(*index)),
            Given::Sized(sized) => sized.pass(&name, kind),
        }
    }

    /// The name of an argument in messages and results.
    pub(crate) fn name_of(&self, index: usize, parameter: &Parameter) -> String {
        let own = self.arguments.get(index).and_then(|entry| entry.name.clone());
        if parameter.name.is_empty() {
            own.unwrap_or_else(|| format!("argument {index}"))
        } else {
            parameter.name.clone()
        }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(Memory { shape: MemoryShape::Buffer { element, .. }, .. }) => {
                write!(f, "a buffer of `{element}`")
            }
            Self::Memory(_) => f.write_str("an image"),
            Self::Value { element: Some(element), .. } => write!(f, "a value of type `{element}`"),
            Self::Value { element: None, .. } => f.write_str("a value"),
            Self::Bytes(BytesFrom::Written(bytes)) => write!(f, "{} bytes", bytes.len()),
            Self::Bytes(BytesFrom::File { path }) => write!(f, "the bytes of {path}"),
            Self::Local { bytes } => write!(f, "{bytes} bytes of local memory"),
            Self::Sampler(_) => f.write_str("a sampler"),
            Self::Null => f.write_str("NULL"),
            Self::SameAs { index } => write!(f, "the memory of argument {index}"),
            Self::Sized(sized) => write!(f, "{} bytes", sized.bytes),
        }
    }
}

/// Converts `numbers`, one per lane, to a value.
pub(crate) fn value(element: ElementType, numbers: &[Number]) -> Result<Value, FileReason> {
    let wrong_count = || FileReason::Numbers {
        found: numbers.len(),
        want: format!("one `{element}`, which takes {}", element.lanes()),
    };
    if numbers.len() != element.lanes() {
        return Err(wrong_count());
    }
    let array = ArrayShape { element, extents: vec![1] };
    let bytes = Contents::Values(numbers.to_vec())
        .generate(&array)
        .map_err(|misfit| FileReason::Misfit { number: misfit.number, element })?;
    Value::from_bytes(element.scalar(), element.lanes(), bytes.unwrap_or_default()).ok_or_else(wrong_count)
}
