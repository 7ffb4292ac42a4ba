//! Boxes of bytes in memory: rows and slices with pitches.

use super::failure::{Failure, Outcome};
use opencl_sys as cl;

/// How a box lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pitched {
    /// The first byte.
    pub offset: usize,
    /// From one row to the next.
    pub row_pitch: usize,
    /// From one slice to the next.
    pub slice_pitch: usize,
}

/// The extent of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Bytes of a row.
    pub bytes: usize,
    /// Rows of a slice.
    pub rows: usize,
    /// Slices.
    pub slices: usize,
}

impl Region {
    /// One row.
    pub fn row(bytes: usize) -> Self {
        Self { bytes, rows: 1, slices: 1 }
    }

    /// All bytes; `None` on overflow.
    pub fn size(self) -> Option<usize> {
        self.bytes.checked_mul(self.rows)?.checked_mul(self.slices)
    }

    /// The region without gaps between rows and slices.
    pub fn packed(self) -> Pitched {
        let row_pitch = self.bytes;
        Pitched { offset: 0, row_pitch, slice_pitch: row_pitch.saturating_mul(self.rows) }
    }
}

impl Pitched {
    /// The bytes of one row from an offset on.
    pub fn at(offset: usize) -> Self {
        Self { offset, row_pitch: 0, slice_pitch: 0 }
    }

    /// The box of `clEnqueueReadBufferRect` and its relatives. A pitch of 0 is that of a packed region.
    ///
    /// # Errors
    /// An empty region, or a pitch that is less than a row or a slice, or no multiple of a row.
    pub fn of_rect(
        origin: [usize; 3],
        region: Region,
        row_pitch: usize,
        slice_pitch: usize,
    ) -> Outcome<Self> {
        let invalid = |why: &'static str| Failure::new(cl::CL_INVALID_VALUE, why);
        if region.bytes == 0 || region.rows == 0 || region.slices == 0 {
            return Err(invalid("the region is empty"));
        }
        let row_pitch = if row_pitch == 0 { region.bytes } else { row_pitch };
        if row_pitch < region.bytes {
            return Err(invalid("the row pitch is less than a row of the region"));
        }
        let least = row_pitch.checked_mul(region.rows).ok_or_else(|| invalid("the region is too large"))?;
        let slice_pitch = if slice_pitch == 0 { least } else { slice_pitch };
        if slice_pitch < least || slice_pitch % row_pitch != 0 {
            return Err(invalid(
                "the slice pitch is less than a slice, or is not a multiple of the row pitch",
            ));
        }
        let offset = origin[2]
            .checked_mul(slice_pitch)
            .and_then(|all| all.checked_add(origin[1].checked_mul(row_pitch)?)?.checked_add(origin[0]))
            .ok_or_else(|| invalid("the origin is too large"))?;
        Ok(Self { offset, row_pitch, slice_pitch })
    }

    /// One past the last byte of a region; `None` on overflow.
    pub fn end(&self, region: Region) -> Option<usize> {
        let rows = self.row_pitch.checked_mul(region.rows.checked_sub(1)?)?;
        let slices = self.slice_pitch.checked_mul(region.slices.checked_sub(1)?)?;
        self.offset.checked_add(rows)?.checked_add(slices)?.checked_add(region.bytes)
    }

    /// The same box, further on.
    #[must_use]
    pub fn shifted(self, bytes: usize) -> Self {
        Self { offset: self.offset.saturating_add(bytes), ..self }
    }

    /// The runs of adjacent bytes: the offset of each, and the length of all.
    pub fn runs(self, region: Region) -> (impl Iterator<Item = usize>, usize) {
        let one_slice = region.rows == 1 || self.row_pitch == region.bytes;
        let (rows, bytes) =
            if one_slice { (1, region.bytes * region.rows) } else { (region.rows, region.bytes) };
        let one_run = one_slice && (region.slices == 1 || self.slice_pitch == bytes);
        let (slices, bytes) = if one_run { (1, bytes * region.slices) } else { (region.slices, bytes) };
        let starts = (0..slices).flat_map(move |slice| {
            (0..rows).map(move |row| self.offset + slice * self.slice_pitch + row * self.row_pitch)
        });
        (starts, bytes)
    }

    /// The runs of adjacent bytes of two boxes of one region: the offsets of each, and the length of all.
    pub fn runs_with(self, other: Self, region: Region) -> (Vec<(usize, usize)>, usize) {
        let ((own, bytes), (others, other_bytes)) = (self.runs(region), other.runs(region));
        if bytes == other_bytes {
            return (own.zip(others).collect(), bytes);
        }
        // One of them has gaps where the other has none: row by row.
        let rows = |at: Self| {
            let slices = 0..region.slices;
            slices.flat_map(move |slice| {
                (0..region.rows).map(move |row| at.offset + slice * at.slice_pitch + row * at.row_pitch)
            })
        };
        (rows(self).zip(rows(other)).collect(), region.bytes)
    }

    /// Whether two boxes of one region share a byte.
    pub fn overlaps(self, other: Self, region: Region) -> bool {
        let (Some(end), Some(other_end)) = (self.end(region), other.end(region)) else { return true };
        if self.offset >= other_end || other.offset >= end {
            return false;
        }
        let (starts, bytes) = self.runs(region);
        let mut starts: Vec<usize> = starts.collect();
        starts.sort_unstable();
        let (others, other_bytes) = other.runs(region);
        let mut others = others;
        others.any(|other| {
            // The last run that starts before the other one ends.
            let index = starts.partition_point(|start| *start < other + other_bytes);
            index > 0 && starts[index - 1] + bytes > other
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bytes of a box, one by one.
    fn bytes(at: Pitched, region: Region) -> Vec<usize> {
        let mut all = Vec::new();
        for slice in 0..region.slices {
            for row in 0..region.rows {
                for byte in 0..region.bytes {
                    all.push(at.offset + slice * at.slice_pitch + row * at.row_pitch + byte);
                }
            }
        }
        all
    }

    #[test]
    fn runs_cover_the_bytes_of_a_box_in_order() {
        for (row_gap, slice_gap) in [(0, 0), (3, 0), (0, 8), (3, 11)] {
            let region = Region { bytes: 5, rows: 3, slices: 2 };
            let row_pitch = 5 + row_gap;
            let at = Pitched { offset: 7, row_pitch, slice_pitch: row_pitch * 3 + slice_gap };
            let (starts, length) = at.runs(region);
            let all: Vec<usize> = starts.flat_map(|start| start..start + length).collect();
            assert_eq!(all, bytes(at, region));
            assert_eq!(at.end(region), all.last().map(|last| last + 1));
        }
    }

    #[test]
    fn runs_of_two_boxes_pair_their_bytes() {
        let region = Region { bytes: 5, rows: 3, slices: 2 };
        let boxes = [(5, 15), (5, 20), (8, 24), (8, 31)].map(|(row_pitch, slice_pitch)| Pitched {
            offset: 2,
            row_pitch,
            slice_pitch,
        });
        for one in boxes {
            for other in boxes {
                let (pairs, length) = one.runs_with(other, region);
                let all: Vec<(usize, usize)> = pairs
                    .iter()
                    .flat_map(|(a, b)| (0..length).map(move |byte| (a + byte, b + byte)))
                    .collect();
                let expected: Vec<(usize, usize)> =
                    bytes(one, region).into_iter().zip(bytes(other, region)).collect();
                assert_eq!(all, expected);
            }
        }
    }

    #[test]
    fn boxes_overlap_where_they_share_a_byte() {
        let region = Region { bytes: 4, rows: 2, slices: 2 };
        let one = Pitched { offset: 20, row_pitch: 10, slice_pitch: 40 };
        for offset in 0..90 {
            let other = Pitched { offset, ..one };
            let shared = bytes(one, region).iter().any(|byte| bytes(other, region).contains(byte));
            assert_eq!(one.overlaps(other, region), shared, "{offset}");
        }
    }

    #[test]
    fn rects_have_pitches_that_hold_their_rows() {
        let region = Region { bytes: 4, rows: 2, slices: 3 };
        let packed = Pitched::of_rect([1, 2, 3], region, 0, 0).unwrap();
        assert_eq!(packed, Pitched { offset: 3 * 8 + 2 * 4 + 1, row_pitch: 4, slice_pitch: 8 });
        for (row, slice) in [(3, 0), (4, 7), (8, 20), (usize::MAX, 0)] {
            assert!(Pitched::of_rect([0; 3], region, row, slice).is_err(), "{row} {slice}");
        }
        assert!(Pitched::of_rect([0; 3], Region { rows: 0, ..region }, 0, 0).is_err());
        assert!(Pitched::of_rect([usize::MAX; 3], region, 8, 16).is_err());
    }
}
