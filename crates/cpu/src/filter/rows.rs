//! Rows that are computed one after the other, from the source image to the result, without an image in between.

use std::ops::Range;

use bytemuck::cast_slice_mut;
use half::f16;
use half::slice::HalfFloatSliceExt;
use tripipe_kernels::filter::{Border, ChannelLayout, PixelType, Raster, Size};

use super::number::Number;
use crate::aligned::Aligned;

/// The number of bytes of a row that pass through the chain together. Where an image comes from memory or goes there, it
/// pays to read and write long runs of it, which processors foresee: rows of f32 in parts of 3 KiB took 1.7 times as long
/// as in parts of 24 KiB. The rows of a window still stay in the second-level cache.
const PART_BYTES: usize = 384 * LANES;

/// The number of elements in [`PART_BYTES`]: whole pixels for any number of channels.
pub(super) const fn part_len<T>() -> usize {
    PART_BYTES / size_of::<T>()
}

/// The number of elements that are computed together.
pub(super) const LANES: usize = 64;

/// The number of rows that pass through a stage together: what a row costs whatever its length is paid once for all of
/// them.
pub(super) const GROUP: usize = 8;

/// A source of rows of packed pixels.
pub(super) trait Rows<T> {
    /// Writes the elements of row `y` from `at` on to `out`, whole pixels. Rows are requested in ascending order, each
    /// from left to right and without gaps; rows may be skipped. A row beyond the image's first and last row is
    /// requested only if borders wrap around.
    fn part(&mut self, y: isize, at: usize, out: &mut [T]);

    /// The number of rows to request together, at most [`GROUP`].
    fn group(&self) -> usize {
        1
    }

    /// As [`Self::part`], for the rows from `y` on, at most [`Self::group`]; those of a group have the same parts.
    fn parts(&mut self, y: isize, at: usize, outs: &mut [&mut [T]]) {
        for (y, out) in (y..).zip(outs) {
            self.part(y, at, out);
        }
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
        let first = self.raster.index(0, y, 0);
        let end = first + width * channels + LANES;
        let row = self.bytes.get(first * element.bytes()..end * element.bytes())?;
        bytemuck::try_cast_slice(row).ok()
    }

    /// `len` elements of a row of packed pixels from `at` on: in place, or, if that is impossible, in `copy`.
    pub(super) fn part_of_row<'r, T: Number>(
        &mut self,
        y: usize,
        at: usize,
        len: usize,
        copy: &'r mut Vec<T>,
    ) -> &'r [T]
    where
        'a: 'r,
    {
        if let Some(row) = self.in_place(y, at, len) {
            return row;
        }
        copy.resize(len, T::zeroed());
        self.part(y as isize, at, copy);
        copy
    }

    /// The elements of a row of packed pixels; `None` when they have to be converted or are not aligned.
    pub(super) fn row_in_place<T: Number>(&self, y: usize) -> Option<&'a [T]> {
        self.in_place(y, 0, self.raster.width * self.raster.channels)
    }

    /// As [`Self::row_in_place`], `len` elements from `at` on.
    fn in_place<T: Number>(&self, y: usize, at: usize, len: usize) -> Option<&'a [T]> {
        let Raster { channels, element, layout, .. } = self.raster;
        if layout != ChannelLayout::Packed && channels > 1 || element == PixelType::F16 {
            return None;
        }
        bytemuck::try_cast_slice(self.line(y, 0, at, len)).ok()
    }

    /// The bytes of `len` elements of a row from `at` on; for planar images, of one channel.
    fn line(&self, y: usize, channel: usize, at: usize, len: usize) -> &'a [u8] {
        let bytes = self.raster.element.bytes();
        &self.bytes[(self.raster.index(0, y, channel) + at) * bytes..][..len * bytes]
    }
}

impl<T: Number> Rows<T> for Source<'_> {
    fn part(&mut self, y: isize, at: usize, out: &mut [T]) {
        let Raster { height, channels, element, layout, .. } = self.raster;
        // A division takes long, and few rows need it.
        let inside = (0..height as isize).contains(&y);
        let y = if inside { y } else { y.rem_euclid(height as isize) } as usize;
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

    fn group(&self) -> usize {
        GROUP
    }

    fn parts(&mut self, y: isize, at: usize, outs: &mut [&mut [T]]) {
        let Raster { height, channels, element, layout, pitch, .. } = self.raster;
        let is_inside = y >= 0 && y as usize + outs.len() <= height;
        if !is_inside || layout != ChannelLayout::Packed && channels > 1 {
            for (y, out) in (y..).zip(outs) {
                self.part(y, at, out);
            }
            return;
        }
        let bytes = element.bytes();
        let mut from = (self.raster.index(0, y as usize, 0) + at) * bytes;
        for out in outs {
            load(element, &self.bytes[from..][..out.len() * bytes], out);
            from += pitch * bytes;
        }
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
        self.parts(y, at, &mut [out]);
    }

    fn group(&self) -> usize {
        self.input.group()
    }

    fn parts(&mut self, y: isize, at: usize, outs: &mut [&mut [f32]]) {
        self.input.parts(y, at, outs);
        let mut halves = [f16::ZERO; PIECE];
        for out in outs.iter_mut().flat_map(|out| out.chunks_mut(PIECE)) {
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
    /// Writes a part of each of some neighbouring rows, at most [`GROUP`], all parts of one length. The window of the
    /// first row begins with the first of `rows`, the window of each other one row below that of the one before it.
    /// Element i of `rows` belongs to the leftmost pixel of the windows whose results are element i of `outs`, and twice
    /// [`LANES`] more elements than they require can be read.
    fn run(&mut self, rows: &[&[T]], outs: &mut [&mut [U]]);
}

/// A stage with a window, and the rows in its window.
pub(super) struct Windows<'a, T, U> {
    input: Box<dyn Rows<T> + 'a>,
    ring: Ring<T>,
    kernel: Box<dyn Kernel<T, U> + 'a>,
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
    /// The results of a kernel with a window of `size` pixels.
    pub(super) fn windows<U: Number>(
        self,
        size: Size,
        kernel: impl Kernel<T, U> + 'a,
    ) -> Box<dyn Rows<U> + 'a> {
        self.boxed_windows(size, Box::new(kernel))
    }

    fn boxed_windows<U: Number>(
        self,
        size: Size,
        kernel: Box<dyn Kernel<T, U> + 'a>,
    ) -> Box<dyn Rows<U> + 'a> {
        let Self { rows, shape, outside } = self;
        let radius = [size.width / 2, size.height / 2];
        // With a multiple of blocks, all rows are aligned.
        let len = ((shape.width + 2 * radius[0]) * shape.channels + 2 * LANES).next_multiple_of(LANES);
        let group = rows.group();
        let count = 2 * radius[1] + group;
        let beside = beside(shape, radius[0]);
        let slots = Aligned::filled(outside, len * (count + 1));
        let ring = Ring { slots, len, count, group, radius, shape, beside };
        Box::new(Windows { input: rows, ring, kernel, current: 0..0, loaded: 0 })
    }
}

impl<T: Number, U> Windows<'_, T, U> {
    /// Loads the pixels in the windows of `len` elements of `rows` from `at` on.
    fn advance(&mut self, rows: Range<isize>, at: usize, len: usize) {
        let border = self.ring.shape.border;
        let (margin, down) = (self.ring.margin(), self.ring.radius[1] as isize);
        let row = self.ring.row_len();
        if self.current != rows {
            // Those above the first are still there if the rows before were requested last.
            if self.current.is_empty() || self.current.end != rows.start {
                self.ring.load(rows.start - down..rows.start + down, 0..row, &mut *self.input);
            }
            (self.current, self.loaded) = (rows, 0);
        }
        // The pixels to the left of the first may be the last ones.
        let end = if border == Border::Wrap { row } else { row.min(at + len + margin) };
        if end > self.loaded {
            let below = self.current.start + down..self.current.end + down;
            self.ring.load(below, self.loaded..end, &mut *self.input);
        }
        self.loaded = end;
    }
}

impl<T: Number, U: Number> Rows<U> for Windows<'_, T, U> {
    fn part(&mut self, y: isize, at: usize, out: &mut [U]) {
        self.parts(y, at, &mut [out]);
    }

    fn group(&self) -> usize {
        self.ring.group
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
        self.ring.seen_from(y - down, at, &mut rows[..count]);
        self.kernel.run(&rows[..count], outs);
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
            let centre = &self.ring.window_row(y)[margin + at..][..out.len()];
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
    slots: Aligned<T>,
    /// The number of elements of a slot.
    len: usize,
    /// The number of rows in the windows of a group of rows.
    count: usize,
    /// The number of rows that are requested together.
    group: usize,
    /// The number of columns and rows of the window on each side of its centre.
    radius: [usize; 2],
    shape: PipeShape,
    /// The border's elements to the left and right of a row, and the elements of the row that they repeat, as places in a
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
        let pixels = side.filter_map(seen);
        pixels
            .flat_map(|[place, seen]| (0..channels).map(move |channel| [place + channel, seen + channel]))
            .collect()
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

    /// The index of the slot of row `y`.
    fn slot(&self, y: isize) -> usize {
        // In 32 bits, where a division is several times as fast on many CPUs.
        match u32::try_from(y) {
            Ok(y) => (y % self.count as u32) as usize,
            Err(_) => y.rem_euclid(self.count as isize) as usize,
        }
    }

    /// The slot after this one.
    fn next_slot(&self, slot: usize) -> usize {
        if slot + 1 < self.count { slot + 1 } else { 0 }
    }

    /// Loads a part of those of some rows that there are; at an end of them, the border beside them as well.
    fn load(&mut self, rows: Range<isize>, part: Range<usize>, input: &mut dyn Rows<T>) {
        let PipeShape { height, border, .. } = self.shape;
        let is_wrapped = border == Border::Wrap;
        let rows = if is_wrapped { rows } else { rows.start.max(0)..rows.end.min(height as isize) };
        let (margin, row) = (self.margin(), self.row_len());
        for first in rows.clone().step_by(self.group) {
            let count = self.group.min((rows.end - first) as usize);
            let first_slot = self.slot(first);
            let mut outs: [&mut [T]; GROUP] = Default::default();
            for (slot, memory) in self.slots.chunks_exact_mut(self.len).take(self.count).enumerate() {
                let index = if slot < first_slot { slot + self.count } else { slot } - first_slot;
                if let Some(out) = outs[..count].get_mut(index) {
                    *out = &mut memory[margin + part.start..margin + part.end];
                }
            }
            input.parts(first, part.start, &mut outs[..count]);
            let [left, right] = &self.beside;
            let left = if part.start == 0 { left.as_slice() } else { &[] };
            let right = if part.end == row { right.as_slice() } else { &[] };
            let mut slot = first_slot;
            for _ in 0..count {
                let memory = &mut self.slots[slot * self.len..][..self.len];
                for &[place, seen] in left.iter().chain(right) {
                    memory[place] = memory[seen];
                }
                slot = self.next_slot(slot);
            }
        }
    }

    /// The rows from `first` on as windows see them, from element `at` on.
    fn seen_from<'r>(&'r self, first: isize, at: usize, rows: &mut [&'r [T]]) {
        let slots = &*self.slots;
        let mut before = None;
        for (row, y) in rows.iter_mut().zip(first..) {
            // Most rows follow the row before, so that no division is necessary.
            let slot = match before {
                Some(before) if y < self.shape.height as isize => self.next_slot(before),
                _ => self.window_slot(y),
            };
            *row = &slots[slot * self.len..][at..self.len];
            before = (y >= 0).then_some(slot);
        }
    }

    /// Row `y` as windows see it.
    fn window_row(&self, y: isize) -> &[T] {
        &self.slots[self.window_slot(y) * self.len..][..self.len]
    }

    /// The slot of row `y` as windows see it.
    fn window_slot(&self, y: isize) -> usize {
        let PipeShape { height, border, .. } = self.shape;
        let inside = border == Border::Wrap || (0..height as isize).contains(&y);
        let row = if inside { Some(y) } else { border.source(y, height).map(|y| y as isize) };
        row.map_or(self.count, |y| self.slot(y))
    }
}
