//! Before and after: what an earlier JSON says, and what is so now.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Priced, bound, json};
use crate::number::percent;

/// What changed for each kernel and GPU that both have; what only one has is named. `before` are the objects of an earlier
/// [`json`].
pub fn diff(before: &[Value], all: &[Priced<'_>]) -> String {
    let mut out = String::new();
    let name = |object: &Value| {
        format!("{} on {}", object["kernel"].as_str().unwrap_or("?"), object["gpu"].as_str().unwrap_or("?"))
    };
    let mut met = Vec::new();
    for priced in all {
        for (object, analysis) in json(priced).iter().zip(priced.analyses) {
            let own = name(object);
            let Some(old) = before.iter().find(|old| name(old) == own) else {
                let _ = writeln!(out, "{own}: new");
                met.push(own);
                continue;
            };
            let mut changes = Vec::new();
            let (was, is) = (&old["longest_path"], &object["longest_path"]);
            for (head, cost) in is["columns"].as_object().into_iter().flatten() {
                changes.extend(change(head, &was["columns"][head], cost));
            }
            if was["bound"] != is["bound"] {
                let now = bound(analysis, &analysis.longest.bound);
                changes.push(format!("bound by {} -> {now}", was["bound"].as_str().unwrap_or("?")));
            }
            for (key, what) in
                [("used", "registers"), ("spill_bytes", "spilled bytes"), ("threads", "threads")]
            {
                changes.extend(change(what, &old["registers"][key], &object["registers"][key]));
            }
            changes.extend(change("stack bytes", &old["stack_bytes"], &object["stack_bytes"]));
            changes.extend(change("ms", &old["launch"]["milliseconds"], &object["launch"]["milliseconds"]));
            let said = if changes.is_empty() { "as before".to_owned() } else { changes.join(", ") };
            let _ = writeln!(out, "{own}: {said}");
            met.push(own);
        }
    }
    for old in before.iter().map(name).filter(|old| !met.contains(old)) {
        let _ = writeln!(out, "{old}: gone");
    }
    out
}

/// `LS 13 -> 8 (-38%)`, if it differs.
fn change(what: &str, old: &Value, new: &Value) -> Option<String> {
    if old == new {
        return None;
    }
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "unknown".to_owned(),
        number => number.as_f64().map_or_else(
            || number.to_string(),
            |number| {
                let text = format!("{number:.2}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            },
        ),
    };
    let (before, after) = (text(old), text(new));
    if before == after {
        return None;
    }
    let share = match (old.as_f64(), new.as_f64()) {
        (Some(old), Some(new)) if old != 0.0 => {
            let change = new / old - 1.0;
            format!(" ({}{})", if change < 0.0 { "-" } else { "+" }, percent(change.abs()))
        }
        _ => String::new(),
    };
    Some(format!("{what} {before} -> {after}{share}"))
}
