//! Conversion of packed RGB to three planes and back, 8 bits per channel.

use pulp::{Simd, WithSimd};

use crate::bands::{band_rows, for_each_band, share_out};
use crate::error::check_length;
use crate::{CpuError, Threads, vectors};

/// Splits packed pixels (R, G, B, R, ...) into one plane per channel. Zero pixels are allowed.
///
/// # Errors
/// [`CpuError::Length`] when the planes differ in length, or `rgb` does not have three times as many elements as a
/// plane.
pub fn rgb_to_planes(
    rgb: &[u8],
    red: &mut [u8],
    green: &mut [u8],
    blue: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    let pixels = red.len();
    check_length("rgb_to_planes", "green", &[pixels], green.len())?;
    check_length("rgb_to_planes", "blue", &[pixels], blue.len())?;
    check_length("rgb_to_planes", "rgb", &[pixels, 3], rgb.len())?;
    let arch = vectors::arch();
    match band_rows(pixels, 3, 64, threads) {
        None => arch.dispatch(Split { rgb, red, green, blue }),
        Some(band) => {
            let planes = red.chunks_mut(band).zip(green.chunks_mut(band)).zip(blue.chunks_mut(band));
            share_out(rgb.chunks(3 * band).zip(planes), threads, |(rgb, ((red, green), blue))| {
                arch.dispatch(Split { rgb, red, green, blue });
            });
        }
    }
    Ok(())
}

/// Joins three planes into packed pixels (R, G, B, R, ...). Zero pixels are allowed.
///
/// # Errors
/// [`CpuError::Length`] when the planes differ in length, or `rgb` does not have three times as many elements as a
/// plane.
pub fn planes_to_rgb(
    red: &[u8],
    green: &[u8],
    blue: &[u8],
    rgb: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    let pixels = red.len();
    check_length("planes_to_rgb", "green", &[pixels], green.len())?;
    check_length("planes_to_rgb", "blue", &[pixels], blue.len())?;
    check_length("planes_to_rgb", "rgb", &[pixels, 3], rgb.len())?;
    let arch = vectors::arch();
    for_each_band(rgb, 3, 64, threads, |first, rgb| {
        let pixels = first..first + rgb.len() / 3;
        arch.dispatch(Join {
            red: &red[pixels.clone()],
            green: &green[pixels.clone()],
            blue: &blue[pixels],
            rgb,
        });
    });
    Ok(())
}

struct Split<'a> {
    rgb: &'a [u8],
    red: &'a mut [u8],
    green: &'a mut [u8],
    blue: &'a mut [u8],
}

impl WithSimd for Split<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let planes = self.red.iter_mut().zip(self.green).zip(self.blue);
        for (((red, green), blue), pixel) in planes.zip(self.rgb.chunks_exact(3)) {
            *red = pixel[0];
            *green = pixel[1];
            *blue = pixel[2];
        }
    }
}

struct Join<'a> {
    red: &'a [u8],
    green: &'a [u8],
    blue: &'a [u8],
    rgb: &'a mut [u8],
}

impl WithSimd for Join<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let planes = self.red.iter().zip(self.green).zip(self.blue);
        for (((red, green), blue), pixel) in planes.zip(self.rgb.chunks_exact_mut(3)) {
            pixel[0] = *red;
            pixel[1] = *green;
            pixel[2] = *blue;
        }
    }
}
