//! The driver's memory object behind a buffer or an image, and all transfers to and from it.

mod transfer;

use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

use opencl_sys as cl;
use opencl_sys::{cl_map_flags, cl_mem, cl_mem_flags};
use tripipe_launch::{Access, ImageShape};

use crate::api::{commands, objects};
use crate::code::CallError;
use crate::context::Context;
use crate::event::Event;
use crate::handle::MemHandle;
use crate::memory::external::Backing;
use crate::memory::mapping::RawMapping;
use crate::memory::{Footprint, HostMemory, MemoryError, Strategy};
use crate::queue::Queue;

/// Kind and size of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Buffer { bytes: usize },
    Image { shape: ImageShape },
}

impl Shape {
    /// Size in bytes on the host side, rows and slices tightly packed.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Buffer { bytes } => *bytes,
            Self::Image { shape } => shape.bytes(),
        }
    }
}

/// The initial contents of a new object.
pub(crate) enum Contents<'a> {
    /// Undefined. Only for objects that are never mapped.
    Undefined,
    /// Zeros.
    Zero,
    /// A copy of these bytes; the length must be that of the object.
    Copy(&'a [u8]),
}

/// How the host accesses the contents of an object.
pub(crate) enum Reach {
    /// Through reads, writes and mappings of the driver.
    Driver,
    /// Through mappings of the driver, inside a host access to the underlying memory.
    Mapped(Arc<Backing>),
    /// In place, inside a host access; the driver accepts no host commands for the object.
    InPlace(Arc<Backing>),
    /// Not accessible.
    Closed,
}

/// A buffer or an image.
pub(crate) struct Object {
    handle: MemHandle,
    context: Context,
    shape: Shape,
    /// The parent of a sub-buffer or of an image made from a buffer.
    parent: Option<Arc<Object>>,
    /// The memory is borrowed from the host, so no kernel may still use it after a call has returned.
    synchronous: bool,
    /// The memory was allocated elsewhere or belongs to another object.
    foreign: bool,
    reach: Reach,
    /// Number of host readers that hold it; -1 for a writer.
    held: AtomicIsize,
    footprint: Footprint,
}

pub(super) fn access_flags(access: Access) -> cl_mem_flags {
    match access {
        Access::Read => cl::CL_MEM_READ_ONLY,
        Access::Write => cl::CL_MEM_WRITE_ONLY,
        Access::ReadWrite => cl::CL_MEM_READ_WRITE,
    }
}

impl Object {
    /// A new buffer.
    pub(crate) fn buffer(
        context: &Context,
        bytes: usize,
        access: Access,
        strategy: Strategy,
        contents: &Contents<'_>,
    ) -> Result<Self, MemoryError> {
        check_buffer_size(context, bytes)?;
        let (copied, flags) = initial(contents, bytes, strategy)?;
        let pointer = copied.as_deref().or(match contents {
            Contents::Copy(bytes) => Some(*bytes),
            _ => None,
        });
        let pointer =
            pointer.map_or(std::ptr::null_mut(), |bytes| bytes.as_ptr().cast_mut().cast::<c_void>());
        // SAFETY: with CL_MEM_COPY_HOST_PTR the driver reads `bytes` bytes during this call, and the slice has as many
        // (checked by `initial`); without it the pointer is null.
        let raw =
            unsafe { objects::create_buffer(context.raw(), access_flags(access) | flags, bytes, pointer) }
                .map_err(CallError::at("clCreateBuffer"))?;
        // SAFETY: just created.
        Ok(unsafe { Self::own(raw, context, Shape::Buffer { bytes }, None) })
    }

    /// A new buffer over host memory (`CL_MEM_USE_HOST_PTR`).
    ///
    /// # Safety
    /// `bytes` bytes at `pointer` live until the driver has destroyed the object, or `synchronous` is set and they
    /// live as long as calls with the object are made. Meanwhile they are accessed only through a mapping.
    pub(crate) unsafe fn over_host(
        context: &Context,
        pointer: *mut u8,
        bytes: usize,
        access: Access,
        synchronous: bool,
    ) -> Result<Self, MemoryError> {
        check_buffer_size(context, bytes)?;
        let flags = access_flags(access) | cl::CL_MEM_USE_HOST_PTR;
        // SAFETY: the caller guarantees the memory.
        let raw = unsafe { objects::create_buffer(context.raw(), flags, bytes, pointer.cast()) }
            .map_err(CallError::at("clCreateBuffer"))?;
        // SAFETY: just created.
        let mut object = unsafe { Self::own(raw, context, Shape::Buffer { bytes }, None) };
        object.synchronous = synchronous;
        object.foreign = true;
        let start = pointer as usize;
        object.footprint.host = Some(start..start.saturating_add(bytes));
        Ok(object)
    }

    /// A sub-buffer of `parent`, which is a buffer.
    pub(crate) fn part(
        parent: &Arc<Self>,
        offset: usize,
        bytes: usize,
        access: Access,
    ) -> Result<Self, MemoryError> {
        if bytes == 0 {
            return Err(MemoryError::Empty);
        }
        parent.check_range(offset, bytes)?;
        let alignment = parent.context.device().probe().base_alignment_bytes.max(1);
        if !offset.is_multiple_of(alignment) {
            return Err(MemoryError::Alignment {
                what: "a sub-buffer offset in bytes",
                value: offset,
                alignment,
            });
        }
        let region = cl::cl_buffer_region { origin: offset, size: bytes };
        // SAFETY: the parent is live, and the region is inside it.
        let raw = unsafe { objects::create_sub_buffer(parent.raw(), access_flags(access), region) }
            .map_err(CallError::at("clCreateSubBuffer"))?;
        // SAFETY: just created.
        let mut part =
            unsafe { Self::own(raw, &parent.context, Shape::Buffer { bytes }, Some(Arc::clone(parent))) };
        part.synchronous = parent.synchronous;
        part.footprint = parent.footprint.part(offset, bytes);
        Ok(part)
    }

    /// A new image with its own memory.
    pub(crate) fn image(
        context: &Context,
        shape: &ImageShape,
        access: Access,
        strategy: Strategy,
        contents: &Contents<'_>,
    ) -> Result<Self, MemoryError> {
        let bytes = super::image::check_own(context.device().probe(), shape)?;
        let format = super::image::format(shape);
        super::image::check_format(context, shape, access_flags(access))?;
        let description = super::image::description(shape, 0, std::ptr::null_mut());
        let (copied, flags) = initial(contents, bytes, strategy)?;
        let pointer = copied.as_deref().or(match contents {
            Contents::Copy(bytes) => Some(*bytes),
            _ => None,
        });
        let pointer =
            pointer.map_or(std::ptr::null_mut(), |bytes| bytes.as_ptr().cast_mut().cast::<c_void>());
        // SAFETY: format and description live for the call; with CL_MEM_COPY_HOST_PTR and a row pitch of
        // 0 the driver reads tightly packed rows and slices, `bytes` bytes, and the slice has as many.
        let raw = unsafe {
            objects::create_image(context.raw(), access_flags(access) | flags, &format, &description, pointer)
        }
        .map_err(CallError::at("clCreateImage"))?;
        // SAFETY: just created.
        Ok(unsafe { Self::own(raw, context, Shape::Image { shape: *shape }, None) })
    }

    /// An image over a buffer's memory with rows `row_pitch_bytes` apart. An `image1d_buffer_t` ignores the pitch.
    pub(crate) fn image_over(
        buffer: &Arc<Self>,
        shape: &ImageShape,
        row_pitch_bytes: usize,
        access: Access,
    ) -> Result<Self, MemoryError> {
        let context = &buffer.context;
        super::image::check_over_buffer(
            context.device().probe(),
            shape,
            row_pitch_bytes,
            buffer.shape.bytes(),
        )?;
        super::image::check_format(context, shape, access_flags(access))?;
        let format = super::image::format(shape);
        let description = super::image::description(shape, row_pitch_bytes, buffer.raw());
        // SAFETY: format and description live for the call; the buffer is live, and large enough as checked.
        let raw = unsafe {
            objects::create_image(
                context.raw(),
                access_flags(access),
                &format,
                &description,
                std::ptr::null_mut(),
            )
        }
        .map_err(CallError::at("clCreateImage"))?;
        let shape = Shape::Image { shape: *shape };
        // SAFETY: just created.
        let mut image = unsafe { Self::own(raw, context, shape, Some(Arc::clone(buffer))) };
        image.synchronous = buffer.synchronous;
        Ok(image)
    }

    /// # Safety
    /// `raw` is live and has that shape, and the caller gives up its reference.
    unsafe fn own(raw: cl_mem, context: &Context, shape: Shape, parent: Option<Arc<Self>>) -> Self {
        // SAFETY: passed on.
        let handle = unsafe { MemHandle::own(raw) };
        let reach = match parent.as_ref().map(|parent| &parent.reach) {
            None | Some(Reach::Driver) => Reach::Driver,
            // Access through the parent instead.
            Some(_) => Reach::Closed,
        };
        let foreign = parent.is_some();
        let footprint = match &parent {
            Some(parent) => parent.footprint.clone(),
            None => Footprint::of_object(raw as usize, shape.bytes()),
        };
        let (context, held) = (context.clone(), AtomicIsize::new(0));
        Self { handle, context, shape, parent, synchronous: false, foreign, reach, held, footprint }
    }

    /// An object over memory that was allocated elsewhere.
    pub(super) fn foreign(
        handle: MemHandle,
        context: &Context,
        shape: Shape,
        reach: Reach,
        footprint: Footprint,
    ) -> Self {
        let (context, held) = (context.clone(), AtomicIsize::new(0));
        Self {
            handle,
            context,
            shape,
            parent: None,
            synchronous: false,
            foreign: true,
            reach,
            held,
            footprint,
        }
    }

    /// A buffer over `memory` (`CL_MEM_USE_HOST_PTR`), which lives until the driver has destroyed the buffer.
    pub(crate) fn over_owned(
        context: &Context,
        memory: HostMemory,
        access: Access,
    ) -> Result<Self, MemoryError> {
        let (pointer, bytes) = (memory.pointer(), memory.len());
        // SAFETY: the memory is kept until the driver has destroyed the object, and nothing else refers to it.
        let object = unsafe { Self::over_host(context, pointer, bytes, access, false) }?;
        object.keep(Arc::new(Backing::Host(memory)))
    }

    /// Keeps `backing` alive until the driver has destroyed the object, which may be after the last kernel that uses
    /// it.
    pub(super) fn keep(self, backing: Arc<Backing>) -> Result<Self, MemoryError> {
        extern "C" fn destroyed(_: cl_mem, backing: *mut c_void) {
            // SAFETY: the pointer comes from `Arc::into_raw` below, and the driver calls this once.
            drop(unsafe { Arc::from_raw(backing.cast_const().cast::<Backing>()) });
        }
        let backing = Arc::into_raw(backing);
        let data = backing.cast_mut().cast::<c_void>();
        // SAFETY: the object is live, and `destroyed` fits the data.
        match unsafe { objects::set_mem_object_destructor_callback(self.raw(), destroyed, data) } {
            Ok(()) => Ok(self),
            Err(code) => {
                drop(self);
                // SAFETY: the object is released, no kernel ever used it, and the driver did not accept the callback.
                drop(unsafe { Arc::from_raw(backing) });
                Err(CallError::at("clSetMemObjectDestructorCallback")(code).into())
            }
        }
    }

    pub(crate) fn raw(&self) -> cl_mem {
        self.handle.raw()
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether it is a view of a buffer's memory.
    pub(crate) fn over_buffer(&self) -> bool {
        self.parent.is_some()
    }

    /// Whether its memory is not its own: it is a view of another object, or was imported.
    pub(crate) fn borrows(&self) -> bool {
        self.foreign
    }

    /// The memory that it occupies.
    pub(crate) fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    pub(crate) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The object that owns the memory; usually the object itself.
    fn root(&self) -> &Self {
        self.parent.as_deref().map_or(self, Self::root)
    }

    /// Whether the host holds its memory so that it must not be read, or, with `to_write`, written.
    pub(crate) fn is_held(&self, to_write: bool) -> bool {
        let held = self.root().held.load(Ordering::Acquire);
        if to_write { held != 0 } else { held < 0 }
    }

    /// Holds its memory for the host; `false` if there is a conflicting hold. [`Self::let_go`] ends it.
    pub(crate) fn hold(&self, to_write: bool) -> bool {
        let next = |held: isize| match (held, to_write) {
            (0, true) => Some(-1),
            (0.., false) => held.checked_add(1),
            _ => None,
        };
        self.root().held.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    /// Ends a [`Self::hold`].
    pub(crate) fn let_go(&self, to_write: bool) {
        if to_write {
            self.root().held.store(0, Ordering::Release);
        } else {
            self.root().held.fetch_sub(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn synchronous(&self) -> bool {
        self.synchronous
    }

    /// Checks that `len` bytes from `offset` are inside; for an image, only the whole is valid.
    pub(crate) fn check_range(&self, offset: usize, len: usize) -> Result<(), MemoryError> {
        let bytes = self.shape.bytes();
        let inside = offset.checked_add(len).is_some_and(|end| end <= bytes);
        let whole = offset == 0 && len == bytes;
        match self.shape {
            Shape::Buffer { .. } if inside => Ok(()),
            Shape::Image { .. } if whole => Ok(()),
            Shape::Image { .. } if offset == 0 => Err(MemoryError::Length { want: bytes, found: len }),
            _ => Err(MemoryError::Bounds { offset, len, bytes }),
        }
    }

    pub(crate) fn check_context(&self, queue: &Queue) -> Result<(), MemoryError> {
        if self.context.is(queue.context()) { Ok(()) } else { Err(MemoryError::OtherContext) }
    }

    /// Maps `range` if that needs no copy: `None` for an image, for an empty range, and if contents are transferred by
    /// copies.
    pub(crate) fn in_place(
        &self,
        queue: &Queue,
        strategy: Strategy,
        flags: cl_map_flags,
        range: &Range<usize>,
    ) -> Result<Option<RawMapping<'_>>, MemoryError> {
        let &Range { start, end } = range;
        let len = end.checked_sub(start).ok_or(MemoryError::Reversed { start, end })?;
        self.check_context(queue)?;
        self.check_range(start, len)?;
        match (self.way(strategy), self.shape) {
            (Strategy::Map, Shape::Buffer { .. }) if len > 0 => {
                RawMapping::new(self, queue, flags, start, len).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Enqueues a copy of bytes from this buffer to another. `None` if the driver cannot: for images, for memory that
    /// accepts no commands, and for overlapping regions.
    pub(crate) fn copy_to(
        &self,
        queue: &Queue,
        from_offset: usize,
        to: &Self,
        to_offset: usize,
        bytes: usize,
    ) -> Result<Option<Event>, MemoryError> {
        for (object, offset) in [(self, from_offset), (to, to_offset)] {
            object.check_context(queue)?;
            object.check_range(offset, bytes)?;
        }
        let takes = |object: &Self| {
            matches!(object.shape, Shape::Buffer { .. })
                && matches!(object.reach, Reach::Driver | Reach::Mapped(_))
        };
        let overlap = self.raw() == to.raw() && from_offset.abs_diff(to_offset) < bytes;
        if bytes == 0 || overlap || !takes(self) || !takes(to) {
            return Ok(None);
        }
        // SAFETY: both are live buffers of the queue's context, the regions are inside them and do not overlap.
        let event = unsafe {
            commands::enqueue_copy_buffer(
                queue.raw(),
                (self.raw(), from_offset),
                (to.raw(), to_offset),
                bytes,
            )
        }
        .map_err(CallError::at("clEnqueueCopyBuffer"))?;
        // SAFETY: the call returned a new event.
        Ok(Some(unsafe { Event::own(event) }))
    }

    /// Reads into `into`, as `strategy` selects; returns when the data is there.
    pub(crate) fn read(
        &self,
        queue: &Queue,
        strategy: Strategy,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), MemoryError> {
        self.check_context(queue)?;
        self.check_range(offset, into.len())?;
        if into.is_empty() {
            return Ok(());
        }
        match self.way(strategy) {
            Strategy::Map => {
                let mapping = RawMapping::new(self, queue, cl::CL_MAP_READ, offset, into.len())?;
                mapping.copy_to(into);
                mapping.unmap()
            }
            Strategy::Copy => self.read_explicitly(queue, offset, into),
        }
    }

    /// Writes `bytes`, as `strategy` selects; returns when they may be reused.
    pub(crate) fn write(
        &self,
        queue: &Queue,
        strategy: Strategy,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), MemoryError> {
        self.check_context(queue)?;
        self.check_range(offset, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        match self.way(strategy) {
            Strategy::Map => {
                // The whole region is overwritten, so its old contents need not be fetched. The flag was added in
                // OpenCL 1.2.
                let flags = if self.context.device().version() >= (1, 2) {
                    cl::CL_MAP_WRITE_INVALIDATE_REGION
                } else {
                    cl::CL_MAP_WRITE
                };
                let mapping = RawMapping::new(self, queue, flags, offset, bytes.len())?;
                mapping.copy_from(bytes);
                mapping.unmap()
            }
            Strategy::Copy => self.write_explicitly(queue, offset, bytes),
        }
    }

    /// Enqueues a fill of this buffer, of at least one byte, with zeros. Requires OpenCL 1.2.
    pub(crate) fn fill_with_zeros(&self, queue: &Queue, bytes: usize) -> Result<Event, MemoryError> {
        self.check_context(queue)?;
        self.check_range(0, bytes)?;
        // SAFETY: the region is inside the buffer, as checked.
        let event = unsafe { commands::enqueue_fill_buffer(queue.raw(), self.raw(), 0, bytes) };
        let event = event.map_err(CallError::at("clEnqueueFillBuffer"))?;
        // SAFETY: just created.
        Ok(unsafe { Event::own(event) })
    }

    /// How contents are transferred: by `strategy` if the object allows both.
    fn way(&self, strategy: Strategy) -> Strategy {
        if matches!(self.reach, Reach::Driver) { strategy } else { Strategy::Map }
    }

    fn read_explicitly(&self, queue: &Queue, offset: usize, into: &mut [u8]) -> Result<(), MemoryError> {
        let event = match self.shape {
            // SAFETY: a blocking read of `into.len()` bytes, inside the object as checked, into memory
            // borrowed exclusively for the call.
            Shape::Buffer { .. } => unsafe { commands::read_buffer(queue.raw(), self.raw(), offset, into) }
                .map_err(CallError::at("clEnqueueReadBuffer"))?,
            Shape::Image { shape } => {
                let whole = super::image::whole(&shape);
                // SAFETY: a blocking read of the whole image, tightly packed (both pitches 0): exactly
                // `into.len()` bytes as checked.
                unsafe { commands::read_image(queue.raw(), self.raw(), &whole, into) }
                    .map_err(CallError::at("clEnqueueReadImage"))?
            }
        };
        // SAFETY: the call returned a new event.
        drop(unsafe { Event::own(event) });
        Ok(())
    }

    fn write_explicitly(&self, queue: &Queue, offset: usize, bytes: &[u8]) -> Result<(), MemoryError> {
        let event = match self.shape {
            // SAFETY: a blocking write of `bytes.len()` bytes, inside the object as checked.
            Shape::Buffer { .. } => unsafe { commands::write_buffer(queue.raw(), self.raw(), offset, bytes) }
                .map_err(CallError::at("clEnqueueWriteBuffer"))?,
            Shape::Image { shape } => {
                let whole = super::image::whole(&shape);
                // SAFETY: a blocking write of the whole image, tightly packed (both pitches 0): exactly
                // `bytes.len()` bytes as checked.
                unsafe { commands::write_image(queue.raw(), self.raw(), &whole, bytes) }
                    .map_err(CallError::at("clEnqueueWriteImage"))?
            }
        };
        // SAFETY: the call returned a new event.
        drop(unsafe { Event::own(event) });
        Ok(())
    }
}

fn check_buffer_size(context: &Context, bytes: usize) -> Result<(), MemoryError> {
    let limit = context.device().probe().max_buffer_bytes;
    match bytes as u64 {
        0 => Err(MemoryError::Empty),
        bytes if limit > 0 && bytes > limit => Err(MemoryError::TooLarge { bytes, limit }),
        _ => Ok(()),
    }
}

/// Flags for the contents, and the zeros to copy, if any.
fn initial(
    contents: &Contents<'_>,
    bytes: usize,
    strategy: Strategy,
) -> Result<(Option<HostMemory>, cl_mem_flags), MemoryError> {
    let visible = match strategy {
        Strategy::Map => cl::CL_MEM_ALLOC_HOST_PTR,
        Strategy::Copy => 0,
    };
    match contents {
        Contents::Undefined => Ok((None, visible)),
        // The system provides zeroed pages without writing them, so this costs only the driver's copy.
        Contents::Zero => Ok((Some(HostMemory::zeroed(bytes)?), visible | cl::CL_MEM_COPY_HOST_PTR)),
        Contents::Copy(given) if given.len() == bytes => Ok((None, visible | cl::CL_MEM_COPY_HOST_PTR)),
        Contents::Copy(given) => Err(MemoryError::Length { want: bytes, found: given.len() }),
    }
}
