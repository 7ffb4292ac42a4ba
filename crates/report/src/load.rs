//! How busy the host's CPU is.

use tripipe_launch::CpuLoad;

/// As the results of commands have it.
pub(crate) fn cpu_load(load: CpuLoad) -> tripipe_results::CpuLoad {
    let CpuLoad { cores, calling_thread } = load;
    tripipe_results::CpuLoad { cores, calling_thread }
}

/// In words: `1.98 CPU cores busy, 0.99 of them the calling thread`.
pub fn busy_cores(load: CpuLoad) -> String {
    let CpuLoad { cores, calling_thread } = load;
    format!("{cores:.2} CPU cores busy, {calling_thread:.2} of them the calling thread")
}
