//! The access of an instruction: the register of the addresses, sizes, kind.

use tripipe_ir::Op;

use crate::execute::code::{Inst, component_bytes};
use crate::execute::rows::lanes;
use crate::execute::state::State;

/// An access by all active lanes of an instruction.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Touch {
    /// The register of the addresses.
    pub(crate) pointer: u32,
    /// The index of the pointer operand.
    pub(crate) operand: usize,
    /// Bytes accessed per lane.
    pub(crate) bytes: usize,
    /// Required alignment.
    pub(crate) align: u32,
    /// Whether it is a `vloadN` or `vstoreN`.
    pub(crate) vector_builtin: bool,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) atomic: bool,
    /// Whether it is a load that the source does not contain: see [`super::partial`].
    pub(crate) puts_back: bool,
}

impl Touch {
    /// A read or write of some bytes through an operand.
    pub(super) fn bytes(i: &Inst, operand: usize, bytes: usize, writes: bool) -> Self {
        Self {
            pointer: i.arg(operand),
            operand,
            bytes,
            align: 1,
            vector_builtin: false,
            reads: !writes,
            writes,
            atomic: false,
            puts_back: false,
        }
    }

    /// A load or a store.
    pub(super) fn plain(s: &State<'_>, i: &Inst, write: bool) -> Self {
        let data = &s.kernel.insts[i.origin];
        let value = if write { data.operands.get(1).copied() } else { data.result };
        let element = value.map_or(1, |value| component_bytes(s.kernel.ty(value)) as usize);
        let bytes = element * usize::from(i.components);
        let (align, vector_builtin) = match data.op {
            Op::Load(access) | Op::Store(access) => (access.align, access.vector_builtin),
            _ => (1, false),
        };
        Self { align, vector_builtin, ..Self::bytes(i, 0, bytes, write) }
    }
}

/// The lowest and highest address of the active lanes, and the OR of all addresses.
pub(crate) fn extremes(s: &State<'_>, pointer: u32) -> (u64, u64, u64) {
    let addresses = s.warp.rows.words(pointer);
    if addresses.len() == 1 {
        return (addresses[0], addresses[0], addresses[0]);
    }
    if s.mask == u64::MAX {
        return s.arch.dispatch(Extremes(addresses));
    }
    lanes(s.mask).map(|lane| addresses[lane]).fold((u64::MAX, 0, 0), |(low, high, bits), address| {
        (low.min(address), high.max(address), bits | address)
    })
}

struct Extremes<'a>(&'a [u64]);

impl pulp::WithSimd for Extremes<'_> {
    type Output = (u64, u64, u64);

    #[allow(clippy::inline_always, reason = "else it is compiled for the baseline")]
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> (u64, u64, u64) {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for address in self.0 {
            low = low.min(*address);
            high = high.max(*address);
            bits |= *address;
        }
        (low, high, bits)
    }
}

/// The number of a lane's work-item in the launch, counted from 1.
pub(crate) fn item_number(s: &State<'_>, lane: usize) -> u32 {
    let items = s.group.enqueued_local.iter().product::<u64>();
    (s.group.linear() * items + s.item(lane) + 1) as u32
}
