//! Chains of image filters, as [`tripipe_kernels::filter`] specifies them.
//!
//! Rows pass through the whole chain, eight at a time: each stage stores the few rows its windows need, and requests the
//! next ones from the stage before. So only the source and the result pass through memory, whatever the number of
//! stages. Rows include the border's pixels at both ends, so that loops over them have no special cases; the neighbour
//! of a packed pixel is as many elements away as there are channels.
//!
//! Planes are filtered one by one, or as packed pixels if a stage mixes channels.

mod affine;
mod bilateral;
mod fold;
mod inside;
mod kernel;
mod linear;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod luma;
mod number;
mod order;
mod point;
mod rank;
mod resize;
mod rows;
mod semiplanar;
mod target;

use half::f16;
use pulp::Arch;
use tripipe_kernels::filter::{Border, Chain, ChannelLayout, FilterError, Linear, PixelType, Raster, Stage};

use super::{CpuError, Threads, laplace, vectors};
use linear::Weighed;
use point::{Convert, Recolor, Shade};
use rows::{Halved, Input, Pipe, PipeShape, Rows, Source};

pub use affine::affine;
pub use inside::filter_inside;
pub use resize::resize;
pub use semiplanar::{rgb_to_frame, rgb_to_semiplanar, semiplanar_to_rgb};

/// Filters an image: `source` has the layout `from`, and the pixels of `to` are written to `result`. Both slices hold
/// elements in host byte order; they need no alignment. Bytes between rows of `result` are unchanged. Images without
/// pixels are allowed.
///
/// Integer results are bit-identical to the specification; floating-point results, and those of 16-bit pixels with real
/// weights, are within its error.
///
/// # Errors
/// [`CpuError::Filter`] for anything that [`Chain::check`] refuses and for slices too short for their rasters; nothing
/// is written then.
pub fn filter(
    chain: &Chain,
    from: &Raster,
    source: &[u8],
    to: &Raster,
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    chain.check(from, to)?;
    check_raster("source", from, source)?;
    check_raster("result", to, result)?;
    if from.is_empty() {
        return Ok(());
    }
    if is_laplace(chain, from, to) {
        let (source, result) = (&source[..from.elements()?], &mut result[..to.elements()?]);
        laplace::laplace(source, result, from.size(), from.channels, threads);
        return Ok(());
    }
    let mixes = |stage: &Stage| matches!(stage, Stage::Color(_) | Stage::Bilateral(_));
    let planar = |raster: &Raster| raster.layout == ChannelLayout::Planar && raster.channels > 1;
    if !planar(from) || !planar(to) || chain.stages.iter().any(mixes) {
        return run(chain, from, source, to, result, threads);
    }
    for channel in 0..from.channels {
        let plane = |raster: &Raster| Raster {
            channels: 1,
            layout: ChannelLayout::Packed,
            offset: raster.offset + channel * raster.plane_pitch,
            plane_pitch: 0,
            ..*raster
        };
        let copied = chain.keep_alpha && channel == 3;
        let chain = if copied { alpha_alone(chain, from.element)? } else { chain.clone() };
        run(&chain, &plane(from), source, &plane(to), result, threads)?;
    }
    Ok(())
}

/// Whether it is the filter with a dedicated implementation, three times as fast: gray, RGB, or RGBA whose alpha is
/// kept, in bytes without gaps.
fn is_laplace(chain: &Chain, from: &Raster, to: &Raster) -> bool {
    let dense = Raster::packed(from.size(), from.channels, PixelType::U8);
    let channels = matches!((from.channels, chain.keep_alpha), (1 | 3, _) | (4, true));
    channels
        && [*from, *to] == [dense; 2]
        && chain.border == Border::None
        && chain.stages == [Stage::Linear(Linear::laplace_sharpen())]
}

pub(super) fn check_raster(what: &'static str, raster: &Raster, bytes: &[u8]) -> Result<(), FilterError> {
    let want = raster.elements()? * raster.element.bytes();
    if bytes.len() >= want { Ok(()) } else { Err(FilterError::Length { what, want, found: bytes.len() }) }
}

/// The effect of the chain on an alpha channel that is kept, as a separate chain.
fn alpha_alone(chain: &Chain, mut element: PixelType) -> Result<Chain, FilterError> {
    let mut stages = Vec::new();
    for stage in &chain.stages {
        let (_, to) = stage.output(4, element)?;
        let copied = Stage::Convert { to, scale: 1.0, offset: 0.0 };
        stages.push(if stage.keeps_alpha() { copied } else { stage.clone() });
        element = to;
    }
    Ok(chain.with_stages(stages))
}

/// Filters on all threads, as packed pixels.
fn run(
    chain: &Chain,
    from: &Raster,
    source: &[u8],
    to: &Raster,
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    target::write(to, result, step_of(chain), threads, &|| {
        pipe(chain, Source { raster: *from, bytes: source }, vectors::arch())
    })
}

/// The rows of which a band has a multiple.
fn step_of(chain: &Chain) -> usize {
    /// Rows of a band for each row above and below that windows read, which the neighbouring bands compute as well.
    const ROWS_PER_RADIUS: usize = 8;

    let radius: usize = chain.stages.iter().map(|stage| stage.window().height / 2).sum();
    (ROWS_PER_RADIUS * radius).max(1)
}

/// The rows of the chain's result.
fn pipe<'a>(chain: &Chain, source: Source<'a>, arch: Arch) -> Result<Pipe<'a>, FilterError> {
    let Raster { width, height, mut channels, mut element, .. } = source.raster;
    let mut pipe = source.pipe();
    for (index, stage) in chain.stages.iter().enumerate() {
        let shape = PipeShape {
            width,
            height,
            channels,
            border: chain.border,
            keep_alpha: chain.keep_alpha && channels == 4,
        };
        let outside = match chain.border {
            Border::Constant(value) if element == PixelType::F16 => f16::from_f32(value).to_f32(),
            Border::Constant(value) => value,
            _ => 0.0,
        };
        let to;
        (channels, to) = stage.output(channels, element)?;
        pipe = match pipe {
            Pipe::U8(rows) => apply(stage, rows, shape, outside, (channels, to), arch),
            Pipe::I16(rows) => apply(stage, rows, shape, outside, (channels, to), arch),
            Pipe::U16(rows) => apply(stage, rows, shape, outside, (channels, to), arch),
            Pipe::F32(rows) => apply(stage, rows, shape, outside, (channels, to), arch),
        }?;
        element = to;
        if let Pipe::F32(input) = pipe {
            let stored = element == PixelType::F16 && index + 1 < chain.stages.len();
            pipe = Pipe::F32(if stored { Box::new(Halved { input }) } else { input });
        }
    }
    Ok(pipe)
}

/// The rows of a stage's result, with `channels` channels of type `to`.
fn apply<'a, T: Weighed + Shade>(
    stage: &Stage,
    rows: Box<dyn Rows<T> + 'a>,
    shape: PipeShape,
    outside: f32,
    (channels, to): (usize, PixelType),
    arch: Arch,
) -> Result<Pipe<'a>, FilterError> {
    let input = Input { rows, shape, outside: T::from_float(outside) };
    Ok(match stage {
        Stage::Linear(linear) => match to {
            PixelType::U8 => Pipe::U8(T::linear(input, linear, arch)?),
            PixelType::I16 => Pipe::I16(T::linear(input, linear, arch)?),
            PixelType::U16 => Pipe::U16(T::linear(input, linear, arch)?),
            PixelType::F16 | PixelType::F32 => Pipe::F32(T::linear(input, linear, arch)?),
        },
        Stage::Gradient(gradient) => T::pipe(T::gradient(input, *gradient, arch)?),
        Stage::Median { size } => T::pipe(rank::median(input, *size, arch)),
        Stage::Morphology(morphology) => T::pipe(rank::morphology(input, *morphology, arch)),
        Stage::Rank(place) => T::pipe(order::ranked(input, *place, arch)),
        Stage::Bilateral(bilateral) => T::pipe(T::bilateral(input, *bilateral, arch)),
        Stage::Convert { scale, offset, .. } => {
            let convert = Convert::new(input.rows, [*scale, *offset], arch);
            match to {
                PixelType::U8 => Pipe::U8(Box::new(convert)),
                PixelType::I16 => Pipe::I16(Box::new(convert)),
                PixelType::U16 => Pipe::U16(Box::new(convert)),
                PixelType::F16 | PixelType::F32 => Pipe::F32(Box::new(convert)),
            }
        }
        Stage::Color(color) => {
            T::pipe(Box::new(Recolor::new(input.rows, *color, [shape.channels, channels], arch)))
        }
    })
}
