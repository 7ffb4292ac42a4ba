//! Lengths of vectors, within the specification's bounds and without undue overflow.

use half::f16;
use rug::Float as Exact;
use tripipe_ir::op::{Builtin, Ulp};
use tripipe_simulate::math::geometric;

use crate::math::kind::{Kind, error, exactly};
use crate::math::samples;

/// Holds sums of squares of any two numbers.
const PRECISION: u32 = 4400;

fn norm(numbers: impl Iterator<Item = Exact>) -> Exact {
    numbers.fold(Exact::with_val(PRECISION, 0), |sum, x| sum + x.square()).sqrt()
}

fn bound<T: Kind>(builtin: Builtin, lanes: usize) -> f64 {
    let Ulp::Length(base, each) = builtin.ulp(T::SCALAR) else { panic!("{builtin:?} by its length") };
    f64::from(base) + f64::from(each) * lanes as f64
}

fn lengths<T: Kind>() {
    let mut rng = fastrand::Rng::with_seed(9);
    for lanes in 1..=4 {
        for _ in 0..1000 {
            // Lanes of similar magnitude, at every magnitude.
            let size = samples::any::<T>(&mut rng).to_f64();
            let size = if size.is_finite() { size } else { 1.0 };
            let mut vector =
                || -> Vec<T> { (0..lanes).map(|_| T::nearest(size * (rng.f64() - 0.5))).collect() };
            let (p, q) = (vector(), vector());
            let exact = |x: T| exactly(x, PRECISION);
            let length = norm(p.iter().map(|&x| exact(x)));
            let got = error(geometric::length(&p), &length);
            assert!(got <= bound::<T>(Builtin::Length, lanes), "length {p:?}: {got}");
            let distance = norm(p.iter().zip(&q).map(|(&x, &y)| exact(x) - exact(y)));
            let got = error(geometric::distance(&p, &q), &distance);
            assert!(got <= bound::<T>(Builtin::Distance, lanes), "distance {p:?} {q:?}: {got}");
            let mut unit = p.clone();
            geometric::normalize(&p, &mut unit);
            for (&x, &lane) in p.iter().zip(&unit) {
                let want = if length.is_zero() { exact(x) } else { exact(x) / length.clone() };
                let got = error(lane, &want);
                assert!(got <= bound::<T>(Builtin::Normalize, lanes), "normalize {p:?}: {got}");
            }
            // The specification's bound: the square of the greatest operand, times 2n - 1, times the last digit of 1.
            let dot = p
                .iter()
                .zip(&q)
                .fold(Exact::with_val(PRECISION, 0), |sum, (&x, &y)| sum + exact(x) * exact(y));
            let most = p.iter().chain(&q).fold(0.0, |most, x| x.to_f64().abs().max(most));
            let bound = (most * most) * (2 * lanes - 1) as f64 * 2f64.powi(1 - T::PRECISION as i32);
            let got = geometric::dot(&p, &q).to_f64();
            // The error of each of the 2n - 1 roundings when the result is subnormal.
            let least = T::of(1).to_f64() * (2 * lanes - 1) as f64;
            assert!(!got.is_finite() || (got - dot).abs() <= bound + least, "dot {p:?} {q:?}: {got}");
        }
    }
}

#[test]
fn half() {
    lengths::<f16>();
}

#[test]
fn single() {
    lengths::<f32>();
}

#[test]
fn double() {
    lengths::<f64>();
}

/// The specification's rules for `normalize`.
#[test]
fn normalize_of_zero_and_nan_vectors() {
    let normalize = |x: [f32; 3]| {
        let mut unit = [0.0; 3];
        geometric::normalize(&x, &mut unit);
        unit
    };
    assert_eq!(normalize([0.0, -0.0, 0.0]).map(f32::to_bits), [0.0, -0.0, 0.0].map(f32::to_bits));
    assert!(normalize([1.0, f32::NAN, 0.0]).iter().all(|x| x.is_nan()));
    assert_eq!(normalize([f32::NEG_INFINITY, 7.0, -7.0]), [-1.0, 0.0, 0.0]);
    let half = core::f32::consts::FRAC_1_SQRT_2;
    assert_eq!(normalize([f32::INFINITY, f32::NEG_INFINITY, 1e38]), [half, -half, 0.0]);
    assert_eq!(geometric::length(&[f32::INFINITY, 1.0]), f32::INFINITY);
    assert!(geometric::length(&[f32::NAN, 1.0]).is_nan());
}
