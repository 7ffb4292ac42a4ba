//! Resized images, and images from and to camera frames.

use tripipe_kernels::filter::{Interpolation, Layout, Raster, Semiplanar};

use crate::simple::Task;
use crate::{Error, Image, Pending, Pixel, Vector};

impl<T: Pixel> Image<T> {
    /// A new image: this one resized to `size` (width and height in pixels). Queued; the image can be used at once.
    ///
    /// # Errors
    /// Either this image or `size` is empty and the other is not; no memory left; the device is gone.
    pub fn resized(&self, size: [usize; 2], interpolation: Interpolation) -> Result<Self, Error> {
        self.resized_async(size, interpolation)?.queued_value()
    }

    /// As [`Self::resized`]; the [`Pending`] gives the image when it is computed.
    ///
    /// # Errors
    /// As [`Self::resized`].
    pub fn resized_async(
        &self,
        size: [usize; 2],
        interpolation: Interpolation,
    ) -> Result<Pending<Self>, Error> {
        let from = *self.raster();
        let to = match from.layout {
            Layout::Packed => Raster::packed(size, from.channels, from.element),
            Layout::Planar => Raster::planar(size, from.channels, from.element),
        };
        if from.is_empty() != to.is_empty() {
            return Err(Error::Resize { from: [from.width, from.height], to: size });
        }
        let result = Self::unwritten(self.context(), to)?;
        if to.is_empty() {
            return Ok(Pending::done().with(result));
        }
        let simple = self.context().simple(Task::Resize { interpolation, from, to })?;
        Ok(simple.run(&[self.view().memory()], result.view().memory())?.with(result))
    }
}

impl Image<u8> {
    /// A new image of 3 channels, RGB, or of 4 with alpha 255, from an NV12 or NV21 frame stored in `frame`. Queued;
    /// the image can be used at once.
    ///
    /// # Errors
    /// A number of channels other than 3 and 4; a vector that is too short; no memory left; the device is gone.
    pub fn from_frame(frame: &Vector<u8>, layout: &Semiplanar, channels: usize) -> Result<Self, Error> {
        Self::from_frame_async(frame, layout, channels)?.queued_value()
    }

    /// As [`Self::from_frame`]; the [`Pending`] gives the image when it is computed.
    ///
    /// # Errors
    /// As [`Self::from_frame`].
    pub fn from_frame_async(
        frame: &Vector<u8>,
        layout: &Semiplanar,
        channels: usize,
    ) -> Result<Pending<Self>, Error> {
        let to = Raster::packed(layout.size, channels, u8::PIXEL);
        layout.check_image(&to)?;
        let want = layout.bytes();
        if frame.len() < want {
            return Err(Error::Length { operand: "the frame", want, found: frame.len() });
        }
        let result = Self::unwritten(frame.context(), to)?;
        if to.is_empty() {
            return Ok(Pending::done().with(result));
        }
        let simple = frame.context().simple(Task::ToRgb { from: *layout, to })?;
        Ok(simple.run(&[frame.memory(), frame.memory()], result.view().memory())?.with(result))
    }

    /// Queues the conversion of this image, RGB, or RGBA without its alpha, to an NV12 or NV21 frame in `frame`. Only
    /// the pixels of the frame are written.
    ///
    /// # Errors
    /// Extents other than the frame's; a number of channels other than 3 and 4; a vector that is too short or is the
    /// image's own; another context; the device is gone.
    pub fn to_frame(&self, frame: &mut Vector<u8>, layout: &Semiplanar) -> Result<Pending, Error> {
        let want = layout.bytes();
        if frame.len() < want {
            return Err(Error::Length { operand: "the frame", want, found: frame.len() });
        }
        layout.check_image(self.raster())?;
        if self.raster().is_empty() {
            return Ok(Pending::done());
        }
        let task = Task::ToFrame { from: *self.raster(), to: *layout };
        self.context().simple(task)?.run(&[self.view().memory()], frame.memory())
    }
}
