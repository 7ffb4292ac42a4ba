//! Alpha and beta, infinities and NaN.

use half::f16;
use tripipe_kernels::gemm::{
    Accumulate, Elements, EpilogueStage, Gemm, Layout, OperandState, ProductExtents, Reference,
};
use tripipe_tune::bench::sample;

use super::elements::HALVES;
use super::layouts::VECTORS;
use super::{check, check_operands, everywhere, parameters, run, simulator};

#[test]
fn factors() {
    everywhere(|executor, kernels| {
        for (alpha, beta) in [(1.0, 1.0), (-0.75, 0.0), (0.0, 2.5), (0.0, 0.0), (3.0, -1.0)] {
            for text in kernels {
                check(
                    executor,
                    &Gemm { alpha, beta, ..Gemm::new(Elements::F32, ProductExtents { m: 9, n: 7, k: 5 }) },
                    text,
                );
            }
            for text in VECTORS {
                let b = Layout::column_major(9);
                check(
                    executor,
                    &Gemm { alpha, beta, b, ..Gemm::new(Elements::F32, ProductExtents { m: 1, n: 7, k: 9 }) },
                    text,
                );
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
                let gemm = Gemm { alpha, beta, ..Gemm::new(Elements::F32, ProductExtents { m: 3, n: 3, k }) };
                let operands = [nan.clone(), nan.clone(), bytemuck::cast_slice(&c).to_vec()];
                for text in kernels {
                    let found =
                        run(executor, &gemm, &parameters(text), &operands, &[OperandState::Changing; 2]);
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
    let gemm = Gemm {
        epilogue: vec![EpilogueStage::Relu],
        ..Gemm::new(Elements::F32, ProductExtents { m: 9, n: 10, k: 7 })
    };
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
                    let gemm =
                        Gemm { alpha, beta, ..Gemm::new(Elements::F32, ProductExtents { m: 5, n: 6, k }) };
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
                let gemm = Gemm { alpha, beta, ..Gemm::new(elements, ProductExtents { m: 4, n: 5, k: 6 }) };
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
        let gemm = Gemm { alpha, ..Gemm::new(Elements::F32, ProductExtents { m: 3, n: 1, k }) };
        let before = bytes(&[0.0; 3]);
        let reference = Reference::new(&gemm, &[&a, &b, &before]).unwrap();
        reference.verify(&before, &bytes(&[want; 3])).unwrap();
        assert!(reference.verify(&before, &bytes(&[wrong; 3])).is_err(), "alpha {alpha}, k {k}");
    }
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
        let gemm = Gemm::new(elements, ProductExtents { m: 8, n: 8, k });
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
    let gemm = Gemm::new(HALVES[1], ProductExtents { m: 16, n: 16, k: 1024 });
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
