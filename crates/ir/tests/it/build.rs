//! How `front::clang` handles sources, options and names.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use tripipe_device::{OpenCl, find};
use tripipe_ir::Module;
use tripipe_ir::front::clang::{
    Build, BuildError, Built, Cache, Clang, Optimization, build_file, build_text,
};
use tripipe_ir::front::spirv::{Options, load};

use crate::support;

const STORE: &str = "kernel void k(global int *a) { a[1] = N; }";

fn module(name: &str, text: &str, options: &str) -> Option<Module> {
    let built = support::built(build_text(name, text, None, &Build::with_options(options)))?;
    Some(load(&built.spirv, &Options::default()).unwrap())
}

#[test]
fn a_source_has_the_name_given_by_the_caller() {
    // No folder is added to a relative name, nor removed from an absolute one.
    let odd = ["with space.cl", "with\nline.cl", "with\ttab \"and\" quotes\\.cl", "\u{7}\r123.cl", "früh.cl"];
    let plain = ["k.cl", "gemm/k.cl", "../k.cl", "./k.cl", "/somewhere/k.cl"];
    for name in plain.into_iter().chain(odd) {
        let Some(module) = module(name, STORE, "-D N=1") else { return };
        let files: Vec<&str> = module.files.values().map(|file| &**file).collect();
        assert_eq!(files, [name]);
    }
}

#[test]
fn options_of_vendors_are_not_passed_to_clang() {
    let Some(plain) = module("k.cl", STORE, "-D N=1") else { return };
    let options = "-cl-arm-non-uniform-work-group-size -qcom-accelerate-16-bit -D N=1 -cl-nv-verbose";
    assert_eq!(module("k.cl", STORE, options).unwrap().to_string(), plain.to_string());
    // Other options are not accepted: an unknown option is an error.
    assert!(build_text("k.cl", STORE, None, &Build::with_options("-cl-no-such-option")).is_err());
}

/// Division and remainder by one number: the optimiser computes the remainder from the quotient, and freezes both
/// operands for that, which the translator does not know.
#[test]
fn frozen_values_are_translated() {
    // The translator refuses an annotated kernel in SPIR-V 1.3 for another reason.
    for annotation in ["", "__attribute__((qcom_reqd_sub_group_size(\"half\")))"] {
        let text = format!(
            "{annotation} kernel void k(global int *a, int n) {{ int i = get_global_id(0), x = a[i]; \
             a[i] = x / n; a[i + n] = x % n; }}"
        );
        let offered = Some(find("750").unwrap().opencl().clone());
        let build = Build { optimization: Optimization::Driver, offered, ..Build::default() };
        let Some(built) = support::built(build_text("k.cl", &text, None, &build)) else { return };
        load(&built.spirv, &Options::default()).unwrap();
    }
}

/// Writes a file whose modification time is a minute ago.
fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    age(path, 60);
}

fn age(path: &Path, seconds: u64) {
    changed_at(path, SystemTime::now() - Duration::from_secs(seconds));
}

fn changed_at(path: &Path, time: SystemTime) {
    std::fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

/// `a[1] = N` with N from a header.
const INCLUDES: &str = "#include \"n.h\"\nkernel void k(global int *a) { a[1] = N; }";

/// Includes in the folders `first` and `second` of `folder`, with a cache in its `cache`.
fn with_includes(folder: &Path, options: &str) -> Build {
    let place = |name: &str| format!("-I {}", folder.join(name).display());
    let options = format!("{} {} {options}", place("first"), place("second"));
    Build { cache: Some(Cache::at(folder.join("cache"))), ..Build::with_options(&options) }
}

#[test]
fn builds_are_cached_by_everything_that_affects_them() {
    let folder = tempfile::tempdir().unwrap();
    let header = folder.path().join("second/n.h");
    write(&header, "#define N M\n");
    let build = |name: &str, define: &str| {
        let build = with_includes(folder.path(), define);
        support::built(build_text(name, INCLUDES, None, &build))
    };
    let Some(first) = build("k.cl", "-D M=3") else { return };
    assert!(!first.cached);
    let again = build("k.cl", "-D M=3").unwrap();
    assert_eq!(again, Built { cached: true, ..first.clone() });
    // Options and the name are part of the key.
    assert!(!build("k.cl", "-D M=4").unwrap().cached);
    assert!(!build("j.cl", "-D M=3").unwrap().cached);
    // So are includes; the result for their previous contents is still cached.
    write(&header, "#define N 8\n");
    let changed = build("k.cl", "-D M=3").unwrap();
    assert!(!changed.cached && changed.spirv != first.spirv);
    write(&header, "#define N M\n");
    assert_eq!(build("k.cl", "-D M=3").unwrap(), again);
    // A damaged entry is rebuilt.
    for entry in std::fs::read_dir(folder.path().join("cache")).unwrap() {
        std::fs::write(entry.unwrap().path(), b"damaged, but long enough to hold a digest").unwrap();
    }
    assert_eq!(build("k.cl", "-D M=3").unwrap(), first);
}

#[test]
fn warnings_are_repeated_from_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let build = Build { cache: Some(Cache::at(folder.path())), ..Build::default() };
    let source = "#warning mind the step\nkernel void k(global int *a) { *a = 1; }";
    let Some(first) = support::built(build_text("k.cl", source, None, &build)) else { return };
    assert!(first.warnings.contains("k.cl:1:2: warning: mind the step"), "{}", first.warnings);
    assert_eq!(build_text("k.cl", source, None, &build).unwrap(), Built { cached: true, ..first });
}

/// Whether a build through the cache gives the same module as one without.
fn same_as_fresh(folder: &Path, what: &str) -> bool {
    let kept = with_includes(folder, "");
    let fresh = Build { cache: None, ..kept.clone() };
    let file = folder.join("k.cl");
    let Some(kept) = support::built(build_file(&file, &kept)) else { return false };
    assert_eq!(kept.spirv, build_file(&file, &fresh).unwrap().spirv, "{what}");
    true
}

/// Every location that an include search could reach is checked again.
#[test]
fn includes_are_found_as_the_compiler_finds_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(&root.join("second/n.h"), "#include \"deep/m.h\"\n#define N M\n");
    write(&root.join("second/deep/m.h"), "#define M 1\n");
    write(&root.join("k.cl"), INCLUDES);
    let steps: [(&str, &str); 6] = [
        ("second/deep/m.h", "#define M 2\n"),
        ("first/deep/m.h", "#define M 3\n"),
        ("first/n.h", "#include <deep/m.h>\n#define N (M + 10)\n"),
        ("n.h", "#include \"deep/m.h\"\n#define N (M + 20)\n"),
        ("deep/m.h", "#define M 4\n"),
        ("n.h", "#if __has_include(\"other.h\")\n#define N 5\n#else\n#define N 6\n#endif\n"),
    ];
    // Twice, so that the first build stores the includes and the second one uses them.
    if !(same_as_fresh(root, "at first") && same_as_fresh(root, "at first")) {
        return;
    }
    for (file, text) in steps {
        write(&root.join(file), text);
        same_as_fresh(root, file);
        same_as_fresh(root, file);
    }
    // A query that the preprocessor answers from the file system.
    write(&root.join("other.h"), "");
    same_as_fresh(root, "other.h");
    std::fs::remove_file(root.join("n.h")).unwrap();
    same_as_fresh(root, "n.h removed");
}

/// The programs that a process runs to build `k.cl` in a folder, one letter each (`v`ersion, `p`reprocess, `c`ompile,
/// `t`ranslate), and the module it gets. The tools are scripts in that folder that log what they do.
#[cfg(unix)]
fn programs_run(folder: &Path) -> (String, String) {
    let log = folder.join("log");
    let _ = std::fs::remove_file(&log);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "build::in_a_process_of_its_own", "--nocapture"])
        .env("TRIPIPE_CLANG", folder.join("clang"))
        .env("TRIPIPE_LLVM_SPIRV", folder.join("translator"))
        .env("TRIPIPE_TEST_FOLDER", folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{failed}");
    (
        std::fs::read_to_string(&log).unwrap_or_default(),
        std::fs::read_to_string(folder.join("module")).unwrap(),
    )
}

#[cfg(unix)]
#[test]
fn in_a_process_of_its_own() {
    let Some(folder) = std::env::var_os("TRIPIPE_TEST_FOLDER") else { return };
    let folder = Path::new(&folder);
    let built = build_file(&folder.join("k.cl"), &with_includes(folder, "")).unwrap();
    let module = load(&built.spirv, &Options::default()).unwrap();
    std::fs::write(folder.join("module"), module.to_string()).unwrap();
}

#[cfg(unix)]
#[test]
fn cached_builds_do_not_run_clang() {
    use std::os::unix::fs::PermissionsExt as _;

    use tripipe_ir::front::clang::{Clang, Translator};

    if module("k.cl", STORE, "-D N=1").is_none() {
        return;
    }
    let tools = Clang::find().unwrap();
    let Translator::Tool { program: translator, .. } = tools.translator else { return };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let script = |name: &str, program: &Path| {
        let (log, program) = (root.join("log"), program.display());
        let text = format!(
            "#!/bin/sh\ncase \" $* \" in *' --version '*) step=v;; *' -E '*) step=p;; *' -c '*) step=c;; *) step=t;; esac\n\
             printf $step >> '{}'\nexec {program} \"$@\"\n",
            log.display()
        );
        write(&root.join(name), &text);
        std::fs::set_permissions(root.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    script("clang", &tools.program);
    script("translator", &translator);
    write(&root.join("second/n.h"), "#define N 1\n");
    write(&root.join("k.cl"), INCLUDES);

    let (run, one) = programs_run(root);
    assert_eq!(run, "vvpct");
    assert_eq!(programs_run(root), (String::new(), one.clone()));
    // A comment in a header does not change the program.
    write(&root.join("second/n.h"), "#define N 1 // one\n");
    assert_eq!(programs_run(root), ("p".to_owned(), one.clone()));
    assert_eq!(programs_run(root), (String::new(), one.clone()));
    write(&root.join("first/n.h"), "#define N 2\n");
    let (run, two) = programs_run(root);
    assert_eq!(run, "pct");
    assert_ne!(one, two);
    assert_eq!(programs_run(root), (String::new(), two.clone()));
    // A tool that has changed is asked for its version again.
    age(&root.join("translator"), 30);
    assert_eq!(programs_run(root), ("vv".to_owned(), two.clone()));
    // A file that may still change is not cached, nor is a text that queries the time.
    write(&root.join("first/n.h"), "#define N 2 // young\n");
    changed_at(&root.join("first/n.h"), SystemTime::now() + Duration::from_secs(3600));
    for _ in 0..2 {
        assert_eq!(programs_run(root), ("p".to_owned(), two.clone()));
    }
    write(&root.join("first/n.h"), "#define N (sizeof(__TIMESTAMP__) / sizeof(__TIMESTAMP__))\n");
    programs_run(root);
    assert!(programs_run(root).0.starts_with('p'));
}

/// A build for a device that offers these extensions and features.
fn for_device(names: &[&str], version: (u8, u8), options: &str) -> Build {
    let opencl = OpenCl {
        extensions: names.iter().map(ToString::to_string).collect(),
        features: Vec::new(),
        version,
        c_versions: [(1, 0), (1, 1), (1, 2), (2, 0), (3, 0)]
            .into_iter()
            .filter(|own| *own <= version)
            .collect(),
        ..find("t860").unwrap().opencl().clone()
    };
    Build { offered: Some(opencl), ..Build::with_options(options) }
}

#[test]
fn a_text_sees_what_its_device_offers() {
    let text = "#if !defined(cl_khr_fp16) || !defined(cl_vendor_thing) || __OPENCL_VERSION__ != 120
        #error not defined
        #endif
        #if defined(cl_khr_fp64) || defined(cl_qcom_dot_product8) || __OPENCL_C_VERSION__ != 120
        #error defined
        #endif
        kernel void k(global float *a) { *a *= 1.1; }";
    let build = for_device(&["cl_khr_fp16", "cl_vendor_thing"], (1, 2), "");
    let Some(single) = support::built(build_text("k.cl", text, None, &build)) else { return };
    // What is not offered is an error, and not a reason to try another version.
    for wrong in [
        "kernel void k(global double *a) { *a = 1; }",
        "kernel void k(global int *a) { *a = sub_group_reduce_add(1); }",
    ] {
        assert!(
            matches!(build_text("k.cl", wrong, None, &build), Err(BuildError::Compile { .. })),
            "{wrong}"
        );
    }
    // OpenCL C, floating-point constants: they are `double` where that exists.
    let text = text.replace("defined(cl_khr_fp64) ||", "");
    let build = for_device(&["cl_khr_fp16", "cl_vendor_thing", "cl_khr_fp64"], (1, 2), "");
    assert_ne!(build_text("k.cl", &text, None, &build).unwrap().spirv, single.spirv);
    assert!(build_text("k.cl", "kernel void k(global double *a) { *a = 1; }", None, &build).is_ok());
}

/// The macros are those that clang itself defines.
#[test]
fn a_text_sees_no_macro_of_what_its_device_does_not_offer() {
    let Some(_) = support::built(build_text("k.cl", STORE, None, &Build::with_options("-DN=1"))) else {
        return;
    };
    let tools = Clang::find().unwrap();
    for version in ["CL1.2", "CL3.0"] {
        let header =
            ["-Xclang", "-finclude-default-header", "-Xclang", "-cl-ext=+all", "-dM", "-E", "/dev/null"];
        let macros = Command::new(&tools.program)
            .args(["-x", "cl", "--target=spir64-unknown-unknown", &format!("-cl-std={version}")])
            .args(header)
            .output()
            .unwrap();
        let macros = String::from_utf8(macros.stdout).unwrap();
        let names = macros.lines().filter_map(|line| line.split_whitespace().nth(1));
        let mut text = "kernel void k() {}\n".to_owned();
        let mut count = 0;
        // Phones have the first two; the third is the header's own.
        let known = ["cl_khr_fp16", "__opencl_c_images", "__opencl_c_named_address_space_builtins"];
        for name in names.filter(|name| name.starts_with("cl_") || name.starts_with("__opencl_c_")) {
            if !known.contains(&name) {
                text.extend(["#ifdef ", name, "\n#error ", name, "\n#endif\n"]);
                count += 1;
            }
        }
        assert!(count > 20, "{count}");
        let build = for_device(&known[..2], (3, 0), &format!("-cl-std={version}"));
        build_text("k.cl", &text, None, &build).unwrap();
    }
}

/// The compiler of a device takes the device's own functions and types, and the error names what it lacks.
#[test]
fn what_a_device_lacks_is_named() {
    let error = |gpu: &str, text: &str, options: &str| {
        let offered = Some(find(gpu).unwrap().opencl().clone());
        let build = Build { offered, ..Build::with_options(options) };
        match build_text("k.cl", text, None, &build) {
            Err(BuildError::ToolMissing { .. }) => None,
            built => Some(built.err().map(|error| error.to_string()).unwrap_or_default()),
        }
    };
    let kernel = |body: &str| format!("kernel void k(global int *a, char4 c) {{ {body} }}");
    let cases = [
        (
            "740",
            "a[0] = sub_group_shuffle_xor(a[1], 1);",
            "-cl-std=CL3.0",
            "needs cl_khr_subgroup_shuffle, which Adreno 740",
        ),
        ("g77", "a[0] = sub_group_shuffle_xor(a[1], 1);", "-cl-std=CL3.0", ""),
        ("t860", "a[0] = arm_dot_acc(c, c, a[1]);", "", "needs cl_arm_integer_dot_product_accumulate_int8"),
        ("g77", "a[0] = arm_dot_acc(c, c, a[1]);", "", ""),
        ("650", "a[0] = arm_dot_acc(c, c, a[1]);", "", "needs cl_arm_integer_dot_product_accumulate_int8"),
        (
            "t860",
            "a[0] = work_group_reduce_add(a[1]);",
            "",
            "needs OpenCL C 2.0, and Mali-T860 offers OpenCL C 1.2",
        ),
        ("g77", "a[0] = work_group_reduce_add(a[1]);", "-cl-std=CL1.2", "build with -cl-std=CL3.0"),
        ("g77", "a[0] = work_group_reduce_add(a[1]);", "", ""),
        ("t860", "a[0] = 1;", "-cl-std=CL2.0", "-cl-std=CL2.0: Mali-T860 offers OpenCL C 1.2"),
        ("650", "a[0] = 1;", "-cl-std=CL3.0", "-cl-std=CL3.0: Adreno 650 offers OpenCL C 2.0"),
        ("650", "a[0] = 1;", "-cl-std=CLC++", "needs cl_ext_cxx_for_opencl"),
        ("g77", "a[0] = 1;", "-cl-std=CLC++", ""),
        ("t860", "a[0] = sub_group_reduce_add(a[1]);", "", "needs cl_khr_subgroups, which Mali-T860"),
        ("530", "a[0] = sub_group_reduce_add(a[1]);", "", ""),
        ("g77", "a[0] = qcom_dot8_acc(a[1], a[2], 0);", "", "needs cl_qcom_dot_product8"),
        ("730", "a[0] = qcom_dot8_acc(a[1], a[2], 0);", "", ""),
        ("g77", "double x = a[1]; a[0] = x / 3;", "", "needs cl_khr_fp64"),
        ("t860", "double x = a[1]; a[0] = x / 3;", "", ""),
        ("g77", "a[0] = intel_sub_group_shuffle(a[1], 1);", "", "needs cl_intel_subgroups"),
    ];
    for (gpu, body, options, want) in cases {
        let Some(found) = error(gpu, &kernel(body), options) else { return };
        assert!(
            found.contains(want) && found.is_empty() == want.is_empty(),
            "{gpu} {body} {options}: {found}"
        );
        let assumable = !want.is_empty() && !want.contains("-cl-std=CL3.0") || want.starts_with("-cl-std");
        let intel = want.contains("intel");
        assert_eq!(found.contains("--assume"), assumable && !intel, "{gpu} {body}: {found}");
    }
    // A text with overloads of library functions needs clang's header, which declares no more than the device offers.
    let overload = "float3 __attribute__((overloadable)) cross(float3 a, float3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }\n\
        kernel void k(global float4 *a, global int *b) { a[0] = cross(a[1], a[2]); a[1].xyz = cross(a[3].xyz, a[4].xyz); ";
    assert_eq!(error("740", &format!("{overload} }}"), "").unwrap(), "");
    let found = error("740", &format!("{overload} b[0] = sub_group_shuffle_xor(b[1], 1); }}"), "").unwrap();
    assert!(found.contains("needs cl_khr_subgroup_shuffle"), "{found}");
}

/// `__OPENCL_VERSION__`, and the vendors' idiom.
#[test]
fn each_gpu_takes_its_own_path() {
    let text = "#if __OPENCL_VERSION__ != VERSION\n#error version\n#endif\n\
        #ifdef cl_qcom_reqd_sub_group_size\n#define PATH 1\n\
        #elif defined(cl_arm_integer_dot_product_accumulate_int8)\n#define PATH 2\n#else\n#define PATH 3\n#endif\n\
        #if PATH != WANTED\n#error path\n#endif\nkernel void k() {}";
    for (gpu, version, path) in [
        ("t604", 120, 3),
        ("g52", 300, 3),
        ("g77", 300, 2),
        ("640", 200, 3),
        ("650", 200, 1),
        ("830", 300, 1),
    ] {
        let offered = Some(find(gpu).unwrap().opencl().clone());
        let options = format!("-DVERSION={version} -DWANTED={path}");
        let build = Build { offered, ..Build::with_options(&options) };
        if support::built(build_text("k.cl", text, None, &build)).is_none() {
            return;
        }
    }
}
