//! Quantisation against another implementation, and what is refused.

use tripipe_device::{ImageLimits, Probe};

use super::*;
use crate::gemm::{Extents, ProductExtents};

/// Blocks that another implementation quantised and restored.
struct Block {
    name: String,
    weights: Vec<f32>,
    q8_0: Vec<u8>,
    of_q8_0: Vec<f32>,
    q4_0: Vec<u8>,
    of_q4_0: Vec<f32>,
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

fn floats(hex: &str) -> Vec<f32> {
    bytes(hex).as_chunks::<4>().0.iter().map(|bits| f32::from_be_bytes(*bits)).collect()
}

fn blocks() -> Vec<Block> {
    let lines = include_str!("gguf.txt").lines().filter(|line| !line.starts_with('#'));
    let block = |line: &str| {
        let [name, weights, q8_0, of_q8_0, q4_0, of_q4_0] =
            line.split_whitespace().collect::<Vec<_>>().try_into().unwrap();
        Block {
            name: name.to_owned(),
            weights: floats(weights),
            q8_0: bytes(q8_0),
            of_q8_0: floats(of_q8_0),
            q4_0: bytes(q4_0),
            of_q4_0: floats(of_q4_0),
        }
    };
    lines.map(block).collect()
}

/// The weights that stored blocks mean, by the reference: the product with the identity.
fn restored(weights: &StoredWeights) -> Vec<f64> {
    let Extents { rows: n, columns: k } = weights.extents();
    let identity: Vec<f64> = (0..k * k).map(|at| if at / k == at % k { 1.0 } else { 0.0 }).collect();
    let product = QuantisedProduct::new(weights.format(), Activation::F32, ProductExtents { m: k, n, k });
    let reference = QuantisedReference::new(&product, weights, &identity).unwrap();
    (0..n * k).map(|at| reference.expected()[at % k * n + at / k]).collect()
}

#[test]
fn blocks_are_those_of_another_implementation() {
    let blocks = blocks();
    assert!(blocks.len() >= 9);
    for block in &blocks {
        for (format, stored, meaning) in [
            (WeightFormat::Q8_0, &block.q8_0, &block.of_q8_0),
            (WeightFormat::Q4_0, &block.q4_0, &block.of_q4_0),
        ] {
            let own = StoredWeights::quantise(format, &block.weights, Extents::new(1, 32)).unwrap();
            assert_eq!(own.bytes(), stored, "{}, {format}", block.name);
            let read = StoredWeights::from_stored(format, stored.clone(), Extents::new(1, 32)).unwrap();
            assert_eq!(own, read);
            let meaning: Vec<f64> = meaning.iter().map(|value| f64::from(*value)).collect();
            assert_eq!(restored(&own), meaning, "{}, {format}", block.name);
        }
    }
}

/// Half a step of the scale, and for four bits a whole step: the positive end has one level less than the negative one.
#[test]
fn quantised_weights_are_within_a_step() {
    let mut random = fastrand::Rng::with_seed(8);
    let [n, k] = [5, 70];
    let weights: Vec<f32> = (0..n * k).map(|_| random.f32() * 6.0 - 3.0).collect();
    for (format, step) in [
        (WeightFormat::F16, 3.0 * 2f64.powi(-11)),
        (WeightFormat::I8, 3.0 / 127.0 * 0.501),
        (WeightFormat::Q8_0, 3.0 / 127.0 * 0.501 + 0.002),
        (WeightFormat::Q4_0, 3.0 / 8.0 * 1.01),
    ] {
        let stored = StoredWeights::quantise(format, &weights, Extents::new(n, k)).unwrap();
        assert_eq!(stored.bytes().len(), n * format.row_bytes(k));
        for (at, (found, want)) in restored(&stored).iter().zip(&weights).enumerate() {
            assert!((found - f64::from(*want)).abs() <= step, "{format}, {at}: {found}, {want}");
        }
    }
}

#[test]
fn weights_that_no_format_can_store_are_refused() {
    let said = |result: Result<StoredWeights, WeightsError>| result.unwrap_err().to_string();
    let mut weights = vec![1.0f32; 2 * 64];
    weights[64 + 40] = f32::NAN;
    for format in [WeightFormat::I8, WeightFormat::Q8_0, WeightFormat::Q4_0] {
        let found = said(StoredWeights::quantise(format, &weights, Extents::new(2, 64)));
        assert!(found.contains("weight 40 of output 1 is NaN"), "{found}");
    }
    assert!(StoredWeights::quantise(WeightFormat::F16, &weights, Extents::new(2, 64)).is_ok());
    weights[64 + 40] = -1e9;
    for (format, most) in [(WeightFormat::Q8_0, "8319008"), (WeightFormat::Q4_0, "524032")] {
        let found = said(StoredWeights::quantise(format, &weights, Extents::new(2, 64)));
        assert!(found.contains("weight 40 of output 1") && found.contains(most), "{found}");
    }
    assert!(StoredWeights::quantise(WeightFormat::I8, &weights, Extents::new(2, 64)).is_ok());
    let found = said(StoredWeights::quantise(WeightFormat::Q4_0, &weights, Extents::new(3, 64)));
    assert_eq!(found, "weights of 3 outputs with 64 inputs: 128 were given, expected 192");
    let found = said(StoredWeights::from_stored(WeightFormat::Q4_0, vec![0; 36], Extents::new(1, 40)));
    assert!(found.contains("40 is not a multiple of 32: pad"), "{found}");
    let found = said(StoredWeights::from_stored(WeightFormat::Q8_0, vec![0; 33], Extents::new(1, 32)));
    assert!(found.contains("33 were given, expected 34"), "{found}");
    assert!(
        said(StoredWeights::from_stored(WeightFormat::I8, vec![0; 4], Extents::new(1, 4)))
            .contains("give both")
    );
    let found = said(StoredWeights::from_bytes(vec![1, 2, 3, 4], vec![1.0], Extents::new(2, 2)));
    assert_eq!(found, "scales of 2 outputs with 2 inputs: 1 were given, expected 2");
    let found = said(StoredWeights::quantise(WeightFormat::F16, &[], Extents::new(usize::MAX, 2)));
    assert!(found.contains("address range"), "{found}");
    assert!(StoredWeights::quantise(WeightFormat::Q4_0, &[], Extents::new(0, 64)).is_ok());
    assert!(StoredWeights::quantise(WeightFormat::I8, &[], Extents::new(3, 0)).is_ok());
}

#[test]
fn parameters_have_a_text_form() {
    for text in
        ["1x1 group=1x1", "4x2 group=16x4 image", "8x8 group=64x1 masks", "16x1 group=1x2 image masks"]
    {
        assert_eq!(text.parse::<Parameters>().unwrap().to_string(), text);
    }
    for (text, reason) in [
        ("", "not a pair"),
        ("4", "not a pair"),
        ("4x1 group=16", "not a pair"),
        ("4x1 group=1x1 group=2x2", "given twice"),
        ("4x1 images", "not a parameter"),
        ("4xone", "not a pair"),
    ] {
        let found = text.parse::<Parameters>().unwrap_err().to_string();
        assert!(found.contains(reason), "{text}: {found}");
    }
}

fn probe() -> Probe {
    let images = ImageLimits {
        max_2d: [1024, 1024],
        from_buffer: true,
        pitch_alignment: 64,
        ..ImageLimits::default()
    };
    Probe {
        max_work_group_size: 256,
        max_work_item_sizes: [256, 256, 64],
        local_memory_bytes: 16 << 10,
        images: Some(images),
        ..Probe::default()
    }
}

#[test]
fn every_constraint_is_checked() {
    let product =
        QuantisedProduct::new(WeightFormat::Q4_0, Activation::F32, ProductExtents { m: 1, n: 100, k: 64 });
    let said = |text: &str, product: &QuantisedProduct, probe: &Probe| {
        let parameters: Parameters = text.parse().unwrap();
        parameters.check(product, probe).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(said("4x1 group=16x4 image masks", &product, &probe()), "");
    for (text, reason) in [
        ("3x1 group=1x1", "outputs is 3"),
        ("2x1 group=1x1 image", "a texel has four"),
        ("1x9 group=1x1", "vectors is 9"),
        ("16x8 group=1x1", "16 outputs of 8 vectors is over the device's limit of 64"),
        ("4x1 group=0x1", "at least one work-item"),
        ("4x1 group=4x3", "a power of two"),
        ("4x1 group=64x8", "a work-group of 64x8 is over the device's limit of 256"),
        ("16x1 group=16x16", ""),
        ("16x1 group=128x2", ""),
    ] {
        let found = said(text, &product, &probe());
        assert!(found.contains(reason) && found.is_empty() == reason.is_empty(), "{text}: {found}");
    }
    let small = Probe { local_memory_bytes: 1 << 10, ..probe() };
    assert!(said("16x1 group=16x16", &product, &small).contains("16384 bytes of local memory"));
    let bytes = QuantisedProduct { format: WeightFormat::Q8_0, ..product };
    assert!(said("4x1 group=1x1 masks", &bytes, &probe()).contains("four bits"));
    let bare = Probe { images: None, ..probe() };
    assert!(said("4x1 group=1x1 image", &product, &bare).contains("needs images"));
    let long = QuantisedProduct { k: 1 << 20, x_stride: 1 << 20, ..product };
    assert!(said("4x1 group=1x1 image", &long, &probe()).contains("texels"));
    let limited = Probe { max_buffer_bytes: 1000, ..probe() };
    assert!(said("4x1 group=1x1", &product, &limited).contains("bytes, is over"));
    let overlapping = QuantisedProduct { m: 2, y_stride: 99, ..product };
    assert!(said("4x1 group=1x1", &overlapping, &probe()).contains("stride of y is 99"));
    let huge = QuantisedProduct { k: 1 << 31, n: 16, x_stride: 1 << 31, ..product };
    assert!(said("4x1 group=1x1", &huge, &probe()).contains("4294967295"));
}

#[test]
fn the_search_space_has_only_valid_parameters() {
    let product =
        QuantisedProduct::new(WeightFormat::Q8_0, Activation::F32, ProductExtents { m: 2, n: 100, k: 64 });
    let of_device = probe();
    let found = space(&product, &of_device);
    let points: Vec<Parameters> = found.points().collect();
    assert!(points.len() > 100 && (points.len() as u64) < found.combinations() / 4, "{}", found.size());
    for parameters in &points {
        parameters.check(&product, &of_device).unwrap();
        assert!(parameters.vectors <= 2 && parameters.parts <= 2, "{parameters}");
    }
    assert!(points.iter().any(|parameters| parameters.memory == WeightMemory::Image));
    let bare = Probe { images: None, ..probe() };
    assert!(space(&product, &bare).points().all(|parameters| parameters.memory == WeightMemory::Buffer));
}

#[test]
fn a_plan_wants_weights_packed_for_it() {
    let product =
        QuantisedProduct::new(WeightFormat::Q4_0, Activation::F32, ProductExtents { m: 1, n: 100, k: 64 });
    let parameters: Parameters = "4x1 group=16x1".parse().unwrap();
    let layout = |format, extents| PackedLayout::in_buffer(format, extents).unwrap();
    assert!(
        plan(&product, &parameters, &layout(WeightFormat::Q4_0, Extents::new(100, 64)), &probe()).is_ok()
    );
    for other in
        [layout(WeightFormat::Q8_0, Extents::new(100, 64)), layout(WeightFormat::Q4_0, Extents::new(101, 64))]
    {
        let error = plan(&product, &parameters, &other, &probe()).unwrap_err().to_string();
        assert!(error.contains("pack them for this product"), "{error}");
    }
    let image: Parameters = "4x1 group=16x1 image".parse().unwrap();
    plan(&product, &image, &layout(WeightFormat::Q4_0, Extents::new(100, 64)), &probe()).unwrap_err();
    let weights = StoredWeights::quantise(WeightFormat::Q4_0, &[0.0; 64], Extents::new(1, 64)).unwrap();
    let error = layout(WeightFormat::Q4_0, Extents::new(100, 64)).pack(&weights).unwrap_err().to_string();
    assert!(error.contains("q4_0 of 1 outputs with 64 inputs"), "{error}");
}

#[test]
fn a_wrong_result_is_found() {
    let weights: Vec<f32> = (0..3 * 33).map(|at| at as f32 / 50.0 - 1.0).collect();
    let x: Vec<f64> = (0..2 * 33).map(|at| f64::from(at) / 40.0 - 0.5).collect();
    for format in WeightFormat::ALL {
        let stored = StoredWeights::quantise(format, &weights, Extents::new(3, 33)).unwrap();
        for activation in [Activation::F16, Activation::F32] {
            let product = QuantisedProduct::new(format, activation, ProductExtents { m: 2, n: 3, k: 33 });
            let reference = QuantisedReference::new(&product, &stored, &x).unwrap();
            let mut found = reference.expected().to_vec();
            reference.verify(&found).unwrap();
            reference.verify(&found[..5]).unwrap_err();
            found[4] += 2.0 * reference.bound()[4];
            assert_eq!(reference.verify(&found).unwrap_err().index, 4);
            found[4] = f64::NAN;
            reference.verify(&found).unwrap_err();
            // A missing step along K.
            let short: Vec<f64> =
                x.iter().enumerate().map(|(at, x)| if at % 33 == 32 { 0.0 } else { *x }).collect();
            let short = QuantisedReference::new(&product, &stored, &short).unwrap();
            reference.verify(short.expected()).unwrap_err();
        }
    }
}
