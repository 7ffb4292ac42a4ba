//! The cost of a kernel before it runs.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::compare::{FigureChange, Headline, Kind, differences};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::switch::panels;
use super::table::{Head, Table, TableCell, facts};
use super::{Named, labels, pairs};
use crate::number::{bytes, percent, significant, time};

/// The result of `tripipe analyze` for a kernel on a GPU. A cost is a number, or text that contains symbols.
#[derive(Debug, Deserialize)]
pub(super) struct Analysis {
    pub(super) kernel: String,
    #[serde(default)]
    program: String,
    gpu: String,
    total: Path,
    shortest_path: Path,
    longest_path: Path,
    registers: Registers,
    narrow_arithmetic: Option<f64>,
    idle_lanes: Option<f64>,
    #[serde(default)]
    stack_bytes: u64,
    #[serde(default)]
    local_bytes: u64,
    #[serde(default)]
    lines: Vec<LineCost>,
    #[serde(default)]
    accesses: Vec<AccessCost>,
    launch: Option<LaunchCost>,
    prediction: Option<PredictedTime>,
    prediction_missing: Option<String>,
    #[serde(default)]
    advice: Vec<Advice>,
    #[serde(default)]
    left_out: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Path {
    columns: Map<String, Value>,
    bound: Value,
}

#[derive(Debug, Deserialize)]
struct Registers {
    used: u64,
    max: u64,
    #[serde(default)]
    spill_bytes: u64,
    threads: u64,
    max_threads: u64,
}

#[derive(Debug, Deserialize)]
struct LineCost {
    file: String,
    line: u64,
    #[serde(default)]
    text: String,
    columns: Map<String, Value>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct AccessCost {
    line: Option<u64>,
    memory: Option<String>,
    space: String,
    writes: bool,
    bytes: f64,
    stride_bytes: Option<f64>,
    lines: Option<f64>,
    used: Option<f64>,
    coalesced: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct LaunchCost {
    busy: Map<String, Value>,
    milliseconds: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct PredictedTime {
    seconds: f64,
    error_band: [f64; 2],
    limiter: String,
}

#[derive(Debug, Deserialize)]
struct Advice {
    code: String,
    severity: String,
    line: Option<u64>,
    message: String,
    #[serde(default)]
    fix: String,
    gain: Option<f64>,
    seconds: Option<f64>,
}

/// A cost as text.
fn cost(value: &Value) -> String {
    value.as_f64().map_or_else(
        || value.as_str().unwrap_or("?").to_owned(),
        |cycles| {
            if cycles.fract() == 0.0 { format!("{cycles:.0}") } else { significant(cycles) }
        },
    )
}

/// A cell of a cost.
fn cost_cell(value: &Value) -> TableCell {
    value
        .as_f64()
        .map_or_else(|| TableCell::text(cost(value)), |cycles| TableCell::number(cycles, cost(value)))
}

impl Analysis {
    fn verdict(&self) -> String {
        let bound = match &self.longest_path.bound {
            Value::String(name) => name.clone(),
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" and "),
            _ => String::new(),
        };
        let mut said = match self.longest_path.columns.get(&bound) {
            Some(cycles) => format!(
                "{} is bound by {bound} on {}: {} cycles on its longest path",
                self.kernel,
                self.gpu,
                cost(cycles)
            ),
            None => format!("{} on {}: bound by {bound}", self.kernel, self.gpu),
        };
        let Registers { threads, max_threads, .. } = self.registers;
        said.push_str(&format!("; {threads} of {max_threads} threads fit a core."));
        if let Some(predicted) = &self.prediction {
            let [low, high] = predicted.error_band;
            said.push_str(&format!(
                " The launch is predicted to take {} (a measurement is expected between {} and {}), limited by {}.",
                time(predicted.seconds),
                time(low),
                time(high),
                predicted.limiter
            ));
        }
        said
    }
}

/// A kernel on one or several GPUs.
pub(super) fn section(all: &[Named<'_, Analysis>], ids: &Ids) -> Section {
    let first = all[0].content;
    let names = labels(all, |analysis| analysis.gpu.clone());
    let verdicts: Markup = if all.len() <= 8 {
        all.iter().map(|named| markup! { p(class = "verdict") : named.content.verdict(); }).collect()
    } else {
        Markup::default()
    };
    let changes = changes(all, ids);
    let beside = side_by_side(all, &names, ids);
    let each: Vec<(String, Markup)> =
        names.iter().zip(all).map(|(name, named)| (name.clone(), gpu(named.content, ids))).collect();
    let gpus = panels("GPU", &each, ids);
    Section {
        id: ids.next("analyze"),
        title: format!("Cost of {}", first.kernel),
        body: markup! {
            @ if !first.program.is_empty() { p(class = "about") : &first.program; }
            : &changes;
            div(class = "verdicts") : &verdicts;
            : &beside;
            : &gpus;
        },
    }
}

fn side_by_side(all: &[Named<'_, Analysis>], names: &[String], ids: &Ids) -> Markup {
    if all.len() < 2 {
        return Markup::default();
    }
    let heads = vec![
        Head::text("GPU"),
        Head::text("bound"),
        Head::number("cycles there"),
        Head::number("registers"),
        Head::number("threads"),
        Head::number("predicted time"),
        Head::number("advice"),
    ];
    let mut table = Table::new("GPUs side by side: the longest path", heads);
    for (name, named) in names.iter().zip(all) {
        let analysis = named.content;
        let bound = analysis.longest_path.bound.as_str().unwrap_or("several");
        let number = |value: u64| TableCell::number(value as f64, value.to_string());
        table.push(vec![
            TableCell::text(name),
            TableCell::text(bound),
            analysis.longest_path.columns.get(bound).map_or_else(TableCell::missing, cost_cell),
            number(analysis.registers.used),
            number(analysis.registers.threads),
            TableCell::maybe(analysis.prediction.as_ref().map(|predicted| predicted.seconds), time),
            number(analysis.advice.len() as u64),
        ]);
    }
    let table = table.draw(ids);
    markup! { h3 : "Side by side"; : &table; }
}

fn gpu(analysis: &Analysis, ids: &Ids) -> Markup {
    let mut paths = vec![Head::text("path")];
    paths.extend(analysis.longest_path.columns.keys().map(|name| Head::number(name.as_str())));
    let mut table = Table::new("Cycles of each pipe for a work-item, or for a warp", paths);
    let all = [
        ("shortest", &analysis.shortest_path),
        ("longest", &analysis.longest_path),
        ("all code once", &analysis.total),
    ];
    for (name, path) in all {
        let mut cells = vec![TableCell::text(name)];
        cells.extend(path.columns.values().map(cost_cell));
        table.push(cells);
    }
    let mut rows = vec![("registers", format!("{} of {}", analysis.registers.used, analysis.registers.max))];
    if analysis.registers.spill_bytes > 0 {
        rows.push(("spilled", bytes(analysis.registers.spill_bytes)));
    }
    rows.push((
        "threads of a core",
        format!("{} of {}", analysis.registers.threads, analysis.registers.max_threads),
    ));
    rows.push(("local memory", bytes(analysis.local_bytes)));
    if analysis.stack_bytes > 0 {
        rows.push(("stack", bytes(analysis.stack_bytes)));
    }
    if let Some(idle) = analysis.idle_lanes {
        rows.push(("lanes that compute nothing", percent(idle)));
    }
    if let Some(narrow) = analysis.narrow_arithmetic {
        rows.push(("arithmetic of 16 bits or less", percent(narrow)));
    }
    if let Some(reason) = &analysis.prediction_missing {
        rows.push(("no predicted time", reason.clone()));
    }
    let launch = analysis.launch.as_ref().filter(|launch| !launch.busy.is_empty());
    let busy = launch.map_or_else(Markup::default, |launch| busy(launch, ids));
    let (table, figures) = (table.draw(ids), facts("Figures of the kernel", &rows).draw(ids));
    // The lines of a GPU have identifiers of their own, so that advice leads to the line in its own table.
    let source = ids.next("source");
    let (lines, accesses) = (lines(analysis, &source, ids), accesses(analysis, ids));
    let advice = advice(analysis, &source);
    let left_out: Markup = analysis.left_out.iter().map(|sentence| markup! { li : sentence; }).collect();
    let title = &analysis.gpu;
    markup! {
        h3 : title;
        div(class = "tiles") {
            div { : &table; : &busy; }
            div { : &figures; }
            div { : &advice; }
        }
        : &lines;
        : &accesses;
        @ if !left_out.is_empty() { h4 : "Left out"; ul : &left_out; }
    }
}

/// Which pipe sets the time of a launch.
fn busy(launch: &LaunchCost, ids: &Ids) -> Markup {
    let caption = match launch.milliseconds {
        Some(milliseconds) => {
            format!("Speed of light of these instructions, at {} without waiting", time(milliseconds * 1e-3))
        }
        None => "Speed of light of these instructions, without waiting".to_owned(),
    };
    let mut table = Table::new(caption, vec![Head::text("resource"), Head::number("busy")]);
    for (name, share) in launch.busy.iter().filter_map(|(name, share)| Some((name, share.as_f64()?))) {
        table.push(vec![TableCell::text(name), TableCell::share(share)]);
    }
    table.draw(ids)
}

/// The identifier of a line of a GPU's table; lines of included files have none, because advice names lines of the source.
fn line_id(analysis: &Analysis, source: &str, line: u64) -> Option<String> {
    let file = &analysis.lines.iter().find(|own| own.line == line)?.file;
    let is_only = analysis.lines.iter().filter(|own| own.line == line).all(|own| own.file == *file);
    is_only.then(|| format!("{source}-{line}"))
}

/// The heat of each source line beside its text.
fn lines(analysis: &Analysis, source: &str, ids: &Ids) -> Markup {
    let Some(first) = analysis.lines.first() else { return Markup::default() };
    let names: Vec<&String> = first.columns.keys().collect();
    let several = analysis.lines.iter().any(|line| line.file != first.file);
    let mut heads = vec![Head::number("line")];
    heads.extend(names.iter().map(|name| Head::number(name.as_str())));
    heads.push(Head::text("source"));
    let mut table = Table::new("Heat of each source line: cycles, and their share of each pipe", heads);
    let most = |name: &str| {
        let all = analysis.lines.iter().filter_map(|line| line.columns.get(name)?.as_f64());
        all.fold(0.0, f64::max)
    };
    for line in &analysis.lines {
        let shown = if several { format!("{}:{}", line.file, line.line) } else { line.line.to_string() };
        let number = match line_id(analysis, source, line.line) {
            Some(id) => TableCell::markup(markup! { span(id = &id) : &shown; }).with_key(line.line as f64),
            None => TableCell::number(line.line as f64, shown),
        };
        let mut cells = vec![number];
        for name in &names {
            let value = line.columns.get(*name).unwrap_or(&Value::Null);
            cells.push(match value.as_f64() {
                Some(cycles) => {
                    TableCell::heat(cycles, cycles / most(name).max(f64::MIN_POSITIVE), cost(value))
                }
                None => TableCell::text(cost(value)),
            });
        }
        let text = &line.text;
        cells.push(TableCell::markup(markup! { code : text; }).with_class("source"));
        table.push(cells);
    }
    let table = table.draw(ids);
    markup! { h4 : "Where the cycles are"; : &table; }
}

fn accesses(analysis: &Analysis, ids: &Ids) -> Markup {
    if analysis.accesses.is_empty() {
        return Markup::default();
    }
    let heads = vec![
        Head::number("line"),
        Head::text("memory"),
        Head::text("access"),
        Head::number("number"),
        Head::number("bytes"),
        Head::number("stride, bytes"),
        Head::number("cache lines"),
        Head::number("used"),
        Head::text("coalesced"),
    ];
    let mut table = Table::new("Memory accesses of adjacent work-items", heads);
    let whole = |value: f64| format!("{value:.0}");
    let mut different: Vec<(&AccessCost, usize)> = Vec::new();
    for access in &analysis.accesses {
        match different.iter_mut().find(|(same, _)| *same == access) {
            Some((_, count)) => *count += 1,
            None => different.push((access, 1)),
        }
    }
    for (access, count) in different {
        let memory = access.memory.as_deref().unwrap_or("?");
        table.push(vec![
            TableCell::maybe(access.line.map(|line| line as f64), whole),
            TableCell::text(format!("{memory} ({})", access.space)),
            TableCell::text(if access.writes { "store" } else { "load" }),
            TableCell::number(count as f64, count.to_string()),
            TableCell::number(access.bytes, whole(access.bytes)),
            TableCell::maybe(access.stride_bytes, whole),
            TableCell::maybe(access.lines, significant),
            access.used.map_or_else(TableCell::missing, TableCell::share),
            match access.coalesced {
                Some(true) => TableCell::text("yes"),
                Some(false) => TableCell::text("no").with_class("worse"),
                None => TableCell::missing(),
            },
        ]);
    }
    let table = table.draw(ids);
    markup! { h4 : "Memory"; : &table; }
}

fn advice(analysis: &Analysis, source: &str) -> Markup {
    let items: Markup = analysis
        .advice
        .iter()
        .map(|advice| {
            let class = format!("severity {}", advice.severity);
            let at = advice.line.map_or_else(Markup::default, |line| {
                let said = format!("line {line}");
                if let Some(id) = line_id(analysis, source, line) {
                    let link = format!("#{id}");
                    markup! { : ", "; a(href = &link) : said; }
                } else {
                    markup! { : ", "; : said; }
                }
            });
            let gain = advice.seconds.map(|seconds| format!(" Then the launch takes {}.", time(seconds)));
            let gain = gain.or_else(|| {
                advice.gain.map(|gain| format!(" It gains up to {} of the cycles.", percent(gain)))
            });
            markup! {
                li(class = "advice") {
                    p { span(class = &class) : &advice.severity; : " "; strong : &advice.code; : &at; }
                    p : &advice.message;
                    p(class = "about") { : &advice.fix; : gain.as_deref().unwrap_or(""); }
                }
            }
        })
        .collect();
    if items.is_empty() {
        return Markup::default();
    }
    markup! { h4 : "Advice"; ol(class = "advice-list") : &items; }
}

fn changes(all: &[Named<'_, Analysis>], ids: &Ids) -> Markup {
    let out: Markup = pairs(all, |analysis| &analysis.gpu)
        .into_iter()
        .map(|(before, after)| {
            let mut figures = Vec::new();
            for (name, cycles) in &before.content.longest_path.columns {
                let other = after.content.longest_path.columns.get(name).and_then(Value::as_f64);
                figures.push(FigureChange {
                    what: format!("{name}, longest path"),
                    before: cycles.as_f64(),
                    after: other,
                });
            }
            let predicted =
                |analysis: &Analysis| analysis.prediction.as_ref().map(|predicted| predicted.seconds);
            // Without a launch there is no time: then the cost of the pipe that bounds decides.
            let bound = |analysis: &Analysis| {
                let bound = before.content.longest_path.bound.as_str()?;
                analysis.longest_path.columns.get(bound)?.as_f64()
            };
            let pair = |what: &str, figure: &dyn Fn(&Analysis) -> Option<f64>| FigureChange {
                what: what.to_owned(),
                before: figure(before.content),
                after: figure(after.content),
            };
            let times = pair("predicted time", &predicted);
            let headline = if times.before.is_some() && times.after.is_some() {
                Headline { figure: times, format: time }
            } else {
                let bound = pair("cycles of the pipe that bounds", &bound);
                Headline { figure: bound, format: significant }
            };
            let registers = |analysis: &Analysis| Some(analysis.registers.used as f64);
            figures.push(FigureChange {
                what: "registers".to_owned(),
                before: registers(before.content),
                after: registers(after.content),
            });
            let kind = Kind {
                caption: format!("{} on {}", before.content.kernel, before.content.gpu),
                what: "figure",
                files: [before.file.to_owned(), after.file.to_owned()],
                less_is_better: true,
                format: significant,
                headline: Some(headline),
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
