//! Compares the reference with values computed by hand, and with OpenCV.

mod opencv;

use super::super::{Fixed, Gradient, Interpolation, Linear, Size, Taps, resize_reference};
use super::*;

const SIZE: Size = Size::new(7, 5);

/// `(x * 37 + y * 91 + x * y * 13 + channel * 20) % 256`.
fn picture(channels: usize) -> Vec<u8> {
    let Size { width, height } = SIZE;
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| x * 37 + y * 91 + x * y * 13));
    pixels.flat_map(|value| (0..channels).map(move |channel| ((value + channel * 20) % 256) as u8)).collect()
}

fn filtered(chain: &Chain, from: &Raster, source: &[u8]) -> Vec<u8> {
    let to = chain.apply_to(from).unwrap();
    let mut result = vec![0; to.elements().unwrap() * to.element.bytes()];
    apply(chain, from, source, &to, &mut result).unwrap();
    verify(chain, from, source, &to, &result).unwrap();
    result
}

fn filtered_gray(stage: Stage, border: Border) -> Vec<u8> {
    filtered(&Chain::one(stage, border), &Raster::packed(SIZE, 1, PixelType::U8), &picture(1))
}

fn shorts(bytes: &[u8]) -> Vec<i16> {
    bytemuck::pod_collect_to_vec(bytes)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytemuck::pod_collect_to_vec(bytes)
}

/// By hand: the ring is copied from the source; the middle row is 9 x the pixel - its 8 neighbours.
#[test]
fn without_a_border_the_ring_is_copied() {
    let from = Raster::packed(Size::new(4, 3), 1, PixelType::U8);
    let source = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    let sharpened = Chain::one(Stage::Linear(Linear::laplace_sharpen()), Border::None);
    // 9 x 6 - (1 + 2 + 3 + 5 + 7 + 9 + 10 + 11) = 6; the filter leaves a ramp unchanged.
    assert_eq!(filtered(&sharpened, &from, &source), source);
    let sobel = Chain::one(Stage::Linear(Linear::sobel_y().to(PixelType::I16)), Border::None);
    // 4 x (9 - 1), 8 a pixel down.
    assert_eq!(shorts(&filtered(&sobel, &from, &source)), [1, 2, 3, 4, 5, 32, 32, 8, 9, 10, 11, 12]);
}

#[test]
fn conversions_round_to_even_and_saturate() {
    let convert = |to: PixelType, scale: f32, offset: f32, source: &[f32]| {
        let chain = Chain::one(Stage::Convert { to, scale, offset }, Border::None);
        let bytes: Vec<u8> = source.iter().flat_map(|value| value.to_ne_bytes()).collect();
        filtered(&chain, &Raster::packed(Size::new(source.len(), 1), 1, PixelType::F32), &bytes)
    };
    let halves = [0.5, 1.5, 2.5, -0.5, -7.0, 254.5, 255.5, f32::NAN, f32::INFINITY];
    assert_eq!(convert(PixelType::U8, 1.0, 0.0, &halves), [0, 2, 2, 0, 0, 254, 255, 0, 255]);
    assert_eq!(shorts(&convert(PixelType::I16, -2.0, 1.0, &[0.75, 16384.0, -20000.0])), [0, -32767, 32767]);
    // 65504 is the largest half; 65520 is the first number that rounds to infinity.
    let found = shorts(&convert(PixelType::F16, 1.0, 0.0, &[65519.0, 65520.0]));
    assert_eq!(found, [0x7BFF, 0x7C00]);
}

/// By hand: a 3 x 1 mean of a planar image with a row pitch of 5, into packed pixels from index 1; nothing else is
/// written.
#[test]
fn rasters_say_where_pixels_lie() {
    let from = Raster::planar(Size::new(3, 2), 2, PixelType::U8).with_pitch(5);
    assert_eq!((from.plane_pitch, from.layout), (10, ChannelLayout::Planar));
    let source = [3, 6, 9, 0, 0, 30, 60, 90, 0, 0, 1, 1, 1, 0, 0, 2, 2, 2];
    let mut to = Raster::packed(Size::new(3, 2), 2, PixelType::U8).with_pitch(7);
    to.offset = 1;
    let chain = Chain::one(Stage::Linear(Linear::mean(Size::new(3, 1)).unwrap()), Border::Replicate);
    let mut result = [77; 15];
    apply(&chain, &from, &source, &to, &mut result).unwrap();
    // (3 + 3 + 6) / 3 = 4, (3 + 6 + 9) / 3 = 6, (6 + 9 + 9) / 3 = 8.
    assert_eq!(result, [77, 4, 1, 6, 1, 8, 1, 77, 40, 2, 60, 2, 80, 2, 77]);
    let short = apply(&chain, &from, &source[1..], &to, &mut result);
    assert_eq!(short, Err(FilterError::Length { what: "source", want: 18, found: 17 }));
}

#[test]
fn windows_preserve_alpha() {
    let from = Raster::packed(Size::new(3, 1), 4, PixelType::U8);
    let source = [0, 0, 0, 1, 30, 30, 30, 2, 60, 60, 60, 3];
    let blur = Stage::Linear(Linear::mean(Size::new(3, 1)).unwrap());
    let mut chain = Chain::one(blur, Border::Replicate);
    chain.keep_alpha = true;
    assert_eq!(filtered(&chain, &from, &source), [10, 10, 10, 1, 30, 30, 30, 2, 50, 50, 50, 3]);
    chain.keep_alpha = false;
    assert_eq!(filtered(&chain, &from, &source)[3], 1);
    assert_eq!(filtered(&chain, &from, &source)[11], 3);
    chain.stages = vec![Stage::Convert { to: PixelType::U8, scale: 2.0, offset: 0.0 }];
    chain.keep_alpha = true;
    assert_eq!(filtered(&chain, &from, &source)[11], 6);
}

/// Each stage reads what the previous one stored: 0.6 becomes 1 in bytes, while unrounded sums would give 0.6 x 3 =
/// 1.8 -> 2.
#[test]
fn stages_round_between() {
    let byte = |scale: f32| Stage::Convert { to: PixelType::U8, scale, offset: 0.0 };
    let chain = Chain { stages: vec![byte(0.2), byte(3.0)], border: Border::None, keep_alpha: false };
    assert_eq!(filtered(&chain, &Raster::packed(Size::square(1), 1, PixelType::U8), &[3]), [3]);
}

/// An error within the bound passes; a larger error fails, and so does any wrong integer.
#[test]
fn verify_accepts_right_and_rejects_wrong_results() {
    let chain = Chain::one(Stage::Linear(Linear::mean(Size::square(3)).unwrap()), Border::Reflect101);
    let raster = Raster::packed(SIZE, 1, PixelType::F32);
    let source: Vec<u8> = picture(1).iter().flat_map(|value| f32::from(*value).to_ne_bytes()).collect();
    let mut result = floats(&filtered(&chain, &raster, &source));
    // 2 x 10 x 2^-24 of a sum of positive pixels is 20 half units for a value at the top of its binade.
    for (ulps, right) in [(4, true), (100, false)] {
        let exact = result[12];
        result[12] = f32::from_bits(exact.to_bits() + ulps);
        let compared = verify(&chain, &raster, &source, &raster, bytemuck::cast_slice(&result));
        assert_eq!(compared.is_ok(), right, "{ulps}: {compared:?}");
        result[12] = exact;
    }
    result[12] = f32::NAN;
    let compared = verify(&chain, &raster, &source, &raster, bytemuck::cast_slice(&result));
    assert!(matches!(compared, Err(Mismatch::Pixel { x: 5, y: 1, count: 1, total: 35, .. })), "{compared:?}");
    let raster = Raster::packed(SIZE, 1, PixelType::U8);
    let mut bytes = filtered(&chain, &raster, &picture(1));
    bytes[34] ^= 1;
    let compared = verify(&chain, &raster, &picture(1), &raster, &bytes);
    assert!(matches!(compared, Err(Mismatch::Pixel { x: 6, y: 4, channel: 0, .. })), "{compared:?}");
}

/// Pixels with weight 0 are not read; NaN and infinity affect exactly the sums that contain them.
#[test]
fn nan_reaches_its_window_only() {
    let mut source = vec![1.0f32; 25];
    source[12] = f32::NAN;
    let chain = Chain::one(Stage::Linear(Linear::laplace4()), Border::Replicate);
    let bytes: Vec<u8> = bytemuck::cast_slice(&source).to_vec();
    let found = floats(&filtered(&chain, &Raster::packed(Size::square(5), 1, PixelType::F32), &bytes));
    let nan: Vec<usize> = (0..25).filter(|index| found[*index].is_nan()).collect();
    assert_eq!(nan, [7, 11, 12, 13, 17]);
}

/// A third is 85.3 steps of 2^-8; the rounding loss goes to the middle one of three equal weights.
#[test]
fn real_weights_are_rounded_once() {
    let third = Linear::separable_real(vec![1.0 / 3.0; 3], vec![1.0]).unwrap();
    let fixed = third.fixed(PixelType::U8).unwrap();
    assert_eq!(fixed.factors, Some([vec![85, 86, 85], vec![256]]));
    assert!(matches!(third.taps(), Taps::SeparableReal { .. }));
    // (85 x 3 + 86 x 6 + 85 x 10) / 256 = 6.33.
    let chain = Chain::one(Stage::Linear(third), Border::Replicate);
    let found = filtered(&chain, &Raster::packed(Size::new(3, 1), 1, PixelType::U8), &[3, 6, 10]);
    assert_eq!(found[1], 6);
}

/// The largest possible distance of a result from the exact sum over all images: the total excess or the total
/// deficit of the weights, times the largest pixel. The exact weights are computed independently, in `f64`.
fn off_by(fixed: &Fixed, exact: &[f64], largest: f64) -> f64 {
    let differences: Vec<f64> = fixed
        .weights
        .iter()
        .zip(exact)
        .map(|(found, want)| f64::from(*found) / f64::from(fixed.divisor) - want)
        .collect();
    let side = |sign: f64| differences.iter().map(|off| (sign * off).max(0.0)).sum::<f64>();
    largest * side(1.0).max(side(-1.0))
}

fn gaussian_by_definition(size: usize, sigma: f64) -> Vec<f64> {
    let half = (size / 2) as f64;
    let bell: Vec<f64> = (0..size).map(|x| (-((x as f64 - half) / sigma).powi(2) / 2.0).exp()).collect();
    let sum: f64 = bell.iter().sum();
    bell.iter().flat_map(|down| bell.iter().map(move |across| across * down / (sum * sum))).collect()
}

/// Every size, from narrow bells to nearly flat ones: no image of bytes is off by more than 1, and flat areas stay
/// unchanged.
#[test]
fn gaussians_of_bytes_are_within_1_of_the_exact_ones() {
    let sigmas = [
        0.05f32, 0.2, 0.3, 0.5, 0.62, 0.8, 0.9, 1.1, 1.3, 1.4, 1.7, 2.0, 2.3, 3.1, 4.4, 5.0, 7.7, 12.0, 31.0,
        100.0, 1e6,
    ];
    for size in (1..=31).step_by(2) {
        let default = 0.3 * ((size / 2) as f32 - 1.0) + 0.8;
        for sigma in sigmas.into_iter().map(Some).chain([None]) {
            if sigma.is_none() && size <= 9 {
                continue;
            }
            let fixed = Linear::gaussian(size, sigma).unwrap().fixed(PixelType::U8).unwrap();
            let exact = gaussian_by_definition(size, f64::from(sigma.unwrap_or(default)));
            let off = off_by(&fixed, &exact, 255.0);
            assert!(off <= 1.0, "gaussian:{size}:{sigma:?} is up to {off} off");
            assert_eq!(fixed.weights.iter().sum::<i32>(), fixed.divisor as i32, "gaussian:{size}:{sigma:?}");
        }
    }
}

/// The same for unsharp masks.
#[test]
fn real_weights_are_within_the_stated_error() {
    for size in (1..=31).step_by(2) {
        let sigma = 0.4 * size as f32;
        let mut exact: Vec<f64> =
            gaussian_by_definition(size, f64::from(sigma)).iter().map(|blur| -0.7 * blur).collect();
        exact[size * size / 2] += 1.7;
        let fixed = Linear::unsharp(size, Some(sigma), 0.7).unwrap().fixed(PixelType::U8).unwrap();
        let off = off_by(&fixed, &exact, 255.0);
        assert!(off <= 0.1, "unsharp:{size} is up to {off} off");
    }
}

/// 64 x 64 x 32768 is 2^27; times 4 x 4 of factors in common with the divisor, it was 2^31. 3 x 32767 + 1 over 3 rounds
/// as 6 x 32767 + 3 over 6 does, and an odd divisor as its multiple.
#[test]
fn common_factors_of_weights_and_divisor_are_divided_out() {
    for size in (1..=31).step_by(2) {
        for element in [PixelType::U8, PixelType::I16, PixelType::U16] {
            let blur = Stage::Linear(Linear::gaussian(size, None).unwrap());
            assert_eq!(blur.output(1, element), Ok((1, element)), "gaussian:{size} of {element}");
        }
    }
    for (weights, divisor, want) in
        [([6, -9, 12], 15, [2, -3, 4]), ([4, 0, 6], 4, [2, 0, 3]), ([0; 3], 7, [0; 3])]
    {
        let linear = Linear::full(Size::new(3, 1), weights.to_vec(), divisor).unwrap();
        let fixed = linear.fixed(PixelType::I16).unwrap();
        assert_eq!(fixed.weights, want);
        for pixels in [[1, 0, 0], [-7, 5, 3], [255, -255, 254], [-1, -1, -1], [2, 3, 4]] {
            let sum =
                |weights: &[i32]| weights.iter().zip(pixels).map(|(w, p)| i64::from(w * p)).sum::<i64>();
            let exact = (2 * sum(&weights) + i64::from(divisor)).div_euclid(2 * i64::from(divisor));
            assert_eq!(fixed.scale(sum(&fixed.weights)), exact, "{weights:?} over {divisor} of {pixels:?}");
        }
    }
}

/// A NaN is in every result whose window holds it, and in no other.
#[test]
fn ranks_of_a_nan_are_nan() {
    let mut source = vec![1.0f32; 25];
    source[12] = f32::NAN;
    let bytes: Vec<u8> = bytemuck::cast_slice(&source).to_vec();
    let square: Vec<usize> = vec![6, 7, 8, 11, 12, 13, 16, 17, 18];
    let erode = |seen| Stage::Morphology(Morphology::Erode(seen));
    for (stage, want) in [
        (erode(Neighbourhood::Rectangle(Size::square(3))), square.clone()),
        (erode(Neighbourhood::Cross(Size::square(3))), vec![7, 11, 12, 13, 17]),
        (Stage::Morphology(Morphology::Dilate(Neighbourhood::Rectangle(Size::new(3, 1)))), vec![11, 12, 13]),
        (Stage::Median { size: 3 }, square),
        (Stage::Median { size: 5 }, (0..25).collect()),
    ] {
        let chain = Chain::one(stage, Border::Replicate);
        let found = floats(&filtered(&chain, &Raster::packed(Size::square(5), 1, PixelType::F32), &bytes));
        let nan: Vec<usize> = (0..25).filter(|index| found[*index].is_nan()).collect();
        assert_eq!(nan, want, "{chain:?}");
    }
}

/// Real weights whose sums exceed 32 bits are refused, and so are the largest integer weights.
#[test]
fn weights_of_any_size_are_rounded_or_refused() {
    let product =
        |weight: f32| Linear::separable_real(vec![weight; 3], vec![weight; 3]).unwrap().fixed(PixelType::U8);
    for weight in [3e6, 1e19, f32::MAX, -f32::MAX] {
        assert_eq!(product(weight), Err(FilterError::Overflow), "{weight}");
        let three = Linear::full_real(Size::new(3, 1), vec![weight; 3]).unwrap();
        assert_eq!(three.fixed(PixelType::U8), Err(FilterError::Overflow), "{weight}");
    }
    // 9 x 900 x 900 x 255 = 1.9e9 leaves room for one bit.
    let halves = product(900.0).unwrap();
    assert_eq!((halves.divisor, halves.weights), (2, vec![1_620_000; 9]));
    for weight in [i32::MIN, i32::MAX] {
        assert_eq!(
            Linear::full(Size::square(1), vec![weight], 1).unwrap().fixed(PixelType::U8),
            Err(FilterError::Overflow)
        );
        let both = Linear::separable(vec![weight], vec![weight], 1).unwrap();
        assert_eq!(both.fixed(PixelType::U8), Err(FilterError::Overflow));
    }
    assert_eq!(
        Linear::mean(Size::new(usize::MAX, 1)),
        Err(FilterError::Window { size: Size::new(usize::MAX, 1), max: 31 })
    );
}

/// The mean of the covered source area, in `f64`: flat images stay flat at every reduction, and no image is off by
/// more than 1.
#[test]
fn areas_are_means() {
    let mut random = fastrand::Rng::with_seed(3);
    for (from, to) in
        [(83, 1), (77, 1), (160, 2), (1365, 1), (1365, 7), (31, 2), (100, 6), (33, 2), (5, 3), (3, 5)]
    {
        for (element, white) in [(PixelType::U8, 255), (PixelType::U16, 65535)] {
            let stripes = |x: usize| if x.is_multiple_of(2) { 0 } else { white };
            let pictures: [Vec<u16>; 4] = [
                vec![200; from],
                (0..from).map(stripes).collect(),
                (0..from).map(|x| if x < from / 3 { white } else { 0 }).collect(),
                (0..from).map(|_| random.u16(0..=white)).collect(),
            ];
            for picture in pictures {
                let source: Vec<u8> = match element {
                    PixelType::U8 => picture.iter().map(|value| *value as u8).collect(),
                    _ => bytemuck::cast_slice(&picture).to_vec(),
                };
                for down in [false, true] {
                    let size = |extent: usize| if down { Size::new(1, extent) } else { Size::new(extent, 1) };
                    let [from_raster, to_raster] =
                        [from, to].map(|extent| Raster::packed(size(extent), 1, element));
                    let mut found = vec![0; to * element.bytes()];
                    resize_reference(Interpolation::Area, &from_raster, &source, &to_raster, &mut found)
                        .unwrap();
                    for at in 0..to {
                        let [begin, end] = [at, at + 1].map(|edge| edge as f64 * from as f64 / to as f64);
                        let covered = |x: usize| (end.min(x as f64 + 1.0) - begin.max(x as f64)).max(0.0);
                        let mean = (0..from).map(|x| covered(x) * f64::from(picture[x])).sum::<f64>()
                            / (end - begin);
                        let found = load(element, &found, at);
                        // Alternating 16-bit elements may be off by more when more than 8 are averaged: by one step
                        // for half of them.
                        let most = if element == PixelType::U16 && from > 8 * to {
                            from as f64 / 8.0 / to as f64
                        } else {
                            1.0
                        };
                        assert!(
                            (found - mean).abs() <= most,
                            "{from} to {to} of {element:?}: {found}, {mean}"
                        );
                    }
                }
            }
        }
    }
}
