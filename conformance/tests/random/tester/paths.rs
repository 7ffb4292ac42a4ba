//! The paths on which a case runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tripipe::{Context, Device, Error};
use tripipe_ir::front::clang::{Cache, Clang};
use tripipe_simulate::{Options, Simulator};

use super::Case;
use super::disguise;
use super::numbers::scrambled;

/// A path on which a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Cpu,
    OpenCl,
    Simulator,
    /// The simulator, with kernels for a phone.
    Mali,
    Midgard,
    Adreno,
}

impl Way {
    pub const ALL: [Self; 6] =
        [Self::Cpu, Self::OpenCl, Self::Simulator, Self::Mali, Self::Midgard, Self::Adreno];
    /// The paths that use the simulator.
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

/// The outcome of a case on one path.
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
pub type Tamper = Arc<dyn Fn(&Case, Way, &mut Outcome) + Send + Sync>;

/// The contexts that cases run on.
pub struct Paths {
    contexts: Vec<(Way, Context)>,
    simulated: u64,
    tamper: Option<Tamper>,
}

/// The paths to open.
#[derive(Clone)]
pub struct PathOptions {
    /// The selected paths.
    pub ways: Vec<Way>,
    /// Threads of the simulator.
    pub threads: usize,
    /// The simulator runs one case in this many.
    pub simulated: u64,
    /// Changes outcomes, for tests of the tester.
    pub tamper: Option<Tamper>,
}

impl Default for PathOptions {
    fn default() -> Self {
        Self { ways: Way::ALL.to_vec(), threads: 0, simulated: 4, tamper: None }
    }
}

/// The simulator runs cases with at most this many multiply-adds.
const SIMULATED_WORK: f64 = 3e5;

impl Paths {
    /// Opens the paths; those that are not available are reported and skipped.
    ///
    /// # Errors
    /// No path is available.
    pub fn open(options: &PathOptions) -> Result<(Self, Vec<String>), String> {
        let (mut contexts, mut notes) = (Vec::new(), Vec::new());
        for way in &options.ways {
            match open(*way, options.threads) {
                Ok(context) => contexts.push((*way, context)),
                Err(reason) => notes.push(format!("left out: the {}: {reason}", way.name())),
            }
        }
        if contexts.is_empty() {
            return Err(format!("nothing to run on: {}", notes.join("; ")));
        }
        let tamper = options.tamper.clone();
        Ok((Self { contexts, simulated: options.simulated.max(1), tamper }, notes))
    }

    /// The open paths.
    pub fn ways(&self) -> impl Iterator<Item = Way> {
        self.contexts.iter().map(|(way, _)| *way)
    }

    /// Whether a case runs on a path. The simulator runs a share of the small cases, each as one of its devices.
    /// Neighbouring cases, which share kernels, use the same device.
    pub fn takes(&self, way: Way, case: &Case, number: u64) -> bool {
        let simulated: Vec<Way> = self.ways().filter(|way| Way::SIMULATED.contains(way)).collect();
        let Some(place) = simulated.iter().position(|one| *one == way) else { return true };
        let device = scrambled(8, number / super::FAMILY) as usize % simulated.len();
        device == place
            && scrambled(7, number).is_multiple_of(self.simulated)
            && case.work() <= SIMULATED_WORK
    }

    /// Runs a case on a path; `None` if the path does not support it.
    pub fn run(&self, way: Way, case: &Case) -> Option<Outcome> {
        let (_, context) = self.contexts.iter().find(|(known, _)| *known == way)?;
        let ran = catch_unwind(AssertUnwindSafe(|| case.run(context, way)));
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
            tamper(case, way, &mut outcome);
        }
        Some(outcome)
    }
}

fn message(error: &Error) -> String {
    error.to_string().lines().next().unwrap_or_default().chars().take(300).collect()
}

fn open(way: Way, threads: usize) -> Result<Context, String> {
    let builder = Context::builder().cpu_when_faster(false);
    let opened = match way {
        Way::Cpu => builder.build(&Device::Cpu),
        Way::OpenCl => {
            let found = Device::list();
            let device = found.devices.iter().find(|device| matches!(device, Device::OpenCl(_)));
            match (device, found.no_opencl) {
                (Some(device), _) => builder.build(device),
                (None, Some(error)) => return Err(error.to_string()),
                (None, None) => return Err("no OpenCL device".to_owned()),
            }
        }
        Way::Simulator | Way::Mali | Way::Midgard | Way::Adreno => {
            // The simulator compiles the library's kernels as they are needed.
            Clang::find().map_err(|error| error.to_string())?;
            let mut options = Options { threads, ..Options::default() };
            options.build.cache = Cache::from_environment();
            let simulator = Simulator::new(options);
            match way {
                Way::Mali => builder.build_over(disguise::mali(simulator)),
                Way::Midgard => builder.build_over(disguise::midgard(simulator)),
                Way::Adreno => builder.build_over(disguise::adreno(simulator)),
                _ => builder.build_over(simulator),
            }
        }
    };
    opened.map_err(|error| error.to_string())
}
