//! Each format of a device's ceilings, on hand-made figures.

use tripipe_ladders::peaks::{Peak, PeakError, Peaks, Unit};
use tripipe_report::Canvas;
use tripipe_report::peaks::{Report, result, text};
use tripipe_results::{Document, TransferRate};

fn peaks() -> Peaks {
    let row = |name, width, value: f64, unit| Peak { name, width, value: Ok(value), unit };
    let mut rows: Vec<Peak> = [1, 4, 16]
        .into_iter()
        .map(|width| row("mad float", Some(width), 30e9 + width as f64 * 1e9, Unit::OperationsPerSecond))
        .collect();
    rows.extend([1, 4, 16].into_iter().map(|width| Peak {
        name: "mad half",
        width: Some(width),
        value: Err(PeakError::NotOffered { what: "half-precision arithmetic (cl_khr_fp16)".to_owned() }),
        unit: Unit::OperationsPerSecond,
    }));
    rows.push(row("buffer copy", Some(1), 4.7e9, Unit::BytesPerSecond));
    rows.push(row("buffer copy", Some(4), 11.3e9, Unit::BytesPerSecond));
    rows.push(Peak {
        name: "buffer copy",
        width: Some(16),
        value: Err(PeakError::Clock),
        unit: Unit::BytesPerSecond,
    });
    rows.push(row("image read float", Some(4), 1.49e9, Unit::BytesPerSecond));
    rows.push(row("empty kernel", None, 171e-9, Unit::Seconds));
    rows.push(row("queue to start", None, 15.2e-6, Unit::Seconds));
    Peaks { rows }
}

fn transfers() -> Vec<TransferRate> {
    let transfer = |name: &str, rates: Result<[f64; 2], &str>| TransferRate {
        name: name.to_owned(),
        bytes: 32 << 20,
        to_device_bytes_per_second: rates.ok().map(|rates| rates[0]),
        to_host_bytes_per_second: rates.ok().map(|rates| rates[1]),
        reason: rates.err().map(str::to_owned),
    };
    vec![
        transfer("copy", Ok([2.5e9, 3.5e9])),
        transfer("map", Ok([9.1e9, 3.0e9])),
        transfer("svm-fine", Err("not offered")),
    ]
}

#[test]
fn text_form() {
    let (peaks, transfers) = (peaks(), transfers());
    let report = Report {
        device: "Mali-G610",
        what: "opencl:0: a GPU",
        model: None,
        peaks: &peaks,
        transfers: Some(&transfers),
    };
    insta::assert_snapshot!(text(&report, Canvas::default()));
}

#[test]
fn json_form() {
    let (peaks, transfers) = (peaks(), transfers());
    let report = Report {
        device: "Mali-G610",
        what: "opencl:0: a GPU",
        model: None,
        peaks: &peaks,
        transfers: Some(&transfers),
    };
    let line = Document::from(result(&report)).to_string();
    assert!(!line.contains('\n'));
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    insta::assert_json_snapshot!(value);
}
