//! Faulty kernels on a real OpenCL device, in real processes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::Trial as Test;
use tripipe_launch::{
    Access, Argument, ExecuteError, Executor, Intercept, Launch, Layer, MemoryKind, NdRange, Program, Timing,
};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor, devices};
use tripipe_tune::bench::InProcess;
use tripipe_tune::worker::{Replies, Requests, Supervised, WorkerLimits, serve};
use tripipe_tune::{Bench, Effort, Outcome, Problem};

use super::toy::{end_soon, worker};

/// Writes where nothing is.
const CRASHES: &str = "__kernel void fault(__global volatile int *c, ulong wild) {
    ((__global volatile int *)wild)[get_global_id(0)] = c[0];
}";
/// Waits for a value that nobody writes.
const HANGS: &str = "__kernel void fault(__global volatile int *c, ulong wild) {
    while (c[0] != 123456789) { c[0] = 1; }
}";
/// Writes to every page of its memory, which the system then has to provide.
const EATS: &str = "__kernel void fault(__global volatile char *c, ulong bytes) {
    for (ulong at = 0; at < bytes; at += 4096) { c[at] = 1; }
}";
const EATEN_BYTES: usize = 256 << 20;

/// Replaces the launches of some candidates by faulty ones.
struct Faulty;

impl<E: Executor> Intercept<E> for Faulty {
    fn run(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        let rows = |launch: &Launch| {
            let rows = launch.program.defines.iter().find(|(name, _)| name == "ROWS");
            rows.and_then(|(_, rows)| rows.parse::<usize>().ok())
        };
        let Some((launch, rows)) = launches.iter().find_map(|launch| Some((launch, rows(launch)?))) else {
            return inner.run(launches);
        };
        let source = match rows {
            5 => CRASHES,
            6 => HANGS,
            7 => {
                for _ in 0..8 {
                    let kind = MemoryKind::Buffer { bytes: EATEN_BYTES };
                    let memory = inner.allocate(&kind, Access::ReadWrite, None)?;
                    inner.run(&[fault(EATS, Argument::Memory(memory), EATEN_BYTES as u64)])?;
                }
                return inner.run(launches);
            }
            // Wrong: the last rows of C are not computed.
            9 => {
                let mut less = launches.to_vec();
                for launch in &mut less {
                    let [x, y, _] = launch.range.global_size();
                    launch.range = if x > 1 { NdRange::d2(x / 2, y) } else { NdRange::d2(x, y / 2) };
                }
                return inner.run(&less);
            }
            _ => return inner.run(launches),
        };
        let memory = launch.arguments.iter().find(|argument| matches!(argument, Argument::Memory(_)));
        inner.run(&[fault(source, memory.unwrap().clone(), 0x10_0000_0000)])
    }
}

fn fault(source: &'static str, memory: Argument, number: u64) -> Launch {
    Launch {
        program: Arc::new(Program::from_source("fault.cl", source)),
        entry: "fault".to_owned(),
        arguments: vec![memory, Argument::from(number)],
        range: NdRange::d1(1),
    }
}

/// The worker's side.
pub(crate) fn work(replies: &Replies) {
    let device = devices().unwrap().into_iter().next().unwrap();
    let inner = OpenClExecutor::new(&device, &ExecutorOptions::default()).unwrap();
    let mut executor = Layer::new(inner, Faulty);
    let phases = replies.clone();
    let mut bench = InProcess::new(&mut executor).on_phase(move |phase| phases.phase(phase));
    let requests = Requests::read(io::stdin(), end_soon).unwrap();
    serve(&mut bench, &requests, replies).unwrap();
}

pub(crate) fn trials() -> Vec<Test> {
    let required = std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_some_and(|value| value == "1");
    let found = devices();
    if found.is_err() && !required {
        eprintln!("skipped: no OpenCL device");
        return Vec::new();
    }
    let test = |name: &str, run: fn()| {
        Test::test(name, move || {
            run();
            Ok(())
        })
    };
    vec![
        test("a kernel that crashes", crashes),
        test("a kernel that hangs", hangs),
        test("a kernel that is wrong", wrong),
        test("a kernel that takes all memory", eats),
    ]
}

const EFFORT: Effort =
    Effort { runs: 2, seconds: 0.0, fastest: None, rival: None, precision: 0.01, reference: true };

/// The outcome of a faulty candidate with `limits`; candidates before and after it are measured.
fn between_sound_ones(faulty: &str, limits: WorkerLimits) -> Outcome {
    let patient = WorkerLimits { run: Duration::from_secs(300), ..WorkerLimits::default() };
    let problem: Problem = "gemm f32 36x32x16".parse().unwrap();
    let mut bench = Supervised::start(|| worker(&["opencl"]), patient.clone()).unwrap();
    let mut outcome = |parameters: &str, limits: WorkerLimits| {
        *bench.limits_mut() = limits;
        bench.measure(&problem, parameters, &EFFORT).unwrap().outcome
    };
    let before = outcome("tile 4x4", patient.clone());
    assert!(matches!(&before, Outcome::Measured(times) if times.reference.is_some()), "{before:?}");
    let found = outcome(faulty, limits);
    let after = outcome("tile 4x8", patient);
    assert!(matches!(after, Outcome::Measured(_)), "{after:?}");
    found
}

fn crashes() {
    let found = between_sound_ones("tile 5x4", WorkerLimits::default());
    assert!(
        matches!(&found, Outcome::Crashed { reason } if reason.contains("SIGSEGV") && reason.contains("verifying")),
        "{found:?}"
    );
}

fn hangs() {
    let limits = WorkerLimits { run: Duration::from_secs(2), ..WorkerLimits::default() };
    let found = between_sound_ones("tile 6x4", limits);
    assert!(matches!(found, Outcome::Hung { after_s: 2.0, .. }), "{found:?}");
}

fn wrong() {
    let found = between_sound_ones("tile 9x4", WorkerLimits::default());
    assert!(matches!(&found, Outcome::Wrong { reason } if reason.contains("NaN")), "{found:?}");
}

fn eats() {
    let limits = WorkerLimits { memory_bytes: Some(1 << 30), ..WorkerLimits::default() };
    let found = between_sound_ones("tile 7x4", limits);
    assert!(matches!(&found, Outcome::OutOfMemory { reason } if reason.contains("1024 MiB")), "{found:?}");
}
