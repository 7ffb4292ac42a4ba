//! Pointers that walk, as a pointer that stays and an index.

use super::super::text::{Names, indentation};
use super::variables::{changes, constant, growth, locals, mentions};
use crate::syntax::text::{ADDITIVE, written_level};
use crate::syntax::{Edits, Expr, ExprKind, Function, Stmt, StmtKind, Symbol, Tree, Type, Variable};

/// The source with one pointer that stays.
pub(super) fn indexed(tree: &Tree, kernel: &Function) -> Option<String> {
    let parameters = kernel.parameters.iter().map(|it| (it, None));
    let all = parameters.chain(locals(kernel).into_iter().map(|(it, stmt)| (it, Some(stmt))));
    all.filter(|(variable, _)| is_walked(tree, kernel, variable)).find_map(|(variable, stmt)| {
        let name = Names::new(tree).exactly(&format!("{}_at", variable.name));
        let mut walk =
            Walk { tree, symbol: variable.symbol, name: &variable.name, at: &name, edits: Edits::new() };
        walk.statement(&kernel.body, true)?;
        let (place, indent) = match stmt {
            Some(stmt) => (stmt.full.end, indentation(&tree.source, stmt.full.start).to_owned()),
            None => (kernel.body.full.start + 1, "    ".to_owned()),
        };
        walk.edits.insert(place, format!("\n{indent}int {name} = 0;")).ok()?;
        Some(walk.edits.apply(&tree.source))
    })
}

/// Whether a pointer to numbers moves from where it is.
fn is_walked(tree: &Tree, kernel: &Function, variable: &Variable) -> bool {
    let Type::Pointer { to, .. } = &variable.ty else { return false };
    let is_volatile = tree.text(&variable.place).contains("volatile");
    let mut walks = false;
    kernel.body.walk_expressions(&mut |expr| walks |= growth(expr, variable.symbol).is_some());
    walks && to.scalar().is_some() && !is_volatile
}

struct Walk<'t> {
    tree: &'t Tree,
    symbol: Symbol,
    name: &'t str,
    /// The index's name.
    at: &'t str,
    edits: Edits,
}

impl Walk<'_> {
    fn statement(&mut self, stmt: &Stmt, listed: bool) -> Option<()> {
        match &stmt.kind {
            StmtKind::Expr(expr) => {
                if !self.step(expr)? {
                    if let ExprKind::Assign { operator: None, target, value, .. } = &expr.bare().kind
                        && target.symbol() == Some(self.symbol)
                    {
                        if mentions(value, self.symbol) || !listed {
                            return None;
                        }
                        let indent = indentation(&self.tree.source, stmt.full.start);
                        return self.edits.insert(stmt.full.end, format!("\n{indent}{} = 0;", self.at)).ok();
                    }
                    self.value(expr)?;
                }
            }
            StmtKind::For { first, condition, step, .. } => {
                if let Some(first) = first {
                    self.statement(first, false)?;
                }
                if let Some(condition) = condition {
                    self.value(condition)?;
                }
                if let Some(step) = step {
                    self.steps(step)?;
                }
            }
            _ => stmt.expressions().into_iter().try_for_each(|expr| self.value(expr))?,
        }
        let is_block = matches!(stmt.kind, StmtKind::Block(_));
        let inner = match &stmt.kind {
            StmtKind::For { body, .. } => vec![&**body],
            _ => stmt.children(),
        };
        inner.into_iter().try_for_each(|inner| self.statement(inner, is_block))
    }

    /// The steps of a loop's head, between commas.
    fn steps(&mut self, expr: &Expr) -> Option<()> {
        match &expr.bare().kind {
            ExprKind::Binary { operator, left, right } if operator == "," => {
                self.steps(left)?;
                self.steps(right)
            }
            _ if self.step(expr)? => Some(()),
            _ => self.value(expr),
        }
    }

    /// `p++` or `p += n` as a step of the index; `false` for other expressions.
    fn step(&mut self, expr: &Expr) -> Option<bool> {
        let Some(growth) = growth(expr, self.symbol) else { return Some(false) };
        let sign = if growth.down { '-' } else { '+' };
        let text = match growth.by {
            None => format!("{}{sign}{sign}", self.at),
            Some(by) if by.place.exact && !mentions(by, self.symbol) => {
                format!("{} {sign}= {}", self.at, self.tree.text(&by.place))
            }
            Some(_) => return None,
        };
        let whole = expr.place.exact.then(|| expr.place.range.clone())?;
        self.edits.replace(whole, text).ok()?;
        Some(true)
    }

    fn value(&mut self, expr: &Expr) -> Option<()> {
        if !mentions(expr, self.symbol) {
            return Some(());
        }
        let range = expr.place.range.clone();
        let mut put = |text: String| {
            if expr.place.exact { self.edits.replace(range.clone(), text).ok() } else { None }
        };
        let (name, at) = (self.name, self.at);
        match &expr.kind {
            ExprKind::Unary { operator, operand, .. } if operator == "*" => {
                if let Some(growth) = growth(operand, self.symbol) {
                    let sign = if growth.down { "--" } else { "++" };
                    return match (growth.by, growth.after) {
                        (None, true) => put(format!("{name}[{at}{sign}]")),
                        (None, false) => put(format!("{name}[{sign}{at}]")),
                        _ => None,
                    };
                }
                if matches!(operand.bare().kind, ExprKind::Name { .. }) {
                    return put(format!("{name}[{at}]"));
                }
                if let ExprKind::Binary { operator, left, right } = &operand.bare().kind
                    && left.symbol() == Some(self.symbol)
                    && (operator == "+" || operator == "-")
                    && right.place.exact
                    && !mentions(right, self.symbol)
                {
                    return put(format!("{name}[{at} {operator} ({})]", self.tree.text(&right.place)));
                }
                self.value(operand)
            }
            ExprKind::Index { base, index } if base.symbol() == Some(self.symbol) => {
                if mentions(index, self.symbol) || !index.place.exact {
                    return None;
                }
                if constant(index) == Some(0) {
                    return put(format!("{name}[{at}]"));
                }
                let text = self.tree.text(&index.place).to_owned();
                let text = if written_level(index) < ADDITIVE { format!("({text})") } else { text };
                put(format!("{name}[{at} + {text}]"))
            }
            _ if changes(expr, self.symbol) => None,
            ExprKind::Name { .. } => put(format!("({name} + {at})")),
            _ => expr.children().into_iter().try_for_each(|inner| self.value(inner)),
        }
    }
}
