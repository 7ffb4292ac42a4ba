//! A loaded launch file, created on an executor.

use std::sync::Arc;

use crate::compare::{Comparison, Tolerance};
use crate::element::ArrayShape;
use crate::{Dump, Loaded};
use tripipe_launch::{
    ChannelOrder, ExecuteError, Executor, ImageExtent, Launch, MemoryId, MemoryKind, Program,
};

/// A launch whose memory is on an executor. The executor keeps it until it is released or the executor is dropped.
#[derive(Clone, Debug)]
pub struct Staged {
    /// The launch, for [`Executor::run`].
    pub launch: Launch,
    /// The memory objects in the order of [`Loaded::memory`].
    pub memory: Vec<StagedMemory>,
}

/// A memory object on an executor.
#[derive(Clone, Debug)]
pub struct StagedMemory {
    /// The argument it was made for, from 0.
    pub argument: usize,
    /// That argument's name.
    pub name: String,
    /// The object that holds its bytes: the object passed, or, for an image over a buffer, the buffer.
    pub id: MemoryId,
    /// The shape of its numbers.
    pub array: ArrayShape,
    /// The channels of an image.
    pub order: Option<ChannelOrder>,
    /// How it is output after the run.
    pub dump: Option<Dump>,
    expected: Option<(Vec<u8>, Tolerance)>,
}

/// The contents of a memory object after a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The comparison with the expected contents; `None` if nothing is expected.
    pub comparison: Option<Comparison>,
}

impl Loaded {
    /// Creates the memory on `executor`. `program` is the result of [`crate::LaunchFile::program`].
    ///
    /// # Errors
    /// Any error of the executor.
    pub fn stage(self, executor: &mut dyn Executor, program: Arc<Program>) -> Result<Staged, ExecuteError> {
        self.stage_with(executor, program, &[])
    }

    /// The same with memory that is there already: arguments, and what is passed for them. It is not among
    /// [`Staged::memory`].
    ///
    /// # Errors
    /// Any error of the executor.
    pub(crate) fn stage_with(
        self,
        executor: &mut dyn Executor,
        program: Arc<Program>,
        known: &[(usize, MemoryId)],
    ) -> Result<Staged, ExecuteError> {
        let mut memory = Vec::new();
        // The object passed for each memory object.
        let mut passed = Vec::new();
        for loaded in self.memory {
            if let Some((_, id)) = known.iter().find(|(argument, _)| *argument == loaded.argument) {
                passed.push(*id);
                continue;
            }
            let initial = loaded.initial.as_deref();
            let id = match &loaded.kind {
                MemoryKind::Image(shape) if matches!(shape.extent, ImageExtent::Buffer { .. }) => {
                    let buffer = MemoryKind::Buffer { bytes: shape.bytes() };
                    let buffer = executor.allocate(&buffer, loaded.access, initial)?;
                    passed.push(executor.image_over_buffer(buffer, shape, shape.row_bytes())?);
                    buffer
                }
                kind => {
                    let id = executor.allocate(kind, loaded.access, initial)?;
                    passed.push(id);
                    id
                }
            };
            memory.push(StagedMemory {
                argument: loaded.argument,
                name: loaded.name,
                id,
                array: loaded.array,
                order: loaded.order,
                dump: loaded.dump,
                expected: loaded.expected,
            });
        }
        let launch = Launch { program, entry: self.kernel, arguments: self.arguments, range: self.range };
        let launch = launch.map_memory(|object| {
            passed.get(*object).copied().ok_or_else(|| ExecuteError::Memory {
                memory: MemoryId(*object as u64),
                reason: "the launch uses it, but it was never created".to_owned(),
            })
        })?;
        Ok(Staged { launch, memory })
    }
}

impl StagedMemory {
    /// Whether it is output or compared after the run.
    pub fn is_wanted(&self) -> bool {
        self.dump.is_some() || self.expected.is_some()
    }

    /// Its current contents.
    ///
    /// # Errors
    /// The executor cannot read it.
    pub fn read(&self, executor: &mut dyn Executor) -> Result<Outcome, ExecuteError> {
        let mut bytes = vec![0; self.array.bytes().unwrap_or(0)];
        executor.read(self.id, 0, &mut bytes)?;
        let comparison = self
            .expected
            .as_ref()
            .map(|(expected, tolerance)| Comparison::of(&self.array, &bytes, expected, tolerance));
        Ok(Outcome { bytes, comparison })
    }
}
