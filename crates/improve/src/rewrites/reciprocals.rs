//! `reciprocals`: products with reciprocals instead of divisions.

use std::cell::RefCell;
use std::collections::BTreeSet;

use tripipe_ir::diagnostic::Rule;

use super::counted::changed;
use super::text::{Names, indentation};
use crate::syntax::text::{Text, level_of};
use crate::syntax::{Edits, Expr, ExprKind, Function, Printer, Scalar, StmtKind, Symbol, Tree, Type};
use crate::{Proposal, View};

pub(super) const RULE: Rule = Rule {
    code: "reciprocals",
    title: "products with reciprocals instead of divisions",
    what: "
A division by a constant, or by an expression of arguments alone, becomes a product with its reciprocal, which the kernel
computes once.",
    why: "
No GPU of a phone divides in one instruction: a division is a reciprocal and several steps that correct it. A loop pays that
in every turn, a product is one step.",
    example: "for (int i = 0; i < n; i++) sum += exp(-d[i] / (2.0f * sigma * sigma));",
    instead: "
const float inverse = 1.0f / (2.0f * sigma * sigma);
for (int i = 0; i < n; i++) sum += exp(-d[i] * inverse);",
    exceptions: "
The product is rounded twice, and overflows where the reciprocal does: only with `--allow-rounding`. Divisors that are powers of
two stay, as compilers do the same with them.",
    source: "
- The OpenCL C specification, table of accuracy: division within 2.5 units in the last place, so that compilers may not do
  this themselves without `-cl-fast-relaxed-math`. Prices are of the model of time.",
    ..Rule::REWRITE
};

/// The most that a product of two rounded factors deviates from a quotient, relative: 2.5 units for each.
const ERROR: f64 = 1e-6;

pub(super) fn proposals(view: &View<'_>) -> Vec<Proposal> {
    let (Some(tree), Some(kernel)) = (view.tree, view.kernel()) else { return Vec::new() };
    let (changed, _) = changed(&kernel.body);
    let is_number =
        |it: &&crate::syntax::Variable| it.ty.as_number().is_some() && !changed.contains(&it.symbol);
    let arguments = kernel.parameters.iter().filter(is_number).map(|it| it.symbol).collect();
    let names = RefCell::new((Names::new(tree), Vec::new()));
    Divisions { tree, arguments, names }.proposal(kernel).into_iter().collect()
}

/// The divisions of a kernel.
struct Divisions<'t> {
    tree: &'t Tree,
    /// Arguments that stay as they are passed.
    arguments: BTreeSet<Symbol>,
    /// Free names, and the reciprocals that are computed once: the divisor and the name.
    names: RefCell<(Names, Vec<(String, String)>)>,
}

impl Divisions<'_> {
    fn proposal(&self, kernel: &Function) -> Option<Proposal> {
        let StmtKind::Block(body) = &kernel.body.kind else { return None };
        let replaced = |expr: &Expr| self.product(expr);
        let printer = Printer { tree: self.tree, replaced: &replaced, renamed: &|_| None };
        let mut edits = Edits::new();
        let mut count = 0;
        kernel.body.walk(&mut |stmt| {
            for expr in stmt.expressions() {
                let mut own = 0;
                expr.walk(&mut |it| own += usize::from(self.divisor(it).is_some()));
                // What stands in a macro stays.
                if own > 0 && printer.edit_expression(expr, &mut edits).is_some() {
                    count += own;
                }
            }
        });
        let start = body.first()?.full.start;
        let indent = indentation(&self.tree.source, start);
        let once = self.names.borrow().1.iter().fold(String::new(), |text, (divisor, name)| {
            format!("{text}const float {name} = 1.0f / {divisor};\n{indent}")
        });
        if !once.is_empty() {
            edits.insert(start, once).ok()?;
        }
        (count > 0).then(|| Proposal {
            title: match count {
                1 => "a division as a product with the reciprocal".to_owned(),
                _ => format!("{count} divisions as products with reciprocals"),
            },
            why: "a division is several instructions, a product is one".to_owned(),
            source: edits.apply(&self.tree.source),
            relative_error: ERROR,
            ..Proposal::of(RULE.code)
        })
    }

    /// The dividend and the divisor of a division that can be a product.
    fn divisor<'e>(&self, expr: &'e Expr) -> Option<(&'e Expr, &'e Expr)> {
        let ExprKind::Binary { operator, left, right } = &expr.kind else { return None };
        let divisor = right.bare();
        let is_float = |ty: &Type| ty.scalar() == Some(Scalar::Float { bits: 32 });
        let is_power = |value: f64| value == 0.0 || value.abs().log2().fract() == 0.0;
        let is_exact = match divisor.kind {
            ExprKind::Float(value) => is_power(value),
            ExprKind::Integer(value) => is_power(value as f64),
            _ => false,
        };
        // Of two constants there is nothing to gain.
        (operator == "/"
            && is_float(&expr.ty)
            && divisor.ty.as_number().is_some()
            && !is_exact
            && self.is_invariant(divisor)
            && !self.is_invariant(left))
        .then_some((&**left, divisor))
    }

    /// Whether an expression is made of constants and arguments.
    fn is_invariant(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Integer(_) | ExprKind::Float(_) => true,
            ExprKind::Name { symbol, .. } => self.arguments.contains(symbol),
            ExprKind::Unary { operator, .. } if operator != "-" && operator != "+" => false,
            ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::Cast { .. }
            | ExprKind::Parentheses(_) => expr.children().into_iter().all(|inner| self.is_invariant(inner)),
            _ => false,
        }
    }

    fn product(&self, expr: &Expr) -> Option<Text> {
        let (dividend, divisor) = self.divisor(expr)?;
        let replaced = |it: &Expr| self.product(it);
        let printer = Printer { tree: self.tree, replaced: &replaced, renamed: &|_| None };
        let plain = Printer { tree: self.tree, replaced: &|_| None, renamed: &|_| None };
        let by = Text::primary("1.0f").binary("/", &plain.expression(divisor)?);
        let by = if divisor.any(|it| matches!(it.kind, ExprKind::Name { .. })) {
            Text::primary(self.name(by.text.strip_prefix("1.0f / ")?))
        } else {
            Text::new(by.text, level_of("/"))
        };
        Some(printer.expression(dividend)?.binary("*", &by))
    }

    /// The name of a reciprocal.
    fn name(&self, divisor: &str) -> String {
        let (names, once) = &mut *self.names.borrow_mut();
        if let Some((_, name)) = once.iter().find(|(known, _)| known == divisor) {
            return name.clone();
        }
        let name = if once.is_empty() { names.exactly("inverse") } else { names.fresh("inverse") };
        once.push((divisor.to_owned(), name.clone()));
        name
    }
}
