//! Text: a table for each group.

use std::fmt::Write as _;

use tripipe_timing::counters::Counters;

use crate::number::{counted, grouped, significant};
use crate::style::{Canvas, Tone, paragraph};
use crate::table::Columns;

/// Counters by group, with what they stand for, and what is missing.
pub fn text(counters: &Counters, gpu: &str, canvas: Canvas) -> String {
    let mut out = String::new();
    let title = format!("Counters of {gpu}: {}", whose(counters));
    out.push_str(&paragraph(canvas, "", 0, &title));
    let mut groups: Vec<&str> = Vec::new();
    for counter in &counters.counters {
        if !groups.contains(&counter.group) {
            groups.push(counter.group);
        }
    }
    for group in groups {
        let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, group));
        let of_group = counters.counters.iter().filter(|counter| counter.group == group);
        let rows = of_group.map(|counter| {
            vec![
                counter.title.to_owned(),
                value(counter.value),
                counter.unit.to_owned(),
                format!("{}: {}", counter.basis.name(), counter.derived),
            ]
        });
        let heads = ["counter", "value", "unit", "derived"].map(str::to_owned).to_vec();
        out.push_str(&Columns { heads, rows: rows.collect(), left: vec![0, 2, 3], keys: 1 }.draw(canvas));
    }
    if !counters.missing.is_empty() {
        let _ = writeln!(out, "\n{}", canvas.paint(Tone::Heading, "Not derived"));
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for missing in &counters.missing {
            // Each formula names another counter that it lacks. One reason for all of them is shorter.
            let follows = missing.reason.ends_with("has no value");
            let reason =
                if follows { "computed from counters that are not derived" } else { &missing.reason };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(missing.name),
                None => reasons.push((reason, vec![missing.name])),
            }
        }
        for (reason, names) in reasons {
            out.push_str(&paragraph(canvas, "", 2, &format!("{reason}: {}.", names.join(", "))));
        }
    }
    let graphics = counted(counters.graphics as u64, "counter");
    out.push_str(&paragraph(canvas, "", 0, &format!("{graphics} that only graphics moves are left out.")));
    canvas.shown(out)
}

/// Whose counters they are, in words.
pub(crate) fn whose(counters: &Counters) -> String {
    let Counters { naming, product, borrowed, .. } = counters;
    let nearest = if *borrowed { ", the nearest GPU that is listed" } else { "" };
    format!("those of {product}{nearest}, under the names of {naming}; docs/counters.md explains them.")
}

/// A value: whole numbers in full, others to significant digits.
pub(crate) fn value(value: f64) -> String {
    let size = value.abs();
    // Above 1e18 the value might not fit into 64 bits.
    if (1000.0..1e18).contains(&size) {
        let sign = if value < 0.0 { "-" } else { "" };
        format!("{sign}{}", grouped(size.round() as u64))
    } else if value.fract() == 0.0 {
        format!("{value}")
    } else {
        significant(value)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_value_below_zero_keeps_its_digits() {
        let values = [-1e18, -1_234_567.0, -1000.0, -12.5, 0.0, 999.0, 1000.4, 1e17];
        let shown = [
            "-1000000000000000000",
            "-1,234,567",
            "-1,000",
            "-12.5",
            "0",
            "999",
            "1,000",
            "100,000,000,000,000,000",
        ];
        assert_eq!(values.map(super::value), shown);
    }
}
