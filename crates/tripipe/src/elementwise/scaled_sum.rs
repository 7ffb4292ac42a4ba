//! Sums with a scaled vector.

use tripipe_device::Probe;
use tripipe_kernels::elementwise::{self, VectorLayout};
use tripipe_kernels::filter::{FilterError, PixelType};
use tripipe_kernels::{Plan, PlanError, Role};

use super::Summed;
#[cfg(feature = "cpu")]
use crate::cpu::{self, CpuError, Threads};
#[cfg(feature = "cpu")]
use crate::operation::Inputs;
use crate::operation_cache::key;
use crate::task::{Sizes, Task};
use crate::{Error, Event, Pixel, Vector};

impl<T: Summed<Sum = f32> + Pixel> Vector<T> {
    /// Queues `self += alpha x`, computed in `f32` and rounded once when stored.
    ///
    /// # Errors
    /// The lengths differ; the contexts differ, or both share memory; the device is gone.
    pub fn add_scaled(&mut self, alpha: f32, x: &Self) -> Result<Event, Error> {
        self.memory().check_length::<T>(x.len())?;
        let task = ScaledSum { alpha, length: self.len(), element: T::PIXEL };
        self.context().task(&task)?.run(&[(Role::Source, x.memory())], self.memory())
    }
}

/// `y += alpha x`.
#[derive(Clone, PartialEq)]
struct ScaledSum {
    alpha: f32,
    length: usize,
    element: PixelType,
}

impl Task for ScaledSum {
    const KERNEL: &'static str = "axpy";

    fn name(&self) -> String {
        format!("scaled sum of {} {}", self.length, self.element)
    }

    fn key(&self) -> u64 {
        key(&(self.alpha.to_bits(), self.length, self.element))
    }

    fn plan(&self, _: &Probe) -> Result<Plan<'static>, PlanError> {
        let dense = VectorLayout::dense(self.length);
        elementwise::axpy(self.alpha, dense, dense, self.element)
    }

    fn elements(&self) -> usize {
        self.length
    }

    fn sizes(&self) -> Result<Sizes, FilterError> {
        let bytes = self.length * self.element.bytes();
        Ok(Sizes { inputs: vec![(Role::Source, bytes)], result: bytes, written: 0 })
    }

    #[cfg(feature = "cpu")]
    fn run(&self, inputs: &Inputs<'_>, output: &mut [u8], _: Threads) -> Result<(), CpuError> {
        cpu::scaled_sum(self.element, self.length, self.alpha, inputs.get(Role::Source)?, output)
    }

    fn costs_as(&self, other: &Self) -> bool {
        self.length == other.length && self.element == other.element
    }
}
