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
//! | `cpu-first` | a strong device that is a CPU (`Stand-In CPU`) comes before the GPU |
//! | `mute` | the device refuses every question but its type |
//! | `device-lost` | the device vanishes while a kernel runs: the wait fails |
//! | `device-lost-enqueue` | the device is gone when a kernel is enqueued |
//! | `out-of-memory` | no buffer can be allocated |
//! | `out-of-memory-late` | allocation succeeds, the first kernel finds no memory |
//! | `kernel-fails` | one kernel fails when it runs, with `CL_OUT_OF_RESOURCES`; later ones run; `TRIPIPE_STAND_IN_FAILS` is its number, 1 for the first |
//! | `build-failure` | no program compiles; the log is `TRIPIPE_STAND_IN_LOG` or a Mali-like line |
//! | `build-aborts` | the compiler aborts the process for programs whose build options contain `TRIPIPE_STAND_IN_OPTIONS` |
//! | `build-hangs` | the compiler never ends for such programs |
//! | `build-waits` | the compiler waits until the file `TRIPIPE_STAND_IN_FILE` exists |
//! | `refuse-argument` | the second argument of every kernel is of the wrong size |
//! | `refuse-release` | as `device-lost`, and every release fails afterwards |
//! | `refuse-callback` | no callback is accepted, for events or memory objects |
//! | `energy` | the device is of NVIDIA, and [`energy`] counts |
//! | `no-energy` | the device is of NVIDIA, and does not count energy |
//!
//! `TRIPIPE_STAND_IN_TRANSFER_MS` is the time that a copy from or to a buffer takes, 0 if unset, and
//! `TRIPIPE_STAND_IN_FIRST_MS` that which the first launch takes longer, as with a driver that compiles then.
//! `TRIPIPE_STAND_IN_EXTENSIONS` is the device's list of extensions, empty if unset; those that import memory
//! (`cl_arm_import_memory_*`, `cl_qcom_*_host_ptr`) work if they are listed, with all checks of their specifications.
//! Event callbacks come from a separate thread. [`stand_in_buffers`] counts the remaining memory objects.
//!
//! It has no dependencies, so `rustc --edition 2024 --crate-type cdylib stand_in/main.rs -o libstand_in.so` also builds it.
//! Used as `TRIPIPE_OPENCL=<path>/libstand_in.so TRIPIPE_STAND_IN=device-lost tripipe ...`.
#![allow(
    unsafe_code,
    non_snake_case,
    missing_docs,
    unreachable_pub,
    clippy::wildcard_imports,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    clippy::not_unsafe_ptr_arg_deref,
    clippy::too_many_arguments,
    reason = "C entry points of a test double: the arguments are what OpenCL's specification says they are"
)]

mod energy;
mod events;
mod memory;
mod programs;

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
const CPU_DEVICE: Handle = 0x31 as Handle;
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

/// Sleeps for the milliseconds of an environment variable.
fn take_time(variable: &str) {
    if let Some(milliseconds) = std::env::var(variable).ok().and_then(|value| value.parse().ok()) {
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
    }
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
    let all: &[Handle] = if is("cpu-first") { &[CPU_DEVICE, DEVICE] } else { &[DEVICE] };
    give(count, all.len() as Uint);
    for (index, device) in all.iter().take(if to.is_null() { 0 } else { room as usize }).enumerate() {
        unsafe { *to.add(index) = *device };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn clGetDeviceInfo(
    device: Handle,
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
        0x1000 if device == CPU_DEVICE => long(2),
        0x1000 => long(4),
        0x102B if device == CPU_DEVICE => text("Stand-In CPU"),
        0x1002 if device == CPU_DEVICE => word(64),
        0x102B => text("Stand-In GPU"),
        0x102C if is("energy") || is("no-energy") => text("NVIDIA stand-in"),
        0x102C => text("Tripipe"),
        // CL_DEVICE_PCI_BUS_INFO_KHR
        0x410F => [1u32, 10, 11, 0].iter().flat_map(|part| part.to_ne_bytes()).collect(),
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
