//! `tripipe lsp`: a language server for OpenCL C, over standard input and output.

mod answers;
mod frame;
mod review;
mod server;
mod settings;
mod text;

use std::io::Write;

use anyhow::Result;
use clap::Args;
use tripipe_device::Gpu;

use crate::finish::Finish;
use crate::launch_input::gpu;

use settings::Settings;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe lsp
  tripipe lsp --gpu mali-g77";

/// Serve an editor: findings, advice with quick fixes, and the cost of each line while you type OpenCL C.
///
/// It speaks the Language Server Protocol over standard input and output; docs/editor.md shows how Neovim and VS Code
/// start it. Source is compiled by clang; nothing runs. A file `tripipe.toml` beside the kernels or above them names
/// the GPU, build options, and launch files whose kernels get a predicted time.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct LanguageServer {
    /// GPU that costs are for, where neither `tripipe.toml` nor the editor names one [default: Mali-G610].
    #[arg(short, long, value_name = "GPU", value_parser = gpu)]
    gpu: Option<&'static Gpu>,
    /// Editors pass it to say what is used anyway: standard input and output.
    #[arg(long, hide = true)]
    stdio: bool,
}

impl LanguageServer {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        server::serve(Settings { gpu: self.gpu, ..Settings::default() }, out)
    }
}
