//! The filters of the CPU path against the specification's reference.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

use half::f16;
use proptest::prelude::*;
use tripipe::cpu::{self, CpuError, Threads};
use tripipe_kernels::filter::reference::{self, Mismatch};
use tripipe_kernels::filter::{
    Bilateral, Border, Chain, Color, Element, FilterError, Gradient, Interpolation, Layout, Linear,
    Morphology, Neighbourhood, Raster, Semiplanar, Stage, resize_reference,
};

const BORDERS: [Border; 6] = [
    Border::None,
    Border::Constant(37.4),
    Border::Replicate,
    Border::Reflect,
    Border::Reflect101,
    Border::Wrap,
];

/// Bytes that look random and, as pixels, are finite and often at the ends of their range.
fn noise(element: Element, bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 16
    };
    let mut value = move || match next() % 5 {
        0 => [0, 0xFFFF][next() as usize % 2],
        _ => next() as u16,
    };
    match element {
        Element::U8 => (0..bytes).map(|_| value() as u8).collect(),
        // The ends of the signed range are the middle of the unsigned one.
        Element::I16 => (0..bytes / 2).flat_map(|_| (value() ^ 0x8000).to_ne_bytes()).collect(),
        Element::U16 => (0..bytes / 2).flat_map(|_| value().to_ne_bytes()).collect(),
        Element::F16 => (0..bytes / 2)
            .flat_map(|_| f16::from_f32(f32::from(value()) / 300.0 - 70.0).to_ne_bytes())
            .collect(),
        Element::F32 => {
            (0..bytes / 4).flat_map(|_| (f32::from(value()) / 300.0 - 70.0).to_ne_bytes()).collect()
        }
    }
}

/// Filters noise on one thread and on all, and compares with the reference.
fn check(chain: &Chain, from: &Raster, to: &Raster) {
    let source = noise(from.element, from.elements().unwrap() * from.element.bytes(), 7);
    let len = to.elements().unwrap() * to.element.bytes();
    for threads in [Threads::One, Threads::All] {
        let mut result = vec![0xA5; len];
        cpu::filter(chain, from, &source, to, &mut result, threads).unwrap();
        let compared = reference::verify(chain, from, &source, to, &result);
        assert_eq!(compared, Ok(()), "{threads:?} {chain:?}\n{from:?}\n{to:?}");
    }
}

/// The same for rasters without gaps, in both layouts.
fn check_layouts(chain: &Chain, size: [usize; 2], channels: usize, element: Element) {
    for from in [Raster::packed(size, channels, element), Raster::planar(size, channels, element)] {
        check(chain, &from, &chain.apply_to(&from).unwrap());
    }
}

fn linear(linear: Linear) -> Stage {
    Stage::Linear(linear)
}

/// Every kind of stage, and every path of the weighted sums. The comments name the property that selects the path.
fn stages() -> Vec<Stage> {
    let ramp = |len: i32| (0..len).map(|i| i - len / 3).collect::<Vec<i32>>();
    vec![
        linear(Linear::laplace_sharpen()),
        linear(Linear::gaussian(5, None).unwrap()),
        // 32 bits across, 16 down.
        linear(Linear::gaussian(7, Some(1.4)).unwrap()),
        // Sums of bytes and of 16-bit values that need all of 32 bits.
        linear(Linear::gaussian(29, Some(100.0)).unwrap()),
        linear(Linear::gaussian(29, Some(100.0)).unwrap().with_offset(-90).to(Element::I16)),
        linear(Linear::gaussian(9, None).unwrap().to(Element::F32)),
        linear(Linear::full([3, 1], vec![1 << 14, 5, 17], (1 << 31) + 5).unwrap()),
        linear(Linear::sobel_x().to(Element::I16)),
        linear(Linear::scharr_y().to(Element::F32)),
        // Divisors that are not powers of two, in 16 bits, and in 32 because of the offset.
        linear(Linear::mean([3, 5]).unwrap()),
        linear(Linear::mean([5, 3]).unwrap().with_offset(-9)),
        linear(Linear::sobel_y().with_offset(128).to(Element::U16)),
        linear(Linear::unsharp(3, None, 0.7).unwrap()),
        // A divisor that is not a power of two with sums of both signs.
        linear(Linear::full([3, 5], ramp(15), 7).unwrap()),
        linear(Linear::full([1, 1], vec![0], 1).unwrap()),
        linear(Linear::mean([31, 1]).unwrap().to(Element::F16)),
        linear(Linear::separable(vec![1], ramp(9), 3).unwrap()),
        Stage::Gradient(Gradient::Sobel),
        Stage::Gradient(Gradient::Scharr),
        Stage::Median { size: 3 },
        Stage::Median { size: 5 },
        Stage::Morphology(Morphology::Erode(Neighbourhood::Rectangle([5, 3]))),
        Stage::Morphology(Morphology::Dilate(Neighbourhood::Rectangle([1, 7]))),
        Stage::Morphology(Morphology::Dilate(Neighbourhood::Cross([7, 5]))),
        Stage::Bilateral(Bilateral { size: 5, sigma_color: 30.0, sigma_space: 1.5 }),
        Stage::Convert { to: Element::U8, scale: 0.7, offset: 3.5 },
        Stage::Convert { to: Element::F16, scale: -0.3, offset: 0.0 },
    ]
}

#[test]
fn every_stage_for_every_element() {
    for stage in stages() {
        for element in Element::ALL {
            let chain = Chain::one(stage.clone(), Border::Reflect101);
            check_layouts(&chain, [19, 9], 1, element);
            check_layouts(&chain, [11, 8], 3, element);
        }
    }
}

#[test]
fn every_stage_for_every_border() {
    for stage in stages() {
        for (border, element) in BORDERS.into_iter().zip(Element::ALL.into_iter().cycle()) {
            let chain = Chain { keep_alpha: true, ..Chain::one(stage.clone(), border) };
            check_layouts(&chain, [13, 10], 4, element);
            check_layouts(&Chain::one(stage.clone(), border), [21, 7], 2, Element::U8);
        }
    }
}

/// Images narrower and lower than the windows.
#[test]
fn small_images() {
    for stage in stages() {
        for border in BORDERS {
            for size in [[1, 1], [1, 6], [5, 1], [2, 3], [4, 2]] {
                check_layouts(&Chain::one(stage.clone(), border), size, 1, Element::U8);
                check_layouts(&Chain::one(stage.clone(), border), size, 3, Element::F32);
            }
        }
    }
}

#[test]
fn every_color() {
    let colors = [
        Color::RgbToGray,
        Color::BgrToGray,
        Color::GrayToRgb,
        Color::SwapRedBlue,
        Color::DropAlpha,
        Color::AddAlpha,
        Color::RgbToYuv,
        Color::YuvToRgb,
        Color::RgbToYcrcb,
        Color::YcrcbToRgb,
    ];
    for color in colors {
        for channels in (1..=4).filter(|channels| color.channels(*channels).is_ok()) {
            for element in Element::ALL {
                check_layouts(&Chain::one(Stage::Color(color), Border::None), [70, 5], channels, element);
            }
        }
    }
}

/// The filter with a dedicated implementation.
#[test]
fn laplace() {
    for (size, channels) in
        [([1, 1], 1), ([2, 9], 3), ([70, 9], 1), ([33, 12], 3), ([40, 8], 4), ([300, 200], 3)]
    {
        for keep_alpha in [false, true] {
            let chain = Chain { keep_alpha, ..Chain::one(linear(Linear::laplace_sharpen()), Border::None) };
            check_layouts(&chain, size, channels, Element::U8);
        }
    }
}

/// Windows after windows, types that change in between, and colour; each stage reads the rounded results of the one
/// before.
#[test]
fn chains() {
    let chains = [
        vec![
            Stage::Color(Color::RgbToGray),
            linear(Linear::gaussian(5, None).unwrap()),
            Stage::Gradient(Gradient::Sobel),
            Stage::Morphology(Morphology::Dilate(Neighbourhood::Rectangle([3, 3]))),
        ],
        vec![
            linear(Linear::gaussian(3, Some(0.9)).unwrap().to(Element::F16)),
            Stage::Convert { to: Element::I16, scale: 3.0, offset: -100.0 },
            Stage::Median { size: 3 },
            linear(Linear::laplace4().to(Element::F32)),
            Stage::Convert { to: Element::U8, scale: 0.5, offset: 128.0 },
        ],
        vec![
            Stage::Color(Color::AddAlpha),
            linear(Linear::mean([3, 7]).unwrap()),
            Stage::Color(Color::DropAlpha),
            Stage::Color(Color::RgbToYuv),
        ],
    ];
    for stages in chains {
        for border in BORDERS {
            for keep_alpha in [false, true] {
                let chain = Chain { stages: stages.clone(), border, keep_alpha };
                for size in [[1, 2], [6, 3], [33, 40]] {
                    check_layouts(&chain, size, 3, Element::U8);
                }
                check_layouts(&chain, [10, 12], 3, Element::F16);
            }
        }
    }
}

/// Sizes around the blocks, around the chunks of a row, and above the size from which all threads are used.
#[test]
fn lengths_of_rows() {
    let chain = |stage: Stage| Chain::one(stage, Border::Replicate);
    for stage in [linear(Linear::gaussian(5, None).unwrap()), Stage::Median { size: 3 }] {
        for width in [63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 4161] {
            check(
                &chain(stage.clone()),
                &Raster::packed([width, 2], 1, Element::U8),
                &Raster::packed([width, 2], 1, Element::U8),
            );
        }
    }
    let wide = Raster::packed([1400, 3], 3, Element::U8);
    let flat = Raster::packed([260, 700], 1, Element::U8);
    for stage in [
        linear(Linear::laplace_sharpen()),
        Stage::Morphology(Morphology::Erode(Neighbourhood::Cross([3, 3]))),
    ] {
        for border in BORDERS {
            let chain = Chain::one(stage.clone(), border);
            check(&chain, &wide, &wide);
            let twice = Chain { stages: vec![stage.clone(), stage.clone()], ..chain };
            check(&twice, &flat, &flat);
        }
    }
}

/// Regions, gaps, different layouts of source and result, and unaligned bytes. Nothing outside the result's pixels is
/// written.
#[test]
fn places() {
    let chain = Chain::one(linear(Linear::gaussian(3, None).unwrap()), Border::Reflect);
    for (element, channels) in [(Element::U8, 3), (Element::U16, 1), (Element::F16, 2), (Element::F32, 4)] {
        let size = [23, 11];
        let all = [Raster::packed(size, channels, element), Raster::planar(size, channels, element)];
        let parts = all.map(|raster| {
            let pitched = raster.with_pitch(raster.pitch + 5);
            pitched.region([3, 2], [14, 7]).unwrap()
        });
        for from in parts {
            for to in parts {
                let bytes = element.bytes();
                let source = noise(element, from.elements().unwrap() * bytes, 5);
                // The bytes that differ afterwards are those that are not written.
                let [want, other] = [0xA5, 0x5A].map(|byte| {
                    let mut want = vec![byte; to.elements().unwrap() * bytes];
                    reference::apply(&chain, &from, &source, &to, &mut want).unwrap();
                    want
                });
                // Shifted by one byte, so that it is unaligned whatever the alignment of the vector.
                let mut shifted = vec![0; source.len() + 1];
                shifted[1..].copy_from_slice(&source);
                for off in [0, 1] {
                    let mut result = vec![0xA5; want.len() + off];
                    cpu::filter(&chain, &from, &shifted[1..], &to, &mut result[off..], Threads::One).unwrap();
                    if element.is_float() {
                        reference::verify(&chain, &from, &source, &to, &result[off..]).unwrap();
                        let gaps = want.iter().zip(&other).zip(&result[off..]).filter(|((a, b), _)| a != b);
                        assert!(gaps.clone().count() > 0, "{to:?}");
                        assert!(gaps.map(|(_, found)| found).all(|found| *found == 0xA5), "{to:?}");
                    } else {
                        assert_eq!(result[off..], want, "{from:?} {to:?}");
                    }
                }
            }
        }
    }
}

/// NaN and infinity propagate to every result in which their weight is not 0, and to integers as the specification
/// says.
#[test]
fn not_finite() {
    let from = Raster::packed([9, 9], 1, Element::F32);
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut source = vec![1.0f32; 81];
        source[40] = bad;
        let source: &[u8] = bytemuck::cast_slice(&source);
        for stage in [
            linear(Linear::laplace4()),
            linear(Linear::sobel_x()),
            linear(Linear::gaussian(5, Some(1.0)).unwrap().to(Element::U8)),
            Stage::Bilateral(Bilateral { size: 3, sigma_color: 1.0, sigma_space: 1.0 }),
            Stage::Convert { to: Element::I16, scale: -1.0, offset: 0.0 },
        ] {
            // The reference's bounds of bilateral means do not support NaN.
            if bad.is_nan() && matches!(stage, Stage::Bilateral(_)) {
                continue;
            }
            let chain = Chain::one(stage, Border::Wrap);
            let to = chain.apply_to(&from).unwrap();
            let mut result = vec![0; 81 * to.element.bytes()];
            cpu::filter(&chain, &from, source, &to, &mut result, Threads::One).unwrap();
            assert_eq!(reference::verify(&chain, &from, source, &to, &result), Ok(()), "{bad} {chain:?}");
        }
    }
}

/// The definition of [`Semiplanar`], written out: the pixel of a frame, and luma and chroma of pixels.
fn rgb_of(y: u8, u: u8, v: u8) -> [u8; 3] {
    let [u, v] = [u, v].map(|chroma| i64::from(chroma) - 128);
    let white = 1_220_542 * (i64::from(y) - 16).max(0) + (1 << 19);
    [1_673_527 * v, -852_492 * v - 409_993 * u, 2_116_026 * u]
        .map(|color| ((white + color) >> 20).clamp(0, 255) as u8)
}

#[test]
fn frames() {
    for (size, channels, v_first) in
        [([7, 5], 3, false), ([2051, 4], 4, true), ([1, 1], 3, true), ([512, 300], 3, false)]
    {
        let [width, height] = size;
        let frame = if v_first { Semiplanar::nv21(size) } else { Semiplanar::nv12(size) };
        let bytes = noise(Element::U8, frame.chroma[0] + frame.chroma[1] * height.div_ceil(2), 3);
        for to in [Raster::packed(size, channels, Element::U8), Raster::planar(size, channels, Element::U8)] {
            let mut image = vec![0; to.elements().unwrap()];
            cpu::semiplanar_to_rgb(&frame, &bytes, &bytes, &to, &mut image, Threads::All).unwrap();
            for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                let chroma = frame.chroma[0] + y / 2 * frame.chroma[1] + x / 2 * 2;
                let order = if v_first { [1, 0] } else { [0, 1] };
                let [u, v] = order.map(|at: usize| bytes[chroma + at]);
                let want = rgb_of(bytes[y * width + x], u, v);
                for channel in 0..channels {
                    let want = want.get(channel).copied().unwrap_or(255);
                    assert_eq!(image[to.index([x, y], channel)], want, "{to:?} ({x}, {y}) {channel}");
                }
            }
            let mut luma = vec![0; width * height];
            let mut chroma = vec![0; frame.chroma[1] * height.div_ceil(2)];
            let apart = Semiplanar { chroma: [0, frame.chroma[1]], ..frame };
            cpu::rgb_to_semiplanar(&to, &image, &apart, &mut luma, &mut chroma, Threads::All).unwrap();
            let at = |x: usize, y: usize| {
                [0, 1, 2]
                    .map(|channel| i64::from(image[to.index([x.min(width - 1), y.min(height - 1)], channel)]))
            };
            for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                let [r, g, b] = at(x, y);
                let want = ((269_484 * r + 528_482 * g + 102_760 * b + (1 << 19)) >> 20) + 16;
                assert_eq!(i64::from(luma[y * width + x]), want, "{to:?} luma ({x}, {y})");
                let [x, y] = [x / 2 * 2, y / 2 * 2];
                let four = [at(x, y), at(x + 1, y), at(x, y + 1), at(x + 1, y + 1)];
                let [r, g, b] =
                    [0, 1, 2].map(|channel: usize| four.iter().map(|pixel| pixel[channel]).sum::<i64>());
                let u = ((-155_188 * r - 305_135 * g + 460_324 * b + (1 << 21)) >> 22) + 128;
                let v = ((460_324 * r - 385_875 * g - 74_448 * b + (1 << 21)) >> 22) + 128;
                let want = if v_first { [v, u] } else { [u, v] };
                let found = &chroma[y / 2 * frame.chroma[1] + x..][..2];
                assert_eq!(found, want.map(|chroma| chroma.clamp(0, 255) as u8), "{to:?} chroma ({x}, {y})");
            }
        }
    }
    // OpenCV's `COLOR_YUV2RGB_NV12` of gray, of black, and of white.
    assert_eq!(
        [rgb_of(126, 128, 128), rgb_of(16, 128, 128), rgb_of(235, 128, 128)],
        [[128; 3], [0; 3], [255; 3]]
    );
    let frame = Semiplanar::nv12([4, 4]);
    let to = Raster::packed([4, 4], 3, Element::U8);
    let error =
        cpu::semiplanar_to_rgb(&frame, &[0; 16], &[0; 23], &to, &mut [0; 48], Threads::One).unwrap_err();
    assert_eq!(error, CpuError::Filter(FilterError::Length { what: "chroma", want: 24, found: 23 }));
    assert!(
        cpu::semiplanar_to_rgb(
            &Semiplanar::nv12([4, 2]),
            &[0; 24],
            &[0; 24],
            &to,
            &mut [0; 48],
            Threads::One
        )
        .is_err()
    );
}

#[test]
fn other_extents() {
    let sizes = [[1, 1], [7, 5], [40, 3], [64, 65], [13, 90], [4, 700]];
    for interpolation in [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Area] {
        for (from, to) in sizes.into_iter().flat_map(|from| sizes.map(|to| (from, to))) {
            for (index, element) in Element::ALL.into_iter().enumerate() {
                let channels = 1 + (index + from[0]) % 4;
                let from = Raster::packed(from, channels, element);
                let to = Raster::planar(to, channels, element);
                for (from, to) in [(from, to), (to, from)] {
                    let source = noise(element, from.elements().unwrap() * element.bytes(), 3);
                    let mut want = vec![0; to.elements().unwrap() * element.bytes()];
                    resize_reference(interpolation, &from, &source, &to, &mut want).unwrap();
                    let mut found = vec![0; want.len()];
                    cpu::resize(interpolation, &from, &source, &to, &mut found, Threads::All).unwrap();
                    let place = format!("{interpolation:?} {from:?} {to:?}");
                    match element {
                        Element::U8 | Element::I16 | Element::U16 => assert_eq!(found, want, "{place}"),
                        // Values are at most 150: within 2^-20 of that, and one unit in the last place of the element.
                        Element::F16 => {
                            close(
                                &bytemuck::pod_collect_to_vec::<u8, f16>(&found),
                                &bytemuck::pod_collect_to_vec(&want),
                                0.125,
                                &place,
                            );
                        }
                        Element::F32 => {
                            close(
                                &bytemuck::pod_collect_to_vec::<u8, f32>(&found),
                                &bytemuck::pod_collect_to_vec(&want),
                                150.0 / 1_048_576.0,
                                &place,
                            );
                        }
                    }
                }
            }
        }
    }
    let [from, to] = [3, 4].map(|channels| Raster::packed([4, 4], channels, Element::U8));
    let error =
        cpu::resize(Interpolation::Area, &from, &[0; 48], &to, &mut [0; 64], Threads::One).unwrap_err();
    assert!(matches!(error, CpuError::Filter(FilterError::Result { .. })), "{error}");
    let none = Raster::packed([0, 4], 3, Element::U8);
    cpu::resize(Interpolation::Area, &none, &[], &none, &mut [], Threads::One).unwrap();
}

fn close<T: Copy + Into<f64>>(found: &[T], want: &[T], bound: f64, place: &str) {
    for (found, want) in found.iter().zip(want) {
        let [found, want]: [f64; 2] = [(*found).into(), (*want).into()];
        assert!((found - want).abs() <= bound, "{place}: {found}, not {want}");
    }
}

#[test]
fn refused() {
    let from = Raster::packed([4, 3], 3, Element::U8);
    let chain = Chain::one(Stage::Median { size: 3 }, Border::Wrap);
    let mut result = [7; 36];
    let error = cpu::filter(&chain, &from, &[0; 35], &from, &mut result, Threads::All).unwrap_err();
    assert_eq!(error, CpuError::Filter(FilterError::Length { what: "source", want: 36, found: 35 }));
    let error = cpu::filter(&chain, &from, &[0; 36], &from, &mut result[1..], Threads::All).unwrap_err();
    assert_eq!(error.to_string(), "the result has 35 bytes; its pixels take 36");
    let four = Chain::one(Stage::Median { size: 4 }, Border::Wrap);
    assert!(cpu::filter(&four, &from, &[0; 36], &from, &mut result, Threads::All).is_err());
    assert_eq!(result, [7; 36]);
    // No pixels: there is nothing to do.
    for size in [[0, 3], [4, 0], [0, 0]] {
        let none = Raster::packed(size, 3, Element::U8);
        cpu::filter(&chain, &none, &[], &none, &mut [], Threads::All).unwrap();
    }
}

/// Checks that the comparison can fail: a result with one wrong bit is detected.
#[test]
fn the_comparison_sees_one_bit() {
    let from = Raster::packed([40, 30], 1, Element::U8);
    let chain = Chain::one(linear(Linear::gaussian(5, None).unwrap()), Border::Wrap);
    let source = noise(Element::U8, 1200, 1);
    let mut result = vec![0; 1200];
    cpu::filter(&chain, &from, &source, &from, &mut result, Threads::All).unwrap();
    result[777] ^= 1;
    let compared = reference::verify(&chain, &from, &source, &from, &result);
    assert!(matches!(compared, Err(Mismatch::Pixel { x: 17, y: 19, count: 1, .. })), "{compared:?}");
}

fn any_raster() -> impl Strategy<Value = Raster> {
    let element = prop::sample::select(Element::ALL.to_vec());
    (1usize..90, 1usize..40, 1usize..=4, element, any::<bool>(), 0usize..4).prop_map(
        |(width, height, channels, element, planar, gap)| {
            let raster =
                if planar { Raster::planar } else { Raster::packed }([width, height], channels, element);
            raster.with_pitch(raster.pitch + gap)
        },
    )
}

/// Whether no stage turns the noise into infinity or NaN.
fn stays_finite(chain: &Chain, from: &Raster) -> bool {
    let source = noise(from.element, from.elements().unwrap() * from.element.bytes(), 7);
    (1..=chain.stages.len()).all(|count| {
        let stages = chain.stages[..count].to_vec();
        let part = Chain { stages, ..*chain };
        let to = part.apply_to(from).unwrap();
        let mut result = vec![0; to.elements().unwrap() * to.element.bytes()];
        reference::apply(&part, from, &source, &to, &mut result).unwrap();
        match to.element {
            Element::U8 | Element::I16 | Element::U16 => true,
            Element::F16 => {
                bytemuck::pod_collect_to_vec::<u8, f16>(&result).iter().all(|value| value.is_finite())
            }
            Element::F32 => {
                bytemuck::pod_collect_to_vec::<u8, f32>(&result).iter().all(|value| value.is_finite())
            }
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn random_chains(
        from in any_raster(),
        stages in prop::collection::vec(prop::sample::select(stages()), 1..4),
        border in prop::sample::select(BORDERS.to_vec()),
        keep_alpha: bool,
        packed: bool,
    ) {
        let chain = Chain { stages, border, keep_alpha };
        // Sums of sums may exceed 32 bits, and the range of half precision: then medians are unspecified.
        if let Ok(mut to) = chain.apply_to(&from) && stays_finite(&chain, &from) {
            if packed && to.layout == Layout::Planar {
                to = Raster::packed([to.width, to.height], to.channels, to.element);
            }
            check(&chain, &from, &to);
        }
    }
}

/// Blurs of pictures with structure in every direction, compared with sums in `f64`: bytes are within 1 of the rounded
/// exact value.
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
        let raster = Raster::packed([width, height], 1, Element::U8);
        for picture in pictures {
            let at = |x: isize, y: isize| {
                picture(x.clamp(0, width as isize - 1) as usize, y.clamp(0, height as isize - 1) as usize)
            };
            let source: Vec<u8> =
                (0..height as isize).flat_map(|y| (0..width as isize).map(move |x| at(x, y))).collect();
            let mut found = vec![0; source.len()];
            cpu::filter(&chain, &raster, &source, &raster, &mut found, Threads::All).unwrap();
            for (index, found) in found.iter().enumerate() {
                let [x, y] = [index % width, index / width].map(|at| at as isize);
                let row = |dy: isize| -> f64 {
                    (-half..=half).zip(&bell).map(|(dx, weight)| weight * f64::from(at(x + dx, y + dy))).sum()
                };
                let want: f64 =
                    (-half..=half).zip(&bell).map(|(dy, weight)| weight * row(dy)).sum::<f64>() / (sum * sum);
                let off = (f64::from(*found) - want.round()).abs();
                assert!(off <= 1.0, "gaussian:{size}:{sigma:?} at ({x}, {y}): {found}, {want}");
            }
        }
    }
}

/// NaN and infinity propagate exactly as specified; NaN in medians, erosions and dilations is unspecified.
#[test]
fn nan_and_infinity() {
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let stages =
        stages().into_iter().filter(|stage| !matches!(stage, Stage::Median { .. } | Stage::Morphology(_)));
    let colors = [Color::RgbToGray, Color::RgbToYuv, Color::YcrcbToRgb].map(Stage::Color);
    for stage in stages.chain(colors) {
        for border in [Border::Reflect101, Border::Constant(f32::NAN), Border::Constant(f32::INFINITY)] {
            let channels = if matches!(stage, Stage::Color(_)) { 3 } else { 1 };
            let chain = Chain::one(stage.clone(), border);
            let from = Raster::packed([23, 19], channels, Element::F32);
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
            let size = |extent: usize| if down { [1, extent] } else { [extent, 1] };
            let [from, to] = [from, to].map(|extent| Raster::packed(size(extent), 1, Element::F32));
            let mut found = vec![0.0f32; want.len()];
            let bytes = bytemuck::cast_slice_mut(&mut found);
            cpu::resize(interpolation, &from, bytemuck::cast_slice(&pixels), &to, bytes, Threads::One)
                .unwrap();
            let found: Vec<bool> = found.iter().map(|value| value.is_nan()).collect();
            assert_eq!(found, want, "{interpolation:?}");
        }
    }
}
