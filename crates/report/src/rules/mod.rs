//! Explanations of the rules of checks and lints: as text, markdown and JSON.

mod markdown;
mod text;

use serde_json::{Value, json};
use tripipe_ir::diagnostic::Rule;

pub use markdown::{markdown, page};
pub use text::{list, text};

/// One JSON object on one line: under `rules`, each rule's code, severity, title and explanation (markdown).
pub fn json(rules: &[&Rule]) -> String {
    let rules: Vec<Value> = rules
        .iter()
        .map(|rule| {
            json!({
                "code": rule.code,
                "severity": rule.severity.name(),
                "title": rule.title,
                "explanation": rule.explanation,
            })
        })
        .collect();
    json!({ "command": "explain", "rules": rules }).to_string()
}
