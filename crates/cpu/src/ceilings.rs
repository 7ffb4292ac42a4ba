//! Measured ceilings of the CPU, with which operations of the CPU path are compared.
//!
//! A multiply-add counts as 2 operations, a copied byte twice. Every result is compared with one computed separately,
//! so that no loop is optimised away unnoticed.

#![allow(
    clippy::inline_always,
    reason = "a body that is not inlined into pulp's dispatch stays without wide vectors"
)]

use std::hint::black_box;
use std::time::Instant;

use pulp::{Simd, WithSimd};

use crate::bands::share_out;
use crate::{CpuError, Threads, vectors};

/// Bytes of each buffer of the copy: several times the last-level cache of common CPUs.
const COPY_BYTES: usize = 128 << 20;
/// Repetitions of each measurement; the best counts.
const ROUNDS: usize = 7;
/// Multiply-adds that a thread does in sequence: some ten milliseconds.
const TURNS: usize = 1 << 21;

/// The type of the numbers of a multiply-add loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MultiplyAdd {
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// `i32`
    I32,
    /// `i16`
    I16,
}

/// Bytes per second, read plus written, of a copy from memory to memory. Takes about half a second.
pub fn copy_rate(threads: Threads) -> f64 {
    let source = vec![0x5A_u8; COPY_BYTES];
    let mut target = vec![0_u8; COPY_BYTES];
    let chunk = COPY_BYTES / threads.count();
    let best = best_seconds(|| {
        let chunks = black_box(&mut target).chunks_mut(chunk).zip(black_box(&source).chunks(chunk));
        share_out(chunks, threads, |(to, from)| to.copy_from_slice(from));
    });
    2.0 * COPY_BYTES as f64 / best
}

fn best_seconds(mut work: impl FnMut()) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// Operations per second of `x = x * factor + plus` over registers full of independent `x`. Takes some tens of
/// milliseconds.
///
/// # Errors
/// [`CpuError::WrongResult`] when the loop computed something wrong.
pub fn multiply_add_rate(kind: MultiplyAdd, threads: Threads) -> Result<f64, CpuError> {
    let mut done = vec![Done::default(); threads.count()];
    let arch = vectors::arch();
    let run = |done: &mut Done| {
        *done = match kind {
            MultiplyAdd::F32 => arch.dispatch(Floats),
            MultiplyAdd::F64 => arch.dispatch(Doubles),
            MultiplyAdd::I32 => arch.dispatch(Ints),
            MultiplyAdd::I16 => arch.dispatch(Shorts),
        };
    };
    let best = best_seconds(|| share_out(done.iter_mut(), threads, run));
    let want = match kind {
        MultiplyAdd::F32 | MultiplyAdd::F64 => FLOAT_RESULT,
        MultiplyAdd::I32 => (0..TURNS).fold(1_i32, |x, _| x.wrapping_mul(77).wrapping_add(31)).into(),
        MultiplyAdd::I16 => (0..TURNS).fold(1_i16, |x, _| x.wrapping_mul(77).wrapping_add(31)).into(),
    };
    match done.iter().find(|done| done.result != want || done.operations == 0) {
        Some(wrong) => {
            Err(CpuError::WrongResult { operation: "multiply_add_rate", found: wrong.result, want })
        }
        None => Ok(done.iter().map(|done| done.operations as f64).sum::<f64>() / best),
    }
}

/// The result of a loop.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    /// Operations, 2 for each multiply-add.
    operations: usize,
    /// One of the results, which are all equal; NaN when they are not.
    result: f64,
}

impl Done {
    fn new<T: Copy + PartialEq + Into<f64>>(lanes: &[T]) -> Self {
        let equal = lanes.iter().all(|lane| *lane == lanes[0]);
        let result = if equal { lanes[0].into() } else { f64::NAN };
        Self { operations: 2 * TURNS * lanes.len(), result }
    }
}

/// x = 0.5 x + 1 converges to its fixed point regardless of rounding.
const FLOAT_RESULT: f64 = 2.0;

/// Enough independent vectors to fill two pipes with a latency of up to six cycles each.
const VECTORS: usize = 12;

macro_rules! floats {
    ($name:ident, $type:ty, $splat:ident, $mul_add:ident) => {
        struct $name;

        impl WithSimd for $name {
            type Output = Done;

            #[inline(always)]
            fn with_simd<S: Simd>(self, simd: S) -> Done {
                let [factor, plus] = [0.5, 1.0].map(|value| simd.$splat(black_box(value)));
                let mut lanes = [simd.$splat(black_box(1.0)); VECTORS];
                for _ in 0..TURNS {
                    for lane in &mut lanes {
                        *lane = simd.$mul_add(*lane, factor, plus);
                    }
                }
                let lanes = black_box(lanes);
                Done::new::<$type>(bytemuck::cast_slice(&lanes))
            }
        }
    };
}

floats!(Floats, f32, splat_f32s, mul_add_e_f32s);
floats!(Doubles, f64, splat_f64s, mul_add_e_f64s);

macro_rules! integers {
    ($name:ident, $type:ty, $lanes:expr) => {
        struct $name;

        impl WithSimd for $name {
            type Output = Done;

            #[inline(always)]
            fn with_simd<S: Simd>(self, _: S) -> Done {
                let (factor, plus): ($type, $type) = black_box((77, 31));
                let mut lanes: [$type; $lanes] = black_box([1; $lanes]);
                for _ in 0..TURNS {
                    for lane in &mut lanes {
                        *lane = lane.wrapping_mul(factor).wrapping_add(plus);
                    }
                }
                Done::new(&black_box(lanes))
            }
        }
    };
}

// Six vectors of 64 bytes, or twelve of 32.
integers!(Ints, i32, 96);
integers!(Shorts, i16, 192);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_multiply_add_has_a_rate() {
        for kind in [MultiplyAdd::F32, MultiplyAdd::F64, MultiplyAdd::I32, MultiplyAdd::I16] {
            assert!(multiply_add_rate(kind, Threads::One).unwrap() > 0.0);
        }
    }
}
