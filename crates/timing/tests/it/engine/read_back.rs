//! Micro-benchmarks of one part of a GPU each: what was put in comes out.

use tripipe_device::{Gpu, find};
use tripipe_launch::NdRange;
use tripipe_timing::figures::Figures;
use tripipe_timing::{Options, Prediction, Resource};

use crate::engine::{Passed, device, program, time, zeros};

const GPUS: [&str; 4] = ["mali-t604", "mali-g72", "mali-g77-mp9", "adreno-650"];

/// A kernel with all its work-groups and counts; `None` without clang.
fn play(
    gpu: &'static Gpu,
    figures: &Figures,
    entry: &str,
    passed: &[Passed],
    range: NdRange,
) -> Option<Prediction> {
    let program = program("kernels.cl");
    let options =
        Options { exact: true, activity: true, figures: Some(figures.clone()), ..Options::default() };
    let mut device = device(gpu, options, &program, entry)?;
    Some(time(&mut device, &program, entry, passed, range))
}

/// The lines of 64 bytes that a warp touches, each in a clock.
#[test]
fn a_stride_touches_its_lines() {
    const ITEMS: usize = 1024;
    for name in ["mali-g72", "mali-g77-mp9"] {
        let gpu = find(name).unwrap();
        let width = gpu.core.warp_width.value as usize;
        let clocks = |stride: usize| {
            let passed = [zeros(4 * ITEMS * stride), zeros(4 * ITEMS), Passed::Int(stride)];
            let played =
                play(gpu, &Figures::of(gpu), "strided", &passed, NdRange::d1(ITEMS).local(64, 1, 1))?;
            let counts = &played.activity.as_deref().unwrap().counts;
            let warps = (ITEMS / width) as f64;
            // A float every `stride` floats: 16 of them in a line without a stride.
            let lines = (width * stride).div_ceil(16).clamp(1, width) as f64;
            assert_eq!(counts.l1_reads / warps, lines, "{name}, stride {stride}");
            Some((counts.load_store_clocks / warps, lines))
        };
        let Some((dense, _)) = clocks(1) else { return };
        for stride in [2, 4, 8, 16, 64] {
            let (found, lines) = clocks(stride).unwrap();
            assert_eq!(found - dense, lines - 1.0, "{name}, stride {stride}: clocks of the load/store pipe");
        }
    }
}

/// More clocks for a barrier are more clocks for each of a hundred.
#[test]
fn barriers_take_the_clocks_of_the_figures() {
    for name in GPUS {
        let gpu = find(name).unwrap();
        let clocks = |more: f64| {
            let mut figures = Figures::of(gpu);
            figures.barrier_clocks += more;
            let passed = [zeros(4 * 64), Passed::Int(100)];
            play(gpu, &figures, "meet", &passed, NdRange::d1(64).local(64, 1, 1)).map(|played| played.cycles)
        };
        let Some(before) = clocks(0.0) else { return };
        assert!(before > 100.0 * Figures::of(gpu).barrier_clocks, "{name}: {before}");
        let more = clocks(50.0).unwrap() - before;
        assert!((more / 5000.0 - 1.0).abs() < 0.02, "{name}: {more} clocks more for 100 barriers of 50 more");
    }
}

/// Atomic operations on one address happen one after another, whichever core they come from.
#[test]
fn atomics_on_one_address_take_turns() {
    const ITEMS: usize = 4096;
    for name in GPUS {
        let gpu = find(name).unwrap();
        let figures = Figures::of(gpu);
        let range = NdRange::d1(ITEMS).local(64, 1, 1);
        let Some(before) = play(gpu, &figures, "contended", &[zeros(64)], range) else { return };
        let rate = gpu.memory.atomics_per_clock.as_ref().map_or(1.0, |rate| rate.value);
        let each = figures.atomic_clocks / rate;
        let clocks = before.cycles / ITEMS as f64;
        assert!((each..1.3 * each + 0.5).contains(&clocks), "{name}: {clocks} clocks, not {each}");
        let mut slower = figures.clone();
        slower.atomic_clocks *= 3.0;
        let after = play(gpu, &slower, "contended", &[zeros(64)], range).unwrap();
        let more = (after.cycles - before.cycles) / ITEMS as f64;
        assert!((more / (2.0 * each) - 1.0).abs() < 0.1, "{name}: {more} clocks more, not {}", 2.0 * each);
    }
}

/// Atomic operations on many addresses need not wait for each other.
#[test]
fn atomics_on_one_address_are_not_faster_than_on_many() {
    let range = NdRange::d1(1 << 17).local(64, 1, 1);
    for name in ["mali-t604", "mali-t860", "mali-g77-mp9", "adreno-650"] {
        let gpu = find(name).unwrap();
        let clocks = |entry| {
            let played = play(gpu, &Figures::of(gpu), entry, &[zeros(4 << 16)], range);
            played.map(|played| played.cycles)
        };
        let Some(one) = clocks("contended") else { return };
        let many = clocks("spread").unwrap();
        assert!(many < one, "{name}: {many} clocks for 65536 addresses, {one} for one");
    }
}

/// Rows of 32 words begin in the same bank of an Adreno's local memory, those of 33 in all of them in turn.
#[test]
fn rows_of_33_words_of_local_memory_do_not_conflict() {
    let gpu = find("adreno-650").unwrap();
    let clocks = |apart| {
        let passed = [zeros(4 << 12), Passed::Int(apart)];
        let played =
            play(gpu, &Figures::of(gpu), "rows_apart", &passed, NdRange::d1(1 << 12).local(64, 1, 1));
        played.map(|played| played.cycles)
    };
    let Some(neighbours) = clocks(1) else { return };
    let (conflicting, free) = (clocks(32).unwrap(), clocks(33).unwrap());
    assert!(conflicting > 3.0 * free, "{conflicting} clocks for rows of 32 words, {free} for rows of 33");
    assert!(free < 1.3 * neighbours, "{free} clocks for rows of 33 words, {neighbours} for neighbours");
}

/// Independent multiply-adds of many threads keep the arithmetic pipe busy.
#[test]
fn independent_arithmetic_reaches_the_rate() {
    for name in GPUS {
        let gpu = find(name).unwrap();
        let items = 64 * 32 * gpu.configuration.cores.value as usize;
        let passed = [zeros(4 * items), Passed::Int(256)];
        let range = NdRange::d1(items).local(64, 1, 1);
        let Some(played) = play(gpu, &Figures::of(gpu), "busy", &passed, range) else { return };
        let [arithmetic] = [Resource::Arithmetic]
            .map(|resource| Resource::ALL.iter().position(|each| *each == resource).unwrap());
        let share = played.shares[arithmetic];
        assert!(share > 0.93, "{name}: the pipe is busy for {share} of the time");
    }
}

/// y = a x + y with vectors: two loads and a store, whatever the width up to 128 bits, and a multiply-add of up to four
/// lanes in each arithmetic word; float8 takes two of each.
#[test]
fn saxpy_has_three_load_store_words_on_a_t604() {
    const ITEMS: usize = 4096;
    let gpu = find("mali-t604").unwrap();
    for (entry, width, words) in [("saxpy2", 2, 3.0), ("saxpy4", 4, 3.0), ("saxpy8", 8, 6.0)] {
        let passed = [zeros(4 * width * ITEMS), zeros(4 * width * ITEMS), Passed::Int(0)];
        let range = NdRange::d1(ITEMS).local(64, 1, 1);
        let Some(played) = play(gpu, &Figures::of(gpu), entry, &passed, range) else { return };
        let counts = &played.activity.as_deref().unwrap().counts;
        let items = ITEMS as f64;
        assert_eq!(counts.load_store_words / items, words, "{entry}: loads and stores");
        assert_eq!(counts.load_store_clocks / items, words, "{entry}: a clock each");
        assert_eq!(
            (counts.loaded_bytes, counts.stored_bytes),
            (8.0 * width as f64 * items, 4.0 * width as f64 * items)
        );
        let arithmetic = counts.arithmetic_words / items;
        let least = (width as f64 / 4.0).ceil();
        assert!((least..least + 3.0).contains(&arithmetic), "{entry}: {arithmetic} arithmetic words");
    }
}
