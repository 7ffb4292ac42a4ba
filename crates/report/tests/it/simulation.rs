//! Each format of predicted times, on hand-made predictions.

use serde_json::Value;
use tripipe_device::find;
use tripipe_report::Canvas;
use tripipe_report::simulation::{LocalBy, Predicted, Repriced, Simulated, Simulation, results, text};
use tripipe_results::Document;
use tripipe_timing::{Prediction, Resource, Traffic};

/// A prediction that keeps some resources busy.
#[allow(clippy::needless_update, reason = "a figure that reports do not show may be added")]
fn prediction(seconds: f64, busy: &[(Resource, f64)]) -> Prediction {
    let share =
        |resource| busy.iter().find(|(other, _)| *other == resource).map_or(0.01, |(_, share)| *share);
    Prediction {
        global: [4320, 1536, 1],
        local: [8, 8, 1],
        seconds,
        error_band: Some([seconds * 0.8, seconds * 1.25]),
        cycles: seconds * 533e6,
        launch_seconds: 150e-6,
        registers: 8,
        threads: 128,
        occupancy: 0.45,
        shares: Resource::ALL.map(share),
        groups: 103_680,
        played: 600,
        sampling_error: 0.012,
        traffic: Traffic {
            l1_accesses: 1000,
            l1_hits: 875,
            l2_accesses: 125,
            l2_hits: 25,
            dram_read_bytes: 6400,
            dram_written_bytes: 1600,
            ..Traffic::default()
        },
        ..Prediction::default()
    }
}

fn simulated(gpu: &str, prediction: Prediction, local_by: LocalBy) -> Simulated {
    let repriced = |change: &str, factor: f64| Repriced {
        change: change.to_owned(),
        outcome: Ok(Prediction { seconds: prediction.seconds / factor, ..prediction.clone() }),
    };
    let what_if = vec![
        repriced("clock=800", 1.42),
        repriced("l2=512K", 1.0),
        repriced("-D TILE=8", 0.5),
        Repriced {
            change: "local=64,64".to_owned(),
            outcome: Err("a work-group has at most 256 work-items".into()),
        },
    ];
    let outcome =
        Ok(Predicted { prediction, spill_bytes: 0, local_by, counters: None, energy: None, what_if });
    Simulated { gpu: find(gpu).unwrap(), outcome }
}

fn simulation(gpus: &[Simulated]) -> Simulation<'_> {
    Simulation {
        kernel: "laplace",
        program: "laplace.cl",
        source: "",
        global: [4320, 1536, 1],
        guessed: true,
        left_out: &[],
        gpus,
    }
}

const NARROW: Canvas = Canvas { width: 80, colour: false, ascii: false, folds: true };

fn one() -> [Simulated; 1] {
    let busy = [(Resource::LoadStore, 0.94), (Resource::Arithmetic, 0.71), (Resource::Dram, 0.333)];
    [simulated("t604", prediction(0.123, &busy), LocalBy::Driver)]
}

fn several() -> Vec<Simulated> {
    let mut all = Vec::from(one());
    let dram = [(Resource::Dram, 0.97)];
    all.push(simulated("Mali-G77", prediction(0.00098, &dram), LocalBy::Launch));
    all.push(simulated("Adreno X1-85", prediction(0.00345, &[]), LocalBy::Kernel));
    all.push(Simulated {
        gpu: find("g52").unwrap(),
        outcome: Err("its buffers and images have 7.45 GiB; Mali-G52 offers 3 GiB to programs".to_owned()),
    });
    all
}

#[test]
fn text_of_one_gpu() {
    let text = text(&simulation(&one()), NARROW);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn text_of_several_gpus() {
    let mut gpus = several();
    for each in &mut gpus[1..] {
        if let Ok(predicted) = &mut each.outcome {
            predicted.what_if.clear();
        }
    }
    let text = text(&simulation(&gpus), NARROW);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

fn objects(simulation: &Simulation<'_>) -> Vec<Value> {
    let documents = results(simulation).into_iter().map(Document::from);
    documents.map(|document| serde_json::from_str(&document.to_string()).unwrap()).collect()
}

#[test]
fn json_form() {
    let gpus = several();
    let objects = objects(&simulation(&gpus));
    assert_eq!(objects.len(), gpus.len());
    insta::assert_json_snapshot!([&objects[0], &objects[3]]);
}

/// All keys are always there, so that a program need not ask which GPU failed.
#[test]
fn every_object_has_the_main_keys() {
    for object in objects(&simulation(&several())) {
        for key in ["gpu", "kernel", "global", "local", "seconds", "cycles", "limiter", "error_band", "error"]
        {
            assert!(object.get(key).is_some(), "{key}: {object}");
        }
    }
}

/// Of Bifrost nothing is published; 5th Gen goes by Valhall.
#[test]
fn whose_errors_make_the_band_is_said() {
    let said = |gpu: &str, error_band| {
        let prediction = Prediction { error_band, ..prediction(1e-3, &[]) };
        let text = text(&simulation(&[simulated(gpu, prediction, LocalBy::Launch)]), NARROW);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let unknown = said("g76", None);
    assert!(unknown.contains("No measurements of Bifrost GPUs are published"), "{unknown}");
    assert!(!unknown.contains("expected") && !unknown.contains("Midgard"), "{unknown}");
    let fifth = said("g720", Some([0.8e-3, 1.25e-3]));
    assert!(fifth.contains("published times of Valhall GPUs; none of Arm 5th Gen are)"), "{fifth}");
    let own = said("g77", Some([0.8e-3, 1.25e-3]));
    assert!(own.contains("published times of Valhall GPUs)"), "{own}");
    let mut gpus = vec![simulated("g77", prediction(1e-3, &[]), LocalBy::Launch)];
    let prediction = Prediction { error_band: None, ..prediction(2e-3, &[]) };
    gpus.push(simulated("g76", prediction, LocalBy::Launch));
    let both = text(&simulation(&gpus), NARROW);
    let row = both.lines().find(|line| line.starts_with("Mali-G76")).unwrap();
    assert_eq!(row.split_whitespace().nth(3), Some("-"), "{both}");
    assert_eq!(both.matches("No measurements of Bifrost").count(), 1, "{both}");
    assert_eq!(objects(&simulation(&gpus))[1]["error_band"], Value::Null);
}

#[test]
fn what_limits_is_named_as_in_the_vendors_tools() {
    let limited_by = |gpu: &str, resource| {
        let gpus = [simulated(gpu, prediction(0.1, &[(resource, 0.9)]), LocalBy::Launch)];
        objects(&simulation(&gpus))[0]["limiter"].as_str().unwrap().to_owned()
    };
    let names = [
        ("t604", Resource::Arithmetic, "A"),
        ("g77", Resource::Arithmetic, "FMA"),
        ("g77", Resource::Special, "SFU"),
        ("g77", Resource::Convert, "CVT"),
        ("Mali-G715", Resource::Arithmetic, "A"),
        ("Adreno 640", Resource::Arithmetic, "ALU"),
        ("Adreno 640", Resource::Special, "EFU"),
        ("Adreno 640", Resource::Texture, "T"),
        ("t604", Resource::LoadStore, "LS"),
        ("t604", Resource::L2, "L2"),
        ("t604", Resource::Dram, "DRAM"),
    ];
    for (gpu, resource, name) in names {
        assert_eq!(limited_by(gpu, resource), name, "{gpu}");
    }
    let gpus = [simulated("g77", prediction(0.1, &[]), LocalBy::Launch)];
    assert_eq!(objects(&simulation(&gpus))[0]["limiter"], "latency");
    let gpus = [simulated("g77", prediction(1e-5, &[]), LocalBy::Launch)];
    assert_eq!(objects(&simulation(&gpus))[0]["limiter"], "launch");
}
