//! The driver's memory object under a buffer or an image, and all traffic with it.

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

/// What kind of object, how large.
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

/// Where a new object's memory comes from.
pub(crate) enum Contents<'a> {
    /// Undefined. Only for objects that are never mapped.
    Undefined,
    /// Zeros.
    Zero,
    /// A copy of these bytes, as many as the object has.
    Copy(&'a [u8]),
}

/// How the host gets at the contents of an object.
pub(crate) enum Reach {
    /// By reads, writes and mappings of the driver.
    Driver,
    /// By mappings of the driver, inside a host access to what lies under the object.
    Mapped(Arc<Backing>),
    /// In place, inside a host access; the driver takes no command of the host's for the object.
    InPlace(Arc<Backing>),
    /// Not from here.
    Closed,
}

/// A buffer or an image.
pub(crate) struct Object {
    handle: MemHandle,
    context: Context,
    shape: Shape,
    /// The object whose memory this one shows: of a sub-buffer, of an image made from a buffer.
    parent: Option<Arc<Object>>,
    /// The memory is borrowed from the host, so no kernel may still run on it once a call returned.
    synchronous: bool,
    /// Others gave the memory.
    foreign: bool,
    reach: Reach,
    /// How many the host has handed it out to for reading; -1 to one who writes.
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
        // SAFETY: with CL_MEM_COPY_HOST_PTR the driver reads `bytes` bytes during this call, and the
        // slice has as many (checked by `initial`); without it the pointer is null.
        let raw =
            unsafe { objects::create_buffer(context.raw(), access_flags(access) | flags, bytes, pointer) }
                .map_err(CallError::at("clCreateBuffer"))?;
        // SAFETY: just created.
        Ok(unsafe { Self::own(raw, context, Shape::Buffer { bytes }, None) })
    }

    /// A new buffer over host memory (`CL_MEM_USE_HOST_PTR`).
    ///
    /// # Safety
    /// `bytes` bytes at `pointer` live until the driver has destroyed the object, or `synchronous` is
    /// set and they live as long as calls with the object are made; and nobody else touches them
    /// meanwhile but through a mapping.
    pub(crate) unsafe fn over_host(
        context: &Context,
        pointer: *mut u8,
        bytes: usize,
        access: Access,
        synchronous: bool,
    ) -> Result<Self, MemoryError> {
        check_buffer_size(context, bytes)?;
        let flags = access_flags(access) | cl::CL_MEM_USE_HOST_PTR;
        // SAFETY: the caller vouches for the memory.
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

    /// A part of `parent`, a buffer.
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
        // SAFETY: the parent is live, and the region lies inside it.
        let raw = unsafe { objects::create_sub_buffer(parent.raw(), access_flags(access), region) }
            .map_err(CallError::at("clCreateSubBuffer"))?;
        // SAFETY: just created.
        let mut part =
            unsafe { Self::own(raw, &parent.context, Shape::Buffer { bytes }, Some(Arc::clone(parent))) };
        part.synchronous = parent.synchronous;
        part.footprint = parent.footprint.part(offset, bytes);
        Ok(part)
    }

    /// A new image with memory of its own.
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

    /// An image over a buffer's memory, rows `row_pitch_bytes` apart. An `image1d_buffer_t` ignores the pitch.
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
    /// `raw` is live, of that shape, and its reference is given up by the caller.
    unsafe fn own(raw: cl_mem, context: &Context, shape: Shape, parent: Option<Arc<Self>>) -> Self {
        // SAFETY: handed on.
        let handle = unsafe { MemHandle::own(raw) };
        let reach = match parent.as_ref().map(|parent| &parent.reach) {
            None | Some(Reach::Driver) => Reach::Driver,
            // The one it was made from knows how.
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

    /// An object over memory that others made.
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
        // SAFETY: the memory is kept until the driver has destroyed the object, and nobody else has it.
        let object = unsafe { Self::over_host(context, pointer, bytes, access, false) }?;
        object.keep(Arc::new(Backing::Host(memory)))
    }

    /// Keeps `backing` until the driver has destroyed the object, which may be after the last kernel with it.
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
                // SAFETY: the object is gone, no kernel ever had it, and the callback was not taken.
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

    /// Whether it shows a buffer's memory instead of its own.
    pub(crate) fn over_buffer(&self) -> bool {
        self.parent.is_some()
    }

    /// Whether its memory is not its own: it shows another object's, or was imported.
    pub(crate) fn borrows(&self) -> bool {
        self.foreign
    }

    /// Which bytes it lies over.
    pub(crate) fn footprint(&self) -> &Footprint {
        &self.footprint
    }

    pub(crate) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The object whose memory it shows, itself as a rule.
    fn root(&self) -> &Self {
        self.parent.as_deref().map_or(self, Self::root)
    }

    /// Whether the host has its memory in use such that nobody else may read it, or write it if that is what is wanted.
    pub(crate) fn is_held(&self, to_write: bool) -> bool {
        let held = self.root().held.load(Ordering::Acquire);
        if to_write { held != 0 } else { held < 0 }
    }

    /// Notes that the host uses its memory; `false` where others are in the way. Goes with [`Self::let_go`].
    pub(crate) fn hold(&self, to_write: bool) -> bool {
        let next = |held: isize| match (held, to_write) {
            (0, true) => Some(-1),
            (0.., false) => held.checked_add(1),
            _ => None,
        };
        self.root().held.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    /// Ends what [`Self::hold`] began.
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

    /// Whether `len` bytes from `offset` lie inside; of an image only the whole can be asked for.
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

    /// Maps `range` where that makes no copy: `None` for an image, for a range of nothing, and where contents travel by
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

    /// Puts a copy of bytes of this buffer to another into `queue`. `None` where the driver cannot: of images, of memory
    /// that takes no commands, of regions that overlap.
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
        // SAFETY: both are live buffers of the queue's context, the regions lie inside them and do not overlap.
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

    /// Reads into `into`, by the way `strategy` says, and returns when it is there.
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

    /// Writes `bytes`, by the way `strategy` says, and returns when they may be reused.
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
                // All of the region is overwritten, so its old contents need not be fetched. The flag came
                // with OpenCL 1.2.
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

    /// Has the device fill this buffer, of at least a byte, with zeros, in line in `queue`. It came with OpenCL 1.2.
    pub(crate) fn fill_with_zeros(&self, queue: &Queue, bytes: usize) -> Result<Event, MemoryError> {
        self.check_context(queue)?;
        self.check_range(0, bytes)?;
        // SAFETY: the region is inside the buffer as checked.
        let event = unsafe { commands::enqueue_fill_buffer(queue.raw(), self.raw(), 0, bytes) };
        let event = event.map_err(CallError::at("clEnqueueFillBuffer"))?;
        // SAFETY: just created.
        Ok(unsafe { Event::own(event) })
    }

    /// How contents travel, if by `strategy` where the object leaves the choice.
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

/// Flags for the contents, and the zeros to copy when there are any.
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
        // Zeroed pages come from the system without being touched, so this costs the driver's copy only.
        Contents::Zero => Ok((Some(HostMemory::zeroed(bytes)?), visible | cl::CL_MEM_COPY_HOST_PTR)),
        Contents::Copy(given) if given.len() == bytes => Ok((None, visible | cl::CL_MEM_COPY_HOST_PTR)),
        Contents::Copy(given) => Err(MemoryError::Length { want: bytes, found: given.len() }),
    }
}
