//! Rows that are computed one after the other, from the source image to the result, without an image in between.

use std::ops::Range;

use bytemuck::cast_slice_mut;
use half::f16;
use half::slice::HalfFloatSliceExt;
use tripipe_kernels::filter::{Border, ChannelLayout, PixelType, Raster};

use super::number::Number;

/// The number of elements of a row that pass through the chain together: small enough that the next ones are loaded
/// from memory while these are computed, and whole pixels for any number of channels.
pub(super) const PART: usize = 48 * LANES;

/// The number of elements that are computed together.
pub(super) const LANES: usize = 64;

/// The number of rows that pass through a stage together: what a row costs whatever its length is paid once for all of
/// them.
pub(super) const GROUP: usize = 4;

/// A source of rows of packed pixels.
pub(super) trait Rows<T> {
    /// Writes the elements of row `y` from `at` on to `out`, whole pixels. Rows are requested in ascending order, each
    /// from left to right and without gaps; rows may be skipped. A row beyond the image's first and last row is
    /// requested only if borders wrap around.
    fn part(&mut self, y: isize, at: usize, out: &mut [T]);

    /// The number of rows to request together.
    fn group(&self) -> usize {
        1
    }

    /// As [`Self::part`], for the rows from `y` on, at most [`Self::group`]; those of a group have the same parts.
    fn parts(&mut self, y: isize, at: usize, outs: &mut [&mut [T]]) {
        for (y, out) in (y..).zip(outs) {
            self.part(y, at, out);
        }
    }

    /// Whether any part may be requested at any time.
    fn is_in_memory(&self) -> bool {
        false
    }
}

/// Rows of any pixel type.
pub(super) enum Pipe<'a> {
    U8(Box<dyn Rows<u8> + 'a>),
    I16(Box<dyn Rows<i16> + 'a>),
    U16(Box<dyn Rows<u16> + 'a>),
    /// Both floating-point types.
    F32(Box<dyn Rows<f32> + 'a>),
}

/// The rows of an image in memory.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) raster: Raster,
    pub(super) bytes: &'a [u8],
}

impl<'a> Source<'a> {
    pub(super) fn pipe(self) -> Pipe<'a> {
        match self.raster.element {
            PixelType::U8 => Pipe::U8(Box::new(self)),
            PixelType::I16 => Pipe::I16(Box::new(self)),
            PixelType::U16 => Pipe::U16(Box::new(self)),
            PixelType::F16 | PixelType::F32 => Pipe::F32(Box::new(self)),
        }
    }

    /// The elements of a row of packed pixels with [`LANES`] more after them, in place; `None` when they have to be
    /// converted, are not aligned, or end with the image.
    pub(super) fn packed_row<T: Number>(&self, y: usize) -> Option<&'a [T]> {
        let Raster { width, channels, element, layout, .. } = self.raster;
        if layout != ChannelLayout::Packed && channels > 1 || element.bytes() != size_of::<T>() {
            return None;
        }
        let first = self.raster.index([0, y], 0);
        let end = first + width * channels + LANES;
        let row = self.bytes.get(first * element.bytes()..end * element.bytes())?;
        bytemuck::try_cast_slice(row).ok()
    }

    /// The elements of a row of packed pixels: in place, or, if that is impossible, copied to `row`, which has room for
    /// them.
    pub(super) fn whole_row<'r, T: Number>(&mut self, y: usize, row: &'r mut [T]) -> &'r [T]
    where
        'a: 'r,
    {
        let Raster { width, channels, element, layout, .. } = self.raster;
        if (layout == ChannelLayout::Packed || channels == 1)
            && element != PixelType::F16
            && let Ok(row) = bytemuck::try_cast_slice(self.line(y, 0, 0, width * channels))
        {
            return row;
        }
        self.part(y as isize, 0, row);
        row
    }

    /// The bytes of `len` elements of a row from `at` on; for planar images, of one channel.
    fn line(&self, y: usize, channel: usize, at: usize, len: usize) -> &'a [u8] {
        let bytes = self.raster.element.bytes();
        &self.bytes[(self.raster.index([0, y], channel) + at) * bytes..][..len * bytes]
    }
}

impl<T: Number> Rows<T> for Source<'_> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        let Raster { height, channels, element, layout, .. } = self.raster;
        let y = y.rem_euclid(height as isize) as usize;
        if layout == ChannelLayout::Packed || channels == 1 {
            return load(element, self.line(y, 0, at, out.len()), out);
        }
        let mut plane = vec![T::zeroed(); out.len() / channels];
        for channel in 0..channels {
            load(element, self.line(y, channel, at / channels, plane.len()), &mut plane);
            for (pixel, value) in out.chunks_exact_mut(channels).zip(&plane) {
                pixel[channel] = *value;
            }
        }
    }

    fn is_in_memory(&self) -> bool {
        true
    }
}

/// The number of elements converted at a time.
const PIECE: usize = 512;

/// Reads elements of the raster's type into `T`, the type of the computation.
fn load<T: Number>(element: PixelType, bytes: &[u8], out: &mut [T]) {
    if element != PixelType::F16 {
        return cast_slice_mut(out).copy_from_slice(bytes);
    }
    let mut halves = [f16::ZERO; PIECE];
    let floats: &mut [f32] = cast_slice_mut(out);
    for (floats, bytes) in floats.chunks_mut(PIECE).zip(bytes.chunks(2 * PIECE)) {
        let halves = &mut halves[..floats.len()];
        cast_slice_mut(halves).copy_from_slice(bytes);
        halves.convert_to_f32_slice(floats);
    }
}

/// Writes elements of `T`, the type of the computation, in the raster's type.
pub(super) fn store<T: Number>(element: PixelType, row: &[T], out: &mut [u8]) {
    if element != PixelType::F16 {
        return out.copy_from_slice(bytemuck::cast_slice(row));
    }
    let mut halves = [f16::ZERO; PIECE];
    let floats: &[f32] = bytemuck::cast_slice(row);
    for (floats, out) in floats.chunks(PIECE).zip(out.chunks_mut(2 * PIECE)) {
        let halves = &mut halves[..floats.len()];
        halves.convert_from_f32_slice(floats);
        out.copy_from_slice(bytemuck::cast_slice(halves));
    }
}

/// Rounds rows to half precision, as an image in memory would.
pub(super) struct Halved<'a> {
    pub(super) input: Box<dyn Rows<f32> + 'a>,
}

impl Rows<f32> for Halved<'_> {
    fn part(&mut self, y: isize, at: usize, out: &mut [f32]) {
        self.input.part(y, at, out);
        let mut halves = [f16::ZERO; PIECE];
        for out in out.chunks_mut(PIECE) {
            let halves = &mut halves[..out.len()];
            halves.convert_from_f32_slice(out);
            halves.convert_to_f32_slice(out);
        }
    }
}

/// The number of rows of the largest window.
const WINDOW: usize = 31;

/// The shape of an image inside a pipe.
#[derive(Clone, Copy)]
pub(super) struct PipeShape {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) channels: usize,
    pub(super) border: Border,
    /// Whether the last channel is copied instead of filtered.
    pub(super) keep_alpha: bool,
}

/// The computation of a stage on the rows of its window.
pub(super) trait Kernel<T, U> {
    /// Writes a part of a row. Element i of `rows` belongs to the leftmost pixel of the window whose result is
    /// `out[i]`, and twice [`LANES`] more elements than that requires can be read.
    fn run(&mut self, rows: &[&[T]], out: &mut [U]);

    /// The same for neighbouring rows: the windows of each begin one row below those of the one before.
    fn run_group(&mut self, rows: &[&[T]], outs: &mut [&mut [U]]) {
        let window = rows.len() + 1 - outs.len();
        for (index, out) in outs.iter_mut().enumerate() {
            self.run(&rows[index..][..window], out);
        }
    }
}

/// A stage with a window, and the rows in its window.
pub(super) struct Windows<'a, T, K> {
    input: Box<dyn Rows<T> + 'a>,
    ring: Ring<T>,
    kernel: K,
    /// The number of rows that are requested together.
    group: usize,
    /// The rows that are being requested.
    current: Range<isize>,
    /// The number of elements loaded of the last rows in their windows.
    loaded: usize,
}

/// The input of a stage.
pub(super) struct Input<'a, T> {
    pub(super) rows: Box<dyn Rows<T> + 'a>,
    pub(super) shape: PipeShape,
    /// The value of pixels where the border has none.
    pub(super) outside: T,
}

impl<'a, T: Number> Input<'a, T> {
    /// The results of a kernel with a window of `size` columns and rows.
    pub(super) fn windows<U: Number>(
        self,
        size: [usize; 2],
        kernel: impl Kernel<T, U> + 'a,
    ) -> Box<dyn Rows<U> + 'a>
    where
        T: 'a,
    {
        let Self { rows, shape, outside } = self;
        let radius = size.map(|extent| extent / 2);
        let len = (shape.width + 2 * radius[0]) * shape.channels + 2 * LANES;
        let group = if rows.is_in_memory() { GROUP } else { 1 };
        let count = 2 * radius[1] + group;
        let beside = beside(shape, radius[0]);
        let ring = Ring { slots: vec![outside; len * (count + 1)], len, count, radius, shape, beside };
        Box::new(Windows { input: rows, ring, kernel, group, current: 0..0, loaded: 0 })
    }
}

impl<T: Number, K> Windows<'_, T, K> {
    /// Loads the pixels in the windows of `len` elements of `rows` from `at` on.
    fn advance(&mut self, rows: Range<isize>, at: usize, len: usize) {
        let PipeShape { height, border, .. } = self.ring.shape;
        let (margin, down) = (self.ring.margin(), self.ring.radius[1] as isize);
        let row = self.ring.row_len();
        let inside = |y: isize| border == Border::Wrap || (0..height as isize).contains(&y);
        if self.current != rows {
            // Those above the first are still there if the rows before were requested last.
            if self.current.is_empty() || self.current.end != rows.start {
                for y in (rows.start - down..rows.start + down).filter(|y| inside(*y)) {
                    self.ring.load(y, 0..row, &mut *self.input);
                }
            }
            (self.current, self.loaded) = (rows, 0);
        }
        // The pixels to the left of the first may be the last ones.
        let end = if border == Border::Wrap { row } else { row.min(at + len + margin) };
        if end > self.loaded {
            for y in (self.current.start + down..self.current.end + down).filter(|y| inside(*y)) {
                self.ring.load(y, self.loaded..end, &mut *self.input);
            }
        }
        self.loaded = end;
    }
}

impl<T: Number, U: Number, K: Kernel<T, U>> Rows<U> for Windows<'_, T, K> {
    fn part(&mut self, y: isize, at: usize, out: &mut [U]) {
        self.parts(y, at, &mut [out]);
    }

    fn group(&self) -> usize {
        self.group
    }

    fn parts(&mut self, y: isize, at: usize, outs: &mut [&mut [U]]) {
        let len = outs.first().map_or(0, |out| out.len());
        let down = self.ring.radius[1] as isize;
        let end = y + outs.len() as isize;
        self.advance(y..end, at, len);
        let PipeShape { height, border, keep_alpha, .. } = self.ring.shape;
        let margin = self.ring.margin();
        let mut rows: [&[T]; WINDOW + GROUP - 1] = [&[]; WINDOW + GROUP - 1];
        let count = outs.len() + 2 * down as usize;
        for (row, y) in rows.iter_mut().zip(y - down..end + down) {
            *row = &self.ring.seen(y)[at..];
        }
        self.kernel.run_group(&rows[..count], outs);
        if border != Border::None && !keep_alpha {
            return;
        }
        for (y, out) in (y..).zip(outs) {
            let edge = y < down || y + down >= height as isize;
            let row = self.ring.row_len();
            let copied = match border {
                Border::None if edge => row,
                Border::None => margin.min(row),
                _ => 0,
            };
            let centre = &self.ring.seen(y)[margin + at..][..out.len()];
            let left = copied.saturating_sub(at).min(out.len());
            let right = (row - copied).saturating_sub(at).min(out.len());
            for range in [0..left, right..out.len()] {
                for (out, pixel) in out[range.clone()].iter_mut().zip(&centre[range]) {
                    *out = U::from_float(pixel.to_float());
                }
            }
            if keep_alpha {
                for (out, pixel) in out.chunks_exact_mut(4).zip(centre.chunks_exact(4)) {
                    out[3] = U::from_float(pixel[3].to_float());
                }
            }
        }
    }
}

/// Rows with the border pixels to their left and right.
struct Ring<T> {
    /// Row y is in slot y modulo `count`. One more slot has the pixels above and below if they are constant.
    slots: Vec<T>,
    /// The number of elements of a slot.
    len: usize,
    /// The number of rows in the windows of a group of rows.
    count: usize,
    /// The number of columns and rows of the window on each side of its centre.
    radius: [usize; 2],
    shape: PipeShape,
    /// The border's pixels to the left and right of a row, and the pixels of the row that they repeat, in elements of a
    /// slot.
    beside: [Vec<[usize; 2]>; 2],
}

/// As in [`Ring::beside`], for `columns` pixels on each side.
fn beside(shape: PipeShape, columns: usize) -> [Vec<[usize; 2]>; 2] {
    let PipeShape { width, channels, border, .. } = shape;
    let (width, columns) = (width as isize, columns as isize);
    [-columns..0, width..width + columns].map(|side| {
        let pixel = |x: isize| (x + columns) as usize * channels;
        let seen = |x: isize| Some([pixel(x), pixel(border.source(x, width as usize)? as isize)]);
        side.filter_map(seen).collect()
    })
}

impl<T: Number> Ring<T> {
    /// The number of elements of a row.
    fn row_len(&self) -> usize {
        self.shape.width * self.shape.channels
    }

    /// The number of elements of the border to the left of a row, and to the right.
    fn margin(&self) -> usize {
        self.radius[0] * self.shape.channels
    }

    fn slot(&self, y: isize) -> usize {
        // In 32 bits, where a division is several times as fast on many CPUs.
        match u32::try_from(y) {
            Ok(y) => (y % self.count as u32) as usize * self.len,
            Err(_) => y.rem_euclid(self.count as isize) as usize * self.len,
        }
    }

    /// Loads a part of row `y`; at an end of the row, the border beside it as well.
    fn load(&mut self, y: isize, part: Range<usize>, input: &mut dyn Rows<T>) {
        let PipeShape { width, channels, .. } = self.shape;
        let (at, margin) = (self.slot(y), self.margin());
        let slot = &mut self.slots[at..][..self.len];
        input.part(y, part.start, &mut slot[margin + part.start..margin + part.end]);
        let [left, right] = &self.beside;
        let left = if part.start == 0 { left.as_slice() } else { &[] };
        let right = if part.end == width * channels { right.as_slice() } else { &[] };
        for &[place, seen] in left.iter().chain(right) {
            // Not `copy_within`, whose call takes longer than copying a few elements.
            for channel in 0..channels {
                slot[place + channel] = slot[seen + channel];
            }
        }
    }

    /// Row `y` as windows see it.
    fn seen(&self, y: isize) -> &[T] {
        let PipeShape { height, border, .. } = self.shape;
        let inside = border == Border::Wrap || (0..height as isize).contains(&y);
        let row = if inside { Some(y) } else { border.source(y, height).map(|y| y as isize) };
        let outside = self.count * self.len;
        &self.slots[row.map_or(outside, |y| self.slot(y))..][..self.len]
    }
}
