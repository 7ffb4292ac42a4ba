//! An OpenCL device that misbehaves in selected ways.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tripipe::{Context, ContextBuilder};
use tripipe_launch::{
    Access, Block, ExecuteError, Executor, Intercept, Launch, Layer, MemoryId, MemoryKind, Prepared,
    Submission, Timing,
};
use tripipe_opencl::OpenClExecutor;

/// Makes an OpenCL device report a failure of some submissions after they were queued.
pub(crate) struct Faulty {
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

impl Default for Faulty {
    /// Nothing fails.
    fn default() -> Self {
        let well = Arc::new(AtomicUsize::new(usize::MAX));
        Self { well, meddling: None, impatient: Arc::default(), budget: None }
    }
}

impl Faulty {
    /// A context on `inner` with these faults.
    pub(crate) fn over(self, builder: &ContextBuilder, inner: OpenClExecutor) -> Context {
        builder.build_over(Layer::new(inner, self)).unwrap()
    }

    fn meddle(&self, inner: &mut impl Executor) -> Result<(), ExecuteError> {
        match &self.meddling {
            Some(Meddling { to, memory: Some(memory), .. }) => inner.write(*memory, 0, to),
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

impl<E: Executor> Intercept<E> for Faulty {
    fn allocate(
        &mut self,
        inner: &mut E,
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
        let made = inner.allocate(kind, access, initial)?;
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

    fn release(&mut self, inner: &mut E, memory: MemoryId) -> Result<(), ExecuteError> {
        if let Some(budget) = &mut self.budget {
            budget.left += budget.taken.remove(&memory).unwrap_or_default();
        }
        inner.release(memory)
    }

    fn allocate_zeros(
        &mut self,
        inner: &mut E,
        kind: &MemoryKind,
        access: Access,
    ) -> Result<MemoryId, ExecuteError> {
        if self.budget.is_none() {
            return inner.allocate_zeros(kind, access);
        }
        let MemoryKind::Buffer { bytes } = kind else { return self.allocate(inner, kind, access, None) };
        self.allocate(inner, kind, access, Some(&vec![0; *bytes]))
    }

    fn write(
        &mut self,
        inner: &mut E,
        memory: MemoryId,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), ExecuteError> {
        self.check_patience()?;
        inner.write(memory, offset, bytes)
    }

    fn read(
        &mut self,
        inner: &mut E,
        memory: MemoryId,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), ExecuteError> {
        self.check_patience()?;
        inner.read(memory, offset, into)
    }

    fn enqueue_write(
        &mut self,
        inner: &mut E,
        memory: MemoryId,
        offset: usize,
        from: Block,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        Ok(self.or_fails(inner.enqueue_write(memory, offset, from)?))
    }

    fn submit(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Box<dyn Submission>, ExecuteError> {
        self.meddle(inner)?;
        Ok(self.or_fails(inner.submit(launches)?))
    }

    fn submit_prepared(
        &mut self,
        inner: &mut E,
        prepared: &Prepared,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        self.meddle(inner)?;
        Ok(self.or_fails(inner.submit_prepared(prepared)?))
    }

    fn copy(
        &mut self,
        inner: &mut E,
        from: MemoryId,
        from_offset: usize,
        to: MemoryId,
        to_offset: usize,
        bytes: usize,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        Ok(self.or_fails(inner.copy(from, from_offset, to, to_offset, bytes)?))
    }
}
