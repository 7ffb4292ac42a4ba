//! Ranges of integers.
//!
//! Every integer value has an interval of the numbers that its bits can be, read as two's complement; for a vector it
//! covers all lanes. Intervals start from types, constants, ids and the known parts of the launch, and are propagated
//! forward; branches on comparisons narrow the compared values, and loops are widened to a fixed point, then narrowed
//! again.
//!
//! Guarantees of the source are trusted: a sum declared not to wrap does not wrap. A launch is assumed to have fewer
//! than 2^31 work-items in a dimension.

mod arithmetic;
mod interval;

use cranelift_entity::SecondaryMap;

pub use self::interval::Range;
use super::{Atom, Cfg, Dominators, LinearForms, Loops, TripCount};
use crate::op::{Compare, Convert, Number, QueryKind, Unary};
use crate::{Block, Flags, Inst, Kernel, Op, Scalar, TerminatorKind, Value, ValueDef};

/// Iterations in which a loop's values grow normally before they jump to the next stop.
const PATIENCE: u32 = 3;

/// Widths in bits of the bounds at which growing values stop.
const STOPS: [u32; 8] = [0, 7, 8, 15, 16, 24, 31, 63];

/// An undefined value may be taken for any number.
const UNDEFINED: Range = Range::only(0);

/// Ranges of the integer values of a kernel.
#[derive(Clone, Debug)]
pub struct Ranges {
    of: SecondaryMap<Value, Option<Range>>,
}

impl Ranges {
    /// Computes them; `known` returns the value of an argument, an id or a size in this launch, if it is known.
    pub fn new(
        kernel: &Kernel,
        cfg: &Cfg,
        dominators: &Dominators,
        loops: &Loops,
        known: &dyn Fn(Atom) -> Option<i64>,
    ) -> Self {
        let forms = LinearForms::new(kernel, cfg);
        let mut counters = SecondaryMap::new();
        for each in &loops.all {
            let Some(count) = TripCount::of(kernel, cfg, dominators, &forms, each) else { continue };
            let (Some(first), Some(rounds)) = (count.first.evaluate(known), count.evaluate(known)) else {
                continue;
            };
            let last = rounds.checked_mul(count.increment).and_then(|way| first.checked_add(way));
            counters[count.counter] = last.map(|last| Range::only(first).join(Range::only(last)));
        }
        let mut analysis = RangeAnalysis {
            kernel,
            cfg,
            dominators,
            known,
            counters,
            ranges: Self { of: SecondaryMap::new() },
        };
        let mut round = 0;
        while analysis.round(Some(round)) {
            round += 1;
        }
        // Each further iteration from a solution gives another solution that is not wider.
        analysis.round(None);
        analysis.round(None);
        analysis.ranges
    }

    /// The range of a value; `None` for values that are not integers, and for unreachable code.
    pub fn get(&self, kernel: &Kernel, value: Value) -> Option<Range> {
        constant(kernel, value).or(self.of[value])
    }
}

/// The range of a constant's lanes.
fn constant(kernel: &Kernel, value: Value) -> Option<Range> {
    let lanes = kernel.constant(value)?;
    let scalar = kernel.ty(value).scalar().filter(|scalar| scalar.is_int())?;
    lanes.iter().map(|bits| Range::only(scalar.to_i64(*bits))).reduce(Range::join)
}

struct RangeAnalysis<'k> {
    kernel: &'k Kernel,
    cfg: &'k Cfg,
    dominators: &'k Dominators,
    known: &'k dyn Fn(Atom) -> Option<i64>,
    /// Ranges of counters whose loop has a known trip count.
    counters: SecondaryMap<Value, Option<Range>>,
    ranges: Ranges,
}

impl RangeAnalysis<'_> {
    /// Recomputes every value and returns whether one has changed. In an ascending iteration, given by number, values
    /// grow.
    fn round(&mut self, ascending: Option<u32>) -> bool {
        let mut changed = false;
        for block in &self.cfg.order {
            let data = &self.kernel.blocks[*block];
            for (position, parameter) in data.parameters.iter().enumerate() {
                let new = self.parameter(*block, position);
                changed |= self.put(*parameter, new, ascending);
            }
            for inst in &data.insts {
                if let Some(result) = self.kernel.insts[*inst].result {
                    let new = self.instruction(*inst, *block);
                    changed |= self.put(result, new, ascending);
                }
            }
        }
        changed
    }

    fn put(&mut self, value: Value, new: Option<Range>, ascending: Option<u32>) -> bool {
        let old = self.ranges.of[value];
        let grown = match (old, new, ascending) {
            (Some(old), Some(new), Some(round)) => {
                let joined = old.join(new);
                let is_parameter = matches!(self.kernel.values[value].def, ValueDef::Parameter(..));
                if round > PATIENCE && is_parameter { self.widened(value, old, joined) } else { joined }
            }
            (Some(old), None, Some(_)) => old,
            (_, Some(new), _) => new,
            (_, None, _) => return false,
        };
        self.ranges.of[value] = Some(grown);
        old != Some(grown)
    }

    /// Bounds that have grown move to the next stop.
    fn widened(&self, value: Value, old: Range, new: Range) -> Range {
        let all = self.full(value).unwrap_or(Range::signed(64));
        let low = STOPS.iter().map(|bits| -(1_i128 << bits)).find(|stop| *stop <= i128::from(new.low));
        let high = STOPS.iter().map(|bits| (1_i128 << bits) - 1).find(|stop| *stop >= i128::from(new.high));
        let bound =
            |stop: Option<i128>, all: i64| stop.and_then(|stop| i64::try_from(stop).ok()).unwrap_or(all);
        let low = if new.low < old.low { bound(low, all.low) } else { new.low };
        let high = if new.high > old.high { bound(high, all.high) } else { new.high };
        Range { low, high }.meet(all)
    }

    /// The full range of a value's type.
    fn full(&self, value: Value) -> Option<Range> {
        let scalar = self.kernel.ty(value).scalar().filter(|scalar| scalar.is_int())?;
        Some(Range::signed(scalar.bits()))
    }

    /// The range of a value as far as it is known at the start of a block; `None` if it has not been computed yet.
    fn at(&self, value: Value, block: Block) -> Option<Range> {
        let mut range = self.ranges.get(self.kernel, value)?;
        if self.kernel.constant(value).is_some() {
            return Some(range);
        }
        let mut at = block;
        while let Some(above) = self.dominators.immediate(at) {
            if self.cfg.predecessors[at][..] == [above] {
                range = self.past(range, value, above, at);
            }
            at = above;
        }
        Some(range)
    }

    /// The part of a value's range that remains on the edge from one block to another.
    fn past(&self, range: Range, value: Value, from: Block, to: Block) -> Range {
        let TerminatorKind::Branch { condition, then, otherwise } = &self.kernel.blocks[from].terminator.kind
        else {
            return range;
        };
        if then.block == otherwise.block {
            return range;
        }
        let Some(inst) = self.kernel.defining(*condition) else { return range };
        let data = &self.kernel.insts[inst];
        let Op::Compare(compare) = data.op else { return range };
        let compare = if then.block == to { Some(compare) } else { compare.negated() };
        let (compare, other) = match (compare, &data.operands[..]) {
            (Some(compare), [a, b]) if *a == value => (compare, *b),
            (Some(compare), [a, b]) if *b == value => match compare.mirrored() {
                Some(compare) => (compare, *a),
                None => return range,
            },
            _ => return range,
        };
        let Some(other) = self.ranges.get(self.kernel, other) else { return range };
        let below = |by: i64| Range { low: i64::MIN, high: other.high.saturating_sub(by) };
        let above = |by: i64| Range { low: other.low.saturating_add(by), high: i64::MAX };
        match compare {
            Compare::Eq => range.meet(other),
            Compare::SLt => range.meet(below(1)),
            Compare::SLe => range.meet(below(0)),
            Compare::SGt => range.meet(above(1)),
            Compare::SGe => range.meet(above(0)),
            // All numbers that are unsigned-less than a nonnegative one are nonnegative.
            Compare::ULt if other.is_natural() => range.meet(Range { low: 0, ..below(1) }),
            Compare::ULe if other.is_natural() => range.meet(Range { low: 0, ..below(0) }),
            Compare::UGt if other.is_natural() && range.is_natural() => range.meet(above(1)),
            Compare::UGe if other.is_natural() && range.is_natural() => range.meet(above(0)),
            _ => range,
        }
    }

    fn parameter(&self, block: Block, position: usize) -> Option<Range> {
        let value = self.kernel.blocks[block].parameters[position];
        let all = self.full(value)?;
        if block == Kernel::ENTRY {
            return Some((self.known)(Atom::Value(value)).map_or(all, Range::only).meet(all));
        }
        let mut joined: Option<Range> = None;
        for from in &self.cfg.predecessors[block] {
            for call in self.kernel.blocks[*from].terminator.calls() {
                if call.block != block {
                    continue;
                }
                let argument = call.arguments[position];
                let Some(range) = self.at(argument, *from) else { continue };
                let range = self.past(range, argument, *from, block);
                joined = Some(joined.map_or(range, |joined| joined.join(range)));
            }
        }
        let counted = self.counters[value].filter(|range| range.is_within(all));
        joined.map(|range| counted.map_or(range, |counted| range.meet(counted)))
    }

    fn instruction(&self, inst: Inst, block: Block) -> Option<Range> {
        let data = &self.kernel.insts[inst];
        let result = data.result?;
        let all = self.full(result)?;
        let bits = self.kernel.ty(result).scalar().map_or(64, Scalar::bits);
        let operand = |position: usize| self.at(*data.operands.get(position)?, block);
        let wraps = !data.flags.contains(Flags::NO_SIGNED_WRAP);
        let range = match data.op {
            Op::Binary(binary) => arithmetic::binary(binary, operand(0)?, operand(1)?, bits, wraps),
            Op::Unary(Unary::Neg) => Range::only(0).corners(operand(0)?, bits, wraps, |a, b| a - b),
            Op::Unary(Unary::Not) => Range::only(-1).corners(operand(0)?, bits, true, |a, b| a - b),
            Op::Unary(Unary::PopCount) => Range { low: 0, high: i64::from(bits) }.meet(all),
            Op::Select => operand(1)?.join(operand(2)?),
            Op::Convert(convert) => self.convert(convert, data.operands[0], operand(0), bits),
            // Lanes of the operands.
            Op::Extract(_) | Op::ExtractDynamic => operand(0)?,
            Op::Insert(_) | Op::InsertDynamic => operand(0)?.join(operand(1)?),
            Op::Shuffle(mask) => {
                let lanes = operand(0)?.join(operand(1)?);
                if mask.lanes().all(|lane| lane.is_some()) { lanes } else { lanes.join(UNDEFINED) }
            }
            Op::Undefined => UNDEFINED,
            Op::Construct => {
                let lanes: Option<Vec<Range>> = (0..data.operands.len()).map(operand).collect();
                lanes?.into_iter().reduce(Range::join)?
            }
            Op::Query(query) => of_query(self.kernel, self.known, query.kind, query.dimension).meet(all),
            Op::Builtin(builtin) => {
                let operands: Option<Vec<Range>> = (0..data.operands.len())
                    .map(|position| operand(position).or_else(|| self.full(data.operands[position])))
                    .collect();
                match operands {
                    Some(operands) => arithmetic::builtin(builtin, &operands, bits),
                    None => all,
                }
            }
            _ => all,
        };
        Some(range.meet(all))
    }

    fn convert(&self, convert: Convert, from: Value, range: Option<Range>, bits: u32) -> Range {
        let all = Range::signed(bits);
        let scalar = self.kernel.ty(from).scalar();
        let range = match (scalar, range) {
            (Some(Scalar::Bool), _) => {
                if convert.from == Number::Signed {
                    Range { low: -1, high: 0 }
                } else {
                    Range { low: 0, high: 1 }
                }
            }
            (Some(scalar), Some(range)) if scalar.is_int() => {
                if convert.from == Number::Unsigned && !range.is_natural() {
                    if scalar.bits() == 64 {
                        return all;
                    }
                    Range::unsigned(scalar.bits())
                } else {
                    range
                }
            }
            _ => return all,
        };
        if convert.saturate {
            let target = if convert.to == Number::Signed { all } else { Range::unsigned(bits) };
            let cut = |number: i64| number.clamp(target.low, target.high);
            let cut = Range { low: cut(range.low), high: cut(range.high) };
            return Range::fitted(i128::from(cut.low), i128::from(cut.high), bits, true);
        }
        Range::fitted(i128::from(range.low), i128::from(range.high), bits, true)
    }
}

/// The numbers that a fact about the work-item can be; `known` returns the value of a size in this launch, if it is
/// known.
pub fn of_query(
    kernel: &Kernel,
    known: &dyn Fn(Atom) -> Option<i64>,
    kind: QueryKind,
    dimension: u8,
) -> Range {
    let size = |kind| known(Atom::Query(kind, dimension)).filter(|size| *size > 0);
    let below = |size: Option<i64>| match size {
        Some(size) => Range { low: 0, high: size - 1 },
        None => Range { low: 0, high: i64::from(i32::MAX) },
    };
    let local = |dimension: u8| {
        let required = kernel.required_local_size.map(|sizes| sizes[usize::from(dimension.min(2))]);
        let size = known(Atom::Query(QueryKind::EnqueuedLocalSize, dimension)).filter(|size| *size > 0);
        size.or(required.map(i64::from))
    };
    match kind {
        QueryKind::GlobalId if size(QueryKind::GlobalSize).is_none() => below(None),
        QueryKind::GlobalId => {
            let first = known(Atom::Query(QueryKind::GlobalOffset, dimension));
            match (below(size(QueryKind::GlobalSize)), first) {
                (ids, Some(0)) => ids,
                _ => below(None),
            }
        }
        QueryKind::LocalId => below(local(dimension)),
        QueryKind::LocalLinearId => {
            let sizes = [0, 1, 2].map(local).into_iter();
            below(sizes.reduce(|all, size| all?.checked_mul(size?)).flatten())
        }
        QueryKind::GroupId => below(size(QueryKind::NumGroups)),
        QueryKind::WorkDim => Range { low: 1, high: 3 },
        QueryKind::SubGroupEqMask
        | QueryKind::SubGroupGeMask
        | QueryKind::SubGroupGtMask
        | QueryKind::SubGroupLeMask
        | QueryKind::SubGroupLtMask => Range::signed(32),
        QueryKind::GlobalLinearId => Range::unsigned(63),
        _ => size(kind).map_or(below(None), Range::only),
    }
}
