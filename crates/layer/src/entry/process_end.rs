//! What runs when the process ends or forks.

use crate::layer::Layer;

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> i32;
}

/// Ends the recording with the process, and leaves it in children.
pub(super) fn register() {
    // SAFETY: functions of the C library with functions that live as long as the process: the library is not unloaded.
    unsafe {
        atexit(at_exit);
        pthread_atfork(None, None, Some(in_fork));
    }
}

/// Ends the recording once more before what was registered until now: drivers register their ends when they make
/// contexts.
pub(crate) fn end_before_driver() {
    // SAFETY: as in `register`.
    unsafe { atexit(at_exit) };
}

extern "C" fn at_exit() {
    // A panic must not leave it; nothing else can be done about it.
    let _ = std::panic::catch_unwind(Layer::end);
    if cfg!(target_os = "android") {
        // Its C library does not call the functions of `.fini_array` when a process ends.
        at_last();
    }
}

/// Runs after all functions that the application registered with `atexit`, and after destructors of its objects, which
/// may release objects of OpenCL.
pub(super) extern "C" fn at_last() {
    // As above.
    let _ = std::panic::catch_unwind(Layer::finish);
}

#[used]
#[cfg_attr(any(target_os = "linux", target_os = "android"), unsafe(link_section = ".fini_array"))]
static AT_LAST: extern "C" fn() = at_last;

/// A child has no other threads, and may have copies of locked locks.
extern "C" fn in_fork() {
    Layer::leave();
}
