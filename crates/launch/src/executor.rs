//! The trait that hides which device runs a launch.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use tripipe_device::Probe;

use crate::{Access, ExecuteError, ImageShape, Launch, MemoryId, MemoryKind, Program};

/// Runs launches: an OpenCL device now, a simulated GPU as well.
///
/// Whoever holds an executor cannot tell which one it is. Every call is finished when it
/// returns, but for what comes back as a [`Submission`].
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

    /// Makes a memory object of zeros, in line as [`Executor::submit`] puts launches.
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

    /// Has `look` read the bytes `range` of a buffer, or of a whole image (rows tightly packed), where they lie if the
    /// host can reach them there, else in a copy. `look` is called once, or not at all where an error comes back.
    ///
    /// # Errors
    /// Not this executor's object, past its end, no room for a copy, or the device failed.
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

    /// As [`Executor::with_bytes`], for reading and writing: what `edit` leaves there is what kernels read. Where a
    /// copy is needed the bytes travel twice; whoever overwrites all of them does better with [`Executor::write`].
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

    /// Has `work` read the first so many bytes of each of `inputs` and edit those of `output`, as [`Executor::with_bytes`] and
    /// [`Executor::with_bytes_mut`] have one object read and edited. An input that shares bytes with the output is read as it
    /// was before.
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

    /// Copies `bytes` bytes from one object to another or within one, in line as [`Executor::submit`] puts launches. Of
    /// an image only the whole can be copied, rows tightly packed. The two regions may overlap. There is a timing where
    /// the device copies by itself.
    ///
    /// # Errors
    /// Not this executor's objects, past the end of one, no room on the way, or the device failed.
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

    /// Whether what is submitted from now on is timed, as it is to begin with. Where taking times costs much, those who
    /// launch small kernels and ask for no times say no; [`Submission::timings`] is an error then. [`Executor::run`] takes
    /// times whatever was said.
    fn take_times(&mut self, _take: bool) {}

    /// Checks launches once, so that they can be submitted again and again at the least cost. Where the executor can
    /// do so it keeps their memory objects for the list; elsewhere a list whose objects were released cannot be
    /// submitted.
    ///
    /// # Errors
    /// As [`Executor::submit`].
    fn prepare_launches(&mut self, launches: &[Launch]) -> Result<Prepared, ExecuteError> {
        for launch in launches {
            self.prepare(&launch.program, &launch.entry)?;
        }
        Ok(Prepared::new(launches))
    }

    /// As [`Executor::submit`], of launches this executor has prepared.
    ///
    /// # Errors
    /// As [`Executor::submit`].
    fn submit_prepared(&mut self, prepared: &Prepared) -> Result<Box<dyn Submission>, ExecuteError> {
        self.submit(prepared.launches())
    }

    /// Runs the launches in order, back to back, and waits for the last; one [`Timing`] each, all on
    /// one clock.
    ///
    /// # Errors
    /// As [`Executor::prepare`]; arguments or range that do not fit the kernel or the device (nothing
    /// is run then); the device failed.
    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError>;
}

/// Work over the bytes of several objects: those it reads, in order, and those it edits.
pub type OverBytes<'w> = dyn FnMut(&[&[u8]], &mut [u8]) + 'w;

/// A host copy for `range` of an object, of zeros; `reach` says whether the object reaches to a byte.
fn room(
    memory: MemoryId,
    range: &Range<usize>,
    reach: impl FnOnce(usize) -> Result<(), ExecuteError>,
) -> Result<Vec<u8>, ExecuteError> {
    let Some(len) = range.end.checked_sub(range.start) else {
        let reason = format!("the range {range:?} ends before it begins");
        return Err(ExecuteError::Memory { memory, reason });
    };
    reach(range.end)?;
    zeros(len)
}

/// Zeros in the host's memory.
fn zeros(len: usize) -> Result<Vec<u8>, ExecuteError> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|error| ExecuteError::OutOfMemory {
        bytes: len as u64,
        reason: format!("no room for a copy: {error}"),
    })?;
    bytes.resize(len, 0);
    Ok(bytes)
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
    /// As [`Submission::wait`]; no times were taken ([`Executor::take_times`]).
    fn timings(&self) -> Result<Vec<Timing>, ExecuteError>;

    /// Whether all have ended, well or not. Does not wait.
    fn is_done(&self) -> bool;

    /// Has `call` called once when all have ended, well or not; at once if they have. [`Submission::is_done`] says so by
    /// then. That may be on a thread of the driver's own: `call` wakes whoever waits, and neither blocks nor asks the
    /// executor.
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

/// Launches that an executor has checked, to be submitted to it any number of times.
pub struct Prepared {
    launches: Vec<Launch>,
    own: Option<Box<dyn Any + Send + Sync>>,
}

impl Prepared {
    /// Launches of which the executor keeps nothing more.
    pub fn new(launches: &[Launch]) -> Self {
        Self { launches: launches.to_vec(), own: None }
    }

    /// Launches with what the executor made of them.
    pub fn with(launches: &[Launch], own: impl Any + Send + Sync) -> Self {
        Self { launches: launches.to_vec(), own: Some(Box::new(own)) }
    }

    /// The launches, in order.
    pub fn launches(&self) -> &[Launch] {
        &self.launches
    }

    /// What the executor made of them; `None` if that is of another type, so from another kind of executor.
    pub fn own<T: Any>(&self) -> Option<&T> {
        self.own.as_ref()?.downcast_ref()
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("launches", &self.launches).finish_non_exhaustive()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects that are bytes; launches are counted.
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
    fn prepared_launches_are_run_by_whoever_only_runs() {
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
