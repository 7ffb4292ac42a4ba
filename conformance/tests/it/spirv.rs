//! The stored SPIR-V of the ladders: complete, without leftovers, and in agreement with its sources.
//!
//! Without clang the last check is skipped with a message; with `TRIPIPE_REQUIRE_CLANG` that is a failure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tripipe_conformance::phone::mali_g610;
use tripipe_conformance::programs::{ladder_programs, programs};
use tripipe_conformance::sizes::{Extent, sizes};
use tripipe_device::Probe;
use tripipe_ir::front::clang::{Build, BuildError, Clang, build_text};
use tripipe_ir::front::spirv::{Options, load, load_each};
use tripipe_ir::{Kernel, Module, ParameterKind};
use tripipe_ladders::spirv;
use tripipe_launch::{Program, Source};

/// How to fix the failures that these tests find.
const REBUILD: &str = "`cargo xtask spirv` rebuilds the folder";

fn title(program: &Program) -> String {
    format!("{} {}", program.name, program.build_options())
}

#[test]
fn the_folder_contains_only_the_modules_of_the_ladders() {
    let planned: BTreeSet<String> =
        ladder_programs().unwrap().iter().map(|program| spirv::key(program).unwrap()).collect();
    let listed: BTreeSet<String> = spirv::keys().map(str::to_owned).collect();
    assert_eq!(planned, listed, "{REBUILD}");
    assert!(spirv::keys().is_sorted(), "{REBUILD}");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/ladders/spirv");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let named = listed.iter().map(|key| format!("{key}.spv")).chain(["table.rs".to_owned()]);
    assert_eq!(files, named.collect(), "{REBUILD}");
}

/// Devices and sizes other than those that the folder was built for.
#[test]
fn no_ladder_needs_a_compiler() {
    let adreno = Probe {
        name: "QUALCOMM Adreno(TM)".to_owned(),
        version: "OpenCL 2.0 Adreno(TM) 640".to_owned(),
        extensions: vec!["cl_khr_fp16".to_owned()],
        local_memory_dedicated: true,
        non_uniform_work_groups: true,
        ..mali_g610()
    };
    let recent =
        Probe { version: "OpenCL 3.0 v1.r38p1".to_owned(), name: "Mali-G715".to_owned(), ..adreno.clone() };
    let silent = Probe { extensions: vec!["cl_khr_fp16".to_owned()], ..Probe::default() };
    let planned =
        programs(&[mali_g610(), adreno, recent, silent], |kind| sizes(kind, Extent::Small)).unwrap();
    assert!(planned.len() > 40, "{} programs", planned.len());
    for program in planned {
        assert!(spirv::find(&program).is_some(), "{} has no SPIR-V; {REBUILD}", title(&program));
    }
}

#[test]
fn a_program_is_found_by_name_text_and_options() {
    let program = Program::clone(&ladder_programs().unwrap()[0]);
    assert!(spirv::find(&program).is_some());
    let Source::OpenClC(text) = &program.source else { panic!("a ladder's program is text") };
    let edited = Source::OpenClC(format!("{text} ").into());
    assert_eq!(spirv::find(&Program { source: edited, ..program.clone() }), None);
    assert_eq!(spirv::find(&Program { name: "other.cl".into(), ..program.clone() }), None);
    assert_eq!(spirv::find(&program.clone().define("OTHER", 1)), None);
    assert_eq!(spirv::find(&program.option("-cl-mad-enable")), None);
}

#[test]
fn stored_modules_equal_a_rebuild() {
    let clang = match Clang::find() {
        Ok(clang) => clang,
        Err(error @ BuildError::ToolMissing { .. }) => {
            assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
            eprintln!("left out: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let options = Options::default();
    let same_tools = clang.to_string() == spirv::tools();
    let mut compared = 0;
    for program in ladder_programs().unwrap() {
        let title = title(&program);
        let Source::OpenClC(text) = &program.source else { panic!("{title} is not text") };
        let build = Build::with_options(&program.build_options());
        let rebuilt =
            build_text(&program.name, text, None, &build).unwrap_or_else(|error| panic!("{title}: {error}"));
        let rebuilt = load_each(&rebuilt.spirv, &options).unwrap_or_else(|error| panic!("{title}: {error}"));
        let stored = spirv::find(&program).unwrap_or_else(|| panic!("{title}: {REBUILD}"));
        let stored = load(stored, &options).unwrap_or_else(|error| panic!("{title}, stored: {error}"));
        if same_tools {
            let rebuilt = rebuilt.module.to_string();
            assert!(stored.to_string() == rebuilt, "{title} differs from a rebuild; {REBUILD}");
        }
        // Other compilers generate different code, and some lack library functions; their kernels have the same
        // interface.
        let stored = interface(&stored);
        let loaded = interface(&rebuilt.module);
        let names = loaded.keys().chain(rebuilt.refused.iter().map(|refused| &refused.kernel));
        assert_eq!(names.collect::<BTreeSet<_>>(), stored.keys().collect(), "{title}, by {clang}");
        for (name, called) in &loaded {
            assert_eq!(called, &stored[name], "{title}, {name}, by {clang}");
        }
        compared += loaded.len();
    }
    assert!(compared > 60, "{compared} kernels, by {clang}");
}

/// A kernel's interface, independent of the compiler: its arguments and required work-group size.
fn interface(module: &Module) -> BTreeMap<String, String> {
    let kind = |kernel: &Kernel, kind: &ParameterKind| match kind {
        ParameterKind::Value(ty) => ty.to_string(),
        ParameterKind::Pointer { space, .. } => format!("{space:?} pointer"),
        ParameterKind::Struct { object } => format!("struct of {} bytes", kernel.objects[*object].bytes()),
    };
    let called = |kernel: &Kernel| {
        let parameters = kernel.parameters.iter().map(|parameter| kind(kernel, &parameter.kind));
        let sizes = (kernel.required_local_size, kernel.local_size_hint, kernel.required_sub_group_size);
        format!("({}) {sizes:?}", parameters.collect::<Vec<_>>().join(", "))
    };
    module.kernels.iter().map(|kernel| (kernel.name.clone(), called(kernel))).collect()
}
