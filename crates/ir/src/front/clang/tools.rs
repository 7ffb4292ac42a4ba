//! Selects clang and the translator to SPIR-V.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::UNIX_EPOCH;
use std::{env, fs};

use tripipe_cache::{Cache, Key};

use super::BuildError;
use super::records::{join, split};

/// SPIR-V extensions that the translator may use: those whose instructions are supported here.
pub(super) const EXTENSIONS: &str = "--spirv-ext=-all,+SPV_KHR_no_integer_wrap_decoration,+SPV_KHR_float_controls,\
+SPV_KHR_integer_dot_product,+SPV_KHR_bit_instructions,+SPV_KHR_linkonce_odr,+SPV_EXT_shader_atomic_float_add,\
+SPV_EXT_shader_atomic_float_min_max,+SPV_KHR_uniform_group_instructions,+SPV_KHR_subgroup_rotate,+SPV_INTEL_subgroups";

/// Versions to look for: Debian 12's first, then the newest.
const VERSIONS: [u32; 11] = [15, 24, 23, 22, 21, 20, 19, 18, 17, 16, 14];

/// The first version whose own SPIR-V back end is usable.
const BACK_END_SINCE: u32 = 22;

/// A clang that can build OpenCL C into SPIR-V, with the translator it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clang {
    /// The compiler.
    pub program: PathBuf,
    /// The output of `--version`.
    pub version: String,
    /// The translator from its output to SPIR-V.
    pub translator: Translator,
}

/// A translator to SPIR-V.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Translator {
    /// `llvm-spirv` of the same LLVM; writes line numbers.
    Tool {
        /// The program.
        program: PathBuf,
        /// The output of `--version`.
        version: String,
    },
    /// clang's own back end; writes no line numbers.
    BackEnd,
}

impl Clang {
    /// The clang to use; the search runs only once.
    ///
    /// # Errors
    /// There is no usable clang.
    pub fn find() -> Result<Self, BuildError> {
        Self::find_kept(None)
    }

    /// The same; a cached result is used while every program that could be chosen is unchanged.
    pub(super) fn find_kept(cache: Option<&Cache>) -> Result<Self, BuildError> {
        static FOUND: OnceLock<Clang> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Ok(found.clone());
        }
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let kept = cache.and_then(|cache| Some((cache, Key::of("clang", &[programs(variable)?.as_bytes()]))));
        let known = kept.and_then(|(cache, key)| Self::decode(&cache.load(&key)?));
        let found = if let Some(found) = known {
            found
        } else {
            let found = Self::search(variable, &runnable)?;
            if let (Some((cache, key)), Some(contents)) = (kept, found.encode()) {
                cache.store(&key, &contents);
            }
            found
        };
        Ok(FOUND.get_or_init(|| found).clone())
    }

    /// The cached form; `None` if a path is not UTF-8.
    fn encode(&self) -> Option<Vec<u8>> {
        let mut parts = vec![self.program.to_str()?, &self.version];
        if let Translator::Tool { program, version } = &self.translator {
            parts.extend([program.to_str()?, version]);
        }
        Some(join(&parts.iter().map(|part| part.as_bytes()).collect::<Vec<_>>()))
    }

    /// Reverses [`Self::encode`]; `None` for any other input.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let parts: Result<Vec<String>, _> =
            split(bytes)?.into_iter().map(|part| String::from_utf8(part.to_vec())).collect();
        let (program, version, translator) = match &parts.ok()?[..] {
            [program, version] => (program.into(), version.clone(), Translator::BackEnd),
            [program, version, translator, its_version] => {
                let translator =
                    Translator::Tool { program: translator.into(), version: its_version.clone() };
                (program.into(), version.clone(), translator)
            }
            _ => return None,
        };
        Some(Self { program, version, translator })
    }

    /// Searches among the given variables and programs.
    fn search(
        variable: impl Fn(&str) -> Option<PathBuf>,
        version: &dyn Fn(&Path) -> Option<String>,
    ) -> Result<Self, BuildError> {
        let tool = |program: PathBuf| version(&program).map(|version| Translator::Tool { program, version });
        let missing =
            |tool, looked_for: String, variable| BuildError::ToolMissing { tool, looked_for, variable };
        let chosen = variable("TRIPIPE_CLANG");
        let named = variable("TRIPIPE_LLVM_SPIRV");
        let candidates: Vec<(PathBuf, Option<u32>)> = match &chosen {
            Some(program) => vec![(program.clone(), None)],
            None => VERSIONS
                .iter()
                .map(|number| (PathBuf::from(format!("clang-{number}")), Some(*number)))
                .chain([(PathBuf::from("clang"), None)])
                .collect(),
        };
        let mut back_end = None;
        let mut any_clang = false;
        for (program, number) in &candidates {
            let Some(text) = version(program) else { continue };
            any_clang = true;
            let number = number.or_else(|| major(&text));
            let translator = match (&named, number) {
                (Some(named), _) => tool(named.clone()),
                (None, Some(number)) => tool(PathBuf::from(format!("llvm-spirv-{number}")))
                    .or_else(|| tool(PathBuf::from("llvm-spirv")).filter(|tool| of_version(tool, number))),
                (None, None) => None,
            };
            if let Some(translator) = translator {
                return Ok(Self { program: program.clone(), version: text, translator });
            }
            if back_end.is_none() && number.is_some_and(|number| number >= BACK_END_SINCE) {
                let program = program.clone();
                back_end = Some(Self { program, version: text, translator: Translator::BackEnd });
            }
        }
        let names =
            candidates.iter().map(|entry| entry.0.display().to_string()).collect::<Vec<_>>().join(", ");
        match back_end {
            Some(found) => Ok(found),
            None if any_clang => {
                Err(missing("llvm-spirv of clang's version", "llvm-spirv-N".into(), "TRIPIPE_LLVM_SPIRV"))
            }
            None => Err(missing("clang", names, "TRIPIPE_CLANG")),
        }
    }

    /// Whether an option is required to load vectors of three lanes as three; newer versions have no such option.
    pub(super) fn keeps_three_lanes(&self) -> bool {
        major(&self.version).is_some_and(|number| number < BACK_END_SINCE)
    }

    /// Everything that distinguishes two builds.
    pub(super) fn describe(&self) -> String {
        let translator = match &self.translator {
            Translator::Tool { version, .. } => version,
            Translator::BackEnd => "back end",
        };
        format!("{}\n{translator}\n{EXTENSIONS}\n", self.version)
    }
}

/// `Debian clang version 15.0.6 with Debian LLVM version 15.0.6`.
impl fmt::Display for Clang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = |text: &str| {
            text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
        };
        f.write_str(&first(&self.version))?;
        match &self.translator {
            Translator::Tool { version, .. } => write!(f, " with {}", first(version)),
            Translator::BackEnd => Ok(()),
        }
    }
}

/// Every program on the path that a search may find, and those that the variables name, with size and modification
/// time; while these are unchanged, so is the result of the search. `None` without a path.
fn programs(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<String> {
    let numbered =
        |tool: &'static str| VERSIONS.iter().map(move |number| PathBuf::from(format!("{tool}-{number}")));
    let named: Vec<PathBuf> =
        ["TRIPIPE_CLANG", "TRIPIPE_LLVM_SPIRV"].iter().filter_map(|name| variable(name)).collect();
    let plain = ["clang", "llvm-spirv"].map(PathBuf::from);
    let path = env::var_os("PATH")?;
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let here = [PathBuf::new()];
    // Also of a program that does not exist: the search does not fall back to others.
    let mut found = format!("{named:?}\n");
    for name in named.into_iter().chain(numbered("clang")).chain(numbered("llvm-spirv")).chain(plain) {
        // A name that contains a folder is not searched for.
        let folders = if name.components().count() > 1 { &here[..] } else { &folders };
        for folder in folders {
            let mut file = folder.join(&name).into_os_string();
            file.push(env::consts::EXE_SUFFIX);
            let Ok(facts) = fs::metadata(&file) else { continue };
            let changed = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let _ = writeln!(found, "{} {} {} {changed:?}", name.display(), file.display(), facts.len());
        }
    }
    Some(found)
}

fn runnable(program: &Path) -> Option<String> {
    let output =
        Command::new(program).arg("--version").output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The major version in `... version 15.0.6 ...`.
fn major(text: &str) -> Option<u32> {
    let behind = text.split("version ").nth(1)?;
    behind.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn of_version(translator: &Translator, number: u32) -> bool {
    matches!(translator, Translator::Tool { version, .. } if major(version) == Some(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(programs: &'static [(&'static str, &'static str)]) -> impl Fn(&Path) -> Option<String> {
        move |program| {
            let found = programs.iter().find(|entry| Path::new(entry.0) == program)?;
            Some(format!("clang version {}", found.1))
        }
    }

    fn search(programs: &'static [(&'static str, &'static str)]) -> Result<Clang, BuildError> {
        Clang::search(|_| None, &machine(programs))
    }

    #[test]
    fn a_named_program_that_does_not_exist_changes_what_is_known() {
        let missing = |name: &str| (name == "TRIPIPE_CLANG").then(|| PathBuf::from("/no/such/clang"));
        assert_ne!(programs(missing), programs(|_| None));
    }

    #[test]
    fn clang_with_its_translator_is_preferred() {
        let found = search(&[("clang-22", "22.1"), ("clang-15", "15.0"), ("llvm-spirv-15", "15.0")]).unwrap();
        assert_eq!(found.program, Path::new("clang-15"));
        let found = search(&[("clang-22", "22.1"), ("clang-15", "15.0")]).unwrap();
        assert_eq!((found.program.as_path(), found.translator), (Path::new("clang-22"), Translator::BackEnd));
        let found = search(&[("clang", "17.0.1"), ("llvm-spirv", "17.0.0")]).unwrap();
        assert_eq!(found.program, Path::new("clang"));
    }

    #[test]
    fn missing_tools_are_named_with_their_package() {
        let error = search(&[]).unwrap_err().to_string();
        assert!(
            error.contains("no clang") && error.contains("`clang-15`") && error.contains("TRIPIPE_CLANG"),
            "{error}"
        );
        let error = search(&[("clang-15", "15.0")]).unwrap_err().to_string();
        assert!(error.contains("no llvm-spirv") && error.contains("`llvm-spirv-15`"), "{error}");
        // A translator of another version is not usable.
        assert!(search(&[("clang-15", "15.0"), ("llvm-spirv", "14.0")]).is_err());
    }

    #[test]
    fn cached_entries_are_returned() {
        for translator in [
            Translator::BackEnd,
            Translator::Tool { program: "llvm-spirv".into(), version: "LLVM version 15\n  more\n".into() },
        ] {
            let found = Clang { program: "clang".into(), version: "clang version 15".into(), translator };
            let kept = found.encode().unwrap();
            assert_eq!(Clang::decode(&kept[..kept.len() - 1]), None);
            assert_eq!(Clang::decode(&kept), Some(found));
        }
    }

    #[test]
    fn variables_win() {
        let found = Clang::search(
            |name| (name == "TRIPIPE_CLANG").then(|| "my-clang".into()),
            &machine(&[("clang-15", "15.0"), ("llvm-spirv-15", "15.0"), ("my-clang", "22.1.0")]),
        );
        assert_eq!(found.unwrap().program, Path::new("my-clang"));
    }
}
