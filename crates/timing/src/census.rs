//! The work of all work-groups of a launch, from that of a few.
//!
//! The grid of work-groups is divided into boxes: first its edges and its inside, because kernels treat borders
//! differently; then the box with the largest uncertainty is halved, again and again. Within a box, work is interpolated
//! between the corners, and corrected by work-groups at irregular positions inside, which also show how wrong the
//! interpolation is.

use std::collections::HashMap;
use std::ops::Range;

/// Work-groups that are examined, at most, unless the edges alone need more.
const MOST: usize = 96;
/// The uncertainty of the total at which nothing more is examined.
const ENOUGH: f64 = 0.001;

/// Work of the groups of a launch.
#[derive(Clone, Debug)]
pub(crate) struct Census {
    groups: [u64; 3],
    pieces: Vec<Piece>,
    /// Relative uncertainty of the total.
    pub(crate) error: f64,
}

/// A box of groups.
#[derive(Clone, Debug)]
struct Piece {
    from: [u64; 3],
    to: [u64; 3],
    /// Work of the corners; bit `d` of the position: at the far end of dimension `d`.
    corners: [f64; 8],
    /// What groups inside have more than their corners suggest, in the mean.
    excess: f64,
    /// Uncertainty of the sum.
    error: f64,
}

impl Piece {
    fn extent(&self, d: usize) -> u64 {
        self.to[d] - self.from[d]
    }

    fn count(&self) -> f64 {
        (0..3).map(|d| self.extent(d) as f64).product()
    }

    /// Work at a point, between the corners.
    fn between(&self, at: [f64; 3]) -> f64 {
        let far: [f64; 3] = std::array::from_fn(|d| match self.extent(d) {
            // The corners of a single position are the same.
            0 | 1 => 0.0,
            extent => ((at[d] - self.from[d] as f64) / (extent - 1) as f64).clamp(0.0, 1.0),
        });
        let weight = |corner: usize| {
            let weights = (0..3).map(|d| if corner >> d & 1 == 1 { far[d] } else { 1.0 - far[d] });
            weights.product::<f64>()
        };
        self.corners.iter().enumerate().map(|(corner, work)| weight(corner) * work).sum()
    }

    /// The work of those of its groups that are in a box.
    fn within(&self, from: [u64; 3], to: [u64; 3]) -> f64 {
        let from: [u64; 3] = std::array::from_fn(|d| self.from[d].max(from[d]));
        let to: [u64; 3] = std::array::from_fn(|d| self.to[d].min(to[d]));
        if (0..3).any(|d| from[d] >= to[d]) {
            return 0.0;
        }
        let count: f64 = (0..3).map(|d| (to[d] - from[d]) as f64).product();
        // The interpolation is linear in each dimension, so its mean over a box is its value at the centre.
        let centre = std::array::from_fn(|d| (from[d] + to[d] - 1) as f64 / 2.0);
        // A negative excess must not make the work negative.
        count * (self.between(centre) + self.excess).max(0.0)
    }

    /// The dimension along which it is halved: the one along which work changes most.
    fn split(&self) -> Option<usize> {
        let change = |d: usize| {
            let signed = |(corner, work): (usize, &f64)| if corner >> d & 1 == 1 { *work } else { -*work };
            self.corners.iter().enumerate().map(signed).sum::<f64>().abs()
        };
        let rank = |d: &usize| (change(*d), self.extent(*d));
        let partly = |a: &usize, b: &usize| rank(a).0.total_cmp(&rank(b).0).then(rank(a).1.cmp(&rank(b).1));
        // Up to two positions, the corners are everything there is.
        (0..3).filter(|d| self.extent(*d) > 2).max_by(partly)
    }
}

struct Survey<'w, E> {
    groups: [u64; 3],
    known: HashMap<u64, f64>,
    weigh: &'w mut dyn FnMut(u64) -> Result<f64, E>,
    random: u64,
}

impl<E> Survey<'_, E> {
    fn work(&mut self, at: [u64; 3]) -> Result<f64, E> {
        let linear = at[0] + self.groups[0] * (at[1] + self.groups[1] * at[2]);
        // Corners of thin boxes coincide, and each group that is traced takes time.
        if let Some(known) = self.known.get(&linear) {
            return Ok(*known);
        }
        let work = (self.weigh)(linear)?;
        self.known.insert(linear, work);
        Ok(work)
    }

    /// A position below `extent`, reproducible and without a period.
    fn any(&mut self, extent: u64) -> u64 {
        // Knuth's generator of MMIX. Its low bits have short periods, so only high bits are used.
        self.random = self.random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.random >> 33) % extent.max(1)
    }

    fn piece(&mut self, from: [u64; 3], to: [u64; 3]) -> Result<Piece, E> {
        let mut piece = Piece { from, to, corners: [0.0; 8], excess: 0.0, error: 0.0 };
        for corner in 0..8 {
            let at = std::array::from_fn(|d| if corner >> d & 1 == 1 { to[d] - 1 } else { from[d] });
            piece.corners[corner] = self.work(at)?;
        }
        let inside = (0..3).any(|d| piece.extent(d) > 2);
        if inside {
            // In a small box the corners are already a large part.
            let probes = if piece.count() > 32.0 { 2 } else { 1 };
            let (mut excess, mut error) = (0.0, 0.0);
            for _ in 0..probes {
                let at: [u64; 3] = std::array::from_fn(|d| from[d] + self.any(piece.extent(d)));
                let more = self.work(at)? - piece.between(at.map(|at| at as f64));
                excess += more / f64::from(probes);
                error += more.abs() / f64::from(probes);
            }
            // The mean of a parabola's deviation from its chord is 2/3 of the deviation in the middle (Simpson's rule).
            piece.excess = excess * 2.0 / 3.0;
            piece.error = error * piece.count() / 2.0;
        }
        Ok(piece)
    }
}

impl Census {
    /// Examines groups with `weigh`, which has the work of a group, given its linear number.
    pub(crate) fn take<E>(groups: [u64; 3], weigh: &mut dyn FnMut(u64) -> Result<f64, E>) -> Result<Self, E> {
        let mut survey = Survey { groups, known: HashMap::new(), weigh, random: 1 };
        // Edges and the inside of each dimension.
        let parts = groups.map(|extent| {
            let ends = match extent {
                0 | 1 => vec![0, extent],
                2 => vec![0, 1, 2],
                _ => vec![0, 1, extent - 1, extent],
            };
            ends.windows(2).map(|ends| ends[0]..ends[1]).collect::<Vec<_>>()
        });
        let mut pieces = Vec::new();
        for z in &parts[2] {
            for y in &parts[1] {
                for x in &parts[0] {
                    pieces.push(survey.piece([x.start, y.start, z.start], [x.end, y.end, z.end])?);
                }
            }
        }
        loop {
            let total: f64 = pieces.iter().map(|piece| piece.within([0; 3], groups)).sum();
            // Boxes are probed independently, so their errors add up as squares.
            let uncertain = pieces.iter().map(|piece| piece.error.powi(2)).sum::<f64>().sqrt();
            let error = uncertain / total.max(f64::MIN_POSITIVE);
            let worst = (0..pieces.len()).max_by(|a, b| pieces[*a].error.total_cmp(&pieces[*b].error));
            let split = worst.and_then(|worst| Some((worst, pieces[worst].split()?)));
            let Some((worst, d)) = split.filter(|_| error > ENOUGH && survey.known.len() < MOST) else {
                return Ok(Self { groups, pieces, error });
            };
            let Piece { from, to, .. } = pieces.swap_remove(worst);
            let middle = from[d].midpoint(to[d]);
            let (mut near, mut far) = (to, from);
            (near[d], far[d]) = (middle, middle);
            pieces.push(survey.piece(from, near)?);
            pieces.push(survey.piece(far, to)?);
        }
    }

    /// The work of all groups.
    pub(crate) fn total(&self) -> f64 {
        self.pieces.iter().map(|piece| piece.within([0; 3], self.groups)).sum()
    }

    /// The work of the groups before one.
    pub(crate) fn before(&self, group: u64) -> f64 {
        let [x, y, _] = self.groups;
        let (here, row, plane) = (group % x, group / x % y, group / (x * y));
        // In the order of linear numbers: whole planes, then whole rows of the next plane, then a part of a row.
        let boxes = [
            ([0, 0, 0], [x, y, plane]),
            ([0, 0, plane], [x, row, plane + 1]),
            ([0, row, plane], [here, row + 1, plane + 1]),
        ];
        let pieces = self.pieces.iter();
        pieces.map(|piece| boxes.iter().map(|(from, to)| piece.within(*from, *to)).sum::<f64>()).sum()
    }

    /// The group before which that share of the work lies, in the order of linear numbers.
    pub(crate) fn position(&self, share: f64) -> u64 {
        let wanted = share * self.total();
        // The work before a group never falls, so halving finds the position.
        let mut range: Range<u64> = 0..self.groups.iter().product();
        while range.start + 1 < range.end {
            let middle = range.start.midpoint(range.end);
            if self.before(middle) <= wanted { range.start = middle } else { range.end = middle }
        }
        range.start
    }

    /// The work of each group, in the order of linear numbers.
    pub(crate) fn works(&self) -> impl Iterator<Item = f64> {
        let [x, y, z] = self.groups;
        let mut last = 0;
        (0..x * y * z).map(move |group| {
            let at = [group % x, group / x % y, group / (x * y)];
            let holds = |piece: &Piece| (0..3).all(|d| (piece.from[d]..piece.to[d]).contains(&at[d]));
            // Neighbours are mostly in the same box, so the search is rare.
            if !holds(&self.pieces[last]) {
                last = self.pieces.iter().position(holds).unwrap_or(last);
            }
            let piece = &self.pieces[last];
            (piece.between(at.map(|at| at as f64)) + piece.excess).max(0.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Census;

    fn take(groups: [u64; 3], work: impl Fn([u64; 3]) -> f64) -> (Census, f64, usize) {
        let [x, y, z] = groups;
        let of = |group: u64| work([group % x, group / x % y, group / (x * y)]);
        let mut examined = 0;
        let census = Census::take(groups, &mut |group| {
            examined += 1;
            Ok::<f64, ()>(of(group))
        });
        (census.unwrap(), (0..x * y * z).map(of).sum(), examined)
    }

    /// The sums by adding all groups.
    #[test]
    fn totals_are_those_of_all_groups() {
        for (groups, within, work) in [
            ([1, 1, 1], 1e-9, (|_| 3.0) as fn([u64; 3]) -> f64),
            ([7, 1, 1], 1e-9, |[x, ..]| x as f64),
            ([500, 300, 1], 1e-9, |_| 2.0),
            // A triangle, a border, a part without work, a wave, noise.
            ([500, 300, 1], 1e-9, |[x, ..]| x as f64 + 1.0),
            (
                [500, 300, 1],
                1e-9,
                |[x, y, _]| if x == 0 || y == 0 || x == 499 || y == 299 { 90.0 } else { 1.0 },
            ),
            ([100_000, 1, 1], 0.005, |[x, ..]| if x < 33_333 { 10.0 } else { 1.0 }),
            ([60, 60, 20], 0.03, |[x, y, z]| {
                2.0 + (x as f64 / 20.0).sin() * (y as f64 / 30.0).cos() + z as f64
            }),
            ([4096, 1, 1], 0.2, |[x, ..]| 1.0 + (x.wrapping_mul(0x9e37_79b9) >> 7 & 7) as f64),
        ] {
            let (census, total, examined) = take(groups, work);
            let error = (census.total() / total - 1.0).abs();
            assert!(error <= within, "{groups:?}: {error}");
            assert!(error <= 5.0 * census.error + 1e-9, "{groups:?}: {error}, estimated {}", census.error);
            assert!(examined < 150);
            let sum: f64 = census.works().sum();
            assert!((sum / census.total() - 1.0).abs() < 0.02, "{groups:?}");
        }
    }

    /// Half of a triangle's area lies beyond 1/sqrt(2) of its height.
    #[test]
    fn positions_divide_the_work() {
        let (census, ..) = take([1000, 1, 1], |[x, ..]| x as f64);
        let half = census.position(0.5);
        assert!((705..=710).contains(&half), "{half}");
        assert_eq!(census.position(0.0), 1, "the first has no work");
    }
}
