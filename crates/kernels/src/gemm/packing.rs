//! Launches that pack an operand for a kernel, and unpack it.

use std::sync::Arc;

use tripipe_device::Probe;
use tripipe_launch::{NdRange, Program};

use super::check::Unfit;
use super::description::{Gemm, StridedLayout};
use super::packed::Packed;
use super::parameters::Parameters;
use super::plan::{Side, in_groups, packed_layouts};
use super::product::RowMajorProduct;
use crate::Role;
use crate::plan::{Arguments, Plan, Slot};
use crate::source::{GEMM_PACKING, GEMM_UNPACKING};

/// A plan that packs one operand, with the tag of the result; `None` when the parameters read the operand in its
/// stored layout.
///
/// Its operands are the described operand ([`Role::Source`]), the memory of [`Packed::memory`] ([`Role::Result`]), and,
/// for a batch with offsets, [`Role::Offsets`].
///
/// # Errors
/// As [`Parameters::check`].
pub fn plan_packing(
    gemm: &Gemm,
    parameters: &Parameters,
    probe: &Probe,
    side: Side,
) -> Result<Option<(Plan<'static>, Packed)>, Unfit> {
    let Some(packed) = packed_layouts(gemm, parameters, probe)?[side as usize] else { return Ok(None) };
    let product = RowMajorProduct::of(gemm);
    let mut plan = Plan::new();
    let (from, to) = (plan.operand(Role::Source), plan.operand(Role::Result));
    let offsets = gemm.has_offsets().then(|| plan.operand(Role::Offsets));
    let launch = PackingLaunch::of(gemm, &product, side, packed).launch([from, to], None, offsets, probe);
    if let Some((program, arguments, range)) = launch {
        plan.launch(&program, "gemm_pack", arguments, range);
    }
    Ok(Some((plan, packed)))
}

/// A plan that converts a packed operand back to a plain matrix, for kernels that read another layout.
///
/// [`Role::Source`] is the memory of [`Packed::memory`], [`Role::Result`] a buffer of [`Packed::plain_elements`]: a
/// row-major A, or a column-major B, without gaps, one product after the other.
pub fn plan_unpacking(packed: &Packed, probe: &Probe) -> Plan<'static> {
    let mut plan = Plan::new();
    let (from, to) = (plan.operand(Role::Source), plan.operand(Role::Result));
    if packed.plain_elements() > 0 {
        let program = GEMM_UNPACKING
            .program()
            .define("BYTES_EACH", packed.element.bytes())
            .define("FROM_IMAGE", u8::from(packed.buffer_bytes.is_none()));
        let arguments = vec![
            from.into(),
            packed.written().words().into(),
            to.into(),
            (packed.lanes as u32).into(),
            (packed.depth as u32).into(),
            (packed.extent as u32).into(),
            (packed.k as u32).into(),
        ];
        let range = in_groups([packed.extent, packed.k.div_ceil(4)], packed.products, probe);
        plan.launch(&Arc::new(program), "gemm_unpack", arguments, range);
    }
    plan
}

/// A packing launch.
pub(super) struct PackingLaunch {
    /// The source, with lanes as rows and steps as columns.
    view: StridedLayout,
    lanes: usize,
    k: usize,
    operand: u32,
    packed: Packed,
}

impl PackingLaunch {
    pub(super) fn of(gemm: &Gemm, product: &RowMajorProduct, side: Side, packed: Packed) -> Self {
        let is_a = (side == Side::A) != product.transposed;
        let (view, lanes) = if is_a { (product.a, product.m) } else { (product.b.transposed(), product.n) };
        Self { view, lanes, k: gemm.k, operand: side as u32, packed }
    }

    /// Program, arguments and range; `None` when the operand is empty. `moves` is the role of the source, if it can be bound at
    /// later elements.
    pub(super) fn launch(
        &self,
        [from, to]: [Slot; 2],
        moves: Option<Role>,
        offsets: Option<Slot>,
        probe: &Probe,
    ) -> Option<(Arc<Program>, Arguments, NdRange)> {
        let packed = &self.packed;
        if self.lanes == 0 || self.k == 0 {
            return None;
        }
        let to_image = packed.buffer_bytes.is_none();
        // The kernel holds a tile's lanes in registers, and processes a wider tile as several tiles of one panel.
        let lanes = match packed.lanes {
            lanes if lanes <= 16 => lanes,
            lanes if lanes.is_multiple_of(8) => 8,
            _ => 4,
        };
        let tiles = packed.tiles * packed.lanes / lanes;
        let program = GEMM_PACKING
            .program()
            .define("BYTES_EACH", packed.element.bytes())
            .define("LANES", lanes)
            .define("DOT", u8::from(packed.depth == 4))
            .define("ALONG", u8::from(self.view.column_stride == 1))
            .define("TO_IMAGE", u8::from(to_image))
            .define("OFFSETS", u8::from(offsets.is_some()));
        let mut arguments = Arguments::default()
            .with(from)
            .at(moves, self.view.words())
            .with(to)
            .with(packed.written().words())
            .with_all([self.lanes, self.k, tiles].map(|extent| extent as u32));
        if let Some(offsets) = offsets {
            arguments = arguments.with(offsets).with(self.operand);
        }
        Some((Arc::new(program), arguments, in_groups([tiles, self.k.div_ceil(4)], packed.products, probe)))
    }
}
