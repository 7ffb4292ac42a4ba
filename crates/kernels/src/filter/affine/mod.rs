//! Images under affine maps: turned, scaled, sheared, moved.

mod reference;

use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_launch::NdRange;

use super::pixel::elements;
use super::plan::{arguments, indexable};
use super::resize::{check, work_group};
use super::window::{border_defines, float};
use super::{Border, FilterError, Interpolation, PixelType, Raster, Size};
use crate::Role;
use crate::plan::{Plan, PlanError};
use crate::source::AFFINE;

pub use reference::affine_reference;

/// A unit of places: 2^-32 pixels.
const PIXEL: f64 = (1u64 << 32) as f64;

/// The largest place in pixels: sums of products stay within 64 bits, and pixels around them within 32.
const FARTHEST: f64 = (1 << 30) as f64;

/// Where the pixels of a result are in the source, both counted from the centre of the first pixel.
///
/// Pixel (x, y) of the result shows the place `x[0] x + x[1] y + x[2]` columns right of the first pixel of the source, and
/// `y[0] x + y[1] y + y[2]` rows below it. The numbers are rounded to multiples of 2^-32, and places are exact sums of
/// products of these.
///
/// *Nearest*: the pixel at the place plus one half, rounded down. *Linear*, *cubic*: the product of a weight along each
/// axis, with `t` the fraction of the place: 1 - t and t of the two pixels around it, and Keys' cubic convolution with a
/// = -0.75 of the four around it, `t` rounded down to a multiple of 2^-16. Integers as with [`Interpolation`]: weights are
/// rounded, half up, to multiples of 2^-11 for bytes and 2^-18 for 16 bits, and the pixel left of the place or above it
/// has what the others leave of 1; the sum is exact, and rounded once, half up, and saturated. Floating-point numbers are
/// within 12 x 2^-24 of the largest magnitude that is read, three times that for cubic interpolation. A pixel of weight 0
/// is not read.
///
/// Pixels outside the source are those of a [`Border`], but not [`Border::None`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AffineMap {
    /// The column: what it grows by for each column and row of the result, and that of its first pixel.
    pub x: [f64; 3],
    /// The row, likewise.
    pub y: [f64; 3],
}

impl AffineMap {
    /// The map that turns an image by `degrees` anticlockwise about its centre, and the size of the result: that of the
    /// source, or, if `whole`, such that all of the turned image is in it, rounded to the nearest. Multiples of 90 degrees
    /// are exact.
    ///
    /// # Errors
    /// An angle that is not a finite number.
    pub fn rotation(degrees: f64, from: Size, whole: bool) -> Result<(Self, Size), FilterError> {
        if !degrees.is_finite() {
            return Err(FilterError::NotFinite);
        }
        let quarters = (degrees / 90.0).round();
        let (sin, cos) = (degrees - 90.0 * quarters).to_radians().sin_cos();
        let (sin, cos) = match quarters.rem_euclid(4.0) as u8 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        };
        let [width, height] = [from.width as f64, from.height as f64];
        let extent = |own: f64, other: f64| (own * cos.abs() + other * sin.abs() + 0.5) as usize;
        let to = if whole { Size::new(extent(width, height), extent(height, width)) } else { from };
        let centre = |extent: f64| (extent - 1.0) / 2.0;
        let [x, y] = [centre(to.width as f64), centre(to.height as f64)];
        let map = Self {
            x: [cos, -sin, centre(width) - (cos * x - sin * y)],
            y: [sin, cos, centre(height) - (sin * x + cos * y)],
        };
        Ok((map, to))
    }

    /// The numbers in units of 2^-32: of the column, and of the row.
    ///
    /// # Errors
    /// A number that is not finite; a place further than 2^30 pixels from the first one, for a result of `to` pixels.
    pub fn steps(&self, to: Size) -> Result<[[i64; 3]; 2], FilterError> {
        let farthest =
            |[x, y, start]: [f64; 3]| x.abs() * to.width as f64 + y.abs() * to.height as f64 + start.abs();
        for numbers in [self.x, self.y] {
            if !numbers.iter().all(|number| number.is_finite()) {
                return Err(FilterError::NotFinite);
            }
            if farthest(numbers) >= FARTHEST {
                return Err(FilterError::Affine { why: "leads further than 2^30 pixels away" });
            }
        }
        Ok([self.x, self.y].map(|numbers| numbers.map(|number| (number * PIXEL).round() as i64)))
    }

    /// Checks that there is such an interpolation and such a border, and that the images fit. Returns [`Self::steps`].
    ///
    /// # Errors
    /// They do not; as [`Self::steps`].
    pub fn check(
        &self,
        interpolation: Interpolation,
        border: Border,
        [from, to]: [&Raster; 2],
    ) -> Result<[[i64; 3]; 2], FilterError> {
        if matches!(interpolation, Interpolation::Area | Interpolation::Lanczos4) {
            return Err(FilterError::Affine {
                why: "is offered with nearest, linear and cubic interpolation",
            });
        }
        if border == Border::None {
            return Err(FilterError::Affine { why: "has no border `none`" });
        }
        check(from, to)?;
        self.steps(to.size())
    }
}

/// Bits after the binary point of the weights of integers, as [`Interpolation::bits`].
pub(super) fn bits(element: PixelType) -> u32 {
    if element == PixelType::U8 { 11 } else { 18 }
}

/// The image `from` under a map: from the buffer of [`Role::Source`] to that of [`Role::Result`], which must differ. Only
/// the pixels of `to` are written.
///
/// # Errors
/// As [`AffineMap::check`]; an image that a `uint` cannot index.
pub fn affine(
    map: &AffineMap,
    interpolation: Interpolation,
    border: Border,
    from: &Raster,
    to: &Raster,
    probe: &Probe,
) -> Result<Plan<'static>, PlanError> {
    let steps = map.check(interpolation, border, [from, to])?;
    indexable(from)?;
    indexable(to)?;
    let mut plan = Plan::new();
    let slots = [Role::Source, Role::Result].map(|role| plan.operand(role));
    if to.is_empty() {
        return Ok(plan);
    }
    let is_float = from.element.is_float();
    let sum = match from.element {
        _ if is_float => "float",
        PixelType::U8 => "int",
        _ => "long",
    };
    let taps = match interpolation {
        Interpolation::Nearest => 1,
        Interpolation::Cubic => 4,
        _ => 2,
    };
    let literal = |value: f64| if is_float { float(value) } else { value.to_string() };
    let program = elements(AFFINE.program(), [from, to])
        .define("SUM", sum)
        .define("BITS", bits(from.element))
        .define("SIGNED", usize::from(interpolation.is_signed()))
        .define("TAPS", taps);
    let program = border_defines(program, border, from.element, literal);
    let extents = [from.width, from.height].map(|extent| extent as i32);
    let arguments = arguments(slots, [None; 2], [from, to], to.size()).with_all(extents);
    let arguments = arguments.with_all(steps.into_iter().flatten());
    let group = work_group(probe);
    let range = NdRange::d2(to.width.next_multiple_of(group[0]), to.height.next_multiple_of(group[1]));
    plan.launch(&Arc::new(program), "filter_affine", arguments, range.local(group[0], group[1], 1));
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four quarters are the image again, and a quarter moves the last column to the first row.
    #[test]
    fn quarters_are_exact() -> Result<(), FilterError> {
        let from = Size::new(7, 4);
        for (degrees, [x, y], size) in [
            (0.0, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], from),
            (90.0, [[0.0, -1.0, 6.0], [1.0, 0.0, 0.0]], Size::new(4, 7)),
            (-270.0, [[0.0, -1.0, 6.0], [1.0, 0.0, 0.0]], Size::new(4, 7)),
            (180.0, [[-1.0, 0.0, 6.0], [0.0, -1.0, 3.0]], from),
            (270.0, [[0.0, 1.0, 0.0], [-1.0, 0.0, 3.0]], Size::new(4, 7)),
            (3600.0, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], from),
        ] {
            assert_eq!(AffineMap::rotation(degrees, from, true)?, (AffineMap { x, y }, size), "{degrees}");
        }
        Ok(())
    }

    #[test]
    fn what_is_not_offered_is_refused() {
        let raster = Raster::packed(Size::new(4, 3), 1, PixelType::U8);
        let plain = AffineMap { x: [1.0, 0.0, 0.0], y: [0.0, 1.0, 0.0] };
        let check = |map: AffineMap, how, border| {
            map.check(how, border, [&raster; 2]).map_err(|error| error.to_string())
        };
        assert!(check(plain, Interpolation::Cubic, Border::Wrap).is_ok());
        for (map, how, border, why) in [
            (plain, Interpolation::Area, Border::Wrap, "nearest, linear and cubic"),
            (plain, Interpolation::Nearest, Border::None, "no border"),
            (AffineMap { x: [f64::NAN; 3], ..plain }, Interpolation::Nearest, Border::Wrap, "finite"),
            (AffineMap { x: [0.0, 4e8, 0.0], ..plain }, Interpolation::Nearest, Border::Wrap, "2^30"),
        ] {
            assert!(check(map, how, border).is_err_and(|error| error.contains(why)), "{why}");
        }
        assert!(AffineMap::rotation(f64::INFINITY, Size::square(3), true).is_err());
    }
}
