//! `share-loads`: overlapping vector loads of one row from few of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use tripipe_ir::diagnostic::Rule;

use super::counted::{Counted, unrolled};
use super::outputs::{Outputs, propose};
use super::text::Names;
use crate::replicate::Plan;
use crate::syntax::{Affine, Edits, Expr, ExprKind, Stmt, StmtKind, Symbol, Tree, Type, affine, fold};
use crate::{Proposal, View};

/// Its documentation.
pub(super) const RULE: Rule = Rule {
    code: "share-loads",
    title: "overlapping vector loads of one row from few of them",
    what: "
Vector loads of one row that start a few elements apart, as a window needs them, become the fewest that read all elements:
those between are put together of their lanes. A loop over a window is written out for that. A load that is written twice is
done once. Where a work-item computes one output, it computes several first.",
    why: "
A window of three has three loads that share most of their elements. The load/store pipe is often the bound of filters,
and a shuffle of lanes costs the arithmetic pipe less, or nothing where it is a choice of registers.",
    example: "
sum -= convert_short8(vload8(0, in + i - 1)) + convert_short8(vload8(0, in + i)) + convert_short8(vload8(0, in + i + 1));",
    instead: "
const uchar8 in_1 = vload8(0, in + i - 1);
const uchar8 in_2 = vload8(0, in + i + 1);
sum -= convert_short8(in_1) + convert_short8((uchar8)(in_1.s1234567, in_2.s6)) + convert_short8(in_2);",
    exceptions: "Where the load/store pipe is not the bound, and where registers are short: the loads live longer.",
    source: "Arm, *Mali GPU OpenCL Developer Guide* (the Laplace filter: synthesised loads).",
    ..Rule::REWRITE
};

/// Steps of a loop over a window that are written out at most.
const STEPS: i128 = 32;

/// Outputs of a work-item that are tried where several share what they load: in a row, rows, and whether the last ones of a
/// row are moved inwards.
const SHAPES: [(usize, usize, bool); 6] =
    [(8, 1, false), (4, 1, false), (8, 2, false), (8, 1, true), (4, 2, false), (16, 1, false)];

const WHY: &str =
    "neighbouring vectors share most of their elements, and the load/store pipe loads each once";

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    let own = with_window(view, tree).map(|source| Proposal {
        title: "overlapping loads from few of them".to_owned(),
        why: WHY.to_owned(),
        source,
        ..Proposal::of(RULE.code)
    });
    let mut has_vectors = false;
    kernel.body.walk_expressions(&mut |expr| {
        has_vectors |= matches!(&expr.kind, ExprKind::Call { name, .. } if name.starts_with("vload"));
    });
    // Nor where a work-item computes several outputs already.
    let one = format!("{}_one", kernel.name);
    let is_replicated = tree.functions.iter().any(|it| it.name == one);
    let windows = if has_vectors || is_replicated { Vec::new() } else { windows(view) };
    own.into_iter().chain(windows).collect()
}

/// Several outputs a work-item, with shared loads: alone, vectors that overlap may gain nothing. A window whose size is an
/// argument is one of the given size.
fn windows(view: &View<'_>) -> Vec<Proposal> {
    let fixed = super::specialise_arguments::proposals(view).pop();
    let fixed = fixed.and_then(|fixed| Some((view.parse(fixed.source.clone())?, fixed)));
    let subject = fixed.as_ref().map(|(_, fixed)| fixed.subject(view.subject));
    let view = match (&fixed, &subject) {
        (Some((tree, _)), Some(subject)) => &View { subject, tree: Some(tree), ..*view },
        _ => view,
    };
    let has_rows = view.subject.launch.range.dimensions() > 1;
    let mut all = Vec::new();
    for (lanes, rows, edges) in SHAPES.iter().filter(|(_, rows, _)| *rows == 1 || has_rows) {
        let copies = (*rows > 1).then_some((1, *rows));
        let plan = Plan { vector: Some((0, *lanes)), copies, narrow: true, channels: None, edges: *edges };
        let Some(widened) = widened(view, plan) else { continue };
        let shared = view.parse(widened.source.clone()).and_then(|tree| with_window(view, &tree));
        // What has no window with some lanes has none with others.
        let Some(source) = shared else { break };
        let (mut title, mut conditions) = (widened.title, widened.conditions);
        if let Some((_, fixed)) = &fixed {
            title = format!("{title}; {}", fixed.title);
            conditions.extend(fixed.conditions.iter().cloned());
        }
        let why = WHY.to_owned();
        all.push(Proposal { title, why, source, conditions, host: widened.host, ..Proposal::of(RULE.code) });
    }
    all
}

/// The kernel with several outputs a work-item.
fn widened(view: &View<'_>, plan: Plan) -> Option<Proposal> {
    let title = |plan: &Plan| {
        let lanes = plan.vector.map_or(1, |(_, lanes)| lanes);
        let rows = plan.copies.map_or(1, |(_, count)| count);
        let edges = if plan.edges { ", the last group of a row moved inwards" } else { "" };
        format!("{lanes} x {rows} outputs a work-item that share overlapping loads{edges}")
    };
    propose(view, &[plan], &Outputs { code: RULE.code, title: &title, why: WHY }).pop()
}

/// The source with shared loads, after the loops over windows of vectors are written out; `None` where nothing overlaps.
fn with_window(view: &View<'_>, tree: &Tree) -> Option<String> {
    let name = &view.subject.kernel;
    let kernel = tree.kernel(name)?;
    let is_window = |counted: &Counted<'_>| {
        let mut moves = false;
        counted.body.walk_expressions(&mut |expr| {
            if let ExprKind::Call { name, arguments, .. } = &expr.kind {
                moves |= name.starts_with("vload") && arguments.last().is_some_and(|it| counted.changes(it));
            }
        });
        moves
    };
    let whole = unrolled(tree, kernel, STEPS, &is_window).and_then(|source| view.parse(source));
    let of_loops = whole.and_then(|tree| shared(&tree, name));
    of_loops.or_else(|| shared(tree, name))
}

/// A vector load.
struct Load<'t> {
    expr: &'t Expr,
    /// The statement of its run that it is in.
    statement: usize,
    constant: i128,
}

/// Loads of one row: lanes, buffer, and the address without its constant.
type Row = (u8, Symbol, BTreeMap<Vec<String>, i128>);

/// The source with shared loads; `None` where nothing overlaps.
fn shared(tree: &Tree, kernel: &str) -> Option<String> {
    let kernel = tree.kernel(kernel)?;
    let mut names = Names::new(tree);
    let mut edits = Edits::new();
    let mut blocks = Vec::new();
    kernel.body.walk(&mut |stmt| {
        if let StmtKind::Block(inner) = &stmt.kind {
            blocks.push(inner);
        }
    });
    for block in blocks {
        let mut run: Vec<&Stmt> = Vec::new();
        for stmt in block {
            let is_plain = matches!(stmt.kind, StmtKind::Declare(_) | StmtKind::Expr(_)) && stmt.place.exact;
            if is_plain && !stores(tree, stmt) {
                run.push(stmt);
            } else {
                // A store comes after the loads of its own statement.
                run.extend(Some(stmt).filter(|_| is_plain));
                share_run(tree, &run, &mut names, &mut edits)?;
                run.clear();
            }
        }
        share_run(tree, &run, &mut names, &mut edits)?;
    }
    (!edits.is_empty()).then(|| edits.apply(&tree.source))
}

/// Whether a statement stores to memory, or calls what may.
fn stores(tree: &Tree, stmt: &Stmt) -> bool {
    let mut stores = false;
    stmt.walk_expressions(&mut |expr| match &expr.kind {
        ExprKind::Assign { target, .. } => {
            stores |= !matches!(target.bare().kind, ExprKind::Name { .. })
                && target.any(|it| matches!(it.ty, Type::Pointer { .. }));
        }
        ExprKind::Call { name, symbol, .. } => {
            let pure = [
                "vload", "convert_", "clamp", "min", "max", "select", "mad", "fma", "abs", "exp", "native_",
                "sqrt",
            ];
            // A function of the source may be called alike.
            stores |= tree.function(*symbol).is_some() || !pure.iter().any(|start| name.starts_with(start));
        }
        _ => {}
    });
    stores
}

/// Shares the loads of statements that follow each other.
fn share_run(tree: &Tree, run: &[&Stmt], names: &mut Names, edits: &mut Edits) -> Option<()> {
    let mut assigned: BTreeSet<Symbol> = BTreeSet::new();
    let mut declared: BTreeMap<Symbol, usize> = BTreeMap::new();
    for (statement, stmt) in run.iter().enumerate() {
        if let StmtKind::Declare(variables) = &stmt.kind {
            declared.extend(variables.iter().map(|it| (it.symbol, statement)));
        }
        stmt.walk_expressions(&mut |expr| match &expr.kind {
            ExprKind::Assign { target, .. } => assigned.extend(target.symbol()),
            ExprKind::Unary { operator, operand, .. } if operator == "++" || operator == "--" => {
                assigned.extend(operand.symbol());
            }
            _ => {}
        });
    }
    let mut rows: BTreeMap<Row, Vec<Load<'_>>> = BTreeMap::new();
    for (statement, stmt) in run.iter().enumerate() {
        for expr in stmt.expressions() {
            loads(expr, &mut |expr, address| {
                let uses = |it: &Expr| {
                    it.symbol().is_some_and(|it| {
                        assigned.contains(&it) || declared.get(&it).is_some_and(|at| *at >= statement)
                    })
                };
                if address.any(uses) {
                    return;
                }
                if let Some((base, sum)) = sum_of(tree, address) {
                    let row = (expr.ty.lanes(), base, sum.terms);
                    rows.entry(row).or_default().push(Load { expr, statement, constant: sum.constant });
                }
            });
        }
    }
    for ((lanes, ..), mut row) in rows {
        row.sort_by_key(|load| load.constant);
        let mut from = 0;
        while from < row.len() {
            // The loads of a group touch or overlap, so that it reads each element between its ends.
            let joined =
                row[from..].windows(2).take_while(|it| it[1].constant - it[0].constant <= i128::from(lanes));
            let count = 1 + joined.count();
            let group = &row[from..from + count];
            from += count;
            let few = starts(group, lanes).len();
            let places: BTreeSet<i128> = group.iter().map(|it| it.constant).collect();
            if group.len() > few && (few < places.len() || places.len() < group.len()) {
                share_group(tree, run, lanes, group, names, edits)?;
            }
        }
    }
    Some(())
}

/// Where the fewest loads start that read all elements of a group, and no others.
fn starts(group: &[Load<'_>], lanes: u8) -> Vec<i128> {
    let [first, .., last] = group else { return group.iter().map(|it| it.constant).collect() };
    let mut starts = vec![first.constant];
    let mut at = first.constant;
    while at < last.constant {
        at = (at + i128::from(lanes)).min(last.constant);
        starts.push(at);
    }
    starts
}

/// Replaces the loads of a group by variables.
fn share_group(
    tree: &Tree,
    run: &[&Stmt],
    lanes: u8,
    group: &[Load<'_>],
    names: &mut Names,
    edits: &mut Edits,
) -> Option<()> {
    let first = group.first()?;
    let ExprKind::Call { arguments, .. } = &first.expr.kind else { return None };
    let address = &arguments[1];
    let wanted = base_name(address).unwrap_or_default();
    let at = run[group.iter().map(|it| it.statement).min()?].full.start;
    let line = &tree.source[..at];
    let indent: String =
        line[line.rfind('\n').map_or(0, |it| it + 1)..].chars().take_while(|it| it.is_whitespace()).collect();
    let mut declared = String::new();
    let mut vectors: Vec<(i128, String)> = Vec::new();
    for start in starts(group, lanes) {
        let name = names.fresh(&wanted);
        // As the source writes it, where it does.
        let written = group.iter().find(|it| it.constant == start);
        let value = match written {
            Some(load) => tree.text(&load.expr.place).to_owned(),
            None => format!("vload{lanes}(0, {} + {})", tree.text(&address.place), start - first.constant),
        };
        let _ = write!(declared, "const {} {name} = {value};\n{indent}", first.expr.ty);
        vectors.push((start, name));
    }
    edits.insert(at, declared).ok()?;
    for load in group {
        edits
            .replace(load.expr.place.range.clone(), taken(&load.expr.ty, lanes, &vectors, load.constant)?)
            .ok()?;
    }
    Some(())
}

/// The vector that starts at an element, from the lanes of others.
fn taken(ty: &Type, lanes: u8, vectors: &[(i128, String)], start: i128) -> Option<String> {
    if let Some((_, name)) = vectors.iter().find(|(at, _)| *at == start) {
        return Some(name.clone());
    }
    let lanes = i128::from(lanes);
    let mut parts = Vec::new();
    let mut element = start;
    while element < start + lanes {
        let (at, name) = vectors.iter().find(|(at, _)| (*at..at + lanes).contains(&element))?;
        let from = usize::try_from(element - at).ok()?;
        let most = usize::try_from((at + lanes).min(start + lanes) - element).ok()?;
        // Components come in vectors of 1, 2, 4 and 8.
        let count = [8, 4, 2, 1].into_iter().find(|count| *count <= most)?;
        parts.push(format!("{name}.s{}", "0123456789abcdef".get(from..from + count)?));
        element += count as i128;
    }
    Some(format!("({ty})({})", parts.join(", ")))
}

/// Calls `found` for the vector loads that are always evaluated, with their addresses.
fn loads<'t>(expr: &'t Expr, found: &mut dyn FnMut(&'t Expr, &'t Expr)) {
    match &expr.kind {
        ExprKind::Conditional { condition, .. } => loads(condition, found),
        ExprKind::Binary { operator, left, .. } if operator == "&&" || operator == "||" => loads(left, found),
        ExprKind::Call { name, arguments, .. }
            if name.starts_with("vload")
                && expr.place.exact
                && expr.ty.lanes().is_power_of_two()
                && arguments.len() == 2
                && fold(&arguments[0]) == Some(0) =>
        {
            found(expr, &arguments[1]);
        }
        _ => expr.children().into_iter().for_each(|child| loads(child, found)),
    }
}

/// The buffer of an address and the sum of elements from its start.
fn sum_of(tree: &Tree, address: &Expr) -> Option<(Symbol, Affine)> {
    match &address.kind {
        ExprKind::Parentheses(inner) | ExprKind::Cast { implicit: true, operand: inner, .. } => {
            sum_of(tree, inner)
        }
        ExprKind::Name { symbol, .. } => Some((*symbol, Affine::default())),
        ExprKind::Binary { operator, left, right } if operator == "+" || operator == "-" => {
            let (base, sum) = sum_of(tree, left)?;
            let index = affine(right, &|it| tree.text(&it.place).to_owned(), &|_| None);
            Some((base, sum.plus(&index, if operator == "+" { 1 } else { -1 })))
        }
        _ => None,
    }
}

fn base_name(address: &Expr) -> Option<String> {
    match &address.bare().kind {
        ExprKind::Name { name, .. } => Some(name.clone()),
        ExprKind::Binary { left, .. } => base_name(left),
        _ => None,
    }
}
