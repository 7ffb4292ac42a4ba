//! Filter chains, shared by a team.

use std::ops::Range;
use std::time::Instant;

use tripipe_device::Probe;
use tripipe_kernels::filter::{Border, Chain, ChannelLayout, Raster};

use super::{Band, BandTimes, Kind, SharedResult, Shares, Team, Work, room};
use crate::error::Fault;
use crate::filter::Filter;
use crate::image::elements_of;
use crate::memory::Memory;
use crate::operation::RunOn;
use crate::{Context, Error, Pixel};

/// Rows of a band for each row that windows read above and below it, which its neighbours load as well.
const ROWS_PER_RADIUS: usize = 8;
/// The minimum number of rows of a band.
const FEWEST_ROWS: usize = 16;

impl Team {
    /// Runs the chain over `source`, with the output in `result`, in bands of rows: integers are bit-identical to those
    /// of one device. Both slices hold elements in the layout of their rasters; of `result` only the pixels are
    /// written.
    ///
    /// A chain whose border is [`Border::Wrap`] is done by one member, and so is an image with too few rows for two
    /// bands.
    ///
    /// # Errors
    /// The chain does not make such a result from such an image; slices or rasters that do not match; every member
    /// failed, and then part of the result may be written.
    pub fn filter<S: Pixel, R: Pixel>(
        &self,
        chain: &Chain,
        from: &Raster,
        source: &[S],
        to: &Raster,
        result: &mut [R],
    ) -> Result<Shares, Error> {
        chain.check(from, to)?;
        check("the source", elements_of::<S>(from)?, source.len())?;
        let elements = elements_of::<R>(to)?;
        check("the result", elements, result.len())?;
        let radius: usize = chain.stages.iter().map(|stage| stage.window().height / 2).sum();
        let quantum = (ROWS_PER_RADIUS * radius).next_power_of_two().max(FEWEST_ROWS);
        let uncut = if from.is_empty() {
            Some("the image has no pixels".to_owned())
        } else if chain.border == Border::Wrap && radius > 0 {
            Some("windows at the first rows read the last rows".to_owned())
        } else if from.height < 2 * quantum {
            Some(format!("{} rows are too few for two bands of {quantum}", from.height))
        } else {
            None
        };
        let bytes = bytemuck::cast_slice_mut(&mut result[..elements]);
        let whole = SharedResult {
            band: Band { rows: 0..if from.is_empty() { 0 } else { from.height }, parts: planes(to, bytes) },
            pitch_bytes: pitch_bytes(to),
            quantum,
            uncut,
        };
        let flat = |raster: &Raster| Raster { height: 0, offset: 0, plane_pitch: 0, ..*raster };
        let kind = Kind::Filter(chain.clone(), Box::new([flat(from), flat(to)]));
        let work = Filtering { chain, from: *from, to: *to, source: bytemuck::cast_slice(source), radius };
        self.share(&kind, &work, whole)
    }
}

fn check(operand: &'static str, want: usize, found: usize) -> Result<(), Error> {
    if found >= want { Ok(()) } else { Err(Error::from(Fault::Length { operand, want, found })) }
}

/// The number of planes of an image: one when packed.
fn plane_count(raster: &Raster) -> usize {
    if raster.layout == ChannelLayout::Packed { 1 } else { raster.channels }
}

/// The distance between rows; a single row may have any pitch, so its length is used.
fn pitch_bytes(raster: &Raster) -> usize {
    raster.pitch.max(raster.row_elements()) * raster.element.bytes()
}

/// Bytes from the first pixel of a plane to its last, gaps included.
fn plane_bytes(raster: &Raster) -> usize {
    let rows = raster.height.saturating_sub(1) * raster.pitch;
    (rows + raster.row_elements()) * raster.element.bytes()
}

/// The rows of every plane.
fn planes<'r>(raster: &Raster, bytes: &'r mut [u8]) -> Vec<&'r mut [u8]> {
    if raster.is_empty() {
        return Vec::new();
    }
    let element = raster.element.bytes();
    let own = plane_bytes(raster);
    let mut left = &mut bytes[raster.offset * element..];
    let mut planes = Vec::new();
    for _ in 1..plane_count(raster) {
        let (plane, rest) = std::mem::take(&mut left).split_at_mut(raster.plane_pitch * element);
        planes.push(&mut plane[..own]);
        left = rest;
    }
    planes.push(&mut left[..own]);
    planes
}

struct Filtering<'a> {
    chain: &'a Chain,
    from: Raster,
    to: Raster,
    source: &'a [u8],
    radius: usize,
}

/// The resources of a member.
#[derive(Default)]
struct FilterResources {
    /// The chain for bands with these numbers of rows, including the rows around them.
    filters: Vec<Filter>,
    source: Option<Memory>,
    result: Option<Memory>,
    /// Rows for a result with gaps.
    made: Vec<u8>,
}

impl Filtering<'_> {
    /// The rasters of a band with `height` rows, as input for a member and as output of it. `apart` is whether the
    /// input has its own memory.
    fn rasters(&self, height: usize, apart: bool) -> Result<[Raster; 2], Error> {
        let mut from = Raster { height, offset: 0, ..self.from };
        if apart && from.layout == ChannelLayout::Planar {
            // A single row may have any pitch.
            from.plane_pitch = from.pitch.max(from.row_elements()) * height;
        }
        let mut to = self.chain.apply_to(&from)?;
        if to.layout != self.to.layout {
            to = Raster::dense(self.to.layout, to.size(), to.channels, to.element);
        }
        Ok([from, to])
    }
}

impl FilterResources {
    /// The index of the filter between these rasters, and the seconds for building it.
    fn filter(
        &mut self,
        context: &Context,
        chain: &Chain,
        [from, to]: &[Raster; 2],
    ) -> Result<(usize, f64), Error> {
        if let Some(place) = self.filters.iter().position(|filter| filter.is_between(from, to)) {
            return Ok((place, 0.0));
        }
        let start = Instant::now();
        // Not from the context's cache: its memory is freed when the work is done.
        self.filters.push(Filter::new(context, chain, from, to, RunOn::Device)?);
        Ok((self.filters.len() - 1, start.elapsed().as_secs_f64()))
    }
}

impl Work for Filtering<'_> {
    type Bench = FilterResources;

    fn most_rows(&self, probe: &Probe) -> usize {
        let row = (self.from.pitch * self.from.element.bytes() * plane_count(&self.from))
            .max(self.to.row_elements() * self.to.element.bytes() * plane_count(&self.to));
        match probe.max_buffer_bytes {
            0 => usize::MAX,
            most => (most as usize / row.max(1)).saturating_sub(2 * self.radius),
        }
    }

    fn set_up(&self, _: &Context) -> Result<(FilterResources, f64), Error> {
        Ok((FilterResources::default(), 0.0))
    }

    fn compute(
        &self,
        context: &Context,
        bench: &mut FilterResources,
        rows: Range<usize>,
        parts: &mut [&mut [u8]],
    ) -> Result<BandTimes, Error> {
        let above = rows.start.saturating_sub(self.radius);
        let below = (rows.end + self.radius).min(self.from.height);
        let on_host = context.probe().is_none();
        let [from, to] = self.rasters(below - above, !on_host)?;
        let (place, building) = bench.filter(context, self.chain, &[from, to])?;
        let FilterResources { filters, source, result, made } = bench;
        let filter = &filters[place];
        let first = |plane: usize| {
            (self.from.index(0, above, 0) + plane * self.from.plane_pitch) * from.element.bytes()
        };
        let row_bytes = to.row_elements() * to.element.bytes();
        let pitch_bytes = pitch_bytes(&self.to);
        let (plane_out, skipped) = (row_bytes * to.height, row_bytes * (rows.start - above));
        let wanted = row_bytes * rows.len();
        #[cfg(feature = "cpu")]
        if on_host {
            grow(made, to.elements()? * to.element.bytes())?;
            let start = Instant::now();
            filter.run_here(&self.source[first(0)..], made)?;
            let seconds = start.elapsed().as_secs_f64();
            for (plane, part) in parts.iter_mut().enumerate() {
                spread(&made[plane * plane_out + skipped..][..wanted], part, [row_bytes, pitch_bytes]);
            }
            return Ok(BandTimes { building, computing: Some(seconds) });
        }
        let source = room(context, source, from.elements()? * from.element.bytes())?;
        let result = room(context, result, to.elements()? * to.element.bytes())?;
        let plane_in = from.plane_pitch * from.element.bytes();
        for plane in 0..plane_count(&from) {
            source.write(plane * plane_in, &self.source[first(plane)..][..plane_bytes(&from)])?;
        }
        let computing = filter.run_over(source, result)?.seconds_if_taken()?;
        for (plane, part) in parts.iter_mut().enumerate() {
            if part.len() == wanted {
                result.read(plane * plane_out + skipped, part)?;
            } else {
                grow(made, wanted)?;
                result.read(plane * plane_out + skipped, made)?;
                spread(made, part, [row_bytes, pitch_bytes]);
            }
        }
        Ok(BandTimes { building, computing })
    }
}

/// Resizes the buffer to `bytes` bytes.
///
/// # Errors
/// There is not enough memory.
fn grow(made: &mut Vec<u8>, bytes: usize) -> Result<(), Error> {
    made.try_reserve(bytes.saturating_sub(made.len())).map_err(|_| Error::from(Fault::NoMemory { bytes }))?;
    made.resize(bytes, 0);
    Ok(())
}

/// Copies contiguous rows to rows `pitch_bytes` apart.
fn spread(rows: &[u8], to: &mut [u8], [row_bytes, pitch_bytes]: [usize; 2]) {
    for (row, to) in rows.chunks_exact(row_bytes.max(1)).zip(to.chunks_mut(pitch_bytes.max(1))) {
        to[..row_bytes].copy_from_slice(row);
    }
}
