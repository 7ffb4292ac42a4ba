//! Bandwidths: buffers, images, local memory.

use std::sync::Arc;

use bytemuck::cast_slice;
use tripipe_device::{DeviceKind, Probe};
use tripipe_launch::{
    Argument, ChannelOrder, ChannelType, ImageShape, Launch, MemoryId, MemoryKind, NdRange, Program,
};

use super::bench::Bench;
use super::{Effort, PeakError};

/// The transfer to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    Read,
    Write,
    Copy,
}

impl Transfer {
    pub(super) const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Copy];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "buffer read",
            Self::Write => "buffer write",
            Self::Copy => "buffer copy",
        }
    }
}

/// The channel type of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texel {
    Float,
    Byte,
}

impl Texel {
    pub(super) const ALL: [Self; 2] = [Self::Float, Self::Byte];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Float => "image read float",
            Self::Byte => "image read uchar",
        }
    }
}

/// Name of the row for local memory.
pub(super) const LOCAL: &str = "local read";

const MIB: usize = 1 << 20;
/// Enough work-items for full bandwidth on the largest GPUs; beyond that each does more work.
const ITEMS: usize = 1 << 20;

/// Bytes of one buffer: several times the last-level cache, a power of two, and within the device's limits.
///
/// Some drivers of discrete GPUs report their first-level cache, so the size is fixed there.
fn buffer_bytes(probe: &Probe, effort: Effort) -> usize {
    let discrete = probe.kind == DeviceKind::Gpu && !probe.unified_memory;
    let floor = if discrete { 512 * MIB } else { 64 * MIB };
    let (times, most) = match effort {
        Effort::Quick => (2, 128 * MIB),
        Effort::Full => (4, 512 * MIB),
    };
    let mut bytes =
        usize::try_from(probe.cache_bytes).unwrap_or(0).saturating_mul(times).max(floor).min(most);
    for limit in [probe.max_buffer_bytes / 4, probe.global_memory_bytes / 16] {
        if limit != 0 {
            bytes = bytes.min(usize::try_from(limit).unwrap_or(usize::MAX));
        }
    }
    1 << bytes.max(64 << 10).ilog2()
}

/// The float at an index of the source: 0 to 7, without a period that a stride could share.
fn pattern(index: usize) -> f32 {
    ((index as u32).wrapping_mul(2_654_435_761) >> 29) as f32
}

fn check(found: &[u8], mut want: impl FnMut(usize) -> f32) -> Result<(), PeakError> {
    let found =
        found.chunks_exact(4).map(|bytes| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    for (index, found) in found.enumerate() {
        let want = want(index);
        if found != want {
            return Err(PeakError::Wrong { what: format!("element {index} is {found}, expected {want}") });
        }
    }
    Ok(())
}

/// Bytes per second of a buffer, read plus written.
pub(super) fn buffer(
    bench: &mut Bench<'_>,
    transfer: Transfer,
    width: usize,
    effort: Effort,
) -> Result<f64, PeakError> {
    let bytes = buffer_bytes(bench.probe(), effort);
    let vectors = bytes / (4 * width);
    let per_item = (vectors / ITEMS).clamp(1, 16);
    let items = vectors / per_item;
    let program = Program::from_source("peaks/bandwidth.cl", include_str!("bandwidth.cl"))
        .define("WIDTH", width)
        .define("PER_ITEM", per_item);
    let program = Arc::new(program);
    let launch = |entry: &str, arguments: Vec<Argument>| Launch {
        program: Arc::clone(&program),
        entry: entry.to_owned(),
        arguments,
        range: NdRange::d1(items),
    };
    let source = |bench: &mut Bench<'_>| -> Result<(Vec<f32>, MemoryId), PeakError> {
        let contents: Vec<f32> = (0..bytes / 4).map(pattern).collect();
        let id = bench.input(&MemoryKind::Buffer { bytes }, cast_slice(&contents))?;
        Ok((contents, id))
    };
    let (seconds, moved) = match transfer {
        Transfer::Read => {
            let (contents, from) = source(bench)?;
            drop(contents);
            let sums = bench.output(4 * items)?;
            let launch = launch("read_bandwidth", vec![Argument::Memory(from), Argument::Memory(sums)]);
            let seconds = bench.best_seconds(&launch, effort)?;
            check(&bench.read(sums, 4 * items)?, |item| {
                let vectors = (0..per_item).map(|j| (j * items + item) * width);
                vectors.flat_map(|first| first..first + width).map(pattern).sum()
            })?;
            (seconds, bytes + 4 * items)
        }
        Transfer::Write => {
            let to = bench.output(bytes)?;
            let start = 3.0f32;
            let launch = launch("write_bandwidth", vec![Argument::Memory(to), start.into()]);
            let seconds = bench.best_seconds(&launch, effort)?;
            check(&bench.read(to, bytes)?, |index| start + ((index / width) % 256) as f32)?;
            (seconds, bytes)
        }
        Transfer::Copy => {
            let (contents, from) = source(bench)?;
            let to = bench.output(bytes)?;
            let launch = launch("copy_bandwidth", vec![Argument::Memory(from), Argument::Memory(to)]);
            let seconds = bench.best_seconds(&launch, effort)?;
            if bench.read(to, bytes)? != cast_slice::<f32, u8>(&contents) {
                return Err(PeakError::Wrong { what: "the copy differs from its source".to_owned() });
            }
            (seconds, 2 * bytes)
        }
    };
    Ok(moved as f64 / seconds)
}

/// Bytes per second of an image of four channels.
pub(super) fn image(bench: &mut Bench<'_>, texel: Texel, effort: Effort) -> Result<f64, PeakError> {
    const PER_ITEM: usize = 8;
    let probe = bench.probe();
    let Some(limits) = probe.images else {
        return Err(PeakError::NotOffered { what: "images".to_owned() });
    };
    let (channel, texel_bytes) = match texel {
        Texel::Float => (ChannelType::F32, 16),
        Texel::Byte => (ChannelType::UnormU8, 4),
    };
    let texels = buffer_bytes(probe, effort) / texel_bytes;
    let width = 1 << limits.max_2d[0].clamp(1, 4096).ilog2();
    let height = (texels / width).min(limits.max_2d[1]) / PER_ITEM * PER_ITEM;
    if height == 0 {
        return Err(PeakError::NotOffered { what: format!("images of {PER_ITEM} rows") });
    }
    let channels = 4 * width * height;
    let value = |index: usize| match texel {
        Texel::Float => pattern(index),
        Texel::Byte => f32::from(u8::from(pattern(index) >= 4.0)),
    };
    let contents: Vec<u8> = match texel {
        Texel::Float => (0..channels).flat_map(|index| value(index).to_ne_bytes()).collect(),
        Texel::Byte => (0..channels).map(|index| if value(index) == 0.0 { 0 } else { 255 }).collect(),
    };
    let shape = ImageShape::d2(width, height, ChannelOrder::Rgba, channel);
    let from = bench.input(&MemoryKind::Image(shape), &contents)?;
    let rows = height / PER_ITEM;
    let sums = bench.output(4 * width * rows)?;
    let program = Program::from_source("peaks/image_bandwidth.cl", include_str!("image_bandwidth.cl"))
        .define("PER_ITEM", PER_ITEM);
    let launch = Launch {
        program: Arc::new(program),
        entry: "image_bandwidth".to_owned(),
        arguments: vec![Argument::Memory(from), Argument::Memory(sums)],
        range: NdRange::d2(width, rows),
    };
    let seconds = bench.best_seconds(&launch, effort)?;
    check(&bench.read(sums, 4 * width * rows)?, |item| {
        let (x, y) = (item % width, item / width);
        let texels = (0..PER_ITEM).map(|j| ((j * rows + y) * width + x) * 4);
        texels.flat_map(|first| first..first + 4).map(value).sum()
    })?;
    Ok((shape.bytes() + 4 * width * rows) as f64 / seconds)
}

/// Bytes per second of local memory, over all compute units.
pub(super) fn local(bench: &mut Bench<'_>, effort: Effort) -> Result<f64, PeakError> {
    /// Offsets of the reads in an iteration, relative to the iteration's position, as in `local_bandwidth.cl`.
    const OFFSETS: [usize; 4] = [0, 1, 2, 5];
    /// A lane's sum, at most 7 per read, must stay below 2^24.
    const TURNS_MAX: usize = (1 << 24) / (7 * OFFSETS.len());
    let probe = bench.probe();
    let group_max = if probe.max_work_group_size == 0 { 64 } else { probe.max_work_group_size.min(256) };
    let group = 1 << group_max.max(1).ilog2();
    if group < 8 || probe.local_memory_bytes < 16 * group as u64 {
        return Err(PeakError::NotOffered { what: format!("local memory for work-groups of {group}") });
    }
    let groups = (16 * probe.compute_units.max(1) as usize).min(4096);
    let items = group * groups;
    let program = Program::from_source("peaks/local_bandwidth.cl", include_str!("local_bandwidth.cl"));
    let sums = bench.output(16 * items)?;
    let mut launch = Launch {
        program: Arc::new(program.define("GROUP", group)),
        entry: "local_bandwidth".to_owned(),
        arguments: vec![Argument::Memory(sums)],
        range: NdRange::d1(items).local(group, 1, 1),
    };
    let turned = |launch: &mut Launch, turns: usize| {
        launch.arguments.truncate(1);
        launch.arguments.push((turns as u32).into());
    };
    let mut turns = 64;
    turned(&mut launch, turns);
    bench.seconds(&launch)?;
    let mut seconds = bench.seconds(&launch)?;
    while seconds < effort.round_seconds() / 2.0 && turns < TURNS_MAX {
        turns = ((turns as f64 * (effort.round_seconds() / seconds.max(1e-9)).clamp(2.0, 64.0)) as usize)
            .min(TURNS_MAX);
        turned(&mut launch, turns);
        seconds = bench.seconds(&launch)?;
    }
    let best = bench.best_seconds(&launch, effort)?;
    // Element e holds (e + lane) % 8 and the group is a multiple of 8, so iterations repeat with period 8.
    let turn = |from: usize| OFFSETS.iter().map(|offset| (from + offset) % 8).sum::<usize>();
    let sum: Vec<usize> = (0..8)
        .map(|from| {
            let period: usize = (0..8).map(|t| turn(from + t)).sum();
            turns / 8 * period + (0..turns % 8).map(|t| turn(from + t)).sum::<usize>()
        })
        .collect();
    check(&bench.read(sums, 16 * items)?, |index| sum[(index / 4 % group + index % 4) % 8] as f32)?;
    Ok((16 * OFFSETS.len() * turns * items) as f64 / best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_fit_the_device() {
        let phone = Probe {
            kind: DeviceKind::Gpu,
            unified_memory: true,
            cache_bytes: 1 << 20,
            max_buffer_bytes: 128 << 20,
            global_memory_bytes: 4 << 30,
            ..Probe::default()
        };
        assert_eq!(buffer_bytes(&phone, Effort::Full), 32 << 20);
        let desktop = Probe {
            unified_memory: false,
            max_buffer_bytes: 16 << 30,
            global_memory_bytes: 64 << 30,
            ..phone.clone()
        };
        assert_eq!(buffer_bytes(&desktop, Effort::Full), 512 << 20);
        assert_eq!(buffer_bytes(&desktop, Effort::Quick), 128 << 20);
        let silent = Probe::default();
        assert_eq!(buffer_bytes(&silent, Effort::Full), 64 << 20);
    }
}
