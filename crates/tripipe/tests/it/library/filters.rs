//! Filters on every device: the result of the reference, and an explanation.

use tripipe::filter::{Border, Chain, Linear, PixelType, Raster, Stage};
use tripipe::{ErrorKind, Image, Size};
use tripipe_kernels::filter::reference;

use crate::library::{bytes, contexts};

fn expected(chain: &Chain, from: &Raster, source: &[u8]) -> Vec<u8> {
    let to = chain.apply_to(from).unwrap();
    let mut result = vec![0; to.elements().unwrap() * to.element.bytes()];
    reference::apply(chain, from, source, &to, &mut result).unwrap();
    result
}

#[test]
fn filters_are_the_same_on_every_device() {
    // Each kernel has its own tests elsewhere.
    let chains = ["laplace", "gaussian:5,median:3"];
    for context in contexts() {
        for text in chains {
            for (channels, size, border) in
                [(3, Size::new(17, 9), Border::None), (4, Size::new(45, 30), Border::Reflect101)]
            {
                let chain = Chain::parse(text, border).unwrap().keep_alpha(channels == 4);
                let pixels = bytes(size.width * size.height * channels);
                let image = Image::from_slice(&context, size, channels, &pixels).unwrap();
                let result = image.filtered::<u8>(&chain).unwrap().to_vec().unwrap();
                let want = expected(&chain, image.raster(), &pixels);
                assert_eq!(result, want, "{text} {border} {channels} x {size} on {}", context.name());
            }
        }
        let gray = Chain::parse("gray,gaussian:5,laplace8,convert:i16", Border::Reflect).unwrap();
        let pixels = bytes(33 * 21 * 3);
        let image = Image::from_slice(&context, Size::new(33, 21), 3, &pixels).unwrap();
        let result = image.filtered::<i16>(&gray).unwrap().to_vec().unwrap();
        assert_eq!(bytemuck::cast_slice::<i16, u8>(&result), expected(&gray, image.raster(), &pixels));
    }
}

/// A result that a float can represent is computed whatever the order of the sums: a separable window sums rows or
/// columns first.
#[test]
fn sums_of_separable_windows_overflow_only_with_the_result() {
    let real = |across: &[f32], down: &[f32]| Linear::separable_real(across.to_vec(), down.to_vec()).unwrap();
    let cases = [
        (Linear::mean(Size::new(7, 5)).unwrap(), 3.0e38, 3.0e38),
        (real(&[3e6], &[1e-6]), 1e38, 3e38),
        (real(&[1e-6], &[3e6]), 1e38, 3e38),
        (real(&[-4.0, 2.0, -4.0], &[0.1, -0.1, 0.1]), 3e38, -1.8e38),
        (real(&[1e20], &[1e18]), 2.0, 2e38),
        // No power of two helps: it would exceed the range of normal numbers, and 2e38 x 1e-38 is significant.
        (real(&[0.0, 1.5, 1e-38], &[0.5]), 2e38, 1.5e38),
    ];
    for context in contexts() {
        for (linear, pixel, want) in &cases {
            let chain = Chain::one(Stage::Linear(linear.clone()), Border::Replicate);
            let image = Image::from_slice(&context, Size::new(9, 7), 1, &[*pixel as f32; 63]).unwrap();
            let found = image.filtered::<f32>(&chain).unwrap().to_vec().unwrap();
            let near = |found: &f32| (f64::from(*found) / *want - 1.0).abs() < 1e-5;
            assert!(found.iter().all(near), "{linear:?}: {} for {want} on {}", found[0], context.name());
        }
    }
}

#[test]
fn only_the_region_is_filtered() {
    for context in contexts() {
        let pixels = bytes(40 * 30);
        let source = Image::from_slice(&context, Size::new(40, 30), 1, &pixels).unwrap();
        let mut result = Image::from_slice(&context, Size::new(40, 30), 1, &[77u8; 1200]).unwrap();
        let chain = Chain::parse("median:3", Border::Replicate).unwrap();
        let part = source.region(5, 4, Size::new(20, 10)).unwrap();
        let to = *result.region(11, 9, Size::new(20, 10)).unwrap().raster();
        let filter = context.filter(&chain, part.raster(), &to).unwrap();
        filter.run(part, result.region_mut(11, 9, Size::new(20, 10)).unwrap()).unwrap().wait().unwrap();
        let mut want = vec![77; 1200];
        reference::apply(&chain, part.raster(), &pixels, &to, &mut want).unwrap();
        assert_eq!(result.to_vec().unwrap(), want, "{}", context.name());
    }
}

#[test]
fn a_luma_plane_is_filtered_in_place() {
    for context in contexts() {
        // An NV12 frame of 32 x 16 pixels with rows of 48 bytes: luma, then chroma with half the height.
        let frame = bytes(48 * 24);
        let frame = tripipe::Vector::from_slice(&context, &frame).unwrap();
        let luma = frame.share().into_image(Raster::luma(Size::new(32, 16), 48)).unwrap();
        let chain = Chain::parse("sobel", Border::Reflect101).unwrap();
        let edges = luma.filtered::<u8>(&chain).unwrap();
        let want = expected(&chain, luma.raster(), &bytes(48 * 24));
        assert_eq!(edges.to_vec().unwrap(), want);
    }
}

#[test]
fn filters_explain_themselves() {
    for context in contexts() {
        let image = Image::from_slice(&context, Size::new(64, 48), 3, &bytes(64 * 48 * 3)).unwrap();
        let chain = Chain::parse("gray,gaussian:5", Border::Reflect101).unwrap();
        let mut result = Image::<u8>::zeros(&context, chain.apply_to(image.raster()).unwrap()).unwrap();
        let filter = context.filter(&chain, image.raster(), result.raster()).unwrap();
        assert_eq!(filter.explain().measured_seconds, None);
        filter.run(&image, &mut result).unwrap().wait().unwrap();
        let explanation = filter.explain();
        assert!(explanation.measured_seconds.unwrap() > 0.0);
        let text = explanation.to_string();
        assert_eq!(explanation.measured_runs, 1);
        assert!(text.contains("the only run so far"), "{text}");
        filter.run(&image, &mut result).unwrap().wait().unwrap();
        filter.run(&image, &mut result).unwrap().wait().unwrap();
        let later = filter.explain();
        assert!(later.measured_seconds <= explanation.measured_seconds);
        assert!(later.to_string().contains("the shortest of 3 runs"), "{later}");
        for words in ["gray,gaussian:5 of 64x48, 3 x u8", context.name(), "kernel", "why", "measured"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert_eq!(explanation.fallback, None);
        assert_eq!(explanation.build_seconds.is_some(), context.probe().is_some());
    }
}

#[test]
fn the_cpu_path_is_the_fallback_and_is_reported() {
    for context in contexts() {
        if context.probe().is_none_or(tripipe_device::Probe::fp16) {
            continue;
        }
        let values: Vec<half::f16> =
            bytes(20 * 10).iter().map(|byte| half::f16::from_f32(f32::from(*byte))).collect();
        let image = Image::from_slice(&context, Size::new(20, 10), 1, &values).unwrap();
        let chain = Chain::parse("median:3", Border::Replicate).unwrap();
        let raster = *image.raster();
        let mut result = Image::<half::f16>::zeros(&context, raster).unwrap();
        let filter = context.filter(&chain, &raster, &raster).unwrap();
        filter.run(&image, &mut result).unwrap().wait().unwrap();
        let result = result.to_vec().unwrap();
        assert_eq!(
            bytemuck::cast_slice::<_, u8>(&result),
            expected(&chain, &raster, bytemuck::cast_slice(&values))
        );
        if let Some(reason) = filter.explain().fallback {
            assert!(reason.contains("cl_khr_fp16"), "{reason}");
        }
    }
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let all = contexts();
    for context in &all {
        let image = Image::from_slice(context, Size::square(8), 1, &bytes(64)).unwrap();
        let chain = Chain::parse("box:3", Border::Replicate).unwrap();
        let raster = *image.raster();
        let filter = context.filter(&chain, &raster, &raster).unwrap();
        let mut other =
            Image::<u8>::zeros(context, Raster::packed(Size::new(9, 8), 1, PixelType::U8)).unwrap();
        let error = filter.run(&image, &mut other).unwrap_err();
        assert!(error.kind() == ErrorKind::Shape && error.to_string().contains("the result"), "{error}");
        let wrong =
            context.filter(&chain, &raster, &Raster::packed(Size::square(8), 3, PixelType::U8)).map(drop);
        assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Description);
        let vector = tripipe::Vector::from_slice(context, &bytes(64)).unwrap();
        let one = vector.share().into_image(raster).unwrap();
        let mut same = vector.share().into_image(raster).unwrap();
        let error = filter.run(&one, &mut same).unwrap_err();
        assert!(error.kind() == ErrorKind::Aliased, "{error}");
    }
    if let [one, two, ..] = all.as_slice() {
        let image = Image::from_slice(one, Size::square(8), 1, &bytes(64)).unwrap();
        let mut result = Image::<u8>::zeros(two, *image.raster()).unwrap();
        let chain = Chain::parse("box:3", Border::Replicate).unwrap();
        let filter = one.filter(&chain, image.raster(), image.raster()).unwrap();
        let error = filter.run(&image, &mut result).unwrap_err();
        assert!(
            error.kind() == ErrorKind::OtherContext && error.to_string().contains("the result"),
            "{error}"
        );
    }
}
