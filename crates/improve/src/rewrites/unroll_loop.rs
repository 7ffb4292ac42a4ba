//! `unroll-loop`: a loop does several steps in one turn.

use tripipe_ir::diagnostic::Rule;

use super::text::indentation;
use crate::syntax::{Edits, Stmt, StmtKind, fold};
use crate::{Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "unroll-loop",
    title: "a loop does several steps in one turn",
    what: "An innermost loop whose number of steps is not a constant gets `#pragma unroll 2`, `4` or `8`.",
    why: "
The test, the branch and the counter are paid once for several steps, and the loads of several steps are under way at the
same time.",
    example: "for (int k = 0; k < depth; k++) sum += a[k] * b[k];",
    instead: "
#pragma unroll 4
for (int k = 0; k < depth; k++) sum += a[k] * b[k];",
    exceptions: "Where the copies do not fit the registers or the instruction cache, or the loop has few steps.",
    source: "- Qualcomm, *Snapdragon OpenCL Programming Guide* (loop unrolling).",
    ..Rule::REWRITE
};

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let Some(kernel) = view.kernel() else { return Vec::new() };
    let source = &view.subject.source;
    let mut loops = Vec::new();
    kernel.body.walk(&mut |stmt| {
        if is_open(stmt) && !stmt.place.in_macro && !has_hint(source, stmt) {
            loops.push(stmt);
        }
    });
    let times = [2, 4, 8];
    times.iter().flat_map(|times| loops.iter().filter_map(|stmt| unrolled(source, stmt, *times))).collect()
}

/// Whether it is an innermost loop whose number of steps is not a constant.
fn is_open(stmt: &Stmt) -> bool {
    let StmtKind::For { condition: Some(condition), body, .. } = &stmt.kind else { return false };
    let mut innermost = true;
    body.walk(&mut |inner| innermost &= !matches!(inner.kind, StmtKind::For { .. } | StmtKind::While { .. }));
    innermost && condition.bare().children().into_iter().all(|side| fold(side.bare()).is_none())
}

/// Whether something before the loop already says how it is unrolled.
fn has_hint(source: &str, stmt: &Stmt) -> bool {
    if source.get(stmt.full.start..stmt.place.range.start).is_some_and(|text| text.contains("unroll")) {
        return true;
    }
    let before = source[..stmt.full.start].trim_end();
    before.lines().last().is_some_and(|line| line.contains("unroll"))
}

fn unrolled(source: &str, stmt: &Stmt, times: usize) -> Option<Proposal> {
    let indent = indentation(source, stmt.full.start);
    let mut edits = Edits::new();
    // A pragma stands on a line of its own.
    let starts_line = source[..stmt.full.start].trim_end_matches([' ', '\t']).ends_with('\n');
    let first = if starts_line { "" } else { "\n" };
    edits.insert(stmt.full.start, format!("{first}#pragma unroll {times}\n{indent}")).ok()?;
    let StmtKind::For { condition: Some(condition), .. } = &stmt.kind else { return None };
    let until = source.get(condition.place.range.clone())?;
    Some(Proposal {
        title: format!("the loop of `{until}` unrolled {times} times"),
        why: format!("its test and its counter are paid once for {times} steps"),
        source: edits.apply(source),
        ..Proposal::of(RULE.code)
    })
}
