//! The trait that hides which device runs a launch.

use std::sync::Arc;

use tripipe_device::Probe;

use crate::{Access, ExecuteError, ImageShape, Launch, MemoryId, MemoryKind, Program};

/// Runs launches: an OpenCL device now, a simulated GPU as well.
///
/// Whoever holds an executor cannot tell which one it is. Every call is finished when it returns.
/// A memory object lives until [`Executor::release`] or until the executor is dropped.
pub trait Executor {
    /// What the device says of itself.
    fn probe(&self) -> &Probe;

    /// Makes a memory object, with `initial` contents or undefined ones.
    ///
    /// # Errors
    /// `initial` of another length than the object, a size of 0 or over a limit, no memory left, a
    /// format the device does not offer.
    fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError>;

    /// An image over the texels a buffer already holds; no copy is made. It is 2D, rows `row_pitch_bytes` apart, or
    /// an [`crate::ImageExtent::Buffer`], whose one row needs no pitch. The image keeps the buffer alive.
    ///
    /// # Errors
    /// Not offered ([`tripipe_device::ImageLimits::from_buffer`]), a pitch the device cannot take, the
    /// image does not fit the buffer or has other dimensions.
    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError>;

    /// Frees a memory object.
    ///
    /// # Errors
    /// `memory` is not one of this executor.
    fn release(&mut self, memory: MemoryId) -> Result<(), ExecuteError>;

    /// Overwrites a buffer from `offset` (bytes), or a whole image (`offset` 0, rows tightly packed).
    ///
    /// # Errors
    /// Not this executor's object, past its end, or the device failed.
    fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError>;

    /// Reads a buffer from `offset` (bytes), or a whole image (`offset` 0, rows tightly packed).
    ///
    /// # Errors
    /// Not this executor's object, past its end, or the device failed.
    fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError>;

    /// Builds a kernel ahead of its first launch and says what the compiler made of it.
    ///
    /// # Errors
    /// It does not build, or has no kernel `entry`.
    fn prepare(&mut self, program: &Arc<Program>, entry: &str) -> Result<KernelFacts, ExecuteError>;

    /// Puts the launches in line behind all that was submitted before, in order, and returns without waiting where the
    /// executor can do so; else they are done when it returns. The objects they use may be released meanwhile.
    ///
    /// # Errors
    /// As [`Executor::prepare`]; arguments or range that do not fit the kernel or the device (nothing
    /// is run then); the device failed.
    fn submit(&mut self, launches: &[Launch]) -> Result<Box<dyn Submission>, ExecuteError> {
        Ok(Box::new(Done(self.run(launches)?)))
    }

    /// Runs the launches in order, back to back, and waits for the last; one [`Timing`] each, all on
    /// one clock.
    ///
    /// # Errors
    /// As [`Executor::prepare`]; arguments or range that do not fit the kernel or the device (nothing
    /// is run then); the device failed.
    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError>;
}

/// Launches that were submitted.
pub trait Submission: Send + Sync {
    /// Waits for the last of them. May be asked again.
    ///
    /// # Errors
    /// A launch failed, the device is gone.
    fn wait(&self) -> Result<(), ExecuteError>;

    /// Waits for the last of them; one [`Timing`] each, all on one clock. May be asked again.
    ///
    /// # Errors
    /// As [`Submission::wait`].
    fn timings(&self) -> Result<Vec<Timing>, ExecuteError>;

    /// Whether all have ended, well or not. Does not wait.
    fn is_done(&self) -> bool;

    /// Has `call` called once all have ended, well or not: on any thread, or at once when they have.
    fn on_done(&self, call: Box<dyn FnOnce() + Send>);
}

/// What an executor that waits hands out.
struct Done(Vec<Timing>);

impl Submission for Done {
    fn wait(&self) -> Result<(), ExecuteError> {
        Ok(())
    }

    fn timings(&self) -> Result<Vec<Timing>, ExecuteError> {
        Ok(self.0.clone())
    }

    fn is_done(&self) -> bool {
        true
    }

    fn on_done(&self, call: Box<dyn FnOnce() + Send>) {
        call();
    }
}

/// What a compiler says of one kernel on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelFacts {
    /// Largest work-group this kernel can have, in work-items.
    pub max_work_group_size: usize,
    /// Work-groups of a multiple of this many work-items waste no lanes.
    pub preferred_work_group_multiple: usize,
    /// Local memory the kernel itself declares, in bytes.
    pub local_bytes: u64,
    /// Private memory a work-item needs, in bytes: spills and arrays.
    pub private_bytes: u64,
}

/// When one launch was queued, submitted, started and ended, in nanoseconds of the device's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// The host asked for it.
    pub queued_ns: u64,
    /// The driver handed it to the device.
    pub submit_ns: u64,
    /// The first work-item started.
    pub start_ns: u64,
    /// The last work-item ended.
    pub end_ns: u64,
}

impl Timing {
    /// Seconds from start to end.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 * 1e-9
    }

    /// Seconds from the first start to the last end, gaps between launches included; 0 for none.
    pub fn span_seconds(timings: &[Timing]) -> f64 {
        let start = timings.iter().map(|timing| timing.start_ns).min().unwrap_or(0);
        let end = timings.iter().map(|timing| timing.end_ns).max().unwrap_or(0);
        end.saturating_sub(start) as f64 * 1e-9
    }
}
