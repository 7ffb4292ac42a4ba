//! What an operation is besides its kernels: its name, its size, its implementation on the CPU path.

#[cfg(feature = "cpu")]
use std::sync::Arc;

use tripipe_kernels::Role;

#[cfg(feature = "cpu")]
use crate::cpu::{CpuError, Threads};
#[cfg(feature = "cpu")]
#[cfg(feature = "cpu")]
/// The operation on the CPU path: the inputs, the output, and how many threads it may use.
pub(crate) type HostWork = Arc<dyn Fn(&Inputs<'_>, &mut [u8], Threads) -> Result<(), CpuError> + Send + Sync>;

/// The bytes that an operation reads, by role.
#[cfg(feature = "cpu")]
pub(crate) struct Inputs<'b>(pub(crate) &'b [(Role, &'b [u8])]);

#[cfg(feature = "cpu")]
impl<'b> Inputs<'b> {
    /// The bytes of an input.
    ///
    /// # Errors
    /// There is no such input.
    pub(crate) fn get(&self, role: Role) -> Result<&'b [u8], CpuError> {
        let known = self.0.iter().find(|(known, _)| *known == role);
        known.map(|(_, bytes)| *bytes).ok_or_else(|| CpuError::Operand { operand: role.to_string() })
    }
}

/// How many bytes later the operands begin than an operation was made for.
#[cfg(feature = "cpu")]
pub(crate) struct OperandOffsets {
    pub(super) inputs: Vec<(Role, usize)>,
    pub(super) result: usize,
}

/// An operation besides its kernels.
#[derive(Clone)]
pub(crate) struct Host {
    /// The name of the operation, for errors.
    pub(crate) name: &'static str,
    /// The implementation on the CPU path, as a fallback for a device or on its own.
    #[cfg(feature = "cpu")]
    pub(crate) work: HostWork,
    /// Whether it takes so little time that no other thread need be woken for it.
    #[cfg(feature = "cpu")]
    pub(crate) small: bool,
    pub(crate) size: OperationSize,
}

#[cfg(feature = "cpu")]
impl Host {
    /// The same, with at most `most` threads.
    pub(crate) fn limited_to(self, most: Threads) -> Self {
        if most == Threads::All {
            return self;
        }
        let work = self.work;
        let limited = move |inputs: &Inputs<'_>, output: &mut [u8], threads: Threads| {
            work(inputs, output, threads.limited_to(most))
        };
        Self { work: Arc::new(limited), ..self }
    }

    /// As [`Self::run`], with inputs in the order of `offsets`, where it also says how much later they begin.
    pub(crate) fn run_at(
        &self,
        offsets: &OperandOffsets,
        inputs: &[&[u8]],
        output: &mut [u8],
    ) -> Result<(), CpuError> {
        let inputs: Vec<(Role, &[u8])> = offsets
            .inputs
            .iter()
            .zip(inputs)
            .map(|((role, by), input)| (*role, input.get(*by..).unwrap_or_default()))
            .collect();
        self.run(&inputs, output.get_mut(offsets.result..).unwrap_or_default())
    }

    /// Runs it: reads `inputs` and writes `output`.
    ///
    /// # Errors
    /// An input is missing; slices that are too short.
    pub(crate) fn run(&self, inputs: &[(Role, &[u8])], output: &mut [u8]) -> Result<(), CpuError> {
        let inputs = Inputs(inputs);
        if self.small {
            (self.work)(&inputs, output, Threads::One)
        } else {
            (self.work)(&inputs, output, Threads::All)
        }
    }
}

/// The size of an operation.
#[derive(Clone, Debug)]
pub(crate) struct OperationSize {
    /// What it reads, in bytes.
    pub(crate) inputs: Vec<(Role, usize)>,
    /// What it writes, in bytes.
    pub(crate) result: (Role, usize),
    /// The number of bytes of the result that are written, each once; 0 when the result is also read.
    pub(crate) written: usize,
    /// The number of arithmetic operations.
    pub(crate) operations: f64,
}

impl OperationSize {
    /// The total size of its operands in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let inputs = self.inputs.iter().map(|(_, bytes)| *bytes);
        inputs.chain([self.result.1]).fold(0, usize::saturating_add)
    }
}
