//! Events.

use super::*;

#[unsafe(no_mangle)]
pub extern "C" fn clWaitForEvents(count: Uint, events: *const Handle) -> Int {
    if lost() {
        return DEVICE_NOT_AVAILABLE;
    }
    let events = unsafe { std::slice::from_raw_parts(events, count as usize) };
    if events.contains(&FAILED_EVENT) { FAILED_IN_LIST } else { SUCCESS }
}

/// The status of a command, as reported by its event.
fn status(event: Handle) -> Int {
    match event {
        _ if lost() => DEVICE_NOT_AVAILABLE,
        FAILED_EVENT => OUT_OF_RESOURCES,
        _ => SUCCESS,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetEventInfo(
    event: Handle,
    _question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    answer(&status(event).to_ne_bytes(), size, value, size_ret)
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetEventProfilingInfo(
    _event: Handle,
    _question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    let now = if value.is_null() { 0 } else { CLOCK.fetch_add(1000, Ordering::Relaxed) };
    answer(&now.to_ne_bytes(), size, value, size_ret)
}

#[unsafe(no_mangle)]
pub extern "C" fn clSetEventCallback(
    event: Handle,
    _status: Int,
    call: extern "C" fn(Handle, Int, *mut c_void),
    data: *mut c_void,
) -> Int {
    if is("refuse-callback") {
        return INVALID_VALUE;
    }
    let status = status(event);
    let (event, data) = (event as usize, data as usize);
    std::thread::spawn(move || call(event as Handle, status, data as *mut c_void));
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clReleaseEvent(_event: Handle) -> Int {
    released()
}
