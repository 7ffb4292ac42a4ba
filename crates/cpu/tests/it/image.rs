//! The image operations of the CPU path against the definition, written out pixel by pixel.

use proptest::prelude::*;
use tripipe_cpu::{self as cpu, CpuError, Threads};

const BOTH: [Threads; 2] = [Threads::One, Threads::All];

/// Bytes that look random and have many zeros and 255s, where saturation happens.
fn noise(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..len)
        .map(|_| match next() % 4 {
            0 => 0,
            1 => 255,
            _ => (next() >> 32) as u8,
        })
        .collect()
}

/// The definition: 9 times the centre minus the eight neighbours, saturated; ring and alpha copied.
fn laplace_by_definition(src: &[u8], width: usize, height: usize, channels: usize) -> Vec<u8> {
    let at = |x: usize, y: usize, c: usize| i64::from(src[(y * width + x) * channels + c]);
    let mut out = Vec::with_capacity(src.len());
    for y in 0..height {
        for x in 0..width {
            for c in 0..channels {
                let ring = x == 0 || y == 0 || x + 1 == width || y + 1 == height;
                let alpha = channels == 4 && c == 3;
                let value = if ring || alpha {
                    at(x, y, c)
                } else {
                    let mut around = 0;
                    for (dx, dy) in [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (1, 2), (2, 2)] {
                        around += at(x + dx - 1, y + dy - 1, c);
                    }
                    (9 * at(x, y, c) - around).clamp(0, 255)
                };
                out.push(u8::try_from(value).unwrap());
            }
        }
    }
    out
}

fn laplace(
    src: &[u8],
    dst: &mut [u8],
    width: usize,
    height: usize,
    channels: usize,
    threads: Threads,
) -> Result<(), CpuError> {
    match channels {
        1 => cpu::laplace_gray(src, dst, width, height, threads),
        3 => cpu::laplace_rgb(src, dst, width, height, threads),
        4 => cpu::laplace_rgba(src, dst, width, height, threads),
        _ => unreachable!("the filter knows 1, 3 and 4 channels"),
    }
}

fn check_laplace(src: &[u8], width: usize, height: usize, channels: usize) {
    let want = laplace_by_definition(src, width, height, channels);
    for threads in BOTH {
        let mut found = vec![0xA5; src.len()];
        laplace(src, &mut found, width, height, channels, threads).unwrap();
        let differs = found.iter().zip(&want).position(|(found, want)| found != want);
        assert_eq!(
            differs, None,
            "{width}x{height}, {channels} channels, {threads:?}: first byte that differs"
        );
    }
}

#[test]
fn laplace_is_its_definition_for_every_small_size() {
    for channels in [1, 3, 4] {
        for height in 1..=20 {
            for width in 1..=20 {
                let src = noise(width * height * channels, (width * 100 + height) as u64);
                check_laplace(&src, width, height, channels);
            }
        }
    }
}

#[test]
fn laplace_is_its_definition_around_the_block_sizes() {
    for channels in [1, 3, 4] {
        // Blocks are 16, 64 or 128 bytes; the inner part of a row is two pixels shorter than the row.
        for width in (20..=50).chain([66, 67, 129, 130, 131, 258]) {
            check_laplace(&noise(width * 9 * channels, width as u64), width, 9, channels);
        }
    }
}

#[test]
fn laplace_is_its_definition_for_larger_images() {
    // Over the size from which All really uses several threads, odd in both directions, and narrow or flat.
    for (width, height) in [(769, 433), (1021, 347), (3, 70_001), (70_001, 3), (1, 200_000), (200_000, 2)] {
        for channels in [1, 3, 4] {
            check_laplace(&noise(width * height * channels, 7), width, height, channels);
        }
    }
}

#[test]
fn laplace_saturates_at_both_ends() {
    let mut src = [0; 9];
    src[4] = 255;
    let mut dst = [1; 9];
    cpu::laplace_gray(&src, &mut dst, 3, 3, Threads::One).unwrap();
    assert_eq!(dst, [0, 0, 0, 0, 255, 0, 0, 0, 0]);
    let mut src = [255; 9];
    src[4] = 0;
    cpu::laplace_gray(&src, &mut dst, 3, 3, Threads::One).unwrap();
    assert_eq!(dst, [255, 255, 255, 255, 0, 255, 255, 255, 255]);
}

#[test]
fn empty_images_are_allowed() {
    for channels in [1, 3, 4] {
        for (width, height) in [(0, 0), (5, 0), (0, 5), (usize::MAX, 0), (0, usize::MAX)] {
            laplace(&[], &mut [], width, height, channels, Threads::All).unwrap();
        }
    }
    cpu::rgb_to_planes(&[], &mut [], &mut [], &mut [], Threads::All).unwrap();
    cpu::planes_to_rgb(&[], &[], &[], &mut [], Threads::All).unwrap();
    cpu::transpose_u8(&[], &mut [], 0, 7, Threads::All).unwrap();
    cpu::transpose_f32(&[], &mut [], 7, 0, Threads::All).unwrap();
    cpu::transpose_f32(&[], &mut [], usize::MAX, 0, Threads::All).unwrap();
}

#[test]
fn wrong_lengths_name_the_buffer_and_write_nothing() {
    let src = [9; 12];
    let mut dst = [1; 11];
    let error = cpu::laplace_rgb(&src, &mut dst, 2, 2, Threads::All).unwrap_err();
    assert_eq!(error, CpuError::Length { operation: "laplace_rgb", buffer: "dst", want: 12, found: 11 });
    assert_eq!(error.to_string(), "laplace_rgb: `dst` has 11 elements, the sizes require 12");
    assert_eq!(dst, [1; 11]);
    let error = cpu::laplace_gray(&src, &mut dst, 3, 3, Threads::All).unwrap_err();
    assert_eq!(error, CpuError::Length { operation: "laplace_gray", buffer: "src", want: 9, found: 12 });
    let error = cpu::rgb_to_planes(&src, &mut [0; 4], &mut [0; 4], &mut [0; 3], Threads::All).unwrap_err();
    assert_eq!(error, CpuError::Length { operation: "rgb_to_planes", buffer: "blue", want: 4, found: 3 });
    let error = cpu::planes_to_rgb(&[0; 4], &[0; 4], &[0; 4], &mut [0; 13], Threads::All).unwrap_err();
    assert_eq!(error, CpuError::Length { operation: "planes_to_rgb", buffer: "rgb", want: 12, found: 13 });
    let error = cpu::transpose_u8(&src, &mut dst, 4, 3, Threads::All).unwrap_err();
    assert_eq!(error, CpuError::Length { operation: "transpose_u8", buffer: "dst", want: 12, found: 11 });
}

#[test]
fn sizes_that_overflow_are_refused() {
    let error = cpu::laplace_rgba(&[], &mut [], usize::MAX / 2, 3, Threads::All).unwrap_err();
    assert!(matches!(error, CpuError::TooLarge { operation: "laplace_rgba", buffer: "src", .. }), "{error}");
    let error = cpu::transpose_u8(&[], &mut [], usize::MAX, 2, Threads::All).unwrap_err();
    assert!(matches!(error, CpuError::TooLarge { operation: "transpose_u8", buffer: "src", .. }), "{error}");
}

fn check_planes(rgb: &[u8]) {
    let pixels = rgb.len() / 3;
    for threads in BOTH {
        let [mut red, mut green, mut blue] = [vec![1; pixels], vec![2; pixels], vec![3; pixels]];
        cpu::rgb_to_planes(rgb, &mut red, &mut green, &mut blue, threads).unwrap();
        for i in 0..pixels {
            assert_eq!(
                [red[i], green[i], blue[i]],
                rgb[3 * i..3 * i + 3],
                "pixel {i} of {pixels}, {threads:?}"
            );
        }
        let mut back = vec![0xA5; rgb.len()];
        cpu::planes_to_rgb(&red, &green, &blue, &mut back, threads).unwrap();
        assert!(back == rgb, "there and back, {pixels} pixels, {threads:?}");
    }
}

#[test]
fn rgb_planes_there_and_back() {
    for pixels in (0..=400).chain([769 * 433, 1_000_003]) {
        check_planes(&noise(3 * pixels, pixels as u64));
    }
}

fn check_transpose(rows: usize, cols: usize) {
    let bytes = noise(rows * cols, (rows * 1000 + cols) as u64);
    let floats: Vec<f32> = (0..rows * cols).map(|i| i as f32).collect();
    for threads in BOTH {
        let mut bytes_out = vec![0xA5; rows * cols];
        let mut floats_out = vec![f32::NAN; rows * cols];
        cpu::transpose_u8(&bytes, &mut bytes_out, rows, cols, threads).unwrap();
        cpu::transpose_f32(&floats, &mut floats_out, rows, cols, threads).unwrap();
        for r in 0..rows {
            for c in 0..cols {
                assert_eq!(
                    bytes_out[c * rows + r],
                    bytes[r * cols + c],
                    "u8 {rows}x{cols} ({r}, {c}) {threads:?}"
                );
                assert_eq!(
                    floats_out[c * rows + r].to_bits(),
                    floats[r * cols + c].to_bits(),
                    "f32 {rows}x{cols} ({r}, {c}) {threads:?}"
                );
            }
        }
    }
}

#[test]
fn transpose_is_its_definition() {
    for rows in 1..=20 {
        for cols in 1..=20 {
            check_transpose(rows, cols);
        }
    }
    for (rows, cols) in
        [(63, 64), (64, 64), (65, 127), (128, 192), (769, 433), (1, 300_000), (300_000, 1), (512, 1024)]
    {
        check_transpose(rows, cols);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn laplace_of_random_images(width in 1usize..200, height in 1usize..40, kind in 0usize..3, seed: u64) {
        let channels = [1, 3, 4][kind];
        check_laplace(&noise(width * height * channels, seed), width, height, channels);
    }

    #[test]
    fn planes_and_transpose_of_random_sizes(rows in 1usize..300, cols in 1usize..300, seed: u64) {
        check_planes(&noise(3 * rows, seed));
        check_transpose(rows, cols);
    }
}
