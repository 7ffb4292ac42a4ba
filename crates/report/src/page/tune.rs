//! Tuning.

use serde::Deserialize;

use super::compare::{FigureChange, Headline, Kind, differences};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::switch::panels;
use super::table::{Head, Table, TableCell};
use super::{Named, labels, pairs};
use crate::number::{significant, time};

/// The result of `tripipe tune` for one problem on one device.
#[derive(Debug, Deserialize)]
pub(super) struct Tuning {
    family: String,
    subject: String,
    device: String,
    #[serde(default)]
    predicted: bool,
    not_tried: u64,
    complete: bool,
    #[serde(default)]
    points: u64,
    candidates: Vec<Candidate>,
}

#[derive(Debug, Deserialize)]
struct Candidate {
    parameters: String,
    seconds: Option<f64>,
    min_seconds: Option<f64>,
    runs: Option<u64>,
    operations_per_second: Option<f64>,
    reason: Option<String>,
}

/// Values of a parameter that a map of two of them shows.
const VALUES: std::ops::RangeInclusive<usize> = 2..=12;

impl Tuning {
    pub(super) fn subject(&self) -> (&str, &str) {
        (&self.family, &self.subject)
    }

    fn verdict(&self) -> String {
        let Some((best, seconds)) = self.candidates.first().and_then(|best| Some((best, best.seconds?)))
        else {
            return format!("{}: none of {} candidates has a time.", self.device, self.candidates.len());
        };
        let rate = best
            .operations_per_second
            .map_or(String::new(), |rate| format!(" ({} GFLOP/s)", significant(rate * 1e-9)));
        let predicted = if self.predicted { ", predicted" } else { "" };
        let partial = match (self.complete, self.not_tried) {
            (_, 0) => String::new(),
            (true, left) => format!(" {left} more were not tried: little improvement was expected."),
            (false, left) => format!(" Partial: {left} more candidates were not tried."),
        };
        format!(
            "{}: {} is the fastest of {} candidates: {}{rate}{predicted}.{partial}",
            self.device,
            best.parameters,
            self.candidates.len(),
            time(seconds),
        )
    }
}

impl Candidate {
    /// Its parameters by name. Words without a name are the kernel and the sizes of its tile.
    fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parameters.split_whitespace().map(|word| {
            word.split_once('=').unwrap_or_else(|| {
                (if word.starts_with(|first: char| first.is_ascii_digit()) { "tile" } else { "kernel" }, word)
            })
        })
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.named().find(|(own, _)| *own == name).map(|(_, value)| value)
    }
}

/// Searches for one problem, on one or several devices.
pub(super) fn section(all: &[Named<'_, Tuning>], ids: &Ids) -> Section {
    let names = labels(all, |tuning| tuning.device.clone());
    let verdicts: Markup =
        all.iter().map(|named| markup! { p(class = "verdict") : named.content.verdict(); }).collect();
    let each: Vec<(String, Markup)> =
        names.iter().zip(all).map(|(name, named)| (name.clone(), device(named.content, ids))).collect();
    let devices = panels("Device", &each, ids);
    let changes = changes(all, ids);
    let (family, subject) = all[0].content.subject();
    Section {
        id: ids.next("tune"),
        title: format!("Tuning of {family}: {subject}"),
        body: markup! { : &changes; div(class = "verdicts") : &verdicts; : &devices; },
    }
}

/// The best times of searches on the same device in several files.
fn changes(all: &[Named<'_, Tuning>], ids: &Ids) -> Markup {
    let best = |tuning: &Tuning| tuning.candidates.first().and_then(|best| best.seconds);
    let change = |(before, after): (Named<'_, Tuning>, Named<'_, Tuning>)| {
        let figure = FigureChange {
            what: "the fastest candidate".to_owned(),
            before: best(before.content),
            after: best(after.content),
        };
        let kind = Kind {
            caption: format!("Best times on {}", before.content.device),
            what: "figure",
            files: [before.file.to_owned(), after.file.to_owned()],
            less_is_better: true,
            format: time,
            headline: Some(Headline { figure, format: time }),
            are_judged: true,
        };
        differences(&kind, &[], ids)
    };
    pairs(all, |tuning| &tuning.device).into_iter().map(change).collect()
}

fn device(tuning: &Tuning, ids: &Ids) -> Markup {
    let fastest = tuning.candidates.first().and_then(|best| best.seconds);
    let has_rate = tuning.candidates.iter().any(|candidate| candidate.operations_per_second.is_some());
    let mut heads = vec![Head::text("parameters"), Head::number("time"), Head::number("of the fastest")];
    if has_rate {
        heads.push(Head::number("GFLOP/s"));
    }
    heads.extend([Head::number("fastest run"), Head::number("runs"), Head::text("why no time")]);
    let mut table = Table::new("All candidates", heads);
    for candidate in &tuning.candidates {
        let share = fastest.zip(candidate.seconds).map(|(fastest, seconds)| fastest / seconds);
        let mut cells = vec![
            TableCell::text(&candidate.parameters),
            TableCell::maybe(candidate.seconds, time),
            share.map_or_else(TableCell::missing, TableCell::share),
        ];
        if has_rate {
            cells.push(TableCell::maybe(candidate.operations_per_second, |rate| significant(rate * 1e-9)));
        }
        cells.extend([
            TableCell::maybe(candidate.min_seconds, time),
            TableCell::maybe(candidate.runs.map(|runs| runs as f64), |runs| runs.to_string()),
            TableCell::text(candidate.reason.as_deref().unwrap_or("")).with_class("wide-text"),
        ]);
        table.push(cells);
    }
    let space = (tuning.points > 0).then(|| {
        format!("The space has {} valid sets of parameters.", crate::number::grouped(tuning.points))
    });
    let (map, table) = (map(tuning, ids), table.draw(ids));
    markup! {
        h3 : &tuning.device;
        @ if let Some(space) = &space { p(class = "about") : space; }
        : &map; : &table;
    }
}

/// The best time for each pair of values of the two parameters that the candidates vary most.
fn map(tuning: &Tuning, ids: &Ids) -> Markup {
    let mut varied: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in
        tuning.candidates.iter().filter(|each| each.seconds.is_some()).flat_map(Candidate::named)
    {
        match varied.iter_mut().find(|(own, _)| *own == name) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => varied.push((name, vec![value])),
        }
    }
    varied.retain(|(_, values)| VALUES.contains(&values.len()));
    varied.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
    let [(rows, row_values), (columns, column_values), ..] = &varied[..] else { return Markup::default() };
    let best = |row: &str, column: &str| {
        let fits = |each: &&Candidate| each.value(rows) == Some(row) && each.value(columns) == Some(column);
        tuning.candidates.iter().filter(fits).filter_map(|each| each.seconds).reduce(f64::min)
    };
    let fastest = tuning.candidates.first().and_then(|best| best.seconds).unwrap_or(0.0);
    let mut heads = vec![Head::text(*rows)];
    heads.extend(column_values.iter().map(|value| Head::number(format!("{columns} {value}"))));
    let mut table =
        Table::new(format!("The best time for each {rows} and {columns}; darker is faster"), heads);
    for row in row_values {
        let mut cells = vec![TableCell::text(row)];
        cells.extend(column_values.iter().map(|column| {
            best(row, column).map_or_else(TableCell::missing, |seconds| {
                TableCell::heat(seconds, fastest / seconds, time(seconds))
            })
        }));
        table.push(cells);
    }
    table.draw(ids)
}
