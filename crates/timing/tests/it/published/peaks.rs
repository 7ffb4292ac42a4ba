//! The published peak rates of multiply-adds beside those that `tripipe peaks` measures on the virtual GPU.

use std::fmt::Write as _;

use tripipe_device::find;
use tripipe_ladders::peaks::{Effort, measure};
use tripipe_ladders::published::Published;
use tripipe_timing::{VirtualGpu, VirtualOptions};

use crate::published::{Compared, keep, percent};

#[test]
fn peaks_match_published_ones() {
    let published = Published::load().unwrap().gemm_fp16_1024.peak_measured;
    let mut table = String::from(
        "| GPU | type | published GFLOP/s | model | error | theoretical peak | best vector width |\n|---|---|--:|--:|--:|--:|--:|\n",
    );
    for (name, entry) in [("mali-g77-mp9", "peaks-g77"), ("adreno-650", "peaks-a650")] {
        let gpu = find(name).unwrap();
        let mut errors = Vec::new();
        for (kind, row) in [("fp16", "mad half"), ("fp32", "mad float")] {
            let is_half = kind == "fp16";
            let cores = gpu.configuration.cores.value;
            let options = VirtualOptions { time_only: true, ..VirtualOptions::default() };
            let mut device = VirtualGpu::new(gpu, options);
            let peaks = measure(&mut device, Effort::Full, &|name| name == row, &mut |_| {}).unwrap();
            let rates = peaks.rows.iter().filter_map(|row| Some((*row.value.as_ref().ok()?, row.width?)));
            let Some((rate, width)) = rates.max_by(|a, b| a.0.total_cmp(&b.0)) else {
                assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{peaks:?}");
                return;
            };
            let best = (rate * 1e-9, width);
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
