//! Plans: which launches over which memory solve a problem, made before any device memory exists.
//!
//! A plan either brings its inputs with it ([`Plan::input`]) and is [staged](Plan::stage) with them, or it names
//! operands that whoever runs it has in memory already ([`Plan::operand`]) and is [bound](Plan::bind) to those.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

use thiserror::Error;
use tripipe_launch::{
    Access, Argument, ExecuteError, Executor, ImageShape, Launch, MemoryId, MemoryKind, NdRange, Program,
    Timing, Value,
};

use crate::filter::FilterError;

/// A memory object of a plan, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(usize);

impl From<Slot> for Argument<Slot> {
    fn from(slot: Slot) -> Self {
        Self::Memory(slot)
    }
}

/// What outputs hold before the kernel writes them: a byte that makes every element wrong (as `float` it is
/// -5.4e8, as `half` -23), so that an element nobody wrote is found.
const POISON: u8 = 0xCD;

/// Launches over memory that solve a problem on one device.
///
/// `preparation` (packing, transposing, padding) runs once and is timed apart from `launches`, which are what
/// the step is about. Running `launches` again over their own output must give the same result.
#[derive(Clone, Debug)]
pub struct Plan<'p> {
    memory: Vec<Planned<'p>>,
    preparation: Vec<Launch<Slot>>,
    launches: Vec<Launch<Slot>>,
    /// The arguments that say where operands begin.
    starts: Vec<Start>,
    output: Option<Output>,
}

/// An argument of a launch of the step that says at which element an operand begins.
#[derive(Clone, Copy, Debug)]
struct Start {
    launch: usize,
    argument: usize,
    operand: usize,
}

#[derive(Clone, Debug)]
enum Planned<'p> {
    /// Brought by whoever binds the plan.
    Operand,
    Made {
        kind: MemoryKind,
        access: Access,
        initial: Option<Cow<'p, [u8]>>,
    },
    ImageOver {
        buffer: Slot,
        shape: ImageShape,
        row_pitch_bytes: usize,
    },
}

/// Where the result lies: `rows` rows of `row_bytes`, `pitch_bytes` apart, from `offset_bytes` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// The buffer.
    pub slot: Slot,
    /// Where the first row starts.
    pub offset_bytes: usize,
    /// Bytes of a row that belong to the result.
    pub row_bytes: usize,
    /// From row to row.
    pub pitch_bytes: usize,
    /// The number of rows.
    pub rows: usize,
}

/// Why there is no plan for a problem on a device.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum PlanError {
    /// The device lacks something the step needs; the step is left out.
    #[error("needs {what}, which the device does not offer")]
    NotOffered {
        /// What is missing.
        what: String,
    },
    /// The problem does not fit a limit of the device.
    #[error("{what} is over the device's limit of {limit}")]
    OverLimit {
        /// What is too large.
        what: String,
        /// The limit.
        limit: u64,
    },
    /// An operand that is not what its extents say.
    #[error("operand {what}: {found} were given")]
    Operand {
        /// The operand and what it should hold.
        what: String,
        /// How much it holds.
        found: usize,
    },
    /// A filter that there is not, or not between these images.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// A way to run a kernel that it does not have.
    #[error("{parameter} is {found}: {want}")]
    Parameter {
        /// The parameter.
        parameter: &'static str,
        /// What was asked for.
        found: String,
        /// What it can be.
        want: String,
    },
}

/// One of several ways to run a step, e.g. one work-group size of a sweep.
#[derive(Clone, Debug)]
pub struct Variant<'p> {
    /// What sets it apart, e.g. `8x4`; empty when the step has only one way.
    pub label: String,
    /// The way.
    pub plan: Plan<'p>,
}

/// What planning a step gives: the ways to run it, at least one.
pub type Variants<'p> = Result<Vec<Variant<'p>>, PlanError>;

impl<'p> From<Plan<'p>> for Vec<Variant<'p>> {
    fn from(plan: Plan<'p>) -> Self {
        vec![Variant { label: String::new(), plan }]
    }
}

impl<'p> Plan<'p> {
    /// A plan without anything.
    #[allow(clippy::new_without_default, reason = "an empty plan is of no use by itself")]
    pub fn new() -> Self {
        Self {
            memory: Vec::new(),
            preparation: Vec::new(),
            launches: Vec::new(),
            starts: Vec::new(),
            output: None,
        }
    }

    fn slot(&mut self, planned: Planned<'p>) -> Slot {
        self.memory.push(planned);
        Slot(self.memory.len() - 1)
    }

    /// A memory object that whoever binds the plan brings. Operands are numbered from 0 in the order of these calls.
    pub fn operand(&mut self) -> Slot {
        self.slot(Planned::Operand)
    }

    /// A buffer that kernels only read.
    pub fn input(&mut self, contents: impl Into<Cow<'p, [u8]>>) -> Slot {
        let contents = contents.into();
        let kind = MemoryKind::Buffer { bytes: contents.len() };
        self.slot(Planned::Made { kind, access: Access::Read, initial: Some(contents) })
    }

    /// An image that kernels only read; `contents` has its rows tightly packed.
    pub fn input_image(&mut self, shape: ImageShape, contents: impl Into<Cow<'p, [u8]>>) -> Slot {
        let kind = MemoryKind::Image(shape);
        self.slot(Planned::Made { kind, access: Access::Read, initial: Some(contents.into()) })
    }

    /// A buffer for what one launch hands to another, or writes as the result.
    pub fn scratch(&mut self, bytes: usize) -> Slot {
        let kind = MemoryKind::Buffer { bytes };
        self.slot(Planned::Made { kind, access: Access::ReadWrite, initial: None })
    }

    /// An image one launch writes and another reads.
    pub fn scratch_image(&mut self, shape: ImageShape) -> Slot {
        self.slot(Planned::Made { kind: MemoryKind::Image(shape), access: Access::ReadWrite, initial: None })
    }

    /// An image over the texels of a buffer of this plan, rows `row_pitch_bytes` apart.
    pub fn image_over(&mut self, buffer: Slot, shape: ImageShape, row_pitch_bytes: usize) -> Slot {
        self.slot(Planned::ImageOver { buffer, shape, row_pitch_bytes })
    }

    /// A buffer of exactly `bytes` bytes that is the result.
    pub fn result(&mut self, bytes: usize) -> Slot {
        let slot = self.scratch(bytes);
        self.set_output(Output { slot, offset_bytes: 0, row_bytes: bytes, pitch_bytes: bytes, rows: 1 });
        slot
    }

    /// Says where in a slot of this plan the result lies.
    pub fn set_output(&mut self, output: Output) {
        self.output = Some(output);
    }

    /// Adds a launch that runs once, ahead of the step.
    pub fn prepare(
        &mut self,
        program: &Arc<Program>,
        entry: &str,
        arguments: impl Into<Vec<Argument<Slot>>>,
        range: NdRange,
    ) {
        self.preparation.push(launch(program, entry, arguments, range));
    }

    /// Adds a launch of the step.
    pub fn launch(
        &mut self,
        program: &Arc<Program>,
        entry: &str,
        arguments: impl Into<Vec<Argument<Slot>>>,
        range: NdRange,
    ) {
        self.launches.push(launch(program, entry, arguments, range));
    }

    /// Says of an argument of the launch that was added last, a `uint` or the first of a `uint4`, that it is the element at which an
    /// operand begins, counted from 0.
    pub fn begins_at(&mut self, argument: usize, operand: usize) {
        if let Some(launch) = self.launches.len().checked_sub(1) {
            self.starts.push(Start { launch, argument, operand });
        }
    }

    /// How many operands it has.
    pub fn operands(&self) -> usize {
        self.memory.iter().filter(|planned| matches!(planned, Planned::Operand)).count()
    }

    /// Whether it can be bound to an operand from a later element on ([`Self::bind_at`]): not where an image is made over that operand,
    /// or what comes ahead of the step reads it.
    pub fn can_move(&self, operand: usize) -> bool {
        let slots = self.memory.iter().enumerate();
        let mut operands = slots.filter(|(_, planned)| matches!(planned, Planned::Operand));
        let Some((slot, _)) = operands.nth(operand) else { return false };
        let slot = Slot(slot);
        let viewed =
            |planned: &Planned<'_>| matches!(planned, Planned::ImageOver { buffer, .. } if *buffer == slot);
        let used = |launch: &Launch<Slot>| {
            launch
                .arguments
                .iter()
                .any(|argument| matches!(argument, Argument::Memory(used) if *used == slot))
        };
        let moved =
            |launch| self.starts.iter().any(|start| start.launch == launch && start.operand == operand);
        !self.memory.iter().any(viewed)
            && !self.preparation.iter().any(used)
            && self.launches.iter().enumerate().all(|(index, launch)| !used(launch) || moved(index))
    }

    /// Bytes of the memory that the plan makes for itself.
    pub fn scratch_bytes(&self) -> usize {
        let bytes = self.memory.iter().map(|planned| match planned {
            Planned::Made { kind: MemoryKind::Buffer { bytes }, .. } => *bytes,
            Planned::Made { kind: MemoryKind::Image(shape), .. } => shape.bytes(),
            _ => 0,
        });
        bytes.fold(0, usize::saturating_add)
    }

    /// The launches of the step.
    pub fn launches(&self) -> &[Launch<Slot>] {
        &self.launches
    }

    /// The launches ahead of the step.
    pub fn preparation(&self) -> &[Launch<Slot>] {
        &self.preparation
    }

    /// Makes the plan's memory on an executor. What was made is released again when this fails.
    ///
    /// # Errors
    /// The plan has operands; whatever the executor refuses.
    pub fn stage<'e>(&self, executor: &'e mut dyn Executor) -> Result<Staged<'e>, ExecuteError> {
        let scratch = self.make(executor, true)?;
        let bound = self.bind_all(executor, &[], scratch)?;
        Ok(Staged { executor, bound, output: self.output })
    }

    /// The launches over `operands`, in the order of [`Self::operand`], and over memory made for the rest. What was
    /// made is released again when this fails; otherwise it is the caller's to [release](Bound::release).
    ///
    /// # Errors
    /// Another number of operands than the plan has; whatever the executor refuses.
    pub fn bind(&self, executor: &mut dyn Executor, operands: &[MemoryId]) -> Result<Bound, ExecuteError> {
        let scratch = self.make_scratch(executor)?;
        self.bind_all(executor, operands, scratch)
    }

    /// The memory that the plan needs beside its operands, for any number of bindings ([`Self::bind_to`]). What was made is
    /// released again when this fails; otherwise it is the caller's to [release](Scratch::release), after the bindings.
    ///
    /// # Errors
    /// Whatever the executor refuses.
    pub fn make_scratch(&self, executor: &mut dyn Executor) -> Result<Scratch, ExecuteError> {
        self.make(executor, false)
    }

    /// The launches over `operands`, in the order of [`Self::operand`], and over memory that was made before. Only views of the
    /// operands are made. Launches of two bindings to one scratch may not run at the same time.
    ///
    /// # Errors
    /// Another number of operands than the plan has; the scratch of another plan; whatever the executor refuses.
    pub fn bind_to(
        &self,
        executor: &mut dyn Executor,
        operands: &[MemoryId],
        scratch: &Scratch,
    ) -> Result<Bound, ExecuteError> {
        self.bind_at(executor, operands, &[], scratch)
    }

    /// As [`Self::bind_to`], with operands that begin so many elements later than the plan says; those that `later` does not reach
    /// begin where it says. Of operands that [cannot move](Self::can_move) nothing is moved.
    ///
    /// # Errors
    /// As [`Self::bind_to`].
    pub fn bind_at(
        &self,
        executor: &mut dyn Executor,
        operands: &[MemoryId],
        later: &[u32],
        scratch: &Scratch,
    ) -> Result<Bound, ExecuteError> {
        let want = self.operands();
        let miscounted = || ExecuteError::Operands { want, found: operands.len() };
        if operands.len() != want {
            return Err(miscounted());
        }
        let (mut memory, mut made) = (Vec::new(), Vec::new());
        let mut given = operands.iter().copied();
        for (index, planned) in self.memory.iter().enumerate() {
            let id = match (scratch.memory.get(index).copied().flatten(), planned) {
                (Some(own), _) => Ok(own),
                (None, Planned::ImageOver { buffer, shape, row_pitch_bytes }) => executor
                    .image_over_buffer(memory[buffer.0], shape, *row_pitch_bytes)
                    .inspect(|view| made.push(*view)),
                (None, Planned::Operand | Planned::Made { .. }) => given.next().ok_or_else(miscounted),
            };
            match id {
                Ok(id) => memory.push(id),
                Err(error) => {
                    release(executor, &made);
                    return Err(error);
                }
            }
        }
        let bind = |launches: &[Launch<Slot>]| -> Vec<Launch> {
            launches
                .iter()
                .map(|launch| {
                    launch
                        .map_memory(|slot| Ok::<_, Infallible>(memory[slot.0]))
                        .unwrap_or_else(|never| match never {})
                })
                .collect()
        };
        let (preparation, mut launches) = (bind(&self.preparation), bind(&self.launches));
        for Start { launch, argument, operand } in &self.starts {
            let Some(Argument::Value(value)) = launches[*launch].arguments.get_mut(*argument) else {
                continue;
            };
            if let Some(by) = later.get(*operand).filter(|by| **by != 0) {
                *value = moved(value, *by);
            }
        }
        let output = self.output.map(|output| memory[output.slot.0]);
        Ok(Bound { made, preparation, launches, output })
    }

    /// The launches over `operands` and `scratch`, which is the binding's own from then on.
    fn bind_all(
        &self,
        executor: &mut dyn Executor,
        operands: &[MemoryId],
        scratch: Scratch,
    ) -> Result<Bound, ExecuteError> {
        match self.bind_to(executor, operands, &scratch) {
            Ok(bound) => Ok(Bound { made: [scratch.made, bound.made].concat(), ..bound }),
            Err(error) => {
                scratch.release(executor);
                Err(error)
            }
        }
    }

    /// The memory that is no operand, nor a view of one; `poisoned`, so that an element nobody writes is found.
    fn make(&self, executor: &mut dyn Executor, poisoned: bool) -> Result<Scratch, ExecuteError> {
        let mut scratch = Scratch::default();
        for planned in &self.memory {
            let id = match planned {
                Planned::Operand => Ok(None),
                Planned::Made { kind, access, initial } => {
                    let poison = match (initial, kind) {
                        (None, MemoryKind::Buffer { bytes }) if poisoned => Some(vec![POISON; *bytes]),
                        _ => None,
                    };
                    executor.allocate(kind, *access, initial.as_deref().or(poison.as_deref())).map(Some)
                }
                Planned::ImageOver { buffer, shape, row_pitch_bytes } => scratch.memory[buffer.0]
                    .map(|buffer| executor.image_over_buffer(buffer, shape, *row_pitch_bytes))
                    .transpose(),
            };
            match id {
                Ok(id) => {
                    scratch.made.extend(id);
                    scratch.memory.push(id);
                }
                Err(error) => {
                    scratch.release(executor);
                    return Err(error);
                }
            }
        }
        Ok(scratch)
    }
}

/// Memory of a plan beside its operands, on one executor.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Every slot's memory; nothing for operands and views of them.
    memory: Vec<Option<MemoryId>>,
    made: Vec<MemoryId>,
}

impl Scratch {
    /// Frees it.
    pub fn release(self, executor: &mut dyn Executor) {
        release(executor, &self.made);
    }
}

/// A `uint`, or a vector of them, whose first is raised.
fn moved(value: &Value, by: u32) -> Value {
    let mut bytes = value.bytes().to_vec();
    if let Some(first) = bytes.first_chunk_mut() {
        *first = u32::from_ne_bytes(*first).wrapping_add(by).to_ne_bytes();
    }
    Value::from_bytes(value.element(), value.lanes(), bytes).unwrap_or_else(|| value.clone())
}

/// Frees in the opposite order, as images over buffers come after their buffer. A device that is gone has released
/// everything.
fn release(executor: &mut dyn Executor, made: &[MemoryId]) {
    for id in made.iter().rev() {
        let _ = executor.release(*id);
    }
}

/// A plan's launches over memory of one executor.
#[derive(Clone, Debug)]
pub struct Bound {
    made: Vec<MemoryId>,
    /// What runs once, ahead of the step.
    pub preparation: Vec<Launch>,
    /// The step.
    pub launches: Vec<Launch>,
    output: Option<MemoryId>,
}

impl Bound {
    /// Frees what was made for the plan. The operands stay.
    pub fn release(self, executor: &mut dyn Executor) {
        release(executor, &self.made);
    }
}

fn launch(
    program: &Arc<Program>,
    entry: &str,
    arguments: impl Into<Vec<Argument<Slot>>>,
    range: NdRange,
) -> Launch<Slot> {
    Launch { program: Arc::clone(program), entry: entry.to_owned(), arguments: arguments.into(), range }
}

/// A plan with its memory on an executor; the memory is released when this is dropped.
pub struct Staged<'e> {
    executor: &'e mut dyn Executor,
    bound: Bound,
    output: Option<Output>,
}

impl Staged<'_> {
    /// Runs what comes ahead of the step; seconds on the device, `None` when there is nothing.
    ///
    /// # Errors
    /// Whatever the executor reports.
    pub fn prepare(&mut self) -> Result<Option<f64>, ExecuteError> {
        if self.bound.preparation.is_empty() {
            return Ok(None);
        }
        Ok(Some(Timing::span_seconds(&self.executor.run(&self.bound.preparation)?)))
    }

    /// Runs the step; seconds from the first launch's start to the last one's end on the device.
    ///
    /// # Errors
    /// Whatever the executor reports.
    pub fn run(&mut self) -> Result<f64, ExecuteError> {
        Ok(Timing::span_seconds(&self.executor.run(&self.bound.launches)?))
    }

    /// The result, rows tightly packed; nothing when the plan names no output.
    ///
    /// # Errors
    /// Whatever the executor reports.
    pub fn output(&mut self) -> Result<Vec<u8>, ExecuteError> {
        let (Some(output), Some(id)) = (self.output, self.bound.output) else { return Ok(Vec::new()) };
        let span = output.rows.saturating_sub(1) * output.pitch_bytes + output.row_bytes;
        let mut bytes = vec![0; span];
        self.executor.read(id, output.offset_bytes, &mut bytes)?;
        if output.pitch_bytes == output.row_bytes {
            return Ok(bytes);
        }
        Ok(bytes.chunks(output.pitch_bytes).flat_map(|row| &row[..output.row_bytes]).copied().collect())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        release(self.executor, &self.bound.made);
    }
}
