//! Predicted times of a kernel.

use tripipe_results::{Prediction, Simulated};

use super::activity;
use super::chart::{self, Axis, Bar, Bars, ChartLine, Form, Ink, Lines};
use super::compare::{FigureChange, Headline, Kind, differences, under_differences};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::{Named, labels, pairs};
use super::switch::panels;
use super::table::{Head, Table, TableCell, facts};
use crate::number::{bytes, percent, significant, time};
use crate::simulation::other_results;

/// Where a measurement is expected.
pub(super) fn expected(band: Option<[f64; 2]>) -> String {
    match band {
        Some([low, high]) => format!("a measurement is expected between {} and {}", time(low), time(high)),
        None => "how far a measurement may be from this is not known, because none of the GPU's family is published"
            .to_owned(),
    }
}

fn verdict(simulated: &Simulated) -> String {
    let prediction = match simulated {
        Simulated::Prediction(prediction) => prediction,
        Simulated::Refusal(refusal) => {
            return format!("{}: no time, because {}.", refusal.gpu, refusal.error);
        }
    };
    let limited = match prediction.sentence.as_str() {
        "" => format!("Limited by {}.", prediction.limiter),
        sentence => sentence.to_owned(),
    };
    format!(
        "{} takes {} on {}; {}. {limited}",
        prediction.kernel,
        time(prediction.seconds),
        prediction.gpu,
        expected(prediction.error_band)
    )
}

/// Bytes from and to DRAM of the whole launch, if all of it moves as many as the played part.
fn dram_bytes(prediction: &Prediction) -> Option<f64> {
    let traffic = &prediction.played_traffic;
    let played = Some(prediction.played_groups).filter(|played| *played > 0)?;
    let bytes = (traffic.dram_read_bytes + traffic.dram_written_bytes) as f64;
    Some(bytes * prediction.groups as f64 / played as f64)
}

/// A kernel on one or several GPUs.
pub(super) fn section(all: &[Named<'_, Simulated>], ids: &Ids) -> Section {
    let first = all[0].content;
    let names = labels(all, |simulated| simulated.gpu().to_owned());
    let extents = first.global().iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
    let what = format!("{}, {extents} work-items", first.program());
    let verdicts: Markup =
        all.iter().map(|named| markup! { p(class = "verdict") : verdict(named.content); }).collect();
    let guessed =
        if first.guessed() { "Arguments and sizes of memory that were not given are guesses. " } else { "" };
    let left_out: Markup = first.left_out().iter().map(|sentence| markup! { li : sentence; }).collect();
    let changes = changes(all, ids);
    let beside = side_by_side(all, &names, ids);
    let each: Vec<(String, Markup)> =
        names.iter().zip(all).map(|(name, named)| (name.clone(), gpu(named.content, ids))).collect();
    let gpus = panels("GPU", &each, ids);
    Section {
        id: ids.next("simulate"),
        title: format!("Predicted time of {}", first.kernel()),
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
fn side_by_side(all: &[Named<'_, Simulated>], names: &[String], ids: &Ids) -> Markup {
    if all.len() < 2 {
        return Markup::default();
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    // GPUs that cannot run the launch come last.
    let seconds = |index: &usize| {
        all[*index].content.prediction().map_or(f64::INFINITY, |prediction| prediction.seconds)
    };
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
        let name = &names[index];
        let (prediction, limit) = match all[index].content {
            Simulated::Prediction(prediction) => (Some(prediction), &prediction.limiter),
            Simulated::Refusal(refusal) => (None, &refusal.error),
        };
        let seconds = prediction.map(|prediction| prediction.seconds);
        let band = prediction.and_then(|prediction| prediction.error_band);
        table.push(vec![
            TableCell::text(name),
            TableCell::maybe(seconds, time),
            TableCell::maybe(band.map(|band| band[0]), time),
            TableCell::maybe(band.map(|band| band[1]), time),
            TableCell::text(limit),
            prediction.map_or_else(TableCell::missing, |prediction| TableCell::share(prediction.occupancy)),
            TableCell::maybe(prediction.map(|prediction| f64::from(prediction.registers)), |value| {
                format!("{value:.0}")
            }),
        ]);
        bars.push(Bar { label: name.clone(), value: seconds, range: band, point: None, series: 0 });
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
    markup! { h3 : "Side by side"; div(class = "tiles") { div(class = "wide") { : &table; } div { : &chart; } } }
}

/// All that is known about one GPU.
fn gpu(simulated: &Simulated, ids: &Ids) -> Markup {
    let title = simulated.gpu();
    let Some(prediction) = simulated.prediction() else {
        let verdict = verdict(simulated);
        return markup! { h3 : title; p : verdict; };
    };
    let mut light = Table::new(
        "Speed of light of these instructions: the share of the time for which each ceiling is reached",
        vec![Head::text("resource"), Head::number("busy")],
    );
    for (name, share) in &prediction.shares {
        light.push(vec![TableCell::text(name), TableCell::share(*share)]);
    }
    let light = if light.is_empty() { Markup::default() } else { light.draw(ids) };
    let figures = figures(prediction).draw(ids);
    let what_if = what_if(prediction, ids);
    let roofline = roofline(prediction, ids);
    let traffic = traffic(prediction, ids);
    let over_time = prediction.activity.as_ref().map(|own| activity::over_time(own, &prediction.gpu, ids));
    let lines = prediction.activity.as_ref().map(|own| activity::lines(own, ids));
    let (over_time, lines) = (over_time.unwrap_or_default(), lines.unwrap_or_default());
    let counters = activity::counters(&prediction.counters, &prediction.gpu, ids);
    let energy = prediction.energy.as_ref().map(|energy| &energy.sentence);
    markup! {
        h3 : title;
        div(class = "tiles") {
            div { div(class = "columns") { div { : &light; } div { : &figures; } } }
            div { : &roofline; }
            div { : &what_if; }
        }
        @ if let Some(energy) = energy { p : energy; }
        : &over_time;
        : &lines;
        : &traffic;
        : &counters;
    }
}

fn figures(prediction: &Prediction) -> Table {
    let extents = |sizes: &[u64]| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
    let spills = match prediction.spill_bytes {
        0 => String::new(),
        spilled => format!(", {} spilled", bytes(u64::from(spilled))),
    };
    let Prediction { registers, threads, max_threads, groups, played_groups, .. } = prediction;
    let rows = [
        (
            "work-group",
            format!("{}, chosen by the {}", extents(&prediction.local), prediction.local_chosen_by),
        ),
        ("registers", format!("{registers}{spills}")),
        ("threads of a core", format!("{threads} of {max_threads}")),
        ("occupancy in the mean", percent(prediction.occupancy)),
        ("launch by the host", time(prediction.launch_seconds)),
        ("work-groups played", format!("{played_groups} of {groups}")),
        ("uncertainty of sampling", format!("±{}", percent(prediction.sampling_error))),
    ];
    facts("Figures of the launch", &rows)
}

/// The gain of each change.
fn what_if(prediction: &Prediction, ids: &Ids) -> Markup {
    if prediction.what_if.is_empty() {
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
    let mut table = Table::new(format!("What changes would gain on {}", prediction.gpu), heads);
    let mut bars = Vec::new();
    for repriced in &prediction.what_if {
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
        description: format!("The gain of each change on {}; 1 is no change.", prediction.gpu),
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
fn roofline(prediction: &Prediction, ids: &Ids) -> Markup {
    // The model of Williams, Waterman and Patterson (Roofline, 2009), with a roof for each pipe.
    let Some(peaks) = &prediction.peaks else { return Markup::default() };
    let bandwidth = || {
        let seconds = Some(prediction.seconds).filter(|seconds| *seconds > 0.0)?;
        dram_bytes(prediction).filter(|bytes| *bytes > 0.0).map(|moved| moved / seconds)
    };
    let Some(bandwidth) = bandwidth() else { return Markup::default() };
    let memory = peaks.dram_bytes_per_second;
    // The name, the roof and the rate of each pipe that the launch uses.
    let pipes: Vec<(&str, f64, f64)> = prediction
        .shares
        .iter()
        .filter_map(|(name, share)| Some((name.as_str(), *peaks.pipes.get(name)?, share)))
        .map(|(name, roof, share)| (name, roof, share * roof))
        .filter(|(.., rate)| *rate > 0.0)
        .collect();
    // From all points and the ridges of all roofs, so that each of them is in the chart.
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
        // Up to the ridge of the highest roof, beyond which DRAM never bounds.
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
            // From its ridge on: before it, DRAM bounds.
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
        title: format!("Roofline of {}", prediction.gpu),
        description: format!(
            "Instructions per second of {} in {}, by instructions for each byte of DRAM, under the roof of each pipe and \
             that of DRAM.",
            names.join(", "),
            prediction.kernel
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
fn traffic(prediction: &Prediction, ids: &Ids) -> Markup {
    let traffic = &prediction.played_traffic;
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

fn changes(all: &[Named<'_, Simulated>], ids: &Ids) -> Markup {
    let out: Markup = pairs(all, Simulated::gpu)
        .into_iter()
        .map(|(before, after)| {
            let (old, new) = (before.content.prediction(), after.content.prediction());
            let seconds = |one: Option<&Prediction>| one.map(|one| one.seconds);
            // Seconds, because a share grows when the rest of the launch becomes faster.
            let busy = |one: Option<&Prediction>, name: &str| Some(one?.shares.get(name)? * one?.seconds);
            let headline =
                FigureChange { what: "time".to_owned(), before: seconds(old), after: seconds(new) };
            let names = old.into_iter().flat_map(|old| old.shares.keys());
            let figures: Vec<FigureChange> = names
                .map(|name| FigureChange {
                    what: format!("{name}, time busy"),
                    before: busy(old, name),
                    after: busy(new, name),
                })
                .collect();
            let kind = Kind {
                caption: format!("{} on {}", before.content.kernel(), before.content.gpu()),
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
    under_differences(out)
}
