//! Memory objects: buffers, sub-buffers and images.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

use opencl_sys as cl;
use opencl_sys::{cl_image_format, cl_map_flags, cl_mem_flags, cl_mem_info, cl_mem_object_type};
use tripipe_launch::locks::lock;
use tripipe_launch::{Access, Executor as _, ImageShape, MemoryId};
use tripipe_timing::VirtualGpu;

use super::context::{Callback, Context};
use super::device::Device;
use super::engine;
use super::failure::{Failure, Outcome, require};
use super::handle::{ApiObject, Handle, api_object};
use super::info::{self, Answer};
use super::rect::{Pitched, Region};
use super::storage::Storage;
use crate::host::HostRange;

/// A memory object.
pub struct Memory {
    pub(super) handle: Handle,
    pub(super) context: Arc<Context>,
    pub(super) kind: cl_mem_object_type,
    /// The flags of the application, with those that a sub-buffer takes over.
    pub flags: cl_mem_flags,
    /// Size in bytes.
    pub size: usize,
    /// Its first byte in the storage.
    pub offset: usize,
    /// Its bytes.
    pub storage: Arc<Storage>,
    /// The buffer that it is a part of, or an image over.
    pub parent: Option<Arc<Memory>>,
    /// What makes it an image.
    pub image: Option<ImageFacts>,
    /// The application's memory of `CL_MEM_USE_HOST_PTR`.
    pub host: Option<HostRange>,
    pub(super) properties: Vec<u64>,
    pub(super) destructors: Mutex<Vec<Callback>>,
    pub(super) mappings: Mutex<Vec<Mapping>>,
    /// Of an image over a buffer: the memory objects of virtual GPUs, by device.
    pub(super) image_ids: Mutex<HashMap<usize, MemoryId>>,
}

/// Format and pitches of an image.
#[derive(Clone, Copy, Debug)]
pub struct ImageFacts {
    /// Extent and format.
    pub shape: ImageShape,
    /// The format as the application gave it.
    pub format: cl_image_format,
    /// From one row to the next in the storage.
    pub row_pitch: usize,
    /// From one slice or layer to the next in the storage; 0 if there is one.
    pub slice_pitch: usize,
    /// From one row to the next in the application's memory.
    pub host_row_pitch: usize,
    /// From one slice or layer to the next in the application's memory.
    pub host_slice_pitch: usize,
}

/// A region that is mapped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub(super) address: usize,
    pub(super) flags: cl_map_flags,
    pub(super) inside: Pitched,
    pub(super) host: HostRange,
    pub(super) at: Pitched,
    pub(super) region: Region,
}

api_object!(Memory, cl::CL_INVALID_MEM_OBJECT, "memory object", |object| &object.context);

/// The access of kernels by the flags of an object.
pub fn access(flags: cl_mem_flags) -> Access {
    if flags & cl::CL_MEM_READ_ONLY != 0 {
        Access::Read
    } else if flags & cl::CL_MEM_WRITE_ONLY != 0 {
        Access::Write
    } else {
        Access::ReadWrite
    }
}

/// Checks flags of buffers and images.
///
/// # Errors
/// Unknown flags, or several that exclude each other.
pub fn check_flags(flags: cl_mem_flags) -> Outcome<()> {
    let device = cl::CL_MEM_READ_WRITE | cl::CL_MEM_WRITE_ONLY | cl::CL_MEM_READ_ONLY;
    let host = cl::CL_MEM_HOST_WRITE_ONLY | cl::CL_MEM_HOST_READ_ONLY | cl::CL_MEM_HOST_NO_ACCESS;
    let pointer = cl::CL_MEM_USE_HOST_PTR | cl::CL_MEM_ALLOC_HOST_PTR | cl::CL_MEM_COPY_HOST_PTR;
    let known = device | host | pointer | cl::CL_MEM_KERNEL_READ_AND_WRITE;
    let invalid = cl::CL_INVALID_VALUE;
    require(flags & !known == 0, invalid, "the flags have unknown bits")?;
    require(
        (flags & device).count_ones() <= 1,
        invalid,
        "flags for the access of kernels exclude each other",
    )?;
    require(
        (flags & host).count_ones() <= 1,
        invalid,
        "flags for the access of the host exclude each other",
    )?;
    let other = cl::CL_MEM_ALLOC_HOST_PTR | cl::CL_MEM_COPY_HOST_PTR;
    let alone = flags & cl::CL_MEM_USE_HOST_PTR == 0 || flags & other == 0;
    require(alone, invalid, "CL_MEM_USE_HOST_PTR excludes CL_MEM_ALLOC_HOST_PTR and CL_MEM_COPY_HOST_PTR")
}

impl Memory {
    /// Its context.
    pub fn owner(&self) -> &Arc<Context> {
        &self.context
    }

    /// Whether it is a buffer.
    pub fn is_buffer(&self) -> bool {
        self.kind == cl::CL_MEM_OBJECT_BUFFER
    }

    /// What makes it an image.
    ///
    /// # Errors
    /// It is a buffer.
    pub fn facts(&self) -> Outcome<&ImageFacts> {
        let none = || Failure::new(cl::CL_INVALID_MEM_OBJECT, "the memory object is not an image");
        self.image.as_ref().ok_or_else(none)
    }

    /// The memory object of a virtual GPU, which has the bytes of the storage.
    ///
    /// # Errors
    /// The device does not support such memory.
    pub fn id(&self, device: &Device, gpu: &mut VirtualGpu) -> Outcome<MemoryId> {
        let (Some(image), Some(_)) = (&self.image, &self.parent) else {
            return self.storage.id(device, gpu, self.offset);
        };
        let mut ids = lock(&self.image_ids);
        if let Some(id) = ids.get(&device.index) {
            return Ok(*id);
        }
        let buffer = self.storage.id(device, gpu, self.offset)?;
        let id = gpu.image_over_buffer(buffer, &image.shape, image.row_pitch);
        let id = id.map_err(|error| engine::failure(&error))?;
        ids.insert(device.index, id);
        Ok(id)
    }

    /// Adds a function that is called when the object is gone; the last added is called first.
    pub fn at_end(&self, callback: Callback) {
        lock(&self.destructors).push(callback);
    }

    /// Answers `clGetMemObjectInfo`.
    ///
    /// # Errors
    /// There is no such query.
    pub fn info(&self, query: cl_mem_info) -> Outcome<Answer> {
        let null = std::ptr::null_mut::<c_void>();
        Ok(match query {
            cl::CL_MEM_TYPE => info::number(self.kind),
            cl::CL_MEM_FLAGS => info::number(self.flags),
            cl::CL_MEM_SIZE => info::number(self.size),
            cl::CL_MEM_HOST_PTR => info::number(self.host.map_or(0, |host| host.address())),
            cl::CL_MEM_MAP_COUNT => info::number(lock(&self.mappings).len() as u32),
            cl::CL_MEM_REFERENCE_COUNT => info::number(self.handle.references()),
            cl::CL_MEM_CONTEXT => info::pointer(self.context.handle().pointer()),
            cl::CL_MEM_ASSOCIATED_MEMOBJECT => {
                info::pointer(self.parent.as_ref().map_or(null, |parent| parent.handle.pointer()))
            }
            cl::CL_MEM_OFFSET => {
                let own = self.is_buffer() && self.parent.is_some();
                let start = self.parent.as_ref().map_or(0, |parent| parent.offset);
                info::number(if own { self.offset - start } else { 0 })
            }
            cl::CL_MEM_USES_SVM_POINTER => info::boolean(self.uses_svm()),
            cl::CL_MEM_PROPERTIES => info::list(&self.properties),
            _ => {
                return Err(Failure::new(
                    cl::CL_INVALID_VALUE,
                    format!("{query:#x} is not a query of memory objects"),
                ));
            }
        })
    }

    fn uses_svm(&self) -> bool {
        let host = self.host.map(|host| host.address());
        self.flags & cl::CL_MEM_USE_HOST_PTR != 0
            && host.is_some_and(|host| self.context.svm_at(host).is_some())
    }

    /// Fails if the host may not read (or write) it.
    ///
    /// # Errors
    /// Its flags forbid it.
    pub fn check_host(&self, reads: bool, writes: bool) -> Outcome<()> {
        let none = self.flags & cl::CL_MEM_HOST_NO_ACCESS != 0;
        let reads = reads && (none || self.flags & cl::CL_MEM_HOST_WRITE_ONLY != 0);
        let writes = writes && (none || self.flags & cl::CL_MEM_HOST_READ_ONLY != 0);
        require(
            !reads && !writes,
            cl::CL_INVALID_OPERATION,
            "the object's flags forbid this access of the host",
        )
    }
}

impl Drop for Memory {
    #[allow(clippy::iter_over_hash_type, reason = "the order in which objects are released has no effect")]
    fn drop(&mut self) {
        for (device, id) in lock(&self.image_ids).drain() {
            self.context.engine.release_later(device, id);
        }
        let destructors = std::mem::take(&mut *lock(&self.destructors));
        for destructor in destructors.into_iter().rev() {
            destructor();
        }
    }
}
