//! Options of an executor.

#[cfg(feature = "nvml")]
use std::sync::Arc;

use tripipe_cache::CacheChoice;
use tripipe_device::Probe;

#[cfg(feature = "nvml")]
use crate::energy::EnergyCounter;
use crate::memory::Strategy;

/// Options of an [`super::OpenClExecutor`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExecutorOptions {
    /// How contents are transferred; `None` selects what suits the device.
    pub strategy: Option<Strategy>,
    /// Where built programs are cached between runs.
    pub cache: CacheChoice,
    /// Whether prepared launches are recorded, where the driver has `cl_khr_command_buffer`, and times are not taken.
    pub recorded: bool,
    /// The device's counter of energy, for [`tripipe_launch::Executor::counted_joules`].
    #[cfg(feature = "nvml")]
    pub energy: Option<Arc<EnergyCounter>>,
}

impl ExecutorOptions {
    /// Sets how contents are transferred, whatever suits the device.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// Has prepared launches ([`tripipe_launch::Executor::prepare_launches`]) recorded in a command buffer, if times are not
    /// taken ([`tripipe_launch::Executor::take_times`]): the host enqueues them by one call. Memory may get other contents
    /// before each replay; arguments stay as they are. Drivers without `cl_khr_command_buffer`, or whose buffers may not be
    /// enqueued again before they have ended, get them one by one. A failure is then that of the whole list.
    ///
    /// Off by default, as PoCL gets slower by it: 3.1 to 3.6 us a launch of the host's time instead of 2.0 to 2.7 (5.0, 16 cores
    /// of a Xeon), 1.9 instead of 1.7 (3.1, two cores); `benches/launch.rs`, lines of launches without times. No phone was at
    /// hand; Qualcomm's own lists take 8.6 instead of 18.7 us (docs/simulate.md).
    #[must_use]
    pub fn recorded(mut self) -> Self {
        self.recorded = true;
        self
    }

    /// Sets the device's counter of energy.
    #[cfg(feature = "nvml")]
    #[must_use]
    pub fn energy(mut self, counter: EnergyCounter) -> Self {
        self.energy = Some(Arc::new(counter));
        self
    }

    /// Sets the program cache.
    #[must_use]
    pub fn cache(mut self, cache: CacheChoice) -> Self {
        self.cache = cache;
        self
    }
}

/// Whether the driver has a cache of built programs that works better than caching its binaries. PoCL compiles a
/// kernel for the work-group size of a launch; when it is asked for a binary, it compiles each kernel once more, for
/// any size. That doubles the time to a first result.
pub(super) fn keeps_builds(probe: &Probe) -> bool {
    probe.platform == "Portable Computing Language"
}
