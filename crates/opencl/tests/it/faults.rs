//! Faults of a broken driver are reported as ordinary errors. Each case runs in a separate process, because the
//! library is loaded once per process: the child is this test binary, run with only the test `child`.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use tripipe_launch::{Access, Argument, Block, ExecuteError, Executor, Launch, MemoryKind, NdRange, Program};
use tripipe_opencl::{CacheChoice, ExecutorOptions, OpenClExecutor, survey};

use crate::{child, stand_in};

/// Not a test of its own: the code that the children run. Prints how far it came.
#[test]
fn child() {
    if !child::is_child() {
        return;
    }
    let (Ok(report) | Err(report)) = run();
    println!("outcome: {report}");
}

fn run() -> Result<String, String> {
    let survey = survey().map_err(|error| format!("devices: {error}"))?;
    let found = format!("{} device, {:?}", survey.devices.len(), survey.problems);
    let device = &survey.devices[0];
    let shown = |error: ExecuteError| match &error {
        ExecuteError::DeviceLost { .. } => format!("DeviceLost: {error}"),
        ExecuteError::OutOfMemory { .. } => format!("OutOfMemory: {error}"),
        ExecuteError::Build { line, log, .. } => format!("Build at {line:?}: {error}; log: {log}"),
        _ => format!("other: {error:?}"),
    };
    let options = ExecutorOptions::default().cache(CacheChoice::Off);
    let mut executor = OpenClExecutor::new(device, &options).map_err(shown)?;
    let source = "kernel void f(global int *p, int by) { p[0] = by; }\n";
    let program = Arc::new(Program::from_source("f.cl", source));
    let kind = MemoryKind::Buffer { bytes: 64 };
    let memory = executor.allocate(&kind, Access::ReadWrite, None).map_err(shown)?;
    let mut launch = Launch {
        program,
        entry: "f".to_owned(),
        arguments: vec![Argument::Memory(memory), 1i32.into()],
        range: NdRange::d1(1),
    };
    let submission = executor.submit(std::slice::from_ref(&launch)).map_err(shown)?;
    let (tell, told) = channel();
    submission.on_done(Box::new(move || tell.send(()).unwrap()));
    // Called when the launch has ended, however it ended, and only once: the sender is dropped with the closure.
    assert_eq!(told.recv_timeout(Duration::from_secs(900)), Ok(()));
    assert!(submission.is_done());
    assert_eq!(told.recv_timeout(Duration::from_secs(900)), Err(RecvTimeoutError::Disconnected));
    submission.wait().map_err(shown)?;
    // Without argument information the count is still checked.
    launch.arguments.pop();
    let count = executor.run(&[launch]).err().map(|error| error.to_string()).unwrap_or_default();
    let mut bytes = [1; 64];
    executor.write(memory, 0, &[7; 64]).map_err(shown)?;
    executor.read(memory, 0, &mut bytes).map_err(shown)?;
    // In line, and dropped at once: the block lives for as long as the driver needs it.
    drop(executor.enqueue_write(memory, 0, Block::new(vec![8u8; 64])).map_err(shown)?);
    drop(executor.enqueue_read(memory, 0, Block::new(vec![0u8; 64])).map_err(shown)?);
    let reading = executor.enqueue_read(memory, 0, Block::new(vec![0u8; 64])).map_err(shown)?;
    reading.wait().map_err(shown)?;
    assert_eq!(reading.take().and_then(Block::into_vec), Some(vec![8u8; 64]));
    assert!(reading.take().is_none());
    drop(executor);
    Ok(format!("{found}; ran; {count}; read {}", bytes[63]))
}

fn outcome(library: &std::ffi::OsStr, mode: &str, log: Option<&str>) -> String {
    child::outcome("faults", |command| {
        command.env("TRIPIPE_OPENCL", library).env("TRIPIPE_STAND_IN", mode);
        if let Some(log) = log {
            command.env("TRIPIPE_STAND_IN_LOG", log);
        }
    })
}

fn with(mode: &str) -> String {
    outcome(stand_in::stand_in().as_os_str(), mode, None)
}

#[track_caller]
fn says(outcome: &str, all: &[&str]) {
    for wanted in all {
        assert!(outcome.contains(wanted), "`{wanted}` is not in: {outcome}");
    }
}

#[test]
fn a_sound_stand_in_runs() {
    says(&with("sound"), &["1 device, []", "takes 2 arguments, 1 were given", "read 7"]);
}

#[test]
fn no_library_and_a_library_that_is_none() {
    says(&outcome("none".as_ref(), "", None), &["devices:", "switched off", "TRIPIPE_OPENCL=none"]);
    let missing = outcome("/nowhere/libOpenCL.so".as_ref(), "", None);
    says(&missing, &["devices:", "TRIPIPE_OPENCL", "/nowhere/libOpenCL.so"]);
    if cfg!(target_os = "linux") {
        says(&outcome("libm.so.6".as_ref(), "", None), &["devices:", "no clGetPlatformIDs"]);
    }
}

#[test]
fn no_platform_and_no_device() {
    for mode in ["no-platform", "empty"] {
        says(&with(mode), &["devices:", "has no platform", "pocl-opencl-icd", "TRIPIPE_OPENCL"]);
    }
    says(&with("broken"), &["devices:", "is broken", "CL_OUT_OF_HOST_MEMORY (-6)"]);
    says(&with("no-device"), &["devices:", "Stand-In Platform has no devices"]);
    says(&with("only-broken"), &["devices:", "Broken Platform is broken", "CL_INVALID_PLATFORM"]);
}

#[test]
fn a_broken_platform_does_not_hide_a_sound_one() {
    says(&with("one-broken"), &["1 device", "Broken Platform", "CL_INVALID_PLATFORM", "ran"]);
}

#[test]
fn a_device_that_answers_no_queries_is_usable() {
    says(&with("mute"), &["1 device", "ran", "read 7"]);
}

#[test]
fn a_device_that_vanishes() {
    for mode in ["device-lost", "device-lost-enqueue", "refuse-release"] {
        says(
            &with(mode),
            &["DeviceLost:", "Stand-In GPU", "stopped answering", "CL_DEVICE_NOT_AVAILABLE (-2)"],
        );
    }
}

#[test]
fn a_driver_that_takes_no_callbacks() {
    says(&with("refuse-callback"), &["1 device", "ran", "read 7"]);
}

#[test]
fn an_argument_only_the_driver_can_judge() {
    says(&with("refuse-argument"), &["other: Argument", "index: 1", "CL_INVALID_ARG_SIZE", "type int"]);
}

#[test]
fn memory_that_runs_out_at_once_or_on_first_use() {
    says(&with("out-of-memory"), &["OutOfMemory: 64 bytes", "CL_MEM_OBJECT_ALLOCATION_FAILURE"]);
    says(&with("out-of-memory-late"), &["OutOfMemory: 64 bytes", "CL_OUT_OF_RESOURCES"]);
}

#[test]
fn a_compiler_that_complains() {
    let log = "<source>:1:9: error: expected ';'";
    let said = outcome(stand_in::stand_in().as_os_str(), "build-failure", Some(log));
    says(&said, &["Build at Some(1)", "f.cl does not build (line 1)", "expected ';' in `kernel void f("]);
    let said = outcome(stand_in::stand_in().as_os_str(), "build-failure", Some(""));
    says(&said, &["Build at None", "reports no reason"]);
}
