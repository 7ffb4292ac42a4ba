//! Options of an executor.

use tripipe_cache::CacheChoice;
use tripipe_device::Probe;

use crate::memory::Strategy;

/// Options of an [`super::OpenClExecutor`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ExecutorOptions {
    /// How contents are transferred; `None` selects what suits the device.
    pub strategy: Option<Strategy>,
    /// Where built programs are cached between runs.
    pub cache: CacheChoice,
}

impl ExecutorOptions {
    /// Sets how contents are transferred, whatever suits the device.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
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
