//! An interval of integers.

/// The integers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least number.
    pub low: i64,
    /// The greatest number, at least `low`.
    pub high: i64,
}

impl Range {
    /// Every number of a signed integer with this many bits, 1 to 64.
    pub const fn signed(bits: u32) -> Self {
        Self { low: i64::MIN >> (64 - bits), high: i64::MAX >> (64 - bits) }
    }

    /// Every number of an unsigned integer with this many bits, up to 63; for 64 bits, those that a signed one also
    /// has.
    pub const fn unsigned(bits: u32) -> Self {
        Self { low: 0, high: if bits < 63 { (1 << bits) - 1 } else { i64::MAX } }
    }

    /// A single number.
    pub const fn only(number: i64) -> Self {
        Self { low: number, high: number }
    }

    /// Whether `other` contains all its numbers.
    pub const fn is_within(self, other: Self) -> bool {
        self.low >= other.low && self.high <= other.high
    }

    /// Whether it contains a number.
    pub const fn contains(self, number: i64) -> bool {
        number >= self.low && number <= self.high
    }

    /// The smallest range that contains both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The intersection; the first range where it is empty, as on a path that is never taken.
    pub(super) fn meet(self, other: Self) -> Self {
        let both = Self { low: self.low.max(other.low), high: self.high.min(other.high) };
        if both.low <= both.high { both } else { self }
    }

    pub(super) fn is_natural(self) -> bool {
        self.low >= 0
    }

    /// The range of exact results in an integer with this many bits: itself, unless some wrap.
    pub(super) fn fitted(low: i128, high: i128, bits: u32, wraps: bool) -> Self {
        let all = Self::signed(bits);
        match (i64::try_from(low), i64::try_from(high)) {
            (Ok(low), Ok(high)) if all.contains(low) && all.contains(high) => Self { low, high },
            _ if wraps => all,
            _ => {
                let cut = |number: i128| number.clamp(i128::from(all.low), i128::from(all.high)) as i64;
                Self { low: cut(low), high: cut(high) }
            }
        }
    }

    /// The results of a function that is monotone in each operand, computed from the corners.
    pub(super) fn corners(
        self,
        other: Self,
        bits: u32,
        wraps: bool,
        of: impl Fn(i128, i128) -> i128,
    ) -> Self {
        let corner = |a: i64, b: i64| of(i128::from(a), i128::from(b));
        let all = [
            corner(self.low, other.low),
            corner(self.low, other.high),
            corner(self.high, other.low),
            corner(self.high, other.high),
        ];
        let low = all.iter().copied().fold(i128::MAX, i128::min);
        let high = all.iter().copied().fold(i128::MIN, i128::max);
        Self::fitted(low, high, bits, wraps)
    }
}
