//! Sums that stop growing: what is added is lost because the sum has become too large for its type.
//!
//! Watched are additions in a loop whose result is an operand of the next iteration, while what they add does not
//! depend on the sum. That leaves out filters with feedback, whose errors fade, and compensated sums, which add what
//! was lost. An addition that loses at least a quarter of what it adds is recorded, with its rounding error; errors of
//! random sign cancel, those of a sum that stagnates do not.

use std::collections::HashMap;

use cranelift_entity::EntityRef;
use tripipe_ir::op::{Binary, Builtin};
use tripipe_ir::{self as ir, Kernel, Op, Scalar, ValueDef};

use super::findings::Occurrence;
use super::rules;
use super::state::Watch;
use super::values::float_result;
use crate::execute::code::Inst;
use crate::execute::rows::{WIDTH, lanes};
use crate::execute::state::State;

/// The share of a sum from which on its loss is reported.
const LOST: f64 = 0.05;
/// The share of what is added from which on an addition counts.
const COUNTS: f64 = 0.25;

/// The losses of the sums of a group, by the first work-item of a warp and the addition; one for each component and
/// lane.
pub(crate) type Sums = HashMap<(u32, ir::Inst), Vec<Loss>>;

/// The loss of a sum.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loss {
    /// The result of the last addition that counted, and what was added.
    last: f64,
    added: f64,
    /// The sum of the rounding errors.
    lost: f64,
    additions: u32,
    /// The worst sum so far, if the addition is part of several.
    worst: Option<(f64, f64, f64, u32)>,
}

impl Loss {
    fn close(&mut self) {
        let now = (self.last, self.added, self.lost, self.additions);
        let share =
            |(last, _, lost, _): (f64, f64, f64, u32)| lost.abs() / last.abs().max((last + lost).abs());
        if share(now) >= LOST && self.worst.is_none_or(|worst| share(now) > share(worst)) {
            self.worst = Some(now);
        }
    }

    /// An addition of `added` that had `result` instead of `result + error`.
    fn note(&mut self, before: f64, added: f64, result: f64, error: f64) {
        // A sum that has begun again is smaller than the one before it.
        if before.signum() != self.last.signum() || before.abs() < self.last.abs() {
            self.close();
            *self = Self { worst: self.worst, ..Self::default() };
        }
        (self.last, self.added) = (result, added);
        self.lost += error;
        self.additions += 1;
    }
}

/// The additions of sums, each with the operand that is the sum so far.
pub(crate) fn sums(kernel: &Kernel) -> HashMap<ir::Inst, usize> {
    let mut found = HashMap::new();
    let components = components(&sources(kernel));
    for inst in kernel.blocks.values().flat_map(|block| &block.insts).copied() {
        let data = &kernel.insts[inst];
        let Some(result) = data.result else { continue };
        if !matches!(kernel.ty(result).scalar(), Some(Scalar::F16 | Scalar::F32)) {
            continue;
        }
        // The operands that may be the sum so far.
        let candidates: &[usize] = match data.op {
            Op::Binary(Binary::FAdd) => &[0, 1],
            Op::Binary(Binary::FSub) => &[0],
            Op::Builtin(Builtin::Fma | Builtin::Mad) => &[2],
            _ => continue,
        };
        // An operand that is computed from the result, and the result from it.
        let depends: Vec<bool> = data
            .operands
            .iter()
            .map(|operand| components[operand.index()] == components[result.index()])
            .collect();
        let sum = candidates.iter().copied().find(|candidate| depends[*candidate]);
        if let (Some(sum), 1) = (sum, depends.iter().filter(|depends| **depends).count()) {
            found.insert(inst, sum);
        }
    }
    found
}

/// The values that each value is computed from, in this iteration of a loop or an earlier one. Memory is not followed.
fn sources(kernel: &Kernel) -> Vec<Vec<usize>> {
    let mut sources = vec![Vec::new(); kernel.values.len()];
    for (value, data) in &kernel.values {
        if let ValueDef::Result(inst) = data.def {
            let inst = &kernel.insts[inst];
            if !matches!(inst.op, Op::Load(_) | Op::Atomic(_)) {
                sources[value.index()].extend(inst.operands.iter().map(|operand| operand.index()));
            }
        }
    }
    for call in kernel.blocks.values().flat_map(|block| block.terminator.calls()) {
        for (parameter, argument) in kernel.blocks[call.block].parameters.iter().zip(&call.arguments) {
            sources[parameter.index()].push(argument.index());
        }
    }
    sources
}

/// The strongly connected component of each node, by Kosaraju's algorithm: those that depend on each other.
fn components(sources: &[Vec<usize>]) -> Vec<usize> {
    let mut users = vec![Vec::new(); sources.len()];
    for (node, all) in sources.iter().enumerate() {
        for source in all {
            users[*source].push(node);
        }
    }
    // Nodes in the order in which all that they depend on is known.
    let (mut seen, mut order) = (vec![false; sources.len()], Vec::new());
    for start in 0..sources.len() {
        let mut path = Vec::new();
        if !std::mem::replace(&mut seen[start], true) {
            path.push((start, 0));
        }
        while let Some((node, next)) = path.last_mut() {
            if let Some(source) = sources[*node].get(*next) {
                *next += 1;
                if !std::mem::replace(&mut seen[*source], true) {
                    path.push((*source, 0));
                }
            } else {
                order.push(*node);
                path.pop();
            }
        }
    }
    let mut components = vec![usize::MAX; sources.len()];
    for start in order.into_iter().rev() {
        let mut work = vec![start];
        while let Some(node) = work.pop() {
            if components[node] == usize::MAX {
                components[node] = start;
                work.extend(&users[node]);
            }
        }
    }
    components
}

/// Checks an addition of a sum.
pub(crate) fn sum(watch: &mut Watch, s: &mut State<'_>, i: &Inst) -> bool {
    let goes_on = float_result(watch, s, i);
    let Some(sum) = watch.additions.get(&i.origin).copied() else { return goes_on };
    let data = &s.kernel.insts[i.origin];
    let Some(scalar) = data.result.and_then(|result| s.kernel.ty(result).scalar()) else { return goes_on };
    if !watch.checks.has(&rules::ACCURACY_LOST) {
        return goes_on;
    }
    let width = usize::from(i.width);
    let components = usize::from(i.components);
    for component in 0..components {
        for lane in lanes(if width == 1 { 1 } else { s.mask }) {
            let index = component * width + lane;
            let of = |slot: u32| scalar.to_f64(s.warp.rows.bits(slot, index, scalar.bytes()));
            let (before, result) = (of(i.args[sum]), of(i.out));
            let added = match data.op {
                Op::Binary(Binary::FSub) => -of(i.args[1]),
                Op::Binary(_) => of(i.args[1 - sum]),
                _ => of(i.args[0]) * of(i.args[1]),
            };
            // Exact but for the rounding of float64.
            let error = before + added - result;
            if error.is_finite() && error.abs() >= COUNTS * added.abs() && error != 0.0 {
                let losses = watch.sums.entry((s.warp.first_item, i.origin)).or_default();
                losses.resize(components * WIDTH, Loss::default());
                // A number that all work-items share is that of the first one.
                let lane = if width == 1 { s.mask.trailing_zeros() as usize % WIDTH } else { lane };
                losses[component * WIDTH + lane].note(before, added, result, error);
            }
        }
    }
    goes_on
}

/// Records the losses of a group that ends.
pub(crate) fn end_group(watch: &mut Watch, s: &State<'_>) {
    let mut all: Vec<_> = watch.sums.drain().collect();
    all.sort_unstable_by_key(|(key, _)| *key);
    for ((first_item, inst), losses) in all {
        for (index, mut loss) in losses.into_iter().enumerate() {
            loss.close();
            let Some((last, added, lost, additions)) = loss.worst else { continue };
            let lane = (index % WIDTH) as u64;
            watch.findings.note(&rules::ACCURACY_LOST, Some(inst), 1, || {
                let message = format!(
                    "the sum is {last} instead of {}: rounding lost a quarter or more of what {additions} additions \
                     add, such as {added:.3}",
                    (last + lost) as f32
                );
                let fix = "Sum in float, or in parts that stay small: a sum for each row, or for each work-item of a \
                    group.";
                Occurrence::new(&s.group, u64::from(first_item) + lane, message, fix)
            });
        }
    }
}
