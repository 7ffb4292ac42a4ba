//! The assumed OpenCL C dialect: the features of phones' drivers and their semantics, and the dialects tried after
//! that.

use tripipe_ir::front::clang::{Build, BuildError, Optimization, build_text};
use tripipe_ir::front::spirv::{Options, load, load_each};
use tripipe_ir::op::{Dot, SubGroupShare};
use tripipe_ir::{Module, Op, Scalar};

use crate::support;

fn module(text: &str, options: &str) -> Option<Module> {
    let built = support::built(build_text("k.cl", text, None, &Build::with_options(options)))?;
    Some(load(&built.spirv, &Options::default()).unwrap())
}

/// The bits that a kernel stores, if it stores a constant through its first parameter.
fn stored(text: &str, options: &str) -> Option<u64> {
    let module = module(text, options)?;
    let kernel = &module.kernels[0];
    let mut stores = kernel.insts.values().filter(|inst| matches!(inst.op, Op::Store(_)));
    Some(kernel.scalar_constant(stores.next().unwrap().operands[1]).unwrap())
}

#[test]
fn constants_are_single_unless_there_is_double() {
    let scalars = |text: &str, options: &str| {
        let module = module(text, options)?;
        Some(module.kernels[0].values.values().any(|value| value.ty.scalar() == Some(Scalar::F64)))
    };
    // Without double, as on phones: otherwise `fmax(x, 0.0)` would be ambiguous, and `x * 0.5` computed in double.
    let single = "kernel void k(global float *a, float x) { a[0] = fmax(x, 0.0) + x * 0.5; }";
    for options in ["", "-cl-std=CL2.0", "-cl-std=CL3.0"] {
        let Some(any) = scalars(single, options) else { return };
        assert!(!any, "{options}");
    }
    let double = "kernel void k(global double *a, double x) { a[0] = x * 0.1; }";
    assert_eq!(scalars(double, ""), Some(true));
    assert_eq!(scalars(double, "-cl-std=CL2.0"), Some(true));
    // The constant is then a double: 0.1 in IEEE 754 binary64.
    let stores = "kernel void k(global double *a) { a[0] = 0.1; }";
    assert_eq!(stored(stores, ""), Some(0x3FB9_9999_9999_999A));
}

#[test]
fn later_versions_are_tried() {
    let version = "kernel void k(global int *a) { a[0] = __OPENCL_C_VERSION__; }";
    assert_eq!(stored(version, "").unwrap_or(120), 120);
    assert_eq!(stored(version, "-cl-std=CL2.0").unwrap_or(200), 200);
    // Work-group functions and generic pointers were added in 2.0.
    let newer = "int get(int *p) { return *p; }\n\
        kernel void k(global int *a) { a[0] = __OPENCL_C_VERSION__; a[1] = work_group_reduce_add(get(a)); }";
    assert_eq!(stored(newer, "").unwrap_or(300), 300);
}

/// A function with the name of a library function, and an overload that does not hide the library's.
#[test]
fn programs_may_define_names_of_the_built_in_library() {
    let own = "float mix(float a) { return a + 1.0f; }\n\
        kernel void k(global float *a) { a[0] = mix(a[1]); }";
    let overload = "float3 __attribute__((overloadable)) cross(float3 a, float3 b) {\n\
            return a.yzx * b.zxy - a.zxy * b.yzx;\n\
        }\n\
        kernel void k(global float4 *a) { a[0] = cross(a[1], a[2]); a[1].xyz = cross(a[3].xyz, a[4].xyz); }";
    for text in [own, overload] {
        for options in ["", "-cl-std=CL2.0"] {
            assert!(module(text, options).is_none_or(|module| module.kernels.len() == 1), "{text}");
        }
    }
}

#[test]
fn errors_are_those_of_the_nearest_version() {
    let error = |text: &str| match build_text("k.cl", text, None, &Build::default()) {
        Err(BuildError::ToolMissing { .. }) => None,
        other => Some(other.unwrap_err().to_string()),
    };
    // With a feature of 2.0, only the typing mistake is reported.
    let text = "kernel void k(global int *a) {\n  a[0] = work_group_reduce_add(a[1]);\n  b[0] = 1;\n}";
    let Some(newer) = error(text) else { return };
    assert!(newer.contains("k.cl:3:3: error: use of undeclared identifier 'b'"), "{newer}");
    assert!(!newer.contains("work_group_reduce_add"), "{newer}");
    // Nor is the file mentioned that precedes the text.
    let redefined = error("#define cl_arm_printf 7\nkernel void k() { x; }").unwrap();
    assert!(redefined.contains("\nextensions.h:"), "{redefined}");
}

#[test]
fn macros_are_those_of_a_phones_driver() {
    let defined = |names: &[&str], want: bool| {
        let ask = |name: &&str| {
            format!("#{} {name}\n#error {name}\n#endif\n", if want { "ifndef" } else { "ifdef" })
        };
        let text: String = names.iter().map(ask).collect();
        module(&(text + "kernel void k() {}"), "").is_some()
    };
    let present = [
        "__OPENCL_VERSION__",
        "__ENDIAN_LITTLE__",
        "__IMAGE_SUPPORT__",
        "cl_khr_fp16",
        "cl_khr_3d_image_writes",
        "cl_khr_int64_base_atomics",
        "cl_khr_subgroups",
        "cl_khr_subgroup_shuffle",
        "cl_khr_integer_dot_product",
        "cl_arm_integer_dot_product_int8",
        "cl_arm_printf",
        "cl_qcom_reqd_sub_group_size",
    ];
    let absent = ["cl_khr_fp64", "cl_intel_subgroups", "cl_amd_media_ops"];
    if defined(&[], true) {
        assert!(defined(&present, true) && defined(&absent, false));
    }
}

/// Signs according to the names; `arm_dot_acc` and `qcom_dot8_acc` add without saturation.
#[test]
fn dot_products_have_the_signs_of_their_names() {
    let signs = |call: &str| {
        let text = format!(
            "kernel void k(global int *o, uint a, uint b, int c, char4 s, char4 t, uchar4 u, uchar4 v, short2 w) {{ o[0] = {call}; }}"
        );
        let module = module(&text, "")?;
        let dot = module.kernels[0].insts.values().find_map(|inst| match inst.op {
            Op::Dot(Dot { a_signed, b_signed, accumulate }) => Some((a_signed, b_signed, accumulate)),
            _ => None,
        });
        Some(dot.unwrap())
    };
    let cases = [
        ("arm_dot(s, t)", (true, true, false)),
        ("arm_dot(u, v)", (false, false, false)),
        ("arm_dot_acc(s, t, c)", (true, true, false)),
        ("arm_dot_acc(w, w, c)", (true, true, false)),
        ("arm_dot_acc_sat(u, v, a)", (false, false, true)),
        ("qcom_dot8_acc(a, b, c)", (true, false, false)),
        ("qcom_udot8_acc(a, b, c)", (false, false, false)),
        ("dot_4x8packed_us_int(a, b)", (false, true, false)),
        ("dot_acc_sat_4x8packed_su_int(a, b, c)", (true, false, true)),
    ];
    for (call, want) in cases {
        let Some(got) = signs(call) else { return };
        assert_eq!(got, want, "{call}");
    }
}

/// By hand, from the definition in the specification of `cl_khr_extended_bit_ops`.
#[test]
fn fields_of_bits() {
    let cases: [(&str, u32); 12] = [
        ("bitfield_extract_unsigned(0xDEADBEEFu, 8, 16)", 0xADBE),
        ("bitfield_extract_signed(0xDEADBEEFu, 8, 16)", 0xFFFF_ADBE),
        ("bitfield_extract_signed(0x12345678, 4, 8)", 0x67),
        ("bitfield_extract_signed(0xDEADBEEFu, 31, 1)", 0xFFFF_FFFF),
        ("bitfield_extract_unsigned(0xDEADBEEFu, 0, 32)", 0xDEAD_BEEF),
        ("bitfield_extract_signed(0xDEADBEEFu, 0, 32)", 0xDEAD_BEEF),
        ("bitfield_extract_signed(0xDEADBEEFu, 7, 0)", 0),
        ("bitfield_extract_unsigned(0xDEADBEEFu, 32, 0)", 0),
        ("bitfield_insert(0xDEADBEEFu, 0x12345678u, 8, 12)", 0xDEA6_78EF),
        ("bitfield_insert(0xDEADBEEFu, 0x12345678u, 0, 32)", 0x1234_5678),
        ("bitfield_insert(0xDEADBEEFu, 0x12345678u, 5, 0)", 0xDEAD_BEEF),
        ("bitfield_insert(0xDEADBEEFu, 0x12345678u, 31, 1)", 0x5EAD_BEEF),
    ];
    for (call, want) in cases {
        let text = format!("kernel void k(global uint *a) {{ a[0] = {call}; }}");
        let Some(got) = stored(&text, "") else { return };
        assert_eq!(got, u64::from(want), "{call}");
    }
}

#[test]
fn sub_group_sizes_of_qualcomm_are_kept() {
    let text = "__attribute__((qcom_reqd_sub_group_size(\"half\"))) kernel void h(global int *a) { a[0] = 1; }\n\
        __attribute__((qcom_reqd_sub_group_size(\"full\"))) kernel void f(global int *a) { a[0] = 1; }\n\
        kernel void n(global int *a) { a[0] = 1; }";
    let Some(module) = module(text, "") else { return };
    let share = |name: &str| module.kernel(name).unwrap().required_sub_group_share;
    assert_eq!(share("h"), Some(SubGroupShare::Half));
    assert_eq!(share("f"), Some(SubGroupShare::Full));
    assert_eq!(share("n"), None);
    assert_eq!(tripipe_ir::text::parse(&module.to_string()).unwrap(), module);
}

/// Recursion and pipes are rejected only in the kernels that use them.
#[test]
fn one_rejected_kernel_does_not_affect_the_others() {
    let text = "int f(int n) { return n < 2 ? 1 : n * f(n - 1); }\n\
        constant int table[4] = {1, 2, 3, 4};\n\
        kernel void first(global int *a) { a[0] = table[a[1]] + f(a[2]); }\n\
        kernel void second(global int *a) { a[0] = table[a[1]]; }\n\
        kernel void third(read_only pipe int p, global int *a) { read_pipe(p, a); }";
    let build = Build::with_options("-cl-std=CL2.0");
    let Some(built) = support::built(build_text("k.cl", text, None, &build)) else { return };
    let loaded = load_each(&built.spirv, &Options::default()).unwrap();
    let names: Vec<&str> = loaded.module.kernels.iter().map(|kernel| &*kernel.name).collect();
    assert_eq!(names, ["second"]);
    // Objects that the rejected kernel had started do not exist twice, and are complete if they are used.
    assert_eq!(loaded.module.objects.len(), 1);
    assert!(loaded.module.to_string().contains("bytes x01000000020000000300000004000000"));
    let refused: Vec<(&str, String)> =
        loaded.refused.iter().map(|refused| (&*refused.kernel, refused.error.to_string())).collect();
    assert!(refused[0].0 == "first" && refused[0].1.contains("recursion in `f`"), "{refused:?}");
    assert!(refused[1].0 == "third" && refused[1].1.contains("OpTypePipe"), "{refused:?}");
    assert!(load(&built.spirv, &Options::default()).unwrap_err().to_string().contains("recursion"));
}

#[test]
fn printf_formats_are_checked_as_if_double_were_supported() {
    let warnings = |arguments: &str, options: &str| {
        let text = format!("kernel void k(global float *a, int n) {{ printf({arguments}); }}");
        let built = support::built(build_text("k.cl", &text, None, &Build::with_options(options)))?;
        Some(built.warnings)
    };
    // C promotes a float to the double that `%f` expects (C99, 6.5.2.2); without double it stays a float.
    for options in ["", "-Wall", "-cl-std=CL2.0", "-cl-std=CL3.0", "-cl-fp32-correctly-rounded-divide-sqrt"] {
        let Some(said) = warnings("\"%f %g %d %v4hlf\\n\", a[0], 1.0f, n, (float4)(a[1])", options) else {
            return;
        };
        assert_eq!(said, "", "{options}");
    }
    let wrong = warnings("\"%d %f\\n\", a[0], n", "").unwrap_or_default();
    assert!(wrong.contains("k.cl:1:") && !wrong.contains("kernel.cl"), "{wrong}");
    assert!(wrong.contains("specifies type 'int' but the argument has type"), "{wrong}");
    assert!(wrong.contains("specifies type 'double' but the argument has type 'int'"), "{wrong}");
    assert_eq!(warnings("\"%d\\n\", a[0]", "-Wno-format").unwrap_or_default(), "");
    // Other warnings appear once.
    let other = warnings("\"%d\\n\", a[0]); int unused = 0; (void)(0", "-Wall").unwrap_or_default();
    assert_eq!(other.matches("unused variable").count(), 1, "{other}");
}

#[test]
fn cpp_for_opencl_at_every_level() {
    let text = "template <typename T> T twice(T x) { return x + x; }\n\
                struct Pair { int a, b; int sum() const { return a + b; } };\n\
                inline int half_of(int x) { return x / 2; }\n\
                kernel void k(global int *a) { Pair p{3, 4}; a[0] = twice(p.sum()) + half_of(9); }";
    for options in ["-cl-std=CLC++", "-cl-std=clc++", "-cl-std=CLC++1.0", "-cl-std=CLC++2021"] {
        for optimization in
            [Optimization::AsWritten, Optimization::O1, Optimization::O2, Optimization::Driver]
        {
            let build = Build { optimization, ..Build::with_options(options) };
            let Some(built) = support::built(build_text("k.cl", text, None, &build)) else { return };
            let module = load(&built.spirv, &Options::default()).unwrap();
            let kernel = &module.kernels[0];
            let mut stores = kernel.insts.values().filter(|inst| matches!(inst.op, Op::Store(_)));
            let value = stores.next_back().unwrap().operands[1];
            // 2 * (3 + 4) + 9 / 2, if the optimiser has evaluated it.
            if optimization == Optimization::Driver {
                assert_eq!(kernel.scalar_constant(value), Some(18), "{options}");
            }
        }
    }
}
