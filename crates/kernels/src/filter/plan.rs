//! Chains as launches over memory.

use std::borrow::Cow;
use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_launch::{Argument, NdRange};

use super::pairs::Pairs;
use super::window::Fused;
use super::{
    Chain, Color, Element, FilterError, Layout, Linear, Loads, Parameters, Raster, Stage, Sums, pixel, window,
};
use crate::plan::{Plan, PlanError, Slot};

/// A chain as launches: operand 0 is the buffer of the source, operand 1 that of the result. They are two different buffers.
///
/// Only the pixels of `to` are written. What stages hand to each other lies in memory that the plan makes for itself, two
/// images at most. An empty image takes no launch.
///
/// # Errors
/// As [`Chain::check`] and [`Parameters::check`]; an image between stages that is over the device's limit for a buffer.
pub fn plan(
    chain: &Chain,
    from: &Raster,
    to: &Raster,
    parameters: &Parameters,
    probe: &Probe,
) -> Result<Plan<'static>, PlanError> {
    chain.check(from, to)?;
    parameters.check(chain, from, to, probe)?;
    let mut plan = Plan::new();
    let (source, result) = (plan.operand(), plan.operand());
    if from.is_empty() {
        return Ok(plan);
    }
    let passes = Pass::of(chain, from, to, parameters)?;
    let between = passes.len() - 1;
    // Passes write to two buffers in turn, each as large as the largest image it holds.
    let mut scratch = Vec::new();
    for turn in 0..between.min(2) {
        let images = passes[..between].iter().skip(turn).step_by(2);
        let sizes = images.map(|pass| Ok(pass.to.elements()? * pass.to.element.bytes()));
        let bytes = sizes.collect::<Result<Vec<_>, FilterError>>()?.into_iter().max().unwrap_or(0);
        if probe.max_buffer_bytes != 0 && bytes as u64 > probe.max_buffer_bytes {
            let what = format!("an image of {bytes} bytes between two stages");
            return Err(PlanError::OverLimit { what, limit: probe.max_buffer_bytes });
        }
        scratch.push(plan.scratch(bytes));
    }
    for (turn, pass) in passes.iter().enumerate() {
        let reads = if turn == 0 { source } else { scratch[(turn - 1) % 2] };
        let writes = if turn == between { result } else { scratch[turn % 2] };
        pass.launch(&mut plan, chain, [reads, writes], parameters)?;
    }
    Ok(plan)
}

/// How often an element may be converted in the place of a pass of its own: an operation on a vector costs a GPU less than
/// a quarter of what loading or storing it does.
const CONVERSIONS: usize = 4;

/// One pass over memory: a stage, with those that are run beside it, or nothing but another layout.
struct Pass<'c> {
    stage: Option<Cow<'c, Stage>>,
    fused: Fused<'c>,
    from: Raster,
    to: Raster,
}

impl<'c> Pass<'c> {
    /// The passes of a chain.
    fn of(
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
            if let Some(window) = rest.first()
                && Self::runs_before(first, window, &raster, &made, chain, parameters)
            {
                (fused.before, stage, left) = (Some(first), Cow::Borrowed(window), &rest[1..]);
                made = window.apply_to(&made)?;
            } else if Self::is_gray_of_vectors(first, &raster, parameters) {
                // By itself: around a window of one pixel that changes nothing.
                fused.before = Some(first);
                stage = Cow::Owned(Stage::Linear(Linear::full([1, 1], vec![1], 1)?));
            }
            if let Some(after) = left.first()
                && Self::runs_after(&stage, after, &made, chain, parameters)
            {
                (fused.after, left) = (Some(after), &left[1..]);
                made = after.apply_to(&made)?;
            }
            // Rows at multiples of the widest vector, which costs little and makes every load an aligned one.
            let next = made.with_pitch(made.pitch.next_multiple_of(16));
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

    /// Whether `first`, which makes `made` of `raster`, is run on what `window` loads.
    ///
    /// A pass of its own writes and reads an image more; without it each element is converted as often as it is loaded. That
    /// pays up to [`CONVERSIONS`] times. `half` between two stages would have to be rounded to, which takes a detour by way of memory.
    fn runs_before(
        first: &Stage,
        window: &Stage,
        raster: &Raster,
        made: &Raster,
        chain: &Chain,
        parameters: &Parameters,
    ) -> bool {
        let takes =
            matches!(first, Stage::Convert { .. }) || Self::is_gray_of_vectors(first, raster, parameters);
        let [width, height] = window.window();
        let side = width / 2 * made.step();
        let columns = match parameters.loads {
            Loads::Direct => width,
            Loads::Shared => (2 * side + parameters.lanes).div_ceil(parameters.lanes),
            Loads::Aligned => 1 + 2 * side.div_ceil(parameters.lanes),
        };
        let loaded = columns * (parameters.rows + height - 1);
        let alpha = chain.keep_alpha && made.channels == 4;
        let looks_around = Self::is_vector(Some(window)) && !matches!(window, Stage::Convert { .. });
        let pays = loaded <= CONVERSIONS * parameters.rows;
        parameters.fuse && takes && looks_around && pays && !alpha && made.element != Element::F16
    }

    /// Whether it is a conversion to gray that takes vectors apart: of packed pixels, with a lane for each.
    fn is_gray_of_vectors(stage: &Stage, raster: &Raster, parameters: &Parameters) -> bool {
        let gray = matches!(stage, Stage::Color(Color::RgbToGray | Color::BgrToGray));
        let packed = raster.layout == Layout::Packed && raster.element != Element::F16;
        parameters.fuse && gray && packed && parameters.lanes >= 4
    }

    /// Whether `after` is run on what `stage` is about to store, which are elements of `made`.
    fn runs_after(
        stage: &Stage,
        after: &Stage,
        made: &Raster,
        chain: &Chain,
        parameters: &Parameters,
    ) -> bool {
        let alpha = chain.keep_alpha && made.channels == 4;
        let converts = Self::is_vector(Some(stage)) && matches!(after, Stage::Convert { .. });
        parameters.fuse && converts && !alpha && made.element != Element::F16
    }

    /// Whether it treats a row as vectors of elements, so that source and result have one layout; otherwise it goes
    /// pixel by pixel.
    fn is_vector(stage: Option<&Stage>) -> bool {
        !matches!(stage, None | Some(Stage::Bilateral(_) | Stage::Color(_)))
    }

    fn launch(
        &self,
        plan: &mut Plan<'static>,
        chain: &Chain,
        slots: [Slot; 2],
        parameters: &Parameters,
    ) -> Result<(), FilterError> {
        let (from, to) = (&self.from, &self.to);
        let Some(stage) = self.stage.as_deref().filter(|stage| Self::is_vector(Some(stage))) else {
            let kernel = pixel::kernel(self.stage.as_deref(), chain.border, chain.keep_alpha, [from, to]);
            let (program, entry, pixels) = (Arc::clone(&kernel.program), kernel.entry, kernel.pixels);
            let mut arguments = arguments(slots, [from, to], [from.width, from.height]);
            arguments.extend(kernel.arguments(plan));
            let across = from.width.div_ceil(pixels);
            plan.launch(&program, entry, arguments, range([across, from.height, 1], parameters));
            return Ok(());
        };
        let planes = if from.layout == Layout::Planar { from.channels } else { 1 };
        let (border, keep_alpha) = (chain.border, chain.keep_alpha);
        let down = from.height.div_ceil(parameters.rows);
        let paired = parameters.sums == Sums::Paired && self.fused.is_empty();
        let mut window = |stage: &Stage, [from, to]: [&Raster; 2], planes: usize| {
            let (program, entry, across) = match Pairs::of(stage, from.element).filter(|_| paired) {
                Some(pairs) => (
                    pairs.program(border, keep_alpha, [from, to], parameters),
                    "filter_pairs",
                    pairs.work_items(from, parameters.lanes),
                ),
                None => (
                    window::program(stage, self.fused, border, keep_alpha, [from, to], parameters)?,
                    "filter_window",
                    // Gray is one channel of what is loaded.
                    to.row_elements().div_ceil(parameters.lanes),
                ),
            };
            let range = range([across, down, planes], parameters);
            plan.launch(&program, entry, arguments(slots, [from, to], [from.width, from.height]), range);
            Ok(())
        };
        if !(chain.keep_alpha && planes == 4 && stage.keeps_alpha()) {
            return window(stage, [from, to], planes);
        }
        window(stage, [from, to], 3)?;
        let copy = Stage::Convert { to: to.element, scale: 1.0, offset: 0.0 };
        let alpha = [from, to].map(|raster| Raster { offset: raster.index([0, 0], 3), ..*raster });
        window(&copy, [&alpha[0], &alpha[1]], 1)
    }
}

/// What every kernel takes: the two buffers, where pixels lie in them, and how many there are.
pub(super) fn arguments(
    [reads, writes]: [Slot; 2],
    [from, to]: [&Raster; 2],
    size: [usize; 2],
) -> Vec<Argument<Slot>> {
    let distances = [from.offset, from.pitch, from.plane_pitch, to.offset, to.pitch, to.plane_pitch];
    let mut arguments: Vec<Argument<Slot>> = vec![reads.into(), writes.into()];
    arguments.extend(distances.map(|distance| Argument::from(distance as u32)));
    arguments.extend(size.map(|extent| Argument::from(extent as i32)));
    arguments
}

/// At least so many work-items, in whole work-groups. Without a work-group the numbers are such that a driver finds a good one among
/// their divisors.
fn range([x, y, z]: [usize; 3], parameters: &Parameters) -> NdRange {
    let [across, down] = parameters.work_group.unwrap_or([16, 4]);
    let range = NdRange::d3(x.next_multiple_of(across), y.next_multiple_of(down), z);
    if parameters.work_group.is_some() { range.local(across, down, 1) } else { range }
}

/// Checks that kernels can index an image: `uint` for its elements, `int` along a row.
pub(super) fn indexable(raster: &Raster) -> Result<(), PlanError> {
    let elements = raster.elements()?;
    if u32::try_from(elements).is_ok() && raster.row_elements() <= i32::MAX as usize / 2 {
        return Ok(());
    }
    let what = format!("an image of {elements} elements");
    Err(PlanError::OverLimit { what, limit: u32::MAX.into() })
}
