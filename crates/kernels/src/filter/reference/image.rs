//! Values with the range that correct implementations may return, and images of them.

use half::f16;

use crate::filter::{Border, PixelType};

/// A value with the range that correct implementations may return.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) low: f64,
    pub(super) value: f64,
    pub(super) high: f64,
}

impl Spread {
    pub(super) fn exact(value: f64) -> Self {
        Self { low: value, value, high: value }
    }

    pub(super) fn is_exact(self) -> bool {
        self.low == self.high || self.value.is_nan()
    }

    /// Applies a non-decreasing function to all three.
    pub(super) fn map(self, rising: impl Fn(f64) -> f64) -> Self {
        Self { low: rising(self.low), value: rising(self.value), high: rising(self.high) }
    }

    pub(super) fn widened(self, error: f64) -> Self {
        Self { low: self.low - error, value: self.value, high: self.high + error }
    }

    /// Rounded to the nearest value of the element type (ties to even) and saturated.
    pub(super) fn stored(self, element: PixelType) -> Self {
        self.map(|value| nearest(element, value))
    }

    pub(super) fn accepts(self, found: f64) -> bool {
        let anything = self.low == f64::NEG_INFINITY && self.high == f64::INFINITY;
        if found.is_nan() { self.value.is_nan() || anything } else { self.low <= found && found <= self.high }
    }
}

/// Packed pixels without gaps.
pub(super) struct Image {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) channels: usize,
    pub(super) element: PixelType,
    pub(super) values: Vec<Spread>,
}

impl Image {
    pub(super) fn at(&self, [x, y, channel]: [usize; 3]) -> Spread {
        self.values[(y * self.width + x) * self.channels + channel]
    }

    /// The value that a window sees at `offset` from a pixel of the image.
    pub(super) fn seen(&self, [x, y, channel]: [usize; 3], offset: [isize; 2], border: Border) -> Spread {
        let across = folded(border, x as isize + offset[0], self.width as isize);
        let down = folded(border, y as isize + offset[1], self.height as isize);
        match (across, down, border) {
            (Some(x), Some(y), _) => self.at([x, y, channel]),
            (_, _, Border::Constant(value)) => Spread::exact(f64::from(value)).stored(self.element),
            // Not reached: without a border, windows that leave the image are not evaluated.
            _ => Spread::exact(0.0),
        }
    }
}

/// The coordinate inside the image whose pixel is seen at `place`, folded one border step at a time.
fn folded(border: Border, mut place: isize, extent: isize) -> Option<usize> {
    while place < 0 || place >= extent {
        place = match (border, place < 0) {
            (Border::None | Border::Constant(_), _) => return None,
            (Border::Replicate, true) => 0,
            (Border::Replicate, false) => extent - 1,
            (Border::Wrap, true) => place + extent,
            (Border::Wrap, false) => place - extent,
            (Border::Reflect, true) => -1 - place,
            (Border::Reflect, false) => 2 * extent - 1 - place,
            (Border::Reflect101, _) if extent == 1 => 0,
            (Border::Reflect101, true) => -place,
            (Border::Reflect101, false) => 2 * (extent - 1) - place,
        };
    }
    Some(place as usize)
}

/// The nearest value of the type: integers round ties to even and saturate; NaN becomes 0.
pub(super) fn nearest(element: PixelType, value: f64) -> f64 {
    let (low, high) = match element {
        PixelType::U8 => (0.0, 255.0),
        PixelType::I16 => (-32768.0, 32767.0),
        PixelType::U16 => (0.0, 65535.0),
        PixelType::F16 => return f16::from_f32(value as f32).to_f64(),
        PixelType::F32 => return f64::from(value as f32),
    };
    if value.is_nan() { 0.0 } else { value.max(low).min(high).round_ties_even() }
}
