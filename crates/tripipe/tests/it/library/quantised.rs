//! Products with weights in 16, 8 and 4 bits, on every device.

use half::f16;
use tripipe::gemm::ProductExtents;
use tripipe::quantised::{ActivationElement, PackedWeights, StoredWeights, WeightFormat};
use tripipe::{Context, ErrorKind, Extents, Matrix, Vector};
use tripipe_kernels::quantised::{Activation, QuantisedProduct, QuantisedReference};

use crate::library::{bytes, contexts};

/// Numbers of half precision from -1 to 1.
fn numbers(count: usize) -> Vec<f32> {
    bytes(count).into_iter().map(|byte| f32::from(byte) / 128.0 - 1.0).collect()
}

fn verify(stored: &StoredWeights, activation: Activation, x: &[f32], y: &[f64]) {
    let Extents { rows: n, columns: k } = stored.extents();
    let product =
        QuantisedProduct::new(stored.format(), activation, ProductExtents { m: x.len() / k.max(1), n, k });
    let exact: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let reference = QuantisedReference::new(&product, stored, &exact).unwrap();
    assert_eq!(reference.verify(y).map_err(|wrong| wrong.to_string()), Ok(()), "{product}");
}

#[test]
fn every_format_and_batch_is_within_the_bound() {
    for context in contexts() {
        for format in WeightFormat::ALL {
            let [n, k] = [130, 100];
            let stored = StoredWeights::quantise(format, &numbers(n * k), Extents::new(n, k)).unwrap();
            let layer = PackedWeights::new(&context, &stored).unwrap();
            assert_eq!((layer.outputs(), layer.inputs(), layer.format()), (n, k, format));
            for m in [1, 2, 3, 8, 9] {
                let x = numbers(m * k);
                let in_x = Matrix::from_slice(&context, Extents::new(m, k), &x).unwrap();
                let y = layer.to_matrix(&in_x).unwrap();
                assert_eq!([y.rows(), y.columns()], [m, n]);
                let y: Vec<f64> = y.to_vec().unwrap().into_iter().map(f64::from).collect();
                verify(&stored, Activation::F32, &x, &y);
            }
            let x: Vec<f16> = numbers(2 * k).into_iter().map(f16::from_f32).collect();
            let in_x = Matrix::from_slice(&context, Extents::new(2, k), &x).unwrap();
            let y = layer.to_matrix(&in_x).unwrap().to_vec().unwrap();
            let y: Vec<f64> = y.into_iter().map(f64::from).collect();
            verify(&stored, Activation::F16, &numbers(2 * k), &y);
        }
    }
}

#[test]
fn large_layers_are_within_the_bound_on_all_threads() {
    let context = Context::new(&tripipe::Device::Cpu).unwrap();
    for format in WeightFormat::ALL {
        let [n, k] = [1100, 160];
        let stored = StoredWeights::quantise(format, &numbers(n * k), Extents::new(n, k)).unwrap();
        let layer = PackedWeights::new(&context, &stored).unwrap();
        let x = numbers(7 * k);
        let in_x = Matrix::from_slice(&context, Extents::new(7, k), &x).unwrap();
        let y: Vec<f64> =
            layer.to_matrix(&in_x).unwrap().to_vec().unwrap().into_iter().map(f64::from).collect();
        verify(&stored, Activation::F32, &x, &y);
    }
}

#[test]
fn vectors_blocks_and_old_contents() {
    for context in contexts() {
        let [n, k] = [20, 64];
        for format in WeightFormat::ALL {
            let stored = StoredWeights::quantise(format, &numbers(n * k), Extents::new(n, k)).unwrap();
            let layer = PackedWeights::new(&context, &stored).unwrap();
            let x = numbers(3 * 100);
            let in_x = Matrix::from_slice(&context, Extents::new(3, 100), &x).unwrap();
            let mut y = Matrix::from_slice(&context, Extents::new(5, 30), &[7.0f32; 150]).unwrap();
            // Offsets off the multiple by which operations can move, and on it.
            for (row, column) in [(0, 0), (1, 16), (2, 36), (0, 33)] {
                let from = in_x.block(row..row + 1, column..column + k).unwrap();
                layer.store(from, y.block_mut(3..4, 4..4 + n).unwrap()).unwrap().wait().unwrap();
                let found = y.to_vec().unwrap();
                for (at, value) in found.iter().enumerate() {
                    assert!((94..114).contains(&at) || *value == 7.0, "element {at} is {value}");
                }
                let found: Vec<f64> = found[94..114].iter().map(|y| f64::from(*y)).collect();
                verify(&stored, Activation::F32, &x[100 * row + column..][..k], &found);
            }
            let vector = Vector::from_slice(&context, &x[..k]).unwrap();
            let y: Vec<f64> =
                layer.times_vector(&vector).unwrap().to_vec().unwrap().into_iter().map(f64::from).collect();
            verify(&stored, Activation::F32, &x[..k], &y);
        }
    }
}

#[test]
fn layers_without_outputs_inputs_or_vectors() {
    for context in contexts() {
        for format in WeightFormat::ALL {
            let layer = |extents| PackedWeights::quantise(&context, format, &[], extents).unwrap();
            let vector = |length| Vector::from_slice(&context, &vec![1.0f32; length]).unwrap();
            assert_eq!(
                layer(Extents::new(0, 64)).times_vector(&vector(64)).unwrap().to_vec().unwrap(),
                [0.0f32; 0]
            );
            assert_eq!(
                layer(Extents::new(3, 0)).times_vector(&vector(0)).unwrap().to_vec().unwrap(),
                [0.0f32; 3]
            );
            let weights = PackedWeights::quantise(&context, format, &[1.0; 64], Extents::new(2, 32)).unwrap();
            let none = Matrix::from_slice(&context, Extents::new(0, 32), &[0.0f32; 0]).unwrap();
            assert_eq!(weights.to_matrix(&none).unwrap().to_vec().unwrap(), [0.0f32; 0]);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    for context in contexts() {
        let layer =
            PackedWeights::quantise(&context, WeightFormat::Q4_0, &numbers(10 * 64), Extents::new(10, 64))
                .unwrap();
        let x = Matrix::from_slice(&context, Extents::new(2, 63), &[0.0f32; 126]).unwrap();
        let error = layer.to_matrix(&x).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::Shape, "x is 2x63, the product 2x64")
        );
        let x = Matrix::from_slice(&context, Extents::new(64, 2), &[0.0f32; 128]).unwrap();
        let error = layer.to_matrix(x.transposed()).unwrap_err();
        assert!(error.to_string().contains("to_transposed"), "{error}");
        let x = Matrix::from_slice(&context, Extents::new(1, 64), &[0.0f32; 64]).unwrap();
        let mut y = Matrix::from_slice(&context, Extents::new(1, 11), &[0.0f32; 11]).unwrap();
        assert_eq!(layer.store(&x, &mut y).unwrap_err().kind(), ErrorKind::Shape);
        let other = Context::new(&tripipe::Device::Cpu).unwrap();
        let x = Matrix::from_slice(&other, Extents::new(1, 64), &[0.0f32; 64]).unwrap();
        assert_eq!(layer.to_matrix(&x).unwrap_err().kind(), ErrorKind::OtherContext);
        let error =
            PackedWeights::quantise(&context, WeightFormat::Q8_0, &[f32::NAN; 32], Extents::new(1, 32))
                .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Description);
        let error = PackedWeights::quantise(&context, WeightFormat::Q8_0, &[0.0; 31], Extents::new(1, 32))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Shape);
    }
}

#[test]
fn products_are_explained() {
    for context in contexts() {
        let layer =
            PackedWeights::quantise(&context, WeightFormat::Q4_0, &numbers(96 * 64), Extents::new(96, 64))
                .unwrap();
        let explained = |explanation: tripipe::Explanation| {
            assert_eq!(explanation.operation, "f16 product 3x96x64, weights q4_0");
            assert!(!explanation.why.is_empty());
            assert_eq!(explanation.rests_on.is_empty(), context.probe().is_none(), "{explanation}");
        };
        explained(layer.explain::<f16>(3).unwrap());
        let x = Matrix::from_slice(&context, Extents::new(3, 64), &vec![f16::ONE; 3 * 64]).unwrap();
        layer.to_matrix(&x).unwrap().to_vec().unwrap();
        explained(context.explain().swap_remove(0));
        assert_eq!(<f16 as ActivationElement>::ACTIVATION, Activation::F16);
        // Four bits and a scale of 16 for each 32 weights, and padding to 16 outputs, of which there is none here.
        assert_eq!(layer.bytes(), 96 * 64 / 2 + 96 * 2 * 2);
    }
}
