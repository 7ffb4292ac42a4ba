//! The size of a launch: its work-items, and the least number of bytes that DRAM has to transfer.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_entity::EntitySet;
use tripipe_ir::flow::linear::Base;
use tripipe_ir::flow::{Atom, MemoryFact};
use tripipe_ir::op::QueryKind;
use tripipe_ir::{Block, Kernel, Op, ParameterKind, Space, Type, Value, ValueDef};

use crate::Setup;
use crate::paths::Paths;

/// What a launch has to do, however long that takes.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchCost {
    /// Work-items.
    pub items: u64,
    /// Bytes of buffers that are read, and bytes that are written, each counted once: what is read and written counts
    /// twice. Images, and addresses that depend on the contents of memory, are not counted.
    pub dram_bytes: u64,
    /// Whether the kernel has images.
    pub images: bool,
}

/// The launch's cost; `None` if its size is not known.
pub(crate) fn launch(extents: &Extents<'_>, facts: &[MemoryFact]) -> Option<LaunchCost> {
    let items = extents.setup.global?.iter().product();
    let is_image = |kind: &ParameterKind| matches!(kind, ParameterKind::Value(Type::Image(..)));
    let images = extents.kernel.parameters.iter().any(|parameter| is_image(&parameter.kind));
    Some(LaunchCost { items, dram_bytes: extents.traffic(facts), images })
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

/// Accesses of a buffer whose addresses differ by constants.
type SameTerms<'f> = ((Value, bool, &'f BTreeMap<Atom, i64>), Vec<&'f MemoryFact>);

impl Extents<'_> {
    /// Bytes of buffers that are touched, reads and writes separately. Accesses whose addresses differ by more than a
    /// constant may touch the same bytes: those that cover most count.
    fn traffic(&self, facts: &[MemoryFact]) -> u64 {
        let mut groups: Vec<SameTerms<'_>> = Vec::new();
        for fact in facts {
            let Base::Value(base) = fact.base else { continue };
            let Type::Pointer(space) = self.kernel.ty(base) else { continue };
            if !matches!(space, Space::Global | Space::Constant) {
                continue;
            }
            let key = (base, fact.writes, &fact.offset.terms);
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, same)) => same.push(fact),
                None => groups.push((key, vec![fact])),
            }
        }
        let mut most: BTreeMap<(Value, bool), u64> = BTreeMap::new();
        for ((base, writes, _), same) in &groups {
            let known = most.entry((*base, *writes)).or_default();
            *known = (*known).max(self.covered_together(same));
        }
        most.values().sum()
    }

    /// Bytes that accesses whose addresses differ by constants cover together.
    fn covered_together(&self, same: &[&MemoryFact]) -> u64 {
        let Some(first) = same.first() else { return 0 };
        let lattice = first.offset.terms.values().fold(0, |all, factor| gcd(all, factor.unsigned_abs()));
        let lattice = i64::try_from(lattice).unwrap_or(i64::MAX);
        let is_dense = same.iter().any(|fact| i64::from(fact.bytes) >= lattice);
        // Each access is a run of bytes, or of the points of a lattice: for each remainder of the lattice, the bytes of
        // a point, and the runs.
        let mut remainders: BTreeMap<i64, (i64, Vec<(i64, i64)>)> = BTreeMap::new();
        for fact in same {
            let Some(covered) = self.covered(fact).and_then(|bytes| i64::try_from(bytes).ok()) else {
                continue;
            };
            let (at, bytes) = (fact.offset.constant, i64::from(fact.bytes.max(1)));
            let (remainder, start, length, width) = if is_dense {
                (0, at, covered, 1)
            } else {
                (at.rem_euclid(lattice), at.div_euclid(lattice), covered / bytes, bytes)
            };
            let (most, runs) = remainders.entry(remainder).or_default();
            *most = (*most).max(width);
            runs.push((start, start.saturating_add(length)));
        }
        let next: Vec<i64> = remainders.keys().skip(1).copied().chain([i64::MAX]).collect();
        let bytes = remainders.into_iter().zip(next).map(|((remainder, (width, mut runs)), next)| {
            runs.sort_unstable();
            let mut end = i64::MIN;
            let points = runs.into_iter().map(|run| {
                let new = run.1.saturating_sub(run.0.max(end)).max(0);
                end = end.max(run.1);
                new.unsigned_abs()
            });
            let width = width.min(next.saturating_sub(remainder)).unsigned_abs();
            points.fold(0, u64::saturating_add).saturating_mul(width)
        });
        bytes.fold(0, u64::saturating_add)
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

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
