//! Results as entries of the tables that the library reads.

use tripipe_kernels::gemm::{Basis, ElementKind, Entry, Measurement, Shape, Target};

use crate::Problem;
use crate::results::ProblemResults;

/// The fastest parameters of each product as entries of a table, for the GPU, or, when it has no model, for devices of
/// its name. Predicted times give entries that are marked as predicted. Filters have no tables: their results are left
/// out.
pub fn entries(results: &[ProblemResults]) -> Vec<Entry> {
    results.iter().filter_map(entry).collect()
}

fn entry(results: &ProblemResults) -> Option<Entry> {
    let best = results.timed.first()?;
    let Ok(Problem::Gemm(problem)) = results.problem.parse() else { return None };
    let gemm = problem.gemm();
    let device = &results.device;
    let on = device.product.clone().map_or_else(|| Target::Name(device.name.clone()), Target::Gpu);
    let (basis, source) = if best.times.predicted {
        (Basis::Predicted, "tuned on a virtual GPU: predicted times")
    } else {
        (Basis::Measured, "tuned by this library")
    };
    let measured = (!best.times.predicted).then(|| Measurement {
        gflops: (gemm.operations() / best.times.median * 1e-8).round() / 10.0,
        size: [gemm.m, gemm.n, gemm.k, gemm.batch.count()],
        device: device.name.clone(),
        driver: device.driver.clone(),
        version: best.tool.clone(),
        date: best.day.clone(),
    });
    Some(Entry {
        on,
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
    use tripipe_kernels::gemm::{Table, entries_to_toml};

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
        let entries = entries(&results(&log));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.toml"), entries_to_toml(&entries).unwrap()).unwrap();
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
        let entries = entries(&results(&log));
        assert_eq!(entries.len(), 1);
        assert_eq!((entries[0].basis, &entries[0].measured), (Basis::Predicted, &None));
        assert_eq!(entries[0].on, Target::Gpu("Mali-G77".to_owned()));
    }
}
