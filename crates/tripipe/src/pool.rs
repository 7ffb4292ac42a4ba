//! The threads of the CPU path.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// As many threads as the global pool of `rayon` has, apart from it: the threads of that one are the application's, and may all
/// wait for operations. Nothing where the system gives no threads.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let make = || {
        let name = |index| format!("tripipe-cpu-path-{index}");
        ThreadPoolBuilder::new().num_threads(rayon::current_num_threads()).thread_name(name).build().ok()
    };
    POOL.get_or_init(make).as_ref()
}

/// Does the work on the threads of the CPU path, and waits for it.
pub(crate) fn on_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match pool() {
        None => work(),
        Some(pool) if rayon::current_thread_index().is_none() => pool.install(work),
        // A thread of another pool would do other work of that pool while it waits. That may want a lock that is held here.
        Some(pool) => thread::scope(|scope| {
            scope.spawn(|| pool.install(work)).join().unwrap_or_else(|panic| resume_unwind(panic))
        }),
    }
}
