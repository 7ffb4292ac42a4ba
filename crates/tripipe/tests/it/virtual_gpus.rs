//! Virtual GPUs as devices of the library. The CPU path, which shares no code with the kernels, is the oracle of their
//! results.

#![allow(clippy::print_stderr, reason = "a test that cannot go on has failed")]

use tripipe::filter::{Border, Chain};
use tripipe::gemm::Product;
use tripipe::{Arithmetic, Context, Device, ErrorKind, Extents, Image, Matrix, Size, f16};

/// A context on a virtual GPU; `None`, with a message, without a compiler, unless `TRIPIPE_REQUIRE_CLANG` is set.
fn context(device: &Device) -> Option<Context> {
    let context = Context::new(device).unwrap();
    let one = Matrix::from_slice(&context, Extents::new(1, 1), &[1.0f32]).unwrap();
    match one.matmul(&one) {
        Ok(_) => Some(context),
        Err(error) => {
            assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
            eprintln!("left out: {error}");
            None
        }
    }
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|index| ((index * 37) % 19) as f32 - 9.0).collect()
}

#[test]
fn products_are_those_of_the_cpu_path_and_their_times_repeat() {
    for name in ["virtual:mali-t604", "virtual:mali-g77", "virtual:adreno-650"] {
        let Some(context) = context(&Device::named(name).unwrap()) else { return };
        let cpu = Context::new(&Device::Cpu).unwrap();
        let (a, b) = (numbers(40 * 24), numbers(24 * 33));
        let product = |context: &Context| {
            let left = Matrix::from_slice(context, Extents::new(40, 24), &a).unwrap();
            let right = Matrix::from_slice(context, Extents::new(24, 33), &b).unwrap();
            left.matmul(&right).unwrap().to_vec().unwrap()
        };
        // Sums of small integers are exact in any order.
        assert_eq!(product(&context), product(&cpu), "{name}");
        let explained = || {
            let all = context.explain();
            all.into_iter().find(|one| one.operation == "f32 product 40x33x24").unwrap()
        };
        let first = explained();
        let predicted = first.predicted.clone().unwrap();
        assert!(predicted.from.contains("the timing model of"), "{}", predicted.from);
        assert!(predicted.seconds > 0.0 && first.measured_seconds.is_none(), "{first}");
        assert!(!first.to_string().contains("measured"), "{first}");
        product(&context);
        assert_eq!(explained().predicted.unwrap(), predicted);
    }
}

#[test]
fn events_have_predicted_times() {
    let Some(context) = context(&Device::named("virtual:mali-g77").unwrap()) else { return };
    let picture = Image::from_slice(&context, Size::new(64, 48), 1, &[7u8; 64 * 48]).unwrap();
    let chain = Chain::parse("gaussian:5", Border::Reflect101).unwrap();
    let mut result = Image::<u8>::zeros(&context, *picture.raster()).unwrap();
    let filter = context.filter(&chain, picture.raster(), picture.raster()).unwrap();
    let mut seconds = || filter.run(&picture, &mut result).unwrap().seconds().unwrap();
    let first = seconds();
    assert!(first > 1e-6 && first < 1e-3, "{first}");
    // Times are rounded to nanoseconds on a common timeline.
    assert!((seconds() - first).abs() < 2e-9);
    assert_eq!(result.to_vec().unwrap(), [7; 64 * 48]);
}

/// The time of several passes, with the host's part between them, lies in the band that is printed beside it.
#[test]
fn the_band_holds_the_time_of_several_passes() {
    let Some(context) = context(&Device::named("virtual:mali-g77").unwrap()) else { return };
    let (left, right) = (numbers(64 * 80), numbers(80 * 48));
    let left = Matrix::from_slice(&context, Extents::new(64, 80), &left).unwrap();
    left.matmul(&Matrix::from_slice(&context, Extents::new(80, 48), &right).unwrap()).unwrap();
    let picture = Image::from_slice(&context, Size::new(64, 48), 1, &[7u8; 64 * 48]).unwrap();
    let chain = Chain::parse("median:5,gaussian:5,laplace8", Border::Reflect101).unwrap();
    let mut result = Image::<u8>::zeros(&context, *picture.raster()).unwrap();
    context.filter(&chain, picture.raster(), picture.raster()).unwrap().run(&picture, &mut result).unwrap();
    let all: Vec<_> = context.explain().into_iter().filter_map(|one| one.predicted).collect();
    assert!(all.len() >= 2 && all.iter().any(|one| one.from.contains("between launches")), "{all:?}");
    for predicted in all {
        let (_, band) = predicted.from.split_once("expect ").unwrap();
        let words: Vec<&str> = band.split([' ', ',']).collect();
        let [least, "us", "to", most, "us", ..] = words[..] else { panic!("{band}") };
        let time = predicted.seconds * 1e6;
        // Three digits are printed.
        let [least, most] = [least, most].map(|bound| bound.parse::<f64>().unwrap());
        assert!(0.99 * least < time && time < 1.01 * most, "{time} us: {}", predicted.from);
    }
}

#[test]
fn time_only_computes_nothing() {
    let Device::Virtual(device) = Device::named("virtual:mali-g77").unwrap() else { panic!("it is virtual") };
    let Some(context) = context(&Device::Virtual(device.clone().time_only(true))) else { return };
    let one = Matrix::from_slice(&context, Extents::new(16, 16), &[1.0f32; 256]).unwrap();
    let mut result = Matrix::from_slice(&context, Extents::new(16, 16), &[5.0f32; 256]).unwrap();
    let event = Product::new(&one, &one).unwrap().store(&mut result).unwrap();
    assert!(event.seconds().unwrap() > 0.0);
    assert_eq!(result.to_vec().unwrap(), [5.0; 256]);
    assert!(device.gpu().supports.fp16.value && !device.is_time_only());
}

#[test]
fn half_precision_runs_where_the_gpu_has_it() {
    let Some(context) = context(&Device::named("virtual:mali-g77").unwrap()) else { return };
    assert!(context.probe().unwrap().fp16());
    let halves: Vec<f16> = numbers(8 * 8).into_iter().map(f16::from_f32).collect();
    let a = Matrix::from_slice(&context, Extents::new(8, 8), &halves).unwrap();
    let b = a.matmul(&a).unwrap().to_vec().unwrap();
    let mut want = [0.0f32; 64];
    for row in 0..8 {
        for column in 0..8 {
            want[row * 8 + column] =
                (0..8).map(|k| halves[row * 8 + k].to_f32() * halves[k * 8 + column].to_f32()).sum();
        }
    }
    assert_eq!(b.iter().map(|value| value.to_f32()).collect::<Vec<_>>(), want);
}

/// A model's own peak rates: 9 cores, 836 MHz, 32 multiply-adds a clock (Arm's data sheet of the Mali-G77 MP9).
#[test]
fn ceilings_are_those_of_the_model() {
    let context = Context::new(&Device::named("virtual:mali-g77").unwrap()).unwrap();
    let ceilings = context.measure_ceilings(Arithmetic::F32).unwrap();
    assert_eq!(ceilings.operations_per_second, 2.0 * 32.0 * 9.0 * 836e6);
}

#[test]
fn a_board_stands_for_its_gpu() {
    for (name, gpu) in [("virtual:arndale", "virtual:mali-t604"), ("virtual:Pixel 6", "virtual:mali-g78")] {
        assert_eq!(Device::named(name).unwrap().choice().to_string(), gpu);
    }
}

#[test]
fn names_that_are_no_gpu_are_refused() {
    for (name, kind) in [
        ("virtual:mali-g7777", ErrorKind::NoSuchDevice),
        ("virtual:", ErrorKind::NoSuchDevice),
        ("virtual", ErrorKind::DeviceName),
    ] {
        assert_eq!(Device::named(name).unwrap_err().kind(), kind, "{name}");
    }
    let all = tripipe::VirtualDevice::all();
    assert_eq!(all.len(), tripipe_device::catalog().len());
    for device in all {
        let device = Device::Virtual(device);
        assert_eq!(Device::named(&device.choice().to_string()).unwrap().name(), device.name());
        // A driver that reports this would be recognised as this GPU.
        assert_eq!(
            device.identification().unwrap().model.unwrap().name(),
            match &device {
                Device::Virtual(device) => device.gpu().name(),
                _ => panic!("it is virtual"),
            }
        );
    }
}
