//! Every GPU answers as it is described (`tripipe_device::OpenCl`), builds for what it offers, and has the probe of a
//! virtual GPU.

use std::ptr::{null, null_mut};

use opencl_sys as cl;
use tripipe_device::opencl::OpenCl;
use tripipe_device::{Gpu, catalog};
use tripipe_launch::Executor as _;
use tripipe_timing::{VirtualGpu, VirtualOptions};

use crate::agreeing::agreeing;
use crate::support::{self, Application, number, platform, text};

/// Runs a test again in a process whose devices are `gpus`, with what is assumed of them. Returns whether this is that
/// process.
fn again(test: &str, gpus: &str, assumed: &str) -> bool {
    support::again(&format!("offered::{test}"), &[("TRIPIPE_DEVICES", gpus), ("TRIPIPE_ASSUME", assumed)])
        .is_none()
}

fn devices() -> Vec<cl::cl_device_id> {
    let mut found = vec![null_mut(); 64];
    let mut count = 0;
    let kind = cl::CL_DEVICE_TYPE_ALL;
    assert_eq!(cl!(clGetDeviceIDs(platform(), kind, 64, found.as_mut_ptr(), &raw mut count)), cl::CL_SUCCESS);
    found.truncate(count as usize);
    found
}

fn of(device: cl::cl_device_id) -> Application {
    let context = made!(clCreateContext(null(), 1, &raw const device, None, null_mut()));
    let queue = made!(clCreateCommandQueue(context, device, 0));
    Application { device, context, queue }
}

/// Whether a text compiles, and the log.
fn builds(app: &Application, source: &str, options: &std::ffi::CStr) -> (bool, String) {
    let program = app.program(source);
    let code = cl!(clBuildProgram(program, 0, null(), options.as_ptr(), None, null_mut()));
    (code == cl::CL_SUCCESS, app.log(program))
}

#[test]
fn every_gpu_answers_as_it_is_described() {
    let names: Vec<String> = catalog().iter().map(Gpu::id).collect();
    if !again("every_gpu_answers_as_it_is_described", &names.join(","), "") {
        return;
    }
    let devices = devices();
    assert_eq!(devices.len(), catalog().len());
    let mut built: Vec<&OpenCl> = Vec::new();
    for (device, gpu) in devices.into_iter().zip(catalog()) {
        let (opencl, name) = (gpu.opencl(), gpu.name());
        let texts = |query| text(|size, value, got| cl!(clGetDeviceInfo(device, query, size, value, got)));
        let numbers = |query| -> u64 {
            number(|size, value, got| cl!(clGetDeviceInfo(device, query, size, value, got)))
        };
        let truth = |query| -> bool {
            let truth: u32 = number(|size, value, got| cl!(clGetDeviceInfo(device, query, size, value, got)));
            truth == 1
        };
        let (major, minor) = opencl.version;
        assert!(texts(cl::CL_DEVICE_VERSION).starts_with(&format!("OpenCL {major}.{minor} ")), "{name}");
        let (major, minor) = opencl.newest_c();
        let newest = format!("OpenCL C {major}.{minor} ");
        assert!(texts(cl::CL_DEVICE_OPENCL_C_VERSION).starts_with(&newest), "{name}");
        assert_eq!(texts(cl::CL_DEVICE_EXTENSIONS), opencl.extensions.join(" "), "{name}");
        let svm = u64::from(opencl.svm.coarse_buffer) | u64::from(opencl.svm.fine_buffer) << 1;
        assert_eq!(numbers(cl::CL_DEVICE_SVM_CAPABILITIES), svm, "{name}");
        let uneven = truth(cl::CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT);
        assert_eq!(uneven, opencl.non_uniform_work_groups, "{name}");
        let generic = truth(cl::CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT);
        assert_eq!(generic, opencl.has("__opencl_c_generic_address_space"), "{name}");
        let sub_groups: u32 = number(|size, value, got| {
            cl!(clGetDeviceInfo(device, cl::CL_DEVICE_MAX_NUM_SUB_GROUPS, size, value, got))
        });
        assert_eq!(sub_groups > 0, opencl.has("cl_khr_subgroups"), "{name}");
        // Since OpenCL C 3.0's extension of version 2, programs ask for the forms of dot products.
        let dot = cl::CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES;
        if opencl.has("cl_khr_integer_dot_product") {
            assert_eq!(numbers(dot), 3, "{name}");
            let [mut had, mut size] = [[7u32; 6], [0; 6]];
            let properties = cl::CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED;
            let (to, got) = (had.as_mut_ptr().cast(), size.as_mut_ptr().cast());
            assert_eq!(cl!(clGetDeviceInfo(device, properties, 24, to, got)), cl::CL_SUCCESS, "{name}");
            assert_eq!(had[0], u32::from(gpu.operations_per_clock_per_core.int8_dot_mac.value > 0), "{name}");
            assert!(had.iter().all(|truth| *truth <= 1) && size[0] == 24, "{name}");
        } else {
            assert_eq!(cl!(clGetDeviceInfo(device, dot, 0, null_mut(), null_mut())), cl::CL_INVALID_VALUE);
        }
        // The library's virtual GPU.
        let virtual_gpu = VirtualGpu::new(gpu, VirtualOptions::default());
        let probe = virtual_gpu.probe();
        assert_eq!(probe.version, texts(cl::CL_DEVICE_VERSION), "{name}");
        assert_eq!(probe.extensions, opencl.extensions, "{name}");
        assert_eq!((probe.svm, probe.opencl_c), (opencl.svm, opencl.newest_c()), "{name}");
        assert_eq!(probe.non_uniform_work_groups, opencl.non_uniform_work_groups, "{name}");
        assert_eq!(numbers(cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE), probe.max_buffer_bytes, "{name}");
        assert_eq!(numbers(cl::CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE), probe.max_constant_bytes, "{name}");
        // One build for all that offer the same.
        if !built.iter().any(|known| known.compiles_as(opencl)) {
            let (built_it, log) = builds(&of(device), &agreeing(opencl), c"");
            assert!(built_it, "{name}: {log}");
            built.push(opencl);
        }
    }
    assert!(built.len() > 8, "{} descriptions", built.len());
}

/// MNN, TNN and TensorFlow Lite make their contexts on an Adreno with these hints.
#[test]
fn contexts_and_queues_take_hints_of_extensions() {
    if !again("contexts_and_queues_take_hints_of_extensions", "adreno-750,mali-g715", "") {
        return;
    }
    let devices = devices();
    let hints: [isize; 5] = [0x40C2, 0x40C3, 0x40C9, 0x40CC, 0];
    let wrong: [isize; 3] = [0x40C2, 0x40C6, 0];
    let [adreno, mali] = [&raw const devices[0], &raw const devices[1]];
    made!(clCreateContext(hints.as_ptr(), 1, adreno, None, null_mut()));
    assert_eq!(
        refused!(clCreateContext(wrong.as_ptr(), 1, adreno, None, null_mut())),
        cl::CL_INVALID_PROPERTY
    );
    assert_eq!(refused!(clCreateContext(hints.as_ptr(), 1, mali, None, null_mut())), cl::CL_INVALID_PROPERTY);
    let app = of(devices[1]);
    let priority: [u64; 3] = [cl::CL_QUEUE_PRIORITY_KHR, cl::CL_QUEUE_PRIORITY_LOW_KHR.into(), 0];
    made!(clCreateCommandQueueWithProperties(app.context, app.device, priority.as_ptr()));
    let unknown: [u64; 3] = [cl::CL_QUEUE_PRIORITY_KHR, 3, 0];
    let refused = refused!(clCreateCommandQueueWithProperties(app.context, app.device, unknown.as_ptr()));
    assert_eq!(refused, cl::CL_INVALID_VALUE);
}

/// `cl_khr_suggested_local_work_size`: the size that a launch without one has.
#[test]
fn the_size_that_is_suggested_is_the_one_that_runs() {
    if !again("the_size_that_is_suggested_is_the_one_that_runs", "mali-g715", "") {
        return;
    }
    let app = of(devices()[0]);
    // SAFETY: the name ends with a 0, and the function has the signature of the extension.
    let suggest = unsafe {
        let name = c"clGetKernelSuggestedLocalWorkSizeKHR".as_ptr();
        let found = support::table().clGetExtensionFunctionAddressForPlatform.unwrap()(platform(), name);
        std::mem::transmute::<*mut std::ffi::c_void, cl::clGetKernelSuggestedLocalWorkSizeKHR_t>(found)
            .unwrap()
    };
    let kernel = app.kernel(
        "kernel void k(global int *p) { if (get_global_id(0) + get_global_id(1) == 0) { p[0] = get_local_size(0); p[1] = get_local_size(1); } }",
        "k",
    );
    let to = app.buffer(0, &[0i32; 2]);
    app.set(kernel, 0, &to);
    let (global, mut local) = ([640usize, 48], [0usize; 2]);
    // SAFETY: the arrays have as many numbers as there are dimensions.
    let code = unsafe { suggest(app.queue, kernel, 2, null(), global.as_ptr(), local.as_mut_ptr()) };
    assert_eq!(code, cl::CL_SUCCESS);
    let ran = cl!(clEnqueueNDRangeKernel(
        app.queue,
        kernel,
        2,
        null(),
        global.as_ptr(),
        null(),
        0,
        null(),
        null_mut()
    ));
    assert_eq!(ran, cl::CL_SUCCESS);
    let found: Vec<i32> = app.read(to, 2);
    assert_eq!(found, local.map(|extent| extent as i32));
    assert!(local[0] * local[1] > 1, "{local:?}");
    // SAFETY: the same; NULL is refused.
    let without = unsafe { suggest(app.queue, kernel, 2, null(), null(), local.as_mut_ptr()) };
    assert_eq!(without, cl::CL_INVALID_GLOBAL_WORK_SIZE);
}

/// llama.cpp does that if the driver's version names a compiler from E031.47 on.
#[test]
fn newer_compilers_of_qualcomm_broadcast_vectors() {
    if !again("newer_compilers_of_qualcomm_broadcast_vectors", "adreno-750,adreno-830", "") {
        return;
    }
    let vectors = "kernel void k(global float8 *p) { p[get_global_id(0)] = sub_group_broadcast(p[get_global_id(0)], 3); }";
    let devices = devices();
    let app = of(devices[1]);
    let program = app.program(vectors);
    let code = cl!(clBuildProgram(program, 0, null(), c"-cl-std=CL3.0".as_ptr(), None, null_mut()));
    assert_eq!(code, cl::CL_SUCCESS, "{}", app.log(program));
    let kernel = made!(clCreateKernel(program, c"k".as_ptr()));
    let numbers: Vec<f32> = (0..64u8).map(f32::from).collect();
    let buffer = app.buffer(0, &numbers);
    app.set(kernel, 0, &buffer);
    app.run(kernel, 8);
    let found: Vec<f32> = app.read(buffer, 64);
    assert!(found.chunks(8).all(|each| *each == numbers[24..32]), "{found:?}");
    // The other compiler does not find this build in the cache.
    assert!(!builds(&of(devices[0]), vectors, c"-cl-std=CL3.0").0);
}

/// OpenCL 3.0, `-cl-std`: a device rejects versions that it does not support; in 1.2, the default, there are no functions
/// of 2.0. What is missing is named.
#[test]
fn what_a_device_lacks_fails_the_build() {
    let gpus = "mali-t880,adreno-740,mali-g77";
    if !again("what_a_device_lacks_fails_the_build", gpus, "") {
        return;
    }
    let apps: Vec<Application> = devices().into_iter().map(of).collect();
    let [old, adreno, mali] = &apps[..] else { unreachable!() };
    for options in [c"-cl-std=CL2.0", c"-cl-std=CL3.0"] {
        let (built, log) = builds(old, "kernel void k() {}", options);
        assert!(!built && log.contains("Mali-T880 offers OpenCL C 1.2"), "{log}");
        assert!(builds(mali, "kernel void k() {}", options).0);
    }
    let shuffle = "kernel void k(global float *p) { p[0] = sub_group_shuffle_xor(p[1], 1); }";
    let (built, log) = builds(adreno, shuffle, c"-cl-std=CL3.0");
    assert!(
        !built && log.contains("needs cl_khr_subgroup_shuffle, which Adreno 740 does not offer"),
        "{log}"
    );
    assert!(builds(mali, shuffle, c"-cl-std=CL3.0").0);
    // The generic address space comes with a function that tells the spaces.
    let fence = "kernel void k(global int *o) { int *g = o; o[0] = get_fence(g) == CLK_GLOBAL_MEM_FENCE; }";
    assert!(builds(mali, fence, c"-cl-std=CL3.0").0 && !builds(old, fence, c"").0);
    let group = "kernel void k(global int *p) { p[0] = work_group_reduce_add(p[1]); }";
    let (built, log) = builds(mali, group, c"");
    assert!(!built && log.contains("-cl-std=CL3.0"), "{log}");
    assert!(builds(mali, group, c"-cl-std=CL3.0").0);
    // The generic address space is there, with its functions: CLK_GLOBAL_MEM_FENCE is 2, CLK_LOCAL_MEM_FENCE is 1.
    let fence = "kernel void k(global int *p) { local int l; l = 1; int *q = p, *r = &l; p[0] = get_fence(q); p[1] = get_fence(r); }";
    let program = mali.program(fence);
    let code = cl!(clBuildProgram(program, 0, null(), c"-cl-std=CL3.0".as_ptr(), None, null_mut()));
    assert_eq!(code, cl::CL_SUCCESS, "{}", mali.log(program));
    let kernel = made!(clCreateKernel(program, c"k".as_ptr()));
    let buffer = mali.buffer(0, &[0i32; 2]);
    mali.set(kernel, 0, &buffer);
    mali.run(kernel, 1);
    assert_eq!(mali.read::<i32>(buffer, 2), [2, 1]);
}

#[test]
fn assumptions_are_the_users() {
    if !again("assumptions_are_the_users", "adreno-740", "cl_khr_subgroup_shuffle") {
        return;
    }
    let app = of(devices()[0]);
    let shuffle = "kernel void k(global float *p) { p[0] = sub_group_shuffle_xor(p[1], 1); }";
    assert!(builds(&app, shuffle, c"-cl-std=CL3.0").0);
}

/// `cl_qcom_reqd_sub_group_size`: half and full sub-groups of 64 and 128, in the answers and in results.
#[test]
fn sub_groups_have_the_required_size() {
    if !again("sub_groups_have_the_required_size", "adreno-750", "") {
        return;
    }
    let app = of(devices()[0]);
    let source = "#define K(NAME, SHARE) __attribute__((qcom_reqd_sub_group_size(SHARE))) \\
            kernel void NAME(global int *p) { \\
                int sum = sub_group_reduce_add(1); \\
                if (get_sub_group_local_id() == 0) p[get_sub_group_id()] = sum; \\
            }
        K(half_size, \"half\") K(full_size, \"full\")";
    let program = app.program(source);
    let code = cl!(clBuildProgram(program, 0, null(), c"-cl-std=CL3.0".as_ptr(), None, null_mut()));
    assert_eq!(code, cl::CL_SUCCESS, "{}", app.log(program));
    for (name, size) in [(c"half_size", 64i32), (c"full_size", 128)] {
        let kernel = made!(clCreateKernel(program, name.as_ptr()));
        let items = 256usize;
        let query = cl::CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE;
        let answer: usize = number(|bytes, value, got| {
            let input = (size_of::<usize>(), (&raw const items).cast());
            cl!(clGetKernelSubGroupInfo(kernel, app.device, query, input.0, input.1, bytes, value, got))
        });
        assert_eq!(answer, size as usize);
        let buffer = app.buffer(0, &[0i32; 4]);
        app.set(kernel, 0, &buffer);
        let (none, sizes) = (null_mut(), &raw const items);
        let ran = cl!(clEnqueueNDRangeKernel(app.queue, kernel, 1, null(), sizes, sizes, 0, null(), none));
        assert_eq!(ran, cl::CL_SUCCESS);
        let groups = items / size as usize;
        let sums = app.read::<i32>(buffer, 4);
        assert!(sums[..groups].iter().all(|sum| *sum == size), "{name:?}: {sums:?}");
    }
}
