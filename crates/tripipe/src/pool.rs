//! The threads of the CPU path.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::thread;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// A pool with as many threads as the global pool of `rayon`, separate from it: the threads of the global pool belong
/// to the application, and may all be waiting for operations. `None` when the system provides no threads.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let make = || {
        let name = |index| format!("tripipe-cpu-path-{index}");
        ThreadPoolBuilder::new().num_threads(rayon::current_num_threads()).thread_name(name).build().ok()
    };
    POOL.get_or_init(make).as_ref()
}

/// Runs the work on the threads of the CPU path, and waits for it.
pub(crate) fn on_pool<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match pool() {
        None => work(),
        Some(pool) if rayon::current_thread_index().is_none() => pool.install(work),
        // A thread of another pool would run other work of that pool while it waits. That work may want a lock that is
        // held here.
        Some(pool) => thread::scope(|scope| {
            scope.spawn(|| pool.install(work)).join().unwrap_or_else(|panic| resume_unwind(panic))
        }),
    }
}
