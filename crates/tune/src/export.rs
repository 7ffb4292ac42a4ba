//! Results as tables that the library reads.

use tripipe_kernels::gemm::{ElementKind, Entry, Measurement, Shape, TimedProduct};
use tripipe_kernels::{Basis, TableFile, Target, TimeOf, TimeSeries, TimedSubject};

use crate::results::{ProblemResults, TimedParameters};
use crate::{GemmProblem, Problem};

/// The table of these results, as a file that the library reads: all times of products whose operands change, of filters
/// and of products with quantised weights, by device, from which the library estimates; and the fastest parameters of products with constant operands, whose times
/// are without packing. They are for the GPU, or, when it has no model, for devices of its name. Predicted times are
/// marked as predicted.
pub fn exported(results: &[ProblemResults]) -> TableFile {
    let mut table = TableFile::default();
    for one in results {
        let (Some(best), Ok(problem)) = (one.timed.first(), one.problem.parse()) else { continue };
        match problem {
            Problem::Gemm(problem) if problem.constant != [false; 2] => {
                table.entry.extend(entry(one, &problem, best));
            }
            Problem::Gemm(problem) => {
                add_times(&mut table.gemm, one, &TimedProduct::of(&problem.gemm()));
            }
            Problem::Filter(problem) => add_times(&mut table.filter, one, &problem.timed()),
            Problem::Quantised(product) => add_times(&mut table.quantised, one, &product),
            // The library has no kernels of users.
            Problem::Kernel(_) => {}
        }
    }
    table
}

/// Trials of a problem whose times are all predicted, or all measured.
struct OfOneBasis<'r> {
    timed: Vec<&'r TimedParameters>,
    last: &'r TimedParameters,
    /// The reference kernel's time in the middle of the search, to which times that drifted are scaled.
    reference: Option<f64>,
}

impl<'r> OfOneBasis<'r> {
    fn all(results: &'r ProblemResults) -> Vec<Self> {
        let with = |predicted| {
            let timed: Vec<&TimedParameters> =
                results.timed.iter().filter(|timed| timed.times.predicted == predicted).collect();
            let last = *timed.iter().max_by_key(|timed| &timed.day)?;
            let mut references: Vec<f64> = timed.iter().filter_map(|timed| timed.times.reference).collect();
            references.sort_by(f64::total_cmp);
            let reference = references.get(references.len() / 2).copied();
            Some(Self { timed, last, reference })
        };
        [false, true].into_iter().filter_map(with).collect()
    }
}

/// Adds the times of a problem to those of its family on the same device.
fn add_times<S: TimedSubject>(all: &mut Vec<TimeSeries<S>>, results: &ProblemResults, of: &S) {
    let (on, device) = (target(results), &results.device);
    for OfOneBasis { timed, last, reference } in OfOneBasis::all(results) {
        let times = timed.iter().filter_map(|timed| {
            let parameters = timed.parameters.parse().ok()?;
            Some(TimeOf { of: of.clone(), seconds: timed.times.at(reference), parameters })
        });
        let times: Vec<TimeOf<S>> = times.collect();
        let (basis, source) = basis(last);
        let known = all.iter_mut().find(|series| {
            series.on == on
                && series.basis == basis
                && series.device == device.name
                && series.driver == device.driver
        });
        match known {
            _ if times.is_empty() => {}
            Some(series) => {
                series.times.extend(times);
                series.date = series.date.clone().max(last.day.clone());
            }
            None => all.push(TimeSeries {
                on: on.clone(),
                basis,
                source: source.to_owned(),
                device: device.name.clone(),
                driver: device.driver.clone(),
                version: last.tool.clone(),
                date: last.day.clone(),
                times,
            }),
        }
    }
}

fn target(results: &ProblemResults) -> Target {
    let device = &results.device;
    device.product.clone().map_or_else(|| Target::Name(device.name.clone()), Target::Gpu)
}

fn basis(timed: &TimedParameters) -> (Basis, &'static str) {
    if timed.times.predicted {
        (Basis::Predicted, "tuned on a virtual GPU: predicted times")
    } else {
        (Basis::Measured, "tuned by this library")
    }
}

fn entry(results: &ProblemResults, problem: &GemmProblem, best: &TimedParameters) -> Option<Entry> {
    let (gemm, device) = (problem.gemm(), &results.device);
    let (basis, source) = basis(best);
    let measured = (!best.times.predicted).then(|| Measurement {
        gflops: (gemm.operations() / best.times.median * 1e-8).round() / 10.0,
        size: [gemm.m, gemm.n, gemm.k, gemm.batch.count()],
        device: device.name.clone(),
        driver: device.driver.clone(),
        version: best.tool.clone(),
        date: best.day.clone(),
    });
    Some(Entry {
        on: target(results),
        elements: ElementKind::of(gemm.elements),
        shape: Shape::of(&gemm),
        parameters: best.parameters.parse().ok()?,
        basis,
        source: source.to_owned(),
        measured,
    })
}

#[cfg(test)]
mod tests {
    use tripipe_device::{DeviceKind, Probe};
    use tripipe_kernels::Table;

    use super::*;
    use crate::log::{LogContents, TrialSubject};
    use crate::results::results;
    use crate::{Outcome, Times, Trial};

    /// What is exported of trials measured on a device, and the table that the library reads from it.
    fn of_trials(problem: &Problem, probe: &Probe, trials: [(&str, f64); 2]) -> (TableFile, Table) {
        let subject = TrialSubject::here(problem, probe);
        let entries = trials.map(|(parameters, seconds)| {
            let times = Times { predicted: false, ..Times::predicted(seconds) };
            let trial = Trial { parameters: parameters.to_owned(), outcome: Outcome::Measured(times) };
            subject.ended(&trial, None)
        });
        let exported = exported(&results(&LogContents { entries: entries.to_vec(), torn: 0 }));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.toml"), exported.to_toml().unwrap()).unwrap();
        (exported, Table::load(Some(folder.path())).unwrap())
    }

    /// What is exported is what the library then chooses, and only there.
    #[test]
    fn exported_tables_are_used_without_a_build() {
        let problem: Problem = "gemm f32 196x512x4608".parse().unwrap();
        let probe = Probe { name: "Some GPU".to_owned(), driver: "7".to_owned(), ..Probe::default() };
        let trials = [("tile 2x4", 2e-3), ("tile 8x4 parts=4", 1e-3)];
        let (exported, table) = of_trials(&problem, &probe, trials);
        assert_eq!((exported.gemm.len(), exported.gemm[0].times.len()), (1, 2));
        let Problem::Gemm(problem) = problem else { panic!("a product") };
        let chosen = |probe| table.choose_product(&problem.gemm(), probe).parameters.to_string();
        assert_eq!(chosen(&probe), "tile 8x4 parts=4");
        assert_ne!(chosen(&Probe { name: "Another".to_owned(), ..probe.clone() }), "tile 8x4 parts=4");
    }

    /// The same for filters.
    #[test]
    fn exported_times_of_filters_are_used_without_a_build() {
        let problem: Problem = "filter laplace 64x64x1 u8".parse().unwrap();
        let probe = Probe { name: "Some CPU".to_owned(), kind: DeviceKind::Cpu, ..Probe::default() };
        let fast = "4x1 loads=direct sums=wide fuse=pixels group=8x8";
        let slow = "8x1 loads=direct sums=wide fuse=pixels group=8x8";
        let (exported, table) = of_trials(&problem, &probe, [(slow, 2e-3), (fast, 1e-3)]);
        assert_eq!((exported.filter.len(), exported.filter[0].times.len()), (1, 2));
        let Problem::Filter(problem) = problem else { panic!("a filter") };
        let chosen =
            |probe| table.choose_chain(problem.chain(), problem.from(), probe).parameters.to_string();
        assert_eq!(chosen(&probe), fast);
        assert_ne!(chosen(&Probe { name: "Another".to_owned(), ..probe.clone() }), fast);
    }

    /// The same for products with quantised weights.
    #[test]
    fn exported_times_of_quantised_products_are_used_without_a_build() {
        let problem: Problem = "quantised q4_0 f32 1x4096x4096".parse().unwrap();
        let probe = Probe { name: "Some GPU".to_owned(), ..Probe::default() };
        let (fast, slow) = ("2x1 group=8x16 masks", "4x1 group=8x16");
        let (_, table) = of_trials(&problem, &probe, [(slow, 2e-3), (fast, 1e-3)]);
        let Problem::Quantised(product) = problem else { panic!("a product with quantised weights") };
        let chosen = |probe| table.choose_quantised(&product, None, probe).parameters.to_string();
        assert_eq!(chosen(&probe), fast);
        assert_ne!(chosen(&Probe { name: "Another".to_owned(), ..probe.clone() }), fast);
    }

    #[test]
    fn predicted_times_are_marked() {
        let probe = Probe { name: "Mali-G77".to_owned(), ..Probe::default() };
        let ended = |problem: &str, parameters: &str| {
            let outcome = Outcome::Measured(Times::predicted(1e-3));
            let trial = Trial { parameters: parameters.to_owned(), outcome };
            TrialSubject::here(&problem.parse().unwrap(), &probe).ended(&trial, None)
        };
        let log = LogContents {
            entries: vec![
                ended("gemm f32 64x64x64", "tile 4x4"),
                ended("filter laplace 64x64x1 u8", "4x1 loads=direct sums=wide fuse=pixels"),
            ],
            torn: 0,
        };
        let exported = exported(&results(&log));
        let ([product], [filter]) = (exported.gemm.as_slice(), exported.filter.as_slice()) else {
            panic!("{exported:?}")
        };
        assert_eq!((product.basis, product.times.len()), (Basis::Predicted, 1));
        assert_eq!((filter.basis, filter.times.len()), (Basis::Predicted, 1));
        assert_eq!((&product.on, &filter.on), (&Target::Gpu("Mali-G77".to_owned()), &product.on));
        assert_eq!(exported.entry, []);
    }
}
