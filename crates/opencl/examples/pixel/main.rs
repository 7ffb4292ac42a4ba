//! A library as `libOpenCL-pixel.so` of Google's phones: it exports no function of OpenCL, but `loadOpenCLPointer`, which gives
//! their addresses once `enableOpenCL` was called. The functions are those of the library that `TRIPIPE_PIXEL_DRIVER` names.
#![allow(
    unsafe_code,
    non_snake_case,
    missing_docs,
    unreachable_pub,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    reason = "C entry points of a test double"
)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStringExt;
use std::ptr::null_mut;
use std::sync::OnceLock;

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `RTLD_NOW`
const NOW: c_int = 2;

/// The address of the driver's handle, once it is enabled.
static ENABLED: OnceLock<usize> = OnceLock::new();

#[unsafe(no_mangle)]
pub unsafe extern "C" fn enableOpenCL() {
    let Some(path) = std::env::var_os("TRIPIPE_PIXEL_DRIVER") else { return };
    let Ok(path) = CString::new(path.into_vec()) else { return };
    ENABLED.get_or_init(|| unsafe { dlopen(path.as_ptr(), NOW) }.expose_provenance());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn loadOpenCLPointer(name: *const c_char) -> *mut c_void {
    match ENABLED.get() {
        None | Some(0) => null_mut(),
        Some(driver) => unsafe { dlsym(std::ptr::with_exposed_provenance_mut(*driver), name) },
    }
}
