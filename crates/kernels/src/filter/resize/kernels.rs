//! Weights that are a function of the distance: cubic convolution and Lanczos.

use std::f64::consts::PI;

use super::{Interpolation, Parts, ResizeTaps};

/// A weight that is a function of the distance.
#[derive(Clone, Copy)]
pub(super) enum DistanceWeight {
    Cubic,
    Lanczos4,
}

impl DistanceWeight {
    /// That of an interpolation, if it has one.
    pub(super) fn of(interpolation: Interpolation) -> Option<Self> {
        match interpolation {
            Interpolation::Cubic => Some(Self::Cubic),
            Interpolation::Lanczos4 => Some(Self::Lanczos4),
            Interpolation::Nearest | Interpolation::Bilinear | Interpolation::Area => None,
        }
    }

    /// The number of pixels on each side of a centre.
    fn reach(self) -> usize {
        match self {
            Self::Cubic => 2,
            Self::Lanczos4 => 4,
        }
    }

    /// The weight of a pixel at a distance of at most [`Self::reach`].
    ///
    /// Cubic: Keys, "Cubic convolution interpolation for digital image processing" (1981), with OpenCV's a.
    fn weight(self, distance: f64) -> f64 {
        const A: f64 = -0.75;
        match self {
            Self::Cubic if distance <= 1.0 => ((A + 2.0) * distance - (A + 3.0)) * distance * distance + 1.0,
            Self::Cubic => ((A * distance - 5.0 * A) * distance + 8.0 * A) * distance - 4.0 * A,
            Self::Lanczos4 if distance == 0.0 => 1.0,
            Self::Lanczos4 => {
                let angle = PI * distance;
                4.0 * angle.sin() * (angle / 4.0).sin() / (angle * angle)
            }
        }
    }

    /// The sums that turn `from` pixels into `to` pixels, both from 1 to 2^31 - 1.
    pub(super) fn taps(self, from: usize, to: usize) -> ResizeTaps {
        let reach = self.reach();
        let count = from.min(2 * reach);
        let (mut first, mut all) = (Vec::with_capacity(to), vec![0.0; count * to]);
        for (x, weights) in all.chunks_exact_mut(count).enumerate() {
            // The centre is `whole + part`; both are exact but for one division.
            let twice = (2 * x as i64 + 1) * from as i64 - to as i64;
            let unit = 2 * to as i64;
            let (whole, part) = (twice.div_euclid(unit), twice.rem_euclid(unit) as f64 / unit as f64);
            let start = whole + 1 - reach as i64;
            let begin = start.clamp(0, (from - count) as i64);
            first.push(begin as i32);
            for tap in 0..2 * reach as i64 {
                let away = (tap + 1 - reach as i64) as f64 - part;
                let seen = (start + tap).clamp(0, from as i64 - 1) - begin;
                weights[seen as usize] += self.weight(away.abs());
            }
            let sum: f64 = weights.iter().sum();
            // At a pixel's centre, sines of multiples of pi leave traces.
            let clean = |weight: f64| if weight.abs() < 1e-15 { 0.0 } else { weight };
            for weight in weights.iter_mut() {
                *weight = clean(*weight / sum);
            }
        }
        ResizeTaps { count, first, parts: Parts::Real(all) }
    }
}
