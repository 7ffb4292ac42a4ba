//! Published figures next to ours.

use serde_json::{Value, json};
use tripipe_ladders::ladder::Climb;
use tripipe_ladders::problem::Size;
use tripipe_ladders::published::{GemmRatio, LaplaceT604, Published};

use crate::number::significant;
use crate::style::{Canvas, Tone, paragraph};
use crate::table::{Cell, Group, Row, draw};

/// The source's name for the fastest of the versions that it lists before a given one.
const BEST_ABOVE: &str = "best-above";

/// The table, or a line which says that nothing was published for this ladder.
pub(super) fn text(climb: &Climb, published: &Published, canvas: Canvas) -> String {
    match climb.ladder.as_str() {
        "laplace" => laplace(climb, &published.laplace_t604, canvas),
        "gemm" | "gemm-f16" => gemm(climb, published, canvas),
        name => format!("  Nothing was published for the ladder {name}.\n"),
    }
}

/// The same as a JSON value; `null` for a ladder without published figures.
pub(super) fn json(climb: &Climb, published: &Published) -> Value {
    match climb.ladder.as_str() {
        "laplace" => {
            let published = &published.laplace_t604;
            let steps = published.step.iter().map(|step| {
                json!({ "name": step.name, "speedup": step.speedup, "work_registers": step.work_registers,
                        "alu_cycles": step.alu_cycles, "ls_cycles": step.ls_cycles })
            });
            json!({
                "gpu": published.gpu, "clock_mhz": published.clock_mhz, "sizes": published.columns,
                "first_step_seconds": published.original_seconds, "serial_seconds": published.cpu_seconds,
                "steps": steps.collect::<Vec<_>>(),
            })
        }
        "gemm" | "gemm-f16" => {
            let ratios = published.gemm_fp16_1024.ratio.iter().map(|ratio| {
                json!({ "version": ratio.version, "over": ratio.over, "gpus": ratio.gpus, "at_least": ratio.at_least,
                        "ours": ours(climb, ratio) })
            });
            json!({ "size": "1024x1024x1024", "type": "half", "ratios": ratios.collect::<Vec<_>>() })
        }
        _ => Value::Null,
    }
}

fn laplace(climb: &Climb, published: &LaplaceT604, canvas: Canvas) -> String {
    let sizes = published.sizes();
    let ours = |step: &str, size: Size| -> Option<f64> {
        let column = climb.sizes.iter().position(|own| *own == size)?;
        let step = climb.steps.iter().find(|own| own.name == step)?;
        climb.speedups(step).get(column).copied().flatten()
    };
    let ours_over_serial = |size: Size| -> Option<f64> {
        let column = climb.sizes.iter().position(|own| *own == size)?;
        let first = climb.steps.first()?.outcomes.get(column)?.measured()?;
        Some(climb.serial.get(column)?.median() / first.seconds.median())
    };
    let pair = |ours: Option<f64>, theirs: Option<f64>| {
        let cell = |value: Option<f64>| match value {
            Some(value) => Cell::new(significant(value)),
            None => Cell::toned("–", Tone::Faint),
        };
        Row::Cells(vec![cell(ours), cell(theirs)])
    };
    let mut names: Vec<Cell> = published.step.iter().map(|step| Cell::new(step.name.as_str())).collect();
    names.push(Cell::new("first step over serial CPU"));
    if !climb.steps.iter().any(|own| published.step.iter().any(|step| step.name == own.name)) {
        return "  No published step has a counterpart on this device.\n".to_owned();
    }
    // The sizes that ran here; all of them when there is none.
    let any = sizes.iter().any(|size| climb.sizes.contains(size));
    let groups: Vec<Group> = sizes
        .iter()
        .enumerate()
        .filter(|(_, size)| !any || climb.sizes.contains(size))
        .map(|(column, size)| {
            let mut rows: Vec<Row> = published
                .step
                .iter()
                .map(|step| pair(ours(&step.name, *size), step.speedup.get(column).copied()))
                .collect();
            let theirs = published.cpu_seconds.get(column).zip(published.original_seconds.get(column));
            rows.push(pair(ours_over_serial(*size), theirs.map(|(serial, first)| serial / first)));
            Group { title: size.to_string(), columns: vec!["ours".to_owned(), "T604".to_owned()], rows }
        })
        .collect();
    let intro = format!(
        "Compared with the published figures of {} at {:.0} MHz: speed-up over the first step. The serial \
        CPU there is one Cortex-A15 at 1.7 GHz.",
        published.gpu, published.clock_mhz
    );
    let mut out = paragraph(canvas, "  ", 2, &intro);
    out.push_str(&draw(canvas, "×1st", &names, &groups, published.step.len()));
    let others: Vec<String> =
        sizes.iter().filter(|size| !climb.sizes.contains(size)).map(ToString::to_string).collect();
    if !others.is_empty() {
        let hint = format!("Also published, but not run here: --sizes {}", others.join(","));
        out.push_str(&paragraph(canvas, "  ", 2, &hint));
    }
    out
}

/// Our step that corresponds to a published version: the one with the same name, otherwise the longest name that it
/// starts with.
fn counterpart(climb: &Climb, version: &str) -> Option<usize> {
    let steps = climb.steps.iter().enumerate();
    let named = steps.filter(|(_, step)| {
        version.strip_prefix(step.name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    });
    named.max_by_key(|(_, step)| step.name.len()).map(|(index, _)| index)
}

/// Our speed-up of one version over the other at the largest size where both were measured.
fn ours(climb: &Climb, ratio: &GemmRatio) -> Option<f64> {
    let version = counterpart(climb, &ratio.version)?;
    (0..climb.sizes.len()).rev().find_map(|size| {
        let seconds = |step: usize| Some(climb.steps[step].outcomes.get(size)?.measured()?.seconds.median());
        let over = if ratio.over == BEST_ABOVE {
            (0..version).filter_map(seconds).min_by(f64::total_cmp)?
        } else {
            seconds(counterpart(climb, &ratio.over)?)?
        };
        Some(over / seconds(version)?)
    })
}

fn gemm(climb: &Climb, published: &Published, canvas: Canvas) -> String {
    let ratios = &published.gemm_fp16_1024.ratio;
    let names: Vec<Cell> =
        ratios.iter().map(|ratio| Cell::new(format!("{} over {}", ratio.version, ratio.over))).collect();
    let mut gpus: Vec<&String> = ratios.iter().flat_map(|ratio| ratio.gpus.keys()).collect();
    gpus.sort();
    gpus.dedup();
    let cell = |value: Option<f64>| match value {
        Some(value) => Cell::new(significant(value)),
        None => Cell::toned("–", Tone::Faint),
    };
    let mut columns = vec!["ours".to_owned()];
    columns.extend(gpus.iter().map(|gpu| (*gpu).clone()));
    let rows = ratios
        .iter()
        .map(|ratio| {
            let mut cells = vec![cell(ours(climb, ratio))];
            for gpu in &gpus {
                cells.push(match (ratio.gpus.get(*gpu), ratio.at_least) {
                    (None, Some(least)) => Cell::new(format!("≥ {}", significant(least))),
                    (gain, _) => cell(gain.copied()),
                });
            }
            Row::Cells(cells)
        })
        .collect();
    let intro = "Compared with the published gains of one version over another, for half precision at \
        1024x1024x1024; ours at the largest size where both were measured. The rates published with them \
        are in 2^30 operations per second; rates here are in 10^9.";
    let mut out = paragraph(canvas, "  ", 2, intro);
    let group = Group { title: String::new(), columns, rows };
    out.push_str(&draw(canvas, "gain of", &names, &[group], 0));
    let t604 = &published.gemm_fp32_t604;
    let more = format!(
        "Single precision on a Mali-T604 levels off at {} times a serial Cortex-A15 for large products.",
        significant(t604.plateau_speedup_over_serial_a15)
    );
    out.push_str(&paragraph(canvas, "  ", 2, &more));
    out
}
