//! Measured ceilings.

use tripipe_results::Peaks;

use super::chart::{self, Bar, Bars};
use super::compare::{FigureChange, Kind, differences, under_differences};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::{Named, labels, pairs};
use super::switch::panels;
use super::table::{Head, Table, TableCell};
use crate::number::{bytes, significant, time};

const OPERATIONS: &str = "operations/s";
const BYTES: &str = "bytes/s";
const SECONDS: &str = "s";

/// A rate in 10^9 per second.
fn giga(rate: f64) -> String {
    significant(rate * 1e-9)
}

/// The names of the ceilings in a unit, in order.
fn names<'a>(peaks: &'a Peaks, unit: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for peak in peaks.peaks.iter().filter(|peak| peak.unit == unit) {
        if !names.contains(&peak.name.as_str()) {
            names.push(&peak.name);
        }
    }
    names
}

/// The best value with a name: the highest rate.
fn best(peaks: &Peaks, name: &str) -> Option<f64> {
    peaks.peaks.iter().filter(|peak| peak.name == name).filter_map(|peak| peak.value).reduce(f64::max)
}

fn theoretical(peaks: &Peaks, name: &str) -> Option<f64> {
    peaks.peaks.iter().find(|peak| peak.name == name)?.theoretical
}

fn verdict(peaks: &Peaks) -> String {
    let mut parts = Vec::new();
    // Those of a device, else those of the CPU path.
    let of = |names: &[&str]| names.iter().find_map(|name| best(peaks, name));
    if let Some(rate) = of(&["mad float", "mad float, all threads"]) {
        parts.push(format!("{} GFLOP/s of float multiply-adds", giga(rate)));
    }
    if let Some(rate) = of(&["buffer copy", "copy", "memory copy, all threads"]) {
        parts.push(format!("{} GB/s copied", giga(rate)));
    }
    if let Some(peak) = peaks.peaks.iter().find(|peak| peak.name == "launch to launch")
        && let Some(seconds) = peak.value
    {
        parts.push(format!("{} from launch to launch", time(seconds)));
    }
    if parts.is_empty() {
        return format!("{}: {} ceilings.", peaks.device, peaks.peaks.len());
    }
    format!("{} reaches {}.", peaks.device, parts.join(", "))
}

/// The ceilings of one or several devices.
pub(super) fn section(all: &[Named<'_, Peaks>], ids: &Ids) -> Section {
    let names = labels(all, |peaks| peaks.device.clone());
    let verdicts: Markup =
        all.iter().map(|named| markup! { p(class = "verdict") : verdict(named.content); }).collect();
    let changes = changes(all, ids);
    let beside = side_by_side(all, &names, ids);
    let each: Vec<(String, Markup)> =
        names.iter().zip(all).map(|(name, named)| (name.clone(), device(named.content, ids))).collect();
    let devices = panels("Device", &each, ids);
    Section {
        id: ids.next("peaks"),
        title: "Ceilings".to_owned(),
        body: markup! { : &changes; div(class = "verdicts") : &verdicts; : &beside; : &devices; },
    }
}

fn device(peaks: &Peaks, ids: &Ids) -> Markup {
    let operations = rates(peaks, OPERATIONS, "Arithmetic", "10^9 operations / s", ids);
    let memory = rates(peaks, BYTES, "Memory", "10^9 bytes / s", ids);
    let mut times =
        Table::new("Times", vec![Head::text("ceiling"), Head::number("time"), Head::text("reason")]);
    for peak in peaks.peaks.iter().filter(|peak| peak.unit == SECONDS) {
        let reason = peak.reason.as_deref().unwrap_or("");
        times.push(vec![
            TableCell::text(&peak.name),
            TableCell::maybe(peak.value, time),
            TableCell::text(reason),
        ]);
    }
    let heads = vec![
        Head::text("way"),
        Head::number("to the device, GB/s"),
        Head::number("to the host, GB/s"),
        Head::number("size"),
        Head::text("reason"),
    ];
    let mut transfers = Table::new("Transfers", heads);
    for transfer in peaks.transfers.iter().flatten() {
        transfers.push(vec![
            TableCell::text(&transfer.name),
            TableCell::maybe(transfer.to_device_bytes_per_second, giga),
            TableCell::maybe(transfer.to_host_bytes_per_second, giga),
            TableCell::number(transfer.bytes as f64, bytes(transfer.bytes as u64)),
            TableCell::text(transfer.reason.as_deref().unwrap_or("")),
        ]);
    }
    let drawn = |table: &Table| if table.is_empty() { Markup::default() } else { table.draw(ids) };
    let (times, transfers) = (drawn(&times), drawn(&transfers));
    let (title, what) = (&peaks.device, &peaks.what);
    markup! {
        h3 : title;
        p(class = "about") : what;
        div(class = "tiles") { div { : &operations; } div { : &memory; } div { : &times; : &transfers; } }
    }
}

/// A chart of the best rate of each name beside the theoretical one, and a table by the width of vectors.
fn rates(peaks: &Peaks, unit: &str, title: &str, label: &str, ids: &Ids) -> Markup {
    let names = names(peaks, unit);
    if names.is_empty() {
        return Markup::default();
    }
    let mut widths: Vec<Option<usize>> =
        peaks.peaks.iter().filter(|peak| peak.unit == unit).map(|peak| peak.width).collect();
    // `None` comes first, so rates without a width lead.
    widths.sort_unstable();
    widths.dedup();
    let mut heads = vec![Head::text("ceiling")];
    heads.extend(
        widths
            .iter()
            .map(|width| Head::number(width.map_or_else(|| "rate".to_owned(), |width| format!("x{width}")))),
    );
    heads.push(Head::number("theoretical"));
    heads.push(Head::number("reached"));
    let mut table = Table::new(format!("{title}: {label}, by the width of vectors"), heads);
    let mut bars = Vec::new();
    for name in &names {
        let own = |width: &Option<usize>| {
            peaks.peaks.iter().find(|peak| peak.name == *name && peak.width == *width)
        };
        let best = best(peaks, name);
        let mut cells = vec![TableCell::text(name)];
        for width in &widths {
            let value = own(width).and_then(|peak| peak.value);
            let cell = TableCell::maybe(value, giga);
            cells.push(if value.is_some() && value == best { cell.with_class("best") } else { cell });
        }
        let theoretical = theoretical(peaks, name);
        cells.push(TableCell::maybe(theoretical, giga));
        let share = best.zip(theoretical).map(|(best, theoretical)| best / theoretical);
        cells.push(share.map_or_else(TableCell::missing, TableCell::share));
        table.push(cells);
        bars.push(Bar { label: (*name).to_owned(), value: best, range: None, point: theoretical, series: 0 });
    }
    let has_points = bars.iter().any(|bar| bar.point.is_some());
    let bars = Bars {
        title: title.to_owned(),
        description: format!("The best rate of each kind on {}, beside the theoretical one.", peaks.device),
        label: label.to_owned(),
        format: giga,
        bars,
        series: vec!["reached".to_owned()],
        ranges: String::new(),
        points: if has_points { "theoretical".to_owned() } else { String::new() },
    };
    let chart = chart::tile(&bars, &Table::new("", Vec::new()), ids);
    let table = table.draw(ids);
    markup! { : &chart; : &table; }
}

fn side_by_side(all: &[Named<'_, Peaks>], names: &[String], ids: &Ids) -> Markup {
    if all.len() < 2 {
        return Markup::default();
    }
    let mut heads = vec![Head::text("ceiling"), Head::text("unit")];
    heads.extend(names.iter().map(|name| Head::number(name.as_str())));
    let mut table = Table::new("Devices side by side: the best of all widths", heads);
    let mut rows: Vec<(&str, &str)> = Vec::new();
    for peak in all.iter().flat_map(|named| &named.content.peaks) {
        if !rows.contains(&(&peak.name, &peak.unit)) {
            rows.push((&peak.name, &peak.unit));
        }
    }
    for (name, unit) in rows {
        let shown = if unit == SECONDS { time } else { giga };
        let mut cells =
            vec![TableCell::text(name), TableCell::text(if unit == SECONDS { "" } else { "10^9 / s" })];
        cells.extend(all.iter().map(|named| TableCell::maybe(best(named.content, name), shown)));
        table.push(cells);
    }
    let table = table.draw(ids);
    markup! { h3 : "Side by side"; : &table; }
}

fn changes(all: &[Named<'_, Peaks>], ids: &Ids) -> Markup {
    let out: Markup = pairs(all, |peaks| &peaks.device)
        .into_iter()
        .flat_map(|(before, after)| {
            [(OPERATIONS, false), (BYTES, false), (SECONDS, true)].map(|(unit, less_is_better)| {
                let change = |name: &str| FigureChange {
                    what: name.to_owned(),
                    before: best(before.content, name),
                    after: best(after.content, name),
                };
                let figures: Vec<FigureChange> =
                    names(before.content, unit).into_iter().map(change).collect();
                let kind = Kind {
                    caption: if less_is_better {
                        format!("Times of {}", before.content.device)
                    } else {
                        format!("Rates of {}, 10^9 {unit}", before.content.device)
                    },
                    what: "ceiling",
                    files: [before.file.to_owned(), after.file.to_owned()],
                    less_is_better,
                    format: if less_is_better { time } else { giga },
                    headline: None,
                    are_judged: true,
                };
                differences(&kind, &figures, ids)
            })
        })
        .collect();
    under_differences(out)
}
