//! Comparison of an earlier JSON result with the current one.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tripipe_analyze::ASSUMED_TRIPS;
use tripipe_ir::diagnostic::{Finding, Rule, Severity};

use super::{Priced, bound, json};
use crate::number::percent;
use crate::style::{Canvas, Tone, paragraph};

/// The rule of the findings from [`Diff::findings`].
pub const RULE: Rule = Rule {
    code: "worse-than-before",
    severity: Severity::Warning,
    title: "a figure is worse than in the earlier result",
    explanation: r"## What it finds

A kernel whose longest path takes more cycles of the pipe that bounds it than in an earlier result, whose launch takes
longer, that spills more bytes of registers, needs more stack, or keeps fewer threads in flight.

## Why it matters

A change that was not expected to cost performance does.
",
};

/// The changes since an earlier result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diff {
    /// Kernels and GPUs, in the order of the new result; those that only the old one has come last.
    pub all: Vec<Changed>,
}

/// A kernel on a GPU, before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The kernel.
    pub kernel: String,
    /// The GPU.
    pub gpu: String,
    /// Which of the two results has it, if only one does.
    pub only: Option<Only>,
    /// The figures that differ.
    pub changes: Vec<Change>,
}

/// The result that has a kernel on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// The new one.
    New,
    /// The old one.
    Old,
}

/// A figure that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The name of the figure.
    pub what: String,
    /// The old value.
    pub before: Value,
    /// The new value.
    pub after: Value,
    /// Whether the kernel got worse.
    pub worse: bool,
}

/// The changes for each kernel and GPU in both results; those in only one result are listed. `before` contains the
/// objects of an earlier [`json`].
pub fn diff(before: &[Value], all: &[Priced<'_>]) -> Diff {
    let text = |object: &Value, key: &str| object[key].as_str().unwrap_or("?").to_owned();
    let mut diff = Diff::default();
    for priced in all {
        for (object, analysis) in json(priced).iter().zip(priced.analyses) {
            let (kernel, gpu) = (text(object, "kernel"), text(object, "gpu"));
            let old = before.iter().find(|old| text(old, "kernel") == kernel && text(old, "gpu") == gpu);
            let changes = old.map(|old| {
                let now = bound(analysis, &analysis.longest.bound);
                changes(old, object, &now)
            });
            let only = if changes.is_none() { Some(Only::New) } else { None };
            diff.all.push(Changed { kernel, gpu, only, changes: changes.unwrap_or_default() });
        }
    }
    for old in before {
        let (kernel, gpu) = (text(old, "kernel"), text(old, "gpu"));
        if !diff.all.iter().any(|known| known.kernel == kernel && known.gpu == gpu) {
            diff.all.push(Changed { kernel, gpu, only: Some(Only::Old), changes: Vec::new() });
        }
    }
    diff
}

fn changes(old: &Value, new: &Value, bound_now: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut add = |what: &str, before: &Value, after: &Value, is_worse: &dyn Fn(f64, f64) -> bool| {
        let (was, is) = (weight(before), weight(after));
        // A column that is added or removed, as by another version, is a change too.
        if shown(before) != shown(after) {
            let worse = was.zip(is).is_some_and(|(was, is)| is_worse(was, is));
            let (before, after) = (before.clone(), after.clone());
            changes.push(Change { what: what.to_owned(), before, after, worse });
        }
    };
    let more = |was: f64, is: f64| is > was * (1.0 + 1e-9);
    let (was, is) = (&old["longest_path"], &new["longest_path"]);
    let most = |path: &Value| {
        let costs = path["columns"].as_object().into_iter().flatten();
        costs.filter_map(|(_, cost)| weight(cost)).fold(0.0, f64::max)
    };
    // A pipe that does not bound may take longer; only the one that takes longest counts.
    let (most_before, most_now) = (most(was), most(is));
    for (head, cost) in is["columns"].as_object().into_iter().flatten() {
        let bounds = weight(cost).is_some_and(|cost| cost >= most_now * (1.0 - 1e-9));
        let slower = bounds && more(most_before, most_now);
        add(head, &was["columns"][head], cost, &|_, _| slower);
    }
    if was["bound"] != is["bound"] {
        add("bound by", &was["bound"], &Value::from(bound_now), &|_, _| false);
    }
    for (key, what) in [("used", "registers"), ("spill_bytes", "spilled bytes"), ("threads", "threads")] {
        let is_worse: &dyn Fn(f64, f64) -> bool = match key {
            "used" => &|_, _| false,
            "threads" => &|was, is| is < was,
            _ => &more,
        };
        add(what, &old["registers"][key], &new["registers"][key], is_worse);
    }
    add("stack bytes", &old["stack_bytes"], &new["stack_bytes"], &more);
    add("ms", &old["launch"]["milliseconds"], &new["launch"]["milliseconds"], &more);
    changes
}

impl Diff {
    /// Whether a kernel got worse on a GPU.
    pub fn is_worse(&self) -> bool {
        self.all.iter().flat_map(|changed| &changed.changes).any(|change| change.worse)
    }

    /// As text: a paragraph for each kernel and GPU.
    pub fn text(&self, canvas: Canvas) -> String {
        let mut out = String::new();
        for changed in &self.all {
            let name = format!("{} on {}", changed.kernel, changed.gpu);
            let said = paragraph(canvas, "", 2, &format!("{name}: {}", changed.said()));
            let worse = changed.changes.iter().any(|change| change.worse);
            for line in said.lines() {
                let tone = if worse { Tone::Bad } else { Tone::Plain };
                let _ = writeln!(out, "{}", canvas.paint(tone, line));
            }
        }
        canvas.shown(out)
    }

    /// As JSON: an object for each kernel and GPU.
    pub fn json(&self) -> Vec<Value> {
        let change = |change: &Change| {
            json!({
                "what": change.what,
                "before": change.before,
                "after": change.after,
                "worse": change.worse,
            })
        };
        let object = |changed: &Changed| {
            json!({
                "kernel": changed.kernel,
                "gpu": changed.gpu,
                "status": changed.status(),
                "changes": changed.changes.iter().map(change).collect::<Vec<_>>(),
            })
        };
        self.all.iter().map(object).collect()
    }

    /// As markdown for a comment on a change: a table of the differences.
    pub fn markdown(&self) -> String {
        let mut out = String::from("| kernel | GPU | | before | after | |\n|---|---|---|--:|--:|---|\n");
        for changed in &self.all {
            let Changed { kernel, gpu, .. } = changed;
            if changed.changes.is_empty() {
                let _ = writeln!(out, "| `{kernel}` | {gpu} | {} | | | |", changed.status());
            }
            for Change { what, before, after, worse } in &changed.changes {
                let worse = if *worse { "worse" } else { "" };
                let _ = writeln!(
                    out,
                    "| `{kernel}` | {gpu} | {what} | {} | {} | {worse} |",
                    shown(before),
                    shown(after)
                );
            }
        }
        out
    }

    /// The figures that got worse, as findings of [`RULE`].
    pub fn findings(&self) -> Vec<Finding> {
        let of = |changed: &Changed| {
            let worse: Vec<String> =
                changed.changes.iter().filter(|change| change.worse).map(Change::said).collect();
            (!worse.is_empty()).then(|| Finding {
                rule: &RULE,
                kernel: changed.kernel.clone(),
                location: None,
                instruction: String::new(),
                message: format!("on {}: {}", changed.gpu, worse.join(", ")),
                fix: "Revert the change that causes it, or store the new result as the baseline.".to_owned(),
                count: 1,
                work_item: None,
                memory: None,
                related: Vec::new(),
            })
        };
        self.all.iter().filter_map(of).collect()
    }
}

impl Changed {
    fn status(&self) -> &'static str {
        match self.only {
            Some(Only::New) => "new",
            Some(Only::Old) => "removed",
            None if self.changes.is_empty() => "unchanged",
            None if self.changes.iter().any(|change| change.worse) => "worse",
            None => "changed",
        }
    }

    fn said(&self) -> String {
        if self.changes.is_empty() {
            return self.status().to_owned();
        }
        self.changes.iter().map(Change::said).collect::<Vec<_>>().join(", ")
    }
}

impl Change {
    /// `LS 13 -> 8 (-38%)`
    fn said(&self) -> String {
        let share = match (self.before.as_f64(), self.after.as_f64()) {
            (Some(old), Some(new)) if old != 0.0 => {
                let change = new / old - 1.0;
                format!(" ({}{})", if change < 0.0 { "-" } else { "+" }, percent(change.abs()))
            }
            _ => String::new(),
        };
        format!("{} {} -> {}{share}", self.what, shown(&self.before), shown(&self.after))
    }
}

/// The displayed form of a figure.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "unknown".to_owned(),
        number => number.as_f64().map_or_else(
            || number.to_string(),
            |number| {
                let text = format!("{number:.2}");
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            },
        ),
    }
}

/// The value of a figure; a symbolic cost such as `12 + 7 n` is evaluated with [`ASSUMED_TRIPS`] for each symbol.
/// `None` for anything else.
fn weight(value: &Value) -> Option<f64> {
    let Value::String(text) = value else { return value.as_f64() };
    let mut sum = 0.0;
    let mut sign = 1.0;
    let mut term: Option<f64> = None;
    for word in text.split_whitespace() {
        match (word, word.parse::<f64>()) {
            ("+" | "-", _) => {
                sum += sign * term.take()?;
                sign = if word == "-" { -1.0 } else { 1.0 };
            }
            (_, Ok(number)) => term = Some(term.unwrap_or(1.0) * number),
            _ => term = Some(term.unwrap_or(1.0) * ASSUMED_TRIPS),
        }
    }
    Some(sum + sign * term?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbolic_sums_are_weighed() {
        let n = ASSUMED_TRIPS;
        let cases = [
            ("12", 12.0),
            ("12 + 7 n", 12.0 + 7.0 * n),
            ("n m", n * n),
            ("3 n - 5", 3.0 * n - 5.0),
            ("-5 + n", n - 5.0),
        ];
        for (text, value) in cases {
            assert_eq!(weight(&Value::from(text)), Some(value), "{text}");
        }
        assert_eq!(weight(&json!(2.5)), Some(2.5));
        assert_eq!((weight(&Value::Null), weight(&"".into())), (None, None));
    }
}
