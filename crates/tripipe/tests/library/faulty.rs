//! An OpenCL device that misbehaves in selected ways.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tripipe_device::Probe;
use tripipe_launch::{
    Access, Block, ExecuteError, Executor, ImageShape, KernelFacts, Launch, MemoryId, MemoryKind, Prepared,
    Program, Reading, Submission, Timing,
};
use tripipe_opencl::OpenClExecutor;

/// An OpenCL device that reports a failure of some submissions after they were queued.
pub(crate) struct Faulty {
    pub(crate) inner: OpenClExecutor,
    /// The number of submissions that succeed before one fails; none fails at `usize::MAX`.
    pub(crate) well: Arc<AtomicUsize>,
    /// A simulated write of another thread, to the object with these contents, between the call that queues something
    /// and the queueing.
    pub(crate) meddling: Option<Meddling>,
    /// Whether it fails when it is asked to wait for a transfer.
    pub(crate) impatient: Arc<AtomicBool>,
    /// A limit on its memory, below what it really has.
    pub(crate) budget: Option<Budget>,
}

/// The memory that is left, and the objects that use memory.
#[derive(Default)]
pub(crate) struct Budget {
    pub(crate) left: usize,
    pub(crate) taken: HashMap<MemoryId, usize>,
}

/// The contents of an object that are overwritten once it is used.
pub(crate) struct Meddling {
    pub(crate) from: Vec<u8>,
    pub(crate) to: Vec<u8>,
    pub(crate) memory: Option<MemoryId>,
}

struct Failed;

impl Submission for Failed {
    fn wait(&self) -> Result<(), ExecuteError> {
        Err(ExecuteError::OutOfMemory { bytes: 77, reason: "on purpose".to_owned() })
    }

    fn timings(&self) -> Result<Vec<Timing>, ExecuteError> {
        self.wait().map(|()| Vec::new())
    }

    fn is_done(&self) -> bool {
        true
    }

    fn on_done(&self, call: Box<dyn FnOnce() + Send>) {
        call();
    }
}

impl Faulty {
    fn meddle(&mut self) -> Result<(), ExecuteError> {
        match &self.meddling {
            Some(Meddling { to, memory: Some(memory), .. }) => self.inner.write(*memory, 0, to),
            _ => Ok(()),
        }
    }

    fn check_patience(&self) -> Result<(), ExecuteError> {
        if self.impatient.load(Ordering::SeqCst) { Failed.wait() } else { Ok(()) }
    }

    fn or_fails(&self, good: Box<dyn Submission>) -> Box<dyn Submission> {
        let count = |left: usize| (left != usize::MAX).then(|| left.wrapping_sub(1));
        match self.well.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count) {
            Ok(0) => Box::new(Failed),
            _ => good,
        }
    }
}

impl Executor for Faulty {
    fn probe(&self) -> &Probe {
        self.inner.probe()
    }

    fn allocate(
        &mut self,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        let bytes = match kind {
            MemoryKind::Buffer { bytes } => *bytes,
            _ => 0,
        };
        if self.budget.as_ref().is_some_and(|budget| budget.left < bytes) {
            return Err(ExecuteError::OutOfMemory {
                bytes: bytes as u64,
                reason: "over the budget".to_owned(),
            });
        }
        let made = self.inner.allocate(kind, access, initial)?;
        if let Some(budget) = &mut self.budget {
            budget.left -= bytes;
            budget.taken.insert(made, bytes);
        }
        if let Some(meddling) = &mut self.meddling
            && initial == Some(&meddling.from)
        {
            meddling.memory.get_or_insert(made);
        }
        Ok(made)
    }

    fn image_over_buffer(
        &mut self,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        self.inner.image_over_buffer(buffer, shape, row_pitch_bytes)
    }

    fn release(&mut self, memory: MemoryId) -> Result<(), ExecuteError> {
        if let Some(budget) = &mut self.budget {
            budget.left += budget.taken.remove(&memory).unwrap_or_default();
        }
        self.inner.release(memory)
    }

    fn allocate_zeros(&mut self, kind: &MemoryKind, access: Access) -> Result<MemoryId, ExecuteError> {
        if self.budget.is_none() {
            return self.inner.allocate_zeros(kind, access);
        }
        let MemoryKind::Buffer { bytes } = kind else { return self.allocate(kind, access, None) };
        self.allocate(kind, access, Some(&vec![0; *bytes]))
    }

    fn write(&mut self, memory: MemoryId, offset: usize, bytes: &[u8]) -> Result<(), ExecuteError> {
        self.check_patience()?;
        self.inner.write(memory, offset, bytes)
    }

    fn read(&mut self, memory: MemoryId, offset: usize, into: &mut [u8]) -> Result<(), ExecuteError> {
        self.check_patience()?;
        self.inner.read(memory, offset, into)
    }

    fn write_later(
        &mut self,
        memory: MemoryId,
        offset: usize,
        from: Block,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        let good = self.inner.write_later(memory, offset, from)?;
        Ok(self.or_fails(good))
    }

    fn read_later(
        &mut self,
        memory: MemoryId,
        offset: usize,
        into: Block,
    ) -> Result<Box<dyn Reading>, ExecuteError> {
        self.inner.read_later(memory, offset, into)
    }

    fn prepare(&mut self, program: &Arc<Program>, entry: &str) -> Result<KernelFacts, ExecuteError> {
        self.inner.prepare(program, entry)
    }

    fn submit(&mut self, launches: &[Launch]) -> Result<Box<dyn Submission>, ExecuteError> {
        self.meddle()?;
        let good = self.inner.submit(launches)?;
        Ok(self.or_fails(good))
    }

    fn prepare_launches(&mut self, launches: &[Launch]) -> Result<Prepared, ExecuteError> {
        self.inner.prepare_launches(launches)
    }

    fn submit_prepared(&mut self, prepared: &Prepared) -> Result<Box<dyn Submission>, ExecuteError> {
        self.meddle()?;
        let good = self.inner.submit_prepared(prepared)?;
        Ok(self.or_fails(good))
    }

    fn copy(
        &mut self,
        from: MemoryId,
        from_offset: usize,
        to: MemoryId,
        to_offset: usize,
        bytes: usize,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        let good = self.inner.copy(from, from_offset, to, to_offset, bytes)?;
        Ok(self.or_fails(good))
    }

    fn run(&mut self, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        self.inner.run(launches)
    }
}
