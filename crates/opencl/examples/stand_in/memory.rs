//! Memory objects and commands on them.

use super::*;

struct Buffer {
    bytes: Box<[u8]>,
    /// Memory that is used instead of `bytes`.
    host: *mut u8,
    size: usize,
    flags: Ulong,
    references: AtomicU32,
    /// Imported with Arm's extension: host commands are rejected.
    no_commands: bool,
    destructor: Option<(extern "C" fn(Handle, *mut c_void), *mut c_void)>,
}

impl Buffer {
    fn at(&mut self, offset: usize) -> *mut u8 {
        let start = if self.host.is_null() { self.bytes.as_mut_ptr() } else { self.host };
        start.wrapping_add(offset)
    }

    fn hand_out(flags: Ulong, size: usize, host: *mut u8, no_commands: bool) -> Handle {
        let bytes = if host.is_null() { vec![0; size].into_boxed_slice() } else { Box::default() };
        let references = AtomicU32::new(1);
        BUFFERS.fetch_add(1, Ordering::SeqCst);
        Box::into_raw(Box::new(Self { bytes, host, size, flags, references, no_commands, destructor: None }))
            .cast()
    }
}

/// The buffer, or an error if it does not accept host commands.
fn commanded(buffer: Handle) -> Result<&'static mut Buffer, Int> {
    let buffer = unsafe { &mut *buffer.cast::<Buffer>() };
    match buffer.no_commands {
        _ if lost() => Err(DEVICE_NOT_AVAILABLE),
        true => Err(INVALID_OPERATION),
        false => Ok(buffer),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn clCreateBuffer(
    _context: Handle,
    flags: Ulong,
    size: usize,
    host: *mut c_void,
    code: *mut Int,
) -> Handle {
    if is("out-of-memory") {
        give(code, ALLOCATION_FAILURE);
        return null_mut();
    }
    if flags & (1 << 29) != 0 {
        return match described(flags, host) {
            Ok(host) => {
                give(code, SUCCESS);
                Buffer::hand_out(flags, size, host, false)
            }
            Err(error) => {
                give(code, error);
                null_mut()
            }
        };
    }
    let used = if flags & (1 << 3) != 0 { host.cast() } else { null_mut() };
    let buffer = Buffer::hand_out(flags, size, used, false);
    if flags & (1 << 5) != 0 {
        take_time("TRIPIPE_STAND_IN_TRANSFER_MS");
        unsafe { std::ptr::copy_nonoverlapping(host.cast(), (*buffer.cast::<Buffer>()).at(0), size) };
    }
    give(code, SUCCESS);
    buffer
}

/// The address of the memory that a `cl_mem_ext_host_ptr` describes; null for an `AHardwareBuffer`, which has none
/// here.
fn described(flags: Ulong, description: *const c_void) -> Result<*mut u8, Int> {
    #[repr(C)]
    struct Description {
        allocation_type: Uint,
        host_cache_policy: Uint,
    }
    #[repr(C)]
    struct WithFd {
        common: Description,
        fd: Int,
        host: *mut u8,
    }
    // CL_MEM_USE_HOST_PTR is required.
    if !offers("cl_qcom_ext_host_ptr") || flags & (1 << 3) == 0 || description.is_null() {
        return Err(INVALID_VALUE);
    }
    let common = unsafe { &*description.cast::<Description>() };
    // Uncached, write-back or I/O coherent.
    if !matches!(common.host_cache_policy, 0x40A4 | 0x40A5 | 0x40A9) {
        return Err(INVALID_VALUE);
    }
    match common.allocation_type {
        0x411D if !offers("cl_qcom_dmabuf_host_ptr") => Err(INVALID_VALUE),
        0x40A8 if !offers("cl_qcom_ion_host_ptr") => Err(INVALID_VALUE),
        0x411D | 0x40A8 => {
            let memory = unsafe { &*description.cast::<WithFd>() };
            let page = (memory.host as usize).is_multiple_of(4096) && !memory.host.is_null();
            if page && is_open(memory.fd) { Ok(memory.host) } else { Err(INVALID_VALUE) }
        }
        0x4119 if offers("cl_qcom_android_ahardwarebuffer_host_ptr") => Ok(null_mut()),
        _ => Err(INVALID_VALUE),
    }
}

fn is_open(fd: Int) -> bool {
    std::fs::symlink_metadata(format!("/proc/self/fd/{fd}")).is_ok()
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetExtensionFunctionAddressForPlatform(
    _platform: Handle,
    name: *const c_char,
) -> *mut c_void {
    match unsafe { CStr::from_ptr(name) }.to_bytes() {
        b"clImportMemoryARM" if extensions().contains("cl_arm_import_memory") => import as *mut c_void,
        _ => null_mut(),
    }
}

/// `clImportMemoryARM`
extern "C" fn import(
    _context: Handle,
    flags: Ulong,
    properties: *const isize,
    memory: *mut c_void,
    size: usize,
    code: *mut Int,
) -> Handle {
    let (mut kind, mut at) = (0x40B3, properties);
    while !at.is_null() && unsafe { *at } != 0 {
        if unsafe { *at } != 0x40B2 {
            give(code, INVALID_PROPERTY);
            return null_mut();
        }
        kind = unsafe { *at.add(1) };
        at = at.wrapping_add(2);
    }
    let host = match kind {
        _ if memory.is_null() => None,
        0x40B3 if offers("cl_arm_import_memory_host") => Some(memory.cast()),
        // The descriptor is passed by its address.
        0x40B4 if offers("cl_arm_import_memory_dma_buf") => {
            is_open(unsafe { *memory.cast::<Int>() }).then_some(null_mut())
        }
        0x41E2 if offers("cl_arm_import_memory_android_hardware_buffer") => Some(null_mut()),
        _ => None,
    };
    let Some(host) = host else {
        give(code, INVALID_VALUE);
        return null_mut();
    };
    give(code, SUCCESS);
    Buffer::hand_out(flags, size, host, true)
}

#[unsafe(no_mangle)]
pub extern "C" fn clRetainMemObject(buffer: Handle) -> Int {
    unsafe { &*buffer.cast::<Buffer>() }.references.fetch_add(1, Ordering::SeqCst);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clReleaseMemObject(buffer: Handle) -> Int {
    if unsafe { &*buffer.cast::<Buffer>() }.references.fetch_sub(1, Ordering::SeqCst) == 1 {
        let destroyed = unsafe { Box::from_raw(buffer.cast::<Buffer>()) };
        if let Some((call, data)) = destroyed.destructor {
            call(buffer, data);
        }
        BUFFERS.fetch_sub(1, Ordering::SeqCst);
    }
    released()
}

#[unsafe(no_mangle)]
pub extern "C" fn clSetMemObjectDestructorCallback(
    buffer: Handle,
    call: extern "C" fn(Handle, *mut c_void),
    data: *mut c_void,
) -> Int {
    if is("refuse-callback") {
        return INVALID_MEM_OBJECT;
    }
    unsafe { (*buffer.cast::<Buffer>()).destructor = Some((call, data)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetMemObjectInfo(
    buffer: Handle,
    question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    let buffer = unsafe { &*buffer.cast::<Buffer>() };
    let reply = match question {
        0x1100 => 0x10F0u32.to_ne_bytes().to_vec(),
        0x1101 => buffer.flags.to_ne_bytes().to_vec(),
        0x1102 => buffer.size.to_ne_bytes().to_vec(),
        0x1106 => (CONTEXT as usize).to_ne_bytes().to_vec(),
        // It has no parent object.
        0x1107 => 0usize.to_ne_bytes().to_vec(),
        _ => return INVALID_VALUE,
    };
    answer(&reply, size, value, size_ret)
}

#[unsafe(no_mangle)]
pub extern "C" fn clEnqueueCopyBuffer(
    _queue: Handle,
    from: Handle,
    to: Handle,
    from_offset: usize,
    to_offset: usize,
    size: usize,
    _waits: Uint,
    _wait_list: *const Handle,
    event: *mut Handle,
) -> Int {
    match (commanded(from), commanded(to)) {
        (Ok(from), Ok(to)) => unsafe { std::ptr::copy(from.at(from_offset), to.at(to_offset), size) },
        (Err(error), _) | (_, Err(error)) => return error,
    }
    give(event, EVENT);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clEnqueueReadBuffer(
    _queue: Handle,
    buffer: Handle,
    _blocking: Uint,
    offset: usize,
    size: usize,
    to: *mut c_void,
    _waits: Uint,
    _wait_list: *const Handle,
    event: *mut Handle,
) -> Int {
    take_time("TRIPIPE_STAND_IN_TRANSFER_MS");
    match commanded(buffer) {
        Ok(buffer) => unsafe { std::ptr::copy(buffer.at(offset), to.cast(), size) },
        Err(error) => return error,
    }
    give(event, EVENT);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clEnqueueWriteBuffer(
    _queue: Handle,
    buffer: Handle,
    _blocking: Uint,
    offset: usize,
    size: usize,
    from: *const c_void,
    _waits: Uint,
    _wait_list: *const Handle,
    event: *mut Handle,
) -> Int {
    take_time("TRIPIPE_STAND_IN_TRANSFER_MS");
    match commanded(buffer) {
        Ok(buffer) => unsafe { std::ptr::copy(from.cast(), buffer.at(offset), size) },
        Err(error) => return error,
    }
    give(event, EVENT);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clEnqueueFillBuffer(
    _queue: Handle,
    buffer: Handle,
    pattern: *const c_void,
    pattern_size: usize,
    offset: usize,
    size: usize,
    _waits: Uint,
    _wait_list: *const Handle,
    event: *mut Handle,
) -> Int {
    match commanded(buffer) {
        Ok(buffer) => {
            for at in (offset..offset + size).step_by(pattern_size) {
                unsafe { std::ptr::copy(pattern.cast(), buffer.at(at), pattern_size) };
            }
        }
        Err(error) => return error,
    }
    give(event, EVENT);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clEnqueueMapBuffer(
    _queue: Handle,
    buffer: Handle,
    _blocking: Uint,
    _flags: Ulong,
    offset: usize,
    _size: usize,
    _waits: Uint,
    _wait_list: *const Handle,
    event: *mut Handle,
    code: *mut Int,
) -> *mut c_void {
    match commanded(buffer) {
        Ok(buffer) => {
            give(event, EVENT);
            give(code, SUCCESS);
            buffer.at(offset).cast()
        }
        Err(error) => {
            give(code, error);
            null_mut()
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn clEnqueueUnmapMemObject(
    _queue: Handle,
    buffer: Handle,
    _mapped: *mut c_void,
    _waits: Uint,
    _wait_list: *const Handle,
    event: *mut Handle,
) -> Int {
    if let Err(error) = commanded(buffer) {
        return error;
    }
    give(event, EVENT);
    SUCCESS
}
