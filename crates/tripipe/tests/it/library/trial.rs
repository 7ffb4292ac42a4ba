//! The CPU path as a fallback for a slower device.

use tripipe::filter::{Border, Chain, PixelType, Raster};
use tripipe::gemm::{Packed, Product};
use tripipe::{Arithmetic, Context, Device, Explanation, Extents, Image, Matrix, Size, Vector};
use tripipe_device::DeviceKind;

fn contexts() -> impl Iterator<Item = Context> {
    let devices = Device::list().into_iter().filter(|device| device.probe().is_some());
    devices.map(|device| Context::new(&device).unwrap())
}

/// Whichever was chosen, the other one is a runner-up, and both times are reported.
fn check(explanation: &Explanation, kernel_of_host: &str) {
    let text = explanation.to_string();
    let tried = explanation.runners_up.last().unwrap();
    assert!(tried.why_not.contains("the device takes"), "{text}");
    if let Some(fallback) = &explanation.fallback {
        assert_eq!(*fallback, tried.why_not);
        assert_eq!(explanation.kernel, kernel_of_host);
        assert!(tried.kernel.ends_with(&format!("on {}", explanation.device)), "{text}");
    } else {
        assert_ne!(explanation.kernel, kernel_of_host);
        assert_eq!(tried.kernel, "the CPU path");
    }
}

/// (1 2; 3 4) (5 6; 7 8) = (19 22; 43 50), and the mean of equal values is that value.
#[test]
fn small_operations_are_tried_on_device_and_cpu() {
    for context in contexts() {
        let matrix = |values: [f32; 4]| Matrix::from_slice(&context, Extents::new(2, 2), &values).unwrap();
        let (a, b) = (matrix([1.0, 2.0, 3.0, 4.0]), matrix([5.0, 6.0, 7.0, 8.0]));
        let c = Product::new(&a, &b).unwrap().into_matrix().unwrap();
        assert_eq!(c.to_vec().unwrap(), [19.0, 22.0, 43.0, 50.0]);
        check(&Product::new(&a, &b).unwrap().explain().unwrap(), "blocked product in SIMD");

        let image = Image::from_slice(&context, Size::new(9, 7), 1, &[77u8; 63]).unwrap();
        let chain = Chain::parse("box:3", Border::Replicate).unwrap();
        let blurred: Image<u8> = image.filtered(&chain).unwrap();
        assert_eq!(blurred.to_vec().unwrap(), [77; 63]);
        check(&context.filter(&chain, image.raster(), image.raster()).unwrap().explain(), "rows in SIMD");

        let x = Vector::from_slice(&context, &[1i16, -2, 30]).unwrap();
        assert_eq!(x.sum().unwrap().wait().unwrap(), 29);
        let sum = context.explain().into_iter().find(|one| one.operation == "sum of 3 i16").unwrap();
        check(&sum, "a loop");
        assert!(sum.first_call_seconds.unwrap() > 0.0);
        assert_eq!(x.dot(&x).unwrap().wait().unwrap(), 905);
        assert_eq!(x.max().unwrap().wait().unwrap(), Some((30, 2)));
    }
}

/// Operations queued before are done before, and later ones see the result, whether the device or the CPU path does
/// each: products of packed operands are the device's. Every product shifts the columns, cyclically.
#[test]
fn the_two_paths_keep_their_order() {
    const N: usize = 16;
    const ROUNDS: usize = 3;
    for context in contexts() {
        let matrix = |element: &dyn Fn(usize, usize) -> f32| {
            let elements: Vec<f32> = (0..N * N).map(|index| element(index / N, index % N)).collect();
            Matrix::from_slice(&context, Extents::new(N, N), &elements).unwrap()
        };
        let shift = |by: usize| matrix(&|row, column| f32::from((row + by) % N == column));
        let value = |row: usize, column: usize| (row * N + column) as f32;
        let (by_one, by_three) = (Packed::right(&shift(1), N).unwrap(), shift(3));
        let (mut first, mut second, mut third) = (matrix(&value), shift(0), shift(0));
        for _ in 0..ROUNDS {
            drop(Product::new(&first, &by_one).unwrap().store(&mut second).unwrap());
            drop(Product::new(&second, &by_three).unwrap().store(&mut third).unwrap());
            drop(Product::new(&third, &by_one).unwrap().store(&mut first).unwrap());
        }
        let by = ROUNDS * (1 + 3 + 1);
        let want: Vec<f32> = (0..N * N).map(|i| value(i / N, (i % N + N - by % N) % N)).collect();
        assert_eq!(first.to_vec().unwrap(), want, "{}", context.name());
    }
}

/// The device's ceilings bound only what the device does.
#[test]
fn ceilings_bound_only_operations_of_the_device() {
    for context in contexts() {
        assert!(context.measure_ceilings(Arithmetic::F32).is_ok());
        let a = Matrix::from_slice(&context, Extents::new(8, 8), &[1.0f32; 64]).unwrap();
        let explanation = Product::new(&a, &a).unwrap().explain().unwrap();
        assert_eq!(explanation.bound.is_none(), explanation.fallback.is_some(), "{explanation}");
        assert_eq!(explanation.predicted.is_none(), explanation.fallback.is_some(), "{explanation}");
    }
}

/// The times of two trials would hardly be equal to the digit.
#[test]
fn another_factor_is_not_tried_again() {
    for context in contexts() {
        let a = Matrix::from_slice(&context, Extents::new(16, 16), &[1.0f32; 256]).unwrap();
        let said = |alpha: f64, beta: f64| {
            let explanation = Product::new(&a, &a).unwrap().alpha(alpha).beta(beta).explain().unwrap();
            explanation.runners_up.last().unwrap().why_not.clone()
        };
        let first = said(1.0, 0.0);
        assert!(first.contains("the device takes"), "{first}");
        for alpha in [0.5, -2.0, 1e-3, 7.0] {
            assert_eq!(said(alpha, 0.0), first);
        }
        let second = said(3.0, 0.5);
        assert_eq!(said(4.0, 1.0), second);
    }
}

#[test]
fn large_operations_are_not_tried() {
    let chain = Chain::parse("box:3", Border::Replicate).unwrap();
    let tried = |context: &Context, size: Size| {
        let raster = Raster::packed(size, 1, PixelType::U8);
        let explanation = context.filter(&chain, &raster, &raster).unwrap().explain();
        explanation.runners_up.iter().any(|other| other.why_not.contains("the device takes"))
    };
    for context in contexts() {
        assert!(tried(&context, Size::square(64)));
        // On a device that is the CPU, larger ones are tried.
        let is_cpu = context.probe().is_some_and(|probe| probe.kind == DeviceKind::Cpu);
        assert!(!tried(&context, if is_cpu { Size::new(40_000, 30_000) } else { Size::new(8192, 4096) }));
    }
    for device in Device::list() {
        let context = Context::builder().cpu_when_faster(false).build(&device).unwrap();
        assert!(!tried(&context, Size::square(64)));
    }
}
