//! Resizing, frames, vectors, reductions, the transpose, histograms: on every device what the definition gives.

use half::f16;
use tripipe::filter::{Element, Interpolation, Raster, Semiplanar};
use tripipe::{Image, Matrix, Order, Vector};
use tripipe_kernels::filter::resize_reference;

use crate::{bytes, contexts};

#[test]
fn vectors_are_added_and_reduced() {
    let values: Vec<f32> = bytes(1000).iter().map(|byte| f32::from(*byte) - 100.0).collect();
    let pixels = bytes(1000);
    for context in contexts() {
        let x = Vector::from_slice(&context, &values).unwrap();
        let mut y = Vector::from_slice(&context, &vec![1.0f32; 1000]).unwrap();
        y.add_scaled(0.5, &x).unwrap().wait().unwrap();
        let want: Vec<f32> = values.iter().map(|x| 1.0 + 0.5 * x).collect();
        assert_eq!(y.to_vec().unwrap(), want, "{}", context.name());
        // Whole numbers: exact in every order.
        assert_eq!(x.sum().unwrap(), values.iter().sum::<f32>());
        assert_eq!(x.dot(&x).unwrap(), values.iter().map(|x| x * x).sum::<f32>());
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let place = values.iter().position(|value| *value == least).unwrap();
        assert_eq!(x.least().unwrap(), Some((least, place)));

        let p = Vector::from_slice(&context, &pixels).unwrap();
        assert_eq!(p.sum().unwrap(), pixels.iter().map(|byte| i64::from(*byte)).sum::<i64>());
        let most = *pixels.iter().max().unwrap();
        assert_eq!(p.most().unwrap(), Some((most, pixels.iter().position(|byte| *byte == most).unwrap())));
        assert_eq!(Vector::<u8>::zeros(&context, 0).unwrap().least().unwrap(), None);
        let converted = p.converted::<i16>(-2.0, 3.0).unwrap().to_vec().unwrap();
        let want: Vec<i16> = pixels.iter().map(|byte| 3 - 2 * i16::from(*byte)).collect();
        assert_eq!(converted, want);
    }
}

#[test]
fn matrices_are_turned() {
    for context in contexts() {
        let values: Vec<f16> = (0..77).map(|i| f16::from_f32(i as f32)).collect();
        let want: Vec<f16> = (0..77).map(|i| values[i % 7 * 11 + i / 7]).collect();
        let rows = Matrix::from_slice(&context, [7, 11], &values).unwrap();
        assert_eq!(rows.to_transposed().unwrap().to_vec().unwrap(), want, "{}", context.name());
        let columns = Matrix::with_order(&context, [11, 7], Order::ColumnMajor, &values).unwrap();
        assert_eq!(columns.to_transposed().unwrap().to_vec().unwrap(), values);
    }
}

#[test]
fn images_are_counted_and_resized() {
    let pixels = bytes(31 * 17 * 3);
    for context in contexts() {
        let image = Image::from_slice(&context, [31, 17], 3, &pixels).unwrap();
        let mut want = [0; 256];
        for byte in &pixels {
            want[usize::from(*byte)] += 1;
        }
        assert_eq!(image.histogram().unwrap(), want, "{}", context.name());
        for (interpolation, size) in [
            (Interpolation::Nearest, [50, 9]),
            (Interpolation::Bilinear, [45, 40]),
            (Interpolation::Area, [10, 5]),
        ] {
            let resized = image.resized(size, interpolation).unwrap();
            let to = Raster::packed(size, 3, Element::U8);
            let mut want = vec![0; to.elements().unwrap()];
            resize_reference(interpolation, image.raster(), &pixels, &to, &mut want).unwrap();
            assert_eq!(resized.to_vec().unwrap(), want, "{interpolation:?} on {}", context.name());
        }
    }
}

#[test]
fn frames_become_rgb() {
    // Gray of limited range: 16 is black, 235 white, 126 the middle.
    let layout = Semiplanar::nv12([6, 4]);
    let mut frame = vec![128; layout.bytes()];
    frame[..24].copy_from_slice(&[16, 235, 126, 16, 235, 126].repeat(4));
    for context in contexts() {
        let frame = Vector::from_slice(&context, &frame).unwrap();
        let rgb = Image::from_frame(&frame, &layout, 3).unwrap().to_vec().unwrap();
        let row: Vec<u8> = [0, 255, 128, 0, 255, 128].iter().flat_map(|gray| [*gray; 3]).collect();
        assert_eq!(rgb, row.repeat(4), "{}", context.name());
        assert!(Image::from_frame(&frame, &Semiplanar::nv12([60, 40]), 3).is_err());
    }
}
