//! Functions that the layer does not pass on as they are: queues take times for the trace, and the application sees
//! nothing of that.
#![allow(non_snake_case, reason = "the names in the API")]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;

use opencl_sys as cl;
use opencl_sys::{
    CL_SUCCESS, cl_command_queue, cl_command_queue_info, cl_command_queue_properties, cl_context,
    cl_device_id, cl_event, cl_event_info, cl_int, cl_platform_id, cl_profiling_info, cl_queue_properties,
};

use super::library::target;
use super::wrap::Word as _;
use super::{MISSING, function, put};
use crate::commands::Commands;
use crate::layer::Layer;

/// The recording of commands, if there is one.
fn commands() -> Option<&'static Commands> {
    Layer::current()?.commands()
}

/// # Safety
/// The arguments are those that the application passed; `code` is a place for a code.
pub(super) unsafe fn clCreateCommandQueue(
    context: cl_context,
    device: cl_device_id,
    properties: cl_command_queue_properties,
    code: *mut cl_int,
) -> cl_command_queue {
    let Some(next) = target().clCreateCommandQueue else {
        // SAFETY: as the caller promises.
        unsafe { put(code, MISSING) };
        return null_mut();
    };
    let with_times = properties | cl::CL_QUEUE_PROFILING_ENABLE;
    if let Some(commands) = commands().filter(|_| with_times != properties) {
        // SAFETY: as the caller promises.
        let queue = unsafe { next(context, device, with_times, code) };
        if !queue.is_null() {
            commands.takes_times(queue.word(), None);
            return queue;
        }
    }
    // SAFETY: as the caller promises.
    let queue = unsafe { next(context, device, properties, code) };
    if let Some(commands) = commands() {
        commands.forget_requested_properties(queue.word());
    }
    queue
}

/// # Safety
/// The arguments are those that the application passed; `code` is a place for a code.
pub(super) unsafe fn clCreateCommandQueueWithProperties(
    context: cl_context,
    device: cl_device_id,
    properties: *const cl_queue_properties,
    code: *mut cl_int,
) -> cl_command_queue {
    let Some(next) = target().clCreateCommandQueueWithProperties else {
        // SAFETY: as the caller promises.
        unsafe { put(code, MISSING) };
        return null_mut();
    };
    // SAFETY: as the caller promises.
    let asked = unsafe { list(properties) };
    let with_times = Commands::with_times(&asked);
    if let (Some(commands), Some(with_times)) = (commands(), with_times) {
        // SAFETY: as the caller promises; the list ends with a 0.
        let queue = unsafe { next(context, device, with_times.as_ptr(), code) };
        if !queue.is_null() {
            commands.takes_times(queue.word(), Some(asked));
            return queue;
        }
    }
    // SAFETY: as the caller promises.
    let queue = unsafe { next(context, device, properties, code) };
    if let Some(commands) = commands() {
        commands.forget_requested_properties(queue.word());
    }
    queue
}

/// A list of pairs with the 0 at its end; empty for NULL.
///
/// # Safety
/// `pairs` is NULL or such a list.
unsafe fn list(pairs: *const cl_queue_properties) -> Vec<u64> {
    let mut all = Vec::new();
    if pairs.is_null() {
        return all;
    }
    loop {
        // SAFETY: the list goes on until its 0.
        let key = unsafe { pairs.add(all.len()).read_unaligned() };
        all.push(key);
        if key == 0 {
            return all;
        }
        // SAFETY: a key that is not 0 has a value.
        all.push(unsafe { pairs.add(all.len()).read_unaligned() });
    }
}

/// # Safety
/// The arguments are those that the application passed.
pub(super) unsafe fn clGetCommandQueueInfo(
    queue: cl_command_queue,
    name: cl_command_queue_info,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> cl_int {
    let Some(next) = target().clGetCommandQueueInfo else { return MISSING };
    let asked = commands().and_then(|commands| commands.requested_properties(queue.word()));
    match (name, asked) {
        (cl::CL_QUEUE_PROPERTIES_ARRAY, Some(Some(asked))) => {
            // SAFETY: as the caller promises; nothing is written.
            let code = unsafe { next(queue, name, 0, null_mut(), null_mut()) };
            let bytes = size_of_val(&asked[..]);
            if code != CL_SUCCESS || (!value.is_null() && size < bytes) {
                return if code == CL_SUCCESS { cl::CL_INVALID_VALUE } else { code };
            }
            if !value.is_null() {
                // SAFETY: there is room.
                unsafe { std::ptr::copy_nonoverlapping(asked.as_ptr().cast::<u8>(), value.cast(), bytes) };
            }
            // SAFETY: as the caller promises.
            unsafe { put(size_ret, bytes) };
            CL_SUCCESS
        }
        (cl::CL_QUEUE_PROPERTIES, Some(_)) => {
            // SAFETY: as the caller promises.
            let code = unsafe { next(queue, name, size, value, size_ret) };
            if code == CL_SUCCESS && !value.is_null() {
                let place: *mut cl_command_queue_properties = value.cast();
                // SAFETY: the driver has put the properties there.
                let shown = unsafe { place.read_unaligned() } & !cl::CL_QUEUE_PROFILING_ENABLE;
                // SAFETY: as above.
                unsafe { put(place, shown) };
            }
            code
        }
        // SAFETY: as the caller promises.
        _ => unsafe { next(queue, name, size, value, size_ret) },
    }
}

/// # Safety
/// The arguments are those that the application passed.
pub(super) unsafe fn clGetEventInfo(
    event: cl_event,
    name: cl_event_info,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> cl_int {
    let Some(next) = target().clGetEventInfo else { return MISSING };
    // SAFETY: as the caller promises.
    let code = unsafe { next(event, name, size, value, size_ret) };
    if code == CL_SUCCESS && name == cl::CL_EVENT_REFERENCE_COUNT && !value.is_null() {
        let held = commands().map_or(0, |commands| commands.reference_count(event.word()));
        let place: *mut u32 = value.cast();
        // SAFETY: the driver has put the count there.
        unsafe { put(place, place.read_unaligned().saturating_sub(held)) };
    }
    code
}

/// # Safety
/// The arguments are those that the application passed.
pub(super) unsafe fn clGetEventProfilingInfo(
    event: cl_event,
    name: cl_profiling_info,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> cl_int {
    let Some(next) = target().clGetEventProfilingInfo else { return MISSING };
    if let (Some(commands), Some(layer)) = (commands(), Layer::current())
        && commands.requested_properties(layer.driver().event_queue(event.word())).is_some()
    {
        // The application did not ask for times.
        let mut unseen = 0u64;
        let size = size.min(size_of::<u64>());
        let place = if value.is_null() { null_mut() } else { (&raw mut unseen).cast() };
        // SAFETY: there is room for what the driver may write.
        let code = unsafe { next(event, name, size, place, null_mut()) };
        return if code == CL_SUCCESS { cl::CL_PROFILING_INFO_NOT_AVAILABLE } else { code };
    }
    // SAFETY: as the caller promises.
    unsafe { next(event, name, size, value, size_ret) }
}

/// # Safety
/// The arguments are those that the application passed.
pub(super) unsafe fn clGetExtensionFunctionAddress(name: *const c_char) -> *mut c_void {
    let Some(next) = target().clGetExtensionFunctionAddress else { return null_mut() };
    // SAFETY: as the caller promises.
    unsafe { wrapped(name, next(name)) }
}

/// # Safety
/// The arguments are those that the application passed.
pub(super) unsafe fn clGetExtensionFunctionAddressForPlatform(
    platform: cl_platform_id,
    name: *const c_char,
) -> *mut c_void {
    let Some(next) = target().clGetExtensionFunctionAddressForPlatform else { return null_mut() };
    // SAFETY: as the caller promises.
    unsafe { wrapped(name, next(platform, name)) }
}

/// This library's function of a name, if the driver has one of that name; else what the driver has.
///
/// # Safety
/// `name` is NULL or a text that ends with a 0.
unsafe fn wrapped(name: *const c_char, found: *mut c_void) -> *mut c_void {
    if found.is_null() || name.is_null() {
        return found;
    }
    // SAFETY: as the caller promises.
    let own = unsafe { CStr::from_ptr(name) }.to_str().map_or(null_mut(), function);
    if own.is_null() { found } else { own }
}
