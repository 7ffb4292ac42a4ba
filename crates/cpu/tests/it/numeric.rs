//! The vector and matrix operations of the CPU path against plain sums in f64 with an error bound.

use half::f16;
use proptest::prelude::*;
use tripipe_cpu::{self as cpu, CpuError, Threads};

const BOTH: [Threads; 2] = [Threads::One, Threads::All];

/// Values in -1..1 that every type used here holds exactly: multiples of 1/1024.
fn values(len: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from((state >> 53) as u32) / 1024.0 - 1.0
        })
        .collect()
}

/// The product, and the product of the absolute values, which scales the bound of rounding errors.
fn product(a: &[f64], b: &[f64], m: usize, n: usize, k: usize) -> Vec<(f64, f64)> {
    let mut c = vec![(0.0, 0.0); m * n];
    for i in 0..m {
        for l in 0..k {
            for j in 0..n {
                let term = a[i * k + l] * b[l * n + j];
                c[i * n + j].0 += term;
                c[i * n + j].1 += term.abs();
            }
        }
    }
    c
}

/// Checks all three types. The bound is the standard one for a sum of k products in any order, `k eps sum |a b|`; f16
/// adds the rounding of the result.
fn check_gemm(m: usize, n: usize, k: usize) {
    let (a, b) = (values(m * k, 1), values(k * n, 2));
    let want = product(&a, &b, m, n, k);
    let single = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<_>>();
    let half = |v: &[f64]| v.iter().map(|&v| f16::from_f64(v)).collect::<Vec<_>>();
    for threads in BOTH {
        let mut c64 = vec![f64::NAN; m * n];
        let mut c32 = vec![f32::NAN; m * n];
        let mut c16 = vec![f16::NAN; m * n];
        cpu::gemm_f64(&a, &b, &mut c64, m, n, k, threads).unwrap();
        cpu::gemm_f32(&single(&a), &single(&b), &mut c32, m, n, k, threads).unwrap();
        cpu::gemm_f16(&half(&a), &half(&b), &mut c16, m, n, k, threads).unwrap();
        for (at, &(want, scale)) in want.iter().enumerate() {
            let terms = k as f64 * scale;
            let found = [c64[at], f64::from(c32[at]), c16[at].to_f64()];
            // The f64 sum it is compared with has an error too, hence the factor 2.
            let bounds = [
                2.0 * f64::EPSILON * terms,
                f64::from(f32::EPSILON) * terms,
                f64::from(f32::EPSILON) * terms + f16::EPSILON.to_f64() * want.abs(),
            ];
            for ((found, bound), kind) in found.iter().zip(bounds).zip(["f64", "f32", "f16"]) {
                assert!(
                    (found - want).abs() <= bound,
                    "{kind} {m}x{n}x{k} {threads:?} element {at}: {found}, not {want} +- {bound}"
                );
            }
        }
    }
}

#[test]
fn gemm_for_every_small_size() {
    for m in 0..=12 {
        for n in 0..=12 {
            for k in [0, 1, 2, 3, 4, 5, 7, 8, 12, 33] {
                check_gemm(m, n, k);
            }
        }
    }
}

#[test]
fn gemm_for_odd_and_larger_sizes() {
    let sizes = [(1, 1, 5000), (1, 777, 33), (777, 1, 33), (65, 129, 257), (128, 128, 128), (331, 97, 211)];
    // The last three span several tiles of the f16 product in each direction.
    for (m, n, k) in sizes.into_iter().chain([(1030, 5, 9), (3, 1029, 11), (5, 7, 2050)]) {
        check_gemm(m, n, k);
    }
}

#[test]
fn gemm_never_reads_c_and_gives_zero_for_no_terms() {
    for threads in BOTH {
        let mut c32 = [f32::NAN; 6];
        cpu::gemm_f32(&[], &[], &mut c32, 2, 3, 0, threads).unwrap();
        assert_eq!(c32, [0.0; 6]);
        let mut c64 = [f64::NAN; 6];
        cpu::gemm_f64(&[], &[], &mut c64, 2, 3, 0, threads).unwrap();
        assert_eq!(c64, [0.0; 6]);
        let mut c16 = [f16::NAN; 6];
        cpu::gemm_f16(&[], &[], &mut c16, 2, 3, 0, threads).unwrap();
        assert_eq!(c16, [f16::ZERO; 6]);
    }
}

/// A non-finite element of A affects its row of C and nothing else; zero times infinity is NaN.
#[test]
fn not_a_number_and_infinity_propagate() {
    for (m, n, k) in [(2, 3, 4), (37, 41, 53), (130, 131, 132)] {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut a = vec![1.0f32; m * k];
            let mut b = vec![1.0f32; k * n];
            let (row, col) = (m / 2, n / 3);
            a[row * k + k - 1] = bad;
            b[(k - 1) * n + col] = 0.0;
            for threads in BOTH {
                let mut c = vec![0.0f32; m * n];
                cpu::gemm_f32(&a, &b, &mut c, m, n, k, threads).unwrap();
                let narrow = |v: &[f32]| v.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>();
                let mut c16 = vec![f16::ZERO; m * n];
                cpu::gemm_f16(&narrow(&a), &narrow(&b), &mut c16, m, n, k, threads).unwrap();
                for i in 0..m {
                    for j in 0..n {
                        for found in [c[i * n + j], c16[i * n + j].to_f32()] {
                            let place = format!("{m}x{n}x{k} {bad} at ({i}, {j}): {found}");
                            if i != row {
                                let ones = if j == col { k - 1 } else { k };
                                assert_eq!(found, ones as f32, "{place}");
                            } else if bad.is_nan() || j == col {
                                assert!(found.is_nan(), "{place}");
                            } else {
                                assert_eq!(found, bad, "{place}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn f16_sums_are_taken_in_f32_and_rounded_once() {
    // In f16, 2048 + 1 is 2048: a sum in f16 would stop growing there.
    let (a, b) = (vec![f16::ONE; 4096], vec![f16::ONE; 4096]);
    let mut c = [f16::ZERO];
    cpu::gemm_f16(&a, &b, &mut c, 1, 1, 4096, Threads::One).unwrap();
    assert_eq!(c[0].to_f32(), 4096.0);
    // 300 * 300 is beyond the largest f16.
    cpu::gemm_f16(&[f16::from_f32(300.0)], &[f16::from_f32(300.0)], &mut c, 1, 1, 1, Threads::One).unwrap();
    assert_eq!(c[0], f16::INFINITY);
    // Subnormal results survive: 2^-12 * 2^-12 is the smallest positive f16.
    let small = [f16::from_f32(1.0 / 4096.0)];
    cpu::gemm_f16(&small, &small, &mut c, 1, 1, 1, Threads::One).unwrap();
    assert_eq!(c[0].to_bits(), 1);
}

/// Products that each want all threads, started from several threads of the pool and from outside it, neither deadlock
/// nor mix up their scratch space.
#[test]
fn products_at_the_same_time() {
    const SIZE: usize = 260;
    let product_of = |value: u8| {
        let (a, b) = (vec![f32::from(value); SIZE * SIZE], vec![1.0; SIZE * SIZE]);
        let mut c = vec![0.0; SIZE * SIZE];
        for _ in 0..10 {
            cpu::gemm_f32(&a, &b, &mut c, SIZE, SIZE, SIZE, Threads::All).unwrap();
            assert!(c.iter().all(|&c| c == f32::from(value) * SIZE as f32));
        }
    };
    std::thread::scope(|scope| {
        for value in 1..4 {
            scope.spawn(move || product_of(value));
        }
        rayon::scope(|pool| {
            for value in 4..8 {
                pool.spawn(move |_| product_of(value));
            }
        });
    });
}

#[test]
fn gemm_refuses_wrong_lengths() {
    let error = cpu::gemm_f32(&[0.0; 6], &[0.0; 5], &mut [0.0; 4], 2, 2, 3, Threads::All).unwrap_err();
    assert_eq!(error, CpuError::Length { operation: "gemm_f32", buffer: "b", want: 6, found: 5 });
    let error = cpu::gemm_f64(&[0.0; 6], &[0.0; 6], &mut [0.0; 5], 2, 2, 3, Threads::All).unwrap_err();
    assert_eq!(error, CpuError::Length { operation: "gemm_f64", buffer: "c", want: 4, found: 5 });
    let error = cpu::gemm_f16(&[], &[], &mut [], usize::MAX, 2, 3, Threads::All).unwrap_err();
    assert!(matches!(error, CpuError::TooLarge { operation: "gemm_f16", buffer: "a", .. }), "{error}");
    // An empty C does not excuse an A or B with the wrong length.
    let error = cpu::gemm_f32(&[0.0], &[], &mut [], 0, 2, 0, Threads::All).unwrap_err();
    assert_eq!(error, CpuError::Length { operation: "gemm_f32", buffer: "a", want: 0, found: 1 });
}

#[test]
fn vector_add_wraps() {
    let sizes = (0..=70).chain([300_001]);
    for len in sizes {
        let a: Vec<i32> = (0..len).map(|i: i32| (i32::MAX - 30).wrapping_add(i).wrapping_mul(3)).collect();
        let b: Vec<i32> = (0..len).map(|i| i % 1000 - 500).collect();
        for threads in BOTH {
            let mut c = vec![-1; a.len()];
            cpu::vector_add(&a, &b, &mut c, threads).unwrap();
            for i in 0..a.len() {
                let exact = i64::from(a[i]) + i64::from(b[i]);
                assert_eq!((i64::from(c[i]) - exact) % (1 << 32), 0, "{len} {threads:?} element {i}");
            }
        }
    }
    let mut c = [0];
    cpu::vector_add(&[i32::MAX], &[1], &mut c, Threads::One).unwrap();
    assert_eq!(c, [i32::MIN]);
    let error = cpu::vector_add(&[1, 2], &[1], &mut [0; 2], Threads::One).unwrap_err();
    assert_eq!(error, CpuError::Length { operation: "vector_add", buffer: "b", want: 2, found: 1 });
}

#[test]
fn saxpy_rounds_the_product_before_the_sum() {
    for len in (0..=70).chain([300_001]) {
        // Arbitrary bit patterns in 1..2, so that products require rounding.
        let x: Vec<f32> =
            (0..len).map(|i: u32| f32::from_bits(0x3F80_0000 | i.wrapping_mul(2_654_435_761) >> 9)).collect();
        let y: Vec<f32> = x.iter().rev().map(|v| -v * 0.7).collect();
        let a = 1.234_567_9_f32;
        for threads in BOTH {
            let mut found = vec![0.0; x.len()];
            cpu::saxpy(a, &x, &y, &mut found, threads).unwrap();
            for i in 0..x.len() {
                // The f64 product of two f32 is exact, and so is converting its rounded f32 value back to f64.
                let product = (f64::from(a) * f64::from(x[i])) as f32;
                let want = (f64::from(product) + f64::from(y[i])) as f32;
                assert_eq!(found[i].to_bits(), want.to_bits(), "{len} {threads:?} element {i}");
            }
        }
    }
    let mut z = [0.0; 2];
    cpu::saxpy(f32::INFINITY, &[0.0, -1.0], &[1.0, f32::INFINITY], &mut z, Threads::One).unwrap();
    assert!(z[0].is_nan() && z[1].is_nan());
    let error = cpu::saxpy(1.0, &[1.0], &[1.0], &mut [], Threads::One).unwrap_err();
    assert_eq!(error, CpuError::Length { operation: "saxpy", buffer: "z", want: 1, found: 0 });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn gemm_of_random_sizes(m in 0usize..80, n in 0usize..80, k in 0usize..80) {
        check_gemm(m, n, k);
    }
}
