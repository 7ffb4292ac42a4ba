//! The ranges of integers, and which vectors of `int` fit in lanes of `short`.
//!
//! The kernel is run on intervals: loops with constant bounds turn by turn, all others once with every variable that
//! they change unknown. Loads have the range of the memory's type.

use std::collections::BTreeMap;

use crate::syntax::{Expr, ExprKind, Scalar, Stmt, StmtKind, Symbol, Type, fold};

use super::Engine;
use super::shape::Shape;

/// The least and the greatest value.
type Interval = (i128, i128);

/// Turns of all loops together that are run one by one.
const MOST_TURNS: usize = 4096;

/// A variable, or an element of an array.
type Key = (Symbol, Option<i128>);

/// Every value that expressions and variables had.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranges {
    expressions: BTreeMap<usize, Interval>,
    variables: BTreeMap<Symbol, Interval>,
}

fn join(a: Interval, b: Interval) -> Interval {
    (a.0.min(b.0), a.1.max(b.1))
}

fn fits(range: Interval) -> bool {
    range.0 >= i128::from(i16::MIN) && range.1 <= i128::from(i16::MAX)
}

fn all_of(ty: &Type) -> Option<Interval> {
    match ty {
        Type::Array(of, _) => all_of(of),
        _ => match ty.as_number()? {
            Scalar::Integer { bits: 64, signed: true } => Some((i64::MIN.into(), i64::MAX.into())),
            Scalar::Integer { bits: 64, .. } => Some((0, u64::MAX.into())),
            scalar => scalar.range().map(|(least, most)| (least.into(), most.into())),
        },
    }
}

fn key_of(expr: &Expr) -> usize {
    std::ptr::from_ref(expr).addr()
}

impl Engine<'_> {
    /// The type of the lanes that a vector value has: `short` where it fits and that is asked for, else its own.
    pub(super) fn lane_type(&self, expr: &Expr) -> Option<Scalar> {
        let own = expr.ty.as_number()?;
        if !self.plan.narrow || own.bits() != 32 || !own.is_integer() {
            return Some(own);
        }
        Some(if self.is_narrow(expr) { Scalar::SHORT } else { own })
    }

    /// The variable that an expression is, or is an element of.
    fn stored_in(&self, expr: &Expr) -> Option<Symbol> {
        match &expr.kind {
            ExprKind::Name { symbol, .. } => Some(*symbol),
            ExprKind::Index { base, .. } if self.private_array(base).is_some() => base.symbol(),
            ExprKind::Parentheses(inner) => self.stored_in(inner),
            ExprKind::Cast { operand, conversion, .. } if conversion == "LValueToRValue" => {
                self.stored_in(operand)
            }
            _ => None,
        }
    }

    /// Whether an expression of 32 bits is computed in lanes of 16.
    fn is_narrow(&self, expr: &Expr) -> bool {
        if let Some(symbol) = self.stored_in(expr) {
            return self.narrow_variable(symbol);
        }
        if !self.fits_short(expr) {
            return false;
        }
        let all = |inner: &[&Expr]| {
            inner.iter().all(|it| match it.ty.as_number() {
                Some(scalar) if scalar.bits() == 32 && self.shape(it) == Ok(Shape::Vector) => {
                    self.is_narrow(it)
                }
                _ => self.fits_short(it),
            })
        };
        match &expr.kind {
            ExprKind::Parentheses(inner) => self.is_narrow(inner),
            ExprKind::Cast { operand, .. } => match operand.ty.as_number() {
                Some(from) if from.bits() < 32 && from.is_integer() => true,
                Some(from) if from.bits() == 32 && from.is_integer() => all(&[operand]),
                _ => false,
            },
            ExprKind::Unary { operator, operand, .. } => match operator.as_str() {
                "-" | "+" | "~" => all(&[operand]),
                "!" => true,
                _ => false,
            },
            ExprKind::Binary { operator, left, right } => match operator.as_str() {
                "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" => all(&[left, right]),
                "<<" | ">>" => all(&[left]) && fold(right).is_some(),
                "," => false,
                _ => true,
            },
            ExprKind::Conditional { then, otherwise, .. } => all(&[then, otherwise]),
            ExprKind::Call { name, arguments, .. } if ["min", "max", "clamp"].contains(&name.as_str()) => {
                all(&arguments.iter().collect::<Vec<_>>())
            }
            _ => false,
        }
    }

    /// Whether all values that an expression had fit in `short`.
    pub(super) fn fits_short(&self, expr: &Expr) -> bool {
        let known = || self.ranges.expressions.get(&key_of(expr)).copied();
        fold(expr).map(|value| (value, value)).or_else(known).is_some_and(fits)
    }

    /// Whether a variable of 32 bits has lanes of 16.
    pub(super) fn narrow_variable(&self, symbol: Symbol) -> bool {
        let Some(local) = self.variables.get(&symbol) else { return false };
        let element = local.ty.element().unwrap_or(&local.ty);
        self.plan.narrow
            && local.shape == Shape::Vector
            && element.as_number().is_some_and(|it| it.bits() == 32 && it.is_integer())
            && self.ranges.variables.get(&symbol).copied().is_some_and(fits)
    }

    /// Runs the kernel on intervals.
    pub(super) fn find_ranges(&mut self) {
        let mut run = Run { engine: self, known: BTreeMap::new(), ranges: Ranges::default(), turns: 0 };
        run.statement(&run.engine.kernel.body);
        self.ranges = run.ranges;
    }
}

struct Run<'e, 't> {
    engine: &'e Engine<'t>,
    known: BTreeMap<Key, Interval>,
    ranges: Ranges,
    turns: usize,
}

impl Run<'_, '_> {
    fn statement(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Declare(variables) => {
                for variable in variables {
                    match &variable.value {
                        Some(Expr { kind: ExprKind::List(inner), .. }) => {
                            let rest = if inner.is_empty() { None } else { Some((0, 0)) };
                            for (index, expr) in inner.iter().enumerate() {
                                let value = self.value(expr);
                                self.set((variable.symbol, Some(index as i128)), value);
                            }
                            self.note(variable.symbol, rest.unwrap_or((0, 0)));
                        }
                        Some(value) => {
                            let value = self.value(value);
                            self.set((variable.symbol, None), value);
                        }
                        None => {}
                    }
                }
            }
            StmtKind::If { condition, then, otherwise } => {
                if let Some((side, _)) = self.engine.decided_if(condition, then, otherwise.as_deref()) {
                    if let Some(chosen) = if side { Some(then) } else { otherwise.as_ref() } {
                        self.statement(chosen);
                    }
                    return;
                }
                self.value(condition);
                let before = self.known.clone();
                self.statement(then);
                let after_then = std::mem::replace(&mut self.known, before);
                if let Some(otherwise) = otherwise {
                    self.statement(otherwise);
                }
                self.merge(&after_then);
            }
            StmtKind::For { first, condition, step, body } => {
                if let Some(first) = first {
                    self.statement(first);
                }
                self.repeat(condition.as_ref(), step.as_ref(), body);
            }
            StmtKind::While { condition, body, .. } => {
                self.forget(body, None);
                self.value(condition);
                self.statement(body);
                self.forget(body, None);
            }
            _ => {
                for expr in stmt.expressions() {
                    self.value(expr);
                }
                for child in stmt.children() {
                    self.statement(child);
                }
            }
        }
    }

    /// Whether a statement may leave a loop: then no turn is certain.
    fn jumps(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) => true,
            StmtKind::If { condition, then, otherwise } => {
                match self.engine.decided_if(condition, then, otherwise.as_deref()) {
                    Some((true, _)) => self.jumps(then),
                    Some((false, _)) => otherwise.as_ref().is_some_and(|it| self.jumps(it)),
                    None => stmt.children().into_iter().any(|it| self.jumps(it)),
                }
            }
            _ => stmt.children().into_iter().any(|it| self.jumps(it)),
        }
    }

    fn repeat(&mut self, condition: Option<&Expr>, step: Option<&Expr>, body: &Stmt) {
        loop {
            let holds = condition.map_or((1, 1), |condition| self.value(condition).unwrap_or((0, 1)));
            if holds == (0, 0) {
                return;
            }
            self.turns += 1;
            if holds != (1, 1) || self.turns > MOST_TURNS || self.jumps(body) {
                break;
            }
            self.statement(body);
            if let Some(step) = step {
                self.value(step);
            }
        }
        // Not known how often: every variable that changes may have any value.
        self.forget(body, step);
        for expr in condition.into_iter().chain(step) {
            self.value(expr);
        }
        self.statement(body);
        self.forget(body, step);
    }

    fn forget(&mut self, body: &Stmt, step: Option<&Expr>) {
        let mut changed = Vec::new();
        let mut visit = |expr: &Expr| match &expr.kind {
            ExprKind::Assign { target, .. } => changed.push(target.bare().clone()),
            ExprKind::Unary { operator, operand, .. } if operator == "++" || operator == "--" => {
                changed.push(operand.bare().clone());
            }
            _ => {}
        };
        body.walk_expressions(&mut |expr| visit(expr));
        if let Some(step) = step {
            step.walk(&mut |expr| visit(expr));
        }
        for target in changed {
            let symbol = target.symbol().or_else(|| match &target.kind {
                ExprKind::Index { base, .. } => base.symbol(),
                _ => None,
            });
            if let Some(symbol) = symbol {
                self.known.retain(|(known, _), _| *known != symbol);
                if let Some(all) = self.engine.variables.get(&symbol).and_then(|it| all_of(&it.ty)) {
                    self.note(symbol, all);
                }
            }
        }
    }

    fn merge(&mut self, other: &BTreeMap<Key, Interval>) {
        self.known.retain(|key, _| other.contains_key(key));
        for (key, range) in &mut self.known {
            *range = join(*range, other[key]);
        }
    }

    fn note(&mut self, symbol: Symbol, range: Interval) {
        let all = self.ranges.variables.entry(symbol).or_insert(range);
        *all = join(*all, range);
    }

    fn set(&mut self, key: Key, value: Option<Interval>) {
        let whole = self.engine.variables.get(&key.0).and_then(|it| all_of(&it.ty));
        match value.or(whole) {
            Some(range) => {
                self.known.insert(key, range);
                self.note(key.0, range);
            }
            None => {
                self.known.remove(&key);
            }
        }
    }

    /// The place that an expression names, if it is a variable or an element of a private array.
    fn key(&mut self, target: &Expr) -> Option<Key> {
        match &target.bare().kind {
            ExprKind::Name { symbol, .. } => {
                self.engine.variables.contains_key(symbol).then_some((*symbol, None))
            }
            ExprKind::Index { base, index } => {
                let symbol = base.symbol().filter(|_| self.engine.private_array(base).is_some())?;
                let index = self.value(index)?;
                Some((symbol, Some(index.0))).filter(|_| index.0 == index.1)
            }
            _ => None,
        }
    }

    /// The range of an expression; `None` for a value that is not an integer. Assignments take effect.
    fn value(&mut self, expr: &Expr) -> Option<Interval> {
        let range = self.raw(expr);
        let whole = all_of(&expr.ty)?;
        // A value past its type's range wraps: then it may be any.
        let range = range.filter(|range| range.0 >= whole.0 && range.1 <= whole.1).unwrap_or(whole);
        let all = self.ranges.expressions.entry(key_of(expr)).or_insert(range);
        *all = join(*all, range);
        Some(range)
    }

    fn raw(&mut self, expr: &Expr) -> Option<Interval> {
        if let Some(value) = fold(expr) {
            for child in expr.children() {
                self.value(child);
            }
            return Some((value, value));
        }
        match &expr.kind {
            ExprKind::Name { .. } => {
                let key = self.key(expr)?;
                self.known.get(&key).copied()
            }
            ExprKind::Index { base, index } => {
                self.value(index);
                if self.engine.private_array(base).is_some() {
                    let key = self.key(expr)?;
                    return self.known.get(&key).copied();
                }
                self.value(base);
                None
            }
            ExprKind::Parentheses(inner) => self.value(inner),
            ExprKind::Cast { operand, .. } => self.value(operand),
            ExprKind::Unary { operator, operand, .. } => {
                let inner = self.value(operand);
                let (least, most) = inner?;
                match operator.as_str() {
                    "+" => inner,
                    "-" => Some((-most, -least)),
                    "~" => Some((-most - 1, -least - 1)),
                    "!" => Some((0, 1)),
                    "++" | "--" => {
                        let by = if operator == "++" { 1 } else { -1 };
                        let key = self.key(operand)?;
                        self.set(key, Some((least + by, most + by)));
                        Some((least.min(least + by), most.max(most + by)))
                    }
                    _ => None,
                }
            }
            ExprKind::Binary { operator, left, right } => {
                let (a, b) = (self.value(left), self.value(right));
                arithmetic(operator, a?, b?)
            }
            ExprKind::Assign { operator, target, value, .. } => {
                let new = self.value(value);
                let old = match operator {
                    Some(_) => self.value(target),
                    None => None,
                };
                let key = self.key(target);
                let result = match operator {
                    None => new,
                    Some(operator) => old.zip(new).and_then(|(old, new)| arithmetic(operator, old, new)),
                };
                let whole = all_of(&target.ty);
                let result =
                    result.filter(|it| whole.is_some_and(|all| it.0 >= all.0 && it.1 <= all.1)).or(whole);
                if let Some(key) = key {
                    self.set(key, result);
                } else if let ExprKind::Index { base, .. } = &target.bare().kind
                    && let Some(symbol) = base.symbol()
                {
                    // Some element changes.
                    self.known.retain(|(known, _), _| *known != symbol);
                    if let Some(whole) = whole {
                        self.note(symbol, whole);
                    }
                }
                result
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                self.value(condition);
                let (then, otherwise) = (self.value(then), self.value(otherwise));
                Some(join(then?, otherwise?))
            }
            ExprKind::Call { name, arguments, .. } => {
                let values: Vec<_> = arguments.iter().map(|it| self.value(it)).collect();
                match (name.as_str(), &values[..]) {
                    ("min", [Some(a), Some(b)]) => Some((a.0.min(b.0), a.1.min(b.1))),
                    ("max", [Some(a), Some(b)]) => Some((a.0.max(b.0), a.1.max(b.1))),
                    ("clamp", [Some(a), Some(low), Some(high)]) => {
                        Some((a.0.max(low.0).min(high.1), a.1.min(high.1).max(low.0)))
                    }
                    ("abs", [Some(a)]) => Some((
                        if a.0 <= 0 && a.1 >= 0 { 0 } else { a.0.abs().min(a.1.abs()) },
                        a.0.abs().max(a.1.abs()),
                    )),
                    _ => None,
                }
            }
            _ => {
                for child in expr.children() {
                    self.value(child);
                }
                None
            }
        }
    }
}

fn arithmetic(operator: &str, a: Interval, b: Interval) -> Option<Interval> {
    let constant = (b.0 == b.1).then_some(b.0);
    Some(match operator {
        "+" => (a.0 + b.0, a.1 + b.1),
        "-" => (a.0 - b.1, a.1 - b.0),
        "*" => {
            let all =
                [a.0.checked_mul(b.0)?, a.0.checked_mul(b.1)?, a.1.checked_mul(b.0)?, a.1.checked_mul(b.1)?];
            (*all.iter().min()?, *all.iter().max()?)
        }
        "/" => {
            let by = constant.filter(|by| *by > 0)?;
            (a.0 / by, a.1 / by)
        }
        "%" if a.0 >= 0 => (0, constant.filter(|by| *by > 0)? - 1),
        ">>" => {
            let by = u32::try_from(constant?).ok().filter(|by| *by < 64)?;
            (a.0 >> by, a.1 >> by)
        }
        "<<" => {
            let by = u32::try_from(constant?).ok().filter(|by| *by < 32)?;
            (a.0.checked_mul(1 << by)?, a.1.checked_mul(1 << by)?)
        }
        "&" if a.0 >= 0 && b.0 >= 0 => (0, a.1.min(b.1)),
        "<" | "<=" | ">" | ">=" | "==" | "!=" => {
            let certain = |always: bool, never: bool| {
                if always {
                    (1, 1)
                } else if never {
                    (0, 0)
                } else {
                    (0, 1)
                }
            };
            match operator {
                "<" => certain(a.1 < b.0, a.0 >= b.1),
                "<=" => certain(a.1 <= b.0, a.0 > b.1),
                ">" => certain(a.0 > b.1, a.1 <= b.0),
                ">=" => certain(a.0 >= b.1, a.1 < b.0),
                "==" => certain(a.0 == a.1 && a == b, a.1 < b.0 || b.1 < a.0),
                _ => certain(a.1 < b.0 || b.1 < a.0, a.0 == a.1 && a == b),
            }
        }
        "&&" | "||" => (0, 1),
        _ => return None,
    })
}
