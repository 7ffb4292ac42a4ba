//! What can be wrong with a launch file.

use thiserror::Error;

use super::element::{ArrayShape, ElementType, Number, integer_range};
use crate::ImageShapeError;

/// A place in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// A launch file that cannot be run: where, and why.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{file}:{}:{}: {reason}", place.line, place.column)]
pub struct FileError {
    /// The file's name as the caller gave it.
    pub file: String,
    /// Where.
    pub place: Place,
    /// Why.
    pub reason: Box<FileReason>,
}

/// Why a launch file cannot be run.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum FileReason {
    /// It is not TOML.
    #[error("not TOML: {message}")]
    Syntax {
        /// What the TOML parser says.
        message: String,
    },
    /// A key that nothing here has.
    #[error("unknown key `{key}` in {table}{}; there are {}", suggestion(.nearest.as_deref()), .allowed.join(", "))]
    UnknownKey {
        /// The table it stands in.
        table: String,
        /// The key.
        key: String,
        /// A key of the table with a similar name.
        nearest: Option<String>,
        /// The keys of the table.
        allowed: Vec<&'static str>,
    },
    /// One of several keys must be there, and none is.
    #[error("{table} needs {}", either(.keys))]
    MissingKey {
        /// The table.
        table: String,
        /// The keys, of which one is needed.
        keys: Vec<&'static str>,
    },
    /// Keys of which only one can be there.
    #[error("{table} has both `{first}` and `{second}`; keep one")]
    Conflict {
        /// The table.
        table: String,
        /// A key.
        first: &'static str,
        /// Another.
        second: &'static str,
    },
    /// A value of another type.
    #[error("`{key}` must be {want}, not {found}")]
    WrongType {
        /// The key.
        key: String,
        /// What it must be.
        want: &'static str,
        /// The TOML type found.
        found: &'static str,
    },
    /// A value out of range.
    #[error("`{key}` is {found}, but must be {want}")]
    Impossible {
        /// The key.
        key: String,
        /// The value as written.
        found: String,
        /// What it must be.
        want: String,
    },
    /// A word that is none of the words allowed.
    #[error("`{key}` is \"{found}\"{}; there are {}", suggestion(.nearest.as_deref()), .allowed.join(", "))]
    UnknownWord {
        /// The key.
        key: String,
        /// The word found.
        found: String,
        /// An allowed word with a similar name.
        nearest: Option<String>,
        /// The words allowed.
        allowed: Vec<String>,
    },
    /// A number that its element type does not hold.
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
        /// How many there are.
        found: usize,
        /// What they are for, with how many it takes.
        want: String,
    },
    /// An array whose size nothing says.
    #[error("nothing says how large {name} is; add `{keys}`")]
    Unsized {
        /// What messages call the argument.
        name: String,
        /// The keys that would.
        keys: &'static str,
    },
    /// An image that there cannot be.
    #[error(transparent)]
    Image(#[from] ImageShapeError),
    /// A word in the build options that is none.
    #[error("`{word}` in the options: {reason}")]
    Option {
        /// The word.
        word: String,
        /// Why it cannot be.
        reason: &'static str,
    },
    /// `same_as` names no memory.
    #[error("`same_as` names {found}, which {reason}")]
    SameAs {
        /// What it names.
        found: String,
        /// Why that cannot be.
        reason: &'static str,
    },
    /// The program has several kernels and the file names none.
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
        /// The kernel asked for.
        kernel: String,
        /// A kernel with a similar name.
        nearest: Option<String>,
        /// The kernels there are.
        kernels: Vec<String>,
    },
    /// Too many or too few arguments.
    #[error("kernel `{kernel}` takes {want} arguments ({}), the file has {found}", .names.join(", "))]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// How many it takes.
        want: usize,
        /// What they are called, as far as known.
        names: Vec<String>,
        /// How many the file has.
        found: usize,
    },
    /// An argument's name is not the kernel's.
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
        /// The file's.
        found: String,
    },
    /// An argument of another kind than the kernel declares.
    #[error("argument {index} (`{name}`) of kernel `{kernel}` is {want}, not {found}")]
    ArgumentKind {
        /// The kernel.
        kernel: String,
        /// 0-based position.
        index: usize,
        /// Its name.
        name: String,
        /// What the kernel declares.
        want: String,
        /// What the file gives.
        found: String,
    },
    /// A value whose type neither the kernel nor the file says.
    #[error("the type of `{name}` is not known; add `type`, e.g. type = \"int\"")]
    Untyped {
        /// The argument.
        name: String,
    },
    /// More memory than allowed.
    #[error("the arguments need {}, over the limit of {limit} bytes; make them smaller or raise the limit", bytes.map_or_else(|| "more bytes than can be counted".to_owned(), |bytes| format!("{bytes} bytes")))]
    TooLarge {
        /// Bytes of all arrays up to the one that is too much; `None` when they cannot be counted.
        bytes: Option<u64>,
        /// The limit.
        limit: u64,
    },
    /// A file beside the launch file that cannot be read, or not as what it is read as.
    #[error("{message}")]
    Other {
        /// What is wrong, with the file's name.
        message: String,
    },
    /// A file that does not hold what the array takes.
    #[error("{path} holds {found}, `{name}` takes {want}{hint}")]
    Holds {
        /// The file.
        path: String,
        /// What is in it.
        found: String,
        /// The argument.
        name: String,
        /// What it takes.
        want: String,
        /// What may help, with what leads up to it; may be empty.
        hint: String,
    },
    /// An array that is to be shown as a picture, and is none.
    #[error(
        "{path} cannot show `{name}`, which is {array}: pictures are [height, width] elements of up to 4 lanes, or \
         [height, width, channels], of uchar, half or float; say so by `count`, or choose .npy"
    )]
    NoPicture {
        /// The picture's path.
        path: String,
        /// The argument.
        name: String,
        /// What it is.
        array: ArrayShape,
    },
    /// A `.sim` file that does not go on as one.
    #[error("{found}, but want {want}")]
    Sim {
        /// What there is.
        found: String,
        /// What should be there.
        want: String,
    },
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}

fn either(keys: &[&str]) -> String {
    match keys {
        [key] => format!("`{key}`"),
        keys => format!("one of {}", keys.join(", ")),
    }
}

fn some(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn room(element: ElementType) -> String {
    integer_range(element.scalar())
        .map(|range| format!(" ({} to {})", range.start(), range.end()))
        .unwrap_or_default()
}

/// The candidate most like `name`; `None` when none is alike enough to be a slip of the pen.
pub(super) fn nearest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<String> {
    // Jaro-Winkler favours a common beginning; below this two words share little more than chance.
    const ALIKE: f64 = 0.8;
    candidates
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.to_owned())
}
