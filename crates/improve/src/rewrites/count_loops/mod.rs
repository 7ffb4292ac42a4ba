//! `count-loops`: loops that count, and memory that is walked along with indices.

mod headers;
mod pointers;
mod sink;
pub(super) mod variables;
mod walks;

use tripipe_ir::diagnostic::Rule;

use super::text::changed_repeatedly;
use crate::syntax::{Function, Tree};
use crate::{Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "count-loops",
    title: "loops that count, and memory that is walked along with indices",
    what: "
`while` and `do` loops that count become `for` loops; pointers that walk (`*p++`, `p += stride`) become indices, and
numbers that grow by the same amount in each turn become multiples of the loop's counter. Variables are declared where
they get their value.",
    why: "
Compilers do the same, so that it gains nothing by itself. But other rewrites then see which elements a loop reads, and
that its turns do not depend on each other.",
    example: "
int k = 0;
while (k < n) {
    sum += *p++ * w[k];
    k++;
}",
    instead: "
for (int k = 0; k < n; k++) {
    sum += p[k] * w[k];
}",
    exceptions: "
Where a loop is left early, or a pointer moves by an amount that changes. The step stays in a result only if a later one
needs it.",
    source: "- Every compiler's induction variables (Aho et al., *Compilers*, section 9.1.8).",
    ..Rule::REWRITE
};

/// The source with one thing changed; `None` where there is nothing to change.
type Change = fn(&Tree, &Function) -> Option<String>;

/// Changes at most.
const MOST: usize = 40;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let all: [(&str, Change); 4] = [
        ("loops count", headers::counted),
        ("pointers become indices", pointers::indexed),
        ("walks become multiples of the counter", walks::multiplied),
        ("variables are declared where they get their value", sink::sunk),
    ];
    let mut done: Vec<&str> = Vec::new();
    let source = changed_repeatedly(view, MOST, |tree, kernel| {
        let (what, next) = all.iter().find_map(|(what, change)| {
            let source = change(tree, kernel)?;
            Some((*what, view.parse(source)?))
        })?;
        if !done.contains(&what) {
            done.push(what);
        }
        Some(next)
    });
    let Some(source) = source else { return Vec::new() };
    // Where variables are declared changes nothing for others.
    if done.iter().all(|what| what.starts_with("variables")) {
        return Vec::new();
    }
    vec![Proposal {
        title: done.join(", "),
        why: "other rewrites see which elements a loop reads".to_owned(),
        source,
        ..Proposal::of(RULE.code)
    }]
}
