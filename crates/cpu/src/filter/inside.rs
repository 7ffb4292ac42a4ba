//! Parts of results.

use tripipe_kernels::filter::{Chain, ChannelLayout, FilterError, Raster};

use super::number::Number;
use super::rows::{Pipe, Rows, Source};
use super::{check_raster, pipe, step_of, target};
use crate::{CpuError, Threads, vectors};

/// Filters an image as [`super::filter`] does, and writes only the part of the result that begins `left` columns and
/// `top` rows from its upper left corner and has the extents of `to`: what a chunk of a larger image needs, whose
/// neighbours were put around it. `to` is packed.
///
/// # Errors
/// As [`super::filter`]; a part that exceeds the result; a planar `to`.
pub fn filter_inside(
    chain: &Chain,
    from: &Raster,
    source: &[u8],
    [left, top]: [usize; 2],
    to: &Raster,
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    let whole = chain.apply_to(from)?;
    let ends = [left.checked_add(to.width), top.checked_add(to.height)];
    let fits =
        ends[0].is_some_and(|end| end <= whole.width) && ends[1].is_some_and(|end| end <= whole.height);
    let packed = to.layout == ChannelLayout::Packed || to.channels == 1;
    if !fits || !packed || (to.channels, to.element) != (whole.channels, whole.element) {
        return Err(FilterError::result(whole.size(), whole.channels, whole.element, to).into());
    }
    check_raster("source", from, source)?;
    check_raster("result", to, result)?;
    if to.is_empty() {
        return Ok(());
    }
    let at = (left * to.channels, top as isize);
    target::write(to, result, step_of(chain), threads, &|| {
        let whole = pipe(chain, Source { raster: *from, bytes: source }, vectors::arch())?;
        Ok(match whole {
            Pipe::U8(rows) => shifted(rows, at),
            Pipe::I16(rows) => shifted(rows, at),
            Pipe::U16(rows) => shifted(rows, at),
            Pipe::F32(rows) => shifted(rows, at),
        })
    })
}

fn shifted<'a, T: Number>(rows: Box<dyn Rows<T> + 'a>, (left, top): (usize, isize)) -> Pipe<'a> {
    T::pipe(Box::new(Inside { rows, left, top }))
}

/// Rows of a part.
struct Inside<'a, T> {
    rows: Box<dyn Rows<T> + 'a>,
    /// Elements to the left of the part.
    left: usize,
    /// Rows above it.
    top: isize,
}

impl<T: Number> Rows<T> for Inside<'_, T> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        self.rows.part(y + self.top, at + self.left, out);
    }

    fn parts(&mut self, y: isize, at: usize, outs: &mut [&mut [T]]) {
        self.rows.parts(y + self.top, at + self.left, outs);
    }

    fn group(&self) -> usize {
        self.rows.group()
    }
}
