//! The work-group size that a driver chooses when a launch names none.

use tripipe_device::Gpu;

use crate::figures::Figures;

/// The work-group size for a launch without one.
///
/// Drivers choose among the divisors of the global size, because a kernel may rely on full work-groups. Of the sizes
/// with the most work-items, the one whose first two extents are closest is taken: neighbours in both directions share
/// cache lines. `most` is the largest work-group of the kernel, at least 1.
///
/// Basis: guessed. Arm's guides state only that the driver chooses; the collapse of the published Laplace ladder at
/// 2048x2048 (2048 x 409 work-items, and 409 is prime) shows that divisors are used. The largest size that is chosen is
/// [`Figures::chosen_group_items`].
pub fn choose(gpu: &Gpu, global: [u64; 3], most: u64) -> [u64; 3] {
    let most = (Figures::of(gpu).chosen_group_items as u64).min(most).max(1);
    let divisors = |extent: u64, most: u64| {
        (1..=most.min(extent)).filter(move |divisor| extent.is_multiple_of(*divisor))
    };
    let mut best = [1; 3];
    let mut rank = (0, 0, 0);
    for x in divisors(global[0], most) {
        for y in divisors(global[1], most / x) {
            for z in divisors(global[2], most / (x * y)) {
                // Most work-items, then flat, then square.
                let own = (x * y * z, x * y, x.min(y));
                if own > rank {
                    (rank, best) = (own, [x, y, z]);
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::choose;

    /// By hand, for the published sizes of the Laplace ladder with five and four pixels a work-item.
    #[test]
    fn a_prime_extent_leaves_columns() {
        let gpu = tripipe_device::find("t604").unwrap();
        assert_eq!(choose(gpu, [4320, 1536, 1], 128), [8, 8, 1]);
        assert_eq!(choose(gpu, [2048, 409, 1], 128), [64, 1, 1]);
        assert_eq!(choose(gpu, [2048, 512, 1], 128), [8, 8, 1]);
        assert_eq!(choose(gpu, [1_000_003, 1, 1], 128), [1, 1, 1], "a prime has no other divisor");
        assert_eq!(choose(gpu, [7, 5, 3], 256), [7, 5, 1]);
        assert_eq!(choose(gpu, [64, 64, 64], 1), [1, 1, 1]);
    }
}
