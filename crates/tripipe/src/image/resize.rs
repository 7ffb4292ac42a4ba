//! Resized images, and what all images have in common whose pixels lie elsewhere.

use tripipe_device::Probe;
use tripipe_kernels::filter::{AffineMap, Border, FilterError, Interpolation, Raster, affine, resize};
use tripipe_kernels::{Plan, PlanError, Role};

#[cfg(feature = "cpu")]
use crate::Context;
#[cfg(feature = "cpu")]
use crate::cpu::{self, CpuError, Threads};
use crate::error::Fault;
#[cfg(feature = "cpu")]
use crate::image::spanned;
#[cfg(feature = "cpu")]
use crate::operation::Inputs;
use crate::operation_cache::key;
use crate::task::{Sizes, Task, name_of_image, pixel_bytes, raster_bytes};
use crate::{Error, Image, Pixel, Size};

impl<T: Pixel> Image<T> {
    /// A new image: this one resized to `size`. Queued; the image can be used at once.
    ///
    /// # Errors
    /// Either this image or `size` is empty and the other is not; no memory left; the device is gone.
    pub fn resized(&self, size: Size, interpolation: Interpolation) -> Result<Self, Error> {
        let from = *self.raster();
        let to = Raster::dense(from.layout, size, from.channels, from.element);
        check_extents(&from, &to)?;
        self.resampled(&Resample { how: How::Resized, interpolation, from, to })
    }

    /// A new image of this one's pixels.
    pub(super) fn resampled(&self, how: &Resample) -> Result<Self, Error> {
        let result = Self::unwritten(self.context(), how.to)?;
        if how.to.is_empty() {
            return Ok(result);
        }
        let task = self.context().task(how)?;
        let inputs = [(Role::Source, self.view().memory())];
        drop(task.run(&inputs, result.view().memory())?);
        Ok(result)
    }
}

#[cfg(feature = "cpu")]
impl Context {
    /// Resizes an image in the host's memory to the extents of `to`, with the result there, on the device or the CPU
    /// path as [`Self::filter_bytes`] chooses; bytes between its pixels are unchanged. Done when it returns.
    ///
    /// # Errors
    /// One of the two is empty and the other is not, or they differ in channels or elements; slices that are too short;
    /// the device is gone.
    pub fn resize_bytes(
        &self,
        interpolation: Interpolation,
        from: &Raster,
        source: &[u8],
        to: &Raster,
        result: &mut [u8],
    ) -> Result<(), Error> {
        check_extents(from, to)?;
        let how = Resample { how: How::Resized, interpolation, from: *from, to: *to };
        self.resample_bytes(&how, source, result)
    }

    /// The same for any of these operations, whose images were checked.
    pub(super) fn resample_bytes(
        &self,
        how: &Resample,
        source: &[u8],
        result: &mut [u8],
    ) -> Result<(), Error> {
        let (source, result) = spanned([&how.from, &how.to], source, result)?;
        if how.to.is_empty() {
            return Ok(());
        }
        self.run_task_copied(how, &[(Role::Source, source)], result)
    }
}

/// Checks that both are empty, or neither.
fn check_extents(from: &Raster, to: &Raster) -> Result<(), Error> {
    if from.is_empty() == to.is_empty() {
        return Ok(());
    }
    Err(Error::from(Fault::Resize { from: from.size(), to: to.size() }))
}

/// Where the pixels of a result are in the source.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum How {
    /// The edges of both coincide.
    Resized,
    Mapped(AffineMap, Border),
}

/// An image of the pixels of another one.
#[derive(Clone, PartialEq)]
pub(super) struct Resample {
    pub(super) how: How,
    pub(super) interpolation: Interpolation,
    pub(super) from: Raster,
    pub(super) to: Raster,
}

impl Task for Resample {
    const KERNEL: &'static str = "resample";

    fn name(&self) -> String {
        let Self { how, interpolation, from, to } = self;
        let what = if *how == How::Resized { "resizing" } else { "affine map" };
        format!("{interpolation} {what} of {} to {}", name_of_image(from), to.size())
    }

    fn key(&self) -> u64 {
        key(&(&self.from, &self.to))
    }

    fn plan(&self, probe: &Probe) -> Result<Plan<'static>, PlanError> {
        let Self { how, interpolation, from, to } = self;
        match how {
            How::Resized => resize(*interpolation, from, to, probe),
            How::Mapped(map, border) => affine(map, *interpolation, *border, from, to, probe),
        }
    }

    fn elements(&self) -> usize {
        self.to.width * self.to.height
    }

    fn sizes(&self) -> Result<Sizes, FilterError> {
        let inputs = vec![(Role::Source, raster_bytes(&self.from)?)];
        Ok(Sizes { inputs, result: raster_bytes(&self.to)?, written: pixel_bytes(&self.to) })
    }

    #[cfg(feature = "cpu")]
    fn run(&self, inputs: &Inputs<'_>, output: &mut [u8], threads: Threads) -> Result<(), CpuError> {
        let Self { how, interpolation, from, to } = self;
        let source = inputs.get(Role::Source)?;
        match how {
            How::Resized => cpu::resize(*interpolation, from, source, to, output, threads),
            How::Mapped(map, border) => {
                cpu::affine(map, *interpolation, *border, [from, to], source, output, threads)
            }
        }
    }
}
