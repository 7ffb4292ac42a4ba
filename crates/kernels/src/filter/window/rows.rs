//! Rows of weights that are multiples of each other, of which one is computed.

/// The distinct rows (not multiples of each other), concatenated; for each row, the index of its distinct row; and
/// for each row, the factor.
pub(in crate::filter) fn distinct_rows<T: Copy + PartialEq>(
    weights: &[T],
    width: usize,
    reduce: impl Fn(&[T]) -> (Vec<T>, T),
) -> (Vec<T>, Vec<usize>, Vec<T>) {
    let (mut across, mut kinds, mut down): (Vec<T>, Vec<usize>, Vec<T>) =
        (Vec::new(), Vec::new(), Vec::new());
    for row in weights.chunks(width) {
        let (reduced, times) = reduce(row);
        let known = across.chunks(width).position(|known| known == reduced);
        kinds.push(known.unwrap_or(across.len() / width));
        if known.is_none() {
            across.extend(reduced);
        }
        down.push(times);
    }
    (across, kinds, down)
}

/// A row as a multiple of a primitive row, whose weights have no common divisor and whose first non-zero weight is
/// positive. A row of zeros is 0 times itself.
pub(in crate::filter) fn primitive(row: &[i32]) -> (Vec<i32>, i32) {
    let common = row.iter().fold(0, |a, b| greatest_common_divisor(a, b.unsigned_abs()));
    let first = row.iter().find(|weight| **weight != 0).copied().unwrap_or(0);
    let times = common as i32 * first.signum();
    if times == 0 {
        return (row.to_vec(), 0);
    }
    (row.iter().map(|weight| weight / times).collect(), times)
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

pub(super) fn is_zero(row: &[f32]) -> bool {
    row.iter().all(|weight| *weight == 0.0)
}
