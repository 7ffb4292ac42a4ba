//! Points of the spaces of tuning, and parameters that do not fit a device.

use tripipe_device::{ImageLimits, Probe};
use tripipe_kernels::gemm::{Accumulate, Elements, Gemm, Parameters, ProductExtents, Unfit, space};
use tripipe_launch::Executor;

use super::{check, parameters, simulator};

#[test]
fn small_devices_are_not_asked_too_much() {
    let tiny = Probe {
        max_work_group_size: 64,
        max_work_item_sizes: [64; 3],
        local_memory_bytes: 32 << 10,
        images: Some(ImageLimits { max_2d: [64, 64], ..ImageLimits::default() }),
        ..Probe::default()
    };
    let gemm = Gemm::new(Elements::F32, ProductExtents { m: 256, n: 256, k: 256 });
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

/// Points at equal distances in the space give the correct result; sizes with edges in every dimension.
#[test]
fn points_of_the_space_compute_the_product() {
    let mut simulator = simulator();
    let probe = simulator.probe().clone();
    for (elements, [m, n, k]) in [
        (Elements::F32, [7, 13, 17]),
        (Elements::F16(Accumulate::F32), [9, 6, 10]),
        (Elements::I8ToI32, [5, 11, 19]),
        (Elements::F32, [1, 14, 33]),
    ] {
        let gemm = Gemm::new(elements, ProductExtents { m, n, k });
        let points: Vec<Parameters> = space(&gemm, &probe).points().collect();
        let mut drawn: Vec<Parameters> =
            (0..12).filter_map(|index| points.get(index * points.len() / 12 + index).copied()).collect();
        drawn.dedup();
        assert!(drawn.len() >= 6, "{elements:?} {m}x{n}x{k}: {} points", points.len());
        for point in drawn {
            check(&mut simulator, &gemm, &point.to_string());
        }
    }
}
