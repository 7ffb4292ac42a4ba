//! The published product of half matrices on a Mali-G77 and an Adreno 650.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use tripipe_device::find;
use tripipe_ladders::published::Published;
use tripipe_launch::{ChannelOrder, ChannelType, ImageShape, MemoryKind, NdRange};

use crate::published::{Compared, Passed, keep, percent, program, time};

const SIZE: usize = 1024;

/// The arguments of a version.
fn passed(name: &str) -> Vec<Passed> {
    let buffer = || Passed::Memory(MemoryKind::Buffer { bytes: 2 * SIZE * SIZE });
    let image = || {
        let shape = ImageShape::d2(SIZE / 4, SIZE, ChannelOrder::Rgba, ChannelType::F16);
        Passed::Memory(MemoryKind::Image(shape))
    };
    let ints = |count: usize| (0..count).map(|_| Passed::Int(SIZE));
    let (memory, sizes) = match name {
        "naive" => (vec![buffer(), buffer(), buffer()], 2),
        "transposed-a-4x4-vload4" => (vec![buffer(), buffer(), buffer()], 3),
        "image-a-image-b" => (vec![image(), image(), image()], 1),
        _ => (vec![image(), buffer(), buffer()], 2),
    };
    memory.into_iter().chain(ints(sizes)).collect()
}

#[test]
fn speedups_of_steps_match_published_ones() {
    let published = Published::load().unwrap().gemm_fp16_1024;
    let program = Arc::new(program("analyze/tests/held/gemm_fp16.cl"));
    let mut table = String::from(
        "| step | over | GPU | published | model | error | GFLOP/s | of the measured peak |\n\
        |---|---|---|--:|--:|--:|--:|--:|\n",
    );
    let mut known = BTreeMap::new();
    let mut errors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for ratio in &published.ratio {
        // Versions that were tuned by hand in unpublished ways have no kernel here.
        if ratio.version.starts_with("tuned") {
            continue;
        }
        for (name, gain) in &ratio.gpus {
            let gpu = find(name).unwrap();
            let mut seconds = |version: &str| {
                let key = (name.clone(), version.to_owned());
                if let Some(found) = known.get(&key) {
                    return Some(f64::clone(found));
                }
                let each = if version == "naive" { 1 } else { 4 };
                let entry = version.replace('-', "_");
                let found =
                    time(gpu, &program, &entry, passed(version), NdRange::d2(SIZE / each, SIZE / each))?
                        .seconds;
                known.insert(key, found);
                Some(found)
            };
            let (Some(before), Some(after)) = (seconds(&ratio.over), seconds(&ratio.version)) else { return };
            let found = before / after;
            let rate = 2.0 * (SIZE as f64).powi(3) / after * 1e-9;
            let peak = published.peak_measured[name]["fp16"] * 1.073_741_824; // published in 2^30 a second
            let _ = writeln!(
                table,
                "| {} | {} | {name} | {gain} | {found:.2} | {} | {rate:.0} | {:.0} % |",
                ratio.version,
                ratio.over,
                percent(found / gain - 1.0),
                100.0 * rate / peak
            );
            errors.entry(name).or_default().push(gain / found - 1.0);
            assert!(rate <= peak, "{table}");
            assert_eq!(found > 1.0, *gain > 1.0, "{table}");
        }
    }
    keep("product times", &table);
    for (name, gpu) in [("gemm-fp16-g77", "mali-g77-mp9"), ("gemm-fp16-a650", "adreno-650")] {
        let errors = errors.remove(gpu).unwrap();
        let what = "ratios of versions of a product of half matrices of 1024";
        Compared { name, gpu, what, source: "gemm-fp16-article", fitted: false, errors }.keep();
    }
}
