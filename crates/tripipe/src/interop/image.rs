//! Conversions from and to the types of the `image` crate: feature `image`.

use std::borrow::Cow;

use image::{ColorType, DynamicImage, ImageBuffer};

use crate::error::Fault;
use crate::{Context, Error, Image, Pixel, Size};

/// A pixel type of pictures of the `image` crate: `u8`, `u16`, `f32`.
pub trait Depth: Pixel {
    /// The picture in this depth, with all its channels: the number of channels, and the elements, the channels of each
    /// pixel adjacent. Borrowed where the picture has this depth.
    fn channels_of(picture: &DynamicImage) -> (usize, Cow<'_, [Self]>);

    /// As [`Self::channels_of`], moved where the picture has this depth.
    fn into_channels(picture: DynamicImage) -> (usize, Vec<Self>);

    /// A picture of 1 to 4 channels; `None` when the `image` crate has no such type.
    fn picture(size: Size, channels: usize, pixels: Vec<Self>) -> Option<DynamicImage>;
}

macro_rules! integers {
    (
        $depth:ident,
        $gray:ident $into_gray:ident $Gray:ident,
        $gray_alpha:ident $into_gray_alpha:ident $GrayAlpha:ident,
        $rgb:ident $into_rgb:ident $Rgb:ident,
        $rgba:ident $into_rgba:ident $Rgba:ident
    ) => {
        impl Depth for $depth {
            fn channels_of(picture: &DynamicImage) -> (usize, Cow<'_, [Self]>) {
                match picture {
                    DynamicImage::$Gray(pixels) => (1, Cow::Borrowed(pixels.as_raw())),
                    DynamicImage::$GrayAlpha(pixels) => (2, Cow::Borrowed(pixels.as_raw())),
                    DynamicImage::$Rgb(pixels) => (3, Cow::Borrowed(pixels.as_raw())),
                    DynamicImage::$Rgba(pixels) => (4, Cow::Borrowed(pixels.as_raw())),
                    other => match other.color().channel_count() {
                        1 => (1, Cow::Owned(other.$gray().into_raw())),
                        2 => (2, Cow::Owned(other.$gray_alpha().into_raw())),
                        3 => (3, Cow::Owned(other.$rgb().into_raw())),
                        _ => (4, Cow::Owned(other.$rgba().into_raw())),
                    },
                }
            }

            fn into_channels(picture: DynamicImage) -> (usize, Vec<Self>) {
                match picture.color().channel_count() {
                    1 => (1, picture.$into_gray().into_raw()),
                    2 => (2, picture.$into_gray_alpha().into_raw()),
                    3 => (3, picture.$into_rgb().into_raw()),
                    _ => (4, picture.$into_rgba().into_raw()),
                }
            }

            fn picture(
                Size { width, height }: Size,
                channels: usize,
                pixels: Vec<Self>,
            ) -> Option<DynamicImage> {
                match channels {
                    1 => ImageBuffer::from_raw(width as u32, height as u32, pixels).map(DynamicImage::$Gray),
                    2 => ImageBuffer::from_raw(width as u32, height as u32, pixels)
                        .map(DynamicImage::$GrayAlpha),
                    3 => ImageBuffer::from_raw(width as u32, height as u32, pixels).map(DynamicImage::$Rgb),
                    4 => ImageBuffer::from_raw(width as u32, height as u32, pixels).map(DynamicImage::$Rgba),
                    _ => None,
                }
            }
        }
    };
}

integers!(
    u8,
    to_luma8 into_luma8 ImageLuma8,
    to_luma_alpha8 into_luma_alpha8 ImageLumaA8,
    to_rgb8 into_rgb8 ImageRgb8,
    to_rgba8 into_rgba8 ImageRgba8
);
integers!(
    u16,
    to_luma16 into_luma16 ImageLuma16,
    to_luma_alpha16 into_luma_alpha16 ImageLumaA16,
    to_rgb16 into_rgb16 ImageRgb16,
    to_rgba16 into_rgba16 ImageRgba16
);

impl Depth for f32 {
    fn channels_of(picture: &DynamicImage) -> (usize, Cow<'_, [Self]>) {
        match (picture, picture.color()) {
            (DynamicImage::ImageRgb32F(pixels), _) => (3, Cow::Borrowed(pixels.as_raw())),
            (DynamicImage::ImageRgba32F(pixels), _) => (4, Cow::Borrowed(pixels.as_raw())),
            (_, color) if color.channel_count() == 1 => (1, Cow::Owned(picture.to_luma32f().into_raw())),
            (_, ColorType::La8 | ColorType::La16) => (2, Cow::Owned(picture.to_luma_alpha32f().into_raw())),
            (_, color) if color.channel_count() == 3 => (3, Cow::Owned(picture.to_rgb32f().into_raw())),
            _ => (4, Cow::Owned(picture.to_rgba32f().into_raw())),
        }
    }

    fn into_channels(picture: DynamicImage) -> (usize, Vec<Self>) {
        match picture {
            DynamicImage::ImageRgb32F(pixels) => (3, pixels.into_raw()),
            DynamicImage::ImageRgba32F(pixels) => (4, pixels.into_raw()),
            other => {
                let (channels, pixels) = Self::channels_of(&other);
                (channels, pixels.into_owned())
            }
        }
    }

    /// The `image` crate has colour in `f32`, but no gray.
    fn picture(Size { width, height }: Size, channels: usize, pixels: Vec<Self>) -> Option<DynamicImage> {
        match channels {
            3 => ImageBuffer::from_raw(width as u32, height as u32, pixels).map(DynamicImage::ImageRgb32F),
            4 => ImageBuffer::from_raw(width as u32, height as u32, pixels).map(DynamicImage::ImageRgba32F),
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
        let size = Size::new(picture.width() as usize, picture.height() as usize);
        match T::channels_of(picture) {
            (channels, Cow::Borrowed(pixels)) => Self::from_slice(context, size, channels, pixels),
            (channels, Cow::Owned(pixels)) => Self::from_vec(context, size, channels, pixels),
        }
    }

    /// As [`Self::from_picture`]; on the CPU path, the pixels of a picture that has the depth of `T` are moved and stay
    /// where they are.
    ///
    /// # Errors
    /// As [`Image::from_vec`].
    pub fn from_owned_picture(context: &Context, picture: DynamicImage) -> Result<Self, Error> {
        let size = Size::new(picture.width() as usize, picture.height() as usize);
        let (channels, pixels) = T::into_channels(picture);
        Self::from_vec(context, size, channels, pixels)
    }

    /// A copy of it as a picture, after all operations queued before.
    ///
    /// # Errors
    /// A number of channels for which the `image` crate has no picture type; as [`Image::to_vec`].
    pub fn to_picture(&self) -> Result<DynamicImage, Error> {
        let (size, channels) = (self.size(), self.channels());
        made_of(size, channels, self.to_packed_vec()?)
    }

    /// It as a picture, as [`Self::to_picture`]; the pixels are moved where [`Self::into_packed_vec`] moves them.
    ///
    /// # Errors
    /// As [`Self::to_picture`] and [`Self::into_packed_vec`].
    pub fn into_picture(self) -> Result<DynamicImage, Error> {
        let (size, channels) = (self.size(), self.channels());
        made_of(size, channels, self.into_packed_vec()?)
    }
}

fn made_of<T: Depth>(size: Size, channels: usize, pixels: Vec<T>) -> Result<DynamicImage, Error> {
    T::picture(size, channels, pixels).ok_or(Error::from(Fault::NoSuchPicture { channels, element: T::NAME }))
}
