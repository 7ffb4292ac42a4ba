//! Every lint on kernels written for it, `lints/CODE.cl`: it must fire in those named `slow...`, at the lines marked
//! `// here`, and not in those named `quick...`, which do the same and follow the lint's advice. The promised gain is
//! compared with the model's price of the quick kernel.
//!
//! The first lines of a file are directives, one per line:
//!
//! - `// on: GPU, GPU`: where it fires; `// on KERNEL: ...` instead for one kernel;
//! - `// not on: GPU, GPU`: where it does not fire for any kernel of the file; `// not on KERNEL: ...` for one kernel;
//! - `// launch: NAME=VALUE global=X,Y local=X,Y`: the launch, for all kernels; `// launch KERNEL: ...` for one;
//! - `// outputs: N`: a work-item of the quick kernels computes as much as N of the slow ones;
//! - `// gain within: SHARE`: how far the promised gain may be from `1 - quick/slow` of the bounding pipe's cycles, if
//!   both kernels exist with the same suffix and a gain is promised; the default is 0.05; `// gain within KERNEL: SHARE`
//!   instead for one kernel.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tripipe_analyze::{ASSUMED_TRIPS, Analysis, Setup, analyze, lints};
use tripipe_device::{Gpu, find};
use tripipe_ir::front::clang::{Build, Optimization, build_file, build_text};
use tripipe_ir::front::spirv;
use tripipe_ir::{Kernel, Module};

pub(crate) fn file(code: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lints").join(format!("{code}.cl"))
}

/// Sizes and arguments by name.
type Launch = BTreeMap<String, Vec<u64>>;

/// The directives of a file.
pub(crate) struct Directions {
    /// By the kernel's name; under the empty name for the others.
    pub(crate) on: BTreeMap<String, Vec<&'static Gpu>>,
    /// By the kernel's name; under the empty name for all.
    not_on: BTreeMap<String, Vec<&'static Gpu>>,
    /// By the kernel's name; under the empty name for the others.
    launches: BTreeMap<String, Launch>,
    /// By the kernel's name; under the empty name for the others.
    within: BTreeMap<String, f64>,
    /// Work-items of a slow kernel that one of a quick kernel replaces.
    outputs: f64,
    /// Lines marked `// here`.
    here: Vec<u32>,
}

impl Directions {
    pub(crate) fn of(text: &str) -> Self {
        let said = |what: &str| {
            let start = format!("// {what}: ");
            text.lines().find_map(|line| line.strip_prefix(start.as_str())).map(str::to_owned)
        };
        let gpus = |names: &str| names.trim().split(", ").map(|name| find(name).unwrap()).collect();
        let by_kernel = |start: &'static str| {
            let lines = text.lines().filter_map(move |line| line.strip_prefix(start)?.split_once(':'));
            lines.map(|(kernel, names)| (kernel.trim().to_owned(), gpus(names))).collect()
        };
        let launches = text.lines().filter_map(|line| line.strip_prefix("// launch")?.split_once(':'));
        let launches = launches.map(|(kernel, launch)| {
            let entries = launch.split_whitespace().map(|entry| {
                let (name, values) = entry.split_once('=').unwrap();
                (name.to_owned(), values.split(',').map(|value| value.parse().unwrap()).collect())
            });
            (kernel.trim().to_owned(), entries.collect())
        });
        let within = text.lines().filter_map(|line| line.strip_prefix("// gain within")?.split_once(':'));
        let here = (1..).zip(text.lines()).filter(|(_, line)| line.ends_with("// here"));
        Self {
            on: by_kernel("// on"),
            not_on: by_kernel("// not on"),
            launches: launches.collect(),
            within: within
                .map(|(kernel, share)| (kernel.trim().to_owned(), share.trim().parse().unwrap()))
                .collect(),
            outputs: said("outputs").map_or(1.0, |outputs| outputs.parse().unwrap()),
            here: here.map(|(number, _)| number).collect(),
        }
    }

    pub(crate) fn setup(&self, kernel: &Kernel) -> Setup {
        let launch = self.launches.get(&kernel.name).or_else(|| self.launches.get(""));
        let said = |name: &str| launch?.get(name);
        let sizes = |name: &str| {
            let sizes = said(name)?;
            Some([0, 1, 2].map(|dimension| sizes.get(dimension).copied().unwrap_or(1)))
        };
        let arguments = kernel.parameters.iter().enumerate().filter_map(|(position, parameter)| {
            let values = said(&parameter.name)?;
            Some((position, i64::try_from(values[0]).unwrap()))
        });
        Setup { arguments: arguments.collect(), global: sizes("global"), local: sizes("local") }
    }
}

fn cycles(analysis: &Analysis) -> f64 {
    let columns = analysis.longest.columns.iter();
    columns.map(|column| column.evaluate(ASSUMED_TRIPS)).fold(0.0, f64::max)
}

/// Lines of the file at which a lint fires; 0 for advice without a location.
fn lines(kernel: &Kernel, analysis: &Analysis, code: &str) -> Vec<u32> {
    let advice = analysis.advice.iter().filter(|advice| advice.rule.code == code);
    advice.map(|advice| advice.location.map_or(0, |location| kernel.own_location(location).line)).collect()
}

/// Everything that is wrong with a lint, according to its file.
fn complaints(code: &str, text: &str, module: &Module) -> Vec<String> {
    let directions = Directions::of(text);
    let mut wrong = Vec::new();
    let mut fired_at: Vec<u32> = Vec::new();
    let mut slow_ones = 0;
    for kernel in &module.kernels {
        let price = |kernel: &Kernel, gpu| analyze(kernel, gpu, &directions.setup(kernel));
        let of_kernel = [&kernel.name[..], ""].map(|name| directions.not_on.get(name));
        for gpu in of_kernel.into_iter().flatten().flatten() {
            let found = lines(kernel, &price(kernel, gpu), code);
            if !found.is_empty() {
                wrong.push(format!("{} on {}: fires at {found:?}", kernel.name, gpu.name()));
            }
        }
        for gpu in directions.on.get(&kernel.name).or_else(|| directions.on.get("")).into_iter().flatten() {
            let analysis = price(kernel, gpu);
            let found = lines(kernel, &analysis, code);
            let mut complain =
                |what: String| wrong.push(format!("{} on {}: {what}", kernel.name, gpu.name()));
            let Some(ending) = kernel.name.strip_prefix("slow") else {
                if !kernel.name.starts_with("quick") {
                    complain("neither slow nor quick".into());
                }
                if !found.is_empty() {
                    complain(format!("fires at {found:?}"));
                }
                continue;
            };
            slow_ones += 1;
            if found.is_empty() {
                complain("does not fire".into());
            }
            if !found.iter().all(|line| *line == 0 || directions.here.contains(line)) {
                complain(format!("fires at {found:?}, not at {:?}", directions.here));
            }
            fired_at.extend(found);
            let gains: Vec<f64> = analysis
                .advice
                .iter()
                .filter(|advice| advice.rule.code == code)
                .filter_map(|advice| advice.gain.as_ref()?.cycles)
                .collect();
            if gains.iter().any(|gain| *gain <= 0.0 || *gain > 1.0) {
                complain(format!("promises {gains:?}"));
            }
            let promised: f64 = gains.iter().sum();
            let quick = module.kernels.iter().find(|other| other.name == format!("quick{ending}"));
            if let Some(quick) = quick.filter(|_| promised > 0.0) {
                let (before, after) = (cycles(&analysis), cycles(&price(quick, gpu)) / directions.outputs);
                let kept = 1.0 - after / before;
                let within = directions.within.get(&kernel.name).or_else(|| directions.within.get(""));
                if (promised - kept).abs() > *within.unwrap_or(&0.05) {
                    complain(format!(
                        "promises {promised:.3}, the quick one gains {kept:.3} ({before} to {after})"
                    ));
                }
            }
        }
    }
    if slow_ones == 0 {
        wrong.push("fires nowhere: no kernel named slow, or no GPU".into());
    }
    let silent = directions.here.iter().filter(|line| !fired_at.contains(line));
    wrong.extend(silent.map(|line| format!("nothing fires at line {line}")));
    wrong
}

#[test]
fn lints_report_exactly_the_expected_lines() {
    let mut wrong = Vec::new();
    for rule in lints::ALL {
        let path = file(rule.code);
        let Ok(text) = fs::read_to_string(&path) else {
            wrong.push(format!("{}: no file {}", rule.code, path.display()));
            continue;
        };
        let build = Build { optimization: Optimization::Driver, ..Build::default() };
        let built = match build_file(&path, &build) {
            Ok(built) => built,
            Err(error) => {
                assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
                eprintln!("left out: {error}");
                return;
            }
        };
        let module = spirv::load(&built.spirv, &spirv::Options::default()).unwrap();
        let found = complaints(rule.code, &text, &module);
        wrong.extend(found.into_iter().map(|what| format!("{}: {what}", rule.code)));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Eight sums of a loop are one piece of advice, and so are copies of a line.
#[test]
fn a_loop_has_one_advice_of_a_kind() {
    let each = |line: &dyn Fn(usize) -> String| (0..8).map(line).collect::<Vec<_>>().join("\n");
    let sums = each(&|k| format!("        s{k} += convert_int4(vload4(j, p + {k})) * (int4){};", k + 1));
    let declared = each(&|k| format!("    int4 s{k} = 0;"));
    let text = format!(
        "kernel void k(global const uchar *p, global int4 *out, int n) {{\n    p += 32 * get_global_id(0);\n{declared}\n\
             for (int j = 0; j < 5; ++j) {{\n{sums}\n    }}\n    \
             out[get_global_id(0)] = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7;\n}}\n"
    );
    let build = Build { optimization: Optimization::Driver, ..Build::default() };
    let Ok(built) = build_text("sums.cl", &text, None, &build) else { return };
    let module = spirv::load(&built.spirv, &spirv::Options::default()).unwrap();
    for gpu in ["Mali-T860", "Mali-G77", "Adreno 640"] {
        let analysis = analyze(&module.kernels[0], find(gpu).unwrap(), &Setup::default());
        let mut said: Vec<(&str, &str)> =
            analysis.advice.iter().map(|advice| (advice.rule.code, advice.fix.as_str())).collect();
        let all = said.len();
        said.sort_unstable();
        said.dedup();
        assert_eq!(said.len(), all, "{gpu}: {:#?}", analysis.advice);
    }
}

#[test]
fn every_file_has_its_lint() {
    for entry in fs::read_dir(file("x").parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let code = path.file_stem().unwrap().to_str().unwrap();
        assert!(lints::ALL.iter().any(|rule| rule.code == code), "{} has no lint", path.display());
    }
}
