//! Properties of reads at random coordinates of random images.

use proptest::prelude::*;
use tripipe_launch::{Addressing, Filter, ImageExtent as E};
use tripipe_simulate::image::Sample;

use super::{MODES, counted, reader, red, repeats};

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
