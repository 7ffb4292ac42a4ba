//! A climbed ladder.

use tripipe_results::{
    Crossover, CrossoverPoint, Ladder, LadderCore, LadderStep, Published, PublishedLaplace,
};

use super::chart::{self, Axis, Bar, Bars, ChartLine, Form, Ink, Lines};
use super::compare::{FigureChange, Headline, Kind, differences, under_differences};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::{Named, labels, pairs};
use super::switch::panels;
use super::table::{Head, Table, TableCell};
use crate::ladder::{flips, is_of};
use crate::number::{significant, time};

/// What a share of a ceiling is here.
const CEILING: &str = "The ceiling is that of the problem: the time in which its bytes can be copied or its arithmetic done, \
    whichever is longer.";

fn at<T: Clone>(all: &[Option<T>], index: usize) -> Option<T> {
    all.get(index).cloned().flatten()
}

/// The fastest step at a size, and its time.
fn fastest(ladder: &Ladder, size: usize) -> Option<(&LadderStep, f64)> {
    let timed = ladder.steps.iter().filter_map(|step| Some((step, at(&step.seconds, size)?)));
    timed.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Published steps: only those of one ladder are compared with ours.
fn laplace(ladder: &Ladder) -> Option<&PublishedLaplace> {
    match &ladder.published {
        Some(Published::Laplace(published)) => Some(published),
        _ => None,
    }
}

/// The time that is compared with a published one: a prediction with the host's part.
fn comparable(ladder: &Ladder, step: usize, size: usize) -> Option<f64> {
    Some(at(&ladder.steps.get(step)?.seconds, size)? + host_seconds(ladder, step))
}

/// The host's part of a published time, which a prediction does not include.
fn host_seconds(ladder: &Ladder, step: usize) -> f64 {
    let published = laplace(ladder).filter(|_| ladder.predicted);
    let host = published.and_then(|published| published.host_seconds.get(usize::from(step > 0)));
    host.copied().unwrap_or(0.0)
}

/// The speed-up that is compared with a published one.
fn comparable_speedup(ladder: &Ladder, step: usize, size: usize) -> Option<f64> {
    Some(comparable(ladder, 0, size)? / comparable(ladder, step, size)?)
}

/// The published speed-up and seconds of a step.
fn published(ladder: &Ladder, step: &str, size: &str) -> (Option<f64>, Option<f64>) {
    let Some(published) = laplace(ladder) else { return (None, None) };
    let column = published.sizes.iter().position(|own| own == size);
    let own = published.steps.iter().find(|own| own.name == step);
    let (Some(column), Some(own)) = (column, own) else { return (None, None) };
    (own.speedup.get(column).copied(), at(&own.seconds, column))
}

/// What counts, in one sentence.
fn verdict(ladder: &Ladder) -> String {
    if let Some(failed) = ladder.steps.iter().find(|step| step.verified == Some(false)) {
        let reason = failed.reason.iter().flatten().next();
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        return format!("{} is wrong on {}{reason}.", failed.name, ladder.device);
    }
    // Launches weigh least in the last size, which is usually the largest.
    let last = (0..ladder.sizes.len()).rev().find_map(|size| Some((size, fastest(ladder, size)?)));
    let Some((size, (step, seconds))) = last else {
        return format!("No step ran on {}.", ladder.device);
    };
    let name = &ladder.sizes[size];
    let mut said = format!(
        "{} is the fastest of {} steps on {} at {name}: {}",
        step.name,
        ladder.steps.len(),
        ladder.device,
        time(seconds)
    );
    if let Some(first) = ladder.steps.first()
        && let Some(speedup) = at(&step.speedup, size)
        && first.name != step.name
    {
        said.push_str(&format!(", {} times as fast as {}", significant(speedup), first.name));
    }
    if let Some(share) = at(&step.ceiling_share, size) {
        said.push_str(&format!(", {} of the ceiling of the problem", crate::number::percent(share)));
    }
    said.push('.');
    said
}

/// How far the speed-ups are from the published ones.
fn errors(ladder: &Ladder) -> Option<String> {
    let mut errors = Vec::new();
    let gpu = &laplace(ladder)?.gpu;
    if !is_of(&ladder.device, gpu) {
        return None;
    }
    for (row, step) in ladder.steps.iter().enumerate() {
        for (column, size) in ladder.sizes.iter().enumerate() {
            let published = published(ladder, &step.name, size).0;
            if let (Some(own), Some(theirs)) = (comparable_speedup(ladder, row, column), published) {
                errors.push((own / theirs - 1.0, step.name.as_str(), size.as_str()));
            }
        }
    }
    let (largest, step, size) = errors.iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    let mean = errors.iter().map(|error| error.0.abs()).sum::<f64>() / errors.len() as f64;
    Some(format!(
        "The {} speed-ups are {:.0}% from the published figures of {gpu} in the mean; the largest difference is {:+.0}%, \
         {step} at {size}.",
        errors.len(),
        100.0 * mean,
        100.0 * largest
    ))
}

/// One ladder, on one or several devices.
pub(super) fn section(all: &[Named<'_, Ladder>], ids: &Ids) -> Section {
    let first = all[0].content;
    let names = labels(all, |ladder| ladder.device.clone());
    let verdicts: Markup =
        all.iter().map(|named| markup! { p(class = "verdict") : verdict(named.content); }).collect();
    let beside = side_by_side(all, &names, ids);
    let changes = changes(all, ids);
    let each: Vec<(String, Markup)> =
        names.iter().zip(all).map(|(name, named)| (name.clone(), device(named.content, ids))).collect();
    let devices = panels("Device", &each, ids);
    let about = &first.about;
    Section {
        id: ids.next("ladder"),
        title: format!("Ladder {}", first.ladder),
        body: markup! {
            p(class = "about") : about;
            : &changes;
            div(class = "verdicts") : &verdicts;
            : &beside;
            : &devices;
        },
    }
}

/// All that is known about one device.
fn device(ladder: &Ladder, ids: &Ids) -> Markup {
    let speedups: Markup = (0..ladder.sizes.len()).map(|size| speedup_chart(ladder, size, ids)).collect();
    let times: Markup = (0..ladder.sizes.len()).map(|size| time_chart(ladder, size, ids)).collect();
    let errors = errors(ladder);
    let core = ladder.core.as_ref().map(|core| crate::ladder::beside::times(core, &ladder.sizes));
    let crossover = ladder.core.as_ref().zip(ladder.crossover.as_ref());
    let crossover = crossover.map(|(core, crossover)| self::crossover(core, crossover, ids));
    let table = steps(ladder, ids);
    let balance: Markup = ladder.balance.iter().map(|said| markup! { p : said; }).collect();
    let runs = if ladder.predicted {
        "Times are predicted; the results are not computed, or computed on this CPU.".to_owned()
    } else {
        format!("Medians of {} runs; every result was compared with the reference.", ladder.runs)
    };
    let first = ladder.steps.first().map_or("", |step| step.name.as_str());
    let speed_title = format!("Speed-up over {first}");
    markup! {
        h3 : &ladder.device;
        p(class = "about") : &ladder.what;
        p(class = "about") : &runs;
        p(class = "about") : CEILING;
        @ if let Some(errors) = &errors { p : errors; }
        @ if !speedups.is_empty() {
            h4 : &speed_title;
            div(class = "charts") : &speedups;
        }
        : &table;
        : &balance;
        @ if let Some(energy) = &ladder.energy { p(class = "about") : energy; }
        @ if !times.is_empty() {
            h4 : "Time";
            div(class = "charts") : &times;
        }
        @ if let Some(core) = &core { p : core; }
        @ if let Some(crossover) = &crossover { : crossover; }
    }
}

/// The GPU and the core beside it, by size.
fn crossover(core: &LadderCore, crossover: &Crossover, ids: &Ids) -> Markup {
    type Seconds = fn(&CrossoverPoint) -> f64;
    let columns: [(String, Seconds); 4] = [
        ("GPU".to_owned(), |point| point.gpu_seconds),
        ("GPU with transfers".to_owned(), |point| point.with_transfers_seconds),
        (format!("serial {}", core.name), |point| point.serial_seconds),
        (format!("NEON on {}", core.name), |point| point.neon_seconds),
    ];
    let mut heads = vec![Head::number("n")];
    heads.extend(columns.iter().map(|(name, _)| Head::number(name.clone())));
    heads.push(Head::number("serial / GPU"));
    let mut numbers = Table::new(format!("Products of n x n on {} and its GPU", core.board), heads);
    for point in &crossover.points {
        let mut cells = vec![TableCell::number(point.n as f64, point.n.to_string())];
        cells.extend(
            columns.iter().map(|(_, seconds)| TableCell::number(seconds(point), time(seconds(point)))),
        );
        let gain = point.serial_seconds / point.gpu_seconds;
        cells.push(TableCell::number(gain, significant(gain)));
        numbers.push(cells);
    }
    let line = |(index, (name, seconds)): (usize, &(String, Seconds))| ChartLine {
        name: name.clone(),
        ink: Ink::Series(index),
        form: Form::Line,
        points: crossover.points.iter().map(|point| (point.n as f64, seconds(point))).collect(),
    };
    let chart = Lines {
        title: "Where the GPU overtakes the CPU".to_owned(),
        description: format!("Time of a product of n x n by n on {} and its GPU.", core.board),
        x: Axis { label: "n".to_owned(), log: true, format: significant },
        y: Axis { label: "time".to_owned(), log: true, format: time },
        y_at_least: None,
        lines: columns.iter().enumerate().map(line).collect(),
        height: 320,
    };
    let chart = chart::tile(&chart, &numbers, ids);
    let verdict = crate::ladder::beside::verdict(core, crossover);
    let about = crate::ladder::beside::CROSSOVER;
    markup! {
        h4 : "GPU and CPU";
        p : &verdict;
        : &chart;
        p(class = "about") : about;
    }
}

/// The table of all steps.
fn steps(ladder: &Ladder, ids: &Ids) -> Markup {
    let has_published = laplace(ladder).is_some();
    let has_energy = ladder.steps.iter().any(|step| step.joules.iter().any(Option::is_some));
    let has_rate = ladder.steps.iter().any(|step| step.gflops_per_watt.iter().any(Option::is_some));
    let has_load = ladder.steps.iter().any(|step| step.cpu_load.iter().any(Option::is_some));
    let mut heads = vec![Head::text("step")];
    for size in &ladder.sizes {
        heads.push(Head::number(format!("{size}: time")));
        heads.push(Head::number("× first"));
        if has_published {
            if ladder.predicted {
                heads.push(Head::number("with host"));
            }
            heads.push(Head::number("published"));
        }
        heads.push(Head::number("of ceiling"));
        if has_load {
            heads.push(Head::number("busy CPU cores"));
        }
        if has_energy {
            heads.push(Head::number("energy"));
        }
        if has_rate {
            heads.push(Head::number("GFLOP/s per W"));
        }
    }
    heads.push(Head::text("what it changes"));
    let mut table = Table::new(format!("Steps of {} on {}", ladder.ladder, ladder.device), heads);
    for (row, step) in ladder.steps.iter().enumerate() {
        let mut cells = vec![TableCell::text(&step.name)];
        for (column, size) in ladder.sizes.iter().enumerate() {
            let seconds = at(&step.seconds, column);
            let best = fastest(ladder, column).is_some_and(|(fastest, _)| fastest.name == step.name);
            let cell = TableCell::maybe(seconds, time);
            cells.push(if best { cell.with_class("best") } else { cell });
            cells.push(TableCell::maybe(at(&step.speedup, column), significant));
            if has_published {
                if ladder.predicted {
                    cells.push(TableCell::maybe(comparable_speedup(ladder, row, column), significant));
                }
                cells.push(
                    TableCell::maybe(published(ladder, &step.name, size).0, significant)
                        .with_class("published"),
                );
            }
            cells.push(at(&step.ceiling_share, column).map_or_else(TableCell::missing, TableCell::share));
            if has_load {
                let load = step.cpu_load.get(column).copied().flatten();
                cells.push(TableCell::maybe(load.map(|load| load.cores), |cores| format!("{cores:.2}")));
            }
            if has_energy {
                let joules = at(&step.joules, column);
                cells.push(TableCell::maybe(joules, |joules| format!("{} mJ", significant(joules * 1e3))));
            }
            if has_rate {
                cells.push(TableCell::maybe(at(&step.gflops_per_watt, column), significant));
            }
        }
        let reason = step.reason.iter().flatten().next();
        let choice = step.choice.iter().flatten().next_back();
        let mut about = step.about.clone();
        if let Some(choice) = choice {
            about.push_str(&format!(" (fastest: {choice})"));
        }
        if let Some(reason) = reason {
            about.push_str(&format!(" — {reason}"));
        }
        cells.push(TableCell::text(about).with_class("wide-text"));
        table.push(cells);
    }
    table.draw(ids)
}

/// The speed-ups of all steps at a size.
fn speedup_chart(ladder: &Ladder, size: usize, ids: &Ids) -> Markup {
    let name = &ladder.sizes[size];
    let is_published = ladder.steps.iter().any(|step| published(ladder, &step.name, name).0.is_some());
    let mut heads = vec![Head::text("step"), Head::number("speed-up")];
    if is_published {
        heads.push(Head::number("published"));
    }
    let mut numbers = Table::new(format!("Speed-up at {name}"), heads);
    let mut bars = Vec::new();
    for (row, step) in ladder.steps.iter().enumerate() {
        // Beside published figures, both sides include the host's part.
        let own = if is_published { comparable_speedup(ladder, row, size) } else { at(&step.speedup, size) };
        let theirs = published(ladder, &step.name, name).0;
        let mut cells = vec![TableCell::text(&step.name), TableCell::maybe(own, significant)];
        if is_published {
            cells.push(TableCell::maybe(theirs, significant));
        }
        numbers.push(cells);
        bars.push(Bar { label: step.name.clone(), value: own, range: None, point: theirs, series: 0 });
    }
    let bars = Bars {
        title: name.clone(),
        description: format!("Speed-up of each step over the first one at {name} on {}.", ladder.device),
        label: format!(
            "times as fast as the first step{}",
            if is_published && ladder.predicted { ", with the host's part" } else { "" }
        ),
        format: significant,
        bars,
        series: vec![if ladder.predicted { "predicted" } else { "measured" }.to_owned()],
        ranges: String::new(),
        points: if is_published { "published".to_owned() } else { String::new() },
    };
    chart::small(&bars, &numbers, ids)
}

/// The times of all steps at a size, with the error band of predictions or the spread of measurements.
fn time_chart(ladder: &Ladder, size: usize, ids: &Ids) -> Markup {
    let name = &ladder.sizes[size];
    let is_published = ladder.steps.iter().any(|step| published(ladder, &step.name, name).1.is_some());
    let range = |step: &LadderStep| {
        let spread = || Some([at(&step.min_seconds, size)?, at(&step.max_seconds, size)?]);
        if ladder.predicted { at(&step.error_band, size) } else { spread() }
    };
    let what = if ladder.predicted { "error band" } else { "shortest to longest" };
    let mut heads = vec![
        Head::text("step"),
        Head::number("time"),
        Head::number("mean"),
        Head::number("from"),
        Head::number("to"),
    ];
    if is_published {
        heads.push(Head::number("published"));
    }
    let mut numbers = Table::new(format!("Time at {name} ({what})"), heads);
    let mut bars = Vec::new();
    for (row, step) in ladder.steps.iter().enumerate() {
        let own = if is_published { comparable(ladder, row, size) } else { at(&step.seconds, size) };
        let host = if is_published { host_seconds(ladder, row) } else { 0.0 };
        // The host's part moves the range without widening it.
        let range = range(step).map(|range| range.map(|seconds| seconds + host));
        let theirs = published(ladder, &step.name, name).1;
        let mut cells = vec![
            TableCell::text(&step.name),
            TableCell::maybe(own, time),
            TableCell::maybe(at(&step.mean_seconds, size).map(|seconds| seconds + host), time),
            TableCell::maybe(range.map(|range| range[0]), time),
            TableCell::maybe(range.map(|range| range[1]), time),
        ];
        if is_published {
            cells.push(TableCell::maybe(theirs, time));
        }
        numbers.push(cells);
        bars.push(Bar { label: step.name.clone(), value: own, range, point: theirs, series: 0 });
    }
    let with_host = ladder.predicted && is_published;
    let bars = Bars {
        title: name.clone(),
        description: format!("Time of each step at {name} on {}.", ladder.device),
        label: if with_host { "time with the host's part" } else { "time" }.to_owned(),
        format: time,
        bars,
        series: vec![if ladder.predicted { "predicted" } else { "median" }.to_owned()],
        ranges: what.to_owned(),
        points: if is_published { "published".to_owned() } else { String::new() },
    };
    chart::small(&bars, &numbers, ids)
}

/// Whether several results have the same steps and sizes.
fn are_alike(all: &[Named<'_, Ladder>]) -> bool {
    let first = all[0].content;
    all.len() > 1
        && all.iter().all(|named| {
            let steps = named.content.steps.iter().map(|step| &step.name);
            named.content.sizes == first.sizes && steps.eq(first.steps.iter().map(|step| &step.name))
        })
}

/// Several devices beside each other, and the steps whose order differs between them.
fn side_by_side(all: &[Named<'_, Ladder>], names: &[String], ids: &Ids) -> Markup {
    if !are_alike(all) {
        return Markup::default();
    }
    let first = all[0].content;
    let steps: Vec<&str> = first.steps.iter().map(|step| step.name.as_str()).collect();
    let devices: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut sizes = Vec::new();
    for (column, size) in first.sizes.iter().enumerate() {
        let seconds: Vec<Vec<Option<f64>>> = all
            .iter()
            .map(|named| named.content.steps.iter().map(|step| at(&step.seconds, column)).collect())
            .collect();
        let mut heads = vec![Head::text("step")];
        for name in names {
            heads.push(Head::number(format!("{name}: time")));
            heads.push(Head::number("× first"));
        }
        let mut table = Table::new(format!("Devices side by side at {size}"), heads);
        let mut bars = Vec::new();
        for (row, step) in steps.iter().enumerate() {
            let mut cells = vec![TableCell::text(step)];
            for (device, named) in all.iter().enumerate() {
                let speedup = at(&named.content.steps[row].speedup, column);
                let best = seconds[device].iter().flatten().copied().fold(f64::INFINITY, f64::min);
                let own = seconds[device][row];
                let cell = TableCell::maybe(own, time);
                // `best` is one of these times, so equality is exact.
                cells.push(if own == Some(best) { cell.with_class("best") } else { cell });
                cells.push(TableCell::maybe(speedup, significant));
                // The bar of the first device names the step for all devices.
                let label = if device == 0 { (*step).to_owned() } else { String::new() };
                bars.push(Bar { label, value: speedup, range: None, point: None, series: device });
            }
            table.push(cells);
        }
        let flips = flips(&devices, &steps, &seconds);
        let flips: Markup = flips.iter().map(|flip| markup! { li : flip; }).collect();
        let bars = Bars {
            title: format!("Speed-up over {} at {size}", steps.first().unwrap_or(&"the first step")),
            description: format!("Speed-up of each step over the first one at {size}, on each device."),
            label: "times as fast as the first step".to_owned(),
            format: significant,
            bars,
            series: names.to_vec(),
            ranges: String::new(),
            points: String::new(),
        };
        let chart = chart::tile(&bars, &Table::new("", Vec::new()), ids);
        let table = table.draw(ids);
        let body = markup! {
            div(class = "tiles") {
                div {
                    : &table;
                    @ if !flips.is_empty() {
                        p : "Steps whose order differs between devices:";
                        ul(class = "flips") : &flips;
                    }
                }
                div { : &chart; }
            }
        };
        sizes.push((size.clone(), body));
    }
    let sizes = panels("Size", &sizes, ids);
    markup! { h3 : "Side by side"; : &sizes; }
}

/// The differences between results of the same device in several files, each against the first.
fn changes(all: &[Named<'_, Ladder>], ids: &Ids) -> Markup {
    let change = |(before, after): (Named<'_, Ladder>, Named<'_, Ladder>)| {
        let (old, new) = (before.content, after.content);
        let headline = old.sizes.iter().enumerate().rev().find_map(|(column, size)| {
            let same = new.sizes.iter().position(|other| other == size)?;
            let figure = FigureChange {
                what: format!("fastest step at {size}"),
                before: Some(fastest(old, column)?.1),
                after: Some(fastest(new, same)?.1),
            };
            Some(Headline { figure, format: time })
        });
        let mut figures = Vec::new();
        for step in &old.steps {
            let Some(other) = new.steps.iter().find(|other| other.name == step.name) else { continue };
            for (column, size) in old.sizes.iter().enumerate() {
                let Some(same) = new.sizes.iter().position(|other| other == size) else { continue };
                let what = format!("{} at {size}", step.name);
                figures.push(FigureChange {
                    what,
                    before: at(&step.seconds, column),
                    after: at(&other.seconds, same),
                });
            }
        }
        let kind = Kind {
            caption: format!("Times on {}", old.device),
            what: "step and size",
            files: [before.file.to_owned(), after.file.to_owned()],
            less_is_better: true,
            format: time,
            headline,
            are_judged: true,
        };
        differences(&kind, &figures, ids)
    };
    under_differences(pairs(all, |ladder| &ladder.device).into_iter().map(change).collect())
}
