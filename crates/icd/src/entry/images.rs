//! Commands on images.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{cl_bool, cl_command_queue, cl_event, cl_mem, cl_uint};

use super::boundary::{reported, submitted, three, wait_list};
use super::buffers::{buffer, host};
use crate::driver::failure::{Failure, Outcome, require};
use crate::driver::handle::find;
use crate::driver::memory::Memory;
use crate::driver::queue::Queue;
use crate::driver::rect::{Pitched, Region};
use crate::driver::transfer::{self, Side};

/// An image.
pub(super) fn image(handle: cl_mem) -> Outcome<Arc<Memory>> {
    let memory = find::<Memory>(handle)?;
    memory.facts()?;
    Ok(memory)
}

/// The bytes of a region of an image.
unsafe fn region_of(
    image: &Memory,
    origin: *const usize,
    region: *const usize,
) -> Outcome<(Pitched, Region)> {
    // SAFETY: the application passes three numbers each.
    let (origin, region) = unsafe { (three(origin)?, three(region)?) };
    image.facts()?.region(origin, region)
}

function! {
    fn clEnqueueReadImage(
        queue: cl_command_queue,
        memory: cl_mem,
        blocking: cl_bool,
        origin: *const usize,
        region: *const usize,
        row_pitch: usize,
        slice_pitch: usize,
        pointer: *mut c_void,
        count: cl_uint,
        events: *const cl_event,
        event: *mut cl_event,
    ) {
        let (queue, memory) = (find::<Queue>(queue)?, image(memory)?);
        let wait = wait_list(count, events)?;
        memory.check_host(true, false)?;
        let (inside, region) = region_of(&memory, origin, region)?;
        let outside = memory.facts()?.host_box(region, row_pitch, slice_pitch)?;
        let to = Side::Host(host(pointer, outside.end(region))?, outside);
        let done =
            transfer::copy(&queue, cl::CL_COMMAND_READ_IMAGE, Side::Object(memory, inside), to, region, wait);
        submitted(&reported(&queue, done)?, blocking != 0, event)
    }

    fn clEnqueueWriteImage(
        queue: cl_command_queue,
        memory: cl_mem,
        blocking: cl_bool,
        origin: *const usize,
        region: *const usize,
        row_pitch: usize,
        slice_pitch: usize,
        pointer: *const c_void,
        count: cl_uint,
        events: *const cl_event,
        event: *mut cl_event,
    ) {
        let (queue, memory) = (find::<Queue>(queue)?, image(memory)?);
        let wait = wait_list(count, events)?;
        memory.check_host(false, true)?;
        let (inside, region) = region_of(&memory, origin, region)?;
        let outside = memory.facts()?.host_box(region, row_pitch, slice_pitch)?;
        let from = Side::Host(host(pointer, outside.end(region))?, outside);
        let done =
            transfer::copy(&queue, cl::CL_COMMAND_WRITE_IMAGE, from, Side::Object(memory, inside), region, wait);
        submitted(&reported(&queue, done)?, blocking != 0, event)
    }

    fn clEnqueueCopyImage(
        queue: cl_command_queue,
        from: cl_mem,
        to: cl_mem,
        from_origin: *const usize,
        to_origin: *const usize,
        region: *const usize,
        count: cl_uint,
        events: *const cl_event,
        event: *mut cl_event,
    ) {
        let (queue, from, to) = (find::<Queue>(queue)?, image(from)?, image(to)?);
        let wait = wait_list(count, events)?;
        let (a, b) = (from.facts()?, to.facts()?);
        let same = (a.shape.order, a.shape.channel) == (b.shape.order, b.shape.channel);
        require(same, cl::CL_IMAGE_FORMAT_MISMATCH, "the images have different formats")?;
        let (source, extent) = region_of(&from, from_origin, region)?;
        let (target, other) = region_of(&to, to_origin, region)?;
        // The rows of 1D arrays are layers; all else counts the same.
        require(extent == other, cl::CL_INVALID_VALUE, "the region does not fit both images")?;
        let overlap = Arc::ptr_eq(&from.storage, &to.storage) && source.overlaps(target, extent);
        require(!overlap, cl::CL_MEM_COPY_OVERLAP, "the regions overlap")?;
        let (from, to) = (Side::Object(from, source), Side::Object(to, target));
        let done = transfer::copy(&queue, cl::CL_COMMAND_COPY_IMAGE, from, to, extent, wait);
        submitted(&reported(&queue, done)?, false, event)
    }

    fn clEnqueueCopyImageToBuffer(
        queue: cl_command_queue,
        from: cl_mem,
        to: cl_mem,
        origin: *const usize,
        region: *const usize,
        offset: usize,
        count: cl_uint,
        events: *const cl_event,
        event: *mut cl_event,
    ) {
        let (queue, from, to) = (find::<Queue>(queue)?, image(from)?, buffer(to)?);
        let wait = wait_list(count, events)?;
        let (source, region) = region_of(&from, origin, region)?;
        let target = region.packed().shifted(offset);
        let (from, to) = (Side::Object(from, source), Side::Object(to, target));
        let done = transfer::copy(&queue, cl::CL_COMMAND_COPY_IMAGE_TO_BUFFER, from, to, region, wait);
        submitted(&reported(&queue, done)?, false, event)
    }

    fn clEnqueueCopyBufferToImage(
        queue: cl_command_queue,
        from: cl_mem,
        to: cl_mem,
        offset: usize,
        origin: *const usize,
        region: *const usize,
        count: cl_uint,
        events: *const cl_event,
        event: *mut cl_event,
    ) {
        let (queue, from, to) = (find::<Queue>(queue)?, buffer(from)?, image(to)?);
        let wait = wait_list(count, events)?;
        let (target, region) = region_of(&to, origin, region)?;
        let source = region.packed().shifted(offset);
        let (from, to) = (Side::Object(from, source), Side::Object(to, target));
        let done = transfer::copy(&queue, cl::CL_COMMAND_COPY_BUFFER_TO_IMAGE, from, to, region, wait);
        submitted(&reported(&queue, done)?, false, event)
    }

    fn clEnqueueFillImage(
        queue: cl_command_queue,
        memory: cl_mem,
        colour: *const c_void,
        origin: *const usize,
        region: *const usize,
        count: cl_uint,
        events: *const cl_event,
        event: *mut cl_event,
    ) {
        let (queue, memory) = (find::<Queue>(queue)?, image(memory)?);
        let wait = wait_list(count, events)?;
        if colour.is_null() {
            return Err(Failure::new(cl::CL_INVALID_VALUE, "the colour is NULL"));
        }
        let facts = memory.facts()?;
        // A depth image is filled with one number.
        let mut four = [0u32; 4];
        let channels = if facts.shape.order.opencl_number() == cl::CL_DEPTH { 1 } else { 4 };
        for (index, to) in four.iter_mut().take(channels).enumerate() {
            *to = colour.cast::<u32>().add(index).read_unaligned();
        }
        let texel = facts.texel(four)?;
        let (inside, region) = region_of(&memory, origin, region)?;
        let to = Side::Object(memory, inside);
        let done = transfer::fill(&queue, cl::CL_COMMAND_FILL_IMAGE, &texel, to, region, wait);
        submitted(&reported(&queue, done)?, false, event)
    }
}
