//! What is assumed of all outputs of a work-item in the path that computes them together.
//!
//! A condition that differs between outputs is decided in advance: the path holds where the condition has the same
//! outcome for all of them. Conditions are inequalities between sums; the least value of a sum over all outputs and all
//! turns of loops is a sum again.

use std::collections::BTreeMap;

use crate::syntax::{Affine, Expr, ExprKind, Symbol, affine, fold};

use super::functions;
use super::shape::Shape;
use super::{Assumption, Engine};
use crate::syntax::text::{ADDITIVE, Text, level_of};

/// The term that stands for the first output's `get_global_id(dimension)`.
fn id_term(dimension: usize) -> String {
    format!("@{dimension}")
}

impl Engine<'_> {
    /// The expression as a sum of parameters, ids and loop variables; variables that are set once are looked into.
    pub(super) fn sum(&self, expr: &Expr) -> Affine {
        affine(expr, &|expr| format!("?{}", self.tree.text(&expr.place)), &|expr| self.known_sum(expr))
    }

    fn known_sum(&self, expr: &Expr) -> Option<Affine> {
        if let Ok(Some(dimension)) = self.id_dimension(expr) {
            return Some(Affine::term(id_term(dimension)));
        }
        if let Some((chosen, _)) = self.decided(expr) {
            return Some(self.sum(chosen));
        }
        let ExprKind::Name { symbol, name, .. } = &expr.kind else { return None };
        if self.parameters.contains(symbol) {
            return Some(if self.assigned.contains(symbol) { unknown(*symbol) } else { Affine::term(name) });
        }
        let variable = self.variables.get(symbol)?;
        if self.turns.contains_key(symbol) || self.assigned.contains(symbol) {
            return Some(unknown(*symbol));
        }
        Some(variable.value.map_or_else(|| unknown(*symbol), |value| self.sum(value)))
    }

    /// The least value of a sum over all outputs and turns, as a sum of parameters and of the first output's ids.
    fn least(&self, sum: &Affine, rounds: usize) -> Option<Affine> {
        let mut least = Affine::constant(sum.constant);
        let mut again = false;
        for (term, times) in &sum.terms {
            let one = Affine { constant: 0, terms: BTreeMap::from([(term.clone(), *times)]) };
            let [name] = &term[..] else {
                if term.iter().any(|factor| factor.starts_with(['?', '#', '@'])) {
                    return None;
                }
                least = least.plus(&one, 1);
                continue;
            };
            if name.starts_with('#') {
                let turns = self.turns.iter().find(|(symbol, _)| term_of(**symbol) == *name)?.1;
                least = if *times > 0 {
                    least.plus(&self.sum(turns.least), *times)
                } else {
                    let most = self.sum(turns.most).plus(&Affine::constant(turns.below), -1);
                    least.plus(&most, *times)
                };
                again = true;
            } else if name.starts_with('?') {
                return None;
            } else {
                least = least.plus(&one, 1);
                if let Some(dimension) = name.strip_prefix('@') {
                    let last = |along: Option<(usize, usize)>| {
                        along
                            .filter(|(along, _)| along.to_string() == dimension)
                            .map_or(0, |(_, count)| count - 1)
                    };
                    let span = last(self.plan.vector).max(last(self.plan.copies));
                    least.constant += (times * span as i128).min(0);
                }
            }
        }
        if again && rounds < 8 { self.least(&least, rounds + 1) } else { Some(least).filter(|_| !again) }
    }

    /// Whether a value depends on the outputs that a work-item computes.
    pub(super) fn differs(&self, expr: &Expr) -> bool {
        self.is_copied(expr) || self.shape(expr).is_ok_and(|shape| shape != Shape::Uniform)
    }

    /// What makes a condition `wanted` for all outputs; `None` if inequalities cannot say it.
    pub(super) fn assume(&self, condition: &Expr, wanted: bool) -> Option<Vec<Assumption>> {
        match &condition.kind {
            ExprKind::Parentheses(inner) => self.assume(inner, wanted),
            ExprKind::Cast { operand, .. } => self.assume(operand, wanted),
            ExprKind::Unary { operator, operand, .. } if operator == "!" => self.assume(operand, !wanted),
            ExprKind::Name { symbol, .. } => {
                let value = self.variables.get(symbol)?.value.filter(|_| !self.assigned.contains(symbol))?;
                self.assume(value, wanted)
            }
            ExprKind::Binary { operator, left, right } => {
                let all =
                    |wanted: bool| Some([self.assume(left, wanted)?, self.assume(right, wanted)?].concat());
                match (operator.as_str(), wanted) {
                    ("&&", true) => all(true),
                    ("||", false) => all(false),
                    _ => self.compare(operator, left, right, wanted),
                }
            }
            _ => None,
        }
    }

    fn compare(&self, operator: &str, left: &Expr, right: &Expr, wanted: bool) -> Option<Vec<Assumption>> {
        let is_integer = |expr: &Expr| expr.ty.as_number().is_some_and(crate::syntax::Scalar::is_integer);
        if !is_integer(left) || !is_integer(right) {
            return None;
        }
        let (a, b) = (self.sum(left), self.sum(right));
        let at_least = |a: &Affine, b: &Affine, more: i128| a.plus(b, -1).plus(&Affine::constant(more), -1);
        let needed = match (operator, wanted) {
            ("<", true) | (">=", false) => at_least(&b, &a, 1),
            ("<=", true) | (">", false) => at_least(&b, &a, 0),
            (">", true) | ("<=", false) => at_least(&a, &b, 1),
            (">=", true) | ("<", false) => at_least(&a, &b, 0),
            // Different for all outputs: above a constant, or below what depends on an argument.
            ("==", false) | ("!=", true) => {
                let is_low = |sum: &Affine| {
                    sum.terms.keys().all(|term| term.iter().all(|it| it.starts_with(['@', '#'])))
                };
                if is_low(&a.plus(&b, -1)) { at_least(&a, &b, 1) } else { at_least(&b, &a, 1) }
            }
            _ => return None,
        };
        let mut all = vec![self.least(&needed, 0)?];
        // Unsigned numbers below 0 would wrap: then the comparison is not one of sums.
        for (side, sum) in [(left, &a), (right, &b)] {
            let negative = sum.constant < 0 || sum.terms.values().any(|times| *times < 0);
            let unsigned = side
                .ty
                .as_number()
                .and_then(crate::syntax::Scalar::range)
                .is_none_or(|(least, _)| least == 0);
            let from_id = sum.terms.keys().flatten().any(|term| term.starts_with('#'));
            if unsigned && (negative || from_id) {
                all.push(self.least(sum, 0)?);
            }
        }
        Some(all)
    }

    /// The part of an expression that is its value for all outputs under assumptions, and these: of `clamp(x + 1, 0,
    /// width - 1)` the first argument.
    pub(super) fn decided<'e>(&self, expr: &'e Expr) -> Option<(&'e Expr, Vec<Assumption>)> {
        match &expr.kind {
            ExprKind::Conditional { condition, then, otherwise } => {
                if !self.differs(condition) || self.shape(condition) == Ok(Shape::Uniform) {
                    return None;
                }
                let weight = |side: &Expr| side.place.range.len() + 1000 * usize::from(self.reads(side));
                let sides = [(&**then, true), (&**otherwise, false)];
                let first = usize::from(weight(otherwise) > weight(then));
                [sides[first], sides[1 - first]]
                    .into_iter()
                    .find_map(|(side, wanted)| Some((side, self.assume(condition, wanted)?)))
            }
            ExprKind::Call { name, arguments, .. }
                if expr.ty.as_number().is_some_and(crate::syntax::Scalar::is_integer) =>
            {
                let strides: Option<Vec<i128>> =
                    arguments.iter().map(|it| self.shape(it).ok().and_then(Shape::stride)).collect();
                let strides = strides.filter(|all| all.iter().any(|by| *by != 0))?;
                let at_least = |a: &Expr, b: &Expr| self.least(&self.sum(a).plus(&self.sum(b), -1), 0);
                let not_negative = |expr: &Expr| self.least(&self.sum(expr), 0);
                let unsigned = expr.ty.as_number()?.range().is_none_or(|(least, _)| least == 0);
                match (name.as_str(), &arguments[..]) {
                    ("clamp", [value, low, high]) => {
                        let mut all = vec![at_least(value, low)?, at_least(high, value)?];
                        if unsigned {
                            all.push(not_negative(value)?);
                        }
                        Some((value, all))
                    }
                    ("min" | "max", [a, b]) => {
                        let is_first = strides[0] > 0 || strides[1] < 0;
                        let (chosen, other) = if is_first { (a, b) } else { (b, a) };
                        let first =
                            if name == "max" { at_least(chosen, other)? } else { at_least(other, chosen)? };
                        let mut all = vec![first];
                        if unsigned {
                            all.extend([not_negative(chosen)?, not_negative(other)?]);
                        }
                        Some((chosen, all))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Whether an expression reads memory, so that it must not be evaluated where the source does not.
    pub(super) fn reads(&self, expr: &Expr) -> bool {
        expr.any(|expr| match &expr.kind {
            ExprKind::Index { base, .. } => self.private_array(base).is_none(),
            ExprKind::Unary { operator, .. } => operator == "*",
            ExprKind::Field { arrow, .. } => *arrow,
            ExprKind::Call { name, .. } => {
                let own = functions::kind(name) == functions::FunctionKind::Own;
                own && !functions::is_work_item(name)
            }
            ExprKind::Binary { operator, right, .. } => {
                ["/", "%"].contains(&operator.as_str())
                    && expr.ty.scalar().is_none_or(crate::syntax::Scalar::is_integer)
                    && fold(right).is_none_or(|by| by == 0)
            }
            _ => false,
        })
    }

    /// Remembers assumptions: of two that differ by a constant, the stronger.
    pub(super) fn note(&mut self, assumptions: Vec<Assumption>) {
        for new in assumptions {
            match self.assumptions.iter_mut().find(|old| old.terms == new.terms) {
                Some(old) => old.constant = old.constant.min(new.constant),
                None => self.assumptions.push(new),
            }
        }
    }

    /// The conjunction of all assumptions; `id` gives a multiple of the first output's id as a sum of a variable. `None` if one never
    /// holds.
    pub(super) fn guard(&self, id: &dyn Fn(usize, i128) -> Affine) -> Option<String> {
        let mut tests: Vec<String> = Vec::new();
        for assumption in self.assumptions.iter().filter(|it| !self.is_kept_by_edges(it)) {
            let mut sum = Affine::constant(assumption.constant);
            for (term, times) in &assumption.terms {
                let dimension = match &term[..] {
                    [one] => one.strip_prefix('@').and_then(|it| it.parse().ok()),
                    _ => None,
                };
                let part = match dimension {
                    Some(dimension) => id(dimension, *times),
                    None => Affine { constant: 0, terms: BTreeMap::from([(term.clone(), *times)]) },
                };
                sum = sum.plus(&part, 1);
            }
            if let Some(value) = sum.as_constant() {
                if value < 0 {
                    return None;
                }
                continue;
            }
            let test = inequality(&sum);
            if !tests.contains(&test) {
                tests.push(test);
            }
        }
        Some(tests.join(" && "))
    }
}

/// A loop's or reassigned variable as a term.
fn unknown(symbol: Symbol) -> Affine {
    Affine::term(term_of(symbol))
}

/// The term that stands for a loop's or reassigned variable.
pub(super) fn term_of(symbol: Symbol) -> String {
    format!("#{symbol:?}")
}

/// `sum >= 0`, without subtractions: unsigned numbers must not wrap.
pub(super) fn inequality(sum: &Affine) -> String {
    let side = |sign: i128| {
        let mut text: Option<Text> = None;
        for (term, times) in sum.terms.iter().filter(|(_, times)| **times * sign > 0) {
            let product = term.join(" * ");
            let product = match times * sign {
                1 => Text::new(
                    product,
                    if term.len() > 1 { level_of("*") } else { crate::syntax::text::PRIMARY },
                ),
                times => Text::new(format!("{times} * {product}"), level_of("*")),
            };
            text = Some(match text {
                None => product,
                Some(sum) => sum.binary("+", &product),
            });
        }
        text
    };
    let constant = sum.constant;
    match (side(-1), side(1)) {
        (Some(less), Some(more)) => match constant {
            ..0 => format!("{} < {}", less.plus(-constant - 1).at(ADDITIVE), more.at(ADDITIVE)),
            _ => format!("{} <= {}", less.at(ADDITIVE), more.plus(constant).at(ADDITIVE)),
        },
        (None, Some(more)) => format!("{} >= {}", more.at(ADDITIVE), -constant),
        (Some(less), None) => format!("{} <= {constant}", less.at(ADDITIVE)),
        (None, None) => String::from("true"),
    }
}
