//! Resizing that copies pixels.

use pulp::Arch;
use tripipe_kernels::filter::{PixelType, Raster, ResizeTaps};

use super::super::number::Number;
use super::super::rows::{Rows, Source};
use super::gather::Gather;
use super::halve;
use super::sums::pick;
use crate::wide::Wide;

/// The columns of the source for those of the result.
pub(super) struct Columns {
    all: Vec<u32>,
    /// How elements of 32 bits are picked, if shuffles can.
    gather: Option<Gather>,
}

impl Columns {
    pub(super) fn new(taps: &ResizeTaps, from: &Raster, arch: Arch) -> Self {
        let all: Vec<u32> = taps.first.iter().map(|first| *first as u32).collect();
        let gather = match from.element {
            PixelType::U8 | PixelType::I16 | PixelType::U16 => None,
            _ => Gather::new(arch, &all, 1, [from.width, from.channels]),
        };
        Self { all, gather }
    }
}

/// The rows of a result whose pixels are pixels of the source.
pub(super) struct Copies<'a, T, const C: usize> {
    input: Source<'a>,
    columns: &'a Columns,
    /// The row of the source for each one of the result.
    lines: &'a [i32],
    /// Whether every second pixel is taken, of bytes.
    halved: bool,
    /// A row of the source that cannot be read in place.
    row: Vec<T>,
    /// The row of the result.
    line: Vec<T>,
    /// The row of the source that it was made of.
    made: Option<usize>,
    arch: Arch,
}

impl<'a, T: Number, const C: usize> Copies<'a, T, C> {
    pub(super) fn new(input: Source<'a>, columns: &'a Columns, lines: &'a [i32], arch: Arch) -> Self {
        let all = &columns.all;
        let halved = size_of::<T>() == 1 && all.iter().zip(0..).all(|(column, x)| *column == 2 * x);
        // The last pair has a second pixel.
        let halved = halved && 2 * all.len() <= input.raster.width;
        let line = vec![T::zeroed(); all.len() * C];
        Self { input, columns, lines, halved, row: Vec::new(), line, made: None, arch }
    }
}

impl<T: Number, const C: usize> Rows<T> for Copies<'_, T, C> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        let Self { input, columns, lines, halved, row, line, made, arch } = self;
        let y = lines[y as usize] as usize;
        // Picking again takes no longer than a copy of what was picked before.
        if let (Some(gather), Some(row)) = (&columns.gather, input.row_in_place(y)) {
            return gather.copy(row, at, out);
        }
        if *made != Some(y) {
            let row = input.part_of_row(y, 0, input.raster.width * C, row);
            if *halved {
                halve::every_second::<C>(*arch, bytemuck::cast_slice(row), bytemuck::cast_slice_mut(line));
            } else {
                let (row, line) = (row.as_chunks::<C>().0, line.as_chunks_mut::<C>().0);
                arch.dispatch(Wide(
                    #[inline(always)]
                    || pick(row, &columns.all, line),
                ));
            }
            *made = Some(y);
        }
        out.copy_from_slice(&line[at..][..out.len()]);
    }
}
