//! Affine maps on the CPU path, beside the reference.

use half::f16;
use tripipe_cpu::{self as cpu, Threads};
use tripipe_kernels::filter::{AffineMap, Border, Interpolation, PixelType, Raster, Size, affine_reference};

use super::noise;

#[test]
fn turned_and_sheared() {
    let sizes = [
        (Size::square(1), Size::new(5, 4)),
        (Size::new(7, 5), Size::new(9, 12)),
        (Size::new(64, 33), Size::new(40, 31)),
    ];
    let borders =
        [Border::Constant(77.5), Border::Replicate, Border::Reflect, Border::Reflect101, Border::Wrap];
    for (index, (from, to)) in sizes.into_iter().enumerate() {
        let rotated = AffineMap::rotation(33.0, from, true).unwrap();
        let maps = [rotated, (AffineMap { x: [0.7, -0.2, -3.0], y: [0.1, 2.5, 1e3 / 7.0] }, to)];
        for ((map, to), border) in maps.into_iter().flat_map(|map| borders.map(|border| (map, border))) {
            for (kind, element) in PixelType::ALL.into_iter().enumerate() {
                let channels = 1 + (index + kind) % 4;
                let images = [Raster::packed(from, channels, element), Raster::planar(to, channels, element)];
                for how in [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Cubic] {
                    let [from, to] = &images;
                    let source = noise(element, from.elements().unwrap() * element.bytes(), 3);
                    let mut want = vec![0; to.elements().unwrap() * element.bytes()];
                    affine_reference(&map, how, border, [from, to], &source, &mut want).unwrap();
                    let mut found = vec![0; want.len()];
                    cpu::affine(&map, how, border, [from, to], &source, &mut found, Threads::All).unwrap();
                    let place = format!("{how} {border:?} {map:?} {from} {to}");
                    match element {
                        PixelType::F16 => {
                            let [found, want] = [&found, &want].map(|bytes| {
                                let halves: Vec<f16> = bytemuck::pod_collect_to_vec(bytes);
                                halves.iter().map(|half| half.to_f32()).collect::<Vec<_>>()
                            });
                            close(&found, &want, 0.125, &place);
                        }
                        // Values are at most 150.
                        PixelType::F32 => close(
                            &bytemuck::pod_collect_to_vec(&found),
                            &bytemuck::pod_collect_to_vec(&want),
                            36.0 * 150.0 / 16_777_216.0,
                            &place,
                        ),
                        _ => assert_eq!(found, want, "{place}"),
                    }
                }
            }
        }
    }
}

fn close(found: &[f32], want: &[f32], within: f32, place: &str) {
    for (found, want) in found.iter().zip(want) {
        assert!((found - want).abs() <= within || found.is_nan() && want.is_nan(), "{place}: {found} {want}");
    }
}
