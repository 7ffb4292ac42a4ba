//! A kernel in the simulator, with all checks.

use std::sync::Arc;
use std::time::Duration;

use tripipe_ir::diagnostic::{Finding, Severity};
use tripipe_launch::{ExecuteError, Executor as _, Launch, Program, ScalarType};
use tripipe_launch_file::{ArrayShape, FileError, Files, LaunchFile, Limits, NoFiles, Signature, parse};
use tripipe_simulate::watch::Checks;
use tripipe_simulate::{Options, Simulator};

use super::TOO_LONG;
use crate::{Subject, Target};

/// What a kernel left.
#[derive(Clone, Debug)]
pub(super) struct Ran {
    /// The memory objects.
    pub(super) memory: Vec<OutputMemory>,
    pub(super) findings: Vec<Finding>,
    pub(super) elapsed: Duration,
}

/// The contents of a memory object after a run.
#[derive(Clone, Debug)]
pub(super) struct OutputMemory {
    /// Its argument's name.
    pub(super) name: String,
    pub(super) array: ArrayShape,
    pub(super) bytes: Vec<u8>,
}

impl Ran {
    /// The first finding that makes results undefined, or incomplete: a launch that was cut off proves nothing.
    pub(super) fn error(&self) -> Option<&Finding> {
        let is_error =
            |finding: &&Finding| finding.rule.severity == Severity::Error || finding.rule.code == TOO_LONG;
        self.findings.iter().find(is_error)
    }
}

/// Why a kernel could not be run.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    #[error(transparent)]
    Launch(#[from] FileError),
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

/// A kernel that is built for the simulator.
pub(super) struct Runner {
    subject: Subject,
    /// Kernels that run in its place, one after the other, and which of its arguments each has; none for itself.
    calls: Vec<(String, Vec<usize>)>,
    simulator: Simulator,
}

impl Runner {
    /// A kernel, built for what the driver of `target` offers; a launch runs at most `steps` instructions.
    pub(super) fn new(subject: Subject, target: Option<&Target>, steps: u64) -> Self {
        let mut options = Options { steps, ..Options::default() };
        options.build.cache = tripipe_ir::front::clang::Cache::from_environment();
        if let Some(target) = target {
            options.build.offered = Some(target.offered.clone());
            options.sub_group = target.gpu.core.warp_width.value.max(1);
        }
        Self { subject, calls: Vec::new(), simulator: Simulator::new(options) }
    }

    /// The same with other kernels in its place.
    pub(super) fn with_calls(self, calls: &[(String, Vec<usize>)]) -> Self {
        Self { calls: calls.to_vec(), ..self }
    }

    /// Runs a launch with all checks.
    pub(super) fn run(&mut self, launch: &LaunchFile, files: &mut dyn Files) -> Result<Ran, RunError> {
        let mut launch = launch.clone();
        launch.forget_results();
        let elements = launch.element_types();
        let signature = self.signature(&launch)?;
        let program = self.program(&launch);
        let loaded = launch.load(&[signature], files, Limits::default())?;
        let staged = loaded.stage(&mut self.simulator, program)?;
        let checked = self.check(&staged.launch, &elements);
        let mut memory = Vec::new();
        for object in staged.memory {
            let bytes = object.read(&mut self.simulator)?.bytes;
            self.simulator.release(object.id)?;
            memory.push(OutputMemory { name: object.name, array: object.array, bytes });
        }
        let (findings, elapsed) = checked?;
        Ok(Ran { memory, findings, elapsed })
    }

    /// Runs the kernel, or those in its place.
    fn check(
        &mut self,
        launch: &Launch,
        elements: &[Option<ScalarType>],
    ) -> Result<(Vec<Finding>, Duration), ExecuteError> {
        let own = (launch.entry.clone(), (0..launch.arguments.len()).collect());
        let calls = if self.calls.is_empty() { vec![own] } else { self.calls.clone() };
        let (mut findings, mut elapsed) = (Vec::new(), Duration::ZERO);
        for (entry, arguments) in calls {
            let mut checks = Checks::all();
            let of = |index: &usize| elements.get(*index).copied().flatten();
            checks.set_elements(arguments.iter().map(of).collect());
            let arguments = arguments.iter().filter_map(|index| launch.arguments.get(*index).cloned());
            let launch = Launch { entry, arguments: arguments.collect(), ..launch.clone() };
            let checked = self.simulator.check(&launch, &checks)?;
            findings.extend(checked.findings);
            elapsed += checked.report.elapsed;
        }
        Ok((findings, elapsed))
    }

    /// The kernel's parameters.
    pub(super) fn signature(&mut self, launch: &LaunchFile) -> Result<Signature, ExecuteError> {
        let program = self.program(launch);
        Ok(Signature::of(self.simulator.kernel(&program, &self.subject.kernel)?))
    }

    /// The program with the options of a launch.
    fn program(&self, launch: &LaunchFile) -> Arc<Program> {
        Subject { launch: launch.clone(), ..self.subject.clone() }.program()
    }
}

/// What a kernel of another source than `subject`'s writes to a buffer of `count` elements, its only argument, with as many
/// work-items; `None` if it cannot run, or does something undefined.
pub(crate) fn computed(
    subject: &Subject,
    kernel: &str,
    source: String,
    element: &str,
    count: usize,
    steps: u64,
) -> Option<Vec<u8>> {
    let text = format!(
        "source = \"computed.cl\"\nkernel = \"{kernel}\"\nglobal = {count}\n\
         [[argument]]\nbuffer = \"{element}\"\ncount = {count}\nfill = 0\n"
    );
    let parsed = parse(&text, "computed.toml").ok()?;
    let LaunchFile { source: file, options, .. } = subject.launch.clone();
    let launch = LaunchFile { source: file, options, ..parsed };
    let subject = Subject { kernel: kernel.to_owned(), source, launch: launch.clone(), ..subject.clone() };
    let ran = Runner::new(subject, None, steps).run(&launch, &mut NoFiles).ok()?;
    let is_defined = ran.error().is_none();
    ran.memory.into_iter().next().map(|memory| memory.bytes).filter(|_| is_defined)
}
