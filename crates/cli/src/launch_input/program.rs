//! The program of a launch file, built, and the parameters of its kernels.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail};
use tripipe_device::nearest::nearest;
use tripipe_device::{Gpu, OpenCl};
use tripipe_ir::Kernel;
use tripipe_ir::diagnostic::LoadError;
use tripipe_ir::front::clang::{self, BuildError, Optimization};
use tripipe_ir::front::spirv::{self, Loaded};
use tripipe_launch::{Program, Source};
use tripipe_launch_file::{ElementType, Parameter, ParameterKind, ProgramFile, Signature, pointee};
use tripipe_opencl::{ArgumentInfo, CacheChoice, Context, KernelArguments};

use super::{Description, disk};

/// Maximum bytes of a source or a module.
const PROGRAM_MAX: u64 = 64 << 20;

/// A built program.
pub(crate) struct Built {
    /// The program for an executor.
    pub(crate) program: Arc<Program>,
    /// The parameters of its kernels.
    pub(crate) kernels: Vec<Signature>,
}

/// A program after the optimisations that a driver applies before it selects instructions.
pub(crate) struct DriverBuild {
    /// The program for an executor.
    pub(crate) built: Built,
    /// Its kernels.
    pub(crate) loaded: Loaded,
    /// The compiler's warnings.
    warnings: String,
    /// Why the kernels are as written instead, if they are.
    pub(crate) left_out: Option<String>,
}

/// A program as SPIR-V, its kernels, and the compiler's warnings.
struct Translated {
    program: Program,
    loaded: Loaded,
    warnings: String,
}

/// A program as the drivers of some GPUs build it, or why they do not.
pub(crate) struct GpuBuild {
    pub(crate) gpus: Vec<&'static Gpu>,
    pub(crate) build: Result<DriverBuild>,
}

impl GpuBuild {
    /// The builds that succeeded, with their GPUs, and what the others lack.
    ///
    /// # Errors
    /// None succeeded.
    pub(crate) fn split(builds: Vec<Self>) -> Result<(Vec<BuiltFor>, Vec<Lacking>)> {
        let (mut built, mut lacking) = (Vec::new(), Vec::new());
        for GpuBuild { gpus, build } in builds {
            match build {
                Ok(build) => built.push((gpus, build)),
                Err(error) => lacking.push((gpus, error)),
            }
        }
        if built.is_empty() && !lacking.is_empty() {
            return Err(lacking.swap_remove(0).1);
        }
        Ok((built, lacking))
    }
}

/// GPUs whose drivers make the same of a program.
pub(crate) type BuiltFor = (Vec<&'static Gpu>, DriverBuild);

/// GPUs whose drivers do not build a program, and why.
pub(crate) type Lacking = (Vec<&'static Gpu>, anyhow::Error);

impl DriverBuild {
    fn new(translated: Translated, left_out: Option<String>) -> Self {
        let Translated { program, loaded, warnings } = translated;
        let kernels = loaded.module.kernels.iter().map(Signature::of).collect();
        Self { built: Built { program: Arc::new(program), kernels }, loaded, warnings, left_out }
    }

    /// The kernels: the one that is wanted, or all of them. `program` is the program's name for messages.
    ///
    /// # Errors
    /// There is no such kernel, or it cannot be loaded.
    pub(crate) fn kernels(&self, program: &str, wanted: Option<&str>) -> Result<Vec<&Kernel>> {
        let all = &self.loaded.module.kernels;
        if wanted.is_some() || all.is_empty() {
            return one_kernel(&self.loaded, program, wanted).map(|kernel| vec![kernel]);
        }
        Ok(all.iter().collect())
    }
}

/// The kernel of that name, or the only one. `program` is the program's name for messages.
///
/// # Errors
/// There is no such kernel, or it cannot be loaded; there are several.
pub(crate) fn one_kernel<'l>(loaded: &'l Loaded, program: &str, wanted: Option<&str>) -> Result<&'l Kernel> {
    let refused = loaded.refused.iter().map(|refused| refused.kernel.as_str());
    let names: Vec<&str> =
        loaded.module.kernels.iter().map(|kernel| kernel.name.as_str()).chain(refused).collect();
    let listed = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let wanted = match (wanted, &names[..]) {
        (Some(wanted), _) if names.contains(&wanted) => wanted,
        (Some(wanted), [_, ..]) => {
            let near = nearest(wanted, names.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            bail!("{program} has no kernel `{wanted}`; it has {}{near}", listed())
        }
        (_, []) => bail!("{program} has no kernel"),
        (None, [only]) => only,
        (None, _) => bail!("{program} has {} kernels; choose one with --kernel: {}", names.len(), listed()),
    };
    if let Some(refused) = loaded.refused.iter().find(|refused| refused.kernel == wanted) {
        bail!("{program}: kernel `{wanted}`: {}", refused.error);
    }
    loaded.module.kernel(wanted).ok_or_else(|| anyhow!("{program} has no kernel `{wanted}`"))
}

impl Description {
    /// The program's path for messages, and its content.
    pub(super) fn source(&self) -> Result<(String, Source)> {
        let path = self.path(self.file.source.path());
        let shown = path.display().to_string();
        let bytes = match &self.given {
            Some(given) => given.clone(),
            None => disk::bytes(&path, PROGRAM_MAX)?,
        };
        let source = match self.file.source {
            ProgramFile::SpirV { .. } => Source::SpirV(bytes.into()),
            ProgramFile::OpenClC { .. } => Source::OpenClC(
                String::from_utf8(bytes)
                    .map_err(|_| {
                        anyhow!(
                            "{shown} is not text, so it is no OpenCL C; name a program (.cl), a SPIR-V module (.spv, or \
                             `spirv = ` in a launch file) or a launch file (.toml)"
                        )
                    })?
                    .into(),
            ),
        };
        Ok((shown, source))
    }

    /// The program's text; `None` if it has none, or cannot be read.
    pub(crate) fn text(&self) -> Option<String> {
        match self.source() {
            Ok((_, Source::OpenClC(text))) => Some(text.to_string()),
            _ => None,
        }
    }

    /// The program as it was written, and its text; the text of a module is empty.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn as_written(&self) -> Result<(Program, String)> {
        let (name, source) = self.source()?;
        let text = match &source {
            Source::OpenClC(text) => text.to_string(),
            _ => String::new(),
        };
        let includes = text.contains("#include");
        let mut program = self.program(name.clone(), source);
        if includes {
            let folder = clang::folder_of(Path::new(&name));
            program.options.extend(["-I".to_owned(), folder.display().to_string()]);
        }
        Ok((program, text))
    }

    fn program(&self, name: String, source: Source) -> Program {
        let mut program = self.file.program(name, source, |folder| self.path(folder).display().to_string());
        // Options of the command line come last; their folders are relative to the working folder.
        for (name, value) in &self.more.defines {
            program.defines.retain(|(defined, _)| defined != name);
            program.defines.push((name.clone(), value.clone()));
        }
        for folder in &self.more.includes {
            program.options.extend(["-I".to_owned(), folder.clone()]);
        }
        program.options.extend(self.more.flags.iter().cloned());
        program
    }

    /// The program as SPIR-V, compiled by clang if it is source for a device that offers `offered`, and its kernels;
    /// warnings go to standard error.
    ///
    /// # Errors
    /// There is no clang, the source does not compile (clang's messages go to standard error), or a module cannot be
    /// loaded.
    pub(crate) fn translate(&self, offered: Option<OpenCl>) -> Result<(Program, Loaded)> {
        let (name, source) = self.source()?;
        let translated = self.translated(&name, source, Optimization::AsWritten, offered)?;
        let translated = translated.map_err(|error| explained(error, &mut say))?;
        say(&translated.warnings);
        Ok((translated.program, translated.loaded))
    }

    /// The same for the result of [`Self::source`], at an optimisation level; the inner error is a failed build of the
    /// source.
    fn translated(
        &self,
        name: &str,
        source: Source,
        optimization: Optimization,
        offered: Option<OpenCl>,
    ) -> Result<Result<Translated, BuildError>> {
        let mut warnings = String::new();
        let mut program = self.program(name.to_owned(), source);
        if let Source::OpenClC(text) = &program.source {
            let defines = program.defines.iter().map(|(name, value)| format!("-D{name}={value}"));
            let options = defines.chain(program.options.iter().cloned()).collect();
            let cache = CacheChoice::default().cache();
            let build = clang::Build { options, optimization, cache, offered };
            let folder = clang::folder_of(Path::new(name));
            let built = match clang::build_text(name, text, Some(folder), &build) {
                Ok(built) => built,
                Err(error) => return Ok(Err(error)),
            };
            warnings = built.warnings;
            program.source = Source::SpirV(built.spirv.into());
        }
        let Source::SpirV(module) = &program.source else {
            return Err(anyhow!("{name} is neither OpenCL C nor SPIR-V"));
        };
        let options = spirv::Options { math: spirv::Math::of(&program.options), ..spirv::Options::default() };
        let loaded =
            spirv::load_each(module, &options).map_err(|error: LoadError| anyhow!("{name}: {error}"))?;
        Ok(Ok(Translated { program, loaded, warnings }))
    }

    /// The kernels after the optimisations that a driver applies before it selects instructions; or the kernels as
    /// written, with the reason why they could not be optimised. They are built for a GPU as its driver does.
    ///
    /// # Errors
    /// As [`Self::translate`] and [`Self::offered`].
    pub(crate) fn as_driver(&self, gpu: &Gpu) -> Result<DriverBuild> {
        let build = self.as_driver_of(self.offered(Some(gpu))?, &mut say)?;
        say(&build.warnings);
        Ok(build)
    }

    /// The same, with the compiler's messages added to `messages` instead of written to standard error.
    ///
    /// # Errors
    /// As [`Self::as_driver`].
    pub(crate) fn as_driver_saying(&self, gpu: &Gpu, messages: &mut String) -> Result<DriverBuild> {
        let build = self.as_driver_of(self.offered(Some(gpu))?, &mut |said| messages.push_str(said))?;
        messages.push_str(&build.warnings);
        Ok(build)
    }

    /// The same for several GPUs: one build for those whose drivers make the same of it. A GPU that lacks something has
    /// the error.
    ///
    /// # Errors
    /// As [`Self::offered`].
    pub(crate) fn as_drivers(&self, gpus: &[&'static Gpu]) -> Result<Vec<GpuBuild>> {
        // A module is not compiled.
        let is_module = matches!(self.file.source, ProgramFile::SpirV { .. });
        let mut offers: Vec<(Option<OpenCl>, Vec<&'static Gpu>)> = Vec::new();
        for gpu in gpus {
            let own = self.offered(Some(gpu))?;
            let same = |known: &Option<OpenCl>| {
                is_module
                    || known.as_ref().zip(own.as_ref()).is_some_and(|(known, own)| known.compiles_as(own))
            };
            match offers.iter_mut().find(|(known, _)| same(known)) {
                Some((_, gpus)) => gpus.push(gpu),
                None => offers.push((own, vec![gpu])),
            }
        }
        let mut builds: Vec<GpuBuild> = Vec::new();
        // What several compilers say is said once.
        let (mut warned, mut refused): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for (offered, gpus) in offers {
            let build = self.as_driver_of(offered, &mut |messages| refused.push(messages.to_owned()));
            if let Ok(DriverBuild { warnings, .. }) = &build
                && !warned.contains(warnings)
            {
                say(warnings);
                warned.push(warnings.clone());
            }
            // Modules of several versions of the language may contain the same kernels.
            let same = |known: &&mut GpuBuild| match (&known.build, &build) {
                (Ok(known), Ok(build)) => {
                    known.loaded.module == build.loaded.module
                        && known.loaded.refused.is_empty()
                        && build.loaded.refused.is_empty()
                }
                _ => false,
            };
            match builds.iter_mut().find(same) {
                Some(known) => known.gpus.extend(gpus),
                None => builds.push(GpuBuild { gpus, build }),
            }
        }
        // Where others build it, a note says what a GPU lacks.
        if builds.iter().all(|build| build.build.is_err()) {
            refused.dedup();
            for messages in &refused {
                say(messages);
            }
        }
        Ok(builds)
    }

    /// A build for a device that offers `offered`; `say` is called with the compiler's messages if it fails.
    fn as_driver_of(&self, offered: Option<OpenCl>, say: &mut dyn FnMut(&str)) -> Result<DriverBuild> {
        let (name, source) = self.source()?;
        let why = if let Source::SpirV(module) = &source {
            let math = spirv::Math::of(&self.program(name.clone(), source.clone()).options);
            let options = spirv::Options { math, ..spirv::Options::default() };
            match clang::optimized_as_driver(&name, module, &options) {
                Ok((built, loaded)) => {
                    let program = self.program(name, Source::SpirV(built.spirv.into()));
                    let translated = Translated { program, loaded, warnings: String::new() };
                    return Ok(DriverBuild::new(translated, None));
                }
                Err(why) => why,
            }
        } else {
            match self.translated(&name, source.clone(), Optimization::Driver, offered.clone())? {
                Ok(translated) if translated.loaded.refused.is_empty() => {
                    return Ok(DriverBuild::new(translated, None));
                }
                // Optimised code contains something that the translator or the reader does not support: use it as
                // written.
                Ok(_) | Err(BuildError::Translate { .. }) => "the optimised code uses unsupported features",
                Err(error) => return Err(explained(error, say)),
            }
        };
        let translated = self.translated(&name, source, Optimization::AsWritten, offered)?;
        let translated = translated.map_err(|error| explained(error, say))?;
        Ok(DriverBuild::new(translated, Some(format!("the optimisations of a driver: {why}"))))
    }

    /// The program for the simulator, built for a GPU, or for everything that phones offer.
    ///
    /// # Errors
    /// As [`Self::translate`] and [`Self::offered`]; the requested kernel cannot be loaded, or any kernel if none is named.
    pub(crate) fn build(&self, gpu: Option<&Gpu>) -> Result<Built> {
        let (program, loaded) = self.translate(self.offered(gpu)?)?;
        let kernels = self.accepted(&program.name, &loaded)?;
        Ok(Built { program: Arc::new(program), kernels })
    }

    /// The same, as a driver of the GPU would optimise it: what times are predicted for.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub(crate) fn build_optimized(&self, gpu: &Gpu) -> Result<Built> {
        let build = self.as_driver_of(self.offered(Some(gpu))?, &mut say)?;
        say(&build.warnings);
        self.accepted(&build.built.program.name, &build.loaded)?;
        Ok(build.built)
    }

    /// The signatures of the kernels, all of which can be run.
    fn accepted(&self, program: &str, loaded: &Loaded) -> Result<Vec<Signature>> {
        let wanted = |kernel: &str| self.file.kernel.as_deref().is_none_or(|wanted| wanted == kernel);
        if let Some(refused) = loaded.refused.iter().find(|refused| wanted(&refused.kernel)) {
            return Err(anyhow!("{program}: kernel `{}`: {}", refused.kernel, refused.error));
        }
        Ok(loaded.module.kernels.iter().map(Signature::of).collect())
    }

    /// The program for an OpenCL device, built by its driver.
    ///
    /// # Errors
    /// The driver rejects it; its compiler's messages go to standard error.
    pub(crate) fn build_for(&self, device: &tripipe_opencl::Device) -> Result<Built> {
        let (name, source) = self.source()?;
        // The driver gets only the text; includes in quotes are relative to its file.
        let includes = matches!(&source, Source::OpenClC(text) if text.contains("#include"));
        let mut program = self.program(name.clone(), source);
        if includes {
            let folder = clang::folder_of(Path::new(&name));
            program.options.extend(["-I".to_owned(), folder.display().to_string()]);
        }
        let context =
            Context::new(device).with_context(|| format!("{} cannot be used", device.probe().name))?;
        let built = tripipe_opencl::Program::build(&context, &program).inspect_err(|error| {
            if let tripipe_opencl::BuildError::Source { log, .. } = error {
                say(log);
            }
        })?;
        let mut kernels = Vec::new();
        for entry in built.kernels() {
            let kernel = built.kernel(entry)?;
            let parameters = match kernel.arguments() {
                KernelArguments::Known(all) => all.iter().map(parameter_from_driver).collect(),
                KernelArguments::Counted(count) => {
                    vec![Parameter { name: String::new(), kind: ParameterKind::Unknown }; *count]
                }
            };
            kernels.push(Signature { kernel: entry.clone(), parameters });
        }
        Ok(Built { program: Arc::new(program), kernels })
    }
}

/// Writes a compiler's messages for the author of the source.
fn say(messages: &str) {
    if !messages.trim().is_empty() {
        // If this fails, nobody reads standard error.
        let _ = writeln!(io::stderr(), "{}", messages.trim_end());
    }
}

/// The error in one line; the compiler's messages are printed unchanged.
fn explained(error: BuildError, say: &mut dyn FnMut(&str)) -> anyhow::Error {
    let (what, messages) = match &error {
        BuildError::Compile { name, messages } => (format!("{name} does not compile"), messages),
        BuildError::Translate { name, program, messages } => {
            (format!("{program} cannot translate {name}"), messages)
        }
        _ => return error.into(),
    };
    say(messages);
    let first = messages.lines().find(|line| line.contains("error")).unwrap_or_default();
    anyhow!("{what}: {first}")
}

/// The parameter that a driver describes.
fn parameter_from_driver(argument: &ArgumentInfo) -> Parameter {
    let type_name = argument.type_name.as_str();
    // Some drivers put the access qualifier before the type: `__read_only image2d_t`.
    let is_image = type_name.split_whitespace().any(|word| word.starts_with("image") && word.ends_with("_t"));
    let kind = match argument.space {
        _ if is_image => ParameterKind::Image,
        _ if type_name.ends_with("sampler_t") => ParameterKind::Sampler,
        tripipe_opencl::Space::Local => ParameterKind::Local,
        tripipe_opencl::Space::Global | tripipe_opencl::Space::Constant => {
            ParameterKind::Buffer { element: pointee(type_name) }
        }
        tripipe_opencl::Space::Private => match ElementType::from_opencl_name(type_name) {
            Some(element) => ParameterKind::Value(element),
            None => ParameterKind::Opaque { type_name: type_name.to_owned(), bytes: None },
        },
    };
    Parameter { name: argument.name.clone(), kind }
}
