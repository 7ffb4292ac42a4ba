//! Commands that are enqueued. None waits for events; each returns an event for its own completion.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use opencl_sys as cl;
use opencl_sys::{CL_FALSE, CL_SUCCESS, CL_TRUE, cl_event, cl_int, cl_map_flags};

use super::{NO_OBJECT, done, function};

/// The event of an enqueued command.
fn queued(code: cl_int, event: cl_event) -> Result<cl_event, cl_int> {
    done(code)?;
    if event.is_null() { Err(NO_OBJECT) } else { Ok(event) }
}

/// Enqueues a kernel over a range. If `event` is not null, the event is written to it.
///
/// # Safety
/// Queue and kernel are live and of one context. All arguments are set. The arrays have `dimensions` elements; `local`
/// may be null.
pub(crate) unsafe fn enqueue_kernel(
    queue: cl::cl_command_queue,
    kernel: cl::cl_kernel,
    dimensions: u32,
    offset: *const usize,
    global: *const usize,
    local: *const usize,
    event: *mut cl_event,
) -> Result<(), cl_int> {
    let function = function!(clEnqueueNDRangeKernel);
    // SAFETY: guaranteed by the caller.
    done(unsafe { function(queue, kernel, dimensions, offset, global, local, 0, null(), event) })
}

/// Enqueues a command that ends when all commands before it have ended.
///
/// # Safety
/// The queue is live.
pub(crate) unsafe fn enqueue_marker(queue: cl::cl_command_queue) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueMarkerWithWaitList);
    let mut event = null_mut();
    // SAFETY: guaranteed by the caller.
    let code = unsafe { function(queue, 0, null(), &raw mut event) };
    queued(code, event)
}

/// # Safety
/// Queue and buffers are live and of one context; both regions are inside and do not overlap.
pub(crate) unsafe fn enqueue_copy_buffer(
    queue: cl::cl_command_queue,
    (from, from_offset): (cl::cl_mem, usize),
    (to, to_offset): (cl::cl_mem, usize),
    bytes: usize,
) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueCopyBuffer);
    let mut event = null_mut();
    // SAFETY: guaranteed by the caller.
    let code = unsafe { function(queue, from, to, from_offset, to_offset, bytes, 0, null(), &raw mut event) };
    queued(code, event)
}

/// Enqueues a fill of the first `bytes` bytes of a buffer with one byte.
///
/// # Safety
/// Queue and buffer are live and of one context; the buffer has at least `bytes` bytes.
pub(crate) unsafe fn enqueue_fill_buffer(
    queue: cl::cl_command_queue,
    buffer: cl::cl_mem,
    byte: u8,
    bytes: usize,
) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueFillBuffer);
    let mut event = null_mut();
    // SAFETY: the driver copies the pattern of one byte during the call; the caller guarantees the rest.
    let code =
        unsafe { function(queue, buffer, (&raw const byte).cast(), 1, 0, bytes, 0, null(), &raw mut event) };
    queued(code, event)
}

/// Reads bytes of a buffer; returns when they are in `into`.
///
/// # Safety
/// Queue and buffer are live and of one context; the region is inside.
pub(crate) unsafe fn read_buffer(
    queue: cl::cl_command_queue,
    buffer: cl::cl_mem,
    offset: usize,
    into: &mut [u8],
) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueReadBuffer);
    let mut event = null_mut();
    let (bytes, start) = (into.len(), into.as_mut_ptr().cast());
    // SAFETY: a blocking read of as many bytes as the slice has; the caller guarantees the rest.
    let code = unsafe { function(queue, buffer, CL_TRUE, offset, bytes, start, 0, null(), &raw mut event) };
    queued(code, event)
}

/// Writes bytes of a buffer; returns when `from` may be reused.
///
/// # Safety
/// Queue and buffer are live and of one context; the region is inside.
pub(crate) unsafe fn write_buffer(
    queue: cl::cl_command_queue,
    buffer: cl::cl_mem,
    offset: usize,
    from: &[u8],
) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueWriteBuffer);
    let mut event = null_mut();
    let (bytes, start) = (from.len(), from.as_ptr().cast());
    // SAFETY: a blocking write of as many bytes as the slice has; the caller guarantees the rest.
    let code = unsafe { function(queue, buffer, CL_TRUE, offset, bytes, start, 0, null(), &raw mut event) };
    queued(code, event)
}

/// Enqueues a non-blocking read of `bytes` bytes of a buffer.
///
/// # Safety
/// Queue and buffer are live and of one context; the region is inside. The `bytes` bytes at `into` stay allocated and
/// are not accessed by anything else until the command has ended.
pub(crate) unsafe fn enqueue_read_buffer(
    queue: cl::cl_command_queue,
    buffer: cl::cl_mem,
    offset: usize,
    (into, bytes): (*mut u8, usize),
) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueReadBuffer);
    let mut event = null_mut();
    // SAFETY: guaranteed by the caller.
    let code =
        unsafe { function(queue, buffer, CL_FALSE, offset, bytes, into.cast(), 0, null(), &raw mut event) };
    queued(code, event)
}

/// Enqueues a non-blocking write of `bytes` bytes of a buffer.
///
/// # Safety
/// Queue and buffer are live and of one context; the region is inside. The `bytes` bytes at `from` stay allocated and
/// unchanged until the command has ended.
pub(crate) unsafe fn enqueue_write_buffer(
    queue: cl::cl_command_queue,
    buffer: cl::cl_mem,
    offset: usize,
    (from, bytes): (*const u8, usize),
) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueWriteBuffer);
    let mut event = null_mut();
    // SAFETY: guaranteed by the caller.
    let code =
        unsafe { function(queue, buffer, CL_FALSE, offset, bytes, from.cast(), 0, null(), &raw mut event) };
    queued(code, event)
}

/// Reads a region of an image into tightly packed rows and slices; returns when the data is in `into`.
///
/// # Safety
/// Queue and image are live and of one context; the region is inside, and `into` has as many bytes.
pub(crate) unsafe fn read_image(
    queue: cl::cl_command_queue,
    image: cl::cl_mem,
    (origin, region): &([usize; 3], [usize; 3]),
    into: &mut [u8],
) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueReadImage);
    let mut event = null_mut();
    let (origin, region, start) = (origin.as_ptr(), region.as_ptr(), into.as_mut_ptr().cast::<c_void>());
    // SAFETY: a blocking read, both pitches 0; the caller guarantees the rest.
    let code =
        unsafe { function(queue, image, CL_TRUE, origin, region, 0, 0, start, 0, null(), &raw mut event) };
    queued(code, event)
}

/// Writes a region of an image from tightly packed rows and slices; returns when `from` may be reused.
///
/// # Safety
/// As [`read_image`].
pub(crate) unsafe fn write_image(
    queue: cl::cl_command_queue,
    image: cl::cl_mem,
    (origin, region): &([usize; 3], [usize; 3]),
    from: &[u8],
) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueWriteImage);
    let mut event = null_mut();
    let (origin, region, start) = (origin.as_ptr(), region.as_ptr(), from.as_ptr().cast::<c_void>());
    // SAFETY: a blocking write, both pitches 0; the caller guarantees the rest.
    let code =
        unsafe { function(queue, image, CL_TRUE, origin, region, 0, 0, start, 0, null(), &raw mut event) };
    queued(code, event)
}

/// Maps a region of a buffer; returns its address and the event when it is mapped. With a faulty driver the address
/// may be null even after success.
///
/// # Safety
/// Queue and buffer are live and of one context; the region is inside.
pub(crate) unsafe fn map_buffer(
    queue: cl::cl_command_queue,
    buffer: cl::cl_mem,
    flags: cl_map_flags,
    offset: usize,
    bytes: usize,
) -> Result<(*mut c_void, cl_event), cl_int> {
    let function = function!(clEnqueueMapBuffer);
    let (mut event, mut code) = (null_mut(), CL_SUCCESS);
    // SAFETY: guaranteed by the caller.
    let start = unsafe {
        function(queue, buffer, CL_TRUE, flags, offset, bytes, 0, null(), &raw mut event, &raw mut code)
    };
    Ok((start, queued(code, event)?))
}

/// A mapped region of an image.
pub(crate) struct ImageMapping {
    /// Its address; may be null with a faulty driver.
    pub(crate) start: *mut c_void,
    /// Bytes from one row to the next.
    pub(crate) row_pitch: usize,
    /// Bytes from one slice to the next; 0 if there is only one.
    pub(crate) slice_pitch: usize,
    /// The event of the command.
    pub(crate) event: cl_event,
}

/// Maps a region of an image; returns when it is mapped.
///
/// # Safety
/// Queue and image are live and of one context; the region is inside.
pub(crate) unsafe fn map_image(
    queue: cl::cl_command_queue,
    image: cl::cl_mem,
    flags: cl_map_flags,
    (origin, region): &([usize; 3], [usize; 3]),
) -> Result<ImageMapping, cl_int> {
    let function = function!(clEnqueueMapImage);
    let (mut event, mut code) = (null_mut(), CL_SUCCESS);
    let (mut row_pitch, mut slice_pitch) = (0, 0);
    // SAFETY: the caller guarantees the arguments; the pitches are written to live variables.
    let start = unsafe {
        function(
            queue,
            image,
            CL_TRUE,
            flags,
            origin.as_ptr(),
            region.as_ptr(),
            &raw mut row_pitch,
            &raw mut slice_pitch,
            0,
            null(),
            &raw mut event,
            &raw mut code,
        )
    };
    Ok(ImageMapping { start, row_pitch, slice_pitch, event: queued(code, event)? })
}

/// Enqueues the unmapping of the region mapped at `start`.
///
/// # Safety
/// Queue and object are live and of one context; `start` was mapped, and is unmapped once.
pub(crate) unsafe fn enqueue_unmap(
    queue: cl::cl_command_queue,
    object: cl::cl_mem,
    start: *mut c_void,
) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueUnmapMemObject);
    let mut event = null_mut();
    // SAFETY: guaranteed by the caller.
    let code = unsafe { function(queue, object, start, 0, null(), &raw mut event) };
    queued(code, event)
}

/// Maps shared virtual memory; returns when it is mapped.
///
/// # Safety
/// The queue is live, and of the context in which the memory was allocated; the allocation has at least `bytes` bytes.
pub(crate) unsafe fn map_svm(
    queue: cl::cl_command_queue,
    flags: cl_map_flags,
    start: *mut c_void,
    bytes: usize,
) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueSVMMap);
    let mut event = null_mut();
    // SAFETY: guaranteed by the caller.
    let code = unsafe { function(queue, CL_TRUE, flags, start, bytes, 0, null(), &raw mut event) };
    queued(code, event)
}

/// # Safety
/// As [`map_svm`]; the memory is mapped, and is unmapped once.
pub(crate) unsafe fn enqueue_unmap_svm(
    queue: cl::cl_command_queue,
    start: *mut c_void,
) -> Result<cl_event, cl_int> {
    let function = function!(clEnqueueSVMUnmap);
    let mut event = null_mut();
    // SAFETY: guaranteed by the caller.
    let code = unsafe { function(queue, start, 0, null(), &raw mut event) };
    queued(code, event)
}
