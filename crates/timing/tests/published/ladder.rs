//! The published Laplace ladder on a Mali-T604: six steps, five sizes.

use std::fmt::Write as _;
use std::sync::Arc;

use tripipe_device::find;
use tripipe_ladders::published::{LaplaceT604, Published};
use tripipe_launch::{MemoryKind, NdRange};

use crate::{Compared, Passed, keep, percent, program, time};

/// Host time of each published measurement, in seconds: fitted to the smallest size, where the kernels take a tenth of
/// the published time. (The serial CPU code of the same slides is also slower there, by 13 ms.)
const HOST_SECONDS: f64 = 0.0055;

/// Pixels of a work-item, by step.
const PIXELS: [usize; 6] = [1, 5, 5, 5, 4, 8];

/// Predicted seconds of all steps for all sizes.
fn predicted(published: &LaplaceT604, file: &'static str) -> Option<Vec<Vec<f64>>> {
    let gpu = find("t604").unwrap();
    let program = Arc::new(program(file));
    let mut seconds = Vec::new();
    for (step, pixels) in published.step.iter().zip(PIXELS) {
        let mut row = Vec::new();
        for size in &published.columns {
            let (width, height) = size.split_once('x').unwrap();
            let (width, height): (usize, usize) = (width.parse().unwrap(), height.parse().unwrap());
            // As published: dimension 0 walks down the picture. Rows beyond the last one are read.
            let buffer = MemoryKind::Buffer { bytes: 3 * width * (height + 4) + 64 };
            let mut passed = vec![Passed::Memory(buffer.clone()), Passed::Memory(buffer), Passed::Int(width)];
            if pixels == 1 {
                passed.push(Passed::Int(height));
            }
            let entry = step.name.replace('-', "_");
            let found = time(gpu, &program, &entry, passed, NdRange::d2(height, width / pixels))?;
            row.push(found.seconds + HOST_SECONDS);
        }
        seconds.push(row);
    }
    Some(seconds)
}

/// Compares one writing of the steps; has the mean error of the speed-ups, and of the times at the largest size.
fn compare(file: &'static str, table_name: &str, name: &'static str, what: &'static str) -> Option<[f64; 2]> {
    let published = Published::load().unwrap().laplace_t604;
    let seconds = predicted(&published, file)?;
    let mut table = String::from("| step |");
    for size in &published.columns {
        let _ = write!(table, " {size} | speed-up | error |");
    }
    table += "\n|---|";
    published.columns.iter().for_each(|_| table += "--:|--:|--:|");
    table += "\n| serial Cortex-A15, published |";
    for (size, cpu) in published.cpu_seconds.iter().enumerate() {
        let speedup = published.original_seconds[size] / cpu;
        let found = seconds[0][size] / cpu;
        let _ = write!(table, " {cpu:.4} | {found:.2} ({speedup:.2}) | {} |", percent(found / speedup - 1.0));
    }
    table += "\n";
    let (mut all, mut most, mut absolute) = (0.0, 0.0_f64, 0.0);
    let mut errors = Vec::new();
    let last = published.columns.len() - 1;
    for (step, row) in published.step.iter().zip(&seconds) {
        let _ = write!(table, "| {} |", step.name);
        for (size, found) in row.iter().enumerate() {
            let speedup = seconds[0][size] / found;
            let error = speedup / step.speedup[size] - 1.0;
            all += error.abs();
            most = most.max(error.abs());
            let in_time = found / (published.original_seconds[size] / step.speedup[size]) - 1.0;
            errors.push(in_time);
            if size == last {
                absolute += in_time.abs();
            }
            let _ = write!(
                table,
                " {found:.4} | {speedup:.1} ({:.1}) | {} |",
                step.speedup[size],
                percent(error)
            );
        }
        table += "\n";
    }
    let count = (published.step.len() * published.columns.len()) as f64;
    let means = [all / count, absolute / published.step.len() as f64];
    let _ = writeln!(
        table,
        "\nMean error of the {count} speed-ups: {:.0} %, largest {:.0} %. Mean error of the six times at {}: {:.0} %.",
        100.0 * means[0],
        100.0 * most,
        published.columns[last],
        100.0 * means[1]
    );
    keep(table_name, &table);
    Compared { name, gpu: "mali-t604", what, source: "leadcore-slides", fitted: true, errors }.keep();
    Some(means)
}

#[test]
fn the_published_times_come_out() {
    let what = "times of six steps of a sharpening filter, pictures of five sizes";
    let Some(means) = compare("analyze/tests/held/laplace_t604.cl", "times", "laplace-t604", what) else {
        return;
    };
    assert!(means.iter().all(|mean| *mean <= 0.12), "{means:?}");
}

#[test]
fn a_second_writing_of_the_steps_takes_the_published_times() {
    let what = "the same steps, written a second time by another author";
    let Some(means) =
        compare("analyze/tests/held/laplace_t604_second.cl", "second times", "laplace-t604-second", what)
    else {
        return;
    };
    assert!(means.iter().all(|mean| *mean <= 0.20), "{means:?}");
}
