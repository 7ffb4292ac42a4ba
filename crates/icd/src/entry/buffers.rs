//! Commands on buffers.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{cl_bool, cl_mem, cl_mem_migration_flags, cl_uint};

use super::boundary::{list, three};
use crate::driver::failure::{Outcome, require};
use crate::driver::handle::find;
use crate::driver::memory::Memory;
use crate::driver::queue::Waits;
use crate::driver::rect::{Pitched, Region};
use crate::driver::timeline::Span;
use crate::driver::transfer::{self, Side, check_object};
use crate::host::HostRange;

/// A buffer.
pub(super) fn buffer(handle: cl_mem) -> Outcome<Arc<Memory>> {
    let memory = find::<Memory>(handle)?;
    require(memory.is_buffer(), cl::CL_INVALID_MEM_OBJECT, "the memory object is not a buffer")?;
    Ok(memory)
}

/// Host memory of a command.
pub(super) unsafe fn host(pointer: *const c_void, bytes: Option<usize>) -> Outcome<HostRange> {
    require(!pointer.is_null(), cl::CL_INVALID_VALUE, "the host pointer is NULL")?;
    // SAFETY: the application passes memory of that size, valid until the command has ended.
    Ok(unsafe { HostRange::new(pointer, bytes.unwrap_or(0)) })
}

/// The pitches of `clEnqueue...BufferRect`.
#[derive(Clone, Copy)]
struct Pitches {
    row: usize,
    slice: usize,
}

/// Both sides of a rectangular command.
unsafe fn rects(
    origins: [*const usize; 2],
    region: *const usize,
    pitches: [Pitches; 2],
) -> Outcome<([Pitched; 2], Region)> {
    // SAFETY: the application passes three numbers.
    let [bytes, rows, slices] = unsafe { three(region)? };
    let region = Region { bytes, rows, slices };
    let rect = |index: usize| {
        // SAFETY: as above.
        let origin = unsafe { three(origins[index])? };
        Pitched::of_rect(origin, region, pitches[index].row, pitches[index].slice)
    };
    Ok(([rect(0)?, rect(1)?], region))
}

command! {
    fn clEnqueueReadBuffer(
        queue, wait; memory: cl_mem, blocking: cl_bool, offset: usize, size: usize, pointer: *mut c_void
    ) blocks blocking {
        let memory = buffer(memory)?;
        memory.check_host(true, false)?;
        require(size > 0, cl::CL_INVALID_VALUE, "the size is 0")?;
        let to = Side::Host(host(pointer, Some(size))?, Pitched::at(0));
        let from = Side::Object(memory, Pitched::at(offset));
        transfer::copy(&queue, cl::CL_COMMAND_READ_BUFFER, from, to, Region::row(size), wait)
    }

    fn clEnqueueWriteBuffer(
        queue, wait; memory: cl_mem, blocking: cl_bool, offset: usize, size: usize, pointer: *const c_void
    ) blocks blocking {
        let memory = buffer(memory)?;
        memory.check_host(false, true)?;
        require(size > 0, cl::CL_INVALID_VALUE, "the size is 0")?;
        let from = Side::Host(host(pointer, Some(size))?, Pitched::at(0));
        let to = Side::Object(memory, Pitched::at(offset));
        transfer::copy(&queue, cl::CL_COMMAND_WRITE_BUFFER, from, to, Region::row(size), wait)
    }

    fn clEnqueueReadBufferRect(
        queue, wait; memory: cl_mem, blocking: cl_bool, origin: *const usize, host_origin: *const usize,
        region: *const usize, row_pitch: usize, slice_pitch: usize, host_row_pitch: usize,
        host_slice_pitch: usize, pointer: *mut c_void
    ) blocks blocking {
        let memory = buffer(memory)?;
        memory.check_host(true, false)?;
        let pitches = [
            Pitches { row: row_pitch, slice: slice_pitch },
            Pitches { row: host_row_pitch, slice: host_slice_pitch },
        ];
        let ([inside, outside], region) = rects([origin, host_origin], region, pitches)?;
        let to = Side::Host(host(pointer, outside.end(region))?, outside);
        let from = Side::Object(memory, inside);
        transfer::copy(&queue, cl::CL_COMMAND_READ_BUFFER_RECT, from, to, region, wait)
    }

    fn clEnqueueWriteBufferRect(
        queue, wait; memory: cl_mem, blocking: cl_bool, origin: *const usize, host_origin: *const usize,
        region: *const usize, row_pitch: usize, slice_pitch: usize, host_row_pitch: usize,
        host_slice_pitch: usize, pointer: *const c_void
    ) blocks blocking {
        let memory = buffer(memory)?;
        memory.check_host(false, true)?;
        let pitches = [
            Pitches { row: row_pitch, slice: slice_pitch },
            Pitches { row: host_row_pitch, slice: host_slice_pitch },
        ];
        let ([inside, outside], region) = rects([origin, host_origin], region, pitches)?;
        let from = Side::Host(host(pointer, outside.end(region))?, outside);
        let to = Side::Object(memory, inside);
        transfer::copy(&queue, cl::CL_COMMAND_WRITE_BUFFER_RECT, from, to, region, wait)
    }

    fn clEnqueueCopyBuffer(
        queue, wait; from: cl_mem, to: cl_mem, from_offset: usize, to_offset: usize, size: usize
    ) {
        let (from, to) = (buffer(from)?, buffer(to)?);
        require(size > 0, cl::CL_INVALID_VALUE, "the size is 0")?;
        check_overlap(&from, Pitched::at(from_offset), &to, Pitched::at(to_offset), Region::row(size))?;
        let from = Side::Object(from, Pitched::at(from_offset));
        let to = Side::Object(to, Pitched::at(to_offset));
        transfer::copy(&queue, cl::CL_COMMAND_COPY_BUFFER, from, to, Region::row(size), wait)
    }

    fn clEnqueueCopyBufferRect(
        queue, wait; from: cl_mem, to: cl_mem, from_origin: *const usize, to_origin: *const usize,
        region: *const usize, from_row_pitch: usize, from_slice_pitch: usize, to_row_pitch: usize,
        to_slice_pitch: usize
    ) {
        let (from, to) = (buffer(from)?, buffer(to)?);
        let pitches = [
            Pitches { row: from_row_pitch, slice: from_slice_pitch },
            Pitches { row: to_row_pitch, slice: to_slice_pitch },
        ];
        let ([source, target], region) = rects([from_origin, to_origin], region, pitches)?;
        if Arc::ptr_eq(&from, &to) {
            let same = source.row_pitch == target.row_pitch && source.slice_pitch == target.slice_pitch;
            require(same, cl::CL_INVALID_VALUE, "within one buffer, both sides have the same pitches")?;
        }
        check_overlap(&from, source, &to, target, region)?;
        let (from, to) = (Side::Object(from, source), Side::Object(to, target));
        transfer::copy(&queue, cl::CL_COMMAND_COPY_BUFFER_RECT, from, to, region, wait)
    }

    fn clEnqueueFillBuffer(
        queue, wait; memory: cl_mem, pattern: *const c_void, pattern_size: usize, offset: usize,
        size: usize
    ) {
        let memory = buffer(memory)?;
        let pattern = fill_pattern(pattern, pattern_size, size)?;
        let whole = offset.is_multiple_of(pattern.len());
        require(whole, cl::CL_INVALID_VALUE, "the offset is not a multiple of the pattern's size")?;
        require(size > 0, cl::CL_INVALID_VALUE, "the size is 0")?;
        let to = Side::Object(memory, Pitched::at(offset));
        transfer::fill(&queue, cl::CL_COMMAND_FILL_BUFFER, &pattern, to, Region::row(size), wait)
    }

    fn clEnqueueMigrateMemObjects(
        queue, wait; num_objects: cl_uint, objects: *const cl_mem, flags: cl_mem_migration_flags
    ) {
        let some = num_objects > 0 && !objects.is_null();
        require(some, cl::CL_INVALID_VALUE, "there is no memory object to migrate")?;
        let known = cl::CL_MIGRATE_MEM_OBJECT_HOST | cl::CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED;
        require(flags & !known == 0, cl::CL_INVALID_VALUE, "the flags have unknown bits")?;
        for handle in list(objects, num_objects as usize, cl::CL_INVALID_VALUE)? {
            check_object(&*find::<Memory>(handle)?, &queue)?;
        }
        // All devices and the host share their memory.
        let action = Box::new(|| Ok(Span::default()));
        queue.submit(cl::CL_COMMAND_MIGRATE_MEM_OBJECTS, wait, Waits::Queue, action)
    }
}

/// The pattern of a fill.
///
/// # Errors
/// Its size is not a power of two up to 128, or does not divide `size`.
///
/// # Safety
/// `pattern` is NULL or has `pattern_size` bytes.
pub(super) unsafe fn fill_pattern(
    pattern: *const c_void,
    pattern_size: usize,
    size: usize,
) -> Outcome<Vec<u8>> {
    let sized = pattern_size.is_power_of_two() && pattern_size <= 128;
    require(sized, cl::CL_INVALID_VALUE, "the size of the pattern is not a power of two up to 128")?;
    require(
        size.is_multiple_of(pattern_size),
        cl::CL_INVALID_VALUE,
        "the size is not a multiple of the pattern's",
    )?;
    require(!pattern.is_null(), cl::CL_INVALID_VALUE, "the pattern is NULL")?;
    // SAFETY: as the caller promises.
    unsafe { list(pattern.cast::<u8>(), pattern_size, cl::CL_INVALID_VALUE) }
}

fn check_overlap(
    from: &Memory,
    source: Pitched,
    to: &Memory,
    target: Pitched,
    region: Region,
) -> Outcome<()> {
    let same = Arc::ptr_eq(&from.storage, &to.storage);
    let overlap = same && source.shifted(from.offset).overlaps(target.shifted(to.offset), region);
    require(!overlap, cl::CL_MEM_COPY_OVERLAP, "the regions overlap")
}
