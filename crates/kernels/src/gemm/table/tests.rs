#![allow(clippy::panic, clippy::unwrap_used, reason = "tests panic")]

use tripipe_device::DeviceKind;

use super::*;
use crate::gemm::description::{Accumulate, Elements, ProductExtents};
use crate::table::{TableError, TableFile, Target, measured_files, named};

fn gemm(side: usize) -> Gemm {
    Gemm::new(Elements::F32, ProductExtents { m: side, n: side, k: side })
}

#[test]
fn shipped_files_are_tables() {
    let entries: Vec<&Entry> = measured_files().flat_map(|file| &file.entry).collect();
    assert!(entries.len() > 40);
    for entry in entries {
        if let Target::Gpu(name) = &entry.on {
            assert!(Device::of(&named(name)).identity.vendor.is_some(), "{name} is not a product");
            assert_eq!(Device::of(&named(name)).product.as_deref(), Some(name.as_str()));
        }
        if let Target::Kind(kind) = &entry.on {
            assert!(["cpu", "gpu"].contains(&kind.as_str()), "{kind}");
        }
        assert_eq!(entry.measured.is_some(), entry.basis == Basis::Measured, "{entry:?}");
        assert!(!entry.source.is_empty());
        let ample = Probe {
            extensions: [
                "cl_khr_fp16",
                "cl_khr_integer_dot_product",
                "cl_arm_integer_dot_product_accumulate_int8",
            ]
            .map(str::to_owned)
            .to_vec(),
            opencl_c: (3, 0),
            images: Some(tripipe_device::ImageLimits {
                max_2d: [65536; 2],
                from_buffer: true,
                ..Default::default()
            }),
            ..Probe::default()
        };
        let elements = match entry.elements {
            ElementKind::F32 => Elements::F32,
            ElementKind::F64 => Elements::F64,
            ElementKind::F16 => Elements::F16(Accumulate::F16),
            ElementKind::F16InF32 => Elements::F16(Accumulate::F32),
            ElementKind::F16Chunked => Elements::F16(Accumulate::Chunked { block: 32 }),
            ElementKind::I8 => Elements::I8ToI32,
        };
        let m = if entry.shape == Shape::Vector { 1 } else { 256 };
        let mut gemm = Gemm::new(elements, ProductExtents { m, n: 256, k: 256 });
        if matches!(entry.parameters, Parameters::Vector(_)) {
            gemm.b = crate::gemm::Layout::column_major(256);
        }
        entry.parameters.check(&gemm, &ample).unwrap_or_else(|unfit| panic!("{entry:?}: {unfit}"));
    }
}

#[test]
fn the_nearest_entry_is_taken() {
    let entry = |on, shape, text: &str| Entry {
        on,
        elements: ElementKind::F32,
        shape,
        parameters: text.parse().unwrap(),
        basis: Basis::Published,
        source: "a test".to_owned(),
        measured: None,
    };
    let gpu = |name: &str| Target::Gpu(name.to_owned());
    let table = Table::of(TableFile {
        entry: vec![
            entry(Target::Kind("gpu".to_owned()), Shape::Large, "tile 1x4"),
            entry(gpu("Mali-G76"), Shape::Large, "tile 2x4"),
            entry(gpu("Mali-G78"), Shape::Small, "tile 3x4"),
            entry(gpu("Mali-G78"), Shape::Large, "tile 4x4"),
            entry(gpu("Mali-G610"), Shape::Large, "tile 5x4 b=image"),
            entry(gpu("Mali-G610"), Shape::Large, "tile 6x4"),
            entry(Target::Name("NVIDIA H200".to_owned()), Shape::Large, "tile 7x4"),
        ],
        ..TableFile::default()
    });
    let choose = |name: &str, side| {
        let choice = table.choose_product(&gemm(side), &named(name));
        (choice.parameters.to_string(), choice.why)
    };
    // No images: the first of the two entries is skipped.
    assert_eq!(choose("Mali-G610 MC4 r0p0", 1024).0, "tile 6x4");
    assert_eq!(choose("Mali-G78 r1p1", 1024).0, "tile 4x4");
    assert_eq!(choose("Mali-G78 r1p1", 64).0, "tile 3x4");
    // Valhall without entries for this GPU; Midgard; a vendor without entries.
    assert!(choose("Mali-G57", 1024).1.contains("Mali-G78"), "{}", choose("Mali-G57", 1024).1);
    assert!(choose("Mali-T860", 1024).1.contains("by the same vendor"));
    assert_eq!(choose("NVIDIA H200", 1024).0, "tile 7x4");
    let other = choose("NVIDIA L4", 1024);
    assert_eq!(other.0, "tile 1x4");
    assert!(other.1.contains("any GPU"), "{}", other.1);
}

#[test]
fn the_users_entries_come_first() {
    let folder = std::env::temp_dir().join(format!("tripipe-gemm-table-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let entry = Entry {
        on: Target::Gpu("Mali-G610".to_owned()),
        elements: ElementKind::F32,
        shape: Shape::Large,
        parameters: "tile 3x4".parse().unwrap(),
        basis: Basis::Measured,
        source: "a sweep".to_owned(),
        measured: Some(Measurement {
            gflops: 100.0,
            size: [1024, 1024, 1024, 1],
            device: "Mali-G610".to_owned(),
            driver: "1".to_owned(),
            version: "0".to_owned(),
            date: "2026-01-01".to_owned(),
        }),
    };
    let text = TableFile { entry: vec![entry.clone()], ..TableFile::default() }.to_toml().unwrap();
    std::fs::write(folder.join("mine.toml"), &text).unwrap();
    let table = Table::load(Some(&folder)).unwrap();
    let choice = table.choose_product(&gemm(1024), &named("Mali-G610 r0p0"));
    assert_eq!(choice.parameters, entry.parameters);
    std::fs::write(folder.join("mine.toml"), text.replace("gflops", "colour")).unwrap();
    assert!(matches!(Table::load(Some(&folder)), Err(TableError::Parse { .. })));
    // What is unknown here, in a table that says that it is newer.
    let newer = text.replace("gflops", "colour").replace("version = \"0\"", "version = \"999.1.0\"");
    std::fs::write(folder.join("mine.toml"), newer).unwrap();
    let error = Table::load(Some(&folder)).unwrap_err();
    assert!(matches!(error, TableError::Newer { .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("999.1.0") && said.contains("newer") && said.contains("mine.toml"), "{said}");
    // A sparse file of a terabyte takes no room, and is not read.
    std::fs::File::create(folder.join("mine.toml")).unwrap().set_len(1 << 40).unwrap();
    let error = Table::load(Some(&folder)).unwrap_err();
    assert!(matches!(error, TableError::NotAFile { .. }), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(matches!(Table::load(Some(&folder)), Err(TableError::Folder { .. })));
}

#[test]
fn timed_products_have_a_text_form() {
    for text in ["f32 196x512x4608", "f16-f32 1x4096x11008 nt", "i8 64x64x64x12 tt", "f16-chunked 4x4x4 tn"] {
        assert_eq!(text.parse::<TimedProduct>().unwrap().to_string(), text);
    }
    for (text, wrong) in [
        ("", "``: want elements"),
        ("f31 196x512x4608", "`f31`: want elements"),
        ("f32 196x512", "`196x512`: want a shape"),
        ("f32 196x512x4608 nn", "`nn`"),
        ("f32 196x512x4608 nt again", "`again`"),
    ] {
        let error = text.parse::<TimedProduct>().unwrap_err();
        assert!(error.to_string().contains(wrong), "{error}");
    }
}

/// Times of products as they were written until the three families had one form.
#[test]
fn tables_of_the_earlier_form_are_refused() {
    let text = "[[series]]\non = { name = \"pthread\" }\nelements = \"f32\"\nbasis = \"measured\"\nsource = \"\"\n\
        device = \"\"\ndriver = \"\"\nversion = \"0.1.0\"\ndate = \"\"\n[series.times]\n\
        \"tile 4x4\" = [\"64x64x64 /2 41.3 us\"]\n";
    let error = TableFile::parse("mine.toml", text).unwrap_err();
    assert!(matches!(error, TableError::Older { .. }), "{error}");
    assert!(error.to_string().contains("tripipe tune export LOG -o mine.toml"), "{error}");
}

/// A device on which one kernel takes twice its estimated cost and another a third of it, except for C with few rows,
/// where the first takes a tenth. Times at a few shapes are enough to choose the right one at others.
#[test]
fn times_near_a_shape_decide() {
    let probe = Probe {
        name: "NVIDIA H200".to_owned(),
        kind: DeviceKind::Gpu,
        compute_units: 132,
        ..Probe::default()
    };
    let figures = DeviceFigures::of(&probe);
    let kernels: [Parameters; 2] =
        ["tile 4x4 unroll=4 group=8x8".parse().unwrap(), "local 8x8 depth=8 group=16x16".parse().unwrap()];
    let seconds = |extents: ProductExtents, kernel: usize, parts: usize| {
        let gemm = Gemm::new(Elements::F32, extents);
        let parameters = kernels[kernel].with_parts(parts);
        let factor = [if extents.m <= 32 { 0.1 } else { 2.0 }, 1.0 / 3.0][kernel];
        factor * crate::gemm::cost::cost(&gemm, &parameters, &probe, &figures).unwrap().seconds
    };
    let mut times = Vec::new();
    for [m, n, k] in
        [[16, 1024, 1024], [32, 4096, 1024], [512, 512, 512], [2048, 2048, 2048], [64, 64, 32768]]
    {
        let extents = ProductExtents { m, n, k };
        for (kernel, parameters) in kernels.iter().enumerate() {
            for parts in [1, 4, 32] {
                times.push(ProductTime {
                    of: TimedProduct::of(&Gemm::new(Elements::F32, extents)),
                    seconds: seconds(extents, kernel, parts),
                    parameters: parameters.with_parts(parts),
                });
            }
        }
    }
    let series = ProductSeries {
        on: Target::Name("NVIDIA H200".to_owned()),
        basis: Basis::Measured,
        source: "a test".to_owned(),
        device: "NVIDIA H200".to_owned(),
        driver: "1".to_owned(),
        version: "0".to_owned(),
        date: "2026-01-01".to_owned(),
        times,
    };
    let text = TableFile { gemm: vec![series], ..TableFile::default() }.to_toml().unwrap();
    let mut file = TableFile::parse("a test", &text).unwrap();
    let table = Table::of(file.clone());
    for ([m, n, k], kernel) in
        [([24, 2000, 1000], 0), ([700, 900, 600], 1), ([3000, 1500, 2000], 1), ([64, 80, 50_000], 1)]
    {
        let extents = ProductExtents { m, n, k };
        let gemm = Gemm::new(Elements::F32, extents);
        let choice = table.choose_product(&gemm, &probe);
        assert_eq!(choice.parameters.with_parts(1), kernels[kernel], "{extents}: {}", choice.why);
        let truth = seconds(extents, kernel, choice.parameters.parts());
        let estimated = choice.estimated_seconds.unwrap();
        assert!((estimated / truth - 1.0).abs() < 0.25, "{extents}: {estimated} for {truth}");
        // No number of parts is much better.
        for parts in [1, 2, 4, 8, 16, 33, 66, 132, 264, 528] {
            assert!(truth < 1.1 * seconds(extents, kernel, parts), "{extents}: {parts} parts");
        }
        assert!(choice.measured.is_some() && choice.why.contains("work-groups"), "{}", choice.why);
    }
    // A deep product with a small C is divided.
    let deep =
        table.choose_product(&Gemm::new(Elements::F32, ProductExtents { m: 64, n: 64, k: 100_000 }), &probe);
    assert!(deep.parameters.parts() >= 64, "{}", deep.parameters);
    // Far from every time, an entry is better.
    file.entry.push(Entry {
        on: Target::Name("NVIDIA H200".to_owned()),
        elements: ElementKind::F32,
        shape: Shape::Vector,
        parameters: "tile 1x8".parse().unwrap(),
        basis: Basis::Published,
        source: "a test".to_owned(),
        measured: None,
    });
    let table = Table::of(file);
    let far = table.choose_product(&Gemm::new(Elements::F32, ProductExtents { m: 1, n: 64, k: 64 }), &probe);
    assert_eq!(far.parameters.to_string(), "tile 1x8");
    let near =
        table.choose_product(&Gemm::new(Elements::F32, ProductExtents { m: 24, n: 2000, k: 1000 }), &probe);
    assert_eq!(near.parameters.with_parts(1), kernels[0]);
    // Another GPU without a model uses the times too, a phone's GPU does not.
    let other = Probe { name: "Some other".to_owned(), ..probe.clone() };
    assert!(table.choose_product(&deep_gemm(), &other).estimated_seconds.is_some());
    assert!(table.choose_product(&deep_gemm(), &named("Mali-G610")).estimated_seconds.is_none());
}

fn deep_gemm() -> Gemm {
    Gemm::new(Elements::F32, ProductExtents { m: 64, n: 64, k: 100_000 })
}

#[test]
fn shipped_times_are_of_parameters_that_their_device_supports() {
    for series in measured_files().flat_map(|file| &file.gemm) {
        assert!(series.basis != Basis::Guessed && !series.times.is_empty(), "{}", series.source);
        for timed in &series.times {
            let gemm = timed.of.shape.gemm(Elements::F32);
            let ample = Probe {
                images: Some(tripipe_device::ImageLimits { max_2d: [65536; 2], ..Default::default() }),
                ..Probe::default()
            };
            if timed.of.elements == ElementKind::F32 {
                timed.parameters.check(&gemm, &ample).unwrap_or_else(|unfit| panic!("{timed:?}: {unfit}"));
            }
        }
    }
}
