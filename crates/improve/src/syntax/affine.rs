//! Constants, and indices as sums.

use std::collections::BTreeMap;

use super::node::{Expr, ExprKind};

/// The value of an integer expression of constants.
pub fn fold(expr: &Expr) -> Option<i128> {
    let value = match &expr.kind {
        ExprKind::Integer(value) => *value,
        ExprKind::Parentheses(inner) => fold(inner)?,
        ExprKind::Cast { operand, .. } => fold(operand)?,
        ExprKind::Unary { operator, operand, .. } => match operator.as_str() {
            "-" => fold(operand)?.checked_neg()?,
            "+" => fold(operand)?,
            "~" => !fold(operand)?,
            _ => return None,
        },
        ExprKind::Binary { operator, left, right } => {
            let (left, right) = (fold(left)?, fold(right)?);
            match operator.as_str() {
                "+" => left.checked_add(right)?,
                "-" => left.checked_sub(right)?,
                "*" => left.checked_mul(right)?,
                "/" => left.checked_div(right)?,
                "%" => left.checked_rem(right)?,
                "<<" => left.checked_shl(u32::try_from(right).ok().filter(|by| *by < 64)?)?,
                ">>" => left.checked_shr(u32::try_from(right).ok().filter(|by| *by < 64)?)?,
                _ => return None,
            }
        }
        _ => return None,
    };
    // A value that its type does not hold wraps or is undefined: no constant.
    let scalar = expr.ty.as_number()?;
    match scalar.range() {
        Some((least, most)) => (i128::from(least) <= value && value <= i128::from(most)).then_some(value),
        None => scalar.is_integer().then_some(value),
    }
}

/// A term of an index: a product of variables, or an expression that is not looked into, by its text.
type Term = String;

/// An integer expression as a sum of products: `3 * x + pitch * y + 1`. Wrapping and truncation are not modelled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affine {
    /// The constant.
    pub constant: i128,
    /// The coefficients of products of factors. A factor is a variable's or an expression's text.
    pub terms: BTreeMap<Vec<Term>, i128>,
}

impl Affine {
    /// A constant.
    pub fn constant(value: i128) -> Self {
        Self { constant: value, terms: BTreeMap::new() }
    }

    /// A variable, or an expression that is not looked into.
    pub fn term(term: impl Into<Term>) -> Self {
        Self { constant: 0, terms: BTreeMap::from([(vec![term.into()], 1)]) }
    }

    /// The value, if there are no variables.
    pub fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The sum with `times` times another.
    #[must_use]
    pub fn plus(&self, other: &Self, times: i128) -> Self {
        let mut sum = self.clone();
        sum.constant += times * other.constant;
        for (term, coefficient) in &other.terms {
            *sum.terms.entry(term.clone()).or_default() += times * coefficient;
        }
        sum.terms.retain(|_, coefficient| *coefficient != 0);
        sum
    }

    /// The product.
    #[must_use]
    pub fn product(&self, other: &Self) -> Self {
        let mut product = Self::constant(self.constant * other.constant);
        product = product.plus(&Self { constant: 0, terms: self.terms.clone() }, other.constant);
        product = product.plus(&Self { constant: 0, terms: other.terms.clone() }, self.constant);
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                let mut term = [left.as_slice(), right].concat();
                term.sort();
                product = product.plus(&Self { constant: 0, terms: BTreeMap::from([(term, 1)]) }, a * b);
            }
        }
        product
    }

    /// The coefficient of a variable, if it is a constant: 0 where the variable does not occur, `None` where it occurs
    /// in a product or inside an expression that was not looked into.
    pub fn coefficient(&self, variable: &str) -> Option<i128> {
        let mut coefficient = 0;
        for (term, times) in &self.terms {
            if term.len() == 1 && term[0] == variable {
                coefficient = *times;
            } else if term.iter().any(|factor| mentions(factor, variable)) {
                return None;
            }
        }
        Some(coefficient)
    }

    /// The sum without a variable's own term.
    #[must_use]
    pub fn without(&self, variable: &str) -> Self {
        let mut rest = self.clone();
        rest.terms.retain(|term, _| !(term.len() == 1 && term[0] == variable));
        rest
    }

    /// The constant by which two sums differ, `self - other`.
    pub fn difference(&self, other: &Self) -> Option<i128> {
        self.plus(other, -1).as_constant()
    }
}

/// Whether a text has a variable's name as a word.
fn mentions(text: &str, variable: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == variable)
}

/// An integer expression as a sum. `text` gives the text of an expression that is not looked into, `known` the sum of an
/// expression where the caller knows better.
pub fn affine(
    expr: &Expr,
    text: &dyn Fn(&Expr) -> String,
    known: &dyn Fn(&Expr) -> Option<Affine>,
) -> Affine {
    if let Some(constant) = fold(expr) {
        return Affine::constant(constant);
    }
    if let Some(sum) = known(expr) {
        return sum;
    }
    let again = |expr: &Expr| affine(expr, text, known);
    match &expr.kind {
        ExprKind::Parentheses(inner) => again(inner),
        ExprKind::Cast { operand, .. } if operand.ty.as_number().is_some_and(super::Scalar::is_integer) => {
            again(operand)
        }
        ExprKind::Name { name, .. } => Affine::term(name),
        ExprKind::Unary { operator, operand, .. } if operator == "-" => {
            Affine::default().plus(&again(operand), -1)
        }
        ExprKind::Unary { operator, operand, .. } if operator == "+" => again(operand),
        ExprKind::Binary { operator, left, right } if ["+", "-", "*", "<<"].contains(&operator.as_str()) => {
            let is_integer = |expr: &Expr| expr.ty.as_number().is_some_and(super::Scalar::is_integer);
            if !is_integer(left) || !is_integer(right) {
                return Affine::term(text(expr));
            }
            let (left, right) = (again(left), again(right));
            match operator.as_str() {
                "+" => left.plus(&right, 1),
                "-" => left.plus(&right, -1),
                "*" => left.product(&right),
                _ => match right.as_constant().filter(|by| (0..31).contains(by)) {
                    Some(by) => Affine::default().plus(&left, 1 << by),
                    None => Affine::term(text(expr)),
                },
            }
        }
        _ => Affine::term(text(expr)),
    }
}
