//! The parts of a context that operations need.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tripipe_cache::{Cache, CacheChoice};
use tripipe_device::Probe;
use tripipe_launch::locks::lock;

use super::kernels::Builds;
use super::{Engine, stored};
use crate::Error;
#[cfg(feature = "cpu")]
use crate::cpu::Threads;
use crate::explanation::{Arithmetic, Ceilings};
use crate::line::Line;

/// The parts of a context that operations need. Operations are cached in the context, so they do not hold the context
/// itself.
pub(crate) struct Core {
    name: String,
    engine: Box<dyn Engine>,
    line: Arc<Line>,
    /// As measured, here or before; `None` where there are none in the cache.
    measured: Mutex<Vec<(Arithmetic, Option<Ceilings>)>>,
    in_background: AtomicBool,
    falls_back_when_slower: AtomicBool,
    predicts: AtomicBool,
    #[cfg(feature = "cpu")]
    threads: Mutex<Threads>,
    builds: Builds,
    cache: Mutex<CacheChoice>,
    /// The time that tuning of a new shape may take; `None` without tuning.
    tuning_budget: Mutex<Option<Duration>>,
}

impl Core {
    /// `line` is that in which `engine` records its operations.
    pub(crate) fn new(name: String, engine: Box<dyn Engine>, line: Arc<Line>) -> Self {
        Self {
            name,
            engine,
            line,
            measured: Mutex::default(),
            in_background: AtomicBool::new(false),
            falls_back_when_slower: AtomicBool::new(true),
            predicts: AtomicBool::new(true),
            #[cfg(feature = "cpu")]
            threads: Mutex::default(),
            builds: Builds::default(),
            cache: Mutex::default(),
            tuning_budget: Mutex::default(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn engine(&self) -> &dyn Engine {
        &*self.engine
    }

    pub(crate) fn probe(&self) -> Option<&Probe> {
        self.engine.probe()
    }

    /// The builds on other threads.
    pub(crate) fn builds(&self) -> &Builds {
        &self.builds
    }

    /// Whether kernels of operations over the context's memory are built on another thread.
    pub(crate) fn builds_in_background(&self) -> bool {
        self.in_background.load(Ordering::Relaxed)
    }

    pub(crate) fn build_in_background(&self, background: bool) {
        self.in_background.store(background, Ordering::Relaxed);
    }

    #[cfg(feature = "cpu")]
    pub(crate) fn falls_back_when_slower(&self) -> bool {
        self.falls_back_when_slower.load(Ordering::Relaxed)
    }

    pub(crate) fn fall_back_when_slower(&self, fall_back: bool) {
        self.falls_back_when_slower.store(fall_back, Ordering::Relaxed);
    }

    /// Whether explanations predict times by the timing model.
    pub(crate) fn predicts(&self) -> bool {
        self.predicts.load(Ordering::Relaxed)
    }

    pub(crate) fn predict_times(&self, predict: bool) {
        self.predicts.store(predict, Ordering::Relaxed);
    }

    /// The threads that an operation of the CPU path may use.
    #[cfg(feature = "cpu")]
    pub(crate) fn threads(&self) -> Threads {
        *lock(&self.threads)
    }

    #[cfg(feature = "cpu")]
    pub(crate) fn use_threads(&self, threads: Threads) {
        *lock(&self.threads) = threads;
    }

    /// Where what is measured is kept; `None` if nothing is.
    pub(crate) fn cache(&self) -> Option<Cache> {
        lock(&self.cache).cache()
    }

    pub(crate) fn set_cache(&self, cache: CacheChoice) {
        *lock(&self.cache) = cache;
        lock(&self.measured).clear();
    }

    /// The time that tuning of a new shape may take; `None` without tuning.
    pub(crate) fn tuning_budget(&self) -> Option<Duration> {
        *lock(&self.tuning_budget)
    }

    pub(crate) fn set_tuning_budget(&self, budget: Option<Duration>) {
        *lock(&self.tuning_budget) = budget;
    }

    /// The ceilings for a type: as measured, otherwise those of the GPU's model.
    pub(crate) fn ceilings(&self, arithmetic: Arithmetic) -> Option<Ceilings> {
        self.measured_ceilings(arithmetic).or_else(|| Ceilings::of_model(self.probe()?, arithmetic))
    }

    /// The ceilings for a type as measured, in this context or in one before on the same device and driver.
    fn measured_ceilings(&self, arithmetic: Arithmetic) -> Option<Ceilings> {
        let mut measured = lock(&self.measured);
        if let Some((_, ceilings)) = measured.iter().find(|(known, _)| *known == arithmetic) {
            return ceilings.clone();
        }
        if self.engine.time_source().is_predicted() {
            return None;
        }
        let stored =
            self.cache().and_then(|cache| stored::load(&cache, &stored::key(self.probe()?, arithmetic)));
        // What is not stored is not looked for again.
        measured.push((arithmetic, stored.clone()));
        stored
    }

    /// Measures the ceilings for a type, after all queued operations, unless they were measured before on the same device
    /// and driver.
    ///
    /// # Errors
    /// As [`Engine::measure`].
    pub(crate) fn measure_ceilings(&self, arithmetic: Arithmetic) -> Result<Ceilings, Error> {
        self.settle()?;
        if self.engine.time_source().is_predicted()
            && let Some(ceilings) = self.ceilings(arithmetic)
        {
            return Ok(ceilings);
        }
        if let Some(known) = self.measured_ceilings(arithmetic) {
            return Ok(known);
        }
        let rates = self.engine.measure(arithmetic)?;
        let ceilings = Ceilings {
            operations_per_second: rates.operations_per_second,
            bytes_per_second: rates.bytes_per_second,
            launch_seconds: rates.launch_seconds,
            from: "measured here".to_owned(),
        };
        if let (Some(cache), Some(probe)) = (self.cache(), self.probe()) {
            stored::store(&cache, &stored::key(probe, arithmetic), &ceilings);
        }
        let mut measured = lock(&self.measured);
        measured.retain(|(known, _)| *known != arithmetic);
        measured.push((arithmetic, Some(ceilings.clone())));
        Ok(ceilings)
    }

    /// The queued operations.
    pub(crate) fn line(&self) -> &Arc<Line> {
        &self.line
    }

    /// Waits until all queued operations have ended, whether they succeeded or failed.
    ///
    /// # Errors
    /// As [`Line::settle`].
    pub(crate) fn settle(&self) -> Result<(), Error> {
        self.line.settle()
    }

    /// Waits until all queued operations have ended.
    ///
    /// # Errors
    /// The first failure of an operation that was not reported yet, once.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        self.settle()?;
        self.line.failure()
    }
}

#[cfg(all(feature = "trace", not(feature = "opencl")))]
impl Drop for Core {
    fn drop(&mut self) {
        let _ = self.settle();
        crate::trace::context_dropped();
    }
}
