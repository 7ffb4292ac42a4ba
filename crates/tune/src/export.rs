//! Results as tables that the library reads.

use tripipe_kernels::gemm::{
    Basis, ElementKind, Entry, Gemm, Measurement, Series, Shape, Target, Timed, TimedShape, table_to_toml,
};

use crate::results::{ProblemResults, TimedParameters};
use crate::{GemmProblem, Problem};

/// What a table gets from a log: raw times of products, and entries. Filters have no tables: their results are left
/// out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportedTable {
    /// All times of products whose operands change, by device and elements: the library estimates from them.
    pub series: Vec<Series>,
    /// The fastest parameters of products with constant operands, whose times are without packing.
    pub entries: Vec<Entry>,
}

impl ExportedTable {
    /// The times and entries of these results. They are for the GPU, or, when it has no model, for devices of its
    /// name. Predicted times are marked as predicted.
    pub fn of(results: &[ProblemResults]) -> Self {
        let mut table = Self::default();
        for one in results {
            let (Some(best), Ok(Problem::Gemm(problem))) = (one.timed.first(), one.problem.parse()) else {
                continue;
            };
            if problem.constant != [false; 2] {
                table.entries.extend(entry(one, &problem, best));
                continue;
            }
            let gemm = problem.gemm();
            for predicted in [false, true] {
                let timed: Vec<&TimedParameters> =
                    one.timed.iter().filter(|timed| timed.times.predicted == predicted).collect();
                let times = timed.iter().filter_map(|timed| {
                    let parameters = timed.parameters.parse().ok()?;
                    Some(Timed { shape: TimedShape::of(&gemm), seconds: timed.times.median, parameters })
                });
                let times: Vec<Timed> = times.collect();
                if let Some(last) = timed.iter().max_by_key(|timed| &timed.day)
                    && !times.is_empty()
                {
                    table.add(one, &gemm, last, times);
                }
            }
        }
        table
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty() && self.entries.is_empty()
    }

    /// Its text, for a file that the library reads.
    ///
    /// # Errors
    /// None in practice: TOML can represent every table.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        table_to_toml(&self.series, &self.entries)
    }

    fn add(&mut self, results: &ProblemResults, gemm: &Gemm, last: &TimedParameters, times: Vec<Timed>) {
        let (on, device) = (target(results), &results.device);
        let elements = ElementKind::of(gemm.elements);
        let (basis, source) = basis(last);
        let known = self.series.iter_mut().find(|series| {
            series.on == on
                && series.elements == elements
                && series.basis == basis
                && series.device == device.name
                && series.driver == device.driver
        });
        if let Some(series) = known {
            series.times.extend(times);
            series.date = series.date.clone().max(last.day.clone());
            return;
        }
        self.series.push(Series {
            on,
            elements,
            basis,
            source: source.to_owned(),
            device: device.name.clone(),
            driver: device.driver.clone(),
            version: last.tool.clone(),
            date: last.day.clone(),
            times,
        });
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
    use tripipe_device::Probe;
    use tripipe_kernels::gemm::Table;

    use super::*;
    use crate::log::{LogContents, TrialSubject};
    use crate::results::results;
    use crate::{Outcome, Times, Trial};

    /// What is exported is what the library then chooses, and only there.
    #[test]
    fn exported_tables_are_used_without_a_build() {
        let problem: Problem = "gemm f32 196x512x4608".parse().unwrap();
        let probe = Probe { name: "Some GPU".to_owned(), driver: "7".to_owned(), ..Probe::default() };
        let subject = TrialSubject::here(&problem, &probe);
        let trial = |parameters: &str, seconds| {
            let times = Times { predicted: false, ..Times::predicted(seconds) };
            let trial = Trial { parameters: parameters.to_owned(), outcome: Outcome::Measured(times) };
            subject.ended(&trial, None)
        };
        let log =
            LogContents { entries: vec![trial("tile 2x4", 2e-3), trial("tile 8x4 parts=4", 1e-3)], torn: 0 };
        let exported = ExportedTable::of(&results(&log));
        assert_eq!((exported.series.len(), exported.series[0].times.len()), (1, 2));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.toml"), exported.to_toml().unwrap()).unwrap();
        let table = Table::load(Some(folder.path())).unwrap();
        let Problem::Gemm(problem) = problem else { panic!("a product") };
        let choice = table.choose(&problem.gemm(), &probe);
        assert_eq!(choice.parameters.to_string(), "tile 8x4 parts=4");
        let other = Probe { name: "Another".to_owned(), ..probe };
        assert_ne!(table.choose(&problem.gemm(), &other).parameters.to_string(), "tile 8x4 parts=4");
    }

    #[test]
    fn predicted_times_are_marked_and_filters_are_left_out() {
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
        let exported = ExportedTable::of(&results(&log));
        let [series] = exported.series.as_slice() else { panic!("{exported:?}") };
        assert_eq!((series.basis, series.times.len()), (Basis::Predicted, 1));
        assert_eq!(series.on, Target::Gpu("Mali-G77".to_owned()));
        assert_eq!(exported.entries, []);
    }
}
