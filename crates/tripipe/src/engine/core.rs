//! The parts of a context that operations need.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tripipe_device::Probe;
use tripipe_launch::locks::lock;

use super::Engine;
use super::kernels::Builds;
use crate::Error;
use crate::explanation::{Arithmetic, Ceilings};
use crate::line::Line;

/// The parts of a context that operations need. Operations are cached in the context, so they do not hold the context
/// itself.
pub(crate) struct Core {
    name: String,
    engine: Box<dyn Engine>,
    line: Arc<Line>,
    measured: Mutex<Vec<(Arithmetic, Ceilings)>>,
    in_background: AtomicBool,
    falls_back_when_slower: AtomicBool,
    predicts: AtomicBool,
    builds: Builds,
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
            builds: Builds::default(),
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

    /// The background builds, if they are enabled.
    pub(crate) fn builds(&self) -> Option<&Builds> {
        self.in_background.load(Ordering::Relaxed).then_some(&self.builds)
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

    /// The ceilings for a type: as measured, otherwise those of the GPU's model.
    pub(crate) fn ceilings(&self, arithmetic: Arithmetic) -> Option<Ceilings> {
        let measured = lock(&self.measured);
        let known = measured.iter().find(|(known, _)| *known == arithmetic);
        let of_model = || Ceilings::of_model(self.probe()?, arithmetic);
        known.map(|(_, ceilings)| ceilings.clone()).or_else(of_model)
    }

    /// Measures the ceilings for a type, after all queued operations.
    ///
    /// # Errors
    /// As [`Engine::measure`].
    pub(crate) fn measure_ceilings(&self, arithmetic: Arithmetic) -> Result<Ceilings, Error> {
        self.settle();
        if self.engine.time_source().is_predicted()
            && let Some(ceilings) = self.ceilings(arithmetic)
        {
            return Ok(ceilings);
        }
        let rates = self.engine.measure(arithmetic)?;
        let ceilings = Ceilings {
            operations_per_second: rates.operations_per_second,
            bytes_per_second: rates.bytes_per_second,
            launch_seconds: rates.launch_seconds,
            from: "measured here".to_owned(),
        };
        let mut measured = lock(&self.measured);
        measured.retain(|(known, _)| *known != arithmetic);
        measured.push((arithmetic, ceilings.clone()));
        Ok(ceilings)
    }

    /// The queued operations.
    pub(crate) fn line(&self) -> &Arc<Line> {
        &self.line
    }

    /// Waits until all queued operations have ended, whether they succeeded or failed.
    pub(crate) fn settle(&self) {
        self.line.settle();
    }

    /// Waits until all queued operations have ended.
    ///
    /// # Errors
    /// The first failure of an operation that was not reported yet, once.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        self.settle();
        self.line.failure()
    }
}

#[cfg(all(feature = "trace", not(feature = "opencl")))]
impl Drop for Core {
    fn drop(&mut self) {
        self.settle();
        crate::trace::context_dropped();
    }
}
