//! An attempt at an exercise: run with all checks, compared with the reference, then priced.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tripipe_device::Gpu;
use tripipe_ir::diagnostic::{Finding, Severity};
use tripipe_launch::{Access, Executor as _};
use tripipe_launch_file::{
    ArrayShape, Comparison, Given, LaunchFile, Limits, Memory, Staged, StagedMemory, Tolerance,
};
use tripipe_simulate::watch::Checks;
use tripipe_simulate::{Schedule, Simulator};
use tripipe_timing::Options;

use super::exercise::Exercise;
use crate::commands::check::merge;
use crate::launch_input::{Built, Description, LIMIT_STEPS, Trial, Workload, one_kernel};
use crate::progress::Progress;

/// The name of the exercise's own kernels in messages.
const OWN: &str = "the exercise's kernel";

/// The result of an attempt.
#[derive(Default)]
pub(super) struct Attempt {
    /// The launches: the kernel, work-items, and work-items of a work-group.
    pub(super) launches: Vec<(String, [u64; 3], [u64; 3])>,
    /// What the checks found in all launches.
    pub(super) findings: Vec<Finding>,
    /// What could not be checked.
    pub(super) left_out: BTreeSet<String>,
    /// The numbers that were compared with the reference's.
    pub(super) numbers: usize,
    /// The first result that differs, with its launch.
    pub(super) differs: Option<Mismatch>,
    /// Predicted seconds of the kernel to start from, and of this one; `None` unless all results are right.
    pub(super) seconds: Option<[f64; 2]>,
}

/// Results that differ from the reference's.
pub(super) struct Mismatch {
    /// The sizes of the launch: `width = 8, HEIGHT = 1`.
    pub(super) sizes: String,
    /// The argument whose memory they are in.
    pub(super) memory: String,
    /// What differs.
    pub(super) comparison: Comparison,
}

impl Attempt {
    /// Tries a kernel, whose file is `source`.
    ///
    /// # Errors
    /// It does not compile, is not the kernel of the exercise, or cannot run.
    pub(super) fn new(exercise: &Exercise, source: &str, program: &str, progress: &Progress) -> Result<Self> {
        let gpu = exercise.gpu()?;
        let mut attempt = Self::default();
        progress.say("compiling the kernel");
        let own = exercise.description(source, program, &[])?.build(Some(gpu))?;
        let reference = exercise.description(OWN, exercise.reference, &[])?.build(Some(gpu))?;
        progress.say("checking the kernel");
        for sizes in exercise.sizes {
            let launch = exercise.description(OWN, exercise.reference, sizes)?;
            let expected = results(&launch, &reference, gpu, STEPS)?;
            let description = exercise.description(source, program, sizes)?;
            let found = attempt.check(&description, &own, gpu)?;
            let shown: Vec<String> = sizes.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            attempt.compare(&expected, &found, exercise.relative, &shown.join(", "));
        }
        if attempt.is_right() {
            // A kernel that does less at the size that is timed is not faster.
            progress.say("comparing the results of the timed launch");
            let launch = exercise.description(OWN, exercise.reference, &[])?;
            let expected = results(&launch, &reference, gpu, TIMED_STEPS)?;
            let found = results(&exercise.description(source, program, &[])?, &own, gpu, TIMED_STEPS)?;
            attempt.compare(&expected, &found, exercise.relative, "the sizes that are timed");
        }
        if attempt.is_right() {
            progress.say("predicting the time");
            let start = seconds(&exercise.description(OWN, exercise.start, &[])?, gpu)?;
            attempt.seconds = Some([start, seconds(&exercise.description(source, program, &[])?, gpu)?]);
        }
        Ok(attempt)
    }

    /// Whether nothing worse than a note was found, and all results are the reference's.
    pub(super) fn is_right(&self) -> bool {
        self.differs.is_none() && self.findings.iter().all(|found| found.rule.severity == Severity::Note)
    }

    /// Whether the goal is met.
    pub(super) fn is_passed(&self, exercise: &Exercise) -> bool {
        self.seconds.is_some_and(|[start, own]| own <= exercise.share * start)
    }

    /// Runs a launch with all checks; returns what it leaves.
    fn check(
        &mut self,
        description: &Description,
        built: &Built,
        gpu: &'static Gpu,
    ) -> Result<Vec<OutputMemory>> {
        let (mut simulator, staged) = stage(description, built, gpu, STEPS)?;
        let mut checks = Checks::all();
        checks.set_elements(description.file.element_types());
        let checked = simulator.check(&staged.launch, &checks).with_context(|| built.program.name.clone())?;
        merge(&mut self.findings, checked.findings);
        self.left_out.extend(checked.left_out);
        let report = checked.report;
        self.launches.push((staged.launch.entry.clone(), report.global, report.local));
        left(&description.file, &mut simulator, &staged)
    }

    /// Compares what a launch left with what the reference did.
    fn compare(&mut self, expected: &[OutputMemory], found: &[OutputMemory], relative: f64, sizes: &str) {
        for (expected, found) in expected.iter().zip(found) {
            // Sums that cancel are as far off as their terms, which are about 1.
            let tolerance = Tolerance { relative, absolute: relative, ..Tolerance::default() };
            let comparison = Comparison::of(&expected.array, &found.bytes, &expected.bytes, &tolerance);
            self.numbers += comparison.numbers;
            if comparison.differing > 0 && self.differs.is_none() {
                let (sizes, memory) = (sizes.to_owned(), expected.name.clone());
                self.differs = Some(Mismatch { sizes, memory, comparison });
            }
        }
    }
}

/// A result of a launch.
struct OutputMemory {
    name: String,
    array: ArrayShape,
    bytes: Vec<u8>,
}

/// A simulator with the memory of a launch.
fn stage(
    description: &Description,
    built: &Built,
    gpu: &'static Gpu,
    steps: u64,
) -> Result<(Simulator, Staged)> {
    let loaded = description.load(built, Limits::default())?;
    let width = gpu.core.warp_width.value as usize;
    let mut options = tripipe_simulate::Options {
        gpu: Some(gpu),
        steps,
        schedule: Schedule::numbered(0).at_most(width),
        ..tripipe_simulate::Options::default()
    };
    options.build.offered = description.offered(Some(gpu))?;
    let mut simulator = Simulator::new(options);
    let staged = loaded.stage(&mut simulator, Arc::clone(&built.program));
    let staged = staged.with_context(|| built.program.name.clone())?;
    Ok((simulator, staged))
}

/// The most instructions of a small launch: a loop without end ends there.
const STEPS: u64 = 1_000_000;
/// The most instructions of the launch that is timed.
const TIMED_STEPS: u64 = 1_000_000_000;

/// The memory that a kernel may write.
fn left(file: &LaunchFile, simulator: &mut Simulator, staged: &Staged) -> Result<Vec<OutputMemory>> {
    let is_result = |memory: &&StagedMemory| {
        let given = file.arguments.get(memory.argument).map(|entry| &entry.given);
        !matches!(given, Some(Given::Memory(Memory { access: Access::Read, .. })))
    };
    let read = |memory: &StagedMemory| {
        let bytes = memory.read(simulator)?.bytes;
        Ok(OutputMemory { name: memory.name.clone(), array: memory.array.clone(), bytes })
    };
    staged.memory.iter().filter(is_result).map(read).collect()
}

/// What a kernel leaves that is known to be right.
fn results(
    description: &Description,
    built: &Built,
    gpu: &'static Gpu,
    steps: u64,
) -> Result<Vec<OutputMemory>> {
    let (mut simulator, staged) = stage(description, built, gpu, steps)?;
    simulator.run(std::slice::from_ref(&staged.launch)).with_context(|| built.program.name.clone())?;
    left(&description.file, &mut simulator, &staged)
}

/// The predicted time of a launch.
fn seconds(description: &Description, gpu: &'static Gpu) -> Result<f64> {
    let build = description.as_driver(gpu)?;
    let kernel = one_kernel(&build.loaded, &description.shown(), description.file.kernel.as_deref())?;
    let workload = Workload::new(description, &build, kernel, LIMIT_STEPS)?;
    Ok(workload.predict(gpu, &Trial::default(), &Options::default())?.prediction.seconds)
}
