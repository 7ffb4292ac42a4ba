//! One run of an operation: its operands, and what it depends on.

use std::sync::Arc;

use tripipe_launch::Submission;

use crate::engine::Core;
use crate::line::{Line, Outcome};
use crate::memory::Memory;
use crate::{Error, Pending};

/// One run of an operation.
pub(crate) struct Run<'r> {
    /// The name of the operation, for errors.
    pub(crate) operation: &'static str,
    /// Its operands, in the plan's order.
    pub(crate) memories: &'r [&'r Memory],
    /// How much later each operand begins than the plan says; empty when none does.
    pub(crate) later: &'r [Later],
    /// The index of the operand that is written.
    pub(crate) result: usize,
    /// The number of bytes of the result that are written, each once; 0 when the result is also read.
    pub(crate) written: usize,
}

impl Run<'_> {
    /// The operand that is written.
    pub(crate) fn result(&self) -> &Memory {
        self.memories[self.result]
    }

    /// What an engine knows of each operand.
    ///
    /// # Errors
    /// An operand is not in the memory of that engine: `of` is `None` for it.
    pub(crate) fn each<T>(&self, of: impl Fn(&Memory) -> Option<T>) -> Result<Vec<T>, Error> {
        let known = self.memories.iter().map(|memory| {
            of(memory).ok_or_else(|| {
                let [want, found] = [self.result(), memory].map(|memory| memory.context().name().to_owned());
                Error::OtherContext { operand: "an operand", want, found }
            })
        });
        known.collect()
    }

    /// Whether nothing of the result's old contents remains.
    pub(crate) fn overwrites(&self) -> bool {
        self.memories[self.result].bytes() == self.written
    }

    /// The operands whose contents are read.
    pub(crate) fn read(&self) -> impl Iterator<Item = &Memory> {
        let overwrites = self.overwrites();
        let memories = self.memories.iter().enumerate();
        memories.filter(move |(index, _)| *index != self.result || !overwrites).map(|(_, memory)| *memory)
    }

    /// The outcomes of the operations that it depends on.
    pub(crate) fn rests_on(&self) -> Vec<Arc<Outcome>> {
        self.read().filter_map(Memory::rests_on).collect()
    }

    /// Records that it was queued, and returns it as a pending operation.
    pub(crate) fn queued(
        &self,
        line: &Arc<Line>,
        submission: Arc<dyn Submission>,
        rests_on: Vec<Arc<Outcome>>,
    ) -> Pending {
        let outcome = line.add(self.operation, &submission, rests_on);
        self.result().rest_on(Some(Arc::clone(&outcome)));
        Pending::queued(submission, line, &outcome)
    }
}

/// How much later an operand begins than an operation was made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Later {
    pub(crate) elements: u32,
    pub(crate) bytes: usize,
}

/// Operands are moved by a multiple of this number of elements, the widest vector of all kernels, so that everything
/// that depends on alignment stays the same.
const STEP: usize = 16;

impl Later {
    /// Subtracts a multiple of [`STEP`] from the offset of an operand, and returns it.
    pub(crate) fn off(offset: &mut usize, element_bytes: usize) -> Self {
        let elements = u32::try_from(*offset - *offset % STEP).unwrap_or_default();
        *offset -= elements as usize;
        Self { elements, bytes: (elements as usize).saturating_mul(element_bytes) }
    }
}

/// Checks that all operands live in the context of `core`, that none shares bytes with the result, and that none is
/// mapped in a conflicting way.
pub(super) fn check_operands(
    core: &Core,
    operands: &[(&'static str, &Memory)],
    result: usize,
) -> Result<(), Error> {
    for (operand, memory) in operands {
        let of = memory.context().core();
        if !std::ptr::eq(&raw const **of, core) {
            let [want, found] = [core, of].map(|core| core.name().to_owned());
            return Err(Error::OtherContext { operand, want, found });
        }
    }
    let shared = |(index, (_, memory)): &(usize, &(&'static str, &Memory))| {
        *index != result && memory.overlaps(operands[result].1)
    };
    match operands.iter().enumerate().find(shared) {
        Some((_, (operand, _))) => Err(Error::Aliased { operand }),
        None => operands
            .iter()
            .enumerate()
            .try_for_each(|(index, (operand, memory))| memory.check_free(operand, index == result)),
    }
}
