//! Compares the reference with values computed by hand and with OpenCV.
//!
//! The tables are the results of OpenCV 5.0.0's Python module for [`picture`], by the call named beside each. For
//! border `Wrap`, which its filters do not support, the picture was extended with `copyMakeBorder(.., BORDER_WRAP)`
//! before the filter and cropped after it.

use super::super::{Fixed, Interpolation, resize_reference};
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

/// By hand: the ring is copied from the source; the middle row is 9 x the pixel - its 8 neighbours.
#[test]
fn without_a_border_the_ring_is_copied() {
    let from = Raster::packed([4, 3], 1, Element::U8);
    let source = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    let sharpened = Chain::one(Stage::Linear(Linear::laplace_sharpen()), Border::None);
    // 9 x 6 - (1 + 2 + 3 + 5 + 7 + 9 + 10 + 11) = 6; the filter leaves a ramp unchanged.
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
    // |dx| + |dy| of the two derivatives, in saturated bytes.
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
    // GaussianBlur(picture, (5, 5), 1.3): OpenCV rounds the weights differently, so within 1.
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

/// `cvtColor` of `(pixel * 53 + channel * 97) % 256` and of six colours of 0 and 255; bit-exact.
#[test]
fn colours_are_opencv_s() {
    let mut rgb: Vec<u8> =
        (0..6).flat_map(|i| (0..3).map(move |c| ((i * 53 + c * 97) % 256) as u8)).collect();
    let recolored = |color: Color, element: Element, source: &[u8]| {
        let width = source.len() / 3 / element.bytes();
        let from = Raster::packed([width, 1], 3, element);
        filtered(&Chain::one(Stage::Color(color), Border::None), &from, source)
    };
    // COLOR_RGB2GRAY, COLOR_BGR2GRAY
    assert_eq!(recolored(Color::RgbToGray, Element::U8, &rgb), [79, 132, 156, 59, 112, 88]);
    assert_eq!(recolored(Color::BgrToGray, Element::U8, &rgb), [115, 168, 144, 47, 100, 124]);
    let primaries = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255; 3], [0; 3], [255, 0, 255]];
    rgb.extend(primaries.as_flattened());
    let tables: [(Color, [u8; 36]); 4] = [
        // COLOR_RGB2YUV
        (
            Color::RgbToYuv,
            [
                79, 185, 59, 132, 185, 59, 156, 73, 84, 59, 147, 216, 112, 147, 216, 88, 185, 59, 76, 91,
                255, 150, 54, 0, 29, 239, 103, 255, 128, 128, 0, 128, 128, 105, 202, 255,
            ],
        ),
        // COLOR_YUV2RGB
        (
            Color::YuvToRgb,
            [
                75, 0, 0, 189, 0, 98, 10, 125, 255, 124, 228, 0, 237, 229, 60, 95, 0, 0, 109, 255, 0, 0, 24,
                255, 145, 0, 0, 255, 131, 255, 0, 125, 0, 255, 232, 0,
            ],
        ),
        // COLOR_RGB2YCrCb
        (
            Color::RgbToYcrcb,
            [
                79, 72, 193, 132, 72, 193, 156, 92, 65, 59, 199, 149, 112, 199, 149, 88, 72, 193, 76, 255,
                85, 150, 21, 43, 29, 107, 255, 255, 128, 128, 0, 128, 128, 105, 235, 213,
            ],
        ),
        // COLOR_YCrCb2RGB
        (
            Color::YcrcbToRgb,
            [
                0, 0, 117, 84, 0, 255, 211, 81, 0, 0, 255, 104, 107, 255, 251, 0, 0, 142, 75, 255, 28, 178,
                0, 0, 0, 48, 225, 255, 121, 255, 0, 135, 0, 75, 255, 255,
            ],
        ),
    ];
    for (color, want) in tables {
        assert_eq!(recolored(color, Element::U8, &rgb), want, "{color:?}");
    }
    // The same pixels times 257, in 16 bits.
    let wide: Vec<u16> = rgb.iter().map(|byte| u16::from(*byte) * 257).collect();
    let tables: [(Color, [u16; 36]); 4] = [
        (
            Color::RgbToYuv,
            [
                20317, 47302, 14950, 33938, 47302, 14950, 40058, 18623, 21528, 15061, 37623, 55397, 28682,
                37623, 55397, 22630, 47302, 14950, 19596, 23127, 65535, 38467, 13842, 0, 7472, 61335, 26215,
                65535, 32768, 32768, 0, 32768, 32768, 27068, 51694, 65535,
            ],
        ),
        (
            Color::YuvToRgb,
            [
                19483, 0, 0, 48632, 0, 25370, 2777, 32046, 65535, 31926, 58361, 0, 61076, 58688, 15578,
                24433, 0, 0, 28179, 65535, 0, 0, 6094, 65535, 37355, 0, 0, 65535, 33554, 65535, 0, 31982, 0,
                65535, 59442, 0,
            ],
        ),
        (
            Color::RgbToYcrcb,
            [
                20317, 18282, 49430, 33938, 18282, 49430, 40058, 23630, 16552, 15061, 51165, 38334, 28682,
                51165, 38334, 22630, 18282, 49430, 19596, 65523, 21715, 38467, 5341, 11072, 7472, 27440,
                65517, 65535, 32768, 32768, 0, 32768, 32768, 27068, 60195, 54464,
            ],
        ),
        (
            Color::YcrcbToRgb,
            [
                0, 0, 30301, 21733, 0, 65535, 54465, 20771, 0, 0, 65535, 26964, 27620, 65535, 64736, 0, 0,
                36715, 19561, 65535, 7437, 45973, 0, 0, 0, 12124, 58096, 65535, 30868, 65535, 0, 34668, 0,
                19561, 65535, 65535,
            ],
        ),
    ];
    for (color, want) in tables {
        let found = recolored(color, Element::U16, bytemuck::cast_slice(&wide));
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, u16>(&found), want, "{color:?}");
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
    // 65504 is the largest half; 65520 is the first number that rounds to infinity.
    let found = shorts(&convert(Element::F16, 1.0, 0.0, &[65519.0, 65520.0]));
    assert_eq!(found, [0x7BFF, 0x7C00]);
}

/// By hand: a 3 x 1 mean of a planar image with a row pitch of 5, into packed pixels from index 1; nothing else is
/// written.
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

/// Each stage reads what the previous one stored: 0.6 becomes 1 in bytes, while unrounded sums would give 0.6 x 3 =
/// 1.8 -> 2.
#[test]
fn stages_round_between() {
    let byte = |scale: f32| Stage::Convert { to: Element::U8, scale, offset: 0.0 };
    let chain = Chain { stages: vec![byte(0.2), byte(3.0)], border: Border::None, keep_alpha: false };
    assert_eq!(filtered(&chain, &Raster::packed([1, 1], 1, Element::U8), &[3]), [3]);
}

/// An error within the bound passes; a larger error fails, and so does any wrong integer.
#[test]
fn verify_tells_right_from_wrong() {
    let chain = Chain::one(Stage::Linear(Linear::mean([3, 3]).unwrap()), Border::Reflect101);
    let raster = Raster::packed(SIZE, 1, Element::F32);
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
    let raster = Raster::packed(SIZE, 1, Element::U8);
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
    let found = floats(&filtered(&chain, &Raster::packed([5, 5], 1, Element::F32), &bytes));
    let nan: Vec<usize> = (0..25).filter(|index| found[*index].is_nan()).collect();
    assert_eq!(nan, [7, 11, 12, 13, 17]);
}

/// A third is 85.3 steps of 2^-8; the rounding loss goes to the middle one of three equal weights.
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
            if sigma.is_none() && size <= 7 {
                continue;
            }
            let fixed = Linear::gaussian(size, sigma).unwrap().fixed(Element::U8).unwrap();
            let exact = gaussian_by_definition(size, f64::from(sigma.unwrap_or(default)));
            let off = off_by(&fixed, &exact, 255.0);
            assert!(off <= 1.0, "gaussian:{size}:{sigma:?} is up to {off} off");
            assert_eq!(fixed.weights.iter().sum::<i32>(), fixed.divisor as i32, "gaussian:{size}:{sigma:?}");
        }
    }
}

/// The same for unsharp masks; and the errors that the documentation states for 16 bits.
#[test]
fn other_real_weights_are_as_near_as_they_are_said_to_be() {
    for size in (1..=31).step_by(2) {
        let sigma = 0.4 * size as f32;
        let mut exact: Vec<f64> =
            gaussian_by_definition(size, f64::from(sigma)).iter().map(|blur| -0.7 * blur).collect();
        exact[size * size / 2] += 1.7;
        let fixed = Linear::unsharp(size, Some(sigma), 0.7).unwrap().fixed(Element::U8).unwrap();
        let off = off_by(&fixed, &exact, 255.0);
        assert!(off <= 0.1, "unsharp:{size} is up to {off} off");
        let exact = gaussian_by_definition(size, 30.0);
        for (element, largest) in [(Element::U16, 65535.0), (Element::I16, 32768.0)] {
            let fixed = Linear::gaussian(size, Some(30.0)).unwrap().fixed(element).unwrap();
            let off = off_by(&fixed, &exact, largest);
            let said = largest * size as f64 / 512.0 * if element == Element::I16 { 1.5 } else { 1.0 };
            assert!(off <= said, "{element:?} gaussian:{size} is up to {off} off, said {said}");
        }
    }
}

/// Real weights whose sums exceed 32 bits are refused, and so are the largest integer weights.
#[test]
fn weights_of_any_size_are_rounded_or_refused() {
    let product =
        |weight: f32| Linear::separable_real(vec![weight; 3], vec![weight; 3]).unwrap().fixed(Element::U8);
    for weight in [3e6, 1e19, f32::MAX, -f32::MAX] {
        assert_eq!(product(weight), Err(FilterError::Overflow), "{weight}");
        let three = Linear::full_real([3, 1], vec![weight; 3]).unwrap();
        assert_eq!(three.fixed(Element::U8), Err(FilterError::Overflow), "{weight}");
    }
    // 9 x 900 x 900 x 255 = 1.9e9 leaves room for one bit.
    let halves = product(900.0).unwrap();
    assert_eq!((halves.divisor, halves.weights), (2, vec![1_620_000; 9]));
    for weight in [i32::MIN, i32::MAX] {
        assert_eq!(
            Linear::full([1, 1], vec![weight], 1).unwrap().fixed(Element::U8),
            Err(FilterError::Overflow)
        );
        let both = Linear::separable(vec![weight], vec![weight], 1).unwrap();
        assert_eq!(both.fixed(Element::U8), Err(FilterError::Overflow));
    }
    assert_eq!(Linear::mean([usize::MAX, 1]), Err(FilterError::Window { size: [usize::MAX, 1], max: 31 }));
}

/// The mean of the covered source area, in `f64`: flat images stay flat at every reduction, and no image is off by
/// more than 1.
#[test]
fn areas_are_means() {
    let mut random = fastrand::Rng::with_seed(3);
    for (from, to) in
        [(83, 1), (77, 1), (160, 2), (1365, 1), (1365, 7), (31, 2), (100, 6), (33, 2), (5, 3), (3, 5)]
    {
        for (element, white) in [(Element::U8, 255), (Element::U16, 65535)] {
            let stripes = |x: usize| if x.is_multiple_of(2) { 0 } else { white };
            let pictures: [Vec<u16>; 4] = [
                vec![200; from],
                (0..from).map(stripes).collect(),
                (0..from).map(|x| if x < from / 3 { white } else { 0 }).collect(),
                (0..from).map(|_| random.u16(0..=white)).collect(),
            ];
            for picture in pictures {
                let source: Vec<u8> = match element {
                    Element::U8 => picture.iter().map(|value| *value as u8).collect(),
                    _ => bytemuck::cast_slice(&picture).to_vec(),
                };
                for down in [false, true] {
                    let size = |extent: usize| if down { [1, extent] } else { [extent, 1] };
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
                        let most = if element == Element::U16 && from > 8 * to {
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
