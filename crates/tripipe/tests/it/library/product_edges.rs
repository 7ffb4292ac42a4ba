//! Edge cases of products: batches of any count, empty operands, absurd extents, infinities and NaN, double precision.

use half::f16;
use tripipe::gemm::{
    Accumulate, Factor, Multipliers, Packed, Product, ProductExtents, Requantisation, Strides,
};
use tripipe::{Context, Device, Extents, Matrix, Order, Team, Vector};

use crate::library::{bytes, contexts, in_the_background};

/// Small whole numbers: every sum of them is exact, in any order.
fn whole(count: usize) -> Vec<f32> {
    bytes(count).into_iter().map(|byte| f32::from(byte % 5) - 2.0).collect()
}

/// Element (i, j) of the product of row-major matrices.
fn element(a: &[f32], b: &[f32], [_, n, k]: [usize; 3], i: usize, j: usize) -> f32 {
    (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum()
}

/// The memory of a batch at offsets is a multiple of 16 bytes for some counts only.
#[test]
fn batches_at_offsets_of_every_count() {
    let [m, n, k] = [2, 3, 2];
    for context in contexts() {
        for count in 1..=12 {
            // The products in a shuffled order; none of them writes the first rows of C.
            let (a, b) = (whole(count * m * k), whole(count * k * n));
            let triples: Vec<[usize; 3]> = (0..count)
                .map(|p| {
                    let q = (5 * p + 3) % count;
                    let q = if count.is_multiple_of(5) { count - 1 - p } else { q };
                    [q * m * k, (count - 1 - p) * k * n, (1 + p) * m * n]
                })
                .collect();
            let before: Vec<f32> = (0..(count + 1) * m * n).map(|i| 100.0 + i as f32).collect();
            let mut want = before.clone();
            for [a_at, b_at, c_at] in &triples {
                for i in 0..m * n {
                    let sum = element(&a[*a_at..], &b[*b_at..], [m, n, k], i / n, i % n);
                    want[c_at + i] = 2.0 * sum - before[c_at + i];
                }
            }
            let in_a = Matrix::from_slice(&context, Extents::new(count * m, k), &a).unwrap();
            let in_b = Matrix::from_slice(&context, Extents::new(count * k, n), &b).unwrap();
            let mut c = Matrix::from_slice(&context, Extents::new((count + 1) * m, n), &before).unwrap();
            let offsets: Vec<u32> = triples.iter().flatten().map(|at| *at as u32).collect();
            let offsets = Vector::from_slice(&context, &offsets).unwrap();
            let first = [in_a.block(0..m, 0..k).unwrap(), in_b.block(0..k, 0..n).unwrap()];
            let product = Product::new(first[0], first[1]).unwrap().alpha(2.0).beta(-1.0);
            let block = c.block_mut(0..m, 0..n).unwrap();
            drop(product.at_offsets(&offsets).unwrap().store(block).unwrap());
            assert_eq!(c.to_vec().unwrap(), want, "{count} products on {}", context.name());
        }
    }
}

/// Two products at one location: it contains one of the two results, every other location its own result.
#[test]
fn two_products_at_one_offset_give_one_of_both_results() {
    for context in contexts() {
        let a = Matrix::from_slice(&context, Extents::new(3, 1), &[1.0f32, 2.0, 5.0]).unwrap();
        let b = Matrix::from_slice(&context, Extents::new(1, 1), &[1.0f32]).unwrap();
        let mut c = Matrix::from_slice(&context, Extents::new(3, 1), &[10.0f32, 20.0, 30.0]).unwrap();
        let offsets = Vector::from_slice(&context, &[0u32, 0, 1, 1, 0, 1, 2, 0, 0]).unwrap();
        let product = Product::new(a.block(0..1, 0..1).unwrap(), &b).unwrap().at_offsets(&offsets).unwrap();
        drop(product.store(c.block_mut(0..1, 0..1).unwrap()).unwrap());
        let found = c.to_vec().unwrap();
        assert!(found[1] == 1.0 || found[1] == 2.0, "{found:?}");
        assert_eq!([found[0], found[2]], [5.0, 30.0]);
    }
}

#[test]
fn a_packed_operand_is_shared_by_the_products_of_a_batch() {
    let ([m, n, k], count) = ([40, 48, 32], 3);
    let (a, b) = (whole(count * m * k), whole(k * n));
    let want: Vec<f32> = (0..count * m * n).map(|i| element(&a, &b, [m, n, k], i / n, i % n)).collect();
    for context in contexts() {
        let in_a = Matrix::from_slice(&context, Extents::new(count * m, k), &a).unwrap();
        let in_b = Matrix::from_slice(&context, Extents::new(2 * k, n), &[&b[..], &b[..]].concat()).unwrap();
        for m_for in [1, m, 200_000] {
            let packed = Packed::right(in_b.block(0..k, 0..n).unwrap(), m_for).unwrap();
            let first = in_a.block(0..m, 0..k).unwrap();
            for shared in [1, count] {
                let mut c = Matrix::<f32>::zeros(&context, Extents::new(count * m, n)).unwrap();
                let at = |p: usize| [p * m * k, 0, p * m * n].map(|at| at as u32);
                let offsets: Vec<u32> = (0..shared).flat_map(at).collect();
                let offsets = Vector::from_slice(&context, &offsets).unwrap();
                let batch = Product::new(first, &packed).unwrap().at_offsets(&offsets).unwrap();
                drop(batch.store(c.block_mut(0..m, 0..n).unwrap()).unwrap());
                let found = c.to_vec().unwrap();
                assert_eq!(found[..shared * m * n], want[..shared * m * n], "{m_for}, {}", context.name());
                assert!(found[shared * m * n..].iter().all(|value| *value == 0.0));
            }
            let mut c = Matrix::<f32>::zeros(&context, Extents::new(count * m, n)).unwrap();
            let batch =
                Product::new(first, &packed).unwrap().strided(count, Strides { a: m * k, b: 0, c: m * n });
            drop(batch.store(c.block_mut(0..m, 0..n).unwrap()).unwrap());
            assert_eq!(c.to_vec().unwrap(), want);
            // A packed operand has one location.
            for (offset, count) in [(1u32, 1), (u32::MAX, 1), ((k * n) as u32, 2)] {
                let offsets = [0u32, 0, 0, 0, offset, 0];
                let offsets = Vector::from_slice(&context, &offsets[6 - 3 * count..]).unwrap();
                let batch = Product::new(first, &packed).unwrap().at_offsets(&offsets).unwrap();
                let error = batch.store(c.block_mut(0..m, 0..n).unwrap()).unwrap_err();
                assert!(error.to_string().starts_with("B was packed"), "{error}");
            }
            let batch =
                Product::new(first, &packed).unwrap().strided(2, Strides { a: m * k, b: k * n, c: m * n });
            let error = batch.store(c.block_mut(0..m, 0..n).unwrap()).unwrap_err();
            assert!(error.to_string().starts_with("B was packed"), "{error}");
            assert_eq!(c.to_vec().unwrap(), want, "nothing was written");
        }
    }
}

/// Also on devices with the CPU path as a fallback, either until kernels are built or because the device has no halves.
#[test]
fn empty_operands_of_every_type() {
    fn check<T: Factor>(context: &Context, accumulate: Accumulate)
    where
        T::Sum: PartialEq + std::fmt::Debug,
    {
        let matrix = |rows, columns| Matrix::<T>::zeros(context, Extents::new(rows, columns)).unwrap();
        let zero = T::Sum::default();
        for [m, n, k] in [[2, 3, 0], [0, 3, 2], [2, 0, 3], [0, 0, 0], [1, 1, 0], [0, 5, 0]] {
            let (a, b) = (matrix(m, k), matrix(k, n));
            let product = Product::new(&a, &b).unwrap().accumulate(accumulate);
            let bias = Vector::<T::Sum>::zeros(context, n).unwrap();
            let c = product.bias_columns(&bias).relu().into_matrix().unwrap();
            assert_eq!(c.to_vec().unwrap(), vec![zero; m * n], "{m}x{n}x{k} on {}", context.name());
            let empty = Vector::<u32>::zeros(context, 0).unwrap();
            let mut c = Matrix::<T::Sum>::zeros(context, Extents::new(m, n)).unwrap();
            let batch = Product::new(&a, &b).unwrap().accumulate(accumulate).at_offsets(&empty).unwrap();
            drop(batch.store(&mut c).unwrap());
            assert_eq!(c.to_vec().unwrap(), vec![zero; m * n]);
        }
    }
    for context in contexts().iter().chain(&in_the_background(Context::builder())) {
        check::<f32>(context, Accumulate::F32);
        check::<f64>(context, Accumulate::F32);
        check::<i8>(context, Accumulate::F32);
        for accumulate in [Accumulate::F32, Accumulate::F16, Accumulate::Chunked { block: 8 }] {
            check::<f16>(context, accumulate);
        }
        assert_eq!(Vector::<f32>::zeros(context, 0).unwrap().sum().unwrap().wait().unwrap(), 0.0);
        assert_eq!(Vector::<f16>::zeros(context, 0).unwrap().sum().unwrap().wait().unwrap(), 0.0);
        assert_eq!(Vector::<u8>::zeros(context, 0).unwrap().sum().unwrap().wait().unwrap(), 0);
        assert_eq!(Vector::<f32>::zeros(context, 0).unwrap().min().unwrap().wait().unwrap(), None);
    }
}

/// Every request is computed or refused.
#[test]
fn extents_strides_and_counts_at_the_extremes() {
    const HUGE: [usize; 6] =
        [usize::MAX, usize::MAX / 2 + 1, usize::MAX / 4 + 1, 1 << 33, u32::MAX as usize, 1 << 31];
    for context in contexts() {
        let matrix = |rows, columns| Matrix::<f32>::zeros(&context, Extents::new(rows, columns));
        for huge in HUGE {
            // Matrices without elements may have any extent.
            let (tall, wide) = (matrix(huge, 0).unwrap(), matrix(0, huge).unwrap());
            assert!(matrix(huge, huge).is_err());
            assert!(Product::new(&tall, &wide).unwrap().into_matrix().is_err());
            assert!(Product::new(&tall, &wide).unwrap().explain().is_err());
            assert!(Packed::right(&wide, huge).is_err());
            assert!(Packed::left(&tall, 3).is_err());
            // There is nothing to copy, whatever the number of rows.
            assert!(tall.view().to_vec().unwrap().is_empty());
            assert!(wide.transposed().to_vec().unwrap().is_empty());
            // Multipliers for each column, where the number of columns is too large.
            let [none, columns] =
                [0, huge].map(|columns| Matrix::<i8>::zeros(&context, Extents::new(0, columns)).unwrap());
            let mut bytes = Matrix::<i8>::zeros(&context, Extents::new(0, huge)).unwrap();
            let scales = Multipliers::new(&context, &[[1, 1]; 3]).unwrap();
            let requantisation =
                Requantisation { scales: &scales, zero_a: 0, zero_b: 0, zero_c: 0, range: [-128, 127] };
            let product = Product::new(&none, &columns).unwrap();
            assert!(product.store_bytes(&mut bytes, requantisation).is_err());
            // An empty sum with more terms than kernels can count.
            let nothing = Product::new(&wide, &tall).unwrap();
            assert!(nothing.into_matrix().is_err());

            let (a, b) = (matrix(2, 3).unwrap(), matrix(3, 2).unwrap());
            let mut c = matrix(2, 2).unwrap();
            let packed = Packed::right(&b, huge);
            assert!(packed.is_err());
            for strides in [[huge, 0, 4], [0, huge, 4], [0, 0, huge], [huge; 3]] {
                for count in [2, 3, huge] {
                    let batch = Product::new(&a, &b)
                        .unwrap()
                        .strided(count, Strides { a: strides[0], b: strides[1], c: strides[2] });
                    assert!(batch.store(&mut c).is_err(), "{count} products, {strides:?}");
                }
            }
            let batch = Product::new(&a, &b).unwrap().strided(huge, Strides::default());
            assert!(batch.store(&mut c).is_err());
            // One product, or none, does not use the strides.
            for count in [0, 1] {
                let batch =
                    Product::new(&a, &b).unwrap().strided(count, Strides { a: huge, b: huge, c: huge });
                drop(batch.store(&mut c).unwrap());
            }
            // A and B are not read.
            let (a, b) = (matrix(2, 0).unwrap(), matrix(0, 2).unwrap());
            let mut c = matrix(6, 2).unwrap();
            let batch = Product::new(&a, &b).unwrap().strided(3, Strides { a: huge, b: huge, c: 4 });
            drop(batch.store(c.block_mut(0..2, 0..2).unwrap()).unwrap());
            assert_eq!(c.to_vec().unwrap(), [0.0; 12]);
            let far = Vector::from_slice(&context, &[u32::MAX; 3]).unwrap();
            let batch = Product::new(&a, &b).unwrap().at_offsets(&far).unwrap();
            assert!(batch.store(c.block_mut(0..2, 0..2).unwrap()).is_err());
            // A residual has the stride of C.
            let (a, b) = (matrix(2, 1).unwrap(), matrix(1, 2).unwrap());
            let residual = matrix(2, 2).unwrap();
            let mut c = matrix(2, 2).unwrap();
            let batch = Product::new(&a, &b)
                .unwrap()
                .strided(2, Strides { a: 0, b: 0, c: huge })
                .residual(&residual)
                .unwrap();
            assert!(batch.store(&mut c).is_err());
        }
    }
}

#[test]
fn a_team_refuses_absurd_extents() {
    let team = Team::new(vec![Context::new(&Device::Cpu).unwrap()]).unwrap();
    let huge = usize::MAX;
    for [m, n, k] in
        [[0, huge, 0], [huge, 0, 0], [0, 0, huge], [huge, huge, 0], [huge, 0, huge], [0, huge, huge]]
    {
        let extents = ProductExtents { m, n, k };
        let empty = [m.checked_mul(k), k.checked_mul(n), m.checked_mul(n)] == [Some(0); 3];
        let done = team.product::<f32>(&[], &[], &mut [], extents);
        assert_eq!(done.is_ok(), empty, "{extents}");
        let done = team.product::<i8>(&[], &[], &mut [], extents);
        assert_eq!(done.is_ok(), empty, "{extents}");
    }
    let mut c = [7.0f64; 6];
    team.product::<f64>(&[], &[], &mut c, ProductExtents { m: 2, n: 3, k: 0 }).unwrap();
    assert_eq!(c, [0.0; 6]);
}

/// C by its definition, in double precision: products of small numbers are exact in it, and IEEE 754 defines the rest.
fn by_definition(
    [a, b, c]: [&[f64]; 3],
    [m, n, k]: [usize; 3],
    [alpha, beta]: [f64; 2],
    limits: Option<[f64; 2]>,
) -> Vec<f64> {
    let mut result = Vec::new();
    for i in 0..m {
        for j in 0..n {
            let mut sum = 0.0;
            if alpha != 0.0 {
                for l in 0..k {
                    sum += a[i * k + l] * b[l * n + j];
                }
            }
            let mut value = alpha * sum;
            if beta != 0.0 {
                value += beta * c[i * n + j];
            }
            if let Some([least, most]) = limits {
                // NaN is neither less nor greater than a limit.
                if value < least {
                    value = least;
                }
                if value > most {
                    value = most;
                }
            }
            result.push(value);
        }
    }
    result
}

/// Small whole numbers, with an infinity or a NaN here and there.
fn special(count: usize, every: usize, first: usize) -> Vec<f64> {
    let specials = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let numbers = whole(count + first)[first..].to_vec();
    let mixed = numbers.into_iter().enumerate().map(|(i, value)| match i % every {
        place if place == first % every => specials[i / every % 3],
        _ => f64::from(value),
    });
    mixed.collect()
}

fn same(found: &[f64], want: &[f64]) -> bool {
    let equal = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
    found.len() == want.len() && found.iter().zip(want).all(equal)
}

/// The contract for infinities and NaN, for factors, operands and C, on every path that computes the product.
#[test]
fn infinities_and_nan_follow_ieee_754() {
    const FACTORS: [f64; 7] = [1.0, 0.0, -2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.5];
    fn check<T: Factor<Sum = T>>(
        context: &Context,
        accumulate: Accumulate,
        of: impl Fn(f64) -> T,
        to: impl Fn(T) -> f64,
        extents: &[[usize; 3]],
    ) {
        for [m, n, k] in extents.iter().copied() {
            let values = [special(m * k, 29, 3), special(k * n, 31, 7), special(m * n, 11, 5)];
            let plain =
                [whole(m * k), whole(k * n)].map(|values| values.into_iter().map(f64::from).collect());
            let of_all = |values: &[f64]| values.iter().map(|value| of(*value)).collect::<Vec<T>>();
            let b_turned: Vec<T> = (0..n * k).map(|i| of(values[1][i % k * n + i / k])).collect();
            let column_b = Matrix::from_slice(context, Extents::new(n, k), &b_turned).unwrap();
            let [plain_a, plain_b]: [Vec<f64>; 2] = plain;
            for (a, b, turned) in
                [(&values[0], &values[1], false), (&values[0], &values[1], true), (&plain_a, &plain_b, false)]
            {
                let in_a = Matrix::from_slice(context, Extents::new(m, k), &of_all(a)).unwrap();
                let in_b = Matrix::from_slice(context, Extents::new(k, n), &of_all(b)).unwrap();
                let in_b = if turned { column_b.transposed() } else { in_b.view() };
                for (index, alpha) in FACTORS.into_iter().enumerate() {
                    for (other, beta) in FACTORS.into_iter().enumerate() {
                        // Every epilogue with some pairs of factors.
                        let limits = [None, Some([-3.0, 4.0]), Some([0.0, f64::INFINITY])];
                        let kinds = if context.probe().is_some() { 2 } else { 3 };
                        let limits = limits[(index + other) % kinds];
                        let want = by_definition([a, b, &values[2]], [m, n, k], [alpha, beta], limits);
                        let mut c =
                            Matrix::from_slice(context, Extents::new(m, n), &of_all(&values[2])).unwrap();
                        let product = Product::new(&in_a, in_b).unwrap().accumulate(accumulate);
                        let product = product.alpha(alpha).beta(beta);
                        let product = match limits {
                            None => product,
                            Some([0.0, _]) => product.relu(),
                            Some([least, most]) => product.clamp(least as f32, most as f32),
                        };
                        drop(product.store(&mut c).unwrap());
                        let found: Vec<f64> = c.to_vec().unwrap().into_iter().map(&to).collect();
                        assert!(
                            same(&found, &want),
                            "{} {m}x{n}x{k} on {}, alpha {alpha}, beta {beta}, {limits:?}: {found:?}, not {want:?}",
                            T::NAME,
                            context.name()
                        );
                    }
                }
            }
        }
    }
    let some = [[3, 4, 0], [9, 19, 5], [1, 20, 17], [21, 1, 33], [70, 65, 40]];
    for context in contexts() {
        // A device compiles a kernel for nearly each of them.
        let on_device = context.probe().is_some();
        let extents = if on_device { &some[..2] } else { &some[..] };
        check(&context, Accumulate::F32, |value| value as f32, f64::from, extents);
        check(&context, Accumulate::F32, |value| value, |value| value, extents);
        for accumulate in [Accumulate::F32, Accumulate::F16] {
            check(
                &context,
                accumulate,
                f16::from_f64,
                f16::to_f64,
                &extents[..if on_device { 1 } else { 5 }],
            );
        }
    }
}

/// Factors are rounded to the type of the sums before they are tested: a factor that is 0 or infinite there is treated
/// as such.
#[test]
fn factors_are_those_of_the_type_of_the_sums() {
    for context in contexts() {
        let nan = Matrix::from_slice(&context, Extents::new(2, 2), &[f32::NAN; 4]).unwrap();
        let one = Matrix::from_slice(&context, Extents::new(2, 2), &[1.0f32, 0.0, 0.0, 1.0]).unwrap();
        let c = Product::new(&nan, &one).unwrap().alpha(1e-60).into_matrix().unwrap();
        assert_eq!(c.to_vec().unwrap(), [0.0; 4], "{}", context.name());
        let mut c = Matrix::from_slice(&context, Extents::new(2, 2), &[f32::NAN; 4]).unwrap();
        drop(Product::new(&one, &one).unwrap().beta(1e-60).store(&mut c).unwrap());
        assert_eq!(c.to_vec().unwrap(), [1.0, 0.0, 0.0, 1.0]);
        let c = Product::new(&one, &one).unwrap().alpha(1e60).into_matrix().unwrap().to_vec().unwrap();
        assert!(c[0] == f32::INFINITY && c[1].is_nan(), "{c:?}");

        let halves = |values: [f32; 4]| {
            Matrix::from_slice(&context, Extents::new(2, 2), &values.map(f16::from_f32)).unwrap()
        };
        let (one, small) = (halves([1.0, 0.0, 0.0, 1.0]), halves([0.125; 4]));
        for (accumulate, want) in [(Accumulate::F32, 12_500.0), (Accumulate::F16, f32::INFINITY)] {
            let product = Product::new(&one, &small).unwrap().accumulate(accumulate).alpha(1e5);
            let c = product.into_matrix().unwrap().to_vec().unwrap();
            assert_eq!(c, [f16::from_f32(want); 4], "{accumulate:?} on {}", context.name());
        }
        // 1e-9 is 0 as a half: C is not read.
        let mut c = halves([f32::NAN; 4]);
        let product = Product::new(&one, &small).unwrap().accumulate(Accumulate::F16).beta(1e-9);
        drop(product.store(&mut c).unwrap());
        assert_eq!(c.to_vec().unwrap(), [f16::from_f32(0.125); 4]);
    }
}

/// Whole numbers of 25 bits: the sums of their products are exact in double precision, and in no other type used here.
#[test]
fn products_in_double_precision() {
    let number = |i: usize, seed: usize| ((i * 7_919 + seed * 104_729) % (1 << 25)) as i64 - (1 << 24);
    for context in contexts() {
        for [m, n, k] in [[1, 1, 1], [5, 7, 6], [1, 40, 7], [33, 1, 6], [70, 66, 7]] {
            let a: Vec<i64> = (0..m * k).map(|i| number(i, 1)).collect();
            let b: Vec<i64> = (0..k * n).map(|i| number(i, 2)).collect();
            let before: Vec<i64> = (0..m * n).map(|i| number(i, 3)).collect();
            let bias: Vec<i64> = (0..n).map(|i| number(i, 4)).collect();
            let exact = |i: usize| -> i64 { (0..k).map(|l| a[i / n * k + l] * b[l * n + i % n]).sum() };
            let wide = |values: &[i64]| values.iter().map(|value| *value as f64).collect::<Vec<f64>>();
            let turned: Vec<f64> = (0..m * k).map(|i| a[i % m * k + i / m] as f64).collect();
            let in_a = Matrix::with_order(&context, Extents::new(m, k), Order::ColumnMajor, &turned).unwrap();
            let in_b = Matrix::from_slice(&context, Extents::new(k, n), &wide(&b)).unwrap();
            let in_bias = Vector::from_slice(&context, &wide(&bias)).unwrap();
            let c = Product::new(&in_a, &in_b).unwrap().into_matrix().unwrap();
            let want: Vec<i64> = (0..m * n).map(exact).collect();
            assert_eq!(c.to_vec().unwrap(), wide(&want), "{m}x{n}x{k} on {}", context.name());

            let mut c = Matrix::from_slice(&context, Extents::new(m, n), &wide(&before)).unwrap();
            let product = Product::new(&in_a, &in_b).unwrap().alpha(2.0).beta(-1.0);
            drop(product.bias_columns(&in_bias).relu().store(&mut c).unwrap());
            let want: Vec<i64> =
                (0..m * n).map(|i| (2 * exact(i) - before[i] + bias[i % n]).max(0)).collect();
            assert_eq!(c.to_vec().unwrap(), wide(&want));

            let packed = Packed::right(&in_b, m).unwrap();
            let c = Product::new(&in_a, &packed).unwrap().into_matrix().unwrap();
            let want: Vec<i64> = (0..m * n).map(exact).collect();
            assert_eq!(c.to_vec().unwrap(), wide(&want));
            let explanation = Product::new(&in_a, &in_b).unwrap().explain().unwrap();
            assert!(explanation.operation.starts_with("f64 product"), "{explanation}");
            let on_device = context.probe().is_some();
            assert_eq!(explanation.fallback.is_some(), on_device, "{explanation}");
            if let Some(why) = explanation.fallback {
                assert!(why.contains("double precision"), "{why}");
            }
        }
    }
}
