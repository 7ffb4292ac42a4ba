//! The published peak rates of multiply-adds, with the kernel that measures them on a device.

use std::fmt::Write as _;
use std::sync::Arc;

use half::f16;
use tripipe_device::find;
use tripipe_ladders::published::Published;
use tripipe_launch::{Argument, NdRange, Value};

use crate::published::{Compared, Passed, keep, percent, program, time};

/// Iterations, each of 32 multiply-adds of every chain.
const TURNS: u32 = 6;

#[test]
fn peaks_match_published_ones() {
    let published = Published::load().unwrap().gemm_fp16_1024.peak_measured;
    let mut table = String::from(
        "| GPU | type | published GFLOP/s | model | error | theoretical peak | best vector width |\n|---|---|--:|--:|--:|--:|--:|\n",
    );
    for (name, entry) in [("mali-g77-mp9", "peaks-g77"), ("adreno-650", "peaks-a650")] {
        let gpu = find(name).unwrap();
        let mut errors = Vec::new();
        for kind in ["fp16", "fp32"] {
            let is_half = kind == "fp16";
            let value = |x: f32| if is_half { Value::from(f16::from_f32(x)) } else { Value::from(x) };
            let cores = gpu.configuration.cores.value;
            let items = (cores as usize * 2048).next_power_of_two() / 2;
            let mut best = (0.0, 0);
            for width in [1, 2, 4, 8, 16] {
                let chains = if width <= 4 { 4 } else { 2 };
                let program = program("kernels/src/ceilings/arithmetic.cl")
                    .define("TYPE", if is_half { "half" } else { "float" })
                    .define("HALF", u8::from(is_half))
                    .define("HOW", 1)
                    .define("WIDTH", width)
                    .define("CHAINS", chains);
                let each = chains * width;
                let mut passed = vec![Passed::buffer(items * each * 4)];
                passed.extend([1.0, 1.0, -30.0].map(|x| Passed::Argument(Argument::Value(value(x)))));
                passed.push(Passed::Argument(Argument::from(TURNS)));
                let range = NdRange::d1(items);
                let Some(found) = time(gpu, &Arc::new(program), "mad_rate", passed, range) else { return };
                let rate = 2.0 * 32.0 * f64::from(TURNS) * (each * items) as f64 / found.seconds * 1e-9;
                if rate > best.0 {
                    best = (rate, width);
                }
            }
            let operations = &gpu.operations_per_clock_per_core;
            let lanes = if is_half { &operations.fp16_fma } else { &operations.fp32_fma };
            let clock = f64::from(gpu.configuration.clock_mhz.value) * 1e-3;
            let peak = 2.0 * f64::from(lanes.value * cores) * clock;
            let wanted = published[name][kind] * 1.073_741_824; // published in 2^30 a second
            let _ = writeln!(
                table,
                "| {name} | {kind} | {wanted:.0} | {:.0} | {} | {peak:.0} | {} |",
                best.0,
                percent(best.0 / wanted - 1.0),
                best.1
            );
            errors.push(wanted / best.0 - 1.0);
            assert!(best.0 <= peak * 1.000_001, "{table}");
        }
        let what = "rates of multiply-adds in half and float";
        Compared { name: entry, gpu: name, what, source: "gemm-fp16-article", fitted: false, errors }.keep();
    }
    keep("peak rates", &table);
}
