//! The transpose of a matrix, with its elements moved.

use tripipe_device::Probe;
use tripipe_kernels::elementwise::{self, MatrixLayout};
use tripipe_kernels::filter::FilterError;
use tripipe_kernels::{Plan, PlanError, Role};

#[cfg(feature = "cpu")]
use crate::cpu::{self, CpuError, Threads};
#[cfg(feature = "cpu")]
use crate::operation::Inputs;
use crate::operation_cache::key;
use crate::task::{Sizes, Task};
use crate::{Element, Error, Extents, Matrix, Order};

impl<T: Element> Matrix<T> {
    /// A new row-major matrix with the transpose; the elements are moved. (A [`Matrix::transposed`] view moves nothing,
    /// and products accept it as well.)
    ///
    /// # Errors
    /// No memory left; the device is gone.
    pub fn to_transposed(&self) -> Result<Self, Error> {
        let extents = self.extents();
        if self.order() == Order::ColumnMajor {
            // A column-major matrix is its transpose in row-major order.
            return self.view().transposed().to_matrix();
        }
        let result = Self::unwritten(self.context(), extents.transposed())?;
        if extents.is_empty() {
            return Ok(result);
        }
        let transpose = self.context().task(&Transpose { extents, element_bytes: size_of::<T>() })?;
        let inputs = [(Role::Source, self.view().memory())];
        drop(transpose.run(&inputs, result.view().memory())?);
        Ok(result)
    }
}

/// The transpose of a matrix with these extents.
#[derive(Clone, PartialEq)]
struct Transpose {
    extents: Extents,
    element_bytes: usize,
}

impl Task for Transpose {
    const KERNEL: &'static str = "transpose in tiles";

    fn name(&self) -> String {
        format!("transpose of {}, {} bytes each", self.extents, self.element_bytes)
    }

    fn key(&self) -> u64 {
        key(&(self.extents, self.element_bytes))
    }

    fn plan(&self, _: &Probe) -> Result<Plan<'static>, PlanError> {
        elementwise::transpose(MatrixLayout::dense(self.extents), 0, self.extents.rows, self.element_bytes)
    }

    fn elements(&self) -> usize {
        self.extents.rows * self.extents.columns
    }

    fn sizes(&self) -> Result<Sizes, FilterError> {
        let bytes = self.elements() * self.element_bytes;
        Ok(Sizes { inputs: vec![(Role::Source, bytes)], result: bytes, written: bytes })
    }

    #[cfg(feature = "cpu")]
    fn run(&self, inputs: &Inputs<'_>, output: &mut [u8], threads: Threads) -> Result<(), CpuError> {
        cpu::transpose_bytes(inputs.get(Role::Source)?, output, self.extents, self.element_bytes, threads)
    }
}
