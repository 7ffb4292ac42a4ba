//! The static analysis of a launch against the executor's counts: every kernel of the ladders, at many sizes.
//!
//! On each pipe, the clocks of all work-items lie between those of the shortest and of the longest path; where these
//! are equal, the clocks match exactly.

use std::collections::BTreeMap;
use std::sync::Arc;

use tripipe_analyze::{Analysis, Setup, Trips, analyze};
use tripipe_conformance::sizes::{Extent, sizes};
use tripipe_device::{Gpu, find};
use tripipe_ir::Module;
use tripipe_ir::front::spirv;
use tripipe_ladders::Inputs;
use tripipe_ladders::catalog::ladders;
use tripipe_launch::{Argument, ExecuteError, Executor, Intercept, Launch, Layer, ScalarType, Timing};
use tripipe_machine::Pipe;
use tripipe_simulate::{Options, Report, Simulator};

/// Compares every launch of the simulator with its analysis.
#[derive(Default)]
struct ComparedLaunches {
    modules: BTreeMap<String, Arc<Module>>,
    /// Launches, and those with a single path.
    seen: usize,
    exact: usize,
    /// Kernels with loops whose trip count depends on the contents of memory.
    open: Vec<String>,
    wrong: Vec<String>,
}

/// One for each way to count.
const GPUS: [&str; 4] = ["Mali-T760", "Mali-G76", "Mali-G715", "Adreno 740"];

impl ComparedLaunches {
    fn hold(&mut self, launch: &Launch, report: &Report) {
        let key = format!("{} {}", launch.program.name, launch.program.build_options());
        let module = self.modules.entry(key).or_insert_with(|| {
            let bytes = tripipe_ladders::spirv::find(&launch.program).unwrap();
            Arc::new(spirv::load(bytes, &spirv::Options::default()).unwrap())
        });
        let module = Arc::clone(module);
        let kernel = module.kernel(&launch.entry).unwrap();
        let integer = |argument: &Argument| {
            let Argument::Value(value) = argument else { return None };
            let bytes = value.bytes().try_into().ok()?;
            matches!(value.element(), ScalarType::I32 | ScalarType::U32)
                .then(|| i64::from(i32::from_ne_bytes(bytes)))
        };
        let arguments = launch.arguments.iter().enumerate();
        let setup = Setup {
            arguments: arguments.filter_map(|(at, argument)| Some((at, integer(argument)?))).collect(),
            global: Some(report.global),
            local: Some(report.local),
        };
        // Each launch on one of them, in rotation.
        let gpu = find(GPUS[self.seen % GPUS.len()]).unwrap();
        let analysis = analyze(kernel, gpu, &setup);
        let open = analysis.loops.iter().any(|each| !matches!(each.trips, Trips::Known(_)));
        if open && !self.open.contains(&kernel.name) {
            self.open.push(kernel.name.clone());
        }
        self.compare(&analysis, gpu, launch, report, open);
    }

    fn compare(&mut self, analysis: &Analysis, gpu: &Gpu, launch: &Launch, report: &Report, open: bool) {
        let items = report.work_items as f64;
        self.seen += 1;
        let mut exact = true;
        for pipe in Pipe::ALL {
            let run: f64 = report
                .block_runs
                .iter()
                .map(|(block, runs)| analysis.blocks[block][pipe.index()] * *runs as f64)
                .sum();
            let way = |way: &[tripipe_analyze::Polynomial]| {
                way[pipe.index()].as_constant().map(|clocks| clocks * items)
            };
            let (shortest, longest) = (way(&analysis.shortest.pipes), way(&analysis.longest.pipes));
            let slack = 1e-9 * run.max(1.0);
            exact &= shortest == longest;
            let wrong = shortest.is_some_and(|shortest| run < shortest - slack)
                || !open && longest.is_none_or(|longest| run > longest + slack);
            if wrong {
                self.wrong.push(format!(
                    "{} {} on {}, {pipe:?}, {:?}: {shortest:?} to {longest:?}, ran {run}",
                    launch.program.name,
                    launch.entry,
                    gpu.name(),
                    report.global
                ));
            }
        }
        self.exact += usize::from(exact);
    }
}

impl Intercept<Simulator> for ComparedLaunches {
    fn run(&mut self, inner: &mut Simulator, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        let timings = inner.run(launches)?;
        for (launch, report) in launches.iter().zip(inner.reports()) {
            self.hold(launch, report);
        }
        Ok(timings)
    }
}

#[test]
fn counted_cycles_are_between_the_shortest_and_the_longest_path() {
    let prebuilt = Some(tripipe_ladders::spirv::find as tripipe_simulate::Prebuilt);
    let simulator = Simulator::new(Options { prebuilt, ..Options::default() });
    let mut executor = Layer::new(simulator, ComparedLaunches::default());
    for ladder in ladders() {
        for size in sizes(ladder.size_kind, Extent::Small) {
            let problem = ladder.make_problem(size, &Inputs { photo: None, seed: 20 }).unwrap();
            for step in 0..ladder.steps.len() {
                let climber: &mut dyn Executor = &mut executor;
                // A step that is not offered for a size runs at another.
                let _ = tripipe_ladders::ladder::Climber::attempt(
                    climber,
                    ladder,
                    step,
                    &problem,
                    &mut |_, attempt| {
                        if let Ok(attempt) = attempt {
                            attempt.prepare().unwrap();
                            attempt.run().unwrap();
                        }
                    },
                );
            }
        }
    }
    let held = executor.calls;
    eprintln!(
        "{} launches held, {} with one way; open loops in {}",
        held.seen,
        held.exact,
        held.open.join(" ")
    );
    assert!(held.wrong.is_empty(), "\n{}", held.wrong[..held.wrong.len().min(40)].join("\n"));
    assert!(held.seen > 5000 && held.exact > 200, "{} launches, {} with one way", held.seen, held.exact);
}
