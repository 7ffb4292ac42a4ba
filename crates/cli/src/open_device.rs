//! Devices that are ready to run kernels.

use anyhow::Result;
use tripipe::{Device, VirtualDevice};
use tripipe_launch::Executor;
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};
use tripipe_timing::{Options, VirtualGpu, VirtualOptions};

/// A device that is ready to run kernels.
pub(crate) enum OpenDevice {
    OpenCl(Box<OpenClExecutor>),
    Virtual(Box<VirtualGpu>),
}

impl OpenDevice {
    /// Opens a device; `None` for the CPU path, which runs no kernels. With `time_only`, a virtual GPU predicts times
    /// and does not compute results.
    pub(crate) fn new(device: &Device, options: &ExecutorOptions, time_only: bool) -> Result<Option<Self>> {
        Ok(match device {
            Device::OpenCl(device) => Some(Self::OpenCl(Box::new(OpenClExecutor::new(device, options)?))),
            Device::Virtual(device) => Some(Self::predicting(device, time_only)),
            _ => None,
        })
    }

    /// A virtual GPU.
    pub(crate) fn predicting(device: &VirtualDevice, time_only: bool) -> Self {
        Self::Virtual(Box::new(device.clone().time_only(time_only).executor()))
    }

    /// A virtual GPU whose launches have an energy, where there is an estimate.
    pub(crate) fn with_energy(device: &VirtualDevice, time_only: bool) -> Self {
        let prediction = Options { activity: true, ..Options::default() };
        let options = VirtualOptions { prediction, time_only, ..VirtualOptions::default() };
        Self::Virtual(Box::new(VirtualGpu::new(device.gpu(), options)))
    }

    pub(crate) fn executor(&mut self) -> &mut dyn Executor {
        match self {
            Self::OpenCl(executor) => &mut **executor,
            Self::Virtual(executor) => &mut **executor,
        }
    }
}
