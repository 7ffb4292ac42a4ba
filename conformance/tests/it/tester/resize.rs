//! Images with other extents.

use fastrand::Rng;
use tripipe::filter::Interpolation;
use tripipe::{Context, Error, Image, Pixel};

use super::numbers::{Fill, Kind, Numbers, Span, choose, extent};
use super::rasters::{PIXELS, RasterLayout, Shape, element, image, places, size, smaller_sizes, with_pixel};
use super::verdict::{Expected, Right};

/// A resized image.
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    pub how: How,
    pub from: [usize; 2],
    pub to: [usize; 2],
    pub channels: usize,
    pub kind: Kind,
    pub place: RasterLayout,
    pub fill: Fill,
}

/// The kind of interpolation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    Nearest,
    Bilinear,
    Area,
}

/// The pixels that a result pixel reads along one axis: positions and weights.
type Taps = Vec<(usize, f64)>;

impl How {
    /// For an axis of `from` pixels that is resized to `to` pixels.
    fn taps(self, at: usize, from: usize, to: usize) -> Taps {
        let ratio = from as f64 / to as f64;
        match self {
            Self::Nearest => vec![((at as u128 * from as u128 / to as u128) as usize, 1.0)],
            Self::Bilinear => {
                let middle = ((at as f64 + 0.5) * ratio - 0.5).clamp(0.0, (from - 1) as f64);
                let left = middle.floor() as usize;
                let right = middle - left as f64;
                vec![(left, 1.0 - right), ((left + 1).min(from - 1), right)]
            }
            Self::Area => {
                let [begin, end] = [at * from, (at + 1) * from];
                let covered = |pixel: usize| {
                    let [left, right] = [pixel * to, (pixel + 1) * to];
                    right.min(end).saturating_sub(left.max(begin))
                };
                let pixels = begin / to..end.div_ceil(to);
                pixels.map(|pixel| (pixel, covered(pixel) as f64 / from as f64)).collect()
            }
        }
    }
}

impl Resize {
    pub fn draw(random: &mut Rng, details: &mut Rng) -> Self {
        let kind = choose(random, &PIXELS);
        let how = choose(random, &[How::Nearest, How::Bilinear, How::Area, How::Area]);
        let large = choose(details, &[10, 40, 90]);
        let mut axis = || match details.u32(..10) {
            // From thousands to a few, and from a few to hundreds.
            0 => [details.usize(1..3000), details.usize(1..4)],
            1 => [details.usize(1..4), details.usize(1..500)],
            2 => [details.usize(70..170), 1],
            _ => [extent(details, large), extent(details, large)],
        };
        let [[from_x, to_x], [from_y, to_y]] = [axis(), axis()];
        let (mut from, mut to) = ([from_x, from_y], [to_x, to_y]);
        // Limits the number of pixels, for speed.
        while from[0] * from[1] > 200_000 {
            from[1] /= 2;
        }
        while to[0] * to[1] > 60_000 {
            to[1] /= 2;
        }
        Self {
            how,
            from,
            to,
            channels: random.usize(1..=4),
            kind,
            place: RasterLayout::draw(random, details),
            fill: Fill { numbers: super::filters::numbers(details, kind), seed: details.u32(..) },
        }
    }

    fn shape(&self) -> Shape {
        [self.from[0], self.from[1], self.channels]
    }

    fn made(&self) -> (Shape, RasterLayout) {
        (
            [self.to[0], self.to[1], self.channels],
            RasterLayout { planar: self.place.planar, ..RasterLayout::DENSE },
        )
    }

    pub fn work(&self) -> f64 {
        (self.from[0] * self.from[1] + self.to[0] * self.to[1]) as f64 * self.channels as f64 * 8.0
    }

    pub fn place(&self, index: usize) -> String {
        let (shape, place) = self.made();
        place.name(shape, index)
    }

    pub fn smaller(&self) -> Vec<Self> {
        let mut found: Vec<Self> =
            smaller_sizes(self.from).into_iter().map(|from| Self { from, ..self.clone() }).collect();
        found.extend(smaller_sizes(self.to).into_iter().map(|to| Self { to, ..self.clone() }));
        found.extend((1..self.channels).map(|channels| Self { channels, ..self.clone() }));
        found.extend(self.place.smaller().into_iter().map(|place| Self { place, ..self.clone() }));
        for numbers in [Numbers::Flat(200), Numbers::Small] {
            found.push(Self { fill: Fill { numbers, ..self.fill }, ..self.clone() });
        }
        found.push(Self { kind: Kind::U8, ..self.clone() });
        found.retain(|smaller| smaller != self);
        found
    }

    /// The expected result. For integers, sums of the weights up to any pixel are off by at most half a step of 2^-11
    /// or 2^-18, so a result is off by at most that, times the differences between adjacent pixels. If only one of the
    /// images is empty, the operation is refused.
    pub fn expected(&self) -> Expected {
        if self.from.contains(&0) != self.to.contains(&0) {
            return Expected::Refused;
        }
        if self.to.contains(&0) {
            return Right::dense(self.kind, Vec::new());
        }
        let source = self.fill.bytes(self.kind, self.place.elements(self.shape()));
        let (shape, place) = self.made();
        let mut spans = vec![None; place.elements(shape)];
        let axis = |which: usize| -> Vec<Taps> {
            (0..self.to[which]).map(|at| self.how.taps(at, self.from[which], self.to[which])).collect()
        };
        let [across, down] = [axis(0), axis(1)];
        for at in places(shape) {
            let [x, y, channel] = at;
            let load = |x, y| self.kind.load(&source, self.place.index(self.shape(), [x, y, channel]));
            spans[place.index(shape, at)] = Some(self.pixel(&across[x], &down[y], load));
        }
        let before = vec![0; spans.len() * self.kind.bytes()];
        let same = !self.kind.is_float();
        Expected::Result(Right { kind: self.kind, before, spans, same, may_refuse: false })
    }

    fn pixel(
        &self,
        across: &[(usize, f64)],
        down: &[(usize, f64)],
        load: impl Fn(usize, usize) -> f64,
    ) -> Span {
        let (mut sum, mut least, mut most) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        let mut open = false;
        for (y, weight_y) in down {
            for (x, weight_x) in across {
                let value = load(*x, *y);
                let weight = weight_x * weight_y;
                if !value.is_finite() {
                    // A weight close to 0 may be rounded to 0.
                    open |= weight.abs() < 1e-6;
                    if weight == 0.0 {
                        continue;
                    }
                }
                sum += weight * value;
                (least, most) = (least.min(value), most.max(value));
            }
        }
        if open {
            return Span::any();
        }
        if self.kind.is_float() {
            let largest = least.abs().max(most.abs());
            if !sum.is_finite() || self.how == How::Nearest {
                return Span::exact(sum);
            }
            let roundings = (across.len() + down.len() + 8) as f64;
            let error = largest * roundings * 2f64.powi(-24) + 1e-37;
            return Span::exact(sum).widened(error).stored(self.kind);
        }
        // Bilinear weights are computed from positions in double precision, whose rounding at a half may be one step
        // off.
        let shrinks = |which: usize| self.how == How::Area && self.from[which] > 16 * self.to[which];
        let bits = if self.kind != Kind::U8 || shrinks(0) || shrinks(1) { 18 } else { 11 };
        let steps = |taps: &[(usize, f64)]| {
            if taps.len() > 1 { taps.len() as f64 * 2f64.powi(-bits - 1) } else { 0.0 }
        };
        let error = (steps(across) + steps(down)) * (most - least);
        let rounded = |value: f64| (value + 0.5).floor();
        Span {
            low: rounded(sum - error - 1e-9),
            value: rounded(sum),
            high: rounded(sum + error + 1e-9),
            any: false,
        }
        .stored(self.kind)
    }

    /// Runs it.
    ///
    /// # Errors
    /// An error of the library.
    pub fn run(&self, context: &Context) -> Result<Vec<u8>, Error> {
        with_pixel!(self.kind, T => self.run_as::<T>(context))
    }

    fn run_as<T: Pixel>(&self, context: &Context) -> Result<Vec<u8>, Error> {
        let source = self.fill.bytes(self.kind, self.place.elements(self.shape()));
        let source: Image<T> = image(context, self.place.raster(self.shape(), element(self.kind)), &source)?;
        let how = match self.how {
            How::Nearest => Interpolation::Nearest,
            How::Bilinear => Interpolation::Bilinear,
            How::Area => Interpolation::Area,
        };
        Ok(bytemuck::cast_slice(&source.resized(size(self.to), how)?.to_vec()?).to_vec())
    }
}
