//! Memory of a context.

mod transfer;

use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tripipe_kernels::PlanError;
use tripipe_launch::{Access, ExecuteError, Executor, MemoryId, MemoryKind};
use tripipe_opencl::memory::{External, Footprint};

use crate::context::{Core, Engine, Kernels, Runner};
use crate::line::Outcome;
use crate::{Context, Error};

/// A piece of a context's memory; freed with the last clone.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Inner>);

struct Inner {
    context: Context,
    bytes: usize,
    place: Place,
    /// The bytes that imported memory covers.
    imported: Option<Footprint>,
    /// The operation whose outcome says whether the contents are valid.
    rests_on: Mutex<Option<Arc<Outcome>>>,
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

enum Place {
    Host(Arc<Cells>),
    Device(MemoryId),
}

/// Host memory, aligned for every element type.
pub(crate) type Cells = RwLock<Vec<u128>>;

impl Memory {
    /// Memory of `bytes` bytes, with a copy of `contents`, or zeros.
    ///
    /// # Errors
    /// More than the device allows in one allocation; no memory left; `contents` with another length.
    pub(crate) fn new(context: &Context, bytes: usize, contents: Option<&[u8]>) -> Result<Self, Error> {
        if let Some(contents) = contents
            && contents.len() != bytes
        {
            return Err(Error::Length { operand: "the contents", want: bytes, found: contents.len() });
        }
        let place = match context.engine() {
            Engine::Host(_) => {
                let mut cells = zeros::<u128>(bytes.div_ceil(size_of::<u128>()))?;
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
                // A device cannot allocate zero bytes.
                let kind = MemoryKind::Buffer { bytes: bytes.max(1) };
                Place::Device(with_room(context, kernels, |executor| match contents {
                    Some(contents) if !contents.is_empty() => {
                        executor.allocate(&kind, Access::ReadWrite, Some(contents))
                    }
                    _ => executor.allocate_zeros(&kind, Access::ReadWrite),
                })?)
            }
        };
        Ok(Self::at(context, bytes, place, None))
    }

    /// Memory of `bytes` bytes, to be written before it is read.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn uninitialised(context: &Context, bytes: usize) -> Result<Self, Error> {
        // A device cannot allocate zero bytes.
        Self::allocated(context, &MemoryKind::Buffer { bytes: bytes.max(1) }, bytes)
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
        Self::allocated(context, kind, bytes)
    }

    fn allocated(context: &Context, kind: &MemoryKind, bytes: usize) -> Result<Self, Error> {
        let Engine::Kernels(kernels) = context.engine() else { return Self::new(context, bytes, None) };
        let id = with_room(context, kernels, |executor| executor.allocate(kind, Access::ReadWrite, None))?;
        Ok(Self::at(context, bytes, Place::Device(id), None))
    }

    /// Imported memory; no copy is made.
    ///
    /// # Errors
    /// The context is not on an OpenCL device; the device cannot import such memory; the driver refuses.
    pub(crate) fn import(context: &Context, external: External, bytes: usize) -> Result<Self, Error> {
        let not_offered = || Error::NotOffered {
            device: context.name().to_owned(),
            what: "memory that others made (an OpenCL device may)",
        };
        let Engine::Kernels(kernels) = context.engine() else { return Err(not_offered()) };
        let Runner::OpenCl(executor) = &mut *kernels.executor() else { return Err(not_offered()) };
        let id = executor.import(external, Access::ReadWrite)?;
        // Reading zero bytes at the end checks that it is long enough.
        if let Err(short) = executor.read(id, bytes, &mut []) {
            let _ = executor.release(id);
            return Err(short.into());
        }
        let imported = Some(executor.footprint(id)?);
        Ok(Self::at(context, bytes, Place::Device(id), imported))
    }

    fn at(context: &Context, bytes: usize, place: Place, imported: Option<Footprint>) -> Self {
        Self(Arc::new(Inner {
            context: context.clone(),
            bytes,
            place,
            imported,
            rests_on: Mutex::default(),
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

    /// The operation that its contents depend on, unless that is known to have succeeded.
    pub(crate) fn rests_on(&self) -> Option<Arc<Outcome>> {
        let mut rests_on = lock(&self.0.rests_on);
        if rests_on.as_ref().is_some_and(|outcome| outcome.is_good()) {
            *rests_on = None;
        }
        rests_on.clone()
    }

    /// Sets the operation that its contents depend on from now on.
    pub(crate) fn rest_on(&self, outcome: Option<Arc<Outcome>>) {
        *lock(&self.0.rests_on) = outcome;
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
        if mapped < 0 || to_write && mapped > 0 { Err(Error::Mapped { operand }) } else { Ok(()) }
    }

    /// Maps it until the guard is dropped.
    fn mapping(&self, to_write: bool) -> Result<Mapping<'_>, Error> {
        let next = |mapped: isize| match (mapped, to_write) {
            (0, true) => Some(-1),
            (0.., false) => mapped.checked_add(1),
            _ => None,
        };
        let mapped = self.0.mapped.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        mapped.map_err(|_| Error::Mapped { operand: MEMORY })?;
        Ok(Mapping { memory: self, to_write })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// The device's id for it; `None` for memory of the CPU path.
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

    /// Whether the two have bytes in common: they are the same piece, or cover the same imported memory.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let imported = match (&self.0.imported, &other.0.imported) {
            (Some(one), Some(other)) => one.overlaps(other),
            _ => false,
        };
        imported || Arc::ptr_eq(&self.0, &other.0)
    }

    /// Copies from byte `offset` on, after all operations queued before.
    ///
    /// # Errors
    /// Past the end; it is mapped for writing; the operation that made it failed; the device is gone.
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), Error> {
        self.check(offset, into.len())?;
        self.check_free(MEMORY, false)?;
        self.core().settle();
        self.check_contents()?;
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

    /// Overwrites from byte `offset` on, after all operations queued before.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        self.check(offset, bytes.len())?;
        self.check_free(MEMORY, true)?;
        match (&self.0.place, self.context().engine()) {
            (Place::Device(id), Engine::Kernels(kernels)) if !bytes.is_empty() => {
                kernels.executor().write(*id, offset, bytes)?;
            }
            (Place::Host(cells), _) => {
                self.core().settle();
                let mut cells = cells.write().unwrap_or_else(PoisonError::into_inner);
                bytemuck::cast_slice_mut(&mut cells)[offset..][..bytes.len()].copy_from_slice(bytes);
            }
            _ => {}
        }
        if bytes.len() == self.0.bytes {
            self.rest_on(None);
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
        self.core().settle();
        self.check_contents()?;
        let bytes = self.0.bytes;
        let (id, kernels) = match (&self.0.place, self.context().engine()) {
            (Place::Device(id), Engine::Kernels(kernels)) => (*id, kernels),
            (Place::Host(cells), _) => {
                let cells = cells.read().unwrap_or_else(PoisonError::into_inner);
                return Ok(look(&bytemuck::cast_slice(&cells)[..bytes]));
            }
            (Place::Device(_), Engine::Host(_)) => return Err(Error::NoMemory { bytes }),
        };
        // No lock is held while the closure runs: it may use the context in any way.
        let held = match &mut *kernels.executor() {
            Runner::OpenCl(executor) => Ok(executor.hold(id, Access::Read)?),
            Runner::Other(executor) => {
                let mut copy = zeros(bytes)?;
                executor.read(id, 0, &mut copy)?;
                Err(copy)
            }
        };
        match held {
            Ok(held) => Ok(held.with_bytes(0..bytes.max(1), |found| look(&found[..bytes]))?),
            Err(copy) => Ok(look(&copy)),
        }
    }

    /// As [`Self::with`], for reading and writing.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn with_mut<R>(&self, edit: impl FnOnce(&mut [u8]) -> R) -> Result<R, Error> {
        let _mapping = self.mapping(true)?;
        self.core().settle();
        self.check_contents()?;
        let bytes = self.0.bytes;
        let (id, kernels) = match (&self.0.place, self.context().engine()) {
            (Place::Device(id), Engine::Kernels(kernels)) => (*id, kernels),
            (Place::Host(cells), _) => {
                let mut cells = cells.write().unwrap_or_else(PoisonError::into_inner);
                return Ok(edit(&mut bytemuck::cast_slice_mut(&mut cells)[..bytes]));
            }
            (Place::Device(_), Engine::Host(_)) => return Err(Error::NoMemory { bytes }),
        };
        let held = match &mut *kernels.executor() {
            Runner::OpenCl(executor) => Ok(executor.hold(id, Access::ReadWrite)?),
            Runner::Other(executor) => {
                let mut copy = zeros(bytes)?;
                executor.read(id, 0, &mut copy)?;
                Err(copy)
            }
        };
        match held {
            Ok(mut held) => Ok(held.with_bytes_mut(0..bytes.max(1), |found| edit(&mut found[..bytes]))?),
            Err(mut copy) => {
                let done = edit(&mut copy);
                if bytes > 0 {
                    kernels.executor().write(id, 0, &copy)?;
                }
                Ok(done)
            }
        }
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
            let copy = Self::new(self.context(), bytes, Some(&found))?;
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
    pub(crate) fn to_context(&self, context: &Context) -> Result<Self, Error> {
        if context.is(self.context())
            && let (Some(from), Engine::Kernels(kernels)) = (self.id(), context.engine())
        {
            let copy = Self::uninitialised(context, self.bytes())?;
            if let Some(to) = copy.id().filter(|_| self.bytes() > 0) {
                self.check_free(MEMORY, false)?;
                let mut executor = kernels.executor();
                let copied = Arc::from(executor.copy(from, 0, to, 0, self.bytes())?);
                let rests_on = self.rests_on().into_iter().collect();
                copy.rest_on(Some(self.core().line().add("a copy", &copied, rests_on)));
            }
            return Ok(copy);
        }
        // Through the host: neither context is locked while the other is used.
        let mut bytes = zeros(self.bytes())?;
        self.read(0, &mut bytes)?;
        Self::new(context, bytes.len(), Some(&bytes))
    }

    /// Checks that `found` elements are exactly all of it.
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

/// Memory as elements; an incomplete element at the end is left out. Memory without elements may have any alignment.
pub(crate) fn elements_of<T: bytemuck::Pod>(memory: &[u8]) -> &[T] {
    match memory.len() / size_of::<T>() {
        0 => &[],
        count => bytemuck::cast_slice(&memory[..count * size_of::<T>()]),
    }
}

/// As [`elements_of`], for writing.
pub(crate) fn elements_of_mut<T: bytemuck::Pod>(memory: &mut [u8]) -> &mut [T] {
    match memory.len() / size_of::<T>() {
        0 => &mut [],
        count => bytemuck::cast_slice_mut(&mut memory[..count * size_of::<T>()]),
    }
}

/// The methods that vectors, matrices and images have in common: `$how` describes the layout of the elements of a
/// `$name`.
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
            /// [The operation that made it failed](crate::Error::Failed); no room for the copy; the device is gone.
            pub fn to_vec(&self) -> Result<Vec<T>, $crate::Error> {
                let mut elements = $crate::memory::zeros(self.memory.bytes() / size_of::<T>())?;
                self.read(&mut elements)?;
                Ok(elements)
            }

            #[doc = concat!("Copies all its elements", $how, ", after all that was queued before.")]
            ///
            /// # Errors
            /// `into` has another length; [the operation that made it failed](crate::Error::Failed); the device is
            /// gone.
            pub fn read(&self, into: &mut [T]) -> Result<(), $crate::Error> {
                self.memory.check_length::<T>(into.len())?;
                self.memory.read(0, bytemuck::cast_slice_mut(into))
            }

            #[doc = concat!("Overwrites all its elements", $how, ", after all that was queued before.")]
            ///
            /// # Errors
            /// `from` has another length; the device is gone.
            pub fn write(&mut self, from: &[T]) -> Result<(), $crate::Error> {
                self.memory.check_length::<T>(from.len())?;
                self.memory.write(0, bytemuck::cast_slice(from))
            }

            #[doc = concat!("As [`Self::to_vec`], without waiting: the copy of all its elements", $how, " comes with the [`Pending`](crate::Pending).")]
            /// Operations queued later do not change it.
            ///
            /// # Errors
            /// It is mapped for writing; no room for the copy; the device is gone. Other errors are reported by the
            /// [`Pending`](crate::Pending).
            pub fn to_vec_async(&self) -> Result<$crate::Pending<Vec<T>>, $crate::Error> {
                self.memory.read_later(0, self.memory.bytes() / size_of::<T>())
            }

            #[doc = concat!("As [`Self::write`], in line and without waiting: overwrites all its elements", $how, ".")]
            /// A `Vec` is moved, a slice is copied first.
            ///
            /// # Errors
            /// As [`Self::write`]; it is mapped through another object that shares its memory.
            pub fn write_async(&mut self, from: impl Into<Vec<T>>) -> Result<$crate::Pending, $crate::Error> {
                let from = from.into();
                self.memory.check_length::<T>(from.len())?;
                self.memory.write_later(tripipe_launch::Block::new(from))
            }

            #[doc = concat!("Has `look` see all its elements", $how, ", where they are: no copy is made where the host")]
            /// shares the memory. Runs after all operations queued before. `look` may use the context, and so may other
            /// threads meanwhile, except where the mapping conflicts: mapped memory cannot be written, and memory that
            /// is mapped for writing cannot be read. Such uses are refused with
            /// [`Error::Mapped`](crate::Error::Mapped). With a driver that does not report what kernels write
            /// (`clGetKernelArgInfo`), no kernel can read mapped memory.
            ///
            /// # Errors
            /// It is mapped for writing through another object that shares its memory; [the operation that made it
            /// failed](crate::Error::Failed); the device is gone.
            pub fn map<R>(&self, look: impl FnOnce(&[T]) -> R) -> Result<R, $crate::Error> {
                self.memory.with(|bytes| look($crate::memory::elements_of(bytes)))
            }

            /// As [`Self::map`], for reading and writing.
            ///
            /// # Errors
            /// It is mapped through another object that shares its memory; otherwise as [`Self::map`].
            pub fn map_mut<R>(&mut self, edit: impl FnOnce(&mut [T]) -> R) -> Result<R, $crate::Error> {
                self.memory.with_mut(|bytes| edit($crate::memory::elements_of_mut(bytes)))
            }

            /// A copy in another context, after all operations queued before.
            ///
            /// # Errors
            /// [The operation that made it failed](crate::Error::Failed); no memory there; a device is gone.
            pub fn to_context(&self, context: &$crate::Context) -> Result<Self, $crate::Error> {
                Ok(Self { memory: self.memory.to_context(context)?, ..*self })
            }
        }
    };
}
pub(crate) use elements;

/// Calls `work` with the bytes of memory of the CPU path, the given number of each: first those it reads, in order,
/// then those it writes. None of the inputs is also the output.
pub(crate) fn with_cells<R>(
    inputs: &[(Arc<Cells>, usize)],
    (output, output_bytes): (&Cells, usize),
    work: impl FnOnce(&[&[u8]], &mut [u8]) -> R,
) -> R {
    // Memory that occurs twice is locked once: a waiting writer must not come between two locks of one reader.
    let mut distinct: Vec<&Arc<Cells>> = Vec::new();
    let mut places = Vec::with_capacity(inputs.len());
    for (cells, _) in inputs {
        let place = distinct.iter().position(|known| Arc::ptr_eq(known, cells));
        places.push(place.unwrap_or(distinct.len()));
        if place.is_none() {
            distinct.push(cells);
        }
    }
    let guards: Vec<_> =
        distinct.iter().map(|cells| cells.read().unwrap_or_else(PoisonError::into_inner)).collect();
    let mut output = output.write().unwrap_or_else(PoisonError::into_inner);
    // Cells are whole 16-byte units; the contents need not fill the last one.
    let all = |place: &usize| bytemuck::cast_slice::<u128, u8>(&guards[*place]);
    let inputs: Vec<&[u8]> =
        places.iter().zip(inputs).map(|(place, (_, bytes))| &all(place)[..*bytes]).collect();
    work(&inputs, &mut bytemuck::cast_slice_mut(&mut output)[..output_bytes])
}

/// Calls `work` with the bytes of a device's memory in place, or with copies where the host cannot access them, after
/// all operations queued before: those it reads, in order, and those of number `result`, which it writes.
///
/// # Errors
/// As [`Memory::read`].
pub(crate) fn with_memories<R>(
    core: &Core,
    memories: &[&Memory],
    result: usize,
    work: impl FnOnce(&[&[u8]], &mut [u8]) -> R,
) -> Result<R, Error> {
    core.settle();
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

/// Allocates memory; when none is left, frees what operations retain between their runs and tries again.
fn with_room(
    context: &Context,
    kernels: &Kernels,
    make: impl Fn(&mut dyn Executor) -> Result<MemoryId, ExecuteError>,
) -> Result<MemoryId, ExecuteError> {
    let made = make(&mut **kernels.executor());
    if !matches!(made, Err(ExecuteError::OutOfMemory { .. })) {
        return made;
    }
    // Queued operations retain their memory until they have ended.
    context.core().settle();
    let mut executor = kernels.executor();
    kernels.free_scratch(&mut **executor, 0);
    make(&mut **executor)
}

/// The name of memory in errors when it has no other name.
const MEMORY: &str = "the memory";

/// Zeros in host memory.
///
/// # Errors
/// There is not enough memory.
pub(crate) fn zeros<T: bytemuck::Zeroable>(count: usize) -> Result<Vec<T>, Error> {
    bytemuck::allocation::try_zeroed_vec(count)
        .map_err(|()| Error::NoMemory { bytes: count.saturating_mul(size_of::<T>()) })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
