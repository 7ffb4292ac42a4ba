//! The asynchronous functions: their results are correct, and they outlive the objects they were made from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tripipe::filter::{Border, Chain, Interpolation, PixelType, Raster, Semiplanar};
use tripipe::gemm::Product;
use tripipe::{Context, Elementwise, Image, Matrix, Order, Vector};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

use crate::library::errors::faulty;
use crate::library::faulty::Faulty;
use crate::library::pending::block_on;
use crate::library::{bytes, contexts};

/// Every operation that returns a value, waited for and awaited.
#[test]
fn values_are_those_of_the_forms_that_wait() {
    let chain = Chain::parse("gaussian:5", Border::Reflect101).unwrap();
    for context in contexts() {
        let name = context.name();
        let pixels = bytes(40 * 30 * 3);
        let photo = Image::from_slice_async(&context, [40, 30], 3, &pixels[..]).unwrap().wait().unwrap();
        assert_eq!(block_on(photo.to_vec_async().unwrap()).unwrap(), pixels, "{name}");
        let blurred: Image<u8> = block_on(photo.filtered_async(&chain).unwrap()).unwrap();
        assert_eq!(blurred.to_vec().unwrap(), photo.filtered::<u8>(&chain).unwrap().to_vec().unwrap());
        let small = photo.resized_async([20, 15], Interpolation::Area).unwrap().wait().unwrap();
        let want = photo.resized([20, 15], Interpolation::Area).unwrap();
        assert_eq!(small.to_packed_vec_async().unwrap().wait().unwrap(), want.to_vec().unwrap());
        assert_eq!(block_on(photo.histogram_async().unwrap()).unwrap(), photo.histogram().unwrap());
        let wide = block_on(photo.converted_async::<f32>(0.5, 0.0).unwrap()).unwrap();
        assert_eq!(wide.to_vec().unwrap()[..3], [0, 1, 2].map(|place: usize| f32::from(pixels[place]) * 0.5));

        let values: Vec<i32> = (0..60_000).map(|value| value * 7 - 9).collect();
        let x = block_on(Vector::from_slice_async(&context, values.clone()).unwrap()).unwrap();
        assert_eq!(x.sum_async().unwrap().wait().unwrap(), x.sum().unwrap(), "{name}");
        assert_eq!(block_on(x.dot_async(&x).unwrap()).unwrap(), x.dot(&x).unwrap());
        assert_eq!(block_on(x.min_async().unwrap()).unwrap(), Some((-9, 0)));
        assert_eq!(block_on(x.max_async().unwrap()).unwrap(), Some((values[59_999], 59_999)));
        let doubled = block_on(Elementwise::new(&x).add(&x).to_new_async().unwrap()).unwrap();
        assert_eq!(doubled.to_vec().unwrap()[59_999], 2 * values[59_999]);
        let a = Matrix::with_order_async(
            &context,
            [2, 3],
            Order::ColumnMajor,
            vec![1.0f32, 4.0, 2.0, 5.0, 3.0, 6.0],
        );
        let a = a.unwrap().wait().unwrap();
        assert_eq!(block_on(a.transposed().to_vec_async().unwrap()).unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let product = Product::new(&a, a.transposed()).unwrap().to_matrix_async().unwrap();
        assert_eq!(block_on(product).unwrap().to_vec().unwrap(), [14.0, 32.0, 32.0, 77.0], "{name}");
        let turned = block_on(a.to_transposed_async().unwrap()).unwrap();
        assert_eq!(turned.into_vector().unwrap().to_vec().unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(block_on(a.to_image_async().unwrap()).unwrap().size(), [3, 2]);
        let frame = Vector::from_slice(&context, &[128u8; 24]).unwrap();
        let rgb = Image::from_frame_async(&frame, &Semiplanar::nv12([4, 4]), 3).unwrap().wait().unwrap();
        assert_eq!(rgb.size(), [4, 4]);
        context.finish().unwrap();
    }
}

/// Transfers are in queue order: a read returns the contents at the time it was queued, whatever is queued afterwards
/// and even if the memory is dropped.
#[test]
fn transfers_are_in_line() {
    for context in contexts() {
        let count = 300_000;
        let name = context.name();
        let mut x = Vector::from_slice(&context, &vec![1i32; count]).unwrap();
        let mut readings = Vec::new();
        for step in 0..8 {
            readings.push(x.to_vec_async().unwrap());
            if step % 2 == 0 {
                drop(Elementwise::in_place(&mut x).multiply_scalar(3).run().unwrap());
            } else {
                drop(x.write_async(vec![step; count]).unwrap());
            }
        }
        let last = x.sum_async().unwrap();
        drop(x);
        for (reading, want) in readings.into_iter().zip([1, 3, 1, 3, 3, 9, 5, 15]) {
            let found = reading.wait().unwrap();
            assert!(
                found.len() == count && found.iter().all(|value| *value == want),
                "{name}: {} {want}",
                found[0]
            );
        }
        assert_eq!(last.wait().unwrap(), 7 * count as i64, "{name}");
    }
}

/// Transfers are dropped before they end, with all objects they use: memory that is still being written is not freed,
/// and later transfers are correct.
#[test]
fn transfers_may_be_dropped() {
    for context in contexts() {
        for round in 0..20u8 {
            let source = vec![round; 1 << 20];
            let x = Vector::from_slice_async(&context, source).unwrap();
            drop(x);
            let mut y = Vector::<u8>::zeros(&context, 1 << 20).unwrap();
            drop(y.write_async(vec![round; 1 << 20]).unwrap());
            drop(y.to_vec_async().unwrap());
            drop(y.sum_async().unwrap());
            let sum = y.sum_async().unwrap();
            drop(y);
            assert_eq!(sum.wait().unwrap(), i64::from(round) << 20, "{}", context.name());
        }
        let x = Vector::from_slice(&context, &[3u8; 1000]).unwrap();
        drop(x.to_vec_async().unwrap());
        drop((x, context));
    }
}

/// Failures are reported as for all operations: to the caller that waits, and to the caller that reads the result.
#[test]
fn failures_reach_every_waiting_thread() {
    let Some((context, well)) = faulty() else { return };
    let x = Vector::from_slice(&context, &[1.0f32; 40]).unwrap();
    let fails = |context: &Context| {
        context.finish().unwrap();
        well.store(0, Ordering::SeqCst);
    };
    fails(&context);
    assert!(x.sum_async().unwrap().wait().is_err());
    assert_eq!(x.sum_async().unwrap().wait().unwrap(), 40.0);
    fails(&context);
    let lost = Elementwise::new(&x).add(&x).to_new().unwrap();
    let read = lost.to_vec_async().unwrap();
    let doubled = Elementwise::new(&lost).add(&x).to_new_async().unwrap();
    assert!(block_on(read).unwrap_err().to_string().contains("77"));
    assert!(doubled.wait().is_err());
    assert!(lost.max_async().unwrap().wait().is_err());
    fails(&context);
    assert!(Elementwise::new(&x).relu().to_new_async().unwrap().wait().is_err());
    fails(&context);
    drop(Elementwise::new(&x).relu().to_new_async().unwrap());
    assert!(context.finish().is_err());
    // The operation that was reported as failed still runs: it must end before the process does, for PoCL.
    assert_eq!(x.sum().unwrap(), 40.0);
}

/// Uses a device that fails when it is asked to wait for a transfer.
#[test]
fn queuing_does_not_wait_on_a_device() {
    let device = tripipe_opencl::devices().unwrap_or_default().into_iter().next();
    let Some(device) = device else { return };
    let inner = OpenClExecutor::new(&device, &ExecutorOptions::default()).unwrap();
    let impatient = Arc::new(AtomicBool::new(false));
    let builder = Context::builder().cpu_when_faster(false);
    let context = Faulty { impatient: Arc::clone(&impatient), ..Faulty::default() }.over(builder, inner);
    let photo = Image::from_slice(&context, [8, 8], 1, &bytes(64)).unwrap();
    let chain = Chain::parse("gaussian:5", Border::Reflect101).unwrap();
    impatient.store(true, Ordering::SeqCst);
    assert!(photo.to_vec().is_err());
    let x = Vector::from_slice_async(&context, [1i32, 2, 3]).unwrap();
    let mut x = x.wait().unwrap();
    let (sum, least) = (x.sum_async().unwrap(), x.min_async().unwrap());
    let written = x.write_async([4, 5, 6]).unwrap();
    let read = x.to_vec_async().unwrap();
    assert_eq!((sum.wait().unwrap(), least.wait().unwrap()), (6, Some((1, 0))));
    written.wait().unwrap();
    assert_eq!(read.wait().unwrap(), [4, 5, 6]);
    let blurred: Image<u8> = photo.filtered_async(&chain).unwrap().wait().unwrap();
    let counts = blurred.histogram_async().unwrap().wait().unwrap();
    assert_eq!(counts.iter().sum::<u32>(), 64);
    assert_eq!(photo.to_packed_vec_async().unwrap().wait().unwrap(), bytes(64));
    let small = photo.resized_async([4, 4], Interpolation::Area).unwrap().wait().unwrap();
    let real = small.converted_async::<f32>(2.0, 0.0).unwrap().wait().unwrap();
    assert_eq!(real.into_matrix().unwrap().to_vec_async().unwrap().wait().unwrap().len(), 16);
}

/// Empty transfers are not errors, and neither are those of empty images.
#[test]
fn empty_transfers_end() {
    for context in contexts() {
        let none = Vector::<u16>::from_slice_async(&context, []).unwrap().wait().unwrap();
        assert_eq!(none.to_vec_async().unwrap().wait().unwrap(), [0u16; 0]);
        let mut none = none;
        none.write_async([]).unwrap().wait().unwrap();
        assert!(none.write_async([1]).is_err());
        let empty = Raster::packed([0, 4], 3, PixelType::U8);
        let image = Image::<u8>::with_raster_async(&context, empty, []).unwrap().wait().unwrap();
        assert!(image.to_packed_vec_async().unwrap().wait().unwrap().is_empty());
        assert!(Image::<u8>::with_raster_async(&context, empty, [1]).is_err());
        assert!(Matrix::from_slice_async(&context, [2, 2], vec![1.0f64; 3]).is_err());
        context.finish().unwrap();
    }
}
