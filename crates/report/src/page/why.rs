//! The launches of an application, by time against their ceilings.

use tripipe_results::{Application, KernelLaunches};

use super::chart::{self, Bar, Bars};
use super::compare::{FigureChange, Headline, Kind, differences, under_differences};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::{Named, labels, pairs};
use super::switch::panels;
use super::table::{Head, Table, TableCell};
use crate::number::{percent, significant, time};

/// Seconds, seconds at the ceiling, and the band of seconds; `None` where that is not known.
type LaunchSeconds = (Option<f64>, Option<f64>, Option<[f64; 2]>);

/// What a share of a ceiling says, and what it does not.
const CEILING: &str = "A ceiling is that of the launch's own instructions and accesses: at 100% this code cannot run faster, \
    other code may.";

/// Bars of a chart.
const BARS: usize = 30;

fn count(row: &KernelLaunches) -> usize {
    row.measured_launches.unwrap_or(row.launches)
}

/// The kernel and its global size.
fn name(row: &KernelLaunches) -> String {
    let Some(global) = row.global else { return row.kernel.clone() };
    // At least one extent stays.
    let used = 3 - global.iter().rev().take_while(|extent| **extent == 1).count().min(2);
    let size: Vec<String> = global[..used].iter().map(ToString::to_string).collect();
    format!("{} {}", row.kernel, size.join("x"))
}

/// Those of one launch.
fn one(row: &KernelLaunches) -> LaunchSeconds {
    let share = |seconds: f64| seconds / count(row).max(1) as f64;
    (row.seconds.map(share), row.seconds_at_ceiling.map(share), band(row))
}

/// Those of all launches.
fn all(row: &KernelLaunches) -> LaunchSeconds {
    let count = count(row) as f64;
    (row.seconds, row.seconds_at_ceiling, band(row).map(|band| band.map(|bound| count * bound)))
}

/// The band of a launch whose time is predicted, and is not that of the host.
fn band(row: &KernelLaunches) -> Option<[f64; 2]> {
    // Where the host takes longer than the kernel, the band of the kernel says nothing.
    let is_host = row.launch_seconds >= row.predicted_seconds;
    row.predicted_band.filter(|_| row.measured_seconds.is_none() && !is_host)
}

pub(super) fn gpu(application: &Application) -> &str {
    &application.gpu
}

fn seconds(application: &Application) -> f64 {
    application.launches.iter().filter_map(|row| row.seconds).sum()
}

fn verdict(application: &Application) -> String {
    let launches: usize = application.launches.iter().map(count).sum();
    let all = seconds(application);
    let Some(first) = application.launches.first().filter(|row| row.seconds.is_some() && all > 0.0) else {
        return format!("None of {launches} launches has a time on {}.", application.gpu);
    };
    let noun = if launches == 1 { "launch takes" } else { "launches take" };
    let measured = application.launches.iter().filter(|row| row.measured_seconds.is_some()).count();
    let how = match measured {
        0 => format!("predicted for {}", application.gpu),
        all if all == application.launches.len() => "measured".to_owned(),
        _ => format!("in part measured, else predicted for {}", application.gpu),
    };
    let share = percent(first.seconds.unwrap_or(0.0) / all);
    let mut text = format!("{launches} {noun} {}, {how}. {} takes {share} of it", time(all), name(first));
    if let Some(limiter) = &first.limiter {
        text.push_str(&format!(", limited by {limiter}"));
    }
    let known = application.launches.iter().filter(|row| row.seconds.is_some());
    // The sum is known only if every part of it is.
    let ceilings: Option<f64> = known.map(|row| row.seconds_at_ceiling).sum();
    if let Some(ceilings) = ceilings {
        text.push_str(&format!(". At their ceilings all would take {}", time(ceilings)));
    }
    text + "."
}

/// The launches of an application on one or several GPUs.
pub(super) fn section(all: &[Named<'_, Application>], ids: &Ids) -> Section {
    let names = labels(all, |application| application.gpu.clone());
    let verdicts: Markup =
        all.iter().map(|named| markup! { p(class = "verdict") : verdict(named.content); }).collect();
    let changes = changes(all, ids);
    let each: Vec<(String, Markup)> =
        names.iter().zip(all).map(|(name, named)| (name.clone(), on_gpu(named.content, ids))).collect();
    let gpus = panels("GPU", &each, ids);
    Section {
        id: ids.next("why"),
        title: "Where the time goes".to_owned(),
        body: markup! { : &changes; div(class = "verdicts") : &verdicts; : &gpus; },
    }
}

fn on_gpu(application: &Application, ids: &Ids) -> Markup {
    let title = "Time of all launches of each kernel, beside its ceiling";
    let all = chart(application, title, all, ids);
    let repeats = application.launches.iter().any(|row| count(row) > 1);
    let title = "Time of one launch of each kernel, beside its ceiling";
    let one = if repeats { chart(application, title, one, ids) } else { Markup::default() };
    let (table, advice, notes) = (table(application, ids), advice(application, ids), notes(application));
    markup! {
        h3 : &application.gpu;
        div(class = "tiles") { div { : &all; } div { : &one; } div { : &advice; } }
        : &table;
        p(class = "about") : CEILING;
        : &notes;
    }
}

/// The longest kernels, the longest first.
fn chart(
    application: &Application,
    title: &str,
    figures: fn(&KernelLaunches) -> LaunchSeconds,
    ids: &Ids,
) -> Markup {
    let mut bars: Vec<Bar> = application
        .launches
        .iter()
        .map(|row| {
            let (value, point, range) = figures(row);
            let series = usize::from(row.measured_seconds.is_some());
            Bar { label: name(row), value, range, point, series }
        })
        .filter(|bar| bar.value.is_some())
        .collect();
    bars.sort_by(|a, b| b.value.unwrap_or(0.0).total_cmp(&a.value.unwrap_or(0.0)));
    let title = if bars.len() > BARS {
        format!("{title}: the longest {BARS} of {}", bars.len())
    } else {
        title.to_owned()
    };
    bars.truncate(BARS);
    // The names of colours count from the first series; bars of one kind need no second one.
    let is_measured = |bar: &Bar| bar.series == 1;
    let series = match (bars.iter().any(is_measured), bars.iter().all(is_measured)) {
        (false, _) => vec!["predicted".to_owned()],
        (true, false) => vec!["predicted".to_owned(), "measured".to_owned()],
        (true, true) => {
            for bar in &mut bars {
                bar.series = 0;
            }
            vec!["measured".to_owned()]
        }
    };
    let legend = |has: bool, text: &str| if has { text.to_owned() } else { String::new() };
    let ranges = legend(bars.iter().any(|bar| bar.range.is_some()), "where a measurement is expected");
    let points = legend(bars.iter().any(|bar| bar.point.is_some()), "at the ceiling");
    let description = format!("Seconds of the kernels on {}, the longest first.", application.gpu);
    let bars =
        Bars { title, description, label: "time".to_owned(), format: time, bars, series, ranges, points };
    chart::tile(&bars, &Table::new("", Vec::new()), ids)
}

fn table(application: &Application, ids: &Ids) -> Markup {
    let mut heads = vec![
        Head::text("kernel"),
        Head::number("launches"),
        Head::number("time"),
        Head::number("share"),
        Head::number("one launch"),
        Head::text("limited by"),
        Head::text("ceiling"),
        Head::number("of the ceiling of these instructions"),
        Head::number("at ceiling"),
        Head::number("application faster at ceiling"),
        Head::number("application faster if free"),
        Head::number("predicted, one launch"),
        Head::text("launch file"),
    ];
    let has_energy = application.launches.iter().any(|row| row.joules.is_some());
    if has_energy {
        heads.extend([Head::number("energy, one launch"), Head::number("power")]);
    }
    let mut table = Table::new("All kernels, the longest first", heads);
    let all = seconds(application);
    let text = |text: &Option<String>| text.as_ref().map_or_else(TableCell::missing, TableCell::text);
    for row in &application.launches {
        let share = row.seconds.filter(|_| all > 0.0).map(|seconds| seconds / all);
        let mut cells = vec![
            TableCell::text(name(row)),
            TableCell::number(count(row) as f64, count(row).to_string()),
            TableCell::maybe(row.seconds, time),
            share.map_or_else(TableCell::missing, TableCell::share),
            TableCell::maybe(one(row).0, time),
            text(&row.limiter),
            text(&row.ceiling),
            row.of_ceiling.map_or_else(TableCell::missing, TableCell::share),
            TableCell::maybe(row.seconds_at_ceiling, time),
            TableCell::maybe(row.application_gain_at_ceiling, |gain| format!("{}x", significant(gain))),
            TableCell::maybe(row.application_gain_if_free, |gain| format!("{}x", significant(gain))),
            TableCell::maybe(row.predicted_seconds, time),
            text(&row.file),
        ];
        if has_energy {
            cells.push(TableCell::maybe(row.joules, |joules| format!("{} mJ", significant(joules * 1e3))));
            cells.push(TableCell::maybe(row.watts, |watts| format!("{} W", significant(watts))));
        }
        table.push(cells);
    }
    table.draw(ids)
}

fn advice(application: &Application, ids: &Ids) -> Markup {
    let heads = vec![Head::text("kernel"), Head::number("saves"), Head::text("advice")];
    let mut table = Table::new("The advice with the largest gain for each kernel", heads);
    for row in &application.launches {
        let Some(advice) = &row.advice else { continue };
        table.push(vec![
            TableCell::text(name(row)),
            TableCell::maybe(row.advice_saves, percent),
            TableCell::text(advice).with_class("wide-text"),
        ]);
    }
    if table.is_empty() { Markup::default() } else { table.draw(ids) }
}

fn notes(application: &Application) -> Markup {
    application
        .energy
        .iter()
        .chain(&application.notes)
        .map(|note| markup! { p(class = "about") : note; })
        .collect()
}

/// What differs between files for the same GPU.
fn changes(all: &[Named<'_, Application>], ids: &Ids) -> Markup {
    let out: Markup = pairs(all, gpu)
        .into_iter()
        .map(|(before, after)| {
            let figures: Vec<FigureChange> = before
                .content
                .launches
                .iter()
                .map(|row| {
                    let same = |other: &&KernelLaunches| name(other) == name(row);
                    FigureChange {
                        what: name(row),
                        before: row.seconds,
                        after: after.content.launches.iter().find(same).and_then(|after| after.seconds),
                    }
                })
                .collect();
            let kind = Kind {
                caption: format!("Times on {}", before.content.gpu),
                what: "kernel",
                files: [before.file.to_owned(), after.file.to_owned()],
                less_is_better: true,
                format: time,
                headline: Some(Headline {
                    figure: FigureChange {
                        what: "all launches".to_owned(),
                        before: Some(seconds(before.content)),
                        after: Some(seconds(after.content)),
                    },
                    format: time,
                }),
                are_judged: true,
            };
            differences(&kind, &figures, ids)
        })
        .collect();
    under_differences(out)
}
