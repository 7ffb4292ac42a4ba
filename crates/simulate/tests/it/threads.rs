//! A system that has no more threads: launches run on those that there are.

use std::process::Command;
use std::sync::Arc;

use tripipe_launch::{Access, Argument, Executor, Launch, MemoryKind, NdRange, Program};
use tripipe_simulate::{Options, Simulator};

/// The variable that makes this program the one without threads.
const ROLE: &str = "TRIPIPE_SIMULATE_WITHOUT_THREADS";

/// Nothing in a run of the tests.
#[test]
fn application() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let spawned = std::thread::Builder::new().spawn(|| {});
    assert!(spawned.is_err(), "the system has threads");
    let mut simulator = Simulator::new(Options { threads: 4, ..Options::default() });
    let kind = MemoryKind::Buffer { bytes: 4 * 64 };
    let out = simulator.allocate(&kind, Access::ReadWrite, Some(&[0; 4 * 64])).unwrap();
    let source = "kernel void k(global int *out) { out[get_global_id(0)] = get_global_id(0) * 3; }";
    let launch = Launch {
        program: Arc::new(Program::from_source("k.cl", source)),
        entry: "k".into(),
        arguments: vec![Argument::Memory(out)],
        range: NdRange::d1(64).local(4, 1, 1),
    };
    if let Err(error) = simulator.prepare(&launch.program, &launch.entry) {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
        eprintln!("left out: {error}");
        return;
    }
    simulator.run(std::slice::from_ref(&launch)).unwrap();
    let mut bytes = [0; 4 * 64];
    simulator.read(out, 0, &mut bytes).unwrap();
    let numbers: Vec<i32> =
        bytes.chunks_exact(4).map(|four| i32::from_ne_bytes(four.try_into().unwrap())).collect();
    assert_eq!(numbers, (0..64).map(|index| 3 * index).collect::<Vec<_>>());
}

#[cfg(target_os = "linux")]
#[test]
fn a_launch_without_threads_has_its_results() {
    // No system has room for stacks of this size, so that threads cannot be made. One thread of tests is the first one.
    let ran = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "threads::application", "--nocapture", "--test-threads=1"])
        .env(ROLE, "1")
        .env("RUST_MIN_STACK", (1u64 << 48).to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success() && !said.contains("panicked"),
        "{}{said}",
        String::from_utf8_lossy(&ran.stdout)
    );
}
