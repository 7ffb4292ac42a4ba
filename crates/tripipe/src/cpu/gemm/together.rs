//! Products by several threads.
//!
//! Packing and multiplying are items of one list, which the threads take from its front: a block waits for the operands
//! that it needs, not for all. So threads meet once for a stretch of K, not twice for each part of it, and a thread that
//! wakes late takes less.

use std::hint::spin_loop;
use std::sync::OnceLock;

use super::multiply::{
    Block, COLUMNS, DEPTH, PackColumns, PackRows, ROWS, Real, TileShape, is_read_in_place, parts, tile_shape,
    with_memory,
};
use super::operand::StridedMatrix;
use crate::cpu::bands::share_out;
use crate::cpu::vectors;

/// The number of blocks for each thread, where there are enough rows and columns: all take about as long, so that
/// threads that begin at different times end within a fourth of their work of each other.
const BLOCKS_PER_WORKER: usize = 4;

/// The smallest number of panels of columns, and of rows, of a block.
const LEAST_PANELS: usize = 2;

/// The bands of rows and of columns that C is divided into.
struct Bands {
    rows: usize,
    columns: usize,
}

impl Bands {
    /// Bands of rows if there are enough rows; otherwise of columns as well.
    fn of([m, n]: [usize; 2], tile: &TileShape, workers: usize) -> Self {
        let wanted = BLOCKS_PER_WORKER * workers;
        let most = m.div_ceil(ROWS);
        let rows_each = |bands: usize| m.div_ceil(bands).next_multiple_of(tile.rows);
        if most >= wanted {
            return Self { rows: rows_each(most.next_multiple_of(workers)), columns: n };
        }
        let across = wanted.div_ceil(most).min(n.div_ceil(LEAST_PANELS * tile.columns));
        let down = wanted.div_ceil(across).min(m.div_ceil(LEAST_PANELS * tile.rows)).max(most);
        Self { rows: rows_each(down), columns: n.div_ceil(across).next_multiple_of(tile.columns) }
    }
}

/// An operand's packed panels, once they are there.
type PanelSlot<'m, T> = OnceLock<&'m [T]>;

/// Waits for the thread that is packing, which is not long.
fn wait<'m, T>(packed: &PanelSlot<'m, T>) -> &'m [T] {
    const SPINS: usize = 10_000;
    for _ in 0..SPINS {
        if let Some(packed) = packed.get() {
            return packed;
        }
        spin_loop();
    }
    packed.wait()
}

/// What a thread does next.
enum Item<'a, 'm, 'c, T> {
    Columns { from: StridedMatrix<'a, T>, to: &'m mut [T], index: usize },
    Rows { from: StridedMatrix<'a, T>, to: &'m mut [T], index: usize },
    Block { down: usize, across: usize, rows: Vec<&'c mut [T]> },
}

/// `c = a b`, or `c += a b`. The rows of `c` are `stride` apart, the last ends with its last column; no extent is 0.
pub(super) fn multiply<T: Real>(
    (c, stride): (&mut [T], usize),
    a: StridedMatrix<'_, T>,
    b: StridedMatrix<'_, T>,
    add: bool,
    workers: usize,
) {
    let (n, k) = (b.columns, a.columns);
    let tile = tile_shape::<T>();
    let in_place = is_read_in_place(&a, n, tile.columns);
    let depths: Vec<(usize, usize)> = parts(k, DEPTH).collect();
    for (j, columns) in parts(n, COLUMNS) {
        // As much of K at a time as fits the memory of one part of a wide product.
        let one = columns.next_multiple_of(tile.columns) * depths[0].1;
        for depths in depths.chunks((COLUMNS * DEPTH / one).max(1)) {
            let stretch =
                Stretch { a, b, add, workers, tile: &tile, in_place, columns: (j, columns), depths };
            stretch.multiply(c, stride);
        }
    }
}

/// A stretch of K and of columns.
struct Stretch<'a, T> {
    a: StridedMatrix<'a, T>,
    b: StridedMatrix<'a, T>,
    add: bool,
    workers: usize,
    tile: &'a TileShape,
    in_place: bool,
    /// The first column, and their number.
    columns: (usize, usize),
    /// The parts of K: start and length of each.
    depths: &'a [(usize, usize)],
}

impl<T: Real> Stretch<'_, T> {
    fn multiply(&self, c: &mut [T], stride: usize) {
        let Self { a, b, tile, in_place, columns: (j, columns), depths, .. } = *self;
        let (m, arch) = (a.rows, vectors::arch());
        let bands = Bands::of([m, columns], tile, self.workers);
        // Blocks of the same rows share packed A; otherwise the one block of those rows packs it.
        let shared = bands.columns < columns && !in_place;
        // Where no band of columns gives each thread some of B to pack, parts of one do.
        let part = if bands.columns < columns {
            bands.columns
        } else {
            columns.div_ceil(2 * self.workers).next_multiple_of(tile.columns)
        };
        let (down, across) = (m.div_ceil(bands.rows), columns.div_ceil(part));
        let depth: usize = depths.iter().map(|(_, depth)| depth).sum();
        let b_len = columns.next_multiple_of(tile.columns) * depth;
        let a_len = if shared { m.next_multiple_of(tile.rows) * depth } else { 0 };
        T::kept(|[kept_a, kept_b]| {
            with_memory(kept_b, b_len + a_len, |memory| {
                let (packed_b, packed_a) = (slots(depths.len() * across), slots(depths.len() * down));
                let (for_b, for_a) = memory.split_at_mut(b_len);
                let (mut for_b, mut for_a) = (Unused(for_b), Unused(for_a));
                let mut items = Vec::new();
                for (step, &(l, depth)) in depths.iter().enumerate() {
                    for (index, first) in (0..columns).step_by(part).enumerate() {
                        let here = part.min(columns - first);
                        let to = for_b.take(here.next_multiple_of(tile.columns) * depth);
                        let from = b.part([l, j + first], [depth, here]);
                        items.push(Item::Columns { from, to, index: step * across + index });
                    }
                    for (index, first) in (0..m).step_by(bands.rows).enumerate().filter(|_| shared) {
                        let here = bands.rows.min(m - first);
                        let to = for_a.take(here.next_multiple_of(tile.rows) * depth);
                        let from = a.part([first, l], [here, depth]);
                        items.push(Item::Rows { from, to, index: step * down + index });
                    }
                }
                for (down, band) in c.chunks_mut(bands.rows * stride).enumerate() {
                    let mut pieces: Vec<Vec<&mut [T]>> = Vec::new();
                    pieces.resize_with(columns.div_ceil(bands.columns), Vec::new);
                    for row in band.chunks_mut(stride) {
                        let row = row[j..j + columns].chunks_mut(bands.columns);
                        pieces.iter_mut().zip(row).for_each(|(pieces, piece)| pieces.push(piece));
                    }
                    let blocks = pieces.into_iter().enumerate();
                    items.extend(blocks.map(|(across, rows)| Item::Block { down, across, rows }));
                }
                let block = |band: usize, piece: usize, rows: &mut [&mut [T]], own: Option<&mut [T]>| {
                    let mut own = own;
                    for (step, &(l, depth)) in depths.iter().enumerate() {
                        let from = a.part([band * bands.rows, l], [rows.len(), depth]);
                        let a = match own.as_deref_mut() {
                            None => wait(&packed_a[step * down + band]),
                            Some(memory) => {
                                let to = &mut memory[..rows.len().next_multiple_of(tile.rows) * depth];
                                arch.dispatch(PackRows { from, to: &mut *to, in_place });
                                to
                            }
                        };
                        let add = self.add || l > 0;
                        // One part where the columns are divided into bands, otherwise all.
                        let begin = piece * bands.columns;
                        let end = columns.min(begin + bands.columns);
                        for start in (begin..end).step_by(part) {
                            let b = wait(&packed_b[step * across + start / part]);
                            let (first, columns) = (start - begin, part.min(end - start));
                            arch.dispatch(Block { from, a, b, rows, first, columns, in_place, add });
                        }
                    }
                };
                share_out(items.into_iter(), |item| match item {
                    Item::Columns { from, to, index } => {
                        arch.dispatch(PackColumns { from, to: &mut *to });
                        let _ = packed_b[index].set(to);
                    }
                    Item::Rows { from, to, index } => {
                        arch.dispatch(PackRows { from, to: &mut *to, in_place });
                        let _ = packed_a[index].set(to);
                    }
                    Item::Block { down, across, mut rows } if shared => block(down, across, &mut rows, None),
                    Item::Block { down, across, mut rows } => {
                        let depth = depths.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
                        let len = rows.len().next_multiple_of(tile.rows) * depth;
                        with_memory(kept_a, len, |memory| block(down, across, &mut rows, Some(memory)));
                    }
                });
            });
        });
    }
}

fn slots<'m, T>(count: usize) -> Vec<PanelSlot<'m, T>> {
    std::iter::repeat_with(PanelSlot::new).take(count).collect()
}

/// Memory that no item has yet.
struct Unused<'m, T>(&'m mut [T]);

impl<'m, T> Unused<'m, T> {
    /// The first `len` elements of it.
    fn take(&mut self, len: usize) -> &'m mut [T] {
        let (first, rest) = std::mem::take(&mut self.0).split_at_mut(len);
        self.0 = rest;
        first
    }
}
