//! The reference against values worked out by hand and against OpenCV.
//!
//! The tables are what OpenCV 5.0.0's Python module makes of [`picture`], by the call that stands beside each. Border `Wrap`, which its
//! filters do not take, is `copyMakeBorder(.., BORDER_WRAP)` ahead of the filter, cut off after.

use super::super::{Layout, Neighbourhood, Taps};
use super::*;

const SIZE: [usize; 2] = [7, 5];

/// `(x * 37 + y * 91 + x * y * 13 + channel * 20) % 256`.
fn picture(channels: usize) -> Vec<u8> {
    let [width, height] = SIZE;
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
    filtered(&Chain::one(stage, border), &Raster::packed(SIZE, 1, Element::U8), &picture(1))
}

fn shorts(bytes: &[u8]) -> Vec<i16> {
    bytemuck::pod_collect_to_vec(bytes)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytemuck::pod_collect_to_vec(bytes)
}

/// `filter2D(picture, -1, weights, borderType=..)`.
#[test]
fn borders_are_opencv_s() {
    let tables: [(Border, [u8; 35]); 5] = [
        (
            Border::Constant(0.0),
            [
                0, 0, 0, 255, 255, 255, 255, 214, 255, 255, 255, 0, 0, 255, 255, 255, 0, 0, 255, 255, 0, 0,
                0, 255, 255, 0, 141, 255, 255, 255, 0, 255, 255, 0, 255,
            ],
        ),
        (
            Border::Replicate,
            [
                0, 0, 0, 0, 231, 255, 255, 0, 255, 255, 255, 0, 0, 29, 255, 255, 0, 0, 255, 255, 0, 0, 0,
                255, 255, 0, 141, 255, 127, 255, 0, 0, 255, 0, 123,
            ],
        ),
        (
            Border::Reflect,
            [
                0, 0, 0, 0, 231, 255, 255, 0, 255, 255, 255, 0, 0, 29, 255, 255, 0, 0, 255, 255, 0, 0, 0,
                255, 255, 0, 141, 255, 127, 255, 0, 0, 255, 0, 123,
            ],
        ),
        (
            Border::Reflect101,
            [
                0, 0, 0, 0, 255, 255, 255, 0, 255, 255, 255, 0, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 0, 255,
                255, 0, 141, 255, 172, 255, 0, 0, 255, 0, 90,
            ],
        ),
        (
            Border::Wrap,
            [
                0, 0, 0, 0, 255, 255, 255, 0, 255, 255, 255, 0, 0, 161, 255, 255, 0, 0, 255, 255, 0, 0, 0,
                255, 255, 0, 141, 255, 59, 255, 0, 21, 255, 0, 239,
            ],
        ),
    ];
    for (border, want) in tables {
        assert_eq!(filtered_gray(Stage::Linear(Linear::laplace_sharpen()), border), want, "{border:?}");
    }
}

/// By hand: the ring is the source's, the middle row is 9 x the pixel - its 8 neighbours.
#[test]
fn without_a_border_the_ring_is_copied() {
    let from = Raster::packed([4, 3], 1, Element::U8);
    let source = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    let sharpened = Chain::one(Stage::Linear(Linear::laplace_sharpen()), Border::None);
    // 9 x 6 - (1 + 2 + 3 + 5 + 7 + 9 + 10 + 11) = 6; on a ramp the filter changes nothing.
    assert_eq!(filtered(&sharpened, &from, &source), source);
    let sobel = Chain::one(Stage::Linear(Linear::sobel_y().to(Element::I16)), Border::None);
    // 4 x (9 - 1), 8 a pixel down.
    assert_eq!(shorts(&filtered(&sobel, &from, &source)), [1, 2, 3, 4, 5, 32, 32, 8, 9, 10, 11, 12]);
}

#[test]
fn derivatives_are_opencv_s() {
    // Sobel(picture, CV_16S, 1, 0)
    let sobel: [i16; 35] = [
        0, 348, 348, -164, -164, 348, 0, 0, 144, 144, -112, -112, 144, 0, 0, -8, -8, -8, -8, -8, 0, 0, 96,
        96, 96, -160, 96, 0, 0, 148, 148, 148, -364, 148, 0,
    ];
    // Scharr(picture, CV_16S, 0, 1)
    let scharr: [i16; 35] = [
        0, 0, 0, 0, 0, 0, 0, 3068, 2560, 416, 64, 480, 128, -1404, -1028, -768, -352, 64, 480, 896, 1156,
        -1028, -768, -352, 64, -288, -1664, -380, 0, 0, 0, 0, 0, 0, 0,
    ];
    let derivative =
        |linear: Linear| shorts(&filtered_gray(Stage::Linear(linear.to(Element::I16)), Border::Reflect101));
    assert_eq!(derivative(Linear::sobel_x()), sobel);
    assert_eq!(derivative(Linear::scharr_y()), scharr);
    // |dx| + |dy| in saturated bytes, of the two tables.
    let gradient: [u8; 35] = [
        0, 255, 255, 164, 164, 255, 0, 255, 255, 255, 128, 232, 176, 236, 244, 200, 96, 24, 128, 232, 255,
        244, 255, 184, 112, 255, 255, 236, 0, 148, 148, 148, 255, 148, 0,
    ];
    assert_eq!(filtered_gray(Stage::Gradient(Gradient::Sobel), Border::Reflect101), gradient);
}

#[test]
fn blurs_are_opencv_s() {
    let tables: [(usize, [u8; 35]); 3] = [
        // GaussianBlur(picture, (3, 3), 0)
        (
            3,
            [
                67, 89, 133, 144, 124, 135, 157, 116, 125, 143, 145, 131, 133, 142, 150, 149, 148, 147, 146,
                145, 145, 119, 125, 137, 149, 145, 141, 147, 104, 113, 132, 150, 137, 123, 132,
            ],
        ),
        // GaussianBlur(picture, (5, 5), 0)
        (
            5,
            [
                99, 111, 132, 139, 133, 136, 142, 117, 124, 138, 141, 137, 138, 141, 135, 138, 143, 145, 143,
                142, 143, 125, 129, 138, 145, 143, 140, 140, 115, 121, 134, 144, 141, 136, 136,
            ],
        ),
        // GaussianBlur(picture, (7, 7), 0)
        (
            7,
            [
                119, 123, 132, 137, 138, 139, 140, 124, 127, 134, 139, 139, 139, 139, 129, 132, 137, 141,
                141, 141, 141, 128, 131, 137, 141, 142, 141, 141, 127, 130, 136, 141, 141, 139, 139,
            ],
        ),
    ];
    for (size, want) in tables {
        let gaussian = Linear::gaussian(size, None).unwrap();
        assert_eq!(filtered_gray(Stage::Linear(gaussian), Border::Reflect101), want, "{size}");
    }
    // GaussianBlur(picture, (5, 5), 1.3): other roundings of the weights, so within 1.
    let want: [u8; 35] = [
        112, 120, 131, 137, 136, 138, 138, 118, 126, 135, 141, 139, 140, 139, 129, 134, 138, 143, 142, 142,
        140, 126, 132, 138, 144, 142, 140, 137, 121, 126, 134, 142, 142, 141, 138,
    ];
    let gaussian = Stage::Linear(Linear::gaussian(5, Some(1.3)).unwrap());
    for (found, want) in filtered_gray(gaussian, Border::Reflect101).iter().zip(want) {
        assert!(found.abs_diff(want) <= 1, "{found}, {want}");
    }
    // blur(picture, (5, 3))
    let want: [u8; 35] = [
        115, 125, 118, 129, 141, 134, 109, 117, 127, 123, 139, 137, 150, 143, 138, 151, 137, 149, 144, 148,
        126, 125, 140, 135, 143, 133, 145, 143, 110, 126, 123, 135, 147, 144, 126,
    ];
    assert_eq!(filtered_gray(Stage::Linear(Linear::mean([5, 3]).unwrap()), Border::Reflect101), want);
}

/// `GaussianBlur(picture.astype(float32) / 16, (5, 5), 1.3)`
#[test]
fn float_blur_is_opencv_s() {
    let want: [f32; 35] = [
        6.997_599, 7.526_608, 8.174_803, 8.597_424, 8.519_757, 8.657_307, 8.612_999, 7.347_043, 7.864_821,
        8.440_962, 8.808_512, 8.651_386, 8.749_095, 8.669_732, 8.068_995, 8.387_376, 8.614_154, 8.935_609,
        8.841_576, 8.920_493, 8.782_689, 7.857_416, 8.253_82, 8.638, 9.009_124, 8.855_574, 8.761_321,
        8.560_584, 7.535_413, 7.925_524, 8.376_028, 8.878_675, 8.881_035, 8.820_894, 8.637_688,
    ];
    let source: Vec<u8> =
        picture(1).iter().flat_map(|value| (f32::from(*value) / 16.0).to_ne_bytes()).collect();
    let chain = Chain::one(Stage::Linear(Linear::gaussian(5, Some(1.3)).unwrap()), Border::Reflect101);
    let found = floats(&filtered(&chain, &Raster::packed(SIZE, 1, Element::F32), &source));
    for (found, want) in found.iter().zip(want) {
        assert!((found - want).abs() < 4e-6 * want.abs(), "{found}, {want}");
    }
}

#[test]
fn ranks_are_opencv_s() {
    let tables: [(Stage, [u8; 35]); 4] = [
        // medianBlur(picture, 3)
        (
            Stage::Median { size: 3 },
            [
                37, 74, 111, 111, 148, 148, 185, 91, 91, 115, 115, 148, 148, 135, 93, 141, 169, 169, 141,
                135, 135, 108, 108, 119, 119, 141, 141, 130, 108, 108, 119, 119, 119, 130, 130,
            ],
        ),
        // medianBlur(picture, 5)
        (
            Stage::Median { size: 5 },
            [
                52, 74, 111, 115, 148, 148, 185, 74, 91, 111, 141, 148, 148, 178, 91, 108, 115, 141, 135,
                135, 135, 108, 115, 119, 141, 130, 130, 130, 108, 108, 119, 119, 119, 130, 130,
            ],
        ),
        // erode(picture, ones((3, 5)), borderType=BORDER_REPLICATE)
        (
            Stage::Morphology(Morphology::Erode(Neighbourhood::Rectangle([5, 3]))),
            [
                0, 0, 0, 35, 35, 35, 35, 0, 0, 0, 35, 35, 35, 35, 17, 17, 17, 35, 35, 35, 35, 17, 17, 17, 30,
                30, 41, 41, 17, 17, 17, 30, 30, 41, 41,
            ],
        ),
        // dilate(picture, getStructuringElement(MORPH_CROSS, (5, 3)), borderType=BORDER_REPLICATE)
        (
            Stage::Morphology(Morphology::Dilate(Neighbourhood::Cross([5, 3]))),
            [
                91, 141, 191, 241, 222, 222, 222, 191, 245, 241, 241, 241, 241, 222, 245, 245, 245, 245, 241,
                241, 241, 182, 245, 245, 245, 245, 245, 217, 197, 197, 208, 245, 208, 208, 217,
            ],
        ),
    ];
    for (stage, want) in tables {
        assert_eq!(filtered_gray(stage.clone(), Border::Replicate), want, "{stage:?}");
    }
}

/// Weights in steps of 2^-8, so within 1.
#[test]
fn bilateral_is_opencv_s() {
    // bilateralFilter(picture, 5, 60, 2)
    let gray: [u8; 35] = [
        47, 63, 87, 115, 145, 170, 175, 96, 134, 174, 209, 74, 101, 138, 160, 206, 84, 123, 172, 207, 94, 57,
        98, 162, 213, 86, 143, 198, 101, 178, 70, 122, 186, 74, 136,
    ];
    // bilateralFilter(picture of 3 channels, 3, 90, 1.5)
    let color: [u8; 105] = [
        17, 37, 57, 37, 57, 77, 74, 94, 114, 111, 131, 151, 148, 168, 188, 175, 195, 214, 222, 242, 8, 105,
        125, 145, 141, 161, 181, 183, 203, 223, 240, 5, 25, 44, 63, 83, 85, 105, 125, 120, 140, 160, 181,
        201, 221, 245, 9, 29, 57, 77, 97, 115, 135, 155, 173, 193, 213, 241, 5, 25, 50, 69, 89, 22, 42, 62,
        93, 113, 133, 167, 187, 207, 245, 9, 29, 68, 87, 107, 138, 158, 178, 217, 237, 1, 108, 128, 148, 196,
        216, 236, 31, 51, 71, 119, 139, 159, 207, 227, 247, 42, 62, 82, 128, 148, 168,
    ];
    for (size, sigma_color, sigma_space, want) in [(5, 60.0, 2.0, &gray[..]), (3, 90.0, 1.5, &color[..])] {
        let stage = Stage::Bilateral(Bilateral { size, sigma_color, sigma_space });
        let channels = want.len() / 35;
        let from = Raster::packed(SIZE, channels, Element::U8);
        let found = filtered(&Chain::one(stage, Border::Reflect101), &from, &picture(channels));
        for (found, want) in found.iter().zip(want) {
            assert!(found.abs_diff(*want) <= 1, "{channels} channels: {found}, {want}");
        }
    }
}

/// `cvtColor` of `(pixel * 53 + channel * 97) % 256`.
#[test]
fn colours_are_opencv_s() {
    let rgb: Vec<u8> = (0..6).flat_map(|i| (0..3).map(move |c| ((i * 53 + c * 97) % 256) as u8)).collect();
    let from = Raster::packed([6, 1], 3, Element::U8);
    let recolored =
        |color: Color, source: &[u8]| filtered(&Chain::one(Stage::Color(color), Border::None), &from, source);
    // COLOR_RGB2GRAY, COLOR_BGR2GRAY
    assert_eq!(recolored(Color::RgbToGray, &rgb), [79, 132, 156, 59, 112, 88]);
    assert_eq!(recolored(Color::BgrToGray, &rgb), [115, 168, 144, 47, 100, 124]);
    // COLOR_RGB2YCrCb, whose chroma comes the other way round and has three digits: within 1.
    let ycrcb: [u8; 18] = [79, 72, 193, 132, 72, 193, 156, 92, 65, 59, 199, 149, 112, 199, 149, 88, 72, 193];
    // COLOR_YCrCb2RGB of that.
    let back: [u8; 18] = [0, 97, 194, 53, 150, 247, 105, 203, 44, 159, 1, 96, 212, 54, 149, 9, 106, 203];
    let swapped = |bytes: &[u8]| -> Vec<u8> {
        bytes.chunks(3).flat_map(|pixel| [pixel[0], pixel[2], pixel[1]]).collect()
    };
    for (found, want) in [
        (swapped(&recolored(Color::RgbToYuv, &rgb)), ycrcb),
        (recolored(Color::YuvToRgb, &swapped(&ycrcb)), back),
    ] {
        assert!(found.iter().zip(want).all(|(found, want)| found.abs_diff(want) <= 1), "{found:?}, {want:?}");
    }
}

#[test]
fn conversions_round_to_even_and_saturate() {
    let convert = |to: Element, scale: f32, offset: f32, source: &[f32]| {
        let chain = Chain::one(Stage::Convert { to, scale, offset }, Border::None);
        let bytes: Vec<u8> = source.iter().flat_map(|value| value.to_ne_bytes()).collect();
        filtered(&chain, &Raster::packed([source.len(), 1], 1, Element::F32), &bytes)
    };
    let halves = [0.5, 1.5, 2.5, -0.5, -7.0, 254.5, 255.5, f32::NAN, f32::INFINITY];
    assert_eq!(convert(Element::U8, 1.0, 0.0, &halves), [0, 2, 2, 0, 0, 254, 255, 0, 255]);
    assert_eq!(shorts(&convert(Element::I16, -2.0, 1.0, &[0.75, 16384.0, -20000.0])), [0, -32767, 32767]);
    // 65504 is the largest half; 65520 is the first number that rounds past it.
    let found = shorts(&convert(Element::F16, 1.0, 0.0, &[65519.0, 65520.0]));
    assert_eq!(found, [0x7BFF, 0x7C00]);
}

/// By hand: a 3 x 1 mean of a planar image with rows 5 apart, into packed pixels from index 1 on; nothing else is written.
#[test]
fn rasters_say_where_pixels_lie() {
    let from = Raster::planar([3, 2], 2, Element::U8).with_pitch(5);
    assert_eq!((from.plane_pitch, from.layout), (10, Layout::Planar));
    let source = [3, 6, 9, 0, 0, 30, 60, 90, 0, 0, 1, 1, 1, 0, 0, 2, 2, 2];
    let mut to = Raster::packed([3, 2], 2, Element::U8).with_pitch(7);
    to.offset = 1;
    let chain = Chain::one(Stage::Linear(Linear::mean([3, 1]).unwrap()), Border::Replicate);
    let mut result = [77; 15];
    apply(&chain, &from, &source, &to, &mut result).unwrap();
    // (3 + 3 + 6) / 3 = 4, (3 + 6 + 9) / 3 = 6, (6 + 9 + 9) / 3 = 8.
    assert_eq!(result, [77, 4, 1, 6, 1, 8, 1, 77, 40, 2, 60, 2, 80, 2, 77]);
    let short = apply(&chain, &from, &source[1..], &to, &mut result);
    assert_eq!(short, Err(FilterError::Length { what: "source", want: 18, found: 17 }));
}

#[test]
fn alpha_is_kept_by_windows() {
    let from = Raster::packed([3, 1], 4, Element::U8);
    let source = [0, 0, 0, 1, 30, 30, 30, 2, 60, 60, 60, 3];
    let blur = Stage::Linear(Linear::mean([3, 1]).unwrap());
    let mut chain = Chain::one(blur, Border::Replicate);
    chain.keep_alpha = true;
    assert_eq!(filtered(&chain, &from, &source), [10, 10, 10, 1, 30, 30, 30, 2, 50, 50, 50, 3]);
    chain.keep_alpha = false;
    assert_eq!(filtered(&chain, &from, &source)[3], 1);
    assert_eq!(filtered(&chain, &from, &source)[11], 3);
    chain.stages = vec![Stage::Convert { to: Element::U8, scale: 2.0, offset: 0.0 }];
    chain.keep_alpha = true;
    assert_eq!(filtered(&chain, &from, &source)[11], 6);
}

/// Stages see what the one before stored: 0.6 -> 1 in bytes, where unrounded sums would give 0.6 x 3 = 1.8 -> 2.
#[test]
fn stages_round_between() {
    let byte = |scale: f32| Stage::Convert { to: Element::U8, scale, offset: 0.0 };
    let chain = Chain { stages: vec![byte(0.2), byte(3.0)], border: Border::None, keep_alpha: false };
    assert_eq!(filtered(&chain, &Raster::packed([1, 1], 1, Element::U8), &[3]), [3]);
}

/// An error that the bound admits passes, one that it does not fails, and so does any wrong integer.
#[test]
fn verify_tells_right_from_wrong() {
    let chain = Chain::one(Stage::Linear(Linear::mean([3, 3]).unwrap()), Border::Reflect101);
    let raster = Raster::packed(SIZE, 1, Element::F32);
    let source: Vec<u8> = picture(1).iter().flat_map(|value| f32::from(*value).to_ne_bytes()).collect();
    let mut result = floats(&filtered(&chain, &raster, &source));
    // 2 x 10 x 2^-24 of a sum of positive pixels is 20 half units of a value at the top of its binade.
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
    let raster = Raster::packed(SIZE, 1, Element::U8);
    let mut bytes = filtered(&chain, &raster, &picture(1));
    bytes[34] ^= 1;
    let compared = verify(&chain, &raster, &picture(1), &raster, &bytes);
    assert!(matches!(compared, Err(Mismatch::Pixel { x: 6, y: 4, channel: 0, .. })), "{compared:?}");
}

/// A zero weight looks at nothing; NaN and infinity reach exactly the sums they are in.
#[test]
fn nan_reaches_its_window_only() {
    let mut source = vec![1.0f32; 25];
    source[12] = f32::NAN;
    let chain = Chain::one(Stage::Linear(Linear::laplace4()), Border::Replicate);
    let bytes: Vec<u8> = bytemuck::cast_slice(&source).to_vec();
    let found = floats(&filtered(&chain, &Raster::packed([5, 5], 1, Element::F32), &bytes));
    let nan: Vec<usize> = (0..25).filter(|index| found[*index].is_nan()).collect();
    assert_eq!(nan, [7, 11, 12, 13, 17]);
}

/// A third is 85.3 steps of 2^-8; what rounding loses goes to the centre.
#[test]
fn real_weights_are_rounded_once() {
    let third = Linear::separable_real(vec![1.0 / 3.0; 3], vec![1.0]).unwrap();
    let fixed = third.fixed(Element::U8).unwrap();
    assert_eq!(fixed.factors, Some([vec![85, 86, 85], vec![256]]));
    assert!(matches!(third.taps(), Taps::SeparableReal { .. }));
    // (85 x 3 + 86 x 6 + 85 x 10) / 256 = 6.33.
    let chain = Chain::one(Stage::Linear(third), Border::Replicate);
    let found = filtered(&chain, &Raster::packed([3, 1], 1, Element::U8), &[3, 6, 10]);
    assert_eq!(found[1], 6);
}
