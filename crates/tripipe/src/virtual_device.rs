//! GPUs that are not there.

use std::sync::Arc;

use tripipe_device::{Gpu, Probe, catalog};
use tripipe_launch::Executor;
use tripipe_timing::{VirtualGpu, VirtualOptions};

/// A GPU that is not there: the CPU computes its results, a model predicts its times.
///
/// Its probe has the limits and extensions of the GPU. The OpenCL C of kernels is compiled with clang, which must be
/// installed. A context on it does as one on an OpenCL device; [`crate::Event::seconds`] is a predicted time.
#[derive(Clone, Debug)]
pub struct VirtualDevice {
    gpu: &'static Gpu,
    probe: Arc<Probe>,
    time_only: bool,
}

impl VirtualDevice {
    /// The virtual GPU of a model.
    pub(crate) fn new(gpu: &'static Gpu) -> Self {
        let probe = VirtualGpu::new(gpu, VirtualOptions::default()).probe().clone();
        Self { gpu, probe: Arc::new(probe), time_only: false }
    }

    /// All virtual GPUs, in the order of the models.
    pub fn all() -> Vec<Self> {
        catalog().iter().map(Self::new).collect()
    }

    /// Sets whether only times are predicted, which is much faster; the default is no. Memory then keeps its contents:
    /// results of operations are not computed.
    #[must_use]
    pub fn time_only(mut self, time_only: bool) -> Self {
        self.time_only = time_only;
        self
    }

    /// Whether only times are predicted.
    pub fn is_time_only(&self) -> bool {
        self.time_only
    }

    /// The model of the GPU.
    pub fn gpu(&self) -> &'static Gpu {
        self.gpu
    }

    /// The properties that it reports.
    pub fn probe(&self) -> &Probe {
        &self.probe
    }

    /// An executor that runs kernels on it.
    pub fn executor(&self) -> VirtualGpu {
        VirtualGpu::new(self.gpu, VirtualOptions { time_only: self.time_only, ..VirtualOptions::default() })
    }
}
