//! `divergent-branch`: work-items of a warp take different branches.

use tripipe_ir::diagnostic::{Rule, Severity};
use tripipe_ir::flow::{Atom, Linear};
use tripipe_ir::op::QueryKind;
use tripipe_ir::{Block, TerminatorKind};

use super::boundary_test;
use super::context::{Advice, Context};

/// The lint.
pub(super) const RULE: Rule = Rule {
    code: "divergent-branch",
    severity: Severity::Note,
    title: "work-items of a warp diverge",
    what: "
A branch whose condition differs between work-items of a warp, with work on both paths; or a loop that they leave
after different numbers of iterations.",
    why: "
A warp executes both paths one after the other, with some of its lanes idle on each. It runs a loop until its last
lane is done.",
    example: "
if (get_global_id(0) % 2)
    x = expensive(x);
else
    x = other(x);",
    advice: "Make the condition uniform in each warp, compute both and select, or sort the work.",
    exceptions: "
Where few warps take both paths. Tests of ids against sizes, as at the border of an image, are not reported, nor are
branches that depend on them. Nor are loops in which a warp strides over a tile, since its last iteration is the only one
that idles lanes. Nothing is reported for Midgard, which has no warps.",
    source: "- Arm shader core guides for Bifrost and Valhall: warps execute in lock step.",
    ..Rule::LINT
};

pub(super) fn look(context: &Context<'_>, found: &mut Vec<Advice>) {
    let warp = context.gpu.core.warp_width.value;
    if warp < 2 {
        return;
    }
    let (loops, divergence) = (context.facts.loops(), context.facts.divergence());
    for block in &context.cfg.order {
        let terminator = &context.kernel.blocks[*block].terminator;
        let TerminatorKind::Branch { then, otherwise, .. } = &terminator.kind else { continue };
        if !divergence.is_divergent_branch(*block) || is_at_border(context, *block) {
            continue;
        }
        let leaves = |to: Block| loops.around(*block).is_some_and(|inner| !loops.contains(inner, to));
        let (message, fix) = if leaves(then.block) || leaves(otherwise.block) {
            if loops.around(*block).is_some_and(|inner| has_equal_iterations(context, inner)) {
                continue;
            }
            (
                format!(
                    "work-items of a warp of {warp} may leave the loop after different numbers of iterations"
                ),
                "Give all work-items of a warp the same number of iterations, for example by sorting the \
                work.",
            )
        } else if works(context, *block, then.block) && works(context, *block, otherwise.block) {
            (
                format!("work-items of a warp of {warp} may diverge here"),
                "Make the condition uniform in each warp, or compute both paths and select.",
            )
        } else {
            continue;
        };
        found.push(Advice {
            rule: &RULE,
            location: terminator.location,
            message,
            fix: fix.into(),
            gain: None,
        });
    }
}

/// Whether the work-items of a warp run the same number of iterations of a loop, or some run one more: they start within
/// one step of each other, as when a group strides over a tile.
fn has_equal_iterations(context: &Context<'_>, index: usize) -> bool {
    let Some(count) = &context.facts.counts()[index] else { return strides_by_size(context, index) };
    let warp = i64::from(context.gpu.core.warp_width.value);
    let spread = |(atom, factor): (&Atom, &i64)| {
        let items = match atom {
            Atom::Value(value) => context.facts.divergence().variation(*value).is_uniform().then_some(1)?,
            Atom::Query(kind, _) => {
                let [_, last] = context.setup.bounds(context.kernel, *atom);
                let unknown = match kind {
                    QueryKind::LocalId | QueryKind::LocalLinearId => count.step,
                    QueryKind::GlobalId | QueryKind::GlobalLinearId => warp,
                    _ => return Some(0),
                };
                last.map_or(unknown, |last| last.saturating_add(1)).min(warp)
            }
        };
        factor.checked_abs()?.checked_mul(items - 1)
    };
    let mut all = count.distance.terms.iter().map(spread);
    let all = all.try_fold(0_i64, |all, spread| all.checked_add(spread?));
    all.is_some_and(|all| all <= count.step)
}

/// Whether a counter of a loop starts at an id and steps by a size, such as `i += get_local_size(0)`.
fn strides_by_size(context: &Context<'_>, index: usize) -> bool {
    let (kernel, facts) = (context.kernel, &context.facts);
    let each = &facts.loops().all[index];
    let is_id = |atom: &Atom| {
        matches!(
            atom,
            Atom::Query(
                QueryKind::LocalId
                    | QueryKind::LocalLinearId
                    | QueryKind::GlobalId
                    | QueryKind::GlobalLinearId,
                _
            )
        )
    };
    let passed = |position: usize, latch: bool| {
        let from = context.cfg.predecessors[each.header].iter();
        let from = from.filter(move |from| each.latches.contains(from) == latch);
        let calls = from.flat_map(|from| kernel.blocks[*from].terminator.calls());
        let calls = calls.filter(|call| call.block == each.header);
        calls
            .filter_map(move |call| call.arguments.get(position))
            .map(|value| facts.forms().get(kernel, *value))
    };
    let mut counters = kernel.blocks[each.header].parameters.iter().enumerate();
    counters.any(|(position, counter)| {
        let steps_by_size = |next: Linear| {
            let step = next.plus(&Linear::atom(Atom::Value(*counter)), -1).unwrap_or_default();
            !step.terms.is_empty()
                && step.terms.keys().all(|atom| match atom {
                    Atom::Value(value) => facts.divergence().variation(*value).is_uniform(),
                    Atom::Query(..) => !is_id(atom),
                })
        };
        passed(position, false).all(|first| first.terms.keys().any(is_id))
            && passed(position, true).all(steps_by_size)
    })
}

/// Whether a branch is a border test, or is only reached at the border or only elsewhere: few warps have both.
fn is_at_border(context: &Context<'_>, block: Block) -> bool {
    let tests_border = |block: Block| {
        let decider = context.kernel.blocks[block].terminator.decider();
        decider.is_some_and(|decider| boundary_test::border_tests(context, decider).is_some())
    };
    let splits = |from: Block| {
        let ways = context.kernel.blocks[from].terminator.calls();
        tests_border(from) && ways.iter().all(|call| works(context, from, call.block))
    };
    let dominators = context.facts.dominators();
    let above = std::iter::successors(dominators.immediate(block), |from| dominators.immediate(*from));
    let mut on_a_way = above.filter(|from| !context.facts.post().dominates(block, *from));
    tests_border(block) || on_a_way.any(splits)
}

/// Whether one edge of a branch leads to work before both join again. An edge that only returns, as at a border, keeps
/// no lane waiting.
fn works(context: &Context<'_>, from: Block, to: Block) -> bool {
    let meet = context.facts.post().immediate(from);
    let mut way = vec![to];
    let mut seen = vec![from];
    while let Some(block) = way.pop() {
        if Some(block) == meet || seen.contains(&block) {
            continue;
        }
        seen.push(block);
        let successors = &context.cfg.successors[block];
        if !successors.is_empty() && !context.kernel.blocks[block].insts.is_empty() {
            return true;
        }
        way.extend(successors);
    }
    false
}
