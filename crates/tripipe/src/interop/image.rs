//! Conversions from and to the types of the `image` crate: feature `image`.

use image::{ColorType, DynamicImage, ImageBuffer};

use crate::error::Fault;
use crate::{Context, Error, Image, Pixel};

/// A pixel type of pictures of the `image` crate: `u8`, `u16`, `f32`.
pub trait Depth: Pixel {
    /// The picture in this depth, with all its channels: the number of channels, and the elements, the channels of each
    /// pixel adjacent.
    fn channels_of(picture: &DynamicImage) -> (usize, Vec<Self>);

    /// A picture of 1 to 4 channels; `None` when the `image` crate has no such type.
    fn picture(size: [u32; 2], channels: usize, pixels: Vec<Self>) -> Option<DynamicImage>;
}

macro_rules! integers {
    ($depth:ident, $gray:ident, $gray_alpha:ident, $rgb:ident, $rgba:ident,
     $luma:ident, $luma_alpha:ident, $color:ident, $color_alpha:ident) => {
        impl Depth for $depth {
            fn channels_of(picture: &DynamicImage) -> (usize, Vec<Self>) {
                match picture.color().channel_count() {
                    1 => (1, picture.$gray().into_raw()),
                    2 => (2, picture.$gray_alpha().into_raw()),
                    3 => (3, picture.$rgb().into_raw()),
                    _ => (4, picture.$rgba().into_raw()),
                }
            }

            fn picture(
                [width, height]: [u32; 2],
                channels: usize,
                pixels: Vec<Self>,
            ) -> Option<DynamicImage> {
                match channels {
                    1 => ImageBuffer::from_raw(width, height, pixels).map(DynamicImage::$luma),
                    2 => ImageBuffer::from_raw(width, height, pixels).map(DynamicImage::$luma_alpha),
                    3 => ImageBuffer::from_raw(width, height, pixels).map(DynamicImage::$color),
                    4 => ImageBuffer::from_raw(width, height, pixels).map(DynamicImage::$color_alpha),
                    _ => None,
                }
            }
        }
    };
}

integers!(u8, to_luma8, to_luma_alpha8, to_rgb8, to_rgba8, ImageLuma8, ImageLumaA8, ImageRgb8, ImageRgba8);
integers!(
    u16,
    to_luma16,
    to_luma_alpha16,
    to_rgb16,
    to_rgba16,
    ImageLuma16,
    ImageLumaA16,
    ImageRgb16,
    ImageRgba16
);

impl Depth for f32 {
    fn channels_of(picture: &DynamicImage) -> (usize, Vec<Self>) {
        match picture.color() {
            color if color.channel_count() == 1 => (1, picture.to_luma32f().into_raw()),
            ColorType::La8 | ColorType::La16 => (2, picture.to_luma_alpha32f().into_raw()),
            color if color.channel_count() == 3 => (3, picture.to_rgb32f().into_raw()),
            _ => (4, picture.to_rgba32f().into_raw()),
        }
    }

    /// The `image` crate has colour in `f32`, but no gray.
    fn picture([width, height]: [u32; 2], channels: usize, pixels: Vec<Self>) -> Option<DynamicImage> {
        match channels {
            3 => ImageBuffer::from_raw(width, height, pixels).map(DynamicImage::ImageRgb32F),
            4 => ImageBuffer::from_raw(width, height, pixels).map(DynamicImage::ImageRgba32F),
            _ => None,
        }
    }
}

impl<T: Depth> Image<T> {
    /// An image with a copy of a picture, in the depth of `T` and with the picture's channels.
    ///
    /// # Errors
    /// As [`Image::from_slice`].
    pub fn from_picture(context: &Context, picture: &DynamicImage) -> Result<Self, Error> {
        let (channels, pixels) = T::channels_of(picture);
        Self::from_slice(context, [picture.width() as usize, picture.height() as usize], channels, &pixels)
    }

    /// A copy of it as a picture, after all operations queued before.
    ///
    /// # Errors
    /// A number of channels for which the `image` crate has no picture type; as [`Image::to_vec`].
    pub fn to_picture(&self) -> Result<DynamicImage, Error> {
        let (raster, channels) = (self.raster(), self.channels());
        T::picture([raster.width as u32, raster.height as u32], channels, self.to_packed_vec()?)
            .ok_or(Error::from(Fault::NoSuchPicture { channels, element: T::NAME }))
    }
}
