//! Memory that was allocated elsewhere, for kernels to use without a copy.

use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;

use tripipe_launch::Access;

use crate::api::objects;
use crate::code::CallError;
use crate::handle::MemHandle;
use crate::library;
use crate::memory::object::SharedMemory;
use crate::memory::{DmaBuf, HostAccess, HostMemory, MemoryError};

/// Memory that was allocated elsewhere, for [`crate::OpenClExecutor::import`].
///
/// | memory | is used without a copy by | the host reaches it |
/// |---|---|---|
/// | [`Self::buffer`] | every driver | through the executor |
/// | [`Self::host`] | `cl_arm_import_memory_host`, else `CL_MEM_USE_HOST_PTR`, where the driver may copy | through the executor |
/// | `External::from(DmaBuf)` | `cl_arm_import_memory_dma_buf`, `cl_qcom_dmabuf_host_ptr`, `cl_qcom_ion_host_ptr` | through the executor, or a mapping of its own inside a [`crate::memory::HostAccess`] |
/// | [`Self::hardware_buffer`] | `cl_arm_import_memory_android_hardware_buffer`, `cl_qcom_android_ahardwarebuffer_host_ptr` | with `AHardwareBuffer_lock`; on Adreno also through the executor |
///
/// The extensions have been tested only with the tests' own driver, not yet on hardware.
pub struct External(pub(super) Source);

pub(super) enum Source {
    Buffer(MemHandle),
    Host(HostMemory),
    DmaBuf(DmaBuf),
    HardwareBuffer(HardwareBuffer),
}

/// An `AHardwareBuffer` and its bytes.
pub(super) struct HardwareBuffer {
    pub(super) pointer: NonNull<c_void>,
    pub(super) bytes: usize,
}

// SAFETY: `AHardwareBuffer` uses atomic reference counts and may be used from any thread (android/hardware_buffer.h).
unsafe impl Send for HardwareBuffer {}
// SAFETY: as above.
unsafe impl Sync for HardwareBuffer {}

/// The memory of an imported object, if the host can access it without the driver.
pub(crate) enum Backing {
    Host(HostMemory),
    DmaBuf(DmaBuf),
    Shared(SharedMemory),
}

impl Backing {
    /// The host's address of the memory, valid as long as `self`.
    pub(super) fn pointer(&self) -> Result<*mut u8, MemoryError> {
        match self {
            Self::Host(memory) => Ok(memory.pointer()),
            Self::DmaBuf(dma_buf) => dma_buf.pointer(),
            Self::Shared(memory) => Ok(memory.pointer()),
        }
    }

    /// Begins an access by the host; `None` if nothing needs to be done for it.
    pub(super) fn host_access(&self, access: Access) -> Result<Option<HostAccess<'_>>, MemoryError> {
        match self {
            Self::Host(_) | Self::Shared(_) => Ok(None),
            Self::DmaBuf(dma_buf) => dma_buf.host_access(access).map(Some),
        }
    }
}

impl External {
    /// An existing OpenCL buffer (`cl_mem`). It is retained here and released with the imported object; the caller
    /// keeps its own reference. The size is queried from the driver.
    ///
    /// # Safety
    /// `buffer` is a live `cl_mem` of the OpenCL library that [`crate::library::load`] finds. While kernels of an
    /// executor may use it, or the executor reads or writes it, the caller's own queues do not use it in conflicting
    /// ways.
    ///
    /// # Errors
    /// No library, or the driver does not recognise the object.
    pub unsafe fn buffer(buffer: *mut c_void) -> Result<Self, CallError> {
        library::load().map_err(|_| CallError::no_library("clRetainMemObject"))?;
        // SAFETY: the caller guarantees a live object.
        unsafe { objects::retain_mem_object(buffer) }.map_err(CallError::at("clRetainMemObject"))?;
        // SAFETY: the reference just taken is passed to the owner.
        Ok(Self(Source::Buffer(unsafe { MemHandle::own(buffer) })))
    }

    /// Memory of the host.
    pub fn host(memory: HostMemory) -> Self {
        Self(Source::Host(memory))
    }

    /// The first `bytes` bytes of an Android `AHardwareBuffer`, preferably of format `AHARDWAREBUFFER_FORMAT_BLOB`
    /// with usage `GPU_DATA_BUFFER`.
    ///
    /// The host accesses it between `AHardwareBuffer_lock` and `AHardwareBuffer_unlock`. The fence of the unlock must
    /// have signalled before a kernel is submitted; before the lock, the kernels that use the buffer must have ended.
    ///
    /// # Safety
    /// `buffer` is a live `AHardwareBuffer` of at least `bytes` bytes. It stays alive (`AHardwareBuffer_acquire`)
    /// until the imported object was released and all kernels that use it have ended. While kernels run, nothing
    /// accesses it in a way that the rules above do not allow.
    pub unsafe fn hardware_buffer(buffer: NonNull<c_void>, bytes: usize) -> Self {
        Self(Source::HardwareBuffer(HardwareBuffer { pointer: buffer, bytes }))
    }
}

impl From<DmaBuf> for External {
    fn from(dma_buf: DmaBuf) -> Self {
        Self(Source::DmaBuf(dma_buf))
    }
}

impl fmt::Debug for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Buffer(buffer) => write!(f, "External::buffer({:p})", buffer.raw()),
            Source::Host(memory) => write!(f, "External::host({memory:?})"),
            Source::DmaBuf(dma_buf) => write!(f, "External::from({dma_buf:?})"),
            Source::HardwareBuffer(buffer) => {
                write!(f, "External::hardware_buffer({:p}, {} bytes)", buffer.pointer, buffer.bytes)
            }
        }
    }
}
