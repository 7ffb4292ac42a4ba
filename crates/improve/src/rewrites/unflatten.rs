//! `unflatten`: a launch of one dimension, whose ids are taken apart by `/` and `%`, gets two.

use std::fmt::Write as _;
use std::ops::Range;

use tripipe_ir::diagnostic::Rule;

use super::effects::is_collective;
use super::text::{Names, dimension, indentation};
use crate::host::Extent;
use crate::syntax::{Edits, Expr, ExprKind, Function, Stmt, StmtKind, Symbol, Tree, Variable, fold};
use crate::{Condition, HostChange, Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "unflatten",
    title: "a launch of one dimension, whose ids are taken apart, gets two",
    what: "A kernel that computes rows and columns from one id by `/` and `%` is launched with rows and columns.",
    why: "
GPUs of phones have no instruction for the division of integers: it takes tens of instructions. And with a dimension of
their own, neighbouring columns can be computed together, by `widen`, `block` and `tile-product`.",
    example: "
int id = get_global_id(0);
if (id >= rows * columns) return;
int row = id / columns, column = id % columns;",
    instead: "
const int id_x = get_global_id(0), id_y = get_global_id(1);
if (id_x >= columns) return;
int id = id_y * columns + id_x;
if (id >= rows * columns) return;
int row = id_y, column = id_x;",
    exceptions: "
Kernels that wait for or exchange something with other work-items, or ask for sizes of the launch, stay as they are; so
do launches that are no whole number of rows. Narrow rows fill work-groups badly.",
    source: "
Arm, *Mali GPU OpenCL Developer Guide* (division of integers); Qualcomm, *Snapdragon OpenCL Programming Guide* (the
same).",
    ..Rule::REWRITE
};

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let range = view.subject.launch.range;
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    if range.dimensions() != 1 || range.global_offset()[0] != 0 || uses_others(tree, kernel) {
        return Vec::new();
    }
    let Some(id) = Id::of(kernel) else { return Vec::new() };
    let mut widths: Vec<Width<'_>> = Vec::new();
    for width in id.remainders(kernel) {
        if !widths.iter().any(|other| other.extent == width.extent) {
            widths.push(width);
        }
    }
    widths.iter().filter_map(|width| proposal(tree, kernel, &id, width)).collect()
}

/// Whether a kernel asks for more than its ids, or works with other work-items, or another function does.
pub(super) fn uses_others(tree: &Tree, kernel: &Function) -> bool {
    let mut others = false;
    for function in tree.functions.iter().filter(|it| !it.is_kernel || it.symbol == kernel.symbol) {
        function.body.walk_expressions(&mut |expr| {
            if let ExprKind::Call { name, .. } = &expr.kind {
                let is_own = function.is_kernel && name == "get_global_id";
                others |= is_collective(name)
                    || name.starts_with("get_") && !name.starts_with("get_image") && !is_own;
            }
        });
    }
    others
}

/// The variable that is the work-item's id.
struct Id<'t> {
    statement: &'t Stmt,
    variable: &'t Variable,
}

/// What the id is taken apart by.
struct Width<'t> {
    expr: &'t Expr,
    extent: Extent,
}

impl<'t> Id<'t> {
    /// The only use of `get_global_id`: `int id = get_global_id(0);`, not assigned to again.
    fn of(kernel: &'t Function) -> Option<Self> {
        let StmtKind::Block(statements) = &kernel.body.kind else { return None };
        let is_id =
            |expr: &Expr| dimension(expr).is_some_and(|(name, at, _)| name == "get_global_id" && at == 0);
        let mut uses = 0;
        kernel.body.walk_expressions(&mut |expr| uses += usize::from(is_id(expr)));
        let found = statements.iter().find_map(|statement| {
            let StmtKind::Declare(variables) = &statement.kind else { return None };
            let [variable] = &variables[..] else { return None };
            let value = variable.value.as_ref()?;
            let value = match &value.bare().kind {
                ExprKind::Cast { operand, .. } => operand.bare(),
                _ => value.bare(),
            };
            is_id(value).then_some(Self { statement, variable })
        })?;
        let is_wide = found.variable.ty.as_number().is_some_and(|it| it.is_integer() && it.bits() >= 32);
        (uses == 1
            && is_wide
            && !found.statement.place.in_macro
            && !is_assigned(kernel, found.variable.symbol))
        .then_some(found)
    }

    /// The divisors of `id % divisor` that a launch shows: parameters and constants.
    fn remainders(&self, kernel: &'t Function) -> Vec<Width<'t>> {
        let mut found = Vec::new();
        kernel.body.walk_expressions(&mut |expr| {
            if let Some(("%", width)) = self.apart(expr) {
                found.extend(extent(kernel, width).map(|extent| Width { expr: width, extent }));
            }
        });
        found
    }

    /// `id / width` or `id % width`.
    fn apart<'e>(&self, expr: &'e Expr) -> Option<(&'e str, &'e Expr)> {
        let ExprKind::Binary { operator, left, right } = &expr.kind else { return None };
        let is_own = left.symbol() == Some(self.variable.symbol) && (operator == "/" || operator == "%");
        is_own.then_some((operator.as_str(), &**right))
    }
}

fn is_assigned(kernel: &Function, symbol: Symbol) -> bool {
    let mut assigned = false;
    kernel.body.walk_expressions(&mut |expr| match &expr.kind {
        ExprKind::Assign { target, .. } => assigned |= target.symbol() == Some(symbol),
        ExprKind::Unary { operator, operand, .. } if ["++", "--", "&"].contains(&operator.as_str()) => {
            assigned |= operand.symbol() == Some(symbol);
        }
        _ => {}
    });
    assigned
}

/// The number that a divisor is in every launch.
fn extent(kernel: &Function, width: &Expr) -> Option<Extent> {
    if let Some(constant) = fold(width.bare()) {
        return usize::try_from(constant).ok().filter(|constant| *constant > 1).map(Extent::Constant);
    }
    let symbol = width.symbol().filter(|symbol| !is_assigned(kernel, *symbol))?;
    let argument = kernel.parameters.iter().position(|it| it.symbol == symbol)?;
    Some(Extent::Argument { argument, name: kernel.parameters[argument].name.clone() })
}

fn proposal(tree: &Tree, kernel: &Function, id: &Id<'_>, width: &Width<'_>) -> Option<Proposal> {
    let source = &tree.source;
    if !width.expr.place.exact {
        return None;
    }
    let text = tree.text(&width.expr.place);
    let text = if matches!(width.expr.bare().kind, ExprKind::Name { .. } | ExprKind::Integer(_)) {
        text.to_owned()
    } else {
        format!("({text})")
    };
    let mut names = Names::new(tree);
    let own = &id.variable.name;
    let [x, y] = ["x", "y"].map(|axis| names.exactly(&format!("{own}_{axis}")));
    let mut edits = Edits::new();
    let mut fits = true;
    let mut kept: Vec<Range<usize>> = Vec::new();
    kernel.body.walk(&mut |stmt| {
        for expr in stmt.expressions() {
            let is_initial = matches!(stmt.kind, StmtKind::Declare(_));
            fits &= replace(expr, id, (width, kernel), [&x, &y], is_initial, &mut edits, &mut kept);
        }
    });
    let ty = source.get(id.statement.full.start..id.variable.name_range.start)?.trim();
    let ty = ty.trim_start_matches("const ").trim();
    let indent = indentation(source, id.statement.full.start);
    let mut head = format!(
        "const {ty} {x} = get_global_id(0), {y} = get_global_id(1);\n{indent}if ({x} >= {text})\n{indent}    return;"
    );
    if !kept.is_empty() {
        let _ = write!(head, "\n{indent}const {ty} {own} = {y} * {text} + {x};");
    }
    edits.replace(id.statement.full.clone(), head).ok()?;
    let extent = width.extent.clone();
    fits.then(|| Proposal {
        title: format!("rows of {extent} work-items instead of one row"),
        why: "rows and columns need no division, and neighbouring columns can be computed together"
            .to_owned(),
        source: edits.apply(source),
        conditions: vec![Condition::GlobalRows { of: extent.clone() }],
        host: vec![HostChange::Unflatten { width: extent }],
        ..Proposal::of(RULE.code)
    })
}

/// Replaces quotients and remainders of the id; whether that is possible. Other uses of the id are added to `kept`.
fn replace(
    expr: &Expr,
    id: &Id<'_>,
    (width, kernel): (&Width<'_>, &Function),
    [x, y]: [&str; 2],
    is_initial: bool,
    edits: &mut Edits,
    kept: &mut Vec<Range<usize>>,
) -> bool {
    if let Some((operator, divisor)) = id.apart(expr)
        && extent(kernel, divisor).as_ref() == Some(&width.extent)
    {
        let name = if operator == "%" { x } else { y };
        let is_same = expr.ty == id.variable.ty || is_initial;
        let text = if is_same { name.to_owned() } else { format!("({}){name}", expr.ty) };
        return expr.place.exact && edits.replace(expr.place.range.clone(), text).is_ok();
    }
    if expr.symbol() == Some(id.variable.symbol) && matches!(expr.kind, ExprKind::Name { .. }) {
        kept.push(expr.place.range.clone());
    }
    let is_same_value =
        |expr: &Expr| matches!(expr.kind, ExprKind::Parentheses(_) | ExprKind::Cast { implicit: true, .. });
    expr.children().into_iter().all(|child| {
        replace(child, id, (width, kernel), [x, y], is_initial && is_same_value(expr), edits, kept)
    })
}
