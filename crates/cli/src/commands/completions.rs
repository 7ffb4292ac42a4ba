//! `tripipe completions`: scripts that complete command lines.

use std::env;
use std::ffi::OsStr;
use std::io::Write;

use anyhow::{Result, anyhow};
use clap::builder::PossibleValuesParser;
use clap::{Args, Command, ValueEnum};
use clap_complete::env::Shells;
use clap_complete::{ArgValueCompleter, CompleteEnv, CompletionCandidate};
use tripipe_device::catalog;

use super::simulate::CHANGES;
use crate::finish::Finish;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe completions bash > ~/.local/share/bash-completion/completions/tripipe
  tripipe completions zsh > ~/.zfunc/_tripipe
  tripipe completions fish > ~/.config/fish/completions/tripipe.fish";

/// The environment variable by which a script asks for completions.
const VARIABLE: &str = "_TRIPIPE_COMPLETE";

/// What bash needs besides: it splits words at `:` and `=`, and replaces only what follows the last of them.
const WORDS_OF_BASH: &str = r#"
_tripipe() {
    local line="${COMP_LINE:0:COMP_POINT}" words word
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word="${words[-1]}"
    COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
    _clap_complete_tripipe "$1" "$word" "${words[-2]}"
    COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*[:=]}"}"}")
}
complete -o nospace -o bashdefault -F _tripipe tripipe
"#;

/// Print a script that completes commands, options, GPUs, devices and changes in your shell, after commas too.
///
/// Write it to the place where your shell looks for such scripts. zsh needs that folder in `fpath`, before `compinit`.
/// The script asks the installed `tripipe` what fits.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Completions {
    /// Shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// The shells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

impl Completions {
    /// Prints the script.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Finish> {
        let shells = Shells::builtins();
        let name = self.shell.to_possible_value().map(|value| value.get_name().to_owned());
        let completer = name.as_deref().and_then(|name| shells.completer(name));
        let completer = completer.ok_or_else(|| anyhow!("{:?} has no completions", self.shell))?;
        completer.write_registration(VARIABLE, "tripipe", "tripipe", "tripipe", out)?;
        if self.shell == Shell::Bash {
            out.write_all(WORDS_OF_BASH.as_bytes())?;
        }
        Ok(Finish::Clean)
    }
}

/// Answers a script that asks for completions of the command that `command` describes; whether one asks.
///
/// # Errors
/// The question is not one of the script's.
pub(crate) fn answer(command: impl Fn() -> Command) -> Result<bool> {
    let folder = env::current_dir().ok();
    let complete = CompleteEnv::with_factory(|| with_names(visible(command()))).var(VARIABLE);
    Ok(complete.try_complete(env::args_os(), folder.as_deref())?)
}

/// The command without hidden subcommands.
fn visible(command: Command) -> Command {
    let command = command.mut_subcommands(visible);
    if !command.get_subcommands().any(Command::is_hide_set) {
        return command;
    }
    Command::new(command.get_name().to_owned())
        .args(command.get_arguments().cloned())
        .subcommands(command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()).cloned())
}

/// The command, with the names of GPUs, devices, ladders, changes and finding codes where they are expected.
fn with_names(command: Command) -> Command {
    let is_ladder = command.get_name() == "ladder";
    let gpus = || catalog().iter().map(tripipe_device::Gpu::id);
    let command = command.mut_args(|argument| {
        let names = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
        let values: Vec<String> = match (argument.get_long(), names.as_deref()) {
            (Some("gpu"), _) => gpus().collect(),
            (Some("device"), _) => {
                let there = ["cpu", "opencl", "auto", "virtual:all"].map(str::to_owned);
                there.into_iter().chain(gpus().map(|id| format!("virtual:{id}"))).collect()
            }
            (Some("what-if"), _) => return argument.add(ArgValueCompleter::new(changes)),
            (None, Some("LESSON")) => super::learn::lessons().collect(),
            (_, Some("CODE")) => super::explain::codes().map(str::to_owned).collect(),
            (None, Some("NAME")) if is_ladder => {
                tripipe_ladders::catalog::ladders().iter().map(|ladder| ladder.name.to_owned()).collect()
            }
            _ => return argument,
        };
        argument.value_parser(PossibleValuesParser::new(values))
    });
    command.mut_subcommands(with_names)
}

/// The changes that a value of `--what-if` may end with.
fn changes(value: &OsStr) -> Vec<CompletionCandidate> {
    let Some(value) = value.to_str() else { return Vec::new() };
    let (before, last) = value.split_at(value.rfind(',').map_or(0, |comma| comma + 1));
    let fits = CHANGES.iter().filter(|name| name.starts_with(last));
    fits.map(|name| CompletionCandidate::new(format!("{before}{name}="))).collect()
}
