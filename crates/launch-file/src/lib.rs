//! The launch file: a description of one run of one kernel.
//!
//! [`parse`] reads the format of `docs/launch-files.md`, [`sim::parse`] reads Oclgrind's `.sim` files. Both return a
//! [`LaunchFile`] without reading any other file. Then the caller builds [`LaunchFile::program`], describes the
//! parameters of its kernels ([`Signature`]), and [`LaunchFile::load`] makes the arguments: values of the kernel's
//! types, and memory with its contents. [`Loaded::stage`] creates them on any executor, and [`StagedMemory::read`]
//! returns the results.

mod compare;
mod contents;
mod element;
mod error;
mod expression;
mod given;
mod load;
mod options;
mod parse;
mod picture;
mod range;
mod resolve;
mod sequence;
mod signature;
pub mod sim;
mod stage;
mod tuning;

pub use compare::{Comparison, Difference, Tolerance};
pub use contents::{Contents, Random};
pub use element::{ArrayShape, ElementType, Scalar};
pub use error::{FileError, FileReason};
pub use expression::Overrides;
pub use load::{Array, Files, Limits, Loaded, LoadedMemory, NoFiles};
pub use options::BuildOptions;
pub use parse::{parse, parse_combination, parse_with, plain_name};
pub use picture::Pixels;
pub use resolve::{Parameter, ParameterKind, Signature};
pub use sequence::{LaunchSequence, Queues, SequenceLaunch, Use, parse_sequence};
pub use signature::pointee;
pub use stage::{Outcome, Staged, StagedMemory};
pub use tuning::{ComparedResult, Tuning, TuningDimension, TuningPoints};

use std::fmt::Write as _;
use std::sync::Arc;

pub use tripipe_device::document::{LineColumn, Number};
use tripipe_launch::{
    Access, ChannelOrder, ChannelType, ImageExtent, NdRange, Program, Sampler, ScalarType, Source,
};

/// One run of one kernel: program, range and arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchFile {
    /// The file's name, for messages.
    pub name: String,
    /// The program's file.
    pub source: ProgramFile,
    /// Its build options.
    pub options: BuildOptions,
    /// The kernel; `None` selects the only one.
    pub kernel: Option<String>,
    /// Location of the kernel's name, or the start of the file.
    pub kernel_location: LineColumn,
    /// Number of work-items, and the work-group size.
    pub range: NdRange,
    /// The arguments in order.
    pub arguments: Vec<Entry>,
    /// What can be varied about it: its table `[tune]`.
    pub tuning: Option<Tuning>,
}

/// The file of a program: a path as given in the launch file, relative to that file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramFile {
    /// OpenCL C.
    OpenClC {
        /// Its path.
        path: String,
    },
    /// A SPIR-V module.
    SpirV {
        /// Its path.
        path: String,
    },
}

impl ProgramFile {
    /// The path.
    pub fn path(&self) -> &str {
        match self {
            Self::OpenClC { path } | Self::SpirV { path } => path,
        }
    }
}

/// One argument of a launch file.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name, which must match the kernel's name for it.
    pub name: Option<String>,
    /// Its location in the file.
    pub location: LineColumn,
    /// What is passed.
    pub given: Given,
}

/// What is passed for an argument.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Given {
    /// A buffer or an image.
    Memory(Memory),
    /// A scalar or vector by value.
    Value {
        /// Its type; `None` selects the kernel's.
        element: Option<ElementType>,
        /// One number per lane.
        numbers: Vec<Number>,
    },
    /// A struct by value.
    Bytes(BytesFrom),
    /// Local memory.
    Local {
        /// Size in bytes, at least 1.
        bytes: usize,
    },
    /// A sampler.
    Sampler(Sampler),
    /// `NULL` instead of a buffer.
    Null,
    /// The memory object of an earlier argument.
    SameAs {
        /// The index of that argument, from 0. It is [`Self::Memory`].
        index: usize,
    },
    /// A number of bytes whose use depends on the kernel's parameter, from a `.sim` file.
    Sized(sim::SizedArgument),
}

/// The bytes of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BytesFrom {
    /// Given in the launch file.
    Written(Arc<[u8]>),
    /// The contents of a file.
    File {
        /// Its path, as given in the launch file.
        path: String,
    },
}

/// A buffer or an image, its contents, and what is done with it after the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Its kind and shape.
    pub shape: MemoryShape,
    /// Its contents before the run.
    pub contents: Contents,
    /// The access of kernels to it.
    pub access: Access,
    /// How it is output after the run.
    pub dump: Option<Dump>,
    /// Its expected contents after the run.
    pub expect: Option<Expect>,
}

/// Kind and shape of a memory object, as far as the launch file specifies them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryShape {
    /// A buffer.
    Buffer {
        /// Its element type.
        element: ElementType,
        /// Elements in each dimension; `None` uses the size of the contents' file.
        extents: Option<Vec<usize>>,
    },
    /// An image.
    Image {
        /// Its extent; `None` uses the size of the contents' picture.
        extent: Option<ImageExtent>,
        /// Channels of a texel.
        order: ChannelOrder,
        /// Type of a channel.
        channel: ChannelType,
    },
}

/// How a memory object is output after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dump {
    /// As text, its numbers.
    Text {
        /// Whether in base 16; floats are shown as their bits.
        hexadecimal: bool,
    },
    /// A file of its bytes.
    Raw {
        /// Its path, as given in the launch file.
        path: String,
    },
    /// A `.npy` file of its numbers, the lanes of vectors as the last dimension.
    Npy {
        /// Its path, as given in the launch file.
        path: String,
    },
    /// A picture: `[height, width]` elements of 1, 2, 3 or 4 lanes, or `[height, width, channels]`; `uchar`, or `half`
    /// and
    /// `float` from 0 to 1.
    Picture {
        /// Its path, as given in the launch file.
        path: String,
    },
}

impl Dump {
    /// The output file, as given in the launch file; `None` if it is not written to a file.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Text { .. } => None,
            Self::Raw { path } | Self::Npy { path } | Self::Picture { path } => Some(path),
        }
    }
}

/// The expected contents of a memory object after the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// The expected numbers; never [`Contents::Unwritten`].
    pub contents: Contents,
    /// The permitted deviation.
    pub tolerance: Tolerance,
}

impl LaunchFile {
    /// The program to build: `source` is the content of [`LaunchFile::source`], `name` is its name in messages.
    /// `folder` converts the folder of an `-I` option, as given in the launch file, to one that the compiler can find.
    pub fn program(&self, name: String, source: Source, folder: impl Fn(&str) -> String) -> Program {
        let mut program = Program {
            name: name.into(),
            source,
            defines: self.options.defines.clone(),
            options: self.options.flags.clone(),
        };
        for include in &self.options.includes {
            program.options.extend(["-I".to_owned(), folder(include)]);
        }
        program
    }

    /// Removes what is expected and shown after the run, for runs whose results nobody looks at: its files need not
    /// exist.
    pub fn forget_results(&mut self) {
        for entry in &mut self.arguments {
            if let Given::Memory(memory) = &mut entry.given {
                (memory.dump, memory.expect) = (None, None);
            }
        }
    }

    /// The type that the file gives the elements of each argument's buffer; `None` for other arguments, and for bytes
    /// from a file, which may be anything.
    pub fn element_types(&self) -> Vec<Option<ScalarType>> {
        let mut types: Vec<Option<ScalarType>> = Vec::new();
        for entry in &self.arguments {
            types.push(match &entry.given {
                Given::Memory(Memory { shape: MemoryShape::Buffer { element, .. }, contents, .. }) => {
                    let is_raw = element.scalar().bytes() == 1 && matches!(contents, Contents::File { .. });
                    (!is_raw).then_some(element.scalar())
                }
                Given::SameAs { index } => types.get(*index).copied().flatten(),
                _ => None,
            });
        }
        types
    }

    fn error(&self, location: LineColumn, reason: FileReason) -> FileError {
        FileError { file: self.name.clone(), location, reason: Box::new(reason) }
    }
}

/// A text as a basic string of TOML, with its quotes.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}
