//! Bandwidth of local memory.

use std::sync::Arc;

use tripipe_kernels::bench::Bench;
use tripipe_kernels::ceilings::memory::check;
use tripipe_kernels::ceilings::{Effort, PeakError};
use tripipe_launch::{Argument, Launch, NdRange, Program};

/// The row's name.
pub(super) const NAME: &str = "local read";

/// Bytes per second of local memory, over all compute units.
pub(super) fn rate(bench: &mut Bench<'_>, effort: Effort) -> Result<f64, PeakError> {
    /// Offsets of the reads in an iteration, relative to the iteration's position, as in `local_bandwidth.cl`.
    const OFFSETS: [usize; 4] = [0, 1, 2, 5];
    /// A lane's sum, at most 7 per read, must stay below 2^24.
    const TURNS_MAX: usize = (1 << 24) / (7 * OFFSETS.len());
    let probe = bench.probe();
    let group_max = if probe.max_work_group_size == 0 { 64 } else { probe.max_work_group_size.min(256) };
    let group = 1 << group_max.max(1).ilog2();
    if group < 8 || probe.local_memory_bytes < 16 * group as u64 {
        return Err(PeakError::NotOffered { what: format!("local memory for work-groups of {group}") });
    }
    let groups = (16 * probe.compute_units.max(1) as usize).min(4096);
    let items = group * groups;
    let program = Program::from_source("peaks/local_bandwidth.cl", include_str!("local_bandwidth.cl"));
    let sums = bench.output(16 * items)?;
    let mut launch = Launch {
        program: Arc::new(program.define("GROUP", group)),
        entry: "local_bandwidth".to_owned(),
        arguments: vec![Argument::Memory(sums)],
        range: NdRange::d1(items).local(group, 1, 1),
    };
    let turned = |launch: &mut Launch, turns: usize| {
        launch.arguments.truncate(1);
        launch.arguments.push((turns as u32).into());
    };
    let mut turns = 64;
    turned(&mut launch, turns);
    bench.seconds(&launch)?;
    let mut seconds = bench.seconds(&launch)?;
    let round = bench.round_seconds(effort);
    while seconds < round / 2.0 && turns < TURNS_MAX {
        turns = ((turns as f64 * (round / seconds.max(1e-9)).clamp(2.0, 64.0)) as usize).min(TURNS_MAX);
        turned(&mut launch, turns);
        seconds = bench.seconds(&launch)?;
    }
    let best = bench.best_seconds(&launch, effort)?;
    // Element e holds (e + lane) % 8 and the group is a multiple of 8, so iterations repeat with period 8.
    let turn = |from: usize| OFFSETS.iter().map(|offset| (from + offset) % 8).sum::<usize>();
    let sum: Vec<usize> = (0..8)
        .map(|from| {
            let period: usize = (0..8).map(|t| turn(from + t)).sum();
            turns / 8 * period + (0..turns % 8).map(|t| turn(from + t)).sum::<usize>()
        })
        .collect();
    bench.verify(sums, 16 * items, |found| {
        check(found, |index| sum[(index / 4 % group + index % 4) % 8] as f32)
    })?;
    Ok((16 * OFFSETS.len() * turns * items) as f64 / best)
}
