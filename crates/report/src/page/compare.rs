//! Differences between two results of the same kind.

use super::markup::{Ids, Markup, markup};
use super::table::{Head, Table, TableCell};

/// Figures that differ by less than this factor are the same.
const CLEARLY: f64 = 1.02;

/// A figure before and after.
pub(super) struct FigureChange {
    pub(super) what: String,
    pub(super) before: Option<f64>,
    pub(super) after: Option<f64>,
}

/// What a set of figures is.
pub(super) struct Kind {
    /// The caption of the table.
    pub(super) caption: String,
    /// The heading of its rows.
    pub(super) what: &'static str,
    /// The files before and after.
    pub(super) files: [String; 2],
    /// Whether less is better.
    pub(super) less_is_better: bool,
    pub(super) format: fn(f64) -> String,
}

/// A sentence and a table of the differences. Empty without figures.
pub(super) fn differences(kind: &Kind, changes: &[FigureChange], ids: &Ids) -> Markup {
    if changes.is_empty() {
        return Markup::default();
    }
    let ratio = |change: &FigureChange| {
        let (before, after) = (change.before?, change.after?);
        (before > 0.0 && after >= 0.0).then(|| after / before)
    };
    let is_better = |ratio: f64| if kind.less_is_better { ratio < 1.0 / CLEARLY } else { ratio > CLEARLY };
    let is_worse = |ratio: f64| if kind.less_is_better { ratio > CLEARLY } else { ratio < 1.0 / CLEARLY };
    let count =
        |is: &dyn Fn(f64) -> bool| changes.iter().filter_map(ratio).filter(|ratio| is(*ratio)).count();
    let (better, worse) = (count(&is_better), count(&is_worse));
    let [before, after] = &kind.files;
    let mut table = Table::new(
        kind.caption.clone(),
        vec![
            Head::text(kind.what),
            Head::number(before.as_str()),
            Head::number(after.as_str()),
            Head::number("after / before"),
            Head::text("verdict"),
        ],
    );
    for change in changes {
        let ratio = ratio(change);
        let verdict = match ratio {
            Some(ratio) if is_better(ratio) => TableCell::text("better").with_class("better"),
            Some(ratio) if is_worse(ratio) => TableCell::text("worse").with_class("worse"),
            Some(_) => TableCell::text("same"),
            None => TableCell::missing(),
        };
        table.push(vec![
            TableCell::text(&change.what),
            TableCell::maybe(change.before, kind.format),
            TableCell::maybe(change.after, kind.format),
            TableCell::maybe(ratio, crate::number::significant),
            verdict,
        ]);
    }
    let all = changes.iter().filter_map(ratio).count();
    let sentence = format!(
        "From {before} to {after}: {worse} of {all} figures are worse and {better} are better by more than {:.0}%.",
        100.0 * (CLEARLY - 1.0)
    );
    let class = if worse > 0 { "verdict worse" } else { "verdict" };
    let table = table.draw(ids);
    markup! { p(class = class) : sentence; : &table; }
}
