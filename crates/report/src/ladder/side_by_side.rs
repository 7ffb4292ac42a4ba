//! The same ladder on several devices, side by side.

use tripipe_ladders::ladder::Climb;

use crate::number::{significant, time};
use crate::style::{Canvas, Tone, paragraph};
use crate::table::{Cell, Group, Row, draw};

/// Two steps change places between devices if each is faster than the other by more than this factor somewhere.
const CLEARLY: f64 = 1.05;
/// The number of flips that are listed for a size: those with the largest difference.
const FLIPS: usize = 5;

/// Each step's speed-up over the first on every device, and the pairs of steps whose order differs between devices.
/// Empty for less than two climbs with the same steps and sizes.
pub fn side_by_side(climbs: &[Climb], canvas: Canvas) -> String {
    canvas.shown(drawn(climbs, canvas))
}

fn drawn(climbs: &[Climb], canvas: Canvas) -> String {
    let [first, others @ ..] = climbs else { return String::new() };
    let same = |climb: &Climb| {
        climb.sizes == first.sizes
            && climb.steps.iter().map(|step| &step.name).eq(first.steps.iter().map(|step| &step.name))
    };
    if others.is_empty() || !others.iter().all(same) {
        return String::new();
    }
    let names: Vec<Cell> = first.steps.iter().map(|step| Cell::new(step.name.as_str())).collect();
    let steps: Vec<&str> = first.steps.iter().map(|step| step.name.as_str()).collect();
    let devices: Vec<&str> = climbs.iter().map(|climb| climb.device.as_str()).collect();
    let mut out =
        format!("{}\n", canvas.paint(Tone::Heading, "Side by side: time, and speed-up over the first step"));
    for (column, size) in first.sizes.iter().enumerate() {
        let seconds: Vec<Vec<Option<f64>>> = climbs.iter().map(|climb| seconds(climb, column)).collect();
        let groups: Vec<Group> = climbs.iter().zip(&seconds).map(|(climb, own)| group(climb, own)).collect();
        out.push_str(&draw(canvas, &size.to_string(), &names, &groups, 0));
        for line in flips(&devices, &steps, &seconds) {
            out.push_str(&paragraph(canvas, "  ", 2, &line));
        }
        out.push('\n');
    }
    out
}

fn seconds(climb: &Climb, column: usize) -> Vec<Option<f64>> {
    let of = |step: &tripipe_ladders::ladder::ClimbedStep| {
        Some(step.outcomes.get(column)?.measured()?.seconds.median())
    };
    climb.steps.iter().map(of).collect()
}

fn group(climb: &Climb, seconds: &[Option<f64>]) -> Group {
    let best = seconds.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let first = seconds.first().copied().flatten();
    let rows = seconds.iter().map(|seconds| match seconds {
        None => Row::Across(Cell::toned("–", Tone::Faint)),
        Some(seconds) => {
            let tone = if *seconds <= best { Tone::Best } else { Tone::Plain };
            let speedup = first.map_or_else(|| "–".to_owned(), |first| significant(first / seconds));
            Row::Cells(vec![Cell::new(time(*seconds)), Cell::toned(speedup, tone)])
        }
    });
    let columns = vec!["time".to_owned(), "×1st".to_owned()];
    Group { title: climb.device.clone(), columns, rows: rows.collect() }
}

/// The pairs of steps whose order differs between two devices, one sentence each, the largest differences first.
/// `seconds` has a list for each device, with the time of each step.
pub(crate) fn flips(devices: &[&str], steps: &[&str], seconds: &[Vec<Option<f64>>]) -> Vec<String> {
    let mut found: Vec<(f64, String)> = Vec::new();
    let of = |device: usize, step: usize| *seconds.get(device)?.get(step)?;
    for a in 0..steps.len() {
        for b in a + 1..steps.len() {
            // How much faster b is than a, on each device.
            let gain = |device: usize| Some(of(device, a)? / of(device, b)?);
            let gains: Vec<(f64, usize)> =
                (0..devices.len()).filter_map(|device| Some((gain(device)?, device))).collect();
            let most = gains.iter().max_by(|x, y| x.0.total_cmp(&y.0));
            let least = gains.iter().min_by(|x, y| x.0.total_cmp(&y.0));
            let (Some((up, on)), Some((down, off))) = (most, least) else { continue };
            if *up < CLEARLY || *down > 1.0 / CLEARLY {
                continue;
            }
            let [name_a, name_b] = [a, b].map(|step| steps[step]);
            let [on, off] = [*on, *off].map(|device| devices[device]);
            found.push((
                up / down,
                format!(
                    "Flips: {name_b} beats {name_a} {}x on {on}; {name_a} beats {name_b} {}x on {off}.",
                    significant(*up),
                    significant(1.0 / down)
                ),
            ));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(FLIPS);
    found.into_iter().map(|(_, text)| text).collect()
}
