//! Ranges of integers.
//!
//! Every integer value has an interval of the numbers that its bits can be, read as two's complement; for a vector it
//! covers all lanes. Intervals start from types, constants, ids and the known parts of the launch, and are propagated
//! forward; branches on comparisons narrow the compared values, and loops are widened to a fixed point, then narrowed
//! again.
//!
//! Guarantees of the source are trusted: a sum declared not to wrap does not wrap. A launch is assumed to have fewer
//! than 2^31 work-items in a dimension.

use cranelift_entity::SecondaryMap;

use super::{Atom, Cfg, Dominators, LinearForms, Loops, TripCount};
use crate::op::{Binary, Builtin, Compare, Convert, Number, QueryKind, Unary};
use crate::{Block, Flags, Inst, Kernel, Op, Scalar, TerminatorKind, Value, ValueDef};

/// Iterations in which a loop's values grow normally before they jump to the next stop.
const PATIENCE: u32 = 3;

/// Widths in bits of the bounds at which growing values stop.
const STOPS: [u32; 8] = [0, 7, 8, 15, 16, 24, 31, 63];

/// An undefined value may be taken for any number.
const UNDEFINED: Range = Range::only(0);

/// The integers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least number.
    pub low: i64,
    /// The greatest number, at least `low`.
    pub high: i64,
}

impl Range {
    /// Every number of a signed integer with this many bits, 1 to 64.
    pub const fn signed(bits: u32) -> Self {
        Self { low: i64::MIN >> (64 - bits), high: i64::MAX >> (64 - bits) }
    }

    /// Every number of an unsigned integer with this many bits, up to 63; for 64 bits, those that a signed one also
    /// has.
    pub const fn unsigned(bits: u32) -> Self {
        Self { low: 0, high: if bits < 63 { (1 << bits) - 1 } else { i64::MAX } }
    }

    /// A single number.
    pub const fn only(number: i64) -> Self {
        Self { low: number, high: number }
    }

    /// Whether `other` contains all its numbers.
    pub const fn is_within(self, other: Self) -> bool {
        self.low >= other.low && self.high <= other.high
    }

    /// Whether it contains a number.
    pub const fn contains(self, number: i64) -> bool {
        number >= self.low && number <= self.high
    }

    /// The smallest range that contains both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The intersection; the first range where it is empty, as on a path that is never taken.
    fn meet(self, other: Self) -> Self {
        let both = Self { low: self.low.max(other.low), high: self.high.min(other.high) };
        if both.low <= both.high { both } else { self }
    }

    fn is_natural(self) -> bool {
        self.low >= 0
    }

    /// The range of exact results in an integer with this many bits: itself, unless some wrap.
    fn fitted(low: i128, high: i128, bits: u32, wraps: bool) -> Self {
        let all = Self::signed(bits);
        match (i64::try_from(low), i64::try_from(high)) {
            (Ok(low), Ok(high)) if all.contains(low) && all.contains(high) => Self { low, high },
            _ if wraps => all,
            _ => {
                let cut = |number: i128| number.clamp(i128::from(all.low), i128::from(all.high)) as i64;
                Self { low: cut(low), high: cut(high) }
            }
        }
    }

    /// The results of a function that is monotone in each operand, computed from the corners.
    fn corners(self, other: Self, bits: u32, wraps: bool, of: impl Fn(i128, i128) -> i128) -> Self {
        let corner = |a: i64, b: i64| of(i128::from(a), i128::from(b));
        let all = [
            corner(self.low, other.low),
            corner(self.low, other.high),
            corner(self.high, other.low),
            corner(self.high, other.high),
        ];
        let low = all.iter().copied().fold(i128::MAX, i128::min);
        let high = all.iter().copied().fold(i128::MIN, i128::max);
        Self::fitted(low, high, bits, wraps)
    }
}

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
        let mut analysis =
            Analysis { kernel, cfg, dominators, known, counters, ranges: Self { of: SecondaryMap::new() } };
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
    let unused = 64 - scalar.bits();
    let number = |bits: &u64| Range::only((bits << unused).cast_signed() >> unused);
    lanes.iter().map(number).reduce(Range::join)
}

struct Analysis<'k> {
    kernel: &'k Kernel,
    cfg: &'k Cfg,
    dominators: &'k Dominators,
    known: &'k dyn Fn(Atom) -> Option<i64>,
    /// Ranges of counters whose loop has a known trip count.
    counters: SecondaryMap<Value, Option<Range>>,
    ranges: Ranges,
}

impl Analysis<'_> {
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
            Op::Binary(binary) => self::binary(binary, operand(0)?, operand(1)?, bits, wraps),
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
            Op::Query(query) => self.query(query.kind, query.dimension).meet(all),
            Op::Builtin(builtin) => {
                let operands: Option<Vec<Range>> = (0..data.operands.len())
                    .map(|position| operand(position).or_else(|| self.full(data.operands[position])))
                    .collect();
                match operands {
                    Some(operands) => self::builtin(builtin, &operands, bits),
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

    fn query(&self, kind: QueryKind, dimension: u8) -> Range {
        let size = |kind| (self.known)(Atom::Query(kind, dimension)).filter(|size| *size > 0);
        let below = |size: Option<i64>| match size {
            Some(size) => Range { low: 0, high: size - 1 },
            None => Range { low: 0, high: i64::from(i32::MAX) },
        };
        match kind {
            QueryKind::GlobalId if size(QueryKind::GlobalSize).is_none() => below(None),
            QueryKind::GlobalId => {
                let first = (self.known)(Atom::Query(QueryKind::GlobalOffset, dimension));
                match (below(size(QueryKind::GlobalSize)), first) {
                    (ids, Some(0)) => ids,
                    _ => below(None),
                }
            }
            QueryKind::LocalId => {
                let required =
                    self.kernel.required_local_size.map(|sizes| sizes[usize::from(dimension.min(2))]);
                below(size(QueryKind::EnqueuedLocalSize).or(required.map(i64::from)))
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
}

/// The smallest range of the form -2^k to 2^k - 1 that contains both.
fn mask_around(a: Range, b: Range) -> Range {
    let joined = a.join(b);
    let bits = |number: i64| 65 - (number ^ (number >> 63)).leading_zeros();
    Range::signed(bits(joined.low).max(bits(joined.high)).min(64))
}

fn binary(binary: Binary, a: Range, b: Range, bits: u32, wraps: bool) -> Range {
    let all = Range::signed(bits);
    let last_shift = i64::from(bits) - 1;
    let shifts = || Range { low: b.low.clamp(0, last_shift), high: b.high.clamp(0, last_shift) };
    match binary {
        Binary::Add => a.corners(b, bits, wraps, |a, b| a + b),
        Binary::Sub => a.corners(b, bits, wraps, |a, b| a - b),
        Binary::Mul => a.corners(b, bits, wraps, |a, b| a * b),
        Binary::Shl => a.corners(shifts(), bits, wraps, |a, b| a << b),
        Binary::AShr => a.corners(shifts(), bits, true, |a, b| a >> b),
        Binary::LShr if a.is_natural() => a.corners(shifts(), bits, true, |a, b| a >> b),
        Binary::LShr if b.low > 0 => Range::unsigned(bits - b.low.min(last_shift) as u32),
        Binary::And if a.is_natural() && b.is_natural() => Range { low: 0, high: a.high.min(b.high) },
        Binary::And if a.is_natural() => Range { low: 0, high: a.high },
        Binary::And if b.is_natural() => Range { low: 0, high: b.high },
        Binary::Or | Binary::Xor if a.is_natural() && b.is_natural() => {
            let low = if binary == Binary::Or { a.low.max(b.low) } else { 0 };
            Range { low, high: mask_around(a, b).high }
        }
        Binary::And | Binary::Or | Binary::Xor => mask_around(a, b),
        // Division by zero is undefined: the divisor is taken to be nonzero.
        Binary::SDiv if b.high > 0 && b.low >= 0 => {
            a.corners(Range { low: b.low.max(1), ..b }, bits, true, |a, b| a / b)
        }
        Binary::UDiv if a.is_natural() && b.is_natural() && b.high > 0 => {
            a.corners(Range { low: b.low.max(1), ..b }, bits, true, |a, b| a / b)
        }
        Binary::UDiv if b.low > 1 => Range::unsigned(bits - 1),
        Binary::URem if b.is_natural() && b.high > 0 => {
            let high = b.high - 1;
            Range { low: 0, high: if a.is_natural() { high.min(a.high) } else { high } }
        }
        Binary::SRem if b.is_natural() && b.high > 0 => {
            let most = b.high - 1;
            Range { low: a.low.clamp(-most, 0), high: a.high.clamp(0, most) }
        }
        Binary::SMod if b.is_natural() && b.high > 0 => Range { low: 0, high: b.high - 1 },
        _ => all,
    }
}

fn builtin(builtin: Builtin, operands: &[Range], bits: u32) -> Range {
    use Builtin as B;
    let all = Range::signed(bits);
    let natural = operands.iter().all(|range| range.is_natural());
    match (builtin, operands) {
        (B::SAbs, [a]) if a.low > all.low => {
            let most = a.low.saturating_neg().max(a.high);
            let least = if a.contains(0) { 0 } else { a.low.saturating_abs().min(a.high.saturating_abs()) };
            Range { low: least, high: most }
        }
        (B::UAbs, [a]) => *a,
        (B::SAbsDiff | B::UAbsDiff, [a, b]) if builtin == B::SAbsDiff || natural => {
            let most = (i128::from(a.high) - i128::from(b.low)).max(i128::from(b.high) - i128::from(a.low));
            Range::fitted(0, most, bits, true)
        }
        (B::SMax, [a, b]) => Range { low: a.low.max(b.low), high: a.high.max(b.high) },
        (B::SMin, [a, b]) => Range { low: a.low.min(b.low), high: a.high.min(b.high) },
        (B::UMax, [a, b]) if natural => Range { low: a.low.max(b.low), high: a.high.max(b.high) },
        (B::UMin, [a, b]) if natural => Range { low: a.low.min(b.low), high: a.high.min(b.high) },
        // A nonnegative operand is an upper bound of the result.
        (B::UMin, [a, b]) if a.is_natural() || b.is_natural() => {
            Range { low: 0, high: if a.is_natural() { a.high } else { b.high } }
        }
        (B::SClamp, [a, low, high]) => {
            let cut = |number: i64, from: i64, to: i64| number.max(from).min(to);
            Range { low: cut(a.low, low.low, high.low), high: cut(a.high, low.high, high.high) }
        }
        (B::UClamp, [_, _, high]) if high.is_natural() => Range { low: 0, high: high.high },
        (B::SAddSat, [a, b]) => a.corners(*b, bits, false, |a, b| a + b),
        (B::SSubSat, [a, b]) => a.corners(*b, bits, false, |a, b| a - b),
        (B::UAddSat, [a, b]) if natural => a.corners(*b, bits, true, |a, b| a + b),
        (B::USubSat, [a, b]) if natural => a.corners(*b, bits, true, |a, b| (a - b).max(0)),
        (B::SHadd, [a, b]) => a.corners(*b, bits, true, |a, b| (a + b) >> 1),
        (B::SRhadd, [a, b]) => a.corners(*b, bits, true, |a, b| (a + b + 1) >> 1),
        (B::UHadd, [a, b]) if natural => a.corners(*b, bits, true, |a, b| (a + b) >> 1),
        (B::URhadd, [a, b]) if natural => a.corners(*b, bits, true, |a, b| (a + b + 1) >> 1),
        (B::SMul24 | B::UMul24, [a, b]) if in_24_bits(builtin, *a) && in_24_bits(builtin, *b) => {
            a.corners(*b, bits, true, |a, b| a * b)
        }
        (B::SMad24 | B::UMad24, [a, b, c]) if in_24_bits(builtin, *a) && in_24_bits(builtin, *b) => {
            let product = a.corners(*b, 64, true, |a, b| a * b);
            product.corners(*c, bits, true, |a, b| a + b)
        }
        (B::Clz | B::Ctz, [_]) => Range { low: 0, high: i64::from(bits) },
        (B::Bitselect, [a, b, _]) => mask_around(*a, *b),
        _ => all,
    }
}

/// Whether a 24-bit function reads every number of the range unchanged.
fn in_24_bits(builtin: Builtin, range: Range) -> bool {
    let signed = matches!(builtin, Builtin::SMul24 | Builtin::SMad24);
    range.is_within(if signed { Range::signed(24) } else { Range::unsigned(24) })
}
