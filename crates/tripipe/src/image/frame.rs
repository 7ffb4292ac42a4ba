//! Images from and to camera frames.

use tripipe_device::Probe;
use tripipe_kernels::filter::{FilterError, Raster, Semiplanar, rgb_to_frame, semiplanar_to_rgb};
use tripipe_kernels::{Plan, PlanError, Role};

#[cfg(feature = "cpu")]
use crate::cpu::{self, CpuError, Threads};
use crate::error::Fault;
#[cfg(feature = "cpu")]
use crate::operation::Inputs;
use crate::operation_cache::key;
use crate::task::{Sizes, Task, name_of_image, pixel_bytes, raster_bytes};
use crate::{Error, Event, Image, Pixel, Vector};

impl Image<u8> {
    /// A new image of 3 channels, RGB, or of 4 with alpha 255, from an NV12 or NV21 frame stored in `frame`. Queued;
    /// the image can be used at once.
    ///
    /// # Errors
    /// A number of channels other than 3 and 4; a vector that is too short; no memory left; the device is gone.
    pub fn from_frame(frame: &Vector<u8>, layout: &Semiplanar, channels: usize) -> Result<Self, Error> {
        let to = Raster::packed(layout.size, channels, u8::PIXEL);
        layout.check_image(&to)?;
        let want = layout.bytes();
        if frame.len() < want {
            return Err(Error::from(Fault::Length { operand: "the frame", want, found: frame.len() }));
        }
        let result = Self::unwritten(frame.context(), to)?;
        if to.is_empty() {
            return Ok(result);
        }
        let from_frame = frame.context().task(&FromFrame { from: *layout, to })?;
        let inputs = [(Role::Luma, frame.memory()), (Role::Chroma, frame.memory())];
        drop(from_frame.run(&inputs, result.view().memory())?);
        Ok(result)
    }

    /// Queues the conversion of this image, RGB, or RGBA without its alpha, to an NV12 or NV21 frame in `frame`. Only
    /// the pixels of the frame are written.
    ///
    /// # Errors
    /// Extents other than the frame's; a number of channels other than 3 and 4; a vector that is too short or is the
    /// image's own; another context; the device is gone.
    pub fn to_frame(&self, frame: &mut Vector<u8>, layout: &Semiplanar) -> Result<Event, Error> {
        let want = layout.bytes();
        if frame.len() < want {
            return Err(Error::from(Fault::Length { operand: "the frame", want, found: frame.len() }));
        }
        layout.check_image(self.raster())?;
        if self.raster().is_empty() {
            return Ok(Event::done());
        }
        let to_frame = self.context().task(&ToFrame { from: *self.raster(), to: *layout })?;
        to_frame.run(&[(Role::Source, self.view().memory())], frame.memory())
    }
}

/// The image of a frame.
#[derive(Clone, PartialEq)]
struct FromFrame {
    from: Semiplanar,
    to: Raster,
}

impl Task for FromFrame {
    const KERNEL: &'static str = "semiplanar to RGB";

    fn name(&self) -> String {
        format!("frame to {}", name_of_image(&self.to))
    }

    fn key(&self) -> u64 {
        key(&self.to)
    }

    fn plan(&self, probe: &Probe) -> Result<Plan<'static>, PlanError> {
        semiplanar_to_rgb(&self.from, &self.to, probe)
    }

    fn elements(&self) -> usize {
        self.to.width * self.to.height
    }

    fn sizes(&self) -> Result<Sizes, FilterError> {
        let [luma, chroma] = self.from.planes();
        let inputs = vec![(Role::Luma, raster_bytes(&luma)?), (Role::Chroma, raster_bytes(&chroma)?)];
        Ok(Sizes { inputs, result: raster_bytes(&self.to)?, written: pixel_bytes(&self.to) })
    }

    #[cfg(feature = "cpu")]
    fn run(&self, inputs: &Inputs<'_>, output: &mut [u8], threads: Threads) -> Result<(), CpuError> {
        let (luma, chroma) = (inputs.get(Role::Luma)?, inputs.get(Role::Chroma)?);
        cpu::semiplanar_to_rgb(&self.from, luma, chroma, &self.to, output, threads)
    }
}

/// The frame of an image.
#[derive(Clone, PartialEq)]
struct ToFrame {
    from: Raster,
    to: Semiplanar,
}

impl Task for ToFrame {
    const KERNEL: &'static str = "RGB to semiplanar";

    fn name(&self) -> String {
        format!("{} to a frame", name_of_image(&self.from))
    }

    fn key(&self) -> u64 {
        key(&self.from)
    }

    fn plan(&self, probe: &Probe) -> Result<Plan<'static>, PlanError> {
        rgb_to_frame(&self.from, &self.to, probe)
    }

    fn elements(&self) -> usize {
        self.from.width * self.from.height
    }

    fn sizes(&self) -> Result<Sizes, FilterError> {
        let inputs = vec![(Role::Source, raster_bytes(&self.from)?)];
        let written = self.to.planes().iter().map(pixel_bytes).sum();
        Ok(Sizes { inputs, result: self.to.bytes(), written })
    }

    #[cfg(feature = "cpu")]
    fn run(&self, inputs: &Inputs<'_>, output: &mut [u8], threads: Threads) -> Result<(), CpuError> {
        cpu::rgb_to_frame(&self.from, inputs.get(Role::Source)?, &self.to, output, threads)
    }
}
