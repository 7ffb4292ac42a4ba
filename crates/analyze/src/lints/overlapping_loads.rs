//! `overlapping-loads`: the same bytes are loaded more than once.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::MemoryFact;
use tripipe_ir::{Op, Type};

use super::context::{Advice, Context};
use crate::Column;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "overlapping-loads",
    severity: Severity::Warning,
    title: "bytes are loaded twice",
    what: "
Vector loads whose bytes are also loaded by other loads of the same work-item, where loads and stores bound the
kernel.",
    why: "
Each load takes its slots in the load/store pipe, whatever the cache does. A vector between two others can be
assembled from their lanes, which costs a move or nothing.",
    example: "uchar16 left = vload16(0, row - 3), middle = vload16(0, row), right = vload16(0, row + 3);",
    instead: "
uchar16 left = vload16(0, row - 3), right = vload16(0, row + 3);
uchar16 middle = (uchar16)(left.s3456789a, left.sbcde, left.sf, right.sabc);",
    exceptions: "Where arithmetic is the next bound and takes almost as many cycles as the loads.",
    source: "- The published Laplace ladder on a Mali-T604, its step `synthesise-loads`: 9 loads of 16 bytes become 6.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    if !context.is_bound_by(Column::LoadStore) {
        return;
    }
    let kernel = context.kernel;
    let is_vector = |fact: &&MemoryFact| {
        let data = &kernel.insts[fact.inst];
        matches!(data.op, Op::Load(access) if !access.volatile)
            && data.result.is_some_and(|result| matches!(kernel.ty(result), Type::Vector(..)))
    };
    let mut loads: Vec<&MemoryFact> = context.facts.memory().iter().filter(is_vector).collect();
    let mut all: Vec<Group<'_>> = Vec::new();
    while let Some(first) = loads.first().copied() {
        let (mut same, rest): (Vec<&MemoryFact>, Vec<_>) = loads.into_iter().partition(|other| {
            (other.block, other.base, &other.offset.terms) == (first.block, first.base, &first.offset.terms)
        });
        loads = rest;
        same.sort_by_key(|fact| fact.offset.constant);
        if same.len() > 2 && !is_written_between(context, &same) {
            all.extend(Group::of(context, &same));
        }
    }
    // Rows of one picture are one finding: the next bound shows only without the loads of all of them.
    let mut pointers: Vec<_> = all.iter().map(|group| group.loads[0].base).collect();
    pointers.sort_unstable();
    pointers.dedup();
    for base in pointers {
        let groups: Vec<&Group<'_>> = all.iter().filter(|group| group.loads[0].base == base).collect();
        let sum = |of: &dyn Fn(&Group<'_>) -> i64| groups.iter().map(|group| of(group)).sum::<i64>();
        let first = groups[0].loads[0];
        let access = context.access(first.inst);
        let (count, spare) = (sum(&|group| group.loads.len() as i64), sum(&|group| group.spare as i64));
        found.push(Advice {
            rule: &RULE,
            location: kernel.insts[first.inst].location,
            message: format!(
                "{count} loads of `{}` overlap: they load {} bytes, of which {} are different",
                access.map_or("memory", |access| access.name(kernel)),
                sum(&|group| group.loads.iter().map(|load| i64::from(load.bytes)).sum()),
                sum(&|group| group.distinct()),
            ),
            fix: format!("Assemble {spare} of them from the lanes of their neighbours."),
            gain: None,
        });
    }
}

/// Whether a write between loads of a block may change what they load.
fn is_written_between(context: &Context<'_>, loads: &[&MemoryFact]) -> bool {
    let insts = &context.kernel.blocks[loads[0].block].insts;
    let at = |load: &&MemoryFact| insts.iter().position(|inst| *inst == load.inst).unwrap_or(0);
    let (first, last) = (loads.iter().map(at).min().unwrap_or(0), loads.iter().map(at).max().unwrap_or(0));
    insts[first..last].iter().any(|inst| {
        let written = context.facts.memory().iter().find(|fact| fact.inst == *inst && fact.writes);
        let op = context.kernel.insts[*inst].op;
        written.is_some_and(|fact| fact.base == loads[0].base)
            || matches!(op, Op::Barrier { .. } | Op::Fence { .. } | Op::Copy(_) | Op::AsyncCopy { .. })
    })
}

/// Loads of a block whose addresses differ by constants.
struct Group<'c> {
    /// Ordered by address.
    loads: Vec<&'c MemoryFact>,
    /// The number of loads whose lanes two others contain.
    spare: usize,
}

impl<'c> Group<'c> {
    /// `None` if every load is needed.
    fn of(context: &Context<'_>, loads: &[&'c MemoryFact]) -> Option<Self> {
        let mut kept: Vec<&MemoryFact> = loads[..1].to_vec();
        // Each with the two that it is built from.
        let mut built: Vec<[&MemoryFact; 3]> = Vec::new();
        for (position, load) in loads.iter().enumerate().skip(1) {
            // Keep the lowest load, and every load that no pair of a kept one and a later one covers; prefer the last
            // that reaches it.
            let later = loads[position + 1..].iter().rev();
            let pair = later
                .flat_map(|right| kept.iter().rev().map(move |left| (*left, *right)))
                .find(|(left, right)| covers(context, load, left, right));
            match pair {
                Some((left, right)) => built.push([load, left, right]),
                None => kept.push(load),
            }
        }
        // A load that another one is built from is kept.
        while let Some(at) = built.iter().position(|[load, ..]| {
            built.iter().any(|[_, left, right]| left.inst == load.inst || right.inst == load.inst)
        }) {
            built.remove(at);
        }
        (!built.is_empty()).then(|| Self { loads: loads.to_vec(), spare: built.len() })
    }

    /// Bytes that the loads touch.
    fn distinct(&self) -> i64 {
        let (mut sum, mut end) = (0, i64::MIN);
        for load in &self.loads {
            let (from, to) = (load.offset.constant, load.offset.constant + i64::from(load.bytes));
            sum += (to - from.max(end)).max(0);
            end = end.max(to);
        }
        sum
    }
}

/// Whether two loads of the type of another one contain all of its lanes.
fn covers(context: &Context<'_>, load: &MemoryFact, left: &MemoryFact, right: &MemoryFact) -> bool {
    let ty = |load: &MemoryFact| context.kernel.insts[load.inst].result.map(|value| context.kernel.ty(value));
    let Some(own) = ty(load).filter(|own| [left, right].into_iter().all(|other| ty(other) == Some(*own)))
    else {
        return false;
    };
    let Some(scalar) = own.scalar() else { return false };
    let (count, width) = (i64::from(own.lanes()), i64::from(scalar.bits() / 8));
    (0..count).all(|lane| {
        let byte = load.offset.constant + lane * width;
        [left, right].into_iter().any(|other| {
            let distance = byte - other.offset.constant;
            distance % width == 0 && (0..count * width).contains(&distance)
        })
    })
}
