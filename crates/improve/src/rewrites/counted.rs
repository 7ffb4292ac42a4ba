//! Loops that count up by one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use super::address::Values;
use super::text::{Names, indentation};
use crate::syntax::{Edits, Expr, ExprKind, Function, Stmt, StmtKind, Symbol, Tree, Type, fold};

/// `for (int k = start; k < end; ++k)`, whose body neither leaves the loop early nor changes what it counts.
pub(super) struct Counted<'t> {
    pub(super) stmt: &'t Stmt,
    /// The variable that counts.
    pub(super) counter: Symbol,
    /// Its name.
    pub(super) name: &'t str,
    /// What it starts with: the whole statement.
    pub(super) first: &'t Stmt,
    pub(super) condition: &'t Expr,
    pub(super) step: &'t Expr,
    pub(super) body: &'t Stmt,
    /// The first value of the counter, if it is a constant.
    pub(super) start: Option<i128>,
    /// The number of turns, if it is a constant.
    pub(super) turns: Option<i128>,
    /// Variables that the body declares or assigns to, apart from `values`.
    pub(super) changed: BTreeSet<Symbol>,
    /// Variables that the body declares and never assigns to.
    pub(super) values: Values<'t>,
}

impl<'t> Counted<'t> {
    /// The loop of a statement, if it is such a loop without another one inside.
    pub(super) fn of(stmt: &'t Stmt) -> Option<Self> {
        let StmtKind::For { first, condition, step, body } = &stmt.kind else { return None };
        let (first, condition, step) = (first.as_deref()?, condition.as_ref()?, step.as_ref()?);
        let (counter, name, start) = match &first.kind {
            StmtKind::Declare(variables) => match &variables[..] {
                [only] => (only.symbol, &only.name, only.value.as_ref()?),
                _ => return None,
            },
            StmtKind::Expr(Expr { kind: ExprKind::Assign { operator: None, target, value, .. }, .. }) => {
                match &target.bare().kind {
                    ExprKind::Name { symbol, name, .. } => (*symbol, name, &**value),
                    _ => return None,
                }
            }
            _ => return None,
        };
        let ExprKind::Binary { operator, left, right: end } = &condition.bare().kind else { return None };
        let past = match operator.as_str() {
            "<" => 0,
            "<=" => 1,
            _ => return None,
        };
        let (changed, values) = changed(body);
        let is_fixed = !end.assigns()
            && !end.any(|it| {
                it.symbol()
                    .is_some_and(|it| it == counter || changed.contains(&it) || values.contains_key(&it))
            });
        if left.symbol() != Some(counter) || !is_one_up(step, counter) || !is_fixed {
            return None;
        }
        let mut leaves = false;
        body.walk(&mut |inner| {
            leaves |= matches!(
                inner.kind,
                StmtKind::For { .. }
                    | StmtKind::While { .. }
                    | StmtKind::Break
                    | StmtKind::Continue
                    | StmtKind::Return(_)
                    | StmtKind::Other { .. }
            );
        });
        let start = fold(start.bare());
        let turns = fold(end.bare()).zip(start).map(|(end, start)| (end + past - start).max(0));
        (!leaves && !changed.contains(&counter)).then_some(Self {
            stmt,
            counter,
            name,
            first,
            condition,
            step,
            body,
            start,
            turns,
            changed,
            values,
        })
    }

    /// Whether the value of an expression is, or may be, another one in each step.
    pub(super) fn changes(&self, expr: &Expr) -> bool {
        self.moves(expr, &|it| it == self.counter)
    }

    /// Whether an expression depends on what the body assigns to: on more than the counter.
    pub(super) fn depends(&self, expr: &Expr) -> bool {
        self.moves(expr, &|_| false)
    }

    fn moves(&self, expr: &Expr, also: &dyn Fn(Symbol) -> bool) -> bool {
        expr.any(|it| {
            let ExprKind::Name { symbol, .. } = &it.kind else { return false };
            also(*symbol)
                || self.changed.contains(symbol)
                || self.values.get(symbol).is_some_and(|value| self.moves(value, also))
        })
    }

    /// The places of the counter in the body, outside some ranges; `None` if one is inside a macro.
    pub(super) fn counters(&self, without: &[Range<usize>]) -> Option<Vec<Range<usize>>> {
        let mut all: Option<Vec<Range<usize>>> = Some(Vec::new());
        self.body.walk_expressions(&mut |expr| {
            let ExprKind::Name { symbol, .. } = &expr.kind else { return };
            let at = &expr.place.range;
            let is_without = without.iter().any(|it| it.start <= at.start && at.end <= it.end);
            if *symbol != self.counter || is_without {
                return;
            }
            match &mut all {
                Some(found) if expr.place.exact => found.push(at.clone()),
                _ => all = None,
            }
        });
        all
    }

    /// The steps one after the other, if there are at most `most`. What a step declares has a name of its own in each.
    fn unrolled(&self, source: &str, most: i128, names: &mut Names) -> Option<String> {
        let (start, turns) = (self.start?, self.turns.filter(|turns| (2..=most).contains(turns))?);
        let is_own = matches!(self.first.kind, StmtKind::Declare(_));
        let is_plain =
            |it: &Stmt| matches!(it.kind, StmtKind::Expr(_) | StmtKind::Declare(_)) && it.place.exact;
        if !is_own || !self.statements().iter().all(is_plain) {
            return None;
        }
        let counters = self.counters(&[])?;
        let declared: Vec<(Symbol, &str)> = self
            .statements()
            .iter()
            .flat_map(|stmt| match &stmt.kind {
                StmtKind::Declare(variables) => &variables[..],
                _ => &[],
            })
            .map(|variable| (variable.symbol, variable.name.as_str()))
            .collect();
        let indent = indentation(source, self.stmt.full.start);
        let mut text = "{\n".to_owned();
        for value in start..start + turns {
            let mut edits = Edits::new();
            let number = if value < 0 { format!("({value})") } else { value.to_string() };
            for at in &counters {
                edits.replace(at.clone(), number.clone()).ok()?;
            }
            for (symbol, name) in &declared {
                let own = names.fresh(name);
                for at in self.places(*symbol)? {
                    edits.replace(at, own.clone()).ok()?;
                }
            }
            for stmt in self.statements() {
                let _ = writeln!(text, "{indent}    {}", edits.apply_to(source, stmt.full.clone()));
            }
        }
        Some(text + indent + "}")
    }

    /// Where a variable of the body is declared and used; `None` if a macro hides one.
    fn places(&self, symbol: Symbol) -> Option<Vec<Range<usize>>> {
        let mut all = Vec::new();
        for stmt in self.statements() {
            if let StmtKind::Declare(variables) = &stmt.kind {
                all.extend(variables.iter().filter(|it| it.symbol == symbol).map(|it| it.name_range.clone()));
            }
        }
        let mut is_exact = true;
        self.body.walk_expressions(&mut |expr| {
            if matches!(&expr.kind, ExprKind::Name { symbol: own, .. } if *own == symbol) {
                is_exact &= expr.place.exact && !expr.place.in_macro;
                all.push(expr.place.range.clone());
            }
        });
        is_exact.then_some(all)
    }

    /// The statements of the body.
    pub(super) fn statements(&self) -> &'t [Stmt] {
        match &self.body.kind {
            StmtKind::Block(inner) => inner,
            _ => std::slice::from_ref(self.body),
        }
    }
}

/// Whether a step adds one to a variable.
fn is_one_up(step: &Expr, counter: Symbol) -> bool {
    match &step.bare().kind {
        ExprKind::Unary { operator, operand, .. } => operator == "++" && operand.symbol() == Some(counter),
        ExprKind::Assign { operator: Some(operator), target, value, .. } => {
            operator == "+" && target.symbol() == Some(counter) && fold(value) == Some(1)
        }
        ExprKind::Assign { operator: None, target, value, .. } => {
            let ExprKind::Binary { operator, left, right } = &value.bare().kind else { return false };
            operator == "+"
                && target.symbol() == Some(counter)
                && left.symbol() == Some(counter)
                && fold(right.bare()) == Some(1)
        }
        _ => false,
    }
}

/// The variables that a statement declares, assigns to, or takes the address of; those that it sets once are apart,
/// with their values.
pub(super) fn changed(body: &Stmt) -> (BTreeSet<Symbol>, Values<'_>) {
    let (mut changed, mut values) = (BTreeSet::new(), Values::new());
    body.walk_expressions(&mut |expr| {
        let target = match &expr.kind {
            ExprKind::Assign { target, .. } => target,
            ExprKind::Unary { operator, operand, .. } if ["++", "--", "&"].contains(&operator.as_str()) => {
                operand
            }
            _ => return,
        };
        changed.extend(root(target));
    });
    body.walk(&mut |inner| {
        let StmtKind::Declare(variables) = &inner.kind else { return };
        for variable in variables {
            match &variable.value {
                Some(value) if !changed.contains(&variable.symbol) => {
                    values.insert(variable.symbol, value);
                }
                _ => drop(changed.insert(variable.symbol)),
            }
        }
    });
    (changed, values)
}

/// The variable that a target is, or is a part of; `None` for memory behind a pointer.
pub(super) fn root(target: &Expr) -> Option<Symbol> {
    match &target.bare().kind {
        ExprKind::Name { symbol, .. } => Some(*symbol),
        ExprKind::Index { base, .. } if matches!(base.bare().ty, Type::Pointer { .. }) => None,
        ExprKind::Index { base, .. }
        | ExprKind::Swizzle { base, .. }
        | ExprKind::Field { base, arrow: false, .. } => root(base),
        _ => None,
    }
}

/// The source with those of the kernel's short loops written out that are wanted; `None` if there are none.
pub(super) fn unrolled(
    tree: &Tree,
    kernel: &Function,
    most: i128,
    wanted: &dyn Fn(&Counted<'_>) -> bool,
) -> Option<String> {
    let mut edits = Edits::new();
    let mut names = Names::new(tree);
    kernel.body.walk(&mut |stmt| {
        let counted = Counted::of(stmt).filter(|counted| wanted(counted));
        if let Some(text) = counted.and_then(|counted| counted.unrolled(&tree.source, most, &mut names)) {
            // Loops without another one inside do not overlap.
            let _ = edits.replace(stmt.full.clone(), text);
        }
    });
    (!edits.is_empty()).then(|| edits.apply(&tree.source))
}
