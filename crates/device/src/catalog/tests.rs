use super::*;
use crate::family::{Family, Vendor};
use crate::occupancy::RegisterFile;
use crate::sourced::Basis;

#[test]
fn every_file_reads_and_is_named_after_its_gpu() {
    for (path, text) in FILES {
        let gpu = Gpu::from_toml(text, path).unwrap_or_else(|error| panic!("{error}"));
        let folder = match gpu.vendor() {
            Vendor::Arm => "arm",
            Vendor::Qualcomm => "qualcomm",
        };
        assert_eq!(*path, format!("{folder}/{}.toml", gpu.id()), "named after its GPU");
    }
}

#[test]
fn families_are_complete() {
    let count = |family| catalog().iter().filter(|gpu| gpu.family() == family).count();
    let counts = [
        (Family::Midgard, 8),
        (Family::Bifrost, 7),
        (Family::Valhall, 10),
        (Family::Arm5thGen, 8),
        (Family::Adreno5xx, 2),
        (Family::Adreno6xx, 9),
        (Family::Adreno7xx, 6),
        (Family::Adreno8xx, 3),
    ];
    for (family, expected) in counts {
        assert_eq!(count(family), expected, "{family}");
    }
}

#[test]
fn family_values_apply_to_every_model() {
    for gpu in catalog() {
        let name = gpu.name();
        let valhall = matches!(gpu.family(), Family::Valhall | Family::Arm5thGen);
        let operations = &gpu.operations_per_clock_per_core;
        assert_eq!(gpu.core.issue_rule.is_some(), valhall, "{name}");
        assert_eq!(operations.convert.is_some(), valhall, "{name}");
        let adreno = gpu.vendor() == Vendor::Qualcomm;
        let double = adreno && gpu.family() != Family::Adreno8xx;
        assert_eq!(gpu.core.warp_width_double.is_some(), double, "{name}");
        assert_eq!(operations.int24_mad.is_some(), adreno, "{name}");
        let waves = matches!(gpu.registers.file, RegisterFile::Waves { .. });
        assert_eq!(waves, adreno, "{name}");
        let midgard = gpu.family() == Family::Midgard;
        assert_eq!(gpu.memory.atomics_per_clock.is_some(), midgard, "{name}");
        // A datasheet counts a multiply-add as two; Midgard's also counts its other units.
        if let Some(flops) = &operations.fp32_flops_datasheet
            && !midgard
        {
            assert_eq!(flops.value, 2 * operations.fp32_fma.value, "{name}");
        }
    }
}

/// Arm's OpenCL guide for Bifrost and Valhall, section on warps.
#[test]
fn warp_widths_are_those_of_the_guide() {
    let widths =
        [("g71", 4), ("g72", 4), ("g51", 4), ("g31", 4), ("g31-1ee", 4), ("g52", 8), ("g76", 8), ("g77", 16)];
    for (name, width) in widths {
        assert_eq!(find(name).unwrap().core.warp_width.value, width, "{name}");
    }
}

/// Compute units that Google's ML Drift tabulates, which are those that Qualcomm's drivers report, and the engines and
/// multiply-adds of Arm's libGPUInfo.
#[test]
fn cores_and_rates_are_those_of_other_tables() {
    let compute_units = [
        ("530", 4),
        ("540", 4),
        ("620", 1),
        ("630", 2),
        ("640", 2),
        ("642L", 2),
        ("650", 3),
        ("660", 3),
        ("710", 2),
        ("720", 3),
        ("730", 4),
        ("740", 6),
        ("750", 6),
        ("830", 12),
        ("840", 12),
    ];
    for (name, cores) in compute_units {
        assert_eq!(find(name).unwrap().configuration.cores.value, cores, "{name}");
    }
    let multiply_adds = [
        ("g57", 16 * 2),
        ("g68", 16 * 2),
        ("g77", 16 * 2),
        ("g78", 16 * 2),
        ("g610", 32 * 2),
        ("g710", 32 * 2),
        ("g615", 64 * 2),
        ("g715", 64 * 2),
        ("g620", 64 * 2),
        ("g720", 64 * 2),
        ("g625", 64 * 2),
        ("g725", 64 * 2),
        ("g925", 64 * 2),
        ("g1", 64 * 2),
        ("g1-premium", 64 * 2),
        ("g1-pro", 64 * 2),
        ("g31", 4 * 2),
        ("g31-1ee", 4),
    ];
    for (name, rate) in multiply_adds {
        assert_eq!(find(name).unwrap().operations_per_clock_per_core.fp32_fma.value, rate, "{name}");
    }
    // Qualcomm's peak of the X1-85 in TFLOPS, at 1500 MHz.
    let x1 = find("x1-85").unwrap();
    let peak = x1.operations_per_second(x1.operations_per_clock_per_core.fp32_fma.value);
    let at_1500 = peak * 1500.0 / f64::from(x1.configuration.clock_mhz.value);
    assert!((at_1500 / 1e12 - 4.6).abs() < 0.05, "{at_1500}");
}

/// Measured rates can come near the model's peak and not pass it (by more than rounding).
#[test]
fn no_measured_rate_passes_the_peak() {
    let peak = |name: &str| {
        let gpu = find(name).unwrap();
        let lanes = f64::from(gpu.operations_per_clock_per_core.fp32_fma.value);
        let clock_ghz = f64::from(gpu.configuration.clock_mhz.value) / 1e3;
        lanes * f64::from(gpu.configuration.cores.value) * clock_ghz
    };
    let measured = |name: &str, figure: &str| find(name).unwrap().measured[figure].value;
    let cases = [
        ("t860", measured("t860", "clpeak_float4_gflops") / 2.0),
        ("t830", measured("t830", "fp32_mad_gops")),
        ("g57", measured("g57", "fp32_add_gops")),
        ("g610", measured("g610", "clpeak_fp32_gflops") / 2.0),
        ("g310", measured("g310", "vkpeak_fp32_gflops") / 2.0),
        ("640", measured("640", "fp32_fma_gops")),
        ("660", measured("660", "fp32_add_gops")),
    ];
    for (name, gops) in cases {
        let share = gops / peak(name);
        assert!(share > 0.25 && share <= 1.0, "{name}: {share:.2} of the peak");
    }
}

#[test]
fn each_value_has_its_own_basis() {
    let t604 = find("t604").unwrap();
    assert_eq!(t604.configuration.clock_mhz.value, 533);
    assert_eq!(t604.configuration.clock_mhz.basis, Basis::Documented);
    assert_eq!(t604.memory.l2_bytes.basis, Basis::Guessed);
    let t860 = find("t860").unwrap();
    assert_eq!(t860.memory.l2_bytes.basis, Basis::Measured);
    assert_eq!(t860.measured["clpeak_float4_gflops"].basis, Basis::Measured);
    assert_eq!(t604.operations_per_clock_per_core.fp32_fma.basis, Basis::ReverseEngineered);
    // Remembered or estimated figures are always marked as guesses.
    let guesses = ["product-memory", "estimate"];
    for gpu in catalog() {
        let values = [&gpu.configuration.cores, &gpu.configuration.clock_mhz, &gpu.core.max_threads];
        for value in values {
            if guesses.contains(&value.source.id.as_str()) {
                assert_eq!(value.basis, Basis::Guessed, "{}", gpu.name());
            }
        }
    }
}

#[test]
fn spellings_of_names_are_normalised() {
    let cases = [
        ("g610", "Mali-G610"),
        ("mali g610", "Mali-G610"),
        ("Mali-G610", "Mali-G610"),
        ("MALIG610", "Mali-G610"),
        ("G 610", "Mali-G610"),
        ("mali_g610", "Mali-G610"),
        ("Mali-G610 MC6 r0p0", "Mali-G610"),
        ("lodx", "Mali-G610"),
        ("immortalis-g715", "Mali-G715"),
        ("Mali-G715-Immortalis", "Mali-G715"),
        ("t 860", "Mali-T860"),
        ("g1-ultra", "Mali-G1"),
        ("g1", "Mali-G1"),
        ("Mali G1 Premium MC8", "Mali-G1-Premium"),
        ("g1-pro", "Mali-G1-Pro"),
        ("Mali-G31 1EE", "Mali-G31-1EE"),
        ("immortalis g925", "Mali-G925"),
        ("642L", "Adreno 642L"),
        ("x1-85", "Adreno X1-85"),
        ("Adreno X1-85", "Adreno X1-85"),
        ("Adreno 640", "Adreno 640"),
        ("adreno-640", "Adreno 640"),
        ("adreno640", "Adreno 640"),
        ("Adreno (TM) 640", "Adreno 640"),
        (" 640 ", "Adreno 640"),
        ("a640", "Adreno 640"),
        ("A642L", "Adreno 642L"),
    ];
    for (name, expected) in cases {
        assert_eq!(find(name).map(Gpu::name), Ok(expected), "{name}");
    }
    for gpu in catalog() {
        assert_eq!(find(&gpu.id()).map(Gpu::name), Ok(gpu.name()));
    }
}

#[test]
fn an_unknown_name_gets_a_suggestion() {
    let message = |name: &str| find(name).unwrap_err().to_string();
    assert_eq!(
        message("g611"),
        "no GPU model is called \"g611\"; did you mean Mali-G610, Mali-G615, Mali-G1?"
    );
    assert_eq!(
        message("adreno 641"),
        "no GPU model is called \"adreno 641\"; did you mean Adreno 640, Adreno 643?"
    );
    let all = message("toaster");
    assert!(all.starts_with("no GPU model is called \"toaster\"; there are "), "{all}");
    for name in ["", "g", "mali", "641L", "g610 banana", "g610 ultra", "g1 pro ultra", "g31 2ee", "é"] {
        assert!(find(name).is_err(), "{name}");
    }
}

/// A GPU that does not exist: the ones of its series with the numbers next to it.
#[test]
fn unknown_numbers_have_neighbours() {
    for (name, wanted) in [
        ("mali-g99", ["Mali-G78", "Mali-G77", "Mali-G76"]),
        ("mali-T1", ["Mali-T604", "Mali-T628", "Mali-T720"]),
        ("1000", ["Adreno 840", "Adreno 830", "Adreno 825"]),
    ] {
        assert_eq!(find(name).unwrap_err().nearest, wanted, "{name}");
    }
    assert!(find("zzz").unwrap_err().nearest.is_empty());
}
