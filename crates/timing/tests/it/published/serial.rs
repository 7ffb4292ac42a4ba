//! The published product of float matrices on a Mali-T604 against a serial Cortex-A15.

use std::fmt::Write as _;
use std::sync::Arc;

use tripipe_device::find_board;
use tripipe_ladders::published::Published;
use tripipe_ladders::{Size, gemm};
use tripipe_launch::{Argument, NdRange};

use crate::cpu::times;
use crate::published::{Passed, keep, limiter, percent, program, time};

#[test]
fn a_product_on_a_t604_beats_the_serial_cpu_where_it_was_published_to() {
    let board = find_board("arndale").unwrap();
    let plateau = Published::load().unwrap().gemm_fp32_t604.plateau_speedup_over_serial_a15;
    let program = Arc::new(program("ladders/src/gemm/float4_dot.cl"));
    let naive = gemm::LADDER.step("naive").unwrap();
    let mut table =
        "| N | GPU ms, launch included | GFLOP/s | limiter | A15: clocks a multiply-add | speed-up |\n\
        |--:|--:|--:|---|--:|--:|\n"
            .to_owned();
    let mut speedups = Vec::new();
    for size in [16, 32, 64, 128, 256, 512, 1024, 2048] {
        let bytes = 4 * size * size;
        let mut passed = vec![Passed::buffer(bytes), Passed::buffer(bytes), Passed::buffer(bytes)];
        passed.extend([size, size / 4].map(|value| Passed::Argument(Argument::from(value as u32))));
        let range = NdRange::d2(size, size);
        let Some(found) = time(board.gpu.value, &program, "gemm_float4_dot", passed, range) else { return };
        let problem = gemm::unsolved(Size::Matrix { m: size, n: size, k: size });
        let Some(on_cpu) = times(board, naive, &problem) else { return };
        let seconds = found.seconds + board.launch_us.value * 1e-6;
        let products = (size as f64).powi(3);
        let speedup = on_cpu.serial / seconds;
        speedups.push((size, speedup));
        let _ = writeln!(
            table,
            "| {size} | {:.2} | {:.2} | {} | {:.1} | {speedup:.2} |",
            seconds * 1e3,
            2e-9 * products / seconds,
            limiter(&found),
            on_cpu.serial * board.cpu_clock_mhz.value * 1e6 / products,
        );
    }
    let (_, last) = speedups[speedups.len() - 1];
    let first = speedups.iter().find(|(_, speedup)| *speedup > 1.0).map(|(size, _)| *size);
    let _ = writeln!(
        table,
        "\nThe smallest of these sizes at which the GPU is faster: {}. At the largest, the speed-up is {last:.0}; published: \
         {plateau:.0} ({}).",
        first.map_or_else(|| "none".to_owned(), |size| size.to_string()),
        percent(last / plateau - 1.0)
    );
    keep("serial", &table);
    assert!(speedups[0].1 < 1.0, "the CPU wins at 16x16: {table}");
    assert!((last / plateau - 1.0).abs() < 0.2, "{table}");
}
