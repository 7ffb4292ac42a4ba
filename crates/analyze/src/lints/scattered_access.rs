//! `scattered-access`: adjacent work-items touch separate cache lines.

use tripipe_ir::Space;
use tripipe_ir::diagnostic::{Rule, Severity};

use super::context::{Advice, Context};
use super::gapped_access;
use crate::{Stride, WarpAccess};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "scattered-access",
    severity: Severity::Warning,
    title: "neighbouring work-items touch different cache lines",
    what: "
Loads and stores of neighbouring work-items of a warp that are a cache line or more apart, with bytes between them
that the work-item does not use, in global or local memory.",
    why: "
A warp's access takes a cycle for each line it touches, and each line is fetched whole. Work-items 64 bytes apart take
one line each: 16 cycles for a warp of 16, and only a few bytes of each line are used.",
    example: "
int row = get_global_id(0), column = get_global_id(1);
out[row * width + column] = in[row * width + column];",
    advice: "Let dimension 0 follow consecutive addresses.",
    instead: "
int column = get_global_id(0), row = get_global_id(1);
out[row * width + column] = in[row * width + column];",
    exceptions: "
Where the stride is an argument (`x[id * x_inc]`) that is 1 in most launches: the worst case is assumed, and
`--arg x_inc=1` sets it to 1. Where the same work-item soon uses the rest of the line, and the line stays in the cache
until then. (Adjacent loads that do so are reported as `gapped-access` or `narrow-access`.)",
    source: "
- Arm performance counter references: a load/store instruction takes a cycle for each line. Mesa and measurements for Adreno.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let warp = context.gpu.core.warp_width.value;
    if warp < 2 {
        return;
    }
    let line = context.gpu.memory.cache_line_bytes.value.max(1);
    // Lines that a work-item uses as a whole are a separate case.
    let runs = gapped_access::runs(context);
    let is_scattered = |access: &&WarpAccess| {
        let far = match access.stride {
            Stride::Bytes(bytes) => bytes.unsigned_abs() >= u64::from(line),
            Stride::Runtime => true,
            Stride::Unknown => false,
        };
        let whole = || runs.iter().any(|run| run.is_whole() && run.contains(access.inst));
        let shared = matches!(access.space, Space::Global | Space::Constant | Space::Local);
        shared && far && !access.is_coalesced(context.gpu) && !whole()
    };
    let mut all: Vec<&WarpAccess> = context.accesses.iter().filter(is_scattered).collect();
    while let Some(first) = all.first().copied() {
        let key = |access: &WarpAccess| {
            (
                access.pointer.clone(),
                access.writes,
                access.stride,
                access.times.clone().map(|times| times.argument),
            )
        };
        let (same, rest): (Vec<&WarpAccess>, Vec<&WarpAccess>) =
            all.into_iter().partition(|access| key(access) == key(first));
        all = rest;
        let best = |access: &WarpAccess| (access.bytes * warp).div_ceil(line).max(1);
        let far = match (first.stride, &first.times) {
            (Stride::Bytes(bytes), _) => format!("{} bytes", bytes.unsigned_abs()),
            (_, Some(times)) => format!("{} bytes times `{}`", times.bytes.unsigned_abs(), times.argument),
            _ => "about a row".to_owned(),
        };
        // It may suffice that an argument is 1.
        let unless = first.times.as_ref().filter(|times| times.lines <= best(first));
        let unless = unless.map(|times| &times.argument);
        let times = if same.len() == 1 { String::new() } else { format!(" at {} locations", same.len()) };
        found.push(Advice {
            rule: &RULE,
            location: first.location,
            message: format!(
                "neighbours {} `{}` {far} apart{times}{}: a warp of {warp} touches {} lines where {} would \
                suffice",
                if first.writes { "write" } else { "read" },
                first.name(context.kernel),
                unless.map_or_else(String::new, |argument| format!(", unless {argument} is 1")),
                same.iter().map(|access| access.lines).sum::<u32>(),
                same.iter().map(|access| best(access)).sum::<u32>(),
            ),
            fix: match unless {
                Some(argument) => format!(
                    "Use a separate kernel for {argument} = 1, or let get_global_id(0) follow consecutive \
                    addresses; `--arg {argument}=1` shows the cost."
                ),
                None if first.space == Space::Local => format!(
                    "Swap the indices of `{}`, so that neighbours in dimension 0 are adjacent.",
                    first.name(context.kernel)
                ),
                None => "Let get_global_id(0) follow consecutive addresses, so that neighbours share lines."
                    .into(),
            },
            // No rewrite changes arrays in local memory.
            gain: (first.space == Space::Local).then(|| {
                context.work(|share| match same.iter().find(|access| access.inst == share.inst) {
                    Some(access) => f64::from(best(access)) / f64::from(access.lines.max(1)),
                    None => 1.0,
                })
            }),
        });
    }
}
