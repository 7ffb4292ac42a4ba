//! What an executor reports about a kernel and about a launch.

/// What a compiler reports about one kernel on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelFacts {
    /// Largest work-group that this kernel supports, in work-items.
    pub max_work_group_size: usize,
    /// Work-group sizes that are a multiple of this many work-items leave no lanes idle.
    pub preferred_work_group_multiple: usize,
    /// Local memory that the kernel itself declares, in bytes.
    pub local_bytes: u64,
    /// Private memory of a work-item, in bytes: spills and arrays.
    pub private_bytes: u64,
}

/// The times at which one launch was queued, submitted, started and ended, in nanoseconds of the device's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// The host enqueued it.
    pub queued_ns: u64,
    /// The driver submitted it to the device.
    pub submit_ns: u64,
    /// The first work-item started.
    pub start_ns: u64,
    /// The last work-item ended.
    pub end_ns: u64,
}

impl Timing {
    /// Seconds from start to end.
    pub fn seconds(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 * 1e-9
    }

    /// Seconds from the first start to the last end, including gaps between launches; 0 if there are none.
    pub fn span_seconds(timings: &[Timing]) -> f64 {
        let start = timings.iter().map(|timing| timing.start_ns).min().unwrap_or(0);
        let end = timings.iter().map(|timing| timing.end_ns).max().unwrap_or(0);
        end.saturating_sub(start) as f64 * 1e-9
    }
}
