//! What a build is given, and what comes of it.

use std::path::PathBuf;

use tripipe_cache::Cache;
use tripipe_device::OpenCl;

/// How much clang optimises the code before it is translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Optimization {
    /// No optimisation: the code as written in the source.
    #[default]
    AsWritten,
    /// `-O1` without unrolling and vectorisation.
    O1,
    /// `-O2` without unrolling and vectorisation.
    O2,
    /// `-O2` with generous unrolling, in part where a loop is long, and without vectorisation: what drivers, which are
    /// also based on LLVM, do before they select instructions.
    Driver,
}

/// The options for an optimisation level.
pub(super) fn level(optimization: Optimization) -> &'static [&'static str] {
    match optimization {
        Optimization::AsWritten => &["-O1", "-Xclang", "-disable-llvm-passes"],
        Optimization::O1 => &["-O1", "-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize"],
        Optimization::O2 => &["-O2", "-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize"],
        Optimization::Driver => &[
            "-O2",
            "-fno-vectorize",
            "-fno-slp-vectorize",
            "-mllvm",
            "-disable-loop-idiom-all",
            "-mllvm",
            "-unroll-threshold=1500",
            // A loop over that limit is unrolled in part, up to LLVM's own limit for targets that do so (150 instructions):
            // one more iteration must not undo all unrolling.
            "-mllvm",
            "-unroll-allow-partial",
            "-mllvm",
            "-disable-vector-combine",
        ],
    }
}

/// The options of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// `-D` and other options in the syntax of OpenCL's `clBuildProgram`: `-D N=4 -I inc -cl-std=CL2.0
    /// -cl-fast-relaxed-math`.
    pub options: Vec<String>,
    /// How much clang optimises.
    pub optimization: Optimization,
    /// What the device offers for which the text is built; `None` offers everything, and tries several versions of the
    /// language.
    pub offered: Option<OpenCl>,
    /// The cache for built kernels; `None` builds every time. [`Cache::from_environment`] is the user's.
    pub cache: Option<Cache>,
}

impl Build {
    /// A build with an option string in the syntax of `clBuildProgram`, at the default level, without a cache.
    pub fn with_options(text: &str) -> Self {
        Self { options: text.split_whitespace().map(str::to_owned).collect(), ..Self::default() }
    }
}

/// The result of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The SPIR-V module.
    pub spirv: Vec<u8>,
    /// Warnings, in clang's wording.
    pub warnings: String,
    /// Whether the result came from the cache.
    pub cached: bool,
}

/// Why a build failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// This machine has no usable compiler.
    #[error(
        "no {tool} found (looked for {looked_for}): install the Debian packages `clang-15` and `llvm-spirv-15`, or name it by {variable}"
    )]
    ToolMissing {
        /// The missing tool.
        tool: &'static str,
        /// The names that were tried.
        looked_for: String,
        /// The environment variable that can name the tool.
        variable: &'static str,
    },
    /// A tool could not be started.
    #[error("{program} could not be started: {error}")]
    Start {
        /// The program.
        program: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// The source has errors.
    #[error("{name} does not compile:\n{messages}")]
    Compile {
        /// The source's name.
        name: String,
        /// All messages in clang's wording, with file, line, column and caret.
        messages: String,
    },
    /// The translator rejects clang's output.
    #[error("{program} cannot translate {name}:\n{messages}")]
    Translate {
        /// The source's name.
        name: String,
        /// The translator.
        program: String,
        /// The translator's messages.
        messages: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
}
