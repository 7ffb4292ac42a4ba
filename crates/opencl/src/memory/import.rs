//! Buffers over memory that was allocated elsewhere.
//!
//! Two families of extensions support this. Arm: `clImportMemoryARM` makes a buffer that kernels can use and host
//! commands cannot. Qualcomm: `clCreateBuffer` with a description of the memory instead of the host pointer. Numbers
//! and layouts are those of `CL/cl_ext.h` of the Khronos headers; those missing there (dma-buf, `AHardwareBuffer`) are
//! from `CL/cl_ext_qcom.h` of Qualcomm's Adreno OpenCL SDK.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{cl_context, cl_mem, cl_mem_flags};
use tripipe_launch::Access;

use crate::api::{self, objects, queries};
use crate::code::{CallError, Code};
use crate::context::Context;
use crate::handle::MemHandle;
use crate::info;
use crate::memory::external::{Backing, External, HardwareBuffer, Source};
use crate::memory::object::{Object, Reach, Shape, access_flags};
use crate::memory::{DmaBuf, Footprint, HostMemory, MemoryError};

const ARM_HOST: &str = "cl_arm_import_memory_host";
const ARM_DMA_BUF: &str = "cl_arm_import_memory_dma_buf";
const ARM_HARDWARE_BUFFER: &str = "cl_arm_import_memory_android_hardware_buffer";
const QCOM: &str = "cl_qcom_ext_host_ptr";
const QCOM_DMA_BUF: &str = "cl_qcom_dmabuf_host_ptr";
const QCOM_ION: &str = "cl_qcom_ion_host_ptr";
const QCOM_HARDWARE_BUFFER: &str = "cl_qcom_android_ahardwarebuffer_host_ptr";

const CL_IMPORT_TYPE_ARM: isize = 0x40B2;
const CL_IMPORT_TYPE_HOST_ARM: isize = 0x40B3;
const CL_IMPORT_TYPE_DMA_BUF_ARM: isize = 0x40B4;
const CL_IMPORT_TYPE_ANDROID_HARDWARE_BUFFER_ARM: isize = 0x41E2;

const CL_MEM_EXT_HOST_PTR_QCOM: cl_mem_flags = 1 << 29;
const CL_DEVICE_EXT_MEM_PADDING_IN_BYTES_QCOM: u32 = 0x40A0;
/// The host caches the memory, and the driver cleans and invalidates its cache lines; for uncached memory this is only
/// unnecessary.
const CL_MEM_HOST_WRITEBACK_QCOM: u32 = 0x40A5;
const CL_MEM_ION_HOST_PTR_QCOM: u32 = 0x40A8;
const CL_MEM_DMABUF_HOST_PTR_QCOM: u32 = 0x411D;
const CL_MEM_ANDROID_AHARDWAREBUFFER_HOST_PTR_QCOM: u32 = 0x4119;

/// `cl_mem_ext_host_ptr`
#[repr(C)]
struct ExtHostPtr {
    allocation_type: u32,
    host_cache_policy: u32,
}

/// `cl_mem_dmabuf_host_ptr` and `cl_mem_ion_host_ptr`
#[repr(C)]
struct FdHostPtr {
    ext: ExtHostPtr,
    fd: c_int,
    host: *mut c_void,
}

/// `cl_mem_android_ahardwarebuffer_host_ptr`
#[repr(C)]
struct HardwareBufferHostPtr {
    ext: ExtHostPtr,
    buffer: *mut c_void,
}

type ImportMemoryArm =
    unsafe extern "C" fn(cl_context, cl_mem_flags, *const isize, *mut c_void, usize, *mut c_int) -> cl_mem;

impl Object {
    /// A buffer over memory that was allocated elsewhere.
    pub(crate) fn import(context: &Context, external: External, access: Access) -> Result<Self, MemoryError> {
        match external.0 {
            Source::Buffer(handle) => existing(context, handle, access),
            Source::Host(memory) => host(context, memory, access),
            Source::DmaBuf(dma_buf) => shared(context, dma_buf, access),
            Source::HardwareBuffer(buffer) => hardware(context, &buffer, access),
        }
    }
}

fn existing(context: &Context, handle: MemHandle, access: Access) -> Result<Object, MemoryError> {
    let ask = |question| {
        // SAFETY: live as long as its handle.
        unsafe { queries::mem_object_info(handle.raw(), question) }
            .map(|bytes| info::number(&bytes).unwrap_or(0))
            .map_err(CallError::at("clGetMemObjectInfo"))
    };
    if ask(cl::CL_MEM_CONTEXT)? != context.raw() as u64 {
        return Err(MemoryError::OtherContext);
    }
    if ask(cl::CL_MEM_TYPE)? != u64::from(cl::CL_MEM_OBJECT_BUFFER) {
        return Err(MemoryError::NotABuffer);
    }
    let (reads, writes) = match ask(cl::CL_MEM_FLAGS)? {
        flags if flags & cl::CL_MEM_READ_ONLY != 0 => (true, false),
        flags if flags & cl::CL_MEM_WRITE_ONLY != 0 => (false, true),
        _ => (true, true),
    };
    if (access != Access::Read && !writes) || (access != Access::Write && !reads) {
        return Err(MemoryError::Access { wanted: access });
    }
    let shape = Shape::Buffer { bytes: ask(cl::CL_MEM_SIZE)? as usize };
    let footprint = footprint_of(&handle)?;
    Ok(Object::foreign(handle, context, shape, Reach::Driver, footprint))
}

/// The memory of an existing buffer: the buffer it is a part of, and the host memory it uses.
fn footprint_of(handle: &MemHandle) -> Result<Footprint, MemoryError> {
    let ask = |object: cl_mem, question| {
        // SAFETY: a live object, or its parent, which lives as long.
        unsafe { queries::mem_object_info(object, question) }
            .map(|bytes| info::number(&bytes).unwrap_or(0) as usize)
            .map_err(CallError::at("clGetMemObjectInfo"))
    };
    let (mut root, bytes) = (handle.raw(), ask(handle.raw(), cl::CL_MEM_SIZE)?);
    let mut offset = 0usize;
    // Follows sub-buffers to their parent, repeatedly if a driver allows nesting.
    loop {
        // OpenCL 1.0 has no sub-buffers and does not know this query.
        let under = ask(root, cl::CL_MEM_ASSOCIATED_MEMOBJECT).unwrap_or(0);
        if under == 0 {
            break;
        }
        offset = offset.saturating_add(ask(root, cl::CL_MEM_OFFSET)?);
        root = std::ptr::with_exposed_provenance_mut(under);
    }
    let mut whole = Footprint::of_object(root as usize, ask(root, cl::CL_MEM_SIZE)?);
    if ask(root, cl::CL_MEM_FLAGS)? as u64 & cl::CL_MEM_USE_HOST_PTR != 0 {
        let start = ask(root, cl::CL_MEM_HOST_PTR)?;
        whole.host = Some(start..start);
    }
    Ok(whole.part(offset, bytes))
}

fn host(context: &Context, memory: HostMemory, access: Access) -> Result<Object, MemoryError> {
    if !offers(context, ARM_HOST) {
        return Object::over_owned(context, memory, access);
    }
    let (pointer, bytes) = (memory.pointer(), memory.len());
    // SAFETY: `bytes` bytes at `pointer`, which live until the driver has destroyed the object.
    let handle = unsafe { import_arm(context, CL_IMPORT_TYPE_HOST_ARM, pointer.cast(), bytes, access) }?;
    let backing = Arc::new(Backing::Host(memory));
    let start = pointer as usize;
    let host = Some(start..start.saturating_add(bytes));
    let footprint = Footprint { host, ..Footprint::default() };
    let reach = Reach::InPlace(Arc::clone(&backing));
    Object::foreign(handle, context, Shape::Buffer { bytes }, reach, footprint).keep(backing)
}

fn shared(context: &Context, dma_buf: DmaBuf, access: Access) -> Result<Object, MemoryError> {
    let bytes = dma_buf.bytes();
    let shape = Shape::Buffer { bytes };
    let arm = offers(context, ARM_DMA_BUF);
    let handle = if arm {
        let mut fd = dma_buf.fd();
        // SAFETY: a descriptor that lives until the driver has destroyed the object; the API takes a pointer to it.
        unsafe { import_arm(context, CL_IMPORT_TYPE_DMA_BUF_ARM, (&raw mut fd).cast(), bytes, access) }?
    } else {
        let kinds = [(QCOM_DMA_BUF, CL_MEM_DMABUF_HOST_PTR_QCOM), (QCOM_ION, CL_MEM_ION_HOST_PTR_QCOM)];
        let offered = kinds.into_iter().find(|(kind, _)| offers(context, QCOM) && offers(context, kind));
        let Some((_, allocation_type)) = offered else {
            return Err(not_offered("a dma-buf", &[ARM_DMA_BUF, QCOM_DMA_BUF, QCOM_ION]));
        };
        dma_buf.check_room(bytes.saturating_add(padding(context)))?;
        let description =
            FdHostPtr { ext: ext(allocation_type), fd: dma_buf.fd(), host: dma_buf.pointer()?.cast() };
        // SAFETY: the description has the layout of its type; descriptor and mapping live until the driver has
        // destroyed the object.
        unsafe { create_qcom(context, (&raw const description).cast(), bytes, access) }?
    };
    let footprint = Footprint { dma_buf: dma_buf.inode(), ..Footprint::default() };
    let backing = Arc::new(Backing::DmaBuf(dma_buf));
    let under = Arc::clone(&backing);
    let reach = if arm { Reach::InPlace(under) } else { Reach::Mapped(under) };
    Object::foreign(handle, context, shape, reach, footprint).keep(backing)
}

fn hardware(context: &Context, buffer: &HardwareBuffer, access: Access) -> Result<Object, MemoryError> {
    let (pointer, bytes) = (buffer.pointer.as_ptr(), buffer.bytes);
    if bytes == 0 {
        return Err(MemoryError::Empty);
    }
    let (handle, reach) = if offers(context, ARM_HARDWARE_BUFFER) {
        let kind = CL_IMPORT_TYPE_ANDROID_HARDWARE_BUFFER_ARM;
        // SAFETY: the creator of the `External` guarantees the buffer, its size and its lifetime.
        (unsafe { import_arm(context, kind, pointer, bytes, access) }?, Reach::Closed)
    } else if offers(context, QCOM) && offers(context, QCOM_HARDWARE_BUFFER) {
        let ext = ext(CL_MEM_ANDROID_AHARDWAREBUFFER_HOST_PTR_QCOM);
        let description = HardwareBufferHostPtr { ext, buffer: pointer };
        // SAFETY: as above, and the description has the layout of its type.
        (unsafe { create_qcom(context, (&raw const description).cast(), bytes, access) }?, Reach::Driver)
    } else {
        return Err(not_offered("an AHardwareBuffer", &[ARM_HARDWARE_BUFFER, QCOM_HARDWARE_BUFFER]));
    };
    let footprint = Footprint { hardware_buffer: Some(pointer as usize), ..Footprint::default() };
    Ok(Object::foreign(handle, context, Shape::Buffer { bytes }, reach, footprint))
}

fn offers(context: &Context, extension: &str) -> bool {
    context.device().probe().has_extension(extension)
}

fn not_offered(what: &str, extensions: &[&str]) -> MemoryError {
    MemoryError::NotOffered {
        what: format!("the import of {what} (it has none of the extensions {})", extensions.join(", ")),
    }
}

/// Bytes that an allocation must have beyond those used.
fn padding(context: &Context) -> usize {
    info::Ask(context.device().id()).or_zero(CL_DEVICE_EXT_MEM_PADDING_IN_BYTES_QCOM) as usize
}

fn ext(allocation_type: u32) -> ExtHostPtr {
    ExtHostPtr { allocation_type, host_cache_policy: CL_MEM_HOST_WRITEBACK_QCOM }
}

/// # Safety
/// `memory` is what `kind` requires, of at least `bytes` bytes, and lives until the driver has destroyed the object.
unsafe fn import_arm(
    context: &Context,
    kind: isize,
    memory: *mut c_void,
    bytes: usize,
    access: Access,
) -> Result<MemHandle, MemoryError> {
    let call = "clImportMemoryARM";
    let missing = CallError { call, code: Code(api::NO_FUNCTION) };
    let address = api::extension(context.device().platform(), c"clImportMemoryARM").ok_or(missing)?;
    // SAFETY: the driver reports this address for the function, and the extension defines its type.
    let import: ImportMemoryArm =
        unsafe { std::mem::transmute::<*mut c_void, ImportMemoryArm>(address.as_ptr()) };
    let properties = [CL_IMPORT_TYPE_ARM, kind, 0];
    let mut code = cl::CL_SUCCESS;
    // SAFETY: the context is live, the list ends with 0 and lives for the call; the caller guarantees the memory.
    let raw = unsafe {
        import(context.raw(), access_flags(access), properties.as_ptr(), memory, bytes, &raw mut code)
    };
    // SAFETY: just created if there is no error.
    unsafe { check_created(raw, call, code) }
}

/// # Safety
/// `description` is a `cl_mem_ext_host_ptr` with the fields of its type; the memory it describes has at least `bytes`
/// bytes and lives until the driver has destroyed the object.
unsafe fn create_qcom(
    context: &Context,
    description: *const c_void,
    bytes: usize,
    access: Access,
) -> Result<MemHandle, MemoryError> {
    // The driver requires CL_MEM_USE_HOST_PTR.
    let flags = access_flags(access) | cl::CL_MEM_USE_HOST_PTR | CL_MEM_EXT_HOST_PTR_QCOM;
    // SAFETY: the driver reads the description during the call; the caller guarantees the memory.
    let raw = unsafe { objects::create_buffer(context.raw(), flags, bytes, description.cast_mut()) };
    let (raw, code) = raw.map_or_else(|code| (std::ptr::null_mut(), code), |raw| (raw, cl::CL_SUCCESS));
    // SAFETY: just created if there is no error.
    unsafe { check_created(raw, "clCreateBuffer", code) }
}

/// # Safety
/// `raw` is live and the caller gives up its reference, unless it is null or `code` is an error.
unsafe fn check_created(raw: cl_mem, call: &'static str, code: i32) -> Result<MemHandle, MemoryError> {
    match code {
        // SAFETY: guaranteed by the caller.
        cl::CL_SUCCESS if !raw.is_null() => Ok(unsafe { MemHandle::own(raw) }),
        cl::CL_SUCCESS => Err(CallError { call, code: Code(cl::CL_INVALID_MEM_OBJECT) }.into()),
        code => Err(CallError { call, code: Code(code) }.into()),
    }
}
