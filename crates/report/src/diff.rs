//! Comparison of an earlier result with the current one.

use std::fmt::Write as _;

use tripipe_analyze::ASSUMED_TRIPS;
use tripipe_ir::diagnostic::{Finding, Rule, Severity};
use tripipe_results::{Analysis, Cost, Difference, PathCost, Prediction, Simulated};

use crate::number::{percent, time};
use crate::style::{Canvas, Tone, paragraph};

/// The rule of the findings from [`Diff::findings`].
pub const RULE: Rule = Rule {
    code: "worse-than-before",
    severity: Severity::Warning,
    title: "a figure is worse than in the earlier result",
    what: "
A kernel whose launch is predicted to take longer than in an earlier result. If one of the results has no predicted
time: a kernel whose longest path takes more cycles of the pipe that bounds it, that spills more bytes of registers,
needs more stack, or keeps fewer threads in flight.",
    why: "A change that was not expected to cost performance does.",
    ..Rule::CHECK
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
    /// The old value; `None` if it is not known.
    pub before: Option<Cost>,
    /// The new value.
    pub after: Option<Cost>,
    /// Whether the kernel got worse.
    pub worse: bool,
}

/// The changes of `tripipe analyze` for each kernel and GPU in both results; those in only one result are listed.
pub fn of_analyses(before: &[Analysis], after: &[Analysis]) -> Diff {
    let key = |analysis: &Analysis| (analysis.kernel.clone(), analysis.gpu.clone());
    diff(before, after, key, |changes, old, new| {
        let (was, is) = (&old.longest_path, &new.longest_path);
        let most = |path: &PathCost| path.columns.values().filter_map(weight).fold(0.0, f64::max);
        // A pipe that does not bound may take longer; only the one that takes longest counts.
        let (most_before, most_now) = (most(was), most(is));
        for (head, cost) in &is.columns {
            let bounds = weight(cost).is_some_and(|cost| cost >= most_now * (1.0 - 1e-9));
            let slower = bounds && more(most_before, most_now);
            changes.add(head, was.columns.get(head).cloned(), Some(cost.clone()), |_, _| slower);
        }
        // Another bound is neither better nor worse by itself.
        changes.add("bound by", text(&was.bound), text(&is.bound), never);
        let (was, is) = (&old.registers, &new.registers);
        changes.registers([was, is].map(|all| Some([all.used, all.spill_bytes, all.threads])));
        changes.add("stack bytes", number(old.stack_bytes), number(new.stack_bytes), more);
        let seconds = |analysis: &Analysis| analysis.prediction.as_ref().map(|predicted| predicted.seconds);
        changes.time(seconds(old), seconds(new));
    })
}

/// The same for `tripipe simulate`.
pub fn of_simulations(before: &[Simulated], after: &[Simulated]) -> Diff {
    let key = |simulated: &Simulated| (simulated.kernel().to_owned(), simulated.gpu().to_owned());
    diff(before, after, key, |changes, old, new| {
        let (old, new) = (old.prediction(), new.prediction());
        let limiter = |one: Option<&Prediction>| one.and_then(|one| text(&one.limiter));
        changes.add("limited by", limiter(old), limiter(new), never);
        let registers = |one: &Prediction| [one.registers, one.spill_bytes, one.threads];
        changes.registers([old, new].map(|one| one.map(registers)));
        changes.time(old.map(|old| old.seconds), new.map(|new| new.seconds));
    })
}

fn diff<T>(
    before: &[T],
    after: &[T],
    key: impl Fn(&T) -> (String, String),
    compare: impl Fn(&mut Changes, &T, &T),
) -> Diff {
    let mut diff = Diff::default();
    for new in after {
        let (kernel, gpu) = key(new);
        let old = before.iter().find(|old| key(old) == (kernel.clone(), gpu.clone()));
        let mut changes = Changes::default();
        if let Some(old) = old {
            compare(&mut changes, old, new);
        }
        let only = if old.is_none() { Some(Only::New) } else { None };
        diff.all.push(Changed { kernel, gpu, only, changes: changes.all });
    }
    for old in before {
        let (kernel, gpu) = key(old);
        if !diff.all.iter().any(|known| known.kernel == kernel && known.gpu == gpu) {
            diff.all.push(Changed { kernel, gpu, only: Some(Only::Old), changes: Vec::new() });
        }
    }
    diff
}

/// A figure that is a text.
fn text(text: &str) -> Option<Cost> {
    Some(Cost::Symbolic(text.to_owned()))
}

/// A figure that is a number.
fn number(number: impl Into<u64>) -> Option<Cost> {
    Some(Cost::Number(number.into() as f64))
}

/// What of a kernel on a GPU has changed.
#[derive(Default)]
struct Changes {
    all: Vec<Change>,
}

fn more(was: f64, is: f64) -> bool {
    // Equal sums that were added in another order may differ in their last bits.
    is > was * (1.0 + 1e-9)
}

fn never(_: f64, _: f64) -> bool {
    false
}

impl Changes {
    fn add(
        &mut self,
        what: &str,
        before: Option<Cost>,
        after: Option<Cost>,
        is_worse: impl Fn(f64, f64) -> bool,
    ) {
        // A column that is added or removed, as by another version, is a change too.
        if shown(before.as_ref()) != shown(after.as_ref()) {
            let weights = before.as_ref().and_then(weight).zip(after.as_ref().and_then(weight));
            let worse = weights.is_some_and(|(was, is)| is_worse(was, is));
            self.all.push(Change { what: what.to_owned(), before, after, worse });
        }
    }

    /// Registers, spilled bytes and threads, before and after.
    fn registers(&mut self, both: [Option<[u32; 3]>; 2]) {
        let of = |index: usize| both.map(|one| one.and_then(|figures| number(figures[index])));
        let ([registers, new_registers], [spilled, new_spilled], [threads, new_threads]) =
            (of(0), of(1), of(2));
        // More registers cost something only where they lower the threads, which are compared below.
        self.add("registers", registers, new_registers, never);
        self.add("spilled bytes", spilled, new_spilled, more);
        self.add("threads", threads, new_threads, |was, is| is < was);
    }

    /// The predicted time. Where both results have one, it alone decides what is worse.
    fn time(&mut self, old: Option<f64>, new: Option<f64>) {
        let Some((was, is)) = old.zip(new) else { return };
        // Beside a time, the other figures only explain it.
        self.all.iter_mut().for_each(|change| change.worse = false);
        if was.to_bits() != is.to_bits() {
            let (before, after) = (Some(Cost::Number(was)), Some(Cost::Number(is)));
            self.all.insert(0, Change { what: TIME.into(), before, after, worse: is > was * (1.0 + SAME) });
        }
    }
}

/// The figure in seconds.
const TIME: &str = "seconds";

/// An increase of the predicted time that is not worse: predictions play a sample of the launch.
const SAME: f64 = 0.01;

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
            let said = paragraph(canvas, "", 2, &format!("{name}: {}", changed.change_text()));
            let worse = changed.changes.iter().any(|change| change.worse);
            for line in said.lines() {
                let tone = if worse { Tone::Bad } else { Tone::Plain };
                let _ = writeln!(out, "{}", canvas.paint(tone, line));
            }
        }
        canvas.shown(out)
    }

    /// As results: one for each kernel and GPU.
    pub fn results(&self) -> Vec<Difference> {
        let change = |change: &Change| tripipe_results::Changed {
            what: change.what.clone(),
            before: change.before.clone(),
            after: change.after.clone(),
            worse: change.worse,
        };
        let difference = |changed: &Changed| Difference {
            kernel: changed.kernel.clone(),
            gpu: changed.gpu.clone(),
            status: changed.status().to_owned(),
            changes: changed.changes.iter().map(change).collect(),
        };
        self.all.iter().map(difference).collect()
    }

    /// As markdown for a comment on a change: a table of the differences.
    pub fn markdown(&self) -> String {
        let mut out = String::from("| kernel | GPU | | before | after | |\n|---|---|---|--:|--:|---|\n");
        for changed in &self.all {
            let Changed { kernel, gpu, .. } = changed;
            if changed.changes.is_empty() {
                let _ = writeln!(out, "| `{kernel}` | {gpu} | {} | | | |", changed.status());
            }
            for change in &changed.changes {
                let worse = if change.worse { "worse" } else { "" };
                let (what, [before, after]) = (change.name(), change.values());
                let _ = writeln!(out, "| `{kernel}` | {gpu} | {what} | {before} | {after} | {worse} |");
            }
        }
        out
    }

    /// The figures that got worse, as findings of [`RULE`].
    pub fn findings(&self) -> Vec<Finding> {
        let of = |changed: &Changed| {
            let worse: Vec<String> =
                changed.changes.iter().filter(|change| change.worse).map(Change::change_text).collect();
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

    fn change_text(&self) -> String {
        if self.changes.is_empty() {
            return self.status().to_owned();
        }
        self.changes.iter().map(Change::change_text).collect::<Vec<_>>().join(", ")
    }
}

impl Change {
    /// `LS 13 -> 8 (-38%)`
    fn change_text(&self) -> String {
        let number = |figure: &Option<Cost>| figure.as_ref().and_then(Cost::number);
        let share = match (number(&self.before), number(&self.after)) {
            (Some(old), Some(new)) if old != 0.0 => {
                let change = new / old - 1.0;
                format!(" ({}{})", if change < 0.0 { "-" } else { "+" }, percent(change.abs()))
            }
            _ => String::new(),
        };
        let [before, after] = self.values();
        format!("{} {before} -> {after}{share}", self.name())
    }

    fn name(&self) -> &str {
        if self.what == TIME { "predicted time" } else { &self.what }
    }

    /// Before and after, as displayed.
    fn values(&self) -> [String; 2] {
        [&self.before, &self.after].map(|value| match value {
            Some(Cost::Number(seconds)) if self.what == TIME => time(*seconds),
            _ => shown(value.as_ref()),
        })
    }
}

/// The displayed form of a figure.
fn shown(figure: Option<&Cost>) -> String {
    match figure {
        None => "unknown".to_owned(),
        Some(Cost::Symbolic(text)) => text.clone(),
        Some(Cost::Number(number)) => {
            let text = format!("{number:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

/// The value of a figure; a symbolic cost such as `12 + 7 n` is evaluated with [`ASSUMED_TRIPS`] for each symbol, which
/// any word counts as. `None` for a text without a term.
fn weight(figure: &Cost) -> Option<f64> {
    let Cost::Symbolic(text) = figure else { return figure.number() };
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
            assert_eq!(weight(&Cost::Symbolic(text.to_owned())), Some(value), "{text}");
        }
        assert_eq!(weight(&Cost::Number(2.5)), Some(2.5));
        assert_eq!(weight(&Cost::Symbolic(String::new())), None);
    }
}
