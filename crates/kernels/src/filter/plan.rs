//! Chains as launches over memory.

use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_launch::NdRange;

use super::passes::Pass;
use super::texels::Texels;
use super::window::Fused;
use super::{Chain, ChannelLayout, FilterError, Loads, Parameters, Raster, Size, Stage, Sums, pixel, window};
use crate::Role;
use crate::plan::{Arguments, Plan, PlanError, Slot};

/// A chain as launches from the buffer of [`Role::Source`] to that of [`Role::Result`], which must differ.
///
/// Only the pixels of `to` are written. Intermediate images are in memory that the plan allocates, at most two at a
/// time. An empty image needs no launch.
///
/// # Errors
/// As [`Chain::check`] and [`Parameters::check`]; an intermediate image that exceeds the device's limit for a buffer.
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
    let (source, result) = (plan.operand(Role::Source), plan.operand(Role::Result));
    if from.is_empty() {
        return Ok(plan);
    }
    let passes = Pass::of(chain, from, to, parameters)?;
    let between = passes.len() - 1;
    // Passes alternate between two buffers, each as large as the largest image it holds.
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
        let moves = [(turn == 0).then_some(Role::Source), (turn == between).then_some(Role::Result)];
        pass.launch(&mut plan, chain, [reads, writes], moves, parameters, probe)?;
    }
    Ok(plan)
}

impl Pass<'_> {
    fn launch(
        &self,
        plan: &mut Plan<'static>,
        chain: &Chain,
        slots: [Slot; 2],
        moves: [Option<Role>; 2],
        parameters: &Parameters,
        probe: &Probe,
    ) -> Result<(), PlanError> {
        let (from, to) = (&self.from, &self.to);
        let Some(stage) = self.stage.as_deref().filter(|stage| Self::is_vector(Some(stage))) else {
            let kernel = pixel::kernel(self.stage.as_deref(), chain.border, chain.keep_alpha, [from, to]);
            let (program, entry, pixels) = (Arc::clone(&kernel.program), kernel.entry, kernel.pixels);
            let arguments = arguments(slots, moves, [from, to], from.size());
            let arguments = arguments.with_all(kernel.arguments(plan));
            let across = from.width.div_ceil(pixels);
            plan.launch(&program, entry, arguments, range([across, from.height, 1], parameters));
            return Ok(());
        };
        let planes = if from.layout == ChannelLayout::Planar { from.channels } else { 1 };
        let (border, keep_alpha) = (chain.border, chain.keep_alpha);
        let down = from.height.div_ceil(parameters.rows);
        let texels = match parameters.loads {
            Loads::Image => Some(Texels::over(from, probe).map_err(not_an_image)?),
            Loads::Direct | Loads::Shared | Loads::Aligned => None,
        };
        let texels = texels.map(|texels| plan.image_over(slots[0], texels.shape, texels.pitch_bytes));
        let mut window = |stage: &Stage, fused: Fused<'_>, [from, to]: [&Raster; 2], planes: usize| {
            let pairs = Self::pairs(stage, fused, from).filter(|_| parameters.sums == Sums::Paired);
            let (program, entry, across) = match pairs {
                Some(pairs) => (
                    pairs.program(border, keep_alpha, [from, to], parameters),
                    "filter_pairs",
                    pairs.work_items(from, parameters.lanes),
                ),
                None => (
                    window::program(stage, fused, border, keep_alpha, [from, to], parameters)?,
                    "filter_window",
                    // Gray is one of the loaded channels.
                    to.row_elements().div_ceil(parameters.lanes),
                ),
            };
            let range = range([across, down, planes], parameters);
            let mut arguments = arguments(slots, moves, [from, to], from.size());
            if let Some(texels) = texels {
                arguments = arguments.with(texels);
                arguments = arguments.with_all(Texels::origin(from).map(|distance| distance as i32));
            }
            plan.launch(&program, entry, arguments, range);
            Ok(())
        };
        if !(chain.keep_alpha && planes == 4 && stage.keeps_alpha()) {
            return window(stage, self.fused, [from, to], planes);
        }
        window(stage, self.fused, [from, to], 3)?;
        let copy = Stage::Convert { to: to.element, scale: 1.0, offset: 0.0 };
        let alpha = [from, to].map(|raster| Raster { offset: raster.index(0, 0, 3), ..*raster });
        window(&copy, Fused::default(), [&alpha[0], &alpha[1]], 1)
    }
}

/// The error for a source that cannot be read as an image.
pub(super) fn not_an_image(want: String) -> PlanError {
    PlanError::Parameter { parameter: "loads", found: "image".to_owned(), want }
}

/// The common arguments of all kernels: the two buffers, the layout of the pixels in them, and the extents. `moves` are the
/// operands that the buffers are, if they can be bound at later elements.
pub(super) fn arguments(
    slots: [Slot; 2],
    moves: [Option<Role>; 2],
    rasters: [&Raster; 2],
    Size { width, height }: Size,
) -> Arguments {
    let mut arguments = Arguments::default().with_all(slots);
    for (operand, raster) in moves.into_iter().zip(rasters) {
        let pitches = [raster.pitch, raster.plane_pitch].map(|pitch| pitch as u32);
        arguments = arguments.at(operand, raster.offset as u32).with_all(pitches);
    }
    arguments.with_all([width, height].map(|extent| extent as i32))
}

/// At least this many work-items, in whole work-groups. Without a given work-group the extents are multiples of 16
/// and 4, so that a driver finds a good work-group size among their divisors.
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
