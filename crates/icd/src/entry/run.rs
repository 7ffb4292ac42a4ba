//! Launches.

use std::ffi::c_void;

use opencl_sys as cl;
use opencl_sys::{cl_command_queue, cl_event, cl_kernel, cl_mem, cl_uint};

use super::boundary::list;
use crate::driver::failure::{Failure, Outcome, require};
use crate::driver::handle::find;
use crate::driver::kernel::Kernel;
use crate::driver::launch::{self, WorkSizes};
use crate::driver::queue::Queue;

/// The sizes in the first dimensions, and `rest` in the others. `None` for NULL.
unsafe fn sizes(pointer: *const usize, dimensions: usize, rest: usize) -> Outcome<Option<[usize; 3]>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: the application passes NULL or a number for each dimension.
    let given = unsafe { list(pointer, dimensions, cl::CL_INVALID_VALUE)? };
    let mut all = [rest; 3];
    all[..dimensions].copy_from_slice(&given);
    Ok(Some(all))
}

function! {
    fn clEnqueueNativeKernel(
        queue: cl_command_queue,
        _function: Option<unsafe extern "C" fn(*mut c_void)>,
        _arguments: *mut c_void,
        _bytes: usize,
        _num_objects: cl_uint,
        _objects: *const cl_mem,
        _places: *mut *const c_void,
        _count: cl_uint,
        _events: *const cl_event,
        _event: *mut cl_event,
    ) {
        find::<Queue>(queue)?;
        Err(Failure::new(cl::CL_INVALID_OPERATION, "native kernels are not offered"))
    }
}

function! {
    fn clGetKernelSuggestedLocalWorkSizeKHR(
        queue: cl_command_queue,
        kernel: cl_kernel,
        dimensions: cl_uint,
        offset: *const usize,
        global: *const usize,
        suggested: *mut usize,
    ) {
        let (queue, kernel) = (find::<Queue>(queue)?, find::<Kernel>(kernel)?);
        let known = (1..=3).contains(&dimensions);
        require(known, cl::CL_INVALID_WORK_DIMENSION, "a range has 1, 2 or 3 dimensions")?;
        let dimensions = dimensions as usize;
        let global = sizes(global, dimensions, 1)?.filter(|global| !global.contains(&0));
        let global = global.ok_or_else(|| Failure::new(cl::CL_INVALID_GLOBAL_WORK_SIZE, "there is no global size"))?;
        let offset = sizes(offset, dimensions, 0)?.unwrap_or_default();
        require(!suggested.is_null(), cl::CL_INVALID_VALUE, "there is no place for the size")?;
        let local = launch::suggested(&queue, &kernel, WorkSizes { dimensions, offset, global, local: None })?;
        suggested.copy_from_nonoverlapping(local.as_ptr(), dimensions);
        Ok(())
    }
}

command! {
    fn clEnqueueNDRangeKernel(
        queue, wait; kernel: cl_kernel, dimensions: cl_uint, offset: *const usize, global: *const usize,
        local: *const usize
    ) {
        let kernel = find::<Kernel>(kernel)?;
        let known = (1..=3).contains(&dimensions);
        require(known, cl::CL_INVALID_WORK_DIMENSION, "a range has 1, 2 or 3 dimensions")?;
        let dimensions = dimensions as usize;
        let new = queue.device().is_at_least((2, 1));
        let global = sizes(global, dimensions, 1)?;
        if global.is_none() && !new {
            return Err(Failure::new(cl::CL_INVALID_GLOBAL_WORK_SIZE, "the global size is NULL"));
        }
        let global = global.unwrap_or([0; 3]);
        if global.contains(&0) && !new {
            return Err(Failure::new(cl::CL_INVALID_GLOBAL_WORK_SIZE, "the global size is 0"));
        }
        let offset = sizes(offset, dimensions, 0)?.unwrap_or_default();
        let overflows = offset.iter().zip(global).any(|(offset, size)| offset.checked_add(size).is_none());
        require(!overflows, cl::CL_INVALID_GLOBAL_OFFSET, "the offset is too large")?;
        let local = sizes(local, dimensions, 1)?;
        let sizes = WorkSizes { dimensions, offset, global, local };
        launch::enqueue(&queue, cl::CL_COMMAND_NDRANGE_KERNEL, &kernel, sizes, wait)
    }

    fn clEnqueueTask(queue, wait; kernel: cl_kernel) {
        let kernel = find::<Kernel>(kernel)?;
        let sizes = WorkSizes { dimensions: 1, offset: [0; 3], global: [1; 3], local: Some([1; 3]) };
        launch::enqueue(&queue, cl::CL_COMMAND_TASK, &kernel, sizes, wait)
    }
}
