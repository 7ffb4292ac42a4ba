//! Programs: `double`, what the driver keeps of them, and the time of maps.

use std::ptr::{null, null_mut};
use std::sync::Arc;

use opencl_sys as cl;
use tripipe_icd::driver::build::BuildOptions;
use tripipe_icd::driver::context::Context;
use tripipe_icd::driver::device::Device;
use tripipe_icd::driver::failure::Outcome;
use tripipe_icd::driver::handle::{ApiObject as _, register, release};
use tripipe_icd::driver::program::{Origin, Program, Step};

use crate::support::{self, application, number};

/// A context with devices.
fn context(gpus: &[&str]) -> Arc<Context> {
    let devices = gpus.iter().enumerate().map(|(index, name)| {
        let gpu = tripipe_device::find(name).unwrap();
        register(Device::new(index, gpu), 1)
    });
    Context::new(devices.collect(), Vec::new(), None)
}

fn built(context: &Arc<Context>, origin: Origin) -> (Arc<Program>, Outcome<()>) {
    let program = Program::new(Arc::clone(context), context.devices().to_vec(), origin);
    program.begin("").unwrap();
    let outcome = program.build(Step::Build, &BuildOptions::default(), &[]);
    (program, outcome)
}

fn log(context: &Context, program: &Program) -> String {
    let log = program.build_info(&context.devices()[0], cl::CL_PROGRAM_BUILD_LOG).unwrap();
    String::from_utf8_lossy(&log).into_owned()
}

const DOUBLE: &str = "kernel void twice(global double *p) { p[get_global_id(0)] *= 2.0; }";

/// `double` belongs to Midgard; OpenCL says that a program fails to build where `cl_khr_fp64` is missing.
#[test]
fn double_needs_a_gpu_that_has_it() {
    let midgard = context(&["mali-t604"]);
    let (program, outcome) = built(&midgard, Origin::Source(DOUBLE.into()));
    outcome.unwrap();
    let binary = tripipe_icd::driver::binary::Binary::decode(&program.binary()).unwrap();

    for name in ["mali-g77", "adreno-650"] {
        let valhall = context(&[name]);
        let (program, outcome) = built(&valhall, Origin::Source(DOUBLE.into()));
        assert_eq!(outcome.unwrap_err().code, cl::CL_BUILD_PROGRAM_FAILURE, "{name}");
        let said = log(&valhall, &program);
        assert!(said.contains("program.cl:1:") && said.contains("cl_khr_fp64"), "{said}");
        // So do a module and a binary of another device.
        for origin in [Origin::Module(binary.spirv.clone()), Origin::Binary(binary.clone())] {
            let (program, outcome) = built(&valhall, origin);
            assert_eq!(outcome.unwrap_err().code, cl::CL_BUILD_PROGRAM_FAILURE, "{name}");
            let said = log(&valhall, &program);
            assert!(said.contains("`twice`") && said.contains("cl_khr_fp64"), "{said}");
        }
    }
    // A source is built for both of two devices. A module that one of them can run is built for that one.
    let both = context(&["mali-g77", "mali-t604"]);
    let (_, outcome) = built(&both, Origin::Source(DOUBLE.into()));
    assert_eq!(outcome.unwrap_err().code, cl::CL_BUILD_PROGRAM_FAILURE);
    let (program, outcome) = built(&both, Origin::Module(binary.spirv));
    outcome.unwrap();
    let executable = program.executable().unwrap();
    let facts = |index: usize| executable.facts(&both.devices()[index], "twice");
    assert!(facts(0).unwrap_err().message.contains("`double`"));
    assert!(facts(1).is_ok());
}

/// The macro says what the device has, so that guarded code chooses, and constants are `double` where there is one.
#[test]
fn the_macro_of_double_is_that_of_the_device() {
    const CHOOSE: &str = "
        #ifdef cl_khr_fp64
        #if !FP64
        #error there is no double
        #endif
        #else
        #if FP64
        #error there is double
        #endif
        #endif
        kernel void size(global int *p, float f) { p[0] = sizeof(1.0); p[1] = (int)(1.0 / 3 * 3e9); printf(\"%f\", f); }";
    for (name, fp64) in [("mali-t604", 1), ("mali-g77", 0), ("adreno-650", 0)] {
        let one = context(&[name]);
        let (program, outcome) = built(&one, Origin::Source(format!("#define FP64 {fp64}\n{CHOOSE}")));
        assert!(outcome.is_ok(), "{name}: {}", log(&one, &program));
    }
}

#[test]
fn released_programs_are_forgotten() {
    let context = context(&["mali-g77"]);
    let device = Arc::clone(&context.devices()[0]);
    let kept = || context.engine.with(&device, |gpu| Ok(gpu.programs())).unwrap();
    for round in 0..6 {
        let source = format!("kernel void k(global int *p) {{ p[get_global_id(0)] = {round}; }}");
        let (program, outcome) = built(&context, Origin::Source(source));
        outcome.unwrap();
        program.executable().unwrap().facts(&device, "k").unwrap();
        assert_eq!(kept(), 1);
        release::<Program>(program.handle().pointer()).unwrap();
    }
    assert_eq!(kept(), 0);
}

/// Two programs of one source have program-scope variables of their own.
#[test]
fn equal_programs_share_no_variables() {
    let app = application(0);
    let source = "global int calls = 40;\nkernel void next(global int *p) { p[0] = ++calls; }";
    let buffer = app.buffer(0, &[0i32]);
    let count = |kernel| {
        app.set(kernel, 0, &buffer);
        app.run(kernel, 1);
        app.read::<i32>(buffer, 1)[0]
    };
    let build = |text: &str| {
        let program = app.program(text);
        let options = c"-cl-std=CL3.0 -D__opencl_c_program_scope_global_variables=1";
        let code = cl!(clBuildProgram(program, 0, null(), options.as_ptr(), None, null_mut()));
        assert_eq!(code, cl::CL_SUCCESS, "{}", app.log(program));
        made!(clCreateKernel(program, c"next".as_ptr()))
    };
    let (a, b) = (build(source), build(source));
    assert_eq!([count(a), count(a), count(b), count(a)], [41, 42, 41, 43]);
}

/// Bandwidth in GB/s of a map and an unmap of 64 MiB, as clpeak measures them.
fn bandwidths(memory_flags: u64, map_flags: u64) -> [f64; 2] {
    const BYTES: usize = 64 << 20;
    let app = application(cl::CL_QUEUE_PROFILING_ENABLE);
    let mut host: Vec<u8> = Vec::new();
    let pointer = if memory_flags & cl::CL_MEM_USE_HOST_PTR == 0 {
        null_mut()
    } else {
        host.resize(BYTES, 0);
        host.as_mut_ptr().cast()
    };
    let buffer = made!(clCreateBuffer(app.context, memory_flags, BYTES, pointer));
    let mut events = [null_mut(); 2];
    let mapped =
        made!(clEnqueueMapBuffer(app.queue, buffer, 1, map_flags, 0, BYTES, 0, null(), &raw mut events[0]));
    let unmapped = cl!(clEnqueueUnmapMemObject(app.queue, buffer, mapped, 0, null(), &raw mut events[1]));
    assert_eq!((unmapped, cl!(clFinish(app.queue))), (cl::CL_SUCCESS, cl::CL_SUCCESS));
    events.map(|event| {
        let [start, end] = [cl::CL_PROFILING_COMMAND_START, cl::CL_PROFILING_COMMAND_END].map(|query| {
            number::<u64>(|size, value, got| cl!(clGetEventProfilingInfo(event, query, size, value, got)))
        });
        BYTES as f64 / (end - start) as f64
    })
}

/// clpeak on phones: a Mali-G76 with the same memory as the G77 maps with 16.5 and unmaps with 15.8 GB/s.
#[test]
fn maps_take_the_time_of_cache_maintenance() {
    let near = |found: f64, want: f64| assert!((found / want - 1.0).abs() < 0.25, "{found} for {want}");
    let [read, clean] = bandwidths(cl::CL_MEM_READ_WRITE, cl::CL_MAP_READ);
    near(read, 16.5);
    // Nothing was written: only the call remains.
    assert!(clean > 500.0 && clean.is_finite(), "{clean}");
    let [_, written] = bandwidths(cl::CL_MEM_READ_WRITE, cl::CL_MAP_WRITE);
    near(written, 15.8);
    let [discarded, _] = bandwidths(cl::CL_MEM_READ_WRITE, cl::CL_MAP_WRITE_INVALIDATE_REGION);
    assert!(discarded > 500.0 && discarded.is_finite(), "{discarded}");
    // Copied as well.
    let [copied, _] = bandwidths(cl::CL_MEM_READ_WRITE | cl::CL_MEM_USE_HOST_PTR, cl::CL_MAP_READ);
    assert!(copied < 0.7 * read, "{copied} and {read}");
}

/// piglit's cl-api-link-program: nothing uses the function.
#[test]
fn two_definitions_of_a_function_do_not_link() {
    let app = application(0);
    let compiled = |source: &str| {
        let program = app.program(source);
        let code = cl!(clCompileProgram(program, 0, null(), null(), 0, null(), null_mut(), None, null_mut()));
        assert_eq!(code, cl::CL_SUCCESS, "{}", app.log(program));
        program
    };
    let whole = compiled("int number(void) { return 42; }\nkernel void k(void) { int i = number(); }");
    let other = compiled("int number(void) { return 0; }");
    let link = |programs: &[cl::cl_program]| {
        let mut code = 1;
        let count = programs.len() as u32;
        cl!(clLinkProgram(
            app.context,
            0,
            null(),
            null(),
            count,
            programs.as_ptr(),
            None,
            null_mut(),
            &raw mut code
        ));
        code
    };
    assert_eq!(link(&[whole]), cl::CL_SUCCESS);
    assert_eq!(link(&[whole, other]), cl::CL_LINK_PROGRAM_FAILURE);
}

/// The header `cl.h`: `cl_kernel_arg_type_qualifier` is a `cl_bitfield`.
#[test]
fn the_type_qualifier_has_64_bits() {
    let app = application(0);
    let kernel = app.kernel("kernel void k(global const int *restrict p, int q) {}", "k");
    let of = |index: u32| {
        number::<u64>(|size, value, got| {
            cl!(clGetKernelArgInfo(kernel, index, cl::CL_KERNEL_ARG_TYPE_QUALIFIER, size, value, got))
        })
    };
    assert_eq!(of(0), u64::from(cl::CL_KERNEL_ARG_TYPE_CONST | cl::CL_KERNEL_ARG_TYPE_RESTRICT));
    assert_eq!(of(1), u64::from(cl::CL_KERNEL_ARG_TYPE_NONE));
}

/// OpenCL 3.0, `CL_KERNEL_ATTRIBUTES`: the attributes as in the source.
#[test]
fn attributes_of_kernels_are_those_of_the_source() {
    let app = application(0);
    let given = ["reqd_work_group_size(8,4,2)", "work_group_size_hint(16,1,1)"];
    for hint in ["float4", "uchar16", "ushort3", "uint2", "ulong8", "half2", "float"] {
        let hint = format!("vec_type_hint({hint})");
        let all = [given[0], given[1], &hint];
        let source =
            format!("kernel __attribute__(({})) void k(global int *p) {{ p[0] = 1; }}", all.join(", "));
        let kernel = app.kernel(&source, "k");
        let told = support::text(|size, value, got| {
            cl!(clGetKernelInfo(kernel, cl::CL_KERNEL_ATTRIBUTES, size, value, got))
        });
        for attribute in all {
            assert!(told.contains(attribute), "{attribute}: {told}");
        }
    }
    let none = app.kernel("kernel void k(global int *p) { p[0] = 1; }", "k");
    let told = support::text(|size, value, got| {
        cl!(clGetKernelInfo(none, cl::CL_KERNEL_ATTRIBUTES, size, value, got))
    });
    assert_eq!(told, "");
}
