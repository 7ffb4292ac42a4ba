//! Which stages of a chain share a pass over memory, and the cost of passes.

use std::borrow::Cow;

use super::family::{CONVERSIONS, Family, INNER_EXTENT_MAX, REGISTER_RESERVE_BYTES};
use super::pairs::Pairs;
use super::texels::{self, TEXEL};
use super::window::{Fused, Windows};
use super::{
    Border, Chain, ChannelLayout, Color, FilterError, Fuse, Linear, Loads, Parameters, PixelType, Raster,
    Size, Stage, Sums,
};

/// One pass over memory: a stage with the stages fused into it, or only a change of layout.
pub(super) struct Pass<'c> {
    pub(super) stage: Option<Cow<'c, Stage>>,
    pub(super) fused: Fused<'c>,
    pub(super) from: Raster,
    pub(super) to: Raster,
}

impl<'c> Pass<'c> {
    /// The passes of a chain.
    pub(super) fn of(
        chain: &'c Chain,
        from: &Raster,
        to: &Raster,
        parameters: &Parameters,
    ) -> Result<Vec<Self>, FilterError> {
        let mut passes: Vec<Self> = Vec::new();
        let (mut raster, mut left) = (*from, &chain.stages[..]);
        while let [first, rest @ ..] = left {
            let mut fused = Fused::default();
            let (mut stage, mut made) = (Cow::Borrowed(first), first.apply_to(&raster)?);
            left = rest;
            if let [window, ..] = rest
                && Self::runs_before(first, rest, &raster, &made, chain, parameters)
            {
                (fused.before, stage, left) = (Some(first), Cow::Borrowed(window), &rest[1..]);
                made = window.apply_to(&made)?;
            } else if Self::is_gray_of_vectors(first, &raster, parameters) {
                // A window of one pixel around the conversion changes nothing.
                fused.before = Some(first);
                stage = Cow::Owned(Stage::Linear(Linear::full(Size::square(1), vec![1], 1)?));
            }
            let seen = fused.before.map_or(Ok(raster), |before| before.apply_to(&raster))?;
            if let (Cow::Borrowed(inner), [window, rest @ ..]) = (&stage, left)
                && Self::runs_inside(inner, window, &seen, chain, parameters)
            {
                (fused.inner, left) = (Some(*inner), rest);
                stage = Cow::Borrowed(window);
                made = window.apply_to(&made)?;
            }
            if let Some(after) = left.first()
                && Self::runs_after(&stage, after, &made, chain, parameters)
            {
                (fused.after, left) = (Some(after), &left[1..]);
                made = after.apply_to(&made)?;
            }
            // Rows start at multiples of the widest vector, which costs little and makes every load aligned, or at
            // the pitch that images need.
            let multiple = if parameters.loads == Loads::Image { texels::PITCH } else { 16 };
            let next = made.with_pitch(made.pitch.checked_next_multiple_of(multiple).unwrap_or(made.pitch));
            passes.push(Self { stage: Some(stage), fused, from: raster, to: next });
            raster = next;
        }
        match passes.last_mut() {
            Some(last)
                if to.channels == 1
                    || raster.layout == to.layout
                    || !Self::is_vector(last.stage.as_deref()) =>
            {
                last.to = *to;
            }
            _ => passes.push(Self { stage: None, fused: Fused::default(), from: raster, to: *to }),
        }
        Ok(passes)
    }

    /// Whether `first`, which turns `raster` into `made`, runs on the elements that the next window loads.
    ///
    /// A separate pass writes and reads one image more; without it each element is converted every time it is loaded.
    /// That pays up to [`CONVERSIONS`] times. For two fused windows [`Pass::cost`] weighs it. `half` between two
    /// stages would have to be rounded, which takes a round trip through memory.
    fn runs_before(
        first: &Stage,
        rest: &[Stage],
        raster: &Raster,
        made: &Raster,
        chain: &Chain,
        parameters: &Parameters,
    ) -> bool {
        let Some(window) = rest.first() else { return false };
        let takes =
            matches!(first, Stage::Convert { .. }) || Self::is_gray_of_vectors(first, raster, parameters);
        let alpha = chain.keep_alpha && made.channels == 4;
        let possible = takes && Self::looks_around(window) && !alpha && made.element != PixelType::F16;
        let inside = rest.get(1).is_some_and(|next| Self::runs_inside(window, next, made, chain, parameters));
        let loaded = Loaded::of(None, window, made.step(), parameters);
        let pays = loaded.columns * loaded.rows <= CONVERSIONS * parameters.rows;
        parameters.fuse != Fuse::Nothing && possible && (inside || pays)
    }

    /// Whether the stage is a conversion to gray that deinterleaves vectors: packed pixels, one lane per pixel.
    fn is_gray_of_vectors(stage: &Stage, raster: &Raster, parameters: &Parameters) -> bool {
        let gray = matches!(stage, Stage::Color(Color::RgbToGray | Color::BgrToGray));
        let packed = raster.layout == ChannelLayout::Packed && raster.element != PixelType::F16;
        parameters.fuse != Fuse::Nothing && gray && packed && parameters.lanes >= 4
    }

    /// Whether `inner`, applied to elements of `seen`, is computed as input of `window` in the same pass.
    ///
    /// Sums and extremes can be, because their rows are consumed one by one. Pixels folded at an edge must be near
    /// it, which rules out `Wrap`. For `half` between the two see [`Self::runs_before`]. Alpha in its own plane is
    /// copied once, so it must not be rounded in between.
    fn runs_inside(
        inner: &Stage,
        window: &Stage,
        seen: &Raster,
        chain: &Chain,
        parameters: &Parameters,
    ) -> bool {
        let streams = matches!(inner, Stage::Linear(_) | Stage::Morphology(_));
        let small = inner.window().width.max(inner.window().height) <= INNER_EXTENT_MAX;
        let Ok(between) = inner.apply_to(seen) else { return false };
        let apart = chain.keep_alpha && seen.channels == 4 && seen.layout == ChannelLayout::Planar;
        let kept = !apart || between.element == seen.element;
        parameters.fuse == Fuse::Windows
            && streams
            && small
            && kept
            && Self::looks_around(window)
            && chain.border != Border::Wrap
            && between.element != PixelType::F16
            && Windows::of(window, Fused { inner: Some(inner), ..Fused::default() }, seen, parameters)
                .is_ok_and(|windows| windows.are_alike())
    }

    /// Whether `after` runs on the elements of `made` that `stage` is about to store.
    fn runs_after(
        stage: &Stage,
        after: &Stage,
        made: &Raster,
        chain: &Chain,
        parameters: &Parameters,
    ) -> bool {
        let alpha = chain.keep_alpha && made.channels == 4;
        let converts = Self::is_vector(Some(stage)) && matches!(after, Stage::Convert { .. });
        parameters.fuse != Fuse::Nothing && converts && !alpha && made.element != PixelType::F16
    }

    /// Whether the stage processes a row as vectors of elements, so that source and result have the same layout.
    /// Other stages process pixel by pixel.
    pub(super) fn is_vector(stage: Option<&Stage>) -> bool {
        // All by name, so that the compiler asks about a new one.
        match stage {
            None | Some(Stage::Rank(_) | Stage::Bilateral(_) | Stage::Color(_)) => false,
            Some(
                Stage::Linear(_)
                | Stage::Gradient(_)
                | Stage::Median { .. }
                | Stage::Morphology(_)
                | Stage::Convert { .. },
            ) => true,
        }
    }

    /// Whether the stage is a window over vectors.
    fn looks_around(stage: &Stage) -> bool {
        Self::is_vector(Some(stage)) && !matches!(stage, Stage::Convert { .. })
    }

    /// The parameters of `pairs.cl` when it runs a stage with `Sums::Paired`.
    pub(super) fn pairs(stage: &Stage, fused: Fused<'_>, from: &Raster) -> Option<Pairs> {
        fused.is_empty().then(|| Pairs::of(stage, from.element)).flatten()
    }

    /// Whether `pairs.cl` runs the pass with `Sums::Paired`.
    pub(super) fn is_paired(&self) -> bool {
        let stage = self.stage.as_deref();
        stage.is_some_and(|stage| Self::pairs(stage, self.fused, &self.from).is_some())
    }

    /// The cost per pixel of the result, in operations on 32-bit lanes: loads and stores, as the operations that the
    /// processor executes meanwhile, plus the computation. For comparing passes of one chain: costs that all splits
    /// have in common and that are hard to estimate are left out.
    ///
    /// # Errors
    /// As [`Stage::output`].
    fn cost(&self, parameters: &Parameters, family: Family) -> Result<f64, FilterError> {
        let bytes = |raster: &Raster| (raster.channels * raster.element.bytes()) as f64;
        let moved = family.operations_per_byte() * (bytes(&self.from) + bytes(&self.to));
        let Some(stage) = self.stage.as_deref().filter(|stage| Self::is_vector(Some(stage))) else {
            return Ok(moved);
        };
        let windows = Windows::of(stage, self.fused, &self.from, parameters)?;
        let paired = parameters.sums == Sums::Paired && self.is_paired();
        let halved = paired || windows.are_narrow() && family.has_short_lanes();
        let step = if self.fused.before.is_some() { self.to.step() } else { self.from.step() };
        let loaded = Loaded::of(self.fused.inner, stage, step, parameters);
        // Elements and rows computed per result, because work-items share nothing.
        let lanes = parameters.lanes as f64;
        let across = |side: usize| {
            let elements = (parameters.lanes + 2 * side) as f64 / lanes;
            if family.has_vectors() { elements.ceil() } else { elements }
        };
        let down = |more: usize| (parameters.rows + more) as f64 / parameters.rows as f64;
        let Size { width, height } = stage.window();
        let side = width / 2 * step;
        let [in_row, beside] = stage.operations(windows.outer.weights());
        let mut operations = in_row * down(height - 1) + beside;
        let mut seen = (side, height - 1);
        if let (Some(stage), Some(inner)) = (self.fused.inner, &windows.inner) {
            let Size { width: inner_width, height: inner_height } = stage.window();
            let [in_row, beside] = stage.operations(inner.weights());
            seen = (side + inner_width / 2 * step, height + inner_height - 2);
            operations += across(side) * (in_row * down(seen.1) + beside * down(height - 1));
        }
        let each = self.fused.before.map_or(1.0, Stage::operations_while_loading);
        let taken = each * across(seen.0) * down(seen.1)
            + (loaded.columns * loaded.rows) as f64 / (lanes * parameters.rows as f64);
        let channels = self.to.channels as f64;
        Ok(moved + channels * (taken + if halved { operations / 2.0 } else { operations }))
    }

    /// Bytes of registers that a work-item uses at once, estimated: its unfinished sums, a sum along a row, the loaded
    /// vectors of a row, and what all kernels need. 0 for passes without such an estimate: of two windows, of pairs,
    /// and pixel by pixel.
    ///
    /// # Errors
    /// As [`Stage::output`].
    fn register_bytes(&self, parameters: &Parameters, family: Family) -> Result<usize, FilterError> {
        let stage = self.stage.as_deref().filter(|stage| Self::is_vector(Some(stage)));
        let paired = parameters.sums == Sums::Paired && self.is_paired();
        let Some(stage) = stage.filter(|_| !paired && self.fused.inner.is_none()) else { return Ok(0) };
        let windows = Windows::of(stage, self.fused, &self.from, parameters)?;
        let step = if self.fused.before.is_some() { self.to.step() } else { self.from.step() };
        let columns = Loaded::of(None, stage, step, parameters).columns;
        let element = if family.has_short_lanes() { windows.work_bytes() } else { 4 };
        let row = match parameters.loads {
            // As they are loaded; each is converted when it is used.
            Loads::Direct => element + columns * self.from.element.bytes(),
            _ => columns * element,
        };
        let of_a_lane = stage.lane_register_bytes(parameters.rows, [columns, element], row);
        Ok(of_a_lane * parameters.lanes + REGISTER_RESERVE_BYTES)
    }

    /// Whether a pass of a chain computes sums again that its results could share, because its code would be too long.
    pub(super) fn any_repeats_sums(
        chain: &'c Chain,
        from: &Raster,
        to: &Raster,
        parameters: &Parameters,
    ) -> Result<bool, FilterError> {
        let passes = Self::of(chain, from, to, parameters)?;
        passes.iter().try_fold(false, |any, pass| {
            let stage = pass.stage.as_deref().filter(|stage| Self::looks_around(stage));
            let paired = parameters.sums == Sums::Paired && pass.is_paired();
            let Some(stage) = stage.filter(|_| !paired) else { return Ok(any) };
            Ok(any || Windows::of(stage, pass.fused, &pass.from, parameters)?.outer.repeats_sums(parameters))
        })
    }

    /// The most registers of all passes of a chain, as [`Self::register_bytes`].
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(super) fn most_register_bytes(
        chain: &'c Chain,
        from: &Raster,
        to: &Raster,
        parameters: &Parameters,
        family: Family,
    ) -> Result<usize, FilterError> {
        let passes = Self::of(chain, from, to, parameters)?;
        passes.iter().try_fold(0, |most, pass| Ok(most.max(pass.register_bytes(parameters, family)?)))
    }

    /// The total cost of all passes of a chain.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(super) fn cost_of_all(
        chain: &'c Chain,
        from: &Raster,
        to: &Raster,
        parameters: &Parameters,
        family: Family,
    ) -> Result<f64, FilterError> {
        Self::of(chain, from, to, parameters)?.iter().map(|pass| pass.cost(parameters, family)).sum()
    }
}

/// Vectors of a row, and rows, that a work-item loads.
struct Loaded {
    columns: usize,
    rows: usize,
}

impl Loaded {
    fn of(inner: Option<&Stage>, window: &Stage, step: usize, parameters: &Parameters) -> Self {
        let lanes = parameters.lanes;
        let Size { width, height } = window.window();
        let Size { width: inner_width, height: inner_height } = inner.map_or(Size::square(1), Stage::window);
        let side = width / 2 * step;
        let all = side + inner_width / 2 * step;
        let columns = match (parameters.loads, inner) {
            (Loads::Direct, None) => width,
            (Loads::Direct, Some(_)) => (2 * side + lanes).div_ceil(lanes) * inner_width,
            (Loads::Shared, _) => (2 * all + lanes).div_ceil(lanes),
            (Loads::Aligned, _) => 1 + 2 * all.div_ceil(lanes),
            (Loads::Image, _) => (all.next_multiple_of(TEXEL) + all + lanes).div_ceil(lanes),
        };
        Self { columns, rows: parameters.rows + height + inner_height - 2 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::PixelType;
    use super::*;

    const PARAMETERS: Parameters = Parameters {
        lanes: 16,
        rows: 4,
        loads: Loads::Shared,
        sums: Sums::Narrow,
        work_group: None,
        fuse: Fuse::Windows,
    };

    fn edges(before: Option<Stage>) -> Result<Chain, FilterError> {
        let windows = [Linear::gaussian(5, None)?, Linear::laplace_sharpen()].map(Stage::Linear);
        let stages = before.into_iter().chain(windows).collect();
        Ok(Chain { stages, border: Border::Replicate, keep_alpha: false })
    }

    /// Computed by hand. Laplace has two kinds of rows, 6 weights, over 6/4 rows per result row, and 5 operations
    /// beside that: 14, in 16 bits 7. It sees (18/16) x (6/4) = 27/16 elements, in 2 x 6 vectors for 4 x 16 elements,
    /// 3/16; 30/16 together. Two bytes cost 14. After a blur in the same pass: the blur's 5 weights over 10/4 rows
    /// and 7 over 6/4, all over 18/16 columns: 23 x 9/8, in 16 bits half of that; (22/16) x (10/4) elements are seen,
    /// in 2 x 10 vectors.
    #[test]
    fn costs_are_as_by_hand() -> Result<(), FilterError> {
        let raster = Raster::packed(Size::square(64), 1, PixelType::U8);
        let chain = edges(None)?;
        let laplace = Chain { stages: chain.stages[1..].to_vec(), ..chain.clone() };
        let cost = |chain: &Chain| Pass::cost_of_all(chain, &raster, &raster, &PARAMETERS, Family::Bifrost);
        let alone = 14.0 + 7.0 + 30.0 / 16.0;
        assert_eq!(cost(&laplace)?, alone);
        let blur = (5.0 * 2.5 + 7.0 * 1.5) * 18.0 / 16.0 / 2.0;
        let seen = 22.0 / 16.0 * 2.5 + 20.0 / 64.0;
        assert_eq!(cost(&chain)?, 14.0 + 7.0 + blur + seen);
        Ok(())
    }

    /// Which stages share a pass and which cannot.
    #[test]
    fn windows_share_a_pass_in_pairs() -> Result<(), FilterError> {
        let passes = |chain: &Chain, from: &Raster, fuse: Fuse| {
            let to = chain.apply_to(from)?;
            Pass::of(chain, from, &to, &Parameters { fuse, ..PARAMETERS }).map(|passes| passes.len())
        };
        let photo = Raster::packed(Size::square(64), 3, PixelType::U8);
        let chain = edges(Some(Stage::Color(Color::RgbToGray)))?;
        let count = [Fuse::Nothing, Fuse::Pixels, Fuse::Windows].map(|fuse| passes(&chain, &photo, fuse));
        assert_eq!(count, [Ok(3), Ok(2), Ok(1)]);
        let windows = |chain: &Chain| passes(chain, &photo, Fuse::Windows);
        let mut three = edges(None)?;
        three.stages.push(Stage::Median { size: 3 });
        assert_eq!(windows(&three)?, 2);
        assert_eq!(windows(&Chain { border: Border::Wrap, ..edges(None)? })?, 2);
        let blur = |linear: Linear| Stage::Linear(linear);
        for apart in [
            [Stage::Median { size: 3 }, blur(Linear::laplace8())],
            [blur(Linear::mean(Size::square(9))?), blur(Linear::laplace8())],
            [blur(Linear::laplace8().to(PixelType::F32)), blur(Linear::laplace8())],
        ] {
            assert_eq!(windows(&Chain { stages: apart.to_vec(), ..edges(None)? })?, 2);
        }
        Ok(())
    }
}
