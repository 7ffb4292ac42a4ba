//! A common description of the layout of the elements of vectors, matrices and images.

use super::VectorLayout;
use crate::filter::{ChannelLayout, Raster};
use crate::plan::PlanError;

/// Elements in up to three directions: element (i, j, k) is stored at `offset + i strides[0] + j strides[1] + k
/// strides[2]`. They are counted with i first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    /// The number of elements in each direction; 1 for an unused direction.
    pub extents: [usize; 3],
    /// Offset of the first element.
    pub offset: usize,
    /// Distance between neighbouring elements in each direction.
    pub strides: [usize; 3],
}

impl From<VectorLayout> for Grid {
    fn from(vector: VectorLayout) -> Self {
        Self { extents: [vector.length, 1, 1], offset: vector.offset, strides: [vector.stride, 0, 0] }
    }
}

impl Grid {
    /// Contiguous elements.
    pub fn dense(length: usize) -> Self {
        VectorLayout::dense(length).into()
    }

    /// The elements of a raster's pixels in memory order: for packed pixels row by row, for planes plane by plane.
    pub fn of_raster(raster: &Raster) -> Self {
        let planes = if raster.layout == ChannelLayout::Planar { raster.channels } else { 1 };
        let extents = [raster.row_elements(), raster.height, planes];
        Self { extents, offset: raster.offset, strides: [1, raster.pitch, raster.plane_pitch] }
    }

    /// The elements of a raster's pixels, pixel by pixel, with the channels of each pixel in sequence, whatever the
    /// layout.
    pub fn of_pixels(raster: &Raster) -> Self {
        let channel = if raster.layout == ChannelLayout::Planar { raster.plane_pitch } else { 1 };
        let extents = [raster.channels, raster.width, raster.height];
        Self { extents, offset: raster.offset, strides: [channel, raster.step(), raster.pitch] }
    }

    /// The number of elements; saturates on overflow.
    pub fn count(&self) -> usize {
        if self.is_empty() {
            0
        } else {
            self.extents.iter().fold(1, |all, extent| all.saturating_mul(*extent))
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.extents.contains(&0)
    }

    /// The number of elements that memory must have to hold it, 0 when it is empty; `None` on overflow.
    pub fn span(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        let mut last = self.offset;
        for (extent, stride) in self.extents.into_iter().zip(self.strides) {
            last = last.checked_add((extent - 1).checked_mul(stride)?)?;
        }
        last.checked_add(1)
    }

    /// As [`Self::span`], for kernels, which use 32-bit indices.
    ///
    /// # Errors
    /// The span does not fit in 32 bits.
    pub fn elements(&self) -> Result<usize, PlanError> {
        self.span().filter(|span| u32::try_from(*span).is_ok()).ok_or_else(|| PlanError::OverLimit {
            what: format!("an operand of {:?} elements, {:?} apart,", self.extents, self.strides),
            limit: u32::MAX.into(),
        })
    }

    /// Describes the same elements in as few directions as possible, in all of `grids`, which have the same extents.
    /// With `any_order` the directions are reordered, so that neighbours are adjacent in the last of the grids;
    /// otherwise the elements are counted in the same order as before.
    pub fn merge(grids: &mut [Self], any_order: bool) {
        let Some(last) = grids.last().copied() else { return };
        if last.is_empty() {
            return;
        }
        let mut directions: Vec<usize> = (0..3).filter(|axis| last.extents[*axis] > 1).collect();
        if any_order {
            directions.sort_by_key(|axis| last.strides[*axis]);
        }
        let joins = |inner: usize, outer: usize| {
            let one = |grid: &Self| {
                grid.strides[inner].checked_mul(grid.extents[inner]) == Some(grid.strides[outer])
            };
            grids.iter().all(one)
        };
        // Groups of directions that can be merged into one.
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for axis in directions {
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(|inner| joins(*inner, axis)) => run.push(axis),
                _ => runs.push(vec![axis]),
            }
        }
        for grid in grids {
            let (extents, strides) = (grid.extents, grid.strides);
            (grid.extents, grid.strides) = ([1; 3], [0; 3]);
            grid.strides[0] = 1;
            for (place, run) in runs.iter().enumerate() {
                grid.extents[place] =
                    run.iter().fold(1, |all: usize, axis| all.saturating_mul(extents[*axis]));
                grid.strides[place] = strides[run[0]];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{PixelType, Size};

    fn merged(grids: &[Grid], any_order: bool) -> Vec<Grid> {
        let mut grids = grids.to_vec();
        Grid::merge(&mut grids, any_order);
        grids
    }

    /// The locations of the elements, in the order in which they are counted.
    fn places(grid: &Grid) -> Vec<usize> {
        let [columns, rows, planes] = grid.extents;
        let mut found = Vec::new();
        for k in 0..planes {
            for j in 0..rows {
                for i in 0..columns {
                    let [a, b, c] = grid.strides;
                    found.push(grid.offset + i * a + j * b + k * c);
                }
            }
        }
        found
    }

    #[test]
    fn directions_without_gaps_are_one() {
        let raster = Raster::planar(Size::new(5, 4), 3, PixelType::U8);
        assert_eq!(merged(&[Grid::of_raster(&raster)], false)[0], Grid::dense(60));
        let gaps = Grid::of_raster(&raster.with_pitch(7));
        assert_eq!(merged(&[gaps], false)[0].extents, [5, 12, 1]);
        assert_eq!(merged(&[Grid::of_raster(&raster), gaps], false)[0].extents, [5, 12, 1]);
        let one = Grid { extents: [1, 9, 1], offset: 3, strides: [4, 2, 5] };
        assert_eq!(merged(&[one], false)[0], Grid { extents: [9, 1, 1], offset: 3, strides: [2, 0, 0] });
    }

    #[test]
    fn elements_stay_and_so_does_their_order() {
        for extents in [[3, 4, 2], [1, 5, 2], [4, 1, 1], [1, 1, 1], [2, 1, 3]] {
            for strides in [[1, 3, 12], [2, 6, 24], [12, 1, 4], [1, 1, 1], [1, 10, 40]] {
                let grid = Grid { extents, offset: 2, strides };
                let packed = Grid { extents, offset: 0, strides: [1, extents[0], extents[0] * extents[1]] };
                let same = merged(&[packed, grid], false);
                assert_eq!(
                    (places(&same[0]), places(&same[1])),
                    (places(&packed), places(&grid)),
                    "{grid:?}"
                );
                let pairs = |one: &Grid, other: &Grid| {
                    let mut pairs: Vec<_> = places(one).into_iter().zip(places(other)).collect();
                    pairs.sort_unstable();
                    pairs
                };
                let any = merged(&[packed, grid], true);
                assert_eq!(pairs(&any[0], &any[1]), pairs(&packed, &grid), "{grid:?}");
            }
        }
    }

    #[test]
    fn spans_reach_the_last_element() {
        let grid = Grid { extents: [3, 2, 2], offset: 5, strides: [1, 4, 10] };
        assert_eq!(grid.span(), places(&grid).into_iter().max().map(|last| last + 1));
        assert_eq!(Grid { extents: [3, 0, 2], ..grid }.span(), Some(0));
        assert_eq!(Grid { strides: [usize::MAX; 3], ..grid }.span(), None);
    }
}
