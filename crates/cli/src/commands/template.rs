//! `tripipe template`: a launch file as a starting point.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use tripipe_ir::Kernel;
use tripipe_ir::front::spirv::Loaded;
use tripipe_launch_file::ProgramFile;

use crate::finish::Finish;
use crate::launch_input::{self, BuildArgument, Description};
use crate::progress::Progress;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe template blur.cl > blur.toml
  tripipe template blur.cl -k rows --global 640,480 -D RADIUS=3 -I include";

/// Print a launch file for a kernel as a starting point: every argument with its name and type, and initial data.
///
/// `tripipe run-kernel` and `tripipe check` accept it without changes. Sizes, numbers and contents are guesses, and
/// marked as such. The paths in it are relative to the current folder, so save it there.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Template {
    /// The program: OpenCL C, or SPIR-V if its name ends in .spv.
    #[arg(value_name = "FILE.cl|FILE.spv")]
    program: PathBuf,
    /// Kernel; may be omitted if the program has only one.
    #[arg(short, long, value_name = "NAME")]
    kernel: Option<String>,
    /// Global work size: work-items in each dimension [default: 1024 in total, in as many dimensions as the kernel
    /// uses].
    #[arg(long, value_name = "N[,N[,N]]", value_delimiter = ',', num_args = 1, value_parser = size)]
    global: Vec<usize>,
    #[command(flatten)]
    build: BuildArgument,
}

/// Parses a number of work-items. OpenCL counts them in `size_t`; here they must fit into 32 bits.
fn size(text: &str) -> Result<usize, String> {
    match text.trim().parse::<u32>() {
        Ok(size @ 1..) => Ok(size as usize),
        _ => Err("want numbers of work-items, 1 to 4294967295, such as 1024 or 640,480".to_owned()),
    }
}

impl Template {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        if self.global.len() > 3 {
            bail!("a launch has 1 to 3 dimensions, not {}; give --global as many sizes", self.global.len());
        }
        let Some(path) = self.program.to_str().map(str::to_owned) else {
            bail!("{} is not UTF-8, as launch files must be; rename it", self.program.display());
        };
        let is_spirv = self.program.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("spv"));
        let source = if is_spirv { ProgramFile::SpirV { path } } else { ProgramFile::OpenClC { path } };
        let options = self.build.text()?;
        let progress = Progress::compiler("compiling the kernel");
        let description = Description::of_program(source, self.kernel).built_with(self.build.options()?)?;
        let (_, loaded) = description.translate()?;
        drop(progress);
        let file = &description.file;
        let kernel = chosen(&loaded, file.source.path(), file.kernel.as_deref())?;
        let template = launch_input::LaunchTemplate::new(kernel, &self.global)
            .map_err(|why| anyhow!("kernel `{}`: {why}", kernel.name))?;
        out.write_all(template.text(&file.source, &options).as_bytes())?;
        Ok(Finish::Clean)
    }
}

/// The kernel of that name, or the only one.
fn chosen<'l>(loaded: &'l Loaded, program: &str, wanted: Option<&str>) -> Result<&'l Kernel> {
    let names: Vec<&str> = loaded
        .module
        .kernels
        .iter()
        .map(|kernel| kernel.name.as_str())
        .chain(loaded.refused.iter().map(|refused| refused.kernel.as_str()))
        .collect();
    let listed = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let wanted = match (wanted, &names[..]) {
        (Some(wanted), _) if names.contains(&wanted) => wanted,
        (Some(wanted), [_, ..]) => bail!("{program} has no kernel `{wanted}`; it has {}", listed()),
        (_, []) => bail!("{program} has no kernel"),
        (None, [only]) => only,
        (None, _) => bail!("{program} has {} kernels; choose one with --kernel: {}", names.len(), listed()),
    };
    if let Some(refused) = loaded.refused.iter().find(|refused| refused.kernel == wanted) {
        bail!("{program}: kernel `{wanted}`: {}", refused.error);
    }
    loaded.module.kernel(wanted).ok_or_else(|| anyhow!("{program} has no kernel `{wanted}`"))
}
