//! `share-loads`: overlapping vector loads of one row from two of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use tripipe_ir::diagnostic::Rule;

use super::text::Names;
use crate::syntax::{Affine, Edits, Expr, ExprKind, Stmt, StmtKind, Symbol, Tree, Type, affine, fold};
use crate::{Proposal, View};

/// Its documentation.
pub(super) const RULE: Rule = Rule {
    code: "share-loads",
    title: "overlapping vector loads of one row from two of them",
    what: "
Vector loads of one row that start a few elements apart, as a window needs them, become two loads: the first and the
last. Those between are put together of their lanes. A load that is written twice is done once.",
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

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let source = view.tree.and_then(|tree| shared(tree, &view.subject.kernel));
    let Some(source) = source else { return Vec::new() };
    vec![Proposal {
        title: "overlapping loads from two of them".to_owned(),
        why: "neighbouring vectors share most of their elements, and the load/store pipe loads each once"
            .to_owned(),
        source,
        ..Proposal::of(RULE.code)
    }]
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
            if is_plain && !stores(stmt) {
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
fn stores(stmt: &Stmt) -> bool {
    let mut stores = false;
    stmt.walk_expressions(&mut |expr| match &expr.kind {
        ExprKind::Assign { target, .. } => {
            stores |= !matches!(target.bare().kind, ExprKind::Name { .. })
                && target.any(|it| matches!(it.ty, Type::Pointer { .. }));
        }
        ExprKind::Call { name, .. } => {
            let pure = [
                "vload", "convert_", "clamp", "min", "max", "select", "mad", "fma", "abs", "exp", "native_",
                "sqrt",
            ];
            stores |= !pure.iter().any(|start| name.starts_with(start));
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
            // A group reaches as far as two loads hold all of its elements.
            let start = row[from].constant;
            let count = row[from..].iter().take_while(|it| it.constant - start <= i128::from(lanes)).count();
            let group = &row[from..from + count];
            from += count;
            let places: BTreeSet<i128> = group.iter().map(|it| it.constant).collect();
            if group.len() > 2.min(places.len()) {
                share_group(tree, run, lanes, group, names, edits)?;
            }
        }
    }
    Some(())
}

/// Replaces the loads of a group by two variables.
fn share_group(
    tree: &Tree,
    run: &[&Stmt],
    lanes: u8,
    group: &[Load<'_>],
    names: &mut Names,
    edits: &mut Edits,
) -> Option<()> {
    let (first, last) = (group.first()?, group.last()?);
    let wanted = match &last.expr.kind {
        ExprKind::Call { arguments, .. } => base_name(&arguments[1]).unwrap_or_default(),
        _ => String::new(),
    };
    let left = names.fresh(&wanted);
    let right = if last.constant == first.constant { left.clone() } else { names.fresh(&wanted) };
    let at = run[group.iter().map(|it| it.statement).min()?].full.start;
    let line = &tree.source[..at];
    let indent: String =
        line[line.rfind('\n').map_or(0, |it| it + 1)..].chars().take_while(|it| it.is_whitespace()).collect();
    let mut declared =
        format!("const {} {left} = {};\n{indent}", first.expr.ty, tree.text(&first.expr.place));
    if right != left {
        let _ =
            write!(declared, "const {} {right} = {};\n{indent}", last.expr.ty, tree.text(&last.expr.place));
    }
    edits.insert(at, declared).ok()?;
    let distance = last.constant - first.constant;
    for load in group {
        let shift = load.constant - first.constant;
        let text = if shift == 0 {
            left.clone()
        } else if shift == distance {
            right.clone()
        } else {
            between(&load.expr.ty, lanes, &left, &right, shift, distance)
        };
        edits.replace(load.expr.place.range.clone(), text).ok()?;
    }
    Some(())
}

/// The vector that starts `shift` elements after `left`, where `right` starts `distance` after it.
fn between(ty: &Type, lanes: u8, left: &str, right: &str, shift: i128, distance: i128) -> String {
    let lanes = usize::from(lanes);
    let [shift, distance] = [shift, distance].map(|it| usize::try_from(it).unwrap_or(0));
    let mut parts: Vec<String> = Vec::new();
    let mut add = |vector: &str, from: usize, to: usize| {
        // Components come in vectors of 1, 2, 4 and 8.
        let mut at = from;
        while at < to {
            let count = [8, 4, 2, 1].into_iter().find(|count| at + count <= to).unwrap_or(1);
            let lanes = &"0123456789abcdef"[at..at + count];
            parts.push(format!("{vector}.s{lanes}"));
            at += count;
        }
    };
    add(left, shift, lanes);
    let rest = lanes + shift - distance;
    add(right, lanes - distance, rest);
    format!("({ty})({})", parts.join(", "))
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
