//! Other extents.

use half::f16;
use tripipe::cpu::{self, CpuError, Threads};
use tripipe_kernels::filter::{FilterError, Interpolation, PixelType, Raster, resize_reference};

use super::noise;

#[test]
fn other_extents() {
    let sizes = [[1, 1], [7, 5], [40, 3], [64, 65], [13, 90], [4, 700]];
    for interpolation in [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Area] {
        for (from, to) in sizes.into_iter().flat_map(|from| sizes.map(|to| (from, to))) {
            for (index, element) in PixelType::ALL.into_iter().enumerate() {
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
    let [from, to] = [3, 4].map(|channels| Raster::packed([4, 4], channels, PixelType::U8));
    let error =
        cpu::resize(Interpolation::Area, &from, &[0; 48], &to, &mut [0; 64], Threads::One).unwrap_err();
    assert!(matches!(error, CpuError::Filter(FilterError::Result { .. })), "{error}");
    let none = Raster::packed([0, 4], 3, PixelType::U8);
    cpu::resize(Interpolation::Area, &none, &[], &none, &mut [], Threads::One).unwrap();
}

fn close<T: Copy + Into<f64>>(found: &[T], want: &[T], bound: f64, place: &str) {
    for (found, want) in found.iter().zip(want) {
        let [found, want]: [f64; 2] = [(*found).into(), (*want).into()];
        assert!((found - want).abs() <= bound, "{place}: {found}, not {want}");
    }
}
