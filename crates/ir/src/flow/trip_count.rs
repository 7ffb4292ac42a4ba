//! Trip counts of loops with a counter.
//!
//! Recognised: a block parameter of the header that starts at `first`, grows by a constant `step` on every back edge,
//! and is compared with a loop-invariant bound in the only exiting block. The counter may be compared before or after
//! its step.

use super::linear::{Atom, Linear, LinearForms};
use super::loops::Loop;
use super::{Cfg, Dominators};
use crate::op::Compare;
use crate::{Block, Kernel, Op, TerminatorKind, Value, ValueDef};

/// How many times a loop goes back to its header: `ceil(distance / step)`, at least 0.
///
/// With a count of `n`, blocks up to the deciding one run `n + 1` times each time the loop is entered, those after it
/// `n` times. So the body of a `for` runs `n` times, that of a `do ... while` `n + 1` times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TripCount {
    /// From the first value to the counter's end, in its direction: at most 0 when the loop is not entered.
    pub distance: Linear,
    /// The distance per iteration, at least 1.
    pub step: i64,
    /// Whether the loop exits only when the counter equals the bound (`!=`): then the step has to divide the distance.
    pub exact: bool,
    /// The first compared value; with an unsigned comparison there is no count for a negative start, bound or end.
    pub start: Linear,
    /// Whether the comparison is unsigned.
    pub unsigned: bool,
    /// The block that decides and exits.
    pub decides: Block,
    /// The counter.
    pub counter: Value,
    /// Its first value.
    pub first: Linear,
    /// The counter's change per iteration; negative when it counts down.
    pub increment: i64,
}

impl TripCount {
    /// Finds a loop's trip count; `None` if it has no such counter, or several exits.
    pub fn of(
        kernel: &Kernel,
        cfg: &Cfg,
        dominators: &Dominators,
        forms: &LinearForms,
        each: &Loop,
    ) -> Option<Self> {
        let [(leaving, outside)] = each.exits[..] else { return None };
        let [latch] = each.latches[..] else { return None };
        if !dominators.dominates(leaving, latch) {
            return None;
        }
        let TerminatorKind::Branch { condition, then, .. } = &kernel.blocks[leaving].terminator.kind else {
            return None;
        };
        let inst = &kernel.insts[kernel.defining(*condition)?];
        let Op::Compare(compare) = inst.op else { return None };
        // The comparison under which the loop continues.
        let mut goes_on = if then.block == outside { compare.negated()? } else { compare };
        let (a, b) = (inst.operands[0], inst.operands[1]);
        let (tested, bound, swapped) = match (moving(kernel, forms, each, a), moving(kernel, forms, each, b))
        {
            (Some(tested), None) => (tested, b, false),
            (None, Some(tested)) => (tested, a, true),
            _ => return None,
        };
        if swapped {
            goes_on = goes_on.mirrored()?;
        }
        let bound = forms.get(kernel, bound);
        if !bound.terms.keys().all(|atom| is_fixed(kernel, each, *atom)) {
            return None;
        }
        let (counter, offset) = tested;
        let position = kernel.blocks[each.header].parameters.iter().position(|value| *value == counter)?;
        let back = argument(kernel, latch, each.header, position)?;
        let next = forms.get(kernel, back);
        let increment = next.plus(&Linear::atom(Atom::Value(counter)), -1)?.as_constant()?;
        let first = entering(kernel, cfg, each, position, forms)?;
        // Along the loop, the tested value starts at `first + offset`.
        let start = first.plus(&Linear::constant(offset), 1)?;
        let up = bound.plus(&start, -1)?;
        let down = start.plus(&bound, -1)?;
        let (distance, exact) = match (goes_on, increment > 0) {
            (Compare::SLt | Compare::ULt, true) => (up, false),
            (Compare::SLe | Compare::ULe, true) => (up.plus(&Linear::constant(1), 1)?, false),
            (Compare::SGt | Compare::UGt, false) => (down, false),
            (Compare::SGe | Compare::UGe, false) => (down.plus(&Linear::constant(1), 1)?, false),
            (Compare::Ne, true) => (up, true),
            (Compare::Ne, false) => (down, true),
            _ => return None,
        };
        let step = increment.checked_abs().filter(|step| *step > 0)?;
        let unsigned = matches!(goes_on, Compare::ULt | Compare::ULe | Compare::UGt | Compare::UGe);
        Some(Self { distance, step, exact, start, unsigned, decides: leaving, counter, first, increment })
    }

    /// The trip count when every atom is known; `None` if one is not, or if the loop would not end.
    pub fn evaluate(&self, mut of: impl FnMut(Atom) -> Option<i64>) -> Option<i64> {
        let distance = self.distance.evaluate(&mut of)?;
        if self.exact && (distance < 0 || distance % self.step != 0) {
            return None;
        }
        let count = if distance <= 0 { 0 } else { (distance - 1) / self.step + 1 };
        if self.unsigned {
            // Below zero an unsigned counter wraps, and the loop continues.
            let start = self.start.evaluate(&mut of)?;
            let bound =
                start.checked_add(if self.increment > 0 { distance } else { distance.checked_neg()? })?;
            let end = start.checked_add(count.checked_mul(self.increment)?)?;
            if start < 0 || bound < 0 || end < 0 {
                return None;
            }
        }
        Some(count)
    }

    /// The least and the greatest trip count, where each atom is between the bounds that `of` returns; the least is 0
    /// where it is not known. `None` if the greatest is not known, or if the loop may not end.
    pub fn between(&self, of: impl Fn(Atom) -> [Option<i64>; 2]) -> Option<[i64; 2]> {
        let sign = if self.increment > 0 { 1 } else { -1 };
        let bound = self.start.plus(&self.distance, sign)?;
        // An unsigned counter may step past a bound below zero.
        let least = if self.increment > 0 { 0 } else { self.step };
        let wraps =
            [(&self.start, 0), (&bound, least)].iter().any(|(sum, least)| sum.bounds(&of)[0] < Some(*least));
        if self.exact || self.unsigned && wraps {
            return None;
        }
        let count = |distance: i64| if distance <= 0 { 0 } else { (distance - 1) / self.step + 1 };
        let [low, high] = self.distance.bounds(of);
        Some([low.map_or(0, count), count(high?)])
    }

    /// The trip count, if it is a constant.
    pub fn constant(&self) -> Option<i64> {
        self.evaluate(|_| None)
    }
}

/// The counter in a tested value, and the constant added to it.
fn moving(kernel: &Kernel, forms: &LinearForms, each: &Loop, value: Value) -> Option<(Value, i64)> {
    let form = forms.get(kernel, value);
    let counters: Vec<Value> = form
        .terms
        .iter()
        .filter_map(|(atom, factor)| match atom {
            Atom::Value(value) if *factor == 1 && kernel.blocks[each.header].parameters.contains(value) => {
                Some(*value)
            }
            _ => None,
        })
        .collect();
    let [counter] = counters[..] else { return None };
    (form.terms.len() == 1).then_some((counter, form.constant))
}

/// Whether an atom is loop-invariant.
fn is_fixed(kernel: &Kernel, each: &Loop, atom: Atom) -> bool {
    let Atom::Value(value) = atom else { return true };
    match kernel.values[value].def {
        ValueDef::Parameter(block, _) => !each.blocks.contains(&block),
        ValueDef::Result(inst) => {
            each.blocks.iter().all(|block| !kernel.blocks[*block].insts.contains(&inst))
        }
        ValueDef::Constant(_) => true,
    }
}

fn argument(kernel: &Kernel, from: Block, to: Block, position: usize) -> Option<Value> {
    let calls = kernel.blocks[from].terminator.calls();
    let mut arguments =
        calls.iter().filter(|call| call.block == to).map(|call| call.arguments.get(position).copied());
    let first = arguments.next()??;
    arguments.all(|other| other == Some(first)).then_some(first)
}

/// The counter's value on entry, if it is the same on every path into the loop.
fn entering(kernel: &Kernel, cfg: &Cfg, each: &Loop, position: usize, forms: &LinearForms) -> Option<Linear> {
    let mut first: Option<Linear> = None;
    // A predecessor of the header inside the loop is a latch.
    for from in cfg.predecessors[each.header].iter().filter(|from| !each.latches.contains(from)) {
        let form = forms.get(kernel, argument(kernel, *from, each.header, position)?);
        if first.as_ref().is_some_and(|first| *first != form) {
            return None;
        }
        first = Some(form);
    }
    first
}
