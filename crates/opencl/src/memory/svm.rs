//! Shared virtual memory: the same address on host and device.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use opencl_sys as cl;

use crate::api::{commands, objects};
use crate::code::CallError;
use crate::context::Context;
use crate::event::Event;
use crate::handle;
use crate::kernel::Arg;
use crate::memory::MemoryError;
use crate::queue::Queue;
use crate::tape::Enqueued;

/// How shared virtual memory is kept coherent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SvmGrain {
    /// The host maps it before each access.
    Coarse,
    /// Host and device see the same bytes at all times; mapping only waits for the device.
    Fine,
}

/// A buffer in shared virtual memory. Needs OpenCL 2.0; Arm's extension for older drivers is not used.
pub struct SvmBuffer {
    start: NonNull<u8>,
    bytes: usize,
    grain: SvmGrain,
    context: Context,
}

// SAFETY: the allocation is owned; the host accesses it only through a guard that borrows the buffer exclusively.
unsafe impl Send for SvmBuffer {}
// SAFETY: as above; through a shared reference it can only be passed to kernels.
unsafe impl Sync for SvmBuffer {}

impl SvmBuffer {
    /// Allocates `bytes` zero bytes of shared memory in the context of `queue`.
    ///
    /// # Errors
    /// Not offered, a size of 0 or over the limit, no memory, or the driver fails.
    pub fn zeroed(queue: &Queue, bytes: usize, grain: SvmGrain) -> Result<Self, MemoryError> {
        let context = queue.context();
        let probe = context.device().probe();
        let (offered, what, flag) = match grain {
            SvmGrain::Coarse => (probe.svm.coarse_buffer, "coarse-grained shared virtual memory", 0),
            SvmGrain::Fine => (
                probe.svm.fine_buffer,
                "fine-grained shared virtual memory",
                cl::CL_MEM_SVM_FINE_GRAIN_BUFFER,
            ),
        };
        if !offered || context.device().version() < (2, 0) {
            return Err(MemoryError::NotOffered { what: what.to_owned() });
        }
        match bytes as u64 {
            0 => return Err(MemoryError::Empty),
            bytes if probe.max_buffer_bytes > 0 && bytes > probe.max_buffer_bytes => {
                return Err(MemoryError::TooLarge { bytes, limit: probe.max_buffer_bytes });
            }
            _ => {}
        }
        // SAFETY: the flags are valid, and the alignment 0 leaves the choice to the driver.
        let start = unsafe { objects::svm_alloc(context.raw(), cl::CL_MEM_READ_WRITE | flag, bytes) }
            .ok()
            .and_then(|start| NonNull::new(start.cast::<u8>()))
            .ok_or_else(|| {
                // clSVMAlloc returns no code; a null pointer for valid arguments means out of memory.
                let code = crate::Code(cl::CL_MEM_OBJECT_ALLOCATION_FAILURE);
                CallError { call: "clSVMAlloc", code }
            })?;
        handle::count_in();
        let buffer = Self { start, bytes, grain, context: context.clone() };
        let mapping = SvmMapping::new(&buffer, queue, cl::CL_MAP_WRITE)?;
        // SAFETY: mapped for writing, `bytes` bytes.
        unsafe { std::ptr::write_bytes(buffer.start.as_ptr(), 0, bytes) };
        mapping.unmap()?;
        Ok(buffer)
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How it is kept coherent.
    pub fn grain(&self) -> SvmGrain {
        self.grain
    }

    /// Maps all of it for reading and writing, after all work of the context. No kernel can use the buffer while the
    /// mapping exists.
    ///
    /// # Errors
    /// A queue of another context, or the driver fails.
    pub fn map(&mut self, queue: &Queue) -> Result<MappedSvm<'_>, MemoryError> {
        self.mapping(queue, cl::CL_MAP_READ | cl::CL_MAP_WRITE, self.bytes).map(MappedSvm)
    }

    /// Overwrites all of it, without fetching the old contents.
    ///
    /// # Errors
    /// `from` of another length, a queue of another context, or the driver fails.
    pub fn write(&mut self, queue: &Queue, from: &[u8]) -> Result<(), MemoryError> {
        let mapping = self.mapping(queue, cl::CL_MAP_WRITE_INVALIDATE_REGION, from.len())?;
        // SAFETY: mapped for writing, as many bytes as checked; a Rust slice cannot overlap it.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), self.start.as_ptr(), from.len()) };
        mapping.unmap()
    }

    /// Reads all of it.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn read(&mut self, queue: &Queue, into: &mut [u8]) -> Result<(), MemoryError> {
        let mapping = self.mapping(queue, cl::CL_MAP_READ, into.len())?;
        // SAFETY: as in `write`, mapped for reading.
        unsafe { std::ptr::copy_nonoverlapping(self.start.as_ptr(), into.as_mut_ptr(), into.len()) };
        mapping.unmap()
    }

    fn mapping(&self, queue: &Queue, flags: u64, len: usize) -> Result<SvmMapping<'_>, MemoryError> {
        if !queue.context().is(&self.context) {
            return Err(MemoryError::OtherContext);
        }
        if len != self.bytes {
            return Err(MemoryError::Length { want: self.bytes, found: len });
        }
        SvmMapping::new(self, queue, flags)
    }

    pub(crate) fn pointer(&self) -> *const c_void {
        self.start.as_ptr().cast()
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }
}

impl Drop for SvmBuffer {
    fn drop(&mut self) {
        // The driver itself does not wait for kernels.
        if let Err(error) = self.context.finish(None) {
            tracing::debug!(%error, "shared memory freed after a failed wait");
        }
        handle::count_out();
        // SAFETY: allocated in this context, freed once, no kernel runs on it any more.
        if let Err(code) = unsafe { objects::svm_free(self.context.raw(), self.start.as_ptr().cast()) } {
            tracing::debug!(code = %crate::Code(code), "shared memory not freed");
        }
    }
}

impl<'a> From<&'a SvmBuffer> for Arg<'a> {
    fn from(buffer: &'a SvmBuffer) -> Self {
        Arg::svm(buffer)
    }
}

struct SvmMapping<'b> {
    buffer: &'b SvmBuffer,
    queue: Queue,
    mapped: bool,
}

impl<'b> SvmMapping<'b> {
    fn new(buffer: &'b SvmBuffer, queue: &Queue, flags: u64) -> Result<Self, MemoryError> {
        buffer.context.finish(None)?;
        let coarse = buffer.grain == SvmGrain::Coarse;
        if coarse {
            let call = queue.call();
            // SAFETY: a blocking map of the whole allocation.
            let event =
                unsafe { commands::map_svm(queue.raw(), flags, buffer.start.as_ptr().cast(), buffer.bytes) }
                    .map_err(CallError::at("clEnqueueSVMMap"))?;
            // SAFETY: the call returned a new event.
            let event = unsafe { Event::own(event) };
            call.ended(event, &Enqueued::Transfer { what: "map", bytes: buffer.bytes });
        }
        Ok(Self { buffer, queue: queue.clone(), mapped: coarse })
    }

    fn unmap(mut self) -> Result<(), MemoryError> {
        self.release()
    }

    fn release(&mut self) -> Result<(), MemoryError> {
        if std::mem::take(&mut self.mapped) {
            let call = self.queue.call();
            // SAFETY: mapped, and unmapped once.
            let event =
                unsafe { commands::enqueue_unmap_svm(self.queue.raw(), self.buffer.start.as_ptr().cast()) }
                    .map_err(CallError::at("clEnqueueSVMUnmap"))?;
            // SAFETY: the call returned a new event.
            let event = unsafe { Event::own(event) };
            call.enqueued(&event, &Enqueued::Transfer { what: "unmap", bytes: self.buffer.bytes });
            event.wait()?;
        }
        Ok(())
    }
}

impl Drop for SvmMapping<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.release() {
            tracing::warn!(%error, "shared memory could not be unmapped");
        }
    }
}

/// A whole [`SvmBuffer`], mapped for the host.
pub struct MappedSvm<'b>(SvmMapping<'b>);

impl MappedSvm<'_> {
    /// Returns it to the device. Dropping it does the same, but can only log errors.
    ///
    /// # Errors
    /// The driver fails, or the device is lost.
    pub fn unmap(self) -> Result<(), MemoryError> {
        self.0.unmap()
    }
}

impl Deref for MappedSvm<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: zeroed when made; no kernel runs on it and none can be launched, as the guard borrows the
        // buffer exclusively.
        unsafe { std::slice::from_raw_parts(self.0.buffer.start.as_ptr(), self.0.buffer.bytes) }
    }
}

impl DerefMut for MappedSvm<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.0.buffer.start.as_ptr(), self.0.buffer.bytes) }
    }
}
