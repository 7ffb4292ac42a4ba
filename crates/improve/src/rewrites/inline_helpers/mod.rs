//! `inline-helpers`: calls of the author's functions are written out.

mod body;
mod facts;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tripipe_ir::diagnostic::Rule;

use super::counted::changed;
use super::text::{Names, changed_repeatedly, indentation};
use crate::syntax::text::Text;
use crate::syntax::{Edits, Expr, ExprKind, Function, Printer, Stmt, StmtKind, Tree, Type};
use crate::{Proposal, View};
use body::{Body, Inlined};

pub(super) const RULE: Rule = Rule {
    code: "inline-helpers",
    title: "calls of the author's functions are written out",
    what: "
Calls of functions of the source are replaced by what the functions do: parameters become the arguments, or constants of
their own where an argument is used several times or long; `if (…) return a; return b;` becomes `?:`.",
    why: "
Every compiler for GPUs does the same, so that it gains nothing by itself. But other rewrites understand what stands in
the kernel: an access inside a function of its own cannot become a vector, nor a test of the edges be decided for
several outputs at once.",
    example: "
int at(global const uchar *p, int x, int y, int w, int h) {
    x = clamp(x, 0, w - 1);
    y = clamp(y, 0, h - 1);
    return p[y * w + x];
}
// …
sum += at(in, x + i, y, w, h);",
    instead: "sum += in[clamp(y, 0, h - 1) * w + clamp(x + i, 0, w - 1)];",
    exceptions: "
Where a function returns from inside a loop, or is large. The step stays in a result only if a later one needs it.",
    source: "- Every compiler's inlining; OpenCL C, section 6.11: no recursion.",
    ..Rule::REWRITE
};

/// Calls in calls that are written out at most.
const PASSES: usize = 6;

/// The largest kernel that comes of it, in bytes.
const LARGEST: usize = 40_000;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let mut all: Vec<String> = Vec::new();
    let source = changed_repeatedly(view, PASSES, |tree, kernel| {
        let (source, names) = written_out(tree, kernel)?;
        if source.len() > LARGEST.max(tree.source.len()) {
            return None;
        }
        let next = view.parse(source)?;
        all.extend(names);
        Some(next)
    });
    let Some(source) = source else { return Vec::new() };
    all.sort();
    all.dedup();
    let names: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
    vec![Proposal {
        title: format!("{} written out where the kernel calls it", names.join(", ")),
        why: "other rewrites change what stands in the kernel only".to_owned(),
        source,
        ..Proposal::of(RULE.code)
    }]
}

/// The source with the kernel's innermost calls written out, and the names of the functions; `None` if there are none.
fn written_out(tree: &Tree, kernel: &Function) -> Option<(String, Vec<String>)> {
    let assigned = changed(&kernel.body).0;
    let mut fixed: Vec<&str> = kernel.parameters.iter().map(|it| it.name.as_str()).collect();
    let mut moving: Vec<&str> = Vec::new();
    let mut names: Vec<(&str, bool)> =
        kernel.parameters.iter().map(|it| (it.name.as_str(), assigned.contains(&it.symbol))).collect();
    kernel.body.walk(&mut |stmt| {
        if let StmtKind::Declare(variables) = &stmt.kind {
            names.extend(variables.iter().map(|it| (it.name.as_str(), assigned.contains(&it.symbol))));
        }
    });
    for (name, moves) in names {
        if moves { moving.push(name) } else { fixed.push(name) }
    }
    let mut pass = Pass {
        tree,
        declared: fixed.iter().chain(&moving).map(|&name| name.to_owned()).collect(),
        moving: moving.into_iter().map(str::to_owned).collect(),
        names: Names::inside(tree, kernel),
        scopes: Vec::new(),
        edits: Edits::new(),
        inlined: Vec::new(),
    };
    pass.statement(&kernel.body, true, true)?;
    (!pass.inlined.is_empty()).then(|| (pass.edits.apply(&tree.source), pass.inlined))
}

/// One pass over a kernel.
struct Pass<'t> {
    tree: &'t Tree,
    /// The names of the kernel's variables and parameters.
    declared: Vec<String>,
    /// Those that are assigned to.
    moving: Vec<String>,
    names: Names,
    /// Constants that were declared for arguments, by type and value, of each block around the statement.
    scopes: Vec<BTreeMap<(String, String), String>>,
    edits: Edits,
    inlined: Vec<String>,
}

/// A call of a function of the source.
struct HelperCall<'t> {
    call: &'t Expr,
    function: &'t Function,
    /// Whether it is evaluated only sometimes, so that nothing of it may stand before the statement.
    lazy: bool,
    /// Whether its value must have the function's type even where an `int` would do.
    strict: bool,
}

impl<'t> Pass<'t> {
    /// Writes out the calls of a statement. `listed`: it is a block's statement; `moves`: lines may stand before it.
    fn statement(&mut self, stmt: &'t Stmt, listed: bool, moves: bool) -> Option<()> {
        match &stmt.kind {
            StmtKind::Block(inner) => {
                self.scopes.push(BTreeMap::new());
                for stmt in inner {
                    self.statement(stmt, true, moves)?;
                }
                self.scopes.pop();
            }
            StmtKind::Declare(_) | StmtKind::Expr(_) | StmtKind::If { .. } => {
                self.plain(stmt, listed, moves)?;
            }
            StmtKind::For { first, body, .. } => {
                if let Some(first) = first {
                    self.plain(first, true, false)?;
                }
                self.plain(stmt, listed, false)?;
                self.statement(body, false, moves)?;
            }
            StmtKind::While { body, .. } => {
                self.plain(stmt, listed, false)?;
                self.statement(body, false, moves)?;
            }
            // A `case` may have no declarations.
            StmtKind::Other { inner, .. } => {
                for stmt in inner {
                    self.statement(stmt, true, false)?;
                }
            }
            _ => {}
        }
        Some(())
    }

    /// The calls of a statement's own expressions, and the branches of an `if`.
    fn plain(&mut self, stmt: &'t Stmt, listed: bool, moves: bool) -> Option<()> {
        let tree = self.tree;
        let exprs = stmt.expressions();
        let mut found = Vec::new();
        for expr in &exprs {
            self.calls(expr, !moves || has_effects(expr), false, &mut found);
        }
        // A variable of the same declaration does not exist before it.
        if let StmtKind::Declare(variables) = &stmt.kind
            && variables.len() > 1
        {
            for one in &mut found {
                one.lazy |= one.call.any(|it| variables.iter().any(|v| it.symbol() == Some(v.symbol)));
            }
        }
        let indent = indentation(&tree.source, stmt.full.start).to_owned();
        let indent = if listed { indent } else { format!("{indent}    ") };
        if !listed {
            self.scopes.push(BTreeMap::new());
        }
        let mut lines: Vec<String> = Vec::new();
        let mut values: Vec<(&Expr, Option<Text>)> = Vec::new();
        for HelperCall { call, function, lazy, strict } in found {
            let alone = is_alone(stmt, call);
            for lazy in [lazy, true] {
                let scopes = self.scopes.clone();
                let inlined = Body::inline(self, call, function, (lazy, strict, alone), &indent);
                if let Some(Inlined { lines: own, value }) = inlined {
                    lines.extend(own);
                    values.push((call, value));
                    self.inlined.push(function.name.clone());
                    break;
                }
                self.scopes = scopes;
                if lazy {
                    break;
                }
            }
        }
        if !listed {
            self.scopes.pop();
        }
        let wraps = !listed && !lines.is_empty();
        let gap = format!("\n{indent}");
        let is_call =
            matches!(&stmt.kind, StmtKind::Expr(expr) if values.iter().any(|(it, _)| is_same(it, expr)));
        if is_call {
            let text = lines.join(&gap);
            let text = if wraps { format!("{{{gap}{text}\n{}}}", &indent[4..]) } else { text };
            return self.edits.replace(stmt.full.clone(), text).ok();
        }
        let mut head = String::new();
        if wraps {
            let _ = write!(head, "{{{gap}");
        }
        for line in &lines {
            let _ = write!(head, "{line}{gap}");
        }
        if !head.is_empty() {
            self.edits.insert(stmt.full.start, head).ok()?;
        }
        if !values.is_empty() {
            let replaced = |expr: &Expr| {
                values.iter().find(|(call, _)| std::ptr::eq(*call, expr)).and_then(|(_, text)| text.clone())
            };
            let printer = Printer { tree, replaced: &replaced, renamed: &|_| None };
            for expr in exprs {
                printer.edit_expression(expr, &mut self.edits)?;
            }
        }
        if let StmtKind::If { then, otherwise, .. } = &stmt.kind {
            self.statement(then, false, moves)?;
            if let Some(otherwise) = otherwise {
                self.statement(otherwise, false, moves)?;
            }
        }
        if wraps {
            self.edits.insert(stmt.full.end, format!("\n{}}}", &indent[4..])).ok()?;
        }
        Some(())
    }

    /// The calls of functions of the source without another one in their arguments.
    fn calls(&self, expr: &'t Expr, lazy: bool, strict: bool, found: &mut Vec<HelperCall<'t>>) {
        let function = match &expr.kind {
            ExprKind::Call { symbol, .. } => self.tree.function(*symbol).filter(|it| !it.is_kernel),
            _ => None,
        };
        let before = found.len();
        for (index, inner) in expr.children().into_iter().enumerate() {
            let sometimes = match &expr.kind {
                ExprKind::Conditional { .. } => index > 0,
                ExprKind::Binary { operator, .. } => index > 0 && (operator == "&&" || operator == "||"),
                _ => false,
            };
            let overloaded = match &expr.kind {
                ExprKind::Call { .. } | ExprKind::Other { .. } => true,
                ExprKind::Parentheses(_) | ExprKind::Cast { implicit: true, .. } => strict,
                _ => false,
            };
            self.calls(inner, lazy || sometimes, overloaded, found);
        }
        if let Some(function) = function
            && found.len() == before
        {
            found.push(HelperCall { call: expr, function, lazy, strict });
        }
    }

    /// The constant of a type that has a value already.
    fn existing_constant(&self, key: &(String, String)) -> Option<&String> {
        self.scopes.iter().rev().find_map(|scope| scope.get(key))
    }
}

/// Whether an expression changes something before its own value is assigned.
fn has_effects(expr: &Expr) -> bool {
    match &expr.bare().kind {
        ExprKind::Assign { target, value, .. } => target.assigns() || value.assigns(),
        _ => expr.assigns(),
    }
}

/// Whether a call is all that a statement does, apart from keeping its value in a variable.
fn is_alone(stmt: &Stmt, call: &Expr) -> bool {
    match &stmt.kind {
        StmtKind::Expr(expr) => match &expr.bare().kind {
            ExprKind::Assign { target, value, .. } => is_same(value, call) && target.symbol().is_some(),
            _ => is_same(expr, call),
        },
        StmtKind::Declare(variables) => match &variables[..] {
            [only] => only.value.as_ref().is_some_and(|value| is_same(value, call)),
            _ => false,
        },
        _ => false,
    }
}

fn is_same(a: &Expr, b: &Expr) -> bool {
    std::ptr::eq(a.bare(), b.bare())
}

/// Whether values of a type can be constants of their own.
fn is_value(ty: &Type) -> bool {
    ty.scalar().is_some()
}
