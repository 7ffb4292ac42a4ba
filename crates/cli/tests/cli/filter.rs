//! `tripipe filter`, compared with separate formulas.

use image::{DynamicImage, GrayAlphaImage, GrayImage, Rgb, RgbImage, Rgba, RgbaImage};

use crate::{Bench, complaint, done};

/// 9 x the pixel - its neighbours, clamped; the ring copied. `channels` bytes per pixel, `filtered` of which are
/// filtered.
pub(crate) fn sharpened(
    bytes: &[u8],
    width: usize,
    height: usize,
    channels: usize,
    filtered: usize,
) -> Vec<u8> {
    let mut result = bytes.to_vec();
    for y in 1..height.saturating_sub(1) {
        for x in 1..width.saturating_sub(1) {
            for channel in 0..filtered {
                let at = |x: usize, y: usize| i32::from(bytes[(y * width + x) * channels + channel]);
                let mut around = 0;
                for (dx, dy) in [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (1, 2), (2, 2)] {
                    around += at(x + dx - 1, y + dy - 1);
                }
                result[(y * width + x) * channels + channel] = (9 * at(x, y) - around).clamp(0, 255) as u8;
            }
        }
    }
    result
}

fn value(x: u32, y: u32, channel: u32) -> u8 {
    (x * 37 + y * 91 + channel * 53 + x * y * 11) as u8
}

pub(crate) fn rgb(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| Rgb([value(x, y, 0), value(x, y, 1), value(x, y, 2)]))
}

pub(crate) fn check(bench: &Bench, picture: &DynamicImage, name: &str) {
    picture.save(bench.path().join(name)).unwrap();
    bench.succeed(&["filter", "laplace", name, "out.png", "--border", "none"]);
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let channels = usize::from(picture.color().channel_count());
    let filtered = if picture.color().has_alpha() { channels - 1 } else { channels };
    let out = image::open(bench.path().join("out.png")).unwrap();
    assert_eq!(out.color(), picture.color(), "{name}");
    assert_eq!(out.as_bytes(), sharpened(picture.as_bytes(), width, height, channels, filtered), "{name}");
}

#[test]
fn every_size_and_kind_of_pixel() {
    let bench = Bench::new();
    for (width, height) in [(1, 1), (1, 5), (2, 3), (3, 3), (17, 9), (64, 33)] {
        check(&bench, &DynamicImage::ImageRgb8(rgb(width, height)), "rgb.png");
        let gray = GrayImage::from_fn(width, height, |x, y| image::Luma([value(x, y, 0)]));
        check(&bench, &DynamicImage::ImageLuma8(gray), "gray.png");
        let alpha =
            GrayAlphaImage::from_fn(width, height, |x, y| image::LumaA([value(x, y, 0), value(x, y, 1)]));
        check(&bench, &DynamicImage::ImageLumaA8(alpha), "gray-alpha.png");
        let rgba =
            RgbaImage::from_fn(width, height, |x, y| Rgba([0, 1, 2, 3].map(|channel| value(x, y, channel))));
        check(&bench, &DynamicImage::ImageRgba8(rgba), "rgba.png");
    }
}

#[test]
fn prints_device_kernel_and_time() {
    let bench = Bench::new();
    rgb(40, 30).save(bench.path().join("a.png")).unwrap();
    let said = bench.succeed(&["filter", "laplace", "a.png", "b.png", "--device", "cpu"]);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.starts_with("a.png 40x30 RGB -> b.png\nCPU path"), "{said}");
    assert!(said.contains(" took "), "{said}");
}

#[test]
fn input_and_output_may_be_the_same_file() {
    let bench = Bench::new();
    let picture = rgb(20, 10);
    picture.save(bench.path().join("a.png")).unwrap();
    bench.succeed(&["filter", "laplace", "a.png", "a.png", "--border", "none"]);
    let out = image::open(bench.path().join("a.png")).unwrap();
    assert_eq!(out.as_bytes(), sharpened(picture.as_raw(), 20, 10, 3, 3));
    assert_eq!(bench.files(), ["a.png"]);
}

/// A binary PGM or PPM with 16 bits per channel.
fn deep_pnm(width: usize, height: usize, channels: usize, values: &[u16]) -> Vec<u8> {
    let kind = if channels == 1 { 5 } else { 6 };
    let mut file = format!("P{kind}\n{width} {height}\n65535\n").into_bytes();
    file.extend(values.iter().flat_map(|value| value.to_be_bytes()));
    file
}

fn deep_values(count: usize) -> Vec<u16> {
    (0..count).map(|at| (at * 40_503 + 77) as u16).collect()
}

/// 9 x the pixel - its neighbours, clamped to 16 bits; the ring copied.
fn sharpened_deep(values: &[u16], width: usize, height: usize, channels: usize) -> Vec<u16> {
    let mut result = values.to_vec();
    for y in 1..height - 1 {
        for x in 1..width - 1 {
            for channel in 0..channels {
                let at = |x: usize, y: usize| i64::from(values[(y * width + x) * channels + channel]);
                let around: i64 = (0..9)
                    .filter(|place| *place != 4)
                    .map(|place| at(x + place % 3 - 1, y + place / 3 - 1))
                    .sum();
                result[(y * width + x) * channels + channel] =
                    (9 * at(x, y) - around).clamp(0, 65_535) as u16;
            }
        }
    }
    result
}

#[test]
fn sixteen_bits_stay_sixteen_bits() {
    let bench = Bench::new();
    for (channels, name, formats) in
        [(3, "a.ppm", ["ppm", "png", "tiff", "pam"]), (1, "a.pgm", ["pgm", "png", "tiff", "pam"])]
    {
        let (width, height) = (13, 9);
        let values = deep_values(width * height * channels);
        bench.write(name, deep_pnm(width, height, channels, &values));
        for format in formats {
            // To the format and back.
            let there = format!("there.{format}");
            let said = bench.succeed(&["filter", "copy", name, &there]);
            assert!(said.contains("of 16 bits"), "{said}");
            let back = format!("back.{}", &name[2..]);
            bench.succeed(&["filter", "laplace", &there, &back, "--border", "none"]);
            let want = deep_pnm(width, height, channels, &sharpened_deep(&values, width, height, channels));
            assert_eq!(bench.read(&back), want, "{format}, {channels} channels");
        }
        for format in ["jpg", "bmp", "webp"] {
            bench.refuse(
                &["filter", "copy", name, &format!("out.{format}")],
                &["16", "convert:u8:0.00389105"],
            );
        }
        // 65535 becomes 255, with rounding.
        bench.succeed(&["filter", "convert:u8:0.00389105", name, "out.bmp"]);
        let bytes: Vec<u8> = values.iter().map(|value| (f64::from(*value) / 257.0).round() as u8).collect();
        let found = image::open(bench.path().join("out.bmp")).unwrap();
        let found = if channels == 1 { found.to_luma8().into_raw() } else { found.to_rgb8().into_raw() };
        assert_eq!(found, bytes);
    }
}

/// The pixels of a PPM with 8 bits per channel.
fn ppm(bench: &Bench, name: &str) -> (usize, usize, Vec<u8>) {
    let bytes = bench.read(name);
    let header = bytes.split(|byte| *byte == b'\n').take(3).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let start = header.iter().map(|line| line.len() + 1).sum();
    let extents: Vec<usize> = String::from_utf8(header[1].clone())
        .unwrap()
        .split(' ')
        .map(|extent| extent.parse().unwrap())
        .collect();
    (extents[0], extents[1], bytes[start..].to_vec())
}

#[test]
fn other_extents() {
    let bench = Bench::new();
    let picture = rgb(12, 8);
    picture.save(bench.path().join("a.png")).unwrap();
    let said = bench.succeed(&["filter", "resize:5x3:nearest", "a.png", "b.ppm"]);
    assert!(said.starts_with("a.png 12x8 RGB -> b.ppm 5x3 RGB\n"), "{said}");
    let (width, height, pixels) = ppm(&bench, "b.ppm");
    assert_eq!((width, height), (5, 3));
    for (at, pixel) in pixels.chunks(3).enumerate() {
        let source = picture.get_pixel((at % 5 * 12 / 5) as u32, (at / 5 * 8 / 3) as u32);
        assert_eq!(pixel, source.0, "{at}");
    }
    // By area is the default: the mean of 4 x 2 pixels each, rounded half up.
    bench.succeed(&["filter", "resize:3x", "a.png", "c.ppm"]);
    let (width, height, pixels) = ppm(&bench, "c.ppm");
    assert_eq!((width, height), (3, 2));
    for (at, pixel) in pixels.chunks(3).enumerate() {
        for (channel, value) in pixel.iter().enumerate() {
            let (x, y) = (at as u32 % 3 * 4, at as u32 / 3 * 4);
            let sum: u32 = (0..16)
                .map(|place| u32::from(picture.get_pixel(x + place % 4, y + place / 4).0[channel]))
                .sum();
            assert_eq!(u32::from(*value), (sum + 8) / 16, "{at}, {channel}");
        }
    }
    // In the middle of a chain; later filters use the new extents.
    bench.succeed(&["filter", "gray,resize:24x16:linear,rgb", "a.png", "d.ppm"]);
    assert_eq!(ppm(&bench, "d.ppm").2.len(), 24 * 16 * 3);
    // A quarter anticlockwise is three clockwise; otherwise all of the picture is in 12 |cos| + 8 |sin| columns.
    bench.succeed(&["filter", "rotate:90", "a.png", "f.ppm"]);
    assert_eq!(ppm(&bench, "f.ppm"), (8, 12, image::imageops::rotate270(&picture).into_raw()));
    bench.succeed(&["filter", "rotate:30:cubic", "a.png", "g.ppm"]);
    assert_eq!(ppm(&bench, "g.ppm").2.len(), 14 * 13 * 3);
    bench.refuse(&["filter", "rotate:x", "a.png", "e.png"], &["rotate:DEGREES"]);
    for bad in ["resize", "resize:0x4", "resize:4", "resize:4x4:best", "resize:-1x4"] {
        bench.refuse(&["filter", bad, "a.png", "e.png"], &["resize:WIDTHxHEIGHT"]);
    }
    bench.refuse(&["filter", "resize:1000000x1000000", "a.png", "e.png"], &["1000000x1000000", "smaller"]);
}

#[test]
fn alpha_follows_its_image() {
    let bench = Bench::new();
    let pixels: Vec<[u8; 2]> = (0..64u8).map(|at| [at * 3, 255 - at * 2]).collect();
    let gray = GrayAlphaImage::from_raw(8, 8, pixels.concat()).unwrap();
    gray.save(bench.path().join("a.png")).unwrap();
    bench.succeed(&["filter", "resize:4x4:nearest", "a.png", "b.png"]);
    let small = image::open(bench.path().join("b.png")).unwrap();
    assert_eq!(small.color(), image::ColorType::La8);
    let want: Vec<u8> = (0..16).flat_map(|at| pixels[at / 4 * 16 + at % 4 * 2]).collect();
    assert_eq!(small.as_bytes(), want);
    // Gray that becomes RGB keeps its alpha; alpha can be dropped.
    bench.succeed(&["filter", "rgb", "a.png", "c.png"]);
    let color = image::open(bench.path().join("c.png")).unwrap();
    let want: Vec<u8> = pixels.iter().flat_map(|[gray, alpha]| [*gray, *gray, *gray, *alpha]).collect();
    assert_eq!((color.color(), color.as_bytes()), (image::ColorType::Rgba8, &want[..]));
    bench.refuse(&["filter", "copy", "a.png", "d.jpg"], &["alpha", "drop-alpha"]);
    bench.succeed(&["filter", "drop-alpha", "a.png", "d.pgm"]);
    bench.succeed(&["filter", "convert:u16:257", "a.png", "e.png"]);
    let deep = image::open(bench.path().join("e.png")).unwrap();
    assert_eq!(deep.color(), image::ColorType::La16);
    assert_eq!(deep.to_luma_alpha8().into_raw(), pixels.concat());
    // Alpha that a filter has created is not filtered.
    rgb(8, 8).save(bench.path().join("f.png")).unwrap();
    bench.succeed(&["filter", "add-alpha,laplace8", "f.png", "g.png"]);
    let opaque = image::open(bench.path().join("g.png")).unwrap().to_rgba8();
    assert!(opaque.pixels().all(|pixel| pixel.0[3] == 255));
}

/// Luma, blue and red difference of BT.601 in limited range to RGB, by the formulas of the standard.
fn bt601([y, u, v]: [u8; 3]) -> [f64; 3] {
    let [y, u, v] = [f64::from(y) - 16.0, f64::from(u) - 128.0, f64::from(v) - 128.0];
    let luma = y.max(0.0) * 255.0 / 219.0;
    let [u, v] = [u, v].map(|chroma| chroma * 255.0 / 112.0);
    [luma + 0.701 * v, luma - 0.886 * 0.114 / 0.587 * u - 0.701 * 0.299 / 0.587 * v, luma + 0.886 * u]
}

#[test]
fn frames_of_cameras() {
    let bench = Bench::new();
    let (width, height, pitch) = (6, 4, 8);
    let luma = |x: usize, y: usize| (40 + x * 23 + y * 11) as u8;
    let chroma = |x: usize, y: usize| [(100 + x * 9) as u8, (150 - y * 12) as u8];
    let frame = |pitch: usize, v_first: bool| -> Vec<u8> {
        let mut bytes = Vec::new();
        for y in 0..height {
            bytes.extend((0..width).map(|x| luma(x, y)).chain(vec![9; pitch - width]));
        }
        for y in 0..height / 2 {
            for x in 0..width / 2 {
                let [u, v] = chroma(x, y);
                bytes.extend(if v_first { [v, u] } else { [u, v] });
            }
            bytes.extend(vec![9; pitch - width]);
        }
        bytes
    };
    for (name, from, bytes) in [
        ("a.nv12", "nv12:6x4", frame(width, false)),
        ("a.nv21", "nv21:6x4", frame(width, true)),
        ("a.raw", "nv12:6x4:8", frame(pitch, false)),
        // Some files omit the padding after the last row.
        ("b.raw", "nv12:6x4:8", frame(pitch, false)[..pitch * 6 - 2].to_vec()),
    ] {
        bench.write(name, bytes);
        bench.succeed(&["filter", "copy", name, "out.ppm", "--from", from]);
        let (_, _, pixels) = ppm(&bench, "out.ppm");
        assert_eq!(pixels.len(), width * height * 3);
        for (at, pixel) in pixels.chunks(3).enumerate() {
            let (x, y) = (at % width, at / width);
            let [u, v] = chroma(x / 2, y / 2);
            for (found, want) in pixel.iter().zip(bt601([luma(x, y), u, v])) {
                assert!(
                    (f64::from(*found) - want.clamp(0.0, 255.0)).abs() <= 1.0,
                    "{from} at {x}, {y}: {pixel:?}"
                );
            }
        }
    }
    // White, black and gray are known; an odd frame has its chroma extents rounded up.
    let gray = RgbImage::from_fn(5, 3, |x, _| Rgb([[0, 255, 128, 0, 255][x as usize]; 3]));
    gray.save(bench.path().join("gray.png")).unwrap();
    let said = bench.succeed(&["filter", "copy", "gray.png", "gray.nv12"]);
    assert!(said.contains("-> gray.nv12 NV12"), "{said}");
    let row = [16, 235, 126, 16, 235];
    let mut want = [row; 3].concat();
    want.extend([128; 12]);
    assert_eq!(bench.read("gray.nv12"), want);
    // A gray picture works too; --to selects the format whatever the file name.
    bench.succeed(&["filter", "gray", "gray.png", "any", "--to", "nv21"]);
    assert_eq!(bench.read("any"), want);
    bench.refuse(&["filter", "copy", "a.nv12", "x.png"], &["--from nv12:WIDTHxHEIGHT"]);
    bench.refuse(
        &["filter", "copy", "a.nv12", "x.png", "--from", "nv12:8x8"],
        &["36 bytes", "96", "check its size"],
    );
    bench.refuse(&["filter", "copy", "a.nv12", "x.png", "--from", "nv12"], &["nv12:WIDTHxHEIGHT"]);
    bench.refuse(&["filter", "add-alpha", "gray.png", "x.nv12"], &["alpha", "drop-alpha"]);
    bench.refuse(&["filter", "copy", "gray.png", "x", "--to", "gif"], &["gif", "nv12"]);
}

#[test]
fn operations_are_explained_one_by_one() {
    let bench = Bench::new();
    rgb(40, 30).save(bench.path().join("a.png")).unwrap();
    let chain = "gray,resize:20x15,laplace";
    let said = bench.succeed(&["filter", chain, "a.png", "b.png", "--device", "cpu"]);
    assert!(said.starts_with("a.png 40x30 RGB -> b.png 20x15 gray\n"), "{said}");
    assert!(said.contains("area resizing of 40x30") && said.contains("laplace of 20x15"), "{said}");
    assert!(said.trim_end().ends_with("in all, with start-up and copies"), "{said}");
    let explained = bench.succeed(&["filter", chain, "a.png", "b.png", "--device", "cpu", "--explain"]);
    assert_eq!(explained.matches("  kernel  ").count(), 3, "{explained}");
    // In the order in which they run.
    let at = |name: &str| explained.find(name).unwrap();
    assert!(
        at("gray of") < at("area resizing of") && at("area resizing of") < at("laplace of"),
        "{explained}"
    );
}

#[test]
fn unknown_names_get_a_suggestion() {
    let bench = Bench::new();
    rgb(4, 4).save(bench.path().join("a.png")).unwrap();
    let refuse = |chain: &str, more: &[&str], words: &[&str]| {
        bench.refuse(&[&["filter", chain, "a.png", "b.png"], more].concat(), words);
    };
    refuse("lapalce", &[], &["`lapalce`", "did you mean laplace?"]);
    refuse("gray,gausian:5", &[], &["did you mean gaussian?"]);
    refuse("laplace", &["--border", "constant:300"], &["constant:300", "0 to 255"]);
    refuse("laplace", &["--border", "constant:-1"], &["constant:-1", "0 to 255"]);
    refuse("laplace", &["--border", "constant:nan"], &["0 to 255"]);
    refuse("laplace", &["--border", "mirror"], &["mirror", "reflect101"]);
    refuse("gray,gray", &[], &["`gray` takes images of 3 or 4 channels", "has 1"]);
    refuse("convert:f32", &[], &["pixels of f32", "convert:u8"]);
    // In range for the pixels of the window.
    bench.succeed(&[
        "filter",
        "convert:u16:257,laplace,convert:u8:0.00389105",
        "a.png",
        "b.png",
        "--border",
        "constant:300",
    ]);
    bench.succeed(&["filter", "gray", "a.png", "b.png", "--border", "constant:300"]);
}

/// A PNG chunk with its length and check sum.
fn chunk(kind: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = !0u32;
    for byte in kind.iter().chain(data) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    let mut bytes = (data.len() as u32).to_be_bytes().to_vec();
    bytes.extend(kind);
    bytes.extend(data);
    bytes.extend((!crc).to_be_bytes());
    bytes
}

#[test]
fn animations_are_reported() {
    let bench = Bench::new();
    let picture = rgb(6, 5);
    picture.save(bench.path().join("still.png")).unwrap();
    let still = bench.read("still.png");
    // After the header chunk: two frames, played forever. Viewers without animation show the still picture.
    let mut moving = still[..33].to_vec();
    moving.extend(chunk(*b"acTL", &[0, 0, 0, 2, 0, 0, 0, 0]));
    moving.extend(&still[33..]);
    bench.write("moving.png", moving);
    for arguments in [&["filter", "copy", "moving.png", "out.ppm"][..], &["histogram", "moving.png"]] {
        let output = bench.run(arguments);
        assert_eq!(output.status.code(), Some(0));
        let note = complaint(&output.stderr);
        assert_eq!(note, "note: moving.png is an animation; only its first picture is read\n");
    }
    assert_eq!(ppm(&bench, "out.ppm").2, picture.into_raw());
    done(&bench.run(&["filter", "copy", "still.png", "out.ppm"]));
}

/// Alpha is preserved wherever it comes from: if the picture has none, it is opaque, and later filters do not change
/// it.
#[test]
fn alpha_made_by_a_filter_is_preserved() {
    let bench = Bench::new();
    rgb(20, 10).save(bench.path().join("rgb.png")).unwrap();
    let rgba = RgbaImage::from_fn(20, 10, |x, y| Rgba([0, 1, 2, 3].map(|channel| value(x, y, channel))));
    rgba.save(bench.path().join("rgba.png")).unwrap();
    let gray = GrayAlphaImage::from_fn(20, 10, |x, y| image::LumaA([value(x, y, 0), value(x, y, 1)]));
    gray.save(bench.path().join("gray.png")).unwrap();
    let alpha = |filters: &str, name: &str| -> Vec<u8> {
        bench.succeed(&["filter", filters, name, "out.png", "--device", "cpu"]);
        let out = image::open(bench.path().join("out.png")).unwrap();
        assert_eq!(out.color(), image::ColorType::Rgba8, "{filters} {name}");
        out.to_rgba8().pixels().map(|pixel| pixel.0[3]).collect()
    };
    for (filters, name) in [
        ("add-alpha,laplace8", "rgb.png"),
        ("gaussian:3,add-alpha,sobel,swap-red-blue,median:3", "rgb.png"),
        ("gray,rgb,add-alpha,laplace8", "rgba.png"),
        ("drop-alpha,add-alpha,sobel", "rgba.png"),
        ("ycrcb,from-ycrcb,add-alpha,laplace8", "rgb.png"),
    ] {
        assert_eq!(alpha(filters, name), [255; 200], "{filters} {name}");
    }
    let own: Vec<u8> = rgba.pixels().map(|pixel| pixel.0[3]).collect();
    assert_eq!(alpha("swap-red-blue,laplace8", "rgba.png"), own);
    let own: Vec<u8> = gray.pixels().map(|pixel| pixel.0[1]).collect();
    assert_eq!(alpha("laplace8,rgb", "gray.png"), own);
}

#[test]
fn an_explanation_names_the_measured_run() {
    let bench = Bench::new();
    rgb(40, 30).save(bench.path().join("a.png")).unwrap();
    let said = bench.succeed(&["filter", "laplace", "a.png", "b.png", "--device", "cpu", "--explain"]);
    // The first, cold run is one of several, and is not reported as the shortest of one.
    assert!(said.contains("the shortest of 5 runs"), "{said}");
}

#[test]
fn invalid_window_sizes_are_rejected_with_a_message() {
    let bench = Bench::new();
    rgb(4, 3).save(bench.path().join("a.png")).unwrap();
    for filters in
        ["box:18446744073709551615", "erode:18446744073709551615", "bilateral:18446744073709551615:1:1"]
    {
        let window = "a window of 18446744073709551615x18446744073709551615";
        bench.refuse(&["filter", filters, "a.png", "b.png"], &[window]);
    }
}

#[test]
fn the_output_is_the_last_argument_or_an_option() {
    let bench = Bench::new();
    rgb(9, 5).save(bench.path().join("in.png")).unwrap();
    bench.succeed(&["filter", "laplace", "in.png", "last.png"]);
    for option in ["-o", "--output"] {
        bench.succeed(&["filter", "laplace", "in.png", option, "option.png"]);
        assert_eq!(bench.read("option.png"), bench.read("last.png"));
    }
    bench.refuse(&["filter", "laplace", "in.png"], &["<OUTPUT|--output <OUTPUT>>"]);
    bench.refuse(&["filter", "laplace", "in.png", "a.png", "-o", "b.png"], &["cannot be used with"]);
    assert!(!bench.path().join("a.png").exists());
}
