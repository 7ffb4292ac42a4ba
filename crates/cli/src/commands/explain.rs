//! `tripipe explain`: the meaning of a finding's code.

use std::io::Write;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use tripipe_device::nearest::nearest;
use tripipe_ir::diagnostic::Rule;
use tripipe_report::{paragraph, rules, simulation};
use tripipe_results::Document;
use tripipe_simulate::drivers;
use tripipe_simulate::watch::rules::ALL;

use crate::finish::Finish;
use crate::terminal;

/// All rules, by the crate that reports them.
const TABLES: &[&[&Rule]] = &[ALL, drivers::RULES, tripipe_analyze::lints::ALL];

/// All rules, those of rewrites last.
fn all() -> Vec<&'static Rule> {
    let rewrites = tripipe_improve::ALL.iter().map(|rewrite| rewrite.rule);
    TABLES.iter().copied().flatten().copied().chain(rewrites).collect()
}

/// The codes of all findings.
pub(crate) fn codes() -> impl Iterator<Item = &'static str> {
    all().into_iter().map(|rule| rule.code)
}

/// Examples for the help text.
const EXAMPLES: &str = "Examples:
  tripipe explain data-race";

/// Explain a finding's code: what the check detects, why it matters, what to write instead.
///
/// What limits a launch is explained, too: `latency`, `launch`, `DRAM` and the other words of `tripipe simulate`.
///
/// Without CODE, the codes are listed; --format markdown prints all explanations as one page, --format json as one
/// object.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Explain {
    /// Code of a finding, as shown in its brackets: out-of-bounds-write.
    code: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = ExplainFormat::Text)]
    format: ExplainFormat,
}

/// The formats of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExplainFormat {
    /// Text for reading.
    Text,
    /// Markdown.
    Markdown,
    /// JSON: one object.
    Json,
}

impl Explain {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Finish> {
        let canvas = terminal::canvas();
        let mut all = all();
        let Some(code) = self.code else {
            match self.format {
                ExplainFormat::Text => {
                    writeln!(out, "The codes, for `tripipe explain CODE`:")?;
                    out.write_all(rules::list(&all, canvas).as_bytes())?;
                }
                ExplainFormat::Markdown => out.write_all(rules::page(&all).as_bytes())?,
                ExplainFormat::Json => writeln!(out, "{}", Document::from(rules::result(&all)))?,
            }
            return Ok(Finish::Clean);
        };
        // Verdicts are explained too; they are no checks, so the list does not have them.
        all.extend(tripipe_capture::verdict::rules::ALL);
        let rule = match (find(&all, &code), simulation::explanation(&code)) {
            (Ok(rule), _) => rule,
            (Err(_), Some(limit)) if self.format != ExplainFormat::Json => {
                out.write_all(terminal::shown(paragraph(canvas, "", 0, &limit)).as_bytes())?;
                return Ok(Finish::Clean);
            }
            (Err(error), _) => return Err(error),
        };
        match self.format {
            ExplainFormat::Text => out.write_all(rules::text(rule, canvas).as_bytes())?,
            ExplainFormat::Markdown => out.write_all(rules::markdown(rule).as_bytes())?,
            ExplainFormat::Json => writeln!(out, "{}", Document::from(rules::result(&[rule])))?,
        }
        Ok(Finish::Clean)
    }
}

/// The rule with that code; the text around it may have been copied too: `error[data-race]:`.
pub(super) fn find(rules: &[&'static Rule], code: &str) -> Result<&'static Rule> {
    let bare =
        code.rsplit('[').next().unwrap_or(code).split(']').next().unwrap_or(code).trim().to_lowercase();
    if let Some(rule) = rules.iter().find(|rule| rule.code == bare) {
        return Ok(rule);
    }
    let near = nearest(&bare, rules.iter().map(|rule| rule.code));
    let question = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    Err(anyhow!("no finding has the code `{code}`{question} (`tripipe explain` lists them)"))
}
