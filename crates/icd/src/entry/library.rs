//! What the ICD loader looks up by name: the only symbols of the library.

use std::ffi::{CStr, c_char, c_void};

use opencl_sys as cl;
use opencl_sys::{cl_int, cl_platform_id, cl_uint};

use super::boundary::put;
use super::{devices, kernels, programs, queues, run};
use crate::dispatch;
use crate::driver::failure::{Failure, require};
use crate::driver::handle::ApiObject as _;
use crate::driver::platform::Platform;

function! {
    fn clGetPlatformIDs(num_entries: cl_uint, platforms: *mut cl_platform_id, num_platforms: *mut cl_uint) {
        require(
            (num_entries > 0 || platforms.is_null()) && !(platforms.is_null() && num_platforms.is_null()),
            cl::CL_INVALID_VALUE,
            "there is no place for the platforms",
        )?;
        put(platforms, Platform::get().handle().pointer());
        put(num_platforms, 1);
        Ok(())
    }
}

/// Lists the platform.
///
/// # Safety
/// The pointers are NULL, or places for `num_entries` handles and for a number.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name that the loader looks up")]
pub unsafe extern "C" fn clIcdGetPlatformIDsKHR(
    num_entries: cl_uint,
    platforms: *mut cl_platform_id,
    num_platforms: *mut cl_uint,
) -> cl_int {
    // SAFETY: the same contract.
    unsafe { platform_ids(num_entries, platforms, num_platforms) }
}

/// As [`clIcdGetPlatformIDsKHR`], which the driver itself does not call: where a symbol is exported, the dynamic linker
/// may put a function of the same name of the loader or the application in its place.
unsafe extern "C" fn platform_ids(
    num_entries: cl_uint,
    platforms: *mut cl_platform_id,
    num_platforms: *mut cl_uint,
) -> cl_int {
    // SAFETY: the same contract.
    unsafe { clGetPlatformIDs(num_entries, platforms, num_platforms) }
}

/// The address of a function, by its name in the API or that of an extension; NULL if there is none.
///
/// # Safety
/// The name is NULL or ends with a 0.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name that the loader looks up")]
pub unsafe extern "C" fn clGetExtensionFunctionAddress(name: *const c_char) -> *mut c_void {
    // SAFETY: the same contract.
    unsafe { extension_function(name) }
}

/// As [`clGetExtensionFunctionAddress`], which is not called here: the loader has a function of the same name, which
/// the dynamic linker puts in its place.
unsafe fn extension_function(name: *const c_char) -> *mut c_void {
    if name.is_null() {
        return std::ptr::null_mut();
    }
    // SAFETY: the name ends with a 0.
    let name = unsafe { CStr::from_ptr(name) };
    let Ok(name) = name.to_str() else { return std::ptr::null_mut() };
    match name {
        "clIcdGetPlatformIDsKHR" => platform_ids as *mut c_void,
        "clCreateCommandQueueWithPropertiesKHR" => queues::clCreateCommandQueueWithProperties as *mut c_void,
        "clCreateProgramWithILKHR" => programs::clCreateProgramWithIL as *mut c_void,
        "clGetKernelSuggestedLocalWorkSizeKHR" => run::clGetKernelSuggestedLocalWorkSizeKHR as *mut c_void,
        "clGetKernelSubGroupInfoKHR" => kernels::clGetKernelSubGroupInfo as *mut c_void,
        // Beside the table, which is asked for its other names, loaders look for these.
        "clGetPlatformInfo" => devices::clGetPlatformInfo as *mut c_void,
        _ => dispatch::function(name),
    }
}

/// The same for a platform.
///
/// # Safety
/// As [`clGetExtensionFunctionAddress`].
#[allow(non_snake_case, reason = "the name in the API")]
pub(crate) unsafe extern "C" fn clGetExtensionFunctionAddressForPlatform(
    platform: cl_platform_id,
    name: *const c_char,
) -> *mut c_void {
    if Platform::of(platform).is_err() {
        return std::ptr::null_mut();
    }
    // SAFETY: the same contract.
    unsafe { extension_function(name) }
}

function! {
    fn clUnloadPlatformCompiler(platform: cl_platform_id) {
        let _ = Platform::of(platform)?;
        Ok::<(), Failure>(())
    }
}

/// Nothing: the compiler is not loaded.
#[allow(non_snake_case, reason = "the name in the API")]
pub(crate) unsafe extern "C" fn clUnloadCompiler() -> cl_int {
    cl::CL_SUCCESS
}
