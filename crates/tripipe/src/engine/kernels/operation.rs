//! An operation on a device: its kernels, or the CPU path on the device's memory.

use std::sync::Arc;
use std::time::Instant;

use tripipe_kernels::{Plan, Role};
use tripipe_launch::MemoryId;

use super::build::Build;
use super::planned::Planned;
use super::{Kernels, Trial};
use crate::engine::Ready;
use crate::engine::host::{HostTask, done, guarded};
use crate::memory::Memory;
use crate::operation::{Host, Refused, Run, RunOn};
use crate::{Context, Error, Event};

/// An operation on a device.
pub(super) struct OnDevice {
    kernels: Arc<Kernels>,
    way: Way,
    host: Host,
    trial: Option<Trial>,
}

/// What does an operation.
enum Way {
    /// The CPU path, for this reason.
    Fallback(String),
    /// The kernels.
    Kernels(Planned),
    /// The CPU path, then the kernels once they are built.
    Later(Build),
}

impl OnDevice {
    /// The operation of `plan`; where the device lacks what the plan needs, and where `run_on` leaves it to the CPU path,
    /// that of `host`.
    ///
    /// # Errors
    /// Operands that do not fit together; a kernel does not build; the device is gone.
    pub(super) fn new(
        kernels: &Arc<Kernels>,
        context: &Context,
        plan: Result<Plan<'static>, Refused>,
        host: &Host,
        run_on: RunOn,
    ) -> Result<Self, Error> {
        let made = |way, trial| Self { kernels: Arc::clone(kernels), way, host: host.clone(), trial };
        let plan = match plan {
            Ok(plan) => plan,
            Err(Refused::Lacks(what)) => return Ok(made(Way::Fallback(what), None)),
            Err(Refused::Wrong(error)) => return Err(error),
        };
        let core = context.core();
        let builds = core.builds().filter(|_| run_on != RunOn::Device);
        if let Some(build) = builds.and_then(|builds| Build::begin(builds, kernels, &plan)) {
            return Ok(made(Way::Later(build), None));
        }
        let planned = Planned::new(kernels, plan)?;
        let trial = match run_on {
            RunOn::Fastest if core.falls_back_when_slower() => Trial::of(context, kernels, &planned, host),
            RunOn::AsTried(trial) if core.falls_back_when_slower() => Some(trial),
            _ => None,
        };
        let way = match trial {
            Some(trial) if trial.is_the_hosts() => Way::Fallback(trial.to_string()),
            _ => Way::Kernels(planned),
        };
        Ok(made(way, trial))
    }

    /// The plan, if kernels do the operation by now.
    ///
    /// # Errors
    /// A kernel does not build; the device is gone.
    fn planned(&self) -> Result<Option<&Planned>, Error> {
        match &self.way {
            Way::Kernels(planned) => Ok(Some(planned)),
            Way::Later(build) => build.planned(&self.kernels),
            Way::Fallback(_) => Ok(None),
        }
    }
}

impl Ready for OnDevice {
    fn can_move(&self, operand: Role) -> bool {
        match &self.way {
            Way::Kernels(planned) => planned.plan().can_move(operand),
            Way::Later(build) => build.can_move(operand),
            Way::Fallback(_) => true,
        }
    }

    fn run(&self, run: &Run<'_>) -> Result<Event, Error> {
        if let Some(planned) = self.planned()? {
            return planned.submit(run);
        }
        self.kernels.line.settle();
        run.read().try_for_each(Memory::check_contents)?;
        let start = Instant::now();
        on_host(&self.kernels, run, &self.host)?;
        if run.overwrites() {
            run.result.memory.rest_on(None);
        }
        Ok(Event::ended(Arc::new(HostTask::over(start))))
    }

    fn build_seconds(&self) -> Option<f64> {
        Some(self.planned().ok()??.build_seconds())
    }

    fn fallback(&self) -> Option<String> {
        match (&self.way, self.planned()) {
            (Way::Fallback(reason), _) => Some(reason.clone()),
            (Way::Later(_), Ok(None)) => Some("its kernels are being built".to_owned()),
            (_, planned) => planned.err().map(|error| error.to_string()),
        }
    }

    fn trial(&self) -> Option<Trial> {
        self.trial
    }
}

/// An operation on the CPU path over the device's memory, in place or on copies where the host cannot access it, after
/// all queued operations. Done when it returns.
///
/// # Errors
/// The device is gone; no room for a copy; the operation failed.
pub(super) fn on_host(kernels: &Arc<Kernels>, run: &Run<'_>, host: &Host) -> Result<(), Error> {
    kernels.line.settle();
    let object = |memory: &Memory| -> Option<(MemoryId, usize)> {
        Some((memory.storage().device()?.id_on(kernels)?, memory.bytes()))
    };
    let (objects, output) = run.each(object)?;
    let begins = run.begins();
    let mut outcome = Ok(());
    kernels.runner().executor().with_all_bytes(&objects, output, &mut |inputs, output| {
        outcome = guarded(|| host.run_later(&begins, inputs, output));
    })?;
    done(outcome)
}
