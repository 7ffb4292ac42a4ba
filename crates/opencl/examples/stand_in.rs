//! A stand-in for an OpenCL driver, to test situations that a working driver does not produce.
//!
//! It is a shared library with the entry points that this project calls, one platform and one device (`Stand-In GPU`,
//! OpenCL 1.2, unified memory, no images). Memory works; a launched kernel does nothing. `TRIPIPE_STAND_IN` selects
//! the failure:
//!
//! | value | what happens |
//! |---|---|
//! | unset, `sound` | nothing goes wrong |
//! | `no-platform` | `clGetPlatformIDs` answers `CL_PLATFORM_NOT_FOUND_KHR` |
//! | `empty` | no platform, and no error either |
//! | `broken` | `clGetPlatformIDs` fails |
//! | `no-device` | the platform has no device |
//! | `one-broken` | a platform that fails beside the sound one |
//! | `only-broken` | only the platform that fails |
//! | `mute` | the device refuses every question but its type |
//! | `device-lost` | the device vanishes while a kernel runs: the wait fails |
//! | `device-lost-enqueue` | the device is gone when a kernel is enqueued |
//! | `out-of-memory` | no buffer can be allocated |
//! | `out-of-memory-late` | allocation succeeds, the first kernel finds no memory |
//! | `kernel-fails` | one kernel fails when it runs, with `CL_OUT_OF_RESOURCES`; later ones run; `TRIPIPE_STAND_IN_FAILS` is its number, 1 for the first |
//! | `build-failure` | no program compiles; the log is `TRIPIPE_STAND_IN_LOG` or a Mali-like line |
//! | `refuse-argument` | the second argument of every kernel is of the wrong size |
//! | `refuse-release` | as `device-lost`, and every release fails afterwards |
//! | `refuse-callback` | no callback is accepted, for events or memory objects |
//!
//! `TRIPIPE_STAND_IN_EXTENSIONS` is the device's list of extensions, empty if unset; those that import memory
//! (`cl_arm_import_memory_*`, `cl_qcom_*_host_ptr`) work if they are listed, with all checks of their specifications.
//! Event callbacks come from a separate thread. [`stand_in_buffers`] counts the remaining memory objects.
//!
//! It is one long file without dependencies, so `rustc --edition 2024 --crate-type cdylib stand_in.rs` also builds it.
//! Used as `TRIPIPE_OPENCL=<path>/libstand_in.so TRIPIPE_STAND_IN=device-lost tripipe ...`.
#![allow(
    unsafe_code,
    non_snake_case,
    missing_docs,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    clippy::not_unsafe_ptr_arg_deref,
    clippy::too_many_arguments,
    reason = "C entry points of a test double: the arguments are what OpenCL's specification says they are"
)]

use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

type Int = i32;
type Uint = u32;
type Ulong = u64;
type Handle = *mut c_void;

const SUCCESS: Int = 0;
const DEVICE_NOT_FOUND: Int = -1;
const DEVICE_NOT_AVAILABLE: Int = -2;
const ALLOCATION_FAILURE: Int = -4;
const OUT_OF_RESOURCES: Int = -5;
const OUT_OF_HOST_MEMORY: Int = -6;
const BUILD_FAILURE: Int = -11;
const FAILED_IN_LIST: Int = -14;
const NO_ARG_INFO: Int = -19;
const INVALID_VALUE: Int = -30;
const INVALID_MEM_OBJECT: Int = -38;
const INVALID_PLATFORM: Int = -32;
const INVALID_KERNEL_NAME: Int = -46;
const INVALID_ARG_SIZE: Int = -51;
const INVALID_OPERATION: Int = -59;
const INVALID_PROPERTY: Int = -64;
const PLATFORM_NOT_FOUND: Int = -1001;

const SOUND_PLATFORM: Handle = 0x10 as Handle;
const BROKEN_PLATFORM: Handle = 0x20 as Handle;
const DEVICE: Handle = 0x30 as Handle;
const CONTEXT: Handle = 0x40 as Handle;
const QUEUE: Handle = 0x50 as Handle;
const EVENT: Handle = 0x60 as Handle;
/// The event of a kernel that failed.
const FAILED_EVENT: Handle = 0x61 as Handle;

/// Whether a kernel was enqueued.
static LAUNCHED: AtomicBool = AtomicBool::new(false);
/// Number of kernels that were enqueued.
static LAUNCHES: AtomicUsize = AtomicUsize::new(0);
/// Nanoseconds of the device's clock; each reading is later than the one before.
static CLOCK: AtomicU64 = AtomicU64::new(1);

/// Number of memory objects that are not destroyed.
static BUFFERS: AtomicUsize = AtomicUsize::new(0);

/// Number of memory objects that are not destroyed, for a test that loads the library itself.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_buffers() -> usize {
    BUFFERS.load(Ordering::SeqCst)
}

fn offers(extension: &str) -> bool {
    extensions().split_whitespace().any(|one| one == extension)
}

fn extensions() -> &'static str {
    static EXTENSIONS: OnceLock<String> = OnceLock::new();
    EXTENSIONS.get_or_init(|| std::env::var("TRIPIPE_STAND_IN_EXTENSIONS").unwrap_or_default())
}

fn mode() -> &'static str {
    static MODE: OnceLock<String> = OnceLock::new();
    MODE.get_or_init(|| std::env::var("TRIPIPE_STAND_IN").unwrap_or_default())
}

fn is(wanted: &str) -> bool {
    mode() == wanted
}

fn lost() -> bool {
    matches!(mode(), "device-lost" | "refuse-release") && LAUNCHED.load(Ordering::Relaxed)
}

/// The answer of a clGet...Info call.
fn answer(bytes: &[u8], size: usize, value: *mut c_void, size_ret: *mut usize) -> Int {
    unsafe {
        if !size_ret.is_null() {
            *size_ret = bytes.len();
        }
        if !value.is_null() {
            if size < bytes.len() {
                return INVALID_VALUE;
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), value.cast(), bytes.len());
        }
    }
    SUCCESS
}

fn give<T>(to: *mut T, value: T) {
    if !to.is_null() {
        unsafe { *to = value };
    }
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

fn released() -> Int {
    if is("refuse-release") && LAUNCHED.load(Ordering::Relaxed) { DEVICE_NOT_AVAILABLE } else { SUCCESS }
}

// Platforms and devices.

#[unsafe(no_mangle)]
pub extern "C" fn clGetPlatformIDs(room: Uint, to: *mut Handle, count: *mut Uint) -> Int {
    let all: &[Handle] = match mode() {
        "no-platform" => return PLATFORM_NOT_FOUND,
        "broken" => return OUT_OF_HOST_MEMORY,
        "empty" => &[],
        "one-broken" => &[BROKEN_PLATFORM, SOUND_PLATFORM],
        "only-broken" => &[BROKEN_PLATFORM],
        _ => &[SOUND_PLATFORM],
    };
    give(count, all.len() as Uint);
    for (index, platform) in all.iter().take(room as usize).enumerate() {
        unsafe { *to.add(index) = *platform };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetPlatformInfo(
    platform: Handle,
    question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    let reply = match question {
        0x0901 => "OpenCL 1.2 stand-in",
        0x0902 if platform == BROKEN_PLATFORM => "Broken Platform",
        0x0902 => "Stand-In Platform",
        0x0903 => "Tripipe",
        0x0900 => "FULL_PROFILE",
        0x0904 => "",
        _ => return INVALID_VALUE,
    };
    answer(&text(reply), size, value, size_ret)
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetDeviceIDs(
    platform: Handle,
    _kind: Ulong,
    room: Uint,
    to: *mut Handle,
    count: *mut Uint,
) -> Int {
    if platform == BROKEN_PLATFORM {
        return INVALID_PLATFORM;
    }
    if is("no-device") {
        give(count, 0);
        return DEVICE_NOT_FOUND;
    }
    give(count, 1);
    if room > 0 && !to.is_null() {
        unsafe { *to = DEVICE };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetDeviceInfo(
    _device: Handle,
    question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    if is("mute") && question != 0x1000 {
        return INVALID_VALUE;
    }
    let word = |number: u32| number.to_ne_bytes().to_vec();
    let long = |number: u64| number.to_ne_bytes().to_vec();
    let reply = match question {
        0x1000 => long(4),
        0x102B => text("Stand-In GPU"),
        0x102C => text("Tripipe"),
        0x102D => text("1.0"),
        0x102E => text("FULL_PROFILE"),
        0x102F => text("OpenCL 1.2 stand-in"),
        0x103D => text("OpenCL C 1.2 "),
        0x1030 => text(extensions()),
        // CL_DEVICE_EXT_MEM_PADDING_IN_BYTES_QCOM
        0x40A0 if offers("cl_qcom_ext_host_ptr") => word(64),
        0x1002 | 0x100C | 0x1022 | 0x1027 | 0x1028 | 0x1035 => word(1),
        0x1003 => word(3),
        0x1004 => 256usize.to_ne_bytes().to_vec(),
        0x1005 => [256usize; 3].iter().flat_map(|size| size.to_ne_bytes()).collect(),
        0x1006..=0x100B | 0x1034 => word(4),
        0x100D | 0x101D => word(64),
        0x1010 | 0x101F => long(256 << 20),
        0x1016 => word(0),
        0x1019 => word(1024),
        0x101E | 0x1020 => long(64 << 10),
        0x1023 => long(32 << 10),
        _ => return INVALID_VALUE,
    };
    answer(&reply, size, value, size_ret)
}

// Context and queue.

#[unsafe(no_mangle)]
pub extern "C" fn clCreateContext(
    _properties: *const isize,
    _count: Uint,
    _devices: *const Handle,
    _notify: *const c_void,
    _data: *mut c_void,
    code: *mut Int,
) -> Handle {
    give(code, SUCCESS);
    CONTEXT
}

#[unsafe(no_mangle)]
pub extern "C" fn clRetainContext(_context: Handle) -> Int {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetContextInfo(
    _context: Handle,
    question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    match question {
        0x1081 => answer(&(DEVICE as usize).to_ne_bytes(), size, value, size_ret),
        _ => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn clReleaseContext(_context: Handle) -> Int {
    released()
}

#[unsafe(no_mangle)]
pub extern "C" fn clCreateCommandQueue(
    _context: Handle,
    _device: Handle,
    _properties: Ulong,
    code: *mut Int,
) -> Handle {
    give(code, SUCCESS);
    QUEUE
}

#[unsafe(no_mangle)]
pub extern "C" fn clReleaseCommandQueue(_queue: Handle) -> Int {
    released()
}

#[unsafe(no_mangle)]
pub extern "C" fn clFlush(_queue: Handle) -> Int {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clFinish(_queue: Handle) -> Int {
    if lost() { DEVICE_NOT_AVAILABLE } else { SUCCESS }
}

// Memory.

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

// Programs and kernels.

#[unsafe(no_mangle)]
pub extern "C" fn clCreateProgramWithSource(
    _context: Handle,
    count: Uint,
    strings: *const *const c_char,
    lengths: *const usize,
    code: *mut Int,
) -> Handle {
    let mut source = String::new();
    for index in 0..count as usize {
        let bytes = unsafe {
            let start = *strings.add(index);
            match if lengths.is_null() { 0 } else { *lengths.add(index) } {
                0 => CStr::from_ptr(start).to_bytes(),
                len => std::slice::from_raw_parts(start.cast(), len),
            }
        };
        source.push_str(&String::from_utf8_lossy(bytes));
    }
    give(code, SUCCESS);
    Box::into_raw(Box::new(without_comments(&source))).cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn clReleaseProgram(program: Handle) -> Int {
    drop(unsafe { Box::from_raw(program.cast::<String>()) });
    released()
}

#[unsafe(no_mangle)]
pub extern "C" fn clBuildProgram(
    _program: Handle,
    _count: Uint,
    _devices: *const Handle,
    _options: *const c_char,
    _notify: *const c_void,
    _data: *mut c_void,
) -> Int {
    if is("build-failure") { BUILD_FAILURE } else { SUCCESS }
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetProgramBuildInfo(
    _program: Handle,
    _device: Handle,
    question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    const LOG: u32 = 0x1183;
    if question != LOG {
        return INVALID_VALUE;
    }
    let log = std::env::var("TRIPIPE_STAND_IN_LOG")
        .unwrap_or_else(|_| "<source>:1:1: error: the stand-in compiles nothing".to_owned());
    answer(&text(&log), size, value, size_ret)
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetProgramInfo(
    _program: Handle,
    _question: Uint,
    _size: usize,
    _value: *mut c_void,
    _size_ret: *mut usize,
) -> Int {
    // Returns neither kernel names nor binaries, like the oldest drivers.
    INVALID_VALUE
}

struct Kernel {
    arguments: u32,
}

#[unsafe(no_mangle)]
pub extern "C" fn clCreateKernel(program: Handle, name: *const c_char, code: *mut Int) -> Handle {
    let source = unsafe { &*program.cast::<String>() };
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let Some(arguments) = argument_count(source, &name) else {
        give(code, INVALID_KERNEL_NAME);
        return null_mut();
    };
    give(code, SUCCESS);
    Box::into_raw(Box::new(Kernel { arguments })).cast()
}

fn without_comments(source: &str) -> String {
    let mut kept = String::new();
    let mut rest = source;
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        kept.push_str(&rest[..at]);
        let end = if rest[at..].starts_with("//") { "\n" } else { "*/" };
        rest = rest[at..].find(end).map_or("", |len| &rest[at + len + end.len()..]);
        kept.push(' ');
    }
    kept + rest
}

/// Number of arguments of `void name(...)` in `source`, found without a parser; sufficient for the kernels of tests.
fn argument_count(source: &str, name: &str) -> Option<u32> {
    for (at, _) in source.match_indices(name) {
        let before = source[..at].trim_end();
        let Some(list) = source[at + name.len()..].trim_start().strip_prefix('(') else { continue };
        if before.len() < at && before.ends_with("void") {
            let list = &list[..list.find(')')?];
            return Some(if list.trim().is_empty() { 0 } else { list.matches(',').count() as u32 + 1 });
        }
    }
    None
}

#[unsafe(no_mangle)]
pub extern "C" fn clReleaseKernel(kernel: Handle) -> Int {
    drop(unsafe { Box::from_raw(kernel.cast::<Kernel>()) });
    released()
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetKernelInfo(
    kernel: Handle,
    question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    match question {
        0x1191 => {
            let arguments = unsafe { (*kernel.cast::<Kernel>()).arguments };
            answer(&arguments.to_ne_bytes(), size, value, size_ret)
        }
        _ => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetKernelArgInfo(
    _kernel: Handle,
    _index: Uint,
    _question: Uint,
    _size: usize,
    _value: *mut c_void,
    _size_ret: *mut usize,
) -> Int {
    NO_ARG_INFO
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetKernelWorkGroupInfo(
    _kernel: Handle,
    _device: Handle,
    question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    match question {
        0x11B0 => answer(&256usize.to_ne_bytes(), size, value, size_ret),
        0x11B3 => answer(&16usize.to_ne_bytes(), size, value, size_ret),
        _ => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn clSetKernelArg(_kernel: Handle, index: Uint, _size: usize, _value: *const c_void) -> Int {
    if index == 1 && is("refuse-argument") { INVALID_ARG_SIZE } else { SUCCESS }
}

#[unsafe(no_mangle)]
pub extern "C" fn clEnqueueNDRangeKernel(
    _queue: Handle,
    _kernel: Handle,
    _dimensions: Uint,
    _offset: *const usize,
    _global: *const usize,
    _local: *const usize,
    _waits: Uint,
    _wait_list: *const Handle,
    event: *mut Handle,
) -> Int {
    match mode() {
        "device-lost-enqueue" => return DEVICE_NOT_AVAILABLE,
        "out-of-memory-late" => return OUT_OF_RESOURCES,
        _ => {}
    }
    LAUNCHED.store(true, Ordering::Relaxed);
    let number = LAUNCHES.fetch_add(1, Ordering::SeqCst) + 1;
    let fails =
        || std::env::var("TRIPIPE_STAND_IN_FAILS").ok().and_then(|number| number.parse().ok()).unwrap_or(1);
    give(event, if is("kernel-fails") && number == fails() { FAILED_EVENT } else { EVENT });
    SUCCESS
}

// Events.

#[unsafe(no_mangle)]
pub extern "C" fn clWaitForEvents(count: Uint, events: *const Handle) -> Int {
    if lost() {
        return DEVICE_NOT_AVAILABLE;
    }
    let events = unsafe { std::slice::from_raw_parts(events, count as usize) };
    if events.contains(&FAILED_EVENT) { FAILED_IN_LIST } else { SUCCESS }
}

/// The status of a command, as reported by its event.
fn status(event: Handle) -> Int {
    match event {
        _ if lost() => DEVICE_NOT_AVAILABLE,
        FAILED_EVENT => OUT_OF_RESOURCES,
        _ => SUCCESS,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetEventInfo(
    event: Handle,
    _question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    answer(&status(event).to_ne_bytes(), size, value, size_ret)
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetEventProfilingInfo(
    _event: Handle,
    _question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    let now = if value.is_null() { 0 } else { CLOCK.fetch_add(1000, Ordering::Relaxed) };
    answer(&now.to_ne_bytes(), size, value, size_ret)
}

#[unsafe(no_mangle)]
pub extern "C" fn clSetEventCallback(
    event: Handle,
    _status: Int,
    call: extern "C" fn(Handle, Int, *mut c_void),
    data: *mut c_void,
) -> Int {
    if is("refuse-callback") {
        return INVALID_VALUE;
    }
    let status = status(event);
    let (event, data) = (event as usize, data as usize);
    std::thread::spawn(move || call(event as Handle, status, data as *mut c_void));
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clReleaseEvent(_event: Handle) -> Int {
    released()
}
