//! Products of `f32` and of `f64`.
//!
//! A is packed in panels of a few rows, B in panels of a few vectors, so that both are read in memory order. A tile of
//! C stays in registers while a panel of A is multiplied by one of B. A panel of B stays in the first-level cache, a
//! block of A in the second, a block of B in the third.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::thread::LocalKey;

use pulp::{Simd, WithSimd};

use super::few_rows;
use super::operand::StridedMatrix;
use super::tile::{lanes, tile, tile_in_place};
use crate::Threads;
use crate::aligned::Aligned;
use crate::bands::share_out;
use crate::vectors;

/// The number of steps along K that are summed in registers.
const DEPTH: usize = 384;
/// The number of rows in a block of A.
const ROWS: usize = 192;
/// The number of columns in a block of B.
const COLUMNS: usize = 4096;
/// The number of bands of C for each thread, where several work.
const BANDS_PER_WORKER: usize = 4;
/// The number of tiles that a band of rows is high, or a band of columns wide, at least: what is packed for it is used
/// that often.
const LEAST_TILES: usize = 4;
/// The number of panels of B that a thread packs at a time.
const PACKED_TOGETHER: usize = 4;
/// The number of panels of B up to which rows of A are read where they lie: packing them would take as long as
/// multiplying them by two panels or so.
const FEW_PANELS: usize = 4;
/// The least number of multiply-adds for each thread: some 40 us.
const LEAST_SHARE: usize = 1 << 21;
/// The number of elements of a result up to which a long K is divided among the threads.
const SMALL_RESULT: usize = 1 << 16;

/// Memory retained by a thread.
type ThreadMemory<T> = &'static LocalKey<Cell<Aligned<T>>>;

/// `f32` and `f64`, and the machine's vector operations on them.
#[allow(unreachable_pub, reason = "it bounds a type of a public sealed trait, which Rust 1.89 overlooks")]
pub trait Real: Copy + Default + Send + Sync + 'static {
    /// A vector of the machine's width.
    type Vector<S: Simd>: Copy;

    /// `self + other`.
    fn plus(self, other: Self) -> Self;

    /// One number in every lane.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;

    /// `a + b`.
    fn add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// `a b + c`, rounded once or twice, whichever is fast.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;

    /// The vectors that a slice consists of; a remainder is left out.
    fn vectors<S: Simd>(slice: &[Self]) -> &[Self::Vector<S>];

    /// As [`Self::vectors`].
    fn vectors_mut<S: Simd>(slice: &mut [Self]) -> &mut [Self::Vector<S>];

    /// Loads the beginning of a slice; lanes past its end are zero.
    fn load<S: Simd>(simd: S, from: &[Self]) -> Self::Vector<S>;

    /// Stores as many lanes as there is room for.
    fn store<S: Simd>(simd: S, to: &mut [Self], vector: Self::Vector<S>);

    /// Calls `work` with the memory that the thread retains for packed A, and for packed B.
    fn with_thread_memory(work: impl FnOnce([ThreadMemory<Self>; 2]));
}

macro_rules! real {
    (
        $type:ident: $vectors:ident $splat:ident $add:ident $mul_add:ident
        $as:ident $as_mut:ident $load:ident $store:ident
    ) => {
        impl Real for $type {
            type Vector<S: Simd> = S::$vectors;

            #[inline(always)]
            fn plus(self, other: $type) -> $type {
                self + other
            }

            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: $type) -> S::$vectors {
                simd.$splat(value)
            }

            #[inline(always)]
            fn add<S: Simd>(simd: S, a: S::$vectors, b: S::$vectors) -> S::$vectors {
                simd.$add(a, b)
            }

            #[inline(always)]
            fn mul_add<S: Simd>(simd: S, a: S::$vectors, b: S::$vectors, c: S::$vectors) -> S::$vectors {
                simd.$mul_add(a, b, c)
            }

            #[inline(always)]
            fn vectors<S: Simd>(slice: &[$type]) -> &[S::$vectors] {
                S::$as(slice).0
            }

            #[inline(always)]
            fn vectors_mut<S: Simd>(slice: &mut [$type]) -> &mut [S::$vectors] {
                S::$as_mut(slice).0
            }

            #[inline(always)]
            fn load<S: Simd>(simd: S, from: &[$type]) -> S::$vectors {
                simd.$load(from)
            }

            #[inline(always)]
            fn store<S: Simd>(simd: S, to: &mut [$type], vector: S::$vectors) {
                simd.$store(to, vector);
            }

            fn with_thread_memory(work: impl FnOnce([ThreadMemory<$type>; 2])) {
                thread_local! {
                    static A: Cell<Aligned<$type>> = const { Cell::new(Aligned::empty()) };
                    static B: Cell<Aligned<$type>> = const { Cell::new(Aligned::empty()) };
                }
                work([&A, &B]);
            }
        }
    };
}

real!(f32: f32s splat_f32s add_f32s mul_add_e_f32s as_simd_f32s as_mut_simd_f32s partial_load_f32s partial_store_f32s);
real!(f64: f64s splat_f64s add_f64s mul_add_e_f64s as_simd_f64s as_mut_simd_f64s partial_load_f64s partial_store_f64s);

/// Calls `work` with `len` aligned elements. The thread retains the memory for its next
/// product: fresh pages would cost as much as the packing. A nested product, which the thread starts while it waits for
/// another, finds none.
pub(super) fn with_memory<T: Real>(kept: ThreadMemory<T>, len: usize, work: impl FnOnce(&mut [T])) {
    let mut memory = kept.take();
    memory.resize(len, T::default());
    work(&mut memory);
    kept.set(memory);
}

/// `c = a b`, or `c += a b`. The rows of `c` are `stride` apart; no extent is 0.
pub(super) fn multiply<T: Real>(
    (c, stride): (&mut [T], usize),
    a: StridedMatrix<'_, T>,
    b: StridedMatrix<'_, T>,
    add: bool,
    threads: Threads,
) {
    let arch = vectors::arch();
    let (m, n, k) = (a.rows, b.columns, a.columns);
    let c = &mut c[..(m - 1) * stride + n];
    if threads.count() > 1 && m * n <= SMALL_RESULT && k >= 8 * DEPTH {
        return multiply_deep((c, stride), a, b, add, threads);
    }
    if few_rows::applies(&a, &b) {
        return few_rows::multiply((c, stride), a, b, add, threads);
    }
    // Threads that have less to do than it takes to wake them are left alone.
    let most = NonZeroUsize::new(m.saturating_mul(n).saturating_mul(k) / LEAST_SHARE)
        .map_or(Threads::One, Threads::AtMost);
    let threads = threads.limited_to(most);
    let workers = threads.count();
    let TileShape { rows: tile_rows, columns: tile_columns } = tile_shape::<T>();
    // Some bands of rows for each thread, so that the others go on while one wakes up or loses its processor; when there
    // are too few rows, columns are divided as well.
    let bands = if workers == 1 { 1 } else { BANDS_PER_WORKER * workers };
    let row_bands = m.div_ceil(ROWS).next_multiple_of(bands).min(m.div_ceil(LEAST_TILES * tile_rows));
    let band_rows = m.div_ceil(row_bands).next_multiple_of(tile_rows);
    let column_bands = bands.div_ceil(m.div_ceil(band_rows));
    T::with_thread_memory(|[kept_a, kept_b]| {
        for (j, columns) in parts(n, COLUMNS) {
            let band_columns = columns.div_ceil(column_bands).next_multiple_of(tile_columns);
            let band_columns =
                if column_bands == 1 { columns } else { band_columns.max(LEAST_TILES * tile_columns) };
            for (l, depth) in parts(k, DEPTH) {
                let part = b.part([l, j], [depth, columns]);
                let packed_len = columns.next_multiple_of(tile_columns) * depth;
                with_memory(kept_b, packed_len, |packed| {
                    let packing = |first: usize, to: &mut [T]| {
                        let columns = (to.len() / depth).min(columns - first);
                        let from = part.part([0, first], [depth, columns]).transposed();
                        arch.dispatch(PackB { from, to });
                    };
                    if workers == 1 {
                        packing(0, packed);
                    } else {
                        let share = PACKED_TOGETHER * tile_columns;
                        let shares = packed.chunks_mut(share * depth).enumerate();
                        share_out(shares, threads, |(index, to)| packing(index * share, to));
                    }
                    let packed = &*packed;
                    let block = |first: usize, band: usize, rows: &mut [&mut [T]]| {
                        let from = a.part([first, l], [rows.len(), depth]);
                        let len = rows.len().next_multiple_of(tile_rows) * depth;
                        let b = &packed[band * band_columns * depth..];
                        with_memory(kept_a, len, |memory| {
                            arch.dispatch(RowBlock { from, memory, b, rows, add: add || l > 0 });
                        });
                    };
                    let bands = c.chunks_mut(band_rows * stride).enumerate();
                    let bands = bands.map(|(index, band)| (index * band_rows, band.chunks_mut(stride)));
                    if workers == 1 {
                        let mut rows = Vec::new();
                        for (first, band) in bands {
                            rows.clear();
                            rows.extend(band.map(|row| &mut row[j..j + columns]));
                            block(first, 0, &mut rows);
                        }
                    } else {
                        let tasks = bands.flat_map(|(first, band)| {
                            let mut tasks: Vec<Vec<&mut [T]>> = Vec::new();
                            tasks.resize_with(columns.div_ceil(band_columns), Vec::new);
                            for row in band {
                                let pieces = row[j..j + columns].chunks_mut(band_columns);
                                for (task, piece) in tasks.iter_mut().zip(pieces) {
                                    task.push(piece);
                                }
                            }
                            tasks.into_iter().enumerate().map(move |(band, rows)| (first, band, rows))
                        });
                        share_out(tasks, threads, |(first, band, mut rows)| block(first, band, &mut rows));
                    }
                });
            }
        }
    });
}

/// As [`multiply`], with K divided among the threads: a small result leaves each of them little to do between two
/// meetings.
fn multiply_deep<T: Real>(
    (c, stride): (&mut [T], usize),
    a: StridedMatrix<'_, T>,
    b: StridedMatrix<'_, T>,
    add: bool,
    threads: Threads,
) {
    let (m, n, k) = (a.rows, b.columns, a.columns);
    // Some parts for each thread, so that others can begin while one wakes up.
    let count = (BANDS_PER_WORKER * threads.count()).min(k / DEPTH);
    let mut sums = vec![T::default(); count * m * n];
    let parts = parts(k, k.div_ceil(count));
    share_out(sums.chunks_mut(m * n).zip(parts), threads, |(sums, (l, depth))| {
        let (a, b) = (a.part([0, l], [m, depth]), b.part([l, 0], [depth, n]));
        multiply((sums, n), a, b, false, Threads::One);
    });
    for (i, c) in c.chunks_mut(stride).enumerate() {
        for (j, c) in c.iter_mut().take(n).enumerate() {
            let terms = sums.iter().skip(i * n + j).step_by(m * n);
            *c = terms.fold(if add { *c } else { T::default() }, |sum, term| sum.plus(*term));
        }
    }
}

/// Divides `0..size` into as few parts of about the same size as possible, each at most `most`: start and length of
/// each.
fn parts(size: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let each = size.div_ceil(size.div_ceil(most).max(1)).max(1);
    (0..size).step_by(each).map(move |start| (start, each.min(size - start)))
}

/// The number of rows and columns of a tile of C in registers.
pub(super) struct TileShape {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// The tile of the machine.
pub(super) fn tile_shape<T: Real>() -> TileShape {
    vectors::arch().dispatch(ShapeOf::<T>::default())
}

/// The number of rows and vectors of a tile: it uses all registers except those for vectors of B and for a number of A.
macro_rules! with_tile {
    ($simd:ident, $function:ident($($argument:expr),*)) => {
        if S::REGISTER_COUNT >= 32 {
            $function::<S, T, 12, 4, 2>($simd, $($argument),*)
        } else if S::IS_SCALAR {
            $function::<S, T, 4, 1, 2>($simd, $($argument),*)
        } else {
            $function::<S, T, 6, 2, 2>($simd, $($argument),*)
        }
    };
}

/// Finds the tile of the machine.
#[derive(Default)]
struct ShapeOf<T>(std::marker::PhantomData<T>);

impl<T: Real> WithSimd for ShapeOf<T> {
    type Output = TileShape;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> TileShape {
        #[inline(always)]
        fn shape<S: Simd, T: Real, const ROWS: usize, const FEW: usize, const VECTORS: usize>(
            _: S,
        ) -> TileShape {
            TileShape { rows: ROWS, columns: VECTORS * lanes::<S, T>() }
        }
        with_tile!(simd, shape())
    }
}

/// Packs columns of B, as rows of its transpose.
struct PackB<'a, T> {
    from: StridedMatrix<'a, T>,
    to: &'a mut [T],
}

impl<T: Real> WithSimd for PackB<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        #[inline(always)]
        fn run<S: Simd, T: Real, const ROWS: usize, const FEW: usize, const VECTORS: usize>(
            _: S,
            from: StridedMatrix<'_, T>,
            to: &mut [T],
        ) {
            let width = VECTORS * lanes::<S, T>();
            let depth = from.columns;
            for (index, to) in to.chunks_exact_mut(width * depth).enumerate() {
                let first = index * width;
                let rows = width.min(from.rows - first);
                pack(from.part([first, 0], [rows, depth]), to, width);
            }
        }
        with_tile!(simd, run(self.from, self.to));
    }
}

/// Packs a panel of at most `width` rows: element (i, l) goes to `l * width + i`. Missing rows are zeros.
#[inline(always)]
fn pack<T: Real>(from: StridedMatrix<'_, T>, to: &mut [T], width: usize) {
    /// The number of rows that are read together.
    const TOGETHER: usize = 4;

    let [down, along] = from.strides();
    let (data, depth) = (from.data(), from.columns);
    if down == 1 && from.rows == width {
        for (l, to) in to.chunks_exact_mut(width).enumerate() {
            to.copy_from_slice(&data[l * along..][..width]);
        }
    } else if from.rows < width {
        for (l, to) in to.chunks_exact_mut(width).enumerate() {
            let (to, rest) = to.split_at_mut(from.rows);
            let from = &data[l * along..];
            for (i, to) in to.iter_mut().enumerate() {
                *to = from[i * down];
            }
            rest.fill(T::default());
        }
    } else if along == 1 && width.is_multiple_of(TOGETHER) {
        for first in (0..width).step_by(TOGETHER) {
            let rows: [&[T]; TOGETHER] = std::array::from_fn(|i| &data[(first + i) * down..][..depth]);
            for (l, to) in to.chunks_exact_mut(width).enumerate() {
                let to = &mut to[first..first + TOGETHER];
                for (to, row) in to.iter_mut().zip(rows) {
                    *to = row[l];
                }
            }
        }
    } else {
        for (l, to) in to.chunks_exact_mut(width).enumerate() {
            for (i, to) in to.iter_mut().enumerate() {
                *to = data[i * down + l * along];
            }
        }
    }
}

/// Multiplies some rows of A by packed columns of B.
struct RowBlock<'a, 'c, T> {
    from: StridedMatrix<'a, T>,
    /// Memory for packed A.
    memory: &'a mut [T],
    /// Panels from the first column on.
    b: &'a [T],
    rows: &'a mut [&'c mut [T]],
    add: bool,
}

impl<T: Real> WithSimd for RowBlock<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        #[inline(always)]
        fn run<S: Simd, T: Real, const ROWS: usize, const FEW: usize, const VECTORS: usize>(
            simd: S,
            block: RowBlock<'_, '_, T>,
        ) {
            let RowBlock { from, memory, b, rows, add } = block;
            let depth = from.columns;
            let columns = rows.first().map_or(0, |row| row.len());
            let width = VECTORS * lanes::<S, T>();
            let [down, along] = from.strides();
            let in_place = along == 1 && columns <= FEW_PANELS * width;
            for (index, to) in memory.chunks_exact_mut(ROWS * depth).enumerate() {
                let first = index * ROWS;
                let here = ROWS.min(from.rows - first);
                if in_place && here == ROWS {
                    continue;
                }
                let part = from.part([first, 0], [here, depth]);
                if here > FEW {
                    pack(part, to, ROWS);
                } else {
                    pack(part, &mut to[..FEW * depth], FEW);
                }
            }
            for (j, b) in (0..columns).step_by(width).zip(b.chunks_exact(width * depth)) {
                let narrow = columns - j <= lanes::<S, T>();
                let panels = memory.chunks_exact(ROWS * depth).zip(rows.chunks_mut(ROWS));
                for (index, (a, rows)) in panels.enumerate() {
                    if in_place && rows.len() == ROWS {
                        let a = &from.data()[index * ROWS * down..];
                        let lines: [&[T]; ROWS] = std::array::from_fn(|i| &a[i * down..][..depth]);
                        if narrow {
                            tile_in_place::<S, T, ROWS, VECTORS, 1>(simd, lines, b, rows, j, add);
                        } else {
                            tile_in_place::<S, T, ROWS, VECTORS, VECTORS>(simd, lines, b, rows, j, add);
                        }
                        continue;
                    }
                    match (rows.len() > FEW, narrow) {
                        (true, false) => tile::<S, T, ROWS, VECTORS, VECTORS>(simd, a, b, rows, j, add),
                        (true, true) => tile::<S, T, ROWS, VECTORS, 1>(simd, a, b, rows, j, add),
                        (false, _) => {
                            tile::<S, T, FEW, VECTORS, VECTORS>(simd, &a[..FEW * depth], b, rows, j, add);
                        }
                    }
                }
            }
        }
        with_tile!(simd, run(self));
    }
}
