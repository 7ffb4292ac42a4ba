//! Sweeps of parameters.

use std::ops::ControlFlow;
use tripipe_conformance::clock::WorkItemClock;
use tripipe_device::{ImageLimits, Probe};
use tripipe_kernels::gemm::{
    Elements, Gemm, Parameters, Unfit, best_guess_first, candidates, default_parameters, entries_to_toml,
};
use tripipe_ladders::sweep::gemm::{SweepOptions, sweep};
use tripipe_ladders::sweep::{self as candidate, Heats, TryError};
use tripipe_launch::{ExecuteError, Executor, Intercept, Layer, MemoryId};

use super::{parameters, simulator};

#[test]
fn small_devices_are_not_asked_too_much() {
    let tiny = Probe {
        max_work_group_size: 64,
        max_work_item_sizes: [64; 3],
        local_memory_bytes: 32 << 10,
        images: Some(ImageLimits { max_2d: [64, 64], ..ImageLimits::default() }),
        ..Probe::default()
    };
    let gemm = Gemm::new(Elements::F32, [256, 256, 256]);
    let refused = |text: &str, probe: &Probe| parameters(text).check(&gemm, probe).unwrap_err();
    assert!(matches!(refused("tile 4x4 group=16x8", &tiny), Unfit::OverLimit { limit: 64, .. }));
    assert!(matches!(refused("tile 4x4 b=image", &tiny), Unfit::OverLimit { limit: 64, .. }));
    assert!(matches!(
        refused("local 8x8 depth=32 group=8x8 buffers=2", &tiny),
        Unfit::OverLimit { limit: 32_768, .. }
    ));
    let bare = Probe { images: None, ..tiny.clone() };
    assert!(matches!(refused("tile 4x4 b=image", &bare), Unfit::NotOffered { .. }));
    assert!(parameters("local 8x8 group=8x8").check(&gemm, &tiny).is_ok());
}

#[test]
fn a_sweep_verifies_times_and_reports_failures() {
    let gemm = Gemm { beta: 0.5, ..Gemm::new(Elements::F32, [24, 20, 16]) };
    let candidates: Vec<Parameters> =
        ["tile 4x4", "vector 4x4 group=1", "tile 2x8 b=packed", "local 4x4 depth=8 group=4x4"]
            .map(parameters)
            .into();
    let options = SweepOptions { heats: Heats { finalists: 2, rounds: 2 }, ..SweepOptions::default() };
    let mut executor = Layer::new(simulator(), WorkItemClock::default());
    let mut seen = 0;
    let found = sweep(&mut executor, &gemm, &candidates, &options, &mut |stage| {
        if let candidate::SweepProgress::First { of, .. } = stage {
            seen += 1;
            assert_eq!(of, 4);
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, 4);
    let tried = &found.heat.tried;
    let runs: Vec<usize> =
        tried.iter().map(|one| one.outcome.as_ref().map_or(0, |seconds| seconds.runs)).collect();
    assert_eq!(runs, [2, 2, 1, 0], "{tried:?}");
    // Fewest work-items first: one for 16 outputs; whole work-groups; one for 16 outputs, and those that pack B. The
    // second candidate does not fit.
    let order: Vec<Parameters> = tried.iter().map(|one| one.parameters).collect();
    assert_eq!(order, [0, 3, 2, 1].map(|index| candidates[index]));
    assert!(matches!(tried[3].outcome, Err(TryError::Unfit(Unfit::Kernel { .. }))));
    let entry = found.entry("2026-01-02").unwrap();
    assert_eq!(entry.parameters, tried[0].parameters);
    assert_eq!(entry.source, "a sweep of this library");
    let text = entries_to_toml(&[entry]).unwrap();
    assert!(text.contains("date = \"2026-01-02\"") && text.contains("shape = \"skinny\""), "{text}");
    let found = sweep(&mut executor, &gemm, &candidates, &options, &mut |stage| match stage {
        candidate::SweepProgress::First { done: 0, .. } => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    })
    .unwrap();
    assert!(found.heat.is_partial());
    let entry = found.entry("2026-01-02").unwrap();
    assert_eq!(entry.parameters, candidates[0]);
    assert!(entry.source.contains("partial: 1 of 4 candidates"), "{}", entry.source);
}

#[test]
fn a_sweep_tries_the_best_guess_first_and_every_candidate() {
    let gemm = Gemm::new(Elements::F32, [64, 64, 64]);
    for probe in
        [simulator().probe().clone(), Probe { name: "Mali-G610".to_owned(), ..simulator().probe().clone() }]
    {
        let all = candidates(&gemm, &probe);
        let ordered = best_guess_first(&gemm, &all, &probe);
        assert_eq!(ordered[0], default_parameters(&gemm, &probe).parameters);
        assert!(all.iter().all(|one| ordered.contains(one)));
        assert!(ordered.iter().all(|one| ordered.iter().filter(|other| *other == one).count() == 1));
    }
}

/// A device with wrong results is detected.
#[test]
fn a_wrong_kernel_gets_no_time() {
    struct Wrong;
    impl<E: Executor> Intercept<E> for Wrong {
        fn read(
            &mut self,
            inner: &mut E,
            memory: MemoryId,
            offset: usize,
            into: &mut [u8],
        ) -> Result<(), ExecuteError> {
            inner.read(memory, offset, into)?;
            into[3] ^= 0x40;
            Ok(())
        }
    }
    let gemm = Gemm::new(Elements::F32, [4, 4, 4]);
    let options = SweepOptions::default();
    let mut wrong = Layer::new(simulator(), Wrong);
    let found =
        sweep(&mut wrong, &gemm, &[parameters("tile 4x4")], &options, &mut |_| ControlFlow::Continue(()))
            .unwrap();
    assert!(matches!(found.heat.tried[0].outcome, Err(TryError::Wrong(_))));
    assert_eq!(found.entry("2026-01-02"), None);
}
