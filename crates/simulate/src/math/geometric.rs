//! Lengths of vectors, given as slices of their lanes.
//!
//! `half` and `float` are summed in `double`, whose range covers their squares; `double` is scaled by a power of two.

use super::basic::{is_infinite, is_nan};
use super::double;
use super::float::Float;

/// Sum of the products of lanes, over the lanes that both have.
pub fn dot<T: Float>(x: &[T], y: &[T]) -> T {
    T::nearest(x.iter().zip(y).map(|(x, y)| x.to_f64() * y.to_f64()).sum())
}

/// Euclidean length, without undue overflow or underflow. Infinite if any lane is infinite, else NaN if any lane is
/// NaN.
pub fn length<T: Float>(x: &[T]) -> T {
    T::nearest(norm(&x.iter().map(|x| x.to_f64())))
}

/// Length of x - y, over the lanes that both have.
pub fn distance<T: Float>(x: &[T], y: &[T]) -> T {
    T::nearest(norm(&x.iter().zip(y).map(|(x, y)| x.to_f64() - y.to_f64())))
}

/// x divided by its length, written to as many lanes of `unit` as x has. Zeros stay zero. A NaN makes all lanes NaN.
/// If there are infinite lanes, they count as ones and the finite lanes as zeros.
pub fn normalize<T: Float>(x: &[T], unit: &mut [T]) {
    let infinite = x.iter().any(|&x| is_infinite(x));
    let nan = x.iter().any(|&x| is_nan(x));
    let lane = |x: T| {
        let number: f64 = if is_infinite(x) { 1.0 } else { 0.0 };
        if infinite { number.copysign(x.to_f64()) } else { x.to_f64() }
    };
    let exponent = exponent(x.iter().map(|&x| lane(x)));
    let scaled = |x: T| double::ldexp(lane(x), -exponent);
    let length = x.iter().map(|&x| scaled(x) * scaled(x)).sum::<f64>().sqrt();
    for (unit, &x) in unit.iter_mut().zip(x) {
        let number = if length == 0.0 { x } else { T::nearest(scaled(x) / length) };
        *unit = if nan { T::from_bits(T::QUIET) } else { number };
    }
}

/// Square root of the sum of squares.
fn norm(numbers: &(impl Iterator<Item = f64> + Clone)) -> f64 {
    let exponent = exponent(numbers.clone());
    let squares = numbers.clone().map(|x| double::ldexp(x, -exponent)).map(|x| x * x);
    let norm = double::ldexp(squares.sum::<f64>().sqrt(), exponent);
    if numbers.clone().any(f64::is_infinite) { f64::INFINITY } else { norm }
}

/// The exponent of the largest magnitude.
fn exponent(numbers: impl Iterator<Item = f64>) -> i32 {
    double::frexp(numbers.fold(0.0, |most, x| if x.abs() > most { x.abs() } else { most })).1
}
