//! Gray pictures and their alpha, apart and together.

use image::{DynamicImage, ImageBuffer};

/// Gray and its alpha as two gray pictures; `None` for any other picture.
pub(super) fn apart(pixels: &DynamicImage) -> Option<[DynamicImage; 2]> {
    fn plane<T: Copy>(both: &[T], channel: usize) -> Vec<T> {
        both.iter().skip(channel).step_by(2).copied().collect()
    }
    let (width, height) = (pixels.width(), pixels.height());
    let planes = [0, 1].map(|channel| match pixels {
        DynamicImage::ImageLumaA8(both) => {
            ImageBuffer::from_raw(width, height, plane(both, channel)).map(DynamicImage::ImageLuma8)
        }
        DynamicImage::ImageLumaA16(both) => {
            ImageBuffer::from_raw(width, height, plane(both, channel)).map(DynamicImage::ImageLuma16)
        }
        _ => None,
    });
    let [Some(gray), Some(alpha)] = planes else { return None };
    Some([gray, alpha])
}

/// Gray or RGB combined with an alpha; `None` if it has an alpha already, or for other types.
pub(super) fn together(color: &DynamicImage, alpha: &DynamicImage) -> Option<DynamicImage> {
    fn pixels<T: Copy>(color: &[T], alpha: &[T], channels: usize) -> Vec<T> {
        let pixels = color.chunks_exact(channels).zip(alpha);
        pixels.flat_map(|(pixel, alpha)| pixel.iter().copied().chain([*alpha])).collect()
    }
    use DynamicImage::{
        ImageLuma8, ImageLuma16, ImageLumaA8, ImageLumaA16, ImageRgb8, ImageRgb16, ImageRgba8, ImageRgba16,
    };
    let (width, height) = (color.width(), color.height());
    match (color, alpha) {
        (ImageLuma8(gray), ImageLuma8(alpha)) => {
            ImageBuffer::from_raw(width, height, pixels(gray, alpha, 1)).map(ImageLumaA8)
        }
        (ImageLuma16(gray), ImageLuma16(alpha)) => {
            ImageBuffer::from_raw(width, height, pixels(gray, alpha, 1)).map(ImageLumaA16)
        }
        (ImageRgb8(rgb), ImageLuma8(alpha)) => {
            ImageBuffer::from_raw(width, height, pixels(rgb, alpha, 3)).map(ImageRgba8)
        }
        (ImageRgb16(rgb), ImageLuma16(alpha)) => {
            ImageBuffer::from_raw(width, height, pixels(rgb, alpha, 3)).map(ImageRgba16)
        }
        _ => None,
    }
}
