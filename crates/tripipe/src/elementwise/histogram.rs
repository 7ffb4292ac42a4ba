//! How often each value occurs.

use tripipe_device::Probe;
use tripipe_kernels::filter::{FilterError, Raster};
use tripipe_kernels::{Plan, PlanError, Role, elementwise};

#[cfg(feature = "cpu")]
use crate::cpu::{self, CpuError, Threads};
use crate::error::Fault;
#[cfg(feature = "cpu")]
use crate::operation::Inputs;
use crate::operation_cache::key;
use crate::task::{Sizes, Task, name_of_image, raster_bytes};
use crate::{Error, Image, Pending, Pixel, Vector};

/// A channel type whose values can be counted in a histogram.
pub trait Counted: Pixel {}

impl Counted for u8 {}
impl Counted for u16 {}

impl<T: Counted> Image<T> {
    /// Queues the counts of each value over all channels: of bytes, or of the upper 8 bits of 16-bit values.
    ///
    /// # Errors
    /// It is mapped for writing; no memory left; the device is gone. Other errors are reported by the [`Pending`].
    pub fn histogram(&self) -> Result<Pending<[u32; 256]>, Error> {
        let result = Vector::<u32>::zeros(self.context(), 256)?;
        let histogram = self.context().task(&Histogram { raster: *self.raster() })?;
        drop(histogram.run(&[(Role::Source, self.view().memory())], result.memory())?);
        Ok(result
            .queue_read()?
            .then(|bins| <[u32; 256]>::try_from(bins).map_err(|_| Error::from(Fault::ValueTaken))))
    }
}

/// The number of occurrences of each value.
#[derive(Clone, PartialEq)]
struct Histogram {
    raster: Raster,
}

impl Task for Histogram {
    const KERNEL: &'static str = "histogram";

    fn name(&self) -> String {
        format!("histogram of {}", name_of_image(&self.raster))
    }

    fn key(&self) -> u64 {
        key(&self.raster)
    }

    fn plan(&self, probe: &Probe) -> Result<Plan<'static>, PlanError> {
        elementwise::histogram(&self.raster, probe)
    }

    fn elements(&self) -> usize {
        self.raster.width * self.raster.height
    }

    fn sizes(&self) -> Result<Sizes, FilterError> {
        let result = 256 * size_of::<u32>();
        let inputs = vec![(Role::Source, raster_bytes(&self.raster)?)];
        Ok(Sizes { inputs, result, written: result })
    }

    #[cfg(feature = "cpu")]
    fn run(&self, inputs: &Inputs<'_>, output: &mut [u8], _: Threads) -> Result<(), CpuError> {
        cpu::histogram(&self.raster, inputs.get(Role::Source)?, output)
    }
}

#[cfg(test)]
mod tests {
    use tripipe_kernels::filter::{PixelType, Size};

    use super::*;

    #[test]
    fn a_histogram_has_a_name_in_words() {
        let raster = Raster::packed(Size::new(3, 2), 3, PixelType::U8);
        assert_eq!(Histogram { raster }.name(), "histogram of 3x2, 3 x u8");
    }
}
