//! `tripipe filter laplace`, against the formula written down once more.

use image::{DynamicImage, GrayAlphaImage, GrayImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};

use crate::Bench;

/// 9 x the pixel - its neighbours, clamped; the ring copied. `channels` bytes a pixel, of which `filtered` are.
fn sharpened(bytes: &[u8], width: usize, height: usize, channels: usize, filtered: usize) -> Vec<u8> {
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

fn rgb(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| Rgb([value(x, y, 0), value(x, y, 1), value(x, y, 2)]))
}

fn check(bench: &Bench, picture: &DynamicImage, name: &str) {
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
fn every_format_is_read() {
    let bench = Bench::new();
    for name in ["a.ppm", "a.bmp", "a.tiff", "a.webp"] {
        check(&bench, &DynamicImage::ImageRgb8(rgb(13, 8)), name);
    }
}

#[test]
fn a_jpeg_is_filtered_as_it_decodes_whatever_its_name() {
    let bench = Bench::new();
    rgb(40, 30).save(bench.path().join("a.jpg")).unwrap();
    std::fs::rename(bench.path().join("a.jpg"), bench.path().join("a.picture")).unwrap();
    let decoded =
        image::load_from_memory_with_format(&bench.read("a.picture"), ImageFormat::Jpeg).unwrap().to_rgb8();
    bench.succeed(&["filter", "laplace", "a.picture", "out.ppm", "--border", "none"]);
    let out = image::open(bench.path().join("out.ppm")).unwrap().to_rgb8();
    assert_eq!(out.as_raw(), &sharpened(decoded.as_raw(), 40, 30, 3, 3));
}

#[test]
fn says_device_kernel_and_time() {
    let bench = Bench::new();
    rgb(40, 30).save(bench.path().join("a.png")).unwrap();
    let said = bench.succeed(&["filter", "laplace", "a.png", "b.png", "--device", "cpu"]);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.starts_with("a.png 40x30 RGB -> b.png\nCPU path"), "{said}");
    assert!(said.contains(" took "), "{said}");
}

#[test]
fn in_and_out_may_be_one() {
    let bench = Bench::new();
    let picture = rgb(20, 10);
    picture.save(bench.path().join("a.png")).unwrap();
    bench.succeed(&["filter", "laplace", "a.png", "a.png", "--border", "none"]);
    let out = image::open(bench.path().join("a.png")).unwrap();
    assert_eq!(out.as_bytes(), sharpened(picture.as_raw(), 20, 10, 3, 3));
    assert_eq!(bench.files(), ["a.png"]);
}
