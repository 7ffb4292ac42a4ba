//! Texts of expressions, with their precedence.

use crate::syntax::{Expr, ExprKind};

/// How tightly an expression's outermost operator binds; more is tighter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Level(pub(crate) u8);

pub(crate) const PRIMARY: Level = Level(15);
pub(crate) const UNARY: Level = Level(14);
pub(crate) const ADDITIVE: Level = Level(12);
pub(crate) const BITWISE_AND: Level = Level(8);
pub(crate) const CONDITIONAL: Level = Level(3);
pub(crate) const ASSIGNMENT: Level = Level(2);

/// The level of a binary operator.
pub(crate) fn level_of(operator: &str) -> Level {
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
pub(crate) fn written_level(expr: &Expr) -> Level {
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

/// Whether compilers warn of an operand of level `inner` without parentheses: sums that are shifted, comparisons of
/// comparisons, arithmetic and other bits under `&`, `^` and `|`, `&&` under `||`.
pub(crate) fn mixes(outer: Level, inner: Level) -> bool {
    match outer.0 {
        11 => inner == ADDITIVE,
        9 | 10 => matches!(inner.0, 9 | 10),
        6..=8 => inner != outer && matches!(inner.0, 5..=12),
        4 => inner.0 == 5,
        _ => false,
    }
}

/// An expression's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) level: Level,
}

impl Text {
    pub(crate) fn new(text: impl Into<String>, level: Level) -> Self {
        Self { text: text.into(), level }
    }

    pub(crate) fn primary(text: impl Into<String>) -> Self {
        Self::new(text, PRIMARY)
    }

    /// The text as an operand: in parentheses where it binds less tightly than `level`.
    pub(crate) fn at(&self, level: Level) -> String {
        if self.level < level { format!("({})", self.text) } else { self.text.clone() }
    }

    /// `self operator right`.
    pub(crate) fn binary(&self, operator: &str, right: &Self) -> Self {
        let level = level_of(operator);
        let space = if operator == "," { "" } else { " " };
        let side = |side: &Self, least: u8| {
            if mixes(level, side.level) { format!("({})", side.text) } else { side.at(Level(least)) }
        };
        let (left, right) = (side(self, level.0), side(right, level.0 + 1));
        Self::new(format!("{left}{space}{operator} {right}"), level)
    }

    /// The sum with a constant.
    pub(crate) fn plus(&self, constant: i128) -> Self {
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
    pub(crate) fn lane(&self, lane: usize) -> Self {
        Self::primary(format!("{}.s{lane:x}", self.at(PRIMARY)))
    }
}
