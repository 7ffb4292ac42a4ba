//! Search.

use tripipe_results::{Search, Trial};

use super::compare::{FigureChange, Headline, Kind, differences, under_differences};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::{Named, labels, pairs};
use super::switch::panels;
use super::table::{Head, Table, TableCell};
use crate::number::{significant, time};

/// Values of a parameter that a map of two of them shows.
const VALUES: std::ops::RangeInclusive<usize> = 2..=12;

pub(super) fn subject(tuning: &Search) -> (&str, &str) {
    (&tuning.family, &tuning.subject)
}

fn verdict(tuning: &Search) -> String {
    // Candidates come in the order of their times, those without a time last.
    let Some((best, seconds)) = tuning.candidates.first().and_then(|best| Some((best, best.seconds?))) else {
        return format!("{}: none of {} candidates has a time.", tuning.device, tuning.candidates.len());
    };
    let rate = best
        .operations_per_second
        .map_or(String::new(), |rate| format!(" ({} GFLOP/s)", significant(rate * 1e-9)));
    let predicted = if tuning.predicted { ", predicted" } else { "" };
    let partial = match (tuning.complete, tuning.not_tried) {
        (_, 0) => String::new(),
        (true, left) => format!(" {left} more were not tried: little improvement was expected."),
        (false, left) => format!(" Partial: {left} more candidates were not tried."),
    };
    format!(
        "{}: {} is the fastest of {} candidates: {}{rate}{predicted}.{partial}",
        tuning.device,
        best.parameters,
        tuning.candidates.len(),
        time(seconds),
    )
}

/// Its parameters by name. Words without a name are the kernel and the sizes of its tile.
fn named(candidate: &Trial) -> impl Iterator<Item = (&str, &str)> {
    candidate.parameters.split_whitespace().map(|word| {
        word.split_once('=').unwrap_or_else(|| {
            (if word.starts_with(|first: char| first.is_ascii_digit()) { "tile" } else { "kernel" }, word)
        })
    })
}

fn value<'a>(candidate: &'a Trial, name: &str) -> Option<&'a str> {
    named(candidate).find(|(own, _)| *own == name).map(|(_, value)| value)
}

/// Searches for one problem, on one or several devices.
pub(super) fn section(all: &[Named<'_, Search>], ids: &Ids) -> Section {
    let names = labels(all, |tuning| tuning.device.clone());
    let verdicts: Markup =
        all.iter().map(|named| markup! { p(class = "verdict") : verdict(named.content); }).collect();
    let each: Vec<(String, Markup)> =
        names.iter().zip(all).map(|(name, named)| (name.clone(), device(named.content, ids))).collect();
    let devices = panels("Device", &each, ids);
    let changes = changes(all, ids);
    let (family, subject) = subject(all[0].content);
    Section {
        id: ids.next("tune"),
        title: format!("Tuning of {family}: {subject}"),
        body: markup! { : &changes; div(class = "verdicts") : &verdicts; : &devices; },
    }
}

/// The best times of searches on the same device in several files.
fn changes(all: &[Named<'_, Search>], ids: &Ids) -> Markup {
    let best = |tuning: &Search| tuning.candidates.first().and_then(|best| best.seconds);
    let change = |(before, after): (Named<'_, Search>, Named<'_, Search>)| {
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
    under_differences(pairs(all, |tuning| &tuning.device).into_iter().map(change).collect())
}

fn device(tuning: &Search, ids: &Ids) -> Markup {
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
fn map(tuning: &Search, ids: &Ids) -> Markup {
    let mut varied: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in tuning.candidates.iter().filter(|each| each.seconds.is_some()).flat_map(named) {
        match varied.iter_mut().find(|(own, _)| *own == name) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => varied.push((name, vec![value])),
        }
    }
    // A parameter with one value spans nothing, and one with many makes the map too wide to read.
    varied.retain(|(_, values)| VALUES.contains(&values.len()));
    varied.sort_by_key(|(_, values)| std::cmp::Reverse(values.len()));
    let [(rows, row_values), (columns, column_values), ..] = &varied[..] else { return Markup::default() };
    let best = |row: &str, column: &str| {
        let fits = |each: &&Trial| value(each, rows) == Some(row) && value(each, columns) == Some(column);
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
