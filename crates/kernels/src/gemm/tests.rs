use tripipe_device::{DeviceKind, ImageLimits, Probe};

use super::*;
use crate::Role;

fn gemm([m, n, k]: [usize; 3]) -> Gemm {
    Gemm::new(Elements::F32, ProductExtents { m, n, k })
}

#[test]
fn inconsistent_descriptions_are_rejected() {
    let refused = |gemm: Gemm| gemm.check().unwrap_err();
    let b = Layout::row_major(5);
    assert_eq!(
        refused(Gemm { b, ..gemm([3, 6, 4]) }),
        DescriptionError::Leading { operand: "B", leading: 5, extent: 6 }
    );
    // The rows of a transposed operand are the columns of the stored matrix.
    assert!(Gemm { b: b.transposed(), ..gemm([3, 6, 4]) }.check().is_ok());
    let huge = Gemm { a: Layout::row_major(1 << 20), ..gemm([1 << 13, 4, 4]) };
    assert_eq!(refused(huge), DescriptionError::TooLarge { operand: "A" });
    let bytes = Gemm::new(Elements::I8ToI32, ProductExtents { m: 1, n: 1, k: Gemm::BYTES_K_MAX + 1 });
    assert!(matches!(refused(bytes), DescriptionError::Sums { .. }));
    let half = Gemm { alpha: 0.5, ..Gemm::new(Elements::I8ToI32, ProductExtents { m: 1, n: 1, k: 1 }) };
    assert!(matches!(refused(half), DescriptionError::Number { what: "alpha", .. }));
    let stages = Gemm { epilogue: vec![EpilogueStage::Relu; 7], ..gemm([1; 3]) };
    assert_eq!(refused(stages), DescriptionError::Stages { found: 7, most: 6 });
    let clamp = Gemm { epilogue: vec![EpilogueStage::Clamp { least: 1.0, most: 0.0 }], ..gemm([1; 3]) };
    assert!(matches!(refused(clamp), DescriptionError::Number { .. }));
    let block =
        Gemm::new(Elements::F16(Accumulate::Chunked { block: 0 }), ProductExtents { m: 1, n: 1, k: 1 });
    assert!(matches!(refused(block), DescriptionError::Number { .. }));
}

/// Compared with the individual elements that each product writes.
#[test]
fn products_that_overlap_in_c_are_found() {
    for leading in 3..9 {
        for stride in 0..20 {
            for column_major in [false, true] {
                let c = if column_major { Layout::column_major(leading) } else { Layout::row_major(leading) };
                let batch = Batch::Strided { count: 3, strides: [0, 0, stride] };
                let gemm = Gemm { c, batch, ..gemm([3, 3, 1]) };
                let [row_stride, column_stride] = c.strides();
                let mut written = Vec::new();
                for product in 0..3 {
                    for element in 0..9 {
                        written
                            .push(product * stride + element / 3 * row_stride + element % 3 * column_stride);
                    }
                }
                written.sort_unstable();
                written.dedup();
                assert_eq!(gemm.check().is_ok(), written.len() == 27, "leading {leading}, stride {stride}");
            }
        }
    }
}

#[test]
fn text_of_parameters_round_trips() {
    for text in [
        "tile 4x8 unroll=4 b=image group=16x8",
        "tile 1x64 vector=16 a=packed/4 a-vector fma dot=arm rows-first rolled parts=7",
        "tile 4x64 vector=16 short-products rows-first group=1x1",
        "local 8x8 depth=16 group=16x16 a=packed buffers=2 fma parts=3",
        "vector 4x8 group=64 sub-groups",
    ] {
        let parameters: Parameters = text.parse().unwrap();
        assert_eq!(parameters.to_string(), text);
        let toml = toml::to_string(&std::collections::BTreeMap::from([("p", parameters)])).unwrap();
        assert_eq!(toml.trim(), format!("p = \"{text}\""));
        let back: std::collections::BTreeMap<String, Parameters> = toml::from_str(&toml).unwrap();
        assert_eq!(back["p"], parameters);
    }
    for (text, word) in [
        ("", ""),
        ("tile", ""),
        ("tile 4", "4"),
        ("tube 4x4", "tube"),
        ("tile 4x4 unroll=x", "unroll=x"),
        ("tile 4x4 depth=8", "depth=8"),
        ("tile 4x4 fma=1", "fma=1"),
        ("tile 4x4 parts=2 parts=2", "parts=2"),
        ("tile 4x4 a=paper", "a=paper"),
    ] {
        let error = text.parse::<Parameters>().unwrap_err();
        assert_eq!(error.word, word, "{error}");
    }
}

#[test]
fn spaces_have_points_that_suit_the_device() {
    let phone = Probe {
        kind: DeviceKind::Gpu,
        name: "Mali-G78".to_owned(),
        max_work_group_size: 512,
        local_memory_bytes: 32 << 10,
        images: Some(ImageLimits { max_2d: [8192; 2], ..ImageLimits::default() }),
        ..Probe::default()
    };
    let desktop = Probe {
        name: "NVIDIA H200".to_owned(),
        max_work_group_size: 1024,
        local_memory_bytes: 48 << 10,
        local_memory_dedicated: true,
        ..phone.clone()
    };
    let local = |parameters: &Parameters| matches!(parameters, Parameters::Local(_));
    assert!(!space(&gemm([512; 3]), &phone).points().any(|point| local(&point)));
    assert!(space(&gemm([512; 3]), &desktop).points().any(|point| local(&point)));
    let halves = Gemm::new(Elements::F16(Accumulate::F16), ProductExtents { m: 512, n: 512, k: 512 });
    assert!(space(&halves, &phone).points().next().is_none(), "without cl_khr_fp16 there is no point");
}

/// Computed by hand: [1 2; 3 4] [5 6; 7 8] = [19 22; 43 50].
#[test]
fn the_reference_knows_a_product_by_hand() {
    let bytes = |values: &[f32]| values.iter().flat_map(|value| value.to_ne_bytes()).collect::<Vec<u8>>();
    let (a, b) = (bytes(&[1.0, 2.0, 3.0, 4.0]), bytes(&[5.0, 6.0, 7.0, 8.0]));
    let nan = f32::NAN;
    let c = bytes(&[nan, nan, -1.0, nan, nan, -1.0]);
    let product = Gemm { c: Layout::row_major(3), ..gemm([2, 2, 2]) };
    let reference = Reference::new(&product, &[&a, &b, &c]).unwrap();
    assert_eq!(reference.values(), [19.0, 22.0, 43.0, 50.0]);
    let right = bytes(&[19.0, 22.0, -1.0, 43.0, 50.0, -1.0]);
    reference.verify(&c, &right).unwrap();
    let wrong = bytes(&[19.0, 22.0, -1.0, 43.0, 50.001, -1.0]);
    assert!(matches!(
        reference.verify(&c, &wrong),
        Err(Difference::Element { row: 1, column: 1, count: 1, total: 4, .. })
    ));
    let beside = bytes(&[19.0, 22.0, 0.0, 43.0, 50.0, -1.0]);
    assert!(matches!(reference.verify(&c, &beside), Err(Difference::Beside { byte: 8..12 })));
    assert!(reference.verify(&c, &c).is_err(), "the unchanged C is not a product");

    let transposed =
        Gemm { a: Layout::row_major(2).transposed(), b: Layout::column_major(2), ..gemm([2, 2, 2]) };
    let reference = Reference::new(&transposed, &[&a, &b, &c]).unwrap();
    // [1 3; 2 4] [5 7; 6 8] = [23 31; 34 46].
    assert_eq!(reference.values(), [23.0, 31.0, 34.0, 46.0]);
}

#[test]
fn operands_are_named_in_order() {
    let elements = Elements::I8ToI8(Requantise {
        scale: Scale::Columns,
        zero_a: 0,
        zero_b: 0,
        zero_c: 0,
        least: -128,
        most: 127,
    });
    let gemm = Gemm {
        batch: Batch::Offsets { count: 2 },
        epilogue: vec![
            EpilogueStage::BiasRows,
            EpilogueStage::Relu,
            EpilogueStage::Residual { layout: Layout::row_major(7).at(1), stride: 30 },
        ],
        ..Gemm::new(elements, ProductExtents { m: 3, n: 5, k: 4 })
    };
    let found: Vec<(Role, usize)> =
        gemm.operands().into_iter().map(|operand| (operand.role, operand.elements)).collect();
    let want = [
        (Role::A, 12),
        (Role::B, 20),
        (Role::C, 15),
        (Role::Offsets, 6),
        (Role::Scales, 10),
        (Role::BiasRows(0), 3),
        // 1 + 2 * 7 + 4, the second product 30 elements later, and the last element itself.
        (Role::Residual(2), 50),
    ];
    assert_eq!(found, want);
    let short = [&[0u8; 11][..], &[0; 20], &[0; 15], &[0; 24], &[0; 40], &[0; 12], &[0; 200]];
    assert!(matches!(Reference::new(&gemm, &short), Err(ReferenceError::Length { want: 12, found: 11, .. })));
    assert!(matches!(Reference::new(&gemm, &short[..3]), Err(ReferenceError::Count { want: 7, found: 3 })));
}
