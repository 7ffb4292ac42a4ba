//! Measurements in one process, on the simulator with a clock of the test.

use std::collections::HashSet;

use tripipe_device::Probe;
use tripipe_launch::{
    Access, ExecuteError, Executor, Intercept, Launch, Layer, MemoryId, MemoryKind, TimeSource, Timing,
};
use tripipe_simulate::{Options, Simulator};
use tripipe_tune::bench::{InProcess, Phase};
use tripipe_tune::{Bench, Effort, Outcome, Problem, Times};

/// Each work-item takes 1 us, and more with every launch: the device becomes hot. Faults on demand.
#[derive(Default)]
struct Hot {
    now_ns: u64,
    launches: u32,
    heats: bool,
    fault: Option<Fault>,
    /// Number of reads of a result so far.
    reads: usize,
    held: HashSet<MemoryId>,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    /// The launches do nothing, so that the result is stale.
    Nothing,
    /// One byte of the result is wrong, from this read of a result on.
    Wrong { from: usize },
    /// The driver reports no times.
    NoClock,
    /// The device is lost at every launch of more than so many work-items.
    Lost { over: u64 },
    /// Launches are not executed; times are predicted.
    Predicts,
}

impl<E: Executor> Intercept<E> for Hot {
    fn time_source(&self, _: &E) -> TimeSource {
        match self.fault {
            Some(Fault::Predicts) => TimeSource::Predicted { executes: false },
            _ => TimeSource::Measured,
        }
    }

    fn allocate(
        &mut self,
        inner: &mut E,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        inner.allocate(kind, access, initial).inspect(|id| {
            self.held.insert(*id);
        })
    }

    fn release(&mut self, inner: &mut E, memory: MemoryId) -> Result<(), ExecuteError> {
        self.held.remove(&memory);
        inner.release(memory)
    }

    fn read(
        &mut self,
        inner: &mut E,
        memory: MemoryId,
        offset: usize,
        into: &mut [u8],
    ) -> Result<(), ExecuteError> {
        inner.read(memory, offset, into)?;
        if let Some(Fault::Wrong { from }) = self.fault
            && self.reads >= from
        {
            into[3] ^= 0x40;
        }
        self.reads += 1;
        Ok(())
    }

    fn run(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        let items =
            |launch: &Launch| launch.range.global_size().map(|extent| extent as u64).iter().product::<u64>();
        if let Some(Fault::Lost { over }) = self.fault
            && launches.iter().map(items).any(|items| items > over)
        {
            let (device, during, reason) = ("hot".to_owned(), "run".to_owned(), "reset".to_owned());
            return Err(ExecuteError::DeviceLost { device, during, reason });
        }
        if !matches!(self.fault, Some(Fault::Nothing | Fault::Predicts)) {
            inner.run(launches)?;
        }
        let timing = |launch: &Launch| {
            let start_ns = self.now_ns;
            // At most 30 % slower, after 40 launches.
            let percent = if self.heats { self.launches.min(40) * 3 / 4 } else { 0 };
            self.launches += 1;
            let each = if self.fault == Some(Fault::NoClock) { 0 } else { 1000 + u64::from(percent) * 10 };
            self.now_ns += each * items(launch);
            Timing { queued_ns: start_ns, submit_ns: start_ns, start_ns, end_ns: self.now_ns }
        };
        Ok(launches.iter().map(timing).collect())
    }
}

fn device(fault: Option<Fault>) -> Layer<Simulator, Hot> {
    Layer::new(Simulator::new(Options::default()), Hot { fault, ..Hot::default() })
}

fn problem(text: &str) -> Problem {
    text.parse().unwrap()
}

/// The outcome of one measurement; all memory is freed after it.
fn outcome(device: &mut Layer<Simulator, Hot>, text: &str, parameters: &str, effort: &Effort) -> Outcome {
    let mut bench = InProcess::new(device);
    let trial = bench.measure(&problem(text), parameters, effort).unwrap();
    drop(bench);
    assert!(device.calls.held.is_empty(), "{:?}", device.calls.held);
    assert_eq!(trial.parameters, parameters);
    trial.outcome
}

fn measured(outcome: Outcome) -> Times {
    match outcome {
        Outcome::Measured(times) => times,
        other => panic!("{other:?}"),
    }
}

const GEMM: &str = "gemm f32 24x20x16";

/// 24 x 20 elements in tiles of 4x4 are 30 work-items of 1 us.
#[test]
fn times_are_those_of_the_devices_clock() {
    let times = measured(outcome(&mut device(None), GEMM, "tile 4x4", &Effort::default()));
    assert!((times.median - 30e-6).abs() < 1e-9 && times.best == times.median, "{times:?}");
    assert!(times.seconds.len() >= 6 && times.interval == [times.median; 2], "{times:?}");
    let reference = times.reference.unwrap();
    let ratio = times.median / reference;
    assert!((times.relative.unwrap() - ratio).abs() < 1e-9 * ratio, "{times:?}");
    // The reference kernel is what the library would choose: relative to itself, it takes 1.
    let probe: Probe = Simulator::new(Options::default()).probe().clone();
    let Problem::Gemm(gemm) = problem(GEMM) else { panic!() };
    let chosen = tripipe_kernels::gemm::default_parameters(&gemm.gemm(), &probe).parameters.to_string();
    let times = measured(outcome(&mut device(None), GEMM, &chosen, &Effort::default()));
    assert!(
        (times.relative.unwrap() - 1.0).abs() < 1e-9 && times.reference == Some(times.median),
        "{times:?}"
    );
    let alone = Effort { reference: false, ..Effort::default() };
    let times = measured(outcome(&mut device(None), GEMM, "tile 4x4", &alone));
    assert_eq!((times.reference, times.relative, times.relative_interval), (None, None, None));
}

#[test]
fn a_device_that_becomes_hot_does_not_change_the_relative_time() {
    let effort = Effort { runs: 40, precision: 0.0, ..Effort::default() };
    let cool = measured(outcome(&mut device(None), GEMM, "tile 2x4", &effort));
    let mut hot = device(None);
    hot.calls.heats = true;
    let hot = measured(outcome(&mut hot, GEMM, "tile 2x4", &effort));
    assert!(hot.median > 1.2 * cool.median, "{} {}", hot.median, cool.median);
    let [hot, cool] = [hot, cool].map(|times| times.relative.unwrap());
    assert!((hot / cool - 1.0).abs() < 0.005, "{hot} and {cool}");
}

#[test]
fn no_time_without_a_correct_result() {
    let effort = Effort::default();
    for text in [GEMM, "gemm i8 8x8x8", "gemm f16 8x8x8 batch=2", "filter gaussian:3 20x10x1 u8"] {
        let parameters = if text.starts_with("gemm") {
            "tile 4x4"
        } else {
            "8x2 loads=direct sums=narrow fuse=pixels group=8x8"
        };
        for fault in [Fault::Nothing, Fault::Wrong { from: 0 }, Fault::Wrong { from: 1 }] {
            let outcome = outcome(&mut device(Some(fault)), text, parameters, &effort);
            assert!(matches!(outcome, Outcome::Wrong { .. }), "{text}: {outcome:?}");
        }
        measured(outcome(&mut device(None), text, parameters, &effort));
    }
}

/// Floating-point filters have error bounds.
#[test]
fn filters_of_all_types_are_verified() {
    for element in ["u8", "i16", "u16", "f32", "f16"] {
        let text = format!("filter gaussian:3 20x10x1 {element}");
        let probe = Simulator::new(Options::default()).probe().clone();
        let Problem::Filter(filter) = problem(&text) else { panic!() };
        let chosen = tripipe_kernels::filter::default_parameters(filter.chain(), filter.from(), &probe)
            .parameters
            .to_string();
        measured(outcome(&mut device(None), &text, &chosen, &Effort::default()));
        let wrong = outcome(&mut device(Some(Fault::Wrong { from: 0 })), &text, &chosen, &Effort::default());
        assert!(matches!(wrong, Outcome::Wrong { .. }), "{text}: {wrong:?}");
    }
}

#[test]
fn every_failure_has_its_outcome() {
    let effort = Effort::default();
    let mut sound = device(None);
    for parameters in ["vector 4x4 group=1", "tile 3x4x5", ""] {
        let outcome = outcome(&mut sound, GEMM, parameters, &effort);
        assert!(matches!(outcome, Outcome::Unsupported { .. }), "{parameters}: {outcome:?}");
    }
    let late = Effort { fastest: Some(1e-6), ..effort };
    assert!(
        matches!(outcome(&mut sound, GEMM, "tile 4x4", &late), Outcome::Dropped { seconds } if seconds > 29e-6)
    );
    let mut predicts = device(Some(Fault::Predicts));
    let times = measured(outcome(&mut predicts, GEMM, "tile 4x4", &effort));
    assert!(times.predicted && times.seconds.len() == 1 && times.relative.is_some(), "{times:?}");
    // The host's clock, in place of a clock that stands still.
    let times = measured(outcome(&mut device(Some(Fault::NoClock)), GEMM, "tile 4x4", &effort));
    assert!(times.median > 0.0);
    // The default is one work-item for more than one element; one for each loses the device.
    let mut lost = device(Some(Fault::Lost { over: 400 }));
    let outcome =
        outcome(&mut lost, GEMM, "tile 1x2 vector=2 group=1x1", &Effort { reference: false, ..effort });
    assert!(matches!(outcome, Outcome::Measured(_)), "{outcome:?}");
}

#[test]
fn a_lost_device_is_the_candidates_outcome_or_an_error_of_the_problem() {
    let mut lost = device(Some(Fault::Lost { over: 0 }));
    let alone = Effort { reference: false, ..Effort::default() };
    let outcome = outcome(&mut lost, GEMM, "tile 4x4", &alone);
    assert!(matches!(outcome, Outcome::DeviceLost { .. }), "{outcome:?}");
    let mut bench = InProcess::new(&mut lost);
    let error = bench.measure(&problem(GEMM), "tile 4x4", &Effort::default()).unwrap_err();
    assert!(error.to_string().contains("device"), "{error}");
    drop(bench);
    assert!(lost.calls.held.is_empty());
}

#[test]
fn comparisons_run_in_turns_and_keep_the_order_of_the_candidates() {
    let mut hot = device(None);
    hot.calls.heats = true;
    let mut phases = Vec::new();
    let mut bench = InProcess::new(&mut hot).on_phase(|phase| phases.push(phase));
    let candidates = ["tile 2x4", "no such", "tile 4x4", "tile 4x8"].map(str::to_owned);
    let trials = bench.compare(&problem(GEMM), &candidates, &Effort::default()).unwrap();
    drop(bench);
    assert!(hot.calls.held.is_empty());
    assert_eq!(phases[..4], [Phase::SetUp, Phase::Reference, Phase::Build, Phase::Verify]);
    assert!(phases.ends_with(&[Phase::Time, Phase::Verify]), "{phases:?}");
    let names: Vec<&str> = trials.iter().map(|trial| trial.parameters.as_str()).collect();
    assert_eq!(names, candidates);
    let relative: Vec<f64> =
        [0, 2, 3].map(|index| measured(trials[index].outcome.clone()).relative.unwrap()).into();
    // 60, 30 and 18 work-items: the last tile is wider than the rest of C.
    assert!((relative[0] / relative[1] - 2.0).abs() < 0.02, "{relative:?}");
    assert!((relative[1] / relative[2] - 30.0 / 18.0).abs() < 0.02, "{relative:?}");
    assert!(matches!(trials[1].outcome, Outcome::Unsupported { .. }));
}
