//! Simple, slow reference implementations of the operations, in `f64` for floating-point elements.

/// `y + alpha x`.
pub fn axpy(alpha: f32, x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| f64::from(alpha) * x + y).collect()
}

/// The sum of the products; with `y` all ones it is the sum.
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The smallest element and the index of the first such element; `None` when all are NaN, or there are none.
pub fn least(x: &[f64]) -> Option<(f64, usize)> {
    let mut found: Option<(f64, usize)> = None;
    for (index, value) in x.iter().copied().enumerate().filter(|(_, value)| !value.is_nan()) {
        if found.is_none_or(|(least, _)| value < least) {
            found = Some((value, index));
        }
    }
    found
}

/// The largest element and the index of the first such element; otherwise as [`least`].
pub fn most(x: &[f64]) -> Option<(f64, usize)> {
    let negated: Vec<f64> = x.iter().map(|value| -value).collect();
    least(&negated).map(|(value, index)| (-value, index))
}

/// The number of occurrences of each byte value.
pub fn histogram(bytes: impl IntoIterator<Item = u8>) -> [u32; 256] {
    let mut counts = [0; 256];
    for byte in bytes {
        counts[usize::from(byte)] += 1;
    }
    counts
}

/// The transpose of a matrix without gaps, row by row.
pub fn transpose<T: Copy>(from: &[T], columns: usize) -> Vec<T> {
    (0..columns).flat_map(|x| from.iter().skip(x).step_by(columns).copied()).collect()
}
