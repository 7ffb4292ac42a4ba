//! An unsupported feature is rejected with its name and location; a damaged module, with what is wrong.

use std::fmt::Write as _;

use tripipe_ir::diagnostic::LoadError;
use tripipe_ir::front::clang::{Build, BuildError, build_text};
use tripipe_ir::front::spirv::{Limits, Options, load};

use crate::support;

fn spirv(source: &str, options: &[&str]) -> Option<Vec<u8>> {
    let build = Build { options: options.iter().map(ToString::to_string).collect(), ..Build::default() };
    support::built(build_text("dir/k.cl", source, None, &build)).map(|built| built.spirv)
}

#[test]
fn recursion_is_refused_where_it_calls() {
    let source = "int f(int n) {\n  if (n < 2) return 1;\n  return n * f(n - 1);\n}\n\
                  kernel void k(global int *a) { a[0] = f(a[1]); }";
    let Some(bytes) = spirv(source, &[]) else { return };
    let error = load(&bytes, &Options::default()).unwrap_err();
    let LoadError::Unsupported { location, feature } = &error else { panic!("{error}") };
    assert_eq!(feature, "recursion in `f`");
    assert_eq!(location.kernel, "k");
    let source = location.source.as_ref().expect("a source location");
    assert!(source.file.ends_with("dir/k.cl"), "{}", source.file);
    assert_eq!((source.line, source.column), (3, 14));
    assert!(error.to_string().contains("dir/k.cl:3:14: kernel `k`, OpFunctionCall at byte"), "{error}");
}

#[test]
fn functions_without_a_body_are_named() {
    let Some(bytes) = spirv("int f(int n);\nkernel void k(global int *a) { a[0] = f(a[1]); }", &[]) else {
        return;
    };
    let error = load(&bytes, &Options::default()).unwrap_err().to_string();
    assert!(error.contains("the function `f`") && error.contains("k.cl:2:39"), "{error}");
}

#[test]
fn compile_errors_are_clangs() {
    let error = match build_text(
        "dir/k.cl",
        "kernel void k(global int *a) {\n  a[0] = b;\n}",
        None,
        &Build::default(),
    ) {
        Err(BuildError::ToolMissing { .. }) => return,
        other => other.unwrap_err().to_string(),
    };
    assert!(error.contains("dir/k.cl:2:10: error: use of undeclared identifier 'b'"), "{error}");
    assert!(error.contains("a[0] = b;") && error.contains("         ^"), "{error}");
}

#[test]
fn limits_end_in_an_error() {
    // Each call level doubles the code.
    let mut source = String::from("void f0(global int *a) { a[0]++; }\n");
    for level in 1..30 {
        let _ = writeln!(source, "void f{level}(global int *a) {{ f{0}(a); f{0}(a + 1); }}", level - 1);
    }
    source += "kernel void k(global int *a) { f29(a); }";
    let Some(bytes) = spirv(&source, &[]) else { return };
    let options =
        Options { limits: Limits { instructions: 50_000, ..Limits::default() }, ..Options::default() };
    let error = load(&bytes, &options).unwrap_err();
    assert!(error.to_string().ends_with("more than 50000 instructions"), "{error}");
}

#[test]
fn damaged_bytes_say_where() {
    let error = |bytes: &[u8]| load(bytes, &Options::default()).unwrap_err().to_string();
    assert!(error(&[]).contains("the header is truncated"));
    assert!(error(&[1, 2, 3]).contains("multiple of 4"));
    assert!(error(&[0; 40]).contains("magic number"));
    let mut bytes = Vec::new();
    for word in [0x0723_0203_u32, 0x0001_0400, 0, 10, 0, 0x0005_0011] {
        bytes.extend(word.to_le_bytes());
    }
    assert!(error(&bytes).contains("OpCapability is wrong at byte 20"), "{}", error(&bytes));
    // The same in the other byte order.
    let swapped: Vec<u8> = bytes.chunks(4).flat_map(|word| word.iter().rev().copied()).collect();
    assert_eq!(error(&swapped), error(&bytes));
}

/// Messages do not show ids: they use the name in the module, or else the instruction that defines the id.
#[test]
fn errors_name_ids_in_words() {
    // A kernel that stores to %9, which nothing defines, or which is a function.
    let module = |extra: &[&[u32]], named: bool| {
        let mut words = vec![0x0723_0203_u32, 0x0001_0200, 0, 20, 0];
        let mut add = |instruction: &[u32], opcode: u32| {
            words.push((instruction.len() as u32 + 1) << 16 | opcode);
            words.extend(instruction);
        };
        add(&[4], 17); // Addresses
        add(&[6], 17); // Kernel
        add(&[2, 2], 14); // Physical64, OpenCL
        add(&[6, 5, u32::from_le_bytes(*b"k\0\0\0")], 15);
        if named {
            add(&[9, u32::from_le_bytes(*b"sum\0")], 5);
        }
        add(&[1], 19); // void
        add(&[2, 32, 0], 21); // uint
        add(&[3, 1], 33); // void()
        for instruction in extra {
            add(&instruction[1..], instruction[0]);
        }
        add(&[1, 5, 0, 3], 54);
        add(&[7], 248);
        add(&[9, 9], 62); // OpStore %9 %9
        add(&[], 253);
        add(&[], 56);
        words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
    };
    let error = |bytes: &[u8]| load(bytes, &Options::default()).unwrap_err().to_string();
    let nothing = error(&module(&[], false));
    assert!(
        nothing.contains("id 9, which is not defined,") && nothing.contains("OpStore at byte"),
        "{nothing}"
    );
    let made = error(&module(&[&[33, 9, 1]], false));
    assert!(made.contains("the result of OpTypeFunction at byte") && made.contains("(id 9)"), "{made}");
    let named = error(&module(&[&[33, 9, 1]], true));
    assert!(named.contains("`sum`") && !named.contains('%'), "{named}");
}

/// A clang with a usable back end of its own needs no translator; lines are then unknown, but kernels load.
#[test]
fn clangs_own_spirv_back_end_is_supported() {
    let program = "clang-22";
    if std::process::Command::new(program).arg("--version").output().is_err() {
        println!("skipped: no {program}");
        return;
    }
    // In a separate process, because the choice of clang is made once per process.
    let this = std::env::current_exe().unwrap();
    let output = std::process::Command::new(this)
        .args(["--exact", "refused::with_the_chosen_clang", "--nocapture"])
        .env("TRIPIPE_CLANG", program)
        .env_remove("TRIPIPE_LLVM_SPIRV")
        .env("TRIPIPE_TEST_BACK_END", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn with_the_chosen_clang() {
    if std::env::var_os("TRIPIPE_TEST_BACK_END").is_none() {
        return;
    }
    for path in support::project_sources() {
        let built = tripipe_ir::front::clang::build_file(&path, &Build::default()).unwrap();
        let module = load(&built.spirv, &Options::default())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!module.kernels.is_empty());
    }
}
