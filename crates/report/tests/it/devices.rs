//! Each format of the list of devices, on hand-made devices.

use tripipe_device::{DeviceKind, ImageLimits, Probe, Svm, identify};
use tripipe_report::Canvas;
use tripipe_report::devices::{Entry, OpenCl, result, text};
use tripipe_results::Document;

fn entries() -> Vec<Entry> {
    let probe = Probe {
        platform: "ARM Platform".to_owned(),
        name: "Mali-G610 MC4 r0p0".to_owned(),
        vendor: "ARM".to_owned(),
        version: "OpenCL 3.0 v1.g6p0-01eac0".to_owned(),
        driver: "3.0".to_owned(),
        opencl_c: (3, 0),
        kind: DeviceKind::Gpu,
        unified_memory: true,
        extensions: ["cl_khr_fp16", "cl_khr_subgroups", "cl_arm_import_memory"]
            .map(ToOwned::to_owned)
            .to_vec(),
        compute_units: 4,
        clock_mhz: 1000,
        address_bits: 64,
        max_work_group_size: 1024,
        max_work_item_sizes: [1024; 3],
        local_memory_bytes: 32 << 10,
        local_memory_dedicated: false,
        global_memory_bytes: 8 << 30,
        max_buffer_bytes: 8 << 30,
        max_constant_bytes: 8 << 30,
        cache_bytes: 1 << 20,
        cache_line_bytes: 64,
        base_alignment_bytes: 128,
        images: Some(ImageLimits {
            max_2d: [65536; 2],
            max_3d: [65536; 3],
            max_layers: 2048,
            max_1d_buffer: 65536,
            from_buffer: true,
            pitch_alignment: 64,
            base_address_alignment: 64,
        }),
        svm: Svm { coarse_buffer: true, fine_buffer: false, fine_system: false },
        non_uniform_work_groups: true,
        preferred_vector_width: [16, 8, 4, 2, 4, 0, 8],
    };
    let identification = identify(&probe);
    vec![
        Entry { choice: "cpu".to_owned(), name: "CPU path (Cortex-A76, 8 threads)".to_owned(), opencl: None },
        Entry {
            choice: "opencl:0".to_owned(),
            name: probe.name.clone(),
            opencl: Some(OpenCl { probe, identification }),
        },
    ]
}

#[test]
fn text_form() {
    insta::assert_snapshot!(text(&entries(), None, Canvas::default()));
}

/// Some drivers report 1 MHz: it is not shown as the clock, and the list says what is used instead.
#[test]
fn an_impossible_clock_is_shown_as_such() {
    let mut entries = entries();
    let opencl = entries[1].opencl.as_mut().unwrap();
    opencl.probe.clock_mhz = 1;
    opencl.identification = identify(&opencl.probe);
    let drawn = text(&entries, None, Canvas::default());
    let drawn = drawn.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(drawn.contains("GPU with 4 compute units (the driver reports 1 MHz)"), "{drawn}");
    assert!(
        drawn.contains("but the driver reports a clock of 1 MHz, which no such GPU has; the model's"),
        "{drawn}"
    );
}

#[test]
fn text_form_without_opencl() {
    let drawn = text(&entries()[..1], Some("no OpenCL library was found"), Canvas::default());
    insta::assert_snapshot!(drawn);
}

#[test]
fn json_form() {
    let line = Document::from(result(&entries(), None)).to_string();
    assert!(!line.contains('\n'));
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    insta::assert_json_snapshot!(value);
}
