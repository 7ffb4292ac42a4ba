//! Resized images and frames of cameras.

use bytemuck::{cast_slice, pod_collect_to_vec};
use fastrand::Rng;
use tripipe_kernels::Role;
use tripipe_kernels::filter::{
    AffineMap, Border, Interpolation, PixelType, Raster, Semiplanar, Size, affine, affine_reference, resize,
    resize_reference, rgb_to_semiplanar, semiplanar_to_rgb,
};

use super::drawn::{choose, laid_out, placed};
use super::{ONE_INPUT, WITHOUT_HALF, executors, noise, picture, room, run_over};

/// Any ratio, every element type: integers exact to the bit, the others within 2^-20 of the largest magnitude, plus
/// half a unit of `half`.
#[test]
fn images_are_resized() {
    let mut random = Rng::with_seed(4);
    for mut executor in executors() {
        let sizes = [Size::new(7, 5), Size::square(1), Size::new(20, 9), Size::new(3, 14)];
        let methods = [
            Interpolation::Nearest,
            Interpolation::Bilinear,
            Interpolation::Area,
            Interpolation::Cubic,
            Interpolation::Lanczos4,
        ];
        for (turn, interpolation) in methods.into_iter().cycle().take(15).enumerate() {
            let element = choose(&mut random, &WITHOUT_HALF);
            let (channels, size) = (random.usize(1..=4), [sizes[turn % 4], choose(&mut random, &sizes)]);
            let rasters = size.map(|size| laid_out(&mut random, size, channels, element));
            let [from, to] = rasters.map(|raster| placed(&mut random, &raster));
            let source = noise(&mut random, element, room(&from));
            let before = noise(&mut random, element, room(&to));
            let planned = resize(interpolation, &from, &to, executor.probe()).unwrap();
            let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&source, &before]);
            let mut want = before.clone();
            resize_reference(interpolation, &from, &source, &to, &mut want).unwrap();
            let place = format!("{interpolation:?} {from:?} {to:?}");
            if element == PixelType::F32 {
                let [found, want] = [&found[1], &want].map(|bytes| pod_collect_to_vec::<u8, f32>(bytes));
                for (found, want) in found.iter().zip(want) {
                    assert!((found - want).abs() <= 300.0 / 1_048_576.0, "{place}: {found}, {want}");
                }
            } else {
                assert_eq!(found[1], want, "{place}");
            }
        }
    }
}

/// Any map and border, likewise.
#[test]
fn images_are_mapped() {
    let mut random = Rng::with_seed(5);
    for mut executor in executors() {
        let borders =
            [Border::Constant(77.5), Border::Replicate, Border::Reflect, Border::Reflect101, Border::Wrap];
        let methods = [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Cubic];
        for (turn, border) in borders.into_iter().cycle().take(15).enumerate() {
            let (element, how) = (choose(&mut random, &WITHOUT_HALF), methods[turn % 3]);
            let mut number = |scale: f64| scale * (2.0 * random.f64() - 1.0);
            let map = AffineMap {
                x: [number(2.0), number(1.0), number(20.0)],
                y: [number(1.0), number(2.0), number(20.0)],
            };
            let sizes = [Size::new(7, 5), Size::square(1), Size::new(20, 9), Size::new(3, 14)];
            let size = [choose(&mut random, &sizes), choose(&mut random, &sizes)];
            let channels = random.usize(1..=4);
            let rasters = size.map(|size| laid_out(&mut random, size, channels, element));
            let [from, to] = rasters.map(|raster| placed(&mut random, &raster));
            let source = noise(&mut random, element, room(&from));
            let before = noise(&mut random, element, room(&to));
            let planned = affine(&map, how, border, &from, &to, executor.probe()).unwrap();
            let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&source, &before]);
            let mut want = before.clone();
            affine_reference(&map, how, border, [&from, &to], &source, &mut want).unwrap();
            let place = format!("{how:?} {border:?} {map:?} {from:?} {to:?}");
            if element == PixelType::F32 {
                let [found, want] = [&found[1], &want].map(|bytes| pod_collect_to_vec::<u8, f32>(bytes));
                for (found, want) in found.iter().zip(want) {
                    assert!((found - want).abs() <= 36.0 * 300.0 / 16_777_216.0, "{place}: {found}, {want}");
                }
            } else {
                assert_eq!(found[1], want, "{place}");
            }
        }
    }
}

/// Shrunk so far that a weight has few steps: the mean in `f64`, within 1.
#[test]
fn areas_are_means_however_far_they_shrink() {
    let mut random = Rng::with_seed(16);
    for mut executor in executors() {
        for (from, to) in [(83, 1), (77, 1), (1365, 1), (160, 3), (15, 2)] {
            for element in [PixelType::U8, PixelType::U16] {
                for flat in [true, false] {
                    let pixel = |random: &mut Rng| {
                        if element == PixelType::U8 { random.u16(..256) } else { random.u16(..) }
                    };
                    let pixels: Vec<u16> =
                        (0..from).map(|_| if flat { 200 } else { pixel(&mut random) }).collect();
                    let bytes: Vec<u8> = match element {
                        PixelType::U8 => pixels.iter().map(|value| *value as u8).collect(),
                        _ => cast_slice(&pixels).to_vec(),
                    };
                    let [source, result] =
                        [from, to].map(|extent| Raster::packed(Size::new(extent, 1), 1, element));
                    let planned = resize(Interpolation::Area, &source, &result, executor.probe()).unwrap();
                    let found = run_over(
                        executor.as_mut(),
                        &planned,
                        &ONE_INPUT,
                        &[&bytes, &vec![0; to * element.bytes()]],
                    );
                    let found: Vec<f64> = match element {
                        PixelType::U8 => found[1].iter().map(|value| f64::from(*value)).collect(),
                        _ => pod_collect_to_vec::<u8, u16>(&found[1])
                            .iter()
                            .map(|value| f64::from(*value))
                            .collect(),
                    };
                    for (at, found) in found.iter().enumerate() {
                        let [begin, end] = [at, at + 1].map(|edge| edge as f64 * from as f64 / to as f64);
                        let share = |x: usize| {
                            (end.min(x as f64 + 1.0) - begin.max(x as f64)).max(0.0) / (end - begin)
                        };
                        let mean: f64 = (0..from).map(|x| share(x) * f64::from(pixels[x])).sum();
                        assert!(
                            (found - mean).abs() <= 1.0,
                            "{from} to {to} of {element:?}: {found}, {mean}"
                        );
                    }
                }
            }
        }
    }
}

/// The result of `cv2.resize` (OpenCV 5.0.0) for the picture of 7 x 5, within 1: its weights are rounded differently.
#[test]
fn resized_images_are_opencv_s() {
    // INTER_LINEAR to 5 x 8 and 11 x 3; INTER_AREA to 3 x 2; INTER_NEAREST to 4 x 9.
    let tables: [(Interpolation, Size, &[u8]); 4] = [
        (
            Interpolation::Bilinear,
            Size::new(5, 8),
            &[
                7, 59, 111, 163, 214, 48, 108, 168, 116, 175, 107, 168, 233, 64, 122, 165, 142, 154, 157, 99,
                144, 132, 156, 169, 123, 42, 138, 237, 102, 194, 85, 115, 174, 121, 151, 126, 97, 119, 141,
                112,
            ],
        ),
        (
            Interpolation::Bilinear,
            Size::new(11, 3),
            &[
                30, 49, 75, 102, 128, 154, 126, 121, 148, 174, 193, 182, 211, 227, 105, 75, 115, 155, 195,
                235, 136, 48, 77, 116, 154, 100, 107, 161, 161, 137, 82, 120, 159,
            ],
        ),
        (Interpolation::Area, Size::new(3, 2), &[99, 135, 148, 121, 139, 136]),
        (
            Interpolation::Nearest,
            Size::new(4, 9),
            &[
                0, 37, 111, 185, 0, 37, 111, 185, 91, 141, 241, 85, 91, 141, 241, 85, 182, 245, 115, 241,
                182, 245, 115, 241, 17, 93, 245, 141, 17, 93, 245, 141, 108, 197, 119, 41,
            ],
        ),
    ];
    let source = picture([7, 5], 1);
    let from = Raster::packed(Size::new(7, 5), 1, PixelType::U8);
    for mut executor in executors() {
        for (interpolation, size, want) in &tables {
            let to = Raster::packed(*size, 1, PixelType::U8);
            let planned = resize(*interpolation, &from, &to, executor.probe()).unwrap();
            let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&source, &vec![0; want.len()]]);
            for (found, want) in found[1].iter().zip(*want) {
                assert!(found.abs_diff(*want) <= 1, "{interpolation:?} {size}: {found}, {want}");
            }
        }
    }
}

/// `cv2.cvtColor(.., COLOR_YUV2RGB_NV12)` and `NV21` (OpenCV 5.0.0) of 4 x 2 pixels; the luma of `COLOR_RGB2YUV_I420`
/// of the result, and chroma computed by hand.
#[test]
fn semiplanar_frames_are_opencv_s() {
    const FROM_FRAME: [Role; 3] = [Role::Luma, Role::Chroma, Role::Result];
    const TO_FRAME: [Role; 3] = [Role::Source, Role::Luma, Role::Chroma];
    let yuv: [u8; 12] = [16, 80, 150, 235, 40, 126, 200, 255, 90, 240, 200, 60];
    let rgb: [u8; 24] = [
        179, 0, 0, 253, 0, 0, 47, 183, 255, 146, 255, 255, 207, 0, 0, 255, 52, 51, 106, 241, 255, 170, 255,
        255,
    ];
    let swapped: [u8; 24] = [
        0, 0, 226, 14, 62, 255, 255, 124, 19, 255, 223, 118, 0, 15, 254, 67, 115, 255, 255, 182, 77, 255,
        246, 141,
    ];
    let luma: [u8; 8] = [62, 81, 145, 207, 69, 113, 190, 213];
    for mut executor in executors() {
        for (frame, want) in
            [(Semiplanar::nv12(Size::new(4, 2)), &rgb), (Semiplanar::nv21(Size::new(4, 2)), &swapped)]
        {
            let to = Raster::packed(Size::new(4, 2), 3, PixelType::U8);
            let planned = semiplanar_to_rgb(&frame, &to, executor.probe()).unwrap();
            let found = run_over(executor.as_mut(), &planned, &FROM_FRAME, &[&yuv, &yuv, &[0; 24]]);
            assert_eq!(found[2], want, "{frame:?}");
        }
        // Gaps, an odd edge, planes with alpha: the bytes in between must not change.
        let frame = Semiplanar { size: Size::new(3, 1), luma: [1, 9], chroma: [2, 7], v_first: false };
        let planes = Raster::planar(Size::new(3, 1), 4, PixelType::U8);
        let planned = semiplanar_to_rgb(&frame, &planes, executor.probe()).unwrap();
        // Y 126 is (126 - 16) * 1.164 = 128 without chroma.
        let found = run_over(
            executor.as_mut(),
            &planned,
            &FROM_FRAME,
            &[&[9, 126, 16, 235], &[0, 0, 128, 128, 128, 128], &[7; 13]],
        );
        assert_eq!(found[2], [128, 0, 255, 128, 0, 255, 128, 0, 255, 255, 255, 255, 7]);
        let from = Raster::packed(Size::new(4, 2), 3, PixelType::U8);
        let planned = rgb_to_semiplanar(&from, &Semiplanar::nv12(Size::new(4, 2)), executor.probe()).unwrap();
        let found = run_over(executor.as_mut(), &planned, &TO_FRAME, &[&rgb, &[5; 12], &[5; 12]]);
        assert_eq!(found[1][..8], luma);
        assert_eq!(found[1][8..], [5; 4]);
        for (pair, block) in [[0, 1], [2, 3]].into_iter().enumerate() {
            let pixel = |x: usize, y: usize, channel: usize| i64::from(rgb[(y * 4 + x) * 3 + channel]);
            let sum = |channel: usize| {
                block.iter().map(|x| pixel(*x, 0, channel) + pixel(*x, 1, channel)).sum::<i64>()
            };
            let (r, g, b) = (sum(0) as f64 / 4.0, sum(1) as f64 / 4.0, sum(2) as f64 / 4.0);
            // BT.601: -0.148 R - 0.291 G + 0.439 B + 128, 0.439 R - 0.368 G - 0.071 B + 128.
            let want =
                [-0.148 * r - 0.291 * g + 0.439 * b + 128.0, 0.439 * r - 0.368 * g - 0.071 * b + 128.0];
            for (found, want) in found[2][8 + 2 * pair..][..2].iter().zip(want) {
                assert!((f64::from(*found) - want).abs() < 0.7, "{found}, {want}");
            }
        }
    }
}
