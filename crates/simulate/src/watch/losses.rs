//! Which additions are sums over the iterations of a loop, and what such a sum has lost.

use std::collections::HashMap;

use cranelift_entity::EntityRef;
use tripipe_ir::op::{Binary, Builtin};
use tripipe_ir::{self as ir, Kernel, Op, Scalar, ValueDef};

/// The share of a sum from which on its loss is reported.
const LOST: f64 = 0.05;

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
    pub(super) worst: Option<(f64, f64, f64, u32)>,
}

impl Loss {
    pub(super) fn close(&mut self) {
        let now = (self.last, self.added, self.lost, self.additions);
        let share =
            |(last, _, lost, _): (f64, f64, f64, u32)| lost.abs() / last.abs().max((last + lost).abs());
        if share(now) >= LOST && self.worst.is_none_or(|worst| share(now) > share(worst)) {
            self.worst = Some(now);
        }
    }

    /// An addition of `added` that had `result` instead of `result + error`.
    pub(super) fn note(&mut self, before: f64, added: f64, result: f64, error: f64) {
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
