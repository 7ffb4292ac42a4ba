//! Calls that do not wait: their results are correct, and they outlive the objects they were made from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tripipe::filter::{Border, Chain, Interpolation, PixelType, Raster, Semiplanar};
use tripipe::gemm::Product;
use tripipe::{Context, Elementwise, Extents, Image, Matrix, Order, Size, Vector};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

use crate::library::errors::faulty;
use crate::library::faulty::Faulty;
use crate::library::pending::block_on;
use crate::library::{bytes, contexts};

/// Every operation that returns a value, or that makes something, awaited; a value that is waited for is the same.
#[test]
fn values_can_be_awaited() {
    let chain = Chain::parse("gaussian:5", Border::Reflect101).unwrap();
    for context in contexts() {
        let name = context.name();
        let pixels = bytes(40 * 30 * 3);
        let photo = Image::from_vec(&context, Size::new(40, 30), 3, pixels.clone()).unwrap();
        block_on(photo.event()).unwrap();
        assert_eq!(block_on(photo.queue_read().unwrap()).unwrap(), pixels, "{name}");
        let blurred: Image<u8> = photo.filtered(&chain).unwrap();
        block_on(blurred.event()).unwrap();
        assert_eq!(blurred.queue_read().unwrap().wait().unwrap(), blurred.to_vec().unwrap());
        let small = photo.resized(Size::new(20, 15), Interpolation::Area).unwrap();
        block_on(small.event()).unwrap();
        assert_eq!(small.view().queue_read().unwrap().wait().unwrap(), small.to_vec().unwrap());
        let counts = block_on(photo.histogram().unwrap()).unwrap();
        assert_eq!(counts, photo.histogram().unwrap().wait().unwrap());
        let wide = photo.converted::<f32>(0.5, 0.0).unwrap();
        block_on(wide.event()).unwrap();
        assert_eq!(wide.to_vec().unwrap()[..3], [0, 1, 2].map(|place: usize| f32::from(pixels[place]) * 0.5));

        let values: Vec<i32> = (0..60_000).map(|value| value * 7 - 9).collect();
        let x = Vector::from_vec(&context, values.clone()).unwrap();
        block_on(x.event()).unwrap();
        assert_eq!(block_on(x.sum().unwrap()).unwrap(), x.sum().unwrap().wait().unwrap(), "{name}");
        assert_eq!(block_on(x.dot(&x).unwrap()).unwrap(), x.dot(&x).unwrap().wait().unwrap());
        assert_eq!(block_on(x.min().unwrap()).unwrap(), Some((-9, 0)));
        assert_eq!(block_on(x.max().unwrap()).unwrap(), Some((values[59_999], 59_999)));
        let doubled = Elementwise::new(&x).add(&x).into_array().unwrap();
        block_on(doubled.event()).unwrap();
        assert_eq!(doubled.to_vec().unwrap()[59_999], 2 * values[59_999]);
        let elements = vec![1.0f32, 4.0, 2.0, 5.0, 3.0, 6.0];
        let a = Matrix::with_order(&context, Extents::new(2, 3), Order::ColumnMajor, elements).unwrap();
        assert_eq!(block_on(a.transposed().queue_read().unwrap()).unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let product = Product::new(&a, a.transposed()).unwrap().into_matrix().unwrap();
        block_on(product.event()).unwrap();
        assert_eq!(product.to_vec().unwrap(), [14.0, 32.0, 32.0, 77.0], "{name}");
        let turned = a.to_transposed().unwrap();
        block_on(turned.event()).unwrap();
        assert_eq!(turned.into_vector().unwrap().to_vec().unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let image = a.to_image().unwrap();
        block_on(image.event()).unwrap();
        assert_eq!(image.size(), Size::new(3, 2));
        let frame = Vector::from_slice(&context, &[128u8; 24]).unwrap();
        let rgb = Image::from_frame(&frame, &Semiplanar::nv12(Size::square(4)), 3).unwrap();
        block_on(rgb.event()).unwrap();
        assert_eq!(rgb.size(), Size::square(4));
        context.finish().unwrap();
    }
}

/// The event of memory is that of the last operation that wrote it, with its times, for as long as nothing else writes it.
#[test]
fn memory_has_the_event_of_its_last_write() {
    for context in contexts() {
        let name = context.name();
        let mut x = Vector::from_vec(&context, vec![2.0f32; 1 << 20]).unwrap();
        let mut doubled = Elementwise::new(&x).add(&x).into_array().unwrap();
        doubled.event().wait().unwrap();
        assert_eq!(doubled.to_vec().unwrap()[7], 4.0);
        assert!(doubled.event().is_done() && doubled.event().seconds().unwrap() > 0.0, "{name}");
        x.write(vec![1.0; 1 << 20]).unwrap();
        x.event().wait().unwrap();
        assert_eq!(x.to_vec().unwrap()[7], 1.0);
        // The write of a slice is complete.
        let zeros = vec![0.0; 1 << 20];
        doubled.write(&zeros).unwrap();
        assert!(doubled.event().is_done() && doubled.event().seconds().unwrap() == 0.0, "{name}");
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
            readings.push(x.queue_read().unwrap());
            if step % 2 == 0 {
                drop(Elementwise::in_place(&mut x).multiply_scalar(3).run().unwrap());
            } else {
                x.write(vec![step; count]).unwrap();
            }
        }
        let last = x.sum().unwrap();
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
            let x = Vector::from_vec(&context, source).unwrap();
            drop(x);
            let mut y = Vector::<u8>::zeros(&context, 1 << 20).unwrap();
            y.write(vec![round; 1 << 20]).unwrap();
            drop(y.queue_read().unwrap());
            drop(y.sum().unwrap());
            let sum = y.sum().unwrap();
            drop(y);
            assert_eq!(sum.wait().unwrap(), i64::from(round) << 20, "{}", context.name());
        }
        let x = Vector::from_slice(&context, &[3u8; 1000]).unwrap();
        drop(x.queue_read().unwrap());
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
    assert!(x.sum().unwrap().wait().is_err());
    assert_eq!(x.sum().unwrap().wait().unwrap(), 40.0);
    fails(&context);
    let lost = Elementwise::new(&x).add(&x).into_array().unwrap();
    let read = lost.queue_read().unwrap();
    let doubled = Elementwise::new(&lost).add(&x).into_array().unwrap();
    assert!(block_on(read).unwrap_err().to_string().contains("77"));
    assert!(doubled.event().wait().is_err());
    assert!(lost.max().unwrap().wait().is_err());
    fails(&context);
    assert!(Elementwise::new(&x).relu().into_array().unwrap().event().wait().is_err());
    fails(&context);
    drop(Elementwise::new(&x).relu().into_array().unwrap());
    assert!(context.finish().is_err());
    // The operation that was reported as failed still runs: it must end before the process does, for PoCL.
    assert_eq!(x.sum().unwrap().wait().unwrap(), 40.0);
}

/// Uses a device that fails when it is asked to wait for a transfer.
#[test]
fn queuing_does_not_wait_on_a_device() {
    let device = tripipe_opencl::devices().unwrap_or_default().into_iter().next();
    let Some(device) = device else { return };
    let inner = OpenClExecutor::new(&device, &ExecutorOptions::default()).unwrap();
    let impatient = Arc::new(AtomicBool::new(false));
    let builder = Context::builder().cpu_when_faster(false);
    let context = Faulty { impatient: Arc::clone(&impatient), ..Faulty::default() }.over(&builder, inner);
    let photo = Image::from_slice(&context, Size::square(8), 1, &bytes(64)).unwrap();
    let chain = Chain::parse("gaussian:5", Border::Reflect101).unwrap();
    impatient.store(true, Ordering::SeqCst);
    assert!(photo.to_vec().is_err());
    let mut x = Vector::from_vec(&context, vec![1i32, 2, 3]).unwrap();
    let (sum, least) = (x.sum().unwrap(), x.min().unwrap());
    x.write(vec![4, 5, 6]).unwrap();
    let written = x.event();
    let read = x.queue_read().unwrap();
    assert_eq!((sum.wait().unwrap(), least.wait().unwrap()), (6, Some((1, 0))));
    written.wait().unwrap();
    assert_eq!(read.wait().unwrap(), [4, 5, 6]);
    let blurred: Image<u8> = photo.filtered(&chain).unwrap();
    blurred.event().wait().unwrap();
    let counts = blurred.histogram().unwrap().wait().unwrap();
    assert_eq!(counts.iter().sum::<u32>(), 64);
    assert_eq!(photo.view().queue_read().unwrap().wait().unwrap(), bytes(64));
    let small = photo.resized(Size::square(4), Interpolation::Area).unwrap();
    small.event().wait().unwrap();
    let real = small.converted::<f32>(2.0, 0.0).unwrap();
    real.event().wait().unwrap();
    assert_eq!(real.into_matrix().unwrap().queue_read().unwrap().wait().unwrap().len(), 16);
}

/// Empty transfers are not errors, and neither are those of empty images.
#[test]
fn empty_transfers_end() {
    for context in contexts() {
        let mut none = Vector::<u16>::from_vec(&context, Vec::new()).unwrap();
        none.event().wait().unwrap();
        assert_eq!(none.queue_read().unwrap().wait().unwrap(), [0u16; 0]);
        none.write(Vec::new()).unwrap();
        none.event().wait().unwrap();
        assert!(none.write(vec![1]).is_err());
        let empty = Raster::packed(Size::new(0, 4), 3, PixelType::U8);
        let image = Image::<u8>::with_raster(&context, empty, Vec::new()).unwrap();
        assert!(image.view().queue_read().unwrap().wait().unwrap().is_empty());
        assert!(Image::<u8>::with_raster(&context, empty, vec![1]).is_err());
        assert!(Matrix::from_vec(&context, Extents::new(2, 2), vec![1.0f64; 3]).is_err());
        context.finish().unwrap();
    }
}
