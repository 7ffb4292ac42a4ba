//! Plans: the launches and memory that solve a problem, created before any device memory exists.
//!
//! A plan either contains its inputs ([`Plan::input`]) and is [staged](Plan::stage) with them, or it declares
//! operands that the caller already has in memory ([`Plan::operand`]) and is [bound](Plan::bind) to those.

mod arguments;
mod bound;
mod error;

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

use tripipe_launch::{
    Access, Argument, ExecuteError, Executor, ImageShape, Launch, MemoryId, MemoryKind, NdRange, Program,
    Value,
};

use crate::Role;
pub use arguments::Arguments;
use bound::release;
pub use bound::{Bound, Scratch, Staged};
pub use error::PlanError;

/// A memory object of a plan, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot(usize);

impl From<Slot> for Argument<Slot> {
    fn from(slot: Slot) -> Self {
        Self::Memory(slot)
    }
}

/// Initial contents of outputs: a byte that makes every element wrong (as `float` it is -5.4e8, as `half` -23), so
/// that elements that are never written are detected.
const POISON: u8 = 0xCD;

/// Launches over memory that solve a problem on one device.
///
/// `preparation` (packing, transposing, padding) runs once and is timed separately from `launches`, the step itself.
/// Running `launches` again over their own output must give the same result.
#[derive(Clone, Debug)]
pub struct Plan<'p> {
    memory: Vec<Planned<'p>>,
    preparation: Vec<Launch<Slot>>,
    launches: Vec<Launch<Slot>>,
    /// The arguments that hold the offsets of operands.
    starts: Vec<Start>,
    output: Option<Output>,
}

/// An argument of a launch of the step that holds the element offset of an operand.
#[derive(Clone, Copy, Debug)]
struct Start {
    launch: usize,
    argument: usize,
    operand: Role,
}

#[derive(Clone, Debug)]
enum Planned<'p> {
    /// Supplied by the caller who binds the plan.
    Operand(Role),
    Allocated {
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

/// The location of the result: `rows` rows of `row_bytes`, `pitch_bytes` apart, starting at `offset_bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// The buffer.
    pub slot: Slot,
    /// Start of the first row.
    pub offset_bytes: usize,
    /// Bytes of a row that belong to the result.
    pub row_bytes: usize,
    /// Bytes from row to row.
    pub pitch_bytes: usize,
    /// The number of rows.
    pub rows: usize,
}

impl<'p> Plan<'p> {
    /// An empty plan.
    #[allow(clippy::new_without_default, reason = "an empty plan is not useful by itself")]
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

    /// The memory object with this role, which the caller supplies when binding the plan. Calls with the same role
    /// return the same slot.
    pub fn operand(&mut self, role: Role) -> Slot {
        match self.find(role) {
            Some(slot) => slot,
            None => self.slot(Planned::Operand(role)),
        }
    }

    fn find(&self, role: Role) -> Option<Slot> {
        let is = |planned: &Planned<'_>| matches!(planned, Planned::Operand(known) if *known == role);
        self.memory.iter().position(is).map(Slot)
    }

    /// A buffer that kernels only read.
    pub fn input(&mut self, contents: impl Into<Cow<'p, [u8]>>) -> Slot {
        let contents = contents.into();
        let kind = MemoryKind::Buffer { bytes: contents.len() };
        self.slot(Planned::Allocated { kind, access: Access::Read, initial: Some(contents) })
    }

    /// A buffer with contents that kernels may change.
    pub fn buffer(&mut self, contents: impl Into<Cow<'p, [u8]>>) -> Slot {
        let contents = contents.into();
        let kind = MemoryKind::Buffer { bytes: contents.len() };
        self.slot(Planned::Allocated { kind, access: Access::ReadWrite, initial: Some(contents) })
    }

    /// An image that kernels only read; the rows in `contents` have no gaps.
    pub fn input_image(&mut self, shape: ImageShape, contents: impl Into<Cow<'p, [u8]>>) -> Slot {
        let kind = MemoryKind::Image(shape);
        self.slot(Planned::Allocated { kind, access: Access::Read, initial: Some(contents.into()) })
    }

    /// A buffer that one launch writes and another reads, or that holds the result.
    pub fn scratch(&mut self, bytes: usize) -> Slot {
        let kind = MemoryKind::Buffer { bytes };
        self.slot(Planned::Allocated { kind, access: Access::ReadWrite, initial: None })
    }

    /// An image that one launch writes and another reads.
    pub fn scratch_image(&mut self, shape: ImageShape) -> Slot {
        self.slot(Planned::Allocated {
            kind: MemoryKind::Image(shape),
            access: Access::ReadWrite,
            initial: None,
        })
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

    /// Sets the location of the result in a slot of this plan.
    pub fn set_output(&mut self, output: Output) {
        self.output = Some(output);
    }

    /// Adds a launch that runs once, before the step.
    pub fn prepare(
        &mut self,
        program: &Arc<Program>,
        entry: &str,
        arguments: impl Into<Arguments>,
        range: NdRange,
    ) {
        self.preparation.push(launch(program, entry, arguments.into().all, range));
    }

    /// Adds a launch of the step.
    pub fn launch(
        &mut self,
        program: &Arc<Program>,
        entry: &str,
        arguments: impl Into<Arguments>,
        range: NdRange,
    ) {
        let Arguments { all, offsets } = arguments.into();
        let index = self.launches.len();
        let start = |(argument, operand)| Start { launch: index, argument, operand };
        self.starts.extend(offsets.into_iter().map(start));
        self.launches.push(launch(program, entry, all, range));
    }

    /// The roles of its operands, each once.
    pub fn operands(&self) -> impl Iterator<Item = Role> {
        self.memory.iter().filter_map(|planned| match planned {
            Planned::Operand(role) => Some(*role),
            _ => None,
        })
    }

    /// Whether it can be bound to an operand at a later element ([`Self::bind_at`]). It cannot when an image is
    /// created over that operand, or when the preparation reads it.
    pub fn can_move(&self, operand: Role) -> bool {
        let Some(slot) = self.find(operand) else { return false };
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

    /// Bytes of the memory that the plan allocates itself.
    pub fn scratch_bytes(&self) -> usize {
        let bytes = self.memory.iter().map(|planned| match planned {
            Planned::Allocated { kind: MemoryKind::Buffer { bytes }, .. } => *bytes,
            Planned::Allocated { kind: MemoryKind::Image(shape), .. } => shape.bytes(),
            _ => 0,
        });
        bytes.fold(0, usize::saturating_add)
    }

    /// The launches of the step.
    pub fn launches(&self) -> &[Launch<Slot>] {
        &self.launches
    }

    /// The launches before the step.
    pub fn preparation(&self) -> &[Launch<Slot>] {
        &self.preparation
    }

    /// Allocates the plan's memory on an executor. On failure, the allocated memory is released.
    ///
    /// # Errors
    /// The plan has operands; any error of the executor.
    pub fn stage<'e>(&self, executor: &'e mut dyn Executor) -> Result<Staged<'e>, ExecuteError> {
        let scratch = self.make(executor, true)?;
        let bound = self.bind_all(executor, &[], scratch)?;
        Ok(Staged { executor, bound, output: self.output, predicted_load: None })
    }

    /// The launches over `operands`, in any order, and over memory allocated for the rest. On failure, the allocated
    /// memory is released; otherwise the caller must [release](Bound::release) it.
    ///
    /// # Errors
    /// An operand is missing, given twice, or not one of the plan's; any error of the executor.
    pub fn bind(
        &self,
        executor: &mut dyn Executor,
        operands: &[(Role, MemoryId)],
    ) -> Result<Bound, ExecuteError> {
        let scratch = self.make_scratch(executor)?;
        self.bind_all(executor, operands, scratch)
    }

    /// The memory that the plan needs besides its operands, usable for any number of bindings ([`Self::bind_to`]). On
    /// failure, the allocated memory is released; otherwise the caller must [release](Scratch::release) it, after the
    /// bindings.
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn make_scratch(&self, executor: &mut dyn Executor) -> Result<Scratch, ExecuteError> {
        self.make(executor, false)
    }

    /// The launches over `operands`, in any order, and over previously allocated memory. Only views of the operands are
    /// created. Launches of two bindings to the same scratch must not run at the same time.
    ///
    /// # Errors
    /// An operand is missing, given twice, or not one of the plan's; the scratch belongs to another plan; any error of
    /// the executor.
    pub fn bind_to(
        &self,
        executor: &mut dyn Executor,
        operands: &[(Role, MemoryId)],
        scratch: &Scratch,
    ) -> Result<Bound, ExecuteError> {
        self.bind_at(executor, operands, &[], scratch)
    }

    /// As [`Self::bind_to`], with operands that start `later` elements after the plan's offset. Operands that are not
    /// in `later` start at the plan's offset. Operands that [cannot move](Self::can_move) are not moved.
    ///
    /// # Errors
    /// As [`Self::bind_to`].
    pub fn bind_at(
        &self,
        executor: &mut dyn Executor,
        operands: &[(Role, MemoryId)],
        later: &[(Role, u32)],
        scratch: &Scratch,
    ) -> Result<Bound, ExecuteError> {
        let wrong = |operand: String, problem| ExecuteError::Operand { operand, problem };
        if let Some((unknown, _)) = operands.iter().find(|(role, _)| self.find(*role).is_none()) {
            return Err(wrong(unknown.to_string(), "is not one of the plan's"));
        }
        let given = |role: Role| {
            let mut given = operands.iter().filter(|(known, _)| *known == role);
            match (given.next(), given.next()) {
                (Some((_, memory)), None) => Ok(*memory),
                (None, _) => Err(wrong(role.to_string(), "is missing")),
                (Some(_), Some(_)) => Err(wrong(role.to_string(), "is given twice")),
            }
        };
        let (mut memory, mut made) = (Vec::new(), Vec::new());
        for (index, planned) in self.memory.iter().enumerate() {
            let id = match (scratch.memory.get(index).copied().flatten(), planned) {
                (Some(own), _) => Ok(own),
                (None, Planned::ImageOver { buffer, shape, row_pitch_bytes }) => executor
                    .image_over_buffer(memory[buffer.0], shape, *row_pitch_bytes)
                    .inspect(|view| made.push(*view)),
                (None, Planned::Operand(role)) => given(*role),
                (None, Planned::Allocated { .. }) => {
                    Err(wrong("scratch".to_owned(), "belongs to another plan"))
                }
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
            if let Some((_, by)) = later.iter().find(|(role, by)| role == operand && *by != 0) {
                *value = moved(value, *by);
            }
        }
        let output = self.output.map(|output| memory[output.slot.0]);
        Ok(Bound { made, preparation, launches, output })
    }

    /// The launches over `operands` and `scratch`; the binding takes ownership of `scratch`.
    fn bind_all(
        &self,
        executor: &mut dyn Executor,
        operands: &[(Role, MemoryId)],
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

    /// The memory that is neither an operand nor a view of one; `poisoned`, so that elements that are never written
    /// are detected.
    fn make(&self, executor: &mut dyn Executor, poisoned: bool) -> Result<Scratch, ExecuteError> {
        let mut scratch = Scratch::default();
        for planned in &self.memory {
            let id = match planned {
                Planned::Operand(_) => Ok(None),
                Planned::Allocated { kind, access, initial } => {
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

/// A `uint`, or a vector of `uint`, whose first element is increased by `by`.
fn moved(value: &Value, by: u32) -> Value {
    let mut bytes = value.bytes().to_vec();
    if let Some(first) = bytes.first_chunk_mut() {
        *first = u32::from_ne_bytes(*first).wrapping_add(by).to_ne_bytes();
    }
    Value::from_bytes(value.element(), value.lanes(), bytes).unwrap_or_else(|| value.clone())
}

fn launch(
    program: &Arc<Program>,
    entry: &str,
    arguments: Vec<Argument<Slot>>,
    range: NdRange,
) -> Launch<Slot> {
    Launch { program: Arc::clone(program), entry: entry.to_owned(), arguments, range }
}

#[cfg(test)]
mod tests;
