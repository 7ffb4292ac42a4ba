//! An operation on a device: its kernels, or the CPU path on the device's memory.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

#[cfg(feature = "cpu")]
use tripipe_kernels::bench::clocked;
use tripipe_kernels::{Plan, Role};

use super::build::Build;
#[cfg(feature = "cpu")]
use super::copied::{CallRunner, CopyTimes, through_device};
#[cfg(feature = "cpu")]
use super::fallback::fall_back;
#[cfg(feature = "cpu")]
use super::memory::DeviceMemory;
use super::planned::Planned;
use super::{Kernels, Trial};
use crate::engine::Ready;
#[cfg(feature = "cpu")]
use crate::engine::host::{done, guarded};
#[cfg(not(feature = "cpu"))]
use crate::error::Fault;
#[cfg(feature = "virtual")]
use crate::explanation::Prediction;
use crate::operation::{Host, OperationSize, Refused, Run, RunOn};
use crate::{Context, Error, Event, process};

/// An operation on a device.
pub(super) struct OnDevice {
    kernels: Arc<Kernels>,
    backend: Backend,
    #[cfg(feature = "cpu")]
    host: Host,
    #[cfg(feature = "cpu")]
    run_on: RunOn,
    /// Both in turn, once the kernels are built.
    trial: OnceLock<Option<Trial>>,
    #[cfg(feature = "cpu")]
    copied: CopyTimes,
    #[cfg(feature = "virtual")]
    predicted: OnceLock<Option<Prediction>>,
}

/// What does an operation.
enum Backend {
    /// The CPU path, for this reason: the device cannot.
    #[cfg(feature = "cpu")]
    Fallback(String),
    /// The kernels, or the CPU path where that is faster.
    Kernels(Planned),
    /// Likewise, once they are built; until then, the CPU path.
    Building(Build),
}

impl OnDevice {
    /// The operation of `plan`; where the device lacks what the plan needs, and where `run_on` leaves it to the CPU path,
    /// that of `host`.
    ///
    /// # Errors
    /// Operands that do not fit together; a kernel does not build; the device is gone; without the feature `cpu`, the
    /// device lacks what the plan needs.
    pub(super) fn new(
        kernels: &Arc<Kernels>,
        context: &Context,
        plan: Result<Plan<'static>, Refused>,
        host: &Host,
        run_on: RunOn,
    ) -> Result<Self, Error> {
        let made = |backend| Self {
            kernels: Arc::clone(kernels),
            backend,
            #[cfg(feature = "cpu")]
            host: host.clone(),
            #[cfg(feature = "cpu")]
            run_on,
            trial: OnceLock::new(),
            #[cfg(feature = "cpu")]
            copied: CopyTimes::default(),
            #[cfg(feature = "virtual")]
            predicted: OnceLock::new(),
        };
        let plan = match plan {
            Ok(plan) => plan,
            #[cfg(feature = "cpu")]
            Err(Refused::Lacks(what)) => return Ok(made(Backend::Fallback(what))),
            #[cfg(not(feature = "cpu"))]
            Err(Refused::Lacks(lacks)) => {
                let device = kernels.name().to_owned();
                return Err(Error::from(Fault::NoFallback { device, operation: host.name, lacks }));
            }
            Err(Refused::Wrong(error)) => return Err(error),
        };
        if let Some(longest) = longest_build(kernels, context, &host.size, run_on)
            && let Some(build) = Build::begin(context.core().builds(), kernels, &plan)
        {
            let operation = made(Backend::Building(build));
            if !longest.is_zero() {
                #[cfg(feature = "cpu")]
                operation.built_and_tried(context, longest)?;
                #[cfg(not(feature = "cpu"))]
                operation.built(longest)?;
            }
            return Ok(operation);
        }
        let operation = made(Backend::Kernels(Planned::new(kernels, plan)?));
        #[cfg(feature = "cpu")]
        if run_on != RunOn::Copies {
            operation.built_and_tried(context, Duration::MAX)?;
        }
        Ok(operation)
    }

    /// The plan, if its kernels are built, or will be within `longest`. Without the CPU path, waits until they are.
    ///
    /// # Errors
    /// A kernel does not build; the device is gone.
    fn built(&self, longest: Duration) -> Result<Option<&Planned>, Error> {
        match &self.backend {
            Backend::Kernels(planned) => Ok(Some(planned)),
            Backend::Building(build) => build.planned(&self.kernels, longest),
            #[cfg(feature = "cpu")]
            Backend::Fallback(_) => Ok(None),
        }
    }

    /// As [`Self::built`]; once they are built, it is tried whether the CPU path is faster.
    ///
    /// # Errors
    /// As [`Self::built`].
    #[cfg(feature = "cpu")]
    fn built_and_tried(&self, context: &Context, longest: Duration) -> Result<Option<&Planned>, Error> {
        let built = self.built(longest)?;
        if let Some(planned) = built.filter(|_| context.core().options().cpu_when_faster) {
            self.trial.get_or_init(|| match self.run_on {
                RunOn::Fastest | RunOn::Copies => Trial::of(context, &self.kernels, planned, &self.host),
                RunOn::AsTried(trial) => Some(trial),
                RunOn::Device => None,
            });
        }
        Ok(built)
    }

    /// The trial, if the CPU path was worth using in it.
    fn lost_trial(&self) -> Option<Trial> {
        #[cfg(feature = "cpu")]
        return self.trial().filter(Trial::is_the_hosts);
        #[cfg(not(feature = "cpu"))]
        None
    }

    /// The plan, if kernels do the operation by now. Without the CPU path, waits until they are built.
    ///
    /// # Errors
    /// As [`Self::built`].
    fn planned(&self) -> Result<Option<&Planned>, Error> {
        Ok(self.built(Duration::ZERO)?.filter(|_| self.lost_trial().is_none()))
    }
}

/// The longest time that an operation waits for its kernels while another thread builds them, before the CPU path does
/// it; `None` where nothing can do it but the kernels.
fn longest_build(
    kernels: &Arc<Kernels>,
    context: &Context,
    size: &OperationSize,
    run_on: RunOn,
) -> Option<Duration> {
    let options = context.core().options();
    match run_on {
        RunOn::Device => None,
        #[cfg(feature = "cpu")]
        RunOn::Copies => Some(Duration::ZERO),
        RunOn::Fastest | RunOn::AsTried(_) => {
            #[cfg(feature = "cpu")]
            let is_small = options.cpu_when_faster && Trial::is_for(context, kernels, size);
            #[cfg(not(feature = "cpu"))]
            let (is_small, _) = (false, (kernels, size));
            (is_small || options.longest_build.is_zero()).then_some(options.longest_build)
        }
    }
}

impl Ready for OnDevice {
    fn can_move(&self, operand: Role) -> bool {
        match &self.backend {
            Backend::Kernels(planned) => planned.plan().can_move(operand),
            Backend::Building(build) => build.can_move(operand),
            #[cfg(feature = "cpu")]
            Backend::Fallback(_) => true,
        }
    }

    #[cfg(feature = "cpu")]
    fn run(&self, run: &Run<'_>) -> Result<Event, Error> {
        process::check()?;
        let context = run.result.memory.context();
        let only_kernels = !is_accessible(run);
        let longest = if only_kernels { Duration::MAX } else { Duration::ZERO };
        match self.built_and_tried(context, longest)? {
            Some(planned) if only_kernels || self.lost_trial().is_none() => planned.submit(run),
            _ => fall_back(&self.kernels, run, &self.host),
        }
    }

    #[cfg(not(feature = "cpu"))]
    fn run(&self, run: &Run<'_>) -> Result<Event, Error> {
        process::check()?;
        self.built(Duration::MAX)?.ok_or(Error::from(Fault::NoCpuPath))?.submit(run)
    }

    #[cfg(feature = "cpu")]
    fn run_copied(
        &self,
        context: &Context,
        inputs: &[(Role, &[u8])],
        output: &mut [u8],
    ) -> Result<(), Error> {
        let chooses = context.core().options().cpu_when_faster
            && CopyTimes::is_tried(&self.host.size)
            && self.kernels.runner().is_tried();
        let built = self.built(if chooses { Duration::ZERO } else { Duration::MAX })?;
        if let Some(planned) = built.filter(|_| !chooses || self.copied.next() == CallRunner::Device) {
            let seconds = clocked(|| through_device(context, planned, &self.host, inputs, output))?;
            self.copied.add(CallRunner::Device, seconds);
        } else {
            let seconds = clocked(|| done(guarded(|| self.host.run(inputs, output))))?;
            self.copied.add(CallRunner::Host, seconds);
        }
        Ok(())
    }

    #[cfg(feature = "cpu")]
    fn copied(&self) -> Option<String> {
        Some(self.copied.to_string()).filter(|said| !said.is_empty())
    }

    fn build_seconds(&self) -> Option<f64> {
        Some(self.planned().ok()??.build_seconds())
    }

    fn fallback(&self) -> Option<String> {
        match (&self.backend, self.built(Duration::ZERO)) {
            #[cfg(feature = "cpu")]
            (Backend::Fallback(reason), _) => Some(reason.clone()),
            (Backend::Building(_), Ok(None)) => Some("its kernels are being built".to_owned()),
            (_, Err(error)) => Some(error.to_string()),
            #[cfg(feature = "cpu")]
            _ => self.lost_trial().map(|trial| trial.to_string()),
            #[cfg(not(feature = "cpu"))]
            _ => None,
        }
    }

    #[cfg(feature = "virtual")]
    fn predict(&self, size: &OperationSize) -> Option<Prediction> {
        let planned = self.planned().ok()??;
        self.predicted.get_or_init(|| self.kernels.predict(planned.plan(), size)).clone()
    }

    fn trial(&self) -> Option<Trial> {
        self.trial.get().copied().flatten()
    }
}

/// Whether the CPU path can access all operands.
#[cfg(feature = "cpu")]
fn is_accessible(run: &Run<'_>) -> bool {
    run.operands().all(|placed| placed.memory.storage().device().is_none_or(DeviceMemory::is_accessible))
}
