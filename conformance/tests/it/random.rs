//! Random operations on every available backend, compared with separate references: see `tester`.
//!
//! `examples/differ.rs` runs the same for any length of time.

use std::sync::Arc;
use std::time::Duration;

use crate::tester::backends::{Backend, BackendOptions, Outcome, Tamper};
use crate::tester::filters::Filter;
use crate::tester::search::{Search, SearchResults, search};
use crate::tester::{Case, Topic};

fn run(options: &Search) -> SearchResults {
    let found = search(options, &mut |failure| eprintln!("{failure}")).unwrap();
    eprintln!("{found}");
    found
}

/// The same cases every time: without compilers they are fast.
#[test]
fn random_cases_agree_on_the_cpu_path() {
    let backends = BackendOptions { selected: vec![Backend::Cpu], ..BackendOptions::default() };
    all_agree(&run(&Search { jobs: 2, failures: 20, backends, ..Search::new(2, 6000) }));
}

fn all_agree(found: &SearchResults) {
    assert!(
        found.failures.is_empty(),
        "{} of {} cases are wrong, see above",
        found.failures.len(),
        found.cases
    );
}

/// About a minute on two cores, most of it in compilers.
#[test]
fn random_cases_agree_on_every_backend() {
    let backends = BackendOptions { threads: 1, ..BackendOptions::default() };
    let found = run(&Search { jobs: 2, failures: 20, backends, ..Search::new(1, 240) });
    all_agree(&found);
    if std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_some() {
        assert!(
            found.counts.keys().any(|(_, backend)| *backend == Backend::OpenCl.name()),
            "{:?}",
            found.notes
        );
    }
    if std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_some() {
        for backend in [Backend::Simulator, Backend::Mali, Backend::Midgard, Backend::Adreno] {
            assert!(found.counts.keys().any(|(_, name)| *name == backend.name()), "{:?}", found.notes);
        }
    }
    for topic in Topic::ALL {
        assert!(
            found.counts.contains_key(&(topic.name(), Backend::Cpu.name())),
            "no case about {}",
            topic.name()
        );
    }
}

/// A search on the CPU path only, with modified outcomes.
fn tampered(topic: Topic, tamper: impl Fn(&Case, &mut Outcome) + Send + Sync + 'static) -> Search {
    let tamper: Tamper = Arc::new(move |case, _, outcome| tamper(case, outcome));
    let backends =
        BackendOptions { selected: vec![Backend::Cpu], tamper: Some(tamper), ..BackendOptions::default() };
    Search { only: vec![topic], backends, ..Search::new(3, 500) }
}

#[test]
fn a_wrong_element_is_found_and_its_case_made_small() {
    // The last element of the result, if there are three columns and two rows.
    let found = run(&tampered(Topic::Filters, |case, outcome| {
        let Case::Filter(Filter { size: [width, height], .. }) = case else { return };
        if let Outcome::Done(bytes) = outcome
            && (*width > 2 && *height > 1)
            && let Some(last) = bytes.last_mut()
        {
            *last ^= 0x55;
        }
    }));
    let failure = found.failures.first().unwrap();
    let Some((Case::Filter(shrunk), mismatch)) = &failure.shrunk else { panic!("{failure}") };
    assert_eq!((shrunk.size, shrunk.channels, shrunk.steps.len()), ([3, 2], 1, 1), "{failure}");
    assert_eq!(mismatch.backends, [Backend::Cpu]);
    assert!(failure.to_string().contains(&format!("--case 3:{}", failure.number)), "{failure}");
}

#[test]
fn an_element_beside_the_result_is_found() {
    let found = run(&tampered(Topic::Products, |case, outcome| {
        let (Case::Product(product), Outcome::Done(bytes)) = (case, outcome) else { return };
        if product.c.first > 0 && !bytes.is_empty() {
            bytes[0] ^= 1;
        }
    }));
    let failure = found.failures.first().unwrap();
    assert!(failure.mismatch.what.contains("what was there"), "{failure}");
}

#[test]
fn a_refusal_and_what_should_be_refused_are_found() {
    let found = run(&tampered(Topic::Elementwise, |_, outcome| {
        if matches!(outcome, Outcome::Done(_)) {
            *outcome = Outcome::Refused("no".to_owned());
        }
    }));
    assert!(found.failures.first().unwrap().mismatch.what.contains("refused: no"));
    let found = run(&tampered(Topic::Products, |_, outcome| {
        if matches!(outcome, Outcome::Refused(_)) {
            *outcome = Outcome::Done(Vec::new());
        }
    }));
    assert!(found.failures.first().unwrap().mismatch.what.contains("should be refused"));
}

#[test]
fn a_panic_is_found() {
    let found = run(&tampered(Topic::Resize, |_, outcome| *outcome = Outcome::Panicked("ouch".to_owned())));
    assert!(found.failures.first().unwrap().mismatch.what.contains("panicked: ouch"));
}

#[test]
fn a_case_that_never_ends_is_found() {
    let hangs = tampered(Topic::Colour, |_, _| std::thread::sleep(Duration::from_secs(30)));
    let found = run(&Search { limit: Duration::from_millis(300), ..hangs });
    assert!(found.failures.first().unwrap().mismatch.what.contains("did not end within"));
}

/// Every case has an expected outcome: the references support everything that is drawn.
#[test]
fn references_take_every_case() {
    for number in 0..3000 {
        let (_, case) = Case::draw(7, number);
        if case.work() < 1e5 {
            case.expected();
            case.smaller().iter().take(3).for_each(|smaller| drop(smaller.expected()));
        }
    }
}

/// The same seed gives the same cases, whatever ran before.
#[test]
fn cases_depend_on_seed_and_number_alone() {
    let draw = |seed, number| format!("{}", Case::draw(seed, number).1);
    assert_eq!(draw(5, 1000), draw(5, 1000));
    assert_ne!(draw(5, 1000), draw(5, 1001));
    assert_ne!(draw(5, 1000), draw(6, 1000));
}
