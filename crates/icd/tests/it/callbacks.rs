//! Callbacks of builds and of objects, and kernels that are copied.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use opencl_sys as cl;

use crate::support::{self, application};

/// A callback sends the handle that it is called with, and the number that was registered.
struct Sent {
    to: Sender<(usize, u32)>,
    number: u32,
}

unsafe extern "C" fn send(handle: *mut c_void, data: *mut c_void) {
    // SAFETY: the tests register a `Sent`, for one call.
    let sent = unsafe { Box::from_raw(data.cast::<Sent>()) };
    sent.to.send((handle as usize, sent.number)).unwrap();
}

fn data(to: &Sender<(usize, u32)>, number: u32) -> *mut c_void {
    Box::into_raw(Box::new(Sent { to: to.clone(), number })).cast()
}

/// The next call; a callback that never comes fails the test.
fn next(calls: &Receiver<(usize, u32)>) -> (usize, u32) {
    calls.recv_timeout(Duration::from_secs(300)).unwrap()
}

fn status(app: &support::Application, program: cl::cl_program) -> cl::cl_build_status {
    support::number(|size, value, got| {
        let query = cl::CL_PROGRAM_BUILD_STATUS;
        cl!(clGetProgramBuildInfo(program, app.device, query, size, value, got))
    })
}

#[test]
fn builds_call_back_when_they_end() {
    let app = application(0);
    let (to, calls) = channel();
    let good = app.program("kernel void k(global int *p) { p[get_global_id(0)] = 7; }");
    let broken = app.program("kernel void k(global int *p) { p[0] = missing; }");
    // With a callback, the call itself succeeds.
    for (number, program) in [good, broken].into_iter().enumerate() {
        let data = data(&to, number as u32);
        let begun = cl!(clBuildProgram(program, 0, null(), null(), Some(send), data));
        assert_eq!(begun, cl::CL_SUCCESS);
        assert_eq!(next(&calls), (program as usize, number as u32));
    }
    assert_eq!((status(&app, good), status(&app, broken)), (cl::CL_BUILD_SUCCESS, cl::CL_BUILD_ERROR));
    assert!(app.log(broken).contains("missing"), "{}", app.log(broken));

    let part = app.program("int triple(int x) { return 3 * x; }");
    let none = (null(), null_mut());
    let compiled =
        cl!(clCompileProgram(part, 0, null(), null(), 0, none.0, none.1, Some(send), data(&to, 2)));
    assert_eq!((compiled, next(&calls)), (cl::CL_SUCCESS, (part as usize, 2)));
    let caller = app.program("int triple(int); kernel void k(global int *p) { *p = triple(*p); }");
    let compiled =
        cl!(clCompileProgram(caller, 0, null(), null(), 0, none.0, none.1, Some(send), data(&to, 3)));
    assert_eq!((compiled, next(&calls)), (cl::CL_SUCCESS, (caller as usize, 3)));
    let programs = [part, caller];
    let linked =
        made!(clLinkProgram(app.context, 0, null(), null(), 2, programs.as_ptr(), Some(send), data(&to, 4)));
    assert_eq!(next(&calls), (linked as usize, 4));
    let kernel = made!(clCreateKernel(linked, c"k".as_ptr()));
    let buffer = app.buffer(0, &[14i32]);
    app.set(kernel, 0, &buffer);
    app.run(kernel, 1);
    assert_eq!(app.read::<i32>(buffer, 1), [42]);

    // Data without a function.
    let mut unused = 0u32;
    let data = (&raw mut unused).cast();
    assert_eq!(cl!(clBuildProgram(good, 0, null(), null(), None, data)), cl::CL_INVALID_VALUE);
}

/// OpenCL 3.0, clSetMemObjectDestructorCallback: the last one that was registered is called first.
#[test]
fn objects_call_back_when_they_are_gone() {
    let app = application(0);
    let (to, calls) = channel();
    let buffer = app.buffer(0, &[0u8; 256]);
    let region = cl::cl_buffer_region { origin: 128, size: 64 };
    let kind = cl::CL_BUFFER_CREATE_TYPE_REGION;
    let part = made!(clCreateSubBuffer(buffer, 0, kind, (&raw const region).cast()));
    for number in 0..3 {
        let set = cl!(clSetMemObjectDestructorCallback(buffer, Some(send), data(&to, number)));
        assert_eq!(set, cl::CL_SUCCESS);
    }
    assert_eq!(cl!(clSetMemObjectDestructorCallback(part, Some(send), data(&to, 9))), cl::CL_SUCCESS);
    assert_eq!(cl!(clSetMemObjectDestructorCallback(part, None, null_mut())), cl::CL_INVALID_VALUE);
    // The part keeps the whole.
    assert_eq!(cl!(clReleaseMemObject(buffer)), cl::CL_SUCCESS);
    assert!(calls.try_recv().is_err());
    assert_eq!(cl!(clReleaseMemObject(part)), cl::CL_SUCCESS);
    assert_eq!(next(&calls), (part as usize, 9));
    for number in [2, 1, 0] {
        assert_eq!(next(&calls), (buffer as usize, number));
    }

    let set = cl!(clSetContextDestructorCallback(app.context, Some(send), data(&to, 20)));
    assert_eq!(set, cl::CL_SUCCESS);
    let set = cl!(clSetContextDestructorCallback(app.context, Some(send), data(&to, 21)));
    assert_eq!(set, cl::CL_SUCCESS);
    assert_eq!(cl!(clReleaseContext(app.context)), cl::CL_SUCCESS);
    assert!(calls.try_recv().is_err());
    assert_eq!(cl!(clReleaseCommandQueue(app.queue)), cl::CL_SUCCESS);
    for number in [21, 20] {
        assert_eq!(next(&calls), (app.context as usize, number));
    }
}

/// OpenCL 3.0, clCloneKernel: the copy has the arguments that were set, and further ones are set for one of the two.
#[test]
fn a_copied_kernel_has_arguments_of_its_own() {
    let app = application(0);
    let source = "kernel void k(global int *to, int by, local int *shared) {
        int i = get_local_id(0);
        shared[i] = by * i;
        barrier(CLK_LOCAL_MEM_FENCE);
        to[i] = shared[get_local_size(0) - 1 - i];
    }";
    let kernel = app.kernel(source, "k");
    let (first, second) = (app.buffer(0, &[0i32; 4]), app.buffer(0, &[0i32; 4]));
    app.set(kernel, 0, &first);
    assert_eq!(cl!(clSetKernelArg(kernel, 2, 16, null())), cl::CL_SUCCESS);
    // An argument is missing in both.
    let copy = made!(clCloneKernel(kernel));
    app.set(kernel, 1, &10i32);
    app.set(copy, 1, &100i32);
    app.set(copy, 0, &second);
    app.run(copy, 4);
    assert_eq!(app.read::<i32>(first, 4), [0; 4]);
    assert_eq!(app.read::<i32>(second, 4), [300, 200, 100, 0]);
    app.run(kernel, 4);
    assert_eq!(app.read::<i32>(first, 4), [30, 20, 10, 0]);
    assert_eq!(app.read::<i32>(second, 4), [300, 200, 100, 0]);

    // The copy outlives the kernel, and is not counted with it.
    assert_eq!(cl!(clReleaseKernel(kernel)), cl::CL_SUCCESS);
    assert_eq!(cl!(clReleaseKernel(kernel)), cl::CL_INVALID_KERNEL);
    app.set(copy, 1, &-1i32);
    app.run(copy, 4);
    assert_eq!(app.read::<i32>(second, 4), [-3, -2, -1, 0]);
    assert_eq!(cl!(clReleaseKernel(copy)), cl::CL_SUCCESS);
    assert_eq!(refused!(clCloneKernel(copy)), cl::CL_INVALID_KERNEL);
}
