//! A stand-in for an OpenCL driver, for tests of what a sound driver does not show.
//!
//! It is a shared library with the entry points this project calls, one platform and one device
//! (`Stand-In GPU`, OpenCL 1.2, unified memory, no images). Memory works; a kernel that is launched does
//! nothing. What goes wrong is chosen by `TRIPIPE_STAND_IN`:
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
//! | `build-failure` | no program compiles; the log is `TRIPIPE_STAND_IN_LOG` or a Mali-like line |
//! | `refuse-argument` | the second argument of every kernel is of the wrong size |
//! | `refuse-release` | as `device-lost`, and every release fails afterwards |
//!
//! Used as `TRIPIPE_OPENCL=<path>/libstand_in.so TRIPIPE_STAND_IN=device-lost tripipe ...`. It has no
//! dependencies, so `rustc --edition 2024 --crate-type cdylib stand_in.rs` builds it as well.
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
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
const NO_ARG_INFO: Int = -19;
const INVALID_VALUE: Int = -30;
const INVALID_PLATFORM: Int = -32;
const INVALID_KERNEL_NAME: Int = -46;
const INVALID_ARG_SIZE: Int = -51;
const PLATFORM_NOT_FOUND: Int = -1001;

const SOUND_PLATFORM: Handle = 0x10 as Handle;
const BROKEN_PLATFORM: Handle = 0x20 as Handle;
const DEVICE: Handle = 0x30 as Handle;
const CONTEXT: Handle = 0x40 as Handle;
const QUEUE: Handle = 0x50 as Handle;
const EVENT: Handle = 0x60 as Handle;

/// A kernel was put into the queue.
static LAUNCHED: AtomicBool = AtomicBool::new(false);
/// Nanoseconds of the device's clock; every reading is later than the one before.
static CLOCK: AtomicU64 = AtomicU64::new(1);

fn mode() -> String {
    std::env::var("TRIPIPE_STAND_IN").unwrap_or_default()
}

fn is(wanted: &str) -> bool {
    mode() == wanted
}

fn lost() -> bool {
    matches!(mode().as_str(), "device-lost" | "refuse-release") && LAUNCHED.load(Ordering::Relaxed)
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
    let all: &[Handle] = match mode().as_str() {
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
        0x1030 => text(""),
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
    /// Memory that is used in place of `bytes`.
    host: *mut u8,
}

impl Buffer {
    fn at(&mut self, offset: usize) -> *mut u8 {
        let start = if self.host.is_null() { self.bytes.as_mut_ptr() } else { self.host };
        start.wrapping_add(offset)
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
    let mut buffer = Box::new(Buffer { bytes: Box::default(), host: null_mut() });
    if flags & (1 << 3) != 0 {
        buffer.host = host.cast();
    } else {
        buffer.bytes = vec![0; size].into_boxed_slice();
        if flags & (1 << 5) != 0 {
            unsafe { std::ptr::copy_nonoverlapping(host.cast(), buffer.bytes.as_mut_ptr(), size) };
        }
    }
    give(code, SUCCESS);
    Box::into_raw(buffer).cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn clReleaseMemObject(buffer: Handle) -> Int {
    drop(unsafe { Box::from_raw(buffer.cast::<Buffer>()) });
    released()
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
    if lost() {
        return DEVICE_NOT_AVAILABLE;
    }
    unsafe { std::ptr::copy((*buffer.cast::<Buffer>()).at(offset), to.cast(), size) };
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
    if lost() {
        return DEVICE_NOT_AVAILABLE;
    }
    unsafe { std::ptr::copy(from.cast(), (*buffer.cast::<Buffer>()).at(offset), size) };
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
    if lost() {
        give(code, DEVICE_NOT_AVAILABLE);
        return null_mut();
    }
    give(event, EVENT);
    give(code, SUCCESS);
    unsafe { (*buffer.cast::<Buffer>()).at(offset).cast() }
}

#[unsafe(no_mangle)]
pub extern "C" fn clEnqueueUnmapMemObject(
    _queue: Handle,
    _buffer: Handle,
    _mapped: *mut c_void,
    _waits: Uint,
    _wait_list: *const Handle,
    event: *mut Handle,
) -> Int {
    if lost() {
        return DEVICE_NOT_AVAILABLE;
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
    // Neither kernel names nor binaries, as the oldest drivers do.
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

/// Arguments of `void name(...)` in `source`, found without a parser: good for tests' kernels.
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
    match mode().as_str() {
        "device-lost-enqueue" => return DEVICE_NOT_AVAILABLE,
        "out-of-memory-late" => return OUT_OF_RESOURCES,
        _ => {}
    }
    LAUNCHED.store(true, Ordering::Relaxed);
    give(event, EVENT);
    SUCCESS
}

// Events.

#[unsafe(no_mangle)]
pub extern "C" fn clWaitForEvents(_count: Uint, _events: *const Handle) -> Int {
    if lost() { DEVICE_NOT_AVAILABLE } else { SUCCESS }
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetEventInfo(
    _event: Handle,
    _question: Uint,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> Int {
    let status = if lost() { DEVICE_NOT_AVAILABLE } else { 0 };
    answer(&status.to_ne_bytes(), size, value, size_ret)
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
pub extern "C" fn clReleaseEvent(_event: Handle) -> Int {
    released()
}
