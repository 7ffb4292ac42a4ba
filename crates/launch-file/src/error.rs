//! Errors in launch files.

use thiserror::Error;

use tripipe_device::document::{Item, LineColumn, Number, ReadError, ReadReason, suggestion};
use tripipe_launch::ImageShapeError;

use crate::element::{ArrayShape, ElementType, integer_range};

/// The first part of a long text, for messages.
fn beginning(text: &str) -> String {
    /// The number of characters that a message repeats.
    const MOST: usize = 200;

    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// An error in a launch file, with its location.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{file}:{}:{}: {reason}", location.line, location.column)]
pub struct FileError {
    /// The file's name, as given by the caller.
    pub file: String,
    /// The location.
    pub location: LineColumn,
    /// The cause.
    pub reason: Box<FileReason>,
}

impl From<ReadError> for FileError {
    fn from(ReadError { file, location, reason }: ReadError) -> Self {
        Self { file, location, reason: Box::new((*reason).into()) }
    }
}

/// An error with `reason`, located at the value.
pub(crate) fn error_at(item: &Item<'_>, reason: FileReason) -> FileError {
    FileError { file: item.file().to_owned(), location: item.location(), reason: Box::new(reason) }
}

/// Why a launch file cannot be run.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FileReason {
    /// Not TOML, an unknown or missing key, or a value of the wrong type or out of range.
    #[error(transparent)]
    Read(#[from] ReadReason),
    /// A number that its element type cannot represent.
    #[error("{number} does not fit `{element}`{}", room(*element))]
    Misfit {
        /// The number.
        number: Number,
        /// The type.
        element: ElementType,
    },
    /// More or fewer numbers than the array has.
    #[error("{found} numbers for {want}")]
    Numbers {
        /// The number of numbers found.
        found: usize,
        /// What they are for, and how many that requires.
        want: String,
    },
    /// An array whose size is not specified.
    #[error("the size of {name} is missing; add `{keys}`")]
    Unsized {
        /// The argument's name in messages.
        name: String,
        /// The keys that would specify it.
        keys: &'static str,
    },
    /// An image that is not possible.
    #[error(transparent)]
    Image(#[from] ImageShapeError),
    /// A word in the build options that is not an option.
    #[error("`{word}` in the options: {reason}")]
    Option {
        /// The word.
        word: String,
        /// The reason.
        reason: &'static str,
    },
    /// A size that is an expression without a possible value.
    #[error("\"{}\": {reason}", beginning(text))]
    Expression {
        /// The expression.
        text: String,
        /// The reason.
        reason: String,
    },
    /// A parameter of `[tune]` whose name no macro can have.
    #[error(
        "`{name}` cannot be the name of a parameter: want that of a macro (letters, digits and `_`), other than local \
        and options"
    )]
    ParameterName {
        /// The name.
        name: String,
    },
    /// `[tune]` has too many combinations.
    #[error("the values have {count} combinations, more than {most}; give fewer values")]
    Combinations {
        /// Their number, in words.
        count: String,
        /// The limit.
        most: u64,
    },
    /// A combination that is none of `[tune]`.
    #[error("`{text}` is no combination of the values of `[tune]`, as in `{example}`")]
    NoCombination {
        /// What was given.
        text: String,
        /// One that is.
        example: String,
    },
    /// Tuning without the table.
    #[error("the table `[tune]` is missing, with the values to choose from (docs/launch-files.md)")]
    NoTuning,
    /// `same_as` does not name a memory object.
    #[error("`same_as` names {found}, which {reason}")]
    SameAs {
        /// What it names.
        found: String,
        /// The reason.
        reason: &'static str,
    },
    /// `use` does not name the memory of an earlier launch.
    #[error("`use` names {found}, which {reason}")]
    Use {
        /// What it names.
        found: String,
        /// The reason.
        reason: &'static str,
    },
    /// Several launches where one is wanted.
    #[error(
        "the file has a list of {launches} launches, which `tripipe check`, `improve`, `simulate` and `run-kernel` take; other \
        commands want a file of its own for each launch (docs/launch-files.md)"
    )]
    Several {
        /// Their number.
        launches: usize,
    },
    /// The program has several kernels, and the file does not name one.
    #[error("`kernel` is missing, and {program} has {}; name one", some(.kernels))]
    WhichKernel {
        /// The program.
        program: String,
        /// Its kernels.
        kernels: Vec<String>,
    },
    /// The program has no such kernel.
    #[error("{program} has no kernel `{kernel}`{}; it has {}", suggestion(.nearest.as_deref()), some(.kernels))]
    NoSuchKernel {
        /// The program.
        program: String,
        /// The requested kernel.
        kernel: String,
        /// A kernel with a similar name.
        nearest: Option<String>,
        /// The kernels of the program.
        kernels: Vec<String>,
    },
    /// Too many or too few arguments.
    #[error("kernel `{kernel}` takes {want} arguments ({}), the file has {found}", .names.join(", "))]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Number of arguments it takes.
        want: usize,
        /// Their names, as far as known.
        names: Vec<String>,
        /// Number of arguments in the file.
        found: usize,
    },
    /// An argument's name differs from the kernel's.
    #[error(
        "argument {index} is called `{found}` here and `{want}` in kernel `{kernel}`; are they in order?"
    )]
    ArgumentName {
        /// The kernel.
        kernel: String,
        /// 0-based position.
        index: usize,
        /// The kernel's name for it.
        want: String,
        /// The name in the file.
        found: String,
    },
    /// An argument whose kind differs from the kernel's declaration.
    #[error("argument {index} (`{name}`) of kernel `{kernel}` is {want}, not {found}")]
    ArgumentKind {
        /// The kernel.
        kernel: String,
        /// 0-based position.
        index: usize,
        /// Its name.
        name: String,
        /// The kernel's declaration.
        want: String,
        /// The argument in the file.
        found: String,
    },
    /// A value whose type is given neither by the kernel nor by the file.
    #[error("the type of `{name}` is not known; add `type`, e.g. type = \"int\"")]
    Untyped {
        /// The argument.
        name: String,
    },
    /// More memory than allowed.
    #[error("the arguments need {}, over the limit of {limit} bytes; make them smaller, or raise the limit", bytes.map_or_else(|| "too \
        many bytes to count".to_owned(), |bytes| format!("{bytes} bytes")))]
    TooLarge {
        /// Total bytes of all arrays, including the one that exceeds the limit; `None` if the sum overflows.
        bytes: Option<u64>,
        /// The limit.
        limit: u64,
    },
    /// Another file that cannot be read, or not in the expected format.
    #[error("{message}")]
    Other {
        /// What is wrong, with the file's name.
        message: String,
    },
    /// A file whose contents do not fit the array.
    #[error("{path} holds {found}, but `{name}` needs {want}{hint}")]
    Holds {
        /// The file.
        path: String,
        /// The contents of the file.
        found: String,
        /// The argument.
        name: String,
        /// What the argument requires.
        want: String,
        /// A hint with its leading punctuation; may be empty.
        hint: String,
    },
    /// An array that is to be written as a picture, but whose shape or type does not allow it.
    #[error(
        "{path} cannot show `{name}`, which is {array}: pictures are [height, width] elements of up to 4 \
        lanes, or [height, width, channels], of uchar, half or float; set `count` accordingly, or choose \
        .npy"
    )]
    NoPicture {
        /// The picture's path.
        path: String,
        /// The argument.
        name: String,
        /// Its shape.
        array: ArrayShape,
    },
    /// A syntax error in a `.sim` file.
    #[error("{found}, but want {want}")]
    Sim {
        /// What was found.
        found: String,
        /// What was expected.
        want: String,
    },
}

fn some(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn room(element: ElementType) -> String {
    integer_range(element.scalar())
        .map(|range| format!(" ({} to {})", range.start(), range.end()))
        .unwrap_or_default()
}
