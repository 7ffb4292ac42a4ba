//! The implementation of an operation on the CPU path.

use std::sync::Arc;

use super::run::Later;
use crate::cpu::{CpuError, Threads};
use crate::pool::on_pool;

/// The operation on the CPU path: the inputs, in order, the output, and how many threads it may use.
pub(crate) type HostWork = Arc<dyn Fn(&[&[u8]], &mut [u8], Threads) -> Result<(), CpuError> + Send + Sync>;

/// The implementation on the CPU path, as a fallback for a device or on its own.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) work: HostWork,
    /// Whether it takes so little time that no other thread need be woken for it.
    pub(crate) small: bool,
    pub(crate) size: Size,
}

impl Host {
    /// As [`Self::run`], with operands that begin later.
    pub(crate) fn run_later(
        &self,
        inputs: &[&[u8]],
        output: &mut [u8],
        later: &[Later],
    ) -> Result<(), CpuError> {
        let by = |index: usize| later.get(index).map_or(0, |later| later.bytes);
        if later.iter().all(|later| later.bytes == 0) {
            return self.run(inputs, output);
        }
        let result = self.size.result;
        let places = (0..).filter(|index| *index != result);
        let inputs: Vec<&[u8]> = inputs
            .iter()
            .zip(places)
            .map(|(input, index)| input.get(by(index)..).unwrap_or_default())
            .collect();
        self.run(&inputs, output.get_mut(by(result)..).unwrap_or_default())
    }

    /// Runs it: reads `inputs` and writes `output`.
    ///
    /// # Errors
    /// Slices that are too short.
    pub(crate) fn run(&self, inputs: &[&[u8]], output: &mut [u8]) -> Result<(), CpuError> {
        if self.small {
            (self.work)(inputs, output, Threads::One)
        } else {
            on_pool(|| (self.work)(inputs, output, Threads::All))
        }
    }
}

/// The size of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Size {
    /// Sizes of its operands in bytes, in the plan's order.
    pub(crate) operands: Vec<usize>,
    /// The index of the operand that is written.
    pub(crate) result: usize,
    /// The number of bytes of the result that are written, each once; 0 when the result is also read.
    pub(crate) written: usize,
    /// The number of arithmetic operations.
    pub(crate) operations: f64,
}
