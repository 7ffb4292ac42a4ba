//! An executor around another one that changes single calls and passes on all others.

use std::ops::Range;
use std::sync::Arc;

use tripipe_device::Probe;

use crate::executor::OverBytes;
use crate::{
    Access, Block, ExecuteError, Executor, ImageShape, KernelFacts, Launch, MemoryId, MemoryKind, Prepared,
    Program, Reading, Submission, TimeSource, Timing,
};

/// An executor that passes every call on to `inner`, unless `calls` intercepts it.
///
/// To observe, change or refuse single calls, implement [`Intercept`] with only those methods:
///
/// ```
/// use tripipe_launch::{ExecuteError, Executor, Intercept, Launch, Layer, Timing};
///
/// /// Counts the launches of `run`.
/// #[derive(Default)]
/// struct Counted(usize);
///
/// impl<E: Executor> Intercept<E> for Counted {
///     fn run(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
///         self.0 += launches.len();
///         inner.run(launches)
///     }
/// }
///
/// fn count(executor: impl Executor, launches: &[Launch]) -> Result<usize, ExecuteError> {
///     let mut counted = Layer::new(executor, Counted::default());
///     counted.run(launches)?;
///     Ok(counted.calls.0)
/// }
/// ```
///
/// A call that is passed on does not come back: `submit` of the inner executor runs its own launches, not those of an
/// intercepted `run`. Intercept every method that the code under test calls: kernels are started by
/// [`Executor::run`], [`Executor::submit`] and [`Executor::submit_prepared`], and memory is made by
/// [`Executor::allocate`], [`Executor::allocate_zeros`] and [`Executor::image_over_buffer`].
#[derive(Clone, Debug)]
pub struct Layer<E, I> {
    /// The executor that does the work.
    pub inner: E,
    /// The intercepted calls.
    pub calls: I,
}

impl<E, I> Layer<E, I> {
    /// `calls` around `inner`.
    pub fn new(inner: E, calls: I) -> Self {
        Self { inner, calls }
    }
}

/// The calls that a [`Layer`] intercepts. Each method stands for the method of [`Executor`] with the same name, and
/// calls that of `inner` unless it is implemented.
#[allow(clippy::missing_errors_doc, reason = "the errors are those of the methods of `Executor`")]
pub trait Intercept<E: Executor> {
    /// [`Executor::probe`]
    fn probe<'p>(&'p self, inner: &'p E) -> &'p Probe {
        inner.probe()
    }

    /// [`Executor::time_source`]
    fn time_source(&self, inner: &E) -> TimeSource {
        inner.time_source()
    }

    /// [`Executor::allocate`]
    fn allocate(
        &mut self,
        inner: &mut E,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        inner.allocate(kind, access, initial)
    }

    /// [`Executor::allocate_zeros`]
    fn allocate_zeros(
        &mut self,
        inner: &mut E,
        kind: &MemoryKind,
        access: Access,
    ) -> Result<MemoryId, ExecuteError> {
        inner.allocate_zeros(kind, access)
    }

    /// [`Executor::image_over_buffer`]
    fn image_over_buffer(
        &mut self,
        inner: &mut E,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        inner.image_over_buffer(buffer, shape, row_pitch_bytes)
    }

    /// [`Executor::release`]
    fn release(&mut self, inner: &mut E, memory: MemoryId) -> Result<(), ExecuteError> {
        inner.release(memory)
    }

    /// [`Executor::write`]
    fn write(
        &mut self,
        inner: &mut E,
        memory: MemoryId,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), ExecuteError> {
        inner.write(memory, offset, bytes)
    }

    /// [`Executor::read`]
    fn read(
        &mut self,
        inner: &mut E,
        memory: MemoryId,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), ExecuteError> {
        inner.read(memory, offset, into)
    }

    /// [`Executor::write_later`]
    fn write_later(
        &mut self,
        inner: &mut E,
        memory: MemoryId,
        offset: usize,
        from: Block,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        inner.write_later(memory, offset, from)
    }

    /// [`Executor::read_later`]
    fn read_later(
        &mut self,
        inner: &mut E,
        memory: MemoryId,
        offset: usize,
        into: Block,
    ) -> Result<Box<dyn Reading>, ExecuteError> {
        inner.read_later(memory, offset, into)
    }

    /// [`Executor::with_bytes`]
    fn with_bytes(
        &mut self,
        inner: &mut E,
        memory: MemoryId,
        range: Range<usize>,
        look: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ExecuteError> {
        inner.with_bytes(memory, range, look)
    }

    /// [`Executor::with_bytes_mut`]
    fn with_bytes_mut(
        &mut self,
        inner: &mut E,
        memory: MemoryId,
        range: Range<usize>,
        edit: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), ExecuteError> {
        inner.with_bytes_mut(memory, range, edit)
    }

    /// [`Executor::with_all_bytes`]
    fn with_all_bytes(
        &mut self,
        inner: &mut E,
        inputs: &[(MemoryId, usize)],
        output: (MemoryId, usize),
        work: &mut OverBytes<'_>,
    ) -> Result<(), ExecuteError> {
        inner.with_all_bytes(inputs, output, work)
    }

    /// [`Executor::copy`]
    fn copy(
        &mut self,
        inner: &mut E,
        [from, to]: [(MemoryId, usize); 2],
        bytes: usize,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        inner.copy(from.0, from.1, to.0, to.1, bytes)
    }

    /// [`Executor::prepare`]
    fn prepare(
        &mut self,
        inner: &mut E,
        program: &Arc<Program>,
        entry: &str,
    ) -> Result<KernelFacts, ExecuteError> {
        inner.prepare(program, entry)
    }

    /// [`Executor::submit`]
    fn submit(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Box<dyn Submission>, ExecuteError> {
        inner.submit(launches)
    }

    /// [`Executor::take_times`]
    fn take_times(&mut self, inner: &mut E, take: bool) {
        inner.take_times(take);
    }

    /// [`Executor::prepare_launches`]
    fn prepare_launches(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Prepared, ExecuteError> {
        inner.prepare_launches(launches)
    }

    /// [`Executor::submit_prepared`]
    fn submit_prepared(
        &mut self,
        inner: &mut E,
        prepared: &Prepared,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        inner.submit_prepared(prepared)
    }

    /// [`Executor::run`]
    fn run(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        inner.run(launches)
    }
}

impl<E: Executor, I: Intercept<E>> Executor for Layer<E, I> {
    fn probe(&self) -> &Probe {
        self.calls.probe(&self.inner)
    }

    fn time_source(&self) -> TimeSource {
        self.calls.time_source(&self.inner)
    }

    fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        self.calls.allocate(&mut self.inner, kind, access, initial)
    }

    fn allocate_zeros(&mut self, kind: &MemoryKind, access: Access) -> Result<MemoryId, ExecuteError> {
        self.calls.allocate_zeros(&mut self.inner, kind, access)
    }

    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        self.calls.image_over_buffer(&mut self.inner, buffer, shape, row_pitch_bytes)
    }

    fn release(&mut self, memory: MemoryId) -> Result<(), ExecuteError> {
        self.calls.release(&mut self.inner, memory)
    }

    fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError> {
        self.calls.write(&mut self.inner, memory, offset, bytes)
    }

    fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
        self.calls.read(&mut self.inner, memory, offset, into)
    }

    fn write_later(
        &mut self,
        memory: MemoryId,
        offset: usize,
        from: Block,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        self.calls.write_later(&mut self.inner, memory, offset, from)
    }

    fn read_later(
        &mut self,
        memory: MemoryId,
        offset: usize,
        into: Block,
    ) -> Result<Box<dyn Reading>, ExecuteError> {
        self.calls.read_later(&mut self.inner, memory, offset, into)
    }

    fn with_bytes(
        &mut self,
        memory: MemoryId,
        range: Range<usize>,
        look: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ExecuteError> {
        self.calls.with_bytes(&mut self.inner, memory, range, look)
    }

    fn with_bytes_mut(
        &mut self,
        memory: MemoryId,
        range: Range<usize>,
        edit: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), ExecuteError> {
        self.calls.with_bytes_mut(&mut self.inner, memory, range, edit)
    }

    fn with_all_bytes(
        &mut self,
        inputs: &[(MemoryId, usize)],
        output: (MemoryId, usize),
        work: &mut OverBytes<'_>,
    ) -> Result<(), ExecuteError> {
        self.calls.with_all_bytes(&mut self.inner, inputs, output, work)
    }

    fn copy(
        &mut self,
        from: MemoryId,
        from_offset: usize,
        to: MemoryId,
        to_offset: usize,
        bytes: usize,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        self.calls.copy(&mut self.inner, [(from, from_offset), (to, to_offset)], bytes)
    }

    fn prepare(&mut self, program: &Arc<Program>, entry: &str) -> Result<KernelFacts, ExecuteError> {
        self.calls.prepare(&mut self.inner, program, entry)
    }

    fn submit(&mut self, launches: &[Launch]) -> Result<Box<dyn Submission>, ExecuteError> {
        self.calls.submit(&mut self.inner, launches)
    }

    fn take_times(&mut self, take: bool) {
        self.calls.take_times(&mut self.inner, take);
    }

    fn prepare_launches(&mut self, launches: &[Launch]) -> Result<Prepared, ExecuteError> {
        self.calls.prepare_launches(&mut self.inner, launches)
    }

    fn submit_prepared(&mut self, prepared: &Prepared) -> Result<Box<dyn Submission>, ExecuteError> {
        self.calls.submit_prepared(&mut self.inner, prepared)
    }

    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.calls.run(&mut self.inner, launches)
    }
}
