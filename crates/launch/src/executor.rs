//! The trait that abstracts from the device that runs a launch.

use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use tripipe_device::Probe;

use crate::locks::lock;
use crate::{Access, Block, ExecuteError, ImageShape, Launch, MemoryId, MemoryKind, Program};

/// Runs launches. An OpenCL device implements it, and so does the simulated GPU.
///
/// Code that uses an executor cannot tell which one it is. Every call is complete when it returns, except the work
/// behind a returned [`Submission`]. A memory object lives until [`Executor::release`] or until the executor is
/// dropped.
pub trait Executor {
    /// The properties that the device reports.
    fn probe(&self) -> &Probe;

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
    fn write_later(
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
    fn read_later(
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

/// Submitted launches.
pub trait Submission: Send + Sync {
    /// Waits for the last of them. May be called repeatedly.
    ///
    /// # Errors
    /// A launch failed, or the device is lost.
    fn wait(&self) -> Result<(), ExecuteError>;

    /// Waits for the last of them; returns one [`Timing`] each, all on the same clock. May be called repeatedly.
    ///
    /// # Errors
    /// As [`Submission::wait`]; or no times were taken ([`Executor::take_times`]).
    fn timings(&self) -> Result<Vec<Timing>, ExecuteError>;

    /// Whether all have ended, successfully or not. Does not wait.
    fn is_done(&self) -> bool;

    /// Calls `call` once when all have ended, successfully or not; immediately if they already have.
    /// [`Submission::is_done`] is true by then. The call may happen on a driver thread: `call` should only wake a
    /// waiter, and must neither block nor use the executor.
    fn on_done(&self, call: Box<dyn FnOnce() + Send>);
}

/// The submission of an executor that has already waited.
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

/// A queued read.
pub trait Reading: Submission {
    /// The filled block, once. `None` before the read has ended, if it failed, and after the first call that returned
    /// it.
    fn take(&self) -> Option<Block>;
}

/// A read that was complete when the call returned.
struct Read(Mutex<Option<Block>>);

impl Submission for Read {
    fn wait(&self) -> Result<(), ExecuteError> {
        Ok(())
    }

    fn timings(&self) -> Result<Vec<Timing>, ExecuteError> {
        Ok(Vec::new())
    }

    fn is_done(&self) -> bool {
        true
    }

    fn on_done(&self, call: Box<dyn FnOnce() + Send>) {
        call();
    }
}

impl Reading for Read {
    fn take(&self) -> Option<Block> {
        lock(&self.0).take()
    }
}

/// Launches that an executor has checked and that can be submitted to it any number of times.
pub struct Prepared {
    launches: Vec<Launch>,
    own: Option<Box<dyn Any + Send + Sync>>,
}

impl Prepared {
    /// Launches without executor-specific data.
    pub fn new(launches: &[Launch]) -> Self {
        Self { launches: launches.to_vec(), own: None }
    }

    /// Launches with executor-specific data.
    pub fn with(launches: &[Launch], own: impl Any + Send + Sync) -> Self {
        Self { launches: launches.to_vec(), own: Some(Box::new(own)) }
    }

    /// The launches, in order.
    pub fn launches(&self) -> &[Launch] {
        &self.launches
    }

    /// The executor-specific data; `None` if it has another type, because it is from another kind of executor.
    pub fn own<T: Any>(&self) -> Option<&T> {
        self.own.as_ref()?.downcast_ref()
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("launches", &self.launches).finish_non_exhaustive()
    }
}

/// What a compiler reports about one kernel on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelFacts {
    /// Largest work-group that this kernel supports, in work-items.
    pub max_work_group_size: usize,
    /// Work-group sizes that are a multiple of this many work-items leave no lanes idle.
    pub preferred_work_group_multiple: usize,
    /// Local memory that the kernel itself declares, in bytes.
    pub local_bytes: u64,
    /// Private memory of a work-item, in bytes: spills and arrays.
    pub private_bytes: u64,
}

/// The times at which one launch was queued, submitted, started and ended, in nanoseconds of the device's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// The host enqueued it.
    pub queued_ns: u64,
    /// The driver submitted it to the device.
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

    /// Seconds from the first start to the last end, including gaps between launches; 0 if there are none.
    pub fn span_seconds(timings: &[Timing]) -> f64 {
        let start = timings.iter().map(|timing| timing.start_ns).min().unwrap_or(0);
        let end = timings.iter().map(|timing| timing.end_ns).max().unwrap_or(0);
        end.saturating_sub(start) as f64 * 1e-9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An executor whose objects are byte vectors; launches are only counted.
    #[derive(Default)]
    struct Plain {
        probe: Probe,
        objects: Vec<Vec<u8>>,
        launched: usize,
        prepared: usize,
    }

    impl Plain {
        fn part(&mut self, memory: MemoryId, offset: usize, len: usize) -> Result<&mut [u8], ExecuteError> {
            let object = &mut self.objects[memory.0 as usize];
            let reason = format!("{len} bytes at {offset} of {}", object.len());
            let end = offset.checked_add(len);
            let part = end.and_then(|end| object.get_mut(offset..end));
            part.ok_or(ExecuteError::Memory { memory, reason })
        }
    }

    impl Executor for Plain {
        fn probe(&self) -> &Probe {
            &self.probe
        }

        fn allocate(
            &mut self,
            _: &MemoryKind,
            _: Access,
            initial: Option<&[u8]>,
        ) -> Result<MemoryId, ExecuteError> {
            self.objects.push(initial.unwrap_or_default().to_vec());
            Ok(MemoryId(self.objects.len() as u64 - 1))
        }

        fn image_over_buffer(
            &mut self,
            buffer: MemoryId,
            _: &ImageShape,
            _: usize,
        ) -> Result<MemoryId, ExecuteError> {
            Ok(buffer)
        }

        fn release(&mut self, _: MemoryId) -> Result<(), ExecuteError> {
            Ok(())
        }

        fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError> {
            self.part(memory, offset, bytes.len())?.copy_from_slice(bytes);
            Ok(())
        }

        fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
            into.copy_from_slice(self.part(memory, offset, into.len())?);
            Ok(())
        }

        fn prepare(&mut self, _: &Arc<Program>, _: &str) -> Result<KernelFacts, ExecuteError> {
            self.prepared += 1;
            Ok(KernelFacts::default())
        }

        fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
            self.launched += launches.len();
            Ok(vec![Timing::default(); launches.len()])
        }
    }

    fn plain() -> (Plain, MemoryId) {
        let mut executor = Plain::default();
        let kind = MemoryKind::Buffer { bytes: 8 };
        let memory = executor.allocate(&kind, Access::ReadWrite, Some(&[0, 1, 2, 3, 4, 5, 6, 7]));
        (executor, memory.unwrap())
    }

    #[test]
    fn contents_are_reached_by_a_copy_where_there_is_no_other_way() {
        let (mut executor, memory) = plain();
        let mut seen = Vec::new();
        executor.with_bytes(memory, 2..5, &mut |bytes| seen.push(bytes.to_vec())).unwrap();
        assert_eq!(seen, [[2, 3, 4]]);
        executor.with_bytes_mut(memory, 6..8, &mut |bytes| bytes.reverse()).unwrap();
        assert_eq!(executor.objects[0], [0, 1, 2, 3, 4, 5, 7, 6]);
    }

    #[test]
    fn several_objects_are_reached_at_once() {
        let (mut executor, first) = plain();
        let kind = MemoryKind::Buffer { bytes: 4 };
        let second = executor.allocate(&kind, Access::ReadWrite, Some(&[9, 9, 9, 9])).unwrap();
        let mut add = |inputs: &[&[u8]], output: &mut [u8]| {
            for (i, byte) in output.iter_mut().enumerate() {
                *byte += inputs[0][i] + inputs[1][i];
            }
        };
        executor.with_all_bytes(&[(first, 3), (first, 8)], (second, 3), &mut add).unwrap();
        assert_eq!(executor.objects[1], [9, 11, 13, 9]);
        for (inputs, output) in [([(first, 9)], (second, 4)), ([(first, 8)], (second, 5))] {
            let refused = executor.with_all_bytes(&inputs, output, &mut |_, _| panic!("not reached"));
            assert!(matches!(refused, Err(ExecuteError::Memory { .. })), "{refused:?}");
        }
    }

    #[test]
    fn a_range_that_is_none_is_refused_before_room_is_made_for_it() {
        let (mut executor, memory) = plain();
        #[allow(clippy::reversed_empty_ranges, reason = "what is refused")]
        for range in [0..9, 9..9, 3..2, 0..usize::MAX, 8..1 << 60] {
            let looked = executor.with_bytes(memory, range.clone(), &mut |_| panic!("not reached"));
            assert!(matches!(looked, Err(ExecuteError::Memory { .. })), "{range:?}: {looked:?}");
            let edited = executor.with_bytes_mut(memory, range.clone(), &mut |_| panic!("not reached"));
            assert!(matches!(edited, Err(ExecuteError::Memory { .. })), "{range:?}: {edited:?}");
        }
        for (from, to, bytes) in [(0, 1, 8), (1, 0, 8), (usize::MAX, 0, 2)] {
            assert!(executor.copy(memory, from, memory, to, bytes).is_err());
        }
        assert_eq!(executor.objects[0], [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_copy_may_overlap_itself() {
        let (mut executor, memory) = plain();
        executor.copy(memory, 0, memory, 2, 5).unwrap().wait().unwrap();
        assert_eq!(executor.objects[0], [0, 1, 0, 1, 2, 3, 4, 7]);
    }

    #[test]
    fn transfers_of_blocks_complete_at_once() {
        let (mut executor, memory) = plain();
        executor.write_later(memory, 6, Block::new(vec![9u8, 8])).unwrap().wait().unwrap();
        let reading = executor.read_later(memory, 4, Block::new(vec![0u16; 2])).unwrap();
        assert!(reading.is_done());
        let found: Vec<u16> = reading.take().unwrap().into_vec().unwrap();
        assert_eq!(found, [u16::from_ne_bytes([4, 5]), u16::from_ne_bytes([9, 8])]);
        assert!(reading.take().is_none());
        assert!(executor.read_later(memory, 7, Block::new(vec![0u16])).is_err());
        assert!(executor.write_later(memory, 8, Block::new(vec![0u8])).is_err());
    }

    #[test]
    fn prepared_launches_run_on_executors_that_only_run() {
        let (mut executor, _) = plain();
        let launch = Launch {
            program: Arc::new(Program::from_source("f.cl", "kernel void f(void) {}")),
            entry: "f".to_owned(),
            arguments: Vec::new(),
            range: crate::NdRange::d1(1),
        };
        let prepared = executor.prepare_launches(&[launch.clone(), launch]).unwrap();
        assert_eq!((executor.prepared, executor.launched), (2, 0));
        assert!(prepared.own::<u32>().is_none());
        let submission = executor.submit_prepared(&prepared).unwrap();
        assert_eq!(executor.launched, 2);
        assert!(submission.is_done());
        let (tell, told) = std::sync::mpsc::channel();
        submission.on_done(Box::new(move || tell.send(()).unwrap()));
        assert_eq!(told.try_recv(), Ok(()));
        assert_eq!(submission.timings().unwrap().len(), 2);
    }
}
