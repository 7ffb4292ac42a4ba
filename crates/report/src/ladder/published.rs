//! Published figures next to ours.

use tripipe_ladders::ladder::Climb;
use tripipe_ladders::problem::Size;
use tripipe_ladders::published::{GemmRatio, GemvFp16, LaplaceStep, LaplaceT604, Published};
use tripipe_results as results;

use super::Report;
use crate::number::{significant, time};
use crate::style::{Canvas, Tone, paragraph};
use crate::table::{Cell, Group, Row, draw};

/// The source's name for the fastest of the versions that it lists before a given one.
const BEST_ABOVE: &str = "best-above";

/// The table, or a line which says that nothing was published for this ladder.
pub(super) fn text(report: &Report<'_>, published: &Published, canvas: Canvas) -> String {
    let climb = report.climb;
    match climb.ladder.as_str() {
        "laplace" => laplace(report, &published.laplace_t604, canvas),
        "gemm" | "gemm-f16" => gemm(climb, published, canvas),
        "gemv" => gemv(climb, &published.gemv_fp16_a620, canvas),
        name => format!("  Nothing was published for the ladder {name}.\n"),
    }
}

/// The same as a part of the result; `None` for a ladder without published figures.
pub(super) fn result(climb: &Climb, published: &Published) -> Option<results::Published> {
    match climb.ladder.as_str() {
        "laplace" => {
            let published = &published.laplace_t604;
            let step = |step: &LaplaceStep| results::PublishedStep {
                name: step.name.clone(),
                speedup: step.speedup.clone(),
                seconds: published
                    .sizes()
                    .into_iter()
                    .map(|size| published.seconds(&step.name, size))
                    .collect(),
                work_registers: step.work_registers.clone(),
                alu_cycles: step.alu_cycles,
                ls_cycles: step.ls_cycles,
            };
            Some(results::Published::Laplace(results::PublishedLaplace {
                gpu: published.gpu.clone(),
                clock_mhz: published.clock_mhz,
                sizes: published.columns.clone(),
                first_step_seconds: published.original_seconds.clone(),
                serial_seconds: published.cpu_seconds.clone(),
                host_seconds: published.host_seconds,
                steps: published.step.iter().map(step).collect(),
            }))
        }
        "gemm" | "gemm-f16" => {
            let ratio = |ratio: &GemmRatio| results::PublishedRatio {
                version: ratio.version.clone(),
                over: ratio.over.clone(),
                gpus: ratio.gpus.clone(),
                at_least: ratio.at_least,
                ours: ours(climb, ratio),
            };
            Some(results::Published::Gemm(results::PublishedGemm {
                size: "1024x1024x1024".to_owned(),
                element: "half".to_owned(),
                ratios: published.gemm_fp16_1024.ratio.iter().map(ratio).collect(),
            }))
        }
        "gemv" => {
            let published = &published.gemv_fp16_a620;
            let times = published.step.iter().map(|step| results::PublishedGemvStep {
                name: step.name.clone(),
                seconds: step.seconds.clone(),
            });
            Some(results::Published::Gemv(results::PublishedGemv {
                gpu: published.gpu.clone(),
                sizes: published.sizes.clone(),
                times: times.collect(),
            }))
        }
        _ => None,
    }
}

fn laplace(report: &Report<'_>, published: &LaplaceT604, canvas: Canvas) -> String {
    let climb = report.climb;
    if climb.time_source.is_predicted() {
        return predicted_laplace(report, published, canvas);
    }
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

/// Predicted and published times and speed-ups, with the errors of the prediction.
fn predicted_laplace(report: &Report<'_>, published: &LaplaceT604, canvas: Canvas) -> String {
    let climb = report.climb;
    let predicted = |step: usize, column: usize| {
        let step = climb.steps.get(step)?;
        // A published time includes the host's part, a prediction does not.
        let host = published.host_seconds(&step.name);
        Some(step.outcomes.get(column)?.measured()?.seconds.median() + host)
    };
    let mut names: Vec<Cell> = climb.steps.iter().map(|step| Cell::new(step.name.as_str())).collect();
    if let Some(core) = report.core {
        names.push(Cell::new(format!("serial {}", core.name)));
    }
    let is_own = is_of(&climb.device, &published.gpu);
    let (mut groups, mut errors) = (Vec::new(), Vec::new());
    for (column, size) in climb.sizes.iter().enumerate() {
        let mut rows = Vec::new();
        for (index, step) in climb.steps.iter().enumerate() {
            // A closure, so that `?` leaves out one row and not the table.
            let found = (|| {
                let seconds = predicted(index, column)?;
                let theirs = published.seconds(&step.name, *size)?;
                let speedup = published.speedup(&step.name, *size)?;
                Some((seconds, theirs, predicted(0, column)? / seconds, speedup))
            })();
            rows.push(match found {
                None => Row::Across(Cell::toned("–", Tone::Faint)),
                Some((seconds, theirs, own, speedup)) => {
                    let error = own / speedup - 1.0;
                    errors.push((error, step.name.as_str(), *size));
                    Row::Cells(vec![
                        Cell::new(significant(seconds * 1e3)),
                        Cell::toned(significant(theirs * 1e3), Tone::Faint),
                        Cell::new(significant(own)),
                        Cell::toned(significant(speedup), Tone::Faint),
                        Cell::new(format!("{:+.0}%", 100.0 * error)),
                    ])
                }
            });
        }
        if let Some(core) = report.core {
            let found = (|| {
                let seconds = core.serial_seconds.get(column)? + core.host_seconds?;
                let theirs = core.published_seconds.get(column).copied().flatten()?;
                let first = published.seconds(&published.step.first()?.name, *size)?;
                Some((seconds, theirs, predicted(0, column)? / seconds, first / theirs))
            })();
            rows.push(match found {
                None => Row::Across(Cell::toned("–", Tone::Faint)),
                Some((seconds, theirs, own, speedup)) => Row::Cells(vec![
                    Cell::new(significant(seconds * 1e3)),
                    Cell::toned(significant(theirs * 1e3), Tone::Faint),
                    Cell::new(significant(own)),
                    Cell::toned(significant(speedup), Tone::Faint),
                    Cell::new(format!("{:+.0}%", 100.0 * (seconds / theirs - 1.0))),
                ]),
            });
        }
        // Beside the figures of another GPU, a difference is not an error.
        let last = if is_own { "error" } else { "diff." };
        let columns = ["ms", "publ.", "×1st", "publ.", last].map(ToOwned::to_owned).to_vec();
        groups.push(Group { title: size.to_string(), columns, rows });
    }
    if errors.is_empty() {
        return "  None of these sizes was published.\n".to_owned();
    }
    let intro = format!(
        "The model beside the published figures of {} at {:.0} MHz. A published time includes the host: the model adds \
        {} to the first step and {} to the others, fitted. {}",
        published.gpu,
        published.clock_mhz,
        time(published.host_seconds[0]),
        time(published.host_seconds[1]),
        if is_own {
            "The errors are those of the speed-ups."
        } else {
            "They are another GPU's: the differences of the speed-ups are no errors."
        }
    );
    let mut out = paragraph(canvas, "  ", 2, &intro);
    out.push_str(&draw(canvas, "step", &names, &groups, 0));
    let mean = errors.iter().map(|(error, ..)| error.abs()).sum::<f64>() / errors.len() as f64;
    if is_own && let Some((error, step, size)) = errors.iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))
    {
        let line = format!(
            "Mean error of the {} speed-ups: {:.0}%. The largest: {:+.0}%, {step} at {size}.",
            errors.len(),
            100.0 * mean,
            100.0 * error
        );
        out.push_str(&paragraph(canvas, "  ", 2, &line));
    }
    out
}

/// Whether a device is the GPU of published figures, or stands for it.
pub(crate) fn is_of(device: &str, gpu: &str) -> bool {
    device.to_lowercase().contains(gpu)
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

/// Our times beside the published ones, and the gain of images over buffers.
fn gemv(climb: &Climb, published: &GemvFp16, canvas: Canvas) -> String {
    let ours = |step: &str, column: usize| {
        let step = climb.steps.iter().find(|own| own.name == step)?;
        Some(step.outcomes.get(column)?.measured()?.seconds.median())
    };
    let mut names: Vec<Cell> =
        published.step.iter().map(|step| Cell::new(format!("{}, us", step.name))).collect();
    names.push(Cell::new("buffer over image"));
    let cells = |ours: Option<f64>, theirs: Option<f64>, unit: f64| {
        let cell = |value: Option<f64>| match value {
            Some(value) => Cell::new(significant(value * unit)),
            None => Cell::toned("–", Tone::Faint),
        };
        let difference = match ours.zip(theirs) {
            Some((ours, theirs)) => Cell::new(format!("{:+.0}%", 100.0 * (ours / theirs - 1.0))),
            None => Cell::toned("–", Tone::Faint),
        };
        Row::Cells(vec![cell(ours), cell(theirs), difference])
    };
    let known = |size: &Size| published.sizes().contains(size);
    let groups: Vec<Group> = climb
        .sizes
        .iter()
        .enumerate()
        .filter(|(_, size)| known(size))
        .map(|(column, size)| {
            let pair = |step: &str| (ours(step, column), published.seconds(step, *size));
            let mut rows: Vec<Row> = published
                .step
                .iter()
                .map(|step| {
                    let (ours, theirs) = pair(&step.name);
                    cells(ours, theirs, 1e6)
                })
                .collect();
            let ratio = |buffer: Option<f64>, image: Option<f64>| Some(buffer? / image?);
            let (buffer, image) = (pair("group-buffer"), pair("group-image"));
            rows.push(cells(ratio(buffer.0, image.0), ratio(buffer.1, image.1), 1.0));
            let columns = ["ours", "publ.", "error"].map(ToOwned::to_owned).to_vec();
            Group { title: size.to_string(), columns, rows }
        })
        .collect();
    let sizes = published.sizes.join(",");
    if groups.is_empty() {
        return format!("  None of these sizes was published. Published: --sizes {sizes}\n");
    }
    let intro = format!(
        "Compared with the published times of {}, with weights from a buffer and from an image. The errors are those of a \
         prediction only if the device is that GPU.",
        published.gpu
    );
    let mut out = paragraph(canvas, "  ", 2, &intro);
    out.push_str(&draw(canvas, "step", &names, &groups, 0));
    if !published.sizes().iter().all(|size| climb.sizes.contains(size)) {
        out.push_str(&paragraph(canvas, "  ", 2, &format!("Published sizes: --sizes {sizes}")));
    }
    out
}
