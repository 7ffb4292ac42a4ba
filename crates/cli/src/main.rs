//! The `tripipe` command: one file per subcommand under `commands`.
//!
//! Results go to standard output, one-line errors and progress to standard error. Exit codes: 0 success, 1 findings, 2
//! failure, 130 interrupted (143 by SIGTERM, 129 by SIGHUP).

mod commands;
mod error_chain;
mod files;
mod finish;
mod interruption;
mod launch_input;
mod open_device;
mod own_process;
mod progress;
mod terminal;
mod trace;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};

use error_chain::chain;
use finish::Finish;

/// GPU compute for phone GPUs over OpenCL: filters, matrix products, and the ladders that make kernels fast.
///
/// Everything also runs on the built-in CPU path, so you need no OpenCL, compiler or driver to start: `tripipe ladder
/// laplace` filters a picture and climbs the optimisation ladder on every device it finds.
#[derive(Parser)]
#[command(name = "tripipe", version = env!("TRIPIPE_VERSION"), propagate_version = true, max_term_width = 100)]
#[command(help_template = help_template())]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Analyze(commands::analyze::Analyze),
    Check(commands::check::Check),
    Compare(commands::compare::CompareCapture),
    Completions(commands::completions::Completions),
    Devices(commands::devices::ListDevices),
    Explain(commands::explain::Explain),
    Filter(commands::filter::Filter),
    Gemm(commands::gemm::Gemm),
    Histogram(commands::histogram::Histogram),
    Import(commands::import::Import),
    Improve(commands::improve::Improve),
    Kernel(commands::kernel::Kernel),
    Ladder(commands::ladder::Ladder),
    Learn(commands::learn::Learn),
    Lsp(commands::lsp::LanguageServer),
    Man(commands::man::Manual),
    Peaks(commands::peaks::Peaks),
    RunKernel(commands::run_kernel::RunKernel),
    Simulate(commands::simulate::Simulate),
    Template(commands::template::Template),
    Tune(commands::tune::Tune),
    Validate(commands::validate::Validate),
    Verdict(commands::verdict::Verdict),
    View(commands::view::View),
    Why(commands::why::Why),
}

/// The subcommands by what they are for, in the order of the help.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Your kernel",
        &[
            "check",
            "run-kernel",
            "template",
            "analyze",
            "simulate",
            "improve",
            "lsp",
            "compare",
            "import",
            "why",
            "verdict",
        ],
    ),
    ("The library", &["filter", "histogram", "gemm", "tune", "kernel", "ladder"]),
    ("Devices and drivers", &["devices", "peaks", "validate"]),
    ("Help and results", &["learn", "explain", "view", "man", "completions", "help"]),
];

/// Characters of a line of the help, at most.
const HELP_WIDTH: usize = 100;

/// The help of the command: the subcommands in groups.
fn help_template() -> StyledStr {
    let mut template = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    let command = Command::augment_subcommands(clap::Command::new("tripipe"));
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    for (group, names) in GROUPS {
        let _ = write!(template, "\n{group}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map_or_else(
                || "Print this message or the help of a command".to_owned(),
                ToString::to_string,
            );
            let mut line = format!("  {name:width$} ");
            for word in about.split(' ') {
                if line.chars().count() + 1 + word.chars().count() > HELP_WIDTH {
                    let _ = writeln!(template, "{line}");
                    line = " ".repeat(width + 3);
                }
                line.push(' ');
                line.push_str(word);
            }
            let _ = writeln!(template, "{line}");
        }
    }
    template.push_str("\nOptions:\n{options}{after-help}");
    template.into()
}

const FOUND: u8 = 1;
const FAILED: u8 = 2;

/// More threads than this for a processor only wait for each other, and thousands take seconds to start.
const MOST_THREADS: usize = 16;

/// Bounds the threads that `RAYON_NUM_THREADS` asks for.
fn limit_threads() {
    let wanted = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse::<usize>().ok());
    let most = MOST_THREADS * std::thread::available_parallelism().map_or(1, usize::from);
    if wanted.is_some_and(|wanted| wanted > most) {
        // If there are threads already, they stay.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(most).build_global();
    }
}

fn main() -> ExitCode {
    own_process::keep_environment();
    limit_threads();
    match commands::completions::answer(Arguments::command) {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => {
            complain(&chain(&error));
            return ExitCode::from(FAILED);
        }
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return explain_usage(&error),
    };
    let done = interruption::handle().and_then(|()| {
        let mut out = terminal::StandardOutput::lock();
        let finish = run(arguments.command, &mut out)?;
        out.flush()?;
        Ok(finish)
    });
    match done {
        Ok(Finish::Clean) => ExitCode::SUCCESS,
        Ok(Finish::Findings) => ExitCode::from(FOUND),
        Ok(Finish::Bad) => ExitCode::from(FAILED),
        Ok(Finish::Interrupted) => ExitCode::from(interruption::exit_code()),
        // The reader of the output has closed it, which is not an error.
        Err(error) if terminal::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&chain(&error));
            ExitCode::from(FAILED)
        }
    }
}

fn run(command: Command, out: &mut dyn Write) -> anyhow::Result<Finish> {
    match command {
        Command::Analyze(analyze) => analyze.run(out),
        Command::Check(check) => check.run(out),
        Command::Compare(compare) => compare.run(out),
        Command::Completions(completions) => completions.run(out),
        Command::Devices(devices) => devices.run(out),
        Command::Explain(explain) => explain.run(out),
        Command::Filter(filter) => filter.trace.clone().record(|| filter.run(out)),
        Command::Gemm(gemm) => gemm.trace.clone().record(|| gemm.run(out)),
        Command::Histogram(histogram) => histogram.run(out),
        Command::Import(import) => import.run(out),
        Command::Improve(improve) => improve.run(out),
        Command::Kernel(kernel) => kernel.run(out),
        Command::Ladder(ladder) => ladder.trace.clone().record(|| ladder.run(out)),
        Command::Learn(learn) => learn.run(out),
        Command::Lsp(server) => server.run(out),
        Command::Man(manual) => manual.run(Arguments::command(), out),
        Command::Peaks(peaks) => peaks.trace.clone().record(|| peaks.run(out)),
        Command::RunKernel(run_kernel) => run_kernel.trace.clone().record(|| run_kernel.run(out)),
        Command::Simulate(simulate) => simulate.run(out),
        Command::Template(template) => template.run(out),
        Command::Tune(tune) => tune.trace.clone().record(|| tune.run(out)),
        Command::Validate(validate) => validate.run(out),
        Command::Verdict(verdict) => verdict.run(out),
        Command::View(view) => view.run(out),
        Command::Why(why) => why.run(out),
    }
}

/// One line on standard error.
fn complain(message: &str) {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    // If this fails, nobody reads standard error.
    let _ = writeln!(io::stderr(), "error: {}", terminal::shown(line));
}

/// Prints help and version unchanged, and an error of the command line in one line.
fn explain_usage(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // The reader may have closed the pipe, which is not an error.
            let _ = if terminal::is_ascii() {
                write!(io::stdout(), "{}", terminal::shown(error.render().to_string()))
            } else {
                error.print()
            };
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(FAILED)
        }
        _ => {
            let text = error.render().to_string();
            let message: Vec<&str> =
                text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:")).collect();
            let message = message.join(" ");
            let message = message.trim().trim_start_matches("error: ");
            let message = message.split("For more information").next().unwrap_or(message);
            let message = in_words(message);
            complain(&format!("{} (see --help)", message.trim()));
            ExitCode::from(FAILED)
        }
    }
}

/// Replaces the standard library's messages about invalid numbers.
fn in_words(message: &str) -> String {
    const WORDS: [(&str, &str); 6] = [
        ("invalid digit found in string", "not a whole number"),
        ("invalid float literal", "not a number"),
        ("cannot parse float from empty string", "not a number"),
        ("cannot parse integer from empty string", "not a whole number"),
        ("number too large to fit in target type", "too large"),
        ("number too small to fit in target type", "too small"),
    ];
    WORDS.iter().fold(message.to_owned(), |message, (theirs, ours)| message.replace(theirs, ours))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let command = super::Arguments::command();
        let mut commands: Vec<&str> =
            command.get_subcommands().map(clap::Command::get_name).chain(["help"]).collect();
        let mut grouped: Vec<&str> = super::GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        commands.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, commands);
    }

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }
}
