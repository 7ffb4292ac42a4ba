//! SPIR-V modules from end to end: `clCreateProgramWithIL`, specialization constants, and what programs keep of them.

use std::process::Command;
use std::ptr::{null, null_mut};

use opencl_sys as cl;

use crate::support::{Application, application};

/// Multiplies by a specialization constant, and adds another if a third one says so.
const TEXT: &str = r#"
    OpCapability Addresses
    OpCapability Linkage
    OpCapability Kernel
    OpCapability Int64
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %k "k" %ids
    OpDecorate %ids BuiltIn GlobalInvocationId
    OpDecorate %ids Constant
    OpDecorate %factor SpecId 7
    OpDecorate %wide SpecId 8
    OpDecorate %adds SpecId 20
    %void = OpTypeVoid
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %ulong = OpTypeInt 64 0
    %three = OpTypeVector %ulong 3
    %input = OpTypePointer Input %three
    %global = OpTypePointer CrossWorkgroup %ulong
    %function = OpTypeFunction %void %global
    %factor = OpSpecConstant %uint 3
    %wide = OpSpecConstant %ulong 5000000000
    %adds = OpSpecConstantFalse %bool
    %zero = OpConstantNull %ulong
    %ids = OpVariable %input Input
    %k = OpFunction %void None %function
    %p = OpFunctionParameter %global
    %entry = OpLabel
    %all = OpLoad %three %ids Aligned 32
    %id = OpCompositeExtract %ulong %all 0
    %at = OpInBoundsPtrAccessChain %global %p %id
    %old = OpLoad %ulong %at Aligned 8
    %by = OpUConvert %ulong %factor
    %product = OpIMul %ulong %old %by
    %more = OpSelect %ulong %adds %wide %zero
    %sum = OpIAdd %ulong %product %more
    OpStore %at %sum Aligned 8
    OpReturn
    OpFunctionEnd
"#;

/// The module, made by Khronos' assembler; `None` without it.
#[allow(clippy::print_stderr, reason = "a test says what it skips")]
fn module() -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let (text, binary) = (folder.path().join("k.spvasm"), folder.path().join("k.spv"));
    std::fs::write(&text, TEXT).unwrap();
    let assemble =
        Command::new("spirv-as").args(["--target-env", "spv1.0", "-o"]).arg(&binary).arg(&text).output();
    let Ok(assembled) = assemble else {
        assert!(
            std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(),
            "spirv-as (package spirv-tools) is not installed"
        );
        eprintln!("skipped: spirv-as is not installed");
        return None;
    };
    assert!(assembled.status.success(), "{}", String::from_utf8_lossy(&assembled.stderr));
    Some(std::fs::read(&binary).unwrap())
}

fn program(app: &Application, module: &[u8]) -> cl::cl_program {
    made!(clCreateProgramWithIL(app.context, module.as_ptr().cast(), module.len()))
}

fn build(app: &Application, program: cl::cl_program) {
    let built = cl!(clBuildProgram(program, 0, null(), null(), None, null_mut()));
    assert_eq!(built, cl::CL_SUCCESS, "{}", app.log(program));
}

/// What the kernel makes of 0, 1, 2 and 3.
fn results(app: &Application, program: cl::cl_program) -> Vec<u64> {
    let kernel = made!(clCreateKernel(program, c"k".as_ptr()));
    let buffer = app.buffer(0, &[0u64, 1, 2, 3]);
    app.set(kernel, 0, &buffer);
    app.run(kernel, 4);
    assert_eq!(cl!(clReleaseKernel(kernel)), cl::CL_SUCCESS);
    app.read(buffer, 4)
}

fn specialize<T: bytemuck::Pod>(program: cl::cl_program, id: u32, value: T) -> i32 {
    cl!(clSetProgramSpecializationConstant(program, id, size_of::<T>(), (&raw const value).cast()))
}

#[test]
fn a_module_runs_and_is_given_back() {
    let Some(module) = module() else { return };
    let app = application(0);
    let program = program(&app, &module);
    let mut size = 0;
    let asked = cl!(clGetProgramInfo(program, cl::CL_PROGRAM_IL, 0, null_mut(), &raw mut size));
    assert_eq!((asked, size), (cl::CL_SUCCESS, module.len()));
    let mut given = vec![0u8; size];
    let asked =
        cl!(clGetProgramInfo(program, cl::CL_PROGRAM_IL, size, given.as_mut_ptr().cast(), null_mut()));
    assert_eq!((asked, given == module), (cl::CL_SUCCESS, true));
    build(&app, program);
    assert_eq!(results(&app, program), [0, 3, 6, 9]);

    // Half a module, and bytes that are none.
    let half = &module[..module.len() / 8 * 4];
    let broken = refused!(clCreateProgramWithIL(app.context, half.as_ptr().cast(), half.len()));
    assert_eq!(broken, cl::CL_INVALID_VALUE);
    let text = b"kernel void k() {}  ";
    let broken = refused!(clCreateProgramWithIL(app.context, text.as_ptr().cast(), text.len()));
    assert_eq!(broken, cl::CL_INVALID_VALUE);
}

#[test]
fn specialization_constants_change_results() {
    let Some(module) = module() else { return };
    let app = application(0);
    let program = program(&app, &module);
    assert_eq!(specialize(program, 7, 10u32), cl::CL_SUCCESS);
    build(&app, program);
    assert_eq!(results(&app, program), [0, 10, 20, 30]);
    // They count from the next build on.
    assert_eq!(specialize(program, 20, 1u8), cl::CL_SUCCESS);
    assert_eq!(results(&app, program), [0, 10, 20, 30]);
    build(&app, program);
    assert_eq!(results(&app, program), [5_000_000_000, 5_000_000_010, 5_000_000_020, 5_000_000_030]);
    assert_eq!(specialize(program, 8, 1u64 << 40), cl::CL_SUCCESS);
    assert_eq!(specialize(program, 7, 0u32), cl::CL_SUCCESS);
    build(&app, program);
    assert_eq!(results(&app, program), [1 << 40; 4]);

    // OpenCL 3.0, clSetProgramSpecializationConstant.
    assert_eq!(specialize(program, 9, 1u32), cl::CL_INVALID_SPEC_ID);
    assert_eq!(specialize(program, 8, 1u32), cl::CL_INVALID_VALUE);
    let source = app.program("kernel void k(global ulong *p) { }");
    assert_eq!(specialize(source, 7, 1u32), cl::CL_INVALID_PROGRAM);
}
