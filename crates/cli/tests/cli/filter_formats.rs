//! Formats that `tripipe filter` reads, with files written by the specifications of the formats.

use image::{DynamicImage, GrayImage, ImageFormat};

use crate::Bench;
use crate::filter::{check, rgb, sharpened};

#[test]
fn every_format_is_read() {
    let bench = Bench::new();
    for name in ["a.ppm", "a.bmp", "a.tiff", "a.webp"] {
        check(&bench, &DynamicImage::ImageRgb8(rgb(13, 8)), name);
    }
}

/// A little-endian TIFF of 2 x 1 pixels, as its specification and that of `BigTIFF` have it: `kind` is the photometric
/// interpretation, with a palette for 3; `format` is that of samples, 1 for integers and 3 for floats.
fn tiff(is_big: bool, bits: u16, [kind, format]: [u16; 2], pixels: &[u8]) -> Vec<u8> {
    let header: &[u8] = if is_big { b"II\x2b\0\x08\0\0\0\x10\0\0\0\0\0\0\0" } else { b"II\x2a\0\x08\0\0\0" };
    let mut bytes = header.to_vec();
    let palette: Vec<u8> = (0..3 * 256).flat_map(|entry: u16| (entry * 80).to_le_bytes()).collect();
    let mut entries =
        vec![(256, 1, 2), (257, 1, 1), (258, 1, u64::from(bits)), (259, 1, 1), (262, 1, u64::from(kind))];
    entries.extend([(273, 1, 0), (277, 1, 1), (278, 1, 1), (279, 1, pixels.len() as u64)]);
    if kind == 3 {
        entries.push((320, 3 * 256, 0));
    }
    entries.push((339, 1, u64::from(format)));
    let [count, entry, offset] = if is_big { [8, 20, 8] } else { [2, 12, 4] };
    let data = bytes.len() + count + entries.len() * entry + offset;
    bytes.extend(&(entries.len() as u64).to_le_bytes()[..count]);
    for (tag, values, value) in entries {
        let value = match tag {
            273 => data as u64,
            320 => (data + pixels.len()) as u64,
            _ => value,
        };
        let kind: u16 = if tag == 320 { 3 } else { 4 };
        bytes.extend(u16::to_le_bytes(tag));
        bytes.extend(kind.to_le_bytes());
        bytes.extend(&u64::to_le_bytes(values)[..offset]);
        bytes.extend(&value.to_le_bytes()[..offset]);
    }
    bytes.extend(vec![0; offset]);
    bytes.extend(pixels);
    bytes.extend(palette);
    bytes
}

#[test]
fn kinds_of_tiff_are_read_or_called_not_supported() {
    let bench = Bench::new();
    for is_big in [false, true] {
        bench.write("gray.tif", tiff(is_big, 8, [1, 1], &[7, 200]));
        bench.succeed(&["filter", "copy", "gray.tif", "out.pgm"]);
        assert_eq!(bench.read("out.pgm"), b"P5\n2 1\n255\n\x07\xc8");
        bench.write("palette.tif", tiff(is_big, 8, [3, 1], &[0, 1]));
        bench.write("float.tif", tiff(is_big, 32, [1, 3], &[0; 8]));
        for name in ["palette.tif", "float.tif"] {
            bench.refuse(&["filter", "copy", name, "out.png"], &[name, "is not supported", "magick"]);
        }
    }
    bench.write("cut.tif", &tiff(true, 8, [1, 1], &[7, 200])[..60]);
    bench.refuse(&["filter", "copy", "cut.tif", "out.png"], &["cut.tif", "broken or truncated"]);
}

/// A palette of grays is how BMP stores gray; one with a colour makes colour.
#[test]
fn gray_bmps_stay_gray() {
    let bench = Bench::new();
    let gray = GrayImage::from_fn(5, 3, |x, y| image::Luma([(x * 40 + y * 9) as u8]));
    gray.save(bench.path().join("gray.bmp")).unwrap();
    let said = bench.succeed(&["filter", "copy", "gray.bmp", "out.pgm"]);
    assert!(said.contains("gray.bmp 5x3 gray"), "{said}");
    assert_eq!(image::open(bench.path().join("out.pgm")).unwrap().to_luma8(), gray);
    let mut bytes = bench.read("gray.bmp");
    // The second entry of the palette, after the headers of 14 and 40 bytes.
    bytes[14 + 40 + 4] = 200;
    bench.write("colour.bmp", bytes);
    bench.succeed(&["filter", "copy", "colour.bmp", "out.ppm"]);
    bench.refuse(&["filter", "copy", "colour.bmp", "out.pgm"], &["stores only gray"]);
}

/// A folder that does not exist is a mistake in the variable, and a file without a bound is no table.
#[test]
fn tables_that_cannot_be_read_are_an_error() {
    let bench = Bench::new();
    rgb(4, 4).save(bench.path().join("a.png")).unwrap();
    let refused = |folder: &str, words: &[&str]| {
        let output = bench
            .command(&["filter", "sobel", "a.png", "b.png", "--device", "cpu"])
            .env("TRIPIPE_TABLES", bench.path().join(folder))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    };
    refused("nowhere", &["nowhere", "TRIPIPE_TABLES"]);
    std::fs::create_dir(bench.path().join("tables")).unwrap();
    let file = std::fs::File::create(bench.path().join("tables/mine.toml")).unwrap();
    file.set_len(1 << 40).unwrap();
    refused("tables", &["mine.toml", "at most 16 MiB"]);
    bench.write("tables/mine.toml", "[[filter]]\nversion = \"999.0.0\"\nspin = 3\n");
    refused("tables", &["mine.toml", "999.0.0", "newer"]);
    bench.write("tables/mine.toml", "[[filter]]\nversion = \"0.0.1\"\nspin = 3\n");
    refused("tables", &["mine.toml", "spin"]);
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
