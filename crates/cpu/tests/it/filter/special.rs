//! NaN, infinity, and exact Gaussian sums.

use tripipe_cpu::{self as cpu, Threads};
use tripipe_kernels::filter::reference;
use tripipe_kernels::filter::{
    Bilateral, Border, Chain, Color, Interpolation, Linear, PixelType, Raster, Size, Stage,
};

use super::{linear, stages};

/// NaN and infinity propagate to every result in which their weight is not 0, and to integers as the specification
/// says.
#[test]
fn not_finite() {
    let from = Raster::packed(Size::square(9), 1, PixelType::F32);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut source = vec![1.0f32; 81];
        source[40] = bad;
        let source: &[u8] = bytemuck::cast_slice(&source);
        for stage in [
            linear(Linear::laplace4()),
            linear(Linear::sobel_x()),
            linear(Linear::gaussian(5, Some(1.0)).unwrap().to(PixelType::U8)),
            Stage::Bilateral(Bilateral { size: 3, sigma_color: 1.0, sigma_space: 1.0 }),
            Stage::Convert { to: PixelType::I16, scale: -1.0, offset: 0.0 },
        ] {
            let chain = Chain::one(stage, Border::Wrap);
            let to = chain.apply_to(&from).unwrap();
            let mut result = vec![0; 81 * to.element.bytes()];
            cpu::filter(&chain, &from, source, &to, &mut result, Threads::One).unwrap();
            assert_eq!(reference::verify(&chain, &from, source, &to, &result), Ok(()), "{bad} {chain:?}");
        }
    }
}

/// Blurs of pictures with structure in every direction, compared with sums in `f64`: integers are within 1 of the exact
/// value, bytes within 1 of the rounded one.
#[test]
fn gaussians_are_within_1_of_the_exact_ones() {
    let (width, height) = (70, 50);
    let pictures: [fn(usize, usize) -> u8; 5] = [
        |x, y| (x * 73 + y * 151 + x * y * 29) as u8,
        |x, _| if x % 2 == 0 { 255 } else { 0 },
        |_, y| if y % 3 == 0 { 255 } else { 0 },
        |x, y| if x > 30 && y < 20 { 255 } else { 3 },
        |x, y| if (x + y) % 4 < 2 { 250 } else { 0 },
    ];
    for (size, sigma) in [
        (31, Some(100.0)),
        (15, None),
        (9, Some(1.0)),
        (5, Some(1.3)),
        (31, Some(5.0)),
        (29, Some(60.0)),
        (3, Some(0.5)),
    ] {
        let half = size as isize / 2;
        let exact = f64::from(sigma.unwrap_or(0.3 * (half as f32 - 1.0) + 0.8));
        let bell: Vec<f64> = (-half..=half).map(|x| (-(x as f64 / exact).powi(2) / 2.0).exp()).collect();
        let sum: f64 = bell.iter().sum();
        let chain = Chain::one(linear(Linear::gaussian(size, sigma).unwrap()), Border::Replicate);
        let cases =
            [(PixelType::U8, 1.0, 0.0), (PixelType::U16, 257.0, 0.0), (PixelType::I16, 257.0, 32768.0)];
        for (picture, (element, scale, middle)) in
            pictures.iter().flat_map(|picture| cases.map(|case| (picture, case)))
        {
            let raster = Raster::packed(Size::new(width, height), 1, element);
            let at = |x: isize, y: isize| {
                let [x, y] = [x.clamp(0, width as isize - 1), y.clamp(0, height as isize - 1)];
                f64::from(picture(x as usize, y as usize)) * scale - middle
            };
            let source: Vec<f64> =
                (0..height as isize).flat_map(|y| (0..width as isize).map(move |x| at(x, y))).collect();
            let source: Vec<u8> = match element {
                PixelType::U8 => source.iter().map(|value| *value as u8).collect(),
                PixelType::I16 => source.iter().flat_map(|value| (*value as i16).to_ne_bytes()).collect(),
                _ => source.iter().flat_map(|value| (*value as u16).to_ne_bytes()).collect(),
            };
            let mut found = vec![0; source.len()];
            cpu::filter(&chain, &raster, &source, &raster, &mut found, Threads::All).unwrap();
            let found: Vec<f64> = match element {
                PixelType::U8 => found.iter().map(|value| f64::from(*value)).collect(),
                PixelType::I16 => {
                    bytemuck::pod_collect_to_vec::<_, i16>(&found).into_iter().map(f64::from).collect()
                }
                _ => bytemuck::pod_collect_to_vec::<_, u16>(&found).into_iter().map(f64::from).collect(),
            };
            for (index, found) in found.iter().enumerate() {
                let [x, y] = [index % width, index / width].map(|at| at as isize);
                let row = |dy: isize| -> f64 {
                    (-half..=half).zip(&bell).map(|(dx, weight)| weight * at(x + dx, y + dy)).sum()
                };
                let want: f64 =
                    (-half..=half).zip(&bell).map(|(dy, weight)| weight * row(dy)).sum::<f64>() / (sum * sum);
                let off = (found - if element == PixelType::U8 { want.round() } else { want }).abs();
                assert!(off <= 1.0, "{element} gaussian:{size}:{sigma:?} at ({x}, {y}): {found}, {want}");
            }
        }
    }
}

/// NaN and infinity propagate exactly as specified.
#[test]
fn nan_and_infinity() {
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let colors = [Color::RgbToGray, Color::RgbToYuv, Color::YcrcbToRgb].map(Stage::Color);
    for stage in stages().into_iter().chain(colors) {
        for border in [Border::Reflect101, Border::Constant(f32::NAN), Border::Constant(f32::INFINITY)] {
            let channels = if matches!(stage, Stage::Color(_)) { 3 } else { 1 };
            let chain = Chain::one(stage.clone(), border);
            let from = Raster::packed(Size::new(23, 19), channels, PixelType::F32);
            let Ok(to) = chain.apply_to(&from) else { continue };
            let mut pixels: Vec<f32> =
                (0..23 * 19 * channels).map(|i| (i * 37 % 101) as f32 - 50.0).collect();
            for (turn, value) in special.into_iter().cycle().take(5).enumerate() {
                let at = (turn * 89 + 11) % pixels.len();
                pixels[at] = value;
            }
            let source: &[u8] = bytemuck::cast_slice(&pixels);
            let mut result = vec![0; to.elements().unwrap() * to.element.bytes()];
            cpu::filter(&chain, &from, source, &to, &mut result, Threads::One).unwrap();
            assert_eq!(reference::verify(&chain, &from, source, &to, &result), Ok(()), "{chain:?}");
        }
    }
    // A pixel that is not covered has no influence: every second result covers two pixels, the others three.
    for (interpolation, from, to, nan, want) in [
        (Interpolation::Area, 5, 2, 0, [true, false].as_slice()),
        (Interpolation::Area, 6, 4, 2, &[false, true, false, false]),
        (Interpolation::Bilinear, 3, 3, 1, &[false, true, false]),
    ] {
        let mut pixels = vec![1.0f32; from];
        pixels[nan] = f32::NAN;
        for down in [false, true] {
            let size = |extent: usize| if down { Size::new(1, extent) } else { Size::new(extent, 1) };
            let [from, to] = [from, to].map(|extent| Raster::packed(size(extent), 1, PixelType::F32));
            let mut found = vec![0.0f32; want.len()];
            let bytes = bytemuck::cast_slice_mut(&mut found);
            cpu::resize(interpolation, &from, bytemuck::cast_slice(&pixels), &to, bytes, Threads::One)
                .unwrap();
            let found: Vec<bool> = found.iter().map(|value| value.is_nan()).collect();
            assert_eq!(found, want, "{interpolation:?}");
        }
    }
}
