//! Conversion between pictures and arrays.

use crate::element::{ArrayShape, ElementType, Scalar, append_float};
use tripipe_launch::{ChannelOrder, ScalarType};

/// A picture with 8 bits per channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    /// Pixels per row.
    pub width: usize,
    /// Number of rows.
    pub height: usize,
    /// Bytes per pixel: 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA.
    pub channels: usize,
    /// All pixels, row by row.
    pub bytes: Vec<u8>,
}

/// Whether an array of this type can hold a picture.
fn takes_pictures(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::U8 | ScalarType::F16 | ScalarType::F32)
}

/// The number of channels that a picture needs for an array; `None` keeps the picture's own. `extents` are the
/// array's, if known; `order` is that of an image. An error says why the array cannot hold a picture.
pub(crate) fn channels_for(
    element: ElementType,
    extents: Option<&[usize]>,
    order: Option<ChannelOrder>,
) -> Result<Option<usize>, &'static str> {
    if !takes_pictures(element.scalar()) {
        return Err("pictures go into uchar, half and float, and into images with such channels");
    }
    match (order, element.lanes(), extents) {
        (_, 8 | 16, _) => Err("pixels have at most 4 channels"),
        (Some(_), channels, _) | (None, channels @ 2..=4, _) => Ok(Some(channels)),
        (None, _, Some([_, _, channels @ 1..=4])) => Ok(Some(*channels)),
        (None, _, Some([_, _])) => Ok(Some(1)),
        (None, ..) => Ok(None),
    }
}

/// Converts channels to the numbers of an array: unchanged for `uchar`, scaled to 0.0 to 1.0 for `half` and `float`.
pub(crate) fn numbers(scalar: ScalarType, order: Option<ChannelOrder>, mut channels: Vec<u8>) -> Vec<u8> {
    if let Some(order) = order {
        // For each channel of the image, the channel of the picture.
        permute(&mut channels, memory_order(order));
    }
    if scalar == ScalarType::U8 {
        return channels;
    }
    let mut bytes = Vec::with_capacity(channels.len() * scalar.bytes());
    for channel in channels {
        append_float(f64::from(channel) / 255.0, scalar, &mut bytes);
    }
    bytes
}

/// Width, height and channels of an array as a picture; `None` if it cannot be one.
pub(crate) fn extents(array: &ArrayShape) -> Option<[usize; 3]> {
    if !takes_pictures(array.element.scalar()) {
        return None;
    }
    match (&array.extents[..], array.element.lanes()) {
        ([height, width], channels @ 1..=4) => Some([*width, *height, channels]),
        ([height, width, channels @ 1..=4], 1) => Some([*width, *height, *channels]),
        _ => None,
    }
}

impl Pixels {
    /// Converts an array's bytes to a picture; `order` is that of an image. Numbers of `half` and `float` range from
    /// 0.0 to 1.0 and are rounded to the nearest of 256 steps; numbers outside are clamped, NaN becomes 0. `None` if
    /// the array cannot be a picture: other extents than `[height, width]` with 1 to 4 lanes or `[height, width, 1 to
    /// 4]`, or another type than `uchar`, `half` and `float`.
    pub fn from_array(array: &ArrayShape, order: Option<ChannelOrder>, bytes: &[u8]) -> Option<Self> {
        let [width, height, channels] = extents(array)?;
        let scalar = array.element.scalar();
        let mut pixels: Vec<u8> = array
            .numbers(bytes)
            .map(|number| match Scalar::from_bytes(scalar, number) {
                Scalar::Integer(number) => number as u8,
                // The cast saturates, and NaN becomes 0.
                float => (float.to_f64() * 255.0).round() as u8,
            })
            .collect();
        if let Some(order) = order {
            let mut back = [0; 4];
            for (to, from) in memory_order(order).into_iter().enumerate() {
                back[from] = to;
            }
            permute(&mut pixels, back);
        }
        Some(Self { width, height, channels, bytes: pixels })
    }
}

/// For each channel of an image in memory, its index among R, G, B, A. Only orders of four channels are permuted.
fn memory_order(order: ChannelOrder) -> [usize; 4] {
    match order {
        ChannelOrder::Bgra | ChannelOrder::Sbgra => [2, 1, 0, 3],
        ChannelOrder::Argb => [3, 0, 1, 2],
        ChannelOrder::Abgr => [3, 2, 1, 0],
        _ => [0, 1, 2, 3],
    }
}

fn permute(pixels: &mut [u8], from: [usize; 4]) {
    if from == [0, 1, 2, 3] {
        return;
    }
    for pixel in pixels.chunks_exact_mut(4) {
        let before = [pixel[0], pixel[1], pixel[2], pixel[3]];
        pixel.copy_from_slice(&from.map(|channel| before[channel]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(element: &str, extents: &[usize]) -> ArrayShape {
        let element = ElementType::from_opencl_name(element).unwrap();
        ArrayShape { element, extents: extents.to_vec() }
    }

    #[test]
    fn channels_become_numbers_and_back() {
        let floats = numbers(ScalarType::F32, None, vec![0, 51, 255]);
        let floats: Vec<f32> =
            floats.chunks(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect();
        assert_eq!(floats, [0.0, 0.2, 1.0]);
        let every: Vec<u8> = (0..=255).collect();
        for (element, scalar) in
            [("uchar", ScalarType::U8), ("half", ScalarType::F16), ("float", ScalarType::F32)]
        {
            let bytes = numbers(scalar, None, every.clone());
            let pixels = Pixels::from_array(&array(element, &[16, 16]), None, &bytes).unwrap();
            assert_eq!(pixels, Pixels { width: 16, height: 16, channels: 1, bytes: every.clone() });
        }
        let odd: Vec<u8> =
            [-0.5f32, 2.0, f32::NAN, 0.501 / 255.0].iter().flat_map(|number| number.to_ne_bytes()).collect();
        assert_eq!(Pixels::from_array(&array("float", &[2, 2]), None, &odd).unwrap().bytes, [0, 255, 0, 1]);
    }

    #[test]
    fn images_have_their_own_order() {
        for (order, memory) in [
            (ChannelOrder::Rgba, [1, 2, 3, 4]),
            (ChannelOrder::Bgra, [3, 2, 1, 4]),
            (ChannelOrder::Argb, [4, 1, 2, 3]),
            (ChannelOrder::Abgr, [4, 3, 2, 1]),
        ] {
            let bytes = numbers(ScalarType::U8, Some(order), vec![1, 2, 3, 4]);
            assert_eq!(bytes, memory);
            let pixels = Pixels::from_array(&array("uchar4", &[1, 1]), Some(order), &bytes).unwrap();
            assert_eq!(pixels.bytes, [1, 2, 3, 4]);
        }
    }

    #[test]
    fn arrays_that_are_pictures() {
        assert_eq!(extents(&array("uchar3", &[2, 5])), Some([5, 2, 3]));
        assert_eq!(extents(&array("float", &[2, 5, 4])), Some([5, 2, 4]));
        for (element, shape) in
            [("uchar", &[10][..]), ("uchar", &[2, 5, 5]), ("int", &[2, 5]), ("uchar8", &[2, 5])]
        {
            assert_eq!(extents(&array(element, shape)), None, "{element} {shape:?}");
        }
    }
}
