//! The sizes every ladder is verified at.

use tripipe_ladders::{Size, SizeKind};

/// The range of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Small sizes: for a device that is a thousand times slower.
    Small,
    /// Small and large sizes, except for the largest: for the simulator, which the tests run without optimisation.
    Medium,
    /// Small and large sizes.
    Full,
}

/// The sizes of a kind: all combinations of small extents, extents around those of the tiles, and large odd ones.
pub fn sizes(kind: SizeKind, extent: Extent) -> Vec<Size> {
    let full = extent != Extent::Small;
    let most = if extent == Extent::Medium { 20_000 } else { usize::MAX };
    match kind {
        SizeKind::Image => {
            let side = if full { 12 } else { 6 };
            let small = (1..=side).flat_map(|height| (1..=side).map(move |width| (width, height)));
            let around = [(17, 9), (16, 16), (15, 3), (31, 4), (33, 1), (1, 33), (33, 5)];
            let large = [(64, 33), (97, 65), (769, 433), (2048, 2048)];
            let large = large.into_iter().filter(|(width, height)| full && width * height <= most);
            small.chain(around).chain(large).map(|(width, height)| Size::Image { width, height }).collect()
        }
        SizeKind::Matrix => {
            let (side, depths): (_, &[usize]) = if full { (12, &[1, 3, 4, 8, 11]) } else { (3, &[1, 4, 5]) };
            let small = (1..=side)
                .flat_map(|m| (1..=side).map(move |n| (m, n)))
                .flat_map(|(m, n)| depths.iter().map(move |k| (m, n, *k)));
            let around = [(17, 9, 5), (9, 17, 6), (8, 16, 7)];
            let large = [(33, 65, 31), (64, 64, 64), (129, 127, 130), (769, 433, 65), (2048, 2048, 8)];
            let large = large.into_iter().filter(|(m, n, _)| full && m * n <= most);
            small.chain(around).chain(large).map(|(m, n, k)| Size::Matrix { m, n, k }).collect()
        }
        SizeKind::Vector => {
            let small = 1..=if full { 70 } else { 35 };
            let large = [1023, 1024, 1025, 99_991, 1 << 20];
            let large = large.into_iter().filter(|count| full && *count <= most);
            small.chain(large).map(Size::Vector).collect()
        }
    }
}
