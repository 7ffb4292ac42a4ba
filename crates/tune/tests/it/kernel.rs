//! Kernels of users: on the simulator, with times that the test chooses.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_launch::{ExecuteError, Executor, Intercept, Launch, Layer, Source, TimeSource, Timing};
use tripipe_launch_file::{ElementType, Overrides, Parameter, ParameterKind, Signature, parse};
use tripipe_simulate::{Options, Simulator};
use tripipe_tune::bench::InProcess;
use tripipe_tune::kernel::{KernelFiles, KernelTable};
use tripipe_tune::log::TrialSubject;
use tripipe_tune::results::results;
use tripipe_tune::search::SearchOptions;
use tripipe_tune::worker::{Reply, Request};
use tripipe_tune::{
    Bench, BenchError, Candidates, Effort, KernelDescription, KernelError, KernelProblem, LogContents,
    Outcome, Problem, SearchResult, StrategyKind, TuningLog, search,
};

/// Sums of ITEMS elements; with BREAK, one of them is wrong, or a byte behind the sums is written.
const SUMS: &str = "#ifndef ITEMS
#define ITEMS 1
#define WG 1
#define BREAK 0
#endif
kernel void sums(global const int *in, global int *out, int n) {
    int sum = 0;
    for (int i = 0; i < ITEMS; ++i) sum += in[get_global_id(0) * ITEMS + i];
    out[get_global_id(0)] = BREAK == 1 && get_global_id(0) == 3 ? sum + 1 : sum;
    if (BREAK == 2 && get_global_id(0) == 0) out[n / ITEMS] = 5;
    if (BREAK == 3) out[get_global_id(0)] = *(global const int *)(in + n + 4096);
}";

const LAUNCH: &str = "source = 'sums.cl'\nglobal = 'n / ITEMS'\nlocal = 'WG'
[[argument]]\nname = 'in'\nbuffer = 'int'\ncount = 'n'\nrandom = {}\naccess = 'read'
[[argument]]\nname = 'out'\nbuffer = 'int'\ncount = 'n / ITEMS'
[[argument]]\nname = 'n'\nvalue = 512\n[tune]\n";

/// The device's time is a bowl over two parameters, whose bottom is WG=16 ITEMS=4.
struct Bowl;

impl<E: Executor> Intercept<E> for Bowl {
    fn time_source(&self, _: &E) -> TimeSource {
        TimeSource::Measured
    }

    fn run(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Vec<Timing>, ExecuteError> {
        inner.run(launches)?;
        let time = |launch: &Launch| {
            let defines: BTreeMap<&str, &str> =
                launch.program.defines.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let log =
                |name: &str| defines.get(name).map_or(0.0, |value| value.parse::<f64>().unwrap().log2());
            let (wg, items) = (log("WG") - 4.0, log("ITEMS") - 2.0);
            let end_ns = (1e6 * (1.0 + 0.3 * wg * wg + 0.2 * items * items)) as u64;
            Timing { queued_ns: 0, submit_ns: 0, start_ns: 0, end_ns }
        };
        Ok(launches.iter().map(time).collect())
    }
}

fn device() -> Layer<Simulator, Bowl> {
    Layer::new(Simulator::new(Options::default()), Bowl)
}

fn described(
    source: &str,
    launch: &str,
    parameters: &[(&str, ParameterKind)],
) -> Result<KernelProblem, KernelError> {
    let points = parse(launch, "k.toml").unwrap().tuning.unwrap().points().unwrap();
    let parameter =
        |(name, kind): &(&str, ParameterKind)| Parameter { name: (*name).to_owned(), kind: kind.clone() };
    let kernel = source.split("kernel void ").nth(1).unwrap().split('(').next().unwrap();
    let description = KernelDescription {
        name: "k.toml".to_owned(),
        launch: launch.to_owned(),
        overrides: Overrides::default(),
        flags: Vec::new(),
        signature: Signature {
            kernel: kernel.to_owned(),
            parameters: parameters.iter().map(parameter).collect(),
        },
        program: "k.cl".to_owned(),
        source: Source::OpenClC(source.to_owned().into()),
        folder: "/".to_owned(),
        includes: Vec::new(),
        included: Vec::new(),
        files: KernelFiles::default(),
    };
    KernelProblem::new(description, points)
}

fn buffer() -> ParameterKind {
    ParameterKind::Buffer { element: None }
}

fn try_with(source: &str, table: &str) -> Result<KernelProblem, KernelError> {
    let n = ParameterKind::Value(ElementType::from_opencl_name("int").unwrap());
    described(source, &format!("{LAUNCH}{table}"), &[("in", buffer()), ("out", buffer()), ("n", n)])
}

fn try_sums(table: &str) -> Result<KernelProblem, KernelError> {
    try_with(SUMS, table)
}

fn sums(table: &str) -> Problem {
    Problem::Kernel(Arc::new(try_sums(table).unwrap()))
}

const BOWL: &str = "parameters = { WG = [1, 2, 4, 8, 16, 32, 64], ITEMS = [1, 2, 4, 8, 16], BREAK = [0] }
where = '512 / ITEMS % WG == 0'\ncompare = 'sum(out)'";

fn searched(problem: &Problem, strategy: StrategyKind, log: Option<&mut TuningLog>) -> SearchResult {
    let mut device = device();
    let mut bench = InProcess::new(&mut device);
    let candidates = Candidates::of(problem, bench.probe(), None);
    let mut strategy = strategy.make(&candidates, 1);
    let options =
        SearchOptions { effort: Effort { runs: 6, ..Effort::default() }, ..SearchOptions::default() };
    search(
        &mut bench,
        problem,
        &candidates,
        &mut *strategy,
        log,
        &options,
        &mut |_| ControlFlow::Continue(()),
    )
    .unwrap()
}

fn measured(problem: &Problem, parameters: &str) -> Outcome {
    let mut device = device();
    let mut bench = InProcess::new(&mut device);
    let effort = Effort { runs: 6, ..Effort::default() };
    bench.measure(problem, parameters, &effort).unwrap().outcome
}

#[test]
fn the_bottom_of_a_bowl_is_found() {
    let problem = sums(BOWL);
    assert_eq!(problem.family(), "kernel");
    for strategy in [StrategyKind::Exhaustive, StrategyKind::Learned] {
        let found = searched(&problem, strategy, None);
        let (fastest, seconds) = found.fastest().unwrap();
        assert_eq!(fastest.parameters, "WG=16 ITEMS=4 BREAK=0", "{strategy}");
        assert!((seconds - 1e-3).abs() < 1e-9, "{seconds}");
        // 1 + 0.3 * 16 + 0.2 * 4 times the bottom: relative to the first candidate.
        let relative = fastest.outcome.times().unwrap().relative.unwrap();
        assert!((relative * 6.6 - 1.0).abs() < 1e-6, "{relative}");
        assert!(found.trials.iter().all(|trial| trial.outcome.seconds().is_some()), "{:?}", found.trials);
    }
}

#[test]
fn a_search_goes_on_where_the_log_ends_but_not_with_other_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let problem = sums(BOWL);
    let all = searched(&problem, StrategyKind::Exhaustive, Some(&mut TuningLog::open(&path).unwrap()));
    let again = searched(&problem, StrategyKind::Exhaustive, Some(&mut TuningLog::open(&path).unwrap()));
    assert_eq!((all.reused, again.reused), (0, all.trials.len()));
    // More values are more candidates of the same kernel.
    let more = sums(&BOWL.replace("[0]", "[0, 7]"));
    assert_eq!(more.to_string(), problem.to_string());
    let other = Problem::Kernel(Arc::new(try_with(&SUMS.replace("sum = 0", "sum = 0 "), BOWL).unwrap()));
    assert_ne!(problem.to_string(), other.to_string());
    let other = searched(&other, StrategyKind::Exhaustive, Some(&mut TuningLog::open(&path).unwrap()));
    assert_eq!(other.reused, 0);
    let found = results(&LogContents::read(&path).unwrap());
    assert_eq!(found.len(), 2);
    // The table and the header are those of this code.
    let Problem::Kernel(kernel) = &problem else { panic!() };
    let table = KernelTable::new(kernel, &found);
    let toml: toml::Table = table.to_toml().parse().unwrap();
    let best = &toml["best"].as_array().unwrap()[0];
    assert_eq!(best["values"]["WG"].as_str(), Some("16"));
    assert_eq!((best["seconds"].as_float(), best["basis"].as_str()), (Some(1e-3), Some("measured")));
    assert!(table.to_header().contains("#ifndef ITEMS\n#define ITEMS 4\n#endif\n"), "{}", table.to_header());
}

#[test]
fn a_candidate_that_breaks_the_result_is_wrong() {
    let table = "parameters = { WG = [4], ITEMS = [2], BREAK = [0, 1, 2, 3] }";
    let problem = sums(table);
    assert!(matches!(measured(&problem, "WG=4 ITEMS=2 BREAK=0"), Outcome::Measured(_)));
    let reason = |parameters: &str| match measured(&problem, parameters) {
        Outcome::Wrong { reason } => reason,
        other => panic!("{parameters}: {other:?}"),
    };
    let one = reason("WG=4 ITEMS=2 BREAK=1");
    assert!(one.starts_with("out[3] is ") && one.ends_with("(1 of 256 numbers differ)"), "{one}");
    assert_eq!(reason("WG=4 ITEMS=2 BREAK=2"), "byte 0 behind `out` was written");
    // What the simulator does not permit is a failure of this candidate.
    let outside = measured(&problem, "WG=4 ITEMS=2 BREAK=3");
    assert!(outside.seconds().is_none() && outside.reason().is_some(), "{outside:?}");
    let none = measured(&problem, "WG=8 ITEMS=2 BREAK=0");
    assert!(
        matches!(&none, Outcome::Unsupported { reason } if reason.contains("is no combination")),
        "{none:?}"
    );
    // Sums of fewer or more sums find it, too.
    let problem = sums(&format!("{table}\ncompare = ['sum(out)']"));
    let Outcome::Wrong { reason } = measured(&problem, "WG=4 ITEMS=2 BREAK=1") else { panic!() };
    assert!(reason.starts_with("the sum of out is "), "{reason}");
}

#[test]
fn what_the_launch_file_expects_decides() {
    let launch = LAUNCH.replace("random = {}", "fill = 3");
    let expecting = |expect: &str| {
        let launch = launch
            .replace("count = 'n / ITEMS'\n", &format!("count = 'n / ITEMS'\nexpect = {{ {expect} }}\n"));
        let table = "parameters = { ITEMS = [2, 4], WG = [1], BREAK = [0] }";
        let n = ParameterKind::Value(ElementType::from_opencl_name("int").unwrap());
        let parameters = [("in", buffer()), ("out", buffer()), ("n", n)];
        Problem::Kernel(Arc::new(described(SUMS, &format!("{launch}{table}"), &parameters).unwrap()))
    };
    let problem = expecting("fill = 6");
    assert!(matches!(measured(&problem, "ITEMS=2 WG=1 BREAK=0"), Outcome::Measured(_)));
    assert!(matches!(measured(&problem, "ITEMS=4 WG=1 BREAK=0"), Outcome::Wrong { .. }));
    let Problem::Kernel(kernel) = &problem else { panic!() };
    assert_eq!(kernel.judge().unwrap(), "what the launch file expects");
    assert_eq!(kernel.needs_reference(), Ok(false));
}

/// A kernel that reads what it writes starts from the same contents in every verified run.
#[test]
fn memory_is_as_the_launch_file_has_it_before_each_verified_run() {
    let source = "kernel void twice(global int *x) { x[get_global_id(0)] *= A; }";
    let launch =
        "source = 'a.cl'\nglobal = 64\n[[argument]]\nname = 'x'\nbuffer = 'int'\nrange = { start = 1 }
[[argument]]\n";
    let launch = launch
        .replace("range = { start = 1 }\n[[argument]]\n", "count = 64\nrange = { start = 1 }\n")
        + "[tune]\nparameters = { A = ['2', '(1+1)', 3] }";
    let problem = Problem::Kernel(Arc::new(described(source, &launch, &[("x", buffer())]).unwrap()));
    for (parameters, is_right) in [("A=2", true), ("A=(1+1)", true), ("A=3", false)] {
        let outcome = measured(&problem, parameters);
        assert_eq!(outcome.seconds().is_some(), is_right, "{parameters}: {outcome:?}");
    }
    // A kernel that does nothing has no result.
    let idle = "kernel void idle(global int *x) { if (A == 9) x[0] = 1; }";
    let problem = Problem::Kernel(Arc::new(described(idle, &launch, &[("x", buffer())]).unwrap()));
    let mut device = device();
    let error = InProcess::new(&mut device).measure(&problem, "A=2", &Effort::default()).unwrap_err();
    assert!(matches!(&error, BenchError::Problem { reason, .. } if reason.contains("as it was")), "{error}");
}

#[test]
fn the_simulator_judges_a_device() {
    let table = "parameters = { WG = [4], ITEMS = [2], BREAK = [1, 0] }";
    let problem = try_sums(table).unwrap();
    assert!(problem.judge().unwrap().ends_with("on the device itself"));
    let reference = problem.results_of_first(&mut Simulator::new(Options::default())).unwrap();
    assert_eq!((reference.results.len(), reference.results[0].1.len()), (1, 4 * 256));
    let problem = problem.with_reference(reference);
    assert_eq!(problem.judge().unwrap(), "those of WG=4 ITEMS=2 BREAK=1 in the simulator");
    assert_eq!(problem.size(), 1024);
    // The first candidate has the wrong sum, so that of the other one differs.
    let problem = Problem::Kernel(Arc::new(problem));
    assert!(matches!(measured(&problem, "WG=4 ITEMS=2 BREAK=1"), Outcome::Measured(_)));
    assert!(matches!(measured(&problem, "WG=4 ITEMS=2 BREAK=0"), Outcome::Wrong { .. }));
}

/// Devices round to channels of 8 bits as they like; what the file says goes before that.
#[test]
fn integers_are_equal_except_for_normalised_channels() {
    let kernel =
        "kernel void k(write_only image2d_t a, write_only image2d_t b, global uchar *c) { if (A) c[0] = 1; }";
    let image = |channel: &str| {
        format!("[[argument]]\nimage = {{ width = 4, height = 4, order = 'rgba', channel = '{channel}' }}\n")
    };
    let [rounded, exact] = ["unorm-int8", "unsigned-int8"].map(image);
    let launch = format!(
        "source = 'a.cl'\nglobal = 1\n{rounded}{exact}[[argument]]\nbuffer = 'uchar'\ncount = 4\n[tune]
parameters = {{ A = [1, 2] }}\n"
    );
    let absolute = |launch: &str| {
        let parameters = [("a", ParameterKind::Image), ("b", ParameterKind::Image), ("c", buffer())];
        let problem = described(kernel, launch, &parameters).unwrap();
        let file = problem.launch_file("A=2").unwrap();
        let loaded = problem.load(&file).unwrap();
        let of = |index: usize| KernelProblem::tolerance(&file, index, &loaded.memory[index].array).absolute;
        [of(0), of(1), of(2)]
    };
    assert_eq!(absolute(&launch), [1.0, 0.0, 0.0]);
    assert_eq!(absolute(&format!("{launch}tolerance = {{ absolute = 2 }}")), [2.0; 3]);
    assert_eq!(absolute(&format!("{launch}tolerance = {{ relative = 0.5 }}")), [0.0; 3]);
}

#[test]
fn a_kernel_is_the_same_behind_a_message() {
    let problem =
        try_sums("parameters = { WG = [4], ITEMS = [2, 4], BREAK = [0] }\ncompare = 'sum(out)'").unwrap();
    let reference = problem.results_of_first(&mut Simulator::new(Options::default())).unwrap();
    let problem = problem.with_reference(reference);
    let text = serde_json::to_string(&Request::Kernel(Box::new(problem.clone()))).unwrap();
    let Request::Kernel(read) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
    assert_eq!((&*read, read.to_string()), (&problem, problem.to_string()));
    assert_eq!((read.first(), read.reference()), (problem.first(), problem.reference()));
    assert_eq!(read.description().signature, problem.description().signature);
    let [sent, known] = [*read, problem]
        .map(|problem| measured(&Problem::Kernel(Arc::new(problem)), "WG=4 ITEMS=4 BREAK=0").seconds());
    assert!(sent.is_some() && sent == known);
    for (from, to) in [("value\":\"int", "value\":\"lint"), ("\"results", "\"r")] {
        let broken = text.replace(from, to);
        assert!(broken == text || serde_json::from_str::<Request>(&broken).is_err(), "{from}");
    }
    assert!(serde_json::from_str::<Reply>(&text).is_err());
}

#[test]
fn what_cannot_be_tuned_is_refused_with_a_reason() {
    let refused = |table: &str| try_sums(table).unwrap_err().to_string();
    let all = "WG = [4], ITEMS = [2, 4], BREAK = [0]";
    let said = refused(&format!("parameters = {{ {all}, ITEM = [1, 2] }}\ncompare = 'sum(out)'"));
    assert!(said.contains("parameter `ITEM` changes nothing"), "{said}");
    let said = refused(&format!("parameters = {{ {all} }}"));
    assert!(said.contains("`out` has 256 elements with WG=4 ITEMS=2") && said.contains("sum(out)"), "{said}");
    let said = refused(&format!("parameters = {{ {all} }}\nwhere = 'WG > 4'"));
    assert!(said.contains("no combination of the values"), "{said}");
    let parsed = "kernel k.toml:sums 0123".parse::<Problem>().unwrap_err().to_string();
    assert!(parsed.contains("tripipe tune kernel"), "{parsed}");
}

#[test]
fn work_groups_over_the_limits_of_a_device_are_no_candidates() {
    let problem = sums("parameters = { WG = [1, 64, 128], ITEMS = [1], BREAK = [0] }");
    let probe = Probe { max_work_group_size: 64, ..Probe::default() };
    let candidates = Candidates::of(&problem, &probe, None);
    let texts: Vec<&str> = candidates.all.iter().map(|one| one.parameters.as_str()).collect();
    assert_eq!(texts, ["WG=1 ITEMS=1 BREAK=0", "WG=64 ITEMS=1 BREAK=0"]);
    assert_eq!((candidates.guesses, candidates.size.combinations, candidates.size.points), (1, 3, 2));
    let small = Candidates::of(&problem, &Probe { max_work_group_size: 0, ..probe.clone() }, None);
    assert_eq!(small.all.len(), 3, "an unknown limit is none");
    let subject = TrialSubject::here(&problem, &probe);
    assert!(subject.problem.starts_with("kernel k.toml:sums "), "{}", subject.problem);
}
