//! Resizing, frames, vectors, reductions, the transpose, histograms: every device gives the result of the definition.

use half::f16;
use tripipe::filter::{AffineMap, Border, Chain, Interpolation, PixelType, Raster, Semiplanar};
use tripipe::{Elementwise, ErrorKind, Extents, Image, Matrix, Order, Size, Vector};
use tripipe_kernels::filter::{affine_reference, resize_reference};

use crate::library::{bytes, contexts};

#[test]
fn vectors_are_added_and_reduced() {
    let values: Vec<f32> = bytes(1000).iter().map(|byte| f32::from(*byte) - 100.0).collect();
    let pixels = bytes(1000);
    for context in contexts() {
        let x = Vector::from_slice(&context, &values).unwrap();
        let mut y = Vector::from_slice(&context, &vec![1.0f32; 1000]).unwrap();
        y.add_scaled(0.5, &x).unwrap().wait().unwrap();
        let want: Vec<f32> = values.iter().map(|x| 1.0 + 0.5 * x).collect();
        assert_eq!(y.to_vec().unwrap(), want, "{}", context.name());
        // Whole numbers: sums are exact in every order.
        assert_eq!(x.sum().unwrap().wait().unwrap(), values.iter().sum::<f32>());
        assert_eq!(x.dot(&x).unwrap().wait().unwrap(), values.iter().map(|x| x * x).sum::<f32>());
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let place = values.iter().position(|value| *value == least).unwrap();
        assert_eq!(x.min().unwrap().wait().unwrap(), Some((least, place)));

        let p = Vector::from_slice(&context, &pixels).unwrap();
        assert_eq!(p.sum().unwrap().wait().unwrap(), pixels.iter().map(|byte| i64::from(*byte)).sum::<i64>());
        let most = *pixels.iter().max().unwrap();
        assert_eq!(
            p.max().unwrap().wait().unwrap(),
            Some((most, pixels.iter().position(|byte| *byte == most).unwrap()))
        );
        assert_eq!(Vector::<u8>::zeros(&context, 0).unwrap().min().unwrap().wait().unwrap(), None);
        let converted = p.converted::<i16>(-2.0, 3.0).unwrap().to_vec().unwrap();
        let want: Vec<i16> = pixels.iter().map(|byte| 3 - 2 * i16::from(*byte)).collect();
        assert_eq!(converted, want);
    }
}

#[test]
fn matrices_are_turned() {
    for context in contexts() {
        let values: Vec<f16> = (0..77).map(|i| f16::from_f32(i as f32)).collect();
        let want: Vec<f16> = (0..77).map(|i| values[i % 7 * 11 + i / 7]).collect();
        let rows = Matrix::from_slice(&context, Extents::new(7, 11), &values).unwrap();
        assert_eq!(rows.to_transposed().unwrap().to_vec().unwrap(), want, "{}", context.name());
        let columns = Matrix::with_order(&context, Extents::new(11, 7), Order::ColumnMajor, &values).unwrap();
        assert_eq!(columns.to_transposed().unwrap().to_vec().unwrap(), values);
    }
}

#[test]
fn images_are_counted_and_resized() {
    let pixels = bytes(31 * 17 * 3);
    for context in contexts() {
        let image = Image::from_slice(&context, Size::new(31, 17), 3, &pixels).unwrap();
        let mut want = [0; 256];
        for byte in &pixels {
            want[usize::from(*byte)] += 1;
        }
        assert_eq!(image.histogram().unwrap().wait().unwrap(), want, "{}", context.name());
        for (interpolation, size) in [
            (Interpolation::Nearest, Size::new(50, 9)),
            (Interpolation::Bilinear, Size::new(45, 40)),
            (Interpolation::Area, Size::new(10, 5)),
        ] {
            let resized = image.resized(size, interpolation).unwrap();
            let to = Raster::packed(size, 3, PixelType::U8);
            let mut want = vec![0; to.elements().unwrap()];
            resize_reference(interpolation, image.raster(), &pixels, &to, &mut want).unwrap();
            assert_eq!(resized.to_vec().unwrap(), want, "{interpolation:?} on {}", context.name());
        }
    }
}

#[test]
fn images_are_turned_and_mapped() {
    let pixels = bytes(31 * 17 * 3);
    let border = Border::Reflect101;
    for context in contexts() {
        let image = Image::from_slice(&context, Size::new(31, 17), 3, &pixels).unwrap();
        let map = AffineMap { x: [0.4, 0.3, -2.25], y: [-0.1, 1.5, 3.0] };
        for how in [Interpolation::Nearest, Interpolation::Bilinear, Interpolation::Cubic] {
            let to = Raster::packed(Size::new(25, 12), 3, PixelType::U8);
            let mut want = vec![0; to.elements().unwrap()];
            affine_reference(&map, how, border, [image.raster(), &to], &pixels, &mut want).unwrap();
            let mapped = image.mapped(&map, to.size(), how, border).unwrap();
            assert_eq!(mapped.to_vec().unwrap(), want, "{how} on {}", context.name());
            let mut copied = vec![0; want.len()];
            context.map_bytes(&map, (how, border), image.raster(), &pixels, &to, &mut copied).unwrap();
            assert_eq!(copied, want, "{how} on {}", context.name());
        }
        let image = Image::from_slice(&context, Size::new(3, 2), 1, &[1u8, 2, 3, 4, 5, 6]).unwrap();
        let turned = image.rotated(90.0, true, Interpolation::Bilinear, Border::Constant(0.0)).unwrap();
        assert_eq!((turned.size(), turned.to_vec().unwrap()), (Size::new(2, 3), vec![3, 6, 2, 5, 1, 4]));
        assert!(image.rotated(5.0, true, Interpolation::Area, Border::Wrap).is_err());
    }
}

/// The primary colours and white in limited range, from tables of BT.601: red 82 90 240, green 145 54 34, blue 41 240
/// 110, white 235 128 128. Each covers 2 x 2 pixels.
#[test]
fn rgb_becomes_frames() {
    let (red, green, blue, white) = ([255, 0, 0], [0, 255, 0], [0, 0, 255], [255; 3]);
    let [upper, lower] =
        [[red, red, green, green], [blue, blue, white, white]].map(|row| row.as_flattened().repeat(2));
    let pixels = [upper, lower].concat();
    for context in contexts() {
        let image = Image::from_slice(&context, Size::square(4), 3, &pixels).unwrap();
        let mut frame = Vector::from_slice(&context, &[9u8; 24]).unwrap();
        drop(image.to_frame(&mut frame, &Semiplanar::nv12(Size::square(4))).unwrap());
        let luma = [[82, 82, 145, 145], [82, 82, 145, 145], [41, 41, 235, 235], [41, 41, 235, 235]];
        let chroma = [[90, 240, 54, 34], [240, 110, 128, 128]];
        assert_eq!(frame.to_vec().unwrap(), [luma.as_flattened(), chroma.as_flattened()].concat());

        // Rows of 6 bytes, chroma before luma, V before U: the bytes between are unchanged.
        let layout = Semiplanar { size: Size::square(4), luma: [12, 6], chroma: [1, 6], v_first: true };
        let mut frame = Vector::from_slice(&context, &[9u8; 36]).unwrap();
        drop(image.to_frame(&mut frame, &layout).unwrap());
        let rows = [
            [9, 240, 90, 34, 54, 9],
            [9, 110, 240, 128, 128, 9],
            [82, 82, 145, 145, 9, 9],
            [82, 82, 145, 145, 9, 9],
            [41, 41, 235, 235, 9, 9],
            [41, 41, 235, 235, 9, 9],
        ];
        assert_eq!(frame.to_vec().unwrap(), rows.as_flattened());

        let mut short = Vector::zeros(&context, 23).unwrap();
        assert!(image.to_frame(&mut short, &Semiplanar::nv12(Size::square(4))).is_err());
        assert!(image.to_frame(&mut frame, &Semiplanar::nv12(Size::new(4, 2))).is_err());
    }
}

#[test]
fn frames_become_rgb() {
    // Gray of limited range: 16 is black, 235 white, 126 the middle.
    let layout = Semiplanar::nv12(Size::new(6, 4));
    let mut frame = vec![128; layout.bytes()];
    frame[..24].copy_from_slice(&[16, 235, 126, 16, 235, 126].repeat(4));
    for context in contexts() {
        let frame = Vector::from_slice(&context, &frame).unwrap();
        let rgb = Image::from_frame(&frame, &layout, 3).unwrap().to_vec().unwrap();
        let row: Vec<u8> = [0, 255, 128, 0, 255, 128].iter().flat_map(|gray| [*gray; 3]).collect();
        assert_eq!(rgb, row.repeat(4), "{}", context.name());
        assert!(Image::from_frame(&frame, &Semiplanar::nv12(Size::new(60, 40)), 3).is_err());
    }
}

#[test]
fn invalid_operations_are_rejected_at_once() {
    for context in contexts() {
        let image = Image::from_slice(&context, Size::new(4, 3), 1, &[7u8; 12]).unwrap();
        let empty = Image::<u8>::from_slice(&context, Size::new(0, 3), 1, &[]).unwrap();
        assert!(image.resized(Size::new(0, 3), Interpolation::Area).is_err(), "{}", context.name());
        assert!(empty.resized(Size::new(4, 3), Interpolation::Nearest).is_err());
        assert!(empty.resized(Size::new(9, 0), Interpolation::Nearest).unwrap().to_vec().unwrap().is_empty());
        let frame = Vector::from_slice(&context, &[128u8; 24]).unwrap();
        assert!(Image::from_frame(&frame, &Semiplanar::nv12(Size::square(4)), 2).is_err());
        context.finish().unwrap();
    }
}

/// Two implementations that share no code: kernels and the CPU path.
#[test]
fn frames_of_any_extents_are_the_same_everywhere() {
    for [width, height] in [[1, 1], [2, 1], [3, 2], [5, 3], [7, 6], [9, 5], [16, 8], [13, 7]] {
        for v_first in [false, true] {
            let layout = Semiplanar { v_first, ..Semiplanar::nv12(Size::new(width, height)) };
            for channels in [3, 4] {
                let results = contexts().into_iter().map(|context| {
                    let pixels = bytes(width * height * channels);
                    let image =
                        Image::from_slice(&context, Size::new(width, height), channels, &pixels).unwrap();
                    let mut frame = Vector::zeros(&context, layout.bytes()).unwrap();
                    drop(image.to_frame(&mut frame, &layout).unwrap());
                    let back = Image::from_frame(&frame, &layout, channels).unwrap();
                    (frame.to_vec().unwrap(), back.to_vec().unwrap())
                });
                let results: Vec<_> = results.collect();
                for result in &results {
                    assert_eq!(result, &results[0], "{layout:?}, {channels} channels");
                }
            }
        }
    }
}

/// Every operation explains what it did and where, including those without choices.
#[test]
fn a_context_explains_all_cached_operations() {
    for context in contexts() {
        let image = Image::from_slice(&context, Size::new(6, 4), 3, &bytes(72)).unwrap();
        image.resized(Size::new(3, 2), Interpolation::Area).unwrap();
        image.histogram().unwrap().wait().unwrap();
        let chain = Chain::parse("box:3", Border::Replicate).unwrap();
        let blurred: Image<u8> = image.filtered(&chain).unwrap();
        blurred.to_vec().unwrap();
        let explanations = context.explain();
        let operations: Vec<&str> = explanations.iter().map(|one| one.operation.as_str()).collect();
        let want =
            ["box:3 of 6x4, 3 x u8", "histogram of 6x4, 3 x u8", "area resizing of 6x4, 3 x u8 to 3x2"];
        assert_eq!(operations, want);
        for explanation in explanations {
            assert_eq!(explanation.device, context.name());
            assert_eq!(explanation.fallback, None);
            assert_eq!(explanation.build_seconds.is_some(), context.probe().is_some());
        }
        // The driver reports the end of a command on a thread of its own, perhaps after the host has seen it.
        let asked = std::time::Instant::now();
        while context.explain().iter().any(|one| one.first_call_seconds.is_none()) {
            assert!(asked.elapsed().as_secs() < 60, "no time of a first call");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        for explanation in context.explain() {
            let text = explanation.to_string();
            assert!(text.contains("from the first call to its completion"), "{text}");
        }
    }
}

/// Packed pixels have one plane, whatever the plane pitch; an image without columns has nothing to count, whatever the
/// number of its rows.
#[test]
fn odd_images_are_counted() {
    let odd = Raster { plane_pitch: 7, ..Raster::packed(Size::new(4, 2), 3, PixelType::U8) };
    let none = Raster { pitch: 5, ..Raster::packed(Size::new(0, 3), 1, PixelType::U8) };
    for context in contexts() {
        let counts =
            Image::with_raster(&context, odd, &[5u8; 24]).unwrap().histogram().unwrap().wait().unwrap();
        assert_eq!((counts[5], counts.iter().sum::<u32>()), (24, 24), "{}", context.name());
        assert_eq!(
            Image::<u8>::zeros(&context, none).unwrap().histogram().unwrap().wait().unwrap(),
            [0; 256]
        );
    }
}

/// Parts without elements, at any offset, including the end of the last row.
#[test]
fn empty_parts_are_parts() {
    for context in contexts() {
        let matrix = Matrix::from_slice(&context, Extents::new(3, 4), &[1.0f32; 12]).unwrap();
        for (rows, columns) in [(3..3, 0..4), (3..3, 4..4), (0..3, 4..4), (1..1, 2..3)] {
            let part = matrix.block(rows.clone(), columns.clone()).unwrap();
            assert_eq!(part.to_vec().unwrap(), [0.0; 0], "{rows:?} {columns:?} on {}", context.name());
        }
        let image = Image::from_slice(&context, Size::new(4, 3), 2, &bytes(24)).unwrap();
        for (x, y, size) in [(4, 3, Size::square(0)), (0, 3, Size::new(4, 0)), (4, 0, Size::new(0, 3))] {
            let part = *image.region(x, y, size).unwrap().raster();
            let chain = Chain::parse("box:3", Border::Reflect).unwrap();
            let to = chain.apply_to(&part).unwrap();
            let mut result = Image::<u8>::zeros(&context, to).unwrap();
            let filter = context.filter(&chain, &part, &to).unwrap();
            filter.run(image.region(x, y, size).unwrap(), &mut result).unwrap().wait().unwrap();
            assert_eq!(result.to_vec().unwrap(), [0; 0]);
        }
    }
}

/// Pixels in any layout are returned contiguously.
#[test]
fn images_come_back_without_gaps() {
    for context in contexts() {
        for channels in 1..=4 {
            let size = Size::new(7, 5);
            let packed = Raster::packed(size, channels, PixelType::U16);
            let planar = Raster::planar(size, channels, PixelType::U16);
            let all =
                [packed, packed.with_pitch(40), planar, planar.with_pitch(9), Raster { offset: 3, ..packed }];
            for raster in all {
                let elements: Vec<u16> = (0..raster.elements().unwrap() as u16).collect();
                let image = Image::with_raster(&context, raster, &elements).unwrap();
                let place = |x: usize, y: usize, channel: usize| {
                    let from = raster.offset + y * raster.pitch;
                    let packed = raster.plane_pitch == 0;
                    if packed {
                        from + x * channels + channel
                    } else {
                        from + x + channel * raster.plane_pitch
                    }
                };
                let pixels = (0..35).flat_map(|i| (0..channels).map(move |channel| (i % 7, i / 7, channel)));
                let want: Vec<u16> = pixels.map(|(x, y, channel)| place(x, y, channel) as u16).collect();
                assert_eq!(image.to_packed_vec().unwrap(), want, "{raster:?} on {}", context.name());
            }
        }
        let none = Image::<u16>::zeros(&context, Raster::packed(Size::new(0, 3), 1, PixelType::U16)).unwrap();
        assert_eq!(none.to_packed_vec().unwrap(), [0; 0]);
    }
}

#[test]
fn a_chain_for_another_type_of_pixels_says_how_to_convert() {
    for context in contexts() {
        let image = Image::from_slice(&context, Size::new(4, 3), 1, &[7u8; 12]).unwrap();
        let error = image.filtered::<f32>(&Chain::parse("sobel", Border::Wrap).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Shape);
        assert!(error.to_string().contains("convert:f32"), "{error}");
        let chain = Chain::parse("sobel,convert:f32", Border::Wrap).unwrap();
        assert_eq!(image.filtered::<f32>(&chain).unwrap().to_vec().unwrap(), [0.0; 12]);
    }
}

/// Vectors without elements have none in common.
#[test]
fn empty_vectors_may_be_shared() {
    for context in contexts() {
        let none = Vector::<f32>::zeros(&context, 0).unwrap();
        let mut same = none.share();
        same.add_scaled(2.0, &none).unwrap().wait().unwrap();
        Elementwise::in_place(&mut same).add(&none).run().unwrap().wait().unwrap();
        let some = Vector::from_slice(&context, &[1.0f32]).unwrap();
        let error = some.share().add_scaled(2.0, &some).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Aliased, "{}", context.name());
    }
}
