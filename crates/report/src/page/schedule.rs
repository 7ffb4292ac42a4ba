//! The launches of an application on one timeline.

use tripipe_results::Schedule;

use super::chart::{self, Axis, Bar, Bars, Lane, Lanes};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::{Named, labels};
use super::switch::panels;
use super::table::{Head, Table, TableCell};
use crate::number::{bytes, giga, percent, significant, time};
use crate::simulation::band;

/// Steps of a table.
const STEPS: usize = 500;

/// The schedules of one launch file on one or several devices.
pub(super) fn section(all: &[Named<'_, Schedule>], ids: &Ids) -> Section {
    let names = labels(all, |schedule| schedule.device.clone());
    let verdicts: Markup =
        all.iter().map(|named| markup! { p(class = "verdict") : verdict(named.content); }).collect();
    let each: Vec<(String, Markup)> =
        names.iter().zip(all).map(|(name, named)| (name.clone(), device(named.content, ids))).collect();
    let compared = compared(all, ids);
    let devices = panels("Device", &each, ids);
    let file = all.first().map_or("", |named| named.content.file.as_str());
    Section {
        id: ids.next("schedule"),
        title: format!("Schedule of {file}"),
        body: markup! { div(class = "verdicts") : &verdicts; : &compared; : &devices; },
    }
}

/// The times on several devices.
fn compared(all: &[Named<'_, Schedule>], ids: &Ids) -> Markup {
    if all.len() < 2 {
        return Markup::default();
    }
    let mut ranked: Vec<&Schedule> = all.iter().map(|named| named.content).collect();
    ranked.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let bar = |schedule: &&Schedule| Bar {
        label: schedule.device.clone(),
        value: Some(schedule.seconds),
        range: schedule.error_band,
        point: None,
        series: 0,
    };
    let bars = Bars {
        title: "The application on each device".to_owned(),
        description: "Seconds from the first call to the last result.".to_owned(),
        label: "time".to_owned(),
        format: time,
        bars: ranked.iter().map(bar).collect(),
        series: vec!["time".to_owned()],
        ranges: "expected, by the errors of the kernels".to_owned(),
        points: String::new(),
    };
    chart::tile(&bars, &Table::new("", Vec::new()), ids)
}

/// The host and the GPU over time: a lane for each kind of step.
fn timeline(schedule: &Schedule, ids: &Ids) -> Markup {
    let kinds: [(&str, &[&str]); 5] = [
        ("host calls", &["enqueue", "map", "launch"]),
        ("host flushes", &["flush"]),
        ("host waits", &["wait"]),
        ("GPU copies", &["upload", "read"]),
        ("GPU kernels", &["kernel"]),
    ];
    // What would be closer than a pixel is drawn as one.
    let near = schedule.seconds / 2000.0;
    let lane = |(name, kinds): (&str, &[&str])| {
        let mut spans: Vec<(f64, f64)> = Vec::new();
        for step in schedule.steps.iter().filter(|step| kinds.contains(&step.kind.as_str())) {
            let end = step.start + step.seconds;
            match spans.last_mut() {
                Some((_, last)) if step.start <= *last + near => *last = last.max(end),
                _ => spans.push((step.start, end)),
            }
        }
        let points =
            spans.iter().flat_map(|(start, end)| [(*start, 0.0), (*start, 1.0), (*end, 1.0), (*end, 0.0)]);
        (!spans.is_empty()).then(|| Lane { name: name.to_owned(), points: points.collect() })
    };
    let lanes = Lanes {
        title: "Host and GPU over time".to_owned(),
        description: format!("When the host and {} work, and on what.", schedule.device),
        x: Axis { label: "time since the first call".to_owned(), log: false, format: time },
        lanes: kinds.into_iter().filter_map(lane).collect(),
    };
    chart::tile(&lanes, &Table::new("", Vec::new()), ids)
}

fn parts(schedule: &Schedule) -> [(&'static str, f64); 4] {
    [
        ("kernels", schedule.kernel_seconds),
        ("copies", schedule.copy_seconds),
        ("launches", schedule.launch_seconds),
        ("waiting", schedule.wait_seconds),
    ]
}

fn verdict(schedule: &Schedule) -> String {
    let share = |(name, seconds): (&str, f64)| {
        format!("{name} {}", percent(seconds / schedule.seconds.max(f64::MIN_POSITIVE)))
    };
    let how = match &schedule.buffers {
        Some(buffers) if schedule.blocking => format!("predicted, buffers by {buffers}, every call waits"),
        Some(buffers) => format!("predicted, buffers by {buffers}"),
        None => "measured".to_owned(),
    };
    let shares = parts(schedule).map(share).join(", ");
    let expected = schedule.error_band.map_or_else(String::new, |ends| format!(", {} expected", band(ends)));
    format!("{}: {}{expected} ({how}). Of the time: {shares}.", schedule.device, time(schedule.seconds))
}

fn device(schedule: &Schedule, ids: &Ids) -> Markup {
    let (chart, kernels, steps) = (chart(schedule, ids), kernels(schedule, ids), steps(schedule, ids));
    let timeline = timeline(schedule, ids);
    let (otherwise, costs) = (otherwise(schedule, ids), costs(schedule, ids));
    let notes: Markup = schedule.notes.iter().map(|note| markup! { p(class = "about") : note; }).collect();
    let title = &schedule.device;
    markup! {
        h3 : title;
        div(class = "tiles") { div { : &chart; } div { : &otherwise; } }
        : &timeline; : &kernels; : &steps; : &costs; : &notes;
    }
}

fn chart(schedule: &Schedule, ids: &Ids) -> Markup {
    let bar = |(label, seconds): (&str, f64)| Bar {
        label: label.to_owned(),
        value: Some(seconds),
        range: None,
        point: None,
        series: 0,
    };
    let bars = Bars {
        title: "Where the time goes".to_owned(),
        description: format!("Seconds on {} by what they are spent for.", schedule.device),
        label: "time".to_owned(),
        format: time,
        // A scale of logarithms has no 0.
        bars: parts(schedule)
            .into_iter()
            .filter(|(_, seconds)| *seconds > 1e-6 * schedule.seconds)
            .map(bar)
            .collect(),
        series: vec![if schedule.predicted { "predicted" } else { "measured" }.to_owned()],
        ranges: String::new(),
        points: String::new(),
    };
    chart::tile(&bars, &Table::new("", Vec::new()), ids)
}

fn kernels(schedule: &Schedule, ids: &Ids) -> Markup {
    let heads = vec![
        Head::text("kernel"),
        Head::number("launches"),
        Head::number("time"),
        Head::number("share"),
        Head::text("limited by"),
        Head::number("of the ceiling of these instructions"),
        Head::number("application faster at ceiling"),
        Head::number("application faster if free"),
    ];
    let mut table = Table::new("All kernels, the longest first", heads);
    let gain = |gain: Option<f64>| TableCell::maybe(gain, |gain| format!("{}x", significant(gain)));
    for row in &schedule.kernels {
        table.push(vec![
            TableCell::text(&row.kernel),
            TableCell::number(row.launches as f64, row.launches.to_string()),
            TableCell::number(row.seconds, time(row.seconds)),
            TableCell::share(row.seconds / schedule.seconds.max(f64::MIN_POSITIVE)),
            row.limiter.as_ref().map_or_else(TableCell::missing, TableCell::text),
            row.of_ceiling.map_or_else(TableCell::missing, TableCell::share),
            gain(row.application_gain_at_ceiling),
            gain(row.application_gain_if_free),
        ]);
    }
    table.draw(ids)
}

fn steps(schedule: &Schedule, ids: &Ids) -> Markup {
    let heads = ["start", "time", "bytes", "idle before"]
        .map(Head::number)
        .into_iter()
        .chain([Head::text("on"), Head::text("step")]);
    let caption = match schedule.steps.len() {
        count if count > STEPS => format!("The first {STEPS} of {count} steps"),
        _ => "The steps".to_owned(),
    };
    let mut table = Table::new(caption, heads.collect());
    for step in schedule.steps.iter().take(STEPS) {
        let some = |value: f64| Some(value).filter(|value| *value > 0.0);
        table.push(vec![
            TableCell::number(step.start, time(step.start)),
            TableCell::number(step.seconds, time(step.seconds)),
            TableCell::maybe(some(step.bytes as f64), |_| bytes(step.bytes)),
            TableCell::maybe(some(step.idle_seconds), time),
            TableCell::text(match &step.queue {
                Some(queue) => format!("{} {queue}", step.on),
                None => step.on.clone(),
            }),
            TableCell::text(&step.about).with_class("wide-text"),
        ]);
    }
    table.draw(ids)
}

fn otherwise(schedule: &Schedule, ids: &Ids) -> Markup {
    if schedule.otherwise.is_empty() {
        return Markup::default();
    }
    let heads =
        vec![Head::text("buffers"), Head::text("calls"), Head::text("launches"), Head::number("time")];
    let mut table = Table::new("The same launches with other calls", heads);
    for other in &schedule.otherwise {
        table.push(vec![
            TableCell::text(&other.buffers),
            TableCell::text(if other.blocking { "the host waits for each" } else { "no waits" }),
            TableCell::text(match (other.recorded, other.one_queue) {
                (true, _) => "recorded",
                (_, true) => "all in one queue",
                _ => "one by one",
            }),
            TableCell::number(other.seconds, time(other.seconds)),
        ]);
    }
    table.draw(ids)
}

fn costs(schedule: &Schedule, ids: &Ids) -> Markup {
    if schedule.costs.is_empty() {
        return Markup::default();
    }
    let heads = vec![Head::text("what"), Head::text("cost"), Head::text("known by"), Head::text("source")];
    let mut table = Table::new("What the host's calls cost", heads);
    for cost in &schedule.costs {
        let rate = || cost.bytes_per_second.map_or_else(String::new, |rate| giga(rate, "B"));
        table.push(vec![
            TableCell::text(&cost.name),
            TableCell::text(cost.seconds.map_or_else(rate, time)),
            TableCell::text(&cost.basis),
            TableCell::text(&cost.source).with_class("wide-text"),
        ]);
    }
    table.draw(ids)
}
