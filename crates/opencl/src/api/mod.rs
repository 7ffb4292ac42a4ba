//! The functions of the loaded OpenCL library.
//!
//! [`Functions`] is a table of C function pointers with the types of the Khronos headers (`opencl-sys`). Each function
//! below calls one entry and turns its status code into a `Result`. Ownership is up to the other types of this crate.
//! Without a library, or if the library lacks a function, a call returns an error with a code of this crate's own
//! ([`NO_LIBRARY`], [`NO_FUNCTION`]).

pub(crate) mod commands;
pub(crate) mod objects;
pub(crate) mod queries;

use std::ffi::{CStr, c_void};

use opencl_sys::{CL_SUCCESS, cl_function_types, cl_int};

use crate::library;

/// No OpenCL library is loaded. The headers define no codes below -9999.
pub(crate) const NO_LIBRARY: cl_int = -10_000;

/// The library does not have the function: it is an older version, or not OpenCL.
pub(crate) const NO_FUNCTION: cl_int = -10_001;

/// The driver reported success but returned no object.
pub(crate) const NO_OBJECT: cl_int = -10_002;

macro_rules! functions {
    ($($name:ident: $type:ident,)*) => {
        /// All functions that this crate calls; `None` for those that the library does not have.
        #[allow(non_snake_case, reason = "the names of the headers")]
        pub(crate) struct Functions {
            $(pub(crate) $name: cl_function_types::$type,)*
        }

        impl Functions {
            /// Looks up all functions by their names. The pointers are valid as long as the library stays loaded.
            ///
            /// # Safety
            /// `lookup` returns null, or the address of a function with the type of the headers.
            pub(crate) unsafe fn of(lookup: impl Fn(&CStr) -> *mut c_void) -> Self {
                Self {
                    $($name: {
                        let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
                        let address = name.map_or(std::ptr::null_mut(), &lookup);
                        // SAFETY: the caller guarantees the type of this function; null is `None`.
                        unsafe { std::mem::transmute::<*mut c_void, cl_function_types::$type>(address) }
                    },)*
                }
            }
        }
    };
}

functions! {
    clGetPlatformIDs: clGetPlatformIDs_t,
    clGetPlatformInfo: clGetPlatformInfo_t,
    clGetDeviceIDs: clGetDeviceIDs_t,
    clGetDeviceInfo: clGetDeviceInfo_t,
    clGetExtensionFunctionAddressForPlatform: clGetExtensionFunctionAddressForPlatform_t,
    clCreateContext: clCreateContext_t,
    clRetainContext: clRetainContext_t,
    clReleaseContext: clReleaseContext_t,
    clGetContextInfo: clGetContextInfo_t,
    clCreateCommandQueue: clCreateCommandQueue_t,
    clCreateCommandQueueWithProperties: clCreateCommandQueueWithProperties_t,
    clGetCommandQueueInfo: clGetCommandQueueInfo_t,
    clRetainCommandQueue: clRetainCommandQueue_t,
    clReleaseCommandQueue: clReleaseCommandQueue_t,
    clFlush: clFlush_t,
    clFinish: clFinish_t,
    clCreateBuffer: clCreateBuffer_t,
    clCreateSubBuffer: clCreateSubBuffer_t,
    clCreateImage: clCreateImage_t,
    clRetainMemObject: clRetainMemObject_t,
    clReleaseMemObject: clReleaseMemObject_t,
    clGetMemObjectInfo: clGetMemObjectInfo_t,
    clSetMemObjectDestructorCallback: clSetMemObjectDestructorCallback_t,
    clGetSupportedImageFormats: clGetSupportedImageFormats_t,
    clCreateSampler: clCreateSampler_t,
    clReleaseSampler: clReleaseSampler_t,
    clSVMAlloc: clSVMAlloc_t,
    clSVMFree: clSVMFree_t,
    clCreateProgramWithSource: clCreateProgramWithSource_t,
    clCreateProgramWithIL: clCreateProgramWithIL_t,
    clCreateProgramWithBinary: clCreateProgramWithBinary_t,
    clBuildProgram: clBuildProgram_t,
    clReleaseProgram: clReleaseProgram_t,
    clGetProgramInfo: clGetProgramInfo_t,
    clGetProgramBuildInfo: clGetProgramBuildInfo_t,
    clCreateKernel: clCreateKernel_t,
    clReleaseKernel: clReleaseKernel_t,
    clGetKernelInfo: clGetKernelInfo_t,
    clGetKernelArgInfo: clGetKernelArgInfo_t,
    clGetKernelWorkGroupInfo: clGetKernelWorkGroupInfo_t,
    clSetKernelArg: clSetKernelArg_t,
    clSetKernelArgSVMPointer: clSetKernelArgSVMPointer_t,
    clEnqueueNDRangeKernel: clEnqueueNDRangeKernel_t,
    clEnqueueCopyBuffer: clEnqueueCopyBuffer_t,
    clEnqueueFillBuffer: clEnqueueFillBuffer_t,
    clEnqueueMarkerWithWaitList: clEnqueueMarkerWithWaitList_t,
    clEnqueueReadBuffer: clEnqueueReadBuffer_t,
    clEnqueueWriteBuffer: clEnqueueWriteBuffer_t,
    clEnqueueReadImage: clEnqueueReadImage_t,
    clEnqueueWriteImage: clEnqueueWriteImage_t,
    clEnqueueMapBuffer: clEnqueueMapBuffer_t,
    clEnqueueMapImage: clEnqueueMapImage_t,
    clEnqueueUnmapMemObject: clEnqueueUnmapMemObject_t,
    clEnqueueSVMMap: clEnqueueSVMMap_t,
    clEnqueueSVMUnmap: clEnqueueSVMUnmap_t,
    clWaitForEvents: clWaitForEvents_t,
    clReleaseEvent: clReleaseEvent_t,
    clRetainEvent: clRetainEvent_t,
    clGetEventInfo: clGetEventInfo_t,
    clGetEventProfilingInfo: clGetEventProfilingInfo_t,
    clSetEventCallback: clSetEventCallback_t,
}

/// The named function. If it is missing, returns an error from the enclosing function.
macro_rules! function {
    ($name:ident) => {
        match $crate::library::functions() {
            None => return Err($crate::api::NO_LIBRARY),
            Some(functions) => match functions.$name {
                None => return Err($crate::api::NO_FUNCTION),
                Some(function) => function,
            },
        }
    };
}
use function;

/// Converts a status code to a result.
fn done(code: cl_int) -> Result<(), cl_int> {
    if code == CL_SUCCESS { Ok(()) } else { Err(code) }
}

/// Converts a new object and its status code to a result.
fn check_created<T>(object: *mut T, code: cl_int) -> Result<*mut T, cl_int> {
    done(code)?;
    if object.is_null() { Err(NO_OBJECT) } else { Ok(object) }
}

/// The address of an extension function on a platform; `None` if the platform does not have it.
pub(crate) fn extension(
    platform: opencl_sys::cl_platform_id,
    name: &CStr,
) -> Option<std::ptr::NonNull<c_void>> {
    let function = library::functions()?.clGetExtensionFunctionAddressForPlatform?;
    // SAFETY: the driver checks the platform; the name ends with NUL.
    std::ptr::NonNull::new(unsafe { function(platform, name.as_ptr()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_the_library_lacks_is_none() {
        // SAFETY: no pointer is returned.
        let functions = unsafe { Functions::of(|_| std::ptr::null_mut()) };
        assert!(functions.clGetPlatformIDs.is_none() && functions.clFinish.is_none());
    }

    #[test]
    fn success_without_an_object_is_an_error() {
        assert_eq!(check_created::<u8>(std::ptr::null_mut(), CL_SUCCESS), Err(NO_OBJECT));
        assert_eq!(check_created::<u8>(std::ptr::null_mut(), -6), Err(-6));
        let mut byte = 1u8;
        assert_eq!(check_created(&raw mut byte, CL_SUCCESS), Ok(&raw mut byte));
    }
}
