//! `tripipe template`: a launch file as a starting point.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;

use crate::files::output::Output;
use crate::finish::Finish;
use crate::launch_input::LaunchArgument;
use crate::progress::Progress;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe template blur.cl -o blur.toml
  tripipe template blur.cl -k rows --global 640,480 -D RADIUS=3 -I include";

/// Print a launch file for a kernel as a starting point: every argument with its name and type, and initial data.
///
/// `tripipe run-kernel` and `tripipe check` accept it without changes. Sizes, numbers and contents are guesses, and
/// marked as such; a buffer is as large as the kernel reaches with them. Paths in a launch file are relative to it; with -o they are written so.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Template {
    #[command(flatten)]
    launch: LaunchArgument,
    /// Output file, which must not exist yet [default: standard output].
    #[arg(short, long, value_name = "LAUNCH.toml")]
    output: Option<PathBuf>,
}

impl Template {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let description = self.launch.open()?;
        if description.has_launch() {
            bail!("{} is a launch file already; name a program", description.file.name);
        }
        if let Some(path) = self.output.as_deref().filter(|path| path.is_file()) {
            bail!(
                "{} exists, and what was written in it would be lost; remove it, or name another file",
                path.display()
            );
        }
        let output = self.output.as_deref().map(Output::open).transpose()?;
        let progress = Progress::compiler("compiling the kernel");
        // Paths of a launch file are relative to its own folder.
        let folder = self.output.as_deref().and_then(Path::parent);
        let is_elsewhere = folder.is_some_and(|folder| !folder.as_os_str().is_empty());
        let text = description.launch_file(is_elsewhere)?;
        drop(progress);
        match output {
            Some(output) => output.write(|sink| Ok(sink.write_all(text.as_bytes())?))?,
            None => out.write_all(text.as_bytes())?,
        }
        Ok(Finish::Clean)
    }
}
