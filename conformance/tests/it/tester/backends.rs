//! The backends on which a case runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tripipe::{Context, Device, Error};
use tripipe_ir::front::clang::{Cache, Clang};
use tripipe_simulate::{Options, Simulator};

use super::Case;
use super::disguise;
use super::numbers::scrambled;

/// A backend on which a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Cpu,
    OpenCl,
    Simulator,
    /// The simulator, with kernels for a phone.
    Mali,
    Midgard,
    Adreno,
}

impl Backend {
    pub const ALL: [Self; 6] =
        [Self::Cpu, Self::OpenCl, Self::Simulator, Self::Mali, Self::Midgard, Self::Adreno];
    /// The backends that use the simulator.
    const SIMULATED: [Self; 4] = [Self::Simulator, Self::Mali, Self::Midgard, Self::Adreno];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "CPU path",
            Self::OpenCl => "OpenCL",
            Self::Simulator => "simulator",
            Self::Mali => "simulated Mali",
            Self::Midgard => "simulated Midgard",
            Self::Adreno => "simulated Adreno",
        }
    }
}

/// The outcome of a case on one backend.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The result's bytes.
    Done(Vec<u8>),
    /// An error.
    Refused(String),
    /// A panic, which is a failure.
    Panicked(String),
}

/// Changes an outcome, so that the tester itself can be tested.
pub type Tamper = Arc<dyn Fn(&Case, Backend, &mut Outcome) + Send + Sync>;

/// The contexts that cases run on.
pub struct Backends {
    contexts: Vec<(Backend, Context)>,
    simulated: u64,
    tamper: Option<Tamper>,
}

/// The backends to open.
#[derive(Clone)]
pub struct BackendOptions {
    /// The selected backends.
    pub selected: Vec<Backend>,
    /// Threads of the simulator.
    pub threads: usize,
    /// The simulator runs one case in this many.
    pub simulated: u64,
    /// Changes outcomes, for tests of the tester.
    pub tamper: Option<Tamper>,
}

impl Default for BackendOptions {
    fn default() -> Self {
        Self { selected: Backend::ALL.to_vec(), threads: 0, simulated: 4, tamper: None }
    }
}

/// The simulator runs cases with at most this many multiply-adds.
const SIMULATED_WORK: f64 = 3e5;

impl Backends {
    /// Opens the backends; those that are not available are reported and skipped.
    ///
    /// # Errors
    /// No backend is available.
    pub fn open(options: &BackendOptions) -> Result<(Self, Vec<String>), String> {
        let (mut contexts, mut notes) = (Vec::new(), Vec::new());
        for backend in &options.selected {
            match open(*backend, options.threads) {
                Ok(context) => contexts.push((*backend, context)),
                Err(reason) => notes.push(format!("left out: the {}: {reason}", backend.name())),
            }
        }
        if contexts.is_empty() {
            return Err(format!("nothing to run on: {}", notes.join("; ")));
        }
        let tamper = options.tamper.clone();
        Ok((Self { contexts, simulated: options.simulated.max(1), tamper }, notes))
    }

    /// The open backends.
    pub fn all(&self) -> impl Iterator<Item = Backend> {
        self.contexts.iter().map(|(backend, _)| *backend)
    }

    /// Whether a case runs on a backend. The simulator runs a share of the small cases, each as one of its devices.
    /// Neighbouring cases, which share kernels, use the same device.
    pub fn takes(&self, backend: Backend, case: &Case, number: u64) -> bool {
        let simulated: Vec<Backend> =
            self.all().filter(|backend| Backend::SIMULATED.contains(backend)).collect();
        let Some(place) = simulated.iter().position(|one| *one == backend) else { return true };
        let device = scrambled(8, number / super::FAMILY) as usize % simulated.len();
        device == place
            && scrambled(7, number).is_multiple_of(self.simulated)
            && case.work() <= SIMULATED_WORK
    }

    /// Runs a case on a backend; `None` if the backend does not support it.
    pub fn run(&self, backend: Backend, case: &Case) -> Option<Outcome> {
        let (_, context) = self.contexts.iter().find(|(known, _)| *known == backend)?;
        let ran = catch_unwind(AssertUnwindSafe(|| case.run(context, backend)));
        let mut outcome = match ran {
            Ok(Ok(None)) => return None,
            Ok(Ok(Some(bytes))) => Outcome::Done(bytes),
            Ok(Err(error)) => Outcome::Refused(message(&error)),
            Err(panic) => Outcome::Panicked(
                panic
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                    .unwrap_or_else(|| "a panic without a message".to_owned()),
            ),
        };
        if let Some(tamper) = &self.tamper {
            tamper(case, backend, &mut outcome);
        }
        Some(outcome)
    }
}

fn message(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().chars().take(300).collect()
}

fn open(backend: Backend, threads: usize) -> Result<Context, String> {
    let builder = Context::builder().cpu_when_faster(false);
    let opened = match backend {
        Backend::Cpu => builder.build(&Device::Cpu),
        Backend::OpenCl => {
            let found = Device::list();
            let device = found.devices.iter().find(|device| matches!(device, Device::OpenCl(_)));
            match (device, found.no_opencl) {
                (Some(device), _) => builder.build(device),
                (None, Some(error)) => return Err(error.to_string()),
                (None, None) => return Err("no OpenCL device".to_owned()),
            }
        }
        Backend::Simulator | Backend::Mali | Backend::Midgard | Backend::Adreno => {
            // The simulator compiles the library's kernels as they are needed.
            Clang::find().map_err(|error| error.to_string())?;
            let mut options = Options { threads, ..Options::default() };
            options.build.cache = Cache::from_environment();
            let simulator = Simulator::new(options);
            match backend {
                Backend::Mali => builder.build_over(disguise::mali(simulator)),
                Backend::Midgard => builder.build_over(disguise::midgard(simulator)),
                Backend::Adreno => builder.build_over(disguise::adreno(simulator)),
                _ => builder.build_over(simulator),
            }
        }
    };
    opened.map_err(|error| error.to_string())
}
