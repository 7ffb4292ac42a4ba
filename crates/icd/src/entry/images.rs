//! Commands on images.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{cl_bool, cl_mem};

use super::boundary::three;
use super::buffers::{buffer, host};
use crate::driver::failure::{Failure, Outcome, require};
use crate::driver::handle::find;
use crate::driver::memory::Memory;
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

command! {
    fn clEnqueueReadImage(
        queue, wait; memory: cl_mem, blocking: cl_bool, origin: *const usize, region: *const usize,
        row_pitch: usize, slice_pitch: usize, pointer: *mut c_void
    ) blocks blocking {
        let memory = image(memory)?;
        memory.check_host(true, false)?;
        let (inside, region) = region_of(&memory, origin, region)?;
        let outside = memory.facts()?.host_box(region, row_pitch, slice_pitch)?;
        let to = Side::Host(host(pointer, outside.end(region))?, outside);
        transfer::copy(&queue, cl::CL_COMMAND_READ_IMAGE, Side::Object(memory, inside), to, region, wait)
    }

    fn clEnqueueWriteImage(
        queue, wait; memory: cl_mem, blocking: cl_bool, origin: *const usize, region: *const usize,
        row_pitch: usize, slice_pitch: usize, pointer: *const c_void
    ) blocks blocking {
        let memory = image(memory)?;
        memory.check_host(false, true)?;
        let (inside, region) = region_of(&memory, origin, region)?;
        let outside = memory.facts()?.host_box(region, row_pitch, slice_pitch)?;
        let from = Side::Host(host(pointer, outside.end(region))?, outside);
        transfer::copy(&queue, cl::CL_COMMAND_WRITE_IMAGE, from, Side::Object(memory, inside), region, wait)
    }

    fn clEnqueueCopyImage(
        queue, wait; from: cl_mem, to: cl_mem, from_origin: *const usize, to_origin: *const usize,
        region: *const usize
    ) {
        let (from, to) = (image(from)?, image(to)?);
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
        transfer::copy(&queue, cl::CL_COMMAND_COPY_IMAGE, from, to, extent, wait)
    }

    fn clEnqueueCopyImageToBuffer(
        queue, wait; from: cl_mem, to: cl_mem, origin: *const usize, region: *const usize, offset: usize
    ) {
        let (from, to) = (image(from)?, buffer(to)?);
        let (source, region) = region_of(&from, origin, region)?;
        let target = region.packed().shifted(offset);
        let (from, to) = (Side::Object(from, source), Side::Object(to, target));
        transfer::copy(&queue, cl::CL_COMMAND_COPY_IMAGE_TO_BUFFER, from, to, region, wait)
    }

    fn clEnqueueCopyBufferToImage(
        queue, wait; from: cl_mem, to: cl_mem, offset: usize, origin: *const usize, region: *const usize
    ) {
        let (from, to) = (buffer(from)?, image(to)?);
        let (target, region) = region_of(&to, origin, region)?;
        let source = region.packed().shifted(offset);
        let (from, to) = (Side::Object(from, source), Side::Object(to, target));
        transfer::copy(&queue, cl::CL_COMMAND_COPY_BUFFER_TO_IMAGE, from, to, region, wait)
    }

    fn clEnqueueFillImage(
        queue, wait; memory: cl_mem, colour: *const c_void, origin: *const usize, region: *const usize
    ) {
        let memory = image(memory)?;
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
        transfer::fill(&queue, cl::CL_COMMAND_FILL_IMAGE, &texel, to, region, wait)
    }
}
