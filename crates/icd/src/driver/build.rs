//! Compiling and linking of programs.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use opencl_sys as cl;
use tripipe_cache::Cache;
use tripipe_device::OpenCl;
use tripipe_ir::front::clang::{self, BuildError, Optimization};
use tripipe_ir::front::spirv;

use super::failure::{Failure, Outcome};
use super::progress;
use super::settings::Settings;

/// The name of a program's source in messages.
pub const SOURCE_NAME: &str = "program.cl";

/// What compiling or linking made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// The module.
    pub spirv: Vec<u8>,
    /// Warnings.
    pub log: String,
}

/// The words of build options, as a compiler takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuildOptions {
    words: Vec<String>,
    /// `-cl-opt-disable`.
    unoptimized: bool,
    /// `-create-library`.
    pub library: bool,
}

/// Options that the linker takes and the compiler does not.
const OF_LINKER: [&str; 2] = ["-create-library", "-enable-link-options"];

/// The option that forbids work-groups of different sizes. Launches check it.
pub const UNIFORM: &str = "-cl-uniform-work-group-size";

/// Options that change nothing here: not all versions of clang know the last one.
const WITHOUT_EFFECT: [&str; 2] = ["-cl-strict-aliasing", "-cl-no-subgroup-ifp"];

/// Options of OpenCL 3.0, without those that have a value.
const OPTIONS: [&str; 15] = [
    "-cl-single-precision-constant",
    "-cl-denorms-are-zero",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-opt-disable",
    "-cl-mad-enable",
    "-cl-no-signed-zeros",
    "-cl-unsafe-math-optimizations",
    "-cl-finite-math-only",
    "-cl-fast-relaxed-math",
    UNIFORM,
    "-cl-kernel-arg-info",
    "-w",
    "-Werror",
    "-Wall",
    "-g",
];

/// Prefixes of options of OpenCL with values, of vendors, and of clang.
const PREFIXES: [&str; 12] = [
    "-cl-std=",
    "-cl-arm-",
    "-cl-intel-",
    "-cl-nv-",
    "-cl-qcom-",
    "-qcom-",
    "-W",
    "-f",
    "-O",
    "-D",
    "-I",
    "-U",
];

impl BuildOptions {
    /// The words, with the version of the language that OpenCL demands of drivers if they do not say one.
    fn words_with_standard(&self) -> Vec<String> {
        let said = self.words.iter().any(|word| word.starts_with("-cl-std="));
        let usual = (!said).then(|| "-cl-std=CL1.2".to_owned());
        self.words.iter().cloned().chain(usual).collect()
    }

    /// The options of a text; words are separated by spaces, unless they are in quotes.
    ///
    /// # Errors
    /// An unknown option.
    pub fn parse(text: &str) -> Outcome<Self> {
        let unknown = |word: &str| {
            Failure::new(cl::CL_INVALID_BUILD_OPTIONS, format!("`{word}` is not a build option"))
        };
        let mut options = Self::default();
        let mut words = split(text).into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-D" | "-I" | "-U" => {
                    let value = words.next().ok_or_else(|| unknown(&word))?;
                    options.words.extend([word, value]);
                }
                // The form of programs, which is known without it.
                "-x" => drop(words.next()),
                "-cl-opt-disable" => options.unoptimized = true,
                word if WITHOUT_EFFECT.contains(&word) => {}
                "-create-library" => options.library = true,
                known if OF_LINKER.contains(&known) || known.starts_with("-spir-std=") => {}
                known
                    if OPTIONS.contains(&known)
                        || PREFIXES.iter().any(|prefix| known.starts_with(prefix)) =>
                {
                    options.words.push(word);
                }
                _ => return Err(unknown(&word)),
            }
        }
        Ok(options)
    }
}

/// Words of a text; quotes and backslashes keep spaces in words.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut is_word, mut quoted) = (Vec::new(), String::new(), false, false);
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => (quoted, is_word) = (!quoted, true),
            '\\' => {
                word.extend(letters.next());
                is_word = true;
            }
            space if space.is_whitespace() && !quoted => {
                if std::mem::take(&mut is_word) {
                    words.push(std::mem::take(&mut word));
                }
            }
            other => {
                word.push(other);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

fn failed(error: &BuildError, code: i32) -> Failure {
    match error {
        BuildError::Compile { messages, .. } => Failure::new(code, messages.clone()),
        other => Failure::new(cl::CL_COMPILER_NOT_AVAILABLE, other.to_string()),
    }
}

/// Compiles OpenCL C for devices that offer `offered`. `headers` are the names and texts of files that it may include.
///
/// # Errors
/// The source has errors (`code`, and the compiler's log), or there is no compiler.
pub fn compile(
    source: &str,
    options: &BuildOptions,
    headers: &[(String, String)],
    offered: Option<OpenCl>,
    code: i32,
) -> Outcome<Built> {
    let unavailable = |error: std::io::Error| Failure::new(cl::CL_COMPILER_NOT_AVAILABLE, error.to_string());
    let settings = Settings::current();
    let mut build = clang::Build {
        options: options.words_with_standard(),
        // Checks find errors in the source, and injections patterns, some of which the optimiser removes.
        optimization: if options.unoptimized || settings.check || settings.inject.is_some() {
            Optimization::AsWritten
        } else {
            Optimization::Driver
        },
        offered,
        cache: Cache::from_environment(),
    };
    let mut folder = None;
    if !headers.is_empty() {
        let made = tempfile::tempdir().map_err(unavailable)?;
        for (name, text) in headers {
            let relative = Path::new(name);
            let inside = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
            if !inside {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("`{name}` is not a name of a header"),
                ));
            }
            let path = made.path().join(relative);
            let parent = path.parent().unwrap_or(made.path());
            fs::create_dir_all(parent).map_err(unavailable)?;
            fs::write(path, text).map_err(unavailable)?;
        }
        build.options.push("-I".into());
        build.options.push(made.path().to_string_lossy().into_owned());
        // The folder is another one each time.
        build.cache = None;
        folder = Some(made);
    }
    let lines = source.lines().count();
    let made = progress::watched(
        progress::PATIENCE,
        |since| progress::print(lines, since),
        || match clang::build_text(SOURCE_NAME, source, None, &build) {
            // The translator does not know all that the optimiser makes.
            Err(BuildError::Translate { .. }) if build.optimization != Optimization::AsWritten => {
                build.optimization = Optimization::AsWritten;
                clang::build_text(SOURCE_NAME, source, None, &build)
            }
            made => made,
        },
    );
    drop(folder);
    let made = made.map_err(|error| failed(&error, code))?;
    Ok(Built { spirv: made.spirv, log: made.warnings })
}

/// Optimises a module of the application as a driver does. A module that the optimiser does not take stays as it is.
pub fn optimize(spirv: Vec<u8>) -> Vec<u8> {
    clang::optimize(SOURCE_NAME, &spirv, Optimization::Driver).map_or(spirv, |built| built.spirv)
}

/// The function that the front end puts before each text; no kernel calls it.
const OF_FRONT_END: &str = "tripipe_first";

/// The functions and variables that a module defines for others.
fn exports(bytes: &[u8]) -> Vec<String> {
    let words = words(bytes);
    let named = instructions(&words).filter_map(|(_, op, own)| match (op, own) {
        (OP_DECORATE, [_, _, DECORATION_LINKAGE, name @ .., LINKAGE_EXPORT]) => {
            let bytes: Vec<u8> = name.iter().flat_map(|word| word.to_le_bytes()).collect();
            let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            Some(String::from_utf8_lossy(text).into_owned())
        }
        _ => None,
    });
    named.filter(|name| name != OF_FRONT_END).collect()
}

/// Links modules to a library or an executable.
///
/// # Errors
/// An undefined or doubly defined function, or there is no linker.
pub fn link(modules: &[&[u8]], library: bool) -> Outcome<Built> {
    let unavailable = |error: std::io::Error| {
        Failure::new(cl::CL_LINKER_NOT_AVAILABLE, format!("spirv-link of the package spirv-tools: {error}"))
    };
    // The linker reports two definitions of a name only if a module uses it.
    let mut defined = HashSet::new();
    if let Some(name) =
        modules.iter().flat_map(|module| exports(module)).find(|name| !defined.insert(name.clone()))
    {
        return Err(Failure::new(cl::CL_LINK_PROGRAM_FAILURE, format!("`{name}` is defined twice")));
    }
    let work = tempfile::tempdir().map_err(unavailable)?;
    let mut arguments: Vec<OsString> = Vec::new();
    // The linker wants one version of SPIR-V.
    let version = |module: &&[u8]| module.get(4..8).map(|word| [word[0], word[1], word[2], word[3]]);
    let newest = modules.iter().filter_map(version).max_by_key(|word| u32::from_le_bytes(*word));
    for (index, module) in modules.iter().enumerate() {
        let mut module = module.to_vec();
        if let (Some(newest), Some(word)) = (newest, module.get_mut(4..8)) {
            word.copy_from_slice(&newest);
        }
        let path = work.path().join(format!("{index}.spv"));
        fs::write(&path, module).map_err(unavailable)?;
        arguments.push(path.into());
    }
    if library {
        arguments.push("--create-library".into());
        arguments.push("--allow-partial-linkage".into());
    }
    let output = work.path().join("linked.spv");
    arguments.extend(["-o".into(), output.clone().into()]);
    let ran = Command::new("spirv-link").args(&arguments).output().map_err(unavailable)?;
    let log = String::from_utf8_lossy(&ran.stderr).into_owned();
    if !ran.status.success() {
        return Err(Failure::new(cl::CL_LINK_PROGRAM_FAILURE, log));
    }
    let spirv = fs::read(&output).map_err(unavailable)?;
    Ok(Built { spirv: if library { spirv } else { optimize(spirv) }, log })
}

/// The first word of a SPIR-V module.
const SPIRV_MAGIC: u32 = 0x0723_0203;

/// Whether bytes are a SPIR-V module that can be read.
///
/// # Errors
/// They are not.
pub fn check_module(bytes: &[u8]) -> Outcome<()> {
    let invalid = |what: String| Failure::new(cl::CL_INVALID_VALUE, what);
    let magic = bytes.first_chunk::<4>().map(|word| u32::from_le_bytes(*word));
    if magic != Some(SPIRV_MAGIC) || !bytes.len().is_multiple_of(4) {
        return Err(invalid("the module does not start with SPIR-V's magic number".into()));
    }
    spirv::load_each(bytes, &spirv::Options::default()).map(drop).map_err(|error| invalid(error.to_string()))
}

/// A specialization constant of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecializationConstant {
    /// Its `SpecId`.
    pub id: u32,
    /// Size of its value in bytes.
    pub bytes: usize,
    /// Where its instruction begins, in words.
    word: usize,
}

const OP_TYPE_INT: u16 = 21;
const OP_TYPE_FLOAT: u16 = 22;
const OP_SPEC_CONSTANT_TRUE: u16 = 48;
const OP_SPEC_CONSTANT_FALSE: u16 = 49;
const OP_SPEC_CONSTANT: u16 = 50;
const OP_DECORATE: u16 = 71;
const DECORATION_SPEC_ID: u32 = 1;
const DECORATION_LINKAGE: u32 = 41;
const LINKAGE_EXPORT: u32 = 0;

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// The instructions of a module: where each begins, its operation and its words.
fn instructions(words: &[u32]) -> impl Iterator<Item = (usize, u16, &[u32])> {
    let mut at = 5;
    std::iter::from_fn(move || {
        let first = *words.get(at)?;
        let length = (first >> 16) as usize;
        let own = words.get(at..at + length.max(1))?;
        let start = at;
        at += length.max(1);
        Some((start, first as u16, own))
    })
}

/// The specialization constants of a module.
pub fn specialization_constants(bytes: &[u8]) -> Vec<SpecializationConstant> {
    let words = words(bytes);
    let mut ids = std::collections::HashMap::new();
    let mut sizes = std::collections::HashMap::new();
    let mut constants = Vec::new();
    for (word, op, own) in instructions(&words) {
        match (op, own) {
            (OP_DECORATE, [_, target, DECORATION_SPEC_ID, id, ..]) => drop(ids.insert(*target, *id)),
            (OP_TYPE_INT | OP_TYPE_FLOAT, [_, target, bits, ..]) => {
                sizes.insert(*target, (*bits as usize).div_ceil(8));
            }
            (OP_SPEC_CONSTANT | OP_SPEC_CONSTANT_TRUE | OP_SPEC_CONSTANT_FALSE, [_, ty, target, ..]) => {
                if let Some(id) = ids.get(target) {
                    let bytes = if op == OP_SPEC_CONSTANT { sizes.get(ty).copied().unwrap_or(4) } else { 1 };
                    constants.push(SpecializationConstant { id: *id, bytes, word });
                }
            }
            _ => {}
        }
    }
    constants
}

/// A module with values for its specialization constants, by their `SpecId`.
pub fn specialize(bytes: &[u8], values: &[(u32, Vec<u8>)]) -> Vec<u8> {
    let mut words = words(bytes);
    for constant in specialization_constants(bytes) {
        let Some((_, value)) = values.iter().find(|(id, _)| *id == constant.id) else { continue };
        let at = constant.word;
        if words[at] as u16 == OP_SPEC_CONSTANT {
            let mut padded = value.clone();
            padded.resize(value.len().next_multiple_of(4), 0);
            for (to, word) in words[at + 3..].iter_mut().zip(padded.as_chunks::<4>().0) {
                *to = u32::from_le_bytes(*word);
            }
        } else {
            let is_true = value.iter().any(|byte| *byte != 0);
            let op = if is_true { OP_SPEC_CONSTANT_TRUE } else { OP_SPEC_CONSTANT_FALSE };
            words[at] = words[at] & 0xffff_0000 | u32::from(op);
        }
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_words_that_opencl_knows() {
        let options =
            BuildOptions::parse("-D N=4 -DTEXT=\"a b\"  -cl-mad-enable -I 'x' -cl-opt-disable").unwrap();
        assert_eq!(options.words, ["-D", "N=4", "-DTEXT=a b", "-cl-mad-enable", "-I", "'x'"]);
        assert!(options.unoptimized);
        for wrong in ["-cl-foo", "invalid", "-D"] {
            let code = BuildOptions::parse(wrong).err().map(|failure| failure.code);
            assert_eq!(code, Some(cl::CL_INVALID_BUILD_OPTIONS), "{wrong}");
        }
        assert!(BuildOptions::parse("-create-library").unwrap().library);
    }

    #[test]
    fn specialization_constants_are_found_and_set() {
        let instruction = |op: u16, words: &[u32]| {
            let mut all = vec![(words.len() as u32 + 1) << 16 | u32::from(op)];
            all.extend(words);
            all
        };
        let module: Vec<u32> = [
            vec![SPIRV_MAGIC, 0x1_0000, 0, 10, 0],
            instruction(OP_DECORATE, &[3, DECORATION_SPEC_ID, 7]),
            instruction(OP_DECORATE, &[4, DECORATION_SPEC_ID, 8]),
            instruction(OP_TYPE_INT, &[1, 64, 0]),
            instruction(20, &[2]),
            instruction(OP_SPEC_CONSTANT, &[1, 3, 5, 0]),
            instruction(OP_SPEC_CONSTANT_TRUE, &[2, 4]),
        ]
        .concat();
        let bytes: Vec<u8> = module.iter().flat_map(|word| word.to_le_bytes()).collect();
        let found = specialization_constants(&bytes);
        let sizes: Vec<(u32, usize)> = found.iter().map(|constant| (constant.id, constant.bytes)).collect();
        assert_eq!(sizes, [(7, 8), (8, 1)]);
        let other = specialize(&bytes, &[(7, 0x1_0000_0009u64.to_le_bytes().to_vec()), (8, vec![0])]);
        let changed = words(&other);
        assert_eq!(changed[found[0].word + 3..found[0].word + 5], [9, 1]);
        assert_eq!(changed[found[1].word] as u16, OP_SPEC_CONSTANT_FALSE);
    }
}
