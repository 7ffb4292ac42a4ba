//! The cost of a launch: the pipes' cycles, and the least number of bytes that DRAM has to transfer.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_entity::EntitySet;
use tripipe_device::Gpu;
use tripipe_ir::flow::linear::Base;
use tripipe_ir::flow::{Atom, MemoryFact};
use tripipe_ir::op::QueryKind;
use tripipe_ir::{Block, Kernel, Op, Space, Type, Value, ValueDef};

use crate::paths::Paths;
use crate::{Cycles, Polynomial, Setup};

/// The cost of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchCost {
    /// Work-items.
    pub items: u64,
    /// Cycles of the whole GPU, when every work-item takes the longest path and the bounding pipe is never idle.
    pub cycles: f64,
    /// A lower bound: the longer of the pipes' time at the GPU's clock and DRAM's time at the memory's peak.
    pub milliseconds: f64,
    /// The utilisation of each column meanwhile, 1 for one that bounds.
    pub busy: Vec<f64>,
    /// Bytes of buffers that are read or written, each counted once. Images, and addresses that depend on the contents
    /// of memory, are not counted.
    pub dram_bytes: u64,
    /// The utilisation of DRAM meanwhile, 1 if it bounds.
    pub dram_busy: f64,
}

/// The launch's cost; `None` if its size or a trip count is not known.
pub(crate) fn launch(
    gpu: &Gpu,
    setup: &Setup,
    longest: &Cycles,
    extents: &Extents<'_>,
    facts: &[MemoryFact],
) -> Option<LaunchCost> {
    let items: u64 = setup.global?.iter().product();
    let columns: Option<Vec<f64>> = longest.columns.iter().map(Polynomial::as_constant).collect();
    let columns = columns?;
    let most = columns.iter().copied().fold(0.0, f64::max);
    let cores = f64::from(gpu.configuration.cores.value.max(1));
    let cycles = most * items as f64 / cores;
    let clock = f64::from(gpu.configuration.clock_mhz.value.max(1)) * 1e3;
    let dram_bytes = extents.traffic(facts);
    let dram = dram_bytes as f64 / (gpu.configuration.dram_gb_s_peak.value.max(1e-3) * 1e6);
    let milliseconds = (cycles / clock).max(dram);
    let share = |part: f64| if milliseconds > 0.0 { part / milliseconds } else { 0.0 };
    let busy = columns.iter().map(|column| share(column * items as f64 / cores / clock)).collect();
    Some(LaunchCost { items, cycles, milliseconds, busy, dram_bytes, dram_busy: share(dram) })
}

/// Something that an address varies with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Axis {
    /// A dimension of the global size.
    Item(usize),
    /// A loop, by position.
    Iteration(usize),
}

/// Counts the values of everything that addresses are computed from.
pub(crate) struct Extents<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) setup: &'a Setup,
    pub(crate) paths: &'a Paths<'a>,
}

impl Extents<'_> {
    /// Bytes of buffers that are touched: for each buffer the access that covers most, reads and writes separately.
    fn traffic(&self, facts: &[MemoryFact]) -> u64 {
        let mut most: BTreeMap<(Value, bool), u64> = BTreeMap::new();
        for fact in facts {
            let Base::Value(base) = fact.base else { continue };
            let Type::Pointer(space) = self.kernel.ty(base) else { continue };
            if matches!(space, Space::Global | Space::Constant)
                && let Some(bytes) = self.covered(fact)
            {
                let known = most.entry((base, fact.writes)).or_default();
                *known = (*known).max(bytes);
            }
        }
        most.values().sum()
    }

    /// Bytes that all work-items and iterations of an access cover: at most the distance from the first to the last,
    /// and at most the number of addresses; `None` if they depend on the contents of memory.
    fn covered(&self, fact: &MemoryFact) -> Option<u64> {
        let mut axes = BTreeSet::new();
        let mut span = Some(u64::from(fact.bytes));
        for (atom, factor) in &fact.offset.terms {
            let mut own = BTreeSet::new();
            self.axes_of_atom(*atom, &mut own)?;
            let reach = self.span(*atom, fact.block).and_then(|most| factor.unsigned_abs().checked_mul(most));
            span = span.zip(reach).and_then(|(span, reach)| span.checked_add(reach));
            axes.append(&mut own);
        }
        let mut bytes = u64::from(fact.bytes);
        for axis in axes {
            bytes = bytes.saturating_mul(self.extent(axis, fact.block)?);
        }
        Some(span.map_or(bytes, |span| span.min(bytes)))
    }

    /// The number of values of an axis in a block.
    fn extent(&self, axis: Axis, block: Block) -> Option<u64> {
        match axis {
            Axis::Item(dimension) => self.setup.global.map(|global| global[dimension]),
            Axis::Iteration(at) => self.paths.iterations(at, block),
        }
    }

    /// The difference between an atom's greatest and least value, for an id, a loop's counter, or a uniform value.
    fn span(&self, atom: Atom, block: Block) -> Option<u64> {
        match atom {
            Atom::Query(QueryKind::GlobalId, dimension) => {
                Some(self.setup.global?[usize::from(dimension.min(2))].saturating_sub(1))
            }
            Atom::Query(kind, _) if is_same_for_all(kind) => Some(0),
            Atom::Value(value) => match self.kernel.values[value].def {
                ValueDef::Constant(_) | ValueDef::Parameter(Kernel::ENTRY, _) => Some(0),
                _ => {
                    let (at, count) = self.paths.counter(value)?;
                    let iterations = self.extent(Axis::Iteration(at), block)?.saturating_sub(1);
                    iterations.checked_mul(count.increment.unsigned_abs())
                }
            },
            Atom::Query(..) => None,
        }
    }

    fn axes_of_atom(&self, atom: Atom, axes: &mut BTreeSet<Axis>) -> Option<()> {
        match atom {
            Atom::Value(value) => self.axes_of(value, &mut EntitySet::new(), axes),
            Atom::Query(kind, dimension) => {
                axes_of_query(kind, dimension, axes);
                Some(())
            }
        }
    }

    /// The ids and loops that a value depends on; `None` if it also depends on memory.
    fn axes_of(&self, value: Value, seen: &mut EntitySet<Value>, axes: &mut BTreeSet<Axis>) -> Option<()> {
        if !seen.insert(value) {
            return Some(());
        }
        match self.kernel.values[value].def {
            ValueDef::Constant(_) | ValueDef::Parameter(Kernel::ENTRY, _) => Some(()),
            ValueDef::Parameter(block, position) => {
                if let Some((at, _)) = self.paths.counter(value) {
                    axes.insert(Axis::Iteration(at));
                }
                let calls = self.kernel.blocks.values().flat_map(|from| from.terminator.calls());
                let passed = calls
                    .filter(|call| call.block == block)
                    .filter_map(|call| call.arguments.get(position as usize).copied());
                let passed: Vec<Value> = passed.collect();
                passed.into_iter().try_for_each(|value| self.axes_of(value, seen, axes))
            }
            ValueDef::Result(inst) => {
                let data = &self.kernel.insts[inst];
                match data.op {
                    Op::Query(query) => axes_of_query(query.kind, query.dimension, axes),
                    op if op.is_pure() => {}
                    _ => return None,
                }
                data.operands.iter().try_for_each(|operand| self.axes_of(*operand, seen, axes))
            }
        }
    }
}

fn axes_of_query(kind: QueryKind, dimension: u8, axes: &mut BTreeSet<Axis>) {
    match kind {
        QueryKind::GlobalId | QueryKind::LocalId | QueryKind::GroupId => {
            axes.insert(Axis::Item(usize::from(dimension.min(2))));
        }
        kind if is_same_for_all(kind) => {}
        _ => axes.extend([0, 1, 2].map(Axis::Item)),
    }
}

fn is_same_for_all(kind: QueryKind) -> bool {
    use QueryKind as Q;
    matches!(
        kind,
        Q::GlobalSize | Q::GlobalOffset | Q::LocalSize | Q::EnqueuedLocalSize | Q::NumGroups | Q::WorkDim
    )
}
