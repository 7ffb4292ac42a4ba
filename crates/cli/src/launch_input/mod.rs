//! What commands launch: programs and launch files, read, built, loaded and run.

mod disk;
mod dump;
mod gpus;
mod price;
mod program;
mod template;
mod workload;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use tripipe_launch::NdRange;
use tripipe_launch_file::{self as file, BuildOptions, LaunchFile, Limits, LineColumn, Loaded, ProgramFile};

pub(crate) use dump::Dumps;
pub(crate) use gpus::GpuArgument;
pub(crate) use program::{Built, DriverBuild, signature};
pub(crate) use template::LaunchTemplate;
pub(crate) use workload::{Adjusted, LIMIT_STEPS, Timed, Trial, Workload, check_arguments};

use crate::files::output::plain;

/// Build options for OpenCL C on the command line.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct BuildArgument {
    /// Macro definition; may be repeated.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Folder to search for include files, besides the source's own; may be repeated.
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<String>,
    /// Build options, as for clBuildProgram.
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    options: String,
}

impl BuildArgument {
    /// The options; those of `-D` and `-I` come last.
    pub(crate) fn options(&self) -> Result<BuildOptions> {
        let mut options =
            BuildOptions::parse(&self.options).map_err(|reason| anyhow!("--options: {reason}"))?;
        for define in &self.define {
            let (name, value) = define.split_once('=').unwrap_or((define, "1"));
            if name.is_empty() {
                bail!("-D {define}: want -D NAME or -D NAME=VALUE");
            }
            options.defines.push((name.to_owned(), value.to_owned()));
        }
        options.includes.extend(self.include.iter().cloned());
        Ok(options)
    }

    /// All options in one line, as in a launch file.
    pub(crate) fn text(&self) -> Result<String> {
        let defines = self.define.iter().map(|define| format!("-D {define}"));
        let includes = self.include.iter().map(|folder| format!("-I {folder}"));
        let own = Some(self.options.trim().to_owned()).filter(|options| !options.is_empty());
        if let Some(spaced) = self.define.iter().chain(&self.include).find(|word| word.contains(' ')) {
            bail!("`{spaced}` contains a space, which options in a launch file cannot contain");
        }
        Ok(own.into_iter().chain(defines).chain(includes).collect::<Vec<_>>().join(" "))
    }
}

/// The launch file of a command, its build options, and limits for its run.
#[derive(Args)]
pub(crate) struct LaunchArgument {
    /// Launch file: TOML as described in docs/launch-files.md, or Oclgrind's format if its name ends in .sim; - reads
    /// TOML from standard input, with paths relative to the working folder.
    #[arg(value_name = "LAUNCH.toml")]
    path: PathBuf,
    #[command(flatten)]
    build: BuildArgument,
    #[command(flatten)]
    limits: LaunchLimits,
}

/// Limits for runs in the simulator.
#[derive(Args)]
pub(crate) struct LaunchLimits {
    /// Threads of the simulator [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Maximum number of instructions that each simulator thread may run.
    #[arg(long, value_name = "N", default_value_t = 10_000_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    limit_steps: u64,
    /// Maximum bytes of all buffers and images together; KiB, MiB and GiB are accepted.
    #[arg(long, value_name = "BYTES", default_value = "4GiB", value_parser = bytes)]
    limit_memory: u64,
}

/// Parses a number of bytes: `512`, `64KiB`, `1.5 GiB`.
fn bytes(text: &str) -> Result<u64, String> {
    let refused = || format!("want a number of bytes, such as 1000000, 64KiB, 512MiB or 4GiB, not {text}");
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic() || c.is_whitespace());
    let unit: u64 = match text[digits.len()..].trim() {
        "" | "B" => 1,
        "KiB" | "K" => 1 << 10,
        "MiB" | "M" => 1 << 20,
        "GiB" | "G" => 1 << 30,
        _ => return Err(refused()),
    };
    let number: f64 = digits.parse().map_err(|_| refused())?;
    let bytes = number * unit as f64;
    // Rounding a fraction of a unit to a whole byte does not matter.
    if (1.0..=u64::MAX as f64).contains(&bytes) { Ok(bytes as u64) } else { Err(refused()) }
}

impl LaunchArgument {
    /// Reads the launch file, but none of the files that it refers to.
    pub(crate) fn read(&self) -> Result<Description> {
        Description::read(&self.path)?.built_with(self.build.options()?)
    }

    /// The memory that the launch may use.
    pub(crate) fn limits(&self) -> Limits {
        self.limits.memory()
    }

    /// The simulator's options.
    pub(crate) fn simulation(&self) -> tripipe_simulate::Options {
        self.limits.simulation()
    }
}

impl LaunchLimits {
    /// The memory that a launch may use.
    pub(crate) fn memory(&self) -> Limits {
        Limits { bytes: self.limit_memory }
    }

    /// The simulator's options.
    pub(crate) fn simulation(&self) -> tripipe_simulate::Options {
        tripipe_simulate::Options {
            threads: self.threads.map_or(0, usize::from),
            steps: self.limit_steps,
            memory_bytes: self.limit_memory,
            ..tripipe_simulate::Options::default()
        }
    }
}

/// A launch file, and the folder that its paths are relative to.
#[derive(Clone)]
pub(crate) struct Description {
    pub(crate) file: LaunchFile,
    folder: PathBuf,
    /// The program, if it came from standard input.
    given: Option<Vec<u8>>,
    /// Build options of the command line, in addition to the file's.
    more: BuildOptions,
}

/// The name in messages of a program from standard input.
const STANDARD_INPUT: &str = "<stdin>";

impl Description {
    /// A program whose launch is not known; paths are relative to the working folder.
    pub(crate) fn of_program(source: ProgramFile, kernel: Option<String>) -> Self {
        let file = LaunchFile {
            name: String::new(),
            source,
            options: BuildOptions::default(),
            kernel,
            kernel_location: LineColumn { line: 1, column: 1 },
            range: NdRange::d1(1),
            arguments: Vec::new(),
        };
        Self { file, folder: PathBuf::new(), given: None, more: BuildOptions::default() }
    }

    /// A program from standard input, OpenCL C or SPIR-V.
    pub(crate) fn given(program: Vec<u8>) -> Self {
        const MAGIC: [u8; 4] = [0x03, 0x02, 0x23, 0x07];
        let path = STANDARD_INPUT.to_owned();
        let mut backwards = MAGIC;
        backwards.reverse();
        let is_spirv = program.starts_with(&MAGIC) || program.starts_with(&backwards);
        let source = if is_spirv { ProgramFile::SpirV { path } } else { ProgramFile::OpenClC { path } };
        Self { given: Some(program), ..Self::of_program(source, None) }
    }

    /// A program that was read already; `path` is where from.
    pub(crate) fn of_read(path: String, program: Vec<u8>, is_spirv: bool, options: BuildOptions) -> Self {
        let source = if is_spirv { ProgramFile::SpirV { path } } else { ProgramFile::OpenClC { path } };
        let mut description = Self { given: Some(program), ..Self::of_program(source, None) };
        description.file.options = options;
        description
    }

    /// The program's name for messages.
    pub(crate) fn shown(&self) -> String {
        self.path(self.file.source.path()).display().to_string()
    }

    /// The same with additional build options, whose paths are relative to the working folder.
    ///
    /// # Errors
    /// There are options, but the program is a SPIR-V module, which is not compiled.
    pub(crate) fn built_with(self, more: BuildOptions) -> Result<Self> {
        if more != BuildOptions::default()
            && let ProgramFile::SpirV { path } = &self.file.source
        {
            bail!("{path} is SPIR-V, which is not compiled: -D, -I and --options have no effect");
        }
        Ok(Self { more, ..self })
    }

    /// Reads a launch file, but none of the files that it refers to.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let from_pipe = path == Path::new("-");
        let shown = if from_pipe { "standard input".to_owned() } else { path.display().to_string() };
        let bytes = if from_pipe {
            let mut bytes = Vec::new();
            io::stdin()
                .read_to_end(&mut bytes)
                .map_err(|error| anyhow!("{shown} cannot be read: {}", plain(&error)))?;
            bytes
        } else {
            fs::read(path).map_err(|error| match fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => anyhow!("{shown} is a folder; name a launch file in it"),
                _ => anyhow!("{shown} cannot be read: {}; check the path", plain(&error)),
            })?
        };
        let Ok(text) = String::from_utf8(bytes) else {
            bail!("{shown} is not UTF-8 text, so it is not a launch file; see docs/launch-files.md");
        };
        let is_sim = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("sim"));
        let parse = if is_sim { file::sim::parse } else { file::parse };
        let file = parse(&text, &shown)?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { file, folder, given: None, more: BuildOptions::default() })
    }

    /// Resolves a path of the launch file.
    fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// The same with another macro definition.
    ///
    /// # Errors
    /// As [`Self::built_with`].
    pub(crate) fn defining(&self, name: &str, value: &str) -> Result<Self> {
        let mut more = self.more.clone();
        more.defines.push((name.to_owned(), value.to_owned()));
        self.clone().built_with(more)
    }

    /// A program or a launch file, by its name's ending; - is a program from standard input.
    ///
    /// # Errors
    /// It cannot be read; as [`Self::built_with`].
    pub(crate) fn open(path: &Path, build: BuildOptions) -> Result<Self> {
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            io::stdin().read_to_end(&mut bytes).context("standard input cannot be read")?;
            return Self::given(bytes).built_with(build);
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if matches!(ending, "toml" | "sim") {
            return Self::read(path)?.built_with(build);
        }
        let Some(path) = path.to_str().map(str::to_owned) else {
            bail!("{} is not UTF-8; rename it", path.display());
        };
        let is_spirv = ending.eq_ignore_ascii_case("spv");
        let source = if is_spirv { ProgramFile::SpirV { path } } else { ProgramFile::OpenClC { path } };
        Self::of_program(source, None).built_with(build)
    }

    /// Whether it describes a launch, not just a program.
    pub(crate) fn has_launch(&self) -> bool {
        !self.file.name.is_empty()
    }

    /// The arguments, with the contents of the files that they refer to.
    pub(crate) fn load(&self, built: &Built, limits: Limits) -> Result<Loaded> {
        self.load_file(&self.file, built, limits)
    }

    /// The same for another launch file in the same folder.
    fn load_file(&self, file: &LaunchFile, built: &Built, limits: Limits) -> Result<Loaded> {
        Ok(file.load(&built.kernels, &mut disk::Disk { folder: &self.folder }, limits)?)
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_with_units() {
        assert_eq!(bytes("1000"), Ok(1000));
        assert_eq!(bytes("64KiB"), Ok(65536));
        assert_eq!(bytes("1.5 GiB"), Ok(1_610_612_736));
        for wrong in ["", "0", "-1", "4GB", "KiB", "1e400", "nan"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
