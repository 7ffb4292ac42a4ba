//! The ranges of the results of arithmetic and of built-in functions.

use super::Range;
use crate::op::{Binary, Builtin};

/// The smallest range of the form -2^k to 2^k - 1 that contains both.
fn mask_around(a: Range, b: Range) -> Range {
    let joined = a.join(b);
    let bits = |number: i64| 65 - (number ^ (number >> 63)).leading_zeros();
    Range::signed(bits(joined.low).max(bits(joined.high)).min(64))
}

pub(super) fn binary(binary: Binary, a: Range, b: Range, bits: u32, wraps: bool) -> Range {
    let all = Range::signed(bits);
    let last_shift = i64::from(bits) - 1;
    let shifts = || Range { low: b.low.clamp(0, last_shift), high: b.high.clamp(0, last_shift) };
    match binary {
        Binary::Add => a.corners(b, bits, wraps, |a, b| a + b),
        Binary::Sub => a.corners(b, bits, wraps, |a, b| a - b),
        Binary::Mul => a.corners(b, bits, wraps, |a, b| a * b),
        Binary::Shl => a.corners(shifts(), bits, wraps, |a, b| a << b),
        Binary::AShr => a.corners(shifts(), bits, true, |a, b| a >> b),
        Binary::LShr if a.is_natural() => a.corners(shifts(), bits, true, |a, b| a >> b),
        Binary::LShr if b.low > 0 => Range::unsigned(bits - b.low.min(last_shift) as u32),
        Binary::And if a.is_natural() && b.is_natural() => Range { low: 0, high: a.high.min(b.high) },
        Binary::And if a.is_natural() => Range { low: 0, high: a.high },
        Binary::And if b.is_natural() => Range { low: 0, high: b.high },
        Binary::Or | Binary::Xor if a.is_natural() && b.is_natural() => {
            let low = if binary == Binary::Or { a.low.max(b.low) } else { 0 };
            Range { low, high: mask_around(a, b).high }
        }
        Binary::And | Binary::Or | Binary::Xor => mask_around(a, b),
        // Division by zero is undefined: the divisor is taken to be nonzero.
        Binary::SDiv if b.high > 0 && b.low >= 0 => {
            a.corners(Range { low: b.low.max(1), ..b }, bits, true, |a, b| a / b)
        }
        Binary::UDiv if a.is_natural() && b.is_natural() && b.high > 0 => {
            a.corners(Range { low: b.low.max(1), ..b }, bits, true, |a, b| a / b)
        }
        Binary::UDiv if b.low > 1 => Range::unsigned(bits - 1),
        Binary::URem if b.is_natural() && b.high > 0 => {
            let high = b.high - 1;
            Range { low: 0, high: if a.is_natural() { high.min(a.high) } else { high } }
        }
        Binary::SRem if b.is_natural() && b.high > 0 => {
            let most = b.high - 1;
            Range { low: a.low.clamp(-most, 0), high: a.high.clamp(0, most) }
        }
        Binary::SMod if b.is_natural() && b.high > 0 => Range { low: 0, high: b.high - 1 },
        _ => all,
    }
}

pub(super) fn builtin(builtin: Builtin, operands: &[Range], bits: u32) -> Range {
    use Builtin as B;
    let all = Range::signed(bits);
    let natural = operands.iter().all(|range| range.is_natural());
    match (builtin, operands) {
        (B::SAbs, [a]) if a.low > all.low => {
            let most = a.low.saturating_neg().max(a.high);
            let least = if a.contains(0) { 0 } else { a.low.saturating_abs().min(a.high.saturating_abs()) };
            Range { low: least, high: most }
        }
        (B::UAbs, [a]) => *a,
        (B::SAbsDiff | B::UAbsDiff, [a, b]) if builtin == B::SAbsDiff || natural => {
            let most = (i128::from(a.high) - i128::from(b.low)).max(i128::from(b.high) - i128::from(a.low));
            Range::fitted(0, most, bits, true)
        }
        (B::SMax, [a, b]) => Range { low: a.low.max(b.low), high: a.high.max(b.high) },
        (B::SMin, [a, b]) => Range { low: a.low.min(b.low), high: a.high.min(b.high) },
        (B::UMax, [a, b]) if natural => Range { low: a.low.max(b.low), high: a.high.max(b.high) },
        (B::UMin, [a, b]) if natural => Range { low: a.low.min(b.low), high: a.high.min(b.high) },
        // A nonnegative operand is an upper bound of the result.
        (B::UMin, [a, b]) if a.is_natural() || b.is_natural() => {
            Range { low: 0, high: if a.is_natural() { a.high } else { b.high } }
        }
        (B::SClamp, [a, low, high]) => {
            let cut = |number: i64, from: i64, to: i64| number.max(from).min(to);
            Range { low: cut(a.low, low.low, high.low), high: cut(a.high, low.high, high.high) }
        }
        (B::UClamp, [_, _, high]) if high.is_natural() => Range { low: 0, high: high.high },
        (B::SAddSat, [a, b]) => a.corners(*b, bits, false, |a, b| a + b),
        (B::SSubSat, [a, b]) => a.corners(*b, bits, false, |a, b| a - b),
        (B::UAddSat, [a, b]) if natural => a.corners(*b, bits, true, |a, b| a + b),
        (B::USubSat, [a, b]) if natural => a.corners(*b, bits, true, |a, b| (a - b).max(0)),
        (B::SHadd, [a, b]) => a.corners(*b, bits, true, |a, b| (a + b) >> 1),
        (B::SRhadd, [a, b]) => a.corners(*b, bits, true, |a, b| (a + b + 1) >> 1),
        (B::UHadd, [a, b]) if natural => a.corners(*b, bits, true, |a, b| (a + b) >> 1),
        (B::URhadd, [a, b]) if natural => a.corners(*b, bits, true, |a, b| (a + b + 1) >> 1),
        (B::SMul24 | B::UMul24, [a, b]) if in_24_bits(builtin, *a) && in_24_bits(builtin, *b) => {
            a.corners(*b, bits, true, |a, b| a * b)
        }
        (B::SMad24 | B::UMad24, [a, b, c]) if in_24_bits(builtin, *a) && in_24_bits(builtin, *b) => {
            let product = a.corners(*b, 64, true, |a, b| a * b);
            product.corners(*c, bits, true, |a, b| a + b)
        }
        (B::Clz | B::Ctz, [_]) => Range { low: 0, high: i64::from(bits) },
        (B::Bitselect, [a, b, _]) => mask_around(*a, *b),
        _ => all,
    }
}

/// Whether a 24-bit function reads every number of the range unchanged.
fn in_24_bits(builtin: Builtin, range: Range) -> bool {
    let signed = matches!(builtin, Builtin::SMul24 | Builtin::SMad24);
    range.is_within(if signed { Range::signed(24) } else { Range::unsigned(24) })
}
