//! Applications that do not know the driver, through the ICD loader: clinfo, and Tripipe's own OpenCL layer.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use tripipe_launch::{Access, Argument, Executor as _, Launch, MemoryKind, NdRange, Program};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

use crate::support;

const DEVICES: &str = "mali-t604,mali-g77,adreno-650";

fn with_driver(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("OCL_ICD_VENDORS", support::library())
        .env("TRIPIPE_DEVICES", DEVICES)
        .env_remove("TRIPIPE_OPENCL");
    command
}

/// clinfo asks everything that cl.h has; it writes `<...>` where a driver refuses.
#[test]
fn clinfo_gets_an_answer_to_every_question() {
    let Ok(ran) = with_driver("clinfo").arg("--raw").output() else {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_CLINFO").is_none(), "clinfo is not installed");
        eprintln!("skipped: clinfo is not installed");
        return;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).unwrap();
    let mut answers: BTreeMap<(String, String), String> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(of), Some(name)) = (words.next(), words.next()) else { continue };
        answers.insert((of.to_owned(), name.to_owned()), words.collect::<Vec<_>>().join(" "));
    }
    let refused: Vec<_> = answers.iter().filter(|(_, answer)| answer.contains("<printDeviceInfo")).collect();
    assert_eq!(refused, Vec::<(&(String, String), &String)>::new());
    let of = |device: &str, name: &str| answers[&(device.to_owned(), name.to_owned())].clone();
    let names: Vec<String> =
        (0..3).map(|index| of(&format!("[TRIPIPE/{index}]"), "CL_DEVICE_NAME")).collect();
    assert_eq!(names, ["Mali-T604", "Mali-G77", "QUALCOMM Adreno(TM) 650"]);
    assert!(of("[TRIPIPE/1]", "CL_DRIVER_VERSION").contains("predicted"));
    assert!(of("[TRIPIPE/2]", "CL_DRIVER_VERSION").ends_with("Compiler E031.37.00.00"));
    // OpenCL 3.0 API, minimum of the full profile.
    for index in 0..3 {
        let number = |name| of(&format!("[TRIPIPE/{index}]"), name).parse::<u64>().unwrap();
        assert!(number("CL_DEVICE_MAX_PARAMETER_SIZE") >= 1024);
        assert!(number("CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE") >= 64 << 10);
        assert!(number("CL_DEVICE_LOCAL_MEM_SIZE") >= 32 << 10);
        assert!(number("CL_DEVICE_IMAGE2D_MAX_WIDTH") >= 8192);
        assert!(number("CL_DEVICE_MAX_SAMPLERS") >= 16);
        assert!(number("CL_DEVICE_MAX_MEM_ALLOC_SIZE") >= 128 << 20);
    }
}

/// The application of the next test: finds the devices, and runs a kernel on each.
fn run_on_all_devices() {
    let devices = tripipe_opencl::devices().unwrap();
    let names: Vec<&str> = devices.iter().map(|device| device.probe().name.as_str()).collect();
    assert_eq!(names, ["Mali-T604", "Mali-G77", "QUALCOMM Adreno(TM) 650"]);
    let program = Arc::new(Program::from_source(
        "scale.cl",
        "kernel void scale(global const int *from, global int *to, int by) {
             size_t i = get_global_id(0);
             to[i] = from[i] * by;
         }",
    ));
    for device in &devices {
        let found = tripipe_device::identify(device.probe());
        assert_eq!(found.certainty, tripipe_device::Certainty::ExactProduct, "{}", found.why);
        let mut executor = OpenClExecutor::new(device, &ExecutorOptions::default()).unwrap();
        let kind = MemoryKind::Buffer { bytes: 256 };
        let numbers: Vec<u8> = (0..64i32).flat_map(i32::to_ne_bytes).collect();
        let from = executor.allocate(&kind, Access::Read, Some(&numbers)).unwrap();
        let to = executor.allocate(&kind, Access::Write, None).unwrap();
        let launch = Launch {
            program: Arc::clone(&program),
            entry: "scale".into(),
            arguments: vec![Argument::Memory(from), Argument::Memory(to), (-7i32).into()],
            range: NdRange::d1(64),
        };
        let timings = executor.run(&[launch]).unwrap();
        assert!(timings[0].end_ns > timings[0].start_ns);
        let mut result = [0; 256];
        executor.read(to, 0, &mut result).unwrap();
        let expected: Vec<u8> = (0..64i32).flat_map(|i| (i * -7).to_ne_bytes()).collect();
        assert_eq!(result[..], expected);
    }
}

/// The application of the next test: writes past its buffer.
fn write_outside() {
    let app = support::application(0);
    let kernel = app.kernel("kernel void past(global int *p) {\n  p[get_global_id(0) + 1] = 7;\n}", "past");
    let buffer = app.buffer(0, &[0i32; 64]);
    app.set(kernel, 0, &buffer);
    app.run(kernel, 64);
    app.run(kernel, 64);
    assert_eq!(app.read::<i32>(buffer, 3), [0, 7, 7]);
}

#[test]
fn findings_of_checked_launches_are_printed_at_the_end() {
    let test = "applications::findings_of_checked_launches_are_printed_at_the_end";
    let Some(said) = support::again(test, &[("TRIPIPE_CHECK", "1")]) else {
        write_outside();
        return;
    };
    let found: Vec<&str> = said.lines().filter(|line| line.contains("error[")).collect();
    // One finding of both launches, at the line of the write.
    assert_eq!(found.len(), 1, "{said}");
    assert!(found[0].starts_with("program.cl:2:") && found[0].contains("`past`"), "{said}");
    assert!(found[0].ends_with("(2 times)"), "{said}");
}

#[test]
fn tripipes_own_layer_runs_on_the_driver() {
    if std::env::var_os(support::ROLE).is_some() {
        run_on_all_devices();
        return;
    }
    // Another process, as the loader reads its variables once.
    let own = std::env::current_exe().unwrap();
    let ran = with_driver(own.to_str().unwrap())
        .args(["--exact", "applications::tripipes_own_layer_runs_on_the_driver", "--nocapture"])
        .env(support::ROLE, "1")
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if said.contains("no OpenCL library found") && std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none() {
        eprintln!("skipped: there is no ICD loader");
        return;
    }
    assert!(ran.status.success(), "{said}");
}
