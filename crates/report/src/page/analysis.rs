//! The cost of a kernel before it runs.

use tripipe_results::{Analysis, Cost, LaunchBound, MemoryAccess, PathCost, Registers};

use super::compare::{FigureChange, Headline, Kind, differences, under_differences};
use super::frame::Section;
use super::markup::{Ids, Markup, markup};
use super::named::{Named, labels, pairs};
use super::simulation::expected;
use super::switch::panels;
use super::table::{Head, Table, TableCell, facts};
use crate::number::{bytes, percent, significant, time};

/// A cost as text.
fn cost_text(cost: &Cost) -> String {
    match cost {
        Cost::Number(cycles) if cycles.fract() == 0.0 => format!("{cycles:.0}"),
        Cost::Number(cycles) => significant(*cycles),
        Cost::Symbolic(text) => text.clone(),
    }
}

/// A cell of a cost.
fn cost_cell(cost: &Cost) -> TableCell {
    match cost.number() {
        Some(cycles) => TableCell::number(cycles, cost_text(cost)),
        None => TableCell::text(cost_text(cost)),
    }
}

/// The cost of the pipes that `bound` names: the largest, where it names several that are equally busy.
fn bound_cost<'a>(path: &'a PathCost, bound: &str) -> Option<&'a Cost> {
    // What is symbolic has no bound.
    let size = |cost: &Cost| cost.number().unwrap_or(f64::INFINITY);
    let costs = bound.split(", ").filter_map(|pipe| path.columns.get(pipe));
    costs.max_by(|a, b| size(a).total_cmp(&size(b)))
}

fn verdict(analysis: &Analysis) -> String {
    let bound = &analysis.longest_path.bound;
    let limit = analysis.prediction.as_ref().map(|predicted| predicted.limiter.as_str());
    let is_other = limit.is_some_and(|limit| !bound.split(", ").any(|one| one == limit));
    // The pipe that one work-item needs most is not always what limits the launch.
    let takes = if bound.contains(", ") { "take" } else { "takes" };
    let mut said = match bound_cost(&analysis.longest_path, bound) {
        Some(cycles) if is_other => format!(
            "{} on {}: {bound} {takes} most of what one work-item does, {} cycles on its longest path",
            analysis.kernel,
            analysis.gpu,
            cost_text(cycles)
        ),
        Some(cycles) => format!(
            "{} is bound by {bound} on {}: {} cycles on its longest path",
            analysis.kernel,
            analysis.gpu,
            cost_text(cycles)
        ),
        None => format!("{} on {}: bound by {bound}", analysis.kernel, analysis.gpu),
    };
    let Registers { threads, max_threads, .. } = &analysis.registers;
    said.push_str(&format!("; {threads} of {max_threads} threads fit a core."));
    if let Some(predicted) = &analysis.prediction {
        said.push_str(&format!(
            " The launch is predicted to take {} ({}), limited by {}.",
            time(predicted.seconds),
            expected(predicted.error_band),
            predicted.limiter
        ));
    }
    said
}

/// A kernel on one or several GPUs.
pub(super) fn section(all: &[Named<'_, Analysis>], ids: &Ids) -> Section {
    let first = all[0].content;
    let names = labels(all, |analysis| analysis.gpu.clone());
    // More GPUs than these are easier to read in the table.
    let verdicts: Markup = if all.len() <= 8 {
        all.iter().map(|named| markup! { p(class = "verdict") : verdict(named.content); }).collect()
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
        let bound = &analysis.longest_path.bound;
        let number = |value: u32| TableCell::number(f64::from(value), value.to_string());
        table.push(vec![
            TableCell::text(name),
            TableCell::text(bound),
            bound_cost(&analysis.longest_path, bound).map_or_else(TableCell::missing, cost_cell),
            number(analysis.registers.used),
            number(analysis.registers.threads),
            TableCell::maybe(analysis.prediction.as_ref().map(|predicted| predicted.seconds), time),
            number(analysis.advice.len() as u32),
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
        rows.push(("spilled", bytes(u64::from(analysis.registers.spill_bytes))));
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
fn busy(launch: &LaunchBound, ids: &Ids) -> Markup {
    let caption = match launch.milliseconds {
        Some(milliseconds) => {
            format!("Speed of light of these instructions, at {} without waiting", time(milliseconds * 1e-3))
        }
        None => "Speed of light of these instructions, without waiting".to_owned(),
    };
    let mut table = Table::new(caption, vec![Head::text("resource"), Head::number("busy")]);
    for (name, share) in &launch.busy {
        table.push(vec![TableCell::text(name), TableCell::share(*share)]);
    }
    table.draw(ids)
}

/// The identifier of a line of a GPU's table; lines of included files have none, because advice names lines of the source.
fn line_id(analysis: &Analysis, source: &str, line: u32) -> Option<String> {
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
        let all = analysis.lines.iter().filter_map(|line| line.columns.get(name)?.number());
        all.fold(0.0, f64::max)
    };
    for line in &analysis.lines {
        let shown = if several { format!("{}:{}", line.file, line.line) } else { line.line.to_string() };
        let number = match line_id(analysis, source, line.line) {
            Some(id) => {
                TableCell::markup(markup! { span(id = &id) : &shown; }).with_key(f64::from(line.line))
            }
            None => TableCell::number(f64::from(line.line), shown),
        };
        let mut cells = vec![number];
        for name in &names {
            cells.push(match line.columns.get(*name) {
                Some(cost) => match cost.number() {
                    Some(cycles) => {
                        TableCell::heat(cycles, cycles / most(name).max(f64::MIN_POSITIVE), cost_text(cost))
                    }
                    None => TableCell::text(cost_text(cost)),
                },
                None => TableCell::text("?"),
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
    // Accesses contain floats, which cannot be keys of a map.
    let mut different: Vec<(&MemoryAccess, usize)> = Vec::new();
    for access in &analysis.accesses {
        match different.iter_mut().find(|(same, _)| *same == access) {
            Some((_, count)) => *count += 1,
            None => different.push((access, 1)),
        }
    }
    for (access, count) in different {
        table.push(vec![
            TableCell::maybe(access.line.map(f64::from), whole),
            TableCell::text(format!("{} ({})", access.memory, access.space)),
            TableCell::text(if access.writes { "store" } else { "load" }),
            TableCell::number(count as f64, count.to_string()),
            TableCell::number(f64::from(access.bytes), access.bytes.to_string()),
            TableCell::maybe(access.stride_bytes.map(|bytes| bytes as f64), whole),
            TableCell::number(f64::from(access.lines), significant(f64::from(access.lines))),
            TableCell::share(access.used),
            if access.coalesced { TableCell::text("yes") } else { TableCell::text("no").with_class("worse") },
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
            let rewrite = match &advice.rewrite {
                Some(rewrite) => format!(" By {}, {}; not verified.", rewrite.name, rewrite.title),
                None if advice.by_hand => " No rewrite: by hand.".to_owned(),
                None => String::new(),
            };
            markup! {
                li(class = "advice") {
                    p { span(class = &class) : &advice.severity; : " "; strong : &advice.code; : &at; }
                    p : &advice.message;
                    p(class = "about") { : &advice.fix; : gain.as_deref().unwrap_or(""); : rewrite; }
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
                let other = after.content.longest_path.columns.get(name).and_then(Cost::number);
                figures.push(FigureChange {
                    what: format!("{name}, longest path"),
                    before: cycles.number(),
                    after: other,
                });
            }
            let predicted =
                |analysis: &Analysis| analysis.prediction.as_ref().map(|predicted| predicted.seconds);
            // Without a launch there is no time: then the cost of the pipe that bounds decides.
            let bound = |analysis: &Analysis| {
                bound_cost(&analysis.longest_path, &before.content.longest_path.bound)?.number()
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
            let registers = |analysis: &Analysis| Some(f64::from(analysis.registers.used));
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
                // Only the headline is judged: a cheaper pipe gains nothing unless it bounds.
                are_judged: false,
            };
            differences(&kind, &figures, ids)
        })
        .collect();
    under_differences(out)
}
