//! An operation on a device: its kernels, or the CPU path on the device's memory.

use std::sync::Arc;
#[cfg(feature = "virtual")]
use std::sync::OnceLock;

use tripipe_kernels::{Plan, Role};

use super::build::Build;
#[cfg(feature = "cpu")]
use super::fallback::fall_back;
#[cfg(feature = "cpu")]
use super::memory::DeviceMemory;
use super::planned::Planned;
use super::{Kernels, Trial};
use crate::engine::Ready;
#[cfg(not(feature = "cpu"))]
use crate::error::Fault;
#[cfg(feature = "virtual")]
use crate::explanation::Prediction;
#[cfg(feature = "virtual")]
use crate::operation::Size;
use crate::operation::{Host, Refused, Run, RunOn};
use crate::{Context, Error, Event, process};

/// An operation on a device.
pub(super) struct OnDevice {
    kernels: Arc<Kernels>,
    way: Way,
    #[cfg(feature = "cpu")]
    host: Host,
    trial: Option<Trial>,
    #[cfg(feature = "virtual")]
    predicted: OnceLock<Option<Prediction>>,
}

/// What does an operation.
enum Way {
    /// The CPU path, for this reason. Where the device can do it as well, its kernels are for memory that the host cannot
    /// access.
    #[cfg(feature = "cpu")]
    Fallback { reason: String, kernels: Option<Planned> },
    /// The kernels.
    Kernels(Planned),
    /// The kernels once they are built; until then, the CPU path.
    Later(Build),
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
        let made = |way, trial| Self {
            kernels: Arc::clone(kernels),
            way,
            #[cfg(feature = "cpu")]
            host: host.clone(),
            trial,
            #[cfg(feature = "virtual")]
            predicted: OnceLock::new(),
        };
        let plan = match plan {
            Ok(plan) => plan,
            #[cfg(feature = "cpu")]
            Err(Refused::Lacks(what)) => {
                return Ok(made(Way::Fallback { reason: what, kernels: None }, None));
            }
            #[cfg(not(feature = "cpu"))]
            Err(Refused::Lacks(lacks)) => {
                let device = kernels.name().to_owned();
                return Err(Error::from(Fault::NoFallback { device, operation: host.name, lacks }));
            }
            Err(Refused::Wrong(error)) => return Err(error),
        };
        let core = context.core();
        let builds = core.builds().filter(|_| run_on != RunOn::Device);
        if let Some(build) = builds.and_then(|builds| Build::begin(builds, kernels, &plan)) {
            return Ok(made(Way::Later(build), None));
        }
        let planned = Planned::new(kernels, plan)?;
        #[cfg(feature = "cpu")]
        if core.falls_back_when_slower() {
            let trial = match run_on {
                RunOn::Fastest => Trial::of(context, kernels, &planned, host),
                RunOn::AsTried(trial) => Some(trial),
                RunOn::Device => None,
            };
            let way = match trial {
                Some(trial) if trial.is_the_hosts() => {
                    Way::Fallback { reason: trial.to_string(), kernels: Some(planned) }
                }
                _ => Way::Kernels(planned),
            };
            return Ok(made(way, trial));
        }
        Ok(made(Way::Kernels(planned), None))
    }

    /// The plan, if kernels do the operation by now. Without the CPU path, waits until they are built.
    ///
    /// # Errors
    /// A kernel does not build; the device is gone.
    fn planned(&self) -> Result<Option<&Planned>, Error> {
        match &self.way {
            Way::Kernels(planned) => Ok(Some(planned)),
            Way::Later(build) => build.planned(&self.kernels),
            #[cfg(feature = "cpu")]
            Way::Fallback { .. } => Ok(None),
        }
    }

    /// The plan for operands that the host cannot access, if kernels can do the operation. Waits until they are built.
    ///
    /// # Errors
    /// As [`Self::planned`].
    #[cfg(feature = "cpu")]
    fn planned_without_host(&self) -> Result<Option<&Planned>, Error> {
        match &self.way {
            Way::Kernels(planned) => Ok(Some(planned)),
            Way::Later(build) => build.wait(&self.kernels),
            Way::Fallback { kernels, .. } => Ok(kernels.as_ref()),
        }
    }
}

impl Ready for OnDevice {
    fn can_move(&self, operand: Role) -> bool {
        match &self.way {
            Way::Kernels(planned) => planned.plan().can_move(operand),
            Way::Later(build) => build.can_move(operand),
            #[cfg(feature = "cpu")]
            Way::Fallback { kernels, .. } => {
                kernels.as_ref().is_none_or(|planned| planned.plan().can_move(operand))
            }
        }
    }

    fn run(&self, run: &Run<'_>) -> Result<Event, Error> {
        process::check()?;
        let planned = match self.planned()? {
            #[cfg(feature = "cpu")]
            None if !is_accessible(run) => self.planned_without_host()?,
            planned => planned,
        };
        match planned {
            Some(planned) => planned.submit(run),
            #[cfg(feature = "cpu")]
            None => fall_back(&self.kernels, run, &self.host),
            #[cfg(not(feature = "cpu"))]
            None => Err(Error::from(Fault::NoCpuPath)),
        }
    }

    fn build_seconds(&self) -> Option<f64> {
        Some(self.planned().ok()??.build_seconds())
    }

    fn fallback(&self) -> Option<String> {
        match (&self.way, self.planned()) {
            #[cfg(feature = "cpu")]
            (Way::Fallback { reason, .. }, _) => Some(reason.clone()),
            (Way::Later(_), Ok(None)) => Some("its kernels are being built".to_owned()),
            (_, planned) => planned.err().map(|error| error.to_string()),
        }
    }

    #[cfg(feature = "virtual")]
    fn predict(&self, size: &Size) -> Option<Prediction> {
        let planned = self.planned().ok()??;
        self.predicted.get_or_init(|| self.kernels.predict(planned.plan(), size)).clone()
    }

    fn trial(&self) -> Option<Trial> {
        self.trial
    }
}

/// Whether the CPU path can access all operands.
#[cfg(feature = "cpu")]
fn is_accessible(run: &Run<'_>) -> bool {
    run.operands().all(|placed| placed.memory.storage().device().is_none_or(DeviceMemory::is_accessible))
}
