//! An application of OpenCL: it loads `libOpenCL.so.1`, and calls the functions by their names.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]
#![allow(unsafe_code, reason = "calls of a C API, with valid arguments")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::unused_self, reason = "tests")]
#![allow(clippy::macro_metavars_in_unsafe, reason = "the application calls a C API")]
#![allow(non_snake_case, reason = "the names in the API")]

use std::ffi::c_void;
use std::path::PathBuf;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use libloading::Library;
use opencl_sys as cl;
use opencl_sys::cl_function_types as types;
use opencl_sys::{CL_SUCCESS, cl_command_queue, cl_context, cl_device_id, cl_kernel, cl_mem, cl_program};

/// The variable that makes a test program the application.
pub const ROLE: &str = "TRIPIPE_LAYER_TEST_ROLE";

/// A library that cargo builds for tests: beside them, or one folder up.
pub fn library(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let deps = test.parent().unwrap();
    let name = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let found = [deps.join(&name), deps.parent().unwrap().join(&name)];
    let newest = found.into_iter().filter(|path| path.exists());
    newest
        .max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
        .unwrap_or_else(|| panic!("{name} is not in {}", deps.display()))
}

/// This program as the application of a role, under the layer.
pub fn application(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "roles", "--nocapture"]).env(ROLE, role);
    command.env("OPENCL_LAYERS", library("tripipe_layer")).env("TRIPIPE_LOG", "1");
    command
}

/// The role of this process; `None` for a test.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

macro_rules! functions {
    ($($name:ident: $ty:ident,)*) => {
        /// Functions of OpenCL.
        pub struct Api { $(pub $name: types::$ty,)* }

        fn load() -> Option<Api> {
            // SAFETY: the OpenCL library of the system.
            let library = Box::leak(Box::new(unsafe { Library::new("libOpenCL.so.1") }.ok()?));
            Some(Api { $(
                // SAFETY: the function of this name has this type.
                $name: unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }.ok().and_then(|f| *f),
            )* })
        }
    };
}

functions! {
    clGetPlatformIDs: clGetPlatformIDs_t,
    clGetDeviceIDs: clGetDeviceIDs_t,
    clCreateContext: clCreateContext_t,
    clReleaseContext: clReleaseContext_t,
    clCreateCommandQueue: clCreateCommandQueue_t,
    clCreateCommandQueueWithProperties: clCreateCommandQueueWithProperties_t,
    clGetCommandQueueInfo: clGetCommandQueueInfo_t,
    clReleaseCommandQueue: clReleaseCommandQueue_t,
    clCreateBuffer: clCreateBuffer_t,
    clReleaseMemObject: clReleaseMemObject_t,
    clCreateProgramWithSource: clCreateProgramWithSource_t,
    clBuildProgram: clBuildProgram_t,
    clReleaseProgram: clReleaseProgram_t,
    clCreateKernel: clCreateKernel_t,
    clCreateKernelsInProgram: clCreateKernelsInProgram_t,
    clRetainKernel: clRetainKernel_t,
    clReleaseKernel: clReleaseKernel_t,
    clSetKernelArg: clSetKernelArg_t,
    clEnqueueNDRangeKernel: clEnqueueNDRangeKernel_t,
    clEnqueueReadBuffer: clEnqueueReadBuffer_t,
    clEnqueueWriteBuffer: clEnqueueWriteBuffer_t,
    clEnqueueMapBuffer: clEnqueueMapBuffer_t,
    clEnqueueUnmapMemObject: clEnqueueUnmapMemObject_t,
    clEnqueueMarkerWithWaitList: clEnqueueMarkerWithWaitList_t,
    clCreateUserEvent: clCreateUserEvent_t,
    clSetUserEventStatus: clSetUserEventStatus_t,
    clSetEventCallback: clSetEventCallback_t,
    clWaitForEvents: clWaitForEvents_t,
    clGetEventInfo: clGetEventInfo_t,
    clGetEventProfilingInfo: clGetEventProfilingInfo_t,
    clReleaseEvent: clReleaseEvent_t,
    clFlush: clFlush_t,
    clFinish: clFinish_t,
}

/// The functions; `None` without OpenCL.
pub fn api() -> Option<&'static Api> {
    static API: OnceLock<Option<Api>> = OnceLock::new();
    API.get_or_init(load).as_ref()
}

/// Calls a function.
#[macro_export]
macro_rules! cl {
    ($name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the arguments are valid.
        unsafe { $crate::support::api().unwrap().$name.unwrap()($($argument),*) }
    };
}

/// Calls a function that has to succeed.
#[macro_export]
macro_rules! ok {
    ($name:ident($($argument:expr),* $(,)?)) => {
        assert_eq!($crate::cl!($name($($argument),*)), 0, stringify!($name))
    };
}

/// Calls a function that makes an object.
#[macro_export]
macro_rules! made {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let mut code = 1;
        let object = $crate::cl!($name($($argument,)* &raw mut code));
        assert_eq!(code, 0, stringify!($name));
        object
    }};
}

/// A device with a context and a queue.
pub struct Gpu {
    pub device: cl_device_id,
    pub context: cl_context,
    pub queue: cl_command_queue,
}

impl Gpu {
    /// The first device of the first platform, and a queue without times.
    pub fn first() -> Self {
        let (mut platform, mut device) = (null_mut(), null_mut());
        ok!(clGetPlatformIDs(1, &raw mut platform, null_mut()));
        ok!(clGetDeviceIDs(platform, cl::CL_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut()));
        let context = made!(clCreateContext(null(), 1, &raw const device, None, null_mut()));
        let queue = made!(clCreateCommandQueue(context, device, 0));
        Self { device, context, queue }
    }

    /// A program that is built.
    pub fn program(&self, source: &str, options: &str) -> cl_program {
        let (mut text, length) = (source.as_ptr().cast(), source.len());
        let program = made!(clCreateProgramWithSource(self.context, 1, &raw mut text, &raw const length));
        let options = std::ffi::CString::new(options).unwrap();
        ok!(clBuildProgram(program, 1, &raw const self.device, options.as_ptr(), None, null_mut()));
        program
    }

    /// A kernel of a program.
    pub fn kernel(&self, program: cl_program, name: &str) -> cl_kernel {
        let name = std::ffi::CString::new(name).unwrap();
        made!(clCreateKernel(program, name.as_ptr()))
    }

    /// A buffer with these numbers.
    pub fn buffer(&self, numbers: &[f32]) -> cl_mem {
        let flags = cl::CL_MEM_READ_WRITE | cl::CL_MEM_COPY_HOST_PTR;
        let from = numbers.as_ptr().cast::<c_void>().cast_mut();
        made!(clCreateBuffer(self.context, flags, size_of_val(numbers), from))
    }

    /// The numbers of a buffer.
    pub fn read(&self, buffer: cl_mem, count: usize) -> Vec<f32> {
        let mut numbers = vec![0f32; count];
        let (bytes, to) = (size_of_val(&numbers[..]), numbers.as_mut_ptr().cast());
        ok!(clEnqueueReadBuffer(self.queue, buffer, 1, 0, bytes, to, 0, null(), null_mut()));
        numbers
    }

    /// Runs a kernel over a range of one dimension.
    pub fn run(&self, kernel: cl_kernel, global: usize) {
        let (none, global) = (null(), &raw const global);
        ok!(clEnqueueNDRangeKernel(self.queue, kernel, 1, none, global, none, 0, null(), null_mut()));
    }
}

/// Sets an argument.
pub fn set<T>(kernel: cl_kernel, index: u32, value: &T) {
    ok!(clSetKernelArg(kernel, index, size_of::<T>(), std::ptr::from_ref(value).cast()));
}

/// Scales and adds: element `i` of `out` is element `i` of `in` times `by`, plus `ADD`.
pub const SCALE: &str = "kernel void scale(global const float *in, global float *out, float by) {
    size_t i = get_global_id(0);
    out[i] = in[i] * by + ADD;
}
";

/// A value of a query.
pub fn number(ask: impl Fn(usize, *mut c_void, *mut usize) -> i32) -> Result<u64, i32> {
    let (mut value, mut size) = (0u64, 0);
    match ask(size_of::<u64>(), (&raw mut value).cast(), &raw mut size) {
        CL_SUCCESS => Ok(if size == 4 { value & 0xFFFF_FFFF } else { value }),
        code => Err(code),
    }
}
