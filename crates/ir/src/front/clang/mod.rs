//! Compiles OpenCL C to SPIR-V with clang.
//!
//! # Which clang
//! `TRIPIPE_CLANG` and `TRIPIPE_LLVM_SPIRV` name the tools. Otherwise, the path is searched for `clang-15` (Debian
//! 12's, with `llvm-spirv-15`) and newer versions with the translator of the same version, then for a clang whose own
//! SPIR-V back end is usable (22 and newer, which writes no line numbers into SPIR-V).
//!
//! # Optimisation levels
//! [`Optimization::AsWritten`] is the default: clang generates code as for `-O1` and runs no pass over it (`-O1
//! -Xclang -disable-llvm-passes`). The result has every access, loop, vector and line of the source, and the lifetime
//! of every variable. Bugs in the source remain in it, whereas `-O1` would exploit undefined behaviour (an index past
//! an array, a shift past the width and an uninitialised variable all fold away), turn loops into copies, and merge
//! lines. [`crate::transform`] does the clean-up that such code needs to be run and priced, and preserves all of that.
//! `-O1` and `-O2` can be selected; loops are then neither unrolled nor vectorised. [`Optimization::Driver`] is what
//! is priced for a GPU: like `-O2`, with unrolling.
//!
//! # Which OpenCL C
//! With [`Build::offered`], the same as in that device's driver: OpenCL C 1.2 unless `-cl-std` says otherwise, with the
//! macros, functions and types of the device's own extensions and features alone (`functions.h` has those of the vendors),
//! and `double` constants where it has `double`. What the device does not offer is an error that names it. A text that
//! does not compile without a `-cl-std` is tried with the device's newest version, and each version then with clang's
//! header of the library, which allows a text to add overloads of its functions. A driver passes `-cl-std` always.
//!
//! Without a device, everything that some phone offers is there: the macros of all vendors (so that a text which asks for
//! them takes the path of the first that it asks for), their functions, `half`, and no `double`: constants without `f` are
//! `float`. A text that does not compile this way is tried with `double`, then as OpenCL C 3.0, then as that with
//! `double`, and finally with clang's header. `-cl-std=CLC++` is clang's C++ for OpenCL.
//!
//! # The host system
//! Nothing of the host matters: clang searches for includes beside the file, in the folders of `-I` and among its own,
//! never among the host's, and neither its configuration files nor the environment add to that.
//!
//! # Cache
//! With a [`Cache`], a text that was built before is not built again, and while its includes are unchanged, no program
//! runs at all. The key of a module is a hash of the preprocessed text, the options and the versions of the tools; the
//! key of the tools consists of name, size and modification time of every program that could be chosen. (If a script
//! replaces a tool, changes of the program it starts are not detected: touch the script then.)

mod build;
mod cache;
mod components;
mod dialect;
mod entry;
mod freeze;
mod includes;
mod offered;
mod optimize;
mod records;
mod run;
mod syntax;
mod tools;
mod translate;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

pub use build::{Build, BuildError, Built, Optimization};
pub use optimize::{optimize, optimized_as_driver};
pub use syntax::syntax_tree;
pub use tools::{Clang, Translator};
use translate::translate;
pub use tripipe_cache::Cache;

use build::level;
use cache::BuildCache;
use dialect::Dialect;
use includes::{Includes, Preprocessed};
use run::{BITCODE, SPIRV, run};

/// Builds a source file.
///
/// # Errors
/// The file cannot be read, no compiler is available, or the source has errors.
pub fn build_file(path: &Path, build: &Build) -> Result<Built, BuildError> {
    let text = fs::read_to_string(path).map_err(|error| BuildError::File { path: path.to_owned(), error })?;
    build_text(&path.to_string_lossy(), &text, Some(folder_of(path)), build)
}

/// The folder of a source file, which is searched for includes in quotes; for a bare file name, the working folder.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Builds source text, which messages and line information call `name`; `folder` is searched for includes in quotes.
///
/// # Errors
/// No compiler is available, or the source has errors; the errors are those of the [dialect](self#which-opencl-c) with
/// the fewest.
pub fn build_text(name: &str, text: &str, folder: Option<&Path>, build: &Build) -> Result<Built, BuildError> {
    let tools = Clang::find_kept(build.cache.as_ref())?;
    let offered = build.offered.as_ref();
    if let Some(offered) = offered {
        offered::check_standard(offered, &build.options, name)?;
    }
    let ways: Vec<(Dialect, Vec<OsString>, Option<BuildCache<'_>>)> =
        Dialect::to_try(&build.options, offered)
            .into_iter()
            .map(|dialect| {
                let mut arguments = arguments(&tools, build, folder, dialect);
                if text.contains(components::EXTENSION) {
                    arguments.push("-DTRIPIPE_EXTRA_VECTOR_TYPES".into());
                }
                let kept = build.cache.as_ref().map(|cache| BuildCache::new(cache, &tools, &arguments, name));
                (dialect, arguments, kept)
            })
            .collect();
    let mut kept = ways.iter().filter_map(|way| way.2.as_ref());
    if let Some(built) = kept.find_map(|kept| kept.module_of_source(text)) {
        return Ok(built);
    }
    let work = tempfile::tempdir().map_err(|error| BuildError::File { path: std::env::temp_dir(), error })?;
    let write = |file: &str, text: &str| {
        let path = work.path().join(file);
        fs::write(&path, text).map_err(|error| BuildError::File { path, error })
    };
    // `#line` gives the text its name. The source is passed in a file, because clang can read standard input only
    // once.
    write(SOURCE, &format!("#line 1 \"{}\"\n{}", quoted(name), components::renamed(text)))?;
    let source = Source { name, text, folder, work: work.path() };
    let mut fewest: Option<(usize, BuildError)> = None;
    for (dialect, arguments, kept) in ways {
        write("extensions.h", &offered::prelude(offered, dialect.has_header()))?;
        match source.build(&tools, build, dialect, arguments, kept.as_ref()) {
            Err(error @ BuildError::Compile { .. }) => {
                let errors = error.to_string().matches("error: ").count();
                if fewest.as_ref().is_none_or(|fewest| errors < fewest.0) {
                    fewest = Some((errors, error));
                }
            }
            result => return result,
        }
    }
    Err(match (fewest, offered) {
        (Some((_, BuildError::Compile { name, messages })), Some(offered)) => {
            BuildError::Compile { name, messages: offered::explained(offered, &messages) }
        }
        (Some((_, error)), _) => error,
        (None, _) => BuildError::Compile { name: name.to_owned(), messages: String::new() },
    })
}

/// A name as a C string literal, without the quotes.
fn quoted(name: &str) -> String {
    let mut quoted = String::new();
    for letter in name.chars() {
        match letter {
            '\\' | '"' => quoted.extend(['\\', letter]),
            // Characters that end a line or are invisible.
            '\0'..='\x1f' => {
                let _ = write!(quoted, "\\{:03o}", u32::from(letter));
            }
            _ => quoted.push(letter),
        }
    }
    quoted
}

/// A text, and the temporary folder in which it is built.
struct Source<'s> {
    name: &'s str,
    text: &'s str,
    /// The folder that is searched for includes in quotes.
    folder: Option<&'s Path>,
    work: &'s Path,
}

/// The text's file in its temporary folder.
const SOURCE: &str = "kernel.cl";

impl Source<'_> {
    /// Builds the text in one dialect, unless the result is cached.
    fn build(
        &self,
        tools: &Clang,
        build: &Build,
        dialect: Dialect,
        mut arguments: Vec<OsString>,
        kept: Option<&BuildCache<'_>>,
    ) -> Result<Built, BuildError> {
        // Files appear under the caller's names, not under the temporary folder.
        let place = self.work.to_string_lossy().into_owned();
        arguments.push(format!("-fdebug-compilation-dir={place}").into());
        arguments.push(format!("-fdebug-prefix-map={place}=").into());
        arguments.extend(["-include".into(), self.work.join("extensions.h").into()]);
        let compile = |arguments| self.compile(tools, build, dialect, arguments);
        let Some(kept) = kept else { return compile(arguments) };

        if let Some(includes) = Includes::none(self.text, &build.options) {
            let built = match kept.module(&includes.preprocessed) {
                Some(built) => built,
                None => compile(arguments)?,
            };
            if !built.cached {
                kept.keep_module(&includes.preprocessed, &built);
                kept.keep_includes(self.text, &includes);
            }
            return Ok(built);
        }
        let began = SystemTime::now();
        let rule = self.work.join("includes");
        let preprocess: [OsString; 7] = [
            "-E".into(),
            self.work.join(SOURCE).into(),
            "-MD".into(),
            "-MT".into(),
            "x".into(),
            "-MF".into(),
            rule.clone().into(),
        ];
        let preprocessed =
            run(&tools.program, &[&arguments[..], &preprocess].concat(), self.work, self.name)?;
        // The temporary folder must not be part of the result.
        let preprocessed = String::from_utf8_lossy(&preprocessed.output).replace(&place, "");
        let digest = records::digest(preprocessed.as_bytes());
        let built = match kept.module(&digest) {
            Some(built) => built,
            None => compile(arguments)?,
        };
        if !built.cached {
            kept.keep_module(&digest, &built);
        }
        let includes = fs::read_to_string(rule).ok().and_then(|rule| {
            let (text, folder, work, rule) = (self.text, self.folder, self.work, &rule[..]);
            Includes::of(&Preprocessed { text, options: &build.options, folder, work, rule, began, digest })
        });
        if let Some(includes) = includes {
            kept.keep_includes(self.text, &includes);
        }
        Ok(built)
    }

    /// Compiles the text in one dialect.
    fn compile(
        &self,
        tools: &Clang,
        build: &Build,
        dialect: Dialect,
        arguments: Vec<OsString>,
    ) -> Result<Built, BuildError> {
        let mut built = if dialect.double {
            compile(tools, arguments, self.work, self.name)?
        } else {
            let compiled = [&arguments[..], &["-Wno-format".into()]].concat();
            let built = compile(tools, compiled, self.work, self.name)?;
            let formats = self.formats(tools, build, arguments);
            Built { warnings: format!("{}\n{formats}", built.warnings).trim().to_owned(), ..built }
        };
        if let Some(option) = dialect.newer().filter(|_| build.offered.is_some()) {
            let guess = format!("warning: {} is not OpenCL C 1.2; it is built with {option}\n", self.name);
            built.warnings.insert_str(0, &guess);
        }
        Ok(built)
    }

    /// Clang's warnings about `printf` formats. Without `double`, clang reports every `%f` of a `float`; with it, the
    /// arguments are promoted, as in drivers, and only genuine mistakes remain.
    fn formats(&self, tools: &Clang, build: &Build, mut arguments: Vec<OsString>) -> String {
        if !self.text.contains("printf") || build.options.iter().any(|option| option == "-Wno-format") {
            return String::new();
        }
        let formats_alone =
            ["-Xclang", "-cl-ext=+all", "-Wno-everything", "-Wformat", "-Wno-error", "-fsyntax-only"];
        arguments.extend(formats_alone.map(OsString::from));
        arguments.push(self.work.join(SOURCE).into());
        // If the text does not compile with `double`, it has still been compiled without.
        run(&tools.program, &arguments, self.work, self.name)
            .map_or_else(|_| String::new(), |said| said.messages)
    }
}

/// Compiles the text in `work`.
fn compile(
    tools: &Clang,
    mut arguments: Vec<OsString>,
    work: &Path,
    name: &str,
) -> Result<Built, BuildError> {
    let source = work.join(SOURCE);
    let output = work.join(SPIRV);
    let warnings = match &tools.translator {
        Translator::Tool { program, .. } => {
            arguments.extend(["-emit-llvm", "-c", "-o"].map(OsString::from));
            arguments.extend([work.join(BITCODE).into(), source.into()]);
            let compiled = run(&tools.program, &arguments, work, name)?;
            translate(&tools.program, program, work, name)?;
            compiled.messages
        }
        Translator::BackEnd => {
            arguments.extend(["-fintegrated-objemitter", "-c", "-o"].map(OsString::from));
            arguments.extend([output.clone().into(), source.into()]);
            run(&tools.program, &arguments, work, name)?.messages
        }
    };
    let spirv = fs::read(&output).map_err(|error| BuildError::File { path: output, error })?;
    Ok(Built { spirv: entry::remove_entry_point(&spirv, FIRST_KERNEL), warnings, cached: false })
}

/// The options for every step, without inputs and outputs.
fn arguments(tools: &Clang, build: &Build, folder: Option<&Path>, dialect: Dialect) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = ["-x", "cl"].map(OsString::from).to_vec();
    arguments.push(match tools.translator {
        Translator::Tool { .. } => "--target=spir64-unknown-unknown".into(),
        Translator::BackEnd => "--target=spirv64-unknown-unknown".into(),
    });
    // C++ keeps one definition, as it should.
    let is_cpp = |option: &String| option.to_ascii_lowercase().contains("-cl-std=clc++");
    if build.optimization != Optimization::AsWritten && !build.options.iter().any(is_cpp) {
        // In C, an `inline` function that is not inlined has no definition; an OpenCL program has no other place for
        // one.
        arguments.push("-fgnu89-inline".into());
    }
    let always = [
        "-gline-tables-only",
        "-fno-discard-value-names",
        "-cl-kernel-arg-info",
        "-nostdlibinc",
        // Vendor pragmas that this clang does not know are not an error of the kernel.
        "-Wno-ignored-pragmas",
    ];
    arguments.extend(level(build.optimization).iter().chain(&always).map(OsString::from));
    arguments.extend(dialect.arguments().map(OsString::from));
    if build.offered.is_none() || !dialect.has_header() {
        // For a device, the header comes after its macros.
        arguments.extend(["-Xclang", "-finclude-default-header"].map(OsString::from));
    }
    arguments.extend(build.offered.iter().flat_map(offered::arguments));
    if tools.keeps_three_lanes() {
        // A vector of three lanes is loaded as three lanes, not four.
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
        // `-D N=4` as two words, which the OpenCL specification allows, is allowed by clang too.
        arguments.push(option.into());
        if matches!(option.as_str(), "-D" | "-I" | "-U")
            && let Some(value) = options.next()
        {
            arguments.push(value.into());
        }
    }
    arguments
}

/// Prefixes of options that only a vendor's driver accepts. None of them changes what a kernel computes.
const VENDOR_OPTIONS: [&str; 5] = ["-cl-arm-", "-cl-intel-", "-cl-nv-", "-cl-qcom-", "-qcom-"];

/// The kernel in [`offered::FUNCTIONS`].
const FIRST_KERNEL: &str = "tripipe_first";
