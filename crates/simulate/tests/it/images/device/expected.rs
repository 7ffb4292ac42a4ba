//! What to expect of a device: the cases that it must pass, and their tolerances.

use tripipe_device::{DeviceKind, Probe};
use tripipe_launch::{ChannelOrder, ChannelType, ImageExtent as E, ImageShape, Sampler};

/// The expectations for a device.
#[derive(Clone, Copy)]
pub(super) struct Knows {
    /// All cases. False for PoCL: alpha of `CL_R` and `CL_RG` images is 0 at the border and for integers, single
    /// channels of `CL_HALF_FLOAT` are treated as bytes, and up to 3.1 a normalised sampler normalises the layer of
    /// an array too.
    all: bool,
    /// Single precision, and rounding to nearest. Other devices: filters with 256 positions between two texels, sRGB
    /// to half a code (8.3.5), written numbers to the next code (8.3.1.2 and 8.3.2).
    exact: bool,
}

impl Knows {
    pub(super) fn of(probe: &Probe) -> Self {
        let all = probe.platform != "Portable Computing Language";
        Self { all, exact: probe.kind == DeviceKind::Cpu }
    }

    pub(super) fn format(self, order: ChannelOrder, channel: ChannelType) -> bool {
        self.all || channel != ChannelType::F16 || order.channels() > 1
    }

    pub(super) fn sampler(self, extent: E, sampler: Sampler) -> bool {
        self.all || !sampler.normalized || !matches!(extent, E::D1Array { .. } | E::D2Array { .. })
    }

    /// The components to compare.
    pub(super) fn components(self, order: ChannelOrder) -> std::ops::Range<usize> {
        match order {
            ChannelOrder::R if !self.all => 0..1,
            ChannelOrder::Rg if !self.all => 0..2,
            _ => 0..4,
        }
    }

    /// Tolerance of a component that is read without a filter.
    pub(super) fn tolerance(self, shape: &ImageShape) -> f32 {
        match shape.channel {
            // The steepest part of sRGB is 2.4 / 1.055 at 1.
            _ if shape.order.is_srgb() && !self.exact => 0.5 / 255.0 * 2.4 / 1.055,
            ChannelType::F16 | ChannelType::F32 => 0.0,
            channel if channel.is_integer() => 0.0,
            // Three units in the last place below 1, where 1.5 are allowed (8.3.1.1) and each side rounds.
            _ => 2e-7,
        }
    }

    /// Tolerance with a linear filter, for texels and border at most 4 apart.
    pub(super) fn filter_tolerance(self, shape: &ImageShape) -> f32 {
        // A step of positions along each of three dimensions, and one for the sum.
        let step = if self.exact { 1e-6 } else { 0.5 / 256.0 };
        let range = if shape.channel.bytes() == 1 || shape.channel.is_packed() { 2.0 } else { 4.0 };
        4.0 * range * step + self.tolerance(shape)
    }

    /// Whether the bytes are those that a write should leave.
    pub(super) fn written(self, shape: &ImageShape, found: &[u8], want: &[u8]) -> bool {
        let near = |found: &[u8], want: &[u8]| match (found, want) {
            ([a], [b]) => a.wrapping_sub(*b).cast_signed().abs() <= 1,
            ([a, b], [c, d]) => {
                let [found, want] = [[*a, *b], [*c, *d]].map(u16::from_ne_bytes);
                found.wrapping_sub(want).cast_signed().abs() <= 1
            }
            _ => found == want,
        };
        if self.exact || shape.channel.is_integer() || shape.channel.is_packed() {
            return found == want;
        }
        let bytes = shape.channel.bytes();
        found.chunks(bytes).zip(want.chunks(bytes)).all(|(found, want)| near(found, want))
    }
}
