//! SARIF 2.1.0: each ladder that gains is a result with a fix, the whole new source.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tripipe_ir::diagnostic::Rule;
use tripipe_results::Improved;

use super::text::proof;
use crate::findings::{new_source, sarif_log};

/// One SARIF log with one run, on one line. `rules` are all rewrites.
pub fn sarif(all: &[Improved], rules: &[&'static Rule]) -> String {
    let results = all.iter().filter(|improved| improved.speedup > 1.0).filter_map(|improved| {
        let last = improved.steps.last()?;
        let artifact = json!({ "uri": crate::findings::uri(&improved.program) });
        let mut said = format!(
            "`{}` can be {:.2} times as fast on {}: {}. {}",
            improved.kernel,
            improved.speedup,
            improved.gpus.join(", "),
            titles(improved),
            proof(last)
        );
        for sentence in improved.conditions.iter().chain(&improved.host) {
            let _ = write!(said, " {sentence}.");
        }
        Some(json!({
            "ruleId": last.name,
            "ruleIndex": rules.iter().position(|rule| rule.code == last.name),
            "level": "note",
            "message": { "text": said },
            "locations": [{
                "physicalLocation": { "artifactLocation": artifact, "region": { "startLine": 1 } },
                "logicalLocations": [{ "name": improved.kernel, "kind": "function" }],
            }],
            "fixes": [new_source(&titles(improved), &improved.program, &improved.original, &improved.source)],
            "properties": { "speedup": improved.speedup, "gpus": improved.gpus },
        }))
    });
    let results: Vec<Value> = results.collect();
    sarif_log(rules, &[], &results, &Value::Null)
}

/// What the steps change.
fn titles(improved: &Improved) -> String {
    let first = improved.gpus.first().map_or("", String::as_str);
    let titles: Vec<&str> =
        improved.steps_on(first).map(|step| step.title.as_str()).filter(|title| !title.is_empty()).collect();
    titles.join("; ")
}
