//! What commands launch: programs and launch files, read, built, loaded and run.

mod disk;
mod driver;
mod dump;
mod gpus;
mod input;
mod options;
mod price;
mod program;
mod reach;
mod rewritten;
mod sequence;
mod subject;
mod template;
mod tuned;
mod workload;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use tripipe_device::{Gpu, OpenCl};
use tripipe_ir::Kernel;
use tripipe_launch::NdRange;
use tripipe_launch_file::{
    self as file, BuildOptions, LaunchFile, Limits, LineColumn, Loaded, Number, ProgramFile,
};

pub(crate) use dump::Dumps;
pub(crate) use gpus::{DEFAULT_GPU, GpuArgument, gpu, names};
pub(crate) use options::{BuildArgument, LaunchOptions, options_text};
pub(crate) use price::price_statically;
pub(crate) use program::{Built, DriverBuild, GpuBuild, one_kernel};
pub(crate) use sequence::{Launches, Sequence, StagedSequence};
pub(crate) use subject::LaunchFiles;
use workload::{GUESS_MOST, described_bytes};
pub(crate) use workload::{LIMIT_STEPS, Timed, Trial, Workload, is_fault_of_kernel};

use input::{LaunchInput, is_module};
use template::LaunchTemplate;

use crate::commands::note;
use crate::files::input::shown_input;
use crate::files::originals;

/// A kernel and its launch.
#[derive(Args)]
pub(crate) struct LaunchArgument {
    /// The program: OpenCL C, SPIR-V if its name ends in .spv, or a launch file (docs/launch-files.md) if it ends in
    /// .toml or .sim; - reads a program or a launch file from standard input. Without a launch file, memory and numbers
    /// are guessed as `tripipe template` does.
    #[arg(value_name = "FILE.cl|FILE.spv|LAUNCH.toml|-")]
    path: PathBuf,
    #[command(flatten)]
    options: LaunchOptions,
}

impl LaunchArgument {
    /// The program or the launch file; none of the files that it refers to is read.
    ///
    /// # Errors
    /// As [`Description::open`].
    pub(crate) fn open(&self) -> Result<Description> {
        Description::open(&self.path, &self.options)
    }
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

/// A program or a launch file, the folder that its paths are relative to, and the options of the command line.
#[derive(Clone)]
pub(crate) struct Description {
    /// The launch file, with the kernel and the sizes of the command line.
    pub(crate) file: LaunchFile,
    /// The text of a launch file in TOML.
    text: Option<String>,
    folder: PathBuf,
    /// The program, if it is not read from its file: from standard input, say.
    given: Option<Vec<u8>>,
    pub(crate) options: LaunchOptions,
    /// Build options of the command line, in addition to the file's.
    more: BuildOptions,
}

/// The name in messages of a program from standard input.
const STANDARD_INPUT: &str = "<stdin>";

impl Description {
    /// A program whose launch is not known; paths are relative to the working folder.
    fn of_program(source: ProgramFile) -> Self {
        let file = LaunchFile {
            name: String::new(),
            source,
            options: BuildOptions::default(),
            kernel: None,
            kernel_location: LineColumn { line: 1, column: 1 },
            range: NdRange::d1(1),
            arguments: Vec::new(),
            tuning: None,
        };
        Self {
            file,
            text: None,
            folder: PathBuf::new(),
            given: None,
            options: LaunchOptions::default(),
            more: BuildOptions::default(),
        }
    }

    /// A program that was read already; `path` is where from.
    pub(crate) fn of_read(path: String, program: Vec<u8>, is_spirv: bool) -> Self {
        let source = if is_spirv { ProgramFile::SpirV { path } } else { ProgramFile::OpenClC { path } };
        Self { given: Some(program), ..Self::of_program(source) }
    }

    /// A launch file.
    fn of_launch_file(file: LaunchFile) -> Self {
        Self { file, ..Self::of_program(ProgramFile::OpenClC { path: String::new() }) }
    }

    /// The launch of a launch file in TOML that was read already, with values of number arguments and macros that take
    /// precedence; `name` is the file's, for messages. Paths are relative to the working folder.
    ///
    /// # Errors
    /// It is not a launch file.
    pub(crate) fn of_launch_text(
        text: String,
        name: &str,
        arguments: Vec<(String, Number)>,
        defines: Vec<(String, String)>,
    ) -> Result<Self> {
        let options = LaunchOptions { arguments, ..LaunchOptions::default() };
        let more = BuildOptions { defines, ..BuildOptions::default() };
        let file = file::parse_with(&text, name, &options.overrides(&more))?;
        Self { text: Some(text), options, ..Self::of_launch_file(file) }.built_with(more)
    }

    /// The same with this text as the program, instead of the contents of its file.
    pub(crate) fn with_program(self, program: String) -> Self {
        Self { given: Some(program.into_bytes()), ..self }
    }

    /// A program or a launch file, by its name's ending, or else by its contents; - is standard input. None of the
    /// files that it refers to is read. `options` take precedence over a launch file; their paths are relative to the
    /// working folder.
    ///
    /// # Errors
    /// It cannot be read, or is not a launch file although its ending says so; it has several launches; an option is not
    /// possible.
    pub(crate) fn open(path: &Path, options: &LaunchOptions) -> Result<Self> {
        options.check()?;
        Self::of_input(LaunchInput::read(path)?, path, options)
    }

    /// The same for what was read from there.
    fn of_input(input: LaunchInput, path: &Path, options: &LaunchOptions) -> Result<Self> {
        let more = options.build.options()?;
        let opened = match input {
            LaunchInput::Toml(text) => {
                let file = file::parse_with(&text, &shown_input(path), &options.overrides(&more))?;
                Self { text: Some(text), ..Self::of_launch_file(file) }
            }
            LaunchInput::Sim(text) => Self::of_launch_file(file::sim::parse(&text, &shown_input(path))?),
            LaunchInput::File { is_spirv } => Self::of_file(path, is_spirv)?,
            LaunchInput::Program(bytes) => {
                let is_spirv = is_module(&bytes);
                Self::of_read(STANDARD_INPUT.to_owned(), bytes, is_spirv)
            }
        };
        let folder = if opened.has_launch() { path.parent().map(Path::to_owned) } else { None };
        let folder = folder.unwrap_or_default();
        let opened = Self { folder, options: options.clone(), ..opened }.built_with(more)?;
        for read in [path, &opened.path(opened.file.source.path())] {
            originals::keep(read)?;
        }
        Ok(opened)
    }

    /// A program in a file.
    fn of_file(path: &Path, is_spirv: bool) -> Result<Self> {
        let Some(path) = path.to_str().map(str::to_owned) else {
            bail!("{} is not UTF-8, as launch files must be; rename it", path.display());
        };
        let source = if is_spirv { ProgramFile::SpirV { path } } else { ProgramFile::OpenClC { path } };
        Ok(Self::of_program(source))
    }

    /// The program's name for messages.
    pub(crate) fn shown(&self) -> String {
        self.path(self.file.source.path()).display().to_string()
    }

    /// The same with additional build options, whose paths are relative to the working folder.
    ///
    /// # Errors
    /// There are options, but the program is a SPIR-V module, which is not compiled; the launch file is wrong with
    /// them.
    pub(crate) fn built_with(mut self, more: BuildOptions) -> Result<Self> {
        if more != BuildOptions::default()
            && let ProgramFile::SpirV { path } = &self.file.source
        {
            bail!(
                "{path} is SPIR-V, which is not compiled: -D, -I, --options, --assume and --driver have no effect"
            );
        }
        self.more = more;
        // Sizes may depend on definitions.
        if let Some(text) = &self.text {
            self.file = file::parse_with(text, &self.file.name, &self.options.overrides(&self.more))?;
        }
        if self.has_launch()
            && let Some(range) = self.options.range(Some(self.file.range))?
        {
            self.file.range = range;
        }
        if let Some(kernel) = &self.options.kernel {
            self.file.kernel = Some(kernel.clone());
        }
        Ok(self)
    }

    /// What a GPU offers to the program, with what is assumed; `None` without a GPU, which offers everything.
    ///
    /// # Errors
    /// The driver or what is assumed is not known, or a driver is named without a GPU.
    pub(crate) fn offered(&self, gpu: Option<&Gpu>) -> Result<Option<OpenCl>> {
        let driver = self.more.driver.as_ref().or(self.file.options.driver.as_ref());
        let Some(gpu) = gpu else {
            let Some(driver) = driver else { return Ok(None) };
            bail!(
                "the driver {driver} is one of a GPU, but none is named; add one with --gpu or --device virtual:NAME"
            );
        };
        let opencl = match driver {
            Some(driver) => gpu.opencl_of(driver).context("--driver")?,
            None => gpu.opencl(),
        };
        let assumed: Vec<&String> = self.file.options.assume.iter().chain(&self.more.assume).collect();
        Ok(Some(opencl.clone().assuming(&assumed).context("--assume")?))
    }

    /// Resolves a path of the launch file.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
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

    /// Whether it describes a launch, not just a program.
    pub(crate) fn has_launch(&self) -> bool {
        !self.file.name.is_empty()
    }

    /// The range, of the launch file or of the command line; `None` if neither has a global size.
    ///
    /// # Errors
    /// The work-group has more dimensions than the launch.
    pub(crate) fn range(&self) -> Result<Option<NdRange>> {
        if self.has_launch() { Ok(Some(self.file.range)) } else { self.options.range(None) }
    }

    /// The same with a launch: if it is only a program, with one that is guessed as `tripipe template` does for `gpu`,
    /// which a note says.
    ///
    /// # Errors
    /// As [`Self::offered`]; the program does not compile, or has several kernels and none is chosen.
    pub(crate) fn with_launch(self, gpu: Option<&Gpu>) -> Result<Self> {
        self.with_grown_launch(gpu, 1)
    }

    /// As [`Self::with_launch`], with `growth` times as many elements in each guessed buffer.
    ///
    /// # Errors
    /// As [`Self::with_launch`]; the memory has grown too large.
    pub(crate) fn with_grown_launch(self, gpu: Option<&Gpu>, growth: usize) -> Result<Self> {
        if self.has_launch() {
            return Ok(self);
        }
        let (program, loaded) = self.translate(self.offered(gpu)?)?;
        let name = self.shown();
        let kernel = one_kernel(&loaded, &name, self.file.kernel.as_deref())?;
        let reach = self.reach(&program, &loaded, kernel);
        let (file, text) = self.guess(kernel, growth, &reach)?;
        if growth > 1 {
            if described_bytes(&file).is_none_or(|bytes| bytes > GUESS_MOST) {
                bail!(
                    "the guessed memory does not suit it; write a launch file (`tripipe template` writes one)"
                );
            }
            return Ok(Self { file, text: Some(text), ..self });
        }
        let how = if self.given.is_some() {
            "a launch file gives them".to_owned()
        } else {
            let given = self.options.given();
            let given = if given.is_empty() { String::new() } else { format!(", with the same {given},") };
            format!("`tripipe template {name} -o LAUNCH.toml`{given} writes it to a file, to correct it")
        };
        let named = kernel.parameters.iter().zip(&reach).filter(|(_, reach)| **reach > 0);
        let named: Vec<String> = named.map(|(parameter, _)| format!("`{}`", parameter.name)).collect();
        let sized = match &named[..] {
            [] => String::new(),
            named => format!(
                " ({} as large as the kernel reaches, so that no access is behind its end)",
                named.join(", ")
            ),
        };
        note(&format!(
            "the launch of `{}` is guessed: sizes, numbers and contents of memory{sized}; {how}",
            kernel.name
        ));
        Ok(Self { file, text: Some(text), ..self })
    }

    /// A launch that is guessed for one of the program's kernels, with `growth` times as many elements in each buffer as
    /// at first, and its text. `reach` has the bytes that the kernel needs of the buffer of each argument, as far as known.
    ///
    /// # Errors
    /// The options of the command line are not possible for the kernel.
    pub(crate) fn guess(
        &self,
        kernel: &Kernel,
        growth: usize,
        reach: &[u64],
    ) -> Result<(LaunchFile, String)> {
        let text = self.template(kernel, growth, reach, &self.file.source, "")?;
        Ok((file::parse(&text, &format!("the guessed launch of `{}`", kernel.name))?, text))
    }

    fn template(
        &self,
        kernel: &Kernel,
        growth: usize,
        reach: &[u64],
        source: &ProgramFile,
        options: &str,
    ) -> Result<String> {
        self.options.check_kernels(&[kernel])?;
        let template = LaunchTemplate::new(kernel, &self.options)
            .with_context(|| format!("kernel `{}`", kernel.name))?;
        Ok(template.grown(growth).reaching(reach).text(source, options))
    }

    /// The text of a launch file for the program's kernel, with guesses. If the file is to lie `elsewhere` than the
    /// working folder, its paths are absolute.
    ///
    /// # Errors
    /// As [`Self::translate`]; the program has several kernels and none is chosen; the options of the command line are
    /// not possible for the kernel, or in a launch file.
    pub(crate) fn launch_file(&self, elsewhere: bool) -> Result<String> {
        if self.given.is_some() {
            bail!("- has no name for a launch file; save the program in a file");
        }
        let mut source = self.file.source.clone();
        if elsewhere {
            let (ProgramFile::OpenClC { path } | ProgramFile::SpirV { path }) = &mut source;
            *path = options::absolute(path)?;
        }
        let (program, loaded) = self.translate(self.offered(None)?)?;
        let kernel = one_kernel(&loaded, &self.shown(), self.file.kernel.as_deref())?;
        let reach = self.reach(&program, &loaded, kernel);
        self.template(kernel, 1, &reach, &source, &options_text(&self.more, elsewhere)?)
    }

    /// The arguments, with the contents of the files that they refer to.
    ///
    /// # Errors
    /// An argument of the command line is not one of the kernel's; as [`LaunchFile::load`].
    pub(crate) fn load(&self, built: &Built, limits: Limits) -> Result<Loaded> {
        let mut file = self.file.clone();
        if !self.options.arguments.is_empty()
            && let Ok(signature) = file.signature(&built.kernels)
        {
            let entries = file.arguments.iter().map(|entry| entry.name.clone().unwrap_or_default());
            let names: Vec<String> =
                signature.parameters.iter().map(|parameter| parameter.name.clone()).chain(entries).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let kernel = signature.kernel.clone();
            let own = &names[..signature.parameters.len()];
            self.options.check_names(&[(&kernel, names.clone())])?;
            self.options.adjust(&mut file, &kernel, own)?;
        }
        self.load_file(&file, built, limits)
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
