//! Windows of any weights as text: `weights:0 -1 0/-1 5 -1/0 -1 0`, rows separated by `/`, numbers by spaces, and
//! behind a colon the divisor, 1 by default.

use std::fmt::Write as _;

use crate::filter::{FilterError, Linear, Size, Taps};

/// The most weights that are printed.
const PRINTED: usize = 81;

/// The weights of rows, divided by a divisor: integers if all of them are. `None` if the text has another form.
///
/// # Errors
/// As [`Linear::full`] and [`Linear::full_real`].
pub(super) fn parse(rows: &str, divisor: Option<&str>) -> Option<Result<Linear, FilterError>> {
    let rows: Vec<Vec<&str>> = rows.split('/').map(|row| row.split_whitespace().collect()).collect();
    let size = Size::new(rows[0].len(), rows.len());
    if rows.iter().any(|row| row.len() != size.width) {
        return None;
    }
    let numbers = || rows.iter().flatten();
    let whole: Option<Vec<i32>> = numbers().map(|number| number.parse().ok()).collect();
    let divisor = divisor.unwrap_or("1");
    if let (Some(weights), Ok(divisor)) = (whole, divisor.parse()) {
        return Some(Linear::full(size, weights, divisor));
    }
    let divisor: f64 = divisor.parse().ok()?;
    let weights: Option<Vec<f32>> =
        numbers().map(|number| Some((number.parse::<f64>().ok()? / divisor) as f32)).collect();
    Some(Linear::full_real(size, weights?))
}

/// The text that [`parse`] reads; `None` for a filter that it does not make, and for very many weights.
pub(super) fn text(linear: &Linear) -> Option<String> {
    let Size { width, height } = linear.size();
    let plain = match linear.taps() {
        Taps::Full(weights) => Linear::full(linear.size(), weights.clone(), linear.divisor()),
        Taps::FullReal(weights) => Linear::full_real(linear.size(), weights.clone()),
        Taps::Separable { .. } | Taps::SeparableReal { .. } => return None,
    };
    if plain.as_ref() != Ok(linear) || width * height > PRINTED {
        return None;
    }
    let numbers: Vec<String> = match linear.taps() {
        Taps::Full(weights) => weights.iter().map(ToString::to_string).collect(),
        _ => linear.real().iter().map(ToString::to_string).collect(),
    };
    let rows: Vec<String> = numbers.chunks(width).map(|row| row.join(" ")).collect();
    let mut text = format!("weights:{}", rows.join("/"));
    if linear.divisor() != 1 {
        // Writing to a text does not fail.
        let _ = write!(text, ":{}", linear.divisor());
    }
    Some(text)
}
