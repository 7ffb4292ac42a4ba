//! Work-items that diverge in a kernel and reconverge.

mod random_kernel;

use std::time::{Duration, Instant};

use fastrand::Rng;
use random_kernel::{RandomKernel, WORDS};
use tripipe_ir::front::clang::{self, BuildError, Optimization};
use tripipe_launch::{Argument, NdRange};
use tripipe_simulate::{Options, Schedule};

use crate::execute_groups::bench::{Bench, memory};

/// A combined condition next to a byte of the lanes on one path. They once shared a register, and leftovers in lanes
/// that had left the loop were mistaken for the condition of their neighbours.
#[test]
fn a_merged_condition_is_each_work_items_own() {
    let source = "kernel void border(global uchar *r, const int width) {
            const int x = get_global_id(0) * 8;
            if (x >= width * 3) return;
            uchar inner[8], outer[8];
            for (int i = 0; i < 8; ++i) { inner[i] = 1; outer[i] = i + 2; }
            for (int i = 0; i < min(8, width * 3 - x); ++i) {
                const int pixel = (x + i) / 3;
                const bool outside = pixel < 1 || pixel >= width - 1;
                r[x + i] = outside ? outer[i] : inner[i];
            }
        }";
    // Three bytes per pixel; the first and the last pixel count from 2 within their eight bytes, the others are 1.
    let rows: [&[u8]; 4] = [
        &[2, 3, 4, 1, 1, 1, 8, 9, 2],
        &[2, 3, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6, 7, 8],
        &[2, 3, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7, 8, 9],
        &[2, 3, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 8, 9, 2],
    ];
    let Some(mut bench) = Bench::new(source, "") else { return };
    for row in rows {
        let width = row.len() as i32 / 3;
        for items in [1, 8, 64] {
            let buffer = bench.buffer(&[0xffu8; 64]);
            let arguments = [memory(buffer), Argument::Value(width.into())];
            bench.run("border", NdRange::d1(64).local(items, 1, 1), &arguments);
            let found = bench.read::<u8>(buffer, 64);
            assert_eq!(&found[..row.len()], row, "width {width}, {items} work-items a group");
            assert_eq!(found[row.len()..], [0xff; 64][row.len()..], "width {width}");
        }
    }
}

/// Work-items per launch: one warp and part of another, or more.
const ITEMS: usize = 70;

/// A module on simulators with different warp widths.
fn benches(spirv: &[u8]) -> [(usize, Bench); 3] {
    [64, 16, 4].map(|width| {
        let schedule = Schedule::numbered(0).at_most(width);
        (width, Bench::built(Options { schedule, threads: 1, ..Options::default() }, spirv))
    })
}

/// Runs a kernel with and without watchers, which must find nothing, and compares the output of each work-item with
/// its separate computation.
fn run_as_each_alone(kernel: &RandomKernel, name: &str, benches: &mut [(usize, Bench)]) {
    let mut wanted = [9; ITEMS * WORDS];
    for (item, words) in wanted.chunks_mut(WORDS).enumerate() {
        kernel.run(item as u32, words);
    }
    for (width, bench) in benches {
        for checked in [false, true] {
            let buffer = bench.buffer(&[9u32; ITEMS * WORDS]);
            let range = NdRange::d1(ITEMS).local(ITEMS, 1, 1);
            if checked {
                let findings = bench.check(name, range, &[memory(buffer)]);
                assert!(findings.is_empty(), "{findings:?}\n{}", kernel.source(name));
            } else {
                bench.run(name, range, &[memory(buffer)]);
            }
            let found = bench.read::<u32>(buffer, ITEMS * WORDS);
            let differs =
                found.chunks(WORDS).zip(wanted.chunks(WORDS)).position(|(found, wanted)| found != wanted);
            if let Some(item) = differs {
                let at = item * WORDS..(item + 1) * WORDS;
                let (found, wanted, source) = (&found[at.clone()], &wanted[at], kernel.source(name));
                panic!("{width} wide, checked: {checked}: {item} wrote {found:?}, not {wanted:?}\n{source}");
            }
        }
    }
}

/// `TRIPIPE_FUZZ_SECONDS` continues with more kernels for that time.
#[test]
fn divergent_work_items_match_one_work_item() {
    const TOGETHER: u64 = 50;
    if !Bench::has_clang() {
        return;
    }
    let seconds = std::env::var("TRIPIPE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let end = Instant::now() + Duration::from_secs(seconds);
    for first in (0..).step_by(TOGETHER as usize) {
        let kernels: Vec<(String, RandomKernel)> = (first..first + TOGETHER)
            .map(|seed| (format!("seed{seed}"), RandomKernel::new(&mut Rng::with_seed(seed))))
            .collect();
        let source: String = kernels.iter().map(|(name, kernel)| kernel.source(name)).collect();
        let spirv =
            clang::build_text("divergence.cl", &source, None, &clang::Build::default()).unwrap().spirv;
        let mut benches = benches(&spirv);
        for (name, kernel) in &kernels {
            run_as_each_alone(kernel, name, &mut benches);
        }
        if Instant::now() >= end {
            break;
        }
    }
}

/// Code optimised by clang has fewer blocks with more values merged at each, switches made from conditions, and loops
/// of other shapes.
#[test]
fn divergent_work_items_match_one_work_item_when_optimised() {
    if !Bench::has_clang() {
        return;
    }
    let build = clang::Build { optimization: Optimization::O2, ..clang::Build::default() };
    let (mut ran, all) = (0, 16);
    for seed in 1000..1000 + all {
        let kernel = RandomKernel::new(&mut Rng::with_seed(seed));
        match clang::build_text("divergence.cl", &kernel.source("k"), None, &build) {
            Ok(built) => {
                run_as_each_alone(&kernel, "k", &mut benches(&built.spirv));
                ran += 1;
            }
            // Clang makes integers of arbitrary width and other constructs that SPIR-V does not have.
            Err(BuildError::Translate { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert!(ran > all / 2, "{ran} of {all}");
}
