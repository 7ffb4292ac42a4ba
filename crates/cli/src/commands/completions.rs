//! `tripipe completions`: scripts that complete command lines.

use std::io::Write;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use clap_complete::Shell;
use tripipe_device::catalog;

use crate::finish::Finish;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe completions bash > ~/.local/share/bash-completion/completions/tripipe
  tripipe completions zsh > ~/.zfunc/_tripipe
  tripipe completions fish > ~/.config/fish/completions/tripipe.fish";

/// Print a script that completes commands, options, GPUs and devices in your shell.
///
/// Write it to the place where your shell looks for such scripts. zsh needs that folder in `fpath`, before `compinit`.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Completions {
    /// Shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints the script for the command that `command` describes.
    pub(crate) fn run(&self, command: Command, out: &mut dyn Write) -> Result<Finish> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut with_names(command), "tripipe", &mut script);
        out.write_all(&script)?;
        Ok(Finish::Clean)
    }
}

/// The command, with the names of GPUs, devices, ladders and finding codes where they are expected.
fn with_names(command: Command) -> Command {
    let gpus: Vec<String> = catalog().iter().map(tripipe_device::Gpu::id).collect();
    let devices = ["cpu", "opencl", "auto"].map(str::to_owned).into_iter();
    let devices: Vec<String> = devices
        .chain(gpus.iter().map(|id| format!("virtual:{id}")))
        .chain(["virtual:all".to_owned()])
        .collect();
    command.mut_subcommands(|subcommand| {
        let ladder = subcommand.get_name() == "ladder";
        subcommand.mut_args(|argument| {
            let names = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
            let values = match (argument.get_long(), names.as_deref()) {
                (Some("gpu"), _) => gpus.clone(),
                (Some("device"), _) => devices.clone(),
                (_, Some("CODE")) => super::explain::codes().map(str::to_owned).collect(),
                (None, Some("NAME")) if ladder => {
                    tripipe_ladders::catalog::ladders().iter().map(|ladder| ladder.name.to_owned()).collect()
                }
                _ => return argument,
            };
            argument.value_parser(PossibleValuesParser::new(values))
        })
    })
}
