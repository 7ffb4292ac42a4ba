//! One run of an operation: its operands, and what it depends on.

use std::sync::Arc;

use tripipe_kernels::Role;
use tripipe_launch::{ExecuteError, Submission};

#[cfg(feature = "cpu")]
use super::host::OperandOffsets;
use super::host::OperationSize;
use crate::engine::Core;
use crate::error::Fault;
use crate::memory::Memory;
use crate::operation_queue::{OperationQueue, Outcome};
use crate::{Error, Event};

/// An operand: what it is for, its memory, and where it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundOperand<'m> {
    pub(crate) role: Role,
    pub(crate) memory: &'m Memory,
    /// How much later it begins than the operation was made for.
    pub(crate) offset: Offset,
}

impl<'m> BoundOperand<'m> {
    /// An operand that begins where the operation was made for.
    pub(crate) fn new(role: Role, memory: &'m Memory) -> Self {
        Self { role, memory, offset: Offset::default() }
    }

    /// An operand that begins as much later as `later` says for its role.
    pub(crate) fn moved(role: Role, memory: &'m Memory, offsets: &[(Role, Offset)]) -> Self {
        let known = offsets.iter().find(|(known, _)| *known == role);
        Self { role, memory, offset: known.map_or_else(Offset::default, |(_, offset)| *offset) }
    }
}

/// One run of an operation.
pub(crate) struct Run<'r> {
    /// The name of the operation, for errors.
    pub(crate) operation: &'static str,
    /// What it reads, in any order.
    pub(crate) inputs: &'r [BoundOperand<'r>],
    /// What it writes.
    pub(crate) result: BoundOperand<'r>,
    /// The number of bytes of the result that are written, each once; 0 when the result is also read.
    pub(crate) written: usize,
}

impl<'r> Run<'r> {
    /// All operands; the result is the last.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &BoundOperand<'r>> {
        self.inputs.iter().chain([&self.result])
    }

    /// What an engine knows of the inputs, in order, and of the result.
    ///
    /// # Errors
    /// An operand is not in the memory of that engine: `of` is `None` for it.
    pub(crate) fn each<T>(&self, of: impl Fn(&Memory) -> Option<T>) -> Result<(Vec<T>, T), Error> {
        let known = |placed: &BoundOperand<'_>| {
            of(placed.memory).ok_or_else(|| other_context(placed, self.result.memory.context().core()))
        };
        Ok((self.inputs.iter().map(known).collect::<Result<_, _>>()?, known(&self.result)?))
    }

    /// How many bytes later each operand begins.
    #[cfg(feature = "cpu")]
    pub(crate) fn operand_offsets(&self) -> OperandOffsets {
        let inputs = self.inputs.iter().map(|input| (input.role, input.offset.bytes));
        OperandOffsets { inputs: inputs.collect(), result: self.result.offset.bytes }
    }

    /// Whether nothing of the result's old contents remains.
    pub(crate) fn overwrites(&self) -> bool {
        self.result.memory.bytes() == self.written
    }

    /// The operands whose contents are read.
    pub(crate) fn read(&self) -> impl Iterator<Item = &'r Memory> {
        let result = (!self.overwrites()).then_some(self.result.memory);
        self.inputs.iter().map(|input| input.memory).chain(result)
    }

    /// The outcomes of the operations that it depends on.
    pub(crate) fn rests_on(&self) -> Vec<Arc<Outcome>> {
        self.read().filter_map(Memory::rests_on).collect()
    }

    /// Records that it was queued, and returns it as a pending operation.
    pub(crate) fn queued(
        &self,
        queue: &Arc<OperationQueue>,
        submission: Arc<dyn Submission>,
        rests_on: Vec<Arc<Outcome>>,
    ) -> Event {
        let outcome = queue.add(self.operation, &submission, rests_on);
        let event = Event::queued(submission, queue, &outcome);
        self.result.memory.set_event(Some(event.clone()));
        event
    }

    /// Checks that the operands are those of an operation of this size, that all live in the context of `core`, that
    /// none shares bytes with the result, and that none is mapped in a conflicting way.
    pub(super) fn check(&self, core: &Core, size: &OperationSize) -> Result<(), Error> {
        let wrong =
            |role: &Role, problem| Err(ExecuteError::Operand { operand: role.to_string(), problem }.into());
        let given = |role: &Role| self.inputs.iter().filter(|input| input.role == *role).count();
        let wanted = |role: &Role| size.inputs.iter().any(|(wanted, _)| wanted == role);
        if let Some((role, _)) = size.inputs.iter().find(|(role, _)| given(role) != 1) {
            return wrong(role, if given(role) == 0 { "is missing" } else { "is given twice" });
        }
        if let Some(input) = self.inputs.iter().find(|input| !wanted(&input.role)) {
            return wrong(&input.role, "is not one of the operation's");
        }
        if let Some(foreign) = self.operands().find(|placed| !is_on(placed.memory, core)) {
            return Err(other_context(foreign, core));
        }
        if let Some(shared) = self.inputs.iter().find(|input| input.memory.overlaps(self.result.memory)) {
            return Err(Error::from(Fault::Aliased { operand: in_words(shared.role) }));
        }
        self.inputs.iter().try_for_each(|input| input.memory.check_free(in_words(input.role), false))?;
        self.result.memory.check_free(in_words(self.result.role), true)
    }
}

fn is_on(memory: &Memory, core: &Core) -> bool {
    std::ptr::eq(&raw const **memory.context().core(), core)
}

fn other_context(placed: &BoundOperand<'_>, core: &Core) -> Error {
    let [want, found] = [core, placed.memory.context().core()].map(|core| core.name().to_owned());
    Error::from(Fault::OtherContext { operand: in_words(placed.role), want, found })
}

/// The operand in the text of an error.
fn in_words(role: Role) -> &'static str {
    match role {
        Role::A => "A",
        Role::B => "B",
        Role::C => "C",
        Role::Offsets => "the offsets",
        Role::Scales => "the scales",
        Role::BiasColumns(_) | Role::BiasRows(_) => "the bias",
        Role::Residual(_) => "the residual",
        Role::Source => "the source",
        Role::Luma | Role::Chroma => "the frame",
        Role::Result => "the result",
        _ => "an operand",
    }
}

/// How much later an operand begins than an operation was made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offset {
    pub(crate) elements: u32,
    pub(crate) bytes: usize,
}

/// Operands are moved by a multiple of this number of elements, the widest vector of all kernels, so that everything
/// that depends on alignment stays the same.
const STEP: usize = 16;

impl Offset {
    /// Subtracts a multiple of [`STEP`] from the offset of an operand, and returns it.
    pub(crate) fn split_from(offset: &mut usize, element_bytes: usize) -> Self {
        let elements = u32::try_from(*offset - *offset % STEP).unwrap_or_default();
        *offset -= elements as usize;
        Self { elements, bytes: (elements as usize).saturating_mul(element_bytes) }
    }
}
