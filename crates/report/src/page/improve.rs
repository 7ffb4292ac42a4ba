//! A kernel that was rewritten: its ladder, and both sources side by side.

use similar::{ChangeTag, DiffTag, TextDiff};
use tripipe_results::{Improved, ImprovementStep};

use super::chart::{self, Bar, Bars};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::{Named, labels};
use super::table::{Head, Table, TableCell};
use crate::improvement::{ROUGH, proof};
use crate::number::{significant, time};

/// One kernel, rewritten for one or several sets of GPUs.
pub(super) fn section(all: &[Named<'_, Improved>], ids: &Ids) -> Section {
    let first = all[0].content;
    let names = labels(all, |improved| improved.gpus.join(", "));
    let each: Markup = names.iter().zip(all).map(|(name, named)| one(name, named.content, ids)).collect();
    Section {
        id: ids.next("improve"),
        title: format!("{} rewritten", first.kernel),
        body: markup! { p(class = "about") : &first.program; : &each; },
    }
}

fn one(name: &str, improved: &Improved, ids: &Ids) -> Markup {
    let verdict = if improved.speedup > 1.0 {
        format!("{:.2} times as fast by the model", improved.speedup)
    } else {
        "Nothing gains".to_owned()
    };
    let rough = if improved.is_rough { format!(" {ROUGH}") } else { String::new() };
    let verdict = format!("{verdict}, after {} kernels were priced.{rough}", improved.tried);
    let verdict = [&[verdict][..], &improved.notes].concat().join(" ");
    let (ladder, times) = ladder(improved, ids);
    let steps = steps(improved);
    let sentences = |title: &str, all: &[String]| {
        let items: Markup = all.iter().map(|sentence| markup! { li : format!("{sentence}."); }).collect();
        if all.is_empty() {
            Markup::default()
        } else {
            markup! { h4 : title; ul : &items; }
        }
    };
    let conditions = sentences("Holds if", &improved.conditions);
    let host = sentences("In the host's code", &improved.host);
    let sources = sources(improved, ids);
    let refused = refused(improved, ids);
    markup! {
        h3 : name;
        div(class = "verdicts") { p(class = "verdict") : verdict; }
        : &ladder; : &times; : &steps; : &conditions; : &host; : &sources; : &refused;
    }
}

/// The steps on each GPU as a table and as bars.
fn ladder(improved: &Improved, ids: &Ids) -> (Markup, Markup) {
    let heads = vec![
        Head::text("step"),
        Head::text("GPU"),
        Head::number("time"),
        Head::number("from"),
        Head::number("to"),
        Head::number("speed-up"),
        Head::number("registers"),
        Head::number("spilled bytes"),
        Head::number("words"),
        Head::text("limit"),
        Head::text("work-group"),
    ];
    let mut table = Table::new("Predicted times of the steps", heads);
    let mut bars = Vec::new();
    for step in &improved.steps {
        let whole = |value: f64| format!("{value:.0}");
        let sides: Vec<String> = step.local.iter().map(u64::to_string).collect();
        table.push(vec![
            TableCell::text(&step.name),
            TableCell::text(&step.gpu),
            TableCell::number(step.seconds, time(step.seconds)),
            TableCell::maybe(step.error_band.map(|band| band[0]), time),
            TableCell::maybe(step.error_band.map(|band| band[1]), time),
            TableCell::number(step.speedup, significant(step.speedup)),
            TableCell::number(f64::from(step.registers), step.registers.to_string()),
            TableCell::number(f64::from(step.spill_bytes), step.spill_bytes.to_string()),
            TableCell::number(step.words as f64, whole(step.words as f64)),
            TableCell::text(&step.limiter),
            TableCell::text(sides.join(" x ")),
        ]);
        bars.push(Bar {
            label: format!("{}, {}", step.name, step.gpu),
            value: Some(step.seconds),
            range: step.error_band,
            point: None,
            series: improved.gpus.iter().position(|gpu| *gpu == step.gpu).unwrap_or(0),
        });
    }
    let bars = Bars {
        title: "Time of each step".to_owned(),
        description: "Predicted time of each step with the band in which a measurement is expected."
            .to_owned(),
        label: "time".to_owned(),
        format: time,
        bars,
        series: improved.gpus.clone(),
        ranges: "error band".to_owned(),
        points: String::new(),
    };
    (table.draw(ids), chart::tile(&bars, &Table::new("", Vec::new()), ids))
}

/// What each step changes, and how that was verified.
fn steps(improved: &Improved) -> Markup {
    let Some(gpu) = improved.gpus.first() else { return Markup::default() };
    let item = |step: &ImprovementStep| {
        let why = format!(": {}. Verified: {}", step.why.trim_end_matches('.'), proof(step));
        markup! { li { strong : &step.title; : why; } }
    };
    // The first step is the kernel as written.
    let items: Markup = improved.steps_on(gpu).skip(1).map(item).collect();
    if items.is_empty() {
        Markup::default()
    } else {
        markup! { ol : &items; }
    }
}

/// Both sources, with what differs marked.
fn sources(improved: &Improved, ids: &Ids) -> Markup {
    if improved.original == improved.source {
        return Markup::default();
    }
    let diff = TextDiff::from_lines(&improved.original, &improved.source);
    let heads = vec![Head::number("line"), Head::text("before"), Head::number("line"), Head::text("after")];
    let mut table = Table::new("The source before and after", heads);
    for operation in diff.ops() {
        let changes: Vec<_> = diff.iter_changes(operation).collect();
        let of = |tag: ChangeTag| changes.iter().filter(move |change| change.tag() == tag);
        let is_same = operation.tag() == DiffTag::Equal;
        let old: Vec<_> =
            if is_same { of(ChangeTag::Equal).collect() } else { of(ChangeTag::Delete).collect() };
        let new: Vec<_> = if is_same { old.clone() } else { of(ChangeTag::Insert).collect() };
        // A replaced part may have more lines on one side than on the other.
        for row in 0..old.len().max(new.len()) {
            let cells = |index: Option<usize>, text: Option<&str>| {
                let (Some(index), Some(text)) = (index, text) else {
                    return [TableCell::text(""), TableCell::text("")];
                };
                let text = text.trim_end_matches(['\n', '\r']);
                let code = if is_same {
                    TableCell::text(text)
                } else {
                    TableCell::markup(markup! { span(class = "heat", style = "--heat:25%") : text; })
                };
                [TableCell::text((index + 1).to_string()), code.with_class("source")]
            };
            let (old, new) = (old.get(row), new.get(row));
            let before = cells(old.and_then(|change| change.old_index()), old.map(|change| change.value()));
            let after = cells(new.and_then(|change| change.new_index()), new.map(|change| change.value()));
            table.push(before.into_iter().chain(after).collect());
        }
    }
    table.draw(ids)
}

/// What was tried and not applied.
fn refused(improved: &Improved, ids: &Ids) -> Markup {
    let heads = ["rewrite", "change", "after steps", "outcome", "reason"].map(Head::text);
    let mut table = Table::new("Tried and not applied", heads.into());
    for refused in &improved.refused {
        table.push(vec![
            TableCell::text(&refused.name),
            TableCell::text(&refused.title).with_class("wide-text"),
            TableCell::number(refused.depth as f64, refused.depth.to_string()),
            TableCell::text(&refused.kind),
            TableCell::text(&refused.reason).with_class("wide-text"),
        ]);
    }
    if table.is_empty() { Markup::default() } else { table.draw(ids) }
}
