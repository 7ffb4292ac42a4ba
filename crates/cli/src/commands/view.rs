//! `tripipe view`: saved results as a page to look at.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use tripipe_report::page;

use crate::files::input::{Input, is_standard, open_or_standard, shown, shown_input};
use crate::files::originals;
use crate::files::output::Output;
use crate::finish::Finish;

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe view ladder.json
  tripipe view before.json after.json --output changes.html
  tripipe simulate blur.cl -g all --global 1920,1080 --format json | tripipe view - -o blur.html";

/// The default output file.
const PAGE: &str = "tripipe.html";

/// Show saved results as a page: charts, sortable tables, several GPUs side by side, and what changed between runs.
///
/// The files are output of commands with --format json. Results of the same command stand in one section; if several
/// files have a result of the same command for the same device, the page lists the differences. The page is one file
/// that loads nothing from a network. docs/reports.md describes it.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct View {
    /// Saved output of commands with --format json; - for standard input.
    #[arg(value_name = "FILE.json", required = true)]
    files: Vec<PathBuf>,
    /// Output file; an existing file is replaced. - for standard output.
    #[arg(short, long, value_name = "FILE", default_value = PAGE)]
    output: PathBuf,
}

impl View {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let mut documents = Vec::new();
        for path in &self.files {
            documents.extend(page::read(&shown_input(path), &text(path)?)?);
        }
        // Opened after the inputs were read, so that a bad one leaves nothing behind.
        let output = Output::open_or_standard(&self.output)?;
        let page = page::page(&documents);
        output.write(|sink| Ok(sink.write_all(page.as_bytes())?))?;
        if !is_standard(&self.output) {
            let files: BTreeSet<&PathBuf> = self.files.iter().collect();
            let plural = |count: usize| if count == 1 { "" } else { "s" };
            let (results, files) = (documents.len(), files.len());
            let path = shown(&self.output);
            writeln!(out, "{path}: {results} result{} of {files} file{}", plural(results), plural(files))?;
        }
        Ok(Finish::Clean)
    }
}

/// The contents of a file.
fn text(path: &Path) -> Result<String> {
    let name = shown_input(path);
    originals::keep(path)?;
    let input = open_or_standard(path, "the output of a command with --format json")?;
    let mut bytes = Vec::new();
    match input {
        Input::File(mut file, _) => file.read_to_end(&mut bytes),
        Input::Stream(mut stream) => stream.read_to_end(&mut bytes),
    }
    .with_context(|| format!("{name} cannot be read"))?;
    String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
        anyhow!("{name}:{line}: not JSON: it is not UTF-8 text")
    })
}
