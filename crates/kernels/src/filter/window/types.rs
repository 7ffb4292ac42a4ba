//! The types in which windows are computed.

use crate::filter::{Fixed, PixelType};

/// The signed integer type of the same width as `work`; `float` is unchanged.
pub(super) fn signed(work: &'static str) -> &'static str {
    match work {
        "uchar" => "char",
        "ushort" => "short",
        "uint" => "int",
        work => work,
    }
}

/// The unsigned integer type of the same width as `work`; `float` is unchanged.
pub(super) fn unsigned(work: &'static str) -> &'static str {
    match work {
        "short" => "ushort",
        "int" => "uint",
        work => work,
    }
}

/// Whether a result, or a copied element, can exceed the range of the type.
pub(super) fn leaves(to: PixelType, fixed: &Fixed, from: PixelType) -> bool {
    let (Some(range), Some(copied)) = (to.range(), from.range()) else { return false };
    let divisor = i64::from(fixed.divisor);
    let results = fixed.sums.map(|sum| (sum + divisor / 2).div_euclid(divisor) + i64::from(fixed.offset));
    let [low, high] = range.map(i64::from);
    results.into_iter().chain(copied.map(i64::from)).any(|value| !(low..=high).contains(&value))
}

/// The 32-bit type in which every partial sum fits.
pub(super) fn wide_type(fixed: &Fixed) -> &'static str {
    if fixed.is_unsigned() { "uint" } else { "int" }
}

/// The narrowest type that holds every partial sum in any order, the rounding term, and the result with its offset.
pub(super) fn work_type(fixed: &Fixed, from: PixelType, whole: bool) -> &'static str {
    let Some([low, high]) = from.range() else { return "float" };
    let largest = i64::from(low.abs().max(high));
    let magnitude: i64 = fixed.weights.iter().map(|weight| i64::from(*weight).abs()).sum::<i64>() * largest;
    let offset = if whole { i64::from(fixed.offset) } else { 0 };
    let most = magnitude.max(largest) + i64::from(fixed.divisor / 2) + offset.abs();
    // The divisor is a constant of that type, and so is every weight.
    let most = most.max(i64::from(fixed.divisor));
    let never_negative = low == 0 && offset >= 0 && fixed.weights.iter().all(|weight| *weight >= 0);
    // Unsigned division is cheaper.
    let divided = whole && !fixed.divisor.is_power_of_two();
    if never_negative && divided && most <= i64::from(u16::MAX) {
        "ushort"
    } else if most <= i64::from(i16::MAX) {
        "short"
    } else if never_negative && most <= i64::from(u16::MAX) {
        "ushort"
    } else {
        wide_type(fixed)
    }
}
