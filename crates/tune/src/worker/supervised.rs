//! The tuner's side: a bench that measures in another process and outlives it.

use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use thiserror::Error;
use tripipe_device::Probe;

use super::limits::WorkerLimits;
use super::process::{Process, WaitOutcome};
use super::protocol::{Hello, PROTOCOL, Reply, Request};
use crate::bench::Phase;
use crate::{Bench, BenchError, Effort, Outcome, Problem, Trial};

/// Why a worker could not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The system cannot start it.
    #[error("the worker `{command}` cannot be started: {source}")]
    Start {
        /// The command.
        command: String,
        /// The system's error.
        source: io::Error,
    },
    /// It ended before its first line.
    #[error("the worker `{command}` ended before its first line: {reason}")]
    Ended {
        /// The command.
        command: String,
        /// How it ended, and its last words.
        reason: String,
    },
    /// It said nothing.
    #[error(
        "the worker `{command}` did not answer within {} s{}; does the command work without a password?",
        after.as_secs_f64(), last_words(said)
    )]
    Silent {
        /// The command.
        command: String,
        /// How long it was waited for.
        after: Duration,
        /// What it printed last.
        said: String,
    },
    /// It is of another version.
    #[error(
        "the worker `{command}` (tripipe {version}) speaks version {protocol} of the protocol, this program version {PROTOCOL}: \
         install the same version of tripipe on both sides"
    )]
    Protocol {
        /// The command.
        command: String,
        /// The version of its program.
        version: String,
        /// Its protocol.
        protocol: u64,
    },
    /// After a restart, its device is another one.
    #[error("the worker `{command}` now measures on {found}, before on {want}")]
    OtherDevice {
        /// The command.
        command: String,
        /// The device before.
        want: String,
        /// The device now.
        found: String,
    },
    /// The start was cancelled.
    #[error("the start of the worker `{command}` was cancelled")]
    Cancelled {
        /// The command.
        command: String,
    },
}

fn last_words(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(" (it printed: {said})") }
}

/// Why a request has no answer.
enum Fault {
    /// The worker's process ended, in this phase.
    Ended(Option<Phase>, String),
    /// It was stopped after so long.
    Hung(Option<Phase>, Duration),
    /// It was stopped because it used too much memory: this number of bytes.
    TooMuchMemory(Option<Phase>, u64),
    /// It answered that nothing can be measured.
    Refused(BenchError),
}

/// Measures in a worker process, which is started again after a kernel has ended it.
///
/// A worker that ends, hangs or takes too much memory while it builds or runs a candidate gives that candidate its
/// outcome. If the reference kernel is to blame, the problem is measured without one from then on.
pub struct Supervised {
    command: Box<dyn FnMut() -> Command + Send>,
    /// The command in words.
    name: String,
    limits: WorkerLimits,
    is_connection: bool,
    cancelled: Arc<AtomicBool>,
    on_phase: Box<dyn FnMut(Phase) + Send>,
    hello: Hello,
    worker: Option<Process>,
    /// The kernel that was described to the worker.
    described: Option<Problem>,
    /// Candidates that the worker has measured.
    measured: usize,
    without_reference: Vec<Problem>,
}

impl Supervised {
    /// Starts a worker on this machine with `command`, which is called again for every later worker.
    ///
    /// # Errors
    /// The worker does not start, or is of another version.
    pub fn start(
        command: impl FnMut() -> Command + Send + 'static,
        limits: WorkerLimits,
    ) -> Result<Self, WorkerError> {
        Self::new(Box::new(command), limits, false)
    }

    /// Starts a worker on another machine with `command`, which connects to it. The worker there should be a guard,
    /// and `limits` should be [`WorkerLimits::behind_a_guard`]. If the connection is lost, it is restored and the
    /// candidate measured again; after the second time, the candidate is to blame.
    ///
    /// # Errors
    /// The worker does not start, or is of another version.
    pub fn connect(
        command: impl FnMut() -> Command + Send + 'static,
        limits: WorkerLimits,
    ) -> Result<Self, WorkerError> {
        Self::new(Box::new(command), limits, true)
    }

    fn new(
        command: Box<dyn FnMut() -> Command + Send>,
        limits: WorkerLimits,
        is_connection: bool,
    ) -> Result<Self, WorkerError> {
        let mut supervised = Self {
            command,
            name: String::new(),
            limits,
            is_connection,
            cancelled: Arc::default(),
            on_phase: Box::new(|_| {}),
            hello: Hello::new(&Probe::default()),
            worker: None,
            described: None,
            measured: 0,
            without_reference: Vec::new(),
        };
        let (worker, hello) = supervised.start_worker()?;
        (supervised.worker, supervised.hello) = (Some(worker), hello);
        Ok(supervised)
    }

    /// Calls `on_phase` before each phase of a measurement.
    #[must_use]
    pub fn on_phase(mut self, on_phase: impl FnMut(Phase) + Send + 'static) -> Self {
        self.on_phase = Box::new(on_phase);
        self
    }

    /// When this is set to `true`, the current measurement is [cancelled](BenchError::Cancelled), and all later ones.
    pub fn cancellation(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    /// The first line of the worker.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// When the worker is stopped or replaced; changes apply to later measurements.
    pub fn limits_mut(&mut self) -> &mut WorkerLimits {
        &mut self.limits
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    fn start_worker(&mut self) -> Result<(Process, Hello), WorkerError> {
        let made = (self.command)();
        self.name = in_words(&made);
        let command = self.name.clone();
        let mut process = Process::start(made, true)
            .map_err(|source| WorkerError::Start { command: command.clone(), source })?;
        let cancelled = Arc::clone(&self.cancelled);
        let is_cancelled = move || cancelled.load(Ordering::SeqCst);
        loop {
            match process.wait(self.limits.start, self.limits.memory_bytes, &is_cancelled) {
                WaitOutcome::Reply(Reply::Hello(hello)) if hello.protocol == PROTOCOL => {
                    return Ok((process, *hello));
                }
                WaitOutcome::Reply(Reply::Hello(hello)) => {
                    let Hello { protocol, version, .. } = *hello;
                    return Err(WorkerError::Protocol { command, version, protocol: protocol.into() });
                }
                WaitOutcome::OtherProtocol { protocol, version } => {
                    return Err(WorkerError::Protocol { command, version, protocol });
                }
                WaitOutcome::Reply(_) => {}
                WaitOutcome::Ended(reason) => return Err(WorkerError::Ended { command, reason }),
                WaitOutcome::Overdue => {
                    let (after, said) = (self.limits.start, process.last_words());
                    return Err(WorkerError::Silent { command, after, said });
                }
                WaitOutcome::TooMuchMemory(bytes) => {
                    let reason = format!("it used {} MiB of memory and was stopped", bytes >> 20);
                    return Err(WorkerError::Ended { command, reason });
                }
                WaitOutcome::Cancelled => return Err(WorkerError::Cancelled { command }),
            }
        }
    }

    /// A worker that runs; a connection is restored with patience.
    fn worker(&mut self) -> Result<&mut Process, BenchError> {
        if self.measured >= self.limits.candidates
            && let Some(worker) = self.worker.take()
        {
            worker.bid_farewell();
        }
        if self.worker.is_none() {
            let mut waits =
                if self.is_connection { self.limits.reconnect.clone() } else { Vec::new() }.into_iter();
            let (worker, hello) = loop {
                match self.start_worker() {
                    Ok(started) => break started,
                    Err(WorkerError::Cancelled { .. }) => return Err(BenchError::Cancelled),
                    Err(error @ (WorkerError::Ended { .. } | WorkerError::Silent { .. })) => {
                        let Some(wait) = waits.next() else {
                            return Err(BenchError::Device(error.to_string()));
                        };
                        self.rest(wait)?;
                    }
                    Err(error) => return Err(BenchError::Device(error.to_string())),
                }
            };
            let [want, found] = [&self.hello, &hello].map(|hello| {
                let Probe { name, driver, platform, .. } = &hello.device;
                format!("{name}, {platform}, driver {driver}")
            });
            if want != found {
                let error = WorkerError::OtherDevice { command: self.name.clone(), want, found };
                return Err(BenchError::Device(error.to_string()));
            }
            (self.worker, self.hello, self.measured) = (Some(worker), hello, 0);
            self.described = None;
        }
        self.worker.as_mut().ok_or(BenchError::Cancelled)
    }

    fn rest(&self, wait: Duration) -> Result<(), BenchError> {
        const STEP: Duration = Duration::from_millis(50);
        let mut left = wait;
        while !left.is_zero() {
            if self.is_cancelled() {
                return Err(BenchError::Cancelled);
            }
            thread::sleep(left.min(STEP));
            left = left.saturating_sub(STEP);
        }
        Ok(())
    }

    /// Sends one request and waits for its answer. After a fault, no worker is left.
    fn ask(
        &mut self,
        problem: &Problem,
        parameters: &[String],
        effort: &Effort,
    ) -> Result<Result<Vec<Trial>, Fault>, BenchError> {
        if self.is_cancelled() {
            return Err(BenchError::Cancelled);
        }
        let mut effort = *effort;
        effort.reference &= !self.without_reference.contains(problem);
        let (limits, cancelled) = (self.limits.clone(), Arc::clone(&self.cancelled));
        let is_cancelled = move || cancelled.load(Ordering::SeqCst);
        let request =
            Request::Measure { problem: problem.to_string(), parameters: parameters.to_vec(), effort };
        self.worker()?;
        if let Problem::Kernel(kernel) = problem
            && self.described.replace(problem.clone()).as_ref() != Some(problem)
        {
            self.worker()?.send(&Request::Kernel(Box::new((**kernel).clone())));
        }
        self.worker()?.send(&request);
        self.measured += parameters.len();
        let mut phase = None;
        let fault = loop {
            let Some(worker) = &mut self.worker else { return Err(BenchError::Cancelled) };
            // Nothing was heard of the request yet: the worker is about to read it.
            let limit = phase.map_or(limits.build, |phase| limits.of(phase, &effort, parameters.len()));
            match worker.wait(limit, limits.memory_bytes, &is_cancelled) {
                WaitOutcome::Reply(Reply::Phase(next)) => {
                    phase = Some(next);
                    (self.on_phase)(next);
                }
                WaitOutcome::Reply(Reply::Trials(trials)) if trials.len() == parameters.len() => {
                    if trials.iter().any(|trial| matches!(trial.outcome, Outcome::DeviceLost { .. })) {
                        // The driver is not trusted any more.
                        self.worker = None;
                    }
                    return Ok(Ok(trials));
                }
                WaitOutcome::Reply(Reply::Refused { reason, device }) => {
                    let problem = problem.to_string();
                    break Fault::Refused(if device {
                        BenchError::Device(reason)
                    } else {
                        BenchError::Problem { problem, reason }
                    });
                }
                WaitOutcome::Reply(_) | WaitOutcome::OtherProtocol { .. } => {}
                WaitOutcome::Ended(reason) => break Fault::Ended(phase, reason),
                WaitOutcome::Overdue => break Fault::Hung(phase, limit),
                WaitOutcome::TooMuchMemory(bytes) => break Fault::TooMuchMemory(phase, bytes),
                WaitOutcome::Cancelled => {
                    self.worker = None;
                    return Err(BenchError::Cancelled);
                }
            }
        };
        if !matches!(fault, Fault::Refused(BenchError::Problem { .. })) {
            self.worker = None;
        }
        Ok(Err(fault))
    }

    /// The outcome of a candidate that ended its worker.
    fn outcome(&self, fault: Fault) -> Result<Outcome, BenchError> {
        let during = |phase: Option<Phase>| phase.map_or_else(String::new, |phase| format!(" while {phase}"));
        Ok(match fault {
            Fault::Ended(phase, reason) if self.is_connection => {
                let reason = format!("the connection ended twice{}: {reason}", during(phase));
                Outcome::DeviceLost { reason }
            }
            Fault::Hung(phase, after) if self.is_connection => {
                let seconds = after.as_secs_f64();
                let reason = format!("no answer within {seconds} s, twice{}", during(phase));
                Outcome::DeviceLost { reason }
            }
            Fault::Ended(phase, reason) => Outcome::Crashed { reason: format!("{reason}{}", during(phase)) },
            Fault::Hung(phase, after) => Outcome::Hung {
                after_s: after.as_secs_f64(),
                during: phase.map(|phase| phase.to_string()).unwrap_or_default(),
            },
            Fault::TooMuchMemory(phase, bytes) => {
                let limit = self.limits.memory_bytes.unwrap_or_default() >> 20;
                let reason = format!(
                    "the process used {} MiB, the limit is {limit} MiB{}",
                    bytes >> 20,
                    during(phase)
                );
                Outcome::OutOfMemory { reason }
            }
            Fault::Refused(error) => return Err(error),
        })
    }
}

/// A command line in words.
fn in_words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

impl Bench for Supervised {
    fn probe(&self) -> &Probe {
        &self.hello.device
    }

    fn measure(&mut self, problem: &Problem, parameters: &str, effort: &Effort) -> Result<Trial, BenchError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let fault = match self.ask(problem, &[parameters.to_owned()], effort)? {
                Ok(trials) => {
                    let lost = BenchError::Device("the worker gave no trial".to_owned());
                    return trials.into_iter().next().ok_or(lost);
                }
                Err(fault) => fault,
            };
            let phase = match &fault {
                Fault::Ended(phase, _) | Fault::Hung(phase, _) | Fault::TooMuchMemory(phase, _) => *phase,
                // A device may have recovered once the process that used it has ended.
                Fault::Refused(BenchError::Device(_)) if attempts == 1 => continue,
                Fault::Refused(_) => None,
            };
            match phase {
                // The candidate has not begun yet.
                Some(Phase::Reference) if !self.is_connection => {
                    if attempts > 3 {
                        let (problem, reason) = (problem.to_string(), self.outcome(fault)?);
                        let reason = reason.reason().unwrap_or_default();
                        return Err(BenchError::Problem { problem, reason });
                    }
                    self.without_reference.push(problem.clone());
                }
                Some(Phase::SetUp) | None if !self.is_connection => {
                    let outcome = self.outcome(fault)?;
                    if attempts > 1 {
                        let reason = outcome.reason().unwrap_or_default();
                        return Err(BenchError::Problem { problem: problem.to_string(), reason });
                    }
                }
                _ if self.is_connection && attempts == 1 && !matches!(fault, Fault::Refused(_)) => {}
                _ => return Ok(Trial { parameters: parameters.to_owned(), outcome: self.outcome(fault)? }),
            }
        }
    }

    fn compare(
        &mut self,
        problem: &Problem,
        parameters: &[String],
        effort: &Effort,
    ) -> Result<Vec<Trial>, BenchError> {
        match self.ask(problem, parameters, effort)? {
            Ok(trials) => Ok(trials),
            Err(Fault::Refused(error @ BenchError::Problem { .. })) => Err(error),
            // One of them is to blame: each by itself shows which.
            Err(_) => parameters.iter().map(|one| self.measure(problem, one, effort)).collect(),
        }
    }
}
