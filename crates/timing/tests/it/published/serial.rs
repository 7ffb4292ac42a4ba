//! The published product of float matrices on a Mali-T604 against a serial Cortex-A15.

use std::fmt::Write as _;
use std::sync::Arc;

use tripipe_device::find;
use tripipe_ladders::published::Published;
use tripipe_launch::{Argument, NdRange};

use crate::published::{Passed, keep, limiter, program, time};

/// Clock of the Cortex-A15 of the published ladder.
const CPU_HZ: f64 = 1.7e9;
/// Clocks of a load from its L2 and of a walk of its page tables in the L2: 7-cpu.com, Cortex-A15, remembered.
const L2_CLOCKS: f64 = 21.0;
/// Nanoseconds of a load from DRAM beyond that: the same.
const DRAM_NS: f64 = 110.0;
/// Bytes of its caches, and pages of its second translation buffer: Arm, Cortex-A15 technical reference manual.
const L1_BYTES: f64 = 32768.0;
const L2_BYTES: f64 = 1_048_576.0;
const TLB_PAGES: f64 = 512.0;
/// Time of an empty launch on a Mali-T604, in seconds: clpeak's log.
const LAUNCH_SECONDS: f64 = 149e-6;

/// Clocks of a multiply-add on the CPU, if all that can overlap does, and if nothing does. Two loads with an operation, as
/// fast as each tap of the published filter; one of them walks down a column of B. Misses of lines overlap each other at
/// best; walks of the page tables, of which there is one at a time, do not.
fn cpu_clocks(size: usize, tap: f64) -> [f64; 2] {
    let size = size as f64;
    let issue = 2.0 * tap;
    let when = |holds: bool, clocks: f64| if holds { clocks } else { 0.0 };
    // A line for each row of B: those of a column stay in the L1 for the next 15 columns, or do not. The same for pages.
    let line = when(size * 64.0 > L1_BYTES, L2_CLOCKS);
    let walk = when((size * 4.0 / 4096.0).min(1.0) * size > TLB_PAGES, L2_CLOCKS);
    let dram = when(4.0 * size * size > L2_BYTES, DRAM_NS * 1e-9 * CPU_HZ / 16.0);
    [issue.max(walk), issue + line + walk + dram]
}

#[test]
fn a_product_on_a_t604_beats_the_serial_cpu_where_it_was_published_to() {
    let gpu = find("t604").unwrap();
    let published = Published::load().unwrap();
    let laplace = &published.laplace_t604;
    let last = laplace.pixels.len() - 1;
    let tap = laplace.cpu_seconds[last] * CPU_HZ / (laplace.pixels[last] as f64 * 27.0);
    let program = Arc::new(program("ladders/src/gemm/float4_dot.cl"));
    let mut table = format!(
        "| N | GPU ms, launch included | GFLOP/s | limiter | A15: clocks a multiply-add | speed-up | clocks for a speed-up of {:.0} |\n\
        |--:|--:|--:|---|--:|--:|--:|\n",
        published.gemm_fp32_t604.plateau_speedup_over_serial_a15
    );
    let plateau = published.gemm_fp32_t604.plateau_speedup_over_serial_a15;
    let mut speedups = Vec::new();
    for size in [16, 32, 64, 128, 256, 512, 1024, 2048] {
        let bytes = 4 * size * size;
        let mut passed = vec![Passed::buffer(bytes), Passed::buffer(bytes), Passed::buffer(bytes)];
        passed.extend([size, size / 4].map(|value| Passed::Argument(Argument::from(value as u32))));
        let range = NdRange::d2(size, size);
        let Some(found) = time(gpu, &program, "gemm_float4_dot", passed, range) else { return };
        let seconds = found.seconds + LAUNCH_SECONDS;
        let products = (size as f64).powi(3);
        let clocks = cpu_clocks(size, tap);
        let speedup = clocks.map(|clocks| products * clocks / CPU_HZ / seconds);
        speedups.push((size, speedup));
        let [low, high] = clocks;
        let range = |low: f64, high: f64, digits: usize| {
            if low == high { format!("{low:.digits$}") } else { format!("{low:.digits$} to {high:.digits$}") }
        };
        let _ = writeln!(
            table,
            "| {size} | {:.2} | {:.2} | {} | {} | {} | {:.0} |",
            seconds * 1e3,
            2e-9 * products / seconds,
            limiter(&found),
            range(low, high, 1),
            range(speedup[0], speedup[1], 2),
            plateau * seconds * CPU_HZ / products
        );
    }
    let (_, [low, high]) = speedups[speedups.len() - 1];
    let first = speedups.iter().find(|(_, speedup)| speedup[0] > 1.0).map(|(size, _)| *size);
    let _ = writeln!(
        table,
        "\nThe smallest of these sizes at which the GPU is faster: {}. At the largest, the speed-up is {low:.0} to {high:.0}; published: {plateau:.0}.",
        first.map_or_else(|| "none".to_owned(), |size| size.to_string()),
    );
    keep("serial", &table);
    assert!(speedups[0].1[1] < 1.0, "the CPU wins at 16x16: {table}");
    assert!(0.8 * low <= plateau && plateau <= high, "{table}");
}
