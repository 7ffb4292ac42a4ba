//! The launches of an application as text.

use tripipe_device::find;
use tripipe_report::Canvas;
use tripipe_report::why::{Measured, RankedLaunch, Why, text};

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
