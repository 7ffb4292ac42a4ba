//! Buffers and sub-buffers.

use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{cl_buffer_region, cl_mem_flags};
use tripipe_launch::MemoryKind;

use super::context::Context;
use super::failure::{Failure, Outcome, require};
use super::handle::{Handle, register};
use super::memory::{Memory, access, check_flags};
use super::rect::{Pitched, Region};
use super::storage::Storage;
use crate::host::HostRange;

const HOST_POINTER: cl_mem_flags = cl::CL_MEM_USE_HOST_PTR | cl::CL_MEM_COPY_HOST_PTR;

/// Fails unless there is a host pointer exactly if the flags want one.
///
/// # Errors
/// There is one too many or too few.
pub(super) fn check_host_pointer(flags: cl_mem_flags, host: Option<HostRange>) -> Outcome<()> {
    let wanted = flags & HOST_POINTER != 0;
    require(wanted == host.is_some(), cl::CL_INVALID_HOST_PTR, "the host pointer does not fit the flags")
}

/// A buffer. `host` is the application's memory, if it passed some.
///
/// # Errors
/// Wrong flags, a size of 0 or above the limit, or no memory.
pub fn create(
    context: &Arc<Context>,
    flags: cl_mem_flags,
    size: usize,
    host: Option<HostRange>,
    properties: Vec<u64>,
) -> Outcome<Arc<Memory>> {
    check_flags(flags)?;
    require(size > 0, cl::CL_INVALID_BUFFER_SIZE, "a buffer has at least one byte")?;
    let most = context.largest_buffer();
    if size as u64 > most {
        return Err(Failure::new(cl::CL_INVALID_BUFFER_SIZE, format!("a buffer has at most {most} bytes")));
    }
    check_host_pointer(flags, host)?;
    let svm = host.filter(|_| flags & cl::CL_MEM_USE_HOST_PTR != 0);
    let svm = svm.and_then(|host| context.svm_at(host.address()));
    let (storage, offset) = if let (Some(block), Some(host)) = (svm, host) {
        let offset = host.address() - block.shared_range().map_or(0, |range| range.address());
        let inside = size <= block.size() - offset;
        require(inside, cl::CL_INVALID_BUFFER_SIZE, "the buffer is larger than the shared memory")?;
        (block, offset)
    } else {
        let kind = MemoryKind::Buffer { bytes: size };
        (Storage::new(&context.engine, kind, access(flags), size)?, 0)
    };
    if let Some(host) = host
        && !storage.is_shared()
    {
        let mut bytes = vec![0; size];
        if !host.read(0, &mut bytes) {
            return Err(Failure::new(cl::CL_INVALID_HOST_PTR, "the host memory is too small"));
        }
        storage.write(Pitched::at(0), Region::row(size), &bytes)?;
    }
    let memory = Memory {
        handle: Handle::default(),
        context: Arc::clone(context),
        kind: cl::CL_MEM_OBJECT_BUFFER,
        flags: if flags & (cl::CL_MEM_READ_ONLY | cl::CL_MEM_WRITE_ONLY) == 0 {
            flags | cl::CL_MEM_READ_WRITE
        } else {
            flags
        },
        size,
        offset,
        storage,
        parent: None,
        image: None,
        host: host.filter(|_| flags & cl::CL_MEM_USE_HOST_PTR != 0),
        properties,
        destructors: Vec::new().into(),
        mappings: Vec::new().into(),
        image_ids: std::collections::HashMap::new().into(),
    };
    Ok(register(memory, 1))
}

/// A part of a buffer.
///
/// # Errors
/// Not a buffer, or a sub-buffer already; wrong flags; a region outside of the buffer, or not aligned for any device.
pub fn sub_buffer(
    parent: &Arc<Memory>,
    flags: cl_mem_flags,
    region: cl_buffer_region,
) -> Outcome<Arc<Memory>> {
    let whole = parent.is_buffer() && parent.parent.is_none();
    require(whole, cl::CL_INVALID_MEM_OBJECT, "sub-buffers are made of buffers that are not sub-buffers")?;
    check_flags(flags)?;
    let pointer = HOST_POINTER | cl::CL_MEM_ALLOC_HOST_PTR;
    require(
        flags & pointer == 0,
        cl::CL_INVALID_VALUE,
        "a sub-buffer takes its host pointer from the buffer",
    )?;
    let device = cl::CL_MEM_READ_WRITE | cl::CL_MEM_READ_ONLY | cl::CL_MEM_WRITE_ONLY;
    let host = cl::CL_MEM_HOST_WRITE_ONLY | cl::CL_MEM_HOST_READ_ONLY | cl::CL_MEM_HOST_NO_ACCESS;
    let had = parent.flags;
    let widened = (had & cl::CL_MEM_READ_ONLY != 0
        && flags & (cl::CL_MEM_READ_WRITE | cl::CL_MEM_WRITE_ONLY) != 0)
        || (had & cl::CL_MEM_WRITE_ONLY != 0 && flags & (cl::CL_MEM_READ_WRITE | cl::CL_MEM_READ_ONLY) != 0)
        || (had & cl::CL_MEM_HOST_READ_ONLY != 0 && flags & cl::CL_MEM_HOST_WRITE_ONLY != 0)
        || (had & cl::CL_MEM_HOST_WRITE_ONLY != 0 && flags & cl::CL_MEM_HOST_READ_ONLY != 0)
        || (had & cl::CL_MEM_HOST_NO_ACCESS != 0
            && flags & (cl::CL_MEM_HOST_READ_ONLY | cl::CL_MEM_HOST_WRITE_ONLY) != 0);
    require(!widened, cl::CL_INVALID_VALUE, "the flags allow more than those of the buffer")?;
    require(region.size > 0, cl::CL_INVALID_BUFFER_SIZE, "a sub-buffer has at least one byte")?;
    let end = region.origin.checked_add(region.size);
    require(
        end.is_some_and(|end| end <= parent.size),
        cl::CL_INVALID_VALUE,
        "the region is not inside of the buffer",
    )?;
    let context = &parent.context;
    let aligned = context.devices().iter().any(|device| region.origin.is_multiple_of(device.alignment()));
    require(
        aligned,
        cl::CL_MISALIGNED_SUB_BUFFER_OFFSET,
        "the origin is not a multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN",
    )?;
    let taken = (if flags & device == 0 { had & device } else { flags & device })
        | (if flags & host == 0 { had & host } else { flags & host })
        | had & pointer;
    let memory = Memory {
        handle: Handle::default(),
        context: Arc::clone(context),
        kind: cl::CL_MEM_OBJECT_BUFFER,
        flags: taken,
        size: region.size,
        offset: parent.offset + region.origin,
        storage: Arc::clone(&parent.storage),
        parent: Some(Arc::clone(parent)),
        image: None,
        host: parent.host.and_then(|host| host.part(region.origin, region.size)),
        properties: Vec::new(),
        destructors: Vec::new().into(),
        mappings: Vec::new().into(),
        image_ids: std::collections::HashMap::new().into(),
    };
    Ok(register(memory, 1))
}
