//! The candidates of tuning.

use tripipe_device::{ImageLimits, Probe};
use tripipe_kernels::gemm::{Elements, Gemm, Unfit, best_guess_first, candidates, default_parameters};
use tripipe_launch::Executor;

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
fn the_best_guess_is_the_first_of_all_candidates() {
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
