//! The trait that abstracts from the device that runs a launch.

mod energy;
mod facts;
mod load;
mod submission;

use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use tripipe_device::Probe;

pub use energy::{CountedEnergy, count_energy};
pub use facts::{KernelFacts, Timing};
pub use load::{CpuLoad, CpuTime};
use submission::{Done, Read};
pub use submission::{Prepared, Reading, Submission};

use crate::{Access, Block, ExecuteError, ImageShape, Launch, MemoryId, MemoryKind, Program};

/// Runs launches. An OpenCL device implements it, and so does the simulated GPU.
///
/// Code that uses an executor cannot tell which one it is. Every call is complete when it returns, except the work
/// behind a returned [`Submission`]. A memory object lives until [`Executor::release`] or until the executor is
/// dropped.
pub trait Executor {
    /// The properties that the device reports.
    fn probe(&self) -> &Probe;

    /// The executor as its own type, for callers that know what more it can do; `None` if that is nothing.
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        None
    }

    /// Where its times come from.
    fn time_source(&self) -> TimeSource {
        TimeSource::Measured
    }

    /// The energy in joules of the launches of the last [`Executor::run`]; `None` if it is not known.
    fn joules(&self) -> Option<f64> {
        None
    }

    /// Joules that the device has used since some time, by a counter of its own; `None` if it has none, or was not asked
    /// for it. The counter may step ten times a second only: [`count_energy`].
    fn counted_joules(&self) -> Option<f64> {
        None
    }

    /// Makes a memory object, with `initial` contents or undefined ones.
    ///
    /// # Errors
    /// `initial` of another length than the object, a size of 0 or over a limit, out of memory, or a format that the
    /// device does not support.
    fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError>;

    /// Makes a memory object of zeros, queued like a launch of [`Executor::submit`].
    ///
    /// # Errors
    /// As [`Executor::allocate`].
    fn allocate_zeros(&mut self, kind: &MemoryKind, access: Access) -> Result<MemoryId, ExecuteError> {
        let bytes = match kind {
            MemoryKind::Buffer { bytes } => *bytes,
            MemoryKind::Image(shape) => shape.bytes(),
        };
        let zeros = zeros(bytes)?;
        self.allocate(kind, access, Some(&zeros))
    }

    /// An image over the texels that a buffer already holds, without a copy. It is 2D with rows `row_pitch_bytes`
    /// apart, or an [`crate::ImageExtent::Buffer`], whose one row needs no pitch. The image keeps the buffer alive.
    ///
    /// # Errors
    /// Not offered ([`tripipe_device::ImageLimits::from_buffer`]), an unsupported pitch, or an image that does not fit
    /// the buffer or has other dimensions.
    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError>;

    /// Frees a memory object.
    ///
    /// # Errors
    /// `memory` does not belong to this executor.
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

    /// As [`Executor::write`], but queued like a launch of [`Executor::submit`]. The block is freed when it has been
    /// written.
    ///
    /// # Errors
    /// As [`Executor::write`].
    fn enqueue_write(
        &mut self,
        memory: MemoryId,
        offset: usize,
        from: Block,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        self.write(memory, offset, from.bytes())?;
        Ok(Box::new(Done(Vec::new())))
    }

    /// As [`Executor::read`], but queued like a launch of [`Executor::submit`]. [`Reading::take`] returns the filled
    /// block.
    ///
    /// # Errors
    /// As [`Executor::read`].
    fn enqueue_read(
        &mut self,
        memory: MemoryId,
        offset: usize,
        mut into: Block,
    ) -> Result<Box<dyn Reading>, ExecuteError> {
        self.read(memory, offset, into.bytes_mut())?;
        Ok(Box::new(Read(Mutex::new(Some(into)))))
    }

    /// Calls `look` with the bytes `range` of a buffer, or of a whole image (rows tightly packed): in place if the
    /// host can access them there, else as a copy. `look` is called once, or not at all if there is an error.
    ///
    /// # Errors
    /// Not this executor's object, past its end, no memory for a copy, or the device failed.
    fn with_bytes(
        &mut self,
        memory: MemoryId,
        range: Range<usize>,
        look: &mut dyn FnMut(&[u8]),
    ) -> Result<(), ExecuteError> {
        let mut bytes = room(memory, &range, |end| self.read(memory, end, &mut []))?;
        self.read(memory, range.start, &mut bytes)?;
        look(&bytes);
        Ok(())
    }

    /// Like [`Executor::with_bytes`], for reading and writing: kernels read the bytes that `edit` leaves. If a copy is
    /// needed, the bytes are transferred both ways; to overwrite all of them, use [`Executor::write`].
    ///
    /// # Errors
    /// As [`Executor::with_bytes`].
    fn with_bytes_mut(
        &mut self,
        memory: MemoryId,
        range: Range<usize>,
        edit: &mut dyn FnMut(&mut [u8]),
    ) -> Result<(), ExecuteError> {
        let mut bytes = room(memory, &range, |end| self.read(memory, end, &mut []))?;
        self.read(memory, range.start, &mut bytes)?;
        edit(&mut bytes);
        self.write(memory, range.start, &bytes)
    }

    /// Calls `work` with the given number of leading bytes of each of `inputs`, and those of `output` to edit,
    /// accessed as in [`Executor::with_bytes`] and [`Executor::with_bytes_mut`]. An input that shares bytes with the
    /// output is read as it was before the call.
    ///
    /// # Errors
    /// As [`Executor::with_bytes`].
    fn with_all_bytes(
        &mut self,
        inputs: &[(MemoryId, usize)],
        output: (MemoryId, usize),
        work: &mut OverBytes<'_>,
    ) -> Result<(), ExecuteError> {
        let mut copies = Vec::with_capacity(inputs.len());
        for &(memory, bytes) in inputs {
            let mut copy = room(memory, &(0..bytes), |end| self.read(memory, end, &mut []))?;
            self.read(memory, 0, &mut copy)?;
            copies.push(copy);
        }
        let inputs: Vec<&[u8]> = copies.iter().map(Vec::as_slice).collect();
        self.with_bytes_mut(output.0, 0..output.1, &mut |bytes| work(&inputs, bytes))
    }

    /// Copies `bytes` bytes from one object to another or within one, queued like a launch of [`Executor::submit`]. Of
    /// an image, only the whole can be copied, rows tightly packed. The two regions may overlap. There is a timing
    /// only if the device itself does the copy.
    ///
    /// # Errors
    /// Not this executor's objects, past the end of one, no memory for a temporary copy, or the device failed.
    fn copy(
        &mut self,
        from: MemoryId,
        from_offset: usize,
        to: MemoryId,
        to_offset: usize,
        bytes: usize,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        let range = from_offset..from_offset.saturating_add(bytes);
        let mut through = room(from, &range, |end| self.read(from, end, &mut []))?;
        self.read(from, from_offset, &mut through)?;
        self.write(to, to_offset, &through)?;
        Ok(Box::new(Done(Vec::new())))
    }

    /// Builds a kernel before its first launch and returns what the compiler reports about it.
    ///
    /// # Errors
    /// It does not build, or the program has no kernel `entry`.
    fn prepare(&mut self, program: &Arc<Program>, entry: &str) -> Result<KernelFacts, ExecuteError>;

    /// Enqueues the launches, in order, after everything submitted before. Returns without waiting if the executor
    /// supports that; else they are complete when it returns. The objects they use may be released meanwhile.
    ///
    /// # Errors
    /// As [`Executor::prepare`]; arguments or a range that do not fit the kernel or the device (nothing is run then);
    /// or the device failed.
    fn submit(&mut self, launches: &[Launch]) -> Result<Box<dyn Submission>, ExecuteError> {
        Ok(Box::new(Done(self.run(launches)?)))
    }

    /// Sets whether later submissions are timed; they are by default. If timing is expensive, callers that launch small
    /// kernels and need no times can turn it off; [`Submission::timings`] is an error then. [`Executor::run`] always
    /// takes times.
    fn take_times(&mut self, _take: bool) {}

    /// Checks launches once, so that they can be submitted repeatedly at minimum cost. Some executors keep the memory
    /// objects of the list alive; with others, a list whose objects were released cannot be submitted.
    ///
    /// # Errors
    /// As [`Executor::submit`].
    fn prepare_launches(&mut self, launches: &[Launch]) -> Result<Prepared, ExecuteError> {
        for launch in launches {
            self.prepare(&launch.program, &launch.entry)?;
        }
        Ok(Prepared::new(launches))
    }

    /// Like [`Executor::submit`], for launches that this executor has prepared.
    ///
    /// # Errors
    /// As [`Executor::submit`].
    fn submit_prepared(&mut self, prepared: &Prepared) -> Result<Box<dyn Submission>, ExecuteError> {
        self.submit(prepared.launches())
    }

    /// Runs the launches in order, back to back, and waits for the last. Returns one [`Timing`] each, all on the same
    /// clock.
    ///
    /// # Errors
    /// As [`Executor::prepare`]; arguments or a range that do not fit the kernel or the device (nothing is run then);
    /// or the device failed.
    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError>;
}

/// Where the times of an executor come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeSource {
    /// A clock: two runs of a launch differ.
    #[default]
    Measured,
    /// A model: every run of a launch has the same time.
    Predicted {
        /// Whether launches are executed. Otherwise memory keeps its contents, and no result can be verified.
        executes: bool,
    },
}

impl TimeSource {
    /// Whether a repeated run shows nothing new.
    pub fn is_predicted(self) -> bool {
        matches!(self, Self::Predicted { .. })
    }

    /// Whether launches write their results.
    pub fn executes(self) -> bool {
        self != Self::Predicted { executes: false }
    }
}

/// A function over the bytes of several objects: those it reads, in order, and those it edits.
pub type OverBytes<'w> = dyn FnMut(&[&[u8]], &mut [u8]) + 'w;

/// A zeroed host copy for `range` of an object; `reach` checks that the object extends to a byte.
fn room(
    memory: MemoryId,
    range: &Range<usize>,
    reach: impl FnOnce(usize) -> Result<(), ExecuteError>,
) -> Result<Vec<u8>, ExecuteError> {
    let Some(len) = range.end.checked_sub(range.start) else {
        let reason = format!("the range {range:?} ends before it starts");
        return Err(ExecuteError::Memory { memory, reason });
    };
    reach(range.end)?;
    zeros(len)
}

/// Zeros in host memory.
fn zeros(len: usize) -> Result<Vec<u8>, ExecuteError> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|error| ExecuteError::OutOfMemory {
        bytes: len as u64,
        reason: format!("no room for a copy: {error}"),
    })?;
    bytes.resize(len, 0);
    Ok(bytes)
}

#[cfg(test)]
mod tests;
