//! Images under affine maps.

use tripipe_kernels::filter::{AffineMap, Border, Interpolation, Raster};

use super::resize::{How, Resample};
#[cfg(feature = "cpu")]
use crate::Context;
use crate::{Error, Image, Pixel, Size};

impl<T: Pixel> Image<T> {
    /// A new image of `size`: what this one shows under a map. Queued; the image can be used at once.
    ///
    /// # Errors
    /// As [`AffineMap::check`]; no memory left; the device is gone.
    pub fn mapped(
        &self,
        map: &AffineMap,
        size: Size,
        interpolation: Interpolation,
        border: Border,
    ) -> Result<Self, Error> {
        let from = *self.raster();
        let to = Raster::dense(from.layout, size, from.channels, from.element);
        map.check(interpolation, border, [&from, &to])?;
        self.resampled(&Resample { how: How::Mapped(*map, border), interpolation, from, to })
    }

    /// A new image: this one turned by `degrees` anticlockwise about its centre; as large as this one, or, if `whole`, so
    /// that all of it is there. See [`AffineMap::rotation`].
    ///
    /// # Errors
    /// As [`Self::mapped`] and [`AffineMap::rotation`].
    pub fn rotated(
        &self,
        degrees: f64,
        whole: bool,
        interpolation: Interpolation,
        border: Border,
    ) -> Result<Self, Error> {
        let (map, size) = AffineMap::rotation(degrees, self.size(), whole)?;
        self.mapped(&map, size, interpolation, border)
    }
}

#[cfg(feature = "cpu")]
impl Context {
    /// Maps an image in the host's memory, with the result there, on the device or the CPU path as
    /// [`Self::filter_bytes`] chooses; bytes between its pixels are unchanged. Done when it returns.
    ///
    /// # Errors
    /// As [`AffineMap::check`]; slices that are too short; the device is gone.
    pub fn map_bytes(
        &self,
        map: &AffineMap,
        (interpolation, border): (Interpolation, Border),
        from: &Raster,
        source: &[u8],
        to: &Raster,
        result: &mut [u8],
    ) -> Result<(), Error> {
        map.check(interpolation, border, [from, to])?;
        let how = How::Mapped(*map, border);
        self.resample_bytes(&Resample { how, interpolation, from: *from, to: *to }, source, result)
    }
}
