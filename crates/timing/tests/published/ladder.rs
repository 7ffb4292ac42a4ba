//! The published Laplace ladder on a Mali-T604: six steps, five sizes.

use std::fmt::Write as _;

use tripipe_device::find;
use tripipe_ladders::published::Published;
use tripipe_launch::MemoryKind;

use crate::{Passed, keep, percent, program, time};

/// Host time of each published measurement, in seconds: fitted to the smallest size, where the kernels take a tenth of
/// the published time. (The serial CPU code of the same slides is also slower there, by 13 ms.)
const HOST_SECONDS: f64 = 0.0055;

#[test]
fn the_published_times_come_out() {
    let gpu = find("t604").unwrap();
    let published = Published::load().unwrap().laplace_t604;
    let program = program("laplace_t604.cl");
    let pixels_of_an_item = [1, 5, 5, 5, 4, 8];
    let mut seconds = Vec::new();
    for (step, pixels) in published.step.iter().zip(pixels_of_an_item) {
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
            let Some(found) = time(gpu, &program, &entry, &passed, [height, width / pixels]) else { return };
            row.push(found.seconds + HOST_SECONDS);
        }
        seconds.push(row);
    }
    let mut table = String::from("| step |");
    for size in &published.columns {
        let _ = write!(table, " {size} | speed-up | error |");
    }
    table += "\n|---|";
    published.columns.iter().for_each(|_| table += "--:|--:|--:|");
    table += "\n";
    let (mut all, mut most, mut absolute) = (0.0, 0.0_f64, 0.0);
    let last = published.columns.len() - 1;
    for (step, row) in published.step.iter().zip(&seconds) {
        let _ = write!(table, "| {} |", step.name);
        for (size, found) in row.iter().enumerate() {
            let speedup = seconds[0][size] / found;
            let error = speedup / step.speedup[size] - 1.0;
            all += error.abs();
            most = most.max(error.abs());
            if size == last {
                absolute += (found / (published.original_seconds[size] / step.speedup[size]) - 1.0).abs();
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
    let _ = writeln!(
        table,
        "\nMean error of the {count} speed-ups: {:.0} %, largest {:.0} %. Mean error of the six times at {}: {:.0} %.",
        100.0 * all / count,
        100.0 * most,
        published.columns[last],
        100.0 * absolute / published.step.len() as f64
    );
    keep("times", &table);
    assert!(all / count <= 0.12, "{table}");
    assert!(absolute / published.step.len() as f64 <= 0.12, "{table}");
}
