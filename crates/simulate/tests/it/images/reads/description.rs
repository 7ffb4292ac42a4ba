//! Descriptions of images and samplers: layout in memory, errors, what kernels learn about them.

use tripipe_ir::op::{self, ImageFact, SamplerBits};
use tripipe_ir::{ImageAccess, ImageDim, ImageType};
use tripipe_launch::{
    Addressing, ChannelOrder, ChannelType, Filter, ImageExtent as E, ImageShape, ImageShapeError, Sampler,
};
use tripipe_simulate::image::{Image, ImageError, Reader, Sample, Texel, sampler};

use super::shape;

#[test]
fn rows_and_slices_follow_the_pitches() {
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
fn invalid_images_are_rejected() {
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
fn invalid_samplers_are_rejected() {
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
fn kernels_can_query_size_and_format() {
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
