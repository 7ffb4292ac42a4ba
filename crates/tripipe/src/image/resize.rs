//! Resized images.

use tripipe_device::Probe;
use tripipe_kernels::filter::{FilterError, Interpolation, Raster, resize};
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
        let result = Self::unwritten(self.context(), to)?;
        if to.is_empty() {
            return Ok(result);
        }
        let resize = self.context().task(&Resize { interpolation, from, to })?;
        let inputs = [(Role::Source, self.view().memory())];
        drop(resize.run(&inputs, result.view().memory())?);
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
        let (source, result) = spanned([from, to], source, result)?;
        check_extents(from, to)?;
        if to.is_empty() {
            return Ok(());
        }
        let resize = Resize { interpolation, from: *from, to: *to };
        self.run_task_copied(&resize, &[(Role::Source, source)], result)
    }
}

/// Checks that both are empty, or neither.
fn check_extents(from: &Raster, to: &Raster) -> Result<(), Error> {
    if from.is_empty() == to.is_empty() {
        return Ok(());
    }
    Err(Error::from(Fault::Resize { from: from.size(), to: to.size() }))
}

/// An image with other extents.
#[derive(Clone, PartialEq)]
struct Resize {
    interpolation: Interpolation,
    from: Raster,
    to: Raster,
}

impl Task for Resize {
    const KERNEL: &'static str = "resize";

    fn name(&self) -> String {
        let Self { interpolation, from, to } = self;
        format!("{interpolation} resizing of {} to {}", name_of_image(from), to.size())
    }

    fn key(&self) -> u64 {
        key(&(&self.from, &self.to))
    }

    fn plan(&self, probe: &Probe) -> Result<Plan<'static>, PlanError> {
        resize(self.interpolation, &self.from, &self.to, probe)
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
        let source = inputs.get(Role::Source)?;
        cpu::resize(self.interpolation, &self.from, source, &self.to, output, threads)
    }
}
