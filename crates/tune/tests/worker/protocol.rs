//! Workers that fail in every way, with a toy instead of a device.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use libtest_mimic::Trial as Test;
use tripipe_tune::worker::{Supervised, WorkerError, WorkerLimits};
use tripipe_tune::{Bench, BenchError, Effort, Outcome, Problem};

use super::toy::{probe, worker};

pub(crate) fn trials() -> Vec<Test> {
    let test = |name: &str, run: fn()| {
        Test::test(name, move || {
            run();
            Ok(())
        })
    };
    vec![
        test("workers measure, alone and in turns", workers_measure),
        test("a worker that crashes is replaced", a_worker_that_crashes_is_replaced),
        test("a worker that hangs is stopped", a_worker_that_hangs_is_stopped),
        test("a worker that takes too much memory is stopped", a_worker_that_eats_is_stopped),
        test("the reference kernel is to blame for its own crash", the_reference_kernel_is_to_blame),
        test("a problem that cannot be prepared is an error", a_problem_that_cannot_be_prepared),
        test("what drivers print is not an answer", what_drivers_print_is_not_an_answer),
        test("half of an answer is none", half_of_an_answer_is_none),
        test("commands that are not workers are refused", commands_that_are_not_workers),
        test("a comparison blames one candidate", a_comparison_blames_one_candidate),
        test("a lost device gets a new worker", a_lost_device_gets_a_new_worker),
        test("a measurement can be cancelled", a_measurement_can_be_cancelled),
        test("workers are replaced after so many candidates", workers_are_replaced),
    ]
}

pub(crate) fn problem() -> Problem {
    "gemm f32 4x4x4".parse().unwrap()
}

/// Limits that no sound toy reaches, however busy the machine is.
pub(crate) fn patient() -> WorkerLimits {
    WorkerLimits { reconnect: vec![Duration::ZERO; 3], ..WorkerLimits::default() }
}

/// A toy whose runs may take half a second. Only a candidate that hangs is measured with it.
fn impatient() -> WorkerLimits {
    WorkerLimits { run: Duration::from_millis(500), ..patient() }
}

fn toy(limits: WorkerLimits) -> Supervised {
    Supervised::start(|| worker(&["toy"]), limits).unwrap()
}

/// No time for an effort, so that the limit of [`Phase::Time`] is that of a run.
pub(crate) const NONE: Effort =
    Effort { runs: 1, seconds: 0.0, fastest: None, rival: None, precision: 0.0, reference: true };

pub(crate) fn outcome(bench: &mut dyn Bench, parameters: &str) -> Outcome {
    let trial = bench.measure(&problem(), parameters, &NONE).unwrap();
    assert_eq!(trial.parameters, parameters);
    trial.outcome
}

/// The next candidate is measured as if nothing had happened.
pub(crate) fn is_sound(bench: &mut Supervised) {
    *bench.limits_mut() = WorkerLimits { memory_bytes: None, ..patient() };
    assert_eq!(outcome(bench, "5").seconds(), Some(5e-3));
}

fn workers_measure() {
    let mut toy = toy(patient());
    assert_eq!(toy.probe(), &probe());
    assert_eq!(toy.hello().version, env!("CARGO_PKG_VERSION"));
    is_sound(&mut toy);
    let several = ["3", "1.5", "20"].map(str::to_owned);
    let trials = toy.compare(&problem(), &several, &NONE).unwrap();
    let seconds: Vec<_> = trials.iter().map(|trial| trial.outcome.seconds()).collect();
    assert_eq!(seconds, [Some(3e-3), Some(1.5e-3), Some(20e-3)]);
}

fn a_worker_that_crashes_is_replaced() {
    let mut toy = toy(patient());
    for (phase, words) in
        [("build", "building"), ("verify", "verifying the result"), ("time", "timing the kernel")]
    {
        match outcome(&mut toy, &format!("{phase} crash")) {
            Outcome::Crashed { reason } => assert!(
                reason.contains("SIGABRT") && reason.contains("assertion failed") && reason.contains(words),
                "{reason}"
            ),
            other => panic!("{other:?}"),
        }
        is_sound(&mut toy);
    }
    let exit = outcome(&mut toy, "verify exit");
    assert!(matches!(&exit, Outcome::Crashed { reason } if reason.contains("exit code 7")), "{exit:?}");
    is_sound(&mut toy);
}

fn a_worker_that_hangs_is_stopped() {
    let mut toy = toy(impatient());
    for (parameters, what) in [("verify hang", "verifying the result"), ("time stop", "timing the kernel")] {
        *toy.limits_mut() = impatient();
        match outcome(&mut toy, parameters) {
            Outcome::Hung { after_s, during } => assert_eq!((after_s, during.as_str()), (0.5, what)),
            other => panic!("{other:?}"),
        }
        is_sound(&mut toy);
    }
}

fn a_worker_that_eats_is_stopped() {
    let mut toy = toy(WorkerLimits { memory_bytes: Some(300 << 20), ..patient() });
    let eats = outcome(&mut toy, "verify eat");
    assert!(
        matches!(&eats, Outcome::OutOfMemory { reason } if reason.contains("the limit is 300 MiB")),
        "{eats:?}"
    );
    is_sound(&mut toy);
}

fn the_reference_kernel_is_to_blame() {
    let mut toy = toy(patient());
    let thirteen: Problem = "gemm f32 13x4x4".parse().unwrap();
    for _ in 0..2 {
        let trial = toy.measure(&thirteen, "5", &NONE).unwrap();
        let Outcome::Measured(times) = trial.outcome else { panic!("{:?}", trial.outcome) };
        assert_eq!((times.median, times.reference), (5e-3, None));
    }
    let Outcome::Measured(times) = outcome(&mut toy, "5") else { panic!() };
    assert!(times.reference.is_some(), "other problems keep theirs");
}

fn a_problem_that_cannot_be_prepared() {
    let mut toy = toy(patient());
    let error = toy.measure(&problem(), "set-up crash", &NONE).unwrap_err();
    assert!(matches!(&error, BenchError::Problem { reason, .. } if reason.contains("SIGABRT")), "{error}");
    is_sound(&mut toy);
    let error = toy.measure(&problem(), "unusable", &NONE).unwrap_err();
    assert!(matches!(&error, BenchError::Device(reason) if reason.contains("gone")), "{error}");
    is_sound(&mut toy);
}

fn what_drivers_print_is_not_an_answer() {
    let mut toy = toy(patient());
    assert_eq!(outcome(&mut toy, "prints 4").seconds(), Some(4e-3));
    is_sound(&mut toy);
}

fn half_of_an_answer_is_none() {
    let mut half = Supervised::start(|| worker(&["half"]), patient()).unwrap();
    let found = outcome(&mut half, "5");
    assert!(matches!(&found, Outcome::Crashed { reason } if reason.contains("exit code 0")), "{found:?}");
}

fn commands_that_are_not_workers() {
    let refused = |words: &'static [&'static str], limits| {
        let error = Supervised::start(|| worker(words), limits).err().unwrap();
        (error.to_string(), error)
    };
    let (text, error) = refused(&["newer"], patient());
    assert!(matches!(error, WorkerError::Protocol { protocol: 3, .. }), "{text}");
    assert!(text.contains("tripipe 9.9") && text.contains("same version of tripipe on both sides"), "{text}");
    let (text, error) = refused(&["fails"], patient());
    assert!(matches!(error, WorkerError::Ended { .. }), "{text}");
    assert!(text.contains("exit code 3: no such board"), "{text}");
    let start = Duration::from_millis(300);
    let (text, error) = refused(&["silent"], WorkerLimits { start, ..patient() });
    assert!(matches!(error, WorkerError::Silent { .. }) && text.contains("within 0.3 s"), "{text}");
    let none = Supervised::start(|| std::process::Command::new("/no/such/file"), patient()).err().unwrap();
    assert!(matches!(none, WorkerError::Start { .. }), "{none}");
    assert!(none.to_string().contains("/no/such/file"), "{none}");
}

fn a_comparison_blames_one_candidate() {
    let mut toy = toy(patient());
    let several = ["3", "time crash", "2"].map(str::to_owned);
    let trials = toy.compare(&problem(), &several, &NONE).unwrap();
    assert_eq!(trials[0].outcome.seconds(), Some(3e-3));
    assert!(matches!(trials[1].outcome, Outcome::Crashed { .. }), "{trials:?}");
    assert_eq!(trials[2].outcome.seconds(), Some(2e-3));
}

fn a_lost_device_gets_a_new_worker() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let pid = format!("pid={}", file.display());
    let mut toy = Supervised::start(move || worker(&["toy", &pid]), patient()).unwrap();
    let first = std::fs::read_to_string(&file).unwrap();
    assert!(matches!(outcome(&mut toy, "lost"), Outcome::DeviceLost { .. }));
    is_sound(&mut toy);
    assert_ne!(std::fs::read_to_string(&file).unwrap(), first);
}

fn a_measurement_can_be_cancelled() {
    let mut toy = toy(patient());
    let cancel = toy.cancellation();
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        cancel.store(true, Ordering::SeqCst);
    });
    let error = toy.measure(&problem(), "time hang", &NONE).unwrap_err();
    assert!(matches!(error, BenchError::Cancelled), "{error}");
    other.join().unwrap();
    assert!(matches!(toy.measure(&problem(), "5", &NONE), Err(BenchError::Cancelled)));
}

fn workers_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let pid = format!("pid={}", file.display());
    let limits = WorkerLimits { candidates: 2, ..patient() };
    let mut toy = Supervised::start(move || worker(&["toy", &pid]), limits).unwrap();
    let mut numbers = Vec::new();
    for _ in 0..5 {
        assert_eq!(outcome(&mut toy, "5").seconds(), Some(5e-3));
        numbers.push(std::fs::read_to_string(&file).unwrap());
    }
    assert!(numbers[0] == numbers[1] && numbers[1] != numbers[2] && numbers[3] != numbers[4], "{numbers:?}");
    // The last worker ends with its bench.
    let last = format!("/proc/{}", numbers[4]);
    drop(toy);
    let start = Instant::now();
    while std::path::Path::new(&last).exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "{last} is left");
        std::thread::sleep(Duration::from_millis(5));
    }
}
