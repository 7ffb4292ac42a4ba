//! Chains of image filters, as [`tripipe_kernels::filter`] specifies them.
//!
//! Rows go through the whole chain one after the other: each stage keeps the few rows its window needs, and asks the stage
//! before for the next one. So nothing but the source and the result passes through memory, whatever the number of stages.
//! Rows have the border's pixels at both ends, so that loops over them have no cases; the neighbour of a packed pixel is as many elements away
//! as there are channels.
//!
//! Planes are filtered one by one, or go through the chain as packed pixels where a stage mixes channels.

mod bilateral;
mod fold;
mod kernel;
mod linear;
mod number;
mod point;
mod rank;
mod rows;

use std::ops::Range;
use std::sync::OnceLock;

use half::f16;
use pulp::Arch;
use tripipe_kernels::filter::{Border, Chain, Element, FilterError, Layout, Raster, Stage};

use super::bands::{band_rows, share_out};
use super::{CpuError, Threads};
use linear::Weighed;
use number::Number;
use point::{Convert, Recolor, Shade};
use rows::{Halved, Input, PART, Pipe, Rows, Shape, Source, store};

/// Makes an image of another: `source` is placed as `from` says, and the pixels of `to` are written to `result`. Both slices hold elements
/// in host order; they need no alignment. What lies between rows of `result` stays as it is. Images without pixels are allowed.
///
/// Integers are those of the specification to the bit, floating-point results within its error.
///
/// # Errors
/// [`CpuError::Filter`] for what [`Chain::check`] refuses and for slices too short for their rasters; nothing is written then.
pub fn filter(
    chain: &Chain,
    from: &Raster,
    source: &[u8],
    to: &Raster,
    result: &mut [u8],
    threads: Threads,
) -> Result<(), CpuError> {
    chain.check(from, to)?;
    check_length("source", from, source)?;
    check_length("result", to, result)?;
    if from.is_empty() {
        return Ok(());
    }
    let mixes = |stage: &Stage| matches!(stage, Stage::Color(_) | Stage::Bilateral(_));
    let planar = |raster: &Raster| raster.layout == Layout::Planar && raster.channels > 1;
    if !planar(from) || !planar(to) || chain.stages.iter().any(mixes) {
        return run(chain, from, source, to, result, threads);
    }
    for channel in 0..from.channels {
        let plane = |raster: &Raster| Raster {
            channels: 1,
            layout: Layout::Packed,
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

fn check_length(what: &'static str, raster: &Raster, bytes: &[u8]) -> Result<(), FilterError> {
    let want = raster.elements()? * raster.element.bytes();
    if bytes.len() >= want { Ok(()) } else { Err(FilterError::Length { what, want, found: bytes.len() }) }
}

/// What the chain does to alpha that is kept, as a chain of its own.
fn alpha_alone(chain: &Chain, mut element: Element) -> Result<Chain, FilterError> {
    let mut stages = Vec::new();
    for stage in &chain.stages {
        let (_, to) = stage.output(4, element)?;
        let copied = Stage::Convert { to, scale: 1.0, offset: 0.0 };
        stages.push(if stage.keeps_alpha() { copied } else { stage.clone() });
        element = to;
    }
    Ok(Chain { stages, ..*chain })
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
    /// Rows of a band for each row above and below that windows see, and that the bands beside it compute as well.
    const ROWS_PER_RADIUS: usize = 8;

    let arch = Arch::new();
    let bytes = to.element.bytes();
    let radius: usize = chain.stages.iter().map(|stage| stage.window()[1] / 2).sum();
    let step = (ROWS_PER_RADIUS * radius).max(1);
    let rows = band_rows(to.height, to.row_elements() * bytes, step, threads).unwrap_or(to.height);
    let failure = OnceLock::new();
    share_out(bands(to, result, rows).into_iter().enumerate(), |(index, planes)| {
        let first = index * rows;
        let filtered = pipe(chain, Source { raster: *from, bytes: source }, arch).map(|pipe| {
            let mut target = Target { raster: *to, planes, rows: first..to.height.min(first + rows) };
            match pipe {
                Pipe::U8(rows) => target.fill(rows),
                Pipe::I16(rows) => target.fill(rows),
                Pipe::U16(rows) => target.fill(rows),
                Pipe::F32(rows) => target.fill(rows),
            }
        });
        if let Err(error) = filtered {
            failure.get_or_init(|| error);
        }
    });
    failure.into_inner().map_or(Ok(()), |error| Err(error.into()))
}

/// Cuts an image into bands of as many rows: for each its part of every plane, or of the one with packed pixels.
fn bands<'a>(raster: &Raster, bytes: &'a mut [u8], rows: usize) -> Vec<Vec<&'a mut [u8]>> {
    let element = raster.element.bytes();
    let [stride, plane] =
        [raster.pitch.max(raster.row_elements()), raster.plane_pitch].map(|pitch| pitch * element);
    let planes = if raster.layout == Layout::Packed { 1 } else { raster.channels };
    let count = raster.height.div_ceil(rows);
    let mut bands: Vec<Vec<_>> = (0..count).map(|_| Vec::with_capacity(planes)).collect();
    let mut left = &mut bytes[raster.offset * element..];
    for index in 0..planes {
        let own = if index + 1 == planes { left.len() } else { plane };
        let (mine, rest) = std::mem::take(&mut left).split_at_mut(own);
        for (band, part) in bands.iter_mut().zip(mine.chunks_mut(rows * stride)) {
            band.push(part);
        }
        left = rest;
    }
    bands
}

/// Rows of the result.
struct Target<'a> {
    raster: Raster,
    /// Where the rows lie, from the first one on: one part, or one for each plane.
    planes: Vec<&'a mut [u8]>,
    rows: Range<usize>,
}

impl Target<'_> {
    fn fill<T: Number>(&mut self, mut rows: Box<dyn Rows<T> + '_>) {
        let Self { raster, planes, rows: range } = self;
        let Raster { width, channels, element, pitch, .. } = *raster;
        let mut scratch = [T::zeroed(); PART];
        let mut plane = [T::zeroed(); PART];
        let parts = (0..width * channels).step_by(PART);
        for (index, at) in (0..range.len()).flat_map(|index| parts.clone().map(move |at| (index, at))) {
            let y = (range.start + index) as isize;
            let len = PART.min(width * channels - at);
            let scratch = &mut scratch[..len];
            if let [packed] = &mut planes[..] {
                let out = &mut packed[(index * pitch + at) * element.bytes()..][..len * element.bytes()];
                match bytemuck::try_cast_slice_mut(out) {
                    Ok(out) if element != Element::F16 => rows.part(y, at, out),
                    _ => {
                        rows.part(y, at, scratch);
                        store(element, scratch, out);
                    }
                }
                continue;
            }
            rows.part(y, at, scratch);
            let plane = &mut plane[..len / channels];
            for (channel, out) in planes.iter_mut().enumerate() {
                for (value, pixel) in plane.iter_mut().zip(scratch.chunks_exact(channels)) {
                    *value = pixel[channel];
                }
                let bytes = plane.len() * element.bytes();
                store(element, plane, &mut out[(index * pitch + at / channels) * element.bytes()..][..bytes]);
            }
        }
    }
}

/// The rows of the chain's result.
fn pipe<'a>(chain: &Chain, source: Source<'a>, arch: Arch) -> Result<Pipe<'a>, FilterError> {
    let Raster { width, height, mut channels, mut element, .. } = source.raster;
    let mut pipe = source.pipe();
    for (index, stage) in chain.stages.iter().enumerate() {
        let shape = Shape {
            width,
            height,
            channels,
            border: chain.border,
            keep_alpha: chain.keep_alpha && channels == 4,
        };
        let outside = match chain.border {
            Border::Constant(value) if element == Element::F16 => f16::from_f32(value).to_f32(),
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
            let stored = element == Element::F16 && index + 1 < chain.stages.len();
            pipe = Pipe::F32(if stored { Box::new(Halved { input }) } else { input });
        }
    }
    Ok(pipe)
}

/// The rows of a stage's result, of `channels` and `to`.
fn apply<'a, T: Weighed + Shade>(
    stage: &Stage,
    rows: Box<dyn Rows<T> + 'a>,
    shape: Shape,
    outside: f32,
    (channels, to): (usize, Element),
    arch: Arch,
) -> Result<Pipe<'a>, FilterError> {
    let input = Input { rows, shape, outside: T::from_float(outside) };
    Ok(match stage {
        Stage::Linear(linear) => match to {
            Element::U8 => Pipe::U8(T::linear(input, linear, arch)?),
            Element::I16 => Pipe::I16(T::linear(input, linear, arch)?),
            Element::U16 => Pipe::U16(T::linear(input, linear, arch)?),
            Element::F16 | Element::F32 => Pipe::F32(T::linear(input, linear, arch)?),
        },
        Stage::Gradient(gradient) => T::pipe(T::gradient(input, *gradient, arch)?),
        Stage::Median { size } => T::pipe(rank::median(input, *size, arch)),
        Stage::Morphology(morphology) => T::pipe(rank::morphology(input, *morphology, arch)),
        Stage::Bilateral(bilateral) => T::pipe(bilateral::bilateral(input, *bilateral, arch)),
        Stage::Convert { scale, offset, .. } => {
            let convert = Convert::new(input.rows, [*scale, *offset], arch);
            match to {
                Element::U8 => Pipe::U8(Box::new(convert)),
                Element::I16 => Pipe::I16(Box::new(convert)),
                Element::U16 => Pipe::U16(Box::new(convert)),
                Element::F16 | Element::F32 => Pipe::F32(Box::new(convert)),
            }
        }
        Stage::Color(color) => {
            T::pipe(Box::new(Recolor::new(input.rows, *color, [shape.channels, channels], arch)))
        }
    })
}
