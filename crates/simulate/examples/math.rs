//! Measures the time of the mathematical functions in nanoseconds per element, in rows of 64 as the simulator calls
//! them, one by one and as arrays.
//!
//! `cargo run --release -p tripipe-simulate --example math`

#![allow(clippy::print_stdout, reason = "what it is for")]

use std::hint::black_box;
use std::time::Instant;

use half::f16;
use tripipe_ir::op::Builtin;
use tripipe_simulate::math::{self, Float};

const ROW: usize = 64;

/// The shortest of several times, in nanoseconds per element.
fn time_ns(mut run: impl FnMut()) -> f64 {
    const RUNS: u32 = 100;
    let mut least = f64::INFINITY;
    for _ in 0..20 {
        let start = Instant::now();
        for _ in 0..RUNS {
            run();
        }
        least = least.min(start.elapsed().as_nanos() as f64 / f64::from(RUNS) / ROW as f64);
    }
    least
}

fn row<T: Float>(least: f64, most: f64) -> [T; ROW] {
    std::array::from_fn(|i| T::nearest(least + (most - least) * i as f64 / ROW as f64))
}

/// Times of calls one by one and as arrays; `None` if there is no such function.
fn times<T: Float>(builtin: Builtin) -> Option<(f64, f64)> {
    // Values in the domain of most functions.
    let (x, y, z): ([T; ROW], [T; ROW], [T; ROW]) = (row(0.01, 0.99), row(0.5, 3.0), row(-1.0, 1.0));
    let mut out = [T::default(); ROW];
    if let (Some(one), Some(array)) = (math::float1::<T>(builtin), math::array1::<T>(builtin)) {
        let one = time_ns(|| {
            for (out, x) in out.iter_mut().zip(black_box(&x)) {
                *out = black_box(one)(*x);
            }
            black_box(&out);
        });
        let array = time_ns(|| {
            array(black_box(&x), &mut out);
            black_box(&out);
        });
        return Some((one, array));
    }
    if let (Some(one), Some(array)) = (math::float2::<T>(builtin), math::array2::<T>(builtin)) {
        let one = time_ns(|| {
            for ((out, x), y) in out.iter_mut().zip(black_box(&x)).zip(&y) {
                *out = black_box(one)(*x, *y);
            }
            black_box(&out);
        });
        let array = time_ns(|| {
            array(black_box(&x), &y, &mut out);
            black_box(&out);
        });
        return Some((one, array));
    }
    if let (Some(one), Some(array)) = (math::float3::<T>(builtin), math::array3::<T>(builtin)) {
        let one = time_ns(|| {
            for (((out, x), y), z) in out.iter_mut().zip(black_box(&x)).zip(&y).zip(&z) {
                *out = black_box(one)(*x, *y, *z);
            }
            black_box(&out);
        });
        let array = time_ns(|| {
            array(black_box(&x), &y, &z, &mut out);
            black_box(&out);
        });
        return Some((one, array));
    }
    None
}

fn main() {
    println!("ns an element    f16 by one   array    f32 by one   array    f64 by one   array");
    for &builtin in Builtin::ALL {
        let (Some(half), Some(single), Some(double)) =
            (times::<f16>(builtin), times::<f32>(builtin), times::<f64>(builtin))
        else {
            continue;
        };
        println!(
            "{:<16} {:10.2} {:7.2}    {:10.2} {:7.2}    {:10.2} {:7.2}",
            builtin.name(),
            half.0,
            half.1,
            single.0,
            single.1,
            double.0,
            double.1
        );
    }
}
