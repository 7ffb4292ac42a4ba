//! Operations that fail after they were queued: the failure is reported to callers that read their results, and to the
//! caller that waits for all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tripipe::filter::{Border, Chain};
use tripipe::gemm::{Packed, Product};
use tripipe::{Context, Error, Extents, Image, Matrix, Size, Vector};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

use crate::library::bytes;
use crate::library::faulty::Faulty;

/// A context on a faulty device, and the counter that selects the submission that fails.
pub(crate) fn faulty() -> Option<(Context, Arc<AtomicUsize>)> {
    let device = tripipe_opencl::devices().unwrap_or_default().into_iter().next()?;
    let inner = OpenClExecutor::new(&device, &ExecutorOptions::default()).unwrap();
    let well = Arc::new(AtomicUsize::new(usize::MAX));
    let builder = Context::builder().cpu_when_faster(false);
    let context = Faulty { well: Arc::clone(&well), ..Faulty::default() }.over(&builder, inner);
    Some((context, well))
}

/// The next submission fails; those after it succeed.
fn fail_next(well: &AtomicUsize) {
    well.store(0, Ordering::SeqCst);
}

#[track_caller]
fn failed<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains("77 bytes do not fit the device: on purpose"), "{error}");
}

fn twos(context: &Context) -> Matrix<f32> {
    Matrix::from_slice(context, Extents::new(4, 4), &[2.0; 16]).unwrap()
}

#[test]
fn a_failure_is_reported_despite_a_later_success() {
    let Some((context, well)) = faulty() else { return };
    let a = twos(&context);
    fail_next(&well);
    let lost = Product::new(&a, &a).unwrap().into_matrix().unwrap();
    let good = Product::new(&a, &a).unwrap().into_matrix().unwrap();
    // Results that do not depend on it are valid.
    assert_eq!(good.to_vec().unwrap(), [16.0; 16]);
    // Every read of the failed result reports the failure.
    failed(lost.to_vec());
    failed(lost.map(<[f32]>::len));
    failed(lost.view().to_vec());
    failed(lost.to_context(&context).and_then(|copy| copy.to_vec()));
    // It was reported, so waiting for all does not report it again.
    context.finish().unwrap();
    fail_next(&well);
    let lost = Product::new(&a, &a).unwrap().into_matrix().unwrap();
    drop((Product::new(&a, &a).unwrap().into_matrix().unwrap(), lost));
    failed(context.finish());
    context.finish().unwrap();
}

#[test]
fn operations_on_a_failed_result_fail() {
    let Some((context, well)) = faulty() else { return };
    let a = twos(&context);
    fail_next(&well);
    let mut lost = Product::new(&a, &a).unwrap().into_matrix().unwrap();
    let mut next = Matrix::zeros(&context, Extents::new(4, 4)).unwrap();
    let pending = Product::new(&lost, &a).unwrap().store(&mut next).unwrap();
    let last = Product::new(&a, &next).unwrap().into_matrix().unwrap();
    failed(pending.wait());
    failed(last.to_vec());
    failed(next.to_transposed().and_then(|turned| turned.to_vec()));
    failed(lost.map_mut(|_| ()));
    // Packed, and when copied to another context.
    failed(Packed::right(&lost, 4).and_then(|packed| Product::new(&a, &packed)?.into_matrix()?.to_vec()));
    let cpu = Context::new(&tripipe::Device::Cpu).unwrap();
    failed(lost.to_context(&cpu));
    // When more is added to it, or part of it is overwritten, it is still invalid.
    drop(Product::new(&a, &a).unwrap().beta(1.0).store(&mut lost).unwrap());
    failed(lost.to_vec());
    let part = a.block(0..2, 0..4).unwrap();
    drop(Product::new(part, &a).unwrap().store(lost.block_mut(0..2, 0..4).unwrap()).unwrap());
    failed(lost.to_vec());
    // Once all of it is overwritten, by an operation or by the host, it is valid.
    drop(Product::new(&a, &a).unwrap().store(&mut lost).unwrap());
    assert_eq!(lost.to_vec().unwrap(), [16.0; 16]);
    next.write(&[1.0; 16]).unwrap();
    assert_eq!(next.to_vec().unwrap(), [1.0; 16]);
    context.finish().unwrap();
}

#[test]
fn failures_of_every_kind_of_operation_are_reported() {
    let Some((context, well)) = faulty() else { return };
    let chain = Chain::parse("box:3", Border::Replicate).unwrap();
    let image = Image::from_slice(&context, Size::new(16, 9), 1, &bytes(16 * 9)).unwrap();
    // Done first, so that the next submission is the operation itself.
    drop(image.filtered::<u8>(&chain).unwrap());
    fail_next(&well);
    let blurred: Image<u8> = image.filtered(&chain).unwrap();
    drop(image.filtered::<u8>(&chain).unwrap());
    failed(blurred.to_vec());
    failed(blurred.histogram().unwrap().wait());

    let mut vector = Vector::from_slice(&context, &[1.0f32; 40]).unwrap();
    let ones = Vector::from_slice(&context, &[1.0f32; 40]).unwrap();
    fail_next(&well);
    failed(vector.sum().unwrap().wait());
    assert_eq!(vector.sum().unwrap().wait().unwrap(), 40.0);
    fail_next(&well);
    drop(vector.add_scaled(1.0, &ones).unwrap());
    failed(vector.dot(&ones).unwrap().wait());
    failed(vector.min().unwrap().wait());
    failed(vector.converted::<u8>(1.0, 0.0).and_then(|bytes| bytes.to_vec()));

    fail_next(&well);
    let copy = ones.to_context(&context).unwrap();
    assert_eq!(ones.to_vec().unwrap(), [1.0; 40]);
    failed(copy.to_vec());
    context.finish().unwrap();
}

/// Operations that the CPU path does because the device has no `half`, and those it does because it is faster.
#[test]
fn the_cpu_path_does_not_run_on_failed_operands() {
    let Some((context, well)) = faulty() else { return };
    let halves = Matrix::from_slice(&context, Extents::new(4, 4), &[half::f16::ONE; 16]).unwrap();
    let product = |a: &Matrix<half::f16>| Product::new(a, a)?.into_matrix()?.to_vec();
    assert_eq!(product(&halves).unwrap(), [half::f16::from_f32(4.0); 16]);
    fail_next(&well);
    let lost = halves.to_context(&context).unwrap();
    failed(product(&lost));
    assert_eq!(product(&halves).unwrap(), [half::f16::from_f32(4.0); 16]);
}

/// Weights that many products share.
#[test]
fn failures_of_packing_are_reported_by_every_product() {
    let Some((context, well)) = faulty() else { return };
    let matrix = |side: usize| {
        Matrix::from_slice(&context, Extents::new(side, side), &vec![1i8; side * side]).unwrap()
    };
    let a = matrix(128);
    fail_next(&well);
    let packed = Packed::right(&a, 128).unwrap();
    if well.swap(usize::MAX, Ordering::SeqCst) == 0 {
        // This device uses it in its stored layout.
        return;
    }
    for _ in 0..2 {
        failed(Product::new(&a, &packed).unwrap().into_matrix().and_then(|c| c.to_vec()));
    }
    let c = Product::new(&a, &a).unwrap().into_matrix().unwrap();
    assert_eq!(c.to_vec().unwrap(), vec![128; 128 * 128]);
}

/// Many operations are queued before any outcome is looked at, and the first failure is reported first.
#[test]
fn a_failure_is_reported_after_any_number_of_successes() {
    let Some((context, well)) = faulty() else { return };
    let a = twos(&context);
    let mut c = twos(&context);
    fail_next(&well);
    drop(Product::new(&a, &a).unwrap().beta(1.0).store(&mut c).unwrap());
    for _ in 0..500 {
        drop(Product::new(&a, &a).unwrap().beta(1.0).store(&mut c).unwrap());
    }
    failed(c.to_vec());
    fail_next(&well);
    drop(Product::new(&a, &a).unwrap().into_matrix().unwrap());
    for _ in 0..500 {
        drop(Product::new(&a, &a).unwrap().into_matrix().unwrap());
    }
    failed(context.finish());
}

/// Through the driver's own events: one kernel fails, those after it run. Each case has its own process, as a driver is
/// loaded once.
#[cfg(target_os = "linux")]
mod driver {
    use std::process::Command;

    use super::*;
    use crate::library::import::extensions::stand_in::stand_in;

    const ROLE: &str = "TRIPIPE_TEST_CHILD_OF_ERRORS";

    /// Not a test by itself: the child processes run it.
    #[test]
    fn child() {
        let Some(times) = std::env::var_os(ROLE) else { return };
        let device = tripipe_opencl::devices().unwrap().remove(0);
        let options = ExecutorOptions::default().cache(tripipe_opencl::CacheChoice::Off);
        let context = Context::builder()
            .cpu_when_faster(false)
            .profiling(times == "timed")
            .build_over(OpenClExecutor::new(&device, &options).unwrap())
            .unwrap();
        let chain = Chain::parse("box:3", Border::Replicate).unwrap();
        let two = Chain::parse("median:3,median:3", Border::Replicate).unwrap();
        let image = Image::from_slice(&context, Size::new(16, 9), 1, &bytes(16 * 9)).unwrap();
        // The first of two kernels of one operation fails, the second runs.
        let lost: Image<u8> = image.filtered(&two).unwrap();
        let good: Image<u8> = image.filtered(&chain).unwrap();
        let of_lost: Image<u8> = lost.filtered(&chain).unwrap();
        good.to_vec().unwrap();
        let told = |result: Result<Vec<u8>, Error>| {
            let error = result.unwrap_err().to_string();
            assert!(error.contains("CL_OUT_OF_RESOURCES"), "{error}");
        };
        told(lost.to_vec());
        told(of_lost.to_vec());
        context.finish().unwrap();
    }

    #[test]
    fn a_failing_kernel_is_reported() {
        for times in ["timed", "untimed"] {
            let output = Command::new(std::env::current_exe().unwrap())
                .args(["library::errors::driver::child", "--exact", "--nocapture"])
                .env(ROLE, times)
                .env("TRIPIPE_OPENCL", stand_in())
                .env("TRIPIPE_STAND_IN", "kernel-fails")
                .env("TRIPIPE_STAND_IN_FAILS", "1")
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{times}: {said}");
        }
    }
}
