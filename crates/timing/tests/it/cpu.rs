//! Times on cores of CPUs beside published ones.

use tripipe_device::{Board, find_board};
use tripipe_ladders::ladder::Step;
use tripipe_ladders::problem::{Data, Problem, Quoted, Work};
use tripipe_ladders::published::Published;
use tripipe_ladders::{Size, laplace, vector_add};
use tripipe_launch::Executor as _;
use tripipe_timing::cpu::{self, CpuTimes};

/// The times of a step on the board's core; `None` without clang, unless `TRIPIPE_REQUIRE_CLANG` is set.
pub(crate) fn times(board: &Board, step: &Step, problem: &Problem) -> Option<CpuTimes> {
    let mut simulator = cpu::simulator();
    let plan = (step.plan)(problem, simulator.probe()).unwrap().remove(0).plan;
    let bound = plan.bind(&mut simulator, &[]).unwrap();
    let launch = &bound.launches[0];
    if let Err(error) = simulator.prepare(&launch.program, &launch.entry) {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
        eprintln!("left out: {error}");
        return None;
    }
    Some(cpu::predict(&mut simulator, launch, board.cpu.value, board.cpu_clock_mhz.value).unwrap())
}

/// The five published times of serial Laplace on a Cortex-A15. Two figures are fitted to the smallest and the largest
/// size: the core's efficiency and the part that is the same at all sizes. The three sizes between were held back.
#[test]
fn serial_laplace_takes_what_was_published() {
    let board = find_board("arndale").unwrap();
    let published = Published::load().unwrap().laplace_t604;
    let sizes = published.sizes();
    for (column, (size, seconds)) in sizes.iter().zip(&published.cpu_seconds).enumerate() {
        let step = laplace::LADDER.step("scalar").unwrap();
        let Some(found) = times(board, step, &laplace::unsolved(*size)) else { return };
        let error = (found.serial + published.cpu_host_seconds) / seconds - 1.0;
        let is_fitted = column == 0 || column == sizes.len() - 1;
        assert!(error.abs() < if is_fitted { 0.01 } else { 0.15 }, "{size}: {error:+.3}");
        assert!(found.neon < found.serial, "{size}: {found:?}");
    }
}

/// Two arrays that are read, one that is read and written: 16 bytes an element, at the bandwidth of the core.
#[test]
fn long_vectors_take_as_long_as_their_bytes() {
    let board = find_board("arndale").unwrap();
    let elements = 1 << 24;
    let size = Size::Vector(elements);
    let zeros = |elements| Data::I32(vec![0; elements]);
    let work = Work { operations: 0.0, bytes: 0.0, quoted: Quoted::Bandwidth };
    let problem = Problem::unsolved(size, &[elements; 2], zeros, work);
    let Some(found) = times(board, &vector_add::LADDER.steps[0], &problem) else { return };
    let expected = 16.0 * elements as f64 / (board.cpu.value.one_core_gb_s.value * 1e9);
    for seconds in [found.serial, found.neon] {
        assert!((seconds / expected - 1.0).abs() < 0.05, "{found:?}, {expected}");
    }
}
