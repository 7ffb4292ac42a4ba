//! Bandwidth of images.

use std::sync::Arc;

use tripipe_kernels::bench::Bench;
use tripipe_kernels::ceilings::memory::{buffer_bytes, check, pattern};
use tripipe_kernels::ceilings::{Effort, PeakError};
use tripipe_launch::{Argument, ChannelOrder, ChannelType, ImageShape, Launch, MemoryKind, NdRange, Program};

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

/// Bytes per second of an image of four channels.
pub(super) fn rate(bench: &mut Bench<'_>, texel: Texel, effort: Effort) -> Result<f64, PeakError> {
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
    let sum = |item| {
        let (x, y) = (item % width, item / width);
        let texels = (0..PER_ITEM).map(|j| ((j * rows + y) * width + x) * 4);
        texels.flat_map(|first| first..first + 4).map(value).sum()
    };
    bench.verify(sums, 4 * width * rows, |found| check(found, sum))?;
    Ok((shape.bytes() + 4 * width * rows) as f64 / seconds)
}
