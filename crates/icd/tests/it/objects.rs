//! What OpenCL-CTS found in the driver: objects and errors.

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};

use opencl_sys as cl;

use crate::support::{self, application, platform};

/// Counts calls.
unsafe extern "C" fn count(_: cl::cl_mem, counter: *mut c_void) {
    // SAFETY: the tests pass a counter, which outlives the object.
    unsafe { (*counter.cast::<AtomicU32>()).fetch_add(1, Ordering::AcqRel) };
}

/// OpenCL 3.0, clSetKernelArg: a kernel does not retain its arguments.
#[test]
fn an_argument_does_not_keep_a_buffer() {
    let app = application(0);
    let kernel = app.kernel("kernel void k(global int *p) { p[0] = 1; }", "k");
    let buffer = app.buffer(0, &[0i32; 4]);
    let gone = AtomicU32::new(0);
    let counter = std::ptr::from_ref(&gone).cast_mut().cast();
    assert_eq!(cl!(clSetMemObjectDestructorCallback(buffer, Some(count), counter)), cl::CL_SUCCESS);
    app.set(kernel, 0, &buffer);
    app.run(kernel, 1);
    assert_eq!(cl!(clReleaseMemObject(buffer)), cl::CL_SUCCESS);
    assert_eq!(gone.load(Ordering::Acquire), 1);
    assert_eq!(app.enqueue(kernel, 1), cl::CL_INVALID_KERNEL_ARGS);
}

/// OpenCL 3.0, clCreateContext: a value of a property that is not valid.
#[test]
fn properties_of_contexts_have_valid_values() {
    let app = application(0);
    for (value, code) in [(0, cl::CL_SUCCESS), (1, cl::CL_SUCCESS), (-1, cl::CL_INVALID_PROPERTY)] {
        let properties = [cl::CL_CONTEXT_INTEROP_USER_SYNC, value, 0];
        let mut made = 1;
        let devices = &raw const app.device;
        let context = cl!(clCreateContext(properties.as_ptr(), 1, devices, None, null_mut(), &raw mut made));
        assert_eq!((made, context.is_null()), (code, code != cl::CL_SUCCESS), "{value}");
    }
}

/// OpenCL 3.0, appendix on optional features: what is not offered has these codes.
#[test]
fn devices_without_queues_and_pipes_say_so() {
    let app = application(0);
    let set = cl!(clSetDefaultDeviceCommandQueue(app.context, app.device, null_mut()));
    assert_eq!(set, cl::CL_INVALID_OPERATION);
    let buffer = app.buffer(0, &[0i32; 4]);
    let mut size = 0u32;
    let got = cl!(clGetPipeInfo(buffer, cl::CL_PIPE_PACKET_SIZE, 4, (&raw mut size).cast(), null_mut()));
    assert_eq!(got, cl::CL_INVALID_MEM_OBJECT);
}

/// The functions of extensions, asked for through OpenCL's loader, which has symbols of the same names.
#[test]
fn the_loader_finds_functions_of_extensions() {
    let variables = [("OCL_ICD_VENDORS", support::library())];
    if support::again("objects::the_loader_finds_functions_of_extensions", &variables).is_some() {
        return;
    }
    // SAFETY: OpenCL's loader, whose functions have these signatures.
    unsafe {
        let Ok(loader) = libloading::Library::new("libOpenCL.so.1") else {
            assert!(std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none(), "there is no ICD loader");
            eprintln!("skipped: there is no ICD loader");
            return;
        };
        let list: libloading::Symbol<
            '_,
            unsafe extern "C" fn(u32, *mut cl::cl_platform_id, *mut u32) -> cl::cl_int,
        > = loader.get(b"clGetPlatformIDs\0").unwrap();
        let mut found = null_mut();
        assert_eq!(list(1, &raw mut found, null_mut()), cl::CL_SUCCESS);
        let find: libloading::Symbol<'_, unsafe extern "C" fn(cl::cl_platform_id, *const i8) -> *mut c_void> =
            loader.get(b"clGetExtensionFunctionAddressForPlatform\0").unwrap();
        for name in [c"clCreateCommandQueueWithPropertiesKHR", c"clCreateProgramWithILKHR"] {
            assert!(!find(found, name.as_ptr()).is_null(), "{name:?}");
        }
        assert!(find(found, c"clNothingKHR".as_ptr()).is_null());
    }
    assert!(!platform().is_null());
}

/// OpenCL 3.0, `CL_DEVICE_TYPE` and `clCreateContextFromType`: one type, which is not the default one.
#[test]
fn a_device_has_one_type() {
    let app = application(0);
    let kind: u64 = support::number(|size, value, got| {
        cl!(clGetDeviceInfo(app.device, cl::CL_DEVICE_TYPE, size, value, got))
    });
    assert_eq!(kind, cl::CL_DEVICE_TYPE_GPU);
    let mut default = null_mut();
    let kind = cl::CL_DEVICE_TYPE_DEFAULT;
    assert_eq!(cl!(clGetDeviceIDs(platform(), kind, 1, &raw mut default, null_mut())), cl::CL_SUCCESS);
    assert_eq!(default, app.device);
}

/// OpenCL 3.0, clBuildProgram: `-cl-uniform-work-group-size` forbids work-groups of different sizes.
#[test]
fn options_of_programs_are_obeyed() {
    let app = application(0);
    let source = "kernel void k(global int *p) { p[get_global_id(0)] = 1; }";
    for (options, code) in [
        (c"-cl-no-subgroup-ifp", cl::CL_SUCCESS),
        (c"-cl-uniform-work-group-size", cl::CL_INVALID_WORK_GROUP_SIZE),
    ] {
        let program = app.program(source);
        let built = cl!(clBuildProgram(program, 0, null(), options.as_ptr(), None, null_mut()));
        assert_eq!(built, cl::CL_SUCCESS, "{}", app.log(program));
        let kernel = made!(clCreateKernel(program, c"k".as_ptr()));
        app.set(kernel, 0, &app.buffer(0, &[0i32; 10]));
        let (global, local) = (10usize, 4usize);
        let ran = cl!(clEnqueueNDRangeKernel(
            app.queue,
            kernel,
            1,
            null(),
            &raw const global,
            &raw const local,
            0,
            null(),
            null_mut()
        ));
        assert_eq!(ran, code, "{options:?}");
        assert_eq!(cl!(clFinish(app.queue)), cl::CL_SUCCESS);
    }
}

/// OpenCL 3.0, clSetKernelArg: codes for values that are not of the argument's type.
#[test]
fn wrong_objects_have_the_code_of_the_type() {
    let app = application(0);
    let source = "kernel void k(read_only image2d_t i, sampler_t s, global float4 *p) { *p = read_imagef(i, s, (float2)(0)); }";
    let kernel = app.kernel(source, "k");
    let buffer = app.buffer(0, &[0i32; 4]);
    let size = size_of::<cl::cl_mem>();
    let of = |pointer: *const cl::cl_mem| pointer.cast::<c_void>();
    assert_eq!(cl!(clSetKernelArg(kernel, 0, size, of(&raw const buffer))), cl::CL_INVALID_MEM_OBJECT);
    assert_eq!(cl!(clSetKernelArg(kernel, 0, size, null())), cl::CL_INVALID_MEM_OBJECT);
    assert_eq!(cl!(clSetKernelArg(kernel, 1, size, of(&raw const buffer))), cl::CL_INVALID_SAMPLER);
    assert_eq!(cl!(clSetKernelArg(kernel, 1, size, null())), cl::CL_INVALID_SAMPLER);
}

/// OpenCL 3.0, clSetKernelArg: the access of an image's argument, and the flags of the image.
#[test]
fn images_are_accessed_as_their_flags_allow() {
    let app = application(0);
    let source = "kernel void k(read_only image2d_t r, write_only image2d_t w) { write_imagei(w, (int2)(0), read_imagei(r, (int2)(0))); }
        kernel void b(read_write image2d_t a) { write_imagei(a, (int2)(0), read_imagei(a, (int2)(1))); }";
    let program = app.program(source);
    let options = c"-cl-std=CL3.0";
    let built = cl!(clBuildProgram(program, 0, null(), options.as_ptr(), None, null_mut()));
    assert_eq!(built, cl::CL_SUCCESS, "{}", app.log(program));
    let two = made!(clCreateKernel(program, c"k".as_ptr()));
    let both = made!(clCreateKernel(program, c"b".as_ptr()));
    let format = cl::cl_image_format {
        image_channel_order: cl::CL_RGBA,
        image_channel_data_type: cl::CL_SIGNED_INT32,
    };
    for (flags, codes) in [
        (cl::CL_MEM_READ_ONLY, [true, false, false]),
        (cl::CL_MEM_WRITE_ONLY, [false, true, false]),
        (cl::CL_MEM_READ_WRITE, [true, true, true]),
    ] {
        let image = made!(clCreateImage2D(app.context, flags, &raw const format, 4, 4, 0, null_mut()));
        let set = |kernel, index| {
            cl!(clSetKernelArg(kernel, index, size_of_val(&image), (&raw const image).cast()))
        };
        let codes = codes.map(|fits| if fits { cl::CL_SUCCESS } else { cl::CL_INVALID_ARG_VALUE });
        assert_eq!([set(two, 0), set(two, 1), set(both, 0)], codes, "{flags:#x}");
    }
}

/// The extension `cl_khr_subgroups` demands that sub-groups of a work-group make progress while others wait for them.
#[test]
fn sub_groups_wait_for_each_other() {
    let app = application(0);
    let extensions = support::text(|size, value, got| {
        cl!(clGetDeviceInfo(app.device, cl::CL_DEVICE_EXTENSIONS, size, value, got))
    });
    let progress: u32 = support::number(|size, value, got| {
        let query = cl::CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS;
        cl!(clGetDeviceInfo(app.device, query, size, value, got))
    });
    assert_eq!(progress != 0, extensions.split(' ').any(|name| name == "cl_khr_subgroups"));
    assert_eq!(progress, 1);
    // The sub-groups add their numbers to a digit in turn: forwards or backwards.
    let source = "kernel void k(global uint *to, int forwards) {
        local uint turn, sum;
        if (get_local_id(0) == 0)
            turn = sum = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        uint own = forwards ? get_sub_group_id() : get_num_sub_groups() - 1 - get_sub_group_id();
        if (get_sub_group_local_id() == 0) {
            while (atomic_or(&turn, 0) != own)
                ;
            sum = 10 * sum + get_sub_group_id() + 1;
            atomic_inc(&turn);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (get_local_id(0) == 0)
            *to = sum;
    }";
    let program = app.program(source);
    let built = cl!(clBuildProgram(program, 0, null(), c"-cl-std=CL3.0".as_ptr(), None, null_mut()));
    assert_eq!(built, cl::CL_SUCCESS, "{}", app.log(program));
    let kernel = made!(clCreateKernel(program, c"k".as_ptr()));
    let result = app.buffer(0, &[0u32]);
    app.set(kernel, 0, &result);
    let size = 4 * 16usize;
    for (forwards, expected) in [(1i32, 1234u32), (0, 4321)] {
        app.set(kernel, 1, &forwards);
        let ran = cl!(clEnqueueNDRangeKernel(
            app.queue,
            kernel,
            1,
            null(),
            &raw const size,
            &raw const size,
            0,
            null(),
            null_mut()
        ));
        assert_eq!(ran, cl::CL_SUCCESS);
        assert_eq!(app.read::<u32>(result, 1), [expected]);
    }
}
