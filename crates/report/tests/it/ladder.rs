//! Each format of a ladder's report, on a hand-made climb.

use tripipe_kernels::ceilings::Ceilings;
use tripipe_ladders::ladder::{Climb, ClimbedStep, Measured, Options, Outcome, Seconds};
use tripipe_ladders::problem::{Quoted, Size, Work};
use tripipe_ladders::published::Published;
use tripipe_launch::{CpuLoad, TimeSource};
use tripipe_report::Canvas;
use tripipe_report::ladder::{Report, csv, legend, result, text};
use tripipe_results::{Crossover, CrossoverPoint, Document, LadderCore};

fn seconds(median: f64) -> Seconds {
    let load = CpuLoad { cores: 0.125, calling_thread: 0.1 };
    Seconds::new(vec![median * 0.9, median, median * 1.4], Some(load)).unwrap()
}

fn verified(median: f64) -> Outcome {
    Outcome::Verified(Measured {
        seconds: seconds(median),
        joules: None,
        preparation_seconds: None,
        choice: None,
        sweep: Vec::new(),
    })
}

fn step(name: &str, about: &str, outcomes: Vec<Outcome>) -> ClimbedStep {
    ClimbedStep { name: name.to_owned(), about: about.to_owned(), outcomes }
}

/// Three sizes; one step fails at one size, one is not offered, one comes from a sweep and needs packing.
fn climb() -> Climb {
    let extents = [(5, 5), (768, 432), (7680, 4320)];
    let work = |(width, height): (usize, usize)| {
        let pixels = (width * height) as f64;
        Work { operations: 51.0 * pixels, bytes: 6.0 * pixels, quoted: Quoted::Bandwidth }
    };
    let swept = |median: f64, choice: &str| {
        Outcome::Verified(Measured {
            seconds: seconds(median),
            joules: None,
            preparation_seconds: Some(0.000_25),
            choice: Some(choice.to_owned()),
            sweep: vec![
                ("8x8".to_owned(), Ok(median)),
                ("NULL".to_owned(), Ok(1.5 * median)),
                ("256x1".to_owned(), Err("group too large".to_owned())),
            ],
        })
    };
    let failed = "2 of 75 elements differ, the first at 4: 9, expected 8";
    let missing = "half arithmetic is not offered by Mali-G610 MC4 r0p0";
    Climb {
        ladder: "laplace".to_owned(),
        device: "Mali-G610 MC4 r0p0".to_owned(),
        time_source: TimeSource::Measured,
        sizes: extents.map(|(width, height)| Size::Image { width, height }).to_vec(),
        work: extents.map(work).to_vec(),
        serial: vec![seconds(2e-7), seconds(0.000_9), seconds(0.09)],
        ceilings: Some(Ceilings { bytes_per_second: 20e9, operations_per_second: 400e9 }),
        steps: vec![
            step(
                "scalar",
                "one pixel per work-item, with the border test inside",
                vec![verified(4e-6), verified(0.0011), verified(0.105)],
            ),
            step(
                "vectorise",
                "five pixels a work-item: three overlapping 16-byte loads a row, widened to int16, clamped, \
                 stored as 8 + 4 + 2 + 1 bytes, which is a sentence that has to be wrapped",
                vec![Outcome::Failed { reason: failed.to_owned() }, verified(0.000_31), verified(0.0232)],
            ),
            step(
                "half",
                "the same in half precision",
                vec![Outcome::NotOffered { reason: missing.to_owned() }; 3],
            ),
            step(
                "eight-pixels",
                "eight pixels a work-item",
                vec![swept(3.5e-6, "8x8"), swept(0.000_2, "16x4"), swept(0.0135, "16x4")],
            ),
        ],
    }
}

fn report<'a>(climb: &'a Climb, published: Option<&'a Published>) -> Report<'a> {
    Report {
        climb,
        about: "sharpens a picture",
        what: "ARM Platform, OpenCL 3.0; Mali-G610, recognised by its name",
        options: Options { runs: 20, warmup: 10 },
        published,
        core: None,
        crossover: None,
        errors: None,
        energy: None,
    }
}

#[test]
fn text_form() {
    let (climb, published) = (climb(), Published::load().unwrap());
    let drawn = text(&report(&climb, Some(&published)), Canvas::default());
    assert!(drawn.lines().all(|line| line.chars().count() <= 120), "{drawn}");
    insta::assert_snapshot!(drawn);
}

#[test]
fn narrow_text_wraps_sizes_into_blocks() {
    let climb = climb();
    let drawn = text(&report(&climb, None), Canvas { width: 80, colour: false, ..Canvas::default() });
    assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
    insta::assert_snapshot!(drawn);
}

#[test]
fn coloured_text_differs_by_escapes_alone() {
    let climb = climb();
    let plain = text(&report(&climb, None), Canvas { width: 100, colour: false, ..Canvas::default() });
    let coloured = text(&report(&climb, None), Canvas { width: 100, colour: true, ..Canvas::default() });
    let mut stripped = String::new();
    let mut inside = false;
    for character in coloured.chars() {
        match character {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            _ if inside => {}
            other => stripped.push(other),
        }
    }
    assert_ne!(plain, coloured);
    let trimmed = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    assert_eq!(trimmed(&plain), trimmed(&stripped));
}

#[test]
fn legend_form() {
    insta::assert_snapshot!(legend(
        Options { runs: 20, warmup: 10 },
        &[TimeSource::Measured],
        Canvas::default()
    ));
}

#[test]
fn json_form() {
    let climb = climb();
    let line = Document::from(result(&report(&climb, None))).to_string();
    assert!(!line.contains('\n'));
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    insta::assert_json_snapshot!(value);
}

#[test]
fn json_carries_published_figures_when_asked() {
    let (climb, published) = (climb(), Published::load().unwrap());
    let value = serde_json::to_value(result(&report(&climb, Some(&published)))).unwrap();
    assert_eq!(value["published"]["gpu"], "mali-t604");
}

#[test]
fn csv_form() {
    let climb = climb();
    let report = report(&climb, None);
    let rows = csv(&report, true);
    assert_eq!(rows.lines().count(), 1 + 4 * 3);
    assert_eq!(csv(&report, false).lines().count(), 4 * 3);
    insta::assert_snapshot!(rows);
}

#[test]
fn a_device_without_supported_steps_is_reported_once() {
    let mut climb = climb();
    for step in &mut climb.steps {
        step.outcomes = vec![Outcome::NotOffered { reason: "needs half precision".to_owned() }; 3];
    }
    let drawn = text(&report(&climb, None), Canvas::default());
    assert_eq!(drawn.matches("needs half precision").count(), 1, "{drawn}");
    assert!(!drawn.contains("eight-pixels"), "{drawn}");
}

/// The crossover is named in words, and the page has a line for each column of its table.
#[test]
fn a_board_has_its_core_beside_the_gpu() {
    let climb = climb();
    let core = LadderCore {
        name: "Cortex-A15".to_owned(),
        board: "Arndale".to_owned(),
        clock_mhz: 1700.0,
        serial_seconds: vec![1e-3, 2e-3, 0.3],
        neon_seconds: vec![5e-4, 1e-3, 0.15],
        ..LadderCore::default()
    };
    let point = |n, gpu_seconds, serial_seconds| CrossoverPoint {
        n,
        gpu_seconds,
        with_transfers_seconds: 2.0 * gpu_seconds,
        serial_seconds,
        neon_seconds: serial_seconds / 4.0,
    };
    let crossover = Crossover {
        step: "float4-dot".to_owned(),
        points: vec![point(16, 1e-3, 1e-4), point(64, 2e-3, 5e-3), point(1024, 0.1, 4.0)],
        over_serial: Some(64),
        over_neon: Some(1024),
        plateau: 40.0,
        published_plateau: Some(50.0),
    };
    let report = Report { core: Some(&core), crossover: Some(&crossover), ..report(&climb, None) };
    let drawn = text(&report, Canvas::default());
    let joined = drawn.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "faster than the serial Cortex-A15 from n = 64 on",
        "NEON from n = 1024 on",
        "(published: 50.0, -20%)",
    ] {
        assert!(joined.contains(words), "{words}: {drawn}");
    }
    assert!(drawn.lines().all(|line| line.chars().count() <= 120), "{drawn}");
    let value = serde_json::to_value(result(&report)).unwrap();
    assert_eq!(value["crossover"]["points"][1]["n"], 64);
    assert_eq!(value["core"]["name"], "Cortex-A15");
}
