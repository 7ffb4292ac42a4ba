//! Resizing that copies pixels.

use pulp::Arch;

use super::super::number::Number;
use super::super::rows::{Rows, Source};
use super::halve;
use super::sums::pick;
use crate::cpu::wide::Wide;

/// The rows of a result whose pixels are pixels of the source.
pub(super) struct Copies<'a, T, const C: usize> {
    input: Source<'a>,
    /// The column of the source for each one of the result.
    columns: &'a [u32],
    /// The row of the source for each one of the result.
    lines: &'a [usize],
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
    pub(super) fn new(input: Source<'a>, columns: &'a [u32], lines: &'a [usize], arch: Arch) -> Self {
        let halved = size_of::<T>() == 1 && columns.iter().zip(0..).all(|(column, x)| *column == 2 * x);
        // The last pair has a second pixel.
        let halved = halved && 2 * columns.len() <= input.raster.width;
        let line = vec![T::zeroed(); columns.len() * C];
        Self { input, columns, lines, halved, row: Vec::new(), line, made: None, arch }
    }
}

impl<T: Number, const C: usize> Rows<T> for Copies<'_, T, C> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        let Self { input, columns, lines, halved, row, line, made, arch } = self;
        let y = lines[y as usize];
        if *made != Some(y) {
            let row = input.part_of_row(y, 0, input.raster.width * C, row);
            if *halved {
                halve::every_second::<C>(*arch, bytemuck::cast_slice(row), bytemuck::cast_slice_mut(line));
            } else {
                let (row, line) = (row.as_chunks::<C>().0, line.as_chunks_mut::<C>().0);
                arch.dispatch(Wide(
                    #[inline(always)]
                    || pick(row, columns, line),
                ));
            }
            *made = Some(y);
        }
        out.copy_from_slice(&line[at..][..out.len()]);
    }
}
