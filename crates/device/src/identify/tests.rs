use proptest::prelude::*;

use super::*;

fn named(name: &str) -> Probe {
    Probe { name: name.to_owned(), ..Probe::default() }
}

fn model_name(found: &Identification) -> &str {
    found.model.map_or("none", Gpu::name)
}

/// Strings as drivers report them: name, version, and the expected identification.
#[test]
fn names_that_drivers_report_are_identified() {
    use Certainty::{
        ExactProduct, NearestRelative, NotAMobileGpu, OtherGeneration, SameProductOtherConfiguration,
        Unknown, VendorOnly,
    };
    #[rustfmt::skip]
    let cases = [
        ("Mali-G610 MC6 r0p0", "", "Mali-G610", SameProductOtherConfiguration),
        ("Mali-G610 MC4 r0p0", "", "Mali-G610", ExactProduct),
        ("Mali-G610 (Panfrost)", "", "Mali-G610", ExactProduct),
        ("Mali-LODX r0p0", "OpenCL 3.0 v1.g6p0-01eac0.2819f9d4dbe0b5a2f89c835d8484f9cd", "Mali-G610", ExactProduct),
        ("Mali-TTRX", "", "Mali-G77", ExactProduct),
        ("Mali-LBEX r1p0", "", "Mali-G68", ExactProduct),
        ("Mali-TDRX r0p1", "", "Mali-G1", ExactProduct),
        ("Mali-LKRX", "", "Mali-G625", ExactProduct),
        ("Mali-XYZX", "", "none", VendorOnly),
        ("Mali-G715-Immortalis MC11 r1p2", "", "Mali-G715", ExactProduct),
        ("Immortalis-G715 MC11", "", "Mali-G715", ExactProduct),
        ("Mali-G715 MC7 r1p3", "", "Mali-G715", SameProductOtherConfiguration),
        ("Immortalis-G720 MC12", "", "Mali-G720", ExactProduct),
        ("Mali-G720-Immortalis MC12 r0p0", "", "Mali-G720", ExactProduct),
        ("Mali-T860", "OpenCL 1.2 v1.r14p0-01rel0", "Mali-T860", ExactProduct),
        ("Mali-T604", "", "Mali-T604", ExactProduct),
        ("Mali-T628", "", "Mali-T628", ExactProduct),
        ("Mali-T720", "", "Mali-T720", ExactProduct),
        ("Mali-T658", "", "Mali-T628", NearestRelative),
        ("Mali-G310 r0p0", "", "Mali-G310", ExactProduct),
        ("Mali-G57 MC2", "", "Mali-G57", ExactProduct),
        ("Mali-G52 r1p0", "", "Mali-G52", ExactProduct),
        ("Mali-G68 MC4", "", "Mali-G68", ExactProduct),
        ("Mali-G68", "", "Mali-G68", ExactProduct),
        ("Mali-G78AE", "", "Mali-G78", SameProductOtherConfiguration),
        ("Mali-G620 MC4", "", "Mali-G620", ExactProduct),
        ("Mali-G720 MC7", "", "Mali-G720", SameProductOtherConfiguration),
        ("Mali-G720-Immortalis r0p0", "OpenCL 3.0 v1.r53p0", "Mali-G720", ExactProduct),
        ("Mali-G625 MC2", "", "Mali-G625", ExactProduct),
        ("Mali-G725 MC6", "", "Mali-G725", ExactProduct),
        ("Mali-G925-Immortalis MC12 r0p1", "", "Mali-G925", ExactProduct),
        ("Immortalis-G925 MC12", "", "Mali-G925", ExactProduct),
        ("Mali-G1-Ultra MC12", "", "Mali-G1", ExactProduct),
        ("Mali G1-Ultra MC12", "", "Mali-G1", ExactProduct),
        ("Mali-G1-Premium MC9", "", "Mali-G1-Premium", ExactProduct),
        ("Mali-G1-Pro MC4", "", "Mali-G1-Pro", SameProductOtherConfiguration),
        ("Mali-G1 Pro r0p0", "", "Mali-G1-Pro", ExactProduct),
        ("Mali-LDRX", "", "Mali-G1", ExactProduct),
        ("Mali-G31 r0p0", "", "Mali-G31", ExactProduct),
        ("Mali-G2-Ultra MC12", "", "Mali-G1", NearestRelative),
        ("Mali-G2", "", "Mali-G1", NearestRelative),
        ("Mali-G950 MC9", "", "Mali-G925", NearestRelative),
        ("Mali-450 MP4", "", "none", VendorOnly),
        ("QUALCOMM Adreno(TM) 642L", "", "Adreno 642L", ExactProduct),
        ("QUALCOMM Adreno(TM)", "OpenCL 3.0 Adreno(TM) 642L", "Adreno 642L", ExactProduct),
        ("QUALCOMM Adreno(TM)", "OpenCL 2.0 Adreno(TM) 620", "Adreno 620", ExactProduct),
        ("QUALCOMM Adreno(TM) 643", "OpenCL 3.0 Adreno(TM) 643", "Adreno 643", ExactProduct),
        ("QUALCOMM Adreno(TM) 710", "", "Adreno 710", ExactProduct),
        ("QUALCOMM Adreno(TM) 720", "OpenCL 3.0 Adreno(TM) 720", "Adreno 720", ExactProduct),
        ("QUALCOMM Adreno(TM) 750", "OpenCL 3.0 Adreno(TM) 750", "Adreno 750", ExactProduct),
        ("QUALCOMM Adreno(TM) 830", "OpenCL 3.0 Adreno(TM) 830", "Adreno 830", ExactProduct),
        ("QUALCOMM Adreno(TM) 840", "OpenCL 3.0 Adreno(TM) 840", "Adreno 840", ExactProduct),
        ("QUALCOMM Adreno(TM) 825", "", "Adreno 825", ExactProduct),
        ("QUALCOMM Adreno(TM) 829", "", "Adreno 830", NearestRelative),
        ("QUALCOMM Adreno(TM) 619", "", "Adreno 619", ExactProduct),
        ("QUALCOMM Adreno(TM)", "OpenCL 2.0 Adreno(TM) 640", "Adreno 640", ExactProduct),
        ("QUALCOMM Adreno(TM)", "OpenCL 3.0 Adreno(TM) 740", "Adreno 740", ExactProduct),
        ("QUALCOMM Adreno(TM)", "OpenCL 2.0 Adreno(TM) 506", "Adreno 530", NearestRelative),
        ("QUALCOMM Adreno(TM)", "OpenCL 3.0 Adreno(TM) 750", "Adreno 750", ExactProduct),
        ("QUALCOMM Adreno(TM)", "OpenCL 3.0 Adreno(TM) 702", "Adreno 660", NearestRelative),
        ("QUALCOMM Adreno(TM)", "OpenCL 3.0 Adreno(TM) 830", "Adreno 830", ExactProduct),
        ("QUALCOMM Adreno(TM)", "OpenCL 1.2 Adreno(TM) 330", "Adreno 530", OtherGeneration),
        ("QUALCOMM Adreno(TM)", "OpenCL 3.0 Adreno(TM) 910", "Adreno 840", OtherGeneration),
        ("QUALCOMM Adreno(TM)", "OpenCL 3.0", "none", VendorOnly),
        ("QUALCOMM ", "", "none", VendorOnly),
        ("QUALCOMM ", "OpenCL 3.0 Adreno(TM) 750", "Adreno 750", ExactProduct),
        ("Adreno (TM) 740", "", "Adreno 740", ExactProduct),
        ("Turnip Adreno (TM) 740", "", "Adreno 740", ExactProduct),
        ("FD640", "", "Adreno 640", ExactProduct),
        ("FD735", "OpenCL 3.0", "Adreno 730", NearestRelative),
        ("FD750", "", "Adreno 750", ExactProduct),
        ("Adreno X1-85", "", "Adreno X1-85", ExactProduct),
        ("Qualcomm(R) Adreno(TM) X1-85 GPU", "", "Adreno X1-85", ExactProduct),
        ("Qualcomm(R) Adreno(TM) X1-45 GPU", "", "Adreno X1-85", NearestRelative),
        ("Qualcomm(R) Adreno(TM) X2-90 GPU", "", "Adreno 840", NearestRelative),
        ("Adreno Z9-10", "", "none", VendorOnly),
        ("pthread-skylake-avx512-AMD EPYC", "OpenCL 3.0 PoCL HSTR: pthread", "none", NotAMobileGpu),
        ("cpu-haswell-Intel(R) Xeon(R) CPU", "OpenCL 3.0 PoCL", "none", NotAMobileGpu),
        ("cpu-cortex-a76", "", "none", NotAMobileGpu),
        ("NVIDIA H200", "OpenCL 3.0 CUDA", "none", NotAMobileGpu),
        ("Intel(R) UHD Graphics", "", "none", NotAMobileGpu),
        ("AMD Radeon RX 640", "", "none", NotAMobileGpu),
        ("PowerVR Rogue GE8320", "", "none", Unknown),
        ("", "", "none", Unknown),
        ("640", "", "none", Unknown),
        ("\u{1F600} G610", "", "none", Unknown),
    ];
    for (name, version, model, certainty) in cases {
        let probe = Probe { version: version.to_owned(), ..named(name) };
        let found = identify(&probe);
        assert_eq!(
            (model_name(&found), found.certainty),
            (model, certainty),
            "{name:?} {version:?}: {}",
            found.why
        );
    }
}

#[test]
fn the_description_gives_the_reason() {
    let why = |name: &str| identify(&named(name)).why;
    assert_eq!(
        why("QUALCOMM Adreno(TM) 644"),
        "Adreno 644 is not in the catalog; nearest relative: Adreno 643 (same generation: \
         Adreno 6xx)"
    );
    assert_eq!(
        why("Mali-T620"),
        "Mali-T620 is not in the catalog; nearest relative: Mali-T628 (same generation: Midgard)"
    );
    assert_eq!(
        why("Mali-G950"),
        "Mali-G950 is not in the catalog and not among the products known; nearest relative: \
         Mali-G925 (same generation: Arm 5th Gen)"
    );
    assert_eq!(
        why("NVIDIA H200"),
        "NVIDIA H200 is not a phone GPU; no model, kernels are chosen from its probed limits"
    );
    assert_eq!(
        why("Mali-LODX r0p0"),
        "LODX is the code name of Mali-G610; the device is a Mali-G610; it does not say how many \
         cores it has"
    );
    assert_eq!(why("Mali-G610 MC6"), "the device is a Mali-G610 with 6 cores, the model has 4");
    assert_eq!(
        why(""),
        "neither the name, the vendor nor the version of a device without a name indicates a Mali or an Adreno; no model, kernels are chosen from its probed limits"
    );
}

#[test]
fn cores_and_revision_are_read_or_compute_units_counted() {
    let found = identify(&Probe {
        compute_units: 99,
        driver: "3.0".to_owned(),
        ..named("Mali-G715-Immortalis MC11 r1p2")
    });
    assert_eq!(found.cores, Some(11), "the name goes before the compute units");
    assert_eq!(found.revision, Some(Revision { major: 1, minor: 2 }));
    assert_eq!(found.driver, "3.0");
    assert_eq!(found.family, Some(Family::Valhall));

    let four = identify(&Probe { compute_units: 4, ..named("Mali-G610 r0p0") });
    assert_eq!((four.cores, four.certainty), (Some(4), Certainty::ExactProduct));
    let six = identify(&Probe { compute_units: 6, ..named("Mali-G610 r0p0") });
    assert_eq!(six.certainty, Certainty::SameProductOtherConfiguration);
}

#[test]
fn a_t628_is_two_devices() {
    for (cores, certainty) in [
        (4, Certainty::ExactProduct),
        (2, Certainty::ExactProduct),
        (6, Certainty::ExactProduct),
        (8, Certainty::SameProductOtherConfiguration),
    ] {
        let found = identify(&Probe { compute_units: cores, ..named("Mali-T628") });
        assert_eq!((model_name(&found), found.certainty), ("Mali-T628", certainty));
    }
    let small = identify(&Probe { compute_units: 2, ..named("Mali-T628") });
    assert_eq!(small.why, "the device is one core group of a Mali-T628: 2 cores of 6");
}

#[test]
fn limits_place_a_mali_that_does_not_say_its_product() {
    let mali = |max_work_group_size, compute_units| {
        identify(&Probe {
            vendor: "ARM".to_owned(),
            kind: DeviceKind::Gpu,
            max_work_group_size,
            compute_units,
            ..named("Mali-XYZX r0p0")
        })
    };
    let bifrost = mali(384, 12);
    assert_eq!((model_name(&bifrost), bifrost.family), ("Mali-G72", Some(Family::Bifrost)));
    assert_eq!(bifrost.certainty, Certainty::VendorOnly);
    // 1024 fits both Valhall and the 5th Gen.
    assert_eq!(model_name(&mali(1024, 4)), "none");
    assert_eq!(model_name(&mali(7, 4)), "none");
}

#[test]
fn a_phone_cpu_is_not_identified_as_a_gpu() {
    let found = identify(&Probe {
        vendor: "ARM".to_owned(),
        kind: DeviceKind::Cpu,
        compute_units: 8,
        ..named("cortex-a76")
    });
    assert_eq!((found.certainty, found.vendor), (Certainty::NotAMobileGpu, None));
    assert_eq!(
        found.why,
        "cortex-a76 is a CPU, not a phone GPU; no model, kernels are chosen from its probed limits"
    );
}

/// Old and odd drivers name the vendor only. The sentence says so, and what to do.
#[test]
fn a_qualcomm_without_a_product_is_not_identified() {
    for (name, vendor) in [
        ("QUALCOMM Adreno(TM)", "QUALCOMM"),
        ("QUALCOMM Adreno(TM)", ""),
        ("QUALCOMM ", "QUALCOMM"),
        ("QUALCOMM ", ""),
        ("", "QUALCOMM"),
    ] {
        let found = identify(&Probe {
            vendor: vendor.to_owned(),
            version: "OpenCL 3.0 QUALCOMM build: commit unknown".to_owned(),
            kind: DeviceKind::Gpu,
            max_work_group_size: 1024,
            compute_units: 6,
            ..named(name)
        });
        assert_eq!((model_name(&found), found.certainty), ("none", Certainty::VendorOnly), "{name:?}");
        assert_eq!((found.vendor, found.family), (Some(Vendor::Qualcomm), None), "{name:?}");
        let shown = if name.is_empty() { "a device without a name" } else { name.trim() };
        assert_eq!(
            found.why,
            format!(
                "{shown} is a GPU by Qualcomm, but neither its name nor its version says which; no model, kernels \
                 are chosen from its probed limits. To analyze a kernel for it, name its model, which the data \
                 sheet of the phone gives; a newer driver may report it"
            )
        );
    }
}

/// Drivers of an Adreno 650 report 1 MHz, a driver of a Mali-G71 5 MHz.
#[test]
fn an_impossible_clock_is_not_believed() {
    let clock = |name: &str, clock_mhz| Probe { clock_mhz, ..named(name) };
    for (name, reported, instead) in [("QUALCOMM Adreno(TM) 650", 1, 587), ("Mali-G71", 5, 1037)] {
        let probe = clock(name, reported);
        assert_eq!(probe.believed_clock_mhz(), None, "{reported}");
        let found = identify(&probe);
        assert_eq!(found.clock_mhz, Some(instead));
        assert_eq!(
            found.differences,
            [format!(
                "the driver reports a clock of {reported} MHz, which no such GPU has; the model's {instead} MHz \
                 is used"
            )]
        );
    }
    let found = identify(&clock("QUALCOMM Adreno(TM) 650", 670));
    assert_eq!(
        (found.clock_mhz, found.differences.len()),
        (Some(670), 0),
        "a real clock goes before the model's"
    );
    let found = identify(&clock("QUALCOMM Adreno(TM) 650", 0));
    assert_eq!((found.clock_mhz, found.differences.len()), (Some(587), 0), "not reported");
    let found = identify(&clock("QUALCOMM ", 1));
    assert_eq!((found.clock_mhz, found.differences.len()), (None, 0), "no model, no clock");
}

#[test]
fn a_device_that_disagrees_with_its_model_is_believed() {
    let found = identify(&Probe {
        max_work_group_size: 512,
        local_memory_bytes: 32768,
        ..named("Mali-G610 MC4 r0p0")
    });
    assert_eq!(
        found.differences,
        ["the device takes work-groups of up to 512 work-items, the model says 1024"]
    );
}

#[test]
fn every_model_identifies_as_itself() {
    for gpu in catalog() {
        let found = identify(&Probe { compute_units: gpu.configuration.cores.value, ..named(gpu.name()) });
        assert_eq!(model_name(&found), gpu.name());
        assert_eq!(found.certainty, Certainty::ExactProduct);
    }
}

/// Pieces that the parser knows, in any order and number.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "Mali",
        "Immortalis",
        "Adreno",
        "(TM)",
        "QUALCOMM",
        "FD",
        "-",
        " ",
        "G",
        "T",
        "X1",
        "85",
        "610",
        "642L",
        "99999999999",
        "MC",
        "MP",
        "6",
        "r0p0",
        "r",
        "p",
        "LODX",
        "0",
        "é",
        "MC0",
    ]);
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_string_is_answered(
        name in prop_oneof![".*", pieces()],
        version in prop_oneof![".*", pieces()],
        vendor in ".{0,12}",
        max_work_group_size: usize,
        compute_units: u32,
    ) {
        let found = identify(&Probe {
            vendor, version, compute_units, max_work_group_size, ..named(&name)
        });
        prop_assert!(!found.why.is_empty());
        let unmatched = matches!(found.certainty, Certainty::NotAMobileGpu | Certainty::Unknown);
        prop_assert!(!(unmatched && found.model.is_some()));
        prop_assert!(found.cores != Some(0));
    }

    /// Nearest in number: no model of the generation is nearer than the one chosen.
    #[test]
    fn the_relative_is_the_nearest(number in 600_u32..=699) {
        let found = identify(&named(&format!("Adreno (TM) {number}")));
        let chosen = super::number(found.model.unwrap()).unwrap();
        for other in [618_u32, 619, 620, 630, 640, 642, 643, 650, 660] {
            prop_assert!(chosen.abs_diff(number) <= other.abs_diff(number));
        }
    }
}
