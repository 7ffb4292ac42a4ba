//! What the applications of the tests do.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use opencl_sys as cl;
use opencl_sys::{cl_event, cl_int, cl_kernel};

use crate::support::{Gpu, SCALE, api, number, set};
use crate::{cl, made, ok};

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
    fn fork() -> i32;
    fn exit(code: i32) -> !;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
}

/// Plays a role.
pub(crate) fn play(role: &str) {
    if api().is_none() {
        println!("no OpenCL here");
        return;
    }
    if role == "nothing" {
        let mut count = 7;
        assert_eq!(cl!(clGetPlatformIDs(0, null_mut(), &raw mut count)), -1001);
        assert_eq!(count, 0);
        return;
    }
    let mut count = 0;
    cl!(clGetPlatformIDs(0, null_mut(), &raw mut count));
    if count == 0 {
        println!("no OpenCL here");
        return;
    }
    match role {
        "tidy" => tidy(),
        "wasteful" => wasteful(),
        "reads" => reads(),
        "late" => late(),
        _ => leaves(),
    }
}

/// How often the tidy application calls some functions.
pub(crate) const TIDY_CALLS: &[(&str, usize)] = &[
    ("clBuildProgram", 1),
    ("clCreateBuffer", 2),
    ("clCreateCommandQueue", 1),
    ("clCreateKernel", 1),
    ("clCreateUserEvent", 1),
    ("clEnqueueMarkerWithWaitList", 1),
    ("clEnqueueNDRangeKernel", 3),
    ("clEnqueueReadBuffer", 1),
    ("clFinish", 1),
    ("clReleaseContext", 1),
    // 25 on each of four threads, one in a callback, one at the end.
    ("clReleaseKernel", 102),
    ("clRetainKernel", 101),
    ("clSetKernelArg", 4),
    ("clSetEventCallback", 1),
];

static CALLED_BACK: AtomicUsize = AtomicUsize::new(0);

/// Calls the API from a thread of the driver.
unsafe extern "C" fn called_back(_: cl_event, status: cl_int, kernel: *mut c_void) {
    assert_eq!(status, cl::CL_COMPLETE);
    let kernel: cl_kernel = kernel;
    ok!(clRetainKernel(kernel));
    ok!(clReleaseKernel(kernel));
    CALLED_BACK.fetch_add(1, Ordering::Release);
}

/// Releases all that it makes, and asks for what the layer changes.
fn tidy() {
    let gpu = Gpu::first();
    let info = |param| {
        number(|size, value, size_ret| cl!(clGetCommandQueueInfo(gpu.queue, param, size, value, size_ret)))
    };
    assert_eq!(info(cl::CL_QUEUE_PROPERTIES), Ok(0));
    let program = gpu.program(SCALE, "-D ADD=0.25f");
    let kernel = gpu.kernel(program, "scale");
    let numbers: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let (from, to) = (gpu.buffer(&numbers), gpu.buffer(&[0.0; 64]));
    set(kernel, 0, &from);
    set(kernel, 1, &to);
    set(kernel, 2, &2f32);
    let wrong = cl!(clSetKernelArg(kernel, 99, 4, (&raw const numbers[0]).cast()));
    assert_eq!(wrong, cl::CL_INVALID_ARG_INDEX);
    gpu.run(kernel, 16);
    gpu.run(kernel, 32);

    // A launch with an event, which is reported to a callback.
    let (global, none, mut event) = (64usize, null(), null_mut());
    let sizes = (&raw const global, none);
    ok!(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, none, sizes.0, sizes.1, 0, null(), &raw mut event));
    ok!(clSetEventCallback(event, cl::CL_COMPLETE, Some(called_back), kernel));
    let of = |param| number(|size, value, size_ret| cl!(clGetEventInfo(event, param, size, value, size_ret)));
    ok!(clWaitForEvents(1, &raw const event));
    while CALLED_BACK.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(of(cl::CL_EVENT_COMMAND_EXECUTION_STATUS), Ok(0));
    // The driver may hold it too, for a moment or longer: the test compares the number with that without the layer.
    ok!(clFinish(gpu.queue));
    std::thread::sleep(std::time::Duration::from_millis(100));
    println!("references: {:?}", of(cl::CL_EVENT_REFERENCE_COUNT));
    let time = number(|size, value, size_ret| {
        cl!(clGetEventProfilingInfo(event, cl::CL_PROFILING_COMMAND_START, size, value, size_ret))
    });
    assert_eq!(time, Err(cl::CL_PROFILING_INFO_NOT_AVAILABLE));
    ok!(clReleaseEvent(event));

    // A command that waits for the host.
    let (gate, mut after) = (made!(clCreateUserEvent(gpu.context)), null_mut());
    ok!(clEnqueueMarkerWithWaitList(gpu.queue, 1, &raw const gate, &raw mut after));
    ok!(clSetUserEventStatus(gate, cl::CL_COMPLETE));
    ok!(clWaitForEvents(1, &raw const after));
    ok!(clReleaseEvent(gate));
    ok!(clReleaseEvent(after));

    let address = kernel.addr();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn(move || {
                let kernel: cl_kernel = std::ptr::with_exposed_provenance_mut(address);
                for _ in 0..25 {
                    ok!(clRetainKernel(kernel));
                    ok!(clReleaseKernel(kernel));
                }
            })
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().is_ok()));

    let expected: Vec<f32> = numbers.iter().map(|number| number * 2.0 + 0.25).collect();
    assert_eq!(gpu.read(to, 64), expected);
    ok!(clReleaseMemObject(from));
    ok!(clReleaseMemObject(to));
    ok!(clReleaseKernel(kernel));
    ok!(clReleaseProgram(program));
    ok!(clReleaseCommandQueue(gpu.queue));
    ok!(clReleaseContext(gpu.context));
}

/// Does what costs time, and leaks.
fn wasteful() {
    let gpu = Gpu::first();
    let program = gpu.program(SCALE, "-D ADD=0.0f");
    let kernel = gpu.kernel(program, "scale");
    let (flags, bytes) = (cl::CL_MEM_READ_WRITE, 256);
    let to = made!(clCreateBuffer(gpu.context, flags, 4096, null_mut()));
    set(kernel, 1, &to);
    set(kernel, 2, &1f32);
    for i in 0..20 {
        let from = made!(clCreateBuffer(gpu.context, flags, bytes, null_mut()));
        let numbers = [i as f32; 64];
        let (queue, pointer) = (gpu.queue, numbers.as_ptr().cast());
        ok!(clEnqueueWriteBuffer(queue, from, 1, 0, bytes, pointer, 0, null(), null_mut()));
        set(kernel, 0, &from);
        gpu.run(kernel, 64);
        ok!(clFinish(gpu.queue));
        assert_eq!(gpu.read(to, 64), numbers);
        ok!(clReleaseMemObject(from));
    }
    for bytes in [64, 128, 192] {
        made!(clCreateBuffer(gpu.context, flags, bytes, null_mut()));
    }
    ok!(clRetainKernel(kernel));
    ok!(clRetainKernel(kernel));
    ok!(clReleaseMemObject(to));
}

static KEPT: AtomicUsize = AtomicUsize::new(0);

extern "C" fn release_kept() {
    ok!(clReleaseMemObject(std::ptr::with_exposed_provenance_mut(KEPT.load(Ordering::Relaxed))));
}

/// Releases a buffer while the process ends, as destructors of C++ do. The context leaks.
fn late() {
    // SAFETY: registered before OpenCL is used, it runs after what OpenCL registers.
    assert_eq!(unsafe { atexit(release_kept) }, 0);
    let gpu = Gpu::first();
    KEPT.store(gpu.buffer(&[1.0; 16]).expose_provenance(), Ordering::Relaxed);
    ok!(clReleaseCommandQueue(gpu.queue));
}

/// Waits for the results of each launch.
fn reads() {
    let gpu = Gpu::first();
    let program = gpu.program(SCALE, "-D ADD=1.0f");
    let kernel = gpu.kernel(program, "scale");
    let (from, to) = (gpu.buffer(&[1.0; 64]), gpu.buffer(&[0.0; 64]));
    set(kernel, 0, &from);
    set(kernel, 1, &to);
    set(kernel, 2, &1f32);
    for _ in 0..10 {
        gpu.run(kernel, 64);
        assert_eq!(gpu.read(to, 64), [2.0; 64]);
    }
}

/// Forks, and ends while a launch waits for an event that nobody completes.
fn leaves() {
    let gpu = Gpu::first();
    let program = gpu.program(SCALE, "-D ADD=1.0f");
    let kernel = gpu.kernel(program, "scale");
    // SAFETY: the child calls the layer, and ends.
    let child = unsafe { fork() };
    if child == 0 {
        let mut count = 0;
        let code = cl!(clGetPlatformIDs(0, null_mut(), &raw mut count));
        // SAFETY: functions that the process registered run as at every end.
        unsafe { exit(i32::from(code != 0 || count == 0)) };
    }
    let mut status = -1;
    // SAFETY: the child is this process' own.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    let (from, to) = (gpu.buffer(&[1.0; 64]), gpu.buffer(&[0.0; 64]));
    set(kernel, 0, &from);
    set(kernel, 1, &to);
    set(kernel, 2, &1f32);
    let gate = made!(clCreateUserEvent(gpu.context));
    let (none, global) = (null(), &raw const SIZE);
    let (queue, waits) = (gpu.queue, &raw const gate);
    ok!(clEnqueueNDRangeKernel(queue, kernel, 1, none, global, none, 1, waits, null_mut()));
    ok!(clFlush(gpu.queue));
    // SAFETY: as above. The threads of the driver still run.
    unsafe { exit(0) };
}

static SIZE: usize = 64;
