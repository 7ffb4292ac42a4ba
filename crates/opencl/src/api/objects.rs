//! Creation, configuration and release of objects.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use opencl_sys as cl;
use opencl_sys::{CL_SUCCESS, cl_int};

use super::{check_created, done, function};

macro_rules! of_one_object {
    ($($(#[$doc:meta])* $name:ident($raw:ty) is $function:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The object is live. For a release, the caller owns the reference.
        pub(crate) unsafe fn $name(object: $raw) -> Result<(), cl_int> {
            let function = function!($function);
            // SAFETY: guaranteed by the caller.
            done(unsafe { function(object) })
        }
    )*};
}

of_one_object! {
    /// Adds a reference.
    retain_context(cl::cl_context) is clRetainContext;
    /// Releases a reference.
    release_context(cl::cl_context) is clReleaseContext;
    /// Adds a reference.
    retain_command_queue(cl::cl_command_queue) is clRetainCommandQueue;
    /// Releases a reference.
    release_command_queue(cl::cl_command_queue) is clReleaseCommandQueue;
    /// Adds a reference.
    retain_mem_object(cl::cl_mem) is clRetainMemObject;
    /// Releases a reference.
    release_mem_object(cl::cl_mem) is clReleaseMemObject;
    /// Releases a reference.
    release_sampler(cl::cl_sampler) is clReleaseSampler;
    /// Releases a reference.
    release_program(cl::cl_program) is clReleaseProgram;
    /// Releases a reference.
    release_kernel(cl::cl_kernel) is clReleaseKernel;
    /// Adds a reference.
    retain_event(cl::cl_event) is clRetainEvent;
    /// Releases a reference.
    release_event(cl::cl_event) is clReleaseEvent;
    /// Submits the commands of a queue to the device.
    flush(cl::cl_command_queue) is clFlush;
    /// Waits for all commands of a queue.
    finish(cl::cl_command_queue) is clFinish;
}

/// Creates a context on one device.
///
/// # Safety
/// `properties` is a list that ends with 0.
pub(crate) unsafe fn create_context(
    device: cl::cl_device_id,
    properties: &[cl::cl_context_properties],
) -> Result<cl::cl_context, cl_int> {
    let function = function!(clCreateContext);
    let mut code = CL_SUCCESS;
    // SAFETY: lists of one device and of properties, which live for the call; no callback.
    let raw = unsafe { function(properties.as_ptr(), 1, &raw const device, None, null_mut(), &raw mut code) };
    check_created(raw, code)
}

/// # Safety
/// Context and device are live and belong together; `properties` is a list that ends with 0.
pub(crate) unsafe fn create_command_queue_with_properties(
    context: cl::cl_context,
    device: cl::cl_device_id,
    properties: &[cl::cl_queue_properties],
) -> Result<cl::cl_command_queue, cl_int> {
    let function = function!(clCreateCommandQueueWithProperties);
    let mut code = CL_SUCCESS;
    // SAFETY: guaranteed by the caller.
    let raw = unsafe { function(context, device, properties.as_ptr(), &raw mut code) };
    check_created(raw, code)
}

/// # Safety
/// Context and device are live and belong together.
pub(crate) unsafe fn create_command_queue(
    context: cl::cl_context,
    device: cl::cl_device_id,
    properties: cl::cl_command_queue_properties,
) -> Result<cl::cl_command_queue, cl_int> {
    let function = function!(clCreateCommandQueue);
    let mut code = CL_SUCCESS;
    // SAFETY: guaranteed by the caller.
    let raw = unsafe { function(context, device, properties, &raw mut code) };
    check_created(raw, code)
}

/// # Safety
/// The context is live; `host` is what `flags` require for `bytes` bytes.
pub(crate) unsafe fn create_buffer(
    context: cl::cl_context,
    flags: cl::cl_mem_flags,
    bytes: usize,
    host: *mut c_void,
) -> Result<cl::cl_mem, cl_int> {
    let function = function!(clCreateBuffer);
    let mut code = CL_SUCCESS;
    // SAFETY: guaranteed by the caller.
    let raw = unsafe { function(context, flags, bytes, host, &raw mut code) };
    check_created(raw, code)
}

/// Creates a sub-buffer.
///
/// # Safety
/// The buffer is live.
pub(crate) unsafe fn create_sub_buffer(
    buffer: cl::cl_mem,
    flags: cl::cl_mem_flags,
    region: cl::cl_buffer_region,
) -> Result<cl::cl_mem, cl_int> {
    let function = function!(clCreateSubBuffer);
    let mut code = CL_SUCCESS;
    let kind = cl::CL_BUFFER_CREATE_TYPE_REGION;
    // SAFETY: the region is what its type says and lives for the call; the caller guarantees a live object.
    let raw = unsafe { function(buffer, flags, kind, (&raw const region).cast(), &raw mut code) };
    check_created(raw, code)
}

/// # Safety
/// The context, and the object that the description names, are live; `host` is what `flags` require.
pub(crate) unsafe fn create_image(
    context: cl::cl_context,
    flags: cl::cl_mem_flags,
    format: &cl::cl_image_format,
    description: &cl::cl_image_desc,
    host: *mut c_void,
) -> Result<cl::cl_mem, cl_int> {
    let function = function!(clCreateImage);
    let mut code = CL_SUCCESS;
    // SAFETY: guaranteed by the caller.
    let raw = unsafe { function(context, flags, format, description, host, &raw mut code) };
    check_created(raw, code)
}

/// # Safety
/// The object is live. `call` may be called on any thread, once, with `data`.
pub(crate) unsafe fn set_mem_object_destructor_callback(
    object: cl::cl_mem,
    call: unsafe extern "C" fn(cl::cl_mem, *mut c_void),
    data: *mut c_void,
) -> Result<(), cl_int> {
    let function = function!(clSetMemObjectDestructorCallback);
    // SAFETY: guaranteed by the caller.
    done(unsafe { function(object, Some(call), data) })
}

/// # Safety
/// The context is live.
pub(crate) unsafe fn create_sampler(
    context: cl::cl_context,
    normalized: bool,
    addressing: cl::cl_addressing_mode,
    filter: cl::cl_filter_mode,
) -> Result<cl::cl_sampler, cl_int> {
    let function = function!(clCreateSampler);
    let mut code = CL_SUCCESS;
    // SAFETY: guaranteed by the caller.
    let raw = unsafe { function(context, u32::from(normalized), addressing, filter, &raw mut code) };
    check_created(raw, code)
}

/// Allocates shared virtual memory with the driver's default alignment. The call has no status code: it returns null
/// on failure.
///
/// # Safety
/// The context is live.
pub(crate) unsafe fn svm_alloc(
    context: cl::cl_context,
    flags: cl::cl_svm_mem_flags,
    bytes: usize,
) -> Result<*mut c_void, cl_int> {
    let function = function!(clSVMAlloc);
    // SAFETY: guaranteed by the caller.
    check_created(unsafe { function(context, flags, bytes, 0) }, CL_SUCCESS)
}

/// # Safety
/// The memory was allocated in this context and is not freed yet, and no command uses it any more.
pub(crate) unsafe fn svm_free(context: cl::cl_context, memory: *mut c_void) -> Result<(), cl_int> {
    let function = function!(clSVMFree);
    // SAFETY: guaranteed by the caller.
    unsafe { function(context, memory) };
    Ok(())
}

/// # Safety
/// The context is live.
pub(crate) unsafe fn create_program_with_source(
    context: cl::cl_context,
    text: &str,
) -> Result<cl::cl_program, cl_int> {
    let function = function!(clCreateProgramWithSource);
    let mut code = CL_SUCCESS;
    let (mut start, length) = (text.as_ptr().cast(), text.len());
    // SAFETY: a list of one text with its length, which live for the call; the caller guarantees a live object.
    let raw = unsafe { function(context, 1, &raw mut start, &raw const length, &raw mut code) };
    check_created(raw, code)
}

/// # Safety
/// The context is live.
pub(crate) unsafe fn create_program_with_il(
    context: cl::cl_context,
    module: &[u8],
) -> Result<cl::cl_program, cl_int> {
    let function = function!(clCreateProgramWithIL);
    let mut code = CL_SUCCESS;
    // SAFETY: as many bytes as the slice has; the caller guarantees a live object.
    let raw = unsafe { function(context, module.as_ptr().cast(), module.len(), &raw mut code) };
    check_created(raw, code)
}

/// Creates a program for one device.
///
/// # Safety
/// The context is live, and the device belongs to it.
pub(crate) unsafe fn create_program_with_binary(
    context: cl::cl_context,
    device: cl::cl_device_id,
    binary: &[u8],
) -> Result<cl::cl_program, cl_int> {
    let function = function!(clCreateProgramWithBinary);
    let (mut code, mut status) = (CL_SUCCESS, CL_SUCCESS);
    let (mut start, length) = (binary.as_ptr(), binary.len());
    // SAFETY: lists of one, which live for the call; the driver checks the contents.
    let raw = unsafe {
        function(
            context,
            1,
            &raw const device,
            &raw const length,
            &raw mut start,
            &raw mut status,
            &raw mut code,
        )
    };
    let raw = check_created(raw, code)?;
    match done(status) {
        Ok(()) => Ok(raw),
        Err(status) => {
            // SAFETY: just created, and not shared.
            let _ = unsafe { release_program(raw) };
            Err(status)
        }
    }
}

/// Builds a program for one device; returns when it is built.
///
/// # Safety
/// The program is live, and the device one of its devices.
pub(crate) unsafe fn build_program(
    program: cl::cl_program,
    device: cl::cl_device_id,
    options: &CStr,
) -> Result<(), cl_int> {
    let function = function!(clBuildProgram);
    // SAFETY: a list of one device; the options end with NUL; no callback, so the call returns after the build.
    done(unsafe { function(program, 1, &raw const device, options.as_ptr(), None, null_mut()) })
}

/// # Safety
/// The program is live.
pub(crate) unsafe fn create_kernel(program: cl::cl_program, name: &CStr) -> Result<cl::cl_kernel, cl_int> {
    let function = function!(clCreateKernel);
    let mut code = CL_SUCCESS;
    // SAFETY: the name ends with NUL; the caller guarantees a live object.
    let raw = unsafe { function(program, name.as_ptr(), &raw mut code) };
    check_created(raw, code)
}

/// # Safety
/// The kernel is live, and no other thread sets its arguments. `value` points to `size` bytes, or is null for local
/// memory.
pub(crate) unsafe fn set_kernel_arg(
    kernel: cl::cl_kernel,
    index: u32,
    size: usize,
    value: *const c_void,
) -> Result<(), cl_int> {
    let function = function!(clSetKernelArg);
    // SAFETY: guaranteed by the caller.
    done(unsafe { function(kernel, index, size, value) })
}

/// # Safety
/// The kernel is live, and no other thread sets its arguments. `memory` is shared virtual memory of its context, or
/// null.
pub(crate) unsafe fn set_kernel_arg_svm_pointer(
    kernel: cl::cl_kernel,
    index: u32,
    memory: *const c_void,
) -> Result<(), cl_int> {
    let function = function!(clSetKernelArgSVMPointer);
    // SAFETY: guaranteed by the caller.
    done(unsafe { function(kernel, index, memory) })
}
