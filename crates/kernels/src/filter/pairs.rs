//! Programs of `pairs.cl`: weighted sums of bytes, two per register.

use std::sync::Arc;

use tripipe_launch::Program;

use super::raster::is_aligned;
use super::window::{border_defines, distinct_rows, list, primitive};
use super::{Border, Chain, ChannelLayout, Loads, Parameters, PixelType, Raster, Size, Stage};
use crate::source::PAIRS;

/// Largest extent of a window: all its rows are in registers at once.
const EXTENT_MAX: usize = 5;

/// The representation of 0 in a lane whose result is clamped.
const MIDDLE: i64 = 0x4000;

/// The parameters of `pairs.cl` for a linear filter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pairs {
    size: Size,
    /// As in `window.cl`, without the peak.
    across: Vec<i32>,
    kind: Vec<usize>,
    down: Vec<i32>,
    /// The part of the centre's weight that exceeds the rows above.
    peak: i32,
    /// Added to each sum, so that it is at least 0 and is rounded.
    seed: i64,
    shift: u32,
    /// The value after the shift that represents a result of 0.
    zero: i64,
    /// Whether results can be below 0 or above 255.
    clamped: bool,
}

impl Pairs {
    /// `None` when the stage is not a linear filter from bytes to bytes, its window exceeds 5 x 5, its divisor is not
    /// a power of two, or a sum and its seed exceed 16 bits.
    pub(super) fn of(stage: &Stage, from: PixelType) -> Option<Self> {
        let Stage::Linear(linear) = stage else { return None };
        let bytes = from == PixelType::U8 && linear.result(from) == PixelType::U8;
        if !bytes || linear.size().width.max(linear.size().height) > EXTENT_MAX {
            return None;
        }
        let fixed = linear.fixed(from).ok()?;
        if !fixed.divisor.is_power_of_two() {
            return None;
        }
        let (divisor, offset) = (i64::from(fixed.divisor), i64::from(fixed.offset));
        let [low, high] = fixed.sums.map(|sum| sum + divisor / 2);
        let [least, most] = [low, high].map(|sum| sum.div_euclid(divisor) + offset);
        let clamped = least < 0 || most > 255;
        if clamped && (least < -MIDDLE || most > 2 * MIDDLE) {
            return None;
        }
        // Sums are raised by a multiple of the divisor, which can still be subtracted after the shift. An offset
        // moves the zero.
        let lifted = if clamped && divisor == 1 {
            MIDDLE + offset
        } else {
            (-low.div_euclid(divisor)).max(offset).max(0)
        };
        if high + lifted * divisor > i64::from(u16::MAX) {
            return None;
        }
        let (seed, zero) = (lifted * divisor + divisor / 2, lifted - offset);
        let peak = peak(&fixed.weights, fixed.size.width);
        let mut weights = fixed.weights;
        let centre = weights.len() / 2;
        weights[centre] -= peak;
        let (across, kind, down) = distinct_rows(&weights, fixed.size.width, primitive);
        Some(Self {
            size: fixed.size,
            across,
            kind,
            down,
            peak,
            seed,
            shift: fixed.divisor.ilog2(),
            zero,
            clamped,
        })
    }

    /// Whether `pairs.cl` can run any stage of the chain.
    pub(super) fn any_of(chain: &Chain, from: &Raster) -> bool {
        let mut raster = *from;
        chain.stages.iter().any(|stage| {
            let taken = Self::of(stage, raster.element).is_some();
            raster = stage.apply_to(&raster).unwrap_or(raster);
            taken
        })
    }

    /// The program for rasters of the same layout.
    pub(super) fn program(
        &self,
        border: Border,
        keep_alpha: bool,
        [from, to]: [&Raster; 2],
        parameters: &Parameters,
    ) -> Arc<Program> {
        let packed_alpha = keep_alpha && from.layout == ChannelLayout::Packed && from.channels == 4;
        let program = PAIRS
            .program()
            .define("LANES", parameters.lanes)
            .define("ROWS", parameters.rows)
            .define("ALIGNED", usize::from(parameters.loads == Loads::Aligned))
            .define("IMAGE", usize::from(parameters.loads == Loads::Image))
            .define("ALIGNED_TO", usize::from(is_aligned(to, parameters.lanes)))
            .define("WIDTH", self.size.width)
            .define("HEIGHT", self.size.height)
            .define("KINDS", self.across.len() / self.size.width)
            .define("ACROSS", list(&self.across))
            .define("KIND", list(&self.kind))
            .define("DOWN", list(&self.down))
            .define("PEAK", self.peak)
            .define("SEED", self.seed)
            .define("SHIFT", self.shift)
            .define("ZERO", self.zero)
            .define("CLAMPED", usize::from(self.clamped))
            .define("STEP", from.step())
            .define("KEEP_ALPHA", usize::from(packed_alpha));
        Arc::new(border_defines(program, border, PixelType::U8, |value| value.to_string()))
    }

    /// Work-items along a row: one for each block of `lanes` bytes whose windows lie inside the row, and one for each
    /// remaining byte.
    pub(super) fn work_items(&self, raster: &Raster, lanes: usize) -> usize {
        let side = (self.size.width / 2 * raster.step()).next_multiple_of(4);
        let bytes = raster.row_elements();
        let blocks = bytes.saturating_sub(side.next_multiple_of(lanes) + side) / lanes;
        blocks + bytes - blocks * lanes
    }
}

/// The excess of the centre's weight over a value that leads to fewer kinds of rows, such as the value for an outer
/// product. 0 when no such value exists.
fn peak(weights: &[i32], width: usize) -> i32 {
    let (centre, middle) = (weights.len() / 2, width / 2);
    let without = |peak: i32| {
        let mut rest = weights.to_vec();
        rest[centre] -= peak;
        rest
    };
    let kinds = |weights: &[i32]| distinct_rows(weights, width, primitive).0.len();
    let through = &weights[centre - middle..=centre + middle];
    // If the centre's row is a multiple of another row, any pair of their weights gives the factor.
    let fitting = weights.chunks(width).flat_map(|row| {
        let told = (0..width).filter(move |x| *x != middle && row[*x] != 0);
        told.map(move |x| through[x] * row[middle] / row[x])
    });
    fitting
        .map(|fitting| weights[centre] - fitting)
        .find(|peak| kinds(&without(*peak)) < kinds(weights))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::{FilterError, Linear};
    use super::*;

    fn pairs(linear: Linear) -> Option<Pairs> {
        Pairs::of(&Stage::Linear(linear), PixelType::U8)
    }

    /// 9 c - 8 neighbours is 10 c - the sum of all nine. Its sums, -2040 to 2295, are clamped.
    #[test]
    fn laplace_is_a_box_and_a_peak() {
        let want = Pairs {
            size: Size::square(3),
            across: vec![1, 1, 1],
            kind: vec![0, 0, 0],
            down: vec![-1, -1, -1],
            peak: 10,
            seed: 0x4000,
            shift: 0,
            zero: 0x4000,
            clamped: true,
        };
        assert_eq!(pairs(Linear::laplace_sharpen()), Some(want));
    }

    /// An outer product has no peak; neither has a cross, whose rows share no factor. A ring has a negative peak.
    #[test]
    fn peaks_make_fewer_kinds() {
        assert_eq!(peak(&[1, 2, 1, 2, 4, 2, 1, 2, 1], 3), 0);
        assert_eq!(peak(&[0, -1, 0, -1, 5, -1, 0, -1, 0], 3), 0);
        assert_eq!(peak(&[1, 2, 1, 2, 0, 2, 1, 2, 1], 3), -4);
        assert_eq!(peak(&[7], 1), 0);
    }

    /// (S + 8) >> 4 for S from -3 x 255 = -765 to 7 x 255 = 1785 is -48 to 112. An offset of 60 makes that 12 to 172:
    /// 60 x 16 is added to the sum, and 0 stays 0.
    #[test]
    fn offsets_and_shifts_move_zero() -> Result<(), FilterError> {
        let shifted = || Linear::full(Size::new(3, 1), vec![-3, 6, 1], 16);
        let found = pairs(shifted()?).map(|pairs| (pairs.seed, pairs.shift, pairs.zero, pairs.clamped));
        assert_eq!(found, Some((48 * 16 + 8, 4, 48, true)));
        let found = pairs(shifted()?.with_offset(60)).map(|pairs| (pairs.seed, pairs.zero, pairs.clamped));
        assert_eq!(found, Some((60 * 16 + 8, 0, false)));
        let found = pairs(shifted()?.with_offset(-200)).map(|pairs| (pairs.seed, pairs.zero, pairs.clamped));
        assert_eq!(found, Some((48 * 16 + 8, 248, true)));
        Ok(())
    }

    /// 256 x 255 + 128 = 65408 fits 16 bits. A divisor of 9, a window of 7, a sum that is two per pixel larger,
    /// results of 16 bits and pixels of 16 bits do not.
    #[test]
    fn pairs_require_sums_of_16_bits() -> Result<(), FilterError> {
        assert!(pairs(Linear::gaussian(5, None)?).is_some());
        assert_eq!(pairs(Linear::mean(Size::square(3))?), None);
        assert_eq!(pairs(Linear::separable(vec![1; 7], vec![1], 1)?), None);
        assert_eq!(pairs(Linear::full(Size::square(1), vec![258], 1)?), None);
        assert_eq!(pairs(Linear::laplace4().with_offset(70_000)), None);
        assert_eq!(pairs(Linear::laplace8().to(PixelType::I16)), None);
        assert_eq!(Pairs::of(&Stage::Linear(Linear::laplace8()), PixelType::U16), None);
        assert_eq!(Pairs::of(&Stage::Median { size: 3 }, PixelType::U8), None);
        Ok(())
    }

    /// 120 bytes, blocks of 16, 4 bytes needed on each side: blocks fit at 16 to 96 (100 + 16 + 4 = 120 is not a
    /// multiple), plus 24 single bytes. 5 bytes have no block.
    #[test]
    fn blocks_read_no_element_outside() {
        let pairs = pairs(Linear::laplace_sharpen());
        let items = |width: usize, channels: usize, lanes: usize| {
            pairs.as_ref().map(|pairs| {
                pairs.work_items(&Raster::packed(Size::new(width, 2), channels, PixelType::U8), lanes)
            })
        };
        assert_eq!(items(40, 3, 16), Some(6 + 24));
        assert_eq!(items(5, 1, 4), Some(5));
        assert_eq!(items(12, 1, 4), Some(1 + 8));
    }
}
