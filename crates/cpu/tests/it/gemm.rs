//! Tests of the CPU path's general matrix product against explicit sums in f64.

use half::f16;
use proptest::prelude::*;
use tripipe_cpu::{self as cpu, CpuError, Gemm, GemmElement, Position, StridedLayout, Threads};

/// A product, with numbers that all types represent exactly.
#[derive(Clone, Debug)]
struct Case {
    extents: [usize; 3],
    batch: usize,
    factors: [i8; 2],
    places: [StridedLayout; 3],
    /// The number of elements of A, B and C.
    lengths: [usize; 3],
}

/// The layout of a matrix.
#[derive(Clone, Copy, Debug)]
enum Arrangement {
    Rows,
    Columns,
    Scattered,
    /// All rows at the same location.
    OneRow,
}

impl Case {
    fn new(
        extents: [usize; 3],
        batch: usize,
        factors: [i8; 2],
        orders: [Arrangement; 3],
        gap: usize,
    ) -> Self {
        let [m, n, k] = extents;
        let shapes = [[m, k], [k, n], [m, n]];
        let mut lengths = [0; 3];
        let places = [0, 1, 2].map(|which| {
            let [rows, columns] = shapes[which];
            let (row_stride, column_stride) = match orders[which] {
                Arrangement::Rows => (columns + gap, 1),
                Arrangement::Columns => (1, rows + gap),
                Arrangement::Scattered => (2 * columns + gap, 2),
                Arrangement::OneRow => (0, 1),
            };
            let span = if rows == 0 || columns == 0 {
                0
            } else {
                (rows - 1) * row_stride + (columns - 1) * column_stride + 1
            };
            // All products share one B.
            let batch_stride = if which == 1 { 0 } else { span + gap };
            let offset = 3 * gap;
            lengths[which] =
                if span == 0 || batch == 0 { 0 } else { offset + (batch - 1) * batch_stride + span };
            StridedLayout { offset, row_stride, column_stride, batch_stride }
        });
        Self { extents, batch, factors, places, lengths }
    }

    fn place(&self, which: usize, product: usize, i: usize, j: usize) -> usize {
        let StridedLayout { offset, row_stride, column_stride, batch_stride } = self.places[which];
        offset + product * batch_stride + i * row_stride + j * column_stride
    }

    /// `finish` doubles each element and adds a number that depends on its position. `number` gives an element its
    /// value.
    fn check<T: GemmElement>(
        &self,
        element: impl Fn(i8) -> T,
        result: impl Fn(i8) -> T::Result,
        read: impl Fn(&T::Result) -> f64,
        finish: impl Fn(T::Sum, f64) -> T::Sum + Sync,
        sum: impl Fn(i8) -> T::Sum,
        // Relative to the sum of the products' magnitudes: of a term, and of the result.
        bounds: [f64; 2],
    ) {
        let number = |index: usize, seed: usize| ((index * 37 + seed * 11 + index / 7) % 7) as i8 - 3;
        let a: Vec<T> = (0..self.lengths[0]).map(|i| element(number(i, 1))).collect();
        let b: Vec<T> = (0..self.lengths[1]).map(|i| element(number(i, 2))).collect();
        let [m, n, k] = self.extents;
        let [alpha, beta] = self.factors;
        let extra = |product: usize, i: usize, j: usize| (product * 5 + i * 3 + j) as f64 % 17.0;
        for threads in [Threads::One, Threads::All] {
            let mut c: Vec<T::Result> = (0..self.lengths[2]).map(|i| result(number(i, 3))).collect();
            let gemm = Gemm {
                m,
                n,
                k,
                alpha: sum(alpha),
                beta: sum(beta),
                a: self.places[0],
                b: self.places[1],
                c: self.places[2],
                batch: self.batch,
            };
            let last = |place: Position, sums: &mut [T::Sum]| {
                for (at, value) in sums.iter_mut().enumerate() {
                    let [i, j] = if place.down {
                        [place.row + at, place.column]
                    } else {
                        [place.row, place.column + at]
                    };
                    *value = finish(*value, extra(place.product, i, j));
                }
            };
            cpu::gemm(&gemm, &a, &b, &mut c, last, threads).unwrap();
            let mut written = vec![false; c.len()];
            for (product, i, j) in
                (0..self.batch).flat_map(|p| (0..m).flat_map(move |i| (0..n).map(move |j| (p, i, j))))
            {
                let at = self.place(2, product, i, j);
                written[at] = true;
                let terms = (0..k).map(|l| {
                    let (x, y) = (self.place(0, product, i, l), self.place(1, product, l, j));
                    f64::from(number(x, 1)) * f64::from(number(y, 2))
                });
                let (mut product_sum, mut magnitude) = (0.0, 0.0);
                for term in terms {
                    product_sum += term;
                    magnitude += f64::abs(term);
                }
                let old = f64::from(number(at, 3));
                let value = f64::from(alpha) * product_sum + f64::from(beta) * old;
                let want = 2.0 * value + extra(product, i, j);
                let bound =
                    bounds[0] * (k + 4) as f64 * 2.0 * (magnitude * 3.0 + 60.0) + bounds[1] * want.abs();
                let found = read(&c[at]);
                assert!(
                    (found - want).abs() <= bound,
                    "{self:?} {threads:?}: ({product}, {i}, {j}) is {found}, not {want} +- {bound}"
                );
            }
            for (at, value) in c.iter().enumerate() {
                if !written[at] {
                    assert_eq!(read(value), f64::from(number(at, 3)), "{self:?} {threads:?}: gap at {at}");
                }
            }
        }
    }

    fn check_single(&self) {
        let bounds = [f64::from(f32::EPSILON), 0.0];
        let finish = |v, x| 2.0 * v + x as f32;
        self.check::<f32>(f32::from, f32::from, |c| f64::from(*c), finish, f32::from, bounds);
    }

    fn check_all(&self) {
        let single = f64::from(f32::EPSILON);
        self.check_single();
        self.check::<f64>(f64::from, f64::from, |c| *c, |v, x| 2.0 * v + x, f64::from, [f64::EPSILON, 0.0]);
        self.check::<f16>(
            |v| f16::from_f32(f32::from(v)),
            |v| f16::from_f32(f32::from(v)),
            |c| c.to_f64(),
            |v, x| 2.0 * v + x as f32,
            f32::from,
            [single, f16::EPSILON.to_f64()],
        );
        self.check::<i8>(|v| v, i32::from, |c| f64::from(*c), |v, x| 2 * v + x as i32, i32::from, [0.0; 2]);
    }
}

const ORDERS: [Arrangement; 4] =
    [Arrangement::Rows, Arrangement::Columns, Arrangement::Scattered, Arrangement::OneRow];

#[test]
fn every_layout() {
    for a in ORDERS {
        for b in ORDERS {
            for c in &ORDERS[..3] {
                for factors in [[1, 0], [3, 1], [-2, 2]] {
                    Case::new([5, 7, 9], 2, factors, [a, b, *c], 3).check_all();
                }
            }
        }
    }
}

/// Empty and single rows, columns and sums; alpha 0.
#[test]
fn edges() {
    for m in [0, 1, 2] {
        for n in [0, 1, 3] {
            for k in [0, 1, 4] {
                for factors in [[1, 0], [0, 0], [0, 3], [2, 1]] {
                    for c in [Arrangement::Rows, Arrangement::Columns] {
                        for gap in [0, 2] {
                            Case::new(
                                [m, n, k],
                                3,
                                factors,
                                [Arrangement::Rows, Arrangement::Columns, c],
                                gap,
                            )
                            .check_all();
                        }
                    }
                }
            }
        }
    }
    Case::new([3, 3, 3], 0, [1, 0], [Arrangement::Rows; 3], 0).check_all();
}

/// Products of these extents, whose matrices have these orders: with gaps and all types, and dense.
fn check_sizes(sizes: &[([usize; 3], [Arrangement; 3])]) {
    for (extents, orders) in sizes {
        Case::new(*extents, 1, [1, 2], *orders, 1).check_all();
        Case::new(*extents, 1, [1, 0], *orders, 0).check_all();
    }
}

/// Sizes that span several tiles, bands, and vectors.
#[test]
fn larger() {
    use Arrangement::{Columns, Rows};
    check_sizes(&[
        ([1030, 5, 9], [Rows, Rows, Rows]),
        ([3, 1029, 11], [Columns, Rows, Columns]),
        ([5, 7, 2050], [Rows, Columns, Rows]),
        ([300, 200, 100], [Columns, Columns, Rows]),
        ([1, 500, 700], [Rows, Rows, Rows]),
        ([500, 1, 700], [Columns, Rows, Rows]),
        ([1030, 1, 67], [Rows, Rows, Rows]),
        // One to four panels of B, whose last one is narrow; rows of A in place, and some left over.
        ([39, 16, 400], [Rows, Rows, Rows]),
        ([29, 100, 50], [Rows, Columns, Rows]),
    ]);
    Case::new([60, 50, 40], 9, [1, 0], [Rows; 3], 0).check_all();
}

/// Few rows: whole blocks of vectors, a rest of columns and of K, several runs of columns.
#[test]
fn few_rows() {
    use Arrangement::{Columns, Rows};
    check_sizes(&[
        ([2, 128, 32], [Rows, Rows, Rows]),
        ([7, 301, 70], [Columns, Rows, Rows]),
        ([16, 1029, 45], [Rows, Rows, Rows]),
        ([9, 130, 3100], [Rows, Rows, Columns]),
    ]);
    // B larger than caches, in parts of K; lines of a matrix in pieces.
    Case::new([1, 1041, 1100], 1, [1, 2], [Rows; 3], 1).check_single();
    Case::new([3, 900, 1301], 1, [1, 0], [Columns, Rows, Columns], 0).check_single();
    Case::new([1, 17_000, 67], 1, [1, 0], [Rows; 3], 0).check_single();
}

/// Several parts of K, also divided among the threads; rows of A in place.
#[test]
fn parts_of_k() {
    use Arrangement::{Columns, Rows};
    check_sizes(&[
        ([100, 90, 900], [Rows, Columns, Rows]),
        ([2, 4200, 800], [Rows, Columns, Rows]),
        ([400, 60, 100], [Rows, Rows, Rows]),
        ([33, 34, 3100], [Rows, Rows, Rows]),
        ([24, 40, 3200], [Columns, Rows, Columns]),
    ]);
}

/// The extreme products of bytes, with a larger K than `f32` could sum.
#[test]
fn bytes_are_exact() {
    for (a, b) in [(-128i8, -128i8), (-128, 127), (127, 127)] {
        let k = 3001;
        let mut c = [7; 4];
        cpu::gemm_i8(&vec![a; 2 * k], &vec![b; 2 * k], &mut c, 2, 2, k, Threads::All).unwrap();
        assert_eq!(c, [i32::from(a) * i32::from(b) * k as i32; 4]);
    }
}

/// C is never read with beta 0, nor A and B with alpha 0; with k = 0 C is scaled.
#[test]
fn zero_factors_and_empty_sums_read_no_operand() {
    let place = StridedLayout::row_major(2);
    let gemm =
        Gemm { m: 2, n: 2, k: 2, alpha: 1.0, beta: 0.0, a: place, b: place, c: place.transposed(), batch: 1 };
    let mut c = [f32::NAN; 4];
    cpu::gemm::<f32>(&gemm, &[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], &mut c, |_, _| (), Threads::One)
        .unwrap();
    // [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50], stored column by column.
    assert_eq!(c, [19.0, 43.0, 22.0, 50.0]);
    let nothing = Gemm { alpha: 0.0, beta: 3.0, ..gemm };
    cpu::gemm::<f32>(&nothing, &[f32::NAN; 4], &[f32::INFINITY; 4], &mut c, |_, _| (), Threads::One).unwrap();
    assert_eq!(c, [57.0, 129.0, 66.0, 150.0]);
    let empty = Gemm { k: 0, alpha: 1.0, beta: 0.0, ..gemm };
    let mut c = [f32::NAN; 4];
    cpu::gemm::<f32>(&empty, &[], &[], &mut c, |_, _| (), Threads::One).unwrap();
    assert_eq!(c, [0.0; 4]);
}

#[test]
fn mismatched_operands_are_rejected() {
    let place = StridedLayout { offset: 1, ..StridedLayout::row_major(4) };
    let gemm = Gemm { m: 2, n: 3, k: 4, alpha: 1.0f32, beta: 0.0, a: place, b: place, c: place, batch: 1 };
    let mut c = [5.0; 8];
    // 1 + 3 * 4 + 3 elements.
    let error = cpu::gemm::<f32>(&gemm, &[0.0; 9], &[0.0; 15], &mut c, |_, _| (), Threads::One).unwrap_err();
    assert_eq!(error, CpuError::Length { operation: "gemm", buffer: "b", want: 16, found: 15 });
    let far = Gemm { a: StridedLayout { row_stride: usize::MAX, ..place }, ..gemm };
    let error = cpu::gemm::<f32>(&far, &[0.0; 9], &[0.0; 16], &mut c, |_, _| (), Threads::One).unwrap_err();
    assert!(matches!(error, CpuError::TooLarge { operation: "gemm", buffer: "a", .. }), "{error}");
    assert_eq!(c, [5.0; 8]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_products(
        extents in prop::array::uniform3(0usize..40),
        batch in 0usize..4,
        factors in prop::sample::select(vec![[1, 0], [1, 1], [2, -3], [0, 2]]),
        orders in prop::array::uniform3(prop::sample::select(ORDERS[..3].to_vec())),
        gap in 0usize..4,
    ) {
        Case::new(extents, batch, factors, orders, gap).check_all();
    }
}
