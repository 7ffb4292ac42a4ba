//! Work at the end of the process.

use std::ffi::c_int;

/// Has `call` called when the process ends by a return from `main` or by `exit`, before the exit handlers that were
/// registered earlier. A driver registers its own when it is loaded, so register after that what uses the driver.
/// Returns whether it is registered.
///
/// `call` must not panic: the process would abort. It is not called if the process is killed or aborts.
pub fn at_exit(call: extern "C" fn()) -> bool {
    unsafe extern "C" {
        fn atexit(call: extern "C" fn()) -> c_int;
    }
    // SAFETY: a function of the C library with this signature, which may be called at any time by any thread; `call` is
    // a function, which lives as long as the process.
    unsafe { atexit(call) == 0 }
}
