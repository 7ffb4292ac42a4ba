//! `narrow-access`: loads that could be one wider load.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::{Op, Space};

use super::context::{Advice, Context};
use crate::access::word_bytes;

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "narrow-access",
    severity: Severity::Warning,
    title: "loads that could be one wider load",
    what: "
Loads of one basic block that are adjacent in memory and fit in 16 bytes together, and that compilers do not merge by
themselves.",
    why: "
A load takes one slot of the load/store pipe whether it loads 1 byte or 16. Four loads of a float cost four times as
much as one load of a float4.",
    example: "
int sum = 0;
for (int k = 0; k < 8; k++) sum += in[8 * i + k];  // bytes",
    instead: "
uchar8 v = vload8(i, in);
int sum = v.s0 + v.s1 + v.s2 + v.s3 + v.s4 + v.s5 + v.s6 + v.s7;",
    exceptions: "Where the driver merges more than the model supposes: up to four elements, whatever their alignment.",
    source: "
- Arm OpenCL guides: prefer loads and stores of 128 bits. What is merged: Mesa's nir_opt_load_store_vectorize with the limits of
  each back end.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let kernel = context.kernel;
    let word = word_bytes(context.gpu);
    let mut loads: Vec<_> = context
        .facts
        .memory()
        .iter()
        .filter(|fact| {
            matches!(kernel.insts[fact.inst].op, Op::Load(access) if !access.volatile) && fact.bytes < word
        })
        .collect();
    while let Some(first) = loads.first().copied() {
        // Loads of the same block and base whose offset differs from the first one's by a constant.
        let (mut same, rest): (Vec<_>, Vec<_>) = loads.into_iter().partition(|other| {
            other.block == first.block && other.base == first.base && other.offset.terms == first.offset.terms
        });
        loads = rest;
        same.sort_by_key(|fact| fact.offset.constant);
        let mut at = 0;
        while at < same.len() {
            let start = same[at].offset.constant;
            let mut end = start + i64::from(same[at].bytes);
            let mut next = at + 1;
            while let Some(other) = same.get(next) {
                let reach = other.offset.constant + i64::from(other.bytes);
                if other.offset.constant != end || reach - start > i64::from(word) {
                    break;
                }
                (end, next) = (reach, next + 1);
            }
            let run = &same[at..next];
            at = next;
            if run.len() < 2 {
                continue;
            }
            let loads = run.iter().filter(|fact| context.is_access(fact.inst)).count();
            if loads < 2 {
                continue;
            }
            let joined = 1.0 / loads as f64;
            let name = context.access(run[0].inst);
            if name.is_some_and(|access| access.space != Space::Global) {
                continue;
            }
            found.push(Advice {
                rule: &RULE,
                location: kernel.insts[run[0].inst].location,
                message: format!(
                    "{} loads of `{}` are adjacent, {} bytes together",
                    run.len(),
                    name.map_or("memory", |access| access.name(kernel)),
                    end - start
                ),
                fix: "Load them as one vector (vloadN), and use its lanes.".into(),
                gain: Some(
                    context.work(
                        |share| {
                            if run.iter().any(|fact| fact.inst == share.inst) { joined } else { 1.0 }
                        },
                    ),
                ),
            });
        }
    }
}
