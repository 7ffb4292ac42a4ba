//! Colours, extreme sums, infinity and NaN.

use bytemuck::{cast_slice, pod_collect_to_vec};
use fastrand::Rng;
use tripipe_kernels::filter::{
    Bilateral, Border, Chain, Color, Fuse, Gradient, Interpolation, Linear, Morphology, Neighbourhood,
    Parameters, PixelType, Raster, Size, Stage, Sums, plan, reference, resize,
};

use super::drawn::{BORDERS, COLORS, Case, choose, laid_out, run, run_on};
use super::{ONE_INPUT, PLAIN, executors, has_half, noise, room, run_over};

/// Every conversion of every element type, in both layouts.
#[test]
fn colours_are_right() {
    let mut random = Rng::with_seed(12);
    for mut executor in executors() {
        for color in COLORS {
            for element in PixelType::ALL {
                if element == PixelType::F16 && !has_half(executor.as_ref()) {
                    continue;
                }
                let channels = (1..=4).rev().find(|channels| color.channels(*channels).is_ok()).unwrap();
                let chain = Chain::one(Stage::Color(color), Border::None);
                let from = laid_out(&mut random, Size::new(9, 3), channels, element);
                let to = laid_out(&mut random, Size::new(9, 3), color.channels(channels).unwrap(), element);
                let fuse = choose(&mut random, &[Fuse::Nothing, Fuse::Pixels]);
                let parameters = Parameters { fuse, ..PLAIN };
                run(executor.as_mut(), &mut random, &Case { chain, from, to, parameters });
            }
        }
    }
}

/// Alpha created by a stage is copied like that of an image, and its position has to be known as well.
#[test]
fn alpha_made_by_a_stage_is_preserved() {
    let mut random = Rng::with_seed(13);
    for mut executor in executors() {
        for (channels, text) in [
            (3, "add-alpha,laplace8"),
            (4, "drop-alpha,add-alpha,gaussian:3"),
            (4, "gray,rgb,add-alpha,median:3,swap-red-blue"),
        ] {
            let chain = Chain::parse(text, Border::Reflect101).unwrap().keep_alpha(true);
            let from = Raster::packed(Size::new(13, 5), channels, PixelType::U8);
            let to = chain.apply_to(&from).unwrap();
            let narrow = Parameters { lanes: 2, ..PLAIN };
            let error = narrow.check(&chain, &from, &to, executor.probe()).unwrap_err();
            assert!(error.to_string().contains("so that alpha is always in the same lane"), "{error}");
            let source = noise(&mut random, PixelType::U8, room(&from));
            let mut want = vec![0; to.elements().unwrap()];
            reference::apply(&chain, &from, &source, &to, &mut want).unwrap();
            assert!(want.chunks(4).all(|pixel| pixel[3] == 255), "{text}: {want:?}");
            run_on(executor.as_mut(), &mut random, &Case { chain, from, to, parameters: PLAIN }, &source);
        }
    }
}

/// Unsigned 32-bit sums, alone and fused with other windows in a pass; divisors of 2^31 and more.
#[test]
fn sums_of_all_32_bits_are_right() {
    let linear = |linear: Linear| Stage::Linear(linear);
    let flat = |size: usize| Linear::gaussian(size, Some(100.0)).unwrap();
    let divided = |weights: [i32; 3], divisor: u32| {
        linear(Linear::full(Size::new(3, 1), weights.to_vec(), divisor).unwrap())
    };
    let (most, large) = ((1 << 31) + 12_345, (1 << 31) + 1);
    let chains: [(PixelType, Vec<Stage>); 14] = [
        (PixelType::U8, vec![linear(flat(29))]),
        (PixelType::U8, vec![linear(flat(29).with_offset(-100))]),
        (PixelType::U8, vec![linear(flat(29).to(PixelType::F32))]),
        (PixelType::U16, vec![linear(flat(9).with_offset(-30_000).to(PixelType::I16))]),
        (PixelType::I16, vec![linear(flat(9))]),
        // The first is fused into the pass of the second.
        (PixelType::U16, vec![linear(flat(7)), linear(Linear::laplace8())]),
        (PixelType::U16, vec![linear(flat(7)), linear(flat(5))]),
        (PixelType::U16, vec![linear(flat(7).to(PixelType::U8)), linear(Linear::laplace8())]),
        (PixelType::U16, vec![linear(flat(7).to(PixelType::U8)), Stage::Median { size: 3 }]),
        (PixelType::U16, vec![linear(flat(7).to(PixelType::U8)), Stage::Gradient(Gradient::Sobel)]),
        (PixelType::U8, vec![linear(Linear::laplace_sharpen()), linear(flat(29))]),
        (PixelType::U16, vec![divided([1 << 14, 1 << 13, 3], large), divided([1, 2, 1], 1 << 31)]),
        (PixelType::U16, vec![divided([1, -2, -1], most)]),
        (PixelType::I16, vec![divided([1, -2, 1], large), divided([30_000, 2, 1], 1 << 31)]),
    ];
    let mut random = Rng::with_seed(14);
    for mut executor in executors() {
        for (element, stages) in &chains {
            let border = choose(&mut random, &BORDERS[..5]);
            let chain = Chain::new(stages.clone(), border);
            let from = Raster::packed(Size::new(41, 6), 1, *element);
            let to = chain.apply_to(&from).unwrap();
            let sums = choose(&mut random, &[Sums::Wide, Sums::Narrow]);
            let parameters = Parameters { sums, fuse: Fuse::Windows, ..PLAIN };
            // Bright pixels, which make the largest sums.
            let source: Vec<u8> = (0..room(&from) * element.bytes()).map(|_| random.u8(..) | 0xF0).collect();
            run_on(executor.as_mut(), &mut random, &Case { chain, from, to, parameters }, &source);
        }
    }
}

/// The exact Gaussian, in `f64` from its definition: 16-bit results are within 1 of it, on every executor.
#[test]
fn gaussians_of_16_bits_are_within_1_of_the_exact_ones() {
    let [width, height] = [37, 33];
    let mut random = Rng::with_seed(16);
    for mut executor in executors() {
        for size in [3usize, 7, 9, 15, 31] {
            let half = (size / 2) as isize;
            let sigma = choose(&mut random, &[None, Some(0.4), Some(1.0), Some(2.7), Some(1e3)]);
            // Without a sigma, the smaller ones are from a table.
            let sigma = if size <= 9 { sigma.or(Some(1.3)) } else { sigma };
            let exact = f64::from(sigma.unwrap_or(0.3 * (half as f32 - 1.0) + 0.8));
            let bell: Vec<f64> = (-half..=half).map(|x| (-(x as f64 / exact).powi(2) / 2.0).exp()).collect();
            let sum: f64 = bell.iter().sum();
            for element in [PixelType::U16, PixelType::I16] {
                let stage = Stage::Linear(Linear::gaussian(size, sigma).unwrap());
                let chain = Chain::one(stage, Border::Replicate);
                let raster = Raster::packed(Size::new(width, height), 1, element);
                let ends = [0u16, 0x7FFF, 0x8000, 0xFFFF];
                let source: Vec<u16> = (0..width * height)
                    .map(|_| if random.bool() { choose(&mut random, &ends) } else { random.u16(..) })
                    .collect();
                let value = |bits: u16| match element {
                    PixelType::I16 => f64::from(bits as i16),
                    _ => f64::from(bits),
                };
                let planned = plan(&chain, &raster, &raster, &PLAIN, executor.probe()).unwrap();
                let bytes = cast_slice(&source);
                let found =
                    run_over(executor.as_mut(), &planned, &ONE_INPUT, &[bytes, &vec![0; bytes.len()]]);
                let found: Vec<u16> = pod_collect_to_vec(&found[1]);
                let at = |x: isize, y: isize| {
                    let [x, y] = [x.clamp(0, width as isize - 1), y.clamp(0, height as isize - 1)];
                    value(source[y as usize * width + x as usize])
                };
                for (index, found) in found.iter().enumerate() {
                    let [x, y] = [index % width, index / width].map(|at| at as isize);
                    let row = |dy: isize| -> f64 {
                        (-half..=half).zip(&bell).map(|(dx, weight)| weight * at(x + dx, y + dy)).sum()
                    };
                    let want = (-half..=half).zip(&bell).map(|(dy, weight)| weight * row(dy)).sum::<f64>()
                        / (sum * sum);
                    let found = value(*found);
                    assert!(
                        (found - want).abs() <= 1.0,
                        "{element} gaussian:{size}:{sigma:?} at ({x}, {y}): {found}, {want}"
                    );
                }
            }
        }
    }
}

/// NaN and infinity affect exactly the elements that the specification says, on every executor.
#[test]
fn nan_and_infinity_are_the_same_everywhere() {
    let linear = |linear: Linear| Stage::Linear(linear);
    let bilateral = Stage::Bilateral(Bilateral { size: 5, sigma_color: 40.0, sigma_space: 1.8 });
    let erode = |seen| Stage::Morphology(Morphology::Erode(seen));
    let chains: [(usize, Vec<Stage>); 16] = [
        (1, vec![Stage::Gradient(Gradient::Sobel)]),
        (1, vec![Stage::Gradient(Gradient::Scharr)]),
        (1, vec![linear(Linear::sobel_x())]),
        (1, vec![linear(Linear::laplace4().to(PixelType::U8))]),
        (
            1,
            vec![linear(
                Linear::full_real(Size::square(3), vec![0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.25])
                    .unwrap(),
            )],
        ),
        (3, vec![bilateral.clone()]),
        (1, vec![bilateral]),
        (1, vec![Stage::Median { size: 3 }]),
        (3, vec![Stage::Median { size: 5 }]),
        (1, vec![erode(Neighbourhood::Rectangle(Size::new(3, 5)))]),
        (
            1,
            vec![
                Stage::Morphology(Morphology::Dilate(Neighbourhood::Cross(Size::new(5, 3)))),
                erode(Neighbourhood::Rectangle(Size::new(1, 3))),
            ],
        ),
        (3, vec![Stage::Morphology(Morphology::Dilate(Neighbourhood::Rectangle(Size::square(3))))]),
        (1, vec![erode(Neighbourhood::Rectangle(Size::new(3, 1))), Stage::Median { size: 3 }]),
        (1, vec![linear(Linear::gaussian(5, Some(0.2)).unwrap()), Stage::Gradient(Gradient::Sobel)]),
        (3, vec![Stage::Color(Color::RgbToYuv)]),
        (1, vec![Stage::Convert { to: PixelType::I16, scale: 2.0, offset: 1.0 }]),
    ];
    let borders = [Border::Constant(f32::NAN), Border::Constant(f32::INFINITY), Border::Reflect101];
    let mut random = Rng::with_seed(15);
    for mut executor in executors() {
        for ((channels, stages), border) in chains.iter().zip(borders.into_iter().cycle()) {
            let chain = Chain::new(stages.clone(), border);
            let from = Raster::packed(Size::new(19, 11), *channels, PixelType::F32);
            let to = chain.apply_to(&from).unwrap();
            let mut pixels: Vec<f32> = pod_collect_to_vec(&noise(&mut random, PixelType::F32, room(&from)));
            for (turn, value) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].into_iter().enumerate() {
                let at = turn * 67 + 21;
                pixels[at] = value;
            }
            let parameters = Parameters { fuse: Fuse::Windows, ..PLAIN };
            run_on(
                executor.as_mut(),
                &mut random,
                &Case { chain, from, to, parameters },
                cast_slice(&pixels),
            );
        }
        // From 5 columns to 2, the first result does not depend on the last column, and so on.
        for (interpolation, from, to, nan, want) in [
            (Interpolation::Area, 5, 2, 0, [true, false].as_slice()),
            (Interpolation::Area, 6, 4, 2, &[false, true, false, false]),
            (Interpolation::Bilinear, 3, 3, 1, &[false, true, false]),
        ] {
            let mut pixels = vec![1.0f32; from];
            pixels[nan] = f32::NAN;
            let [from, to] = [from, to].map(|extent| Raster::packed(Size::new(1, extent), 1, PixelType::F32));
            let planned = resize(interpolation, &from, &to, executor.probe()).unwrap();
            let found = run_over(
                executor.as_mut(),
                &planned,
                &ONE_INPUT,
                &[cast_slice(&pixels), &vec![0; 4 * want.len()]],
            );
            let found: Vec<bool> =
                pod_collect_to_vec::<u8, f32>(&found[1]).iter().map(|value| value.is_nan()).collect();
            assert_eq!(found, want, "{interpolation:?}");
        }
    }
}
