//! The library's matrix product kernels against the reference: every kernel, every layout, every way to sum.
//!
//! In the simulator, which supports the half precision and the dot products that PoCL lacks, and on an OpenCL device,
//! if there is one (with `TRIPIPE_REQUIRE_OPENCL=1` there must be one). PoCL takes a second or two to compile a kernel,
//! so it runs a part of the cases.

#![allow(
    clippy::print_stderr,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests report what they leave out, and panic"
)]

use std::ops::ControlFlow;

use half::f16;
use tripipe_conformance::clock::WorkItemClock;
use tripipe_device::{ImageLimits, Probe};
use tripipe_kernels::Role;
use tripipe_kernels::gemm::{
    Accumulate, Batch, Elements, Gemm, Given, Layout, Order, Parameters, Reference, Requantise, Scale, Side,
    Stage, Unfit, best_guess_first, candidates, default_parameters, entries_to_toml, plan, plan_packing,
    plan_unpacking,
};
use tripipe_ladders::sweep::gemm::{SweepOptions, sweep};
use tripipe_ladders::sweep::{self as candidate, Heats, TryError, sample};
use tripipe_launch::{Access, ExecuteError, Executor, Intercept, Layer, MemoryId, MemoryKind};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor, devices};
use tripipe_simulate::{Options, Simulator};

fn opencl() -> Option<OpenClExecutor> {
    let found = devices().unwrap_or_default();
    let Some(device) = found.first() else {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none(), "no OpenCL device");
        eprintln!("left out: no OpenCL device");
        return None;
    };
    Some(OpenClExecutor::new(device, &ExecutorOptions::default()).expect("a listed device opens"))
}

fn simulator() -> Simulator {
    Simulator::new(Options::default())
}

/// Runs `cases` in the simulator with all kernels, and on an OpenCL device with a few.
fn everywhere(cases: impl Fn(&mut dyn Executor, &[&str])) {
    cases(&mut simulator(), KERNELS);
    if let Some(mut executor) = opencl() {
        cases(&mut executor, FEW);
    }
}

fn parameters(text: &str) -> Parameters {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn buffer(executor: &mut dyn Executor, bytes: &[u8]) -> MemoryId {
    let kind = MemoryKind::Buffer { bytes: bytes.len() };
    executor.allocate(&kind, Access::ReadWrite, Some(bytes)).unwrap()
}

/// The contents of C's buffer after the product.
fn run(
    executor: &mut dyn Executor,
    gemm: &Gemm,
    parameters: &Parameters,
    operands: &[Vec<u8>],
    given: &[Given; 2],
) -> Vec<u8> {
    let plan = plan(gemm, parameters, executor.probe(), *given)
        .unwrap_or_else(|error| panic!("{parameters}, {gemm:?}: {error}"));
    let roles = gemm.operands().into_iter().map(|operand| operand.role);
    let memory: Vec<(Role, MemoryId)> =
        roles.zip(operands).map(|(role, bytes)| (role, buffer(executor, bytes))).collect();
    let (_, c_memory) = memory[2];
    let bound =
        plan.bind(executor, &memory).unwrap_or_else(|error| panic!("{parameters}, {gemm:?}: {error}"));
    for launches in [&bound.preparation, &bound.launches] {
        executor.run(launches).unwrap_or_else(|error| panic!("{parameters}, {gemm:?}: {error}"));
    }
    let mut c = vec![0; operands[2].len()];
    executor.read(c_memory, 0, &mut c).unwrap();
    bound.release(executor);
    for (_, id) in memory {
        executor.release(id).unwrap();
    }
    c
}

/// Runs and compares with generated operands.
fn check(executor: &mut dyn Executor, gemm: &Gemm, text: &str) {
    let mut operands = sample(gemm, 7);
    if gemm.beta == 0.0 {
        // NaN in every floating-point type, and -1 in the integer types.
        operands[2].fill(0xFF);
    }
    check_operands(executor, gemm, text, &operands);
}

fn check_operands(executor: &mut dyn Executor, gemm: &Gemm, text: &str, operands: &[Vec<u8>]) {
    let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let reference = Reference::new(gemm, &slices).unwrap();
    let given = [Given::Changing, Given::Constant];
    let c = run(executor, gemm, &parameters(text), operands, &given);
    reference.verify(&operands[2], &c).unwrap_or_else(|difference| panic!("{text}, {gemm:?}: {difference}"));
}

/// The kernels, each with tiles from another kind of memory.
const KERNELS: &[&str] = &[
    "tile 4x4 unroll=4",
    "tile 3x8 unroll=2 vector=8 b=packed/2 group=4x2 fma",
    "tile 4x8 unroll=2 a=packed b=packed a-vector group=8x8",
    "tile 8x32 vector=16 unroll=4 a=packed/1 b=packed/1 rows-first rolled group=1x1",
    "tile 8x8 vector=8 a=image b=image unroll=2 group=16x2",
    "tile 2x4 vector=2 parts=3",
    "local 4x4 depth=16 group=4x4",
    "local 8x4 depth=4 group=8x4 buffers=2 b=packed",
    "local 4x8 depth=8 group=4x4 a=packed b=packed parts=2",
];

/// For PoCL: the work-group size is fixed, since it compiles a kernel for each, and the epilogue occurs once.
const FEW: &[&str] = &[
    "tile 3x8 unroll=2 vector=8 b=packed/2 rolled group=1x1",
    "tile 4x4 unroll=4 parts=2 rolled group=1x1",
    "local 4x4 depth=8 group=4x4 buffers=2",
];

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
            for extents in SMALL.iter().chain(&[[65, 33, 37], [31, 67, 130], [32, 32, 32]]) {
                check(executor, &Gemm::new(Elements::F32, *extents), text);
            }
        }
    });
    // The table's kernel for CPUs, and the kernels with images.
    let Some(mut executor) = opencl() else { return };
    for text in [KERNELS[3], "tile 4x8 vector=8 a=image b=image rolled group=1x1"] {
        for extents in [[5, 7, 9], [65, 33, 37], [1, 1, 1]] {
            check(&mut executor, &Gemm::new(Elements::F32, extents), text);
        }
    }
}

/// Every layout of A, B and C, with gaps and offsets.
fn layouts(elements: Elements, extents: [usize; 3]) -> Vec<Gemm> {
    let [m, n, k] = extents;
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
                found.push(Gemm { a, b, c, ..Gemm::new(elements, extents) });
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

const VECTORS: &[&str] = &["vector 4x16 group=1", "vector 2x4 group=8"];

fn batches(elements: Elements) -> Vec<Gemm> {
    let one = Gemm::new(elements, [5, 6, 7]);
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

#[test]
fn factors() {
    everywhere(|executor, kernels| {
        for (alpha, beta) in [(1.0, 1.0), (-0.75, 0.0), (0.0, 2.5), (0.0, 0.0), (3.0, -1.0)] {
            for text in kernels {
                check(executor, &Gemm { alpha, beta, ..Gemm::new(Elements::F32, [9, 7, 5]) }, text);
            }
            for text in VECTORS {
                let b = Layout::column_major(9);
                check(executor, &Gemm { alpha, beta, b, ..Gemm::new(Elements::F32, [1, 7, 9]) }, text);
            }
        }
    });
}

/// The BLAS definition, not only the reference: without products C is beta C, whatever A and B contain.
#[test]
fn without_products_only_c_counts() {
    let nan = f32::NAN.to_ne_bytes().repeat(12);
    let c: Vec<f32> = (0..9).map(|value| value as f32).collect();
    everywhere(|executor, kernels| {
        for (k, alpha) in [(0, 1.0), (4, 0.0)] {
            for (beta, factor) in [(0.0, 0.0), (1.0, 1.0), (-2.0, -2.0)] {
                let gemm = Gemm { alpha, beta, ..Gemm::new(Elements::F32, [3, 3, k]) };
                let operands = [nan.clone(), nan.clone(), bytemuck::cast_slice(&c).to_vec()];
                for text in kernels {
                    let found = run(executor, &gemm, &parameters(text), &operands, &[Given::Changing; 2]);
                    let found: Vec<f32> = bytemuck::pod_collect_to_vec(&found);
                    let want: Vec<f32> = c.iter().map(|value| value * factor).collect();
                    assert_eq!(found, want, "{text}, k {k}, alpha {alpha}, beta {beta}");
                }
            }
        }
    });
}

/// An infinity or a NaN affects the elements that depend on it, and no others.
#[test]
fn infinities_and_nan() {
    let gemm = Gemm { epilogue: vec![Stage::Relu], ..Gemm::new(Elements::F32, [9, 10, 7]) };
    let mut operands = sample(&gemm, 3);
    let mut put = |operand: usize, index: usize, value: f32| {
        operands[operand][4 * index..][..4].copy_from_slice(&value.to_ne_bytes());
    };
    put(0, 2 * 7 + 6, f32::INFINITY);
    put(0, 4 * 7 + 1, f32::NAN);
    put(0, 8 * 7, f32::NEG_INFINITY);
    put(1, 9, f32::INFINITY);
    put(1, 6 * 10 + 4, f32::NAN);
    // 0 times infinity.
    put(1, 6 * 10 + 5, 0.0);
    everywhere(|executor, kernels| {
        for text in kernels {
            check_operands(executor, &gemm, text, &operands);
        }
    });
}

/// Infinite and NaN factors, with nonempty and empty sums.
#[test]
fn factors_that_are_infinite_or_nan() {
    const SPECIAL: [f64; 5] = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1.0, 0.0];
    everywhere(|executor, kernels| {
        for (index, alpha) in SPECIAL.into_iter().enumerate() {
            for beta in [SPECIAL[(index + 2) % 5], SPECIAL[(index + 4) % 5]] {
                for k in [0, 5] {
                    let gemm = Gemm { alpha, beta, ..Gemm::new(Elements::F32, [5, 6, k]) };
                    // Sums equal to 0, C with an infinity.
                    let mut operands = sample(&gemm, 4);
                    operands[0][..4 * k].fill(0);
                    operands[2][..4].copy_from_slice(&f32::INFINITY.to_ne_bytes());
                    for text in kernels {
                        check_operands(executor, &gemm, text, &operands);
                    }
                    let row = Gemm { b: Layout::column_major(k.max(1)), m: 1, ..gemm.clone() };
                    for text in VECTORS.iter().filter(|_| k > 0) {
                        check_operands(executor, &row, text, &operands);
                    }
                }
            }
        }
    });
    // In half precision, 1e5 is infinite and 1e-9 is 0.
    let mut executor = simulator();
    for elements in HALVES {
        for (alpha, beta) in [(1e5, 0.0), (1.0, 1e5), (1e-9, 1.0), (1.0, 1e-9)] {
            for text in ["tile 4x4 unroll=4", "tile 2x8 b=packed parts=2"] {
                let gemm = Gemm { alpha, beta, ..Gemm::new(elements, [4, 5, 6]) };
                let mut operands = sample(&gemm, 6);
                operands[2][..2].copy_from_slice(&f16::INFINITY.to_ne_bytes());
                check_operands(&mut executor, &gemm, text, &operands);
            }
        }
    }
}

/// Tests the reference: with infinite factors it accepts no finite number.
#[test]
fn the_reference_is_exact_where_nothing_is_finite() {
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
    let (a, b) = (bytes(&[1.0, 2.0, 3.0]), bytes(&[1.0]));
    for (alpha, k, want, wrong) in [
        (f64::INFINITY, 1, f32::INFINITY, 1.0),
        (f64::NEG_INFINITY, 1, f32::NEG_INFINITY, f32::INFINITY),
        (f64::NAN, 1, f32::NAN, 1.0),
        (f64::INFINITY, 0, f32::NAN, 0.0),
        (f64::NAN, 0, f32::NAN, 0.0),
    ] {
        let gemm = Gemm { alpha, ..Gemm::new(Elements::F32, [3, 1, k]) };
        let before = bytes(&[0.0; 3]);
        let reference = Reference::new(&gemm, &[&a, &b, &before]).unwrap();
        reference.verify(&before, &bytes(&[want; 3])).unwrap();
        assert!(reference.verify(&before, &bytes(&[wrong; 3])).is_err(), "alpha {alpha}, k {k}");
    }
}

/// B packed for one product serves all products of a batch, at any offsets: the offsets of a packed operand are not
/// read.
#[test]
fn packed_once_for_a_batch_at_offsets() {
    everywhere(|executor, kernels| {
        let one = Gemm::new(Elements::F32, [6, 7, 9]);
        let column_major = Gemm { c: Layout::column_major(8), ..one.clone() };
        for text in kernels {
            for (one, count) in [(&one, 1), (&one, 3), (&column_major, 3)] {
                let batch = Gemm { batch: Batch::Offsets { count }, ..one.clone() };
                let parameters = parameters(text);
                let planned = plan_packing(one, &parameters, executor.probe(), Side::B).unwrap();
                let Some((packing, packed)) = planned else { continue };
                let mut operands = sample(&batch, 13);
                // The reference gets the packed operand's offset; the kernels get a wrong one.
                let mut offsets: Vec<u32> = bytemuck::pod_collect_to_vec(&operands[3][..12 * count]);
                offsets.iter_mut().skip(1).step_by(3).for_each(|offset| *offset = 0);
                operands[3] = bytemuck::cast_slice(&offsets).to_vec();
                let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
                let reference = Reference::new(&batch, &slices).unwrap();
                offsets.iter_mut().skip(1).step_by(3).for_each(|offset| *offset = u32::MAX / 2);

                let b = buffer(executor, &operands[1]);
                let to = executor.allocate(&packed.memory(), Access::ReadWrite, None).unwrap();
                let bound = packing.bind(executor, &[(Role::Source, b), (Role::Result, to)]).unwrap();
                executor.run(&bound.launches).unwrap();
                bound.release(executor);
                let given = [Given::Changing, Given::Packed(packed)];
                let product = plan(&batch, &parameters, executor.probe(), given).unwrap();
                let [a, c] = [0, 2].map(|operand: usize| buffer(executor, &operands[operand]));
                let at = buffer(executor, bytemuck::cast_slice(&offsets));
                let roles = [Role::A, Role::B, Role::C, Role::Offsets];
                let memory: Vec<_> = roles.into_iter().zip([a, to, c, at]).collect();
                let bound = product.bind(executor, &memory).unwrap();
                executor.run(&bound.launches).unwrap();
                let mut found = vec![0; operands[2].len()];
                executor.read(c, 0, &mut found).unwrap();
                let verified = reference.verify(&operands[2], &found);
                verified.unwrap_or_else(|difference| panic!("{text}, {count} products: {difference}"));
                bound.release(executor);
                for memory in [a, b, c, at, to] {
                    executor.release(memory).unwrap();
                }
            }
        }
    });
}

/// Unpacking restores the packed operand, from any memory and layout.
#[test]
fn unpacking_gives_back_what_was_packed() {
    everywhere(|executor, kernels| {
        for elements in [Elements::F32, Elements::F16(Accumulate::F32), Elements::I8ToI32] {
            for [m, n, k] in [[6, 7, 9], [33, 70, 5], [1, 1, 1], [64, 16, 4]] {
                let row_major = Gemm::new(elements, [m, n, k]);
                let column_major = Gemm { c: Layout::column_major(m), ..row_major.clone() };
                for (text, gemm) in
                    kernels.iter().flat_map(|text| [(text, &row_major), (text, &column_major)])
                {
                    for side in [Side::A, Side::B] {
                        let planned = plan_packing(gemm, &parameters(text), executor.probe(), side);
                        let Ok(Some((packing, packed))) = planned else { continue };
                        let operand = &sample(gemm, 21)[side as usize];
                        let from = buffer(executor, operand);
                        let to = executor.allocate(&packed.memory(), Access::ReadWrite, None).unwrap();
                        let plain = buffer(executor, &vec![0xAA; operand.len()]);
                        let back = plan_unpacking(&packed, executor.probe());
                        for (plan, memories) in [(&packing, [from, to]), (&back, [to, plain])] {
                            let bound = plan
                                .bind(executor, &[(Role::Source, memories[0]), (Role::Result, memories[1])])
                                .unwrap();
                            executor.run(&bound.launches).unwrap();
                            bound.release(executor);
                        }
                        let mut found = vec![0; operand.len()];
                        executor.read(plain, 0, &mut found).unwrap();
                        // B is row-major in the description, and is returned column-major.
                        let width = operand.len() / if side == Side::A { m * k } else { k * n };
                        let want = if side == Side::A {
                            operand.clone()
                        } else {
                            let element = |at: usize| &operand[at * width..][..width];
                            (0..k * n).flat_map(|at| element(at % k * n + at / k).to_vec()).collect()
                        };
                        assert_eq!(found, want, "{text}, {elements:?}, {m}x{n}x{k}, {side:?}");
                        for memory in [from, to, plain] {
                            executor.release(memory).unwrap();
                        }
                    }
                }
            }
        }
    });
}

const ALL_STAGES: [Stage; 6] = [
    Stage::BiasColumns,
    Stage::BiasRows,
    Stage::Relu,
    Stage::Relu6,
    Stage::Clamp { least: -1.0, most: 2.0 },
    Stage::Residual {
        layout: Layout { order: Order::ColumnMajor, transposed: false, leading: 11, offset: 2 },
        stride: 0,
    },
];

#[test]
fn epilogues_in_every_order() {
    everywhere(|executor, kernels| {
        let all = kernels.len() > FEW.len();
        let gemm = |epilogue: Vec<Stage>| Gemm { epilogue, beta: 0.5, ..Gemm::new(Elements::F32, [9, 7, 5]) };
        let twice = vec![Stage::Relu, Stage::BiasColumns, Stage::BiasColumns, Stage::Relu6];
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
    for (epilogue, want) in
        [(vec![Stage::Relu, Stage::BiasRows], 1.0), (vec![Stage::BiasRows, Stage::Relu], 0.0)]
    {
        let gemm = Gemm { epilogue, ..Gemm::new(Elements::F32, [1, 1, 1]) };
        let operands = [one(2.0), one(-1.0), one(f32::NAN), one(1.0)];
        let found = run(&mut executor, &gemm, &parameters("tile 4x4"), &operands, &[Given::Changing; 2]);
        assert_eq!(found, one(want));
    }
}

fn scaled(scale: Scale, zeros: [i8; 3]) -> Elements {
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
    let stages = vec![Stage::BiasColumns, Stage::Clamp { least: -9000.0, most: 9000.0 }];
    for elements in [
        Elements::I8ToI32,
        scaled(Scale::Tensor, [0; 3]),
        scaled(Scale::Columns, [3, -7, 5]),
        scaled(Scale::Tensor, [-128, 127, 0]),
    ] {
        for extents in [[5, 9, 7], [8, 8, 16], [1, 12, 3], [4, 6, 0]] {
            let plain = Gemm::new(elements, extents);
            let [m, n, k] = extents;
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
            check(&mut executor, &Gemm { b, ..Gemm::new(elements, [1, 9, 70]) }, text);
        }
    }
    if let Some(mut executor) = opencl() {
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
        let gemm = Gemm::new(Elements::I8ToI8(requantise), [1, 1, 4]);
        let scales: Vec<u8> = [multiplier, shift].into_iter().flat_map(i32::to_ne_bytes).collect();
        let operands = [vec![a as u8; 4], vec![5; 4], vec![0], scales];
        for text in BYTES {
            let found = run(&mut executor, &gemm, &parameters(text), &operands, &[Given::Changing; 2]);
            assert_eq!(found[0] as i8, want, "{a} {multiplier} {shift}, {text}");
        }
    }
}

/// Sums of -128 * -128 over the largest K: 2^31 - 2^14.
#[test]
fn the_longest_sum_of_bytes() {
    let mut executor = simulator();
    let gemm = Gemm::new(Elements::I8ToI32, [1, 1, Gemm::BYTES_K_MAX]);
    let operands = [vec![0x80; Gemm::BYTES_K_MAX], vec![0x80; Gemm::BYTES_K_MAX], vec![0; 4]];
    let found = run(&mut executor, &gemm, &parameters("tile 4x4 unroll=4"), &operands, &[Given::Changing; 2]);
    assert_eq!(found, (i32::MAX - (1 << 14) + 1).to_ne_bytes());
}

#[test]
fn packed_once_and_used_again() {
    // With images over buffers, and without.
    packed_once(&mut simulator());
    if let Some(mut executor) = opencl() {
        packed_once(&mut executor);
    }
}

fn packed_once(executor: &mut dyn Executor) {
    let gemm = Gemm { b: Layout::row_major(9).transposed(), ..Gemm::new(Elements::F32, [6, 7, 9]) };
    for text in [
        "tile 4x8 b=packed group=1x1 rolled",
        "tile 4x4 b=image group=1x1 rolled",
        "local 4x4 depth=16 group=4x4 b=packed",
    ] {
        let parameters = parameters(text);
        let (packing, packed) = plan_packing(&gemm, &parameters, executor.probe(), Side::B).unwrap().unwrap();
        assert!(plan_packing(&gemm, &parameters, executor.probe(), Side::A).unwrap().is_none());
        let operands = sample(&gemm, 11);
        let b = buffer(executor, &operands[1]);
        let to = executor.allocate(&packed.memory(), Access::ReadWrite, None).unwrap();
        let bound = packing.bind(executor, &[(Role::Source, b), (Role::Result, to)]).unwrap();
        executor.run(&bound.launches).unwrap();
        bound.release(executor);
        for seed in [11, 12] {
            // The same B, another A.
            let mut operands = operands.clone();
            operands[0] = sample(&gemm, seed).swap_remove(0);
            let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
            let reference = Reference::new(&gemm, &slices).unwrap();
            let product =
                plan(&gemm, &parameters, executor.probe(), [Given::Changing, Given::Packed(packed)]).unwrap();
            let [a, c] = [0, 2].map(|operand: usize| buffer(executor, &operands[operand]));
            let memory = [(Role::C, c), (Role::A, a), (Role::B, to)];
            let bound = product.bind(executor, &memory).unwrap();
            assert!(bound.preparation.is_empty());
            executor.run(&bound.launches).unwrap();
            let mut found = vec![0; operands[2].len()];
            executor.read(c, 0, &mut found).unwrap();
            reference
                .verify(&operands[2], &found)
                .unwrap_or_else(|difference| panic!("{text}: {difference}"));
        }
        // Alpha does not matter; another extent does.
        let scaled = Gemm { alpha: 0.0, ..gemm.clone() };
        let again = plan(&scaled, &parameters, executor.probe(), [Given::Changing, Given::Packed(packed)]);
        assert!(again.is_ok(), "{text}");
        let other = Gemm { n: 6, ..gemm.clone() };
        let refused = plan(&other, &parameters, executor.probe(), [Given::Changing, Given::Packed(packed)]);
        assert!(matches!(refused, Err(Unfit::Packed { operand: "B" })), "{text}");
    }
}

const HALVES: [Elements; 3] = [
    Elements::F16(Accumulate::F16),
    Elements::F16(Accumulate::F32),
    Elements::F16(Accumulate::Chunked { block: 6 }),
];

#[test]
fn halves_in_the_simulator() {
    let mut executor = simulator();
    for elements in HALVES {
        let plain = Gemm::new(elements, [9, 13, 20]);
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
        let row = Gemm { b: Layout::column_major(40), ..Gemm::new(elements, [1, 9, 37]) };
        check(&mut executor, &row, "vector 4x4 group=8");
        check(&mut executor, &row, "vector 2x8 group=32 sub-groups");
    }
}

/// Half precision summed in float needs no extension: PoCL supports it.
#[test]
fn halves_in_float_on_opencl() {
    let Some(mut executor) = opencl() else { return };
    let elements = Elements::F16(Accumulate::F32);
    for text in FEW {
        for extents in [[9, 12, 11], [33, 17, 40], [1, 1, 1]] {
            let gemm = Gemm { beta: 0.5, ..Gemm::new(elements, extents) };
            check(&mut executor, &gemm, text);
        }
    }
    let half = Gemm::new(Elements::F16(Accumulate::F16), [4, 4, 4]);
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

/// A bound that accepts a dropped product, or C summed in the wrong precision, is useless.
#[test]
fn bounds_find_small_errors() {
    for (elements, k) in [
        (Elements::F32, 64),
        (HALVES[0], 64),
        (HALVES[1], 1024),
        (Elements::F16(Accumulate::Chunked { block: 32 }), 512),
    ] {
        let gemm = Gemm::new(elements, [8, 8, k]);
        let operands = sample(&gemm, 5);
        let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
        let reference = Reference::new(&gemm, &slices).unwrap();
        let spread = |values: &[f64]| {
            (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
        };
        let (typical, bound) = (spread(reference.values()), spread(reference.bounds()));
        // A missing product of two uniform numbers has a mean square of 1/3.
        assert!(
            bound < 0.25 && bound < 0.1 * typical,
            "{elements:?}: a bound of {bound} on elements of {typical}"
        );
        assert!(bound > 0.0);
    }
    // Sums of 1024 halves in half precision exceed the bound of float sums.
    let gemm = Gemm::new(HALVES[1], [16, 16, 1024]);
    let operands = sample(&gemm, 5);
    let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let reference = Reference::new(&gemm, &slices).unwrap();
    let [a, b]: [Vec<f16>; 2] = [0, 1].map(|operand: usize| bytemuck::pod_collect_to_vec(&operands[operand]));
    let mut c = Vec::new();
    for row in 0..16 {
        for column in 0..16 {
            let sum = (0..1024).fold(f16::ZERO, |sum, i| sum + a[row * 1024 + i] * b[i * 16 + column]);
            c.extend(sum.to_ne_bytes());
        }
    }
    assert!(reference.verify(&operands[2], &c).is_err());
    let in_half = Gemm { elements: HALVES[0], ..gemm };
    Reference::new(&in_half, &slices).unwrap().verify(&operands[2], &c).unwrap();
}

#[test]
fn small_devices_are_not_asked_too_much() {
    let tiny = Probe {
        max_work_group_size: 64,
        max_work_item_sizes: [64; 3],
        local_memory_bytes: 32 << 10,
        images: Some(ImageLimits { max_2d: [64, 64], ..ImageLimits::default() }),
        ..Probe::default()
    };
    let gemm = Gemm::new(Elements::F32, [256, 256, 256]);
    let refused = |text: &str, probe: &Probe| parameters(text).check(&gemm, probe).unwrap_err();
    assert!(matches!(refused("tile 4x4 group=16x8", &tiny), Unfit::OverLimit { limit: 64, .. }));
    assert!(matches!(refused("tile 4x4 b=image", &tiny), Unfit::OverLimit { limit: 64, .. }));
    assert!(matches!(
        refused("local 8x8 depth=32 group=8x8 buffers=2", &tiny),
        Unfit::OverLimit { limit: 32_768, .. }
    ));
    let bare = Probe { images: None, ..tiny.clone() };
    assert!(matches!(refused("tile 4x4 b=image", &bare), Unfit::NotOffered { .. }));
    assert!(parameters("local 8x8 group=8x8").check(&gemm, &tiny).is_ok());
}

#[test]
fn a_sweep_verifies_times_and_says_what_failed() {
    let gemm = Gemm { beta: 0.5, ..Gemm::new(Elements::F32, [24, 20, 16]) };
    let candidates: Vec<Parameters> =
        ["tile 4x4", "vector 4x4 group=1", "tile 2x8 b=packed", "local 4x4 depth=8 group=4x4"]
            .map(parameters)
            .into();
    let options = SweepOptions { heats: Heats { finalists: 2, rounds: 2 }, ..SweepOptions::default() };
    let mut executor = Layer::new(simulator(), WorkItemClock::default());
    let mut seen = 0;
    let found = sweep(&mut executor, &gemm, &candidates, &options, &mut |stage| {
        if let candidate::Stage::First { of, .. } = stage {
            seen += 1;
            assert_eq!(of, 4);
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, 4);
    let tried = &found.heat.tried;
    let runs: Vec<usize> =
        tried.iter().map(|one| one.outcome.as_ref().map_or(0, |seconds| seconds.runs)).collect();
    assert_eq!(runs, [2, 2, 1, 0], "{tried:?}");
    // Fewest work-items first: one for 16 outputs; whole work-groups; one for 16 outputs, and those that pack B. The
    // second candidate does not fit.
    let order: Vec<Parameters> = tried.iter().map(|one| one.parameters).collect();
    assert_eq!(order, [0, 3, 2, 1].map(|index| candidates[index]));
    assert!(matches!(tried[3].outcome, Err(TryError::Unfit(Unfit::Kernel { .. }))));
    let entry = found.entry("2026-01-02").unwrap();
    assert_eq!(entry.parameters, tried[0].parameters);
    assert_eq!(entry.source, "a sweep of this library");
    let text = entries_to_toml(&[entry]).unwrap();
    assert!(text.contains("date = \"2026-01-02\"") && text.contains("shape = \"skinny\""), "{text}");
    let found = sweep(&mut executor, &gemm, &candidates, &options, &mut |stage| match stage {
        candidate::Stage::First { done: 0, .. } => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    })
    .unwrap();
    assert!(found.heat.is_partial());
    let entry = found.entry("2026-01-02").unwrap();
    assert_eq!(entry.parameters, candidates[0]);
    assert!(entry.source.contains("partial: 1 of 4 candidates"), "{}", entry.source);
}

#[test]
fn a_sweep_begins_with_the_best_guess_and_leaves_no_candidate_out() {
    let gemm = Gemm::new(Elements::F32, [64, 64, 64]);
    for probe in
        [simulator().probe().clone(), Probe { name: "Mali-G610".to_owned(), ..simulator().probe().clone() }]
    {
        let all = candidates(&gemm, &probe);
        let ordered = best_guess_first(&gemm, &all, &probe);
        assert_eq!(ordered[0], default_parameters(&gemm, &probe).parameters);
        assert!(all.iter().all(|one| ordered.contains(one)));
        assert!(ordered.iter().all(|one| ordered.iter().filter(|other| *other == one).count() == 1));
    }
}

/// A device with wrong results is detected.
#[test]
fn a_wrong_kernel_gets_no_time() {
    struct Wrong;
    impl<E: Executor> Intercept<E> for Wrong {
        fn read(
            &mut self,
            inner: &mut E,
            memory: MemoryId,
            offset: usize,
            into: &mut [u8],
        ) -> Result<(), ExecuteError> {
            inner.read(memory, offset, into)?;
            into[3] ^= 0x40;
            Ok(())
        }
    }
    let gemm = Gemm::new(Elements::F32, [4, 4, 4]);
    let options = SweepOptions::default();
    let mut wrong = Layer::new(simulator(), Wrong);
    let found =
        sweep(&mut wrong, &gemm, &[parameters("tile 4x4")], &options, &mut |_| ControlFlow::Continue(()))
            .unwrap();
    assert!(matches!(found.heat.tried[0].outcome, Err(TryError::Wrong(_))));
    assert_eq!(found.entry("2026-01-02"), None);
}
