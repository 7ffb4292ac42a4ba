//! The locations of reads and writes, compared with models of the specification (OpenCL C 3.0, 8.1, 8.2 and 8.4).
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use proptest::prelude::*;
use tripipe_ir::op::{self, ImageFact, SamplerBits};
use tripipe_ir::{ImageAccess, ImageDim, ImageType};
use tripipe_launch::{
    Addressing, ChannelOrder, ChannelType, Filter, ImageExtent as E, ImageShape, ImageShapeError, Sampler,
};
use tripipe_simulate::image::{Image, ImageError, Reader, Sample, Texel, sampler};

const MODES: [Addressing; 5] = [
    Addressing::None,
    Addressing::ClampToEdge,
    Addressing::Clamp,
    Addressing::Repeat,
    Addressing::MirroredRepeat,
];

fn repeats(addressing: Addressing) -> bool {
    matches!(addressing, Addressing::Repeat | Addressing::MirroredRepeat)
}

fn shape(extent: E) -> ImageShape {
    ImageShape { extent, order: ChannelOrder::R, channel: ChannelType::F32 }
}

/// One `float` channel; texel `n` in memory is `n + 1`, so that none equals the border's 0.
fn counted(extent: E) -> (Image, Vec<u8>) {
    let image = Image::packed(&shape(extent)).unwrap();
    let texels = image.span_bytes() / 4;
    (image, (0..texels).flat_map(|texel| (texel as f32 + 1.0).to_ne_bytes()).collect())
}

fn reader(image: &Image, normalized: bool, addressing: Addressing, filter: Filter) -> Reader {
    Reader::new(image, Sampler { normalized, addressing, filter }).unwrap()
}

fn red(sample: Sample) -> f32 {
    let Texel::Float([red, ..]) = sample.texel else { panic!("{sample:?}") };
    red
}

/// The texel at any position of an endless line: the image tiled, mirrored, stretched or framed.
fn endless(addressing: Addressing, position: i64, size: i64) -> Option<i64> {
    let inside = (0..size).contains(&position);
    match addressing {
        Addressing::None | Addressing::Clamp => inside.then_some(position),
        Addressing::ClampToEdge if inside => Some(position),
        Addressing::ClampToEdge => Some(if position < 0 { 0 } else { size - 1 }),
        Addressing::Repeat => Some((position + 100 * size) % size),
        Addressing::MirroredRepeat => {
            let (tile, within) = ((position + 100 * size) / size, (position + 100 * size) % size);
            Some(if tile % 2 == 0 { within } else { size - 1 - within })
        }
    }
}

/// Positions in quarters of a texel; a float holds the quarters exactly for some sizes and not for others.
fn positions(size: usize) -> impl Iterator<Item = f64> {
    (-40..=8 * size as i32).map(|quarters| f64::from(quarters) / 4.0)
}

#[test]
fn nearest_is_the_texel_of_the_endless_line() {
    for size in [1, 2, 4, 5, 7, 16] {
        let (image, memory) = counted(E::D1 { width: size });
        for addressing in MODES {
            for normalized in
                [false, true].into_iter().filter(|normalized| *normalized || !repeats(addressing))
            {
                let reader = reader(&image, normalized, addressing, Filter::Nearest);
                for position in positions(size) {
                    // Between two texels, division by the size and mirroring may round to either side.
                    let on_seam = position.fract() == 0.0;
                    let exact = size.is_power_of_two() && addressing != Addressing::MirroredRepeat;
                    if normalized && on_seam && !exact {
                        continue;
                    }
                    let want = endless(addressing, position.floor() as i64, size as i64);
                    let coordinate = if normalized { position / size as f64 } else { position } as f32;
                    let sample = reader.sample([coordinate, 0.0, 0.0], &mut &memory[..]);
                    let place = format!("{addressing:?}, normalized {normalized}, {position} of {size}");
                    assert_eq!(red(sample), want.map_or(0.0, |texel| texel as f32 + 1.0), "{place}");
                    assert_eq!(sample.outside, addressing == Addressing::None && want.is_none(), "{place}");
                }
            }
        }
    }
}

#[test]
fn mirrored_seams_are_those_of_the_formulas() {
    let (image, memory) = counted(E::D1 { width: 4 });
    let reader = reader(&image, true, Addressing::MirroredRepeat, Filter::Nearest);
    // s' = |s - 2 rint(s / 2)|, i = min(floor(4 s'), 3). At s = 1.25, s' is 0.75 and i is 3; a quarter texel further,
    // s' is 0.6875 and i is 2. At s = -0.25, s' is 0.25 and i is 1.
    for (s, texel) in
        [(1.0, 3), (1.25, 3), (1.3125, 2), (-0.25, 1), (-0.0625, 0), (2.0, 0), (3.0, 3), (-1.0, 3)]
    {
        assert_eq!(red(reader.sample([s, 0.0, 0.0], &mut &memory[..])), texel as f32 + 1.0, "{s}");
    }
}

#[test]
fn repeats_are_counted_off_before_texels_are() {
    // s - floor(s) = 0.75, u = 3.75; 5 s would round to the next texel.
    let (image, memory) = counted(E::D1 { width: 5 });
    let reader = reader(&image, true, Addressing::Repeat, Filter::Nearest);
    assert_eq!(red(reader.sample([2_097_152.0 + 0.75, 0.0, 0.0], &mut &memory[..])), 4.0);
}

#[test]
fn linear_is_between_two_texels_of_the_endless_line() {
    for size in [1, 2, 4, 5, 7, 16] {
        let (image, memory) = counted(E::D1 { width: size });
        for addressing in MODES {
            for normalized in
                [false, true].into_iter().filter(|normalized| *normalized || !repeats(addressing))
            {
                let reader = reader(&image, normalized, addressing, Filter::Linear);
                for position in positions(size) {
                    let below = (position - 0.5).floor();
                    let share = position - 0.5 - below;
                    let texels =
                        [below, below + 1.0].map(|texel| endless(addressing, texel as i64, size as i64));
                    let [first, second] = texels.map(|texel| texel.map_or(0.0, |texel| texel as f64 + 1.0));
                    let want = (1.0 - share) * first + share * second;
                    let coordinate = if normalized { position / size as f64 } else { position } as f32;
                    let sample = reader.sample([coordinate, 0.0, 0.0], &mut &memory[..]);
                    let place = format!("{addressing:?}, normalized {normalized}, {position} of {size}");
                    assert!((f64::from(red(sample)) - want).abs() < 1e-4, "{place}: {} {want}", red(sample));
                    // Rounding of the position may give an adjacent texel a small weight.
                    if !normalized || size.is_power_of_two() {
                        let counts = texels[0].is_none() || (share > 0.0 && texels[1].is_none());
                        assert_eq!(sample.outside, addressing == Addressing::None && counts, "{place}");
                    }
                }
            }
        }
    }
}

/// Computed by hand from the formulas: four texels 1, 2, 3, 4.
#[test]
fn linear_reads_by_hand() {
    let (image, memory) = counted(E::D1 { width: 4 });
    for (addressing, s, want) in [
        // u = 4 s = 1: i0 = floor(0.5) = 0, i1 = 1, a = 0.5.
        (Addressing::Clamp, 0.25, 1.5),
        // u = 0: i0 = floor(-0.5) = -1, i1 = 0, a = 0.5; the border is 0.
        (Addressing::Clamp, 0.0, 0.5),
        (Addressing::ClampToEdge, 0.0, 1.0),
        // i0 = -1 wraps to 3.
        (Addressing::Repeat, 0.0, 2.5),
        // s = 1.0625: u = 0.25, i0 = floor(-0.25) = -1, a = 0.75: a quarter of texel 3, three quarters of texel 0.
        (Addressing::Repeat, 1.0625, 0.25 * 4.0 + 0.75),
        (Addressing::MirroredRepeat, 0.0, 1.0),
        // s = 1.125: s' = |1.125 - 2| = 0.875, u = 3.5: i0 = 3, a = 0.
        (Addressing::MirroredRepeat, 1.125, 4.0),
        // u = 4.25: i0 = floor(3.75) = 3, i1 = 4, a = 0.75.
        (Addressing::Clamp, 1.0625, 1.0),
    ] {
        let reader = reader(&image, true, addressing, Filter::Linear);
        assert_eq!(red(reader.sample([s, 0.0, 0.0], &mut &memory[..])), want, "{addressing:?} {s}");
    }
}

#[test]
fn linear_filters_weigh_by_area_and_volume() {
    for extent in [
        E::D2 { width: 4, height: 3 },
        E::D2Array { width: 4, height: 3, layers: 2 },
        E::D3 { width: 4, height: 3, depth: 2 },
    ] {
        let (image, memory) = counted(extent);
        let flat = !matches!(extent, E::D3 { .. });
        for addressing in [Addressing::Clamp, Addressing::ClampToEdge] {
            let reader = reader(&image, false, addressing, Filter::Linear);
            let texel = |x: i64, y: i64, z: i64| {
                let [x, y] = [(x, 4), (y, 3)].map(|(position, size)| endless(addressing, position, size));
                let z = if flat { Some(z) } else { endless(addressing, z, 2) };
                let place = x.zip(y).zip(z).map(|((x, y), z)| (z * 3 + y) * 4 + x);
                place.map_or(0.0, |texel| texel as f64 + 1.0)
            };
            for (x, y, z) in (-3..13)
                .flat_map(|x| (-3..10).map(move |y| (x, y)))
                .flat_map(|(x, y)| (-3..7).map(move |z| (x, y, z)))
            {
                let at = [x, y, z].map(|thirds: i32| f64::from(thirds) / 3.0 + 0.1);
                let mut want = 0.0;
                for corner in 0..8_i64 {
                    let bits = [corner & 1, corner >> 1 & 1, corner >> 2 & 1];
                    let (mut place, mut weight) = ([0; 3], 1.0);
                    for axis in 0..3 {
                        if axis == 2 && flat {
                            // rint, and clamped for every addressing mode; the second corner has weight 0.
                            place[2] =
                                i64::from(at[2].round() >= 1.0) * i64::from(!matches!(extent, E::D2 { .. }));
                            weight *= (1 - bits[2]) as f64;
                        } else {
                            let below = (at[axis] - 0.5).floor();
                            let share = at[axis] - 0.5 - below;
                            place[axis] = below as i64 + bits[axis];
                            weight *= if bits[axis] == 1 { share } else { 1.0 - share };
                        }
                    }
                    want += weight * texel(place[0], place[1], place[2]);
                }
                let sample = reader.sample(at.map(|coordinate| coordinate as f32), &mut &memory[..]);
                assert!((f64::from(red(sample)) - want).abs() < 1e-4, "{extent} {addressing:?} {at:?}");
            }
        }
    }
}

#[test]
fn layers_are_rounded_to_even_and_clamped() {
    for (extent, axis, per_layer) in
        [(E::D1Array { width: 1, layers: 5 }, 1, 1), (E::D2Array { width: 1, height: 2, layers: 5 }, 2, 2)]
    {
        let (image, memory) = counted(extent);
        for addressing in MODES {
            // The layer is never normalised.
            let reader = reader(&image, true, addressing, Filter::Nearest);
            for (coordinate, layer) in [
                (0.5, 0),
                (0.51, 1),
                (1.5, 2),
                (2.5, 2),
                (3.5, 4),
                (4.49, 4),
                (-0.5, 0),
                (-7.0, 0),
                (77.0, 4),
                (f32::INFINITY, 4),
                (f32::NEG_INFINITY, 0),
            ] {
                let mut at = [0.25; 3];
                at[axis] = coordinate;
                let sample = reader.sample(at, &mut &memory[..]);
                assert_eq!(
                    red(sample),
                    (layer * per_layer) as f32 + 1.0,
                    "{extent} {addressing:?} {coordinate}"
                );
                assert!(!sample.outside);
            }
        }
        let reader = reader(&image, false, Addressing::None, Filter::Nearest);
        for (coordinate, layer) in [(-3, 0), (0, 0), (4, 4), (5, 4), (i32::MAX, 4), (i32::MIN, 0)] {
            let mut at = [0; 3];
            at[axis] = coordinate;
            let sample = reader.sample_at(at, &mut &memory[..]);
            assert_eq!(
                (red(sample), sample.outside),
                ((layer * per_layer) as f32 + 1.0, false),
                "{coordinate}"
            );
            // Without a sampler the layer must exist.
            let sample = image.read(at, &mut &memory[..]);
            assert_eq!(sample.outside, !(0..5).contains(&coordinate), "{coordinate}");
        }
    }
}

#[test]
fn integer_coordinates_are_texels() {
    let extent = E::D2 { width: 5, height: 3 };
    let (image, memory) = counted(extent);
    for addressing in [Addressing::None, Addressing::ClampToEdge, Addressing::Clamp] {
        let reader = reader(&image, false, addressing, Filter::Nearest);
        assert!(reader.takes_integers());
        for (x, y) in (-9..14).flat_map(|x| (-5..8).map(move |y| (x, y))) {
            let place = endless(addressing, x, 5).zip(endless(addressing, y, 3)).map(|(x, y)| y * 5 + x);
            let sample = reader.sample_at([x as i32, y as i32, 99], &mut &memory[..]);
            assert_eq!(red(sample), place.map_or(0.0, |texel| texel as f32 + 1.0), "{addressing:?} {x} {y}");
            assert_eq!(sample.outside, addressing == Addressing::None && place.is_none());
            let direct = image.read([x as i32, y as i32, 99], &mut &memory[..]);
            let inside = (0..5).contains(&x) && (0..3).contains(&y);
            let want = if inside { (y * 5 + x) as f32 + 1.0 } else { 0.0 };
            assert_eq!((red(direct), direct.outside), (want, !inside));
        }
        // 2^24 + 1 is not a float: integers are not converted to floats.
        let line = Image::packed(&shape(E::D1 { width: (1 << 24) + 2 })).unwrap();
        let reader =
            Reader::new(&line, Sampler { normalized: false, addressing, filter: Filter::Nearest }).unwrap();
        let taps = reader.taps_at([(1 << 24) + 1, 0, 0]);
        assert_eq!(taps.offsets().collect::<Vec<_>>(), [4 * ((1 << 24) + 1)]);
    }
    // Where the specification defines no result, the result is that of float coordinates.
    let reader = reader(&image, true, Addressing::Repeat, Filter::Nearest);
    assert!(!reader.takes_integers());
    assert_eq!(red(reader.sample_at([7, -3, 0], &mut &memory[..])), 1.0);
}

#[test]
fn rows_and_slices_lie_where_the_pitches_say() {
    let cube = ImageShape {
        extent: E::D3 { width: 3, height: 4, depth: 2 },
        order: ChannelOrder::Rg,
        channel: ChannelType::U16,
    };
    let image = Image::new(&cube, 20, 100).unwrap();
    assert_eq!((image.texel_bytes(), image.span_bytes()), (4, 100 + 3 * 20 + 3 * 4));
    assert_eq!(image.offset([2, 3, 1]), Some(100 + 3 * 20 + 2 * 4));
    assert_eq!(image.offset([0, 0, 0]), Some(0));
    for outside in
        [[3, 0, 0], [-1, 0, 0], [0, 4, 0], [0, -1, 0], [0, 0, 2], [0, 0, i32::MIN], [i32::MAX, 0, 0]]
    {
        assert_eq!(image.offset(outside), None, "{outside:?}");
    }
    // Layers of a 1D array are slices, and unused coordinates are ignored.
    let lines = ImageShape { extent: E::D1Array { width: 3, layers: 4 }, ..cube };
    let lines = Image::new(&lines, 0, 16).unwrap();
    assert_eq!((lines.span_bytes(), lines.offset([1, 3, 77])), (3 * 16 + 12, Some(3 * 16 + 4)));
    assert_eq!(lines.offset([1, 4, 0]), None);
    let line = ImageShape { extent: E::Buffer { width: 3 }, ..cube };
    assert_eq!(Image::new(&line, 0, 0).unwrap().offset([2, -7, 9]), Some(8));

    // A texel outside the memory reads as zeros.
    let sample = image.read([2, 3, 1], &mut &[1_u8; 171][..]);
    assert_eq!(sample, Sample { texel: Texel::Unsigned([0, 0, 0, 1]), outside: false });
    let sample = image.read([2, 3, 1], &mut &[1_u8; 172][..]);
    assert_eq!(sample.texel, Texel::Unsigned([257, 257, 0, 1]));
}

#[test]
fn images_that_cannot_be_are_refused() {
    let plain = shape(E::D2 { width: 3, height: 4 });
    assert_eq!(
        Image::new(&plain, 11, 0).unwrap_err(),
        ImageError::Pitch { what: "row", pitch: 11, least: 12 }
    );
    let cube = shape(E::D3 { width: 3, height: 4, depth: 2 });
    assert_eq!(
        Image::new(&cube, 16, 59).unwrap_err(),
        ImageError::Pitch { what: "slice", pitch: 59, least: 60 }
    );
    assert!(Image::new(&cube, 16, 60).is_ok());
    // One row, one slice: pitches are not needed.
    assert!(Image::new(&shape(E::D3 { width: 3, height: 1, depth: 1 }), 0, 0).is_ok());
    let empty = Image::packed(&shape(E::D2 { width: 0, height: 1 })).unwrap_err();
    assert!(matches!(empty, ImageError::Shape(ImageShapeError::Empty { .. })), "{empty}");
    for extent in [
        E::D1 { width: 1 << 31 },
        E::D1 { width: usize::MAX },
        E::D2 { width: 1 << 30, height: 1 << 31 },
        E::D3 { width: 1 << 30, height: 1 << 30, depth: 1 << 30 },
    ] {
        assert_eq!(Image::packed(&shape(extent)).unwrap_err(), ImageError::TooLarge { extent });
    }
    assert!(Image::packed(&shape(E::D1 { width: (1 << 31) - 1 })).is_ok());
}

#[test]
fn samplers_that_cannot_be_are_refused() {
    let of = |shape: &ImageShape, normalized, addressing, filter| {
        let image = Image::packed(shape).unwrap();
        Reader::new(&image, Sampler { normalized, addressing, filter }).map(|_| ())
    };
    let buffer = shape(E::Buffer { width: 3 });
    let refused = of(&buffer, false, Addressing::None, Filter::Nearest);
    assert_eq!(refused, Err(ImageError::SamplerForBuffer));
    let line = shape(E::D1 { width: 3 });
    for addressing in [Addressing::Repeat, Addressing::MirroredRepeat] {
        let refused = of(&line, false, addressing, Filter::Nearest);
        assert_eq!(refused, Err(ImageError::RepeatUnnormalized));
        assert_eq!(of(&line, true, addressing, Filter::Nearest), Ok(()));
    }
    for channel in ChannelType::ALL.into_iter().filter(|channel| ChannelOrder::R.takes(*channel)) {
        let refused = of(&ImageShape { channel, ..line }, true, Addressing::Clamp, Filter::Linear);
        let integers = channel.opencl_name().contains("SIGNED_INT");
        assert_eq!(refused, if integers { Err(ImageError::LinearIntegers { channel }) } else { Ok(()) });
    }
}

#[test]
fn nothing_and_infinity_are_far_outside() {
    let (image, memory) = counted(E::D2 { width: 4, height: 4 });
    for wild in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN] {
        for filter in [Filter::Nearest, Filter::Linear] {
            let read = |normalized, addressing| {
                let reader = reader(&image, normalized, addressing, filter);
                reader.sample([wild, 0.125, 0.0], &mut &memory[..])
            };
            for normalized in [false, true] {
                let sample = read(normalized, Addressing::None);
                assert_eq!((red(sample), sample.outside), (0.0, true), "{wild}");
                let sample = read(normalized, Addressing::Clamp);
                assert_eq!((red(sample), sample.outside), (0.0, false), "{wild}");
                let edge = if wild > 0.0 { 4.0 } else { 1.0 };
                assert_eq!(red(read(normalized, Addressing::ClampToEdge)), edge, "{wild}");
            }
            for addressing in [Addressing::Repeat, Addressing::MirroredRepeat] {
                assert!(red(read(true, addressing)).is_finite(), "{wild}");
            }
        }
    }
}

#[test]
fn a_texel_that_counts_nothing_may_be_anything() {
    // At the centre of a texel the next one has weight 0; infinity times 0 would be NaN.
    let image = Image::packed(&shape(E::D1 { width: 2 })).unwrap();
    let memory = [5.0, f32::INFINITY].map(f32::to_ne_bytes).concat();
    let reader = reader(&image, false, Addressing::None, Filter::Linear);
    assert_eq!(red(reader.sample([0.5, 0.0, 0.0], &mut &memory[..])), 5.0);
    assert_eq!(reader.taps([0.5, 0.0, 0.0]).offsets().collect::<Vec<_>>(), [0]);
    assert_eq!(reader.taps([1.0, 0.0, 0.0]).offsets().collect::<Vec<_>>(), [0, 4]);
}

#[test]
fn srgb_is_linear_before_it_is_filtered() {
    let image = Image::packed(&ImageShape::d2(2, 1, ChannelOrder::Srgba, ChannelType::UnormU8)).unwrap();
    let reader = reader(&image, false, Addressing::ClampToEdge, Filter::Linear);
    let memory = [0, 0, 0, 0, 255, 255, 255, 255];
    // Halfway between black and white: filtering before decoding would give 0.2140.
    let sample = reader.sample([1.0, 0.5, 0.0], &mut &memory[..]);
    assert_eq!(sample.texel, Texel::Float([0.5; 4]));
}

#[test]
fn kernels_learn_size_and_format() {
    let of = |extent| Image::packed(&shape(extent)).unwrap().fact(ImageFact::Size);
    assert_eq!(of(E::D1 { width: 7 }), [7, 0, 0]);
    assert_eq!(of(E::Buffer { width: 7 }), [7, 0, 0]);
    assert_eq!(of(E::D1Array { width: 7, layers: 3 }), [7, 3, 0]);
    assert_eq!(of(E::D2 { width: 7, height: 5 }), [7, 5, 0]);
    assert_eq!(of(E::D2Array { width: 7, height: 5, layers: 3 }), [7, 5, 3]);
    assert_eq!(of(E::D3 { width: 7, height: 5, depth: 3 }), [7, 5, 3]);
    // SPIR-V 1.6, 3.17 "Image Channel Order" and 3.18 "Image Channel Data Type".
    for (order, channel, numbers) in [
        (ChannelOrder::R, ChannelType::SnormI8, [0, 0]),
        (ChannelOrder::Rgba, ChannelType::UnormU8, [5, 2]),
        (ChannelOrder::Bgra, ChannelType::U8, [6, 10]),
        (ChannelOrder::Rgb, ChannelType::Unorm565, [4, 4]),
        (ChannelOrder::Depth, ChannelType::F32, [13, 14]),
        (ChannelOrder::Srgba, ChannelType::UnormU8, [17, 2]),
        (ChannelOrder::Abgr, ChannelType::I8, [19, 7]),
        (ChannelOrder::Rgba, ChannelType::Unorm1010102, [5, 16]),
    ] {
        let image = Image::packed(&ImageShape::d2(1, 1, order, channel)).unwrap();
        let facts = [ImageFact::ChannelOrder, ImageFact::ChannelType].map(|fact| image.fact(fact)[0]);
        assert_eq!(facts, numbers, "{order:?} {channel:?}");
        assert_eq!(image.fact(ImageFact::Levels), [1, 0, 0]);
    }
}

#[test]
fn arguments_take_images_of_their_dimensions() {
    let extents = [
        (E::D1 { width: 1 }, ImageDim::D1, false),
        (E::Buffer { width: 1 }, ImageDim::Buffer, false),
        (E::D1Array { width: 1, layers: 1 }, ImageDim::D1, true),
        (E::D2 { width: 1, height: 1 }, ImageDim::D2, false),
        (E::D2Array { width: 1, height: 1, layers: 1 }, ImageDim::D2, true),
        (E::D3 { width: 1, height: 1, depth: 1 }, ImageDim::D3, false),
    ];
    for (extent, ..) in extents {
        let image = Image::packed(&shape(extent)).unwrap();
        for (other, dim, array) in extents {
            let ty = |depth| ImageType { dim, array, depth, access: ImageAccess::Read };
            assert_eq!(image.fits(ty(false)), extent == other);
            assert!(!image.fits(ty(true)));
        }
    }
    let depth = Image::packed(&ImageShape::d2(1, 1, ChannelOrder::Depth, ChannelType::F32)).unwrap();
    let ty = |depth| ImageType { dim: ImageDim::D2, array: false, depth, access: ImageAccess::Read };
    assert!(depth.fits(ty(true)) && !depth.fits(ty(false)));
}

#[test]
fn constant_samplers_are_those_of_a_launch() {
    let all = [
        (op::Addressing::None, Addressing::None),
        (op::Addressing::ClampToEdge, Addressing::ClampToEdge),
        (op::Addressing::Clamp, Addressing::Clamp),
        (op::Addressing::Repeat, Addressing::Repeat),
        (op::Addressing::Mirror, Addressing::MirroredRepeat),
    ];
    for (constant, addressing) in all {
        for (normalized, linear) in [(false, false), (false, true), (true, false), (true, true)] {
            let filter = if linear { Filter::Linear } else { Filter::Nearest };
            let bits = SamplerBits { addressing: constant, normalized, linear };
            assert_eq!(sampler(bits), Sampler { normalized, addressing, filter });
        }
    }
}

fn extents() -> impl Strategy<Value = E> {
    (1..9_usize, 1..7_usize, 1..5_usize, 0..5).prop_map(|(width, height, deep, kind)| match kind {
        0 => E::D1 { width },
        1 => E::D1Array { width, layers: deep },
        2 => E::D2 { width, height },
        3 => E::D2Array { width, height, layers: deep },
        _ => E::D3 { width, height, depth: deep },
    })
}

fn coordinates() -> impl Strategy<Value = [f32; 3]> {
    let coordinate =
        prop_oneof![any::<f32>(), -20.0..20.0_f32, (-40..40_i32).prop_map(|halves| halves as f32 / 2.0)];
    [coordinate.clone(), coordinate.clone(), coordinate]
}

proptest! {
    #[test]
    fn linear_at_the_middle_of_texels_is_nearest(extent in extents(), at in [0..40_usize, 0..40_usize, 0..40_usize]) {
        let (image, memory) = counted(extent);
        let size = [extent.width(), extent.height(), extent.slices()];
        let middle: [f32; 3] = std::array::from_fn(|axis| (at[axis] % size[axis]) as f32 + 0.5);
        // The layer of a 1D array is the second coordinate.
        let middle = match extent {
            E::D1Array { .. } => [middle[0], middle[2] - 0.5, 0.0],
            E::D2Array { .. } => [middle[0], middle[1], middle[2] - 0.5],
            _ => middle,
        };
        for addressing in [Addressing::None, Addressing::ClampToEdge, Addressing::Clamp] {
            let [nearest, linear] = [Filter::Nearest, Filter::Linear].map(|filter| {
                reader(&image, false, addressing, filter).sample(middle, &mut &memory[..])
            });
            prop_assert_eq!(nearest, linear);
        }
    }

    #[test]
    fn no_coordinate_leaves_memory(extent in extents(), at in coordinates(), texels in any::<[i32; 3]>()) {
        let (image, memory) = counted(extent);
        let most = memory.len() as f32 / 4.0;
        for addressing in MODES {
            for filter in [Filter::Nearest, Filter::Linear] {
                for normalized in [false, true].into_iter().filter(|normalized| *normalized || !repeats(addressing)) {
                    let reader = reader(&image, normalized, addressing, filter);
                    for taps in [reader.taps(at), reader.taps_at(texels)] {
                        prop_assert!(taps.offsets().all(|offset| offset % 4 == 0 && offset < memory.len()));
                        let red = red(Sample { texel: reader.texel(&taps, &mut &memory[..]), outside: false });
                        // Weights are fractions of 1.
                        prop_assert!((0.0..=most * 1.001).contains(&red), "{}", red);
                        let covers = repeats(addressing) || addressing == Addressing::ClampToEdge;
                        prop_assert!(!covers || red >= 0.999, "{}", red);
                        prop_assert!(!taps.outside() || addressing == Addressing::None);
                    }
                }
            }
        }
        let read = image.read(texels, &mut &memory[..]);
        prop_assert_eq!(read.outside, image.offset(texels).is_none());
    }
}
