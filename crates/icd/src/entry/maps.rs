//! Mapping of memory objects.

use std::ffi::c_void;

use opencl_sys as cl;
use opencl_sys::{cl_bool, cl_command_queue, cl_event, cl_map_flags, cl_mem, cl_uint};

use super::boundary::{put, reported, submitted, three, wait_list};
use super::buffers::buffer;
use super::images::image;
use crate::driver::failure::{Failure, require};
use crate::driver::handle::find;
use crate::driver::memory::Memory;
use crate::driver::queue::Queue;
use crate::driver::rect::{Pitched, Region};
use crate::driver::transfer::{self, MapRegion};

constructor! {
    fn clEnqueueMapBuffer(
        queue: cl_command_queue,
        memory: cl_mem,
        blocking: cl_bool,
        flags: cl_map_flags,
        offset: usize,
        size: usize,
        count: cl_uint,
        events: *const cl_event,
        event: *mut cl_event,
    ) {
        let (queue, memory) = (find::<Queue>(queue)?, buffer(memory)?);
        let wait = wait_list(count, events)?;
        let inside = size > 0 && offset.checked_add(size).is_some_and(|end| end <= memory.size);
        require(inside, cl::CL_INVALID_VALUE, "the region is empty, or not inside of the buffer")?;
        let at = Pitched::at(offset);
        let region = MapRegion { inside: at, at, region: Region::row(size) };
        let mapped = transfer::map(&queue, cl::CL_COMMAND_MAP_BUFFER, &memory, flags, region, wait);
        let (address, done) = reported(&queue, mapped)?;
        submitted(&done, blocking != 0, event)?;
        Ok(address as *mut c_void)
    }

    fn clEnqueueMapImage(
        queue: cl_command_queue,
        memory: cl_mem,
        blocking: cl_bool,
        flags: cl_map_flags,
        origin: *const usize,
        region: *const usize,
        row_pitch: *mut usize,
        slice_pitch: *mut usize,
        count: cl_uint,
        events: *const cl_event,
        event: *mut cl_event,
    ) {
        let (queue, memory) = (find::<Queue>(queue)?, image(memory)?);
        let wait = wait_list(count, events)?;
        let (origin, region) = (three(origin)?, three(region)?);
        let (inside, extent) = memory.facts()?.region(origin, region)?;
        let facts = *memory.facts()?;
        require(!row_pitch.is_null(), cl::CL_INVALID_VALUE, "there is no place for the row pitch")?;
        let has_slices = facts.slice_pitch != 0;
        if has_slices && slice_pitch.is_null() {
            return Err(Failure::new(cl::CL_INVALID_VALUE, "there is no place for the slice pitch"));
        }
        let region = MapRegion { inside, at: facts.mapped(origin), region: extent };
        let mapped = transfer::map(&queue, cl::CL_COMMAND_MAP_IMAGE, &memory, flags, region, wait);
        let (address, done) = reported(&queue, mapped)?;
        let of_host = memory.host.is_some();
        put(row_pitch, if of_host { facts.host_row_pitch } else { facts.row_pitch });
        put(slice_pitch, if of_host { facts.host_slice_pitch } else { facts.slice_pitch });
        submitted(&done, blocking != 0, event)?;
        Ok(address as *mut c_void)
    }
}

command! {
    fn clEnqueueUnmapMemObject(queue, wait; memory: cl_mem, pointer: *mut c_void) {
        let memory = find::<Memory>(memory)?;
        transfer::unmap(&queue, &memory, pointer as usize, wait)
    }
}
