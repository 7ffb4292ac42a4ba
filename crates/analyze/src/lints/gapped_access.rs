//! `gapped-access`: the words of one work-item are contiguous, those of adjacent work-items are not.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::MemoryFact;
use tripipe_ir::{Inst, Space};

use super::context::{Advice, Context};
use crate::access::word_bytes;
use crate::{Stride, WarpAccess};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "gapped-access",
    severity: Severity::Note,
    title: "the words of a work-item are adjacent, those of its neighbours are not",
    what: "
Work-items that load or store several adjacent words of 16 bytes, so that the same word of the next work-item is 32
bytes or more away; all bytes between are used.",
    why: "
A load of a warp takes a cycle for each cache line it touches. With a gap between neighbours, each load touches all
the lines; with adjacent words, each load touches only its own.",
    example: "float4 a = in[4 * i], b = in[4 * i + 1], c = in[4 * i + 2], d = in[4 * i + 3];",
    instead: "
float4 a = in[i], b = in[i + size], c = in[i + 2 * size], d = in[i + 3 * size];  // size = get_global_size(0)",
    exceptions: "
Where a work-item needs exactly these words, as in a filter that uses each of them several times. Lines with unused
bytes are reported as `scattered-access`, words of less than 16 bytes as `narrow-access`.",
    source: "
- Arm performance counter references: a load/store instruction takes a cycle for each line. Mesa and measurements for Adreno.",
    ..Rule::LINT
};

/// Adjacent loads, or stores, of one work-item in one block.
pub(super) struct Run<'c> {
    /// Ordered by address.
    pub(super) accesses: Vec<&'c WarpAccess>,
    /// Absolute distance from one work-item to the next, in bytes.
    pub(super) stride: i64,
    /// Bytes from the first to the end of the last, without gaps.
    pub(super) bytes: i64,
}

impl Run<'_> {
    /// Whether there is no gap between adjacent work-items.
    pub(super) fn is_whole(&self) -> bool {
        self.bytes >= self.stride
    }

    /// Whether an access is in it.
    pub(super) fn contains(&self, inst: Inst) -> bool {
        self.accesses.iter().any(|access| access.inst == inst)
    }
}

/// The accesses of work-items to global memory, block by block; each access is in one run.
pub(super) fn runs<'c>(context: &'c Context<'_>) -> Vec<Run<'c>> {
    let mut facts: Vec<&MemoryFact> = context.facts.memory().iter().collect();
    let mut all = Vec::new();
    while let Some(first) = facts.first().copied() {
        let key = |fact: &MemoryFact| (fact.block, fact.base, fact.writes);
        let (mut same, rest): (Vec<&MemoryFact>, Vec<_>) = facts
            .into_iter()
            .partition(|other| key(other) == key(first) && other.offset.terms == first.offset.terms);
        facts = rest;
        same.sort_by_key(|fact| fact.offset.constant);
        let (mut bytes, mut end) = (0, i64::MIN);
        for fact in &same {
            let (from, to) = (fact.offset.constant, fact.offset.constant + i64::from(fact.bytes));
            bytes += (to - from.max(end)).max(0);
            end = end.max(to);
        }
        let accesses: Vec<&WarpAccess> = same.iter().filter_map(|fact| context.access(fact.inst)).collect();
        let Some(Stride::Bytes(stride)) = accesses.first().map(|access| access.stride) else { continue };
        if matches!(accesses[0].space, Space::Global | Space::Constant) {
            all.push(Run { accesses, stride: stride.abs(), bytes });
        }
    }
    all
}

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let warp = context.gpu.core.warp_width.value;
    if warp < 2 {
        return;
    }
    let line = context.gpu.memory.cache_line_bytes.value.max(1);
    let word = i64::from(word_bytes(context.gpu));
    for run in runs(context) {
        let words = run.accesses.iter().all(|access| i64::from(access.bytes) % word == 0);
        let apart = run.accesses.iter().all(|access| !access.is_coalesced(context.gpu));
        // Three words, or five, are pixels or records that a work-item cannot split.
        let divides = run.stride >= 2 * word && run.stride.count_ones() == 1;
        if !words || !apart || !run.is_whole() || !divides {
            continue;
        }
        let best = |access: &WarpAccess| (access.bytes * warp).div_ceil(line).max(1);
        let first = run.accesses[0];
        let gain = context.gain(|share| match context.access(share.inst) {
            Some(access) if run.contains(share.inst) => {
                f64::from(best(access)) / f64::from(access.lines.max(1))
            }
            _ => 1.0,
        });
        let Some(gain) = gain else { continue };
        found.push(Advice {
            rule: &RULE,
            location: first.location,
            message: format!(
                "each work-item {} {} bytes of `{}`, and neighbours start {} bytes apart: a warp of {warp} \
                touches {} lines where {} would suffice",
                if first.writes { "writes" } else { "reads" },
                run.bytes,
                first.name(context.kernel),
                run.stride,
                run.accesses.iter().map(|access| access.lines).sum::<u32>(),
                run.accesses.iter().map(|access| best(access)).sum::<u32>(),
            ),
            fix: "Let work-item i process the 16-byte words i, i + n, i + 2 n, ..., where n is the number \
                of work-items."
                .into(),
            gain: Some(gain),
        });
    }
}
