//! Epilogues, bytes and half precision.

use tripipe_kernels::gemm::{
    Accumulate, Elements, EpilogueStage, Gemm, Layout, OperandState, Order, ProductExtents, Requantise,
    Scale, Unfit,
};
use tripipe_launch::Executor;

use super::layouts::VECTORS;
use super::{FEW, check, everywhere, opencl, parameters, run, simulator};

const ALL_STAGES: [EpilogueStage; 6] = [
    EpilogueStage::BiasColumns,
    EpilogueStage::BiasRows,
    EpilogueStage::Relu,
    EpilogueStage::Relu6,
    EpilogueStage::Clamp { least: -1.0, most: 2.0 },
    EpilogueStage::Residual {
        layout: Layout { order: Order::ColumnMajor, leading: 11, offset: 2 },
        stride: 0,
    },
];

#[test]
fn epilogues_in_every_order() {
    everywhere(|executor, kernels| {
        let all = kernels.len() > FEW.len();
        let gemm = |epilogue: Vec<EpilogueStage>| Gemm {
            epilogue,
            beta: 0.5,
            ..Gemm::new(Elements::F32, ProductExtents { m: 9, n: 7, k: 5 })
        };
        let twice = vec![
            EpilogueStage::Relu,
            EpilogueStage::BiasColumns,
            EpilogueStage::BiasColumns,
            EpilogueStage::Relu6,
        ];
        check(executor, &gemm(twice), "tile 4x4 group=1x1 rolled unroll=2");
        // All six, each of them first once, in both directions; on PoCL two of these rotations.
        for turn in 0..if all { 6 } else { 2 } {
            let mut stages = ALL_STAGES.to_vec();
            stages.rotate_left(turn);
            for reversed in [false, true] {
                if reversed {
                    stages.reverse();
                }
                let row_major = gemm(stages.clone());
                let column_major = Gemm { c: Layout::column_major(10), ..row_major.clone() };
                if all {
                    check(executor, &row_major, "tile 4x4 unroll=2");
                    check(executor, &row_major, "local 4x4 depth=8 group=4x4");
                    check(executor, &column_major, "tile 2x8 parts=2");
                } else {
                    check(executor, &column_major, "tile 4x4 group=1x1 rolled unroll=2");
                }
            }
        }
    });
}

/// Two orders with different results by hand: relu(-2) + 1 is 1, relu(-2 + 1) is 0.
#[test]
fn stages_do_not_commute() {
    let mut executor = simulator();
    let one = |value: f32| value.to_ne_bytes().to_vec();
    for (epilogue, want) in [
        (vec![EpilogueStage::Relu, EpilogueStage::BiasRows], 1.0),
        (vec![EpilogueStage::BiasRows, EpilogueStage::Relu], 0.0),
    ] {
        let gemm = Gemm { epilogue, ..Gemm::new(Elements::F32, ProductExtents { m: 1, n: 1, k: 1 }) };
        let operands = [one(2.0), one(-1.0), one(f32::NAN), one(1.0)];
        let found =
            run(&mut executor, &gemm, &parameters("tile 4x4"), &operands, &[OperandState::Changing; 2]);
        assert_eq!(found, one(want));
    }
}

pub(super) fn scaled(scale: Scale, zeros: [i8; 3]) -> Elements {
    let [zero_a, zero_b, zero_c] = zeros;
    Elements::I8ToI8(Requantise { scale, zero_a, zero_b, zero_c, least: -100, most: 120 })
}

/// The kernels that take bytes, without an extension.
const BYTES: &[&str] = &[
    "tile 5x16 vector=16 a=packed/1 b=packed/1 rows-first rolled group=1x1",
    "tile 4x4 unroll=4",
    "tile 2x8 b=packed parts=2",
];

fn check_bytes(executor: &mut dyn Executor, kernels: &[&str]) {
    let stages = vec![EpilogueStage::BiasColumns, EpilogueStage::Clamp { least: -9000.0, most: 9000.0 }];
    for elements in [
        Elements::I8ToI32,
        scaled(Scale::Tensor, [0; 3]),
        scaled(Scale::Columns, [3, -7, 5]),
        scaled(Scale::Tensor, [-128, 127, 0]),
    ] {
        for [m, n, k] in [[5, 9, 7], [8, 8, 16], [1, 12, 3], [4, 6, 0]] {
            let plain = Gemm::new(elements, ProductExtents { m, n, k });
            let turned = Gemm {
                a: Layout::column_major(m + 1),
                b: Layout::column_major(k + 2),
                c: Layout::column_major(m + 3),
                alpha: 2.0,
                beta: -1.0,
                epilogue: stages.clone(),
                ..plain.clone()
            };
            assert_eq!(turned.n, n);
            for text in kernels {
                check(executor, &plain, text);
                check(executor, &turned, text);
            }
        }
    }
}

#[test]
fn bytes_are_exact() {
    let mut executor = simulator();
    check_bytes(&mut executor, BYTES);
    let b = Layout::column_major(70);
    for elements in [Elements::I8ToI32, scaled(Scale::Columns, [3, -7, 5])] {
        for text in VECTORS {
            check(
                &mut executor,
                &Gemm { b, ..Gemm::new(elements, ProductExtents { m: 1, n: 9, k: 70 }) },
                text,
            );
        }
    }
    if let Some(mut executor) = opencl().into_iter().next() {
        check_bytes(&mut executor, &BYTES[..1]);
    }
}

/// By hand: (3 - 1)(5 - -2) * 4 = 56; 56 * 2^30 / 2^32 = 14, + 10 is 24; halves round up, and results are clamped to
/// the limits.
#[test]
fn bytes_by_hand() {
    let mut executor = simulator();
    let requantise =
        Requantise { scale: Scale::Tensor, zero_a: 1, zero_b: -2, zero_c: 10, least: -128, most: 127 };
    for (a, multiplier, shift, want) in [
        (3i8, 1 << 30, 32, 24i8),
        (3, 1 << 30, 37, 10),
        (3, 3, 4, 21),
        (-125, 1 << 30, 30, -128),
        (125, 1, 1, 127),
        (0, 3, 3, 0),
    ] {
        let gemm = Gemm::new(Elements::I8ToI8(requantise), ProductExtents { m: 1, n: 1, k: 4 });
        let scales: Vec<u8> = [multiplier, shift].into_iter().flat_map(i32::to_ne_bytes).collect();
        let operands = [vec![a as u8; 4], vec![5; 4], vec![0], scales];
        for text in BYTES {
            let found = run(&mut executor, &gemm, &parameters(text), &operands, &[OperandState::Changing; 2]);
            assert_eq!(found[0] as i8, want, "{a} {multiplier} {shift}, {text}");
        }
    }
}

/// Sums of -128 * -128 over the largest K: 2^31 - 2^14.
#[test]
fn the_longest_sum_of_bytes() {
    let mut executor = simulator();
    let gemm = Gemm::new(Elements::I8ToI32, ProductExtents { m: 1, n: 1, k: Gemm::BYTES_K_MAX });
    let operands = [vec![0x80; Gemm::BYTES_K_MAX], vec![0x80; Gemm::BYTES_K_MAX], vec![0; 4]];
    let found =
        run(&mut executor, &gemm, &parameters("tile 4x4 unroll=4"), &operands, &[OperandState::Changing; 2]);
    assert_eq!(found, (i32::MAX - (1 << 14) + 1).to_ne_bytes());
}

pub(super) const HALVES: [Elements; 3] = [
    Elements::F16(Accumulate::F16),
    Elements::F16(Accumulate::F32),
    Elements::F16(Accumulate::Chunked { block: 6 }),
];

#[test]
fn halves_in_the_simulator() {
    let mut executor = simulator();
    for elements in HALVES {
        let plain = Gemm::new(elements, ProductExtents { m: 9, n: 13, k: 20 });
        let turned = Gemm {
            a: Layout::row_major(10).transposed(),
            b: Layout::column_major(21).at(1),
            c: Layout::column_major(11),
            alpha: -1.5,
            beta: 0.5,
            epilogue: ALL_STAGES.to_vec(),
            ..plain.clone()
        };
        for text in [
            "tile 4x4 unroll=4",
            "tile 4x8 vector=8 a=packed b=packed/1 a-vector unroll=2 group=8x4",
            "tile 4x4 a=image b=image parts=2",
            "local 4x4 depth=16 group=4x4",
        ] {
            if text.starts_with("local") && matches!(elements, Elements::F16(Accumulate::Chunked { .. })) {
                continue;
            }
            check(&mut executor, &plain, text);
            check(&mut executor, &turned, text);
        }
        let row =
            Gemm { b: Layout::column_major(40), ..Gemm::new(elements, ProductExtents { m: 1, n: 9, k: 37 }) };
        check(&mut executor, &row, "vector 4x4 group=8");
        check(&mut executor, &row, "vector 2x8 group=32 sub-groups");
    }
}

/// Half precision summed in float needs no extension: PoCL supports it.
#[test]
fn halves_in_float_on_opencl() {
    let Some(mut executor) = opencl().into_iter().next() else { return };
    let elements = Elements::F16(Accumulate::F32);
    for text in FEW {
        for [m, n, k] in [[9, 12, 11], [33, 17, 40], [1, 1, 1]] {
            let gemm = Gemm { beta: 0.5, ..Gemm::new(elements, ProductExtents { m, n, k }) };
            check(&mut executor, &gemm, text);
        }
    }
    let half = Gemm::new(Elements::F16(Accumulate::F16), ProductExtents { m: 4, n: 4, k: 4 });
    if !executor.probe().fp16() {
        let refused = parameters(FEW[0]).check(&half, executor.probe());
        assert!(matches!(refused, Err(Unfit::NotOffered { .. })));
    }
}

#[test]
fn dot_products_of_bytes_in_the_simulator() {
    let mut executor = simulator();
    check_bytes(&mut executor, &["tile 4x8 a=packed b=packed/2 dot=khr unroll=2"]);
}
