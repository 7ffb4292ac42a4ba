//! Histograms as text.

use std::fmt::Write as _;

use tripipe_results::{ChannelHistogram, Histogram};

use crate::number::{percent, significant};
use crate::style::{Canvas, Tone};

/// Bins per line.
const STEP: usize = 16;
/// Characters before a bar: the values of its line and their share.
const AHEAD: usize = 24;

/// A bar chart for each channel: sixteen lines of sixteen bins; `said` is the device that counted, in one line.
pub fn text(histogram: &Histogram, said: &str, canvas: Canvas) -> String {
    let Histogram { picture, width, height, bits, channels, .. } = histogram;
    let mut out = format!("{} {width}x{height}\n", canvas.paint(Tone::Heading, picture));
    if *bits > 8 {
        let _ = writeln!(out, "  values are the upper 8 of {bits} bits");
    }
    for channel in channels {
        let ChannelHistogram { name, min, max, median, mean, counts } = channel;
        let name = canvas.paint(Tone::Heading, name);
        let mean = significant(*mean);
        let _ = writeln!(out, "\n  {name}: {min} to {max}, median {median}, mean {mean}");
        bars(counts, canvas, &mut out);
    }
    let _ = writeln!(out, "\n{}", canvas.paint(Tone::Faint, said));
    out
}

fn bars(counts: &[u32], canvas: Canvas, out: &mut String) {
    let sums: Vec<u64> =
        counts.chunks(STEP).map(|bins| bins.iter().map(|count| u64::from(*count)).sum()).collect();
    let all = sums.iter().sum::<u64>().max(1) as f64;
    let longest = sums.iter().copied().max().unwrap_or(0).max(1) as f64;
    let room = canvas.width.saturating_sub(AHEAD).clamp(10, 64);
    for (line, sum) in sums.iter().enumerate() {
        let [first, last] = [line * STEP, line * STEP + STEP - 1];
        let bar = "█".repeat((*sum as f64 / longest * room as f64).round() as usize);
        let line = format!("  {first:>3} to {last:>3}  {:>6}  {bar}", percent(*sum as f64 / all));
        let _ = writeln!(out, "{}", line.trim_end());
    }
}
