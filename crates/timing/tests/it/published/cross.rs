//! Cross-validation of the figures that were fitted to the ladder of the Mali-T604: each step, and each size, is left out of a
//! new fit, and predicted with it. Takes minutes, so it runs only when asked for:
//!
//! ```text
//! BLESS=1 cargo test -p tripipe-timing --test it cross -- --ignored
//! ```

use std::fmt::Write as _;

use tripipe_device::find;
use tripipe_ladders::published::{LaplaceT604, Published};
use tripipe_timing::Options;
use tripipe_timing::figures::Figures;

use crate::published::ladder::{FILE, predicted_with, published_seconds};
use crate::published::{keep, percent};

/// A fitted number: the figures that it sets, its plausible range, and how far it is moved for a slope.
struct Number {
    name: &'static str,
    figures: &'static [&'static str],
    range: [f64; 2],
}

const NUMBERS: [Number; 4] = [
    Number { name: "arithmetic word", figures: &["arithmetic_latency"], range: [10.0, 120.0] },
    Number { name: "load or store", figures: &["load_latency", "store_latency"], range: [10.0, 200.0] },
    Number { name: "start of a thread", figures: &["warp_start_latency"], range: [0.0, 2000.0] },
    Number { name: "translation", figures: &["tlb_walk_clocks"], range: [0.5, 20.0] },
];

/// The fitted numbers, and the host's times in milliseconds: of the first step, and of the others.
type Values = [f64; 6];

const HOST_RANGE: [f64; 2] = [0.0, 12.0];

fn options(values: &Values) -> Options {
    let mut figures = Figures::of(find("t604").unwrap());
    for (number, value) in NUMBERS.iter().zip(values) {
        for name in number.figures {
            assert!(figures.set(name, *value), "{name}");
        }
    }
    Options { figures: Some(figures), ..Options::default() }
}

/// Predicted seconds, with the host's, by step and size.
fn predict(
    published: &LaplaceT604,
    values: &Values,
    wanted: &dyn Fn(usize, usize) -> bool,
) -> Option<Vec<Vec<f64>>> {
    let mut seconds = predicted_with(published, FILE, &options(values), wanted)?;
    for (step, row) in seconds.iter_mut().enumerate() {
        for seconds in row {
            *seconds += values[4 + usize::from(step > 0)] * 1e-3;
        }
    }
    Some(seconds)
}

/// Times as a linear function of the numbers: at a point, and for each number the change of every time.
struct Slopes {
    at: Values,
    seconds: Vec<Vec<f64>>,
    changes: Vec<Vec<Vec<f64>>>,
}

impl Slopes {
    fn time(&self, step: usize, size: usize, values: &Values) -> f64 {
        let host = |values: &Values| values[4 + usize::from(step > 0)] * 1e-3;
        let host = host(values) - host(&self.at);
        let change = |number: usize| (values[number] - self.at[number]) * self.changes[number][step][size];
        (self.seconds[step][size] + host + (0..NUMBERS.len()).map(change).sum::<f64>()).max(1e-5)
    }

    /// Sum of the squared logarithms of predicted over published times.
    fn cost(&self, published: &[Vec<f64>], used: &dyn Fn(usize, usize) -> bool, values: &Values) -> f64 {
        let mut cost = 0.0;
        for (step, row) in published.iter().enumerate() {
            for (size, wanted) in row.iter().enumerate().filter(|(size, _)| used(step, *size)) {
                cost += (self.time(step, size, values) / wanted).ln().powi(2);
            }
        }
        cost
    }

    /// The numbers with the lowest cost: one after another is moved, by less and less.
    fn fit(&self, published: &[Vec<f64>], used: &dyn Fn(usize, usize) -> bool) -> Values {
        let mut best = self.at;
        let mut cost = self.cost(published, used, &best);
        let ranges = NUMBERS.iter().map(|number| number.range).chain([HOST_RANGE; 2]);
        let ranges: Vec<[f64; 2]> = ranges.collect();
        let mut part = 0.25;
        while part > 1e-4 {
            let before = cost;
            for (number, [low, high]) in ranges.iter().enumerate() {
                for sign in [-1.0, 1.0] {
                    let mut other = best;
                    other[number] = (other[number] + sign * part * (high - low)).clamp(*low, *high);
                    let found = self.cost(published, used, &other);
                    if found < cost {
                        (best, cost) = (other, found);
                    }
                }
            }
            if cost >= before {
                part /= 2.0;
            }
        }
        best
    }
}

#[test]
#[ignore = "takes minutes: see the top of this file"]
fn figures_fitted_without_a_step_or_size_predict_it() {
    let published = Published::load().unwrap().laplace_t604;
    let wanted = published_seconds(&published);
    let gpu_figures = Figures::of(find("t604").unwrap());
    let mut at = [0.0; 6];
    for (value, number) in at.iter_mut().zip(&NUMBERS) {
        *value = gpu_figures.get(number.figures[0]).unwrap();
    }
    [at[4], at[5]] = published.host_seconds.map(|seconds| seconds * 1e3);
    let all = |_: usize, _: usize| true;
    let Some(seconds) = predict(&published, &at, &all) else { return };
    let changes = (0..NUMBERS.len()).map(|number| {
        let mut moved = at;
        moved[number] *= 1.15;
        let there = predict(&published, &moved, &all).unwrap();
        let by = moved[number] - at[number];
        let rows = there.iter().zip(&seconds);
        rows.map(|(there, here)| there.iter().zip(here).map(|(there, here)| (there - here) / by).collect())
            .collect()
    });
    let slopes = Slopes { changes: changes.collect(), at, seconds };
    let steps = published.step.iter().map(|step| step.name.as_str());
    let left_out: Vec<(&str, Option<usize>, Option<usize>)> = steps
        .enumerate()
        .map(|(step, name)| (name, Some(step), None))
        .chain(published.columns.iter().enumerate().map(|(size, name)| (name.as_str(), None, Some(size))))
        .collect();
    let mut table = String::from("| left out |");
    for number in &NUMBERS {
        let _ = write!(table, " {} |", number.name);
    }
    table += " host of the first step, ms | host of the others | mean error of its times | with the model's figures | largest |\n|---|";
    table += &"--:|".repeat(NUMBERS.len() + 5);
    table += "\n";
    let write_values = |table: &mut String, values: &Values| {
        for (number, value) in values.iter().enumerate() {
            let digits = usize::from(number >= 3);
            let _ = write!(table, " {value:.digits$} |");
        }
    };
    table += "| nothing |";
    write_values(&mut table, &slopes.fit(&wanted, &all));
    table += " | | |\n| (the model's figures) |";
    write_values(&mut table, &at);
    table += " | | |\n";
    let mut sums = [[0.0; 2]; 2];
    let mut counts = [0.0; 2];
    for (name, step, size) in left_out {
        let out = |at_step: usize, at_size: usize| step == Some(at_step) || size == Some(at_size);
        let values = slopes.fit(&wanted, &|step, size| !out(step, size));
        let found = predict(&published, &values, &out).unwrap();
        let (mut errors, mut usual) = (Vec::new(), Vec::new());
        for (at_step, row) in wanted.iter().enumerate() {
            for (at_size, wanted) in row.iter().enumerate().filter(|(size, _)| out(at_step, *size)) {
                errors.push(found[at_step][at_size] / wanted - 1.0);
                usual.push(slopes.seconds[at_step][at_size] / wanted - 1.0);
            }
        }
        let mean = |errors: &[f64]| errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64;
        let largest = errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap();
        let _ = write!(table, "| {name} |");
        write_values(&mut table, &values);
        let means = [mean(&errors), mean(&usual)];
        let _ = writeln!(
            table,
            " {:.0} % | {:.0} % | {} |",
            100.0 * means[0],
            100.0 * means[1],
            percent(largest)
        );
        let kind = usize::from(size.is_some());
        counts[kind] += 1.0;
        sums[kind].iter_mut().zip(means).for_each(|(sum, mean)| *sum += mean);
    }
    let mean = |kind: usize, column: usize| 100.0 * sums[kind][column] / counts[kind];
    let _ = writeln!(
        table,
        "\nMean error of what was left out: steps {:.0} % (with the model's figures, which have seen them: {:.0} %), sizes {:.0} % ({:.0} %).",
        mean(0, 0),
        mean(0, 1),
        mean(1, 0),
        mean(1, 1)
    );
    keep("left out", &table);
    assert!(mean(0, 0) <= 25.0, "{table}");
}
