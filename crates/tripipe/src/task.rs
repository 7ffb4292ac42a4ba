//! Computations without choices: one kernel on a device, one loop on the CPU path.

use std::any::TypeId;
use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_kernels::filter::{FilterError, Raster};
use tripipe_kernels::{Plan, PlanError, Role};
use tripipe_launch::ScalarType;

#[cfg(feature = "cpu")]
use crate::cpu::{CpuError, Threads};
use crate::explanation::{Arithmetic, Explanation};
use crate::memory::Memory;
#[cfg(feature = "cpu")]
use crate::operation::Inputs;
use crate::operation::{BoundOperand, Host, Offset, Operation, OperationSize, RunOn};
use crate::operation_cache::{Described, Family, key};
use crate::{Context, Error, Event};

/// The number of elements that the CPU path processes in less time than waking another thread takes.
#[cfg(feature = "cpu")]
const SMALL: usize = 1 << 13;

/// The description of a computation.
pub(crate) trait Task: Clone + PartialEq + Send + Sync + 'static {
    /// The name of the kernel.
    const KERNEL: &'static str;

    /// A short description.
    fn name(&self) -> String;

    /// A hash that distinguishes most descriptions.
    fn key(&self) -> u64;

    /// The plan on a device.
    ///
    /// # Errors
    /// Shapes that do not match; the device lacks a feature.
    fn plan(&self, probe: &Probe) -> Result<Plan<'static>, PlanError>;

    /// The number of elements of the larger operand, or of pixels of the result: one operation each.
    fn elements(&self) -> usize;

    /// The sizes of the operands in bytes.
    ///
    /// # Errors
    /// A size that cannot be counted.
    fn sizes(&self) -> Result<Sizes, FilterError>;

    /// Runs it on the CPU path.
    ///
    /// # Errors
    /// Slices that are too short.
    #[cfg(feature = "cpu")]
    fn run(&self, inputs: &Inputs<'_>, output: &mut [u8], threads: Threads) -> Result<(), CpuError>;

    /// Whether both cost the same: they differ only in a factor.
    fn costs_as(&self, _other: &Self) -> bool {
        false
    }
}

/// The sizes of a task's operands in bytes.
pub(crate) struct Sizes {
    pub(crate) inputs: Vec<(Role, usize)>,
    pub(crate) result: usize,
    /// The number of bytes of the result that are written, each once; 0 when the result is also read.
    pub(crate) written: usize,
}

/// A task that is ready to run.
pub(crate) struct Prepared<T> {
    task: T,
    operation: Operation,
}

impl Context {
    /// Prepares a task; the latest are cached.
    ///
    /// # Errors
    /// Shapes that do not match; a kernel does not build; the device is gone.
    pub(crate) fn task<T: Task>(&self, task: &T) -> Result<Arc<Prepared<T>>, Error> {
        self.task_on(task, RunOn::Fastest)
    }

    fn task_on<T: Task>(&self, task: &T, run_on: RunOn) -> Result<Arc<Prepared<T>>, Error> {
        self.operation_cache().get_or_make(
            key(&(TypeId::of::<T>(), task.key())),
            |known: &Prepared<T>| known.task == *task,
            || {
                let relative =
                    self.operation_cache().relative(|known: &Prepared<T>| known.task.costs_as(task));
                let tried = relative.filter(|_| run_on == RunOn::Fastest);
                let tried = tried.and_then(|known| known.operation.trial());
                Prepared::new(self, task.clone(), tried.map_or(run_on, RunOn::AsTried))
            },
        )
    }

    /// Runs a task over the host's memory, as [`Operation::run_copied`].
    ///
    /// # Errors
    /// As [`Self::task`] and [`Operation::run_copied`].
    #[cfg(feature = "cpu")]
    pub(crate) fn run_task_copied<T: Task>(
        &self,
        task: &T,
        inputs: &[(Role, &[u8])],
        output: &mut [u8],
    ) -> Result<(), Error> {
        self.task_on(task, self.run_on_copies())?.operation.run_copied(self, inputs, output)
    }

    /// What runs operations over the host's memory.
    #[cfg(feature = "cpu")]
    pub(crate) fn run_on_copies(&self) -> RunOn {
        if self.core().options().cpu_when_faster { RunOn::Copies } else { RunOn::Fastest }
    }
}

impl<T: Task> Prepared<T> {
    fn new(context: &Context, task: T, run_on: RunOn) -> Result<Self, Error> {
        let Sizes { inputs, result, written } = task.sizes()?;
        let operations = task.elements() as f64;
        let size = OperationSize { inputs, result: (Role::Result, result), written, operations };
        #[cfg(feature = "cpu")]
        let on_host = task.clone();
        let host = Host {
            name: T::KERNEL,
            #[cfg(feature = "cpu")]
            work: Arc::new(move |inputs: &Inputs<'_>, output: &mut [u8], threads| {
                on_host.run(inputs, output, threads)
            }),
            #[cfg(feature = "cpu")]
            small: task.elements() <= SMALL,
            size,
        };
        let plan = |probe: &Probe| Ok(task.plan(probe)?);
        let operation = Operation::new(context, plan, host, run_on)?;
        Ok(Self { task, operation })
    }

    /// Queues it over its inputs, in any order, into the result.
    ///
    /// # Errors
    /// As [`Operation::run`].
    pub(crate) fn run(&self, inputs: &[(Role, &Memory)], result: &Memory) -> Result<Event, Error> {
        self.run_at(inputs, result, &[])
    }

    /// As [`Self::run`], over operands that begin later than the task says.
    ///
    /// # Errors
    /// As [`Operation::run`].
    pub(crate) fn run_at(
        &self,
        inputs: &[(Role, &Memory)],
        result: &Memory,
        offsets: &[(Role, Offset)],
    ) -> Result<Event, Error> {
        let inputs: Vec<BoundOperand<'_>> =
            inputs.iter().map(|(role, memory)| BoundOperand::moved(*role, memory, offsets)).collect();
        let result = BoundOperand::moved(Role::Result, result, offsets);
        self.operation.run(&inputs, result.memory, result.offset)
    }
}

impl<T: Task> Described for Prepared<T> {
    fn family(&self) -> Family {
        Family::Other
    }

    fn explain(&self) -> Explanation {
        let mut explanation = self.operation.explanation(self.task.name());
        let (kernel, why) = if self.operation.runs_kernels() {
            (T::KERNEL, "there is no other kernel for it")
        } else {
            ("a loop", "the CPU path has one implementation")
        };
        kernel.clone_into(&mut explanation.kernel);
        why.clone_into(&mut explanation.why);
        explanation.runners_up.extend(self.operation.runner_up(T::KERNEL));
        let bytes = self.operation.bytes();
        self.operation.add_bound(&mut explanation, Arithmetic::F32, bytes as f64);
        explanation
    }
}

/// The Rust name of a type.
pub(crate) fn name_of(element: ScalarType) -> String {
    format!("{element:?}").to_lowercase()
}

/// An image in the name of a task.
pub(crate) fn name_of_image(raster: &Raster) -> String {
    let Raster { width, height, channels, element, .. } = raster;
    format!("{width}x{height}, {channels} x {element}")
}

/// Bytes from the start of the buffer to the last pixel.
pub(crate) fn raster_bytes(raster: &Raster) -> Result<usize, FilterError> {
    Ok(raster.elements()? * raster.element.bytes())
}

/// Bytes of the pixels, without the gaps between rows.
pub(crate) fn pixel_bytes(raster: &Raster) -> usize {
    raster.width * raster.height * raster.channels * raster.element.bytes()
}
