//! Driver queries: lists and `clGet...Info`.
//!
//! Answers of `clGet...Info` are bytes; [`crate::info`] decodes them.

use std::ffi::c_void;
use std::ptr::null_mut;

use opencl_sys as cl;
use opencl_sys::cl_int;

use super::{done, function};

/// Maximum bytes of an answer. Real answers are far smaller; a driver that reports more is faulty.
const LONGEST: usize = 1 << 32;

/// The bytes of an answer. Queries the size, then the contents; a driver may return fewer bytes the second time.
fn answer(ask: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> Result<Vec<u8>, cl_int> {
    let mut size = 0;
    done(ask(0, null_mut(), &raw mut size))?;
    if size > LONGEST {
        return Err(cl::CL_OUT_OF_HOST_MEMORY);
    }
    let mut bytes = vec![0u8; size];
    if size > 0 {
        let mut given = size;
        done(ask(size, bytes.as_mut_ptr().cast(), &raw mut given))?;
        bytes.truncate(given);
    }
    Ok(bytes)
}

/// A list. Queries the length, then the items.
fn list<T: Copy>(
    empty: T,
    ask: impl Fn(cl::cl_uint, *mut T, *mut cl::cl_uint) -> cl_int,
) -> Result<Vec<T>, cl_int> {
    let mut count = 0;
    done(ask(0, null_mut(), &raw mut count))?;
    let mut items = vec![empty; count as usize];
    if count > 0 {
        let mut given = count;
        done(ask(count, items.as_mut_ptr(), &raw mut given))?;
        items.truncate(given as usize);
    }
    Ok(items)
}

/// All platforms.
pub(crate) fn platforms() -> Result<Vec<cl::cl_platform_id>, cl_int> {
    let function = function!(clGetPlatformIDs);
    // SAFETY: at most `count` items are written, and there is room for as many.
    list(null_mut(), |count, items, given| unsafe { function(count, items, given) })
}

/// An answer of a platform that [`platforms`] returned.
pub(crate) fn platform_info(platform: cl::cl_platform_id, question: u32) -> Result<Vec<u8>, cl_int> {
    let function = function!(clGetPlatformInfo);
    // SAFETY: at most `size` bytes are written, and there is room for as many; the driver checks the platform.
    answer(|size, into, given| unsafe { function(platform, question, size, into, given) })
}

/// The devices of a platform, of every type.
pub(crate) fn devices(platform: cl::cl_platform_id) -> Result<Vec<cl::cl_device_id>, cl_int> {
    let function = function!(clGetDeviceIDs);
    let all = cl::CL_DEVICE_TYPE_ALL;
    // SAFETY: at most `count` items are written, and there is room for as many; the driver checks the platform.
    list(null_mut(), |count, items, given| unsafe { function(platform, all, count, items, given) })
}

/// An answer of a device that [`devices`] returned.
pub(crate) fn device_info(device: cl::cl_device_id, question: u32) -> Result<Vec<u8>, cl_int> {
    let function = function!(clGetDeviceInfo);
    // SAFETY: as in `platform_info`.
    answer(|size, into, given| unsafe { function(device, question, size, into, given) })
}

/// # Safety
/// The context is live.
pub(crate) unsafe fn context_info(context: cl::cl_context, question: u32) -> Result<Vec<u8>, cl_int> {
    let function = function!(clGetContextInfo);
    // SAFETY: at most `size` bytes are written, and there is room for as many; the caller guarantees a live object.
    answer(|size, into, given| unsafe { function(context, question, size, into, given) })
}

/// # Safety
/// The queue is live.
pub(crate) unsafe fn command_queue_info(
    queue: cl::cl_command_queue,
    question: u32,
) -> Result<Vec<u8>, cl_int> {
    let function = function!(clGetCommandQueueInfo);
    // SAFETY: as in `context_info`.
    answer(|size, into, given| unsafe { function(queue, question, size, into, given) })
}

/// # Safety
/// The object is live.
pub(crate) unsafe fn mem_object_info(object: cl::cl_mem, question: u32) -> Result<Vec<u8>, cl_int> {
    let function = function!(clGetMemObjectInfo);
    // SAFETY: as in `context_info`.
    answer(|size, into, given| unsafe { function(object, question, size, into, given) })
}

/// The formats that a context supports for images of a type with an access.
///
/// # Safety
/// The context is live.
pub(crate) unsafe fn supported_image_formats(
    context: cl::cl_context,
    access: cl::cl_mem_flags,
    kind: cl::cl_mem_object_type,
) -> Result<Vec<cl::cl_image_format>, cl_int> {
    let function = function!(clGetSupportedImageFormats);
    let empty = cl::cl_image_format { image_channel_order: 0, image_channel_data_type: 0 };
    // SAFETY: at most `count` items are written, and there is room for as many; the caller guarantees a live object.
    list(empty, |count, items, given| unsafe { function(context, access, kind, count, items, given) })
}

/// # Safety
/// The program is live.
pub(crate) unsafe fn program_info(program: cl::cl_program, question: u32) -> Result<Vec<u8>, cl_int> {
    let function = function!(clGetProgramInfo);
    // SAFETY: as in `context_info`.
    answer(|size, into, given| unsafe { function(program, question, size, into, given) })
}

/// The binary of a program that was built for one device; empty if the driver does not return one.
///
/// # Safety
/// The program is live.
pub(crate) unsafe fn program_binary(program: cl::cl_program) -> Result<Vec<u8>, cl_int> {
    // SAFETY: the caller guarantees a live object.
    let sizes = unsafe { program_info(program, cl::CL_PROGRAM_BINARY_SIZES) }?;
    let sizes = crate::info::sizes(&sizes);
    let [size] = sizes[..] else { return Ok(Vec::new()) };
    if size == 0 || size > LONGEST {
        return Ok(Vec::new());
    }
    let function = function!(clGetProgramInfo);
    let mut binary = vec![0u8; size];
    let mut pointers = [binary.as_mut_ptr()];
    // SAFETY: one pointer, as there is one device, to as many bytes as the driver reported.
    done(unsafe {
        function(
            program,
            cl::CL_PROGRAM_BINARIES,
            size_of_val(&pointers),
            pointers.as_mut_ptr().cast(),
            null_mut(),
        )
    })?;
    Ok(binary)
}

/// # Safety
/// The program is live, and the device one of its devices.
pub(crate) unsafe fn program_build_info(
    program: cl::cl_program,
    device: cl::cl_device_id,
    question: u32,
) -> Result<Vec<u8>, cl_int> {
    let function = function!(clGetProgramBuildInfo);
    // SAFETY: as in `context_info`.
    answer(|size, into, given| unsafe { function(program, device, question, size, into, given) })
}

/// # Safety
/// The kernel is live.
pub(crate) unsafe fn kernel_info(kernel: cl::cl_kernel, question: u32) -> Result<Vec<u8>, cl_int> {
    let function = function!(clGetKernelInfo);
    // SAFETY: as in `context_info`.
    answer(|size, into, given| unsafe { function(kernel, question, size, into, given) })
}

/// # Safety
/// The kernel is live.
pub(crate) unsafe fn kernel_arg_info(
    kernel: cl::cl_kernel,
    index: u32,
    question: u32,
) -> Result<Vec<u8>, cl_int> {
    let function = function!(clGetKernelArgInfo);
    // SAFETY: as in `context_info`.
    answer(|size, into, given| unsafe { function(kernel, index, question, size, into, given) })
}

/// # Safety
/// The kernel is live, and the device one of its program's.
pub(crate) unsafe fn kernel_work_group_info(
    kernel: cl::cl_kernel,
    device: cl::cl_device_id,
    question: u32,
) -> Result<Vec<u8>, cl_int> {
    let function = function!(clGetKernelWorkGroupInfo);
    // SAFETY: as in `context_info`.
    answer(|size, into, given| unsafe { function(kernel, device, question, size, into, given) })
}

/// # Safety
/// The event is live.
pub(crate) unsafe fn event_info(event: cl::cl_event, question: u32) -> Result<Vec<u8>, cl_int> {
    let function = function!(clGetEventInfo);
    // SAFETY: as in `context_info`.
    answer(|size, into, given| unsafe { function(event, question, size, into, given) })
}

/// # Safety
/// The event is live.
pub(crate) unsafe fn event_profiling_info(event: cl::cl_event, question: u32) -> Result<u64, cl_int> {
    let function = function!(clGetEventProfilingInfo);
    let mut time = 0u64;
    // SAFETY: the answer is a number of 64 bits, and there is room for it; the caller guarantees a live object.
    done(unsafe { function(event, question, size_of::<u64>(), (&raw mut time).cast(), null_mut()) })?;
    Ok(time)
}

/// Waits until the command of an event has ended.
///
/// # Safety
/// The event is live.
pub(crate) unsafe fn wait_for_event(event: cl::cl_event) -> Result<(), cl_int> {
    let function = function!(clWaitForEvents);
    // SAFETY: a list of one, which lives for the call; the caller guarantees a live object.
    done(unsafe { function(1, &raw const event) })
}

/// # Safety
/// The event is live. `call` may be called on any thread, once, with `data`.
pub(crate) unsafe fn set_event_callback(
    event: cl::cl_event,
    status: cl_int,
    call: unsafe extern "C" fn(cl::cl_event, cl_int, *mut c_void),
    data: *mut c_void,
) -> Result<(), cl_int> {
    let function = function!(clSetEventCallback);
    // SAFETY: guaranteed by the caller.
    done(unsafe { function(event, status, Some(call), data) })
}
