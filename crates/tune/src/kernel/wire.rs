//! A kernel in a message to a worker: bytes in base64, types by their names in OpenCL C.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tripipe_launch::Source;
use tripipe_launch_file::{
    Array, ElementType, Number, Overrides, Parameter, ParameterKind, Pixels, Signature,
};

use super::{KernelDescription, KernelFiles, KernelProblem, KernelReference};

#[derive(Serialize, Deserialize)]
pub(super) struct Wire {
    text: String,
    first: String,
    name: String,
    launch: String,
    defines: Vec<(String, String)>,
    /// As text, because JSON has neither 128-bit integers nor infinities.
    numbers: Vec<(String, String)>,
    flags: Vec<String>,
    kernel: String,
    /// Name and kind.
    parameters: Vec<(String, Kind)>,
    program: String,
    source: Code,
    folder: String,
    includes: Vec<String>,
    bytes: Vec<(String, Encoded)>,
    /// Path, extents, type, numbers.
    arrays: Vec<(String, Vec<usize>, String, Encoded)>,
    /// Path, channels asked for, width, height, channels, pixels.
    pictures: Vec<(String, usize, [usize; 3], Encoded)>,
    reference: Option<(String, Vec<(usize, Encoded)>)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Code {
    OpenClC(String),
    SpirV(Encoded),
}

/// As [`ParameterKind`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Buffer(Option<String>),
    Local,
    Image,
    Sampler,
    Value(String),
    Opaque(String, Option<usize>),
    Unknown,
}

/// Bytes in base64.
#[derive(Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct Encoded(Vec<u8>);

impl Clone for Encoded {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl From<Encoded> for String {
    fn from(encoded: Encoded) -> Self {
        STANDARD.encode(encoded.0)
    }
}

impl TryFrom<String> for Encoded {
    type Error = base64::DecodeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        STANDARD.decode(text).map(Self)
    }
}

impl From<KernelProblem> for Wire {
    fn from(problem: KernelProblem) -> Self {
        let KernelProblem { text, description, first, reference, .. } = problem;
        let KernelDescription { overrides, signature, files, .. } = description;
        let encoded = |(path, bytes)| (path, Encoded(bytes));
        let array = |(path, array): (String, Array)| {
            (path, array.extents, array.scalar.opencl_name().to_owned(), Encoded(array.bytes))
        };
        let picture = |((path, asked), pixels): ((String, usize), Pixels)| {
            (path, asked, [pixels.width, pixels.height, pixels.channels], Encoded(pixels.bytes))
        };
        let results = |results: Vec<(usize, Vec<u8>)>| {
            results.into_iter().map(|(argument, bytes)| (argument, Encoded(bytes))).collect()
        };
        Self {
            text,
            first,
            name: description.name,
            launch: description.launch,
            defines: overrides.defines,
            numbers: overrides.numbers.into_iter().map(|(name, number)| (name, number.to_string())).collect(),
            flags: description.flags,
            kernel: signature.kernel,
            parameters: signature.parameters.into_iter().map(|one| (one.name, one.kind.into())).collect(),
            program: description.program,
            source: match description.source {
                Source::SpirV(module) => Code::SpirV(Encoded(module.to_vec())),
                Source::OpenClC(text) => Code::OpenClC(text.to_string()),
                // There are no other forms.
                _ => Code::OpenClC(String::new()),
            },
            folder: description.folder,
            includes: description.includes,
            bytes: files.bytes.into_iter().map(encoded).collect(),
            arrays: files.arrays.into_iter().map(array).collect(),
            pictures: files.pictures.into_iter().map(picture).collect(),
            reference: reference.map(|one| (one.by, results(one.results))),
        }
    }
}

impl TryFrom<Wire> for KernelProblem {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        let number = |(name, text): (String, String)| {
            let number = match text.parse() {
                Ok(integer) => Number::Integer(integer),
                Err(_) => Number::Float(text.parse().map_err(|_| format!("`{text}` is not a number"))?),
            };
            Ok::<_, String>((name, number))
        };
        let parameter =
            |(name, kind): (String, Kind)| Ok::<_, String>(Parameter { name, kind: kind.try_into()? });
        let array = |(path, extents, scalar, bytes): (_, _, String, Encoded)| {
            Ok::<_, String>((path, Array { extents, scalar: element(&scalar)?.scalar(), bytes: bytes.0 }))
        };
        let picture = |(path, asked, [width, height, channels], bytes): (_, _, [usize; 3], Encoded)| {
            ((path, asked), Pixels { width, height, channels, bytes: bytes.0 })
        };
        let reference = |(by, results): (String, Vec<(usize, Encoded)>)| KernelReference {
            by,
            results: results.into_iter().map(|(argument, bytes)| (argument, bytes.0)).collect(),
        };
        let description = KernelDescription {
            name: wire.name,
            launch: wire.launch,
            overrides: Overrides {
                defines: wire.defines,
                numbers: wire.numbers.into_iter().map(number).collect::<Result<_, _>>()?,
            },
            flags: wire.flags,
            signature: Signature {
                kernel: wire.kernel,
                parameters: wire.parameters.into_iter().map(parameter).collect::<Result<_, _>>()?,
            },
            program: wire.program,
            source: match wire.source {
                Code::OpenClC(text) => Source::OpenClC(text.into()),
                Code::SpirV(module) => Source::SpirV(module.0.into()),
            },
            folder: wire.folder,
            includes: wire.includes,
            included: Vec::new(),
            files: KernelFiles {
                bytes: wire.bytes.into_iter().map(|(path, bytes)| (path, bytes.0)).collect(),
                arrays: wire.arrays.into_iter().map(array).collect::<Result<_, _>>()?,
                pictures: wire.pictures.into_iter().map(picture).collect(),
            },
        };
        Ok(Self {
            text: wire.text,
            description,
            first: wire.first,
            reference: wire.reference.map(reference),
            points: Arc::default(),
        })
    }
}

fn element(name: &str) -> Result<ElementType, String> {
    ElementType::from_opencl_name(name).ok_or_else(|| format!("`{name}` is not a type"))
}

impl From<ParameterKind> for Kind {
    fn from(kind: ParameterKind) -> Self {
        match kind {
            ParameterKind::Buffer { element } => Self::Buffer(element.map(|element| element.to_string())),
            ParameterKind::Local => Self::Local,
            ParameterKind::Image => Self::Image,
            ParameterKind::Sampler => Self::Sampler,
            ParameterKind::Value(element) => Self::Value(element.to_string()),
            ParameterKind::Opaque { type_name, bytes } => Self::Opaque(type_name, bytes),
            _ => Self::Unknown,
        }
    }
}

impl TryFrom<Kind> for ParameterKind {
    type Error = String;

    fn try_from(kind: Kind) -> Result<Self, String> {
        Ok(match kind {
            Kind::Buffer(name) => Self::Buffer { element: name.map(|name| element(&name)).transpose()? },
            Kind::Local => Self::Local,
            Kind::Image => Self::Image,
            Kind::Sampler => Self::Sampler,
            Kind::Value(name) => Self::Value(element(&name)?),
            Kind::Opaque(type_name, bytes) => Self::Opaque { type_name, bytes },
            Kind::Unknown => Self::Unknown,
        })
    }
}
