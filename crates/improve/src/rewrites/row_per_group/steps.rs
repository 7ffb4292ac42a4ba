//! What the steps of a loop do, and whether they can be taken by several work-items.

use crate::rewrites::effects::is_same;
use crate::syntax::{Affine, Expr, ExprKind, Scalar, Stmt, StmtKind, Symbol, Tree, Type, Variable, affine};

/// How a variable gathers the steps of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gather {
    Sum,
    Least,
    Most,
    /// `fmin` and `fmax`, which leave a NaN out.
    LeastNumber,
    MostNumber,
}

/// `if (x > most) { most = x; at = i; }`.
struct Extreme<'e> {
    kept: Symbol,
    by: Gather,
    value: &'e Expr,
    /// The variable that has the step.
    position: Option<Symbol>,
}

/// What the steps of a loop do to what is outside of them.
pub(super) struct Steps<'t> {
    pub(super) tree: &'t Tree,
    pub(super) counter: &'t Variable,
    /// Variables of a step's own.
    pub(super) inner: Vec<Symbol>,
    /// Those of them that are the counters of loops.
    pub(super) counters: Vec<Symbol>,
    /// Variables, how they gather, and those that have the step of an extreme.
    pub(super) gathered: Vec<(Symbol, Gather, Option<Symbol>)>,
    /// Variables and pointers whose values are used.
    pub(super) used: Vec<Symbol>,
    /// Elements that are loaded: pointers and indices.
    pub(super) loaded: Vec<(Symbol, &'t Expr)>,
    /// Elements that are stored.
    pub(super) stored: Vec<(Symbol, &'t Expr)>,
}

impl<'t> Steps<'t> {
    /// `None` if the steps cannot be divided.
    pub(super) fn statement(&mut self, statement: &'t Stmt) -> Option<()> {
        match &statement.kind {
            StmtKind::Block(inner) => inner.iter().try_for_each(|stmt| self.statement(stmt)),
            StmtKind::Declare(all) => all
                .iter()
                .filter_map(|variable| variable.value.as_ref())
                .try_for_each(|value| self.value(value)),
            StmtKind::Expr(expr) => self.effect(expr),
            StmtKind::If { condition, then, otherwise: None }
                if self.as_extreme(condition, then).is_some() =>
            {
                let Extreme { kept, by, value, position } = self.as_extreme(condition, then)?;
                self.value(value)?;
                self.gather(kept, by, position)
            }
            StmtKind::If { condition, then, otherwise } => {
                self.value(condition)?;
                self.statement(then)?;
                otherwise.as_deref().map_or(Some(()), |otherwise| self.statement(otherwise))
            }
            StmtKind::For { first, condition, step, body } => {
                first.as_deref().map_or(Some(()), |first| self.statement(first))?;
                condition.as_ref().map_or(Some(()), |condition| self.value(condition))?;
                step.as_ref().map_or(Some(()), |step| self.effect(step))?;
                self.statement(body)
            }
            StmtKind::Empty => Some(()),
            _ => None,
        }
    }

    /// `if (x > most) most = x;`: the variable, how it gathers, and x. With `at = i;` beside it, `at` is the step.
    fn as_extreme<'e>(&self, condition: &'e Expr, then: &'e Stmt) -> Option<Extreme<'e>> {
        let ExprKind::Binary { operator, left, right } = &condition.bare().kind else { return None };
        let then = match &then.kind {
            StmtKind::Block(inner) => inner,
            _ => std::slice::from_ref(then),
        };
        let assigned = |stmt: &'e Stmt| match &stmt.kind {
            StmtKind::Expr(Expr { kind: ExprKind::Assign { operator: None, target, value, .. }, .. }) => {
                let symbol = target.symbol().filter(|symbol| !self.inner.contains(symbol))?;
                Some((symbol, &**value))
            }
            _ => None,
        };
        let is_step = |(_, value): &(Symbol, &Expr)| value.symbol() == Some(self.counter.symbol);
        let (kept, value, position) = match then {
            [only] => assigned(only).map(|(symbol, value)| (symbol, value, None))?,
            [one, other] => {
                let (one, other) = (assigned(one)?, assigned(other)?);
                let ((kept, value), at) = match (is_step(&one), is_step(&other)) {
                    (false, true) => (one, other),
                    (true, false) => (other, one),
                    _ => return None,
                };
                (kept, value, Some(at.0))
            }
            _ => return None,
        };
        let (other, is_left) = match (left.symbol() == Some(kept), right.symbol() == Some(kept)) {
            (false, true) => (left, true),
            (true, false) => (right, false),
            _ => return None,
        };
        // A narrower variable has less than what is compared.
        if left.bare().ty != right.bare().ty {
            return None;
        }
        let by = match (operator.as_str(), is_left) {
            // Of equal numbers, the first one's step is known.
            (">=" | "<=", _) if position.is_some() => return None,
            (">" | ">=", true) | ("<" | "<=", false) => Gather::Most,
            ("<" | "<=", true) | (">" | ">=", false) => Gather::Least,
            _ => return None,
        };
        is_same(other, value).then_some(Extreme { kept, by, value: other, position })
    }

    /// An expression that may assign.
    fn effect(&mut self, expr: &'t Expr) -> Option<()> {
        match &expr.bare().kind {
            ExprKind::Assign { operator, target, value, .. } => {
                if is_memory(target) {
                    let (pointer, index) = target_of(target)?;
                    // Two steps do not store to one place.
                    if !self.moves(index) {
                        return None;
                    }
                    self.stored.push((pointer, index));
                    if operator.is_some() {
                        self.loaded.push((pointer, index));
                    }
                    self.value(index)?;
                    return self.value(value);
                }
                let symbol = target.symbol()?;
                if self.inner.contains(&symbol) {
                    return self.value(value);
                }
                let by = match operator.as_deref() {
                    Some("+") => {
                        self.value(value)?;
                        // An integer that a float is added to is rounded at each step.
                        let is_whole = |ty: &Type| ty.as_number().is_some_and(Scalar::is_integer);
                        if is_whole(&target.ty) && !is_whole(&value.ty) {
                            return None;
                        }
                        Gather::Sum
                    }
                    None => {
                        let ExprKind::Call { name, arguments, .. } = &value.bare().kind else { return None };
                        let [a, b] = &arguments[..] else { return None };
                        let other = match (a.symbol() == Some(symbol), b.symbol() == Some(symbol)) {
                            (true, false) => b,
                            (false, true) => a,
                            _ => return None,
                        };
                        self.value(other)?;
                        match name.as_str() {
                            "max" => Gather::Most,
                            "min" => Gather::Least,
                            "fmax" => Gather::MostNumber,
                            "fmin" => Gather::LeastNumber,
                            _ => return None,
                        }
                    }
                    _ => return None,
                };
                self.gather(symbol, by, None)
            }
            ExprKind::Unary { operator, operand, .. } if operator == "++" || operator == "--" => {
                let symbol = operand.symbol()?;
                match operator.as_str() {
                    _ if self.inner.contains(&symbol) => Some(()),
                    // A count is a sum.
                    "++" => self.gather(symbol, Gather::Sum, None),
                    _ => None,
                }
            }
            _ => self.value(expr),
        }
    }

    /// A variable gathers in one way, and the steps do not look at it.
    fn gather(&mut self, symbol: Symbol, by: Gather, position: Option<Symbol>) -> Option<()> {
        for symbol in std::iter::once(symbol).chain(position) {
            let is_known = self.gathered.iter().any(|(known, _, at)| *known == symbol || *at == Some(symbol));
            if symbol == self.counter.symbol || is_known {
                return None;
            }
        }
        self.gathered.push((symbol, by, position));
        Some(())
    }

    /// Whether an index is another one in each step.
    fn moves(&self, index: &Expr) -> bool {
        // What a step computes may take it to another one's element.
        let is_own = |symbol: Symbol| self.inner.contains(&symbol) && !self.counters.contains(&symbol);
        if index.any(|it| it.symbol().is_some_and(is_own)) {
            return false;
        }
        let sum = self.sum(index);
        sum.coefficient(&self.counter.name).is_some_and(|coefficient| coefficient != 0)
    }

    fn sum(&self, index: &Expr) -> Affine {
        affine(index, &|expr: &Expr| self.tree.text(&expr.place).to_owned(), &|_| None)
    }

    /// Whether the elements of two indices are others in all steps, although the indices differ: by less than a step.
    pub(super) fn are_apart(&self, one: &Expr, other: &Expr) -> bool {
        let (one, other) = (self.sum(one), self.sum(other));
        let difference = one.plus(&other, -1);
        let step = one.coefficient(&self.counter.name).unwrap_or(0);
        step != 0 && difference.terms.is_empty() && difference.constant % step != 0
    }

    /// An expression without effect.
    pub(super) fn value(&mut self, expr: &'t Expr) -> Option<()> {
        if let Some((pointer, index)) = target_of(expr).filter(|_| is_memory(expr)) {
            self.loaded.push((pointer, index));
            return self.value(index);
        }
        match &expr.kind {
            ExprKind::Name { symbol, .. } => self.used.push(*symbol),
            _ if expr.assigns() => return None,
            _ => {}
        }
        expr.children().into_iter().try_for_each(|child| self.value(child))
    }
}

/// The parameter that a pointer was computed from; other variables are their own. `None` where that is not known.
pub(super) fn root(symbol: Symbol, variables: &[&Variable]) -> Option<Symbol> {
    let Some(variable) = variables.iter().find(|variable| variable.symbol == symbol) else {
        return Some(symbol);
    };
    match (&variable.ty, &variable.value) {
        (Type::Pointer { .. }, Some(value)) => {
            let mut pointers = Vec::new();
            value.walk(&mut |expr| {
                if matches!(expr.ty, Type::Pointer { .. }) {
                    pointers.extend(expr.symbol());
                }
            });
            pointers.dedup();
            match pointers[..] {
                [only] if only != symbol => root(only, variables),
                _ => None,
            }
        }
        _ => Some(symbol),
    }
}

/// Whether an expression is an element of memory.
pub(super) fn is_memory(target: &Expr) -> bool {
    matches!(&target.bare().kind, ExprKind::Index { base, .. } if matches!(base.bare().ty, Type::Pointer { .. }))
}

/// The pointer and the index of an element.
fn target_of(target: &Expr) -> Option<(Symbol, &Expr)> {
    match &target.bare().kind {
        ExprKind::Index { base, index } => Some((base.symbol()?, &**index)),
        _ => None,
    }
}
