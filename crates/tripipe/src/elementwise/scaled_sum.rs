//! Sums with a scaled vector.

use half::f16;
use tripipe_device::Probe;
use tripipe_kernels::elementwise::{self, Vector as Dense};
use tripipe_kernels::filter::{Element, FilterError};
use tripipe_kernels::{Plan, PlanError, Role};

use super::Summed;
use crate::cpu::{CpuError, Threads};
use crate::kept::key;
use crate::memory::{elements_of as cast, elements_of_mut as cast_mut};
use crate::operation::Inputs;
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
    element: Element,
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
        let dense = Dense::dense(self.length);
        elementwise::axpy(self.alpha, dense, dense, self.element)
    }

    fn elements(&self) -> usize {
        self.length
    }

    fn sizes(&self) -> Result<Sizes, FilterError> {
        let bytes = self.length * self.element.bytes();
        Ok(Sizes { inputs: vec![(Role::Source, bytes)], result: bytes, written: 0 })
    }

    fn run(&self, inputs: &Inputs<'_>, output: &mut [u8], _: Threads) -> Result<(), CpuError> {
        let Self { alpha, length, element } = *self;
        let x = inputs.get(Role::Source)?;
        if element == Element::F16 {
            axpy::<f16>(alpha, &cast(x)[..length], &mut cast_mut(output)[..length]);
        } else {
            axpy::<f32>(alpha, &cast(x)[..length], &mut cast_mut(output)[..length]);
        }
        Ok(())
    }

    fn costs_as(&self, other: &Self) -> bool {
        self.length == other.length && self.element == other.element
    }
}

trait Real: Copy + Into<f32> {
    fn of(value: f32) -> Self;
}

impl Real for f32 {
    fn of(value: f32) -> Self {
        value
    }
}

impl Real for f16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

fn axpy<T: Real>(alpha: f32, x: &[T], y: &mut [T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = T::of((*y).into() + alpha * (*x).into());
    }
}
