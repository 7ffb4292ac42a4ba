//! Counters under the vendors' names: by hand, and against the shares of the prediction.

use std::fmt::Write as _;

use tripipe_device::{Gpu, Vendor, catalog, find};
use tripipe_launch::{ChannelOrder, ChannelType, ImageShape, MemoryKind, NdRange};
use tripipe_timing::counters::{Basis, Capture, Counters, compare, counters};
use tripipe_timing::{Options, Prediction, Resource};

use crate::engine::{Passed, device, program, time, zeros};

fn play(gpu: &'static Gpu, entry: &str, passed: &[Passed], range: NdRange) -> Option<Prediction> {
    let options = Options { exact: true, activity: true, ..Options::default() };
    let program = program("kernels.cl");
    let mut device = device(gpu, options, &program, entry)?;
    Some(time(&mut device, &program, entry, passed, range))
}

/// 4096 work-items that each load and store 4 bytes.
fn scaled(gpu: &'static Gpu) -> Option<Prediction> {
    let passed = [zeros(4 * 4096), zeros(4 * 4096), Passed::Int(0)];
    play(gpu, "scaled", &passed, NdRange::d1(4096).local(64, 1, 1))
}

fn blur(gpu: &'static Gpu) -> Option<Prediction> {
    let image = || {
        Passed::Memory(MemoryKind::Image(ImageShape::d2(64, 64, ChannelOrder::Rgba, ChannelType::UnormU8)))
    };
    play(gpu, "blur", &[image(), image()], NdRange::d2(64, 64).local(8, 8, 1))
}

/// NaN, which equals nothing, if it is missing.
fn value(counters: &Counters, name: &str) -> f64 {
    let found = counters.counters.iter().find(|counter| counter.name == name);
    found.map_or(f64::NAN, |counter| counter.value)
}

#[test]
fn counters_of_a_simple_kernel_are_those_by_hand() {
    let gpu = find("mali-g77-mp9").unwrap();
    let Some(prediction) = scaled(gpu) else { return };
    let found = counters(gpu, &prediction).unwrap();
    assert_eq!((found.naming, found.product, found.borrowed), ("Arm", "G77", false));
    for (name, want) in [
        ("MaliNonFragWarp", 256.0),
        ("MaliNonFragThread", 4096.0),
        ("MaliCoreFullWarpRate", 100.0),
        // A line for each warp: 64 bytes, whole.
        ("MaliLSFullRd", 256.0),
        ("MaliLSPartRd", 0.0),
        ("MaliLSFullWr", 256.0),
        ("MaliLSIssueCy", 512.0),
        // 16 KiB in beats of 16 bytes, read once.
        ("MaliSCBusLSL2RdBt", 1024.0),
        ("MaliSCBusLSExtRdBy", 16384.0),
        ("MaliSCBusLSL2RdByPerRd", 64.0),
        ("MaliExtBusRd", 256.0),
        ("MaliTexSample", 0.0),
        ("MaliEngDivergedInstrRate", 0.0),
        ("MaliGPUWarpSize", 16.0),
        ("MaliConfigCoreCount", 9.0),
        ("MaliNonFragQueueUtil", 100.0),
    ] {
        assert_eq!(value(&found, name), want, "{name}");
    }
    assert_eq!(value(&found, "MaliGPUActiveCy"), prediction.cycles);
    for (name, basis) in [
        ("MaliGPUActiveCy", Basis::Exact),
        ("MaliLSFullRd", Basis::Approximated),
        ("MaliGPUWarpSize", Basis::Constant),
        ("MaliConfigCoreCount", Basis::Constant),
        ("MaliLSUtil", Basis::Equation),
    ] {
        let counter = found.counters.iter().find(|counter| counter.name == name).unwrap();
        assert_eq!(counter.basis, basis, "{name}: {}", counter.derived);
    }
    // Nothing reads an image, so there is nothing to divide by.
    let missing = found.missing.iter().find(|missing| missing.name == "MaliTexCPI").unwrap();
    assert_eq!(missing.reason, "MaliTexSample is 0");

    let gpu = find("mali-t604").unwrap();
    let Some(prediction) = scaled(gpu) else { return };
    let found = counters(gpu, &prediction).unwrap();
    assert_eq!((found.naming, found.product, found.borrowed), ("Mesa", "T76x", true));
    assert_eq!(value(&found, "COMPUTE_THREADS"), 4096.0);
    assert_eq!(value(&found, "L2_EXT_READ_BEATS"), 16384.0);

    let gpu = find("adreno-650").unwrap();
    let Some(prediction) = scaled(gpu) else { return };
    let found = counters(gpu, &prediction).unwrap();
    assert_eq!((found.naming, found.product), ("Snapdragon Profiler", "a6xx"));
    assert_eq!(value(&found, "SP Memory Read (Bytes/Second)"), 16384.0 / prediction.seconds);
}

/// The vendors' formulas over derived counters against the shares of the time that the model reports itself.
#[test]
fn utilisations_are_the_shares_of_the_prediction() {
    for (name, pairs) in [
        (
            "mali-g77-mp9",
            &[
                ("MaliEngFMAPipeUtil", Resource::Arithmetic),
                ("MaliEngCVTPipeUtil", Resource::Convert),
                ("MaliEngSFUPipeUtil", Resource::Special),
                ("MaliLSUtil", Resource::LoadStore),
                ("MaliTexUtil", Resource::Texture),
            ][..],
        ),
        (
            "mali-g72",
            &[
                ("MaliALUUtil", Resource::Arithmetic),
                ("MaliLSUtil", Resource::LoadStore),
                ("MaliTexUtil", Resource::Texture),
            ][..],
        ),
        ("adreno-650", &[("% Time ALUs Working", Resource::Arithmetic)][..]),
        ("adreno-740", &[("% Time EFUs Working", Resource::Special)][..]),
    ] {
        let gpu = find(name).unwrap();
        let Some(prediction) = blur(gpu) else { return };
        let found = counters(gpu, &prediction).unwrap();
        let counts = &prediction.activity.as_ref().unwrap().counts;
        let active = counts.core_clocks / f64::from(gpu.configuration.cores.value) / prediction.cycles;
        for (counter, resource) in pairs {
            let index = Resource::ALL.iter().position(|other| other == resource).unwrap();
            let (found, want) = (value(&found, counter), 100.0 * prediction.shares[index] / active);
            assert!((found - want).abs() <= 0.02 * want + 0.05, "{name}: {counter} {found}, not {want}");
        }
    }
}

#[test]
fn counters_of_every_gpu_are_plausible() {
    for gpu in catalog() {
        let Some(prediction) = blur(gpu) else { return };
        let found = counters(gpu, &prediction).unwrap();
        assert!(found.counters.len() > 10, "{}: {}", gpu.name(), found.counters.len());
        for counter in &found.counters {
            let at = format!("{} on {}: {}", counter.name, gpu.name(), counter.value);
            assert!(counter.value.is_finite() && counter.value >= 0.0, "{at}");
            assert!(counter.unit != "percent" || counter.value <= 100.0 + 1e-6, "{at}");
            assert!(!counter.derived.is_empty(), "{at}");
        }
        for missing in &found.missing {
            assert!(!missing.reason.is_empty(), "{}", missing.name);
        }
    }
}

/// A capture that says what the prediction says.
#[test]
fn a_capture_of_the_prediction_is_equal_to_it() {
    for name in ["mali-t604", "mali-g77-mp9", "mali-g715-mp11", "adreno-650", "adreno-740"] {
        let Ok(gpu) = find(name) else { continue };
        let Some(prediction) = blur(gpu) else { return };
        let found = counters(gpu, &prediction).unwrap();
        let mut text = String::from("Metric,Time (ms),Value\n");
        for counter in &found.counters {
            // Two samples: halves of what is added, the whole of what is averaged.
            let title = if gpu.vendor() == Vendor::Qualcomm { counter.name } else { counter.title };
            for time in [0, 1] {
                let _ = writeln!(text, "\"{}: {title}\",{time},{}", counter.group, counter.value);
            }
        }
        let capture = Capture::read(&text, None).unwrap();
        let compared = compare(&capture, gpu, &prediction, [0.0, 0.01], 2.0).unwrap();
        assert!(compared.rows.len() > 10, "{name}: {} rows", compared.rows.len());
        for row in &compared.rows {
            let counter = row.predicted.as_ref().unwrap_or_else(|reason| panic!("{}: {reason}", row.name));
            let ratio = row.ratio();
            assert!(
                ratio.is_some_and(|ratio| (ratio - 1.0).abs() < 1e-9),
                "{name}: {} {} {ratio:?}",
                row.name,
                counter.value
            );
        }
        // One of the two samples.
        let compared = compare(&capture, gpu, &prediction, [0.0005, 0.01], 1.0).unwrap();
        assert!(compared.rows.iter().all(|row| row.samples == 1), "{name}");
    }
}
