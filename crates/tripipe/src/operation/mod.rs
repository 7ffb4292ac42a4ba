//! Operations that are ready to run: kernels on a context's device, or a function of the CPU path.

mod host;
mod run;
mod times;

use std::sync::Arc;
use std::time::Instant;

use tripipe_device::Probe;
use tripipe_kernels::{Plan, PlanError, Role};

#[cfg(feature = "cpu")]
use crate::engine::host::{done, guarded};
use crate::engine::kernels::Trial;
use crate::engine::{Core, Ready};
use crate::explanation::{Arithmetic, Explanation, Prediction, RunnerUp};
use crate::memory::Memory;
#[cfg(feature = "cpu")]
use crate::process;
use crate::{Context, Error, Event};
use times::Times;

pub(crate) use host::{Host, OperationSize};
#[cfg(feature = "cpu")]
pub(crate) use host::{HostWork, Inputs};
pub(crate) use run::{BoundOperand, Offset, Run};

/// An operation on one context, which can be run any number of times.
pub(crate) struct Operation {
    core: Arc<Core>,
    /// Its number in the context.
    id: u64,
    ready: Box<dyn Ready>,
    host: Host,
    times: Times,
}

/// Whether the device or the CPU path runs an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RunOn {
    /// The CPU path where it is faster, and until kernels are built that the context builds in the background.
    Fastest,
    /// Likewise, for operands in the host's memory: kernels are built in the background in any case.
    #[cfg(feature = "cpu")]
    Copies,
    /// Likewise; which one is faster was tried with an operation of the same cost.
    AsTried(Trial),
    /// The device, unless it lacks a feature.
    Device,
}

/// The reason why there is no plan for an operation.
pub(crate) enum Refused {
    /// The device lacks a feature; the CPU path does not need it.
    Lacks(String),
    /// It is invalid on any device.
    Wrong(Error),
}

impl From<PlanError> for Refused {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::NotOffered { .. } | PlanError::OverLimit { .. } => Self::Lacks(error.to_string()),
            _ => Self::Wrong(error.into()),
        }
    }
}

impl Operation {
    /// An operation that `plan` does where kernels run, and `host` elsewhere: on the CPU path, where a device lacks
    /// what the plan needs, and where `run_on` leaves it to the CPU path.
    ///
    /// # Errors
    /// Without the feature `cpu`: a device that lacks what the plan needs.
    /// Operands that do not fit together; a kernel does not build; the device is gone.
    pub(crate) fn new(
        context: &Context,
        plan: impl FnOnce(&Probe) -> Result<Plan<'static>, Refused>,
        host: Host,
        run_on: RunOn,
    ) -> Result<Self, Error> {
        let core = Arc::clone(context.core());
        #[cfg(feature = "cpu")]
        let host = host.limited_to(core.options().threads);
        let ready = core.engine().prepare(context, Box::new(plan), &host, run_on)?;
        Ok(Self { id: core.next_operation(), core, ready, host, times: Times::default() })
    }

    /// Whether the operands can begin later by this much than the plan says, on a device and on the CPU path.
    pub(crate) fn can_move(&self, offsets: &[(Role, Offset)]) -> bool {
        offsets.iter().all(|(role, offset)| offset.elements == 0 || self.ready.can_move(*role))
    }

    /// Queues it over `inputs`, in any order, into `result`.
    ///
    /// # Errors
    /// An operand that is missing, in another context, or that shares memory with the result; no memory left for the
    /// plan; the device is gone.
    pub(crate) fn run(
        &self,
        inputs: &[BoundOperand<'_>],
        result: &Memory,
        offset: Offset,
    ) -> Result<Event, Error> {
        let begun = Instant::now();
        let _span = tripipe_trace::span("operation", || self.host.name);
        let OperationSize { result: (role, _), written, .. } = self.host.size;
        let result = BoundOperand { role, memory: result, offset };
        let run = Run { operation: self.host.name, inputs, result, written };
        run.check(&self.core, &self.host.size)?;
        let pending = self.ready.run(&run)?;
        self.times.add(&pending, begun, self.runs_kernels());
        Ok(pending)
    }

    /// Runs it on the CPU path, over slices: the inputs, in any order, and the output. Done when it returns.
    ///
    /// # Errors
    /// An input is missing; slices that are too short.
    #[cfg(feature = "cpu")]
    pub(crate) fn run_here(&self, inputs: &[(Role, &[u8])], output: &mut [u8]) -> Result<(), Error> {
        process::check()?;
        let _span = tripipe_trace::span("CPU path", || self.host.name);
        done(guarded(|| self.host.run(inputs, output)))
    }

    /// Runs it over the host's memory, as [`Ready::run_copied`].
    ///
    /// # Errors
    /// As [`Self::run_here`]; as [`Self::run`].
    #[cfg(feature = "cpu")]
    pub(crate) fn run_copied(
        &self,
        context: &Context,
        inputs: &[(Role, &[u8])],
        output: &mut [u8],
    ) -> Result<(), Error> {
        process::check()?;
        let _span = tripipe_trace::span("operation", || self.host.name);
        self.ready.run_copied(context, inputs, output)
    }

    /// What runs the operation, and how long that took; `operation` is the description.
    pub(crate) fn explanation(&self, operation: String) -> Explanation {
        let build_seconds = self.ready.build_seconds();
        let mut explanation = Explanation {
            id: self.id,
            operation,
            device: self.core.name().to_owned(),
            fallback: self.ready.fallback(),
            #[cfg(feature = "cpu")]
            copied: self.ready.copied(),
            build_seconds,
            ..Explanation::default()
        };
        // What the CPU that stands in for a virtual GPU takes says nothing about it.
        explanation.is_virtual = self.core.engine().time_source().is_predicted();
        if !explanation.is_virtual {
            let (seconds, runs) = self.times.shortest(build_seconds.is_some());
            (explanation.measured_seconds, explanation.measured_runs) = (seconds, runs);
            explanation.first_call_seconds = self.times.first();
        }
        explanation
    }

    /// Adds the ceiling that bounds it, if one is known for the device that does it. Unless a time of a device that is
    /// there is predicted already, the timing model predicts it if it has the device. Without that, the time is that of the ceiling, and so it is
    /// if a shorter one is predicted: a rate that a large operation reached says nothing about a small one.
    pub(crate) fn add_bound(&self, explanation: &mut Explanation, arithmetic: Arithmetic, bytes: f64) {
        // The ceilings are the device's, and say nothing about the CPU path as a fallback.
        let ceilings = self.core.ceilings(arithmetic).filter(|_| explanation.fallback.is_none());
        let Some(ceilings) = ceilings else { return };
        let bound = ceilings.bound(self.host.size.operations, bytes);
        // What a virtual GPU will take is what its model says, not what times of other shapes let expect.
        let is_wanted = explanation.predicted.is_none() || explanation.is_virtual;
        if is_wanted && self.core.options().predictions {
            explanation.predicted = self.ready.predict(&self.host.size).or(explanation.predicted.take());
        }
        if explanation.predicted.as_ref().is_none_or(|predicted| predicted.seconds < bound.seconds) {
            let from = format!("{} alone, everything else free", bound.ceiling);
            let host_share = explanation.predicted.take().and_then(|predicted| predicted.host_share);
            explanation.predicted = Some(Prediction { seconds: bound.seconds, from, host_share });
        }
        explanation.bound = Some(bound);
    }

    /// The trial, which an operation of the same cost need not repeat.
    pub(crate) fn trial(&self) -> Option<Trial> {
        self.ready.trial()
    }

    /// The alternative that was tried and not taken; `kernel` is the device's.
    pub(crate) fn runner_up(&self, kernel: &str) -> Option<RunnerUp> {
        self.trial().map(|trial| trial.runner_up(&self.core, kernel))
    }

    /// Whether kernels do it.
    pub(crate) fn runs_kernels(&self) -> bool {
        self.ready.build_seconds().is_some()
    }

    /// The total size of its operands in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.host.size.bytes()
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }
}

#[cfg(all(test, feature = "cpu"))]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use std::num::NonZeroUsize;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tripipe_launch::locks::lock;

    use super::*;
    use crate::cpu::{CpuError, Threads};
    use crate::{Device, Vector};

    /// Copies 16 bytes on the CPU path; the first `failures` runs fail, every other one by a panic.
    fn copying(context: &Context, small: bool, failures: usize) -> Operation {
        let left = Arc::new(AtomicUsize::new(failures));
        let work = move |inputs: &Inputs<'_>, output: &mut [u8], _: Threads| {
            match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
                Ok(left) if left % 2 == 0 => {
                    return Err(CpuError::Length { operation: "a test", buffer: "x", want: 77, found: 1 });
                }
                Ok(_) => std::panic::resume_unwind(Box::new("77")),
                Err(_) => output[..16].copy_from_slice(&inputs.get(Role::Source)?[..16]),
            }
            Ok(())
        };
        let size = OperationSize {
            inputs: vec![(Role::Source, 16)],
            result: (Role::Result, 16),
            written: 16,
            operations: 16.0,
        };
        let host = Host { name: "a test", work: Arc::new(work), small, size };
        let plan = |_: &Probe| Err(Refused::Lacks("what is needed".to_owned()));
        Operation::new(context, plan, host, RunOn::Fastest).unwrap()
    }

    fn run_copy(copy: &Operation, from: &Vector<u8>, to: &Vector<u8>) -> Result<Event, Error> {
        copy.run(&[BoundOperand::new(Role::Source, from.memory())], to.memory(), Offset::default())
    }

    fn failed<T: std::fmt::Debug>(result: Result<T, Error>) {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("77"), "{error}");
    }

    #[test]
    fn failures_of_the_cpu_path_are_reported() {
        for small in [true, false] {
            for failures in [1, 2] {
                let context = Context::new(&Device::Cpu).unwrap();
                let bytes = |value: u8| Vector::from_slice(&context, &[value; 16]).unwrap();
                let (source, lost, of_lost, good) = (bytes(5), bytes(0), bytes(0), bytes(0));
                let copy = copying(&context, small, failures);
                let run = |from: &Vector<u8>, to: &Vector<u8>| run_copy(&copy, from, to).unwrap();
                for _ in 0..failures {
                    drop(run(&source, &lost));
                }
                drop(run(&lost, &of_lost));
                drop(run(&source, &good));
                assert_eq!(good.to_vec().unwrap(), [5; 16]);
                failed(context.finish());
                context.finish().unwrap();
                failed(lost.to_vec());
                failed(of_lost.to_vec());
                failed(run(&of_lost, &good).wait());
                // All of it is overwritten.
                drop(run(&source, &lost));
                run(&lost, &of_lost).wait().unwrap();
                assert_eq!(of_lost.to_vec().unwrap(), [5; 16]);
                context.finish().unwrap();
            }
        }
    }

    #[test]
    fn elements_of_a_failed_operation_are_not_moved_out() {
        let context = Context::new(&Device::Cpu).unwrap();
        let bytes = |value: u8| Vector::from_slice(&context, &[value; 16]).unwrap();
        let (source, lost) = (bytes(5), bytes(0));
        drop(run_copy(&copying(&context, false, 1), &source, &lost).unwrap());
        failed(lost.into_vec());
    }

    /// It is done in the call, which returns the failure.
    #[test]
    fn failures_of_the_cpu_fallback_are_reported() {
        for device in Device::list().into_iter().filter(|device| device.probe().is_some()) {
            let context = Context::new(&device).unwrap();
            let bytes = |value: u8| Vector::from_slice(&context, &[value; 16]).unwrap();
            let (source, result) = (bytes(5), bytes(1));
            let copy = copying(&context, false, 2);
            let run = || run_copy(&copy, &source, &result);
            // By a panic, then by an error.
            failed(run());
            failed(run());
            context.finish().unwrap();
            run().unwrap().wait().unwrap();
            assert_eq!(result.to_vec().unwrap(), [5; 16]);
        }
    }

    #[test]
    fn a_context_limits_the_threads_of_an_operation() {
        let two = Threads::AtMost(NonZeroUsize::MIN.saturating_add(1));
        for threads in [Threads::One, two, Threads::All] {
            let seen = Arc::new(Mutex::new(None));
            let sees = Arc::clone(&seen);
            let work = move |_: &Inputs<'_>, _: &mut [u8], threads: Threads| {
                *lock(&sees) = Some(threads);
                Ok(())
            };
            let size =
                OperationSize { inputs: Vec::new(), result: (Role::C, 1), written: 1, operations: 1.0 };
            let host = Host { name: "a test", work: Arc::new(work), small: false, size };
            let context = Context::builder().threads(threads).build(&Device::Cpu).unwrap();
            assert_eq!(context.threads(), threads);
            let plan = |_: &Probe| Err(Refused::Lacks("kernels".to_owned()));
            let operation = Operation::new(&context, plan, host, RunOn::Fastest).unwrap();
            let result = Vector::from_slice(&context, &[0u8]).unwrap();
            operation.run(&[], result.memory(), Offset::default()).unwrap().wait().unwrap();
            assert_eq!(lock(&seen).take(), Some(threads));
            operation.run_here(&[], &mut [0]).unwrap();
            assert_eq!(lock(&seen).take(), Some(threads));
        }
    }

    /// `a - b` on the CPU path; on a device there is no plan for it.
    fn difference(context: &Context) -> Operation {
        let work = |inputs: &Inputs<'_>, output: &mut [u8], _: Threads| {
            output[0] = inputs.get(Role::A)?[0] - inputs.get(Role::B)?[0];
            Ok(())
        };
        let inputs = vec![(Role::A, 1), (Role::B, 1)];
        let size = OperationSize { inputs, result: (Role::C, 1), written: 1, operations: 1.0 };
        let host = Host { name: "a test", work: Arc::new(work), small: true, size };
        let plan = |_: &Probe| Err(Refused::Lacks("kernels".to_owned()));
        Operation::new(context, plan, host, RunOn::Fastest).unwrap()
    }

    #[test]
    fn operands_are_found_by_their_role() {
        for device in Device::list() {
            let context = Context::new(&device).unwrap();
            let bytes = |value: u8| Vector::from_slice(&context, &[value]).unwrap();
            let (seven, two, result) = (bytes(7), bytes(2), bytes(0));
            let difference = difference(&context);
            let run = |inputs: &[BoundOperand<'_>]| {
                difference.run(inputs, result.memory(), Offset::default())?.wait()?;
                Ok::<_, Error>(result.to_vec()?[0])
            };
            let [a, b] =
                [(Role::A, &seven), (Role::B, &two)].map(|(role, of)| BoundOperand::new(role, of.memory()));
            assert_eq!((run(&[a, b]).unwrap(), run(&[b, a]).unwrap()), (5, 5));
            let said = |inputs: &[BoundOperand<'_>]| run(inputs).unwrap_err().to_string();
            assert_eq!(said(&[a]), "operand B is missing");
            assert_eq!(said(&[a, b, a]), "operand A is given twice");
            let other = BoundOperand { role: Role::Scales, ..a };
            assert_eq!(said(&[a, b, other]), "operand scales is not one of the operation's");
            let here = difference.run_here(&[(Role::B, &[2]), (Role::A, &[7])], &mut [0]);
            assert!(here.is_ok());
            let missing = difference.run_here(&[(Role::A, &[7])], &mut [0]).unwrap_err().to_string();
            assert!(missing.contains("operand B is missing"), "{missing}");
        }
    }
}
