//! The calls that the layer makes itself.
//!
//! All handles are of objects that the application has passed to a call that succeeded, or that a call returned, and
//! are used while that call lasts, or while the layer holds a reference: so they are valid.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use opencl_sys as cl;
use opencl_sys::cl_icd::cl_icd_dispatch;
use opencl_sys::{CL_SUCCESS, cl_int};
use tripipe_trace::CommandTimes;

/// The functions of the driver, or of the loader.
#[derive(Clone, Copy)]
pub(crate) struct Driver {
    functions: &'static cl_icd_dispatch,
}

/// The properties of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ImageFacts {
    /// A `cl_mem_object_type`.
    pub(crate) kind: u64,
    /// A `cl_channel_order`.
    pub(crate) order: u64,
    /// A `cl_channel_type`.
    pub(crate) channel: u64,
    /// Width, height and depth; 0 where the image has none.
    pub(crate) size: [u64; 3],
    /// Layers of an array.
    pub(crate) layers: u64,
    /// Bytes of a texel.
    pub(crate) texel: u64,
}

impl ImageFacts {
    /// The region of the whole image.
    pub(crate) fn region(&self) -> [u64; 3] {
        let [width, height, depth] = self.size.map(|size| size.max(1));
        match u32::try_from(self.kind) {
            Ok(cl::CL_MEM_OBJECT_IMAGE1D_ARRAY) => [width, self.layers.max(1), 1],
            Ok(cl::CL_MEM_OBJECT_IMAGE2D_ARRAY) => [width, height, self.layers.max(1)],
            _ => [width, height, depth],
        }
    }

    /// Bytes of the whole image, without gaps.
    pub(crate) fn bytes(&self) -> usize {
        self.region().iter().fold(self.texel, |bytes, size| bytes.saturating_mul(*size)) as usize
    }
}

/// A number as a handle.
fn handle(number: u64) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(number as usize)
}

/// The value of a query; `None` if the driver does not answer.
fn asked(ask: impl Fn(usize, *mut c_void, *mut usize) -> cl_int) -> Option<Vec<u8>> {
    let mut size = 0;
    if ask(0, null_mut(), &raw mut size) != CL_SUCCESS || size > 1 << 30 {
        return None;
    }
    let mut bytes = vec![0u8; size];
    if size > 0 && ask(size, bytes.as_mut_ptr().cast(), null_mut()) != CL_SUCCESS {
        return None;
    }
    Some(bytes)
}

/// A query of one kind of object.
macro_rules! query {
    ($(#[$about:meta] $name:ident, $function:ident, $param:ty;)*) => {
        $(#[$about]
        fn $name(self, object: u64, param: $param) -> Option<Vec<u8>> {
            let ask = self.functions.$function?;
            // SAFETY: the handle is valid (see the head of this file), and there is room for the answer.
            asked(|size, value, size_ret| unsafe { ask(handle(object), param, size, value, size_ret) })
        })*
    };
}

/// A number of 1, 2, 4 or 8 bytes.
fn word(bytes: Option<Vec<u8>>) -> Option<u64> {
    let bytes = bytes?;
    Some(match bytes[..] {
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        [..] => u64::from_ne_bytes(<[u8; 8]>::try_from(&bytes[..]).ok()?),
    })
}

/// A text without the 0 at its end.
fn text(bytes: Option<Vec<u8>>) -> Option<String> {
    let bytes = bytes?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.trim_end_matches('\0').to_owned())
}

impl Driver {
    /// The functions of a table.
    pub(crate) fn new(functions: &'static cl_icd_dispatch) -> Self {
        Self { functions }
    }

    query! {
        #[doc = "About a device."]
        device, clGetDeviceInfo, cl::cl_device_info;
        #[doc = "About a queue."]
        queue, clGetCommandQueueInfo, cl::cl_command_queue_info;
        #[doc = "About a memory object."]
        memory, clGetMemObjectInfo, cl::cl_mem_info;
        #[doc = "About an image."]
        image, clGetImageInfo, cl::cl_image_info;
        #[doc = "About a sampler."]
        sampler, clGetSamplerInfo, cl::cl_sampler_info;
        #[doc = "About a program."]
        program, clGetProgramInfo, cl::cl_program_info;
        #[doc = "About a kernel."]
        kernel, clGetKernelInfo, cl::cl_kernel_info;
        #[doc = "About an event."]
        event, clGetEventInfo, cl::cl_event_info;
        #[doc = "The times of an event."]
        profile, clGetEventProfilingInfo, cl::cl_profiling_info;
    }

    /// The name of a device.
    pub(crate) fn device_name(self, device: u64) -> Option<String> {
        text(self.device(device, cl::CL_DEVICE_NAME)).map(|name| name.trim().to_owned())
    }

    /// Whether a device and the host share their memory.
    pub(crate) fn shares_memory(self, device: u64) -> bool {
        word(self.device(device, cl::CL_DEVICE_HOST_UNIFIED_MEMORY)).is_some_and(|shares| shares != 0)
    }

    /// The device of a queue; 0 if it is not known.
    pub(crate) fn queue_device(self, queue: u64) -> u64 {
        word(self.queue(queue, cl::CL_QUEUE_DEVICE)).unwrap_or(0)
    }

    /// The context of a queue; 0 if it is not known.
    pub(crate) fn queue_context(self, queue: u64) -> u64 {
        word(self.queue(queue, cl::CL_QUEUE_CONTEXT)).unwrap_or(0)
    }

    /// The queue of an event; 0 if it has none.
    pub(crate) fn event_queue(self, event: u64) -> u64 {
        word(self.event(event, cl::CL_EVENT_COMMAND_QUEUE)).unwrap_or(0)
    }

    /// The times of a command; `None` while it has not ended.
    pub(crate) fn times(self, event: u64) -> Option<Result<CommandTimes, String>> {
        let status = word(self.event(event, cl::CL_EVENT_COMMAND_EXECUTION_STATUS));
        let Some(status) = status else {
            return Some(Err("the driver does not tell the status of the command".to_owned()));
        };
        match status as i32 {
            cl::CL_COMPLETE => {}
            status if status < 0 => {
                return Some(Err(format!("the command failed: {}", crate::names::code(status))));
            }
            _ => return None,
        }
        let time = |param| word(self.profile(event, param)).ok_or("the queue takes no times".to_owned());
        let times = || {
            Ok(CommandTimes {
                queued_ns: time(cl::CL_PROFILING_COMMAND_QUEUED)?,
                submit_ns: time(cl::CL_PROFILING_COMMAND_SUBMIT)?,
                start_ns: time(cl::CL_PROFILING_COMMAND_START)?,
                end_ns: time(cl::CL_PROFILING_COMMAND_END)?,
            })
        };
        Some(times())
    }

    /// Holds an event. Whether that succeeded.
    pub(crate) fn retain_event(self, event: u64) -> bool {
        // SAFETY: the handle is valid.
        self.functions.clRetainEvent.is_some_and(|retain| unsafe { retain(handle(event)) } == CL_SUCCESS)
    }

    /// Gives an event up that the layer holds.
    pub(crate) fn release_event(self, event: u64) {
        if let Some(release) = self.functions.clReleaseEvent {
            // SAFETY: the layer holds it.
            unsafe { release(handle(event)) };
        }
    }

    /// The name of a kernel.
    pub(crate) fn kernel_name(self, kernel: u64) -> Option<String> {
        text(self.kernel(kernel, cl::CL_KERNEL_FUNCTION_NAME))
    }

    /// The program of a kernel; 0 if it is not known.
    pub(crate) fn kernel_program(self, kernel: u64) -> u64 {
        word(self.kernel(kernel, cl::CL_KERNEL_PROGRAM)).unwrap_or(0)
    }

    /// The number of kernels of a program; 0 if it is not built.
    pub(crate) fn kernel_count(self, program: u64) -> u64 {
        word(self.program(program, cl::CL_PROGRAM_NUM_KERNELS)).unwrap_or(0)
    }

    /// The OpenCL C of a program; `None` if it was not made from source.
    pub(crate) fn source(self, program: u64) -> Option<String> {
        text(self.program(program, cl::CL_PROGRAM_SOURCE)).filter(|source| !source.is_empty())
    }

    /// The bytes of a memory object.
    pub(crate) fn memory_bytes(self, memory: u64) -> Option<usize> {
        word(self.memory(memory, cl::CL_MEM_SIZE)).map(|bytes| bytes as usize)
    }

    /// The kind of a memory object, a `cl_mem_object_type`.
    pub(crate) fn memory_kind(self, memory: u64) -> Option<u64> {
        word(self.memory(memory, cl::CL_MEM_TYPE))
    }

    /// The properties of an image.
    pub(crate) fn image_facts(self, image: u64) -> Option<ImageFacts> {
        let format = self.image(image, cl::CL_IMAGE_FORMAT)?;
        let (order, channel) = format.split_first_chunk::<4>()?;
        let number = |param| word(self.image(image, param));
        Some(ImageFacts {
            kind: self.memory_kind(image)?,
            order: u32::from_ne_bytes(*order).into(),
            channel: u32::from_ne_bytes(*channel.first_chunk()?).into(),
            size: [
                number(cl::CL_IMAGE_WIDTH)?,
                number(cl::CL_IMAGE_HEIGHT).unwrap_or(0),
                number(cl::CL_IMAGE_DEPTH).unwrap_or(0),
            ],
            layers: number(cl::CL_IMAGE_ARRAY_SIZE).unwrap_or(0),
            texel: number(cl::CL_IMAGE_ELEMENT_SIZE)?,
        })
    }

    /// Whether a sampler takes normalised coordinates, its addressing mode and its filter.
    pub(crate) fn sampler_facts(self, sampler: u64) -> Option<[u64; 3]> {
        let number = |param| word(self.sampler(sampler, param));
        Some([
            number(cl::CL_SAMPLER_NORMALIZED_COORDS)?,
            number(cl::CL_SAMPLER_ADDRESSING_MODE)?,
            number(cl::CL_SAMPLER_FILTER_MODE)?,
        ])
    }

    /// Waits until all commands of a queue have ended. Whether that succeeded.
    pub(crate) fn finish(self, queue: u64) -> bool {
        // SAFETY: the handle is valid.
        self.functions.clFinish.is_some_and(|finish| unsafe { finish(handle(queue)) } == CL_SUCCESS)
    }

    /// Waits for events.
    pub(crate) fn wait(self, events: &[u64]) {
        let events: Vec<_> = events.iter().map(|event| handle(*event)).collect();
        if let (Some(wait), false) = (self.functions.clWaitForEvents, events.is_empty()) {
            // SAFETY: the handles are valid.
            unsafe { wait(events.len() as u32, events.as_ptr()) };
        }
    }

    /// The contents of a buffer, through a copy if the host may not read it.
    ///
    /// # Errors
    /// The code of the driver.
    pub(crate) fn read_buffer(self, queue: u64, buffer: u64, bytes: usize) -> Result<Vec<u8>, cl_int> {
        let direct = self.read(queue, buffer, bytes);
        if direct.is_ok() {
            return direct;
        }
        self.through_copy(queue, bytes, |copy| {
            let Some(copies) = self.functions.clEnqueueCopyBuffer else { return MISSING };
            // SAFETY: the handles are valid, and both buffers have that size.
            unsafe { copies(handle(queue), handle(buffer), copy, 0, 0, bytes, 0, null(), null_mut()) }
        })
    }

    fn read(self, queue: u64, buffer: u64, bytes: usize) -> Result<Vec<u8>, cl_int> {
        let read = self.functions.clEnqueueReadBuffer.ok_or(MISSING)?;
        let mut contents = vec![0u8; bytes];
        let to = contents.as_mut_ptr().cast();
        // SAFETY: the handles are valid, there is room, and the call waits.
        let code =
            unsafe { read(handle(queue), handle(buffer), cl::CL_TRUE, 0, bytes, to, 0, null(), null_mut()) };
        if code == CL_SUCCESS { Ok(contents) } else { Err(code) }
    }

    /// The contents of a buffer that `copy` fills.
    fn through_copy(
        self,
        queue: u64,
        bytes: usize,
        copy: impl FnOnce(cl::cl_mem) -> cl_int,
    ) -> Result<Vec<u8>, cl_int> {
        let create = self.functions.clCreateBuffer.ok_or(MISSING)?;
        let mut code = CL_SUCCESS;
        let context = handle(self.queue_context(queue));
        // SAFETY: the context is that of the queue.
        let made = unsafe { create(context, cl::CL_MEM_READ_WRITE, bytes, null_mut(), &raw mut code) };
        if made.is_null() {
            return Err(code);
        }
        let code = copy(made);
        let contents =
            if code == CL_SUCCESS { self.read(queue, made.addr() as u64, bytes) } else { Err(code) };
        if let Some(release) = self.functions.clReleaseMemObject {
            // SAFETY: the layer made it.
            unsafe { release(made) };
        }
        contents
    }

    /// The contents of an image without gaps, through a copy if the host may not read it.
    ///
    /// # Errors
    /// The code of the driver.
    pub(crate) fn read_image(self, queue: u64, image: u64, facts: &ImageFacts) -> Result<Vec<u8>, cl_int> {
        let read = self.functions.clEnqueueReadImage.ok_or(MISSING)?;
        let (bytes, region, origin) = (facts.bytes(), facts.region().map(|size| size as usize), [0usize; 3]);
        let mut contents = vec![0u8; bytes];
        let to = contents.as_mut_ptr().cast();
        let (from, size) = (origin.as_ptr(), region.as_ptr());
        // SAFETY: the handles are valid, there is room for all texels without gaps, and the call waits.
        let code = unsafe {
            read(handle(queue), handle(image), cl::CL_TRUE, from, size, 0, 0, to, 0, null(), null_mut())
        };
        if code == CL_SUCCESS {
            return Ok(contents);
        }
        self.through_copy(queue, bytes, |copy| {
            let Some(copies) = self.functions.clEnqueueCopyImageToBuffer else { return MISSING };
            // SAFETY: the handles are valid, and the buffer has room for all texels.
            unsafe { copies(handle(queue), handle(image), copy, from, size, 0, 0, null(), null_mut()) }
        })
    }

    /// The contents of shared virtual memory.
    ///
    /// # Errors
    /// The code of the driver.
    pub(crate) fn read_shared(self, queue: u64, pointer: u64, bytes: usize) -> Result<Vec<u8>, cl_int> {
        let copy = self.functions.clEnqueueSVMMemcpy.ok_or(MISSING)?;
        let mut contents = vec![0u8; bytes];
        let to = contents.as_mut_ptr().cast();
        // SAFETY: the application allocated that number of bytes there, and the call waits.
        let code =
            unsafe { copy(handle(queue), cl::CL_TRUE, to, handle(pointer), bytes, 0, null(), null_mut()) };
        if code == CL_SUCCESS { Ok(contents) } else { Err(code) }
    }
}

/// The code of functions that the driver does not have.
const MISSING: cl_int = cl::CL_INVALID_OPERATION;
