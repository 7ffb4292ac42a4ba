//! Counters captured on a GPU beside the predicted ones.

use tripipe_results::{Capture, CapturedRow};

use super::chart::{self, Bar, Bars};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::Named;
use super::simulation::expected;
use super::table::{Head, Table, TableCell};
use crate::comparison::NEAR;
use crate::counters::value;
use crate::number::{significant, time};

/// Rows of the chart, and rows that the verdict names.
const BARS: usize = 16;
const NAMED: usize = 3;

/// The counter's name for people, or that of the capture.
fn name(row: &CapturedRow) -> &str {
    let title = row.counter.as_ref().map(|counter| counter.title.as_str());
    title.filter(|title| !title.is_empty()).unwrap_or(&row.row)
}

fn is_near(row: &CapturedRow) -> bool {
    row.ratio.is_some_and(|ratio| (1.0 / NEAR..=NEAR).contains(&ratio))
}

/// How far measured and predicted are apart, as a factor of at least 1.
fn distance(row: &CapturedRow) -> f64 {
    row.ratio.filter(|ratio| *ratio > 0.0).map_or(0.0, |ratio| ratio.max(1.0 / ratio))
}

/// The rows that can be compared, the furthest off first.
fn compared(capture: &Capture) -> Vec<&CapturedRow> {
    let mut rows: Vec<&CapturedRow> = capture.rows.iter().filter(|row| distance(row) > 0.0).collect();
    rows.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    rows
}

fn verdict(capture: &Capture) -> String {
    let compared = compared(capture);
    if compared.is_empty() {
        return "No row of the capture can be compared: it has no predicted counter, or one of both is 0."
            .to_owned();
    }
    let near = compared.iter().filter(|row| is_near(row)).count();
    let mut text = format!(
        "{near} of {} compared counters are within a factor of {NEAR} of the prediction.",
        compared.len()
    );
    let far: Vec<String> = compared
        .iter()
        .filter(|row| !is_near(row))
        .take(NAMED)
        .filter_map(|row| Some(format!("{} ({} times the prediction)", name(row), significant(row.ratio?))))
        .collect();
    if !far.is_empty() {
        text.push_str(&format!(" Furthest off: {}.", far.join(", ")));
    }
    text
}

/// One or several captures.
pub(super) fn section(all: &[Named<'_, Capture>], ids: &Ids) -> Section {
    let body: Markup = all.iter().map(|named| one(named.content, ids)).collect();
    Section { id: ids.next("compare"), title: "Captured and predicted counters".to_owned(), body }
}

fn one(capture: &Capture, ids: &Ids) -> Markup {
    let title = format!("{} beside {} on {}", capture.capture, capture.kernel, capture.gpu);
    let launches = if capture.launches == 1 {
        "One launch is".to_owned()
    } else {
        format!("The capture has {} launches; each is", capture.launches)
    };
    let about = format!(
        "{launches} predicted to take {} ({}).{}",
        time(capture.seconds),
        expected(capture.error_band),
        if capture.guessed {
            " Memory is guessed from the kernel and the global size: a launch file as measured makes the comparison fair."
        } else {
            ""
        }
    );
    let verdict = verdict(capture);
    let (chart, table, missing) = (chart(capture, ids), table(capture, ids), missing(capture, ids));
    markup! {
        h3 : &title;
        p(class = "verdict") : &verdict;
        p(class = "about") : &about;
        div(class = "tiles") { div { : &chart; } div { : &missing; } }
        : &table;
    }
}

/// The ratios, the furthest off first.
fn chart(capture: &Capture, ids: &Ids) -> Markup {
    let mut rows = compared(capture);
    let title = if rows.len() > BARS {
        format!("Measured / predicted: the {BARS} of {} that are furthest off", rows.len())
    } else {
        "Measured / predicted, the furthest off first".to_owned()
    };
    rows.truncate(BARS);
    let bar = |row: &&CapturedRow| Bar {
        label: name(row).to_owned(),
        value: row.ratio,
        range: None,
        // The point marks in each row where the prediction is.
        point: Some(1.0),
        series: usize::from(!is_near(row)),
    };
    let bars = Bars {
        title,
        description: format!("Measured counters of {}, divided by the predicted ones.", capture.gpu),
        label: "measured / predicted".to_owned(),
        format: significant,
        bars: rows.iter().map(bar).collect(),
        series: vec![format!("within a factor of {NEAR}"), "further off".to_owned()],
        ranges: String::new(),
        points: "as predicted".to_owned(),
    };
    chart::tile(&bars, &Table::new("", Vec::new()), ids)
}

fn table(capture: &Capture, ids: &Ids) -> Markup {
    let heads = vec![
        Head::text("counter"),
        Head::text("group"),
        Head::number("measured"),
        Head::number("predicted"),
        Head::number("measured / predicted"),
        Head::text("unit"),
        Head::text("basis"),
        Head::text("how the model has it"),
    ];
    let mut table = Table::new("Counters with a prediction", heads);
    for row in &capture.rows {
        let Some(counter) = &row.counter else { continue };
        let ratio = TableCell::maybe(row.ratio, significant);
        let is_off = distance(row) > 0.0 && !is_near(row);
        table.push(vec![
            TableCell::text(name(row)),
            TableCell::text(&counter.group),
            TableCell::number(row.measured, value(row.measured)),
            TableCell::maybe(row.predicted, value),
            if is_off { ratio.with_class("worse") } else { ratio },
            TableCell::text(&counter.unit),
            TableCell::text(&counter.basis),
            TableCell::text(&counter.derived).with_class("wide-text"),
        ]);
    }
    if table.is_empty() { Markup::default() } else { table.draw(ids) }
}

/// The rows without a prediction, with the reason.
fn missing(capture: &Capture, ids: &Ids) -> Markup {
    let heads = vec![Head::text("row"), Head::number("measured"), Head::text("why it has no prediction")];
    let mut table = Table::new("Rows without a prediction", heads);
    for row in &capture.rows {
        let Some(reason) = &row.reason else { continue };
        table.push(vec![
            TableCell::text(&row.row),
            TableCell::number(row.measured, value(row.measured)),
            TableCell::text(reason),
        ]);
    }
    if table.is_empty() { Markup::default() } else { table.draw(ids) }
}
