//! `tripipe man`: manual pages.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Command};
use clap_mangen::Man;

use super::did_you_mean;
use crate::files::output::Output;
use crate::finish::Finish;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe man | man -l -
  tripipe man ladder | man -l -
  tripipe man --folder ~/.local/share/man/man1";

/// Print the manual page of tripipe or of one of its commands, or write all of them.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Manual {
    /// Command whose page is printed [default: the page of tripipe itself].
    #[arg(conflicts_with = "folder")]
    command: Option<String>,
    /// Writes the pages of tripipe and of all its commands to this folder: tripipe.1, tripipe-ladder.1 ...
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

impl Manual {
    /// Writes the pages of the command that `tripipe` describes.
    pub(crate) fn run(self, mut tripipe: Command, out: &mut dyn Write) -> Result<Finish> {
        // Full names of the subcommands.
        tripipe.build();
        let pages: Vec<&Command> =
            tripipe.get_subcommands().filter(|command| command.get_name() != "help").collect();
        if let Some(folder) = self.folder {
            for command in std::iter::once(&tripipe).chain(pages) {
                let (name, page) = page(command)?;
                let file = folder.join(name);
                Output::open(&file)?.write(|sink| Ok(sink.write_all(&page)?))?;
            }
            return Ok(Finish::Clean);
        }
        let Some(name) = self.command else {
            out.write_all(&page(&tripipe)?.1)?;
            return Ok(Finish::Clean);
        };
        let Some(command) = pages.iter().find(|command| command.get_name() == name) else {
            let names: Vec<&str> = pages.iter().map(|command| command.get_name()).collect();
            let meant =
                did_you_mean(&name, &names).map_or(String::new(), |name| format!("; did you mean '{name}'?"));
            bail!("no command '{name}'{meant} (tripipe --help lists them)");
        };
        out.write_all(&page(command)?.1)?;
        Ok(Finish::Clean)
    }
}

/// The name of a command's page, and the page.
fn page(command: &Command) -> Result<(String, Vec<u8>)> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut page = Vec::new();
    let command = command.clone().name(name.clone()).override_usage(usage(command, &name));
    Man::new(command).manual("Tripipe").render(&mut page)?;
    Ok((format!("{name}.1"), page))
}

/// A command line with all options and their values.
fn usage(command: &Command, name: &str) -> String {
    let mut words = vec![name.to_owned()];
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let values: Vec<&str> =
            argument.get_value_names().unwrap_or_default().iter().map(AsRef::as_ref).collect();
        let values = if argument.get_action().takes_values() { values.join(" ") } else { String::new() };
        let short = argument.get_short().map(|short| format!("-{short}"));
        let long = argument.get_long().map(|long| format!("--{long}"));
        let flag: Vec<String> = short.into_iter().chain(long).collect();
        let word = [flag.join("|"), values].join(" ");
        let word = word.trim();
        words.push(if argument.is_required_set() { word.to_owned() } else { format!("[{word}]") });
    }
    if command.has_subcommands() {
        words.push("COMMAND".to_owned());
    }
    words.join(" ")
}
