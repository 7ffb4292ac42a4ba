//! Extents, layouts and batches.

use tripipe_kernels::gemm::{Batch, Elements, Gemm, Layout, ProductExtents, Unfit};

use super::{FEW, KERNELS, check, everywhere, opencl, parameters};

/// From 0 to 12 cubed: every extent, each with edges in the others.
const SMALL: &[[usize; 3]] = &[
    [0, 3, 4],
    [3, 0, 4],
    [3, 4, 0],
    [1, 1, 1],
    [1, 2, 3],
    [2, 1, 5],
    [3, 3, 1],
    [4, 4, 4],
    [5, 7, 9],
    [7, 5, 2],
    [8, 8, 8],
    [9, 12, 11],
    [12, 9, 6],
    [11, 1, 12],
    [1, 11, 10],
    [6, 10, 3],
    [10, 6, 12],
    [12, 12, 12],
];

#[test]
fn small_extents_and_those_off_the_tile() {
    everywhere(|executor, kernels| {
        for text in kernels {
            for &[m, n, k] in SMALL.iter().chain(&[[65, 33, 37], [31, 67, 130], [32, 32, 32]]) {
                check(executor, &Gemm::new(Elements::F32, ProductExtents { m, n, k }), text);
            }
        }
    });
    // The table's kernel for CPUs, and the kernels with images.
    let Some(mut executor) = opencl().into_iter().next() else { return };
    for text in [KERNELS[3], "tile 4x8 vector=8 a=image b=image rolled group=1x1"] {
        for [m, n, k] in [[5, 7, 9], [65, 33, 37], [1, 1, 1]] {
            check(&mut executor, &Gemm::new(Elements::F32, ProductExtents { m, n, k }), text);
        }
    }
}

/// Deep products: many parts, whose sums work-items of a GPU share, and slices.
#[test]
fn deep_products() {
    everywhere(|executor, _| {
        for extents in [[5, 9, 130], [1, 7, 97], [16, 16, 256], [12, 20, 192]] {
            for text in [
                "tile 2x4 group=4x4 parts=40",
                "local 4x4 depth=4 group=4x4 parts=17",
                "tile 1x4 unroll=4 group=4x1 slices=16 parts=3",
                "tile 2x8 unroll=2 group=1x1 slices=128",
            ] {
                for gemm in layouts(Elements::F32, extents).iter().step_by(13) {
                    check(executor, &Gemm { beta: 0.5, ..gemm.clone() }, text);
                }
            }
        }
    });
}

/// Every layout of A, B and C, with gaps and offsets.
fn layouts(elements: Elements, [m, n, k]: [usize; 3]) -> Vec<Gemm> {
    let ways = |rows: usize, columns: usize| {
        [
            Layout::row_major(columns + 3).at(5),
            Layout::column_major(rows + 2).at(1),
            Layout::row_major(rows + 1).transposed(),
            Layout::column_major(columns).transposed().at(2),
        ]
    };
    let mut found = Vec::new();
    for (index, a) in ways(m, k).into_iter().enumerate() {
        for (other, b) in ways(k, n).into_iter().enumerate() {
            // Each pair with two of C's layouts; over all pairs each layout occurs.
            for c in [index + other, index + other + 1].map(|way| ways(m, n)[way % 4]) {
                found.push(Gemm { a, b, c, ..Gemm::new(elements, ProductExtents { m, n, k }) });
            }
        }
    }
    found
}

#[test]
fn layouts_with_gaps_and_offsets() {
    everywhere(|executor, kernels| {
        let all = kernels.len() > FEW.len();
        let every = if all { 1 } else { 7 };
        for gemm in layouts(Elements::F32, [9, 13, 11]).iter().step_by(every) {
            for text in if all { kernels } else { &kernels[..1] } {
                check(executor, gemm, text);
            }
        }
        for extents in [[1, 13, 37], [13, 1, 37]] {
            for gemm in layouts(Elements::F32, extents).iter().step_by(every) {
                check(executor, gemm, "tile 1x4 group=1x1 rolled parts=2");
                for text in VECTORS {
                    match parameters(text).check(gemm, executor.probe()) {
                        Ok(()) => check(executor, gemm, text),
                        Err(refused) => assert!(matches!(refused, Unfit::Kernel { .. }), "{refused}"),
                    }
                }
            }
        }
    });
}

pub(super) const VECTORS: &[&str] = &["vector 4x16 group=1", "vector 2x4 group=8"];

fn batches(elements: Elements) -> Vec<Gemm> {
    let one = Gemm::new(elements, ProductExtents { m: 5, n: 6, k: 7 });
    vec![
        Gemm { batch: Batch::Strided { count: 3, strides: [40, 45, 31] }, ..one.clone() },
        // One B for all; the products' rows of C are interleaved.
        Gemm {
            c: Layout::row_major(18),
            batch: Batch::Strided { count: 3, strides: [35, 0, 6] },
            beta: 0.5,
            ..one.clone()
        },
        Gemm { batch: Batch::Offsets { count: 4 }, ..one.clone() },
        Gemm { c: Layout::column_major(8), batch: Batch::Offsets { count: 2 }, beta: -1.0, ..one },
    ]
}

#[test]
fn batches_strided_and_at_offsets() {
    everywhere(|executor, kernels| {
        for gemm in batches(Elements::F32) {
            for text in kernels.iter().take(if kernels.len() > FEW.len() { usize::MAX } else { 1 }) {
                check(executor, &gemm, text);
            }
        }
    });
}
