//! Direct OpenCL calls, as by another user of the library.
#![allow(
    dead_code,
    unreachable_pub,
    unsafe_code,
    clippy::unwrap_used,
    reason = "tests and benchmarks; each uses what it needs"
)]

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use libloading::Library;
use opencl_sys as cl;

/// The library that the crate under test has loaded.
pub fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let path = tripipe_opencl::library::load().unwrap();
        // SAFETY: it is already loaded.
        unsafe { Library::new(path) }.unwrap()
    })
}

/// A function of the library: `raw!(clFlush_t, b"clFlush\0")`.
macro_rules! raw {
    ($type:ident, $name:literal) => {{
        let library = $crate::raw::library();
        // SAFETY: the type is that of the function in the headers of OpenCL.
        let function = unsafe { library.get::<opencl_sys::cl_function_types::$type>($name) };
        function.unwrap().unwrap()
    }};
}

/// The first device of the first platform.
pub fn first_device() -> *mut c_void {
    let (mut platform, mut device) = (null_mut(), null_mut());
    let (platforms, all) = (raw!(clGetPlatformIDs_t, b"clGetPlatformIDs\0"), cl::CL_DEVICE_TYPE_ALL);
    let devices = raw!(clGetDeviceIDs_t, b"clGetDeviceIDs\0");
    // SAFETY: room for one of each.
    unsafe {
        assert_eq!(platforms(1, &raw mut platform, null_mut()), 0);
        assert_eq!(devices(platform, all, 1, &raw mut device, null_mut()), 0);
    }
    device
}

/// A context on a device.
pub fn context(device: *mut c_void) -> *mut c_void {
    let mut code = 0;
    let create = raw!(clCreateContext_t, b"clCreateContext\0");
    // SAFETY: a list of one device, no properties, no callback.
    let context = unsafe { create(null(), 1, &raw const device, None, null_mut(), &raw mut code) };
    assert_eq!(code, 0);
    context
}

/// A queue; with `profiling`, one that takes times.
pub fn queue(context: *mut c_void, device: *mut c_void, profiling: bool) -> *mut c_void {
    let mut code = 0;
    let flags = if profiling { cl::CL_QUEUE_PROFILING_ENABLE } else { 0 };
    let create = raw!(clCreateCommandQueue_t, b"clCreateCommandQueue\0");
    // SAFETY: both are live and belong together.
    let queue = unsafe { create(context, device, flags, &raw mut code) };
    assert_eq!(code, 0);
    queue
}

/// A buffer with a copy of `values`.
pub fn buffer<T: Copy>(context: *mut c_void, flags: cl::cl_mem_flags, values: &mut [T]) -> *mut c_void {
    let mut code = 0;
    let create = raw!(clCreateBuffer_t, b"clCreateBuffer\0");
    let flags = flags | cl::CL_MEM_COPY_HOST_PTR;
    // SAFETY: as many bytes as the slice has are copied.
    let buffer =
        unsafe { create(context, flags, size_of_val(values), values.as_mut_ptr().cast(), &raw mut code) };
    assert_eq!(code, 0);
    buffer
}

/// A sub-buffer of `bytes` bytes at `offset`.
pub fn part(buffer: *mut c_void, offset: usize, bytes: usize) -> *mut c_void {
    let mut code = 0;
    let create = raw!(clCreateSubBuffer_t, b"clCreateSubBuffer\0");
    let region = cl::cl_buffer_region { origin: offset, size: bytes };
    let kind = cl::CL_BUFFER_CREATE_TYPE_REGION;
    // SAFETY: the region lives for the call.
    let part =
        unsafe { create(buffer, cl::CL_MEM_READ_WRITE, kind, (&raw const region).cast(), &raw mut code) };
    assert_eq!(code, 0);
    part
}

/// Reads `count` values of a buffer.
pub fn read<T: Copy + Default>(queue: *mut c_void, buffer: *mut c_void, count: usize) -> Vec<T> {
    let mut values = vec![T::default(); count];
    let read = raw!(clEnqueueReadBuffer_t, b"clEnqueueReadBuffer\0");
    let (bytes, into) = (size_of_val(&values[..]), values.as_mut_ptr().cast());
    // SAFETY: the read is complete when the call returns, and the values have as many bytes.
    assert_eq!(unsafe { read(queue, buffer, 1, 0, bytes, into, 0, null(), null_mut()) }, 0);
    values
}

/// Writes values to the start of a buffer.
pub fn write<T: Copy>(queue: *mut c_void, buffer: *mut c_void, values: &[T]) {
    let write = raw!(clEnqueueWriteBuffer_t, b"clEnqueueWriteBuffer\0");
    let (bytes, from) = (size_of_val(values), values.as_ptr().cast());
    // SAFETY: the write is complete when the call returns, and the values have as many bytes.
    assert_eq!(unsafe { write(queue, buffer, 1, 0, bytes, from, 0, null(), null_mut()) }, 0);
}

/// The driver's reference count of a buffer.
pub fn references(buffer: *mut c_void) -> u32 {
    let mut count = 0u32;
    let ask = raw!(clGetMemObjectInfo_t, b"clGetMemObjectInfo\0");
    let into = (&raw mut count).cast();
    // SAFETY: room for the answer, which is a `cl_uint`.
    assert_eq!(unsafe { ask(buffer, cl::CL_MEM_REFERENCE_COUNT, 4, into, null_mut()) }, 0);
    count
}

/// Releases the caller's reference to a buffer.
pub fn release_buffer(buffer: *mut c_void) {
    let release = raw!(clReleaseMemObject_t, b"clReleaseMemObject\0");
    // SAFETY: the test releases its own reference, once.
    assert_eq!(unsafe { release(buffer) }, 0);
}

/// Releases the caller's reference to a queue.
pub fn release_queue(queue: *mut c_void) {
    let release = raw!(clReleaseCommandQueue_t, b"clReleaseCommandQueue\0");
    // SAFETY: as above.
    assert_eq!(unsafe { release(queue) }, 0);
}

/// Releases the caller's reference to a context.
pub fn release_context(context: *mut c_void) {
    let release = raw!(clReleaseContext_t, b"clReleaseContext\0");
    // SAFETY: as above.
    assert_eq!(unsafe { release(context) }, 0);
}
