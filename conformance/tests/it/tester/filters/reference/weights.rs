//! The weights of linear filters, exact or rounded.

use super::super::super::numbers::Kind;
use super::super::Step;
use super::Not;

/// A weighted sum: weights, row by row, divided by a divisor, plus an offset.
pub(super) struct Sum {
    pub(super) size: [usize; 2],
    pub(super) weights: Vec<f64>,
    pub(super) divisor: f64,
    pub(super) offset: f64,
    /// The largest intermediate sum of magnitudes, for pixels of 1: a pass over rows may precede the division.
    pub(super) passing: f64,
    /// How weights may be rounded for integer pixels.
    pub(super) rounding: Rounding,
}

#[derive(Clone, Copy)]
pub(super) enum Rounding {
    /// The weights are integers.
    Exact,
    /// Sums in `float`, in which each pixel passes through this many additions.
    Float { terms: usize },
    /// The maximum error of the result.
    Result(f64),
    /// The maximum error of each weight.
    Weights { each: f64 },
    /// The maximum error of each factor of the weights, and the sums of the factors' magnitudes.
    Factors { each: [f64; 2], sums: [f64; 2] },
}

/// The weighted sums of a step: one, or two derivatives.
pub(super) fn weights(step: &Step, kind: Kind) -> Result<Vec<Sum>, Not> {
    let sum = |size: [usize; 2], weights: Vec<f64>, divisor: f64, offset: f64| {
        let passing = weights.iter().map(|weight| weight.abs()).sum();
        Sum { size, weights, divisor, offset, passing, rounding: Rounding::Exact }
    };
    let ones = |weights: &[i64], size| sum(size, weights.iter().map(|w| *w as f64).collect(), 1.0, 0.0);
    let outer = |across: &[f64], down: &[f64]| -> Vec<f64> {
        down.iter().flat_map(|y| across.iter().map(move |x| x * y)).collect()
    };
    let derivative = |scharr: bool, down: bool| {
        let smooth = if scharr { [3.0, 10.0, 3.0] } else { [1.0, 2.0, 1.0] };
        let slope = [-1.0, 0.0, 1.0];
        let weights = if down { outer(&smooth, &slope) } else { outer(&slope, &smooth) };
        sum([3, 3], weights, 1.0, 0.0)
    };
    let sums = match step {
        Step::Linear { weights, divisor, offset, .. } => {
            let all = weights.all().into_iter().map(|weight| weight as f64).collect();
            vec![sum(weights.size, all, f64::from(*divisor), f64::from(*offset))]
        }
        Step::Real { weights, scale, offset, .. } => {
            let (factors, full) = weights.real(*scale);
            let wide = |numbers: &[f32]| numbers.iter().map(|number| f64::from(*number)).collect::<Vec<_>>();
            let size_of = |numbers: &[f32]| numbers.iter().map(|number| f64::from(number.abs())).sum();
            let (all, sizes) = match factors {
                Some([across, down]) => {
                    (outer(&wide(&across), &wide(&down)), Some([size_of(&across), size_of(&down)]))
                }
                None => (wide(&full), None),
            };
            let mut sum = sum(weights.size, all, 1.0, f64::from(*offset));
            sum.rounding = real_rounding(&sum, sizes, kind)?;
            vec![sum]
        }
        Step::Gaussian { size, sigma } => {
            let (numbers, table) = gaussian(*size, *sigma);
            let total: f64 = numbers.iter().sum();
            if table {
                return checked(vec![sum([*size; 2], outer(&numbers, &numbers), total * total, 0.0)], kind);
            }
            let parts: Vec<f64> = numbers.iter().map(|number| number / total).collect();
            let mut sum = sum([*size; 2], outer(&parts, &parts), 1.0, 0.0);
            // The error of a result is at most 1 for bytes.
            sum.rounding = match kind {
                Kind::U8 => Rounding::Result(1.0),
                _ => real_rounding(&sum, Some([1.0; 2]), kind)?,
            };
            vec![sum]
        }
        Step::Unsharp { size, sigma, amount } => {
            let (numbers, _) = gaussian(*size, *sigma);
            let total: f64 = numbers.iter().sum();
            let amount = f64::from(*amount);
            let mut all: Vec<f64> = outer(&numbers, &numbers)
                .into_iter()
                .map(|weight| -amount * weight / (total * total))
                .collect();
            let centre = all.len() / 2;
            all[centre] += 1.0 + amount;
            let mut sum = sum([*size; 2], all, 1.0, 0.0);
            sum.rounding = real_rounding(&sum, None, kind)?;
            vec![sum]
        }
        Step::Mean([width, height]) => {
            vec![sum([*width, *height], vec![1.0; width * height], (width * height) as f64, 0.0)]
        }
        Step::Laplace4 => vec![ones(&[0, 1, 0, 1, -4, 1, 0, 1, 0], [3, 3])],
        Step::Laplace8 => vec![ones(&[1, 1, 1, 1, -8, 1, 1, 1, 1], [3, 3])],
        Step::LaplaceSharpen => vec![ones(&[-1, -1, -1, -1, 9, -1, -1, -1, -1], [3, 3])],
        Step::Sharpen => vec![ones(&[0, -1, 0, -1, 5, -1, 0, -1, 0], [3, 3])],
        Step::Derivative { scharr, down } => vec![derivative(*scharr, *down)],
        Step::Gradient { scharr } => vec![derivative(*scharr, false), derivative(*scharr, true)],
        _ => Vec::new(),
    };
    checked(sums, kind)
}

/// Sums of integer weights and pixels that exceed 32 bits are refused.
fn checked(sums: Vec<Sum>, kind: Kind) -> Result<Vec<Sum>, Not> {
    if let Some([low, high]) = kind.range() {
        for sum in sums.iter().filter(|sum| matches!(sum.rounding, Rounding::Exact)) {
            // What weights and divisor have in common takes no room.
            let common = sum.weights.iter().fold(sum.divisor, |mut common, weight| {
                let mut rest = weight.abs();
                while rest != 0.0 {
                    (common, rest) = (rest, common % rest);
                }
                common
            });
            let half = (sum.divisor / common / 2.0).floor();
            let divisor = sum.divisor / common;
            let weights: Vec<f64> = sum.weights.iter().map(|weight| weight / common).collect();
            // 32 bits, unsigned if neither pixels nor weights are negative and the divisor is above 1.
            let unsigned = low == 0.0 && divisor > 1.0 && weights.iter().all(|weight| *weight >= 0.0);
            let limit = f64::from(if unsigned { u32::MAX } else { i32::MAX as u32 });
            let magnitude: f64 = weights.iter().map(|weight| weight.abs()).sum();
            if magnitude * high.max(-low) + half <= limit {
                continue;
            }
            let extreme = |positive: f64, negative: f64| -> f64 {
                weights.iter().map(|w| w * if *w > 0.0 { positive } else { negative }).sum()
            };
            let leaves = extreme(low, high) < f64::from(i32::MIN) || extreme(high, low) + half > limit;
            return Err(if leaves { Not::Taken } else { Not::Sure });
        }
    }
    Ok(sums)
}

/// On bytes, real weights are rounded to multiples of a power of two, each with an error of at most one step. For a
/// full window, it is the smallest step, down to 2^-22, with which no sum exceeds 30 bits; for factors it is at most
/// 2^-8 if there is room. Sums that exceed 32 bits are refused. For 16 bits, sums are in `float`.
fn real_rounding(sum: &Sum, factors: Option<[f64; 2]>, kind: Kind) -> Result<Rounding, Not> {
    let Some([low, high]) = kind.range() else { return Ok(Rounding::Exact) };
    let (weights, [width, height]) = (&sum.weights, sum.size);
    if kind != Kind::U8 {
        return Ok(Rounding::Float {
            terms: if factors.is_some() { width + height } else { width * height },
        });
    }
    let largest = high.max(-low);
    let all = weights.iter().map(|weight| weight.abs()).sum::<f64>() * largest;
    let Some([across, down]) = factors else {
        let limit = 2f64.powi(30);
        if all > 1.2 * limit {
            return Err(Not::Taken);
        }
        let bits = (0..=22).rev().find(|bits| all * 2f64.powi(*bits) < limit);
        return bits.map(|bits| Rounding::Weights { each: 2f64.powi(-bits) }).ok_or(Not::Sure);
    };
    let bits = [8, 8];
    let alone = (across * 2f64.powi(bits[0])).max(down * 2f64.powi(bits[1])) * largest;
    if all > 1.2 * 2f64.powi(32) {
        return Err(Not::Taken);
    }
    // With less room, fewer bits are used.
    let room = if low == 0.0 && weights.iter().all(|weight| *weight >= 0.0) {
        0.9 * 2f64.powi(32)
    } else {
        0.9 * 2f64.powi(31)
    };
    if all * 2f64.powi(bits[0] + bits[1]) > room || alone > room {
        return Err(Not::Sure);
    }
    Ok(Rounding::Factors { each: bits.map(|bits| 2f64.powi(-bits)), sums: [across, down] })
}

/// The weights of one axis, and whether they are integers from a table.
fn gaussian(size: usize, sigma: Option<f32>) -> (Vec<f64>, bool) {
    let table: &[f64] = match (size, sigma) {
        (1, None) => &[1.0],
        (3, None) => &[1.0, 2.0, 1.0],
        (5, None) => &[1.0, 4.0, 6.0, 4.0, 1.0],
        (7, None) => &[8.0, 28.0, 56.0, 72.0, 56.0, 28.0, 8.0],
        _ => &[],
    };
    if !table.is_empty() {
        return (table.to_vec(), true);
    }
    if (size, sigma) == (9, None) {
        return (vec![4.0, 13.0, 30.0, 51.0, 60.0, 51.0, 30.0, 13.0, 4.0], false);
    }
    let sigma = sigma.map_or(0.3 * ((size as f64 - 1.0) * 0.5 - 1.0) + 0.8, f64::from);
    let numbers = (0..size).map(|i| {
        let away = (i as f64 - (size as f64 - 1.0) / 2.0) / sigma;
        (-0.5 * away * away).exp()
    });
    (numbers.collect(), false)
}
