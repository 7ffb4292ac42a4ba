//! The launches of an application on one timeline.

use tripipe_results::Schedule;

use super::chart::{self, Bar, Bars};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::{Named, labels};
use super::switch::panels;
use super::table::{Head, Table, TableCell};
use crate::number::{bytes, giga, percent, significant, time};

/// Steps of a table.
const STEPS: usize = 500;

/// The schedules of one launch file on one or several devices.
pub(super) fn section(all: &[Named<'_, Schedule>], ids: &Ids) -> Section {
    let names = labels(all, |schedule| schedule.device.clone());
    let verdicts: Markup =
        all.iter().map(|named| markup! { p(class = "verdict") : verdict(named.content); }).collect();
    let each: Vec<(String, Markup)> =
        names.iter().zip(all).map(|(name, named)| (name.clone(), device(named.content, ids))).collect();
    let devices = panels("Device", &each, ids);
    let file = all.first().map_or("", |named| named.content.file.as_str());
    Section {
        id: ids.next("schedule"),
        title: format!("Schedule of {file}"),
        body: markup! { div(class = "verdicts") : &verdicts; : &devices; },
    }
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
    format!("{}: {} ({how}). Of the time: {shares}.", schedule.device, time(schedule.seconds))
}

fn device(schedule: &Schedule, ids: &Ids) -> Markup {
    let (chart, kernels, steps) = (chart(schedule, ids), kernels(schedule, ids), steps(schedule, ids));
    let (otherwise, costs) = (otherwise(schedule, ids), costs(schedule, ids));
    let notes: Markup = schedule.notes.iter().map(|note| markup! { p(class = "about") : note; }).collect();
    let title = &schedule.device;
    markup! {
        h3 : title;
        div(class = "tiles") { div { : &chart; } div { : &otherwise; } }
        : &kernels; : &steps; : &costs; : &notes;
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
        bars: parts(schedule).into_iter().filter(|(_, seconds)| *seconds > 0.0).map(bar).collect(),
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
            TableCell::text(&step.on),
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
            TableCell::text(if other.recorded { "recorded" } else { "one by one" }),
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
