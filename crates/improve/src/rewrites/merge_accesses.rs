//! `merge-accesses`: neighbouring elements that a work-item loads or stores one by one, in vectors.

use std::collections::BTreeSet;
use std::ops::Range;

use tripipe_ir::diagnostic::Rule;

use super::address::{Address, Values, acts, address, certain_loads, is_volatile};
use super::counted::{changed, unrolled};
use super::text::{Names, indentation, line_of};
use crate::syntax::{Edits, Expr, ExprKind, Function, Scalar, Stmt, StmtKind, Symbol, Tree, Type};
use crate::{Condition, Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "merge-accesses",
    title: "neighbouring elements of a work-item in vectors",
    what: "
Elements that lie side by side and are loaded or stored one by one become one `vloadN` or `vstoreN`, which need the
alignment of one element alone. Loops with few steps are written out for that. Results are the same bits.",
    why: "An access of 16 bytes takes the load/store pipe hardly longer than one of 1 byte.",
    example: "
out[4 * i] = 2 * in[4 * i];
out[4 * i + 1] = 2 * in[4 * i + 1];",
    instead: "
const float2 in_1 = vload2(0, &in[4 * i]);
vstore2((float2)(2 * in_1.s0, 2 * in_1.s1), 0, &out[4 * i]);",
    exceptions: "
Where something that may be the same memory is stored between the accesses; for accesses that are not made every time.",
    source: "
Arm, *Mali GPU OpenCL Developer Guide* (vectorized loads and stores); Qualcomm, *Snapdragon OpenCL Programming Guide*
(the same).",
    ..Rule::REWRITE
};

/// The most steps of a loop that is written out.
const TURNS: i128 = 16;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    let mut all: Vec<Proposal> = merged(tree, kernel).into_iter().collect();
    if let Some(source) = unrolled(tree, kernel, TURNS, &|_| true) {
        let subject = crate::Subject { source, ..view.subject.clone() };
        let tree = subject.tree(view.gpus.first().map(|gpu| gpu.opencl().clone())).ok();
        let kernel = tree.as_ref().and_then(|tree| Some((tree, tree.kernel(&subject.kernel)?)));
        all.extend(kernel.and_then(|(tree, kernel)| merged(tree, kernel)));
    }
    all
}

/// The kernel with all accesses merged that can be.
fn merged(tree: &Tree, kernel: &Function) -> Option<Proposal> {
    let mut blocks = Vec::new();
    kernel.body.walk(&mut |stmt| {
        if let StmtKind::Block(inner) = &stmt.kind {
            blocks.push(inner.as_slice());
        }
    });
    let mut merge = Merge {
        tree,
        kernel,
        names: Names::new(tree),
        replaced: Vec::new(),
        inserted: Vec::new(),
        stored: Vec::new(),
        apart: false,
        what: BTreeSet::new(),
    };
    for block in blocks {
        let is_plain =
            |stmt: &Stmt| matches!(stmt.kind, StmtKind::Declare(_) | StmtKind::Expr(_)) && stmt.place.exact;
        for run in block.chunk_by(|a, b| is_plain(a) && is_plain(b)) {
            if run.len() > 1 || run.iter().all(is_plain) {
                merge.run(run);
            }
        }
    }
    merge.proposal()
}

/// A store: `p[i] = value;`.
struct Store<'t> {
    statement: usize,
    target: &'t Expr,
    value: &'t Expr,
    address: Address,
    scalar: Scalar,
    /// Whether nothing is loaded from the target first.
    plain: bool,
}

struct ScalarLoad<'t> {
    statement: usize,
    expr: &'t Expr,
    address: Address,
    scalar: Scalar,
}

/// The store of a vector: `head`, the values at these places, `tail`.
struct Vector {
    head: String,
    values: Vec<Range<usize>>,
    tail: String,
}

struct Merge<'t> {
    tree: &'t Tree,
    kernel: &'t Function,
    names: Names,
    /// Loads and what stands in their place.
    replaced: Vec<(Range<usize>, String)>,
    /// Declarations of vectors.
    inserted: Vec<(usize, String)>,
    /// Statements of stores that one takes the place of; the last of each group has its text.
    stored: Vec<(Range<usize>, Option<Vector>)>,
    /// Whether buffers must not overlap.
    apart: bool,
    what: BTreeSet<String>,
}

impl<'t> Merge<'t> {
    fn run(&mut self, run: &'t [Stmt]) {
        let none = Values::new();
        let mut stores: Vec<Store<'t>> = Vec::new();
        let mut unknown: Vec<usize> = Vec::new();
        for (statement, stmt) in run.iter().enumerate() {
            if acts(self.tree, stmt) {
                match self.store(statement, stmt) {
                    Some(store) => stores.push(store),
                    None => unknown.push(statement),
                }
            }
        }
        let mut loads: Vec<ScalarLoad<'t>> = Vec::new();
        for (statement, stmt) in run.iter().enumerate() {
            for expr in stmt.expressions() {
                certain_loads(self.tree, expr, &none, &mut |expr, address| {
                    if let Some(scalar) = expr.ty.as_number().filter(|_| expr.place.exact) {
                        loads.push(ScalarLoad { statement, expr, address, scalar });
                    }
                });
            }
        }
        self.merge_loads(run, &loads, &stores, &unknown);
        self.merge_stores(run, &stores, &unknown, &loads);
    }

    fn store(&self, statement: usize, stmt: &'t Stmt) -> Option<Store<'t>> {
        let StmtKind::Expr(expr) = &stmt.kind else { return None };
        let ExprKind::Assign { operator, target, value, .. } = &expr.bare().kind else { return None };
        let address = address(self.tree, target, &Values::new())?;
        let scalar = target.ty.as_number().filter(|it| *it != Scalar::Bool)?;
        let is_alone = !value.assigns() && target.place.exact && value.place.exact;
        let plain = operator.is_none();
        is_alone.then_some(Store { statement, target, value, address, scalar, plain })
    }

    fn merge_loads(
        &mut self,
        run: &[Stmt],
        loads: &[ScalarLoad<'t>],
        stores: &[Store<'t>],
        unknown: &[usize],
    ) {
        let mut left: Vec<&ScalarLoad<'t>> =
            loads.iter().filter(|load| self.can_merge(&load.address)).collect();
        while let Some(first) = left.first().copied() {
            let (same, others): (Vec<_>, Vec<_>) = left
                .into_iter()
                .partition(|it| is_row(&it.address, &first.address) && it.scalar == first.scalar);
            left = others;
            for constants in chunks(same.iter().map(|load| load.address.sum.constant)) {
                let own: Vec<&ScalarLoad<'t>> =
                    same.iter().copied().filter(|it| constants.contains(&it.address.sum.constant)).collect();
                self.merge_group(run, &own, &constants, stores, unknown);
            }
        }
    }

    fn merge_group(
        &mut self,
        run: &[Stmt],
        own: &[&ScalarLoad<'t>],
        constants: &Range<i128>,
        stores: &[Store<'t>],
        unknown: &[usize],
    ) -> Option<()> {
        let (from, to) = (own.iter().map(|it| it.statement).min()?, own.iter().map(|it| it.statement).max()?);
        let lowest = own.iter().find(|load| load.address.sum.constant == constants.start)?;
        let (moved, set) = changed_in(&run[from..=to]);
        let is_fixed =
            !lowest.expr.any(|it| it.symbol().is_some_and(|it| moved.contains(&it) || set.contains(&it)));
        // The vector is loaded before the first statement: stores before the last one are of something else.
        let between: Vec<&Store<'_>> =
            stores.iter().filter(|it| it.statement >= from && it.statement < to).collect();
        // In order, an element is loaded before it is stored.
        let is_later = |store: &Store<'_>, at: i128| {
            let same = own.iter().filter(|load| load.address.sum.constant == at);
            same.into_iter().all(|load| load.statement <= store.statement)
        };
        let is_apart = between.iter().all(|store| {
            store.address.base != lowest.address.base
                || is_row(&store.address, &lowest.address) && is_later(store, store.address.sum.constant)
        });
        if !is_fixed || !is_apart || unknown.iter().any(|it| *it >= from && *it < to) {
            return None;
        }
        self.apart |= between.iter().any(|store| store.address.base != lowest.address.base);
        let lanes = u8::try_from(constants.end - constants.start).ok()?;
        let name = self.names.fresh(&lowest.address.name);
        let at = run[from].full.start;
        let (ty, text) = (Type::Vector(lowest.scalar, lanes), self.tree.text(&lowest.expr.place));
        let indent = indentation(&self.tree.source, at);
        self.inserted.push((at, format!("const {ty} {name} = vload{lanes}(0, &{text});\n{indent}")));
        for load in own {
            let lane = usize::try_from(load.address.sum.constant - constants.start).ok()?;
            let lane = "0123456789abcdef".get(lane..=lane)?;
            self.replaced.push((load.expr.place.range.clone(), format!("{name}.s{lane}")));
        }
        self.what.insert(format!("loads of `{}`", lowest.address.name));
        Some(())
    }

    fn merge_stores(
        &mut self,
        run: &[Stmt],
        stores: &[Store<'t>],
        unknown: &[usize],
        loads: &[ScalarLoad<'t>],
    ) {
        for group in stores.chunk_by(|a, b| is_row(&a.address, &b.address) && a.scalar == b.scalar) {
            for constants in chunks(group.iter().map(|store| store.address.sum.constant)) {
                let own: Vec<&Store<'t>> =
                    group.iter().filter(|it| constants.contains(&it.address.sum.constant)).collect();
                self.store_group(run, &own, &constants, (stores, unknown), loads);
            }
        }
    }

    fn store_group(
        &mut self,
        run: &[Stmt],
        own: &[&Store<'t>],
        constants: &Range<i128>,
        (stores, unknown): (&[Store<'t>], &[usize]),
        loads: &[ScalarLoad<'t>],
    ) -> Option<()> {
        let (first, last) = (own.first()?, own.last()?);
        let (from, to) = (first.statement, last.statement);
        let within = |it: usize| it >= from && it <= to;
        let count = own.len() as i128;
        let is_alone = unknown.iter().all(|it| !within(*it))
            && stores.iter().filter(|it| within(it.statement)).count() == own.len()
            && count == constants.end - constants.start
            && own.iter().all(|it| it.plain);
        if !is_alone || !self.can_merge(&first.address) {
            return None;
        }
        // All values are computed at the last store.
        let (assigned, set) = changed_in(&run[from..=to]);
        let moves = |expr: &Expr| expr.any(|it| it.symbol().is_some_and(|it| assigned.contains(&it)));
        let lowest = own.iter().find(|it| it.address.sum.constant == constants.start)?;
        let is_declared = |expr: &Expr| expr.any(|it| it.symbol().is_some_and(|it| set.contains(&it)));
        if own.iter().any(|it| moves(it.value) || moves(it.target)) || is_declared(lowest.target) {
            return None;
        }
        for load in loads.iter().filter(|it| within(it.statement)) {
            let is_held = self.replaced.iter().any(|(at, _)| *at == load.expr.place.range);
            if load.address.base == first.address.base && !is_held {
                return None;
            }
            self.apart |= !is_held;
        }
        // What is loaded otherwise may be anything.
        let is_hidden = |store: &Store<'_>| {
            store.value.any(|it| {
                matches!(it.kind, ExprKind::Conditional { .. } | ExprKind::Call { .. }) && reads_memory(it)
            })
        };
        if own.iter().any(|it| is_hidden(it)) {
            return None;
        }
        let lanes = u8::try_from(count).ok()?;
        let mut ordered: Vec<&&Store<'t>> = own.iter().collect();
        ordered.sort_by_key(|it| it.address.sum.constant);
        let values = ordered.iter().map(|it| it.value.place.range.clone()).collect();
        let ty = Type::Vector(first.scalar, lanes);
        let target = self.tree.text(&lowest.target.place);
        for store in &own[..own.len() - 1] {
            self.stored.push((run[store.statement].full.clone(), None));
        }
        let (head, tail) = (format!("vstore{lanes}(({ty})("), format!("), 0, &{target});"));
        self.stored.push((run[to].full.clone(), Some(Vector { head, values, tail })));
        self.what.insert(format!("stores to `{}`", first.address.name));
        Some(())
    }

    fn can_merge(&self, address: &Address) -> bool {
        !is_volatile(self.tree, self.kernel, address.base)
    }

    fn proposal(self) -> Option<Proposal> {
        if self.what.is_empty() {
            return None;
        }
        let source = &self.tree.source;
        let mut loads = Edits::new();
        for (at, text) in &self.replaced {
            loads.replace(at.clone(), text.clone()).ok()?;
        }
        let mut edits = Edits::new();
        for (at, text) in &self.inserted {
            edits.insert(*at, text.clone()).ok()?;
        }
        for (at, text) in &self.stored {
            let Some(Vector { head, values, tail }) = text else {
                let line = line_of(source, at);
                let is_used = self.inserted.iter().any(|(other, _)| (line.start..=line.end).contains(other));
                edits.replace(if is_used { at.clone() } else { line }, "").ok()?;
                continue;
            };
            let values: Vec<String> = values.iter().map(|at| loads.apply_to(source, at.clone())).collect();
            edits.replace(at.clone(), format!("{head}{}{tail}", values.join(", "))).ok()?;
        }
        let is_stored =
            |at: &Range<usize>| self.stored.iter().any(|(it, _)| it.start <= at.start && at.end <= it.end);
        for (at, text) in self.replaced.iter().filter(|(at, _)| !is_stored(at)) {
            edits.replace(at.clone(), text.clone()).ok()?;
        }
        let what: Vec<String> = self.what.into_iter().collect();
        let apart = self.apart.then_some(Condition::BuffersApart);
        Some(Proposal {
            title: format!("{} as vectors", what.join(", ")),
            why: "one access takes neighbouring elements together".to_owned(),
            source: edits.apply(source),
            conditions: apart.into_iter().collect(),
            ..Proposal::of(RULE.code)
        })
    }
}

/// Whether two addresses differ by a constant.
fn is_row(a: &Address, b: &Address) -> bool {
    a.base == b.base && a.sum.terms == b.sum.terms
}

/// Whether an expression loads from memory.
fn reads_memory(expr: &Expr) -> bool {
    expr.any(|it| {
        matches!(&it.kind, ExprKind::Index { base, .. } if matches!(base.bare().ty, Type::Pointer { .. }))
            || matches!(&it.kind, ExprKind::Unary { operator, .. } if operator == "*")
            || matches!(&it.kind, ExprKind::Call { name, .. } if name.starts_with("vload"))
    })
}

/// The variables that statements assign to, and those that they declare.
fn changed_in(run: &[Stmt]) -> (BTreeSet<Symbol>, BTreeSet<Symbol>) {
    let (mut assigned, mut set) = (BTreeSet::new(), BTreeSet::new());
    for stmt in run {
        let (own, values) = changed(stmt);
        assigned.extend(own);
        set.extend(values.into_keys());
    }
    (assigned, set)
}

/// Ranges of 2, 3, 4, 8 or 16 consecutive numbers, which cover the numbers that have neighbours.
fn chunks(numbers: impl Iterator<Item = i128>) -> Vec<Range<i128>> {
    let numbers: BTreeSet<i128> = numbers.collect();
    let mut chunks = Vec::new();
    let mut next = numbers.first().copied();
    while let Some(start) = next {
        let mut end = start;
        while numbers.contains(&end) {
            end += 1;
        }
        let mut from = start;
        while end - from > 1 {
            let count = [16, 8, 4, 3, 2].into_iter().find(|count| from + count <= end).unwrap_or(1);
            chunks.push(from..from + count);
            from += count;
        }
        next = numbers.range(end..).next().copied();
    }
    chunks
}
