//! Shared virtual memory.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{
    cl_bool, cl_command_queue, cl_context, cl_map_flags, cl_mem_migration_flags, cl_svm_mem_flags, cl_uint,
};

use super::boundary::list;
use super::buffers::{fill_pattern, host};
use crate::driver::context::Context;
use crate::driver::event::Event;
use crate::driver::failure::{Failure, Outcome, require};
use crate::driver::handle::{ApiObject as _, find};
use crate::driver::queue::{Queue, Waits};
use crate::driver::rect::{Pitched, Region};
use crate::driver::settings::Settings;
use crate::driver::timeline::Span;
use crate::driver::transfer::{self, Side};

/// The callback that frees memory.
type Free = Option<unsafe extern "C" fn(cl_command_queue, cl_uint, *mut *mut c_void, *mut c_void)>;

/// Fails unless the queue's device has shared virtual memory.
fn check_offered(queue: &Queue) -> Outcome<()> {
    let offered = queue.device().probe.svm.coarse_buffer;
    require(offered, cl::CL_INVALID_OPERATION, "the device has no shared virtual memory")
}

/// Bytes at an address: of shared virtual memory, or of the application.
unsafe fn side(queue: &Queue, address: *const c_void, bytes: usize) -> Outcome<Side> {
    require(!address.is_null(), cl::CL_INVALID_VALUE, "a pointer is NULL")?;
    if let Some(storage) = queue.owner().svm_at(address as usize) {
        let start = storage.shared_range().map_or(0, |range| range.address());
        return Ok(Side::Shared(storage, Pitched::at(address as usize - start)));
    }
    // SAFETY: the application passes memory of that size.
    Ok(Side::Host(unsafe { host(address, Some(bytes))? }, Pitched::at(0)))
}

fn nothing(queue: &Arc<Queue>, kind: u32, wait: Vec<Arc<Event>>) -> Outcome<Arc<Event>> {
    queue.submit(kind, wait, Waits::Queue, Box::new(|| Ok(Span::default())))
}

/// A map or unmap of shared virtual memory: no bytes move, as they are where the application reads them when no launch
/// runs. It takes time if the memory is coarse-grained.
fn mapping(
    queue: &Arc<Queue>,
    kind: u32,
    pointer: *const c_void,
    size: usize,
    wait: Vec<Arc<Event>>,
) -> Outcome<Arc<Event>> {
    let coarse = queue.owner().svm_at(pointer as usize).is_some_and(|storage| !storage.is_coherent());
    let span = if coarse { Span::map(queue.device(), size, 0) } else { Span::default() };
    queue.submit(kind, wait, Waits::Queue, Box::new(move || Ok(span)))
}

/// Allocates shared virtual memory; NULL if that fails.
#[allow(non_snake_case, reason = "the name in the API")]
pub(crate) unsafe extern "C" fn clSVMAlloc(
    context: cl_context,
    flags: cl_svm_mem_flags,
    size: usize,
    alignment: cl_uint,
) -> *mut c_void {
    let made = std::panic::catch_unwind(|| {
        find::<Context>(context).and_then(|context| context.svm_alloc(flags, size, alignment as usize))
    });
    match made {
        Ok(Ok(address)) => address as *mut c_void,
        Ok(Err(failure)) => {
            Settings::current().print(&failure.to_string());
            std::ptr::null_mut()
        }
        Err(_) => std::ptr::null_mut(),
    }
}

/// Frees shared virtual memory.
#[allow(non_snake_case, reason = "the name in the API")]
pub(crate) unsafe extern "C" fn clSVMFree(context: cl_context, pointer: *mut c_void) {
    let _ = std::panic::catch_unwind(|| {
        if let Ok(context) = find::<Context>(context) {
            context.svm_free(pointer as usize);
        }
    });
}

command! {
    fn clEnqueueSVMFree(
        queue, wait; num_pointers: cl_uint, pointers: *mut *mut c_void, callback: Free,
        user_data: *mut c_void
    ) {
        check_offered(&queue)?;
        let addresses = list(pointers.cast::<usize>().cast_const(), num_pointers as usize, cl::CL_INVALID_VALUE)?;
        let (context, handle) = (Arc::clone(queue.owner()), queue.handle().address());
        let user_data = user_data as usize;
        let action = move || {
            match callback {
                Some(callback) => {
                    let mut pointers: Vec<*mut c_void> =
                        addresses.iter().map(|address| *address as *mut c_void).collect();
                    // SAFETY: the application passed a function for this, which may be called from any thread.
                    unsafe {
                        callback(
                            handle as *mut c_void,
                            pointers.len() as cl_uint,
                            pointers.as_mut_ptr(),
                            user_data as *mut c_void,
                        );
                    };
                }
                None => addresses.iter().for_each(|address| context.svm_free(*address)),
            }
            Ok(Span::default())
        };
        queue.submit(cl::CL_COMMAND_SVM_FREE, wait, Waits::Queue, Box::new(action))
    }

    fn clEnqueueSVMMemcpy(
        queue, wait; blocking: cl_bool, to: *mut c_void, from: *const c_void, size: usize
    ) blocks blocking {
        check_offered(&queue)?;
        let (source, target) = (from as usize, to as usize);
        let apart = source.abs_diff(target) >= size;
        require(apart, cl::CL_MEM_COPY_OVERLAP, "the regions overlap")?;
        if size == 0 {
            return Ok(nothing(&queue, cl::CL_COMMAND_SVM_MEMCPY, wait));
        }
        let (from, to) = (side(&queue, from, size)?, side(&queue, to, size)?);
        transfer::copy(&queue, cl::CL_COMMAND_SVM_MEMCPY, from, to, Region::row(size), wait)
    }

    fn clEnqueueSVMMemFill(
        queue, wait; to: *mut c_void, pattern: *const c_void, pattern_size: usize, size: usize
    ) {
        check_offered(&queue)?;
        let pattern = fill_pattern(pattern, pattern_size, size)?;
        let aligned = (to as usize).is_multiple_of(pattern.len());
        require(aligned, cl::CL_INVALID_VALUE, "the pointer is not aligned to the pattern's size")?;
        if size == 0 {
            return Ok(nothing(&queue, cl::CL_COMMAND_SVM_MEMFILL, wait));
        }
        let to = side(&queue, to, size)?;
        transfer::fill(&queue, cl::CL_COMMAND_SVM_MEMFILL, &pattern, to, Region::row(size), wait)
    }

    fn clEnqueueSVMMap(
        queue, wait; blocking: cl_bool, _flags: cl_map_flags, pointer: *mut c_void, size: usize
    ) blocks blocking {
        check_offered(&queue)?;
        require(!pointer.is_null() && size > 0, cl::CL_INVALID_VALUE, "the region is empty")?;
        mapping(&queue, cl::CL_COMMAND_SVM_MAP, pointer, size, wait)
    }

    fn clEnqueueSVMUnmap(queue, wait; pointer: *mut c_void) {
        check_offered(&queue)?;
        require(!pointer.is_null(), cl::CL_INVALID_VALUE, "the pointer is NULL")?;
        mapping(&queue, cl::CL_COMMAND_SVM_UNMAP, pointer, 0, wait)
    }

    fn clEnqueueSVMMigrateMem(
        queue, wait; num_pointers: cl_uint, pointers: *mut *const c_void, sizes: *const usize,
        _flags: cl_mem_migration_flags
    ) {
        check_offered(&queue)?;
        let addresses = list(pointers.cast_const(), num_pointers as usize, cl::CL_INVALID_VALUE)?;
        require(!addresses.is_empty(), cl::CL_INVALID_VALUE, "there is no pointer")?;
        for (index, address) in addresses.into_iter().enumerate() {
            let storage = queue.owner().svm_at(address as usize);
            let none = || Failure::new(cl::CL_INVALID_VALUE, "a pointer is not in shared memory");
            let storage = storage.ok_or_else(none)?;
            let start = storage.shared_range().map_or(0, |range| range.address());
            let size = if sizes.is_null() { 0 } else { sizes.add(index).read_unaligned() };
            let inside = size <= storage.size() - (address as usize - start);
            require(inside, cl::CL_INVALID_VALUE, "a region is not inside of the shared memory")?;
        }
        nothing(&queue, cl::CL_COMMAND_SVM_MIGRATE_MEM, wait)
    }
}
