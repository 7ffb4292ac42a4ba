//! The launch file: one run of one kernel, written down.
//!
//! [`parse`] reads the format of `docs/launch-files.md`, [`sim::parse`] Oclgrind's `.sim` files, both into a
//! [`LaunchFile`] and without looking at any other file. Then the caller builds [`LaunchFile::program`], says what the
//! kernels in it take ([`Signature`]), and [`LaunchFile::load`] makes the arguments: values of the kernel's types, and
//! memory with its contents. [`Loaded::stage`] puts them on any executor, and [`StagedMemory::read`] says what came out.

mod compare;
mod contents;
mod element;
mod error;
mod load;
mod options;
mod parse;
mod picture;
mod resolve;
pub mod sim;
mod stage;
mod table;

pub use compare::{Comparison, Difference, Tolerance};
pub use contents::{Contents, Random};
pub use element::{ArrayShape, ElementType, Number, Scalar};
pub use error::{FileError, FileReason, Place};
pub use load::{Array, Files, Limits, Loaded, LoadedMemory};
pub use options::BuildOptions;
pub use parse::parse;
pub use picture::Pixels;
pub use resolve::{Parameter, ParameterKind, Signature};
pub use stage::{Outcome, Staged, StagedMemory};

use std::sync::Arc;

use crate::{Access, ChannelOrder, ChannelType, ImageExtent, NdRange, Program, Sampler, Source};

/// One run of one kernel: program, range and arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchFile {
    /// The file's name, for messages.
    pub name: String,
    /// Where the program is.
    pub source: ProgramFile,
    /// What it is built with.
    pub options: BuildOptions,
    /// The kernel; `None` takes the only one.
    pub kernel: Option<String>,
    /// Where the kernel is named, or the file's start.
    pub kernel_place: Place,
    /// How many work-items, in which groups.
    pub range: NdRange,
    /// The arguments in order.
    pub arguments: Vec<Entry>,
}

/// Where a program is: a path as the launch file has it, relative to that file.
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
    /// Its name; must be the kernel's for it.
    pub name: Option<String>,
    /// Where it stands.
    pub place: Place,
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
        /// Its type; `None` takes the kernel's.
        element: Option<ElementType>,
        /// A number a lane.
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
    /// `NULL` in the place of a buffer.
    Null,
    /// The memory of an earlier argument again.
    SameAs {
        /// That argument, from 0. It is [`Self::Memory`].
        index: usize,
    },
    /// So many bytes, whose use follows from the kernel's parameter: what a `.sim` file says.
    Sized(sim::SizedArgument),
}

/// The bytes of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BytesFrom {
    /// Written down.
    Written(Arc<[u8]>),
    /// Those of a file.
    File {
        /// Its path as the launch file has it.
        path: String,
    },
}

/// A buffer or an image, what it holds, and what becomes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// What it is.
    pub shape: MemoryShape,
    /// What it holds before the kernel runs.
    pub contents: Contents,
    /// What kernels do with it.
    pub access: Access,
    /// What is shown of it afterwards.
    pub dump: Option<Dump>,
    /// What it must hold afterwards.
    pub expect: Option<Expect>,
}

/// What a memory object is, as far as the launch file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryShape {
    /// A buffer.
    Buffer {
        /// What it is made of.
        element: ElementType,
        /// Elements in each dimension; `None` takes them from the contents' file.
        extents: Option<Vec<usize>>,
    },
    /// An image.
    Image {
        /// How large it is; `None` takes the size of the contents' picture.
        extent: Option<ImageExtent>,
        /// Channels of a texel.
        order: ChannelOrder,
        /// Type of a channel.
        channel: ChannelType,
    },
}

/// What is shown of a memory object after the run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dump {
    /// Its numbers.
    Text {
        /// In base 16: for floats, their bits.
        hexadecimal: bool,
    },
    /// A file of its bytes.
    Raw {
        /// Its path as the launch file has it.
        path: String,
    },
    /// A `.npy` file of its numbers, the lanes of vectors as the last dimension.
    Npy {
        /// Its path as the launch file has it.
        path: String,
    },
    /// A picture: `[height, width]` elements of 1, 2, 3 or 4 lanes, or `[height, width, channels]`; `uchar`, or `half` and
    /// `float` from 0 to 1.
    Picture {
        /// Its path as the launch file has it.
        path: String,
    },
}

impl Dump {
    /// The file it goes to, as the launch file has it; `None` when it goes to no file.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Text { .. } => None,
            Self::Raw { path } | Self::Npy { path } | Self::Picture { path } => Some(path),
        }
    }
}

/// What a memory object must hold after the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// The right numbers; never [`Contents::Unwritten`].
    pub contents: Contents,
    /// How far from them is right too.
    pub tolerance: Tolerance,
}

impl LaunchFile {
    /// The program to build: `source` is the content of [`LaunchFile::source`], `name` what messages call it. `folder`
    /// turns the folder of an `-I` option, as the launch file has it, into one that can be found.
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

    fn error(&self, place: Place, reason: FileReason) -> FileError {
        FileError { file: self.name.clone(), place, reason: Box::new(reason) }
    }
}
