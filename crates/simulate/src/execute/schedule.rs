//! The order in which work-items run, and the number that run side by side.

use super::rows::WIDTH;

/// The order in which work-items run, and the number that run side by side. OpenCL guarantees no order; a kernel's
/// results must not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Work-items per warp, 1 to 64.
    pub(crate) warp: usize,
    /// Whether warps of a group, and groups, run from last to first.
    pub(crate) backward: bool,
    /// Distance between consecutive groups, wrapping around; used if it has no common factor with the number of
    /// groups.
    pub(crate) stride: u64,
}

impl Schedule {
    /// The `index`-th schedule of a list that starts with the usual order; each has a different width or order.
    pub fn numbered(index: u32) -> Self {
        // The full width comes twice: forward, then backward.
        let widths = [WIDTH, WIDTH, 16, 4, 1, 8, 32];
        Self {
            warp: widths[index as usize % widths.len()],
            backward: index % 2 == 1,
            stride: if index < 2 { 1 } else { 2 * u64::from(index) + 5 },
        }
    }

    /// The same order with warps of at most `width` work-items.
    #[must_use]
    pub fn at_most(self, width: usize) -> Self {
        Self { warp: self.warp.min(width.clamp(1, WIDTH)), ..self }
    }

    /// The same order with warps of at least `width` work-items, so that a sub-group fits in a warp; a larger one fits
    /// in several.
    #[must_use]
    pub(crate) fn at_least(self, width: usize) -> Self {
        Self { warp: self.warp.max(width.min(WIDTH)), ..self }
    }

    /// The group that runs at a position of `0..groups`.
    pub(crate) fn group(self, position: u64, groups: u64) -> u64 {
        // Steps with no common factor visit every group once.
        let stride = if gcd(self.stride, groups) == 1 { self.stride } else { 1 };
        let group = ((u128::from(position) * u128::from(stride)) % u128::from(groups)) as u64;
        if self.backward { groups - 1 - group } else { group }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
