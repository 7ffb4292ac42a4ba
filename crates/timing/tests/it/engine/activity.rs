//! Activity: counts by hand, sums over time and over lines against totals, samples of launches against whole ones.

use tripipe_device::{Gpu, find};
use tripipe_launch::NdRange;
use tripipe_machine::Pipe;
use tripipe_timing::activity::Activity;
use tripipe_timing::{Options, Prediction, Resource};

use crate::engine::{Passed, device, program, time, zeros};

const GPUS: [&str; 4] = ["mali-t604", "mali-g72", "mali-g77-mp9", "adreno-650"];

fn recorded(exact: bool) -> Options {
    Options { exact, activity: true, ..Options::default() }
}

/// A prediction with its activity; `None` without clang.
fn play(
    gpu: &'static Gpu,
    options: Options,
    entry: &str,
    passed: &[Passed],
    range: NdRange,
) -> Option<Prediction> {
    let program = program("kernels.cl");
    let mut device = device(gpu, options, &program, entry)?;
    Some(time(&mut device, &program, entry, passed, range))
}

fn activity(prediction: &Prediction) -> &Activity {
    prediction.activity.as_deref().unwrap()
}

/// `from`, `to` and a factor: each work-item loads and stores 4 bytes.
#[test]
fn counts_of_a_simple_kernel_are_those_by_hand() {
    let items = 4096.0;
    for name in GPUS {
        let gpu = find(name).unwrap();
        let passed = [zeros(4 * 4096), zeros(4 * 4096), Passed::Int(0)];
        let range = NdRange::d1(4096).local(64, 1, 1);
        let program = program("kernels.cl");
        let Some(mut device) = device(gpu, recorded(true), &program, "scaled") else { return };
        let prediction = time(&mut device, &program, "scaled", &passed, range);
        let Activity { counts, played, .. } = activity(&prediction);
        assert_eq!(counts, played, "{name}");
        let warps = items / f64::from(gpu.core.warp_width.value);
        assert_eq!(counts.work_groups, 64.0, "{name}");
        assert_eq!((counts.warps, counts.full_warps, counts.threads), (warps, warps, items), "{name}");
        assert_eq!((counts.global_loads, counts.global_stores), (warps, warps), "{name}");
        assert_eq!((counts.loaded_bytes, counts.stored_bytes), (4.0 * items, 4.0 * items), "{name}");
        let lines = 4.0 * items / 64.0;
        if gpu.core.warp_width.value == 16 {
            assert_eq!((counts.l1_reads, counts.l1_writes), (lines, lines), "{name}");
            assert_eq!(counts.load_full_clocks, lines, "{name}: a line for each load");
        }
        assert_eq!(counts.external_load_bytes, 4.0 * items, "{name}: each line comes from memory once");
        for (what, count) in [
            ("atomic operations", counts.global_atomics + counts.local_atomics + counts.l1_atomics),
            ("local memory", counts.local_loads + counts.local_stores),
            ("image reads", counts.texture_words + counts.texels + counts.texture_lookups),
            ("barriers", counts.barriers + counts.wait_barrier_clocks),
            ("diverged words", counts.diverged_words),
        ] {
            assert_eq!(count, 0.0, "{name}: {what}");
        }
        // One block: each warp executes every word once.
        let code = &device.compiled(&program, "scaled").unwrap().code;
        for pipe in Pipe::ALL {
            let issues = code.blocks.values().flatten().filter(|issue| issue.pipe == pipe).count();
            assert_eq!(counts.words(pipe), issues as f64 * warps, "{name}: {pipe:?}");
        }
        assert_eq!(counts.active_lanes, counts.lanes, "{name}");
    }
}

/// Two barriers in each of n/8 iterations; the inner loop of 8 has two loads of local memory.
#[test]
fn counts_of_loops_are_those_by_hand() {
    let n = 64;
    for name in GPUS {
        let gpu = find(name).unwrap();
        let square = || zeros(4 * n * n);
        let passed = [square(), square(), square(), Passed::Int(n)];
        let range = NdRange::d2(n, n).local(8, 8, 1);
        let Some(prediction) = play(gpu, recorded(true), "tiled", &passed, range) else { return };
        let counts = &activity(&prediction).counts;
        let warps = (n * n) as f64 / f64::from(gpu.core.warp_width.value);
        assert_eq!(counts.barriers, warps * 2.0 * (n / 8) as f64, "{name}");
        assert!(counts.wait_barrier_clocks > 0.0, "{name}");
        assert_eq!(counts.global_loads, warps * 2.0 * (n / 8) as f64, "{name}");
        assert_eq!(counts.global_stores, warps, "{name}");
        assert_eq!(counts.local_stores, warps * 2.0 * (n / 8) as f64, "{name}");
        assert!(counts.local_loads > 0.0 && counts.local_loads <= warps * 2.0 * n as f64, "{name}");
    }
}

/// Half of the work-items run the loop alone.
#[test]
fn diverged_words_are_counted() {
    for name in GPUS {
        let gpu = find(name).unwrap();
        let passed = [zeros(4 * 1024), Passed::Int(64)];
        let range = NdRange::d1(1024).local(64, 1, 1);
        let Some(prediction) = play(gpu, recorded(true), "uneven", &passed, range) else { return };
        let counts = &activity(&prediction).counts;
        let share = counts.diverged_words / (counts.lanes / f64::from(gpu.core.warp_width.value));
        let active = counts.active_lanes / counts.lanes;
        if gpu.core.warp_width.value == 1 {
            assert_eq!((share, active), (0.0, 1.0), "{name}: threads run alone");
        } else {
            assert!((0.9..1.0).contains(&share), "{name}: {share} of the words diverged");
            assert!((0.5..0.55).contains(&active), "{name}: {active} of the lanes active");
        }
    }
}

/// The launches of the tests of sums.
fn launches() -> Vec<(&'static str, Vec<Passed>, NdRange)> {
    let square = |n: usize| zeros(4 * n * n);
    vec![
        (
            "tiled",
            vec![square(64), square(64), square(64), Passed::Int(64)],
            NdRange::d2(64, 64).local(8, 8, 1),
        ),
        (
            "transpose",
            vec![square(256), square(256), Passed::Int(256), Passed::Int(256)],
            NdRange::d2(256, 256).local(8, 8, 1),
        ),
        ("uneven", vec![zeros(4 * 8192), Passed::Int(64)], NdRange::d1(8192).local(64, 1, 1)),
    ]
}

fn close(found: f64, want: f64, what: &str) {
    assert!((found - want).abs() <= 1e-6 * want.abs() + 1e-9, "{what}: {found}, not {want}");
}

#[test]
fn samples_add_up_to_the_whole() {
    for name in GPUS {
        let gpu = find(name).unwrap();
        for (entry, passed, range) in launches() {
            let Some(prediction) = play(gpu, recorded(true), entry, &passed, range) else { return };
            let Activity { counts, samples, windows, spans, .. } = activity(&prediction);
            assert!((10..=200).contains(&samples.len()), "{name}: {} samples", samples.len());
            let of = |what: &str| format!("{entry} on {name}: {what}");
            for (index, resource) in Resource::ALL.into_iter().enumerate() {
                let sum: f64 = samples.iter().map(|sample| sample.shares[index] * sample.seconds).sum();
                close(sum, prediction.shares[index] * prediction.seconds, &of(&format!("{resource:?}")));
                assert!(samples.iter().all(|sample| sample.shares[index] <= 1.0 + 1e-9), "{resource:?}");
            }
            let sum: f64 = samples.iter().map(|sample| sample.dram_read_bytes).sum();
            close(sum, counts.dram_read_bytes, &of("DRAM"));
            let sum: f64 = samples.iter().map(|sample| sample.l2_bytes).sum();
            let l2 = counts.l2_load_bytes + counts.l2_texture_bytes + counts.l2_written_bytes;
            close(sum, l2, &of("L2"));
            let sum: f64 = samples.iter().map(|sample| sample.threads * sample.seconds).sum();
            let most = f64::from(gpu.core.max_threads.value * gpu.configuration.cores.value);
            close(sum / most, prediction.occupancy * prediction.seconds, &of("threads"));
            let [window] = &windows[..] else { panic!("{windows:?}") };
            assert_eq!((window.start, window.first_group, &window.samples), (0.0, 0, &(0..samples.len())));
            close(window.end, prediction.seconds, &of("the end"));
            assert_eq!(spans.len() as f64, counts.work_groups, "{}", of("spans"));
            assert!(spans.iter().all(|span| span.ended && span.start < span.end && span.end <= window.end));
        }
    }
}

#[test]
fn lines_add_up_to_the_counts() {
    for name in GPUS {
        let gpu = find(name).unwrap();
        for (entry, passed, range) in launches() {
            let Some(prediction) = play(gpu, recorded(true), entry, &passed, range) else { return };
            let Activity { counts, lines, .. } = activity(&prediction);
            let of = |what: &str| format!("{entry} on {name}: {what}");
            assert!(lines.iter().any(|line| line.file.is_some()), "{}", of("no line is known"));
            for pipe in Pipe::ALL {
                let sum: f64 = lines.iter().map(|line| line.words[pipe.index()]).sum();
                close(sum, counts.words(pipe), &of(&format!("{pipe:?}")));
            }
            let clocks = [
                counts.arithmetic_clocks,
                counts.convert_clocks,
                counts.special_clocks,
                counts.load_store_clocks,
                counts.texture_clocks,
                counts.local_clocks,
            ];
            for (index, want) in clocks.into_iter().enumerate() {
                let sum: f64 = lines.iter().map(|line| line.clocks[index]).sum();
                close(sum, want, &of(&format!("clocks {index}")));
            }
            let sum: f64 = lines.iter().map(|line| line.bytes).sum();
            close(sum, counts.loaded_bytes + counts.stored_bytes, &of("bytes"));
            let sum: f64 = lines.iter().map(|line| line.waited_clocks).sum();
            close(sum, counts.wait_load_store_clocks + counts.wait_texture_clocks, &of("waits"));
            let sum: f64 = lines.iter().map(|line| line.dram_bytes).sum();
            close(sum, counts.dram_read_bytes + counts.dram_written_bytes, &of("DRAM"));
        }
    }
}

/// Recording changes no time.
#[test]
fn predictions_are_the_same_with_and_without_activity() {
    for name in GPUS {
        let gpu = find(name).unwrap();
        for (entry, passed, range) in launches() {
            let Some(with) = play(gpu, recorded(true), entry, &passed, range) else { return };
            let without = Options { exact: true, ..Options::default() };
            let Some(without) = play(gpu, without, entry, &passed, range) else { return };
            assert_eq!(without.activity, None);
            assert_eq!(Prediction { activity: None, ..with }, without, "{entry} on {name}");
        }
    }
}

#[test]
fn extrapolated_counts_are_those_of_whole_launches() {
    let (mut wrong, mut sampled) = (Vec::new(), 0);
    for name in ["mali-t604", "mali-g77-mp9"] {
        let gpu = find(name).unwrap();
        let many = gpu.core.warp_width.value > 1;
        let n = if many { 128 } else { 64 };
        let square = |n: usize| zeros(4 * n * n);
        let m = if many { 768 } else { 384 };
        let cases = [
            (
                "untiled",
                vec![square(n), square(n), square(n), Passed::Int(n)],
                NdRange::d2(n, n).local(8, 8, 1),
            ),
            (
                "transpose",
                vec![square(m), square(m), Passed::Int(m), Passed::Int(m)],
                NdRange::d2(m, m).local(8, 8, 1),
            ),
            ("triangular", vec![square(n), square(n), Passed::Int(n)], NdRange::d2(n, n).local(16, 4, 1)),
        ];
        for (entry, passed, range) in cases {
            let some = Options { steps: Some(if many { 4_000 } else { 60_000 }), ..recorded(false) };
            let Some(want) = play(gpu, recorded(true), entry, &passed, range) else { return };
            let Some(found) = play(gpu, some, entry, &passed, range) else { return };
            if found.played == found.groups {
                continue;
            }
            sampled += 1;
            let (want, found) = (&activity(&want).counts, activity(&found));
            let windows = &found.windows;
            assert!(windows.len() > 1 && windows.windows(2).all(|pair| pair[0].end <= pair[1].start));
            for sample in found.samples.iter().zip(found.samples.iter().skip(1)) {
                assert!(sample.0.start < sample.1.start, "{entry} on {name}: samples are in order");
            }
            for count in ["work_groups", "warps", "full_warps", "threads"] {
                assert_eq!(want.get(count), found.counts.get(count), "{entry} on {name}: {count}");
            }
            // What follows from the code, then what depends on when work-groups run, which parts of long work-groups
            // show only roughly.
            let code = [
                "arithmetic_words",
                "fma_instructions",
                "convert_instructions",
                "load_store_words",
                "arithmetic_clocks",
                "load_store_clocks",
                "global_loads",
                "loaded_bytes",
                "stored_bytes",
                "active_lanes",
                "l1_reads",
                "l1_writes",
            ];
            let time = ["l2_reads", "dram_read_bytes", "core_clocks"];
            let time = if windows.len() > 3 { &time[..] } else { &[] };
            let code = code.iter().map(|count| (count, 0.03));
            for (count, band) in code.chain(time.iter().map(|count| (count, 0.1))) {
                let (want, found) = (want.get(count).unwrap(), found.counts.get(count).unwrap());
                let off = (found - want).abs();
                if off > band * want {
                    wrong.push(format!("{entry} on {name}: {count} {found}, not {want}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(sampled >= 5, "only {sampled} of 6 launches were sampled");
}
