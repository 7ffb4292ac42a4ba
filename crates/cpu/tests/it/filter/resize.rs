//! Other extents.

use half::f16;
use tripipe_cpu::{self as cpu, CpuError, Threads};
use tripipe_kernels::filter::{FilterError, Interpolation, PixelType, Raster, Size, resize_reference};

use super::noise;

const ALL: [Interpolation; 5] = [
    Interpolation::Nearest,
    Interpolation::Bilinear,
    Interpolation::Area,
    Interpolation::Cubic,
    Interpolation::Lanczos4,
];

#[test]
fn other_extents() {
    let sizes = [
        Size::square(1),
        Size::new(7, 5),
        Size::new(40, 3),
        Size::new(64, 65),
        Size::new(13, 90),
        Size::new(4, 700),
    ];
    for interpolation in ALL {
        for (from, to) in sizes.into_iter().flat_map(|from| sizes.map(|to| (from, to))) {
            for (index, element) in PixelType::ALL.into_iter().enumerate() {
                let channels = 1 + (index + from.width) % 4;
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
                        PixelType::U8 | PixelType::I16 | PixelType::U16 => assert_eq!(found, want, "{place}"),
                        // Values are at most 150: within 2^-20 of that, and one unit in the last place of the element.
                        PixelType::F16 => {
                            close(
                                &bytemuck::pod_collect_to_vec::<u8, f16>(&found),
                                &bytemuck::pod_collect_to_vec(&want),
                                0.125,
                                &place,
                            );
                        }
                        PixelType::F32 => {
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
    let [from, to] = [3, 4].map(|channels| Raster::packed(Size::square(4), channels, PixelType::U8));
    let error =
        cpu::resize(Interpolation::Area, &from, &[0; 48], &to, &mut [0; 64], Threads::One).unwrap_err();
    assert!(matches!(error, CpuError::Filter(FilterError::Result { .. })), "{error}");
    let none = Raster::packed(Size::new(0, 4), 3, PixelType::U8);
    cpu::resize(Interpolation::Area, &none, &[], &none, &mut [], Threads::One).unwrap();
}

/// Halves, copies and sums of two bytes have loops of their own, for blocks of pixels, and for rows in place or not.
#[test]
fn bytes_around_the_block_sizes() {
    let halves = [1, 2, 15, 31, 32, 33, 64, 97].map(|width| (Size::new(2 * width, 6), Size::new(width, 3)));
    let others = [
        (Size::new(15, 4), Size::new(22, 6)),
        (Size::new(16, 4), Size::new(24, 6)),
        (Size::new(17, 3), Size::new(40, 3)),
        (Size::new(66, 8), Size::new(44, 5)),
        (Size::new(67, 5), Size::new(33, 2)),
        (Size::new(70, 4), Size::new(9, 3)),
        (Size::square(2), Size::new(300, 4)),
        (Size::new(131, 6), Size::new(65, 3)),
        (Size::new(65, 4), Size::new(130, 8)),
    ];
    for (from_size, to_size) in halves.into_iter().chain(others) {
        for channels in 1..=4 {
            let packed = |size| Raster::packed(size, channels, PixelType::U8);
            let planar = |size| Raster::planar(size, channels, PixelType::U8);
            let apart = |size: Size| Raster { pitch: size.width * channels + 7, offset: 5, ..packed(size) };
            let rasters = [
                (packed(from_size), packed(to_size)),
                (apart(from_size), apart(to_size)),
                (planar(from_size), packed(to_size)),
                (packed(from_size), planar(to_size)),
            ];
            for (from, to) in rasters {
                let source = noise(PixelType::U8, from.elements().unwrap(), 4);
                for interpolation in ALL {
                    let mut want = vec![9; to.elements().unwrap()];
                    let mut found = want.clone();
                    resize_reference(interpolation, &from, &source, &to, &mut want).unwrap();
                    cpu::resize(interpolation, &from, &source, &to, &mut found, Threads::One).unwrap();
                    assert_eq!(found, want, "{interpolation:?} {from:?} {to:?}");
                }
            }
        }
    }
}

/// Shuffles pick floats out of windows of one or two vectors, of rows with whole vectors or not, in parts or not, in
/// place or not. NaN reaches what weighs it, and nothing else.
#[test]
fn floats_around_the_vector_sizes() {
    let sizes = [
        (Size::new(15, 4), Size::new(22, 6)),
        (Size::new(16, 4), Size::new(24, 6)),
        (Size::new(33, 3), Size::new(40, 3)),
        (Size::new(66, 8), Size::new(44, 5)),
        (Size::new(67, 5), Size::new(33, 2)),
        (Size::new(64, 6), Size::new(32, 3)),
        (Size::new(70, 4), Size::new(9, 3)),
        (Size::new(70, 4), Size::new(28, 9)),
        (Size::square(2), Size::new(300, 4)),
        (Size::new(131, 6), Size::new(65, 9)),
        (Size::new(65, 4), Size::new(130, 8)),
        (Size::new(40, 3), Size::new(40, 7)),
        (Size::new(2101, 2), Size::new(3090, 3)),
    ];
    let (mut made, mut nans) = (0, 0);
    for ((from_size, to_size), channels) in
        sizes.into_iter().flat_map(|sizes| (1..=4).map(move |channels| (sizes, channels)))
    {
        let packed = |size| Raster::packed(size, channels, PixelType::F32);
        let apart = |size: Size| Raster { pitch: size.width * channels + 7, offset: 5, ..packed(size) };
        let planar = Raster::planar(from_size, channels, PixelType::F32);
        let rasters = [
            (packed(from_size), packed(to_size)),
            (apart(from_size), apart(to_size)),
            (planar, packed(to_size)),
        ];
        // The reference takes long for wide rows.
        let rasters =
            if from_size.width < 2000 { &rasters[..] } else { &rasters[..usize::from(channels == 3)] };
        for &(from, to) in rasters {
            let source = noise(PixelType::F32, 4 * from.elements().unwrap(), 6);
            let mut source: Vec<f32> = bytemuck::pod_collect_to_vec(&source);
            let nan = from.index(from_size.width / 2, from_size.height / 2, channels - 1);
            source[nan] = f32::NAN;
            let source: &[u8] = bytemuck::cast_slice(&source);
            for interpolation in ALL {
                let mut want = vec![0.0f32; to.elements().unwrap()];
                let mut found = want.clone();
                let bytes = bytemuck::cast_slice_mut(&mut want);
                resize_reference(interpolation, &from, source, &to, bytes).unwrap();
                let bytes = bytemuck::cast_slice_mut(&mut found);
                cpu::resize(interpolation, &from, source, &to, bytes, Threads::One).unwrap();
                let place = format!("{interpolation:?} {from:?} {to:?}");
                let count = |from: usize, to: usize| from.div_ceil(to) + 1;
                let taps = count(from_size.width, to_size.width) + count(from_size.height, to_size.height);
                // As the description says; the reference's result is rounded once.
                let bound = (taps + 9) as f32 * 150.0 / 16_777_216.0;
                for (found, want) in found.iter().zip(&want) {
                    assert_eq!(found.is_nan(), want.is_nan(), "{place}: {found}, not {want}");
                    assert!(found.is_nan() || (found - want).abs() <= bound, "{place}: {found}, not {want}");
                    made += 1;
                    nans += usize::from(want.is_nan());
                }
            }
        }
    }
    assert!(nans > 100 && nans < made / 10, "{nans} of {made}");
}

/// Halves of all types, of rows in place or not.
#[test]
fn halves_of_every_type() {
    for (element, width) in
        PixelType::ALL.into_iter().flat_map(|element| [1, 31, 32, 33, 97].map(|width| (element, width)))
    {
        for channels in 1..=4 {
            let packed = |size| Raster::packed(size, channels, element);
            let apart = |size: Size| packed(size).with_pitch(size.width * channels + 3);
            let (from, to) = (Size::new(2 * width, 10), Size::new(width, 5));
            let planar = Raster::planar(from, channels, element);
            for (from, to) in [(packed(from), packed(to)), (apart(from), apart(to)), (planar, packed(to))] {
                let source = noise(element, from.elements().unwrap() * element.bytes(), 5);
                for interpolation in [Interpolation::Bilinear, Interpolation::Area] {
                    let mut want = vec![9; to.elements().unwrap() * element.bytes()];
                    let mut found = want.clone();
                    resize_reference(interpolation, &from, &source, &to, &mut want).unwrap();
                    cpu::resize(interpolation, &from, &source, &to, &mut found, Threads::One).unwrap();
                    let place = format!("{interpolation:?} {from:?} {to:?}");
                    match element {
                        // 12 2^-24 of values up to 150.
                        PixelType::F32 => close(
                            &bytemuck::pod_collect_to_vec::<u8, f32>(&found),
                            &bytemuck::pod_collect_to_vec(&want),
                            12.0 * 150.0 / 16_777_216.0,
                            &place,
                        ),
                        PixelType::F16 => close(
                            &bytemuck::pod_collect_to_vec::<u8, f16>(&found),
                            &bytemuck::pod_collect_to_vec(&want),
                            0.125,
                            &place,
                        ),
                        _ => assert_eq!(found, want, "{place}"),
                    }
                }
            }
        }
    }
    // The sum of four would be infinite.
    let [from, to] = [Size::square(2), Size::square(1)].map(|size| Raster::packed(size, 1, PixelType::F32));
    let mut found = [0; 4];
    let source: Vec<u8> = [f32::MAX; 4].iter().flat_map(|value| value.to_ne_bytes()).collect();
    cpu::resize(Interpolation::Area, &from, &source, &to, &mut found, Threads::One).unwrap();
    assert_eq!(f32::from_ne_bytes(found), f32::MAX);
}

fn close<T: Copy + Into<f64>>(found: &[T], want: &[T], bound: f64, place: &str) {
    for (found, want) in found.iter().zip(want) {
        let [found, want]: [f64; 2] = [(*found).into(), (*want).into()];
        assert!((found - want).abs() <= bound, "{place}: {found}, not {want}");
    }
}
