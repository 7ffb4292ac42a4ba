//! A user's kernel on a device: memory, launches of its candidates, and the check of its results.

use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_kernels::bench::Bench;
use tripipe_launch::{Access, ExecuteError, ImageExtent, Launch, MemoryId, MemoryKind, ScalarType};
use tripipe_launch_file::{
    ArrayShape, Comparison, Contents, Difference, Given, LaunchFile, LoadedMemory, Memory, MemoryShape,
    Tolerance,
};

use super::subject::{BoundCandidate, Subject};
use crate::kernel::{KernelProblem, KernelReference, UNWRITTEN, work_group_misfit};
use crate::{BenchError, Outcome};

/// Bytes behind a buffer that must not change; only on devices, because the simulator knows the ends of buffers.
const GUARD: usize = 4096;
const GUARD_BYTE: u8 = 0xA5;

/// A kernel, with the memory of the candidates that are in use.
pub(super) struct KernelSubject {
    problem: Arc<KernelProblem>,
    objects: Vec<Object>,
    /// What results are compared with: those of the first candidate.
    reference: Vec<KnownResult>,
    guarded: usize,
}

/// The position of an argument, its shape and its bytes.
type KnownResult = (usize, ArrayShape, Vec<u8>);

/// A memory object. Candidates whose launch files describe an argument in the same way share it.
struct Object {
    argument: usize,
    name: String,
    described: Memory,
    /// What is passed to the kernel.
    passed: MemoryId,
    /// What holds the bytes: another object for an image over a buffer.
    id: MemoryId,
    array: ArrayShape,
    before: Vec<u8>,
    /// Bytes behind it that must not change.
    guarded: usize,
    /// Number of candidates that use it.
    users: usize,
}

/// What is expected of a candidate.
pub(super) struct KernelRun {
    file: LaunchFile,
    /// Its objects.
    objects: Vec<usize>,
    /// The launch file's own expectations, by object.
    expected: Vec<(usize, Vec<u8>, Tolerance)>,
}

impl KernelSubject {
    /// Makes the first candidate's results, if they are compared and not known beforehand.
    pub(super) fn new(bench: &mut Bench<'_>, problem: &Arc<KernelProblem>) -> Result<Self, BenchError> {
        let source = bench.time_source();
        let guarded = if source.executes() && !source.is_predicted() { GUARD } else { 0 };
        let mut subject =
            Self { problem: Arc::clone(problem), objects: Vec::new(), reference: Vec::new(), guarded };
        if source.executes()
            && let Err(outcome) = subject.set_reference(bench)
        {
            subject.clear(bench);
            let reason = outcome.reason().unwrap_or_default();
            return Err(match outcome {
                Outcome::DeviceLost { .. } => BenchError::Device(reason),
                _ => BenchError::Problem {
                    problem: problem.to_string(),
                    reason: format!(
                        "there is nothing to compare results with: {}: {reason}",
                        problem.first()
                    ),
                },
            });
        }
        Ok(subject)
    }

    fn set_reference(&mut self, bench: &mut Bench<'_>) -> Result<(), Outcome> {
        let problem = Arc::clone(&self.problem);
        let file = problem.launch_file(problem.first()).map_err(unsupported)?;
        let compared = KernelProblem::compared(&file);
        if compared.is_empty() {
            return Ok(());
        }
        self.reference = if let Some(reference) = problem.reference() {
            Self::known_results(&problem, &file, reference, &compared)?
        } else {
            let first = self.bind(bench, problem.first())?;
            let found = self.results_of(bench, &first, &compared);
            self.release(bench, first);
            found?
        };
        Ok(())
    }

    /// The results that are known beforehand. The device need not be able to run the first candidate.
    fn known_results(
        problem: &KernelProblem,
        file: &LaunchFile,
        reference: &KernelReference,
        compared: &[(usize, bool)],
    ) -> Result<Vec<KnownResult>, Outcome> {
        let loaded = problem.load(file).map_err(unsupported)?;
        let mut results = Vec::new();
        let mut changed = false;
        for memory in
            loaded.memory.into_iter().filter(|one| compared.iter().any(|(index, _)| *index == one.argument))
        {
            let known = reference.results.iter().find(|(argument, _)| *argument == memory.argument);
            let Some((argument, bytes)) = known else { continue };
            changed |= memory.initial.as_ref().is_none_or(|initial| initial != bytes);
            results.push((*argument, memory.array, bytes.clone()));
        }
        if changed { Ok(results) } else { Err(unchanged()) }
    }

    /// The results of the first candidate on the device.
    fn results_of(
        &mut self,
        bench: &mut Bench<'_>,
        first: &BoundCandidate,
        compared: &[(usize, bool)],
    ) -> Result<Vec<KnownResult>, Outcome> {
        self.overwrite(bench, first)?;
        bench.run(&first.launches)?;
        let mut results = Vec::new();
        let mut changed = false;
        for (argument, _) in compared {
            let Some(object) = self.object_of(first, *argument) else { continue };
            let object = &self.objects[object];
            let bytes = object.read(bench)?;
            changed |= bytes != object.before;
            results.push((*argument, object.array.clone(), bytes));
        }
        if changed { Ok(results) } else { Err(unchanged()) }
    }

    fn object_of(&self, bound: &BoundCandidate, argument: usize) -> Option<usize> {
        let run = bound.kernel.as_ref()?;
        run.objects.iter().copied().find(|object| self.objects[*object].argument == argument)
    }

    /// The object that is described like this for an argument, if there is one.
    fn existing_object(&self, argument: usize, described: &Memory) -> Option<usize> {
        let same = |object: &Object| object.argument == argument && object.described == *described;
        self.objects.iter().position(same)
    }

    /// Makes the object of an argument.
    fn make(
        &mut self,
        bench: &mut Bench<'_>,
        described: &Memory,
        loaded: LoadedMemory,
    ) -> Result<usize, ExecuteError> {
        let executes = bench.time_source().executes();
        let executor = bench.executor();
        let LoadedMemory { argument, name, kind, array, access, initial, .. } = loaded;
        let is_written = initial.is_some();
        let bytes = array.bytes().unwrap_or(0);
        let before = initial.unwrap_or_else(|| vec![UNWRITTEN; if executes { bytes } else { 0 }]);
        let contents = (is_written || executes).then_some(before.as_slice());
        let (passed, id, guarded) = match &kind {
            MemoryKind::Image(shape) if matches!(shape.extent, ImageExtent::Buffer { .. }) => {
                let buffer = MemoryKind::Buffer { bytes };
                let buffer = executor.allocate(&buffer, access, contents)?;
                match executor.image_over_buffer(buffer, shape, shape.row_bytes()) {
                    Ok(image) => (image, buffer, 0),
                    Err(error) => {
                        let _ = executor.release(buffer);
                        return Err(error);
                    }
                }
            }
            MemoryKind::Buffer { .. } if self.guarded > 0 => {
                let mut guarded = before.clone();
                guarded.resize(bytes + self.guarded, GUARD_BYTE);
                let kind = MemoryKind::Buffer { bytes: guarded.len() };
                let id = executor.allocate(&kind, access, Some(&guarded))?;
                (id, id, self.guarded)
            }
            kind => {
                let id = executor.allocate(kind, access, contents)?;
                (id, id, 0)
            }
        };
        let described = described.clone();
        self.objects.push(Object { argument, name, described, passed, id, array, before, guarded, users: 0 });
        Ok(self.objects.len() - 1)
    }

    /// Frees the objects that no candidate uses, other than those to keep.
    fn free_unused(&mut self, bench: &mut Bench<'_>, keep: &[Option<usize>]) {
        let is_free = |index: usize, object: &Object| object.users == 0 && !keep.contains(&Some(index));
        // From the end, so that the positions of the others stay; only a free tail can go.
        while let Some(object) = self.objects.last()
            && is_free(self.objects.len() - 1, object)
        {
            if let Some(object) = self.objects.pop() {
                object.release(bench);
            }
        }
    }

    fn differs(comparison: &Comparison, name: &str, array: &ArrayShape) -> Result<(), Outcome> {
        let Some(Difference { index, found, want }) = comparison.first.first() else { return Ok(()) };
        let index = index.iter().fold(String::new(), |text, index| text + "[" + &index.to_string() + "]");
        let (differing, numbers) = (comparison.differing, comparison.numbers);
        // Candidates that add in another order round otherwise.
        let way_out = match array.element.scalar() {
            ScalarType::F16 | ScalarType::F32 | ScalarType::F64 => {
                "; where it is rounding, raise `tolerance`"
            }
            _ => "",
        };
        let reason = format!(
            "{name}{index} is {found}, expected {want} ({differing} of {numbers} numbers differ{way_out})"
        );
        Err(Outcome::Wrong { reason })
    }
}

impl Object {
    /// Its bytes.
    fn read(&self, bench: &mut Bench<'_>) -> Result<Vec<u8>, Outcome> {
        let mut bytes = vec![0; self.before.len() + self.guarded];
        bench.executor().read(self.id, 0, &mut bytes)?;
        if let Some(at) = bytes[self.before.len()..].iter().position(|byte| *byte != GUARD_BYTE) {
            return Err(Outcome::Wrong { reason: format!("byte {at} behind `{}` was written", self.name) });
        }
        bytes.truncate(self.before.len());
        Ok(bytes)
    }

    fn release(self, bench: &mut Bench<'_>) {
        // A lost device has already released everything.
        if self.passed != self.id {
            let _ = bench.executor().release(self.passed);
        }
        let _ = bench.executor().release(self.id);
    }
}

fn unchanged() -> Outcome {
    Outcome::Failed { reason: "it leaves all that is compared as it was".to_owned() }
}

fn unsupported(reason: impl std::fmt::Display) -> Outcome {
    Outcome::Unsupported { reason: reason.to_string() }
}

impl Subject for KernelSubject {
    fn default_parameters(&self, _: &Probe) -> String {
        self.problem.first().to_owned()
    }

    fn bind(&mut self, bench: &mut Bench<'_>, parameters: &str) -> Result<BoundCandidate, Outcome> {
        let file = self.problem.launch_file(parameters).map_err(unsupported)?;
        if let Some(misfit) = work_group_misfit(&file.range, bench.probe()) {
            return Err(unsupported(misfit));
        }
        // Contents that are on the device already are not made again.
        let mut light = file.clone();
        let mut known = vec![None; file.arguments.len()];
        for (argument, entry) in light.arguments.iter_mut().enumerate() {
            let Given::Memory(memory) = &mut entry.given else { continue };
            known[argument] = self.existing_object(argument, memory);
            let is_sized = match &memory.shape {
                MemoryShape::Buffer { extents, .. } => extents.is_some(),
                MemoryShape::Image { extent, .. } => extent.is_some(),
            };
            if known[argument].is_some() && is_sized {
                memory.contents = Contents::Unwritten;
            }
        }
        self.free_unused(bench, &known);
        let mut loaded = self.problem.load(&light).map_err(unsupported)?;
        let (mut objects, mut expected) = (Vec::new(), Vec::new());
        for mut memory in std::mem::take(&mut loaded.memory) {
            let wanted = memory.expected.take();
            let Given::Memory(described) = &file.arguments[memory.argument].given else { continue };
            let object = match known[memory.argument] {
                Some(object) => object,
                None => self.make(bench, described, memory)?,
            };
            objects.push(object);
            expected.extend(wanted.map(|(bytes, tolerance)| (object, bytes, tolerance)));
        }
        let program = Arc::new(self.problem.program(&file));
        let launch =
            Launch { program, entry: loaded.kernel, arguments: loaded.arguments, range: loaded.range };
        let launch = launch.map_memory(|object| {
            let missing = || unsupported("an argument names memory that is not there");
            objects.get(*object).map(|object| self.objects[*object].passed).ok_or_else(missing)
        })?;
        // A compiler that takes long is not mistaken for a kernel that hangs.
        bench.executor().prepare(&launch.program, &launch.entry)?;
        for object in &objects {
            self.objects[*object].users += 1;
        }
        let kernel = Some(KernelRun { file, objects, expected });
        Ok(BoundCandidate { launches: vec![launch], plan: None, kernel })
    }

    fn release(&mut self, _: &mut Bench<'_>, bound: BoundCandidate) {
        for object in bound.kernel.iter().flat_map(|run| &run.objects) {
            self.objects[*object].users = self.objects[*object].users.saturating_sub(1);
        }
    }

    fn overwrite(&mut self, bench: &mut Bench<'_>, bound: &BoundCandidate) -> Result<(), Outcome> {
        for object in bound.kernel.iter().flat_map(|run| &run.objects) {
            let object = &self.objects[*object];
            if object.described.access == Access::Read {
                continue;
            }
            bench.executor().write(object.id, 0, &object.before)?;
            if object.guarded > 0 {
                bench.executor().write(object.id, object.before.len(), &vec![GUARD_BYTE; object.guarded])?;
            }
        }
        Ok(())
    }

    fn check(&self, bench: &mut Bench<'_>, bound: &BoundCandidate) -> Result<(), Outcome> {
        let Some(run) = &bound.kernel else { return Ok(()) };
        for (object, want, tolerance) in &run.expected {
            let object = &self.objects[*object];
            let found = object.read(bench)?;
            Self::differs(
                &Comparison::of(&object.array, &found, want, tolerance),
                &object.name,
                &object.array,
            )?;
        }
        for (argument, is_sum) in KernelProblem::compared(&run.file) {
            let reference = self.reference.iter().find(|(known, ..)| *known == argument);
            let (Some(object), Some((_, array, want))) = (self.object_of(bound, argument), reference) else {
                return Err(Outcome::Wrong {
                    reason: format!("there is no reference for argument {argument}"),
                });
            };
            let object = &self.objects[object];
            let found = object.read(bench)?;
            let tolerance = KernelProblem::tolerance(&run.file, argument, array);
            if is_sum {
                let comparison = Comparison::of_sums([&object.array, array], [&found, want], &tolerance);
                Self::differs(&comparison, &format!("the sum of {}", object.name), array)?;
            } else if object.array == *array {
                Self::differs(&Comparison::of(array, &found, want, &tolerance), &object.name, array)?;
            } else {
                let reason = format!("{} has {} elements instead of {array}", object.name, object.array);
                return Err(Outcome::Wrong { reason });
            }
        }
        Ok(())
    }

    fn clear(&mut self, bench: &mut Bench<'_>) {
        for object in self.objects.drain(..) {
            object.release(bench);
        }
    }
}
