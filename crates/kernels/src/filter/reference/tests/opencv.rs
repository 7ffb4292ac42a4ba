//! The results of OpenCV 5.0.0's Python module for [`picture`], by the call named beside each. For border `Wrap`, which
//! its filters do not support, the picture was extended with `copyMakeBorder(.., BORDER_WRAP)` before the filter and
//! cropped after it.

use super::*;

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
        |linear: Linear| shorts(&filtered_gray(Stage::Linear(linear.to(PixelType::I16)), Border::Reflect101));
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
    let tables: [(usize, [u8; 35]); 4] = [
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
        // GaussianBlur(picture, (9, 9), 0)
        (
            9,
            [
                125, 127, 133, 137, 138, 139, 139, 127, 129, 134, 138, 139, 140, 140, 130, 131, 136, 139,
                140, 140, 140, 130, 132, 136, 140, 141, 141, 140, 129, 131, 136, 139, 141, 141, 140,
            ],
        ),
    ];
    for (size, want) in tables {
        let gaussian = Linear::gaussian(size, None).unwrap();
        assert_eq!(filtered_gray(Stage::Linear(gaussian), Border::Reflect101), want, "{size}");
    }
    // GaussianBlur(picture.astype(uint16) * 257, (9, 9), 0) and (5, 5), 1.0: within 1 of what are within 1 of the exact
    // ones.
    let wide = [
        (9, None, [32098u16, 32720, 34071, 35097, 35508, 35698, 35774]),
        (5, Some(1.0), [24122, 27540, 33478, 35749, 33900, 35268, 37160]),
    ];
    let words: Vec<u8> = picture(1).iter().flat_map(|byte| (u16::from(*byte) * 257).to_ne_bytes()).collect();
    for (size, sigma, want) in wide {
        let chain = Chain::one(Stage::Linear(Linear::gaussian(size, sigma).unwrap()), Border::Reflect101);
        let found = filtered(&chain, &Raster::packed(SIZE, 1, PixelType::U16), &words);
        let found: Vec<u16> = bytemuck::pod_collect_to_vec(&found);
        assert!(found.iter().zip(want).all(|(found, want)| found.abs_diff(want) <= 1), "{found:?}");
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
    assert_eq!(
        filtered_gray(Stage::Linear(Linear::mean(Size::new(5, 3)).unwrap()), Border::Reflect101),
        want
    );
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
    let found = floats(&filtered(&chain, &Raster::packed(SIZE, 1, PixelType::F32), &source));
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
            Stage::Morphology(Morphology::Erode(Neighbourhood::Rectangle(Size::new(5, 3)))),
            [
                0, 0, 0, 35, 35, 35, 35, 0, 0, 0, 35, 35, 35, 35, 17, 17, 17, 35, 35, 35, 35, 17, 17, 17, 30,
                30, 41, 41, 17, 17, 17, 30, 30, 41, 41,
            ],
        ),
        // dilate(picture, getStructuringElement(MORPH_CROSS, (5, 3)), borderType=BORDER_REPLICATE)
        (
            Stage::Morphology(Morphology::Dilate(Neighbourhood::Cross(Size::new(5, 3)))),
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
        let from = Raster::packed(SIZE, channels, PixelType::U8);
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
    let recolored = |color: Color, element: PixelType, source: &[u8]| {
        let width = source.len() / 3 / element.bytes();
        let from = Raster::packed(Size::new(width, 1), 3, element);
        filtered(&Chain::one(Stage::Color(color), Border::None), &from, source)
    };
    // COLOR_RGB2GRAY, COLOR_BGR2GRAY
    assert_eq!(recolored(Color::RgbToGray, PixelType::U8, &rgb), [79, 132, 156, 59, 112, 88]);
    assert_eq!(recolored(Color::BgrToGray, PixelType::U8, &rgb), [115, 168, 144, 47, 100, 124]);
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
        assert_eq!(recolored(color, PixelType::U8, &rgb), want, "{color:?}");
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
        let found = recolored(color, PixelType::U16, bytemuck::cast_slice(&wide));
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, u16>(&found), want, "{color:?}");
    }
}
