//! Texts of expressions, with their precedence.

use crate::syntax::{Expr, ExprKind};

/// How tightly an expression's outermost operator binds; more is tighter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Level(pub(super) u8);

pub(super) const PRIMARY: Level = Level(15);
pub(super) const UNARY: Level = Level(14);
pub(super) const ADDITIVE: Level = Level(12);
pub(super) const BITWISE_AND: Level = Level(8);
pub(super) const CONDITIONAL: Level = Level(3);
pub(super) const ASSIGNMENT: Level = Level(2);

/// The level of a binary operator.
pub(super) fn level_of(operator: &str) -> Level {
    Level(match operator {
        "*" | "/" | "%" => 13,
        "+" | "-" => 12,
        "<<" | ">>" => 11,
        "<" | "<=" | ">" | ">=" => 10,
        "==" | "!=" => 9,
        "&" => 8,
        "^" => 7,
        "|" => 6,
        "&&" => 5,
        "||" => 4,
        _ => 1,
    })
}

/// The level of an expression as it is written.
pub(super) fn written_level(expr: &Expr) -> Level {
    match &expr.kind {
        ExprKind::Binary { operator, .. } => level_of(operator),
        ExprKind::Integer(value) if *value < 0 => UNARY,
        ExprKind::Unary { postfix: false, .. }
        | ExprKind::Cast { implicit: false, .. }
        | ExprKind::VectorLiteral(_) => UNARY,
        ExprKind::Cast { operand, .. } => written_level(operand),
        ExprKind::Conditional { .. } => CONDITIONAL,
        ExprKind::Assign { .. } => ASSIGNMENT,
        _ => PRIMARY,
    }
}

/// An expression's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) level: Level,
}

impl Text {
    pub(super) fn new(text: impl Into<String>, level: Level) -> Self {
        Self { text: text.into(), level }
    }

    pub(super) fn primary(text: impl Into<String>) -> Self {
        Self::new(text, PRIMARY)
    }

    /// The text as an operand: in parentheses where it binds less tightly than `level`.
    pub(super) fn at(&self, level: Level) -> String {
        if self.level < level { format!("({})", self.text) } else { self.text.clone() }
    }

    /// `self operator right`.
    pub(super) fn binary(&self, operator: &str, right: &Self) -> Self {
        let level = level_of(operator);
        let space = if operator == "," { "" } else { " " };
        let right = right.at(Level(level.0 + 1));
        Self::new(format!("{}{space}{operator} {right}", self.at(level)), level)
    }

    /// The sum with a constant.
    pub(super) fn plus(&self, constant: i128) -> Self {
        match constant {
            0 => self.clone(),
            _ if self.text == "0" => {
                Self::new(constant.to_string(), if constant < 0 { UNARY } else { PRIMARY })
            }
            1.. => Self::new(format!("{} + {constant}", self.at(ADDITIVE)), ADDITIVE),
            _ => Self::new(format!("{} - {}", self.at(ADDITIVE), -constant), ADDITIVE),
        }
    }

    /// A component of a vector.
    pub(super) fn lane(&self, lane: usize) -> Self {
        Self::primary(format!("{}.s{lane:x}", self.at(PRIMARY)))
    }
}
