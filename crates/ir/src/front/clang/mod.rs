//! OpenCL C into SPIR-V by clang.
//!
//! # Which clang
//! `TRIPIPE_CLANG` and `TRIPIPE_LLVM_SPIRV` name the tools; else `clang-15` (Debian 12's, with `llvm-spirv-15`) and newer
//! ones with the translator of the same version are looked for on the path, then a clang whose own SPIR-V back end serves
//! (22 and newer, which writes no line numbers into SPIR-V).
//!
//! # At which level of optimisation
//! [`Optimization::AsWritten`] is the default: clang generates code as it does for `-O1` and runs no pass over it
//! (`-O1 -Xclang -disable-llvm-passes`). What comes out has every access, loop, vector and line of the source, and the
//! lifetime of every variable; what the source does wrong is still in it, where `-O1` would have made use of it
//! (an index past an array, a shift past the width, an unwritten variable all fold away), turned loops into copies, and
//! merged lines. The cleaning that such code needs to be run and priced is [`crate::transform`]'s, which keeps all that.
//! `-O1` and `-O2` are there to be chosen; loops are then neither unrolled nor vectorised.
//!
//! # Cache
//! The key is a hash of the preprocessed text (so includes count, and `-I` only through them), options, level, and the
//! versions of the tools. Files are written whole or not at all; a damaged or foreign file is made anew.

mod cache;
mod tools;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use tools::{Clang, Translator};

/// How much clang does to the code before it is translated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Optimization {
    /// Nothing: the code as the source has it.
    #[default]
    AsWritten,
    /// `-O1` without unrolling and vectorisation.
    O1,
    /// `-O2` without unrolling and vectorisation.
    O2,
}

/// What is built, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Build {
    /// `-D` and other options as OpenCL's `clBuildProgram` takes them: `-D N=4 -I inc -cl-std=CL2.0 -cl-fast-relaxed-math`.
    pub options: Vec<String>,
    /// How much clang optimises.
    pub optimization: Optimization,
    /// Where built kernels are kept; `None` builds every time.
    pub cache: Option<PathBuf>,
}

impl Build {
    /// A build with an option string as `clBuildProgram` takes it, at the default level, without a cache.
    pub fn with_options(text: &str) -> Self {
        Self { options: text.split_whitespace().map(str::to_owned).collect(), ..Self::default() }
    }
}

/// What came out of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The SPIR-V module.
    pub spirv: Vec<u8>,
    /// Warnings, as clang words them; empty when it came from the cache.
    pub warnings: String,
    /// Whether it came from the cache.
    pub cached: bool,
}

/// Why there is no SPIR-V.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No compiler that serves is on this machine.
    #[error(
        "no {tool} found (looked for {looked_for}): install the Debian packages `clang-15` and `llvm-spirv-15`, or name it by {variable}"
    )]
    ToolMissing {
        /// What is missing.
        tool: &'static str,
        /// Names tried.
        looked_for: String,
        /// The variable that may name it.
        variable: &'static str,
    },
    /// A tool could not be started.
    #[error("{program} could not be started: {error}")]
    Start {
        /// Which.
        program: String,
        /// Why.
        error: std::io::Error,
    },
    /// The source has errors.
    #[error("{name} does not compile:\n{messages}")]
    Compile {
        /// The source's name.
        name: String,
        /// All messages as clang words them: file, line, column, caret.
        messages: String,
    },
    /// The translator refuses what clang made.
    #[error("{program} cannot translate {name}:\n{messages}")]
    Translate {
        /// The source's name.
        name: String,
        /// The translator.
        program: String,
        /// What it says.
        messages: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// Builds a source file.
///
/// # Errors
/// The file cannot be read, no compiler is there, or the source has errors.
pub fn build_file(path: &Path, build: &Build) -> Result<Built, BuildError> {
    let text = fs::read_to_string(path).map_err(|error| BuildError::File { path: path.to_owned(), error })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    build_text(&path.to_string_lossy(), &text, folder, build)
}

/// Builds source text that messages and line information call `name`; includes in quotes are looked for in `folder`.
///
/// # Errors
/// No compiler is there, or the source has errors.
pub fn build_text(name: &str, text: &str, folder: Option<&Path>, build: &Build) -> Result<Built, BuildError> {
    let tools = Clang::find()?;
    let mut arguments = arguments(&tools, build, folder);
    // `#line` gives the text its name; the source goes in by a file, since clang reads standard input only once.
    let work = tempfile::tempdir().map_err(|error| BuildError::File { path: std::env::temp_dir(), error })?;
    // Files are called what the caller calls them, not by where the compiler happened to run.
    let place = work.path().to_string_lossy().into_owned();
    arguments.push(format!("-fdebug-compilation-dir={place}").into());
    arguments.push(format!("-fdebug-prefix-map={place}=").into());
    let source = work.path().join("kernel.cl");
    let marked = format!("#line 1 \"{}\"\n{text}", name.replace('\\', "\\\\").replace('"', "\\\""));
    fs::write(&source, marked).map_err(|error| BuildError::File { path: source.clone(), error })?;
    let preprocessed =
        run(&tools.program, &[&arguments[..], &["-E".into(), source.clone().into()]].concat(), name)?;
    // Where the text lay for a moment is no part of what it says.
    let preprocessed = String::from_utf8_lossy(&preprocessed.output).replace(&place, "");
    let key = build.cache.as_ref().map(|folder| {
        let described = [tools.describe(), format!("{:?} {:?}", build.optimization, build.options)].concat();
        (folder, cache::key(&described, name, preprocessed.as_bytes()))
    });
    if let Some((folder, key)) = &key
        && let Some(spirv) = cache::read(folder, key)
    {
        return Ok(Built { spirv, warnings: String::new(), cached: true });
    }
    let output = work.path().join("kernel.spv");
    let mut compile = arguments;
    let warnings = match &tools.translator {
        Translator::Tool { program, .. } => {
            let bitcode = work.path().join("kernel.bc");
            compile.extend(["-emit-llvm", "-c", "-o"].map(OsString::from));
            compile.extend([bitcode.clone().into(), source.into()]);
            let compiled = run(&tools.program, &compile, name)?;
            let mut translate: Vec<OsString> = vec![
                bitcode.into(),
                "-o".into(),
                output.clone().into(),
                // The newest whose rules the translator keeps; the extensions are those that `spirv` knows.
                "--spirv-max-version=1.3".into(),
                "--preserve-ocl-kernel-arg-type-metadata-through-string".into(),
                tools::EXTENSIONS.into(),
            ];
            let mut messages = compiled.messages;
            if run(program, &translate, name).is_err() {
                // llvm-spirv-15 stops at a sampler that is kept in a variable, as the parameters of functions are.
                translate.push("--spirv-mem2reg".into());
                run(program, &translate, name).map_err(|error| match error {
                    BuildError::Compile { name, messages } => {
                        BuildError::Translate { name, program: program.display().to_string(), messages }
                    }
                    other => other,
                })?;
                messages.push_str(SECOND_TRY);
            }
            messages
        }
        Translator::BackEnd => {
            compile.extend(["-fintegrated-objemitter", "-c", "-o"].map(OsString::from));
            compile.extend([output.clone().into(), source.into()]);
            run(&tools.program, &compile, name)?.messages
        }
    };
    let spirv = fs::read(&output).map_err(|error| BuildError::File { path: output, error })?;
    if let Some((folder, key)) = &key {
        cache::write(folder, key, &spirv)
            .map_err(|error| BuildError::File { path: (*folder).clone(), error })?;
    }
    Ok(Built { spirv, warnings, cached: false })
}

/// Options for every step but what comes in and goes out.
fn arguments(tools: &Clang, build: &Build, folder: Option<&Path>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = ["-x", "cl"].map(OsString::from).to_vec();
    arguments.push(match tools.translator {
        Translator::Tool { .. } => "--target=spir64-unknown-unknown".into(),
        Translator::BackEnd => "--target=spirv64-unknown-unknown".into(),
    });
    let level: &[&str] = match build.optimization {
        Optimization::AsWritten => &["-O1", "-Xclang", "-disable-llvm-passes"],
        Optimization::O1 => &["-O1", "-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize"],
        Optimization::O2 => &["-O2", "-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize"],
    };
    let always = [
        "-gline-tables-only",
        "-fno-discard-value-names",
        "-cl-kernel-arg-info",
        "-Xclang",
        "-finclude-default-header",
        "-Xclang",
        "-cl-ext=+all",
        // Vendors' pragmas that this clang does not know are the kernel's business.
        "-Wno-ignored-pragmas",
    ];
    arguments.extend(level.iter().chain(&always).map(OsString::from));
    if tools.keeps_three_lanes() {
        // A vector of three lanes is loaded as three, not four.
        arguments.extend(["-Xclang", "-fpreserve-vec3-type"].map(OsString::from));
    }
    if let Some(folder) = folder {
        arguments.extend(["-iquote".into(), folder.as_os_str().to_owned()]);
    }
    let mut options = build.options.iter().peekable();
    while let Some(option) = options.next() {
        if VENDOR_OPTIONS.iter().any(|vendor| option.starts_with(vendor)) {
            continue;
        }
        // `-D N=4` as two words, as the OpenCL specification has it, is one for clang too.
        arguments.push(option.into());
        if matches!(option.as_str(), "-D" | "-I" | "-U")
            && let Some(value) = options.next()
        {
            arguments.push(value.into());
        }
    }
    arguments
}

/// How options start that only a vendor's driver takes. None of them changes what a kernel computes.
const VENDOR_OPTIONS: [&str; 5] = ["-cl-arm-", "-cl-intel-", "-cl-nv-", "-cl-qcom-", "-qcom-"];

/// Said when the translator had to be helped.
const SECOND_TRY: &str = "note: the translator needed LLVM's own promotion of variables for this file: \
variables that are read before they are written are not seen in it";

struct Output {
    output: Vec<u8>,
    messages: String,
}

fn run(program: &Path, arguments: &[OsString], name: &str) -> Result<Output, BuildError> {
    let result = Command::new(program)
        .args(arguments)
        // Messages in one language, whatever the user's.
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| BuildError::Start { program: program.display().to_string(), error })?;
    let messages = String::from_utf8_lossy(&result.stderr).trim_end().to_owned();
    if !result.status.success() {
        return Err(BuildError::Compile { name: name.to_owned(), messages });
    }
    Ok(Output { output: result.stdout, messages })
}
