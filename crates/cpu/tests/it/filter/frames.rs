//! Video frames with subsampled chroma.

use tripipe_cpu::{self as cpu, CpuError, Threads};
use tripipe_kernels::filter::{FilterError, PixelType, Raster, Semiplanar, Size};

use super::noise;

/// The definition of [`Semiplanar`], written out: the pixel of a frame, and luma and chroma of pixels.
fn rgb_of(y: u8, u: u8, v: u8) -> [u8; 3] {
    let [u, v] = [u, v].map(|chroma| i64::from(chroma) - 128);
    let white = 1_220_542 * (i64::from(y) - 16).max(0) + (1 << 19);
    [1_673_527 * v, -852_492 * v - 409_993 * u, 2_116_026 * u]
        .map(|color| ((white + color) >> 20).clamp(0, 255) as u8)
}

#[test]
fn frames() {
    for (size, channels, v_first) in [
        (Size::new(7, 5), 3, false),
        (Size::new(2051, 4), 4, true),
        (Size::square(1), 3, true),
        (Size::new(512, 300), 3, false),
    ] {
        let Size { width, height } = size;
        let frame = if v_first { Semiplanar::nv21(size) } else { Semiplanar::nv12(size) };
        let bytes = noise(PixelType::U8, frame.chroma[0] + frame.chroma[1] * height.div_ceil(2), 3);
        for to in
            [Raster::packed(size, channels, PixelType::U8), Raster::planar(size, channels, PixelType::U8)]
        {
            let mut image = vec![0; to.elements().unwrap()];
            cpu::semiplanar_to_rgb(&frame, &bytes, &bytes, &to, &mut image, Threads::All).unwrap();
            for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                let chroma = frame.chroma[0] + y / 2 * frame.chroma[1] + x / 2 * 2;
                let order = if v_first { [1, 0] } else { [0, 1] };
                let [u, v] = order.map(|at: usize| bytes[chroma + at]);
                let want = rgb_of(bytes[y * width + x], u, v);
                for channel in 0..channels {
                    let want = want.get(channel).copied().unwrap_or(255);
                    assert_eq!(image[to.index(x, y, channel)], want, "{to:?} ({x}, {y}) {channel}");
                }
            }
            let mut luma = vec![0; width * height];
            let mut chroma = vec![0; frame.chroma[1] * height.div_ceil(2)];
            let apart = Semiplanar { chroma: [0, frame.chroma[1]], ..frame };
            cpu::rgb_to_semiplanar(&to, &image, &apart, &mut luma, &mut chroma, Threads::All).unwrap();
            let at = |x: usize, y: usize| {
                [0, 1, 2]
                    .map(|channel| i64::from(image[to.index(x.min(width - 1), y.min(height - 1), channel)]))
            };
            for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
                let [r, g, b] = at(x, y);
                let want = ((269_484 * r + 528_482 * g + 102_760 * b + (1 << 19)) >> 20) + 16;
                assert_eq!(i64::from(luma[y * width + x]), want, "{to:?} luma ({x}, {y})");
                let [x, y] = [x / 2 * 2, y / 2 * 2];
                let four = [at(x, y), at(x + 1, y), at(x, y + 1), at(x + 1, y + 1)];
                let [r, g, b] =
                    [0, 1, 2].map(|channel: usize| four.iter().map(|pixel| pixel[channel]).sum::<i64>());
                let u = ((-155_188 * r - 305_135 * g + 460_324 * b + (1 << 21)) >> 22) + 128;
                let v = ((460_324 * r - 385_875 * g - 74_448 * b + (1 << 21)) >> 22) + 128;
                let want = if v_first { [v, u] } else { [u, v] };
                let found = &chroma[y / 2 * frame.chroma[1] + x..][..2];
                assert_eq!(found, want.map(|chroma| chroma.clamp(0, 255) as u8), "{to:?} chroma ({x}, {y})");
            }
        }
    }
    // OpenCV's `COLOR_YUV2RGB_NV12` of gray, of black, and of white.
    assert_eq!(
        [rgb_of(126, 128, 128), rgb_of(16, 128, 128), rgb_of(235, 128, 128)],
        [[128; 3], [0; 3], [255; 3]]
    );
    let frame = Semiplanar::nv12(Size::square(4));
    let to = Raster::packed(Size::square(4), 3, PixelType::U8);
    let error =
        cpu::semiplanar_to_rgb(&frame, &[0; 16], &[0; 23], &to, &mut [0; 48], Threads::One).unwrap_err();
    assert_eq!(error, CpuError::Filter(FilterError::Length { what: "chroma", want: 24, found: 23 }));
    assert!(
        cpu::semiplanar_to_rgb(
            &Semiplanar::nv12(Size::new(4, 2)),
            &[0; 24],
            &[0; 24],
            &to,
            &mut [0; 48],
            Threads::One
        )
        .is_err()
    );
}
