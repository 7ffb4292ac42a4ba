//! Products with weights in 16, 8 and 4 bits against the reference: every format, every kind of memory, every way to
//! divide the work.
//!
//! In the simulator, which checks every access, and on an OpenCL device, if there is one (with `TRIPIPE_REQUIRE_OPENCL=1`
//! there must be one). PoCL takes a second or two to compile a kernel, so it runs a part of the cases.

use bytemuck::{cast_slice, pod_collect_to_vec};
use fastrand::Rng;
use half::f16;
use tripipe_kernels::Role;
use tripipe_kernels::gemm::{Extents, ProductExtents};
use tripipe_kernels::quantised::{
    Activation, PackedLayout, Parameters, QuantisedProduct, QuantisedReference, StoredWeights, WeightFormat,
    WeightMemory, choose, plan, space,
};
use tripipe_launch::{Access, Executor, MemoryId, MemoryKind};
use tripipe_simulate::{Options, Simulator};

use crate::opencl;

fn simulator() -> Simulator {
    Simulator::new(Options::default())
}

/// Weights with all their values, and x.
fn operands(format: WeightFormat, [m, n, k]: [usize; 3], seed: u64) -> (StoredWeights, Vec<f32>) {
    let mut random = Rng::with_seed(seed);
    let mut numbers = |count: usize| -> Vec<f32> {
        (0..count).map(|_| f16::from_f32(random.f32() * 2.0 - 1.0).to_f32()).collect()
    };
    let (weights, x) = (numbers(n * k), numbers(m * k));
    (StoredWeights::quantise(format, &weights, Extents::new(n, k)).unwrap(), x)
}

fn allocate(executor: &mut dyn Executor, kind: &MemoryKind, bytes: &[u8]) -> MemoryId {
    executor.allocate(kind, Access::ReadWrite, Some(bytes)).unwrap()
}

fn buffer(executor: &mut dyn Executor, bytes: &[u8]) -> MemoryId {
    // Empty buffers do not exist.
    let bytes = if bytes.is_empty() { &[0; 4] } else { bytes };
    allocate(executor, &MemoryKind::Buffer { bytes: bytes.len() }, bytes)
}

/// The number types of x and y.
fn stored(activation: Activation, values: &[f32]) -> Vec<u8> {
    match activation {
        Activation::F32 => cast_slice(values).to_vec(),
        Activation::F16 => {
            let halves: Vec<f16> = values.iter().map(|value| f16::from_f32(*value)).collect();
            cast_slice(&halves).to_vec()
        }
    }
}

fn doubles(activation: Activation, bytes: &[u8]) -> Vec<f64> {
    match activation {
        Activation::F32 => pod_collect_to_vec::<u8, f32>(bytes).into_iter().map(f64::from).collect(),
        Activation::F16 => pod_collect_to_vec::<u8, f16>(bytes).into_iter().map(f64::from).collect(),
    }
}

/// The whole memory of y after the product.
fn run(
    executor: &mut dyn Executor,
    product: &QuantisedProduct,
    parameters: &Parameters,
    weights: &StoredWeights,
    [x, y]: [&[u8]; 2],
) -> Vec<u8> {
    let layout =
        PackedLayout::of(product.format, product.weights(), parameters.memory, executor.probe()).unwrap();
    let words = layout.pack(weights).unwrap();
    let plan = plan(product, parameters, &layout, executor.probe())
        .unwrap_or_else(|error| panic!("{parameters}, {product}: {error}"));
    let y_memory = buffer(executor, y);
    let mut memory = vec![
        (Role::A, buffer(executor, x)),
        (Role::B, allocate(executor, &layout.weights_memory(), cast_slice(&words.weights))),
        (Role::C, y_memory),
    ];
    if !words.scales.is_empty() {
        memory.push((Role::Scales, buffer(executor, cast_slice(&words.scales))));
    }
    let bound = plan.bind(executor, &memory).unwrap();
    // Twice: the second run must not depend on what the first wrote.
    for _ in 0..2 {
        executor.run(&bound.launches).unwrap_or_else(|error| panic!("{parameters}, {product}: {error}"));
    }
    let mut found = vec![0; y.len()];
    executor.read(y_memory, 0, &mut found).unwrap();
    bound.release(executor);
    for (_, id) in memory {
        executor.release(id).unwrap();
    }
    found
}

/// Runs and compares; elements of y outside the product must stay as they are.
fn check(executor: &mut dyn Executor, product: &QuantisedProduct, text: &str) {
    let QuantisedProduct { format, m, n, k, .. } = *product;
    let (weights, x) = operands(format, [m, n, k], 5);
    check_operands(executor, product, text, &weights, &x);
}

fn check_operands(
    executor: &mut dyn Executor,
    product: &QuantisedProduct,
    text: &str,
    weights: &StoredWeights,
    x: &[f32],
) {
    let QuantisedProduct { activation, m, n, k, x_offset, x_stride, y_offset, y_stride, .. } = *product;
    let parameters: Parameters = text.parse().unwrap();
    if let Err(error) = parameters.check(product, executor.probe()) {
        eprintln!("left out: {text}, {product}: {error}");
        return;
    }
    let [x_span, y_span] = product.spans();
    // NaN where nothing may be read, and past y.
    let mut placed = vec![f32::NAN; x_span];
    for (i, row) in x.chunks(k.max(1)).enumerate() {
        placed[x_offset + i * x_stride..][..row.len()].copy_from_slice(row);
    }
    let old = vec![-77.0f32; y_span + 5];
    let [x_bytes, y_bytes] = [&placed, &old].map(|values| stored(activation, values));
    let found = doubles(activation, &run(executor, product, &parameters, weights, [&x_bytes, &y_bytes]));
    let exact: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let reference = QuantisedReference::new(product, weights, &exact).unwrap();
    let inside = |at: usize| {
        let at = at.wrapping_sub(y_offset);
        let [i, j] = [at / y_stride.max(1), at % y_stride.max(1)];
        (i < m && j < n).then_some(i * n + j)
    };
    let mut dense = vec![0.0; m * n];
    for (at, value) in found.iter().enumerate() {
        match inside(at) {
            Some(index) => dense[index] = *value,
            None => assert_eq!(*value, -77.0, "{text}, {product}: element {at} is outside"),
        }
    }
    reference.verify(&dense).unwrap_or_else(|wrong| panic!("{text}, {product}: {wrong}"));
}

const TEXTS: &[&str] = &[
    "1x1 group=1x1",
    "1x3 group=4x2",
    "2x1 group=8x1",
    "4x1 group=4x8",
    "4x4 group=2x1",
    "8x2 group=3x2",
    "16x1 group=1x1",
    "4x1 group=4x2 image",
    "4x2 group=2x4 image",
    "8x1 group=4x1 image",
    "16x2 group=1x2 image",
];
const MASKS: &[&str] =
    &["1x1 group=2x1 masks", "4x3 group=4x4 masks", "4x1 group=2x2 image masks", "16x1 group=1x1 masks"];

fn texts(format: WeightFormat) -> impl Iterator<Item = &'static str> {
    let masks = if format == WeightFormat::Q4_0 { MASKS } else { &[] };
    TEXTS.iter().chain(masks).copied()
}

#[test]
fn every_format_gives_the_product_in_the_simulator() {
    let mut executor = simulator();
    let sizes =
        [(Activation::F32, [1, 37, 96]), (Activation::F16, [3, 21, 64]), (Activation::F32, [5, 9, 75])];
    for (first, format) in WeightFormat::ALL.into_iter().enumerate() {
        for (index, text) in texts(format).enumerate() {
            let (activation, [m, n, k]) = sizes[(first + index) % sizes.len()];
            check(
                &mut executor,
                &QuantisedProduct::new(format, activation, ProductExtents { m, n, k }),
                text,
            );
        }
    }
}

#[test]
fn every_format_gives_the_product_on_an_opencl_device() {
    let Some(mut executor) = opencl().into_iter().next() else { return };
    for format in WeightFormat::ALL {
        for [m, n, k] in [[1, 1000, 96], [9, 133, 192]] {
            check(
                &mut executor,
                &QuantisedProduct::new(format, Activation::F32, ProductExtents { m, n, k }),
                "4x2 group=2x4",
            );
        }
        check(
            &mut executor,
            &QuantisedProduct::new(format, Activation::F16, ProductExtents { m: 2, n: 61, k: 45 }),
            "16x1 group=1x1",
        );
    }
    for text in ["4x1 group=2x2 image masks", "16x1 group=1x1 masks"] {
        let product = QuantisedProduct::new(
            WeightFormat::Q4_0,
            Activation::F32,
            ProductExtents { m: 1, n: 333, k: 512 },
        );
        check(&mut executor, &product, text);
    }
}

/// One output, batches beyond what a work-item takes, one input, inputs off the block, no vectors, outputs or inputs.
#[test]
fn sizes_at_the_edges() {
    let mut executor = simulator();
    let parameters = ["4x4 group=4x2", "1x8 group=1x1", "4x1 group=2x1 image"];
    for format in WeightFormat::ALL {
        for text in parameters {
            for [m, n, k] in [
                [1, 1, 1],
                [9, 1, 32],
                [8, 2, 31],
                [1, 17, 33],
                [0, 5, 32],
                [3, 0, 32],
                [2, 6, 0],
                [1, 4, 97],
            ] {
                check(
                    &mut executor,
                    &QuantisedProduct::new(format, Activation::F32, ProductExtents { m, n, k }),
                    text,
                );
            }
        }
    }
}

#[test]
fn operands_may_lie_within_others() {
    let mut executor = simulator();
    for format in WeightFormat::ALL {
        for activation in [Activation::F16, Activation::F32] {
            let dense = QuantisedProduct::new(format, activation, ProductExtents { m: 3, n: 10, k: 40 });
            let product = QuantisedProduct { x_offset: 3, x_stride: 47, y_offset: 5, y_stride: 13, ..dense };
            check(&mut executor, &product, "4x2 group=2x2");
        }
    }
}

/// An output that an infinity or a NaN contributes to is infinite or NaN; no other is.
#[test]
fn infinities_and_nan_stay_in_their_outputs() {
    let mut executor = simulator();
    let [n, k] = [6, 64];
    for format in WeightFormat::ALL {
        let product = QuantisedProduct::new(format, Activation::F32, ProductExtents { m: 2, n, k });
        let (weights, x) = operands(format, [2, n, k], 9);
        for special in [f16::INFINITY, f16::NEG_INFINITY, f16::NAN] {
            // The scale of the first block of output 4, or its first weight.
            let weights = if format == WeightFormat::I8 {
                let mut scales = weights.scales().to_vec();
                scales[4] = special.to_f32();
                StoredWeights::from_bytes(cast_slice(weights.bytes()).to_vec(), scales, Extents::new(n, k))
                    .unwrap()
            } else {
                let mut bytes = weights.bytes().to_vec();
                bytes[4 * format.row_bytes(k)..][..2].copy_from_slice(&special.to_ne_bytes());
                StoredWeights::from_stored(format, bytes, Extents::new(n, k)).unwrap()
            };
            for text in texts(format).take(13).step_by(3) {
                check_operands(&mut executor, &product, text, &weights, &x);
            }
        }
        for special in [f32::INFINITY, f32::NAN] {
            let mut x = x.clone();
            x[k + 33] = special;
            for text in texts(format).step_by(4) {
                check_operands(&mut executor, &product, text, &weights, &x);
            }
        }
    }
}

/// Points of the search space, and what the rules choose, on devices that differ.
#[test]
fn chosen_and_searched_parameters_give_the_product() {
    let mut executor = simulator();
    let mut random = Rng::with_seed(3);
    for format in WeightFormat::ALL {
        let product = QuantisedProduct::new(format, Activation::F32, ProductExtents { m: 2, n: 75, k: 128 });
        let probe = executor.probe().clone();
        let points: Vec<Parameters> = space(&product, &probe).points().collect();
        assert!(points.len() > 100, "{}", points.len());
        for _ in 0..4 {
            check(&mut executor, &product, &points[random.usize(..points.len())].to_string());
        }
        for memory in [None, Some(WeightMemory::Buffer), Some(WeightMemory::Image)] {
            let choice = choose(&product, memory, executor.probe());
            choice.parameters.check(&product, executor.probe()).unwrap();
            assert!(memory.is_none_or(|memory| memory == choice.parameters.memory));
            check(&mut executor, &product, &choice.parameters.to_string());
        }
    }
}
