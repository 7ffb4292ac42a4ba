//! The published Laplace ladder on a Mali-T604: six steps, five sizes.

use std::fmt::Write as _;
use std::sync::Arc;

use tripipe_device::find;
use tripipe_ladders::published::{LaplaceT604, Published};
use tripipe_launch::{MemoryKind, NdRange};

use tripipe_timing::Options;

use crate::published::{Compared, Passed, keep, percent, program, time_with};

/// Pixels of a work-item, by step.
const PIXELS: [usize; 6] = [1, 5, 5, 5, 4, 8];

/// The first writing of the steps.
pub(crate) const FILE: &str = "ladders/src/laplace/published.cl";

/// Published seconds, by step and size.
pub(crate) fn published_seconds(published: &LaplaceT604) -> Vec<Vec<f64>> {
    let of_step = |speedups: &Vec<f64>| {
        let both = published.original_seconds.iter().zip(speedups);
        both.map(|(seconds, speedup)| seconds / speedup).collect()
    };
    published.step.iter().map(|step| of_step(&step.speedup)).collect()
}

/// Predicted seconds of the kernels by step and size, without the host's; 0 for those that are not wanted.
pub(crate) fn predicted_with(
    published: &LaplaceT604,
    file: &'static str,
    options: &Options,
    wanted: &dyn Fn(usize, usize) -> bool,
) -> Option<Vec<Vec<f64>>> {
    let gpu = find("t604").unwrap();
    let program = Arc::new(program(file));
    let mut seconds = Vec::new();
    for (number, (step, pixels)) in published.step.iter().zip(PIXELS).enumerate() {
        let mut row = Vec::new();
        for (column, size) in published.columns.iter().enumerate() {
            if !wanted(number, column) {
                row.push(0.0);
                continue;
            }
            let (width, height) = size.split_once('x').unwrap();
            let (width, height): (usize, usize) = (width.parse().unwrap(), height.parse().unwrap());
            // As published: dimension 0 walks down the picture. Rows beyond the last one are read.
            let buffer = MemoryKind::Buffer { bytes: 3 * width * (height + 4) + 64 };
            let mut passed = vec![Passed::Memory(buffer.clone()), Passed::Memory(buffer), Passed::Int(width)];
            if pixels == 1 {
                passed.push(Passed::Int(height));
            }
            let entry = step.name.replace('-', "_");
            let found =
                time_with(gpu, options, &program, &entry, passed, NdRange::d2(height, width / pixels))?;
            row.push(found.seconds);
        }
        seconds.push(row);
    }
    Some(seconds)
}

/// Compares one writing of the steps; has the mean error of the speed-ups, and of the times at the largest size.
fn compare(file: &'static str, table_name: &str, name: &'static str, what: &'static str) -> Option<[f64; 2]> {
    let published = Published::load().unwrap().laplace_t604;
    let mut seconds = predicted_with(&published, file, &Options::default(), &|_, _| true)?;
    for (step, row) in seconds.iter_mut().enumerate() {
        for seconds in row {
            *seconds += published.host_seconds(&published.step[step].name);
        }
    }
    let wanted = published_seconds(&published);
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
    for (number, (step, row)) in published.step.iter().zip(&seconds).enumerate() {
        let _ = write!(table, "| {} |", step.name);
        for (size, found) in row.iter().enumerate() {
            let speedup = seconds[0][size] / found;
            let error = speedup / step.speedup[size] - 1.0;
            all += error.abs();
            most = most.max(error.abs());
            let in_time = found / wanted[number][size] - 1.0;
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
    let Some(means) = compare(FILE, "times", "laplace-t604", what) else {
        return;
    };
    assert!(means.iter().all(|mean| *mean <= 0.12), "{means:?}");
}

/// The part of the published times that does not grow with the picture, from each size and the largest one. The prime of
/// 2048x2048 is left out.
#[test]
fn the_times_of_the_host_are_the_same_at_all_sizes() {
    let published = Published::load().unwrap().laplace_t604;
    let last = published.columns.len() - 1;
    let sizes: Vec<usize> = (0..last).filter(|size| published.columns[*size] != "2048x2048").collect();
    let mut table = String::from("| step |");
    for size in &sizes {
        let _ = write!(table, " {} |", published.columns[*size]);
    }
    table += "\n|---|";
    table += &"--:|".repeat(sizes.len());
    table += "\n";
    let wanted = published_seconds(&published);
    let steps = published.step.iter().zip(&wanted).map(|(step, row)| (step.name.as_str(), row));
    for (name, row) in steps.chain([("serial Cortex-A15", &published.cpu_seconds)]) {
        let _ = write!(table, "| {name} |");
        for size in &sizes {
            // host + share * work = time, and host + work = the time of the largest.
            let share = published.pixels[*size] as f64 / published.pixels[last] as f64;
            let host = (row[*size] - share * row[last]) / (1.0 - share) * 1e3;
            let _ = write!(table, " {host:.1} ms |");
        }
        table += "\n";
    }
    keep("host", &table);
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
