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

/// The figure that decides which of two results is better: less is better.
pub(super) struct Headline {
    pub(super) figure: FigureChange,
    pub(super) format: fn(f64) -> String,
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
    /// The time of the whole, if there is one.
    pub(super) headline: Option<Headline>,
    /// Whether each figure is better or worse by itself; otherwise it only explains the headline.
    pub(super) are_judged: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Better,
    Same,
    Worse,
}

impl Judgement {
    fn of(after_over_before: f64, less_is_better: bool) -> Self {
        // As a cost, so that both directions have the same thresholds.
        let cost = if less_is_better { after_over_before } else { 1.0 / after_over_before };
        if cost < 1.0 / CLEARLY {
            Self::Better
        } else if cost > CLEARLY {
            Self::Worse
        } else {
            Self::Same
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Same => "same",
            Self::Worse => "worse",
        }
    }
}

impl FigureChange {
    /// The figure after divided by that before.
    fn ratio(&self) -> Option<f64> {
        let (before, after) = (self.before?, self.after?);
        // From 0 there is no ratio.
        (before > 0.0 && after >= 0.0).then(|| after / before)
    }

    fn row(&self, format: fn(f64) -> String, judgement: Option<Judgement>) -> Vec<TableCell> {
        let verdict = judgement.map_or_else(
            || TableCell::text(""),
            |judgement| TableCell::text(judgement.name()).with_class(judgement.name()),
        );
        vec![
            TableCell::text(&self.what),
            TableCell::maybe(self.before, format),
            TableCell::maybe(self.after, format),
            TableCell::maybe(self.ratio(), crate::number::significant),
            verdict,
        ]
    }
}

/// What differs, under its heading. Empty if nothing does.
pub(super) fn under_differences(out: Markup) -> Markup {
    if out.is_empty() {
        out
    } else {
        markup! { h3 : "Differences"; : &out; }
    }
}

/// A sentence and a table of the differences. Empty without figures.
pub(super) fn differences(kind: &Kind, changes: &[FigureChange], ids: &Ids) -> Markup {
    if changes.is_empty() && kind.headline.is_none() {
        return Markup::default();
    }
    let judged = |change: &FigureChange| Some(Judgement::of(change.ratio()?, kind.less_is_better));
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
    let whole = kind.headline.as_ref().and_then(|whole| Some((whole, whole.figure.ratio()?)));
    if let Some((whole, ratio)) = whole {
        // A headline is a time, of which less is better.
        table.push(whole.figure.row(whole.format, Some(Judgement::of(ratio, true))));
    }
    for change in changes {
        table.push(change.row(kind.format, judged(change).filter(|_| kind.are_judged)));
    }
    let (sentence, judgement) = match whole {
        Some((whole, ratio)) => headline(whole, ratio, kind),
        None => counts(kind, changes.iter().filter_map(judged)),
    };
    let class = format!("verdict {}", judgement.name());
    let table = table.draw(ids);
    markup! { p(class = &class) : sentence; : &table; }
}

/// What the headline says, such as "after.json is 2.07 times as fast as before.json".
fn headline(whole: &Headline, ratio: f64, kind: &Kind) -> (String, Judgement) {
    let [before, after] = &kind.files;
    let judgement = Judgement::of(ratio, true);
    let how = match judgement {
        Judgement::Better => {
            format!("{after} is {} times as fast as {before}", crate::number::significant(1.0 / ratio))
        }
        Judgement::Same => format!("{after} is as fast as {before}, within {:.0}%", 100.0 * (CLEARLY - 1.0)),
        Judgement::Worse => {
            format!("{after} takes {} times as long as {before}", crate::number::significant(ratio))
        }
    };
    let shown = |value: Option<f64>| value.map_or_else(String::new, whole.format);
    let (old, new) = (shown(whole.figure.before), shown(whole.figure.after));
    (format!("{how}: {old} before, {new} after ({}).", whole.figure.what), judgement)
}

/// How many figures are better and worse.
fn counts(kind: &Kind, judged: impl Iterator<Item = Judgement>) -> (String, Judgement) {
    let all: Vec<Judgement> = judged.collect();
    let count = |wanted: Judgement| all.iter().filter(|judgement| **judgement == wanted).count();
    let (better, worse) = (count(Judgement::Better), count(Judgement::Worse));
    let [before, after] = &kind.files;
    let sentence = format!(
        "From {before} to {after}: {worse} of {} figures are worse and {better} are better by more than {:.0}%.",
        all.len(),
        100.0 * (CLEARLY - 1.0)
    );
    let judgement = match (better, worse) {
        (1.., 0) => Judgement::Better,
        (0, 1..) => Judgement::Worse,
        // Better and worse figures say nothing about the whole.
        _ => Judgement::Same,
    };
    (sentence, judgement)
}
