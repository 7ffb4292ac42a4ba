//! Programs, kernels and launches.

use std::io::Write;

use super::*;

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
    options: *const c_char,
    _notify: *const c_void,
    _data: *mut c_void,
) -> Int {
    let options = if options.is_null() { c"" } else { unsafe { CStr::from_ptr(options) } };
    let only = std::env::var("TRIPIPE_STAND_IN_OPTIONS").unwrap_or_default();
    let is_meant = options.to_string_lossy().contains(&only);
    match mode() {
        "build-failure" => return BUILD_FAILURE,
        "build-aborts" if is_meant => {
            let _ = writeln!(std::io::stderr(), "stand-in: cannot select");
            std::process::abort()
        }
        "build-hangs" if is_meant => loop {
            std::thread::sleep(std::time::Duration::from_secs(3600));
        },
        "build-waits" => {
            let file = std::env::var_os("TRIPIPE_STAND_IN_FILE").unwrap_or_default();
            while !std::path::Path::new(&file).exists() {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
        "build-slow" => std::thread::sleep(std::time::Duration::from_secs(1)),
        _ => {}
    }
    SUCCESS
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
    if !LAUNCHED.swap(true, Ordering::Relaxed) {
        take_time("TRIPIPE_STAND_IN_FIRST_MS");
    }
    let number = LAUNCHES.fetch_add(1, Ordering::SeqCst) + 1;
    let fails =
        || std::env::var("TRIPIPE_STAND_IN_FAILS").ok().and_then(|number| number.parse().ok()).unwrap_or(1);
    give(event, if is("kernel-fails") && number == fails() { FAILED_EVENT } else { EVENT });
    SUCCESS
}
