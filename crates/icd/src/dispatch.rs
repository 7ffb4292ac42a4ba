//! The table of all functions, in the order that the ICD loader knows.
//!
//! The order is that of `cl_icd.h` of Khronos, as `opencl-sys` has it; a test compares it with the header.

use std::ffi::c_void;

use opencl_sys::cl_icd::cl_icd_dispatch;

use crate::entry::not_offered::{
    make3, make4, make5, make6, not_a_pipe, refuse3, refuse5, refuse6, refuse7, refuse8,
};
use crate::entry::{
    buffers, contexts, devices, events, images, kernels, library, maps, memory, programs, queues, run,
    samplers, svm,
};

/// Makes the table, and the list of its names.
macro_rules! table {
    ($($name:ident: $function:expr,)*) => {
        /// The table, to which each handle points.
        pub(crate) static TABLE: cl_icd_dispatch = cl_icd_dispatch {
            $($name: Some($function),)*
            // Of OpenCL 3.1.
            clGetKernelSuggestedLocalWorkSize: 0,
        };

        /// The names of the table's functions, in order.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name),)*];
    };
}

table! {
            clGetPlatformIDs: library::clGetPlatformIDs,
            clGetPlatformInfo: devices::clGetPlatformInfo,
            clGetDeviceIDs: devices::clGetDeviceIDs,
            clGetDeviceInfo: devices::clGetDeviceInfo,
            clCreateContext: contexts::clCreateContext,
            clCreateContextFromType: contexts::clCreateContextFromType,
            clRetainContext: contexts::clRetainContext,
            clReleaseContext: contexts::clReleaseContext,
            clGetContextInfo: contexts::clGetContextInfo,
            clCreateCommandQueue: queues::clCreateCommandQueue,
            clRetainCommandQueue: queues::clRetainCommandQueue,
            clReleaseCommandQueue: queues::clReleaseCommandQueue,
            clGetCommandQueueInfo: queues::clGetCommandQueueInfo,
            clSetCommandQueueProperty: queues::clSetCommandQueueProperty,
            clCreateBuffer: memory::clCreateBuffer,
            clCreateImage2D: memory::clCreateImage2D,
            clCreateImage3D: memory::clCreateImage3D,
            clRetainMemObject: memory::clRetainMemObject,
            clReleaseMemObject: memory::clReleaseMemObject,
            clGetSupportedImageFormats: memory::clGetSupportedImageFormats,
            clGetMemObjectInfo: memory::clGetMemObjectInfo,
            clGetImageInfo: memory::clGetImageInfo,
            clCreateSampler: samplers::clCreateSampler,
            clRetainSampler: samplers::clRetainSampler,
            clReleaseSampler: samplers::clReleaseSampler,
            clGetSamplerInfo: samplers::clGetSamplerInfo,
            clCreateProgramWithSource: programs::clCreateProgramWithSource,
            clCreateProgramWithBinary: programs::clCreateProgramWithBinary,
            clRetainProgram: programs::clRetainProgram,
            clReleaseProgram: programs::clReleaseProgram,
            clBuildProgram: programs::clBuildProgram,
            clUnloadCompiler: library::clUnloadCompiler,
            clGetProgramInfo: programs::clGetProgramInfo,
            clGetProgramBuildInfo: programs::clGetProgramBuildInfo,
            clCreateKernel: kernels::clCreateKernel,
            clCreateKernelsInProgram: kernels::clCreateKernelsInProgram,
            clRetainKernel: kernels::clRetainKernel,
            clReleaseKernel: kernels::clReleaseKernel,
            clSetKernelArg: kernels::clSetKernelArg,
            clGetKernelInfo: kernels::clGetKernelInfo,
            clGetKernelWorkGroupInfo: kernels::clGetKernelWorkGroupInfo,
            clWaitForEvents: events::clWaitForEvents,
            clGetEventInfo: events::clGetEventInfo,
            clRetainEvent: events::clRetainEvent,
            clReleaseEvent: events::clReleaseEvent,
            clGetEventProfilingInfo: events::clGetEventProfilingInfo,
            clFlush: queues::clFlush,
            clFinish: queues::clFinish,
            clEnqueueReadBuffer: buffers::clEnqueueReadBuffer,
            clEnqueueWriteBuffer: buffers::clEnqueueWriteBuffer,
            clEnqueueCopyBuffer: buffers::clEnqueueCopyBuffer,
            clEnqueueReadImage: images::clEnqueueReadImage,
            clEnqueueWriteImage: images::clEnqueueWriteImage,
            clEnqueueCopyImage: images::clEnqueueCopyImage,
            clEnqueueCopyImageToBuffer: images::clEnqueueCopyImageToBuffer,
            clEnqueueCopyBufferToImage: images::clEnqueueCopyBufferToImage,
            clEnqueueMapBuffer: maps::clEnqueueMapBuffer,
            clEnqueueMapImage: maps::clEnqueueMapImage,
            clEnqueueUnmapMemObject: maps::clEnqueueUnmapMemObject,
            clEnqueueNDRangeKernel: run::clEnqueueNDRangeKernel,
            clEnqueueTask: run::clEnqueueTask,
            clEnqueueNativeKernel: run::clEnqueueNativeKernel,
            clEnqueueMarker: events::clEnqueueMarker,
            clEnqueueWaitForEvents: events::clEnqueueWaitForEvents,
            clEnqueueBarrier: events::clEnqueueBarrier,
            clGetExtensionFunctionAddress: library::clGetExtensionFunctionAddress,
            clCreateFromGLBuffer: make4,
            clCreateFromGLTexture2D: make6,
            clCreateFromGLTexture3D: make6,
            clCreateFromGLRenderbuffer: make4,
            clGetGLObjectInfo: refuse3,
            clGetGLTextureInfo: refuse5,
            clEnqueueAcquireGLObjects: refuse6,
            clEnqueueReleaseGLObjects: refuse6,
            clGetGLContextInfoKHR: refuse5,
            clGetDeviceIDsFromD3D10KHR: refuse7,
            clCreateFromD3D10BufferKHR: make4,
            clCreateFromD3D10Texture2DKHR: make5,
            clCreateFromD3D10Texture3DKHR: make5,
            clEnqueueAcquireD3D10ObjectsKHR: refuse6,
            clEnqueueReleaseD3D10ObjectsKHR: refuse6,
            clSetEventCallback: events::clSetEventCallback,
            clCreateSubBuffer: memory::clCreateSubBuffer,
            clSetMemObjectDestructorCallback: memory::clSetMemObjectDestructorCallback,
            clCreateUserEvent: events::clCreateUserEvent,
            clSetUserEventStatus: events::clSetUserEventStatus,
            clEnqueueReadBufferRect: buffers::clEnqueueReadBufferRect,
            clEnqueueWriteBufferRect: buffers::clEnqueueWriteBufferRect,
            clEnqueueCopyBufferRect: buffers::clEnqueueCopyBufferRect,
            clCreateSubDevicesEXT: refuse5,
            clRetainDeviceEXT: devices::clRetainDevice,
            clReleaseDeviceEXT: devices::clReleaseDevice,
            clCreateEventFromGLsyncKHR: make3,
            clCreateSubDevices: devices::clCreateSubDevices,
            clRetainDevice: devices::clRetainDevice,
            clReleaseDevice: devices::clReleaseDevice,
            clCreateImage: memory::clCreateImage,
            clCreateProgramWithBuiltInKernels: programs::clCreateProgramWithBuiltInKernels,
            clCompileProgram: programs::clCompileProgram,
            clLinkProgram: programs::clLinkProgram,
            clUnloadPlatformCompiler: library::clUnloadPlatformCompiler,
            clGetKernelArgInfo: kernels::clGetKernelArgInfo,
            clEnqueueFillBuffer: buffers::clEnqueueFillBuffer,
            clEnqueueFillImage: images::clEnqueueFillImage,
            clEnqueueMigrateMemObjects: buffers::clEnqueueMigrateMemObjects,
            clEnqueueMarkerWithWaitList: events::clEnqueueMarkerWithWaitList,
            clEnqueueBarrierWithWaitList: events::clEnqueueBarrierWithWaitList,
            clGetExtensionFunctionAddressForPlatform: library::clGetExtensionFunctionAddressForPlatform,
            clCreateFromGLTexture: make6,
            clGetDeviceIDsFromD3D11KHR: refuse7,
            clCreateFromD3D11BufferKHR: make4,
            clCreateFromD3D11Texture2DKHR: make5,
            clCreateFromD3D11Texture3DKHR: make5,
            clCreateFromDX9MediaSurfaceKHR: make6,
            clEnqueueAcquireD3D11ObjectsKHR: refuse6,
            clEnqueueReleaseD3D11ObjectsKHR: refuse6,
            clGetDeviceIDsFromDX9MediaAdapterKHR: refuse8,
            clEnqueueAcquireDX9MediaSurfacesKHR: refuse6,
            clEnqueueReleaseDX9MediaSurfacesKHR: refuse6,
            clCreateFromEGLImageKHR: make6,
            clEnqueueAcquireEGLObjectsKHR: refuse6,
            clEnqueueReleaseEGLObjectsKHR: refuse6,
            clCreateEventFromEGLSyncKHR: make4,
            clCreateCommandQueueWithProperties: queues::clCreateCommandQueueWithProperties,
            clCreatePipe: make6,
            clGetPipeInfo: not_a_pipe,
            clSVMAlloc: svm::clSVMAlloc,
            clSVMFree: svm::clSVMFree,
            clEnqueueSVMFree: svm::clEnqueueSVMFree,
            clEnqueueSVMMemcpy: svm::clEnqueueSVMMemcpy,
            clEnqueueSVMMemFill: svm::clEnqueueSVMMemFill,
            clEnqueueSVMMap: svm::clEnqueueSVMMap,
            clEnqueueSVMUnmap: svm::clEnqueueSVMUnmap,
            clCreateSamplerWithProperties: samplers::clCreateSamplerWithProperties,
            clSetKernelArgSVMPointer: kernels::clSetKernelArgSVMPointer,
            clSetKernelExecInfo: kernels::clSetKernelExecInfo,
            clGetKernelSubGroupInfoKHR: kernels::clGetKernelSubGroupInfo,
            clCloneKernel: kernels::clCloneKernel,
            clCreateProgramWithIL: programs::clCreateProgramWithIL,
            clEnqueueSVMMigrateMem: svm::clEnqueueSVMMigrateMem,
            clGetDeviceAndHostTimer: devices::clGetDeviceAndHostTimer,
            clGetHostTimer: devices::clGetHostTimer,
            clGetKernelSubGroupInfo: kernels::clGetKernelSubGroupInfo,
            clSetDefaultDeviceCommandQueue: queues::clSetDefaultDeviceCommandQueue,
            clSetProgramReleaseCallback: programs::clSetProgramReleaseCallback,
            clSetProgramSpecializationConstant: programs::clSetProgramSpecializationConstant,
            clCreateBufferWithProperties: memory::clCreateBufferWithProperties,
            clCreateImageWithProperties: memory::clCreateImageWithProperties,
            clSetContextDestructorCallback: contexts::clSetContextDestructorCallback,
}

/// The address of a function of the table; NULL for other names.
pub(crate) fn function(name: &str) -> *mut c_void {
    let Some(index) = NAMES.iter().position(|known| *known == name) else { return std::ptr::null_mut() };
    // SAFETY: the table is a list of addresses of functions, and the test below counts them.
    unsafe { *std::ptr::from_ref(&TABLE).cast::<*mut c_void>().add(index) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_a_function_and_a_name() {
        let slots = size_of::<cl_icd_dispatch>() / size_of::<usize>();
        // The last one is of OpenCL 3.1.
        assert_eq!(NAMES.len() + 1, slots);
        assert!(NAMES.iter().all(|name| !function(name).is_null()));
        assert!(function("clNothing").is_null());
        assert_eq!(function("clGetPlatformInfo"), devices::clGetPlatformInfo as *mut c_void);
        assert_eq!(
            function("clSetContextDestructorCallback"),
            contexts::clSetContextDestructorCallback as *mut c_void
        );
    }

    /// Khronos' own header, where opencl-headers is installed. On systems without Direct3D it has padding for it.
    #[test]
    fn the_order_is_that_of_the_header() {
        let Ok(header) = std::fs::read_to_string("/usr/include/CL/cl_icd.h") else {
            eprintln!("skipped: opencl-headers is not installed");
            return;
        };
        let (_, body) = header.split_once("typedef struct _cl_icd_dispatch {").unwrap();
        let (body, _) = body.split_once("} cl_icd_dispatch;").unwrap();
        let declared: Vec<&str> = body
            .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .filter(|word| word.starts_with("cl") && !word.starts_with("cl_") && !word.starts_with("clang"))
            .collect();
        assert_eq!(declared, NAMES);
    }
}
