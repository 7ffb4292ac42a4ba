//! A driver with a wrong compiler, to test what finds such drivers: a layer of the ICD loader over a sound driver.
//!
//! Programs from source are built by the sound driver, so that logs and queries are as always. Then clang translates the
//! same source to SPIR-V, a deliberate mistake is made there, and kernels are those of the wrong module. The driver below
//! must take SPIR-V. `TRIPIPE_WRONG_COMPILER` selects the mistake:
//!
//! | value | the mistake |
//! |---|---|
//! | unset | none: kernels are those of the module as it is |
//! | `barriers` | barriers are left out |
//! | `shifts` | signed shifts to the right fill with zeros |
//! | `sums` | sums of 32 bits that overflow have the largest number |
//! | `roundings` | conversions ignore their rounding, and cut the fraction off |
//! | `products` | a product and a sum of floats become one `fma`, which the language allows |
//!
//! Used as `OPENCL_LAYERS=<path>/libwrong_compiler.so TRIPIPE_WRONG_COMPILER=shifts ./application`. It has no
//! dependencies, so `rustc --edition 2024 --crate-type cdylib wrong_compiler/main.rs -o libwrong_compiler.so` also builds it.
#![allow(
    unsafe_code,
    non_snake_case,
    missing_docs,
    unreachable_pub,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    clippy::print_stderr,
    reason = "C entry points of a test double: the arguments are what OpenCL's specification says they are"
)]

mod mistake;

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock};

type Handle = *mut c_void;
type Notify = Option<unsafe extern "C" fn(Handle, *mut c_void)>;

/// Functions in a dispatch table, in the order of `cl_icd.h`.
const FUNCTIONS: usize = 149;
const CREATE_WITH_SOURCE: usize = 26;
const BUILD: usize = 30;
const CREATE_KERNEL: usize = 34;
const CREATE_KERNELS: usize = 35;
const KERNEL_INFO: usize = 39;
const CREATE_WITH_IL: usize = 138;

const SUCCESS: i32 = 0;
const BUILD_FAILURE: i32 = -11;
const INVALID_VALUE: i32 = -30;

/// The functions of the driver.
static NEXT: OnceLock<[usize; FUNCTIONS]> = OnceLock::new();

/// The functions of this layer.
static TABLE: OnceLock<[usize; FUNCTIONS]> = OnceLock::new();

/// A program of the application.
struct ProgramPair {
    context: usize,
    source: Vec<u8>,
    /// The program with the mistake, once it is built.
    wrong: Option<usize>,
}

static PROGRAMS: Mutex<Option<HashMap<usize, ProgramPair>>> = Mutex::new(None);

fn with<R>(then: impl FnOnce(&mut HashMap<usize, ProgramPair>) -> R) -> R {
    then(PROGRAMS.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert_default())
}

/// The driver's function at a position of the table.
unsafe fn next<F: Copy>(position: usize) -> F {
    let address = NEXT.get().map_or(0, |table| table[position]);
    assert!(address != 0 && size_of::<F>() == size_of::<usize>(), "the driver lacks function {position}");
    unsafe { std::mem::transmute_copy(&address) }
}

/// The program whose kernels are made.
fn wrong(program: Handle) -> Handle {
    with(|programs| {
        programs.get(&(program as usize)).and_then(|made| made.wrong).map_or(program, |wrong| wrong as Handle)
    })
}

unsafe extern "C" fn create_with_source(
    context: Handle,
    count: u32,
    strings: *const *const c_char,
    lengths: *const usize,
    code: *mut i32,
) -> Handle {
    type Create = unsafe extern "C" fn(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle;
    unsafe {
        let program = next::<Create>(CREATE_WITH_SOURCE)(context, count, strings, lengths, code);
        if program.is_null() {
            return program;
        }
        let part = |index: usize| {
            let text = *strings.add(index);
            match lengths.as_ref().map_or(0, |_| *lengths.add(index)) {
                0 => CStr::from_ptr(text).to_bytes(),
                length => std::slice::from_raw_parts(text.cast(), length),
            }
        };
        let source = (0..count as usize).flat_map(|index| part(index).iter().copied()).collect();
        with(|programs| {
            programs.insert(program as usize, ProgramPair { context: context as usize, source, wrong: None })
        });
        program
    }
}

unsafe extern "C" fn build(
    program: Handle,
    count: u32,
    devices: *const Handle,
    options: *const c_char,
    notify: Notify,
    data: *mut c_void,
) -> i32 {
    type Build = unsafe extern "C" fn(Handle, u32, *const Handle, *const c_char, Notify, *mut c_void) -> i32;
    type CreateWithIl = unsafe extern "C" fn(Handle, *const c_void, usize, *mut i32) -> Handle;
    unsafe {
        let build = next::<Build>(BUILD);
        let mut built = build(program, count, devices, options, None, null_mut());
        let made = with(|programs| {
            programs.get(&(program as usize)).map(|made| (made.context as Handle, made.source.clone()))
        });
        if built == SUCCESS
            && let Some((context, source)) = made
        {
            let text = if options.is_null() { "".into() } else { CStr::from_ptr(options).to_string_lossy() };
            match compiled(&source, &text) {
                Ok(module) => {
                    let create = next::<CreateWithIl>(CREATE_WITH_IL);
                    let wrong = create(context, module.as_ptr().cast(), module.len(), &raw mut built);
                    if built == SUCCESS {
                        built = build(wrong, count, devices, options, None, null_mut());
                    }
                    with(|programs| {
                        if let Some(made) = programs.get_mut(&(program as usize)) {
                            made.wrong = Some(wrong as usize);
                        }
                    });
                }
                Err(error) => {
                    eprintln!("the wrong compiler: {error}");
                    built = BUILD_FAILURE;
                }
            }
        }
        if let Some(notify) = notify {
            notify(program, data);
        }
        built
    }
}

unsafe extern "C" fn create_kernel(program: Handle, name: *const c_char, code: *mut i32) -> Handle {
    type Create = unsafe extern "C" fn(Handle, *const c_char, *mut i32) -> Handle;
    unsafe { next::<Create>(CREATE_KERNEL)(wrong(program), name, code) }
}

unsafe extern "C" fn create_kernels(program: Handle, room: u32, to: *mut Handle, count: *mut u32) -> i32 {
    type Create = unsafe extern "C" fn(Handle, u32, *mut Handle, *mut u32) -> i32;
    unsafe { next::<Create>(CREATE_KERNELS)(wrong(program), room, to, count) }
}

/// A kernel's program is the one that the application made.
unsafe extern "C" fn kernel_info(
    kernel: Handle,
    question: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    type Info = unsafe extern "C" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
    // CL_KERNEL_PROGRAM
    const PROGRAM: u32 = 0x1194;
    unsafe {
        let code = next::<Info>(KERNEL_INFO)(kernel, question, size, value, size_ret);
        if code == SUCCESS && question == PROGRAM && !value.is_null() {
            let found: usize = value.cast::<usize>().read_unaligned();
            let own = with(|programs| {
                programs.iter().find(|(_, made)| made.wrong == Some(found)).map(|(program, _)| *program)
            });
            value.cast::<usize>().write_unaligned(own.unwrap_or(found));
        }
        code
    }
}

/// The module of a source, with the mistake.
fn compiled(source: &[u8], options: &str) -> Result<Vec<u8>, String> {
    static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("wrong-compiler-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let module = in_folder(&folder, source, options);
    let _ = std::fs::remove_dir_all(&folder);
    module
}

fn in_folder(folder: &std::path::Path, source: &[u8], options: &str) -> Result<Vec<u8>, String> {
    let [text, bitcode, module] = ["k.cl", "k.bc", "k.spv"].map(|name| folder.join(name));
    std::fs::write(&text, source).map_err(|error| error.to_string())?;
    let tool = |variable: &str, name: &str| {
        Command::new(std::env::var_os(variable).map_or_else(|| PathBuf::from(name), PathBuf::from))
    };
    let mut clang = tool("TRIPIPE_CLANG", "clang-15");
    clang.args(["-c", "-target", "spir64", "-O1", "-Xclang", "-finclude-default-header", "-emit-llvm"]);
    clang.args(["-Xclang", "-disable-llvm-passes", "-w"]);
    if !options.contains("-cl-std") {
        clang.arg("-cl-std=CL1.2");
    }
    // clang has no such option of OpenCL.
    clang.args(options.split_whitespace().filter(|option| *option != "-cl-kernel-arg-info"));
    succeed(clang.arg(&text).arg("-o").arg(&bitcode))?;
    succeed(tool("TRIPIPE_LLVM_SPIRV", "llvm-spirv-15").arg(&bitcode).arg("-o").arg(&module))?;
    let bytes = std::fs::read(&module).map_err(|error| error.to_string())?;
    let words: Vec<u32> =
        bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect();
    let kind = std::env::var("TRIPIPE_WRONG_COMPILER").unwrap_or_default();
    let wrong = mistake::insert_mistake(&words, &kind)?;
    Ok(wrong.iter().flat_map(|word| word.to_le_bytes()).collect())
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clGetLayerInfo(
    question: u32,
    size: usize,
    value: *mut c_void,
    size_ret: *mut usize,
) -> i32 {
    // CL_LAYER_API_VERSION, CL_LAYER_NAME
    let reply: &[u8] = match question {
        0x4240 => &100u32.to_ne_bytes(),
        0x4241 => b"a wrong compiler\0",
        _ => return INVALID_VALUE,
    };
    unsafe {
        if !value.is_null() {
            if size < reply.len() {
                return INVALID_VALUE;
            }
            std::ptr::copy_nonoverlapping(reply.as_ptr(), value.cast(), reply.len());
        }
        if !size_ret.is_null() {
            *size_ret = reply.len();
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clInitLayer(
    entries: u32,
    target: *const usize,
    own_entries: *mut u32,
    own: *mut *const usize,
) -> i32 {
    let mut functions = [0usize; FUNCTIONS];
    unsafe {
        std::ptr::copy_nonoverlapping(target, functions.as_mut_ptr(), FUNCTIONS.min(entries as usize));
        let next = NEXT.get_or_init(|| functions);
        let table = TABLE.get_or_init(|| {
            let mut table = *next;
            table[CREATE_WITH_SOURCE] = create_with_source as *const () as usize;
            table[BUILD] = build as *const () as usize;
            table[CREATE_KERNEL] = create_kernel as *const () as usize;
            table[CREATE_KERNELS] = create_kernels as *const () as usize;
            table[KERNEL_INFO] = kernel_info as *const () as usize;
            table
        });
        *own_entries = FUNCTIONS as u32;
        *own = table.as_ptr();
    }
    SUCCESS
}
