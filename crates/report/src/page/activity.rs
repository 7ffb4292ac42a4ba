//! What happened in a predicted launch, and when: pipes and traffic over time, heat of source lines, counters.

use tripipe_results::{Activity, ActivityLine, Counter, Sample};

use super::chart::{self, Axis, ChartLine, Form, Ink, Lane, Lanes, Lines};
use super::markup::{Ids, Markup, markup};
use super::table::{Head, Table, TableCell};
use crate::number::{percent, significant, time};

/// Resources that are busy for less than this share at all times are not drawn.
const VISIBLE: f64 = 0.01;
/// The number of lines that are listed.
const LINES: usize = 60;

fn share(sample: &Sample, name: &str) -> f64 {
    sample.shares.get(name).copied().unwrap_or(0.0)
}

fn rate(sample: &Sample, bytes: f64) -> f64 {
    bytes / sample.seconds.max(f64::MIN_POSITIVE) * 1e-9
}

/// A line of steps: a value for each sample, with a gap between windows.
fn steps(activity: &Activity, value: impl Fn(&Sample) -> f64) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for window in &activity.windows {
        // Windows are read from a file, which may be wrong.
        let end = window.first_sample.saturating_add(window.samples).min(activity.samples.len());
        for sample in activity.samples.get(window.first_sample..end).unwrap_or_default() {
            let value = value(sample);
            points.extend([(sample.start_seconds, value), (sample.start_seconds + sample.seconds, value)]);
        }
        // Interrupts the line: nothing is known between windows.
        points.push((f64::NAN, f64::NAN));
    }
    points
}

/// The names of the resources that are busy at some time.
fn resources(activity: &Activity) -> Vec<&str> {
    let names = activity.samples.first().map(|sample| sample.shares.keys());
    let is_busy = |name: &&String| activity.samples.iter().any(|sample| share(sample, name) >= VISIBLE);
    names.into_iter().flatten().filter(is_busy).map(String::as_str).collect()
}

/// Charts of a launch over time.
pub(super) fn over_time(activity: &Activity, gpu: &str, ids: &Ids) -> Markup {
    let at = || Axis { label: "time since the start of the launch".to_owned(), log: false, format: time };
    let resources = resources(activity);
    let line = |name: &str, index: usize, points| ChartLine {
        name: name.to_owned(),
        ink: Ink::Series(index),
        form: Form::Line,
        points,
    };
    let lane =
        |name: &str| Lane { name: name.to_owned(), points: steps(activity, |sample| share(sample, name)) };
    let pipes = Lanes {
        title: "Pipes over time: a full lane is busy all the time".to_owned(),
        description: format!("The share of each interval for which each resource of {gpu} was busy."),
        x: at(),
        lanes: resources.iter().map(|name| lane(name)).collect(),
    };
    let mut heads = vec![Head::number("from"), Head::number("to")];
    heads.extend(resources.iter().map(|name| Head::number(*name)));
    let mut pipe_numbers = Table::new("Share of each interval for which each resource was busy", heads);
    let heads = ["from", "to", "threads", "L2, GB/s", "DRAM read, GB/s", "DRAM written, GB/s"];
    let mut traffic_numbers = Table::new("Threads and traffic", heads.map(Head::number).into());
    for sample in &activity.samples {
        let end = sample.start_seconds + sample.seconds;
        let from_to = || {
            [
                TableCell::number(sample.start_seconds, time(sample.start_seconds)),
                TableCell::number(end, time(end)),
            ]
        };
        let share = |name: &&str| TableCell::number(share(sample, name), percent(share(sample, name)));
        pipe_numbers.push(from_to().into_iter().chain(resources.iter().map(share)).collect());
        let figures = [
            sample.threads,
            rate(sample, sample.l2_bytes),
            rate(sample, sample.dram_read_bytes),
            rate(sample, sample.dram_written_bytes),
        ];
        let figures = figures.map(|value| TableCell::number(value, significant(value)));
        traffic_numbers.push(from_to().into_iter().chain(figures).collect());
    }
    let traffic = Lines {
        title: "Traffic over time".to_owned(),
        description: format!("Bytes per second between cores and L2, and from and to the memory, on {gpu}."),
        x: at(),
        y: Axis { label: "10^9 bytes / s".to_owned(), log: false, format: significant },
        y_at_least: None,
        lines: vec![
            line("cores and L2", 0, steps(activity, |sample| rate(sample, sample.l2_bytes))),
            line("DRAM read", 1, steps(activity, |sample| rate(sample, sample.dram_read_bytes))),
            line("DRAM written", 2, steps(activity, |sample| rate(sample, sample.dram_written_bytes))),
        ],
        height: 260,
    };
    let threads = Lines {
        title: "Work-items on the cores over time".to_owned(),
        description: format!("The mean number of work-items on all cores of {gpu} in each interval."),
        x: at(),
        y: Axis { label: "work-items".to_owned(), log: false, format: |value| format!("{value:.0}") },
        y_at_least: Some([0.0, 1.0]),
        lines: vec![line("work-items", 0, steps(activity, |sample| sample.threads))],
        height: 200,
    };
    let pipes = chart::tile(&pipes, &pipe_numbers, ids);
    let traffic = chart::tile(&traffic, &traffic_numbers, ids);
    // Its numbers are in the table of the traffic.
    let threads = chart::tile(&threads, &Table::new("", Vec::new()), ids);
    let said = match activity.windows.len() {
        0 | 1 => String::new(),
        several => format!(
            "{several} parts of the launch were played. Nothing is drawn between them, and where they lie is an estimate."
        ),
    };
    markup! {
        h4 : "Over time";
        @ if !said.is_empty() { p(class = "about") : &said; }
        div(class = "tiles") { div { : &pipes; } div { : &traffic; } div { : &threads; } }
    }
}

/// The heat of each source line.
pub(super) fn lines(activity: &Activity, ids: &Ids) -> Markup {
    let Some(first) = activity.lines.first() else { return Markup::default() };
    // The largest figure of a pipe, against which its column is shaded.
    let total = |name: &str| {
        let all = activity.lines.iter().filter_map(|line| line.clocks.get(name).copied());
        all.reduce(f64::max).unwrap_or(0.0)
    };
    let names: Vec<(&String, f64)> =
        first.clocks.keys().map(|name| (name, total(name))).filter(|(_, most)| *most > 0.0).collect();
    let most =
        |of: &dyn Fn(&ActivityLine) -> f64| activity.lines.iter().map(of).fold(f64::MIN_POSITIVE, f64::max);
    let waited = most(&|line| line.waited_clocks);
    let moved = most(&|line| line.dram_bytes);
    let mut heads = vec![Head::text("line")];
    heads.extend(names.iter().map(|(name, _)| Head::number(name.as_str())));
    let rest = ["waited", "bytes", "DRAM bytes"];
    heads.extend(rest.map(Head::number));
    heads.push(Head::text("source"));
    let several = activity.lines.iter().any(|line| line.file != first.file && line.file.is_some());
    let mut table = Table::new("Heat of each source line: clocks of each pipe, clocks waited, bytes", heads);
    let large = |value: f64| crate::number::grouped(value.round() as u64);
    for line in activity.lines.iter().take(LINES) {
        let shown = match &line.file {
            None => "no line".to_owned(),
            Some(file) if several => format!("{file}:{}", line.line),
            Some(_) => line.line.to_string(),
        };
        let mut cells = vec![TableCell::number(f64::from(line.line), shown)];
        for (name, most) in &names {
            let clocks = line.clocks.get(*name).copied().unwrap_or(0.0);
            cells.push(TableCell::heat(clocks, clocks / most, large(clocks)));
        }
        cells.push(TableCell::heat(
            line.waited_clocks,
            line.waited_clocks / waited,
            large(line.waited_clocks),
        ));
        cells.push(TableCell::number(line.bytes, large(line.bytes)));
        cells.push(TableCell::heat(line.dram_bytes, line.dram_bytes / moved, large(line.dram_bytes)));
        let text = line.text.as_deref().unwrap_or("");
        cells.push(TableCell::markup(markup! { code : text; }).with_class("source"));
        table.push(cells);
    }
    let table = table.draw(ids);
    markup! { h4 : "Where the time is"; : &table; }
}

/// Counters under the names of the GPU's vendor.
pub(super) fn counters(counters: &[Counter], gpu: &str, ids: &Ids) -> Markup {
    if counters.is_empty() {
        return Markup::default();
    }
    let heads = vec![
        Head::text("counter"),
        Head::text("name"),
        Head::text("group"),
        Head::number("value"),
        Head::text("unit"),
        Head::text("derived"),
    ];
    let mut table = Table::new(format!("Counters of {gpu}, as predicted"), heads);
    for counter in counters {
        table.push(vec![
            TableCell::text(if counter.title.is_empty() { &counter.name } else { &counter.title }),
            TableCell::text(&counter.name),
            TableCell::text(&counter.group),
            TableCell::maybe(counter.value, crate::counters::value),
            TableCell::text(&counter.unit),
            TableCell::text(&counter.derived).with_class("wide-text"),
        ]);
    }
    let table = table.draw(ids);
    markup! { h4 : "Counters"; : &table; }
}
