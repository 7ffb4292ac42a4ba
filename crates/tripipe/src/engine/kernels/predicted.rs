//! Times of operations on a GPU that has a model, predicted on its virtual GPU.

use std::fmt::Write as _;
use std::sync::Arc;

use tripipe_device::{Gpu, identify};
use tripipe_kernels::{Plan, Role};
use tripipe_launch::locks::lock;
use tripipe_launch::{Access, CpuLoad, ExecuteError, Executor, MemoryId, MemoryKind, Timing};
use tripipe_timing::{VirtualGpu, VirtualOptions, errors};

use super::Kernels;
use crate::explanation::{Prediction, Time};
use crate::operation::OperationSize;

/// The virtual GPU that stands for the device, once it was asked for.
#[derive(Default)]
pub(super) struct Predictor(Option<VirtualGpu>);

impl Kernels {
    /// The time of a plan over operands of this size; `None` if the device has no model, or if the model cannot run the
    /// plan (without clang, for example).
    pub(super) fn predict(&self, plan: &Plan<'static>, size: &OperationSize) -> Option<Prediction> {
        let found = identify(&self.probe);
        let model = found.model?;
        let mut predictor = lock(&self.predictor);
        let gpu = predictor.0.get_or_insert_with(|| {
            let mut own = model.clone();
            let configuration = &mut own.configuration;
            configuration.cores.value = found.cores.unwrap_or(configuration.cores.value);
            configuration.clock_mhz.value = found.clock_mhz.unwrap_or(configuration.clock_mhz.value);
            let options =
                VirtualOptions { time_only: true, changed: Some(Arc::new(own)), ..VirtualOptions::default() };
            VirtualGpu::new(model, options)
        });
        let operands = size.inputs.iter().chain([&size.result]);
        let mut made = Vec::new();
        let predicted = run(gpu, plan, operands, &mut made);
        for (_, memory) in made {
            // It was made by this executor.
            let _ = gpu.release(memory);
        }
        let predicted = predicted.ok()?;
        let Predicted { seconds, host_share, .. } = predicted;
        Some(Prediction { seconds, from: predicted.source(gpu.gpu()), host_share })
    }
}

/// A predicted time, in seconds.
struct Predicted {
    /// From the first launch's start to the last one's end.
    seconds: f64,
    /// Of these, between kernels: the GPU waits for the host to submit the next one.
    between: f64,
    /// The least and the most to expect, if that is known.
    band: Option<[f64; 2]>,
    /// The share of the time in which the host works.
    host_share: Option<f64>,
}

impl Predicted {
    /// How it is predicted, and how wrong it may be.
    fn source(&self, gpu: &Gpu) -> String {
        let mut source = format!("the timing model of {}; ", gpu.name());
        let _ = match self.band.map(|band| band.map(Time)) {
            Some([least, most]) => write!(source, "expect {least} to {most}"),
            None => write!(
                source,
                "how wrong it may be is not known: no measurements of {} GPUs are published",
                errors::family_name(gpu)
            ),
        };
        // A time below a hundredth is not seen in the digits that are printed.
        if self.between > 0.01 * self.seconds {
            let _ = write!(source, ", {} of it between launches", Time(self.between));
        }
        source
    }
}

/// The time of a plan.
fn run<'o>(
    gpu: &mut VirtualGpu,
    plan: &Plan<'static>,
    operands: impl Iterator<Item = &'o (Role, usize)>,
    made: &mut Vec<(Role, MemoryId)>,
) -> Result<Predicted, ExecuteError> {
    for (role, bytes) in operands {
        // An object of 0 bytes does not exist.
        let kind = MemoryKind::Buffer { bytes: (*bytes).max(1) };
        made.push((*role, gpu.allocate(&kind, Access::ReadWrite, None)?));
    }
    let bound = plan.bind(gpu, made)?;
    let timings = gpu.run(&bound.launches);
    let bands = gpu.predictions().iter().map(|prediction| prediction.error_band);
    let sum = |sum: [f64; 2], band: Option<[f64; 2]>| band.map(|band| [sum[0] + band[0], sum[1] + band[1]]);
    // The sum is known only if every part of it is.
    let band = bands.into_iter().try_fold([0.0; 2], sum);
    bound.release(gpu);
    let timings = timings?;
    let seconds = Timing::span_seconds(&timings);
    let kernels: f64 = timings.iter().map(|timing| Timing::span_seconds(std::slice::from_ref(timing))).sum();
    let between = (seconds - kernels).max(0.0);
    let host_share = CpuLoad::predicted(&timings).map(|load| load.cores);
    Ok(Predicted { seconds, between, band: band.map(|band| band.map(|bound| bound + between)), host_share })
}
