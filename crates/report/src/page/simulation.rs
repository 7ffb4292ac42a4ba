//! Predicted times of a kernel.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::activity::{self, Activity, Counter};
use super::chart::{self, Axis, Bar, Bars, ChartLine, Form, Ink, Lines};
use super::compare::{FigureChange, Headline, Kind, differences};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::switch::panels;
use super::table::{Head, Table, TableCell, facts};
use super::{Named, labels, pairs};
use crate::number::{bytes, percent, significant, time};
use crate::simulation::other_results;

/// The result of `tripipe simulate` for a kernel on a GPU; the figures are missing if the GPU cannot run it.
#[derive(Debug, Deserialize)]
pub(super) struct SimulatedLaunch {
    pub(super) kernel: String,
    #[serde(default)]
    pub(super) program: String,
    gpu: String,
    global: Vec<u64>,
    #[serde(default)]
    guessed: bool,
    #[serde(default)]
    left_out: Vec<String>,
    local: Option<Vec<u64>>,
    local_chosen_by: Option<String>,
    seconds: Option<f64>,
    error_band: Option<[f64; 2]>,
    limiter: Option<String>,
    sentence: Option<String>,
    error: Option<String>,
    #[serde(default)]
    shares: Map<String, Value>,
    occupancy: Option<f64>,
    registers: Option<u64>,
    #[serde(default)]
    spill_bytes: u64,
    threads: Option<u64>,
    max_threads: Option<u64>,
    launch_seconds: Option<f64>,
    groups: Option<u64>,
    played_groups: Option<u64>,
    sampling_error: Option<f64>,
    played_traffic: Option<Traffic>,
    peaks: Option<GpuPeaks>,
    #[serde(default)]
    what_if: Vec<PricedChange>,
    activity: Option<Activity>,
    #[serde(default)]
    counters: Vec<Counter>,
}

/// Accesses and bytes of the played work-groups.
#[derive(Debug, Deserialize)]
struct Traffic {
    l1_accesses: u64,
    l1_hits: u64,
    texture_accesses: u64,
    texture_hits: u64,
    l2_accesses: u64,
    l2_hits: u64,
    dram_read_bytes: u64,
    dram_written_bytes: u64,
    tlb_misses: u64,
}

/// What a GPU could do at most.
#[derive(Debug, Deserialize)]
struct GpuPeaks {
    dram_bytes_per_second: f64,
    /// Instructions of a work-item per second, by the short name of their pipe.
    #[serde(default)]
    pipes: Map<String, Value>,
}

/// A change, and what it would gain.
#[derive(Debug, Deserialize)]
struct PricedChange {
    change: String,
    seconds: Option<f64>,
    error_band: Option<[f64; 2]>,
    limiter: Option<String>,
    gain: Option<f64>,
    /// Results that it computes, as a share of those without the change.
    results: Option<f64>,
    error: Option<String>,
}

impl SimulatedLaunch {
    /// Work-items in each dimension.
    pub(super) fn global(&self) -> &[u64] {
        &self.global
    }

    fn verdict(&self) -> String {
        let (Some(seconds), Some([low, high])) = (self.seconds, self.error_band) else {
            let reason = self.error.as_deref().unwrap_or("it cannot run there");
            return format!("{}: no time, because {reason}.", self.gpu);
        };
        let limited = self.sentence.clone().unwrap_or_else(|| {
            self.limiter.as_ref().map_or_else(String::new, |limiter| format!("Limited by {limiter}."))
        });
        format!(
            "{} takes {} on {}; a measurement is expected between {} and {}. {limited}",
            self.kernel,
            time(seconds),
            self.gpu,
            time(low),
            time(high)
        )
    }

    /// Each ceiling and its share.
    fn shares(&self) -> impl Iterator<Item = (&str, f64)> {
        self.shares.iter().filter_map(|(name, share)| Some((name.as_str(), share.as_f64()?)))
    }

    /// Bytes from and to DRAM of the whole launch, if all of it moves as many as the played part.
    fn dram_bytes(&self) -> Option<f64> {
        let traffic = self.played_traffic.as_ref()?;
        let played = self.played_groups.filter(|played| *played > 0)?;
        let bytes = (traffic.dram_read_bytes + traffic.dram_written_bytes) as f64;
        Some(bytes * self.groups? as f64 / played as f64)
    }
}

/// A kernel on one or several GPUs.
pub(super) fn section(all: &[Named<'_, SimulatedLaunch>], ids: &Ids) -> Section {
    let first = all[0].content;
    let names = labels(all, |simulation| simulation.gpu.clone());
    let extents = first.global.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
    let what = format!("{}, {extents} work-items", first.program);
    let verdicts: Markup =
        all.iter().map(|named| markup! { p(class = "verdict") : named.content.verdict(); }).collect();
    let guessed =
        if first.guessed { "Arguments and sizes of memory that were not given are guesses. " } else { "" };
    let left_out: Markup = first.left_out.iter().map(|sentence| markup! { li : sentence; }).collect();
    let changes = changes(all, ids);
    let beside = side_by_side(all, &names, ids);
    let each: Vec<(String, Markup)> =
        names.iter().zip(all).map(|(name, named)| (name.clone(), gpu(named.content, ids))).collect();
    let gpus = panels("GPU", &each, ids);
    Section {
        id: ids.next("simulate"),
        title: format!("Predicted time of {}", first.kernel),
        body: markup! {
            p(class = "about") : &what;
            @ if !guessed.is_empty() { p(class = "about") : guessed; }
            : &changes;
            div(class = "verdicts") : &verdicts;
            @ if !left_out.is_empty() { ul(class = "about") : &left_out; }
            : &beside;
            : &gpus;
        },
    }
}

/// The ranking of several GPUs.
fn side_by_side(all: &[Named<'_, SimulatedLaunch>], names: &[String], ids: &Ids) -> Markup {
    if all.len() < 2 {
        return Markup::default();
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    let seconds = |index: &usize| all[*index].content.seconds.unwrap_or(f64::INFINITY);
    order.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
    let heads = vec![
        Head::text("GPU"),
        Head::number("time"),
        Head::number("from"),
        Head::number("to"),
        Head::text("limit"),
        Head::number("occupancy"),
        Head::number("registers"),
    ];
    let mut table = Table::new("GPUs side by side, the fastest first", heads);
    let mut bars = Vec::new();
    for index in order {
        let (name, simulation) = (&names[index], all[index].content);
        let band = simulation.error_band;
        table.push(vec![
            TableCell::text(name),
            TableCell::maybe(simulation.seconds, time),
            TableCell::maybe(band.map(|band| band[0]), time),
            TableCell::maybe(band.map(|band| band[1]), time),
            TableCell::text(simulation.limiter.as_deref().or(simulation.error.as_deref()).unwrap_or("–")),
            simulation.occupancy.map_or_else(TableCell::missing, TableCell::share),
            TableCell::maybe(simulation.registers.map(|registers| registers as f64), |value| {
                format!("{value:.0}")
            }),
        ]);
        bars.push(Bar {
            label: name.clone(),
            value: simulation.seconds,
            range: band,
            point: None,
            series: 0,
        });
    }
    let bars = Bars {
        title: "Time on each GPU".to_owned(),
        description: "Predicted time on each GPU with the band in which a measurement is expected."
            .to_owned(),
        label: "time".to_owned(),
        format: time,
        bars,
        series: vec!["predicted".to_owned()],
        ranges: "error band".to_owned(),
        points: String::new(),
    };
    let chart = chart::tile(&bars, &Table::new("", Vec::new()), ids);
    let table = table.draw(ids);
    markup! { h3 : "Side by side"; div(class = "tiles") { div { : &table; } div { : &chart; } } }
}

/// All that is known about one GPU.
fn gpu(simulation: &SimulatedLaunch, ids: &Ids) -> Markup {
    let title = &simulation.gpu;
    if simulation.seconds.is_none() {
        let verdict = simulation.verdict();
        return markup! { h3 : title; p : verdict; };
    }
    let mut light = Table::new(
        "Speed of light of these instructions: the share of the time for which each ceiling is reached",
        vec![Head::text("resource"), Head::number("busy")],
    );
    for (name, share) in simulation.shares() {
        light.push(vec![TableCell::text(name), TableCell::share(share)]);
    }
    let light = if light.is_empty() { Markup::default() } else { light.draw(ids) };
    let figures = figures(simulation).draw(ids);
    let what_if = what_if(simulation, ids);
    let roofline = roofline(simulation, ids);
    let traffic = traffic(simulation, ids);
    let over_time = simulation.activity.as_ref().map(|own| activity::over_time(own, &simulation.gpu, ids));
    let lines = simulation.activity.as_ref().map(|own| activity::lines(own, ids));
    let (over_time, lines) = (over_time.unwrap_or_default(), lines.unwrap_or_default());
    let counters = activity::counters(&simulation.counters, &simulation.gpu, ids);
    markup! {
        h3 : title;
        div(class = "tiles") {
            div { div(class = "columns") { div { : &light; } div { : &figures; } } }
            div { : &roofline; }
            div { : &what_if; }
        }
        : &over_time;
        : &lines;
        : &traffic;
        : &counters;
    }
}

fn figures(simulation: &SimulatedLaunch) -> Table {
    let extents = |sizes: &[u64]| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
    let mut rows = Vec::new();
    if let Some(local) = &simulation.local {
        let by = simulation.local_chosen_by.as_deref().unwrap_or("launch");
        rows.push(("work-group", format!("{}, chosen by the {by}", extents(local))));
    }
    if let Some(registers) = simulation.registers {
        let spills = match simulation.spill_bytes {
            0 => String::new(),
            spilled => format!(", {} spilled", bytes(spilled)),
        };
        rows.push(("registers", format!("{registers}{spills}")));
    }
    if let (Some(threads), Some(most)) = (simulation.threads, simulation.max_threads) {
        rows.push(("threads of a core", format!("{threads} of {most}")));
    }
    if let Some(occupancy) = simulation.occupancy {
        rows.push(("occupancy in the mean", percent(occupancy)));
    }
    if let Some(seconds) = simulation.launch_seconds {
        rows.push(("launch by the host", time(seconds)));
    }
    if let (Some(groups), Some(played)) = (simulation.groups, simulation.played_groups) {
        rows.push(("work-groups played", format!("{played} of {groups}")));
    }
    if let Some(error) = simulation.sampling_error {
        rows.push(("uncertainty of sampling", format!("±{}", percent(error))));
    }
    facts("Figures of the launch", &rows)
}

/// The gain of each change.
fn what_if(simulation: &SimulatedLaunch, ids: &Ids) -> Markup {
    if simulation.what_if.is_empty() {
        return Markup::default();
    }
    let heads = vec![
        Head::text("change"),
        Head::number("gain"),
        Head::number("time"),
        Head::number("from"),
        Head::number("to"),
        Head::text("limit"),
    ];
    let mut table = Table::new(format!("What changes would gain on {}", simulation.gpu), heads);
    let mut bars = Vec::new();
    for repriced in &simulation.what_if {
        table.push(vec![
            TableCell::text(&repriced.change),
            TableCell::maybe(repriced.gain, |gain| {
                let other = repriced.results.and_then(other_results);
                format!("{}x{}", significant(gain), other.map_or(String::new(), |other| format!(", {other}")))
            }),
            TableCell::maybe(repriced.seconds, time),
            TableCell::maybe(repriced.error_band.map(|band| band[0]), time),
            TableCell::maybe(repriced.error_band.map(|band| band[1]), time),
            TableCell::text(repriced.limiter.as_deref().or(repriced.error.as_deref()).unwrap_or("–")),
        ]);
        bars.push(Bar {
            label: repriced.change.clone(),
            value: repriced.gain,
            range: None,
            point: None,
            series: usize::from(repriced.gain.is_some_and(|gain| gain < 1.0)),
        });
    }
    let bars = Bars {
        title: "What if: time before / time after".to_owned(),
        description: format!("The gain of each change on {}; 1 is no change.", simulation.gpu),
        label: "times as fast as now".to_owned(),
        format: significant,
        bars,
        series: vec!["faster".to_owned(), "slower".to_owned()],
        ranges: String::new(),
        points: String::new(),
    };
    let chart = chart::tile(&bars, &Table::new("", Vec::new()), ids);
    let table = table.draw(ids);
    markup! { : &chart; : &table; }
}

/// The launch under the roofs of its pipes and of DRAM. A pipe has a point of its own: its instructions for each byte of
/// DRAM and per second. Everything counts in instructions, so that a point can be compared with each roof.
fn roofline(simulation: &SimulatedLaunch, ids: &Ids) -> Markup {
    let Some(peaks) = &simulation.peaks else { return Markup::default() };
    let bandwidth = || {
        let seconds = simulation.seconds.filter(|seconds| *seconds > 0.0)?;
        simulation.dram_bytes().filter(|bytes| *bytes > 0.0).map(|moved| moved / seconds)
    };
    let Some(bandwidth) = bandwidth() else { return Markup::default() };
    let memory = peaks.dram_bytes_per_second;
    // The name, the roof and the rate of each pipe that the launch uses.
    let pipes: Vec<(&str, f64, f64)> = simulation
        .shares()
        .filter_map(|(name, share)| Some((name, peaks.pipes.get(name)?.as_f64()?, share)))
        .map(|(name, roof, share)| (name, roof, share * roof))
        .filter(|(.., rate)| *rate > 0.0)
        .collect();
    let intensities = pipes.iter().flat_map(|(_, roof, rate)| [rate / bandwidth, roof / memory]);
    let Some(from) = intensities.clone().reduce(f64::min).map(|least| least / 4.0) else {
        return Markup::default();
    };
    let to = intensities.fold(from, f64::max) * 4.0;
    let highest = pipes.iter().map(|pipe| pipe.1).fold(0.0, f64::max);
    let mut lines = vec![ChartLine {
        name: "roof of DRAM".to_owned(),
        ink: Ink::Text,
        form: Form::Line,
        points: [from, highest / memory].map(|at| (at, at * memory * 1e-9)).to_vec(),
    }];
    let heads = vec![
        Head::text("pipe"),
        Head::number("instructions / byte"),
        Head::number("10^9 instructions / s"),
        Head::number("roof, 10^9 / s"),
        Head::number("of its roof"),
    ];
    let mut numbers = Table::new("Numbers of the roofline", heads);
    for (index, (name, roof, rate)) in pipes.iter().enumerate() {
        let intensity = rate / bandwidth;
        lines.push(ChartLine {
            name: format!("roof of {name}"),
            ink: Ink::Series(index),
            form: Form::Line,
            points: [roof / memory, to].map(|at| (at, roof * 1e-9)).to_vec(),
        });
        lines.push(ChartLine {
            name: format!("{name} in this launch"),
            ink: Ink::Series(index),
            form: Form::Points,
            points: vec![(intensity, rate * 1e-9)],
        });
        numbers.push(vec![
            TableCell::text(name),
            TableCell::number(intensity, significant(intensity)),
            TableCell::number(*rate, significant(rate * 1e-9)),
            TableCell::number(*roof, significant(roof * 1e-9)),
            TableCell::share(rate / roof),
        ]);
    }
    let names: Vec<&str> = pipes.iter().map(|pipe| pipe.0).collect();
    let chart = Lines {
        title: format!("Roofline of {}", simulation.gpu),
        description: format!(
            "Instructions per second of {} in {}, by instructions for each byte of DRAM, under the roof of each pipe and \
             that of DRAM.",
            names.join(", "),
            simulation.kernel
        ),
        x: Axis {
            label: "instructions of the pipe / byte of DRAM".to_owned(),
            log: true,
            format: significant,
        },
        y: Axis { label: "10^9 instructions of work-items / s".to_owned(), log: true, format: significant },
        y_at_least: None,
        lines,
        height: 320,
    };
    let chart = chart::tile(&chart, &numbers, ids);
    let moved = format!(
        "Instructions are those of one work-item; a multiply-add is one. DRAM moves {} of {} GB/s. A point far below all \
         roofs waits for something else: see the share of each ceiling.",
        significant(bandwidth * 1e-9),
        significant(memory * 1e-9)
    );
    markup! { : &chart; p(class = "about") : &moved; }
}

/// Hits of the caches, and bytes of memory.
fn traffic(simulation: &SimulatedLaunch, ids: &Ids) -> Markup {
    let Some(traffic) = &simulation.played_traffic else { return Markup::default() };
    let heads =
        vec![Head::text("cache"), Head::number("accesses"), Head::number("hits"), Head::number("hit rate")];
    let mut table = Table::new("Caches, in the played work-groups", heads);
    let caches = [
        ("L1", traffic.l1_accesses, traffic.l1_hits),
        ("texture", traffic.texture_accesses, traffic.texture_hits),
        ("L2", traffic.l2_accesses, traffic.l2_hits),
    ];
    let count = |value: u64| TableCell::number(value as f64, crate::number::grouped(value));
    for (name, accesses, hits) in caches.into_iter().filter(|cache| cache.1 > 0) {
        let rate = hits as f64 / accesses as f64;
        table.push(vec![TableCell::text(name), count(accesses), count(hits), TableCell::share(rate)]);
    }
    let rows = [
        ("DRAM read", bytes(traffic.dram_read_bytes)),
        ("DRAM written", bytes(traffic.dram_written_bytes)),
        ("translations missed", crate::number::grouped(traffic.tlb_misses)),
    ];
    let (table, memory) = (table.draw(ids), facts("Memory, in the played work-groups", &rows).draw(ids));
    markup! {
        h4 : "Traffic";
        div(class = "columns") { div { : &table; } div { : &memory; } }
    }
}

fn changes(all: &[Named<'_, SimulatedLaunch>], ids: &Ids) -> Markup {
    let out: Markup = pairs(all, |simulation| &simulation.gpu)
        .into_iter()
        .map(|(before, after)| {
            let headline = FigureChange {
                what: "time".to_owned(),
                before: before.content.seconds,
                after: after.content.seconds,
            };
            let mut figures = Vec::new();
            for (name, share) in before.content.shares() {
                let other = after.content.shares().find(|other| other.0 == name).map(|other| other.1);
                let busy = |share: Option<f64>, seconds: Option<f64>| Some(share? * seconds?);
                figures.push(FigureChange {
                    what: format!("{name}, time busy"),
                    before: busy(Some(share), before.content.seconds),
                    after: busy(other, after.content.seconds),
                });
            }
            let kind = Kind {
                caption: format!("{} on {}", before.content.kernel, before.content.gpu),
                what: "figure",
                files: [before.file.to_owned(), after.file.to_owned()],
                less_is_better: true,
                format: time,
                headline: Some(Headline { figure: headline, format: time }),
                are_judged: false,
            };
            differences(&kind, &figures, ids)
        })
        .collect();
    if out.is_empty() {
        out
    } else {
        markup! { h3 : "Differences"; : &out; }
    }
}
