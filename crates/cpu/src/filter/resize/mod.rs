//! Resizing of images.
//!
//! When enlarging, rows of the source are first resized to the result's width, each once, and then summed for every row
//! of the result; when shrinking, sums down columns come first. So the step across, which gathers pixels from all over
//! a row, is done for the smaller number of rows.
//!
//! Three frequent cases have loops of their own: copies of pixels (`nearest`), images at half their size (`halve`), and
//! sums of two neighbouring bytes (`pairs`). Shuffles pick elements of 32 bits (`gather`).

mod gather;
mod halve;
mod nearest;
mod pairs;
mod sums;

use pulp::Arch;
use tripipe_kernels::filter::{FilterError, Interpolation, PixelType, Raster, ResizeTaps, Size};

use super::number::Number;
use super::rows::{LANES, Pipe, Rows, Source};
use super::{check_raster, target};
use crate::aligned::Aligned;
use crate::{CpuError, Threads, vectors};
use halve::{HalvedRows, Mean};
use nearest::{Columns, Copies};
use pairs::{PairRows, Pairs};
use sums::{Axis, ColumnSums, Sum};

/// Resizes an image to the extents of `to`, as defined by [`tripipe_kernels::filter::resize_reference`]: integers are
/// bit-identical to it. Slices are as in [`super::filter`].
///
/// # Errors
/// [`CpuError::Filter`] for different channels or elements, when only one of the images is empty, and for slices too
/// short for their rasters; nothing is written then.
pub fn resize(
    interpolation: Interpolation,
    from: &Raster,
    source: &[u8],
    to: &Raster,
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    check_raster("source", from, source)?;
    check_raster("result", to, result)?;
    if from.channels != to.channels || from.element != to.element || from.is_empty() != to.is_empty() {
        return Err(FilterError::result(to.size(), from.channels, from.element, to).into());
    }
    if to.is_empty() {
        return Ok(());
    }
    let images = [from, to];
    // Both take means of two by two then. Weights would take longer to compute than the result.
    let averages = matches!(interpolation, Interpolation::Bilinear | Interpolation::Area);
    if averages && from.size() == Size::new(2 * to.width, 2 * to.height) {
        return means(images, source, result, threads);
    }
    let taps = [interpolation.taps(from.width, to.width)?, interpolation.taps(from.height, to.height)?];
    if taps.iter().all(|taps| taps.count == 1) {
        return copies(&taps, images, source, result, threads);
    }
    if from.element.is_float() {
        return run::<f32, f32>(taps.map(|taps| Axis::new(&taps)), images, source, result, threads);
    }
    let bits = interpolation.bits(from, to);
    let axes = taps.map(|taps| Axis::whole(&taps, bits));
    match from.element {
        PixelType::U8 if interpolation.is_signed() => {
            run::<u8, i32>(axes.map(|axis| axis.map(|step| step as i16)), images, source, result, threads)
        }
        PixelType::U8 if bits <= 11 && axes[0].count == 2 => bytes(axes, images, source, result, threads),
        PixelType::U8 if axes[0].bits + axes[1].bits <= 8 => {
            run::<u8, u16>(axes.map(|axis| axis.map(|step| step as u16)), images, source, result, threads)
        }
        // Here weights are at most 2^11.
        PixelType::U8 if bits > 11 => {
            run::<u8, f64>(axes.map(|axis| axis.map(f64::from)), images, source, result, threads)
        }
        PixelType::U8 => {
            run::<u8, i32>(axes.map(|axis| axis.map(|step| step as i16)), images, source, result, threads)
        }
        PixelType::I16 => {
            run::<i16, f64>(axes.map(|axis| axis.map(f64::from)), images, source, result, threads)
        }
        _ => run::<u16, f64>(axes.map(|axis| axis.map(f64::from)), images, source, result, threads),
    }
}

/// Resizes without sums.
fn copies(
    [across, down]: &[ResizeTaps; 2],
    [from, to]: [&Raster; 2],
    source: &[u8],
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    fn pipe<'a, T: Number>(input: Source<'a>, columns: &'a Columns, lines: &'a [i32]) -> Pipe<'a> {
        let arch = vectors::arch();
        T::pipe(match input.raster.channels {
            1 => Box::new(Copies::<T, 1>::new(input, columns, lines, arch)),
            2 => Box::new(Copies::<T, 2>::new(input, columns, lines, arch)),
            3 => Box::new(Copies::<T, 3>::new(input, columns, lines, arch)),
            _ => Box::new(Copies::<T, 4>::new(input, columns, lines, arch)),
        })
    }
    let columns = Columns::new(across, from, vectors::arch());
    target::write(to, result, 1, threads, &|| {
        let input = Source { raster: *from, bytes: source };
        Ok(match from.element {
            PixelType::U8 => pipe::<u8>(input, &columns, &down.first),
            PixelType::I16 => pipe::<i16>(input, &columns, &down.first),
            PixelType::U16 => pipe::<u16>(input, &columns, &down.first),
            PixelType::F16 | PixelType::F32 => pipe::<f32>(input, &columns, &down.first),
        })
    })
}

/// Resizes to half the width and height, as means of four.
fn means(
    [from, to]: [&Raster; 2],
    source: &[u8],
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    fn pipe<T: Mean>(input: Source<'_>) -> Pipe<'_> {
        let arch = vectors::arch();
        T::pipe(match input.raster.channels {
            1 => Box::new(HalvedRows::<T, 1>::new(input, arch)),
            2 => Box::new(HalvedRows::<T, 2>::new(input, arch)),
            3 => Box::new(HalvedRows::<T, 3>::new(input, arch)),
            _ => Box::new(HalvedRows::<T, 4>::new(input, arch)),
        })
    }
    target::write(to, result, 1, threads, &|| {
        let input = Source { raster: *from, bytes: source };
        Ok(match from.element {
            PixelType::U8 => pipe::<u8>(input),
            PixelType::I16 => pipe::<i16>(input),
            PixelType::U16 => pipe::<u16>(input),
            PixelType::F16 | PixelType::F32 => pipe::<f32>(input),
        })
    })
}

/// Resizes bytes with two weights of at most 2^11 for each pixel of a row.
fn bytes(
    axes: [Axis<i32>; 2],
    images @ [from, to]: [&Raster; 2],
    source: &[u8],
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    let arch = vectors::arch();
    let bits = axes[0].bits + axes[1].bits;
    let axes = axes.map(|axis| axis.map(|step| step as i16));
    let Some(across) = Pairs::new(arch, &axes[0], from.channels, from.width * from.channels) else {
        return run::<u8, i32>(axes, images, source, result, threads);
    };
    target::write(to, result, 1, threads, &|| {
        let input = Source { raster: *from, bytes: source };
        Ok(Pipe::U8(Box::new(PairRows::new(input, &across, &axes[1], bits, arch))))
    })
}

fn run<T: Number, S: Sum<T>>(
    [across, down]: [Axis<S::Weight>; 2],
    [from, to]: [&Raster; 2],
    source: &[u8],
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    let (arch, bits) = (vectors::arch(), across.bits + down.bits);
    let picked = if to.height < from.height { size_of::<S>() } else { size_of::<T>() };
    let (across, down) = (&ColumnSums::new(across, [from.width, from.channels], picked, arch), &down);
    target::write(to, result, 1, threads, &|| {
        let input = Source { raster: *from, bytes: source };
        Ok(T::pipe(if to.height < from.height {
            let len = from.width * from.channels;
            let stride = len.next_multiple_of(LANES);
            let (slots, row) = (vec![T::zeroed(); down.count * stride], Aligned::filled(S::zeroed(), len));
            Box::new(DownFirst {
                input,
                across,
                down,
                bits,
                stride,
                slots,
                next: 0,
                row,
                scratch: across.scratch(),
                made: None,
                arch,
            })
        } else {
            let len = to.width * to.channels;
            let stride = len.next_multiple_of(LANES);
            let (slots, row) = (Aligned::filled(S::zeroed(), down.count * stride), Vec::new());
            Box::new(AcrossFirst {
                input,
                across,
                down,
                bits,
                row,
                scratch: across.scratch(),
                len,
                stride,
                slots,
                next: 0,
                arch,
            })
        }))
    })
}

/// Rows of a result that has at least as many rows as the source.
struct AcrossFirst<'a, T, S: Sum<T>> {
    input: Source<'a>,
    across: &'a ColumnSums<S::Weight>,
    down: &'a Axis<S::Weight>,
    bits: u32,
    /// A row of the source that cannot be read in place.
    row: Vec<T>,
    scratch: Vec<Vec<T>>,
    /// The number of elements of a row of the result.
    len: usize,
    /// The distance between slots.
    stride: usize,
    /// Rows of the source resized to the result's width; row y is in slot y modulo their number.
    slots: Aligned<S>,
    /// The next row of the source to read.
    next: usize,
    arch: Arch,
}

impl<T: Number, S: Sum<T>> Rows<T> for AcrossFirst<'_, T, S> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        let Self { input, across, down, bits, row, scratch, len, stride, slots, next, arch } = self;
        for y in down.unread(y, next) {
            let row = input.part_of_row(y, 0, input.raster.width * input.raster.channels, row);
            let slot = &mut slots[y % down.count * *stride..][..*len];
            across.sums(
                *arch,
                row,
                0,
                scratch,
                slot,
                #[inline(always)]
                |sum: S| sum,
            );
        }
        let (bits, slot) = (*bits, |y: usize| &slots[y % down.count * *stride..][..*stride]);
        down.sum(*arch, y, slot, at, out, move |sum: S| sum.finish(bits));
    }
}

/// Rows of a result that has fewer rows than the source.
struct DownFirst<'a, T, S: Sum<T>> {
    input: Source<'a>,
    across: &'a ColumnSums<S::Weight>,
    down: &'a Axis<S::Weight>,
    bits: u32,
    /// The distance between slots.
    stride: usize,
    /// Rows of the source that cannot be read in place; row y is in slot y modulo their number.
    slots: Vec<T>,
    /// The next row of the source to read.
    next: usize,
    /// Sums down columns of the source.
    row: Aligned<S>,
    scratch: Vec<Vec<S>>,
    /// The row of the result that the sums are for.
    made: Option<isize>,
    arch: Arch,
}

impl<T: Number, S: Sum<T>> Rows<T> for DownFirst<'_, T, S> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        let Self { input, across, down, bits, stride, slots, next, row, scratch, made, arch } = self;
        if *made != Some(y) {
            for y in down.unread(y, next) {
                if input.packed_row::<T>(y).is_none() {
                    input.part(y as isize, 0, &mut slots[y % down.count * *stride..][..row.len()]);
                }
            }
            let slot = |y: usize| &slots[y % down.count * *stride..][..*stride];
            let seen = |y: usize| input.packed_row(y).unwrap_or_else(|| slot(y));
            down.sum(*arch, y, seen, 0, row, |sum: S| sum);
            *made = Some(y);
        }
        let bits = *bits;
        across.sums(
            *arch,
            row,
            at,
            scratch,
            out,
            #[inline(always)]
            move |sum: S| sum.finish(bits),
        );
    }
}
