//! Devices and contexts.

use std::ffi::{c_char, c_void};
use std::num::NonZeroUsize;

use tripipe::Threads;
use tripipe::opencl::{ExecutorOptions, OpenClExecutor, Queue};
use tripipe::{Context, Device};

use crate::status::{Failure, call, free, give, give_text, object, text, tripipe_status};

/// A device with its queue. Any number of threads may use it at the same time.
pub struct tripipe_context {
    pub(crate) context: Context,
}

/// Gives the number of devices of this machine, the CPU included.
///
/// # Safety
/// `count` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_device_count(count: *mut usize) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        unsafe { give(count, Device::list().devices.len(), "count") }
    })
}

/// Gives the name of a device, as `tripipe_context_new` takes it, e.g. `opencl:0` or `cpu`, and its description. Free
/// both with `tripipe_string_free`.
///
/// # Safety
/// `name` and `description` are valid for writes; either may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_device_name(
    index: usize,
    name: *mut *mut c_char,
    description: *mut *mut c_char,
) -> tripipe_status {
    call(|| {
        let devices = Device::list().devices;
        let device = devices.get(index).ok_or_else(|| {
            Failure::argument(format_args!("no device {index}: this machine has {}", devices.len()))
        })?;
        for (into, value) in [(name, device.choice().to_string()), (description, device.name())] {
            if !into.is_null() {
                // SAFETY: as the caller guarantees.
                unsafe { give_text(into, &value, "name") }?;
            }
        }
        Ok(())
    })
}

/// Makes a context on a device: `auto`, `cpu`, `opencl`, `opencl:N` or `virtual:GPU`, e.g. `virtual:mali-g77`. `opencl`
/// is the strongest OpenCL device, a GPU before a CPU; null is `auto`: that if it is a GPU, or else the CPU. Free it
/// with `tripipe_context_free`.
///
/// # Safety
/// `device` is null or a string; `context` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_context_new(
    device: *const c_char,
    context: *mut *mut tripipe_context,
) -> tripipe_status {
    // SAFETY: as the caller guarantees.
    unsafe { tripipe_context_with_threads(device, 0, context) }
}

/// As `tripipe_context_new`, with the number of threads that an operation on the CPU uses, with the one that runs it: 0 is
/// one for each processor.
///
/// # Safety
/// As `tripipe_context_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_context_with_threads(
    device: *const c_char,
    threads: usize,
    context: *mut *mut tripipe_context,
) -> tripipe_status {
    call(|| {
        let device = if device.is_null() {
            Device::best()?
        } else {
            // SAFETY: as the caller guarantees.
            Device::named(unsafe { text(device, "device") }?)?
        };
        let threads = NonZeroUsize::new(threads).map_or(Threads::All, Threads::AtMost);
        let made = tripipe_context { context: Context::builder().threads(threads).build(&device)? };
        // SAFETY: as the caller guarantees.
        unsafe { give_context(context, made) }
    })
}

/// Makes a context over a command queue of the application (`cl_command_queue`): what it does is enqueued there, in order
/// with the commands of the application, and it can use the buffers of the queue's context
/// (`tripipe_vector_import`). The queue is in order. The CPU path is not used where it would be faster.
///
/// # Safety
/// `queue` is a live queue of the system's OpenCL library; `context` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_context_on_queue(
    queue: *mut c_void,
    context: *mut *mut tripipe_context,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        let (_, made) = unsafe { on_queue(queue) }?;
        // SAFETY: as the caller guarantees.
        unsafe { give_context(context, tripipe_context { context: made }) }
    })
}

/// A context over a command queue.
///
/// # Safety
/// `queue` is null or a live queue of the system's OpenCL library.
pub(crate) unsafe fn on_queue(queue: *mut c_void) -> Result<(Queue, Context), Failure> {
    if queue.is_null() {
        return Err(Failure::null("queue"));
    }
    // SAFETY: as the caller guarantees.
    let queue = unsafe { Queue::over(queue) }.map_err(Failure::device)?;
    let executor = OpenClExecutor::on(&queue, &ExecutorOptions::default());
    let builder = Context::builder().cpu_when_faster(false).profiling(queue.profiles());
    Ok((queue, builder.build_over(executor)?))
}

/// # Safety
/// `into` is null or valid for a write.
unsafe fn give_context(into: *mut *mut tripipe_context, context: tripipe_context) -> Result<(), Failure> {
    if into.is_null() {
        return Err(Failure::null("context"));
    }
    // SAFETY: as the caller guarantees.
    unsafe { give(into, Box::into_raw(Box::new(context)), "context") }
}

/// Gives the name of a context's device. Free it with `tripipe_string_free`.
///
/// # Safety
/// `context` is live; `name` is valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_context_name(
    context: *const tripipe_context,
    name: *mut *mut c_char,
) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        unsafe { give_text(name, object(context, "context")?.context.name(), "name") }
    })
}

/// Waits until all queued operations have ended. Reports the first failure of one that was not reported yet.
///
/// # Safety
/// `context` is live.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_context_finish(context: *const tripipe_context) -> tripipe_status {
    call(|| {
        // SAFETY: as the caller guarantees.
        Ok(unsafe { object(context, "context") }?.context.finish()?)
    })
}

/// Frees a context. Its vectors may be used on, and freed later. Null is allowed.
///
/// # Safety
/// `context` is null or live, and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tripipe_context_free(context: *mut tripipe_context) {
    // SAFETY: as the caller guarantees.
    unsafe { free(context) }
}
