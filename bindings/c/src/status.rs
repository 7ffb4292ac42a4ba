//! Statuses, the message of the last failure, and strings.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;

use tripipe::{Error, ErrorKind};

/// The outcome of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum tripipe_status {
    /// It succeeded.
    Success = 0,
    /// An argument is null, out of range, or does not fit the others.
    InvalidArgument = 1,
    /// There is no such device, or no OpenCL.
    NoDevice = 2,
    /// The device does not support the operation.
    Unsupported = 3,
    /// The host or the device is out of memory.
    OutOfMemory = 4,
    /// The device failed, or an operation that was queued before, or the process was forked from the one that made the
    /// context.
    DeviceFailed = 5,
    /// A bug of the library: please report it.
    Internal = 6,
}

/// A failed call: its status and a message.
pub(crate) struct Failure(tripipe_status, String);

impl Failure {
    /// An argument that is not valid.
    pub(crate) fn argument(message: impl fmt::Display) -> Self {
        Self(tripipe_status::InvalidArgument, message.to_string())
    }

    /// An argument that is a null pointer.
    pub(crate) fn null(argument: &str) -> Self {
        Self::argument(format_args!("{argument} is null"))
    }

    /// A device, context or queue that cannot be used.
    pub(crate) fn device(message: impl fmt::Display) -> Self {
        Self(tripipe_status::NoDevice, message.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match error.kind() {
            ErrorKind::DeviceName | ErrorKind::NoOpenCl | ErrorKind::NoSuchDevice => tripipe_status::NoDevice,
            ErrorKind::Unsupported => tripipe_status::Unsupported,
            ErrorKind::OutOfMemory => tripipe_status::OutOfMemory,
            ErrorKind::Device | ErrorKind::Dependency | ErrorKind::Forked => tripipe_status::DeviceFailed,
            _ => tripipe_status::InvalidArgument,
        };
        Self(status, error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// A copy that C can read: without the bytes after an embedded zero, of which messages have none.
fn c_string(text: &str) -> CString {
    let until = text.split('\0').next().unwrap_or_default();
    CString::new(until).unwrap_or_default()
}

fn keep(status: tripipe_status, message: &str) -> tripipe_status {
    // A thread that ends has no later call that could ask.
    let _ = LAST.try_with(|last| *last.borrow_mut() = c_string(message));
    status
}

/// Runs the body of a function of the API.
pub(crate) fn call(body: impl FnOnce() -> Result<(), Failure>) -> tripipe_status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => tripipe_status::Success,
        Ok(Err(Failure(status, message))) => keep(status, &message),
        Err(_) => keep(tripipe_status::Internal, "a bug in Tripipe: it panicked; please report it"),
    }
}

/// A string of the application.
///
/// # Safety
/// `text` is null or a string that ends with a zero byte.
pub(crate) unsafe fn text<'t>(text: *const c_char, argument: &str) -> Result<&'t str, Failure> {
    if text.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: the caller guarantees a string.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|error| Failure::argument(format_args!("{argument} is not UTF-8: {error}")))
}

/// Writes a result to where the application wants it.
///
/// # Safety
/// `into` is null or valid for a write.
pub(crate) unsafe fn give<T>(into: *mut T, value: T, argument: &str) -> Result<(), Failure> {
    if into.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: the caller guarantees a valid pointer.
    unsafe { into.write(value) };
    Ok(())
}

/// Gives the application a string, which it frees with `tripipe_string_free`.
///
/// # Safety
/// `into` is null or valid for a write.
pub(crate) unsafe fn give_text(into: *mut *mut c_char, value: &str, argument: &str) -> Result<(), Failure> {
    if into.is_null() {
        return Err(Failure::null(argument));
    }
    // SAFETY: as the caller guarantees.
    unsafe { give(into, c_string(value).into_raw(), argument) }
}

/// The object behind a handle.
///
/// # Safety
/// `handle` is null, or was made by this library and not freed.
pub(crate) unsafe fn object<'h, T>(handle: *const T, argument: &str) -> Result<&'h T, Failure> {
    // SAFETY: the caller guarantees a live object.
    unsafe { handle.as_ref() }.ok_or_else(|| Failure::null(argument))
}

/// Frees the object behind a handle; nothing happens for null. A panic of a destructor ends here.
///
/// # Safety
/// `handle` is null, or was made by this library from a `Box`, and is not used afterwards.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        call(|| {
            // SAFETY: the caller guarantees a live object that nothing uses any more.
            drop(unsafe { Box::from_raw(handle) });
            Ok(())
        });
    }
}

/// The version of the library, e.g. `0.1.0`. The string is constant.
#[unsafe(no_mangle)]
pub extern "C" fn tripipe_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The message of the last call that failed in this thread, in English; empty if none did. The string is valid until the
/// next call that fails in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn tripipe_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(null())
}

/// Frees a string that another function gave. Null is allowed.
///
/// # Safety
/// `text` is null or such a string, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_string_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the caller guarantees that it was made by `CString::into_raw`.
        drop(unsafe { CString::from_raw(text) });
    }
}
