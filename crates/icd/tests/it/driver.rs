//! The driver through its library: objects, commands and errors.

use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

use opencl_sys as cl;

use crate::support::{application, number, platform, text};

const SCALE: &str =
    "kernel void scale(global float *to, global const float *from, float factor, local float *shared) {
    size_t i = get_global_id(0);
    shared[get_local_id(0)] = from[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[i] = shared[get_local_id(0)] * factor + 1.0f;
}";

#[test]
fn a_launch_computes_results_and_has_predicted_times() {
    let app = application(cl::CL_QUEUE_PROFILING_ENABLE);
    let kernel = app.kernel(SCALE, "scale");
    let from: Vec<f32> = (0..1024).map(|i| i as f32).collect();
    let (a, b) = (app.buffer(cl::CL_MEM_WRITE_ONLY, &from), app.buffer(cl::CL_MEM_READ_ONLY, &from));
    app.set(kernel, 0, &a);
    app.set(kernel, 1, &b);
    app.set(kernel, 2, &2.0f32);
    assert_eq!(cl!(clSetKernelArg(kernel, 3, 64 * 4, null())), cl::CL_SUCCESS);
    let (global, local) = (1024usize, 64usize);
    let mut events = [null_mut(); 2];
    for event in &mut events {
        let ran = cl!(clEnqueueNDRangeKernel(
            app.queue,
            kernel,
            1,
            null(),
            &raw const global,
            &raw const local,
            0,
            null(),
            event
        ));
        assert_eq!(ran, cl::CL_SUCCESS);
    }
    let result: Vec<f32> = app.read(a, 1024);
    assert!(result.iter().zip(&from).all(|(result, from)| *result == from * 2.0 + 1.0));
    let times: Vec<u64> = events
        .iter()
        .flat_map(|event| {
            [
                cl::CL_PROFILING_COMMAND_QUEUED,
                cl::CL_PROFILING_COMMAND_SUBMIT,
                cl::CL_PROFILING_COMMAND_START,
                cl::CL_PROFILING_COMMAND_END,
            ]
            .map(|query| {
                number(|size, value, got| cl!(clGetEventProfilingInfo(*event, query, size, value, got)))
            })
        })
        .collect();
    assert!(times[..4].is_sorted() && times[4..].is_sorted() && times[3] <= times[6], "{times:?}");
    // The same launch takes the same time.
    assert_eq!(times[3] - times[2], times[7] - times[6]);
    assert!(times[3] > times[2]);
}

#[test]
fn wrong_handles_are_errors() {
    let app = application(0);
    let event = made!(clCreateUserEvent(app.context));
    assert_eq!(cl!(clReleaseEvent(event)), cl::CL_SUCCESS);
    let mut garbage = [0x5au64; 8];
    let forged = garbage.as_mut_ptr().cast::<c_void>();
    for wrong in [null_mut(), 8 as *mut c_void, forged, event, app.device, platform()] {
        assert_eq!(cl!(clRetainContext(wrong)), cl::CL_INVALID_CONTEXT);
        assert_eq!(cl!(clReleaseContext(wrong)), cl::CL_INVALID_CONTEXT);
        assert_eq!(cl!(clFinish(wrong)), cl::CL_INVALID_COMMAND_QUEUE);
        assert_eq!(cl!(clReleaseMemObject(wrong)), cl::CL_INVALID_MEM_OBJECT);
        assert_eq!(cl!(clReleaseSampler(wrong)), cl::CL_INVALID_SAMPLER);
        assert_eq!(cl!(clReleaseProgram(wrong)), cl::CL_INVALID_PROGRAM);
        assert_eq!(cl!(clReleaseKernel(wrong)), cl::CL_INVALID_KERNEL);
        assert_eq!(cl!(clReleaseEvent(wrong)), cl::CL_INVALID_EVENT);
        assert_eq!(cl!(clWaitForEvents(1, &raw const wrong)), cl::CL_INVALID_EVENT);
        assert_eq!(refused!(clCreateBuffer(wrong, 0, 4, null_mut())), cl::CL_INVALID_CONTEXT);
        assert_eq!(refused!(clCreateKernel(wrong, c"k".as_ptr())), cl::CL_INVALID_PROGRAM);
        assert_eq!(
            cl!(clEnqueueMarkerWithWaitList(app.queue, 1, &raw const wrong, null_mut())),
            cl::CL_INVALID_EVENT_WAIT_LIST
        );
        let read = cl!(clEnqueueReadBuffer(app.queue, wrong, 1, 0, 4, forged, 0, null(), null_mut()));
        assert_eq!(read, cl::CL_INVALID_MEM_OBJECT);
    }
    assert_eq!(
        cl!(clEnqueueMarkerWithWaitList(app.queue, 1, null(), null_mut())),
        cl::CL_INVALID_EVENT_WAIT_LIST
    );
    // A retained object stays; one that another needs stays, too.
    assert_eq!(cl!(clRetainContext(app.context)), cl::CL_SUCCESS);
    for _ in 0..2 {
        assert_eq!(cl!(clReleaseContext(app.context)), cl::CL_SUCCESS);
    }
    let owner: usize = number(|size, value, got| {
        cl!(clGetCommandQueueInfo(app.queue, cl::CL_QUEUE_CONTEXT, size, value, got))
    });
    assert_eq!(owner, app.context as usize);
    assert_eq!(cl!(clReleaseContext(app.context)), cl::CL_INVALID_CONTEXT);
    assert_eq!(cl!(clReleaseCommandQueue(app.queue)), cl::CL_SUCCESS);
    assert_eq!(cl!(clReleaseCommandQueue(app.queue)), cl::CL_INVALID_COMMAND_QUEUE);
}

#[test]
fn buffers_are_copied_filled_and_mapped() {
    let app = application(0);
    let numbers: Vec<u32> = (0..256).collect();
    let (a, b) = (app.buffer(0, &numbers), app.buffer(0, &vec![0u32; 256]));
    let none = (null(), null_mut());
    // 3 x 2 x 2 numbers, from (1, 2, 0) in 8 x 8 to (4, 0, 1) in 16 x 4.
    let (from, to, region) = ([4usize, 2, 0], [16usize, 0, 1], [12usize, 2, 2]);
    let copied = cl!(clEnqueueCopyBufferRect(
        app.queue,
        a,
        b,
        from.as_ptr(),
        to.as_ptr(),
        region.as_ptr(),
        32,
        256,
        64,
        256,
        0,
        none.0,
        none.1
    ));
    assert_eq!(copied, cl::CL_SUCCESS);
    let mut expected = vec![0u32; 256];
    for z in 0..2 {
        for y in 0..2 {
            for x in 0..3 {
                expected[(z + 1) * 64 + y * 16 + x + 4] = numbers[z * 64 + (y + 2) * 8 + x + 1];
            }
        }
    }
    assert_eq!(app.read::<u32>(b, 256), expected);
    let overlapping = cl!(clEnqueueCopyBuffer(app.queue, a, a, 0, 8, 16, 0, none.0, none.1));
    assert_eq!(overlapping, cl::CL_MEM_COPY_OVERLAP);
    let outside = cl!(clEnqueueCopyBuffer(app.queue, a, b, 1020, 0, 8, 0, none.0, none.1));
    assert_eq!(outside, cl::CL_INVALID_VALUE);

    // A sub-buffer is the same memory.
    let part = cl::cl_buffer_region { origin: 128, size: 64 };
    let sub = made!(clCreateSubBuffer(b, 0, cl::CL_BUFFER_CREATE_TYPE_REGION, (&raw const part).cast()));
    let pattern = 7u32;
    let filled =
        cl!(clEnqueueFillBuffer(app.queue, sub, (&raw const pattern).cast(), 4, 8, 16, 0, none.0, none.1));
    assert_eq!(filled, cl::CL_SUCCESS);
    expected[34..38].fill(7);
    assert_eq!(app.read::<u32>(b, 256), expected);
    let unaligned = cl::cl_buffer_region { origin: 4, size: 64 };
    let refused =
        refused!(clCreateSubBuffer(b, 0, cl::CL_BUFFER_CREATE_TYPE_REGION, (&raw const unaligned).cast()));
    assert_eq!(refused, cl::CL_MISALIGNED_SUB_BUFFER_OFFSET);

    // A kernel finds the sub-buffer where it begins.
    let kernel = app.kernel("kernel void add(global uint *p) { p[get_global_id(0)] += 100; }", "add");
    app.set(kernel, 0, &sub);
    app.run(kernel, 16);
    expected[32..48].iter_mut().for_each(|number| *number += 100);
    assert_eq!(app.read::<u32>(b, 256), expected);

    let flags = cl::CL_MAP_READ | cl::CL_MAP_WRITE;
    let mapped = made!(clEnqueueMapBuffer(app.queue, b, 1, flags, 16, 16, 0, none.0, none.1)).cast::<u32>();
    for (index, expected) in expected[4..8].iter_mut().enumerate() {
        // SAFETY: 16 bytes are mapped.
        unsafe {
            assert_eq!(*mapped.add(index), *expected);
            *mapped.add(index) += 1;
        }
        *expected += 1;
    }
    assert_eq!(cl!(clEnqueueUnmapMemObject(app.queue, b, mapped.cast(), 0, none.0, none.1)), cl::CL_SUCCESS);
    assert_eq!(app.read::<u32>(b, 256), expected);
    assert_eq!(
        cl!(clEnqueueUnmapMemObject(app.queue, b, mapped.cast(), 0, none.0, none.1)),
        cl::CL_INVALID_VALUE
    );
}

#[test]
fn images_are_written_filled_copied_and_sampled() {
    let app = application(0);
    let none = (null(), null_mut());
    let format =
        cl::cl_image_format { image_channel_order: cl::CL_RGBA, image_channel_data_type: cl::CL_FLOAT };
    let mut desc = cl::cl_image_desc {
        image_type: cl::CL_MEM_OBJECT_IMAGE2D,
        image_width: 8,
        image_height: 4,
        image_depth: 0,
        image_array_size: 0,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: null_mut(),
    };
    let image = made!(clCreateImage(app.context, 0, &raw const format, &raw const desc, null_mut()));
    let colour = [1.0f32, 2.0, 3.0, 4.0];
    let (origin, whole) = ([0usize; 3], [8usize, 4, 1]);
    let filled = cl!(clEnqueueFillImage(
        app.queue,
        image,
        colour.as_ptr().cast(),
        origin.as_ptr(),
        whole.as_ptr(),
        0,
        none.0,
        none.1
    ));
    assert_eq!(filled, cl::CL_SUCCESS);
    // Two texels of two rows, from rows of 3 texels.
    let texels: Vec<f32> = (0..24).map(|i| i as f32 * 10.0).collect();
    let (at, region) = ([3usize, 1, 0], [2usize, 2, 1]);
    let written = cl!(clEnqueueWriteImage(
        app.queue,
        image,
        1,
        at.as_ptr(),
        region.as_ptr(),
        48,
        0,
        texels.as_ptr().cast(),
        0,
        none.0,
        none.1
    ));
    assert_eq!(written, cl::CL_SUCCESS);
    let mut expected: Vec<f32> = colour.repeat(32);
    for y in 0..2 {
        for x in 0..2 {
            for c in 0..4 {
                expected[((y + 1) * 8 + x + 3) * 4 + c] = texels[(y * 3 + x) * 4 + c];
            }
        }
    }
    let buffer = app.buffer(0, &[0.0f32; 128]);
    let copied = cl!(clEnqueueCopyImageToBuffer(
        app.queue,
        image,
        buffer,
        origin.as_ptr(),
        whole.as_ptr(),
        0,
        0,
        none.0,
        none.1
    ));
    assert_eq!(copied, cl::CL_SUCCESS);
    assert_eq!(app.read::<f32>(buffer, 128), expected);

    let sampler = made!(clCreateSampler(app.context, 0, cl::CL_ADDRESS_CLAMP_TO_EDGE, cl::CL_FILTER_NEAREST));
    let source = "kernel void look(read_only image2d_t image, sampler_t how, global float4 *to) {
        int i = get_global_id(0);
        to[i] = read_imagef(image, how, (int2)(i % 10 - 1, i / 10 - 1));
    }";
    let kernel = app.kernel(source, "look");
    let seen = app.buffer(0, &[0.0f32; 240]);
    app.set(kernel, 0, &image);
    app.set(kernel, 1, &sampler);
    app.set(kernel, 2, &seen);
    app.run(kernel, 60);
    let seen: Vec<f32> = app.read(seen, 240);
    for i in 0..60usize {
        let (x, y) = ((i % 10).saturating_sub(1).min(7), (i / 10).saturating_sub(1).min(3));
        assert_eq!(seen[i * 4..][..4], expected[(y * 8 + x) * 4..][..4], "{i}");
    }

    desc.image_width = 0;
    let empty = refused!(clCreateImage(app.context, 0, &raw const format, &raw const desc, null_mut()));
    assert_eq!(empty, cl::CL_INVALID_IMAGE_SIZE);
    let outside = [7usize, 0, 0];
    let read = cl!(clEnqueueReadImage(
        app.queue,
        image,
        1,
        outside.as_ptr(),
        region.as_ptr(),
        0,
        0,
        seen.as_ptr() as *mut c_void,
        0,
        none.0,
        none.1
    ));
    assert_eq!(read, cl::CL_INVALID_VALUE);
}

#[test]
fn programs_have_logs_binaries_and_links() {
    let app = application(0);
    let broken = app.program("kernel void k(global int *p) { p[0] = missing; }");
    let built = cl!(clBuildProgram(broken, 0, null(), null(), None, null_mut()));
    assert_eq!(built, cl::CL_BUILD_PROGRAM_FAILURE);
    assert!(app.log(broken).contains("program.cl:1:"), "{}", app.log(broken));
    let odd = cl!(clBuildProgram(broken, 0, null(), c"-cl-no-such-option".as_ptr(), None, null_mut()));
    assert_eq!(odd, cl::CL_INVALID_BUILD_OPTIONS);

    // A function of one program, called in another, with a header of a third.
    let header = app.program("int triple(int x);");
    let caller = app
        .program("#include \"triple.h\"\nkernel void k(global int *p) { p[get_global_id(0)] = triple(N); }");
    let callee = app.program("int triple(int x) { return 3 * x; }");
    let mut name = c"triple.h".as_ptr();
    let compiled = cl!(clCompileProgram(
        caller,
        0,
        null(),
        c"-DN=14".as_ptr(),
        1,
        &raw const header,
        &raw mut name,
        None,
        null_mut()
    ));
    assert_eq!(compiled, cl::CL_SUCCESS, "{}", app.log(caller));
    let compiled = cl!(clCompileProgram(callee, 0, null(), null(), 0, null(), null_mut(), None, null_mut()));
    assert_eq!(compiled, cl::CL_SUCCESS);
    let programs = [caller, callee];
    let linked = made!(clLinkProgram(app.context, 0, null(), null(), 2, programs.as_ptr(), None, null_mut()));
    // A program that does not link exists, for its log.
    let (mut code, first) = (1, programs.as_ptr());
    let alone = cl!(clLinkProgram(app.context, 0, null(), null(), 1, first, None, null_mut(), &raw mut code));
    assert_eq!(code, cl::CL_LINK_PROGRAM_FAILURE);
    assert!(!app.log(alone).is_empty());
    assert_eq!(cl!(clReleaseProgram(alone)), cl::CL_SUCCESS);

    // Its binary makes the same program.
    let size: usize = number(|size, value, got| {
        cl!(clGetProgramInfo(linked, cl::CL_PROGRAM_BINARY_SIZES, size, value, got))
    });
    let mut binary = vec![0u8; size];
    let mut place = binary.as_mut_ptr();
    let got = cl!(clGetProgramInfo(linked, cl::CL_PROGRAM_BINARIES, 8, (&raw mut place).cast(), null_mut()));
    assert_eq!(got, cl::CL_SUCCESS);
    let (device, mut bytes) = (app.device, binary.as_ptr());
    let again = made!(clCreateProgramWithBinary(
        app.context,
        1,
        &raw const device,
        &raw const size,
        &raw mut bytes,
        null_mut()
    ));
    assert_eq!(cl!(clBuildProgram(again, 0, null(), null(), None, null_mut())), cl::CL_SUCCESS);
    for program in [linked, again] {
        let kernel = made!(clCreateKernel(program, c"k".as_ptr()));
        let buffer = app.buffer(0, &[0i32; 4]);
        app.set(kernel, 0, &buffer);
        app.run(kernel, 4);
        assert_eq!(app.read::<i32>(buffer, 4), [42; 4]);
    }
    binary[0] ^= 1;
    let refused = refused!(clCreateProgramWithBinary(
        app.context,
        1,
        &raw const device,
        &raw const size,
        &raw mut bytes,
        null_mut()
    ));
    assert_eq!(refused, cl::CL_INVALID_BINARY);

    let kernel = app.kernel(SCALE, "scale");
    let asked = |index, query| {
        text(|size, value, got| cl!(clGetKernelArgInfo(kernel, index, query, size, value, got)))
    };
    assert_eq!(asked(0, cl::CL_KERNEL_ARG_NAME), "to");
    assert_eq!(asked(1, cl::CL_KERNEL_ARG_TYPE_NAME), "float*");
    assert_eq!(cl!(clSetKernelArg(kernel, 2, 8, (&raw const size).cast())), cl::CL_INVALID_ARG_SIZE);
    assert_eq!(cl!(clSetKernelArg(kernel, 9, 8, (&raw const size).cast())), cl::CL_INVALID_ARG_INDEX);
    assert_eq!(app.enqueue(kernel, 64), cl::CL_INVALID_KERNEL_ARGS);
}

#[test]
fn events_order_commands_and_call_back() {
    static SEEN: AtomicI32 = AtomicI32::new(7);
    unsafe extern "C" fn seen(_event: *mut c_void, status: i32, _data: *mut c_void) {
        SEEN.store(status, Ordering::SeqCst);
    }
    let app = application(cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    let (a, numbers) = (app.buffer(0, &[1u32; 4]), [2u32; 4]);
    let gate = made!(clCreateUserEvent(app.context));
    let mut written = null_mut();
    let queued = cl!(clEnqueueWriteBuffer(
        app.queue,
        a,
        0,
        0,
        16,
        numbers.as_ptr().cast(),
        1,
        &raw const gate,
        &raw mut written
    ));
    assert_eq!(queued, cl::CL_SUCCESS);
    assert_eq!(cl!(clSetEventCallback(written, cl::CL_COMPLETE, Some(seen), null_mut())), cl::CL_SUCCESS);
    // Out of order: this read does not wait.
    assert_eq!(app.read::<u32>(a, 4), [1; 4]);
    let status = || {
        number::<i32>(|size, value, got| {
            cl!(clGetEventInfo(written, cl::CL_EVENT_COMMAND_EXECUTION_STATUS, size, value, got))
        })
    };
    assert_eq!((status(), SEEN.load(Ordering::SeqCst)), (cl::CL_QUEUED, 7));
    assert_eq!(cl!(clSetUserEventStatus(gate, cl::CL_COMPLETE)), cl::CL_SUCCESS);
    assert_eq!(cl!(clSetUserEventStatus(gate, cl::CL_COMPLETE)), cl::CL_INVALID_OPERATION);
    assert_eq!(cl!(clWaitForEvents(1, &raw const written)), cl::CL_SUCCESS);
    assert_eq!(app.read::<u32>(a, 4), [2; 4]);
    assert_eq!(cl!(clFinish(app.queue)), cl::CL_SUCCESS);
    while SEEN.load(Ordering::SeqCst) == 7 {
        std::thread::yield_now();
    }
    assert_eq!(SEEN.load(Ordering::SeqCst), cl::CL_COMPLETE);

    // An event that fails takes along those that wait for it.
    let gate = made!(clCreateUserEvent(app.context));
    let mut marker = null_mut();
    let queued = cl!(clEnqueueMarkerWithWaitList(app.queue, 1, &raw const gate, &raw mut marker));
    assert_eq!(queued, cl::CL_SUCCESS);
    assert_eq!(cl!(clSetUserEventStatus(gate, -5)), cl::CL_SUCCESS);
    let waited = cl!(clWaitForEvents(1, &raw const marker));
    assert_eq!(waited, cl::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

#[test]
fn shared_memory_is_seen_by_host_and_kernel() {
    let app = application(0);
    let flags = cl::CL_MEM_READ_WRITE | cl::CL_MEM_SVM_FINE_GRAIN_BUFFER;
    let shared = cl!(clSVMAlloc(app.context, flags, 64, 0)).cast::<u32>();
    assert!(!shared.is_null());
    for i in 0..16 {
        // SAFETY: 16 numbers were allocated.
        unsafe { *shared.add(i) = i as u32 };
    }
    let kernel = app.kernel(
        "kernel void square(global uint *p) { p[get_global_id(0)] *= p[get_global_id(0)]; }",
        "square",
    );
    // From the fourth number on.
    // SAFETY: it is inside.
    let fourth = unsafe { shared.add(4) };
    assert_eq!(cl!(clSetKernelArgSVMPointer(kernel, 0, fourth.cast())), cl::CL_SUCCESS);
    app.run(kernel, 8);
    for i in 0..16u32 {
        let squared = if (4..12).contains(&i) { i * i } else { i };
        // SAFETY: as above.
        assert_eq!(unsafe { *shared.add(i as usize) }, squared, "{i}");
    }
    let elsewhere = 0x1000 as *const c_void;
    assert_eq!(cl!(clSetKernelArgSVMPointer(kernel, 0, elsewhere)), cl::CL_INVALID_ARG_VALUE);
    cl!(clSVMFree(app.context, shared.cast()));
    assert_eq!(cl!(clSetKernelArgSVMPointer(kernel, 0, shared.cast())), cl::CL_INVALID_ARG_VALUE);
}

#[test]
fn a_process_that_leaks_everything_ends() {
    let app = application(0);
    let gate = made!(clCreateUserEvent(app.context));
    let kernel = app.kernel("kernel void k(global int *p) { p[0] = 1; }", "k");
    let buffer = app.buffer(0, &[0i32]);
    app.set(kernel, 0, &buffer);
    let global = 1usize;
    let queued = cl!(clEnqueueNDRangeKernel(
        app.queue,
        kernel,
        1,
        null(),
        &raw const global,
        null(),
        1,
        &raw const gate,
        null_mut()
    ));
    assert_eq!(queued, cl::CL_SUCCESS);
    let name = CString::new("k").unwrap();
    assert_eq!(name.as_bytes(), b"k");
}
