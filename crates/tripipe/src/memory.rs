//! Memory of a context.

use std::sync::{Arc, PoisonError, RwLock};

use tripipe_kernels::PlanError;
use tripipe_launch::{Access, Executor, MemoryId, MemoryKind};
use tripipe_opencl::memory::External;

use crate::context::{Core, Engine, Runner};
use crate::{Context, Error};

/// A piece of a context's memory; freed with the last clone.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Inner>);

struct Inner {
    context: Context,
    bytes: usize,
    place: Place,
}

enum Place {
    Host(Arc<Cells>),
    Device(MemoryId),
}

/// Host memory, aligned for every element.
pub(crate) type Cells = RwLock<Vec<u128>>;

impl Memory {
    /// Memory of so many bytes, with a copy of `contents`, or zeros.
    ///
    /// # Errors
    /// More than the device gives in one piece; no memory left; `contents` of another length.
    pub(crate) fn new(context: &Context, bytes: usize, contents: Option<&[u8]>) -> Result<Self, Error> {
        if let Some(contents) = contents
            && contents.len() != bytes
        {
            return Err(Error::Length { operand: "the contents", want: bytes, found: contents.len() });
        }
        let place = match context.engine() {
            Engine::Host(_) => {
                let mut cells = Vec::new();
                let count = bytes.div_ceil(size_of::<u128>());
                cells.try_reserve_exact(count).map_err(|_| Error::NoMemory { bytes })?;
                cells.resize(count, 0);
                if let Some(contents) = contents {
                    bytemuck::cast_slice_mut(&mut cells)[..bytes].copy_from_slice(contents);
                }
                Place::Host(Arc::new(RwLock::new(cells)))
            }
            Engine::Kernels(kernels) => {
                let limit = kernels.probe.max_buffer_bytes;
                if limit != 0 && bytes as u64 > limit {
                    return Err(
                        PlanError::OverLimit { what: format!("memory of {bytes} bytes"), limit }.into()
                    );
                }
                // A device has no memory of no bytes.
                let kind = MemoryKind::Buffer { bytes: bytes.max(1) };
                let mut executor = kernels.executor();
                Place::Device(match contents {
                    Some(contents) if !contents.is_empty() => {
                        executor.allocate(&kind, Access::ReadWrite, Some(contents))?
                    }
                    _ => executor.allocate_zeros(&kind, Access::ReadWrite)?,
                })
            }
        };
        Ok(Self(Arc::new(Inner { context: context.clone(), bytes, place })))
    }

    /// Memory of so many bytes, to be written before it is read.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn uninitialised(context: &Context, bytes: usize) -> Result<Self, Error> {
        // A device has no memory of no bytes.
        Self::allocated(context, &MemoryKind::Buffer { bytes: bytes.max(1) }, bytes)
    }

    /// Memory of that kind, to be written before it is read; its bytes are those of a buffer, or of an image tightly packed.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn of_kind(context: &Context, kind: &MemoryKind) -> Result<Self, Error> {
        let bytes = match kind {
            MemoryKind::Buffer { bytes } => *bytes,
            MemoryKind::Image(shape) => shape.bytes(),
            _ => 0,
        };
        Self::allocated(context, kind, bytes)
    }

    fn allocated(context: &Context, kind: &MemoryKind, bytes: usize) -> Result<Self, Error> {
        let Engine::Kernels(kernels) = context.engine() else { return Self::new(context, bytes, None) };
        let id = kernels.executor().allocate(kind, Access::ReadWrite, None)?;
        Ok(Self(Arc::new(Inner { context: context.clone(), bytes, place: Place::Device(id) })))
    }

    /// Memory that others made; no copy is made.
    ///
    /// # Errors
    /// The context is on no OpenCL device; the device cannot take in such memory; the driver refuses.
    pub(crate) fn import(context: &Context, external: External, bytes: usize) -> Result<Self, Error> {
        let not_offered = || Error::NotOffered {
            device: context.name().to_owned(),
            what: "memory that others made (an OpenCL device may)",
        };
        let Engine::Kernels(kernels) = context.engine() else { return Err(not_offered()) };
        let Runner::OpenCl(executor) = &mut *kernels.executor() else { return Err(not_offered()) };
        let id = executor.import(external, Access::ReadWrite)?;
        // Reading nothing at the end says whether it reaches so far.
        if let Err(short) = executor.read(id, bytes, &mut []) {
            let _ = executor.release(id);
            return Err(short.into());
        }
        Ok(Self(Arc::new(Inner { context: context.clone(), bytes, place: Place::Device(id) })))
    }

    pub(crate) fn context(&self) -> &Context {
        &self.0.context
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// The device's name for it; nothing for memory of the CPU path.
    pub(crate) fn id(&self) -> Option<MemoryId> {
        match self.0.place {
            Place::Host(_) => None,
            Place::Device(id) => Some(id),
        }
    }

    /// The CPU path's memory.
    pub(crate) fn cells(&self) -> Option<&Arc<Cells>> {
        match &self.0.place {
            Place::Host(cells) => Some(cells),
            Place::Device(_) => None,
        }
    }

    /// Whether both are the same piece.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Copies from byte `offset` on, after all that was queued before.
    ///
    /// # Errors
    /// Past the end; an operation before failed; the device is gone.
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), Error> {
        self.check(offset, into.len())?;
        self.context().finish()?;
        match (&self.0.place, self.context().engine()) {
            (Place::Device(id), Engine::Kernels(kernels)) if !into.is_empty() => {
                kernels.executor().read(*id, offset, into)?;
            }
            (Place::Host(cells), _) => {
                let cells = cells.read().unwrap_or_else(PoisonError::into_inner);
                into.copy_from_slice(&bytemuck::cast_slice(&cells)[offset..][..into.len()]);
            }
            _ => {}
        }
        Ok(())
    }

    /// Overwrites from byte `offset` on, after all that was queued before.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        self.check(offset, bytes.len())?;
        match (&self.0.place, self.context().engine()) {
            (Place::Device(id), Engine::Kernels(kernels)) if !bytes.is_empty() => {
                kernels.executor().write(*id, offset, bytes)?;
            }
            (Place::Host(cells), _) => {
                self.context().finish()?;
                let mut cells = cells.write().unwrap_or_else(PoisonError::into_inner);
                bytemuck::cast_slice_mut(&mut cells)[offset..][..bytes.len()].copy_from_slice(bytes);
            }
            _ => {}
        }
        Ok(())
    }

    /// Has `look` see the bytes where they lie, or a copy where the host cannot reach them, after all that was queued before.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn with<R>(&self, look: impl FnOnce(&[u8]) -> R) -> Result<R, Error> {
        self.context().finish()?;
        let mut look = Some(look);
        let mut seen = None;
        let mut once = |bytes: &[u8]| seen = look.take().map(|look| look(&bytes[..self.0.bytes]));
        match (&self.0.place, self.context().engine()) {
            (Place::Device(id), Engine::Kernels(kernels)) => {
                kernels.executor().with_bytes(*id, 0..self.0.bytes.max(1), &mut once)?;
            }
            (Place::Host(cells), _) => {
                once(bytemuck::cast_slice(&cells.read().unwrap_or_else(PoisonError::into_inner)));
            }
            (Place::Device(_), Engine::Host(_)) => {}
        }
        seen.ok_or(Error::NoMemory { bytes: self.0.bytes })
    }

    /// As [`Self::with`], for reading and writing.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn with_mut<R>(&self, edit: impl FnOnce(&mut [u8]) -> R) -> Result<R, Error> {
        self.context().finish()?;
        let mut edit = Some(edit);
        let mut done = None;
        let mut once = |bytes: &mut [u8]| done = edit.take().map(|edit| edit(&mut bytes[..self.0.bytes]));
        match (&self.0.place, self.context().engine()) {
            (Place::Device(id), Engine::Kernels(kernels)) => {
                kernels.executor().with_bytes_mut(*id, 0..self.0.bytes.max(1), &mut once)?;
            }
            (Place::Host(cells), _) => {
                once(bytemuck::cast_slice_mut(&mut cells.write().unwrap_or_else(PoisonError::into_inner)));
            }
            (Place::Device(_), Engine::Host(_)) => {}
        }
        done.ok_or(Error::NoMemory { bytes: self.0.bytes })
    }

    /// A copy in another context, after all that was queued before.
    ///
    /// # Errors
    /// As [`Self::read`] and [`Self::new`].
    pub(crate) fn to_context(&self, context: &Context) -> Result<Self, Error> {
        if context.is(self.context())
            && let (Some(from), Engine::Kernels(kernels)) = (self.id(), context.engine())
        {
            let copy = Self::uninitialised(context, self.bytes())?;
            if let Some(to) = copy.id().filter(|_| self.bytes() > 0) {
                let mut executor = kernels.executor();
                let copied = executor.copy(from, 0, to, 0, self.bytes())?;
                drop(kernels.pending(&executor, copied));
            }
            return Ok(copy);
        }
        // By way of the host: no context is held while the other is asked.
        let bytes = self.with(<[u8]>::to_vec)?;
        Self::new(context, bytes.len(), Some(&bytes))
    }

    /// Checks that so many elements are all of it.
    pub(crate) fn check_length<T>(&self, found: usize) -> Result<(), Error> {
        let want = self.bytes() / size_of::<T>();
        if found == want { Ok(()) } else { Err(Error::Length { operand: "the slice", want, found }) }
    }

    fn check(&self, offset: usize, length: usize) -> Result<(), Error> {
        match offset.checked_add(length) {
            Some(end) if end <= self.0.bytes => Ok(()),
            _ => Err(Error::Outside { offset, length, bytes: self.0.bytes }),
        }
    }
}

/// What vectors, matrices and images have in common: `$how` says how the elements of a `$name` lie.
macro_rules! elements {
    ($name:ident, $bound:ident, $how:literal) => {
        impl<T: $bound> $name<T> {
            /// The context it lives in.
            pub fn context(&self) -> &$crate::Context {
                self.memory.context()
            }

            #[doc = concat!("A copy of all its elements", $how, ", after all that was queued before.")]
            ///
            /// # Errors
            /// An operation before failed; the device is gone.
            pub fn to_vec(&self) -> Result<Vec<T>, $crate::Error> {
                let mut elements = vec![T::default(); self.memory.bytes() / size_of::<T>()];
                self.read(&mut elements)?;
                Ok(elements)
            }

            #[doc = concat!("Copies all its elements", $how, ", after all that was queued before.")]
            ///
            /// # Errors
            /// `into` of another length; an operation before failed; the device is gone.
            pub fn read(&self, into: &mut [T]) -> Result<(), $crate::Error> {
                self.memory.check_length::<T>(into.len())?;
                self.memory.read(0, bytemuck::cast_slice_mut(into))
            }

            #[doc = concat!("Overwrites all its elements", $how, ", after all that was queued before.")]
            ///
            /// # Errors
            /// `from` of another length; the device is gone.
            pub fn write(&mut self, from: &[T]) -> Result<(), $crate::Error> {
                self.memory.check_length::<T>(from.len())?;
                self.memory.write(0, bytemuck::cast_slice(from))
            }

            #[doc = concat!("Has `look` see all its elements", $how, ", where they are: no copy is made where the host")]
            /// shares the memory. After all that was queued before; the context does nothing else meanwhile, so `look` must
            /// not ask it for anything.
            ///
            /// # Errors
            /// An operation before failed; the device is gone.
            pub fn map<R>(&self, look: impl FnOnce(&[T]) -> R) -> Result<R, $crate::Error> {
                self.memory.with(|bytes| look(bytemuck::cast_slice(bytes)))
            }

            /// As [`Self::map`], for reading and writing.
            ///
            /// # Errors
            /// As [`Self::map`].
            pub fn map_mut<R>(&mut self, edit: impl FnOnce(&mut [T]) -> R) -> Result<R, $crate::Error> {
                self.memory.with_mut(|bytes| edit(bytemuck::cast_slice_mut(bytes)))
            }

            /// A copy in another context, after all that was queued before.
            ///
            /// # Errors
            /// An operation before failed; no memory there; a device is gone.
            pub fn to_context(&self, context: &$crate::Context) -> Result<Self, $crate::Error> {
                Ok(Self { memory: self.memory.to_context(context)?, ..*self })
            }
        }
    };
}
pub(crate) use elements;

/// Calls `work` with the bytes of memory of the CPU path: those it reads, in order, and those it writes. None of the first
/// is also the last.
pub(crate) fn with_cells<R>(
    inputs: &[Arc<Cells>],
    output: &Cells,
    work: impl FnOnce(&[&[u8]], &mut [u8]) -> R,
) -> R {
    // The same memory twice is locked once: whoever waits to write must not come between two locks of one reader.
    let mut distinct: Vec<&Arc<Cells>> = Vec::new();
    let mut places = Vec::with_capacity(inputs.len());
    for cells in inputs {
        let place = distinct.iter().position(|known| Arc::ptr_eq(known, cells));
        places.push(place.unwrap_or(distinct.len()));
        if place.is_none() {
            distinct.push(cells);
        }
    }
    let guards: Vec<_> =
        distinct.iter().map(|cells| cells.read().unwrap_or_else(PoisonError::into_inner)).collect();
    let mut output = output.write().unwrap_or_else(PoisonError::into_inner);
    let inputs: Vec<&[u8]> = places.iter().map(|place| bytemuck::cast_slice(&guards[*place])).collect();
    work(&inputs, bytemuck::cast_slice_mut(&mut output))
}

/// Calls `work` with the bytes of a device's memory where they lie, or copies where the host cannot reach them, after all that was
/// queued before: those it reads, in order, and those of number `result`, which it writes.
///
/// # Errors
/// As [`Memory::read`].
pub(crate) fn with_memories<R>(
    core: &Core,
    memories: &[&Memory],
    result: usize,
    work: impl FnOnce(&[&[u8]], &mut [u8]) -> R,
) -> Result<R, Error> {
    core.finish()?;
    let no_memory = || Error::NoMemory { bytes: memories[result].bytes() };
    let Engine::Kernels(kernels) = core.engine() else { return Err(no_memory()) };
    let mut objects: Vec<(MemoryId, usize)> =
        memories.iter().filter_map(|memory| Some((memory.id()?, memory.bytes()))).collect();
    let output = objects.remove(result);
    let (mut work, mut done) = (Some(work), None);
    kernels.executor().with_all_bytes(&objects, output, &mut |inputs, output| {
        done = work.take().map(|work| work(inputs, output));
    })?;
    done.ok_or_else(no_memory)
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let (Place::Device(id), Engine::Kernels(kernels)) = (&self.place, self.context.engine()) {
            kernels.release(*id);
        }
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes on {}", self.0.bytes, self.0.context.name())
    }
}
