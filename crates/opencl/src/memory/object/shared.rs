//! Buffers in fine-grained shared virtual memory, for devices that are the CPU.
//!
//! Host and device see the same bytes without a map command. PoCL runs even a map of its own memory on another thread:
//! waking it takes longer than a product of 64 x 64.

use std::ptr::NonNull;
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::cl_context;
use tripipe_device::DeviceKind;
use tripipe_launch::Access;

use super::{Contents, Object, Reach, Shape, access_flags};
use crate::api::objects;
use crate::code::CallError;
use crate::context::Context;
use crate::handle;
use crate::memory::MemoryError;
use crate::memory::external::Backing;

/// The address of shared virtual memory.
#[derive(Clone, Copy)]
pub(crate) struct SharedStart(NonNull<u8>);

// SAFETY: an address; who accesses the memory guarantees that it lives, and that nothing else accesses it in a
// conflicting way.
unsafe impl Send for SharedStart {}
// SAFETY: as above.
unsafe impl Sync for SharedStart {}

impl SharedStart {
    pub(crate) fn pointer(self) -> *mut u8 {
        self.0.as_ptr()
    }
}

/// An allocation of shared virtual memory, freed when dropped: by the driver's callback when it has destroyed the buffer
/// over it, which is when the last command that uses it has ended.
pub(crate) struct SharedMemory {
    start: SharedStart,
    /// Live, because the driver destroys a context after its buffers.
    context: cl_context,
}

// SAFETY: the allocation is owned, and the API may be called from any thread.
unsafe impl Send for SharedMemory {}
// SAFETY: as above; through a shared reference only the address is read.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.start.pointer()
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        handle::count_out();
        // SAFETY: allocated in this context, freed once, no command uses it any more.
        if let Err(code) = unsafe { objects::svm_free(self.context, self.start.pointer().cast()) } {
            tracing::debug!(code = %crate::Code(code), "shared memory not freed");
        }
    }
}

impl Object {
    /// A new buffer in shared virtual memory. `None` where the device is not the CPU or does not offer it, and where the
    /// driver has no room for it.
    pub(super) fn shared(
        context: &Context,
        bytes: usize,
        access: Access,
        contents: &Contents<'_>,
    ) -> Result<Option<Self>, MemoryError> {
        let device = context.device();
        let probe = device.probe();
        if probe.kind != DeviceKind::Cpu || !probe.svm.fine_buffer || device.version() < (2, 0) {
            return Ok(None);
        }
        if let Contents::Copy(given) = contents
            && given.len() != bytes
        {
            return Err(MemoryError::Length { want: bytes, found: given.len() });
        }
        // In the memory itself an access flag is not a limit: the buffer has it.
        let flags = cl::CL_MEM_READ_WRITE | cl::CL_MEM_SVM_FINE_GRAIN_BUFFER;
        // SAFETY: the flags are valid, and the context is live.
        let start = unsafe { objects::svm_alloc(context.raw(), flags, bytes) }.ok();
        let Some(start) = start.and_then(|start| NonNull::new(start.cast::<u8>())) else { return Ok(None) };
        handle::count_in();
        let memory = SharedMemory { start: SharedStart(start), context: context.raw() };
        match contents {
            Contents::Undefined => {}
            // SAFETY: `bytes` bytes that nothing else refers to yet.
            Contents::Zero => unsafe { start.write_bytes(0, bytes) },
            // SAFETY: as above, and as many bytes are given.
            Contents::Copy(given) => unsafe {
                start.as_ptr().copy_from_nonoverlapping(given.as_ptr(), bytes);
            },
        }
        let flags = access_flags(access) | cl::CL_MEM_USE_HOST_PTR;
        // SAFETY: `bytes` bytes of shared virtual memory, which live until the driver has destroyed the buffer.
        let raw = unsafe { objects::create_buffer(context.raw(), flags, bytes, start.as_ptr().cast()) }
            .map_err(CallError::at("clCreateBuffer"))?;
        // SAFETY: just created.
        let mut object = unsafe { Self::own(raw, context, Shape::Buffer { bytes }, None) };
        object.reach = Reach::Shared(SharedStart(start));
        object.keep(Arc::new(Backing::Shared(memory))).map(Some)
    }
}
