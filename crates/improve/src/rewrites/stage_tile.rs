//! `stage-tile`: results change their work-item over a tile in local memory.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use tripipe_ir::diagnostic::Rule;

use super::address::{Address, Values, acts, address, certain_loads};
use super::clamp_indices;
use super::counted::changed;
use super::outputs::bound;
use super::text::{Names, dimension, indentation, is_bounds_test};
use super::unflatten::uses_others;
use crate::syntax::text::{ADDITIVE, Text};
use crate::syntax::{
    Affine, Edits, Expr, ExprKind, Function, Printer, Scalar, Stmt, StmtKind, Symbol, Tree, affine,
};
use crate::{Bound, Condition, HostChange, Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "stage-tile",
    title: "results change their work-item over a tile in local memory",
    what: "
A work-group puts its square of results into local memory, waits, and stores them in the other order: the work-item that
stores a result is another one than that which computed it. A column more keeps the tile's columns in different banks.",
    why: "
Where neighbours load side by side and store a row apart, or the other way round, each access of a warp takes as many cache
lines as it has work-items. Over the tile both lie side by side.",
    example: "
int x = get_global_id(0), y = get_global_id(1);
out[x * height + y] = in[y * width + x];",
    instead: "
local float tile[16][17];
int x = get_global_id(0), y = get_global_id(1);
tile[get_local_id(1)][get_local_id(0)] = in[y * width + x];
barrier(CLK_LOCAL_MEM_FENCE);
int x_1 = 16 * get_group_id(0) + get_local_id(1), y_1 = 16 * get_group_id(1) + get_local_id(0);
out[x_1 * height + y_1] = tile[get_local_id(0)][get_local_id(1)];",
    exceptions: "
Where local memory is a part of the L1 or of main memory (Mali), the cache does the same: a transpose of floats gains nothing
there, one of bytes does on GPUs with wide warps. Kernels that wait or have local memory already stay as they are.",
    source: "
- Ruetsch and Micikevicius, *Optimizing Matrix Transpose in CUDA* (2009), for the tile and its padding; Qualcomm's OpenCL guide
  for local memory as a way to coalesce. The figures are of the model of time (docs/improve.md).",
    ..Rule::REWRITE
};

/// Sides of the tile that are tried.
const SIDES: [usize; 2] = [16, 8];

/// Elements from work-item to work-item from which on they share no cache line worth the tile.
const FAR: u128 = 8;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let launch = view.subject.launch.range;
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    if launch.global_offset() != [0; 3]
        || tree.source.contains("work_group_size")
        || uses_others(tree, kernel)
        || has_local(kernel)
    {
        return Vec::new();
    }
    let most = view.gpus.iter().map(|gpu| gpu.core.max_work_group_size.value as usize).min();
    let sides = SIDES.iter().filter(|side| most.is_none_or(|most| **side * **side <= most));
    let across = 1..launch.dimensions();
    let staged = across.filter_map(|across| Staged::of(tree, kernel, across));
    staged.flat_map(|staged| sides.clone().filter_map(move |side| staged.proposal(*side))).collect()
}

/// Whether a kernel has variables that work-items share.
fn has_local(kernel: &Function) -> bool {
    let mut shares = false;
    kernel.body.walk(&mut |stmt| {
        if let StmtKind::Declare(variables) = &stmt.kind {
            shares |= variables.iter().any(|variable| variable.shared);
        }
    });
    shares
}

/// How far apart two neighbours in a dimension access memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distance {
    None,
    One,
    Far,
    Other,
}

fn distance(sum: &Affine, along: usize) -> Distance {
    let id = format!("get_global_id({along})");
    let is_id = |factor: &String| factor.replace(' ', "") == id;
    let mut found = Distance::None;
    for (term, times) in &sum.terms {
        if !term.iter().any(is_id) {
            continue;
        }
        found = match (found, term.len(), times.unsigned_abs()) {
            (Distance::None, 1, 1) => Distance::One,
            (Distance::None, 1, ..FAR) => Distance::Other,
            _ => Distance::Far,
        };
    }
    found
}

/// A condition under which a result exists.
#[derive(Clone, Copy)]
enum Guard<'t> {
    /// `if (…) return;` before the last statement of its block, whose end is told.
    Leaves(&'t Stmt, &'t Expr, usize),
    /// `if (…)` around the store.
    Enters(&'t Expr),
}

/// A kernel with one store at its end.
struct Staged<'t> {
    tree: &'t Tree,
    kernel: &'t Function,
    /// The dimension besides 0.
    across: usize,
    guards: Vec<Guard<'t>>,
    /// The last statement of the kernel.
    last: &'t Stmt,
    store: &'t Stmt,
    target: &'t Expr,
    values: Values<'t>,
    changed: BTreeSet<Symbol>,
    /// Whether results are computed in the other order, and stored in the launch's.
    loads_across: bool,
}

impl<'t> Staged<'t> {
    fn of(tree: &'t Tree, kernel: &'t Function, across: usize) -> Option<Self> {
        let StmtKind::Block(body) = &kernel.body.kind else { return None };
        let (changed, values) = changed(&kernel.body);
        let mut guards = Vec::new();
        let store = store_at_end(tree, body, &mut guards)?;
        let StmtKind::Expr(Expr { kind: ExprKind::Assign { operator: None, target, value, .. }, .. }) =
            &store.kind
        else {
            return None;
        };
        let stored = address(tree, target, &values)?;
        let mut loaded: Vec<Address> = Vec::new();
        kernel.body.walk(&mut |stmt| {
            for expr in stmt.expressions() {
                certain_loads(tree, expr, &values, &mut |_, address| loaded.push(address));
            }
        });
        let apart = |sum: &Affine| (distance(sum, 0), distance(sum, across));
        let is_across = |address: &Address| apart(&address.sum) == (Distance::Far, Distance::One);
        let is_along = |address: &Address| distance(&address.sum, 0) == Distance::One;
        let loads_across = is_along(&stored) && loaded.iter().any(is_across) && !loaded.iter().any(is_along);
        let stores_across = is_across(&stored) && !loaded.iter().any(is_across);
        let last = body.last()?;
        let places = [&store.place, &target.place, &last.place];
        let fits = places.iter().all(|place| place.exact) && !value.assigns() && !target.assigns();
        (fits && (loads_across || stores_across)).then_some(Self {
            tree,
            kernel,
            across,
            guards,
            last,
            store,
            target,
            values,
            changed,
            loads_across,
        })
    }

    /// A work-item's id in the launch's order or in the other one.
    fn id(&self, expr: &Expr, side: usize, other: bool) -> Option<Text> {
        let (name, along, _) = dimension(expr)?;
        let lane = match along {
            0 => self.across,
            along if along == self.across => 0,
            _ => return None,
        };
        let text = format!("{side} * get_group_id({along}) + get_local_id({lane})");
        (other && name == "get_global_id").then(|| Text::new(text, ADDITIVE))
    }

    fn proposal(&self, side: usize) -> Option<Proposal> {
        let source = &self.tree.source;
        let StmtKind::Block(body) = &self.kernel.body.kind else { return None };
        let mut names = Names::new(self.tree);
        let tile = names.exactly("tile");
        let (row, column) = (format!("get_local_id({})", self.across), "get_local_id(0)");
        let mut edits = Edits::new();
        let indent = indentation(source, body.first()?.full.start);
        let element = &self.target.ty;
        element.scalar()?;
        // A column more, for the banks.
        let declared = format!("local {element} {tile}[{side}][{}];\n{indent}", side + 1);
        edits.insert(body.first()?.full.start, declared).ok()?;
        let computing = |expr: &Expr| self.id(expr, side, self.loads_across);
        let printer = Printer { tree: self.tree, replaced: &computing, renamed: &|_| None };
        self.compute(&self.kernel.body, &printer, &mut edits)?;
        edits.replace(self.target.place.range.clone(), format!("{tile}[{row}][{column}]")).ok()?;
        for guard in self.guards.iter().rev() {
            let Guard::Leaves(stmt, condition, end) = guard else { continue };
            let text = printer_text(&printer, condition, true)?;
            edits.replace(stmt.full.clone(), format!("if ({}) {{", text.text)).ok()?;
            let inside = stmt.full.end..*end;
            for (at, _) in source.get(inside)?.match_indices('\n') {
                edits.insert(stmt.full.end + at + 1, "    ").ok()?;
            }
            let indent = indentation(source, stmt.full.start);
            edits.insert(line_end(source, *end), format!("\n{indent}}}")).ok()?;
        }
        let stored = self.stored(side, &mut names, &format!("{tile}[{column}][{row}]"), indent)?;
        let end = line_end(source, self.last.full.end);
        edits.insert(end, format!("\n{indent}barrier(CLK_LOCAL_MEM_FENCE);{stored}")).ok()?;
        let (conditions, host) = self.launch(side);
        let which = if self.loads_across { "loads" } else { "stores" };
        Some(Proposal {
            title: format!("a tile of {side} x {side} results in local memory"),
            why: format!("{which} of neighbouring work-items lie side by side in memory, too"),
            source: edits.apply(source),
            conditions,
            host,
            ..Proposal::of(RULE.code)
        })
    }

    /// Exchanges the ids of what is computed, besides the tests and the store, which are written again.
    fn compute(&self, stmt: &Stmt, printer: &Printer<'_>, edits: &mut Edits) -> Option<()> {
        if self.guards.iter().any(|guard| matches!(guard, Guard::Leaves(own, ..) if std::ptr::eq(*own, stmt)))
        {
            return Some(());
        }
        if std::ptr::eq(stmt, self.store) {
            let StmtKind::Expr(Expr { kind: ExprKind::Assign { value, .. }, .. }) = &stmt.kind else {
                return None;
            };
            return printer.edit_expression(value, edits);
        }
        for expr in stmt.expressions() {
            printer.edit_expression(expr, edits)?;
        }
        stmt.children().into_iter().try_for_each(|inner| self.compute(inner, printer, edits))
    }

    /// The store of the result that another work-item computed.
    fn stored(&self, side: usize, names: &mut Names, tile: &str, indent: &str) -> Option<String> {
        let conditions = self.guards.iter().map(|guard| match guard {
            Guard::Leaves(_, condition, _) => (*condition, true),
            Guard::Enters(condition) => (*condition, false),
        });
        let conditions: Vec<(&Expr, bool)> = conditions.collect();
        let mut needed: BTreeSet<Symbol> = BTreeSet::new();
        let mut open: Vec<&Expr> = conditions.iter().map(|(condition, _)| *condition).collect();
        open.push(self.target);
        let mut is_known = true;
        while let Some(expr) = open.pop() {
            expr.walk(&mut |inner| {
                let ExprKind::Name { symbol, .. } = &inner.kind else { return };
                is_known &= !self.changed.contains(symbol);
                if needed.insert(*symbol) {
                    open.extend(self.values.get(symbol));
                }
            });
        }
        if !is_known {
            return None;
        }
        let mut renamed: BTreeMap<Symbol, String> = BTreeMap::new();
        let mut declared = Vec::new();
        self.kernel.body.walk(&mut |stmt| {
            if let StmtKind::Declare(variables) = &stmt.kind {
                for variable in variables.iter().filter(|variable| needed.contains(&variable.symbol)) {
                    renamed.insert(variable.symbol, names.fresh(&variable.name));
                    declared.push(variable);
                }
            }
        });
        let replaced = |expr: &Expr| {
            let name = match &expr.kind {
                ExprKind::Name { symbol, .. } => renamed.get(symbol).map(Text::primary),
                _ => None,
            };
            name.or_else(|| self.id(expr, side, !self.loads_across))
        };
        let printer = Printer { tree: self.tree, replaced: &replaced, renamed: &|_| None };
        let mut text = String::new();
        for variable in declared {
            let value = printer.expression(variable.value.as_ref()?)?;
            let name = &renamed[&variable.symbol];
            let (constant, gap) = if variable.ty.scalar().is_some() { ("const ", " ") } else { ("", "") };
            let _ = write!(text, "\n{indent}{constant}{}{gap}{name} = {};", variable.ty, value.text);
        }
        let mut tests: Option<Text> = None;
        for (condition, leaves) in conditions {
            let test = printer_text(&printer, condition, leaves)?;
            tests = Some(tests.map_or_else(|| test.clone(), |before| before.binary("&&", &test)));
        }
        let store = format!("{} = {tile};", printer.expression(self.target)?.text);
        match tests {
            Some(tests) => {
                let _ = write!(text, "\n{indent}if ({})\n{indent}    {store}", tests.text);
            }
            None => {
                let _ = write!(text, "\n{indent}{store}");
            }
        }
        Some(text)
    }

    /// What the launch must be, and become.
    fn launch(&self, side: usize) -> (Vec<Condition>, Vec<HostChange>) {
        let mut local = [1; 3];
        let (mut conditions, mut host) = (Vec::new(), Vec::new());
        for dimension in [0, self.across] {
            local[dimension] = side;
            let condition = match self.bound(dimension) {
                Some(bound) => {
                    host.push(HostChange::RoundUp { dimension, multiple: side });
                    Condition::GlobalCovers { dimension, of: Some(side), bound }
                }
                None => Condition::GlobalMultiple { dimension, of: side },
            };
            conditions.push(condition);
        }
        host.push(HostChange::Local(local));
        (conditions, host)
    }

    /// Whether memory is loaded before the kernel has tested which results exist.
    fn loads_early(&self) -> bool {
        let ends = self.guards.iter().map(|guard| match guard {
            Guard::Leaves(_, condition, _) | Guard::Enters(condition) => condition.place.range.end,
        });
        let end = ends.max().unwrap_or(usize::MAX);
        let mut early = false;
        self.kernel.body.walk_expressions(&mut |expr| {
            let loads = match &expr.kind {
                ExprKind::Index { .. } => true,
                ExprKind::Unary { operator, .. } => operator == "*",
                ExprKind::Call { name, .. } => name.starts_with("vload"),
                _ => false,
            };
            early |= loads && expr.place.range.start < end;
        });
        early
    }

    /// The number of work-items in a dimension that pass the kernel's own test; `None` where more of them may not be
    /// launched.
    fn bound(&self, along: usize) -> Option<Bound> {
        if self.loads_early() {
            return None;
        }
        let mut tests = Vec::new();
        for guard in &self.guards {
            match guard {
                Guard::Leaves(_, condition, _) => {
                    parts(condition, "||", &mut |test| tests.push((test, ">=")));
                }
                Guard::Enters(condition) => {
                    parts(condition, "&&", &mut |test| tests.push((test, "<")));
                }
            }
        }
        let known = |expr: &Expr| match &expr.kind {
            ExprKind::Name { symbol, .. } => {
                self.values.get(symbol).map(|value| affine(value, &|it| self.text(it), &|_| None))
            }
            _ => None,
        };
        let sum = |expr: &Expr| affine(expr, &|it| self.text(it), &known);
        let mut bounds = tests.into_iter().filter_map(|(test, wanted)| {
            let ExprKind::Binary { operator, left, right } = &test.bare().kind else { return None };
            let id = sum(left);
            let is_id = id.constant == 0 && id.terms.len() == 1 && distance(&id, along) == Distance::One;
            let is_kept = !self.kernel.parameters.iter().any(|it| self.changed.contains(&it.symbol));
            (operator == wanted && is_id && is_kept).then(|| bound(self.kernel, 1, &sum(right)))?
        });
        bounds.next_back()
    }

    fn text(&self, expr: &Expr) -> String {
        self.tree.text(&expr.place).to_owned()
    }
}

/// The store that ends a kernel, and the conditions of it; `None` where other statements store, or leave it otherwise.
fn store_at_end<'t>(tree: &Tree, body: &'t [Stmt], guards: &mut Vec<Guard<'t>>) -> Option<&'t Stmt> {
    let (last, before) = body.split_last()?;
    for stmt in before {
        match &stmt.kind {
            StmtKind::If { condition, .. } if is_bounds_test(stmt) => {
                if !stmt.place.exact {
                    return None;
                }
                guards.push(Guard::Leaves(stmt, condition, last.full.end));
            }
            _ if acts(tree, stmt) || leaves(stmt) => return None,
            _ => {}
        }
    }
    match &last.kind {
        StmtKind::If { condition, then, otherwise: None } if !condition.assigns() => {
            guards.push(Guard::Enters(condition));
            match &then.kind {
                StmtKind::Block(inner) => store_at_end(tree, inner, guards),
                _ => store_at_end(tree, std::slice::from_ref(&**then), guards),
            }
        }
        StmtKind::Expr(_) => Some(last),
        _ => None,
    }
}

/// Whether a statement may end the work-item, or is not understood.
fn leaves(stmt: &Stmt) -> bool {
    let mut leaves = false;
    stmt.walk(&mut |inner| leaves |= matches!(inner.kind, StmtKind::Return(_) | StmtKind::Other { .. }));
    leaves
}

/// Calls `found` for the operands of a chain of one operator.
fn parts<'t>(condition: &'t Expr, chain: &str, found: &mut dyn FnMut(&'t Expr)) {
    match &condition.bare().kind {
        ExprKind::Binary { operator, left, right } if operator == chain => {
            parts(left, chain, found);
            parts(right, chain, found);
        }
        _ => found(condition),
    }
}

/// A condition, or that it does not hold.
fn printer_text(printer: &Printer<'_>, condition: &Expr, negated: bool) -> Option<Text> {
    if !negated {
        return printer.expression(condition);
    }
    let bare = condition.bare();
    let ExprKind::Binary { operator, left, right } = &bare.kind else {
        return Some(Text::primary(format!("!({})", printer.expression(condition)?.text)));
    };
    let is_integer = |expr: &Expr| expr.ty.as_number().is_some_and(Scalar::is_integer);
    let opposite = match operator.as_str() {
        "||" => "&&",
        other => clamp_indices::opposite(other).unwrap_or_default(),
    };
    Some(match opposite {
        "&&" => printer_text(printer, left, true)?.binary("&&", &printer_text(printer, right, true)?),
        // Neither of two is more than the other where one is NaN.
        "" => Text::primary(format!("!({})", printer.expression(condition)?.text)),
        _ if !is_integer(left) || !is_integer(right) => {
            Text::primary(format!("!({})", printer.expression(condition)?.text))
        }
        _ => printer.expression(left)?.binary(opposite, &printer.expression(right)?),
    })
}

/// The end of a statement's line, where only a comment follows; else the statement's end.
fn line_end(source: &str, at: usize) -> usize {
    let rest = source[at..].split('\n').next().unwrap_or_default();
    if rest.trim_start().starts_with("//") { at + rest.trim_end().len() } else { at }
}
