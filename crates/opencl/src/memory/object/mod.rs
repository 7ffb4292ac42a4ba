//! The driver's memory object behind a buffer or an image, and all transfers to and from it.

mod make;
mod shared;
mod transfer;

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};

use opencl_sys as cl;
use opencl_sys::{cl_mem, cl_mem_flags};
use tripipe_launch::{Access, ImageShape};

use crate::api::objects;
use crate::code::CallError;
use crate::context::Context;
use crate::handle::MemHandle;
use crate::memory::external::Backing;
use crate::memory::{Footprint, MemoryError};
use crate::queue::Queue;

pub(crate) use shared::{SharedMemory, SharedStart};

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
    /// In place, at this address, when no command is running: fine-grained shared virtual memory. The driver accepts
    /// commands for the object as well.
    Shared(SharedStart),
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
    /// # Safety
    /// `raw` is live and has that shape, and the caller gives up its reference.
    unsafe fn own(raw: cl_mem, context: &Context, shape: Shape, parent: Option<Arc<Self>>) -> Self {
        // SAFETY: passed on.
        let handle = unsafe { MemHandle::own(raw) };
        let reach = match parent.as_ref().map(|parent| &parent.reach) {
            None | Some(Reach::Driver | Reach::Shared(_)) => Reach::Driver,
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

    /// Whether the host can access its bytes.
    pub(crate) fn is_accessible(&self) -> bool {
        !matches!(self.reach, Reach::Closed)
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
}
