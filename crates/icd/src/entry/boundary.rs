//! What all functions of the API have in common.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use opencl_sys as cl;
use opencl_sys::{cl_event, cl_int};

use crate::driver::event::Event;
use crate::driver::failure::{Failure, Outcome};
use crate::driver::handle::{ApiObject, find, retain};
use crate::driver::info::Answer;
use crate::driver::settings::Settings;

/// A function that returns an error code. Its body is an `Outcome<()>`.
macro_rules! function {
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[allow(non_snake_case, reason = "the name in the API")]
        #[allow(unused_unsafe, reason = "some functions take handles alone")]
        pub(crate) unsafe extern "C" fn $name($($argument: $ty),*) -> opencl_sys::cl_int {
            // SAFETY: the application passes pointers that are valid as OpenCL demands; handles are looked up, not
            // followed.
            $crate::entry::boundary::status(|| unsafe { $body })
        }
    )*};
}

/// A function that enqueues a command: before the arguments here it takes a queue, and after them a wait list and a place for
/// the command's event. Its body is the event, an `Outcome<Arc<Event>>`; with `blocks`, it waits for it unless that argument
/// is 0.
macro_rules! command {
    ($(
        fn $name:ident($queue:ident, $wait:ident; $($argument:ident: $ty:ty),* $(,)?)
        $(blocks $blocking:ident)? $body:block
    )*) => {function! {$(
        fn $name(
            $queue: opencl_sys::cl_command_queue,
            $($argument: $ty,)*
            count: opencl_sys::cl_uint,
            events: *const opencl_sys::cl_event,
            event: *mut opencl_sys::cl_event,
        ) {
            let $queue = $crate::driver::handle::find::<$crate::driver::queue::Queue>($queue)?;
            let $wait = $crate::entry::boundary::wait_list(count, events)?;
            let blocks = [$($blocking != 0,)? false][0];
            let enqueue = || -> $crate::entry::boundary::Enqueued { Ok($body) };
            let done = $crate::entry::boundary::reported(&$queue, enqueue()?)?;
            $crate::entry::boundary::submitted(&done, blocks, event)
        }
    )*}};
}

/// A function that answers a query: after the arguments here it takes the room for the answer and places for it and its size.
/// Its body is an `Outcome<Answer>`.
macro_rules! query {
    ($(fn $name:ident($($argument:ident: $ty:ty),*) $body:block)*) => {function! {$(
        fn $name($($argument: $ty,)* size: usize, value: *mut std::ffi::c_void, size_ret: *mut usize) {
            $crate::entry::boundary::answer(&$body?, size, value, size_ret)
        }
    )*}};
}

/// Functions that count the application's references to objects.
macro_rules! references {
    ($($object:ty: $retain:ident, $release:ident;)*) => {function! {$(
        fn $retain(handle: *mut std::ffi::c_void) {
            $crate::driver::handle::retain::<$object>(handle)
        }

        fn $release(handle: *mut std::ffi::c_void) {
            $crate::driver::handle::release::<$object>(handle)
        }
    )*}};
}

/// A function that returns a handle or another pointer, with the error code as its last argument. Its body is an
/// `Outcome<*mut c_void>`.
macro_rules! constructor {
    ($(fn $name:ident($($argument:ident: $ty:ty),* $(,)?) $body:block)*) => {$(
        #[allow(non_snake_case, reason = "the name in the API")]
        #[allow(unused_unsafe, reason = "some functions take handles alone")]
        pub(crate) unsafe extern "C" fn $name(
            $($argument: $ty,)*
            errcode_ret: *mut opencl_sys::cl_int,
        ) -> *mut std::ffi::c_void {
            let mut made = std::ptr::null_mut();
            let make = || -> $crate::driver::failure::Outcome<*mut std::ffi::c_void> {
                // SAFETY: as for `function!`.
                unsafe { $body }
            };
            let code = $crate::entry::boundary::status(|| {
                made = make()?;
                Ok(())
            });
            // SAFETY: the application passes NULL or a place for the code.
            unsafe { $crate::entry::boundary::put(errcode_ret, code) };
            made
        }
    )*};
}

/// The event of a command, unless its arguments have errors or it cannot be enqueued. Only the latter is told to the context.
pub(super) type Enqueued = Outcome<Outcome<Arc<Event>>>;

/// The code of a call.
pub(super) fn status(call: impl FnOnce() -> Outcome<()>) -> cl_int {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => cl::CL_SUCCESS,
        Ok(Err(failure)) => {
            Settings::current().print(&failure.to_string());
            failure.code
        }
        Err(_) => cl::CL_OUT_OF_RESOURCES,
    }
}

/// Tells the context of an object why a call failed.
pub(super) fn reported<T, O: ApiObject>(object: &Arc<O>, outcome: Outcome<T>) -> Outcome<T> {
    if let (Err(failure), Some(context)) = (&outcome, object.context().and_then(|context| context.upgrade()))
    {
        context.report(failure);
    }
    outcome
}

/// What an object answers to a query.
pub(super) fn asked<O: ApiObject>(
    handle: *mut c_void,
    ask: impl FnOnce(&O) -> Outcome<Answer>,
) -> Outcome<Answer> {
    let object = find::<O>(handle)?;
    reported(&object, ask(&object))
}

/// Writes a value where the application wants it; nowhere for NULL.
///
/// # Safety
/// `to` is NULL or a place for the value.
pub(super) unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller passes a place; the application may pass one that is not aligned.
        unsafe { to.write_unaligned(value) };
    }
}

/// Writes an answer and its size.
///
/// # Safety
/// `to` is NULL or has `size` bytes, `size_ret` is NULL or a place for a size.
pub(super) unsafe fn answer(
    bytes: &Answer,
    size: usize,
    to: *mut c_void,
    size_ret: *mut usize,
) -> Outcome<()> {
    if !to.is_null() {
        if size < bytes.len() {
            let what = format!("the answer has {} bytes, there is room for {size}", bytes.len());
            return Err(Failure::new(cl::CL_INVALID_VALUE, what));
        }
        // SAFETY: there is room, and the application's memory is not the answer's.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
    }
    // SAFETY: as the caller promises.
    unsafe { put(size_ret, bytes.len()) };
    Ok(())
}

/// Copies a list of the application. NULL and 0 is an empty list.
///
/// # Errors
/// There is a list without a number, or a number without a list.
///
/// # Safety
/// `list` is NULL or has `count` values.
pub(super) unsafe fn list<T: Copy>(list: *const T, count: usize, code: cl_int) -> Outcome<Vec<T>> {
    if list.is_null() != (count == 0) {
        return Err(Failure::new(code, "a list and the number of its values do not fit each other"));
    }
    // SAFETY: the list has `count` values; it may not be aligned.
    Ok((0..count).map(|index| unsafe { list.add(index).read_unaligned() }).collect())
}

/// A text that ends with a 0.
///
/// # Errors
/// It is NULL.
///
/// # Safety
/// `text` is NULL or a text that ends with a 0.
pub(super) unsafe fn text(text: *const c_char) -> Outcome<String> {
    if text.is_null() {
        return Err(Failure::new(cl::CL_INVALID_VALUE, "a text is NULL"));
    }
    // SAFETY: as the caller promises.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// A list of pairs that ends with a key of 0, with that 0; empty for NULL.
///
/// # Safety
/// `pairs` is NULL or such a list.
pub(super) unsafe fn pairs<T: Copy + PartialEq + From<u8>>(pairs: *const T) -> Vec<T> {
    let mut all = Vec::new();
    if pairs.is_null() {
        return all;
    }
    loop {
        // SAFETY: the list goes on until its 0.
        let key = unsafe { pairs.add(all.len()).read_unaligned() };
        all.push(key);
        if key == T::from(0) {
            return all;
        }
        // SAFETY: a key that is not 0 has a value.
        all.push(unsafe { pairs.add(all.len()).read_unaligned() });
    }
}

/// Three numbers.
///
/// # Errors
/// They are NULL.
///
/// # Safety
/// `numbers` is NULL or has three numbers.
pub(super) unsafe fn three(numbers: *const usize) -> Outcome<[usize; 3]> {
    if numbers.is_null() {
        return Err(Failure::new(cl::CL_INVALID_VALUE, "an origin or a region is NULL"));
    }
    // SAFETY: as the caller promises; they may not be aligned.
    Ok(unsafe { numbers.cast::<[usize; 3]>().read_unaligned() })
}

/// The events of a wait list.
///
/// # Errors
/// The list and its length do not fit each other, or something in it is no event.
///
/// # Safety
/// `events` is NULL or has `count` handles.
pub(super) unsafe fn wait_list(count: u32, events: *const cl_event) -> Outcome<Vec<Arc<Event>>> {
    // SAFETY: as the caller promises.
    let handles = unsafe { list(events, count as usize, cl::CL_INVALID_EVENT_WAIT_LIST)? };
    let invalid = |failure| Failure { code: cl::CL_INVALID_EVENT_WAIT_LIST, ..failure };
    handles.into_iter().map(|handle| find::<Event>(handle).map_err(invalid)).collect()
}

/// Gives the application an event, and waits for it if the call blocks.
///
/// # Errors
/// The call blocks, and the command failed, or one before it of which the application was not told.
///
/// # Safety
/// `to` is NULL or a place for a handle.
pub(super) unsafe fn submitted(event: &Arc<Event>, blocks: bool, to: *mut cl_event) -> Outcome<()> {
    if !to.is_null() {
        retain::<Event>(event.handle().pointer())?;
        // SAFETY: as the caller promises.
        unsafe { put(to, event.handle().pointer()) };
    }
    if blocks {
        let status = event.wait();
        event.queue().map_or(Ok(()), |queue| queue.check())?;
        if status < 0 {
            return Err(Failure::new(status, "the command failed"));
        }
    }
    Ok(())
}
