//! Every feature of OpenCL C, and every kernel of the project, loads, is well-formed, and survives its text form.

use std::path::Path;
use std::process::Command;

use tripipe_ir::front::spirv::{Options, load};
use tripipe_ir::{Op, TerminatorKind, text, transform, verify};

use crate::support;

fn check(path: &Path) {
    let Some(built) = support::build(path) else { return };
    let plain = Options {
        transform: transform::Options { promote: false, simplify: false, remove_dead_loads: false },
        ..Options::default()
    };
    for options in [Options::default(), plain] {
        let module =
            load(&built.spirv, &options).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        verify::verify(&module).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!module.kernels.is_empty(), "{}", path.display());
        let printed = module.to_string();
        let parsed =
            text::parse(&printed).unwrap_or_else(|error| panic!("{}: {error}\n{printed}", path.display()));
        assert!(parsed.to_string() == printed, "{}: the text form prints otherwise", path.display());
        assert!(parsed == module, "{}: the text form parses to another module", path.display());
    }
}

#[test]
fn whole_language() {
    for path in support::sources("tests/cover") {
        check(&path);
    }
}

#[test]
fn kernels_of_the_project() {
    for path in support::project_sources() {
        check(&path);
    }
}

/// Scalars do not stay in memory, and their source lines are known.
#[test]
fn kernels_of_the_project_are_values_with_lines() {
    for path in support::project_sources() {
        let Some(built) = support::build(&path) else { return };
        let module = load(&built.spirv, &Options::default()).expect("it loads");
        for kernel in &module.kernels {
            let count = kernel.insts.len();
            let placed = kernel.insts.values().filter(|inst| inst.location.is_some()).count();
            assert!(placed * 10 >= count * 8, "{}: {placed} of {count} have a place", kernel.name);
            for object in kernel.objects.values() {
                let is_array = matches!(
                    object.layout,
                    tripipe_ir::TypeLayout::Array { .. } | tripipe_ir::TypeLayout::Struct { .. }
                );
                assert!(is_array, "{}: `{}` stays in memory", kernel.name, object.name);
            }
        }
    }
}

/// spirv-val accepts the inputs, so they do not load by accident. They are built without line information, because
/// LLVM's translator writes debug information that does not validate.
#[test]
fn inputs_are_valid() {
    for path in support::sources("tests/cover").into_iter().chain(support::project_sources()) {
        let Some(built) = support::build_with(&path, &["-g0"]) else { return };
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("in.spv");
        std::fs::write(&input, &built.spirv).unwrap();
        let Ok(output) = Command::new("spirv-val").arg(&input).output() else {
            println!("skipped: no spirv-val");
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        let known =
            KNOWN_INVALID.iter().any(|(file, complaint)| path.ends_with(file) && said.contains(complaint));
        assert!(output.status.success() || known, "{}: {said}", path.display());
    }
}

/// Invalid constructs that LLVM's translator writes, and that are nevertheless loaded.
const KNOWN_INVALID: [(&str, &str); 3] = [
    // `get_global_id(3)` is 0, but is written as a fourth lane of three.
    ("cover/flow.cl", "Vector access is out of bounds, vector size is 3"),
    // The constant parts of an array, in the address space of pointers without a qualifier.
    ("cover/partly.cl", "Variables can not have a function[7] storage class outside of a function"),
    // A sampler without a filter.
    ("cover/samplers.cl", "Invalid sampler filter mode operand: 4294967295"),
];

/// A dead load is kept, because it may be out of bounds, unless its removal is requested.
#[test]
fn dead_loads_stay_until_asked() {
    let source = "kernel void k(global int *a, int n) { int unused = a[n]; a[0] = 1; }";
    let build = tripipe_ir::front::clang::Build::default();
    let Some(built) = support::built(tripipe_ir::front::clang::build_text("k.cl", source, None, &build))
    else {
        return;
    };
    let loads = |remove_dead_loads| {
        let transform = transform::Options { remove_dead_loads, ..transform::Options::default() };
        let module = load(&built.spirv, &Options { transform, ..Options::default() }).unwrap();
        module.kernels[0].insts.values().filter(|inst| matches!(inst.op, Op::Load(_))).count()
    };
    assert_eq!((loads(false), loads(true)), (1, 0));
}

/// Undefined behaviour that optimisation would exploit is still there: an index past an inner array, a shift past the
/// width, an uninitialised variable, with its name and the line of its declaration.
#[test]
fn undefined_behaviour_is_preserved() {
    let source = "kernel void k(global int *a, int n) {\n  int t[4][4];\n  for (int i = 0; i < 16; ++i) t[i / 4][i % 4] = i;\n\
                  \n  a[0] = t[1][4 + (n & 1)];\n  a[1] = 1 << 40 + n;\n  int u;\n  if (n > 5) u = 3;\n  a[2] = u;\n}";
    let build = tripipe_ir::front::clang::Build::default();
    let Some(built) = support::built(tripipe_ir::front::clang::build_text("k.cl", source, None, &build))
    else {
        return;
    };
    let module = load(&built.spirv, &Options::default()).unwrap();
    let kernel = module.kernel("k").unwrap();
    let inner = kernel.insts.values().filter(|inst| {
        matches!(inst.op, Op::Address(address) if address.count == Some(4)) && inst.location.is_some()
    });
    assert!(inner.count() >= 3, "{module}");
    let undefined = kernel.insts.values().find(|inst| inst.op == Op::Undefined).expect("an unwritten value");
    let name = kernel.names[undefined.result.unwrap()].as_deref();
    assert_eq!(name, Some("u"));
    assert_eq!(kernel.locations[undefined.location.unwrap()].line, 7);
}

#[test]
fn required_sizes_and_arguments() {
    let source = "typedef struct { int a; float b; } S;\n\
        kernel __attribute__((reqd_work_group_size(8, 4, 1), vec_type_hint(uchar4))) void k(global const float *restrict in, local short4 *l,\n\
        constant int *c, S s, read_only image2d_t i, sampler_t m, uchar16 v) { l[0] = c[0] + s.a + in[0]; }";
    let build = tripipe_ir::front::clang::Build::default();
    let Some(built) = support::built(tripipe_ir::front::clang::build_text("k.cl", source, None, &build))
    else {
        return;
    };
    let module = load(&built.spirv, &Options::default()).unwrap();
    let kernel = &module.kernels[0];
    assert_eq!(kernel.required_local_size, Some([8, 4, 1]));
    assert_eq!(kernel.vector_hint, Some(tripipe_ir::Type::Vector(tripipe_ir::Scalar::I8, 4)));
    let names: Vec<&str> = kernel.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(names, ["in", "l", "c", "s", "i", "m", "v"]);
    let types: Vec<&str> = kernel.parameters.iter().map(|parameter| parameter.type_name.as_str()).collect();
    assert_eq!(types, ["float*", "short4*", "int*", "S", "image2d_t", "sampler_t", "uchar16"]);
    let text = module.to_string();
    assert!(text.contains("pointer global align 4 const restrict to f32"), "{text}");
    assert!(text.contains("pointer local align 8 to i16x4"), "{text}");
    assert!(text.contains("{0: i32, 4: f32, 8} argument 3"), "{text}");
    assert!(matches!(kernel.blocks.values().last().unwrap().terminator.kind, TerminatorKind::Return));
}
