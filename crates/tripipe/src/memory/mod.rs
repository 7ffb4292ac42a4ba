//! Memory of a context.

mod elements;
mod transfer;

use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::driver::memory::External;
use tripipe_launch::locks::lock;
use tripipe_launch::{Block, MemoryKind};

use crate::engine::{Core, Initial, Storage};
use crate::error::Fault;
use crate::operation_queue::Outcome;
use crate::{Context, Error, Event};

use elements::zero_block;
pub(crate) use elements::{MakeZeros, elements, zeros};

/// A piece of a context's memory; freed with the last clone.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Inner>);

struct Inner {
    context: Context,
    bytes: usize,
    storage: Box<dyn Storage>,
    /// The operation that wrote the contents, whose outcome says whether they are valid; `None` if the host did.
    event: Mutex<Option<Event>>,
    /// The number of mappings for reading; -1 if it is mapped for writing.
    mapped: AtomicIsize,
    /// A private copy that nothing else refers to, and its contents.
    snapshot: Mutex<Option<(Memory, Vec<u8>)>>,
}

/// Memory that is mapped, for as long as this value lives.
struct Mapping<'m> {
    memory: &'m Memory,
    to_write: bool,
}

impl Drop for Mapping<'_> {
    fn drop(&mut self) {
        let mapped = &self.memory.0.mapped;
        if self.to_write {
            mapped.store(0, Ordering::Release);
        } else {
            mapped.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// The name of memory in errors when it has no other name.
const MEMORY: &str = "the memory";

impl Memory {
    /// Memory of `bytes` bytes for elements of a type, with a copy of `contents`, or zeros.
    ///
    /// # Errors
    /// More than the device allows in one allocation; no memory left; `contents` with another length.
    pub(crate) fn new<T: bytemuck::Pod + Send + Sync>(
        context: &Context,
        bytes: usize,
        contents: Option<&[u8]>,
    ) -> Result<Self, Error> {
        let initial = match contents {
            Some(contents) if contents.len() != bytes => {
                return Err(Error::from(Fault::Length {
                    operand: "the contents",
                    want: bytes,
                    found: contents.len(),
                }));
            }
            Some(contents) if bytes > 0 => Initial::Copy(contents),
            _ => Initial::Zeros,
        };
        Self::allocated::<T>(context, &buffer(bytes), bytes, initial)
    }

    /// Memory that holds these elements: the memory of the `Vec` on the CPU path, a copy made in the call on a device.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn owning<T: bytemuck::Pod + Send + Sync>(
        context: &Context,
        elements: Vec<T>,
    ) -> Result<Self, Error> {
        let block = Block::new(elements);
        let bytes = block.bytes().len();
        let initial = if bytes > 0 { Initial::Own(block) } else { Initial::Zeros };
        Self::allocated::<T>(context, &buffer(bytes), bytes, initial)
    }

    /// Memory of `bytes` bytes for elements of a type, to be written before it is read.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn uninitialised<T: bytemuck::Pod + Send + Sync>(
        context: &Context,
        bytes: usize,
    ) -> Result<Self, Error> {
        Self::allocated::<T>(context, &buffer(bytes), bytes, Initial::Undefined)
    }

    /// Memory of this kind, to be written before it is read; its size in bytes is that of a buffer, or of a tightly
    /// packed image.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn of_kind(context: &Context, kind: &MemoryKind) -> Result<Self, Error> {
        let bytes = match kind {
            MemoryKind::Buffer { bytes } => *bytes,
            MemoryKind::Image(shape) => shape.bytes(),
            _ => 0,
        };
        Self::allocated::<u8>(context, kind, bytes, Initial::Undefined)
    }

    /// Memory of this kind with a copy of `contents`, which fill it.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn of_kind_with(context: &Context, kind: &MemoryKind, contents: &[u8]) -> Result<Self, Error> {
        Self::allocated::<u8>(context, kind, contents.len(), Initial::Copy(contents))
    }

    fn allocated<T: bytemuck::Pod + Send + Sync>(
        context: &Context,
        kind: &MemoryKind,
        bytes: usize,
        initial: Initial<'_>,
    ) -> Result<Self, Error> {
        let storage = context.core().engine().allocate(kind, bytes, zero_block::<T>, initial)?;
        Ok(Self::stored(context, bytes, storage))
    }

    /// Imported memory; no copy is made.
    ///
    /// # Errors
    /// The context is not on an OpenCL device; the device cannot import such memory; the driver refuses.
    pub(crate) fn import(context: &Context, external: External, bytes: usize) -> Result<Self, Error> {
        let storage = context.core().engine().import(external, bytes)?.ok_or_else(|| {
            Error::from(Fault::NotOffered {
                device: context.name().to_owned(),
                what: "imported memory (OpenCL devices may)",
            })
        })?;
        Ok(Self::stored(context, bytes, storage))
    }

    fn stored(context: &Context, bytes: usize, storage: Box<dyn Storage>) -> Self {
        Self(Arc::new(Inner {
            context: context.clone(),
            bytes,
            storage,
            event: Mutex::default(),
            mapped: AtomicIsize::new(0),
            snapshot: Mutex::default(),
        }))
    }

    pub(crate) fn context(&self) -> &Context {
        &self.0.context
    }

    fn core(&self) -> &Core {
        self.0.context.core()
    }

    pub(crate) fn storage(&self) -> &dyn Storage {
        &*self.0.storage
    }

    /// The operation that its contents depend on, unless that is known to have succeeded.
    pub(crate) fn rests_on(&self) -> Option<Arc<Outcome>> {
        let event = lock(&self.0.event);
        event.as_ref()?.outcome().filter(|outcome| !outcome.is_good()).cloned()
    }

    /// The operation that wrote its contents; one that is done if the host did.
    pub(crate) fn event(&self) -> Event {
        lock(&self.0.event).clone().unwrap_or_else(Event::done)
    }

    /// Sets the operation that writes its contents; `None` for the host.
    pub(crate) fn set_event(&self, event: Option<Event>) {
        *lock(&self.0.event) = event;
    }

    /// Checks that none of the operations that its contents depend on failed, as far as they are known to have ended.
    ///
    /// # Errors
    /// One of them failed.
    pub(crate) fn check_contents(&self) -> Result<(), Error> {
        self.rests_on().map_or(Ok(()), |outcome| outcome.result())
    }

    /// Checks that no mapping prevents its use.
    ///
    /// # Errors
    /// It is mapped in a way that conflicts.
    pub(crate) fn check_free(&self, operand: &'static str, to_write: bool) -> Result<(), Error> {
        let mapped = self.0.mapped.load(Ordering::Acquire);
        if mapped < 0 || to_write && mapped > 0 {
            Err(Error::from(Fault::Mapped { operand }))
        } else {
            Ok(())
        }
    }

    /// Maps it until the guard is dropped.
    fn mapping(&self, to_write: bool) -> Result<Mapping<'_>, Error> {
        let next = |mapped: isize| match (mapped, to_write) {
            (0, true) => Some(-1),
            (0.., false) => mapped.checked_add(1),
            _ => None,
        };
        let mapped = self.0.mapped.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        mapped.map_err(|_| Error::from(Fault::Mapped { operand: MEMORY }))?;
        Ok(Mapping { memory: self, to_write })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Whether the two have bytes in common: they are not empty, and are the same piece or cover the same imported
    /// memory.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let same = Arc::ptr_eq(&self.0, &other.0) || self.storage().overlaps(other.storage());
        same && self.0.bytes > 0 && other.0.bytes > 0
    }

    /// Copies from byte `offset` on, after all operations queued before.
    ///
    /// # Errors
    /// Past the end; it is mapped for writing; the operation that made it failed; the device is gone.
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), Error> {
        self.check(offset, into.len())?;
        self.check_free(MEMORY, false)?;
        self.core().settle()?;
        self.check_contents()?;
        self.storage().read(offset, into)
    }

    /// Overwrites from byte `offset` on, after all operations queued before.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        self.check(offset, bytes.len())?;
        self.check_free(MEMORY, true)?;
        self.storage().write(offset, bytes)?;
        if bytes.len() == self.0.bytes {
            self.set_event(None);
        }
        Ok(())
    }

    /// Calls `look` with the bytes in place, or with a copy where the host cannot access them, after all operations
    /// queued before.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn with<R>(&self, look: impl FnOnce(&[u8]) -> R) -> Result<R, Error> {
        let _mapping = self.mapping(false)?;
        self.core().settle()?;
        self.check_contents()?;
        let (mut look, mut seen) = (Some(look), None);
        self.storage().with(&mut |bytes| seen = look.take().map(|look| look(bytes)))?;
        seen.ok_or(Error::from(Fault::NoMemory { bytes: self.0.bytes }))
    }

    /// As [`Self::with`], for reading and writing.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn with_mut<R>(&self, edit: impl FnOnce(&mut [u8]) -> R) -> Result<R, Error> {
        let _mapping = self.mapping(true)?;
        self.core().settle()?;
        self.check_contents()?;
        let (mut edit, mut done) = (Some(edit), None);
        self.storage().with_mut(&mut |bytes| done = edit.take().map(|edit| edit(bytes)))?;
        done.ok_or(Error::from(Fault::NoMemory { bytes: self.0.bytes }))
    }

    /// Calls `check` with a copy of the first `bytes` bytes, and `work` with memory that holds this copy and that
    /// nothing else writes.
    ///
    /// # Errors
    /// As [`Self::read`] and [`Self::new`]; the errors of the two closures.
    pub(crate) fn with_snapshot<R>(
        &self,
        bytes: usize,
        check: impl FnOnce(&[u8]) -> Result<(), Error>,
        work: impl FnOnce(&Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        // Locked until the work is queued, so that no other copy comes in between.
        let mut snapshot = lock(&self.0.snapshot);
        let mut found = zeros(bytes)?;
        self.read(0, &mut found)?;
        check(&found)?;
        let (copy, known) = if let Some(known) = snapshot.take() {
            snapshot.insert(known)
        } else {
            // Aligned for every type.
            let copy = Self::new::<u128>(self.context(), bytes, Some(&found))?;
            snapshot.insert((copy, found.clone()))
        };
        if *known != found {
            known.clear();
            copy.write(0, &found)?;
            *known = found;
        }
        work(copy)
    }

    /// A copy in another context, after all operations queued before.
    ///
    /// # Errors
    /// As [`Self::read`] and [`Self::new`].
    pub(crate) fn to_context<T: bytemuck::Pod + Send + Sync>(
        &self,
        context: &Context,
    ) -> Result<Self, Error> {
        if context.is(self.context()) {
            self.check_free(MEMORY, false)?;
            if let Some(copy) = self.storage().duplicate(self)? {
                return Ok(copy);
            }
        }
        // Through the host: neither context is locked while the other is used.
        let mut elements = zeros::<T>(self.bytes() / size_of::<T>())?;
        self.read(0, bytemuck::cast_slice_mut(&mut elements))?;
        Self::owning(context, elements)
    }

    /// All its elements, after all operations queued before: moved where the memory is the host's and nothing else
    /// refers to it, otherwise copied. The type is the one that it was made for.
    ///
    /// # Errors
    /// As [`Self::read`]; no room for a copy.
    pub(crate) fn into_vec<T: bytemuck::Pod + Send + Sync>(mut self) -> Result<Vec<T>, Error> {
        self.check_free(MEMORY, false)?;
        self.core().settle()?;
        self.check_contents()?;
        if let Some(block) = Arc::get_mut(&mut self.0).and_then(|inner| inner.storage.take()) {
            return block.into_vec().ok_or(Error::from(Fault::ValueTaken));
        }
        let mut elements = zeros(self.bytes() / size_of::<T>())?;
        self.read(0, bytemuck::cast_slice_mut(&mut elements))?;
        Ok(elements)
    }

    /// Checks that `found` elements are exactly all of it.
    pub(crate) fn check_length<T>(&self, found: usize) -> Result<(), Error> {
        let want = self.bytes() / size_of::<T>();
        if found == want {
            Ok(())
        } else {
            Err(Error::from(Fault::Length { operand: "the slice", want, found }))
        }
    }

    fn check(&self, offset: usize, length: usize) -> Result<(), Error> {
        match offset.checked_add(length) {
            Some(end) if end <= self.0.bytes => Ok(()),
            _ => Err(Error::from(Fault::Outside { offset, length, bytes: self.0.bytes })),
        }
    }
}

/// A buffer of `bytes` bytes. A device cannot allocate zero bytes.
fn buffer(bytes: usize) -> MemoryKind {
    MemoryKind::Buffer { bytes: bytes.max(1) }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes on {}", self.0.bytes, self.0.context.name())
    }
}
