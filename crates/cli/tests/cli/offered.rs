//! What a GPU offers to programs is the same for every command: its description (`tripipe_device::OpenCl`).

use serde_json::Value;
use tripipe_device::{Gpu, OpenCl, catalog, find};

use crate::agreeing::agreeing;
use crate::run_kernel::compiles;
use crate::{Bench, complaint};

const LAUNCH: &str = "source = 'k.cl'\nglobal = 64\n[[argument]]\nbuffer = 'int'\ncount = 64\n";

#[test]
fn every_command_builds_for_the_gpu_as_described() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("k.toml", LAUNCH);
    let mut seen: Vec<&OpenCl> = Vec::new();
    for gpu in catalog() {
        if seen.iter().any(|known| known.compiles_as(gpu.opencl())) {
            continue;
        }
        seen.push(gpu.opencl());
        bench.write("k.cl", agreeing(gpu.opencl()));
        let device = format!("virtual:{}", gpu.id());
        bench.succeed(&["run-kernel", "k.toml", "--device", &device, "--time-only"]);
        // The other commands take the same path; a few suffice.
        if ["Mali-T604", "Mali-G77", "Adreno 650"].contains(&gpu.name()) {
            bench.succeed(&["check", "k.toml", "-g", gpu.name()]);
            bench.succeed(&["analyze", "k.toml", "-g", gpu.name()]);
            bench.succeed(&["simulate", "k.toml", "-g", gpu.name()]);
        }
    }
    assert!(seen.len() > 8, "{} descriptions", seen.len());
}

#[test]
fn devices_lists_what_the_description_says() {
    let said = Bench::new().succeed(&["devices", "--virtual", "--format", "json"]);
    let value: Value = serde_json::from_str(&said).unwrap();
    let devices = value["devices"].as_array().unwrap();
    for (device, gpu) in devices.iter().zip(catalog()) {
        let opencl = gpu.opencl();
        let listed: Vec<&str> =
            device["extensions"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(listed, opencl.extensions, "{}", gpu.name());
        let (major, minor) = opencl.version;
        let version = device["version"].as_str().unwrap();
        assert!(version.starts_with(&format!("OpenCL {major}.{minor} ")), "{}: {version}", gpu.name());
        let has = |feature: &str| device["features"][feature] == true;
        assert_eq!(has("coarse SVM"), opencl.svm.coarse_buffer, "{}: {device}", gpu.name());
        assert_eq!(has("fine SVM"), opencl.svm.fine_buffer, "{}", gpu.name());
        assert_eq!(has("subgroups"), opencl.has("cl_khr_subgroups"), "{}", gpu.name());
    }
}

/// The idiom of kernels for several vendors, and a reduction by a full sub-group of an Adreno.
const PATHS: &str = "#ifdef cl_qcom_reqd_sub_group_size
#pragma OPENCL EXTENSION cl_qcom_reqd_sub_group_size : enable
__attribute__((qcom_reqd_sub_group_size(SHARE)))
kernel void sums(global const float *from, global float *to) {
    float sum = sub_group_reduce_add(from[get_global_id(0)]);
    if (get_sub_group_local_id() == 0)
        to[get_global_id(0) / get_max_sub_group_size()] = sum;
}
#else
kernel void sums(global const float *from, global float *to) {
    local float tile[64];
    uint own = get_local_id(0);
    tile[own] = from[get_global_id(0)];
    for (uint half_of = 32; half_of; half_of /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (own < half_of)
            tile[own] += tile[own + half_of];
    }
    if (own == 0)
        to[get_group_id(0)] = tile[0];
}
#endif
";

fn sums(local: usize, of_each: usize) -> String {
    let count = 256 / of_each;
    let expected = vec![of_each.to_string(); count].join(", ");
    format!(
        "source = 'sums.cl'\nglobal = 256\nlocal = {local}\n\
         [[argument]]\nbuffer = 'float'\ncount = 256\nfill = 1\naccess = 'read'\n\
         [[argument]]\nbuffer = 'float'\ncount = {count}\nfill = 0\nexpect = {{ values = [{expected}] }}\n"
    )
}

/// A Mali sums 64 by local memory; an Adreno sums half or full sub-groups, which are 64 and 128 work-items.
#[test]
fn each_gpu_takes_its_own_path() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write("sums.cl", PATHS);
    bench.write("64.toml", sums(64, 64));
    bench.write("128.toml", sums(128, 128));
    bench.write("128-of-256.toml", sums(256, 128));
    let run = |file: &str, gpu: &str, share: &str| {
        let options = format!("-DSHARE=\"{share}\"");
        bench.succeed(&["run-kernel", file, "--device", &format!("virtual:{gpu}"), "--options", &options]);
        bench.succeed(&["check", file, "-g", gpu, "--options", &options]);
    };
    for gpu in ["mali-t860", "mali-g77", "adreno-640"] {
        run("64.toml", gpu, "full");
    }
    for gpu in ["adreno-650", "adreno-740"] {
        run("64.toml", gpu, "half");
        run("128.toml", gpu, "full");
        run("128-of-256.toml", gpu, "full");
    }
    // The model has waves of the required width.
    let json = |share: &str| {
        let options = format!("-DSHARE=\"{share}\"");
        let said = bench.succeed(&[
            "analyze",
            "128.toml",
            "-g",
            "adreno-740",
            "--format",
            "json",
            "--options",
            &options,
        ]);
        let value: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
        value["registers"]["threads"].as_u64().unwrap()
    };
    assert_eq!((json("half"), json("full")), (1024, 2048), "16 waves of 64, or of 128");
}

#[test]
fn what_a_gpu_lacks_is_an_error_with_a_way_out() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "k.cl",
        "kernel void k(global int *a) { a[get_global_id(0)] = sub_group_shuffle_xor((int)get_local_id(0), 1); }\n",
    );
    bench.write("k.toml", format!("options = '-cl-std=CL3.0'\n{LAUNCH}"));
    let words = [
        "needs cl_khr_subgroup_shuffle, which Adreno 740 does not offer",
        "--assume cl_khr_subgroup_shuffle",
    ];
    let commands = [
        &["analyze", "k.toml", "-g", "adreno-740"][..],
        &["simulate", "k.toml", "-g", "adreno-740"],
        &["check", "k.toml", "-g", "adreno-740"],
        &["run-kernel", "k.toml", "--device", "virtual:adreno-740"],
    ];
    for command in commands {
        bench.refuse_said(command, &words);
        bench.succeed(&[command, &["--assume", "cl_khr_subgroup_shuffle"]].concat());
    }
    bench.write(
        "assumes.toml",
        format!("assume = ['cl_khr_subgroup_shuffle']\noptions = '-cl-std=CL3.0'\n{LAUNCH}"),
    );
    bench.succeed(&["check", "assumes.toml", "-g", "adreno-740"]);
    let assume = ["check", "k.toml", "-g", "adreno-740", "--assume", "cl_khr_subgroup_shufle"];
    bench.refuse_said(&assume, &["did you mean `cl_khr_subgroup_shuffle`?"]);
    // A Mali-G77 has it, since its drivers offer OpenCL 3.0.
    bench.succeed(&["check", "k.toml", "-g", "mali-g77"]);
    bench.refuse_said(
        &["check", "k.toml", "-g", "mali-g77", "--driver", "r32p1"],
        &["Mali-G77 offers OpenCL C 2.0"],
    );
    bench.refuse_said(&["check", "k.toml", "-g", "mali-g77", "--driver", "E031"], &["want one such as r38"]);
    bench.refuse_said(
        &["verdict", "k.toml", "--driver", "r32p1"],
        &["the driver r32p1 is one of a GPU, but none is named"],
    );
    // Of several GPUs, those that have it have results.
    let output = bench.run(&["simulate", "k.toml", "-g", "adreno-740,mali-g77"]);
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), complaint(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(out.contains("Mali-G77") && err.contains("`k` on Adreno 740: "), "{out}\n{err}");
    let output = bench.run(&["analyze", "k.toml"]);
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), complaint(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(out.contains("Mali-G78") && !out.contains("Mali-T860"), "{out}");
    assert!(err.contains("left out: Mali-T860: "), "{err}");
}

/// OpenCL C, floating-point constants without `f`: `double` where the GPU has it, and a GPU's code is its own.
#[test]
fn constants_are_double_where_the_gpu_has_double() {
    if !compiles() {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "k.cl",
        "kernel void k(global float *a) { int i = get_global_id(0); a[i] = a[i] * 1.1 + 0.7; }\n",
    );
    bench.write(
        "f.cl",
        "kernel void k(global float *a) { int i = get_global_id(0); a[i] = a[i] * 1.1f + 0.7f; }\n",
    );
    let cycles = |file: &str, gpu: &str| {
        let said = bench.succeed(&["analyze", file, "-g", gpu, "--format", "json"]);
        let value: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
        value["longest_path"].clone()
    };
    assert_ne!(cycles("k.cl", "mali-t860"), cycles("f.cl", "mali-t860"));
    assert_eq!(cycles("k.cl", "mali-g77"), cycles("f.cl", "mali-g77"));
    // The order of GPUs is that of the command line, though they run different code.
    let names = |gpus: &str| -> Vec<String> {
        let said = bench.succeed(&["simulate", "k.cl", "-g", gpus, "--global", "64", "--format", "json"]);
        let each = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        each.map(|value| value["gpu"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("g77,t860,g78"), ["Mali-G77", "Mali-T860", "Mali-G78"]);
    assert!(find("t860").is_ok_and(|gpu: &Gpu| gpu.supports.fp64.value));
}
