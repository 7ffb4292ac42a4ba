//! Explanations of the rules of checks and lints: as text, markdown and a result.

mod markdown;
mod text;

use tripipe_ir::diagnostic::Rule;
use tripipe_results::{RuleExplanation, Rules};

pub(crate) use markdown::sections;
pub use markdown::{markdown, page};
pub use text::{list, text};

/// The rules as the result of the command.
pub fn result(rules: &[&Rule]) -> Rules {
    let rules = rules.iter().map(|rule| RuleExplanation {
        code: rule.code.to_owned(),
        severity: rule.severity.name().to_owned(),
        title: rule.title.to_owned(),
        explanation: sections(rule, "##"),
    });
    Rules { rules: rules.collect() }
}
