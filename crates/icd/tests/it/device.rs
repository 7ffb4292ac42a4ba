//! What all contexts and queues of a device share: its memory, its clock, and the news that a command failed.

use std::ptr::{null, null_mut};

use opencl_sys as cl;

use crate::support::{Application, again, application, number};

const OUTSIDE: &str = "kernel void k(global int *to) { to[get_global_id(0) * 1000] = 1; }";

const LONG: &str = "kernel void k(global float *to) {
    float x = to[get_global_id(0)];
    for (int i = 0; i < 200; i++) x = mad(x, 1.1f, 0.5f);
    to[get_global_id(0)] = x;
}";

fn launch_outside(app: &Application) {
    let kernel = app.kernel(OUTSIDE, "k");
    let buffer = app.buffer(0, &[0i32; 16]);
    app.set(kernel, 0, &buffer);
    assert_eq!(app.enqueue(kernel, 4), cl::CL_SUCCESS);
    // The blocking command after it fails as the launch did, and once.
    let mut numbers = [0i32; 16];
    let to = numbers.as_mut_ptr().cast();
    let read = || cl!(clEnqueueReadBuffer(app.queue, buffer, 1, 0, 64, to, 0, null(), null_mut()));
    assert_eq!(read(), cl::CL_OUT_OF_RESOURCES);
    assert_eq!(read(), cl::CL_SUCCESS);
    assert_eq!(app.enqueue(kernel, 4), cl::CL_SUCCESS);
    assert_eq!(cl!(clFinish(app.queue)), cl::CL_OUT_OF_RESOURCES);
    assert_eq!(cl!(clFinish(app.queue)), cl::CL_SUCCESS);
}

#[test]
fn an_application_that_looks_at_codes_learns_that_a_launch_failed() {
    let test = "device::an_application_that_looks_at_codes_learns_that_a_launch_failed";
    let Some(said) = again::<&str>(test, &[]) else {
        launch_outside(&application(0));
        return;
    };
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("tripipe:")).collect();
    assert!(lines.len() == 1 && lines[0].contains("failed") && lines[0].contains("`k`"), "{said}");
}

/// The status of events says it, and the application made the event fail: the queue goes on.
#[test]
fn events_that_the_application_lets_fail_are_its_own() {
    let app = application(0);
    let event = made!(clCreateUserEvent(app.context));
    let marked = cl!(clEnqueueMarkerWithWaitList(app.queue, 1, &raw const event, null_mut()));
    assert_eq!(marked, cl::CL_SUCCESS);
    assert_eq!(cl!(clSetUserEventStatus(event, -1)), cl::CL_SUCCESS);
    assert_eq!(cl!(clFinish(app.queue)), cl::CL_SUCCESS);
}

#[test]
fn a_device_has_only_its_memory() {
    let test = "device::a_device_has_only_its_memory";
    if again(test, &[("TRIPIPE_DEVICES", "mali-t604")]).is_some() {
        return;
    }
    let app = application(0);
    let of_device = |query| number(|size, to, got| cl!(clGetDeviceInfo(app.device, query, size, to, got)));
    let all: u64 = of_device(cl::CL_DEVICE_GLOBAL_MEM_SIZE);
    let most: u64 = of_device(cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    let other = made!(clCreateContext(null(), 1, &raw const app.device, None, null_mut()));
    let mut buffers = Vec::new();
    let code = loop {
        let context = [app.context, other][buffers.len() % 2];
        let mut code = 1;
        let buffer = cl!(clCreateBuffer(context, 0, most as usize, null_mut(), &raw mut code));
        if buffer.is_null() {
            break code;
        }
        buffers.push(buffer);
        assert!(buffers.len() as u64 * most <= all, "{} buffers of {most} bytes", buffers.len());
    };
    assert_eq!(code, cl::CL_MEM_OBJECT_ALLOCATION_FAILURE);
    assert!((buffers.len() as u64 + 1) * most > all);
    // What is released is free again.
    assert_eq!(cl!(clReleaseMemObject(buffers[0])), cl::CL_SUCCESS);
    made!(clCreateBuffer(other, 0, most as usize, null_mut()));
}

/// Start and end of a launch.
fn timed(app: &Application, queue: cl::cl_command_queue, global: usize) -> [u64; 2] {
    let kernel = app.kernel(LONG, "k");
    let buffer = app.buffer(0, &vec![0f32; global]);
    app.set(kernel, 0, &buffer);
    let mut event = null_mut();
    let range = &raw const global;
    let ran = cl!(clEnqueueNDRangeKernel(queue, kernel, 1, null(), range, null(), 0, null(), &raw mut event));
    assert_eq!((ran, cl!(clFlush(queue))), (cl::CL_SUCCESS, cl::CL_SUCCESS));
    assert_eq!(cl!(clWaitForEvents(1, &raw const event)), cl::CL_SUCCESS);
    [cl::CL_PROFILING_COMMAND_START, cl::CL_PROFILING_COMMAND_END]
        .map(|query| number(|size, value, got| cl!(clGetEventProfilingInfo(event, query, size, value, got))))
}

#[test]
fn queues_share_a_device_and_its_clock() {
    let app = application(cl::CL_QUEUE_PROFILING_ENABLE);
    let second = made!(clCreateCommandQueue(app.context, app.device, cl::CL_QUEUE_PROFILING_ENABLE));
    let mut last = 0;
    for queue in [app.queue, second, app.queue, second] {
        let [start, end] = timed(&app, queue, 4096);
        assert!(last <= start && start < end, "{last} {start} {end}");
        last = end;
    }
}
