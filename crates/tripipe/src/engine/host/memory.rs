//! Memory of the CPU path.

use std::sync::{Arc, Mutex, RwLock};

use tripipe_launch::locks::{lock, recovered};
use tripipe_launch::{Block, Submission};

use super::HostPath;
use crate::engine::Storage;
use crate::error::Fault;
use crate::memory::Memory;
use crate::{Error, Event, Pending};

/// A copy of this many bytes takes less time than waking another thread.
const SMALL_BYTES: usize = 32 << 10;

/// Host memory, aligned for its elements.
pub(crate) type Cells = RwLock<Block>;

/// A piece of memory of the CPU path.
pub(super) struct HostMemory {
    path: Arc<HostPath>,
    bytes: usize,
    cells: Arc<Cells>,
}

impl HostMemory {
    /// The first `bytes` bytes of a block.
    pub(super) fn new(path: Arc<HostPath>, bytes: usize, block: Block) -> Self {
        Self { path, bytes, cells: Arc::new(RwLock::new(block)) }
    }
}

impl Storage for HostMemory {
    fn cells(&self) -> Option<&Arc<Cells>> {
        Some(&self.cells)
    }

    fn take(&mut self) -> Option<Block> {
        let block = recovered(Arc::get_mut(&mut self.cells)?.get_mut());
        self.bytes = 0;
        Some(std::mem::replace(block, Block::new(Vec::<u8>::new())))
    }

    fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), Error> {
        let cells = recovered(self.cells.read());
        into.copy_from_slice(&cells.bytes()[offset..][..into.len()]);
        Ok(())
    }

    fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        self.path.operations.settle()?;
        let mut cells = recovered(self.cells.write());
        cells.bytes_mut()[offset..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn with(&self, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let cells = recovered(self.cells.read());
        look(&cells.bytes()[..self.bytes]);
        Ok(())
    }

    fn with_mut(&self, edit: &mut dyn FnMut(&mut [u8])) -> Result<(), Error> {
        let mut cells = recovered(self.cells.write());
        edit(&mut cells.bytes_mut()[..self.bytes]);
        Ok(())
    }

    fn enqueue_read(&self, memory: &Memory, offset: usize, into: Block) -> Result<Pending<Block>, Error> {
        let (bytes, rests_on) = (into.bytes().len(), memory.rests_on());
        let (cells, found) = (Arc::clone(&self.cells), Arc::new(Mutex::new(Some(into))));
        let filled = Arc::clone(&found);
        let task: Arc<dyn Submission> = self.path.queue.submit("read", bytes <= SMALL_BYTES, move || {
            let cells = recovered(cells.read());
            if let Some(block) = &mut *lock(&filled) {
                block.bytes_mut().copy_from_slice(&cells.bytes()[offset..][..bytes]);
            }
            Ok(())
        })?;
        Ok(memory
            .reading(task, rests_on)
            .then(move |()| lock(&found).take().ok_or(Error::from(Fault::ValueTaken))))
    }

    fn enqueue_write(&self, memory: &Memory, from: Block) -> Result<Event, Error> {
        let cells = Arc::clone(&self.cells);
        // The block takes the place of the one before, which costs nothing, whatever its size.
        let task = self.path.queue.submit("write", true, move || {
            *recovered(cells.write()) = from;
            Ok(())
        })?;
        Ok(memory.writing(task))
    }
}

/// Calls `work` with the bytes of memory of the CPU path, the given number of each: first those it reads, in order,
/// then those it writes. None of the inputs is also the output, unless it is empty.
pub(super) fn with_cells<R>(
    inputs: &[(Arc<Cells>, usize)],
    (output, output_bytes): (&Cells, usize),
    work: impl FnOnce(&[&[u8]], &mut [u8]) -> R,
) -> R {
    // Memory that occurs twice is locked once: a waiting writer must not come between two locks of one reader.
    let mut distinct: Vec<&Arc<Cells>> = Vec::new();
    let mut places = Vec::with_capacity(inputs.len());
    for (cells, bytes) in inputs {
        let place = distinct.iter().position(|known| Arc::ptr_eq(known, cells));
        // Empty memory is not locked: it may be the output as well.
        let is_locked = *bytes > 0;
        places.push(is_locked.then(|| place.unwrap_or(distinct.len())));
        if is_locked && place.is_none() {
            distinct.push(cells);
        }
    }
    let guards: Vec<_> = distinct.iter().map(|cells| recovered(cells.read())).collect();
    let mut output = recovered(output.write());
    // The contents need not fill the block.
    let bytes_of = |(place, (_, bytes)): (Option<usize>, &(Arc<Cells>, usize))| {
        place.map_or(&[][..], |place| &guards[place].bytes()[..*bytes])
    };
    let inputs: Vec<&[u8]> = places.into_iter().zip(inputs).map(bytes_of).collect();
    work(&inputs, &mut output.bytes_mut()[..output_bytes])
}
