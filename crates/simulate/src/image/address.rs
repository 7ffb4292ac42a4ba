//! Maps a coordinate to texels, along one dimension.

use tripipe_launch::{Addressing, Sampler};

/// Beyond every texel: sizes fit an `i32`.
const FAR: f32 = (1_u32 << 31) as f32;

/// The part of a sampler that applies to coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) normalized: bool,
    pub(super) addressing: Addressing,
}

impl Address {
    pub(super) fn of(sampler: Sampler) -> Self {
        Self { normalized: sampler.normalized, addressing: sampler.addressing }
    }

    /// The texel that contains a coordinate; `None` outside the image.
    #[inline]
    pub(super) fn nearest(self, coordinate: f32, size: u32) -> Option<u32> {
        self.texel(floor(self.position(coordinate, size)), size)
    }

    /// The two texels around a coordinate, and the weight of the second: at least 0, less than 1.
    #[inline]
    pub(super) fn linear(self, coordinate: f32, size: u32) -> ([Option<u32>; 2], f32) {
        let position = self.position(coordinate, size) - 0.5;
        let below = floor(position);
        let texels = [below, below.saturating_add(1)].map(|position| self.texel(position, size));
        (texels, position - below as f32)
    }

    /// The coordinate in units of texels, from `-FAR` to `FAR`. NaN, which OpenCL leaves undefined, is treated as far
    /// below 0.
    #[inline]
    fn position(self, coordinate: f32, size: u32) -> f32 {
        let s = if coordinate.is_nan() { -FAR } else { coordinate.clamp(-FAR, FAR) };
        match self.addressing {
            Addressing::Repeat => (s - floor(s) as f32) * size as f32,
            Addressing::MirroredRepeat => (s - 2.0 * (0.5 * s).round_ties_even()).abs() * size as f32,
            _ if self.normalized => (s * size as f32).clamp(-FAR, FAR),
            _ => s,
        }
    }

    /// The texel at a position; `None` outside the image.
    #[inline]
    pub(super) fn texel(self, position: i32, size: u32) -> Option<u32> {
        let size = size.cast_signed();
        match self.addressing {
            Addressing::None | Addressing::Clamp => (0..size).contains(&position).then_some(position),
            Addressing::ClampToEdge | Addressing::MirroredRepeat => Some(position.clamp(0, size - 1)),
            Addressing::Repeat => Some(position.rem_euclid(size)),
        }
        .map(i32::cast_unsigned)
    }
}

/// The largest integer not above a number from `-FAR` to `FAR`; for `FAR` itself, the largest `i32`.
///
/// Without SSE 4.1, which x86-64 programs cannot assume, `f32::floor` is a call.
#[inline]
fn floor(number: f32) -> i32 {
    let cut = number as i32;
    cut - i32::from(cut as f32 > number)
}
