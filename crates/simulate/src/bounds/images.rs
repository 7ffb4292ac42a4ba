//! The bounds of reads and writes of images.

use tripipe_ir as ir;
use tripipe_ir::Scalar;
use tripipe_ir::op::SamplerBits;
use tripipe_launch::{ChannelType, ImageExtent};

use super::Reason;
use super::interval::Interval;
use super::observer::Evaluation;
use super::registers::computed;
use super::step::cause_number;
use crate::execute::code::{Detail, ImageOperands, Inst};
use crate::execute::memory::pointer;
use crate::execute::ops::image::coordinates;
use crate::execute::rows::lanes;
use crate::execute::state::State;

impl Evaluation {
    /// Why a read of an image is open, by lane, and whether it converts normalised numbers.
    pub(super) fn image_reads(
        &self,
        s: &State<'_>,
        i: &Inst,
        sampled: bool,
    ) -> Vec<(usize, Option<Reason>, bool)> {
        let Detail::Image(access) = i.detail else { return Vec::new() };
        let operand = if sampled { 2 } else { 1 };
        let at = i.args[operand];
        let Some(coordinate) = s.kernel.insts[i.origin].operands.get(operand) else { return Vec::new() };
        let ty = s.kernel.ty(*coordinate);
        let read = |lane: usize| {
            let bound = s.images.get(s.warp.rows.words(i.args[0])[lane] as usize)?;
            let certain = (0..usize::from(ty.lanes()))
                .all(|component| self.intervals.read(s, at, ty, component, lane).0.is_certain());
            let bits =
                if sampled { SamplerBits::from_bits(s.warp.rows.words(i.args[1])[lane]) } else { None };
            let near_edge = access.float
                && bits.is_some_and(|bits| bits.normalized && !bits.linear)
                && near_edge(s, at, access, lane, bound.image.shape().extent);
            let reason = if !certain || near_edge {
                Some(Reason::Address)
            } else if access.float && bits.is_some_and(|bits| bits.linear) {
                Some(Reason::Filter)
            } else if self
                .intervals
                .global
                .any(pointer(bound.object, bound.offset as u64), bound.image.span_bytes() as u64)
            {
                Some(Reason::Operation)
            } else {
                None
            };
            let channel = bound.image.shape().channel;
            Some((lane, reason, access.texel.is_float() && !is_plain(channel)))
        };
        lanes(s.mask).filter_map(read).collect()
    }

    pub(super) fn image_read(&mut self, s: &State<'_>, i: &Inst, reads: &[(usize, Option<Reason>, bool)]) {
        let Some(result) = s.kernel.insts[i.origin].result else { return };
        let ty = s.kernel.ty(result);
        for (lane, reason, normalized) in reads.iter().copied() {
            for component in 0..usize::from(ty.lanes()) {
                let scalar = ty.scalar().unwrap_or(Scalar::F32);
                let computed = computed(s, i.out, ty, component, lane).unwrap_or(0.0);
                let found = match reason {
                    Some(reason) => Interval::open(computed, cause_number(i.origin, reason)),
                    // A normalised number has an error of 1.5 ULP; 0, 1 and -1 are exact.
                    None if normalized && ![0.0, 1.0, -1.0].contains(&computed) => {
                        super::interval::round(scalar, Interval::point(computed), 1.5, computed)
                    }
                    None => Interval::point(computed),
                };
                self.intervals.write(s, i.out, ty, component, lane, found);
            }
        }
    }

    /// A write to an image: the bounds of each channel as stored.
    pub(super) fn image_write(&mut self, s: &State<'_>, i: &Inst) {
        let Detail::Image(access) = i.detail else { return };
        let Some(value) = s.kernel.insts[i.origin].operands.get(2) else { return };
        let ty = s.kernel.ty(*value);
        for lane in lanes(s.mask).collect::<Vec<_>>() {
            let Some(bound) = s.images.get(s.warp.rows.words(i.args[0])[lane] as usize) else { continue };
            let at = coordinates(s, i.args[1], access, lane);
            let Some(offset) = bound.image.offset(at.map(u32::cast_signed)) else { continue };
            let coordinate = s.kernel.ty(s.kernel.insts[i.origin].operands[1]);
            let stray = !(0..usize::from(coordinate.lanes()))
                .all(|component| self.intervals.read(s, i.args[1], coordinate, component, lane).1);
            let channels = bound.image.stored_channels();
            let bytes = (bound.image.texel_bytes() / channels.len().max(1)) as u64;
            for (channel, component) in channels.iter().enumerate() {
                let component = if access.depth { 0 } else { usize::from(*component) };
                let (mut interval, mut plain) = self.intervals.read(s, i.args[2], ty, component, lane);
                if let Some(cause) = self.opened(s, i, lane, stray) {
                    (interval, plain) = (Interval::open(interval.exact, cause), false);
                }
                let address = pointer(bound.object, (bound.offset + offset) as u64 + channel as u64 * bytes);
                let (stored, exact) = stored(bound.image.shape().channel, interval, plain);
                let kept = Some(stored).filter(|_| !exact);
                self.intervals.global.write(address, bytes, kept);
                let float = matches!(bound.image.shape().channel, ChannelType::F16 | ChannelType::F32);
                let scalar = if float { Scalar::F32 } else { Scalar::I32 };
                self.note(s, i, lane, address, bytes, Some(scalar), stored, exact);
            }
        }
    }
}

/// Whether a channel's numbers are those that the kernel sees.
fn is_plain(channel: ChannelType) -> bool {
    matches!(
        channel,
        ChannelType::F16
            | ChannelType::F32
            | ChannelType::I8
            | ChannelType::I16
            | ChannelType::I32
            | ChannelType::U8
            | ChannelType::U16
            | ChannelType::U32
    )
}

/// Whether a normalised coordinate lies so near to the edge of a texel that its rounding decides which one is read.
fn near_edge(s: &State<'_>, slot: u32, access: ImageOperands, lane: usize, extent: ImageExtent) -> bool {
    let sizes = [extent.width(), extent.height(), extent.slices()];
    let at = coordinates(s, slot, access, lane);
    (0..usize::from(access.coordinates).min(3)).any(|dimension| {
        let scaled = f64::from(f32::from_bits(at[dimension])) * sizes[dimension] as f64;
        (scaled - scaled.round()).abs() < 1e-3
    })
}

/// The bounds of a channel in memory, and whether only one number is allowed.
fn stored(channel: ChannelType, interval: Interval, plain: bool) -> (Interval, bool) {
    if interval.is_open() {
        return (interval, false);
    }
    let scale = match channel {
        ChannelType::UnormU8 => Some((0.0, 255.0)),
        ChannelType::UnormU16 => Some((0.0, 65535.0)),
        ChannelType::SnormI8 => Some((-127.0, 127.0)),
        ChannelType::SnormI16 => Some((-32767.0, 32767.0)),
        _ => None,
    };
    if let Some((least, most)) = scale {
        // Rounding to the nearest is preferred, with an error of at most 0.6.
        let low = (interval.low * most - 0.6).ceil().clamp(least, most);
        let high = (interval.high * most + 0.6).floor().clamp(least, most);
        let exact = interval.exact * most;
        return (Interval { exact, low, high, ..interval }, false);
    }
    match channel {
        ChannelType::F16 => {
            let low = super::interval::rounded(Scalar::F16, interval.low, ir::op::Rounding::Down);
            let high = super::interval::rounded(Scalar::F16, interval.high, ir::op::Rounding::Up);
            (Interval { low, high, ..interval }, false)
        }
        channel if is_plain(channel) => (interval, plain),
        // Packed formats, whose channels share a number.
        _ if plain => (interval, true),
        _ => (Interval::open(interval.exact, 3), false),
    }
}
