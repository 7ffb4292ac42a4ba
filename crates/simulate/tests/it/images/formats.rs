//! Compares formats with the specification's conversion rules (OpenCL C 3.0, 8.3), computed in double precision.

use half::f16;
use tripipe_launch::{ChannelOrder as O, ChannelType as C, ImageShape};
use tripipe_simulate::image::{Image, ImageError, Texel, TexelKind};

fn image(order: O, channel: C) -> Image {
    Image::packed(&ImageShape::d2(1, 1, order, channel)).unwrap()
}

fn floats(texel: Texel) -> [f32; 4] {
    let Texel::Float(rgba) = texel else { panic!("{texel:?}") };
    rgba
}

/// The red channel of a one-channel texel.
fn red(image: &Image, bytes: &[u8]) -> f32 {
    floats(image.decode(bytes))[0]
}

fn written(image: &Image, red: f32) -> Vec<u8> {
    image.encode(&Texel::Float([red, 0.0, 0.0, 0.0])).unwrap().to_vec()
}

/// Allows half a unit in the last place, plus the double's own rounding error.
fn assert_nearest(found: f32, exact: f64, code: i64) {
    let ulp = f64::from(found.next_up() - found).abs().max(f64::from(found - found.next_down()).abs());
    assert!((f64::from(found) - exact).abs() <= 0.500_000_1 * ulp, "{code}: {found} for {exact}");
}

#[test]
fn every_unorm_code_reads_as_its_fraction_and_writes_back() {
    let (byte, short) = (image(O::R, C::UnormU8), image(O::R, C::UnormU16));
    for code in 0..=u8::MAX {
        let read = red(&byte, &[code]);
        assert_nearest(read, f64::from(code) / 255.0, code.into());
        assert_eq!(written(&byte, read), [code]);
    }
    for code in 0..=u16::MAX {
        let read = red(&short, &code.to_ne_bytes());
        assert_nearest(read, f64::from(code) / 65535.0, code.into());
        assert_eq!(written(&short, read), code.to_ne_bytes());
    }
    assert_eq!((red(&byte, &[0]), red(&byte, &[255])), (0.0, 1.0));
    assert_eq!((red(&short, &[0, 0]), red(&short, &[255, 255])), (0.0, 1.0));
}

#[test]
fn every_snorm_code_reads_as_its_fraction_and_writes_back() {
    let (byte, short) = (image(O::R, C::SnormI8), image(O::R, C::SnormI16));
    for code in i8::MIN..=i8::MAX {
        let read = red(&byte, &code.to_ne_bytes());
        assert_nearest(read, (f64::from(code) / 127.0).max(-1.0), code.into());
        // The lowest code is a second code for -1.
        assert_eq!(written(&byte, read), code.max(-127).to_ne_bytes());
    }
    for code in i16::MIN..=i16::MAX {
        let read = red(&short, &code.to_ne_bytes());
        assert_nearest(read, (f64::from(code) / 32767.0).max(-1.0), code.into());
        assert_eq!(written(&short, read), code.max(-32767).to_ne_bytes());
    }
}

#[test]
fn packed_channels_are_where_the_specification_puts_them() {
    let fraction = |code: u32, most: u32| (f64::from(code) / f64::from(most)) as f32;
    let (six, five) = (image(O::Rgb, C::Unorm565), image(O::Rgb, C::Unorm555));
    for bits in 0..=u16::MAX {
        let code = u32::from(bits);
        // 565: R 15:11, G 10:5, B 4:0. 555: bit 15 is unused, R 14:10, G 9:5, B 4:0.
        let rgba = floats(six.decode(&bits.to_ne_bytes()));
        let (r, g, b) = (code >> 11, code >> 5 & 63, code & 31);
        assert_eq!(rgba, [fraction(r, 31), fraction(g, 63), fraction(b, 31), 1.0], "{code:#06x}");
        assert_eq!(*six.encode(&Texel::Float(rgba)).unwrap(), bits.to_ne_bytes());
        let rgba = floats(five.decode(&bits.to_ne_bytes()));
        let (r, g, b) = (code >> 10 & 31, code >> 5 & 31, code & 31);
        assert_eq!(rgba, [fraction(r, 31), fraction(g, 31), fraction(b, 31), 1.0], "{code:#06x}");
        assert_eq!(*five.encode(&Texel::Float(rgba)).unwrap(), (bits & 0x7FFF).to_ne_bytes());
    }
    let (tens, with_alpha) = (image(O::Rgb, C::Unorm101010), image(O::Rgba, C::Unorm1010102));
    for code in 0..1024_u32 {
        // 101010: bits 31:30 are unused, R 29:20, G 19:10, B 9:0. 101010_2: R 31:22, G 21:12, B 11:2, A 1:0.
        let (g, b, a) = (1023 - code, code ^ 0x155, code & 3);
        let bits = code << 20 | g << 10 | b;
        let rgba = floats(tens.decode(&(bits | 3 << 30).to_ne_bytes()));
        assert_eq!(rgba, [fraction(code, 1023), fraction(g, 1023), fraction(b, 1023), 1.0]);
        assert_eq!(*tens.encode(&Texel::Float(rgba)).unwrap(), bits.to_ne_bytes());
        let bits = code << 22 | g << 12 | b << 2 | a;
        let rgba = floats(with_alpha.decode(&bits.to_ne_bytes()));
        assert_eq!(rgba, [fraction(code, 1023), fraction(g, 1023), fraction(b, 1023), fraction(a, 3)]);
        assert_eq!(*with_alpha.encode(&Texel::Float(rgba)).unwrap(), bits.to_ne_bytes());
    }
    // min(convert_ushort_sat_rte(f * 1023), 0x3ff)
    let bright = Texel::Float([2.0, -1.0, f32::NAN, f32::INFINITY]);
    assert_eq!(*tens.encode(&bright).unwrap(), (1023_u32 << 20).to_ne_bytes());
    assert_eq!(*with_alpha.encode(&bright).unwrap(), (1023_u32 << 22 | 3).to_ne_bytes());
}

#[test]
fn every_half_is_read_without_loss_and_written_to_nearest_even() {
    let half = image(O::R, C::F16);
    for code in 0..=u16::MAX {
        let read = red(&half, &code.to_ne_bytes());
        let want = f16::from_bits(code).to_f32();
        if want.is_nan() {
            assert!(read.is_nan() && f16::from_ne_bytes(written(&half, read).try_into().unwrap()).is_nan());
        } else {
            assert_eq!(read.to_bits(), want.to_bits());
            assert_eq!(written(&half, read), code.to_ne_bytes());
        }
    }
    // 11 bits of significand: 1 + 2^-11 is halfway between 1 and 1 + 2^-10, and so on; 65504 is the largest, 2^-24
    // the smallest.
    for (number, code) in [
        (1.0 + 1.0 / 2048.0, 0x3C00),
        (1.0 + 1.5 / 2048.0, 0x3C01),
        (1.0 + 3.0 / 2048.0, 0x3C02),
        (65519.0, 0x7BFF),
        (65520.0, 0x7C00),
        (-f32::INFINITY, 0xFC00),
        (1.0 / 33_554_432.0, 0x0000),
        (1.5 / 33_554_432.0, 0x0001),
        (3.0 / 33_554_432.0, 0x0002),
    ] {
        assert_eq!(written(&half, number), u16::to_ne_bytes(code), "{number}");
    }
}

#[test]
fn floats_are_preserved_to_the_bit() {
    let single = image(O::R, C::F32);
    for bits in [0, 1, 0x8000_0000, 0x7F7F_FFFF, 0x7F80_0000, 0xFF80_0000, 0x3F80_0001, 0x7FC1_2345] {
        let read = red(&single, &u32::to_ne_bytes(bits));
        assert_eq!(read.to_bits(), bits);
        assert_eq!(written(&single, read), bits.to_ne_bytes());
    }
}

/// IEC 61966-2-1, as in OpenCL C 3.0, 8.3.5.
fn srgb_to_linear(c: f64) -> f64 {
    if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
}

fn linear_to_srgb(c: f64) -> f64 {
    if c < 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 }
}

#[test]
fn srgb_follows_the_published_formulas_and_alpha_is_linear() {
    let (rgba, bgra) = (image(O::Srgba, C::UnormU8), image(O::Sbgra, C::UnormU8));
    for code in 0..=u8::MAX {
        let linear = srgb_to_linear(f64::from(code) / 255.0);
        let [r, g, b, a] = floats(rgba.decode(&[code, 0, 255, code]));
        assert_nearest(r, linear, code.into());
        assert_eq!((g, b), (0.0, 1.0));
        assert_nearest(a, f64::from(code) / 255.0, code.into());
        assert_eq!(floats(bgra.decode(&[255, 0, code, code])), [r, g, b, a]);
        assert_eq!(*rgba.encode(&Texel::Float([r, g, b, a])).unwrap(), [code, 0, 255, code]);
        assert_eq!(*bgra.encode(&Texel::Float([r, g, b, a])).unwrap(), [255, 0, code, code]);
    }
    for step in 0..=100_000 {
        let linear = step as f32 / 100_000.0;
        let exact = linear_to_srgb(linear.into()) * 255.0;
        let code = rgba.encode(&Texel::Float([linear, 0.0, 0.0, 0.0])).unwrap()[0];
        assert!((f64::from(code) - exact).abs() <= 0.5 + 1e-9, "{linear}: {code} for {exact}");
    }
    let wild = [f32::NAN, -0.5, 1.5, f32::NAN];
    assert_eq!(*rgba.encode(&Texel::Float(wild)).unwrap(), [0, 0, 255, 0]);
}

#[test]
fn written_floats_round_to_even_and_saturate() {
    let least = f32::MIN_POSITIVE;
    for (channel, number, code) in [
        (C::UnormU8, 0.5, 128), // 127.5
        (C::UnormU8, -0.7, 0),
        (C::UnormU8, 1.002, 255),
        (C::UnormU8, least, 0),
        (C::UnormU8, f32::INFINITY, 255),
        (C::UnormU8, f32::NEG_INFINITY, 0),
        (C::UnormU8, f32::NAN, 0),
        (C::SnormI8, 0.5, 64), // 63.5
        (C::SnormI8, -0.5, -64),
        (C::SnormI8, -1.0, -127),
        (C::SnormI8, -1.1, -128), // convert_char_sat has room for one more
        (C::SnormI8, 1.1, 127),
        (C::SnormI8, f32::NAN, 0),
        (C::UnormU16, 0.5, 32768), // 32767.5
        (C::UnormU16, 7.0, 65535),
        (C::SnormI16, 0.5, 16384), // 16383.5
        (C::SnormI16, -2.0, -32768),
    ] {
        let image = image(O::R, channel);
        let bytes = written(&image, number);
        let found = match (channel, bytes.as_slice()) {
            (C::UnormU8, [byte]) => i32::from(*byte),
            (C::SnormI8, [byte]) => i32::from(byte.cast_signed()),
            (C::UnormU16, [a, b]) => i32::from(u16::from_ne_bytes([*a, *b])),
            (C::SnormI16, [a, b]) => i32::from(i16::from_ne_bytes([*a, *b])),
            _ => panic!("{channel:?} {bytes:?}"),
        };
        assert_eq!(found, code, "{channel:?} {number}");
    }
    // Every tie of 255ths and 31sts that single precision represents: 0.5 / 255 becomes 0, 1.5 / 255 and 2.5 / 255
    // become 2.
    let (byte, packed) = (image(O::R, C::UnormU8), image(O::Rgb, C::Unorm555));
    for (image, most, shift) in [(byte, 255_u8, 0), (packed, 31, 10)] {
        for below in 0..most {
            let (tie, most) = (f32::from(below) + 0.5, f32::from(most));
            let near = tie / most;
            let number =
                [near.next_down(), near, near.next_up()].into_iter().find(|f| f * most == tie).unwrap();
            let want = u16::from(below + below % 2) << shift;
            assert_eq!(written(&image, number), want.to_ne_bytes()[..image.texel_bytes()], "{tie} of {most}");
        }
    }
}

#[test]
fn integers_are_preserved_and_saturate() {
    for (channel, bytes, read) in [
        (C::I8, vec![0x80], -128),
        (C::I16, 0x8001_u16.to_ne_bytes().to_vec(), -32767),
        (C::I32, 0x8000_0000_u32.to_ne_bytes().to_vec(), i32::MIN),
    ] {
        let image = image(O::R, channel);
        assert_eq!(image.decode(&bytes), Texel::Signed([read, 0, 0, 1]));
        assert_eq!(image.encode(&Texel::Signed([read, 7, 7, 7])).unwrap().to_vec(), bytes);
    }
    for (channel, bytes, read) in [
        (C::U8, vec![0xFF], 255),
        (C::U16, 0xFFFE_u16.to_ne_bytes().to_vec(), 65534),
        (C::U32, u32::MAX.to_ne_bytes().to_vec(), u32::MAX),
    ] {
        let image = image(O::R, channel);
        assert_eq!(image.decode(&bytes), Texel::Unsigned([read, 0, 0, 1]));
        assert_eq!(image.encode(&Texel::Unsigned([read, 7, 7, 7])).unwrap().to_vec(), bytes);
    }
    let wild = Texel::Signed([200, -200, i32::MIN, i32::MAX]);
    assert_eq!(*image(O::Rgba, C::I8).encode(&wild).unwrap(), [127, 128, 128, 127]);
    let shorts = Texel::Signed([40_000, -40_000, i32::MIN, i32::MAX]);
    let want = [i16::MAX, i16::MIN, i16::MIN, i16::MAX].map(i16::to_ne_bytes).concat();
    assert_eq!(image(O::Rgba, C::I16).encode(&shorts).unwrap().to_vec(), want);
    let wild = Texel::Unsigned([255, 256, u32::MAX, 0]);
    assert_eq!(*image(O::Rgba, C::U8).encode(&wild).unwrap(), [255, 255, 255, 0]);
    let shorts = Texel::Unsigned([65535, 65536, u32::MAX, 0]);
    let want = [u16::MAX, u16::MAX, u16::MAX, 0].map(u16::to_ne_bytes).concat();
    assert_eq!(image(O::Rgba, C::U16).encode(&shorts).unwrap().to_vec(), want);
}

/// Channels in memory are 2/255, 4/255, 6/255 and 8/255, or 2, 4, 6 and 8. 6.15.15.7 "Mapping image channels to color
/// values ...", and the order of the letters in the name.
#[test]
fn channels_follow_the_channel_order() {
    for (order, read, border_alpha) in [
        (O::R, [2, 0, 0, 255], 1.0),
        (O::A, [0, 0, 0, 2], 0.0),
        (O::Rg, [2, 4, 0, 255], 1.0),
        (O::Ra, [2, 0, 0, 4], 0.0),
        (O::Rgba, [2, 4, 6, 8], 0.0),
        (O::Bgra, [6, 4, 2, 8], 0.0),
        (O::Argb, [4, 6, 8, 2], 0.0),
        (O::Abgr, [8, 6, 4, 2], 0.0),
        (O::Intensity, [2, 2, 2, 2], 0.0),
        (O::Luminance, [2, 2, 2, 255], 1.0),
    ] {
        let image = image(order, C::UnormU8);
        let memory = &[2, 4, 6, 8][..order.channels()];
        let want = read.map(|code: u8| f32::from(code) / 255.0);
        assert_eq!(image.decode(memory), Texel::Float(want), "{order:?}");
        assert_eq!(&*image.encode(&Texel::Float(want)).unwrap(), memory, "{order:?}");
        assert_eq!(image.border(), Texel::Float([0.0, 0.0, 0.0, border_alpha]), "{order:?}");
    }
    let depth = image(O::Depth, C::F32);
    assert_eq!(depth.decode(&0.25_f32.to_ne_bytes()), Texel::Float([0.25, 0.0, 0.0, 1.0]));
    assert_eq!(*depth.encode(&Texel::Float([0.25, 9.0, 9.0, 9.0])).unwrap(), 0.25_f32.to_ne_bytes());
    assert_eq!(floats(depth.border())[0], 0.0);
    for (order, read, border_alpha) in [
        (O::R, [2, 0, 0, 1], 1),
        (O::A, [0, 0, 0, 2], 0),
        (O::Rg, [2, 4, 0, 1], 1),
        (O::Ra, [2, 0, 0, 4], 0),
        (O::Rgba, [2, 4, 6, 8], 0),
        (O::Bgra, [6, 4, 2, 8], 0),
        (O::Argb, [4, 6, 8, 2], 0),
    ] {
        let image = image(order, C::U8);
        let memory = &[2, 4, 6, 8][..order.channels()];
        assert_eq!(image.decode(memory), Texel::Unsigned(read), "{order:?}");
        assert_eq!(&*image.encode(&Texel::Unsigned(read)).unwrap(), memory, "{order:?}");
        assert_eq!(image.border(), Texel::Unsigned([0, 0, 0, border_alpha]), "{order:?}");
    }
    assert_eq!(image(O::R, C::I32).border(), Texel::Signed([0, 0, 0, 1]));
    // Packed RGB has no alpha.
    assert_eq!(image(O::Rgb, C::Unorm565).border(), Texel::Float([0.0, 0.0, 0.0, 1.0]));
}

#[test]
fn every_format_has_the_size_and_kind_of_its_texels() {
    for order in O::ALL {
        for channel in C::ALL.into_iter().filter(|channel| order.takes(*channel)) {
            let image = image(order, channel);
            let zeros = vec![0; image.texel_bytes()];
            let texel = image.decode(&zeros);
            let format = format!("{order:?} {channel:?}");
            assert_eq!([texel.kind(), image.border().kind()], [image.kind(); 2], "{format}");
            assert_eq!(image.encode(&texel).unwrap().len(), image.texel_bytes(), "{format}");
            // Missing bytes count as zeros.
            assert_eq!(image.decode(&[]), texel, "{format}");
        }
    }
}

#[test]
fn texels_of_another_kind_are_refused() {
    let image = image(O::Rgba, C::U8);
    let error = image.encode(&Texel::Float([0.0; 4])).unwrap_err();
    assert_eq!(error, ImageError::Kind { want: TexelKind::Unsigned, found: TexelKind::Float });
    assert_eq!(error.to_string(), "the image takes unsigned integer texels, not float ones");
    assert!(image.encode(&Texel::Signed([0; 4])).is_err());
}

#[test]
fn components_are_their_bits_and_halves() {
    let bits = [0x3F80_0000, 0x8000_0000, 1, 0];
    for kind in [TexelKind::Float, TexelKind::Signed, TexelKind::Unsigned] {
        let texel = Texel::from_bits(kind, bits);
        assert_eq!((texel.kind(), texel.bits()), (kind, bits));
    }
    assert_eq!(Texel::from_bits(TexelKind::Float, bits), Texel::Float([1.0, -0.0, f32::from_bits(1), 0.0]));
    assert_eq!(Texel::from_bits(TexelKind::Signed, bits), Texel::Signed([0x3F80_0000, i32::MIN, 1, 0]));
    // 0.1 is 0x2E66 (0.0999755859375); 65520 rounds up to infinity.
    let halves = Texel::Float([0.1, 65520.0, -0.0, 1.0]).halves().unwrap();
    assert_eq!(halves.map(f16::to_bits), [0x2E66, 0x7C00, 0x8000, 0x3C00]);
    assert_eq!(Texel::from(halves), Texel::Float([0.099_975_586, f32::INFINITY, -0.0, 1.0]));
    assert_eq!(Texel::Unsigned([1; 4]).halves(), None);
}
