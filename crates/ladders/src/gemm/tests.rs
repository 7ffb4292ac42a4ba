use super::*;
use crate::problem::Expected;

fn inputs() -> Inputs<'static> {
    Inputs { photo: None, seed: 7 }
}

fn within(problem: &Problem) -> (&[f64], &[f64]) {
    match &problem.expected {
        Expected::Within { reference, bound, .. } => (reference, bound),
        Expected::Exact(_) => panic!("a product has a tolerance"),
    }
}

#[test]
fn reference_is_the_textbook_sum() {
    // Sizes that are not multiples of the reference's blocks of 4 columns and 32 rows, and sizes above its threshold
    // for threads.
    for [m, n, k] in [[1, 1, 1], [2, 3, 5], [33, 9, 4], [5, 4, 7], [70, 65, 66]] {
        let problem = LADDER.make_problem(Size::Matrix { m, n, k }, &inputs()).unwrap();
        let (reference, bound) = within(&problem);
        let [a, b] = [0, 1].map(|operand| problem.inputs[operand].as_f32().unwrap());
        for row in 0..m {
            for column in 0..n {
                let product = |i: usize| f64::from(a[row * k + i]) * f64::from(b[i * n + column]);
                let want: f64 = (0..k).map(product).sum();
                let magnitude: f64 = (0..k).map(|i| product(i).abs()).sum();
                let index = row * n + column;
                assert!((reference[index] - want).abs() < 1e-13 * magnitude, "{m}x{n}x{k} at {index}");
                let want = 2.0 * k as f64 * 2f64.powi(-24) * magnitude;
                assert!((bound[index] - want).abs() < 1e-6 * want, "{m}x{n}x{k} at {index}");
            }
        }
    }
}

#[test]
fn serial_is_within_the_bound() {
    for ladder in [LADDER, LADDER_F16] {
        for [m, n, k] in [[1, 1, 1], [17, 9, 5], [33, 65, 131]] {
            let problem = ladder.make_problem(Size::Matrix { m, n, k }, &inputs()).unwrap();
            let mut c = problem.expected.blank_output();
            (ladder.serial)(&problem, &mut c);
            problem.expected.verify(c.bytes()).unwrap();
        }
    }
}

/// The tolerance for half sums accepts real half sums, and is well below the size of the elements.
#[test]
fn half_tolerance_fits_half_sums() {
    for k in [1, 16, 256, 1024] {
        let (m, n) = (16, 16);
        let problem = LADDER_F16.make_problem(Size::Matrix { m, n, k }, &inputs()).unwrap();
        let (reference, bound) = within(&problem);
        let [a, b] = [0, 1].map(|operand| problem.inputs[operand].as_f16().unwrap());
        let mut worst = 0.0f64;
        for index in 0..m * n {
            let (row, column) = (index / n, index % n);
            let mut unfused = f16::ZERO;
            let mut fused = f16::ZERO;
            for i in 0..k {
                let (a, b) = (a[row * k + i], b[i * n + column]);
                unfused += a * b;
                fused = f16::from_f64(a.to_f64() * b.to_f64() + fused.to_f64());
            }
            for sum in [unfused, fused] {
                let error = (sum.to_f64() - reference[index]).abs();
                assert!(error <= bound[index], "k {k}: {error} of {}", bound[index]);
                worst = worst.max(error / bound[index]);
            }
        }
        let spread =
            (reference.iter().map(|value| value * value).sum::<f64>() / reference.len() as f64).sqrt();
        let typical = bound.iter().sum::<f64>() / bound.len() as f64;
        println!("k {k}: worst error {worst:.3} of the bound; bound {typical:.4}, elements {spread:.3}");
        assert!(
            typical < 0.25 * spread,
            "k {k}: a bound of {typical} tells nothing about elements of {spread}"
        );
    }
}

#[test]
fn operands_are_measured() {
    let (a, b) = (vec![0; 4 * 6], vec![0; 4 * 12]);
    assert!(DenseProduct::new([&a, &b], [2, 4, 3], Float::F32).is_ok());
    for extents in [[2, 4, 4], [3, 4, 3], [2, 5, 3], [0, 4, 3], [2, 0, 3], [2, 4, 0], [usize::MAX, 1, 2]] {
        let refused = DenseProduct::new([&a, &b], extents, Float::F32);
        assert!(matches!(refused, Err(PlanError::Operand { .. })), "{extents:?}");
    }
    assert!(DenseProduct::new([&a, &b], [2, 4, 3], Float::F16).is_err());
}

#[test]
fn a_device_without_a_thing_is_not_offered_it() {
    let (a, b) = (vec![0; 4 * 6], vec![0; 4 * 12]);
    let product = DenseProduct::new([&a, &b], [2, 4, 3], Float::F32).unwrap();
    let tile = Tile { rows: Side::Image4, ..TILE_4X4 };
    let refused =
        |kernel, product: &DenseProduct<'_>, probe: &Probe| plan(kernel, product, probe).unwrap_err();

    let bare = Probe::default();
    assert!(matches!(refused(GemmKernel::Tile(tile), &product, &bare), PlanError::NotOffered { .. }));
    let half = DenseProduct::new([&a[..12], &b[..24]], [2, 4, 3], Float::F16).unwrap();
    assert!(matches!(refused(GemmKernel::Naive, &half, &bare), PlanError::NotOffered { .. }));

    let tiny_images = tripipe_device::ImageLimits { max_2d: [16, 2], ..Default::default() };
    let small = Probe { images: Some(tiny_images), max_buffer_bytes: 63, ..Probe::default() };
    assert!(matches!(
        refused(GemmKernel::Tile(tile), &product, &small),
        PlanError::OverLimit { limit: 2, .. }
    ));
    // Packed for the tile of four rows, A takes 3 x 4 elements; C takes 2 x 4.
    let less = Probe { max_buffer_bytes: 47, ..Probe::default() };
    assert!(matches!(
        refused(GemmKernel::Tile(TILE_4X4), &product, &less),
        PlanError::OverLimit { limit: 47, .. }
    ));
    assert!(plan(GemmKernel::Naive, &product, &less).is_ok());
}

#[test]
fn the_sweep_is_small_and_never_empty() {
    assert!(!candidates(&Probe { max_work_group_size: 1, ..Probe::default() }).is_empty());
    let large = Probe {
        max_work_group_size: 1024,
        local_memory_bytes: 48 << 10,
        images: Some(tripipe_device::ImageLimits::default()),
        ..Probe::default()
    };
    let found = candidates(&large);
    assert!(found.len() <= 32, "{}", found.len());
    let mut labels: Vec<_> = found.iter().map(|(label, _)| label.clone()).collect();
    labels.sort();
    labels.dedup();
    assert_eq!(labels.len(), found.len());
    assert!(labels.iter().any(|label| label.contains("local")));
    let mali = Probe { name: "Mali-G610 MC4 r0p0".to_owned(), ..large };
    assert!(!candidates(&mali).iter().any(|(label, _)| label.contains("local")));
}
