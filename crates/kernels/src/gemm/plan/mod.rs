//! Plans: turn a description, parameters and a device into launches over the caller's memory.

mod kernels;

use std::sync::Arc;

use tripipe_device::{DeviceKind, Probe};
use tripipe_launch::{Argument, NdRange, Program, ScalarType};

use super::check::Unfit;
use super::description::{Accumulate, Elements, EpilogueStage, Gemm, Requantise, Scale, StridedLayout};
use super::packed::Packed;
use super::packing::PackingLaunch;
use super::parameters::Parameters;
use super::product::RowMajorProduct;
use crate::Role;
use crate::plan::{Arguments, Plan, Slot};
use crate::source::{GEMM_SUM, GEMM_VECTOR, Sources};

/// What is known about an operand before the launches of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperandState {
    /// It may change between launches: if it needs packing, the launches pack it.
    #[default]
    Changing,
    /// It stays unchanged from the first launch on: if it needs packing, the preparation packs it.
    Constant,
    /// It was packed by [`plan_packing`](super::plan_packing) with this tag, and the plan is bound to that memory. An
    /// operand packed for one product serves all products of a batch: strides and offsets do not apply to it.
    Packed(Packed),
}

impl OperandState {
    fn is_shared(&self) -> bool {
        matches!(self, Self::Packed(packed) if packed.products == 1)
    }
}

/// An operand of the description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// op(A)
    A,
    /// op(B)
    B,
}

impl Side {
    /// The operand's role.
    fn role(self) -> Role {
        match self {
            Self::A => Role::A,
            Self::B => Role::B,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

/// The packed layouts of A and B of a description for `parameters`; `None` for an operand that is read in its stored
/// layout. A plan with the same parameters needs these tags.
///
/// # Errors
/// As [`Parameters::check`].
pub fn packed_layouts(
    gemm: &Gemm,
    parameters: &Parameters,
    probe: &Probe,
) -> Result<[Option<Packed>; 2], Unfit> {
    layouts(gemm, parameters, probe, [false; 2])
}

fn layouts(
    gemm: &Gemm,
    parameters: &Parameters,
    probe: &Probe,
    shared: [bool; 2],
) -> Result<[Option<Packed>; 2], Unfit> {
    parameters.check_shared(gemm, probe, shared)?;
    let product = RowMajorProduct::of(gemm);
    let [a, b] = parameters.packed(gemm, &product, probe, shared)?;
    Ok(if product.transposed { [b, a] } else { [a, b] })
}

/// Whether the product reads A and B in their packed layout; `true` for an operand that was not packed.
///
/// # Errors
/// As [`Parameters::check`].
pub fn reads_as_packed(
    gemm: &Gemm,
    parameters: &Parameters,
    probe: &Probe,
    packed: [Option<Packed>; 2],
) -> Result<[bool; 2], Unfit> {
    let shared = packed.map(|packed| packed.is_some_and(|packed| packed.products == 1));
    let wanted = layouts(gemm, parameters, probe, shared)?;
    Ok([0, 1].map(|side| packed[side].is_none_or(|packed| wanted[side] == Some(packed))))
}

/// The plan of a product. Its operands are those of [`Gemm::operands`]; the result is in C. `given`
/// says what is known about A and B.
///
/// No launch is needed for a C without elements. Running the plan twice computes the product twice: with `beta` other
/// than 0 the result changes.
///
/// # Errors
/// As [`Parameters::check`]; an operand packed for other parameters.
pub fn plan(
    gemm: &Gemm,
    parameters: &Parameters,
    probe: &Probe,
    given: [OperandState; 2],
) -> Result<Plan<'static>, Unfit> {
    let layouts = layouts(gemm, parameters, probe, given.map(|given| given.is_shared()))?;
    let product = RowMajorProduct::of(gemm);
    let mut plan = Plan::new();
    for operand in gemm.operands() {
        plan.operand(operand.role);
    }
    for (side, given) in [Side::A, Side::B].into_iter().zip(given) {
        if matches!(given, OperandState::Packed(packed) if layouts[side as usize] != Some(packed)) {
            return Err(Unfit::Packed { operand: side.name() });
        }
    }
    if product.is_empty() {
        return Ok(plan);
    }
    let sums_bytes = parameters.partial_bytes(gemm, &product, probe)?;
    let mut planner = Planner { plan, gemm, product, probe, parts: parameters.parts(), sums_bytes };
    let sides = if product.transposed { [Side::B, Side::A] } else { [Side::A, Side::B] };
    let reads = sides.map(|side| planner.operand(side, layouts[side as usize], given[side as usize]));
    match parameters {
        Parameters::Tile(tile) => planner.tile(tile, &reads),
        Parameters::Local(local) => planner.local(local, &reads),
        Parameters::Vector(vector) => planner.vector(vector, &reads),
    }
    Ok(planner.plan)
}

/// An operand in the form that a kernel takes.
struct Read {
    slot: Slot,
    /// The operand, when the kernel reads it in its stored layout.
    operand: Option<Role>,
    view: StridedLayout,
    packed: Option<Packed>,
}

impl Read {
    fn arguments(&self) -> Arguments {
        self.arguments_in(self.view)
    }

    /// With another view of the operand.
    fn arguments_in(&self, view: StridedLayout) -> Arguments {
        Arguments::default().with(self.slot).at(self.operand, view.words())
    }
}

/// From this number of parts on, work-items share the sum of an element of C.
const SHARED_FROM_PARTS: usize = 16;
/// They share it up to this number of vectors of C: more of them fill a device on their own.
const SHARED_UP_TO_VECTORS: usize = 1 << 15;

/// The side of a square work-group: 8, or 1 on a device without work-groups of 64.
fn group_side(probe: &Probe) -> usize {
    if (1..64).contains(&probe.max_work_group_size) { 1 } else { 8 }
}

/// Work-groups of 8x8, if the device supports them. Without an explicit size, a driver may choose, and compile for, a
/// different one for every size.
pub(super) fn in_groups([x, y]: [usize; 2], z: usize, probe: &Probe) -> NdRange {
    let side = group_side(probe);
    NdRange::d3(x.next_multiple_of(side), y.next_multiple_of(side), z).local(side, side, 1)
}

struct Planner<'g> {
    plan: Plan<'static>,
    gemm: &'g Gemm,
    product: RowMajorProduct,
    probe: &'g Probe,
    /// The number of parts that K is divided into, and the bytes of their partial sums.
    parts: usize,
    sums_bytes: usize,
}

impl Planner<'_> {
    fn offsets(&mut self) -> Option<Slot> {
        self.gemm.has_offsets().then(|| self.plan.operand(Role::Offsets))
    }

    /// The operand that the kernel reads for `side`, packed if needed.
    fn operand(&mut self, side: Side, packed: Option<Packed>, given: OperandState) -> Read {
        let slot = self.plan.operand(side.role());
        let is_a = (side == Side::A) != self.product.transposed;
        let Some(packed) = packed else {
            let view = if is_a { self.product.a } else { self.product.b };
            return Read { slot, operand: Some(side.role()), view, packed: None };
        };
        let memory = if matches!(given, OperandState::Packed(_)) {
            slot
        } else {
            let memory = match (packed.buffer_bytes, packed.image) {
                (None, Some(shape)) => self.plan.scratch_image(shape),
                (bytes, _) => self.plan.scratch(bytes.unwrap_or(0)),
            };
            let packing = PackingLaunch::of(self.gemm, &self.product, side, packed);
            // When alpha is 0, it is not read.
            let offsets = self.offsets();
            if self.product.k > 0
                && let Some((program, arguments, range)) =
                    packing.launch([slot, memory], Some(side.role()), offsets, self.probe)
            {
                if given == OperandState::Constant {
                    self.plan.prepare(&program, "gemm_pack", arguments, range);
                } else {
                    self.plan.launch(&program, "gemm_pack", arguments, range);
                }
            }
            memory
        };
        let slot = match (packed.buffer_bytes, packed.image) {
            (Some(_), Some(shape)) => self.plan.image_over(memory, shape, packed.pitch_bytes()),
            _ => memory,
        };
        Read { slot, operand: None, view: packed.read(), packed: Some(packed) }
    }

    /// A kernel's program, with the definitions that follow from the description.
    fn program(&self, sources: &Sources) -> Program {
        let elements = match self.gemm.elements {
            // Doubles were refused earlier.
            Elements::F32 | Elements::F64 => "FLOATS",
            Elements::F16(Accumulate::F32) => "HALVES_IN_FLOAT",
            // The vector kernel always sums in float.
            Elements::F16(_) if sources.name == GEMM_VECTOR.name => "HALVES_IN_FLOAT",
            Elements::F16(Accumulate::F16) => "HALVES",
            Elements::F16(Accumulate::Chunked { .. }) => "HALVES_CHUNKED",
            Elements::I8ToI32 => "BYTES",
            Elements::I8ToI8(_) => "BYTES_SCALED",
        };
        let mut program = sources.program().define("ELEMENTS", elements);
        if let Elements::F16(Accumulate::Chunked { block }) = self.gemm.elements {
            program = program.define("CHUNK", block);
        }
        if self.gemm.has_offsets() {
            program = program.define("OFFSETS", 1).define("TRANSPOSED", u8::from(self.product.transposed));
        }
        program
    }

    /// Adds the definitions for a kernel that stores elements of C.
    fn with_epilogue(&self, mut program: Program) -> Program {
        let transposed = self.product.transposed;
        if let Elements::I8ToI8(Requantise { scale: Scale::Columns, .. }) = self.gemm.elements {
            program = program.define("SCALES", if transposed { 2 } else { 1 });
        }
        if self.gemm.epilogue.is_empty() {
            return program;
        }
        program = program.define("STAGES", self.gemm.epilogue.len());
        for (index, stage) in self.gemm.epilogue.iter().enumerate() {
            let kind = match (stage, transposed) {
                (EpilogueStage::BiasColumns, false) | (EpilogueStage::BiasRows, true) => "BIAS_COLUMNS",
                (EpilogueStage::BiasRows, false) | (EpilogueStage::BiasColumns, true) => "BIAS_ROWS",
                (EpilogueStage::Relu, _) => "RELU",
                (EpilogueStage::Relu6, _) => "RELU6",
                (EpilogueStage::Clamp { .. }, _) => "CLAMP",
                (EpilogueStage::Residual { .. }, _) => "RESIDUAL",
            };
            program = program.define(&format!("STAGE_{index}"), kind);
        }
        program
    }

    /// The arguments for the destination of the sums: C, through the epilogue.
    fn result(&mut self) -> Arguments {
        let RowMajorProduct { m, n, c, transposed, .. } = self.product;
        let integers = self.gemm.elements.total() == ScalarType::I32;
        let factors = self.gemm.factors().map(|factor| -> Argument<Slot> {
            if integers { (factor as i32).into() } else { (factor as f32).into() }
        });
        let mut arguments = Arguments::default()
            .with(self.plan.operand(Role::C))
            .at(Role::C, c.words())
            .with_all([m, n].map(|extent| extent as u32))
            .with_all(factors)
            .with_all(self.offsets());
        if let Elements::I8ToI8(Requantise { zero_c, least, most, .. }) = self.gemm.elements {
            let range = [zero_c, least, most, 0].map(i32::from);
            arguments = arguments.with(self.plan.operand(Role::Scales)).with(range);
        }
        for (index, stage) in self.gemm.epilogue.iter().enumerate() {
            let at = match stage {
                EpilogueStage::BiasColumns
                | EpilogueStage::BiasRows
                | EpilogueStage::Relu
                | EpilogueStage::Relu6 => [0; 4],
                EpilogueStage::Clamp { least, most } if integers => {
                    [*least as i32 as u32, *most as i32 as u32, 0, 0]
                }
                EpilogueStage::Clamp { least, most } => [least.to_bits(), most.to_bits(), 0, 0],
                EpilogueStage::Residual { layout, stride } => {
                    let layout = layout.strided(*stride);
                    if transposed { layout.transposed() } else { layout }.words()
                }
            };
            let role = stage.role(index);
            let slot = role.map(|role| self.plan.operand(role));
            let moves = role.filter(|role| matches!(role, Role::Residual(_)));
            arguments = arguments.with(slot.map_or(Argument::Null, Argument::from)).at(moves, at);
        }
        arguments
    }

    /// Arguments of a launch that writes the sums of parts of K to `parts`, without an epilogue.
    fn partial_result(&mut self, parts: Slot) -> Arguments {
        let RowMajorProduct { m, n, .. } = self.product;
        let at = [0, n as u32, 1, (m * n) as u32];
        let arguments = Arguments::default().with(parts).with(at).with(m as u32).with(n as u32);
        let arguments = if self.gemm.elements.total() == ScalarType::I32 {
            arguments.with(1i32).with(0i32)
        } else {
            arguments.with(1f32).with(0f32)
        };
        arguments.with_all(self.offsets())
    }

    /// Launches a kernel that can process parts of K: either over all of K directly to C, or over parts followed by
    /// `gemm_sum`.
    fn launch_parts(&mut self, pass: DivisibleLaunch) {
        let DivisibleLaunch { program, entry, arguments, zeros, steps, unit, items: [x, y], group, slices } =
            pass;
        let RowMajorProduct { m, n, k, count, .. } = self.product;
        let per_part = steps.div_ceil(self.parts).next_multiple_of(unit).max(1);
        let parts = steps.div_ceil(per_part).max(1);
        let range = NdRange::d3(x * slices, y, parts * count);
        let range = group.map_or(range, |[x, y]| range.local(x * slices, y, 1));
        let arguments = arguments.with_all([k, per_part, count].map(|word| word as u32)).with_all(zeros);
        if parts == 1 {
            let arguments = arguments.and(self.result());
            self.plan.launch(&Arc::new(self.with_epilogue(program)), entry, arguments, range);
            return;
        }
        let sums = self.plan.scratch(self.sums_bytes);
        let arguments = arguments.and(self.partial_result(sums));
        self.plan.launch(&Arc::new(program.define("PARTIAL", 1)), entry, arguments, range);
        let width = 4;
        let vectors = n.div_ceil(width);
        let side = group_side(self.probe);
        let shared = if parts >= SHARED_FROM_PARTS
            && vectors * m * count <= SHARED_UP_TO_VECTORS
            && self.probe.kind != DeviceKind::Cpu
        {
            side
        } else {
            1
        };
        let program = self
            .with_epilogue(self.program(&GEMM_SUM).define("VECTOR", width))
            .define("SHARED", shared)
            .define("GROUP_X", side)
            .define("GROUP_Y", side);
        let arguments =
            Arguments::default().with(sums).with(parts as u32).with(count as u32).and(self.result());
        let range = in_groups([vectors, m * shared], count, self.probe);
        self.plan.launch(&Arc::new(program), "gemm_sum", arguments, range);
    }

    /// Zero points of the kernel's A and B; `None` when both are 0.
    fn zero_points(&self) -> Option<[i32; 2]> {
        let Elements::I8ToI8(Requantise { zero_a, zero_b, .. }) = self.gemm.elements else { return None };
        let zeros = if self.product.transposed { [zero_b, zero_a] } else { [zero_a, zero_b] };
        (zeros != [0, 0]).then_some(zeros.map(i32::from))
    }
}

/// A launch that can be divided along K.
struct DivisibleLaunch {
    program: Program,
    entry: &'static str,
    /// The arguments before k.
    arguments: Arguments,
    zeros: Option<[i32; 2]>,
    /// Steps along K, and the unit that the length of a part is a multiple of.
    steps: usize,
    unit: usize,
    /// Work-items in the first two dimensions.
    items: [usize; 2],
    group: Option<[usize; 2]>,
    /// Work-items that share a tile, side by side in the first dimension.
    slices: usize,
}
