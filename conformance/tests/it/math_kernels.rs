//! What the ladders' own verification does not cover: infinities and NaN in a matrix product, products planned from
//! plain operands, and the measured ceilings.
//!
//! Without an OpenCL device these are skipped with a message; with `TRIPIPE_REQUIRE_OPENCL=1` that is a failure.

use bytemuck::{cast_slice, pod_collect_to_vec};
use tripipe_kernels::{PlanError, ceilings};
use tripipe_ladders::gemm::steps::{DenseProduct, GemmKernel, LocalTile, Side, Tile, plan};
use tripipe_ladders::peaks::{self, Effort, PeakError, Unit};
use tripipe_ladders::problem::Float;
use tripipe_launch::{ExecuteError, Executor, ScalarType};

use crate::opencl;

/// Every kernel of the family with its label, a tile with each kind of memory for either operand. Two steps along K per
/// iteration, since that pads K.
fn kernels() -> Vec<(String, GemmKernel)> {
    let mut kernels = vec![
        ("naive".to_owned(), GemmKernel::Naive),
        ("float4-dot".to_owned(), GemmKernel::Float4Dot),
        ("local 4x4".to_owned(), GemmKernel::LocalTile(LocalTile::Side4)),
        ("local 8x8".to_owned(), GemmKernel::LocalTile(LocalTile::Side8)),
    ];
    let four = Side::Buffer4;
    let mut sides = vec![(four, four)];
    for side in [Side::Buffer2, Side::Buffer8, Side::Image4, Side::Image8] {
        sides.extend([(side, four), (four, side)]);
    }
    for (rows, columns) in sides {
        let tile = Tile { rows, columns, fma: true, unroll_k: true, work_group: None };
        kernels.push((format!("{rows:?} {columns:?}"), GemmKernel::Tile(tile)));
    }
    kernels
}

/// The class of a value: infinite with its sign, NaN, or finite.
fn class(value: f64) -> &'static str {
    match value {
        value if value.is_nan() => "NaN",
        f64::INFINITY => "inf",
        f64::NEG_INFINITY => "-inf",
        _ => "finite",
    }
}

/// Infinities and NaN affect exactly the elements that they affect in the textbook sum: the zeros of the padding are
/// never multiplied with operands. k is odd, so that two steps per iteration and vectors of four both pad it.
#[test]
fn infinities_go_where_arithmetic_takes_them() {
    for mut executor in opencl() {
        for [m, n, k] in [[9, 6, 5], [3, 13, 1]] {
            let mut random = numbers();
            let mut operand = |length: usize| (0..length).map(|_| random()).collect::<Vec<f32>>();
            let (mut a, mut b) = (operand(m * k), operand(k * n));
            // The corners, which are next to the padding.
            a[m * k - 1] = f32::INFINITY;
            a[k - 1] = f32::NAN;
            b[(k - 1) * n] = f32::NEG_INFINITY;
            b[k * n - 1] = f32::INFINITY;
            let sum = |row: usize, column: usize| -> f64 {
                (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(b[i * n + column])).sum()
            };
            let product = DenseProduct::new([cast_slice(&a), cast_slice(&b)], [m, n, k], Float::F32).unwrap();
            for (label, kernel) in kernels() {
                let plan = match plan(kernel, &product, executor.probe()) {
                    Ok(plan) => plan,
                    Err(PlanError::NotOffered { .. }) => continue,
                    Err(error) => panic!("{label}: {error}"),
                };
                let mut staged = plan.stage(&mut executor).unwrap();
                staged.prepare().unwrap();
                staged.run().unwrap();
                let found: Vec<f32> = pod_collect_to_vec(&staged.output().unwrap());
                for (index, found) in found.iter().enumerate() {
                    let (want, found) = (sum(index / n, index % n), f64::from(*found));
                    assert_eq!(
                        class(found),
                        class(want),
                        "{label} at {m}x{n}x{k}, element {index}: {found}, not {want}"
                    );
                    assert!(!want.is_finite() || (found - want).abs() < 1e-5, "{label}, element {index}");
                }
            }
        }
    }
}

/// Numbers in [0.5, 1.5), never 0: a small linear congruential generator with a fixed start.
fn numbers() -> impl FnMut() -> f32 {
    let mut state = 1u32;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        0.5 + (state >> 8) as f32 / (1 << 24) as f32
    }
}

/// Every row of the ceilings is a positive number with a verified result, or names the missing device feature.
#[test]
fn ceilings_are_measured_from_right_results() {
    for mut executor in opencl() {
        let mut announced = 0;
        let peaks = peaks::measure(&mut executor, Effort::Quick, &|_| true, &mut |_| announced += 1).unwrap();
        assert_eq!(announced, peaks.rows.len());
        for row in &peaks.rows {
            match &row.value {
                Ok(value) => assert!(
                    *value > 0.0 || row.unit == Unit::Seconds,
                    "{} {:?}: {value}",
                    row.name,
                    row.width
                ),
                Err(PeakError::NotOffered { .. }) => {}
                Err(error) => panic!("{} {:?}: {error}", row.name, row.width),
            }
        }
        for name in [
            "mad float",
            "mad int",
            "mad24 int",
            "mul24 int",
            "mad char",
            "buffer read",
            "buffer write",
            "buffer copy",
            "local read",
        ] {
            assert!(peaks.best(name).is_some(), "no {name}");
        }
        let probe = executor.probe().clone();
        assert_eq!(peaks.best("mad double").is_some(), probe.fp64());
        let dots = ["cl_arm_integer_dot_product_accumulate_int8", "cl_khr_integer_dot_product"];
        let dots = dots.iter().any(|name| probe.has_extension(name));
        assert_eq!(peaks.best("dot int8").is_some(), dots);
        let one =
            peaks::measure(&mut executor, Effort::Quick, &|name| name == "dot int8", &mut |_| ()).unwrap();
        assert_eq!(one.rows.iter().map(|row| row.name).collect::<Vec<_>>(), ["dot int8"]);
    }
}

#[test]
fn a_ladder_gets_its_ceilings() {
    for mut executor in opencl() {
        for element in [ScalarType::F32, ScalarType::U8] {
            let ceilings = ceilings::measure(&mut executor, element).unwrap();
            assert!(ceilings.bytes_per_second > 0.0 && ceilings.operations_per_second > 0.0);
        }
        let refused = ceilings::measure(&mut executor, ScalarType::U64);
        assert!(matches!(refused, Err(ExecuteError::NotOffered { .. })), "{refused:?}");
        let doubles = ceilings::measure(&mut executor, ScalarType::F64);
        assert_eq!(doubles.is_ok(), executor.probe().fp64(), "{doubles:?}");
    }
}
