//! Texels read through samplers: addressing, filters, layers, integer coordinates.

use tripipe_launch::{Addressing, ChannelOrder, ChannelType, Filter, ImageExtent as E, ImageShape, Sampler};
use tripipe_simulate::image::{Image, Reader, Texel};

use super::{MODES, counted, endless, reader, red, repeats, shape};

/// Positions in quarters of a texel; a float holds the quarters exactly for some sizes and not for others.
fn positions(size: usize) -> impl Iterator<Item = f64> {
    (-40..=8 * size as i32).map(|quarters| f64::from(quarters) / 4.0)
}

#[test]
fn nearest_filter_matches_the_unbounded_model() {
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
fn repeats_are_removed_before_scaling() {
    // s - floor(s) = 0.75, u = 3.75; 5 s would round to the next texel.
    let (image, memory) = counted(E::D1 { width: 5 });
    let reader = reader(&image, true, Addressing::Repeat, Filter::Nearest);
    assert_eq!(red(reader.sample([2_097_152.0 + 0.75, 0.0, 0.0], &mut &memory[..])), 4.0);
}

#[test]
fn linear_filter_matches_the_unbounded_model() {
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
fn nan_and_infinity_are_outside() {
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
fn texels_of_weight_0_have_no_influence() {
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
