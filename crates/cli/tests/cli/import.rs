//! `tripipe import` on captures that the OpenCL intercept layer wrote while PoCL ran the kernels of
//! `crates/capture/tests/captures/captures.c`, and on damaged copies of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run_kernel::compiles;
use crate::{Bench, refused};

/// The captures.
pub(crate) fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/tests/captures")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// PoCL's results are the oracle: integers, and floats of one operation, must be equal to the bit.
#[test]
fn imported_launches_have_the_results_of_the_device() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let said = bench.succeed(&["import", captures().to_str().unwrap(), "-o", "launches"]);
    assert_eq!(said.lines().count(), 6, "{said}");
    assert!(
        said.starts_with("launches/Enqueue_0_scale/launch.toml: scale of 64 from 8, 3 arguments"),
        "{said}"
    );
    for (name, results) in [("1_sums", 2), ("2_advance", 3), ("4_gather", 3), ("9_shared", 2)] {
        let said = bench.succeed(&["run-kernel", &format!("launches/Enqueue_{name}/launch.toml")]);
        assert_eq!(said.matches("as expected, exactly").count(), results, "{said}");
    }
    // PoCL fuses the product and the sum of `scale`, and multiplies by 1/255 in `soften`, which OpenCL allows.
    for (name, differing) in [("0_scale", "5 of 72"), ("3_soften", "39 of 140")] {
        let output = bench.run(&["run-kernel", &format!("launches/Enqueue_{name}/launch.toml")]);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(&format!("{differing} numbers not as expected")), "{said}");
    }
    let text = String::from_utf8(bench.read("launches/Enqueue_0_scale/launch.toml")).unwrap();
    for line in ["options = \"-D TYPE=float -cl-std=CL1.2\"", "global = 64", "offset = 8", "value = 1.7"] {
        assert!(text.contains(line), "{text}");
    }
    let text = String::from_utf8(bench.read("launches/Enqueue_2_advance/launch.toml")).unwrap();
    for line in ["same_as = 0", "null = true", "bytes = \"00 00 20 40  07 00 00 00  00 00 80 3e\""] {
        assert!(text.contains(line), "{text}");
    }
}

/// Without tolerance the file of the results would differ if the device were another one: PoCL itself reproduces them.
#[test]
fn the_device_reproduces_its_captured_results() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.succeed(&["import", captures().to_str().unwrap(), "--kernel", "scale", "--kernel", "soften"]);
    for name in ["0_scale", "3_soften"] {
        let launch = format!("launches/Enqueue_{name}/launch.toml");
        let mut command = bench.command(&["run-kernel", &launch, "--device", "opencl:0"]);
        command.env_remove("TRIPIPE_OPENCL");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.code() == Some(2) && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
            eprintln!("skipped: no OpenCL device");
            return;
        }
        if said.contains("PoCL") || said.contains("pthread") {
            assert_eq!(output.status.code(), Some(0), "{said}");
        }
    }
}

#[test]
fn enqueues_are_selected_by_kernel_and_number() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let all = captures();
    let all = all.to_str().unwrap();
    let said = bench.succeed(&["import", all, "-o", "two", "--kernel", "sums", "--kernel", "gather"]);
    assert_eq!(said.lines().count(), 2, "{said}");
    let said = bench.succeed(&["import", all, "-o", "one", "--enqueue", "9"]);
    assert!(said.starts_with("one/Enqueue_9_shared/launch.toml"), "{said}");
    let said = bench.succeed(&["import", &format!("{all}/Replay/Enqueue_1_sums"), "-o", "single"]);
    assert!(said.starts_with("single/Enqueue_1_sums/launch.toml"), "{said}");
    bench.refuse(
        &["import", all, "-o", "none", "--kernel", "other"],
        &["no captured enqueue that was asked for"],
    );
    bench.refuse(&["import", all, "-o", "one"], &["one exists and is not empty", "-o"]);
    bench.refuse(&["import", "two", "-o", "x"], &["two has no captured enqueue", "docs/capture.md"]);
    bench.refuse(&["import", "missing", "-o", "x"], &["missing cannot be read"]);
    bench.refuse(&["import", all, "-o", "a/b/c"], &["a/b/c cannot be written", "create it first"]);
}

/// PoCL takes no SPIR-V, so the captured source is replaced with its module, as the layer stores it (`kernel.spv`).
#[test]
fn a_module_takes_the_place_of_the_source() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    copy(&captures().join("Replay/Enqueue_1_sums"), &bench.path().join("Enqueue_1_sums"));
    let clang = |arguments: &[&str]| {
        let tools = [["clang-15", "clang"], ["llvm-spirv-15", "llvm-spirv"]];
        let [first, second] = tools[usize::from(arguments[0] == "translate")];
        let run = |tool: &str| {
            Command::new(tool).args(&arguments[1..]).current_dir(bench.path().join("Enqueue_1_sums")).status()
        };
        run(first).or_else(|_| run(second)).unwrap()
    };
    let compile =
        ["compile", "-cl-std=CL1.2", "-target", "spir64", "-Xclang", "-finclude-default-header", "-O1"];
    // The captured source ends in a zero, which clang warns about.
    assert!(
        clang(&[&compile[..], &["-w", "-emit-llvm", "-c", "-o", "k.bc", "kernel.cl"]].concat()).success()
    );
    assert!(clang(&["translate", "k.bc", "-o", "kernel.spv"]).success());
    fs::remove_file(bench.path().join("Enqueue_1_sums/kernel.cl")).unwrap();
    bench.succeed(&["import", "Enqueue_1_sums"]);
    let text = String::from_utf8(bench.read("launches/Enqueue_1_sums/launch.toml")).unwrap();
    assert!(text.contains("spirv = \"kernel.spv\""), "{text}");
    let said = bench.succeed(&["run-kernel", "launches/Enqueue_1_sums/launch.toml"]);
    assert!(said.contains("argument 1: 4 numbers as expected, exactly"), "{said}");
}

#[test]
fn a_damaged_capture_names_the_file_and_the_way_out() {
    if !compiles() {
        return;
    }
    let out_of = |enqueue: &str, file: &str, contents: Option<&[u8]>, words: &[&str]| {
        let bench = Bench::new();
        let folder = bench.path().join(enqueue);
        copy(&captures().join("Replay").join(enqueue), &folder);
        match contents {
            Some(contents) => fs::write(folder.join(file), contents).unwrap(),
            None => fs::remove_file(folder.join(file)).unwrap(),
        }
        let before = bench.files();
        let output = bench.run(&["import", enqueue]);
        refused(&output, words);
        assert_eq!(bench.files(), before, "{enqueue} {file}");
    };
    let sums = "Enqueue_1_sums";
    out_of(sums, "worksizes.txt", Some(b""), &["worksizes.txt", "1 to 3 numbers"]);
    out_of(sums, "worksizes.txt", Some(b"64 \n16 2 \n0 \n"), &["worksizes.txt", "local size [16, 2]"]);
    out_of(sums, "worksizes.txt", Some(b"64 x\n"), &["worksizes.txt", "`64 x`"]);
    out_of(sums, "worksizes.txt", Some(b"64 64 \n16 0 \n0 0 \n"), &["worksizes.txt", "all zero, for NULL"]);
    out_of(sums, "enqueueNumber.txt", Some(b"first"), &["enqueueNumber.txt", "`first`"]);
    out_of(sums, "kernelName.txt", None, &["kernelName.txt cannot be read", "copied"]);
    out_of(sums, "kernelName.txt", Some(b"add"), &["no kernel `add`", "sums"]);
    out_of(sums, "kernel.cl", None, &["neither kernel.cl nor kernel.spv", "binary"]);
    out_of(sums, "kernel.cl", Some(b"\xff\xfe"), &["kernel.cl", "not UTF-8"]);
    out_of(sums, "buildOptions.txt", Some(b"-D A='1 2'\n"), &["buildOptions.txt", "`2'`"]);
    out_of(sums, "Argument0.bin", None, &["argument 0 (`in`)", "Argument0.bin is missing"]);
    out_of(sums, "Argument3.bin", Some(b"123"), &["argument 3 (`weights`)", "`int4` of 16 bytes", "has 3"]);
    out_of(sums, "Local2.txt", None, &["argument 2 (`part`)", "Local2.txt is missing"]);
    out_of(sums, "Local2.txt", Some(b"0"), &["Local2.txt", "`0`", "number of bytes"]);
    let pre = "Pre/Enqueue_0001_Kernel_sums_Arg_0_Buffer_0002.bin";
    out_of(sums, pre, None, &["argument 0 (`in`)", "Pre has no file"]);
    out_of(sums, &pre.replace("Pre", "Post"), Some(b"1234"), &["Post", "4 bytes", "256 bytes, as before"]);
    let advance = "Enqueue_2_advance";
    out_of(advance, "Argument2.bin", Some(b"1234"), &["argument 2 (`settings`)", "12 bytes", "has 4"]);
    let soften = "Enqueue_3_soften";
    out_of(
        soften,
        "Sampler1.txt",
        Some(b"CL_SAMPLER_FILTER_MODE = CL_FILTER_CUBIC"),
        &["Sampler1.txt", "CUBIC"],
    );
    out_of(soften, "Sampler1.txt", None, &["argument 1 (`near`)", "Sampler1.txt is missing"]);
    out_of(soften, "Image_MetaData_0.txt", Some(b"7\n5\n"), &["Image_MetaData_0.txt", "2 numbers", "9"]);
    let strange = b"7\n5\n1\n4\n28\n0\n4306\n1\n4337";
    out_of(soften, "Image_MetaData_0.txt", Some(strange), &["Image_MetaData_0.txt", "0x1", "channel order"]);
    let empty = b"0\n5\n1\n4\n28\n0\n4306\n4277\n4337";
    out_of(soften, "Image_MetaData_0.txt", Some(empty), &["Image_MetaData_0.txt", "empty"]);
    let image = "Pre/Enqueue_0003_Kernel_soften_Arg_0_Image_0008_7x5x1_32bpp.raw";
    out_of(soften, image, Some(b"1234"), &["argument 0 (`in`)", "140 bytes"]);
    out_of("Enqueue_9_shared", "SVM_Arg_Offset_0.txt", Some(b"-1"), &["SVM_Arg_Offset_0.txt", "`-1`"]);
    out_of("Enqueue_9_shared", "SVM_Arg_Offset_0.txt", Some(b"128"), &["128 bytes"]);
}

/// The layer keeps a memory object that was passed before NULL: the bytes of the argument decide. A driver's own options
/// do not reach the compiler here.
#[test]
fn null_wins_over_an_earlier_buffer_and_options_of_a_driver_are_left_out() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    let folder = bench.path().join("Enqueue_2_advance");
    copy(&captures().join("Replay/Enqueue_2_advance"), &folder);
    fs::write(folder.join("Pre/Enqueue_0002_Kernel_advance_Arg_3_Buffer_0004.bin"), [0; 64]).unwrap();
    fs::write(folder.join("buildOptions.txt"), "-cl-mad-enable -qcom-sched-rule=2\n").unwrap();
    let output = bench.run(&["import", "Enqueue_2_advance"]);
    assert_eq!(output.status.code(), Some(0));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("`-qcom-sched-rule=2`") && said.contains("left out"), "{said}");
    let text = String::from_utf8(bench.read("launches/Enqueue_2_advance/launch.toml")).unwrap();
    assert!(text.contains("options = \"-cl-mad-enable\"") && text.contains("null = true"), "{text}");
}
