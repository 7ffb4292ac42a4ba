//! Products on every device: exact if the sums are, with every layout, factor and epilogue.

use half::f16;
use tripipe::gemm::{Accumulate, Multipliers, Packed, Product, Requantisation, Strides};
use tripipe::{Context, Element, ErrorKind, Extents, Matrix, Order, Vector};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

use crate::library::faulty::{Faulty, Meddling};
use crate::library::{bytes, contexts};

/// Small whole numbers: every sum of them is exact, in any order.
fn whole(count: usize) -> Vec<f32> {
    bytes(count).into_iter().map(|byte| f32::from(byte % 5) - 2.0).collect()
}

/// C by its definition.
fn product(a: &[f32], b: &[f32], [m, n, k]: [usize; 3]) -> Vec<f32> {
    (0..m * n).map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum()).collect()
}

fn transposed<T: Element>(values: &[T], [rows, columns]: [usize; 2]) -> Vec<T> {
    (0..rows * columns).map(|i| values[i % rows * columns + i / rows]).collect()
}

#[test]
fn products_are_the_same_on_every_device() {
    for context in contexts() {
        for [m, n, k] in [[1, 1, 1], [3, 5, 7], [64, 64, 64], [65, 33, 129], [1, 70, 30], [70, 1, 30]] {
            let (a, b) = (whole(m * k), whole(k * n));
            let want = product(&a, &b, [m, n, k]);
            let of = |values: &[f32]| -> Vec<f16> { values.iter().map(|v| f16::from_f32(*v)).collect() };
            let in_a = Matrix::from_slice(&context, Extents::new(m, k), &a).unwrap();
            let in_b = Matrix::from_slice(&context, Extents::new(k, n), &b).unwrap();
            let c = Product::new(&in_a, &in_b).unwrap().into_matrix().unwrap();
            assert_eq!(c.to_vec().unwrap(), want, "{m}x{n}x{k} on {}", context.name());

            let half_a = Matrix::from_slice(&context, Extents::new(m, k), &of(&a)).unwrap();
            let half_b = Matrix::from_slice(&context, Extents::new(k, n), &of(&b)).unwrap();
            for accumulate in [Accumulate::F32, Accumulate::F16, Accumulate::Chunked { block: 16 }] {
                let product = Product::new(&half_a, &half_b).unwrap().accumulate(accumulate);
                assert_eq!(product.into_matrix().unwrap().to_vec().unwrap(), of(&want), "{accumulate:?}");
            }

            let byte = |values: &[f32]| -> Vec<i8> { values.iter().map(|v| *v as i8).collect() };
            let byte_a = Matrix::from_slice(&context, Extents::new(m, k), &byte(&a)).unwrap();
            let byte_b = Matrix::from_slice(&context, Extents::new(k, n), &byte(&b)).unwrap();
            let c = Product::new(&byte_a, &byte_b).unwrap().into_matrix().unwrap();
            let integers: Vec<i32> = want.iter().map(|v| *v as i32).collect();
            assert_eq!(c.to_vec().unwrap(), integers);
        }
    }
}

#[test]
fn every_layout_is_taken() {
    let [m, n, k] = [37, 29, 23];
    let (a, b) = (whole(m * k), whole(k * n));
    let want = product(&a, &b, [m, n, k]);
    for context in contexts() {
        let row_a = Matrix::from_slice(&context, Extents::new(m, k), &a).unwrap();
        let column_a =
            Matrix::with_order(&context, Extents::new(m, k), Order::ColumnMajor, transposed(&a, [m, k]))
                .unwrap();
        let turned_a = Matrix::from_slice(&context, Extents::new(k, m), &transposed(&a, [m, k])).unwrap();
        let row_b = Matrix::from_slice(&context, Extents::new(k, n), &b).unwrap();
        let turned_b = Matrix::from_slice(&context, Extents::new(n, k), &transposed(&b, [k, n])).unwrap();
        // A block inside a larger matrix.
        let mut around = vec![f32::NAN; (m + 5) * (k + 9)];
        for i in 0..m {
            around[(i + 2) * (k + 9) + 3..][..k].copy_from_slice(&a[i * k..][..k]);
        }
        let around = Matrix::from_slice(&context, Extents::new(m + 5, k + 9), &around).unwrap();
        let part = around.block(2..2 + m, 3..3 + k).unwrap();
        for a in [row_a.view(), column_a.view(), turned_a.transposed(), part] {
            for b in [row_b.view(), turned_b.transposed()] {
                let c = Product::new(a, b).unwrap().into_matrix().unwrap();
                assert_eq!(c.to_vec().unwrap(), want, "{}", context.name());
                let mut c = Matrix::from_slice(&context, Extents::new(n, m), &vec![f32::NAN; n * m]).unwrap();
                drop(Product::new(a, b).unwrap().store(c.view_mut().transposed()).unwrap());
                assert_eq!(transposed(&c.to_vec().unwrap(), [n, m]), want, "column-major C");
                let mut c =
                    Matrix::from_slice(&context, Extents::new(m + 2, n + 3), &vec![7.0; (m + 2) * (n + 3)])
                        .unwrap();
                let block = c.block_mut(1..m + 1, 2..n + 2).unwrap();
                drop(Product::new(a, b).unwrap().store(block).unwrap());
                let c = c.to_vec().unwrap();
                for i in 0..m + 2 {
                    for j in 0..n + 3 {
                        let inside = (1..=m).contains(&i) && (2..n + 2).contains(&j);
                        let value = if inside { want[(i - 1) * n + j - 2] } else { 7.0 };
                        assert_eq!(c[i * (n + 3) + j], value);
                    }
                }
            }
        }
    }
}

#[test]
fn factors_and_epilogues_in_the_order_given() {
    let [m, n, k] = [19, 21, 8];
    let (a, b, before, more) = (whole(m * k), whole(k * n), whole(m * n), whole(m * n + 1)[1..].to_vec());
    let (rows, columns) = (whole(m), whole(n + 3)[3..].to_vec());
    let plain = product(&a, &b, [m, n, k]);
    for context in contexts() {
        let [in_a, in_b, in_more] = [(&a, m, k), (&b, k, n), (&more, m, n)].map(|(values, rows, columns)| {
            Matrix::from_slice(&context, Extents::new(rows, columns), values).unwrap()
        });
        let [in_rows, in_columns] =
            [&rows, &columns].map(|values| Vector::from_slice(&context, values).unwrap());
        let mut c = Matrix::from_slice(&context, Extents::new(m, n), &before).unwrap();
        let pending = Product::new(&in_a, &in_b)
            .unwrap()
            .alpha(2.0)
            .beta(-1.0)
            .bias_columns(&in_columns)
            .relu()
            .residual(&in_more)
            .unwrap()
            .bias_rows(&in_rows)
            .clamp(-1.0, 5.0)
            .store(&mut c)
            .unwrap();
        drop(pending);
        let want: Vec<f32> = (0..m * n)
            .map(|i| (2.0 * plain[i] - before[i] + columns[i % n]).max(0.0) + more[i] + rows[i / n])
            .map(|value| value.clamp(-1.0, 5.0))
            .collect();
        assert_eq!(c.to_vec().unwrap(), want, "{}", context.name());
        // beta = 0 does not read C.
        let mut c = Matrix::from_slice(&context, Extents::new(m, n), &vec![f32::NAN; m * n]).unwrap();
        let pending =
            Product::new(&in_a, &in_b).unwrap().residual(&in_more).unwrap().relu6().store(&mut c).unwrap();
        drop(pending);
        let want: Vec<f32> = (0..m * n).map(|i| (plain[i] + more[i]).clamp(0.0, 6.0)).collect();
        assert_eq!(c.to_vec().unwrap(), want);
    }
}

#[test]
fn empty_products_and_sums() {
    for context in contexts() {
        let matrix = |rows, columns, value: f32| {
            Matrix::from_slice(&context, Extents::new(rows, columns), &vec![value; rows * columns]).unwrap()
        };
        let c = Product::new(&matrix(2, 0, 0.0), &matrix(0, 3, 0.0)).unwrap().into_matrix().unwrap();
        assert_eq!(c.to_vec().unwrap(), [0.0; 6]);
        let c = Product::new(&matrix(0, 3, 0.0), &matrix(3, 4, 1.0)).unwrap().into_matrix().unwrap();
        assert!(c.to_vec().unwrap().is_empty());
        let (a, b) = (matrix(2, 0, 0.0), matrix(0, 3, 0.0));
        let mut c = matrix(2, 3, 4.0);
        let pending = Product::new(&a, &b).unwrap().beta(0.5).store(&mut c).unwrap();
        drop(pending);
        assert_eq!(c.to_vec().unwrap(), [2.0; 6]);
    }
}

#[test]
fn packed_weights_are_used_again() {
    let [n, k] = [50, 40];
    let b = whole(k * n);
    for context in contexts() {
        let in_b = Matrix::from_slice(&context, Extents::new(k, n), &b).unwrap();
        let packed = Packed::right(&in_b, 64).unwrap();
        let for_one = Packed::right(&in_b, 1).unwrap();
        drop(in_b);
        for m in [1, 7, 64, 100] {
            let a = whole(m * k);
            let in_a = Matrix::from_slice(&context, Extents::new(m, k), &a).unwrap();
            for packed in [&packed, &for_one] {
                let c = Product::new(&in_a, packed).unwrap().into_matrix().unwrap();
                assert_eq!(c.to_vec().unwrap(), product(&a, &b, [m, n, k]), "{m} on {}", context.name());
            }
        }
    }
}

/// Each may be packed for another product; an operand in its original layout leaves the choice of kernel to the other.
#[test]
fn both_operands_may_be_packed() {
    let [m, n, k] = [48, 40, 64];
    let (a, b) = (whole(m * k), whole(k * n));
    let want = product(&a, &b, [m, n, k]);
    for context in contexts() {
        let in_a = Matrix::from_slice(&context, Extents::new(m, k), &a).unwrap();
        let in_b = Matrix::from_slice(&context, Extents::new(k, n), &b).unwrap();
        for [m_for, n_for] in [[m, n], [1, n], [1, 200_000], [m, 200_000], [200_000, n], [16, 512], [1, 1]] {
            let (a, b) = (Packed::left(&in_a, n_for).unwrap(), Packed::right(&in_b, m_for).unwrap());
            let c = Product::new(&a, &b).unwrap().into_matrix().unwrap();
            assert_eq!(c.to_vec().unwrap(), want, "{m_for}, {n_for} on {}", context.name());
        }
    }
}

#[test]
fn batches_strided_and_at_offsets() {
    let ([m, n, k], count) = ([9, 11, 6], 4);
    let (a, b) = (whole(count * m * k), whole(k * n));
    let want: Vec<f32> = a.chunks(m * k).flat_map(|a| product(a, &b, [m, n, k])).collect();
    for context in contexts() {
        let all = Matrix::from_slice(&context, Extents::new(count * m, k), &a).unwrap();
        let first = all.block(0..m, 0..k).unwrap();
        let in_b = Matrix::from_slice(&context, Extents::new(k, n), &b).unwrap();
        let mut c = Matrix::<f32>::zeros(&context, Extents::new(count * m, n)).unwrap();
        let batch = Product::new(first, &in_b).unwrap().strided(count, Strides { a: m * k, b: 0, c: m * n });
        drop(batch.store(c.block_mut(0..m, 0..n).unwrap()).unwrap());
        assert_eq!(c.to_vec().unwrap(), want, "{}", context.name());
        // In reverse order.
        let offsets: Vec<u32> = (0..count)
            .flat_map(|i| [(count - 1 - i) * m * k, 0, (count - 1 - i) * m * n])
            .map(|at| at as u32)
            .collect();
        let offsets = Vector::from_slice(&context, &offsets).unwrap();
        let mut c = Matrix::<f32>::zeros(&context, Extents::new(count * m, n)).unwrap();
        let batch = Product::new(first, &in_b).unwrap().at_offsets(&offsets).unwrap();
        drop(batch.store(c.block_mut(0..m, 0..n).unwrap()).unwrap());
        assert_eq!(c.to_vec().unwrap(), want, "{}", context.name());
        // One element past the end of each operand in turn.
        for (operand, room) in [(0, a.len() - m * k), (1, 0), (2, want.len() - m * n)] {
            let mut outside = [0u32; 3];
            outside[operand] = room as u32 + 1;
            let outside = Vector::from_slice(&context, &outside).unwrap();
            let batch = Product::new(first, &in_b).unwrap().at_offsets(&outside).unwrap();
            let error = batch.store(c.block_mut(0..m, 0..n).unwrap()).unwrap_err();
            assert!(error.kind() == ErrorKind::Shape, "{error}");
        }
    }
}

/// The kernel reads the offsets that were checked, whatever is written to the vector meanwhile.
#[test]
fn offsets_are_those_that_were_checked() {
    let Some(device) = tripipe_opencl::devices().unwrap_or_default().pop() else { return };
    // (1 2; 3 4) and the zeros after it, times the unit matrix.
    let (a, unit) = ([1.0f32, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0], [1.0f32, 0.0, 0.0, 1.0]);
    let offsets: Vec<u8> = [0u32, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect();
    // Within the operands, so that a kernel that reads them does no harm.
    let others = [4u32, 0, 4].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let meddling = Some(Meddling { from: offsets, to: others, memory: None });
    let inner = OpenClExecutor::new(&device, &ExecutorOptions::default()).unwrap();
    let context = Faulty { meddling, ..Faulty::default() }.over(&Context::builder(), inner);
    let offsets = Vector::from_slice(&context, &[0u32, 0, 0]).unwrap();
    let a = Matrix::from_slice(&context, Extents::new(4, 2), &a).unwrap();
    let unit = Matrix::from_slice(&context, Extents::new(2, 2), &unit).unwrap();
    let mut c = Matrix::<f32>::zeros(&context, Extents::new(4, 2)).unwrap();
    let first = a.block(0..2, 0..2).unwrap();
    let product = Product::new(first, &unit).unwrap().at_offsets(&offsets).unwrap();
    drop(product.store(c.block_mut(0..2, 0..2).unwrap()).unwrap());
    assert_eq!(c.to_vec().unwrap(), [1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 0.0]);
    // The next product uses the contents of the vector at that time.
    assert_eq!(offsets.to_vec().unwrap(), [4, 0, 4]);
    let mut c = Matrix::from_slice(&context, Extents::new(4, 2), &[9.0f32; 8]).unwrap();
    let product = Product::new(first, &unit).unwrap().at_offsets(&offsets).unwrap();
    drop(product.store(c.block_mut(0..2, 0..2).unwrap()).unwrap());
    assert_eq!(c.to_vec().unwrap(), [9.0, 9.0, 9.0, 9.0, 0.0, 0.0, 0.0, 0.0]);
}

/// One thread writes the memory of the offsets while another one multiplies: each product uses the offsets of one
/// moment, or is refused.
#[test]
fn offsets_may_be_written_meanwhile() {
    for context in contexts() {
        let (near, far) = ([0u32, 0, 0], [1u32 << 30, 1 << 30, 1 << 30]);
        let offsets = Vector::from_slice(&context, &near).unwrap();
        let mut alias = offsets.share().into_matrix(Extents::new(1, 3)).unwrap();
        let a = Matrix::from_slice(&context, Extents::new(2, 2), &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let mut c = Matrix::<f32>::zeros(&context, Extents::new(2, 2)).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0..100 {
                    alias.write(if turn % 2 == 0 { &far } else { &near }).unwrap();
                }
            });
            for _ in 0..100 {
                match Product::new(&a, &a).unwrap().at_offsets(&offsets).unwrap().store(&mut c) {
                    Ok(pending) => pending.wait().unwrap(),
                    Err(error) => assert!(error.kind() == ErrorKind::Shape, "{error}"),
                }
            }
        });
        assert!([[0.0; 4], [7.0, 10.0, 15.0, 22.0]].contains(&c.to_vec().unwrap()[..].try_into().unwrap()));
    }
}

#[test]
fn bytes_to_bytes() {
    let [m, n, k] = [13, 10, 33];
    let signed = |count: usize| -> Vec<i8> { bytes(count).into_iter().map(|byte| byte as i8).collect() };
    let (a, b) = (signed(m * k), signed(k * n));
    let (multiplier, shift, zeros) = (1_518_500_250i64, 40, [3i8, -5, 7]);
    let want: Vec<i8> = (0..m * n)
        .map(|i| {
            let terms = (0..k).map(|j| {
                (i64::from(a[i / n * k + j]) - i64::from(zeros[0]))
                    * (i64::from(b[j * n + i % n]) - i64::from(zeros[1]))
            });
            let scaled = (terms.sum::<i64>() * multiplier + (1 << (shift - 1))) >> shift;
            (scaled + i64::from(zeros[2])).clamp(-100, 100) as i8
        })
        .collect();
    for context in contexts() {
        let in_a = Matrix::from_slice(&context, Extents::new(m, k), &a).unwrap();
        let in_b = Matrix::from_slice(&context, Extents::new(k, n), &b).unwrap();
        let scales = Multipliers::new(&context, &[[multiplier as i32, shift]]).unwrap();
        let [zero_a, zero_b, zero_c] = zeros;
        let requantisation = Requantisation { scales: &scales, zero_a, zero_b, zero_c, range: [-100, 100] };
        let mut c = Matrix::<i8>::zeros(&context, Extents::new(m, n)).unwrap();
        drop(Product::new(&in_a, &in_b).unwrap().store_bytes(&mut c, requantisation).unwrap());
        assert_eq!(c.to_vec().unwrap(), want, "{}", context.name());
    }
}

/// Other shifts have no meaning, and every path would compute something else.
#[test]
fn multipliers_and_shifts_are_in_their_range() {
    for context in contexts() {
        assert!(Multipliers::new(&context, &[[0, 1], [i32::MAX, 62]]).is_ok());
        for wrong in [[1, 0], [1, 63], [1, -1], [1, i32::MIN], [-1, 8]] {
            let error = Multipliers::new(&context, &[[5, 6], wrong]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Description);
            let said = error.to_string();
            assert!(said.contains("pair 1") && said.contains(&wrong[1].to_string()), "{said}");
        }
    }
}

#[test]
fn products_explain_themselves() {
    for context in contexts() {
        let a = Matrix::from_slice(&context, Extents::new(64, 64), &whole(64 * 64)).unwrap();
        let b = Matrix::from_slice(&context, Extents::new(64, 64), &whole(64 * 64)).unwrap();
        let c = Product::new(&a, &b).unwrap().into_matrix().unwrap();
        context.finish().unwrap();
        let explanation = Product::new(&a, &b).unwrap().explain().unwrap();
        assert!(explanation.measured_seconds.is_some(), "{explanation}");
        let text = explanation.to_string();
        for words in ["64x64x64", context.name(), "kernel", "why", "measured"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        drop(c);
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    fn matrix(context: &Context, rows: usize, columns: usize) -> Matrix<f32> {
        Matrix::zeros(context, Extents::new(rows, columns)).unwrap()
    }
    for context in contexts() {
        let (a, b) = (matrix(&context, 4, 5), matrix(&context, 5, 6));
        let error = Product::new(&a, &a).unwrap_err();
        assert!(error.to_string().contains("A is 4x5 and B is 4x5"), "{error}");
        let mut c = matrix(&context, 4, 5);
        let error = Product::new(&a, &b).unwrap().store(&mut c).unwrap_err();
        assert_eq!(error.to_string(), "C is 4x5, the product 4x6");
        let bias = Vector::from_slice(&context, &[0.0f32; 3]).unwrap();
        let error = Product::new(&a, &b).unwrap().bias_columns(&bias).into_matrix().unwrap_err();
        assert!(
            error.to_string().contains("3 elements") && error.to_string().contains("accesses 6"),
            "{error}"
        );
        let error = Product::new(&a, &b)
            .unwrap()
            .strided(3, Strides { a: 20, b: 0, c: 24 })
            .into_matrix()
            .unwrap_err();
        assert!(error.to_string().starts_with("the result of a batch"), "{error}");
        let mut c = matrix(&context, 4, 6);
        let error = Product::new(&a, &b)
            .unwrap()
            .strided(3, Strides { a: 20, b: 0, c: 24 })
            .store(&mut c)
            .unwrap_err();
        assert!(error.kind() == ErrorKind::Shape, "{error}");
        let error = Product::new(&a, &b).unwrap().clamp(1.0, 0.0).store(&mut c).unwrap_err();
        assert!(error.to_string().contains("clamp"), "{error}");
    }
}

/// A product that the kernel of a packed operand cannot compute is computed with another one: packing never limits
/// which products are possible.
#[test]
fn packed_operands_serve_every_product() {
    let [m, n, k] = [33, 37, 19];
    let (a, b) = (whole(m * k), whole(k * n));
    let want = product(&a, &b, [m, n, k]);
    let halves = |values: &[f32]| -> Vec<f16> { values.iter().map(|v| f16::from_f32(*v)).collect() };
    for context in contexts() {
        let in_a = Matrix::from_slice(&context, Extents::new(m, k), &a).unwrap();
        let in_b =
            Matrix::with_order(&context, Extents::new(k, n), Order::ColumnMajor, transposed(&b, [k, n]))
                .unwrap();
        for [m_for, n_for] in [[m, n], [1, 1], [1, 512], [512, 1], [16, 2000]] {
            let packed_a = Packed::left(&in_a, n_for).unwrap();
            let packed_b = Packed::right(&in_b, m_for).unwrap();
            let products = || {
                [
                    Product::new(&packed_a, &in_b).unwrap(),
                    Product::new(&in_a, &packed_b).unwrap(),
                    Product::new(&packed_a, &packed_b).unwrap(),
                ]
            };
            let name = format!("{m_for}, {n_for} on {}", context.name());
            // Twice: the second time the plain matrix is already there.
            for _ in 0..2 {
                for product in products() {
                    assert_eq!(product.into_matrix().unwrap().to_vec().unwrap(), want, "{name}");
                }
                for product in products() {
                    let columns = vec![1.0; m * n];
                    let mut c =
                        Matrix::with_order(&context, Extents::new(m, n), Order::ColumnMajor, &columns)
                            .unwrap();
                    drop(product.beta(1.0).store(&mut c).unwrap());
                    let more: Vec<f32> = transposed(&want, [m, n]).iter().map(|sum| sum + 1.0).collect();
                    assert_eq!(c.to_vec().unwrap(), more, "column-major, {name}");
                }
            }
            for product in products() {
                let explanation = product.explain().unwrap().to_string();
                assert!(explanation.contains("f32 product 33x37x19"), "{explanation}");
            }
            // Sums in halves are not supported everywhere; packing does not depend on the type of the sums.
            let half_a = Matrix::from_slice(&context, Extents::new(m, k), &halves(&a)).unwrap();
            let half_b =
                Packed::right(&Matrix::from_slice(&context, Extents::new(k, n), &halves(&b)).unwrap(), m_for)
                    .unwrap();
            let product = Product::new(&half_a, &half_b).unwrap().accumulate(Accumulate::F16);
            assert_eq!(product.into_matrix().unwrap().to_vec().unwrap(), halves(&want), "halves, {name}");
        }
    }
}
