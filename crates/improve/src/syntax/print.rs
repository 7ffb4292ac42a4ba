//! Texts of expressions and statements in which some expressions are replaced.

use super::node::{Expr, ExprKind, Stmt, StmtKind, Variable};
use super::text::{ADDITIVE, CONDITIONAL, Level, PRIMARY, Text, UNARY, level_of, written_level};
use super::{Edits, Tree, Type};

/// Writes expressions. What has no replacement inside is the author's text.
pub(crate) struct Printer<'p> {
    pub(crate) tree: &'p Tree,
    /// What an expression becomes; `None` where it stays.
    pub(crate) replaced: &'p dyn Fn(&Expr) -> Option<Text>,
    /// The new name of a variable that a statement declares.
    pub(crate) renamed: &'p dyn Fn(&Variable) -> Option<String>,
}

/// The least level of an expression that stands alone: an argument, an initial value.
pub(crate) const ALONE: Level = Level(2);

impl Printer<'_> {
    /// An expression's text; `None` where it is part of a macro and has no other form.
    pub(crate) fn expression(&self, expr: &Expr) -> Option<Text> {
        if let Some(text) = (self.replaced)(expr) {
            return Some(text);
        }
        if let ExprKind::Cast { implicit: true, operand, .. } = &expr.kind {
            return self.expression(operand);
        }
        if expr.place.exact && !expr.place.range.is_empty() {
            let mut edits = Edits::new();
            if self.edit(expr, ALONE, &mut edits) {
                let text = edits.apply_to(&self.tree.source, expr.place.range.clone());
                return Some(Text::new(text, written_level(expr)));
            }
        }
        self.written(expr)
    }

    /// A statement's text.
    pub(crate) fn statement(&self, stmt: &Stmt) -> Option<String> {
        let mut edits = Edits::new();
        self.edit_statement(stmt, &mut edits)?;
        Some(edits.apply_to(&self.tree.source, stmt.full.clone()))
    }

    /// Changes the expressions and the declared names of a statement and of those inside.
    pub(crate) fn edit_statement(&self, stmt: &Stmt, edits: &mut Edits) -> Option<()> {
        if stmt.place.in_macro && !stmt.place.exact {
            return None;
        }
        if let StmtKind::Declare(variables) = &stmt.kind {
            for variable in variables {
                if let Some(name) = (self.renamed)(variable) {
                    edits.replace(variable.name_range.clone(), name).ok()?;
                }
            }
        }
        for expr in stmt.expressions() {
            self.edit_expression(expr, edits)?;
        }
        stmt.children().into_iter().try_for_each(|inner| self.edit_statement(inner, edits))
    }

    /// Changes an expression that is no operand.
    pub(crate) fn edit_expression(&self, expr: &Expr, edits: &mut Edits) -> Option<()> {
        let mut own = edits.clone();
        if self.edit(expr, ALONE, &mut own) {
            *edits = own;
            return Some(());
        }
        let text = self.written(expr).filter(|_| expr.place.exact)?;
        edits.replace(expr.place.range.clone(), text.text).ok()
    }

    /// Replaces what is inside `expr`, an operand of a level; `false` where a part of a macro would have to change.
    fn edit(&self, expr: &Expr, level: Level, edits: &mut Edits) -> bool {
        if let Some(text) = (self.replaced)(expr) {
            return expr.place.exact && edits.replace(expr.place.range.clone(), text.at(level)).is_ok();
        }
        operands(expr, level).into_iter().all(|(inner, level)| self.edit(inner, level, edits))
    }

    /// The text of an expression from its parts.
    fn written(&self, expr: &Expr) -> Option<Text> {
        let at = |inner: &Expr, level: Level| Some(self.expression(inner)?.at(level));
        let list = |all: &[Expr]| {
            let texts: Option<Vec<String>> = all.iter().map(|inner| at(inner, ALONE)).collect();
            Some(texts?.join(", "))
        };
        Some(match &expr.kind {
            ExprKind::Integer(value) => Text::new(integer(*value, &expr.ty), written_level(expr)),
            ExprKind::Float(value) => Text::primary(float(*value, &expr.ty)?),
            ExprKind::Name { name, .. } => Text::primary(name),
            ExprKind::Unary { operator, postfix: true, operand } => {
                Text::primary(format!("{}{operator}", at(operand, PRIMARY)?))
            }
            ExprKind::Unary { operator, operand, .. } => {
                let operand = at(operand, UNARY)?;
                let gap = if operand.starts_with(['-', '+', '&']) { " " } else { "" };
                Text::new(format!("{operator}{gap}{operand}"), UNARY)
            }
            ExprKind::Binary { operator, left, right } => {
                self.expression(left)?.binary(operator, &self.expression(right)?)
            }
            ExprKind::Conditional { condition, then, otherwise } => Text::new(
                format!(
                    "{} ? {} : {}",
                    at(condition, Level(CONDITIONAL.0 + 1))?,
                    at(then, CONDITIONAL)?,
                    at(otherwise, CONDITIONAL)?
                ),
                CONDITIONAL,
            ),
            ExprKind::Call { name, arguments, .. } => Text::primary(format!("{name}({})", list(arguments)?)),
            ExprKind::Index { base, index } => {
                Text::primary(format!("{}[{}]", at(base, PRIMARY)?, at(index, ALONE)?))
            }
            ExprKind::Field { base, name, arrow } => {
                let dot = if *arrow { "->" } else { "." };
                Text::primary(format!("{}{dot}{name}", at(base, PRIMARY)?))
            }
            ExprKind::Swizzle { base, components } => {
                Text::primary(format!("{}.{components}", at(base, PRIMARY)?))
            }
            ExprKind::VectorLiteral(all) => Text::new(format!("({})({})", expr.ty, list(all)?), UNARY),
            ExprKind::Cast { implicit: true, operand, .. } => self.expression(operand)?,
            ExprKind::Cast { operand, .. } => {
                Text::new(format!("({}){}", expr.ty, at(operand, UNARY)?), UNARY)
            }
            ExprKind::Reinterpret(inner) => Text::primary(format!("as_{}({})", expr.ty, at(inner, ALONE)?)),
            ExprKind::Parentheses(inner) => self.expression(inner)?,
            ExprKind::Assign { .. } | ExprKind::List(_) | ExprKind::Other { .. } => return None,
        })
    }
}

/// The operands of an expression, with the level that each needs.
fn operands(expr: &Expr, own: Level) -> Vec<(&Expr, Level)> {
    let all = |level| expr.children().into_iter().map(|inner| (inner, level)).collect();
    match &expr.kind {
        ExprKind::Conditional { condition, then, otherwise } => {
            vec![(condition, Level(CONDITIONAL.0 + 1)), (then, CONDITIONAL), (otherwise, CONDITIONAL)]
        }
        ExprKind::Index { base, index } => vec![(base, PRIMARY), (index, ALONE)],
        ExprKind::Assign { target, value, .. } => vec![(target, UNARY), (value, ALONE)],
        ExprKind::Binary { operator, left, right } => {
            // Of shifts and bits compilers warn, where sums and comparisons are inside without parentheses.
            let (first, second) = match level_of(operator).0 {
                level @ (5 | 12 | 13) => (Level(level), Level(level + 1)),
                9 | 10 => (ADDITIVE, ADDITIVE),
                _ => (UNARY, UNARY),
            };
            vec![(left, first), (right, second)]
        }
        ExprKind::Unary { postfix: false, .. } | ExprKind::Cast { implicit: false, .. } => all(UNARY),
        // It has no text of its own.
        ExprKind::Cast { .. } => all(own),
        ExprKind::Call { .. }
        | ExprKind::VectorLiteral(_)
        | ExprKind::List(_)
        | ExprKind::Reinterpret(_)
        | ExprKind::Parentheses(_) => all(ALONE),
        _ => all(PRIMARY),
    }
}

/// An integer constant of a type.
fn integer(value: i128, ty: &Type) -> String {
    let suffix = match ty {
        Type::Scalar(super::Scalar::Integer { bits, signed }) => match (bits, signed) {
            (64, true) => "L",
            (64, false) => "UL",
            (32, false) => "u",
            _ => "",
        },
        _ => "",
    };
    format!("{value}{suffix}")
}

/// A floating-point constant of a type.
fn float(value: f64, ty: &Type) -> Option<String> {
    let suffix = match ty.as_number()?.bits() {
        16 => "h",
        32 => "f",
        _ => "",
    };
    let digits =
        if ty.as_number()?.bits() == 64 { format!("{value:?}") } else { format!("{:?}", value as f32) };
    value.is_finite().then(|| digits + suffix)
}
