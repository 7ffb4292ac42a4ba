//! The parts of a context that operations need.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tripipe_cache::Cache;
use tripipe_device::Probe;
use tripipe_launch::locks::lock;

use super::kernels::Builds;
use super::{Engine, stored};
use crate::explanation::{Arithmetic, Ceilings};
use crate::operation_queue::OperationQueue;
use crate::{ContextBuilder, Error};

/// The parts of a context that operations need. Operations are cached in the context, so they do not hold the context
/// itself.
pub(crate) struct Core {
    name: String,
    engine: Box<dyn Engine>,
    queue: Arc<OperationQueue>,
    /// As measured, here or before; `None` where there are none in the cache.
    measured: Mutex<Vec<(Arithmetic, Option<Ceilings>)>>,
    builds: Builds,
    options: ContextBuilder,
    /// The number of operations made so far.
    operations: AtomicU64,
}

impl Core {
    /// `line` is that in which `engine` records its operations.
    pub(crate) fn new(
        name: String,
        engine: Box<dyn Engine>,
        queue: Arc<OperationQueue>,
        options: ContextBuilder,
    ) -> Self {
        Self {
            name,
            engine,
            queue,
            measured: Mutex::default(),
            builds: Builds::default(),
            options,
            operations: AtomicU64::new(0),
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

    pub(crate) fn options(&self) -> &ContextBuilder {
        &self.options
    }

    /// The number of an operation that is made now.
    pub(crate) fn next_operation(&self) -> u64 {
        self.operations.fetch_add(1, Ordering::Relaxed)
    }

    /// Where what is measured is kept; `None` if nothing is.
    pub(crate) fn cache(&self) -> Option<Cache> {
        self.options.cache.cache()
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
    pub(crate) fn queue(&self) -> &Arc<OperationQueue> {
        &self.queue
    }

    /// Waits until all queued operations have ended, whether they succeeded or failed.
    ///
    /// # Errors
    /// As [`Line::settle`].
    pub(crate) fn settle(&self) -> Result<(), Error> {
        self.queue.settle()
    }

    /// Waits until all queued operations have ended.
    ///
    /// # Errors
    /// The first failure of an operation that was not reported yet, once.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        self.settle()?;
        self.queue.failure()
    }
}

#[cfg(all(feature = "trace", not(feature = "opencl")))]
impl Drop for Core {
    fn drop(&mut self) {
        let _ = self.settle();
        crate::trace::context_dropped();
    }
}
