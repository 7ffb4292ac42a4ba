//! The launches of an application as text.

use tripipe_capture::trace::MeasuredLaunch;
use tripipe_device::find;
use tripipe_report::Canvas;
use tripipe_report::why::{Measured, PredictedLaunch, RankedLaunch, Why, result, text};

/// A trace may have more launches of a kernel than there are launch files; the head and the table count the same.
#[test]
fn the_head_counts_the_launches_of_the_trace() {
    let measured = Some(Measured { launches: 7, seconds: 7e-3 });
    let traced = RankedLaunch { kernel: "blur".to_owned(), launches: 1, measured, ..RankedLaunch::default() };
    let predicted = RankedLaunch { kernel: "copy".to_owned(), launches: 2, ..RankedLaunch::default() };
    let why = Why {
        gpu: find("g77").unwrap(),
        rows: vec![traced, predicted],
        notes: Vec::new(),
        in_order: Vec::new(),
        measured: Vec::new(),
    };
    let text = text(&why, Canvas { width: 100, colour: false, ascii: false, folds: true });
    assert!(text.starts_with("9 launches, 7.00 ms\n"), "{text}");
}

/// Amdahl's law, by hand: 10 ms from the first start to the last end, of which `blur` takes 4, and 1 of that at its ceiling.
#[test]
fn a_kernel_gains_no_more_than_its_share() {
    let launch = |kernel: &str, start, seconds| MeasuredLaunch {
        kernel: kernel.to_owned(),
        start,
        seconds,
        predicted: false,
    };
    let predicted = PredictedLaunch {
        local: [64, 1, 1],
        seconds: 2e-3,
        band: None,
        launch_seconds: 1e-5,
        limiter: "memory".to_owned(),
        ceiling: ("memory".to_owned(), 0.25),
        energy: None,
    };
    let row = |kernel: &str, launches, seconds| RankedLaunch {
        kernel: kernel.to_owned(),
        launches,
        measured: Some(Measured { launches, seconds }),
        ..RankedLaunch::default()
    };
    let why = Why {
        gpu: find("g77").unwrap(),
        rows: vec![RankedLaunch { predicted: Some(predicted), ..row("blur", 2, 4e-3) }, row("copy", 1, 2e-3)],
        notes: Vec::new(),
        in_order: Vec::new(),
        measured: vec![launch("blur", 1.0, 2e-3), launch("copy", 1.004, 2e-3), launch("blur", 1.008, 2e-3)],
    };
    let found = result(&why);
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(near(found.application_seconds, 10e-3), "{found:?}");
    let [blur, copy] = &found.launches[..] else { panic!("{found:?}") };
    assert!(near(blur.application_gain_if_free.unwrap(), 10.0 / 6.0), "{blur:?}");
    assert!(near(blur.application_gain_at_ceiling.unwrap(), 10.0 / 7.0), "{blur:?}");
    assert!(near(copy.application_gain_if_free.unwrap(), 10.0 / 8.0), "{copy:?}");
    assert_eq!(copy.application_gain_at_ceiling, None, "without a prediction its ceiling is not known");
    let text = text(&why, Canvas { width: 120, colour: false, ascii: false, folds: true });
    assert!(text.contains("1.43x") && text.contains("1.67x") && text.contains("1.25x"), "{text}");
}
